#include "weft/training/checkpoint.h"

#include <algorithm>

#include "weft/nn/state.h"

namespace weft::training {

namespace {

const std::string generator_prefix = "generator.", prefix_key = "optimizer_prefix";

// What names of the optimiser's state begin with in a file, and none of the model's.
std::string optimizer_prefix(const nn::NamedTensors& model) {
    std::string prefix = "optimizer.";
    const auto is_taken = [&](const auto& named) { return named.first.starts_with(prefix); };
    while (std::ranges::any_of(model, is_taken)) prefix.insert(0, "_");
    return prefix;
}

const std::string default_generator = "default_rng";

std::string text_of(const Rng& rng) {
    return std::to_string(rng.state().seed) + " " + std::to_string(rng.state().position);
}

Rng::State state_of(const std::string& name, const std::string& text) {
    const std::string what = "the state of the generator " + name;
    const std::size_t space = std::min(text.find(' '), text.size());
    return {number_of<std::uint64_t>(what, text.substr(0, space)),
            number_of<std::uint64_t>(what, text.substr(std::min(space + 1, text.size())))};
}

}  // namespace

Checkpoint::Checkpoint(const nn::Module& module, std::int64_t step, io::Metadata entries)
    : model(module.state_dict()), metadata(std::move(entries)) {
    std::erase_if(model, [](const auto& named) { return is_quantized(named.second.dtype()); });
    metadata["step"] = std::to_string(step);
    metadata["arithmetic_version"] = std::to_string(arithmetic_version);
    metadata[default_generator] = text_of(default_rng());
    for (const auto& [name, rng] : module.named_generators()) metadata[generator_prefix + name] = text_of(*rng);
}

void Checkpoint::save(const std::filesystem::path& path) const {
    nn::NamedTensors tensors = model;
    io::Metadata entries = metadata;
    const std::string prefix = optimizer_prefix(model);
    if (prefix != optimizer_prefix({})) entries[prefix_key] = prefix;
    for (const auto& [name, tensor] : optimizer) tensors.emplace_back(prefix + name, tensor);
    io::save_safetensors(path, tensors, entries);
}

Checkpoint Checkpoint::load(const std::filesystem::path& path) {
    io::SafeTensors file = io::load_safetensors(path);
    Checkpoint checkpoint;
    checkpoint.metadata = std::move(file.metadata);
    const auto entry = checkpoint.metadata.extract(prefix_key);
    const std::string prefix = entry ? entry.mapped() : optimizer_prefix({});
    for (const auto& [name, tensor] : file.tensors)
        if (name.starts_with(prefix))
            checkpoint.optimizer.emplace_back(name.substr(prefix.size()), tensor);
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

std::function<std::int64_t()> Checkpoint::checked(nn::Module& module) const {
    nn::check_load(module, model);
    std::vector<std::pair<Rng*, Rng::State>> states;
    const nn::NamedGenerators generators = module.named_generators();
    for (const auto& [name, rng] : generators)
        states.emplace_back(rng.get(), state_of(name, meta(generator_prefix + name)));
    if (metadata.contains(default_generator))  // files of earlier versions do not say it
        states.emplace_back(&default_rng(), state_of(default_generator, meta(default_generator)));
    const auto step = number<std::int64_t>("step", 1'000'000'000'000'000);
    return [this, &module, states, step] {
        module.load_state_dict(model);
        for (const auto& [rng, state] : states) rng->set_state(state);
        return step;
    };
}

}  // namespace weft::training
