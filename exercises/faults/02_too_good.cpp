// Fault 2. Too good to be true: the loss falls to nothing, and the samples stammer.
//
//     make fault N=2             runs this file and judges it; HINT=1 helps, CHECK=1 asks check::
//
// B batch, T tokens, N tokens in the text, V vocabulary.
#include "fault.h"

constexpr std::int64_t T = 24;

// B pieces of the text `ids` (N,): inputs (B, T) and, for each token, what the model should say to it, (B, T).
training::Batch draw_batch(const Tensor& ids, std::int64_t B, Rng& rng) {
    std::vector<Tensor> inputs, targets;
    for (std::int64_t b = 0; b < B; ++b) {
        const std::int64_t start = draw_number(0, ids.size(0) - T, rng);
        inputs.push_back(ids.slice(0, start, start + T));
        targets.push_back(ids.slice(0, start, start + T));
    }
    return {stack(inputs), stack(targets)};
}

void program(std::uint64_t seed) {
    Rng rng(seed);
    lm::GPT model({.vocab_size = alphabet().vocab_size(), .block_size = T, .num_layers = 1, .d_model = 32},
                  rng);
    model.to(float64);
    const Tensor ids = from_vector(alphabet().encode(story(seed, 400)));  // (N,)
    const std::vector<double> losses = train(model.parameters(), 300, 1e-2, [&](int) {
        const training::Batch batch = draw_batch(ids, 8, rng);
        return cross_entropy(model(batch.inputs), batch.targets);
    });
    draw({{'o', "loss", losses}});
    show_sample(model, "my quick fox ", seed);
}
