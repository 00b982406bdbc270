// Fault 7. Moody: ask twice how good it is, and it gives two answers.
//
//     make fault N=7             runs this file and judges it; HINT=1 helps, CHECK=1 asks check::
//
// B batch, T tokens, V vocabulary.
#include "fault.h"

constexpr std::int64_t T = 24;

lm::GPT make_model(Rng& rng) {
    lm::GPT model({.vocab_size = alphabet().vocab_size(),
                   .block_size = T,
                   .num_layers = 1,
                   .num_heads = 4,
                   .d_model = 32,
                   .dropout = 0.2},
                  rng);
    model.to(float64);
    return model;
}

// The mean loss over the validation text. It changes nothing in the model, not even whether it trains.
double evaluate(lm::GPT& model, const training::Corpus& corpus) {
    const NoGrad off;
    double sum = 0;
    const std::vector<training::Batch> batches = corpus.validation_batches(4);
    for (const training::Batch& batch : batches)
        sum += cross_entropy(model(batch.inputs), batch.targets).item();
    return sum / static_cast<double>(batches.size());
}

void program(std::uint64_t seed) {
    Rng rng(seed);
    lm::GPT model = make_model(rng);
    training::Corpus corpus(alphabet().encode(story(seed, 400)),
                            {.block_size = T, .batch_size = 8, .seed = seed});
    std::vector<double> validation;
    const std::vector<double> losses = train(model.parameters(), 240, 1e-2, [&](int step) {
        if (step % 4 == 0) validation.push_back(evaluate(model, corpus));
        const training::Batch batch = corpus.training_batch(step);  // each (B, T)
        return cross_entropy(model(batch.inputs), batch.targets);
    });
    draw({{'.', "training loss", losses}, {'o', "validation loss", validation}});
    for (int i = 1; i <= 3; ++i) std::printf("evaluation %d: %.4f\n", i, evaluate(model, corpus));
}
