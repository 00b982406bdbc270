#include "run.h"

#include "numbers.h"

using namespace weft;

namespace {

const std::string optimizer_prefix = "optimizer.", generator_prefix = "generator.";

nn::GPTConfig config_of(const Options& o, const Vocabulary& vocabulary) {
    return {.vocab = vocabulary.size(),
            .block_size = o.block_size,
            .layers = o.layers,
            .heads = o.heads,
            .d_model = o.d_model,
            .dropout = o.dropout,
            .bias = o.bias};
}

nn::GPT model_of(const Options& options, const Vocabulary& vocabulary) {
    Rng rng(static_cast<std::uint64_t>(options.seed));
    return {config_of(options, vocabulary), rng};
}

std::filesystem::path checkpoint_path(const Options& options) { return options.out / "model.safetensors"; }

std::string text_of(const Rng::State& state) {
    return std::to_string(state.seed) + " " + std::to_string(state.position);
}

Rng::State state_of(const std::string& text) {
    Rng::State state;
    const auto space = text.find(' ');
    const auto number = [](const std::string& digits) {
        if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos || digits.size() > 20)
            throw IoError("the checkpoint's state of a random generator is \"" + digits + "\", not a number");
        return std::stoull(digits);
    };
    state.seed = number(text.substr(0, space));
    state.position = number(space == std::string::npos ? "" : text.substr(space + 1));
    return state;
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

double Run::train(const Batch& batch) {
    optimizer.set_lr(learning_rate());
    optimizer.zero_grad();
    Tensor loss = cross_entropy(model(batch.inputs), batch.targets);  // (B, T, V), (B, T) → ()
    loss.backward();
    if (options.clip > 0) optim::clip_grad_norm(model, options.clip);
    optimizer.step();
    ++step;
    return loss.item();
}

double Run::evaluate(const std::vector<Batch>& held_out) {
    NoGrad off;
    model.eval();
    double sum = 0, tokens = 0;
    for (const Batch& batch : held_out) {
        const auto count = static_cast<double>(batch.targets.numel());
        sum += count * cross_entropy(model(batch.inputs), batch.targets).item();
        tokens += count;
    }
    model.train();
    return sum / tokens;
}

void save(const Run& run) {
    std::filesystem::create_directories(run.options.out);
    io::Metadata metadata = to_metadata(run.options);
    metadata["step"] = std::to_string(run.step);
    metadata["vocabulary"] = encode(run.vocabulary.characters());
    for (const auto& [name, rng] : run.model.named_generators())
        metadata[generator_prefix + name] = text_of(rng->state());

    io::NamedTensors tensors = run.model.state_dict();
    for (const auto& [name, tensor] : run.optimizer.state_dict())
        tensors.emplace_back(optimizer_prefix + name, tensor);
    io::save_safetensors(checkpoint_path(run.options), tensors, metadata);
}

Run load(const Options& wanted) {
    const io::SafeTensors file = io::load_safetensors(checkpoint_path(wanted));
    Options options = wanted;
    complete_from(file.metadata, options);
    Run run(options, Vocabulary(decode(file.meta("vocabulary"), "the checkpoint's vocabulary")));

    io::NamedTensors weights, state;
    for (const auto& [name, tensor] : file.tensors) {
        if (name.starts_with(optimizer_prefix))
            state.emplace_back(name.substr(optimizer_prefix.size()), tensor);
        else
            weights.emplace_back(name, tensor);
    }
    run.model.load_state_dict(weights);
    run.optimizer.load_state_dict(state);
    run.step = whole_number("the checkpoint's step", file.meta("step"), 0, 1e15);
    for (const auto& [name, rng] : run.model.named_generators())
        rng->restore(state_of(file.meta(generator_prefix + name)));
    return run;
}
