// Writes GGUF files for tests, right ones and wrong ones.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "environment.h"
#include "weft/io/files.h"
#include "weft/io/gguf.h"
#include "weft/ops.h"
#include "weft/packed/packed.h"

class GgufWriter {
public:
    std::uint32_t version = 3;
    std::uint64_t alignment = 32;                      // of the values; add the key for another one
    std::optional<std::uint64_t> keys, tensors;        // instead of the right numbers
    std::string padding = std::string(1 << 10, '\0');  // what is put where the alignment needs it
    std::string values;                                // all tensors'

    template <class T>
    static std::string number(T value) {
        return {reinterpret_cast<const char*>(&value), sizeof value};
    }
    static std::string text(const std::string& text) { return number(std::uint64_t{text.size()}) + text; }

    // An entry of the metadata, of this type and these bytes.
    void entry(const std::string& key, std::uint32_t type, const std::string& value) {
        entries_ += text(key) + number(type) + value;
        ++keys_;
    }
    // Integers as int64, numbers as float64.
    void add(const std::string& key, const weft::io::GgufValue& value) {
        std::visit(
            [&]<class T>(const T& v) {
                if constexpr (requires { typename T::value_type; } && !std::is_same_v<T, std::string>) {
                    std::string bytes =
                        number(type_of<typename T::value_type>()) + number(std::uint64_t{v.size()});
                    for (const auto& element : v) bytes += bytes_of<typename T::value_type>(element);
                    entry(key, 9, bytes);
                } else {
                    entry(key, type_of<T>(), bytes_of(v));
                }
            },
            value);
    }

    // What the file says of a tensor: sizes with the innermost first, and where its values begin.
    void info(const std::string& name, const std::vector<std::uint64_t>& sizes, std::uint32_t type,
              std::uint64_t begin) {
        infos_ += text(name) + number(static_cast<std::uint32_t>(sizes.size()));
        for (const std::uint64_t size : sizes) infos_ += number(size);
        infos_ += number(type) + number(begin);
        ++tensors_;
    }
    void add(const std::string& name, const std::vector<std::uint64_t>& sizes, std::uint32_t type,
             const std::string& bytes) {
        pad(values);
        info(name, sizes, type, values.size());
        values += bytes;
    }
    void add(const std::string& name, const weft::Tensor& x) {
        static constexpr std::uint32_t blocks[] = {8, 2, 3, 6, 7, 12, 13, 14};  // in the order of DType
        const std::vector<std::uint64_t> sizes(std::make_reverse_iterator(x.shape().end()),
                                               std::make_reverse_iterator(x.shape().begin()));
        const int block = static_cast<int>(x.dtype()) - static_cast<int>(weft::DType::Q8_0);
        add(name, sizes, block < 0 ? type_of(x.dtype()) : blocks[block], std::string(weft::raw_values(x)));
    }

    std::string bytes() const {
        std::string file = "GGUF" + number(version) + number(tensors.value_or(tensors_)) +
                           number(keys.value_or(keys_)) + entries_ + infos_;
        if (tensors_ > 0) pad(file);
        return file + values;
    }

private:
    std::string entries_, infos_;
    std::uint64_t keys_ = 0, tensors_ = 0;

    void pad(std::string& text) const {
        text += padding.substr(0, (alignment - text.size() % alignment) % alignment);
    }
    template <class T>
    static constexpr std::uint32_t type_of() {
        if (std::is_same_v<T, bool>) return 7;
        if (std::is_same_v<T, std::string>) return 8;
        return std::is_same_v<T, double> ? 12 : 11;
    }
    static std::uint32_t type_of(weft::DType dtype) {
        switch (dtype) {
            case weft::float32:
                return 0;
            case weft::float16:
                return 1;
            case weft::int64:
                return 27;
            case weft::float64:
                return 28;
            default:
                return 30;  // bfloat16
        }
    }
    template <class T>
    static std::string bytes_of(const T& value) {
        if constexpr (std::is_same_v<T, std::string>)
            return text(value);
        else
            return number(value);
    }
};

// What load_gguf reads of a file of these bytes.
inline weft::io::Gguf load_bytes(const std::string& bytes) {
    const Scratch scratch;
    weft::io::save_text(scratch / "file", bytes);
    return weft::io::load_gguf(scratch / "file");
}

// A file of a key and two tensors, of which one is in blocks.
inline GgufWriter small_gguf() {
    GgufWriter file;
    file.add("general.architecture", "llama");
    file.add("x", weft::tensor({{1.0, 2, 3}, {4, 5, 6}}));
    file.add("w", weft::Tensor(weft::pack(weft::ones({2, 64}), weft::DType::Q4_0)));
    return file;
}
