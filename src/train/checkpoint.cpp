#include "checkpoint.h"

#include <charconv>
#include <cstdio>

#include "numbers.h"

using namespace weft;

namespace {

const std::string optimizer_prefix = "optimizer.", generator_prefix = "generator.";

std::filesystem::path path_of(const Options& options) {
    return options.out / (options.best ? "best.safetensors" : "model.safetensors");
}

std::uint64_t whole_64(const std::string& what, const std::string& digits) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size())
        throw IoError(what + " is \"" + text::excerpt(digits) + "\", not a number");
    return value;
}

std::string text_of(const Rng::State& state) {
    return std::to_string(state.seed) + " " + std::to_string(state.position);
}

Rng::State state_of(const std::string& name, const std::string& text) {
    const auto space = text.find(' ');
    const std::string what = "the state of the generator " + name;
    return {whole_64(what, text.substr(0, space)),
            whole_64(what, space == std::string::npos ? "" : text.substr(space + 1))};
}

io::Metadata metadata_of(const Run& run) {
    io::Metadata metadata = to_metadata(run.options);
    metadata["step"] = std::to_string(run.step);
    metadata["vocabulary"] = encode(run.vocabulary.characters());
    metadata["text_fingerprint"] = std::to_string(run.text);
    if (run.best) {
        metadata["best_loss"] = number_text(run.best->loss);
        metadata["best_step"] = std::to_string(run.best->step);
    }
    for (const auto& [name, rng] : run.model.named_generators())
        metadata[generator_prefix + name] = text_of(rng->state());
    return metadata;
}

std::optional<Best> best_of(const io::Metadata& metadata) {
    const auto loss = metadata.find("best_loss"), step = metadata.find("best_step");
    if (loss == metadata.end() || step == metadata.end()) return {};
    return Best{real_number("its best_loss", loss->second, -1e300, 1e300),
                whole_number("its best_step", step->second, 0, 1e15)};
}

void warn_of_weights(const std::string& path, const io::NamedTensors& weights) {
    for (const auto& [name, tensor] : weights) try {
            check::check_finite(tensor, name);
        } catch (const ValueError& error) {
            std::fprintf(stderr, "train_gpt: warning: %s: %s\n", path.c_str(), error.what());
        }
}

Run read(const io::SafeTensors& file, const Options& wanted) {
    Options options = wanted;
    complete_from(file.metadata, options);
    const Vocabulary vocabulary(decode(file.meta("vocabulary"), "its vocabulary"));
    io::NamedTensors weights, state;
    for (const auto& [name, tensor] : file.tensors) {
        if (name.starts_with(optimizer_prefix))
            state.emplace_back(name.substr(optimizer_prefix.size()), tensor);
        else
            weights.emplace_back(name, tensor);
    }
    nn::check_state_dict(config_of(options, vocabulary), weights);  // before a model of these sizes is made
    Run run(options, vocabulary);
    run.model.load_state_dict(weights);
    warn_of_weights(path_of(wanted).string(), weights);
    if (!options.best) run.optimizer.load_state_dict(state);
    try {
        run.step = whole_number("its step", file.meta("step"), 0, 1e15);
        run.best = best_of(file.metadata);
    } catch (const UsageError& error) {  // a damaged file is not the user's wrong usage
        throw IoError(error.what());
    }
    run.text = whole_64("its text_fingerprint", file.meta("text_fingerprint"));
    for (const auto& [name, rng] : run.model.named_generators())
        rng->restore(state_of(name, file.meta(generator_prefix + name)));
    return run;
}

}  // namespace

void save(const Run& run) {
    std::filesystem::create_directories(run.options.out);
    io::NamedTensors tensors = run.model.state_dict();
    for (const auto& [name, tensor] : run.optimizer.state_dict())
        tensors.emplace_back(optimizer_prefix + name, tensor);
    io::save_safetensors(run.options.out / "model.safetensors", tensors, metadata_of(run));
}

void save_best(const Run& run) {
    std::filesystem::create_directories(run.options.out);
    io::save_safetensors(run.options.out / "best.safetensors", run.model.state_dict(), metadata_of(run));
}

void set_aside(const Run& run) {
    namespace fs = std::filesystem;
    const fs::path model = run.options.out / "model.safetensors",
                   kept = run.options.out / "previous.safetensors";
    std::error_code error;
    fs::remove(run.options.out / "best.safetensors", error);
    if (!fs::exists(model, error)) return;
    fs::remove(kept, error);
    fs::create_hard_link(model, kept, error);  // so that the file never lacks its own name
    if (error) fs::copy_file(model, kept, fs::copy_options::overwrite_existing, error);
    if (error) throw IoError("cannot keep " + model.string() + " of an earlier run: " + error.message());
    std::fprintf(stderr, "train_gpt: an earlier run was here; its checkpoint is now %s\n", kept.c_str());
}

Run load(const Options& wanted) {
    const std::filesystem::path path = path_of(wanted);
    const io::SafeTensors file = io::load_safetensors(path);
    try {
        return read(file, wanted);
    } catch (const Error& error) {
        throw IoError("cannot go on from " + path.string() + ": " + error.what());
    }
}
