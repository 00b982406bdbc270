// Checkpoints: a training run in one safetensors file, and back.
#pragma once

#include <utility>

#include "weft/models/io.h"
#include "weft/nn/module.h"
#include "weft/train/numbers.h"

namespace weft::training {

// All that a run consists of: one that goes on from it has the same bits as one that never stopped.
//
//     std::int64_t step = 0;
//     if (std::filesystem::exists(path)) step = training::Checkpoint::load(path).restore(model, optimizer);
//     // train
//     training::Checkpoint(model, optimizer, step).save(path);
//
// The file has the weights under their own names, the optimiser's state under "optimizer.…", and as metadata
// the step, the state of every generator ("generator.NAME") and what the program adds.
struct Checkpoint {
    nn::NamedTensors model, optimizer;  // their state_dict(); no optimiser's in a file of weights alone
    io::Metadata metadata;              // "step", "generator.NAME" and the program's own entries

    // Of a model and its optimiser (any with state_dict()) after `step` steps. The model's tensors are shared,
    // not copied: save before the next step.
    Checkpoint(const nn::Module& module, std::int64_t step, io::Metadata metadata = {});
    template <class Optimizer>
    Checkpoint(const nn::Module& module, const Optimizer& from, std::int64_t step, io::Metadata entries = {})
        : Checkpoint(module, step, std::move(entries)) {
        optimizer = from.state_dict();
    }

    // Whole or not at all; IoError when it cannot be written.
    void save(const std::filesystem::path& path) const;
    // Any safetensors file: what it lacks is refused when it is asked for.
    static Checkpoint load(const std::filesystem::path& path);

    // An entry of the metadata; IoError where it is missing.
    const std::string& meta(const std::string& key) const;
    // The same as a number from 0 to `high`; IoError where it is none.
    template <class Number>
    Number number(const std::string& key, Number high = std::numeric_limits<Number>::max()) const {
        return number_of<Number>("its " + key, meta(key), 0, high);
    }

    // Loads the weights, the generators' states and the optimiser's, and returns the step. Refused: what
    // load_state_dict refuses; with an IoError, a generator's state or a step that is missing or none.
    std::int64_t restore(nn::Module& module) const;
    template <class Optimizer>
    std::int64_t restore(nn::Module& module, Optimizer& to) const {
        const std::int64_t step = restore(module);
        to.load_state_dict(optimizer);
        return step;
    }

private:
    Checkpoint() = default;
};

}  // namespace weft::training
