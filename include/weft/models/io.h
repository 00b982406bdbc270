// Tensors in files. What cannot be read, written or understood is an IoError that names the path and the
// reason. A file is written completely or not at all: to a temporary file next to it, synced, then renamed over
// the old one, whose permissions are kept and whose symbolic link is followed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/nn/module.h"

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

// Reads F32, F64, I64 and BOOL tensors. Refuses a file that is missing, is shorter than its header says, or has
// a header above 100 MB; a header that is not one JSON object from its first byte to its last, repeats a name,
// or holds anything but tensors and a __metadata__ of strings; an unknown type; a shape that does not fit its
// bytes; values that overlap, leave holes or reach past the end.
SafeTensors load_safetensors(const std::filesystem::path& path);

// Writes module.state_dict() as save_safetensors does, for load(), or for load_file of Python's safetensors.
//
//     io::save(net, path);
//     io::load(other, path);  // a module made with the same sizes now has the values of net
//
// To resume a training use training::Checkpoint, which also holds the optimiser and the generators.
void save(const nn::Module& module, const std::filesystem::path& path);

// Loads what save() or a Python program wrote into the module's parameters and buffers. Refuses what
// load_safetensors refuses, and what Module::load_state_dict refuses about names (those only if strict), shapes
// and types; then nothing has changed.
void load(nn::Module& module, const std::filesystem::path& path, bool strict = true);

// Writes one tensor of any shape and strides as NumPy's .npy (numpy/lib/format.py, version 1.0), with exactly
// the bytes of numpy.save: row-major, little-endian, aligned.
//
//     io::save_npy(path, arange(6).reshape({2, 3}));
//     const Tensor x = io::load_npy(path);  // int64 (2, 3); np.load(path) in Python
void save_npy(const std::filesystem::path& path, const Tensor& x);

// Reads an .npy of version 1.0, 2.0 or 3.0, row-major or column-major, in either byte order. float32, float64,
// int64 and bool keep their type; float16 becomes float32, and int8, int16, int32, uint8, uint16 and uint32
// become int64, all exactly. Refuses every other type (uint64, complex, text, objects, structured ones), more
// than 8 axes, and a file that is shorter or longer than its header says.
Tensor load_npy(const std::filesystem::path& path);

// Writes what numpy.savez writes, or numpy.savez_compressed if `compressed`: a ZIP archive with a "name.npy"
// for each tensor. The same tensors give the same bytes.
//
//     io::save_npz(path, {{"x", ones({2, 3})}, {"y", arange(4)}}, /*compressed=*/true);
//     const io::NamedTensors arrays = io::load_npz(path);  // "x" (2, 3), "y" (4,)
//
// ValueError for a name that is repeated, contains a zero byte or is not UTF-8, and for an archive of 4 GiB or
// 65535 tensors.
void save_npz(const std::filesystem::path& path, const NamedTensors& tensors, bool compressed = false);

// Reads what numpy.savez and numpy.savez_compressed write, in the archive's order, each array as load_npy does.
// Refuses what load_npy refuses; an archive that is truncated, damaged (its checksums are verified) or
// encrypted; members that are compressed by another method than deflate, overlap, share a name, are not .npy,
// or have a name that is not UTF-8 or contains a zero byte. Deflate can expand a byte to 1032, and a uint8
// becomes an int64: an archive whose tensors would take more than 16 times its own size plus `allowance` bytes
// is refused before memory is allocated.
NamedTensors load_npz(const std::filesystem::path& path, std::uint64_t allowance = std::uint64_t{1} << 30);

// The bytes of a file; IoError if it is missing, a directory or unreadable.
//
//     io::save_text(path, "one\ntwo\n");
//     const std::string text = io::load_text(path);
std::string load_text(const std::filesystem::path& path);
// Writes the bytes; IoError if it cannot.
void save_text(const std::filesystem::path& path, const std::string& text);

}  // namespace weft::io
