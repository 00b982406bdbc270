// Tensors in files. Whatever cannot be read, written or understood is an IoError that names the path and the
// reason. A file is written whole or not at all: to a temporary file beside it, synced, then renamed over the
// old one, whose permissions stay and whose symbolic link is followed.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "weft/tensor.h"

namespace weft::io {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;  // what Module::state_dict returns
using Metadata = std::map<std::string, std::string>;

struct SafeTensors {
    NamedTensors tensors;  // in the order of the file
    Metadata metadata;

    bool has(const std::string& name) const;
    const Tensor& at(const std::string& name) const;        // IndexError when there is no such tensor
    const std::string& meta(const std::string& key) const;  // IndexError when there is no such entry
};

// Writes the tensors (any shape, any strides) and the metadata in the safetensors format
// (https://huggingface.co/docs/safetensors, "Format"): eight bytes with the header's length, a JSON header, the
// values in row-major order, little-endian, wider types first so that every tensor is aligned. ValueError on a
// name that is given twice or is "__metadata__", or that is not UTF-8.
void save_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                      const Metadata& metadata = {});

// Reads F32, F64, I64 and BOOL tensors. Refused: a file that is missing, shorter than its header says, or whose
// header is above 100 MB; a header that is not JSON, names something twice, or holds anything but tensors and a
// __metadata__ of strings; an unknown type; a shape that does not fit its bytes; values that overlap, leave
// holes or reach past the end.
SafeTensors load_safetensors(const std::filesystem::path& path);

// The bytes of a file; IoError when it is missing, a directory or cannot be read.
std::string load_text(const std::filesystem::path& path);
void save_text(const std::filesystem::path& path, const std::string& text);

}  // namespace weft::io
