// Fault 8. The small print: a batch in four parts, because memory is short. It should be the same batch.
//
//     make fault N=8             runs this file and judges it; HINT=1 helps, CHECK=1 asks check::
//
// B sentences, T tokens in the longest of them.
#include <algorithm>

#include "fault.h"

constexpr std::int64_t T = 24, none = -100;  // a target that does not count

lm::GPT make_model(Rng& rng) {
    lm::GPT model({.vocab_size = alphabet().vocab_size(), .block_size = T, .num_layers = 1, .d_model = 32},
                  rng);
    model.to(float64);
    return model;
}

// The first words of B sentences, from 2 letters to nearly T, the short ones first; their padding has no
// target.
training::Batch draw_batch(const std::string& text, std::int64_t B, Rng& rng) {
    const text::Ids ids = alphabet().encode(text);
    training::Batch batch{zeros({B, T}, int64), full({B, T}, none, int64)};
    for (std::int64_t b = 0; b < B; ++b) {
        std::size_t start =
            text.find(". ", static_cast<std::size_t>(draw_number(0, std::ssize(text) / 2, rng))) + 2;
        const std::int64_t length = 2 + (T - 2) * b * b / (B * B);
        for (std::int64_t t = 0; t < length; ++t, ++start) {
            batch.inputs[b][t].fill_(static_cast<double>(ids[start]));
            batch.targets[b][t].fill_(static_cast<double>(ids[start + 1]));
        }
    }
    return batch;
}
std::int64_t count_targets(const Tensor& targets) {
    return static_cast<std::int64_t>(sum(targets != none).item());
}

// Adds the gradient of the mean loss over the batch's targets, a part at a time, and returns that loss.
double accumulate(const lm::GPT& model, const training::Batch& batch, std::int64_t parts) {
    const std::vector<Tensor> inputs = chunk(batch.inputs, parts), targets = chunk(batch.targets, parts);
    double total = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const double share = 1.0 / static_cast<double>(inputs.size());
        const Tensor loss = cross_entropy(model(inputs[i]), targets[i]) * share;  // ()
        loss.backward();
        total += loss.item();
    }
    return total;
}

void program(std::uint64_t seed) {
    const std::string text = story(seed, 400), other = story(99, 100);
    std::vector<Curve> curves;
    for (const std::int64_t parts : {1, 4}) {
        const std::string name = parts == 1 ? "in one part" : "in four parts";
        curves.push_back({parts == 1 ? '.' : 'o', "validation loss, trained " + name, {}});
        Rng rng(seed), rest(99);
        const lm::GPT model = make_model(rng);
        const training::Batch validation = draw_batch(other, 32, rest);
        optim::Adam optimizer(model, {.lr = 1e-2});
        for (int step = 0; step < 120; ++step) {
            optimizer.zero_grad();
            const double loss = accumulate(model, draw_batch(text, 16, rng), parts);
            optimizer.step();
            if (step < 2) std::printf("step %d %s: loss %.4f\n", step, name.c_str(), loss);
            const NoGrad off;
            if (step % 2 == 0)
                curves.back().values.push_back(
                    cross_entropy(model(validation.inputs), validation.targets).item());
        }
    }
    draw(curves);
}
