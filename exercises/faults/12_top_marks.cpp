// Fault 12. Top marks: it passes every examination that we set, and fails its first day at work.
//
//     make fault N=12            runs this file and judges it; HINT=1 helps, CHECK=1 asks check::
//
// B batch, T tokens, N tokens in the text.
#include "fault.h"

constexpr std::int64_t T = 24;

// The text is cut: what comes first is for training, the last fifth to find out how good the model is.
struct Parts {
    Tensor training, validation;  // ids, (4/5 N,) and (1/5 N,)
};
Parts cut(const Tensor& ids) {
    const std::int64_t N = ids.size(0), end = N * 4 / 5;
    return {ids.slice(0, 0, end), ids.slice(0, end, N)};
}
// B pieces of the ids at random places, and the token after each of theirs; each (B, T).
training::Batch draw_batch(const Tensor& ids, std::int64_t B, Rng& rng) {
    std::vector<Tensor> inputs, targets;
    for (std::int64_t b = 0; b < B; ++b) {
        const std::int64_t start = draw_number(0, ids.size(0) - T, rng);
        inputs.push_back(ids.slice(0, start, start + T));
        targets.push_back(ids.slice(0, start + 1, start + T + 1));
    }
    return {stack(inputs), stack(targets)};
}
double loss_on(const lm::GPT& model, const Tensor& ids) {
    const NoGrad off;
    Rng rng(9);
    const training::Batch batch = draw_batch(ids, 32, rng);
    return cross_entropy(model(batch.inputs), batch.targets).item();
}

// Trains the model on the text, and returns the losses on the training and on the validation part.
std::pair<std::vector<double>, std::vector<double>> learn(lm::GPT& model, const Tensor& ids, int steps,
                                                          Rng& rng) {
    const Parts parts = cut(ids);
    std::vector<double> validation;
    std::vector<double> losses = train(model.parameters(), steps, 1e-2, [&](int step) {
        if (step % 10 == 0) validation.push_back(loss_on(model, parts.validation));
        const training::Batch batch = draw_batch(ids, 8, rng);
        return cross_entropy(model(batch.inputs), batch.targets);
    });
    return {losses, validation};
}

void program(std::uint64_t seed) {
    Rng rng(seed);
    lm::GPT model({.vocab_size = alphabet().vocab_size(), .block_size = T, .num_layers = 1, .d_model = 32},
                  rng);
    model.to(float64);
    const auto [losses, validation] = learn(model, from_vector(alphabet().encode(story(seed, 20))), 400, rng);
    draw({{'.', "training", losses}, {'o', "validation", validation}});
    std::printf("a story written today: %.3f\n",
                loss_on(model, from_vector(alphabet().encode(story(99, 100)))));
}
