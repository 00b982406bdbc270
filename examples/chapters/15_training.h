// What chapter 15 types up to its `train`, shared with the next chapter, which lets the trained model write.
// B sequences in a batch, T characters in each, V characters in the vocabulary.
#pragma once

#include <cmath>
#include <cstdio>
#include <filesystem>

#include "15_text.h"
#include "weft/weft.h"

using namespace weft;

constexpr std::int64_t B = 12, T = 48, steps = 600;

struct Batch {
    Tensor inputs, targets;  // (B, T) both: the targets are the inputs' next characters
};

// Pieces of T characters that begin at `starts`, and the pieces that begin `shift` characters later.
inline Batch batch_at(const Tensor& ids, const std::vector<std::int64_t>& starts, std::int64_t shift = 1) {
    std::vector<Tensor> inputs, targets;
    for (const std::int64_t start : starts) {
        inputs.push_back(ids.slice(0, start, start + T));                   // (T,)
        targets.push_back(ids.slice(0, start + shift, start + shift + T));  // (T,)
    }
    return {stack(inputs), stack(targets)};
}

struct Corpus {
    text::Characters characters;
    Tensor training, validation;  // (N,): nine tenths of the text, and the last tenth

    explicit Corpus(const std::string& said) : characters(said) {
        const text::Ids ids = characters.encode(said);
        const auto count = static_cast<std::int64_t>(ids.size());
        const Tensor all = from_vector(ids, {count});
        training = all.slice(0, 0, count * 9 / 10);
        validation = all.slice(0, count * 9 / 10, count);
    }
    Batch random_batch(Rng& rng, std::int64_t shift = 1) const {
        std::vector<std::int64_t> starts;
        for (std::int64_t b = 0; b < B; ++b) starts.push_back(rng.randint(0, training.numel() - T));
        return batch_at(training, starts, shift);
    }
    Batch validation_batch(std::int64_t shift = 1) const {  // all of it, piece after piece
        std::vector<std::int64_t> starts;
        for (std::int64_t start = 0; start + T < validation.numel(); start += T) starts.push_back(start);
        return batch_at(validation, starts, shift);
    }
};

// A line break would break our lines.
inline std::string one_line(std::string said) {
    for (char& c : said)
        if (c == '\n') c = '/';
    return said;
}

inline lm::GPT new_model(const Corpus& corpus) {
    Rng rng(1);
    lm::GPT model({.vocab_size = corpus.characters.vocab_size(),
                   .block_size = T,
                   .num_layers = 2,
                   .num_heads = 2,
                   .d_model = 64},
                  rng);
    model.to(float64);  // slower, and the same digits on every processor
    return model;
}

inline nn::NamedTensors copy_of(const nn::Module& model) {
    nn::NamedTensors state = model.state_dict();
    for (auto& [name, value] : state) value = value.detach().clone();
    return state;
}

struct Trained {
    std::vector<double> step, training, validation_step, validation;  // the losses
    std::int64_t best_step = 0;
    nn::NamedTensors best, last;  // weights: with the lowest validation loss, and of the last step
};

inline Trained train(lm::GPT& model, const Corpus& corpus) {
    Rng rng(2);
    const optim::AdamWOptions options{.beta2 = 0.99, .weight_decay = 0.1};
    optim::AdamW optimizer(optim::decay_groups(model, options));
    const Batch validation = corpus.validation_batch();
    Trained result;
    double lowest = INFINITY;
    for (std::int64_t step = 0; step <= steps; ++step) {
        const double lr =
            optim::cosine_lr(step, {.lr = 3e-3, .min_lr = 3e-4, .warmup_steps = 50, .steps = steps});
        optimizer.set_lr(lr);
        optimizer.zero_grad();
        const Batch batch = corpus.random_batch(rng);
        const Tensor loss = cross_entropy(model(batch.inputs), batch.targets);  // (B, T, V), (B, T) → ()
        loss.backward();
        const double norm = optim::clip_grad_norm(model, 1.0);
        result.step.push_back(static_cast<double>(step));
        result.training.push_back(loss.item());
        if (step % 50 == 0) {
            const NoGrad off;
            const double validation_loss = cross_entropy(model(validation.inputs), validation.targets).item();
            result.validation_step.push_back(static_cast<double>(step));
            result.validation.push_back(validation_loss);
            if (validation_loss < lowest) {
                lowest = validation_loss;
                result.best_step = step;
                result.best = copy_of(model);
            }
            if (step % 100 == 0)
                std::printf("step %4d  lr %.4f  loss %.2f  validation %.2f  gradient %.1f\n",
                            static_cast<int>(step), lr, loss.item(), validation_loss, norm);
        }
        optimizer.step();
    }
    std::printf("lowest validation loss: %.2f at step %d, perplexity %.1f\n", lowest,
                static_cast<int>(result.best_step), std::exp(lowest));
    result.last = copy_of(model);
    model.load_state_dict(result.best);
    return result;
}
