// PackedMatrix: a weight in blocks of a few bits, as GGUF files have them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <span>

#include "weft/tensor/shape.h"

namespace weft {

struct Storage;

// How 32 or 256 weights are stored in a block, by the names of GGUF
// (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, "GGML types"). The weights of a block share a
// scale d of float16, and where there is one a minimum m: w = d · q, or d · q + m. In a _K format eight blocks
// of 32 have their scales and minima in six bits each, or sixteen of 16 their scales in eight.
enum class BlockFormat : std::uint8_t {
    Q8_0,  // q in −128 … 127; 8.5 bits a weight
    Q4_0,  // q in −8 … 7; 4.5 bits
    Q4_1,  // q in 0 … 15, and m; 5 bits
    Q5_0,  // q in −16 … 15; 5.5 bits
    Q5_1,  // q in 0 … 31, and m; 6 bits
    Q4_K,  // q in 0 … 15, and m; 4.5 bits
    Q5_K,  // q in 0 … 31, and m; 5.5 bits
    Q6_K   // q in −32 … 31; 6.5625 bits
};

// "Q8_0", …
//
//     const std::string format = name(BlockFormat::Q4_K);  // "Q4_K"
const char* name(BlockFormat format);
// The weights of one block: 32, or 256 in a _K format.
std::int64_t block_length(BlockFormat format);
// The bytes of one block: 34 for Q8_0.
//
//     const double bits = 8.0 * block_bytes(BlockFormat::Q4_0) / block_length(BlockFormat::Q4_0);  // 4.5
std::int64_t block_bytes(BlockFormat format);
// Writes name(format).
std::ostream& operator<<(std::ostream& out, BlockFormat format);

// The weight (rows, columns) of a linear layer or the table of an embedding, as blocks along its rows. It is no
// tensor: the two operations that read it, linear and embedding, widen it to float32 as they go, and it takes
// no gradient. Its bytes never change, and copies share them. `pack` makes one of a tensor.
//
//     const PackedMatrix w = pack(randn({8, 64}), BlockFormat::Q4_0);  // w.bytes().size() is 8 · 2 · 18 = 288
//     const Tensor y = linear(randn({3, 64}), w);                      // (3, 64) → (3, 8)
class PackedMatrix {
public:
    // Blocks that `fill` writes, row by row, such as those of a file. ShapeError unless the columns divide into
    // blocks; ValueError for sizes that are negative or overflow.
    PackedMatrix(BlockFormat format, std::int64_t rows, std::int64_t columns,
                 const std::function<void(std::span<std::byte>)>& fill);

    BlockFormat format() const { return format_; }     // of the blocks
    std::int64_t rows() const { return rows_; }        // the outputs of a layer, or a vocabulary
    std::int64_t columns() const { return columns_; }  // the inputs, or a width
    Shape shape() const { return {rows_, columns_}; }  // as a tensor's
    std::int64_t row_bytes() const;                    // the bytes of one row's blocks
    std::span<const std::byte> bytes() const;          // the blocks, row by row
    // The rows begin … end − 1, in the same memory. IndexError unless 0 ≤ begin ≤ end ≤ rows().
    PackedMatrix slice(std::int64_t begin, std::int64_t end) const;
    std::shared_ptr<const void> memory() const { return storage_; }  // lives as long as what it returns

private:
    BlockFormat format_;
    std::int64_t rows_, columns_;
    std::shared_ptr<Storage> storage_;
    std::int64_t first_ = 0;  // byte
};

}  // namespace weft
