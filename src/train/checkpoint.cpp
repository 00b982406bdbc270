#include "weft/train/checkpoint.h"

namespace weft::training {

namespace {

const std::string optimizer_prefix = "optimizer.", generator_prefix = "generator.";

Rng::State state_of(const std::string& name, const std::string& text) {
    const std::string what = "the state of the generator " + name;
    const std::size_t space = std::min(text.find(' '), text.size());
    return {number_of<std::uint64_t>(what, text.substr(0, space)),
            number_of<std::uint64_t>(what, text.substr(std::min(space + 1, text.size())))};
}

}  // namespace

Checkpoint::Checkpoint(const nn::Module& module, std::int64_t step, io::Metadata entries)
    : model(module.state_dict()), metadata(std::move(entries)) {
    metadata["step"] = std::to_string(step);
    metadata["arithmetic_version"] = std::to_string(arithmetic_version);
    for (const auto& [name, rng] : module.named_generators()) {
        const Rng::State state = rng->state();
        metadata[generator_prefix + name] = std::to_string(state.seed) + " " + std::to_string(state.position);
    }
}

void Checkpoint::save(const std::filesystem::path& path) const {
    nn::NamedTensors tensors = model;
    for (const auto& [name, tensor] : optimizer) tensors.emplace_back(optimizer_prefix + name, tensor);
    io::save_safetensors(path, tensors, metadata);
}

Checkpoint Checkpoint::load(const std::filesystem::path& path) {
    io::SafeTensors file = io::load_safetensors(path);
    Checkpoint checkpoint;
    checkpoint.metadata = std::move(file.metadata);
    for (const auto& [name, tensor] : file.tensors)
        if (name.starts_with(optimizer_prefix))
            checkpoint.optimizer.emplace_back(name.substr(optimizer_prefix.size()), tensor);
        else
            checkpoint.model.emplace_back(name, tensor);
    return checkpoint;
}

const std::string& Checkpoint::meta(const std::string& key) const {
    const auto found = metadata.find(key);
    if (found == metadata.end()) throw IoError("it does not say its ", key);
    return found->second;
}

bool Checkpoint::has_this_arithmetic() const {
    const auto found = metadata.find("arithmetic_version");
    return found != metadata.end() && found->second == std::to_string(arithmetic_version);
}

std::int64_t Checkpoint::restore(nn::Module& module) const {
    module.load_state_dict(model);
    for (const auto& [name, rng] : module.named_generators())
        rng->set_state(state_of(name, meta(generator_prefix + name)));
    return number<std::int64_t>("step", 1'000'000'000'000'000);
}

}  // namespace weft::training
