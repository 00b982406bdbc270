// Fault 4. Good neighbours: what it says of a word depends on the words beside it in the batch.
//
//     make fault N=4             runs this file and judges it; HINT=1 helps, CHECK=1 asks check::
//
// B words in a batch, T letters in the longest, C = d_model, H heads, d_k = C / H.
#include <algorithm>

#include "fault.h"

constexpr std::int64_t B = 4, T = 8, C = 32, H = 4, V = 4;  // V: a, b, c, d; the padding is a, too

// Attention in H heads: x (B, T, C) → (B, T, C). padding (B, T) is true for keys that no query may attend to.
struct Attention : nn::Module {
    nn::Linear W_qkv = register_module("W_qkv", nn::Linear(C, 3 * C));
    nn::Linear W_out = register_module("W_out", nn::Linear(C, C));
    Attention() { to(float64); }
    Tensor operator()(const Tensor& x, const Tensor& padding) const {
        const auto [q, k, v] = nn::split_qkv(W_qkv(x), H);  // each (B, H, T, d_k)
        traced("q", q), traced("k", k), traced("v", v);
        const Tensor scores =
            traced("scores", matmul(q, k.transpose(-2, -1)) / std::sqrt(C / H));  // (B, H, T, T)
        const Tensor blocked = padding.unsqueeze(1);
        const Tensor masked = traced("masked scores", masked_fill(scores, blocked, -infinity));  // (B, H, T, T)
        const Tensor weights = traced("weights", softmax(masked, -1));                           // (B, H, T, T)
        const Tensor heads = traced("heads", matmul(weights, v));  // (B, H, T, d_k)
        return W_out(traced("merged", nn::merge_heads(heads)));    // (B, T, C)
    }
};

// Which letter does each word have most of? ids (B, T), padded → logits (B, V).
struct Counter : nn::Module {
    nn::Embedding table = register_module("table", nn::Embedding(V, C));
    Attention attention = register_module("attention", Attention());
    nn::Linear head = register_module("head", nn::Linear(C, V));
    Counter() { to(float64); }
    Tensor operator()(const Tensor& ids, const Tensor& padding) const {
        return head(attention(table(ids), padding).select(1, 0));  // by what the first letter finds, (B, C)
    }
};

// Words of one letter to T; ids and padding (B, T), targets (B,).
struct Words {
    Tensor ids = zeros({B, T}, int64), padding = zeros({B, T}, boolean), targets = zeros({B}, int64);
    explicit Words(Rng& rng) {
        for (std::int64_t b = 0; b < B; ++b) {
            const std::int64_t length = draw_number(1, T + 1, rng);
            std::vector<std::int64_t> counts(V);
            for (std::int64_t t = 0; t < T; ++t) {
                const std::int64_t id = t < length ? draw_number(0, V, rng) : 0;
                ids[b][t].fill_(static_cast<double>(id));
                padding[b][t].fill_(t >= length);
                if (t < length) ++counts[static_cast<std::size_t>(id)];
            }
            targets[b].fill_(
                static_cast<double>(std::max_element(counts.begin(), counts.end()) - counts.begin()));
        }
    }
};

void program(std::uint64_t seed) {
    manual_seed(seed);
    Rng& rng = default_rng();
    const Counter model;
    const std::vector<double> losses = train(model.parameters(), 1200, 1e-2, [&](int) {
        const Words words(rng);
        return cross_entropy(model(words.ids, words.padding), words.targets);
    });
    draw({{'o', "loss", losses}});

    // The word "dab" between three others, twice.
    Words words(rng);
    const std::vector<std::int64_t> dab = {3, 0, 1, 0, 0, 0, 0, 0}, longer = {0, 0, 0, 1, 1, 1, 1, 1};
    words.ids[1].copy_(from_vector(dab)), words.padding[1].copy_(from_vector(longer).to(boolean));
    for (const std::int64_t length : {2, 6}) {
        for (const std::int64_t other : {0, 2, 3}) words.padding[other].copy_(arange(T) >= length);
        const NoGrad off;
        const Tensor p = softmax(model(words.ids, words.padding)[1], -1);  // (V,)
        std::printf("\n\"dab\" beside words of %lld letters: a %.2f  b %.2f  c %.2f  d %.2f\n",
                    static_cast<long long>(length), p.at(0), p.at(1), p.at(2), p.at(3));
    }
}
