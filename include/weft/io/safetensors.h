// Tensors in files of the safetensors format, and the state of modules.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/tensor.h"

namespace weft::io {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;  // the type of Module::state_dict()
using Metadata = std::map<std::string, std::string>;               // names and texts

// The contents of a safetensors file.
struct SafeTensors {
    NamedTensors tensors;  // in the file's order
    Metadata metadata;     // the entries of __metadata__

    bool has(const std::string& name) const;                // whether there is a tensor of this name
    const Tensor& at(const std::string& name) const;        // the tensor; IndexError if there is none
    const std::string& meta(const std::string& key) const;  // the entry; IndexError if there is none
};

// Writes tensors of any shape and strides, and metadata, in the safetensors format
// (https://huggingface.co/docs/safetensors, "Format"): eight bytes with the header's length, a JSON header, and
// the values in row-major order, little-endian, wider types first so that every tensor is aligned.
//
//     io::save_safetensors(path, {{"w", ones({2, 3})}, {"b", zeros({3})}}, {{"step", "100"}});
//     const io::SafeTensors file = io::load_safetensors(path);
//     const Tensor w = file.at("w");               // (2, 3)
//     const std::string step = file.meta("step");  // "100"
//
// ValueError for a name that is repeated, is "__metadata__" or is not UTF-8.
void save_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                      const Metadata& metadata = {});

// Reads F32, F64, F16, BF16, I64 and BOOL tensors. Refuses a file that is missing, is shorter than its header
// says, or has a header above 100 MB; a header that is not one JSON object from its first byte to its last,
// repeats a name, or holds anything but tensors and a __metadata__ of strings; an unknown type; a shape that
// does not fit its bytes; values that overlap, leave holes or reach past the end.
SafeTensors load_safetensors(const std::filesystem::path& path);

// The tensors of a folder that transformers' save_pretrained wrote: those of model.safetensors if it is there,
// or those of the shards that model.safetensors.index.json names
// (https://huggingface.co/docs/transformers/big_models, "Sharded checkpoints").
//
//     io::save_safetensors(folder / "one.safetensors", {{"w", ones({2, 3})}});
//     io::save_safetensors(folder / "two.safetensors", {{"b", zeros({3})}});
//     io::save_text(folder / "model.safetensors.index.json",
//                   R"({"weight_map": {"w": "one.safetensors", "b": "two.safetensors"}})");
//     const io::NamedTensors state = io::load_sharded_checkpoint(folder);  // "w" (2, 3), "b" (3,)
//
// IoError if the folder has neither file, if load_safetensors refuses one, if the index is not JSON with a
// "weight_map" from names of tensors to names of files in the folder, or if a shard lacks a tensor that the
// index says it has, or has another.
//
// `before_values` is called before the first file is read, with the sum of the files' bytes.
NamedTensors load_sharded_checkpoint(const std::filesystem::path& folder,
                                     const std::function<void(std::int64_t bytes)>& before_values = {});

// Writes module.state_dict() as save_safetensors does, for load(), or for load_file of Python's safetensors.
//
//     io::save(net, path);
//     io::load(other, path);  // all(other.weight == net.weight), and so on
//
// To resume a training use training::Checkpoint, which also holds the optimiser and the generators.
template <class Module>
void save(const Module& module, const std::filesystem::path& path) {
    save_safetensors(path, module.state_dict());
}

// Loads what save() or a Python program wrote into the module's parameters and buffers. Refuses what
// load_safetensors refuses, and what Module::load_state_dict refuses about names (those only if strict), shapes
// and types; then nothing has changed.
template <class Module>
void load(Module& module, const std::filesystem::path& path, bool strict = true) {
    module.load_state_dict(load_safetensors(path).tensors, strict);
}

}  // namespace weft::io
