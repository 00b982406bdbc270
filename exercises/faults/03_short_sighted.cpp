// Fault 3. Short-sighted: it learns, and no head ever makes up its mind.
//
//     make fault N=3             runs this file and judges it; HINT=1 helps, CHECK=1 asks check::
//
// B batch, T tokens, C = d_model, H heads, d_k = C / H.
#include "fault.h"

constexpr std::int64_t T = 24, C = 48, H = 12;

// Causal attention in H heads: x (B, T, C) → (B, T, C). The names of its steps are for check::attention.
struct Attention : nn::Module {
    nn::Linear W_q = register_module("W_q", nn::Linear(C, C));
    nn::Linear W_k = register_module("W_k", nn::Linear(C, C));
    nn::Linear W_v = register_module("W_v", nn::Linear(C, C));
    nn::Linear W_out = register_module("W_out", nn::Linear(C, C));
    Attention() { to(float64); }
    Tensor operator()(const Tensor& x, const Mask& extra_mask = {}) const {
        const std::int64_t B = x.size(0), t = x.size(1);
        const Tensor q = traced("q", nn::split_heads(W_q(x), H));  // (B, H, t, d_k)
        const Tensor k = traced("k", nn::split_heads(W_k(x), H));  // (B, H, t, d_k)
        const Tensor v = traced("v", nn::split_heads(W_v(x), H));  // (B, H, t, d_k)
        const Tensor scores = traced("scores", matmul(q, k.transpose(-2, -1)) / std::sqrt(C));  // (B, H, t, t)
        const Tensor blocked = (Mask::causal() | extra_mask).materialize(B, H, t, t);
        const Tensor masked = traced("masked scores", masked_fill(scores, blocked, -infinity));  // (B, H, t, t)
        const Tensor weights = traced("weights", softmax(masked, -1));                           // (B, H, t, t)
        const Tensor heads = traced("heads", matmul(weights, v));  // (B, H, t, d_k)
        return W_out(traced("merged", nn::merge_heads(heads)));    // (B, t, C)
    }
};

void program(std::uint64_t seed) {
    manual_seed(seed);
    Model<Attention> model(alphabet().vocab_size(), T, C, Attention());
    training::Corpus corpus(alphabet().encode(story(seed, 400)),
                            {.block_size = T, .batch_size = 8, .seed = seed});
    const std::vector<double> losses = train(model.parameters(), 300, 5e-3, [&](int step) {
        const training::Batch batch = corpus.training_batch(step);  // each (B, T)
        return cross_entropy(model(batch.inputs), batch.targets);
    });
    draw({{'o', "loss", losses}});

    const std::string sentence = "my red fox";
    const Tensor ids = from_vector(alphabet().encode(sentence)).unsqueeze(0);  // (1, t)
    const Tensor weights = viz::attention_weights(model, ids)[0];              // (1, H, t, t)
    std::printf("\nIn the mean, a query gives its favourite key %.2f of its attention.\n",
                max(weights, -1).values.mean().item());
    show_map("the first head", weights[0][0], sentence, sentence, Mask::causal());
}
