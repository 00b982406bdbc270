// The folder that a run writes to.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/text.h"
#include "weft/io/safetensors.h"
#include "weft/nn/module.h"

namespace weft::training {

// A folder that is locked for one run at a time.
//
//     const training::OutputFolder lock(folder, {"model.safetensors"});  // until the end of the scope
//
// The lock on its file "train.lock" ends with the process, however that ends; a file left behind is harmless.
class OutputFolder {
public:
    // Creates the folder, locks it and writes to it, so that a run that cannot save fails before it trains.
    // `files` are the names that it will write. If another run holds the folder, as one that was told to end
    // may for a moment, it warns and waits up to `patience` seconds. IoError, naming the folder, if it is held
    // longer, cannot be written to, or has a folder with one of the names.
    explicit OutputFolder(const std::filesystem::path& folder, const std::vector<std::string>& files = {},
                          double patience = 10);
    ~OutputFolder();  // unlocks the folder, and removes it if it was created here and is empty
    OutputFolder(const OutputFolder&) = delete;
    OutputFolder& operator=(const OutputFolder&) = delete;

private:
    std::filesystem::path lock_name_;
    std::vector<std::filesystem::path> created_;
    int lock_ = -1;

    OutputFolder() = default;
};

// Checkpoints: a training run saved to one safetensors file, and resumed from it.

// All of `text` as a number in [low, high]. IoError "what: problem" if read_number finds one.
//
//     const auto step = training::number_of<std::int64_t>("its step", "12");  // 12
template <class Number>
Number number_of(const std::string& what, const std::string& text, Number low = 0,
                 Number high = std::numeric_limits<Number>::max()) {
    Number value{};
    if (const std::string problem = read_number(text, low, high, value); !problem.empty())
        throw IoError(what, ": ", problem);
    return value;
}

// The version of Weft's arithmetic and random streams: it is raised whenever the same program gives other bits.
constexpr int arithmetic_version = 2;

// The state of a run: the weights, the optimiser, and the positions of the module's generators and of this
// thread's default_rng(). A run that reads nothing else resumes with the same bits as one that never stopped.
//
//     std::int64_t step = 0;
//     if (std::filesystem::exists(path)) step = training::Checkpoint::load(path).restore(model, optimizer);
//     // train
//     training::Checkpoint(model, optimizer, step).save(path);
//
// The file holds the weights under their own names and the optimiser's state under "optimizer.…"; if a weight's
// name begins so, under the metadata's "optimizer_prefix", which none begins with.
struct Checkpoint {
    // Their state_dict(), without weights in blocks, which never change, so that a model in which they are
    // adapted resumes from the file that it began with and this one. `optimizer` is empty in a file of weights
    // alone.
    nn::NamedTensors model, optimizer;
    // "step", "arithmetic_version", the generators' states "generator.NAME" and "default_rng", and the
    // program's own entries.
    io::Metadata metadata;

    // The state of a model, and of any optimiser with state_dict(), after `step` steps. The model's tensors are
    // shared, not copied: save before the next step.
    Checkpoint(const nn::Module& module, std::int64_t step, io::Metadata metadata = {});
    template <class Optimizer>
    Checkpoint(const nn::Module& module, const Optimizer& source, std::int64_t step, io::Metadata entries = {})
        : Checkpoint(module, step, std::move(entries)) {
        optimizer = source.state_dict();
    }

    // Writes the file completely or not at all; IoError if it cannot.
    void save(const std::filesystem::path& path) const;
    // Reads any safetensors file as io::load_safetensors does. What the file lacks is refused when it is used.
    static Checkpoint load(const std::filesystem::path& path);

    // An entry of the metadata; IoError if it is missing.
    const std::string& meta(const std::string& key) const;
    // The same as a number in [0, high]; IoError if it is not one.
    template <class Number>
    Number number(const std::string& key, Number high = std::numeric_limits<Number>::max()) const {
        return number_of<Number>("its " + key, meta(key), 0, high);
    }

    // Whether the file was written with this arithmetic_version. If not, a resumed run continues with other
    // bits than one that never stopped.
    bool has_this_arithmetic() const;

    // Loads the weights and the states of generators and optimiser, and returns the step. Refuses what
    // load_state_dict refuses; IoError if a generator's state or the step is missing or malformed. If it
    // throws, nothing has changed. A file of an earlier version lacks default_rng(), which then stays as it is.
    std::int64_t restore(nn::Module& module) const { return checked(module)(); }
    template <class Optimizer>
    std::int64_t restore(nn::Module& module, Optimizer& target) const {
        const auto load = checked(module);
        target.load_state_dict(optimizer);
        return load();
    }

private:
    Checkpoint() = default;
    // Refuses what restore(module) refuses; the result does it.
    std::function<std::int64_t()> checked(nn::Module& module) const;
};

}  // namespace weft::training
