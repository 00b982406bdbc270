#include "run.h"

using namespace weft;

nn::GPTConfig config_of(const Options& o, const Vocabulary& vocabulary) {
    return {.vocab = vocabulary.size(),
            .block_size = o.block_size,
            .layers = o.layers,
            .heads = o.heads,
            .d_model = o.d_model,
            .dropout = o.dropout,
            .bias = o.bias};
}

namespace {

nn::GPT model_of(const Options& options, const Vocabulary& vocabulary) {
    Rng rng(static_cast<std::uint64_t>(options.seed));
    return {config_of(options, vocabulary), rng};
}

}  // namespace

Run::Run(const Options& wanted, const Vocabulary& known)
    : options(wanted),
      vocabulary(known),
      model(model_of(options, vocabulary)),
      optimizer(optim::decay_groups(model, options.weight_decay), {.lr = options.lr, .beta2 = options.beta2}) {}

double Run::learning_rate() const {
    return optim::cosine_lr(
        step, {.lr = options.lr, .min_lr = options.min_lr, .warmup = options.warmup, .steps = options.steps});
}

double Run::train(const Batch& batch, const std::function<void()>& after_backward) {
    optimizer.set_lr(learning_rate());
    optimizer.zero_grad();
    Tensor loss = cross_entropy(model(batch.inputs), batch.targets);  // (B, T, V), (B, T) → ()
    loss.backward();
    if (after_backward) after_backward();
    if (options.clip > 0) optim::clip_grad_norm(model, options.clip);
    optimizer.step();
    ++step;
    return loss.item();
}

std::optional<double> Run::evaluate(const std::vector<Batch>& held_out, const std::function<bool()>& stop) {
    NoGrad off;
    model.eval();
    double sum = 0, tokens = 0;
    for (const Batch& batch : held_out) {
        if (stop && stop()) break;
        const auto count = static_cast<double>(batch.targets.numel());
        sum += count * cross_entropy(model(batch.inputs), batch.targets).item();
        tokens += count;
    }
    model.train();
    if (stop && stop()) return {};
    return sum / tokens;
}
