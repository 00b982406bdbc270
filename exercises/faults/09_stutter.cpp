// Fault 9. Stutter: it learns to repeat eight letters. Asked all at once it can; letter by letter it cannot.
//
//     make fault N=9             runs this file and judges it; HINT=1 helps, CHECK=1 asks check::
//
// B batch, T tokens, C = d_model, V vocabulary.
#include "fault.h"

constexpr std::int64_t n = 8, T = 2 * n + 1, C = 32;

// One layer of attention, with or without a cache.
struct Repeater : nn::Module {
    nn::Embedding tokens = register_module("tokens", nn::Embedding(alphabet().vocab_size(), C));
    nn::Embedding positions = register_module("positions", nn::Embedding(T + 1, C));
    nn::Attention attention = register_module("attention", nn::Attention(C, 2, {.causal = true}));
    nn::Linear head = register_module("head", nn::Linear(C, alphabet().vocab_size()));
    Repeater() { to(float64); }
    // ids (B, t), of which the first is at position `first`, → (B, t, C)
    Tensor embed(const Tensor& ids, std::int64_t first) const {
        return tokens(ids) + positions(first + arange(ids.size(-1)));  // (B, t, C)
    }
    Tensor operator()(const Tensor& ids) const {
        const Tensor x = embed(ids, 0);
        return head(x + attention(x));
    }
    Tensor operator()(const Tensor& ids, std::int64_t first, nn::KeyValueCache& cache) const {
        const Tensor x = embed(ids, first);
        return head(x + attention(x, cache));
    }
};

std::int64_t best(const Tensor& logits) {  // the likeliest next letter; logits (1, t, V)
    return static_cast<std::int64_t>(argmax(logits[0][-1], -1).item());
}
Tensor row(const text::Ids& ids) { return from_vector(ids).unsqueeze(0); }  // (1, t)

// Eight letters after the prompt, each from a pass over all that come before it.
text::Ids slowly(const Repeater& model, text::Ids ids) {
    const NoGrad off;
    for (int i = 0; i < n; ++i) ids.push_back(best(model(row(ids))));
    return ids;
}
// The same, with a cache: after the prompt, each pass is over one letter.
text::Ids quickly(const Repeater& model, text::Ids ids) {
    const NoGrad off;
    nn::KeyValueCache cache;
    ids.push_back(best(model(row(ids), 0, cache)));
    for (int i = 1; i < n; ++i) {
        const std::int64_t position = std::ssize(ids);
        ids.push_back(best(model(row({ids.back()}), position, cache)));
    }
    return ids;
}

void program(std::uint64_t seed) {
    manual_seed(seed);
    const Repeater model;
    const std::vector<double> losses = train(model.parameters(), 400, 1e-2, [&](int) {
        const Tensor word = randint(2, 28, {16, n}), bar = zeros({16, 1}, int64);   // (B, n), (B, 1)
        const Tensor logits = model(cat({word, bar, word}, 1).slice(1, 0, 2 * n));  // (B, 2n, V)
        return cross_entropy(logits.slice(1, n, 2 * n), word);
    });
    draw({{'o', "loss", losses}});
    for (const char* prompt : {"waterfox ", "blacking "})
        std::printf("\n%s all at once: %s\n%s by letters:  %s\n", prompt,
                    alphabet().decode(slowly(model, alphabet().encode(prompt))).substr(n + 1).c_str(), prompt,
                    alphabet().decode(quickly(model, alphabet().encode(prompt))).substr(n + 1).c_str());
}
