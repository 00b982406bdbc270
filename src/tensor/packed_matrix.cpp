#include "weft/tensor/packed_matrix.h"

#include <ostream>

#include "tensor/array.h"

namespace weft {

namespace {

struct Block {
    const char* name;
    std::int64_t length, bytes;
};
// In the order of BlockFormat.
constexpr Block blocks[] = {{"Q8_0", 32, 34}, {"Q4_0", 32, 18},   {"Q4_1", 32, 20},   {"Q5_0", 32, 22},
                            {"Q5_1", 32, 24}, {"Q4_K", 256, 144}, {"Q5_K", 256, 176}, {"Q6_K", 256, 210}};
const Block& block_of(BlockFormat format) { return blocks[static_cast<std::size_t>(format)]; }

// The bytes of one row.
std::int64_t checked_row(BlockFormat format, std::int64_t columns) {
    const Block& block = block_of(format);
    if (columns % block.length != 0)
        throw ShapeError("PackedMatrix: rows of ", columns, " weights do not divide into blocks of ",
                         block.length, ", which ", block.name,
                         " has; keep this matrix as a tensor, of bfloat16 for half the bytes");
    return columns / block.length * block.bytes;
}

}  // namespace

const char* name(BlockFormat format) { return block_of(format).name; }
std::int64_t block_length(BlockFormat format) { return block_of(format).length; }
std::int64_t block_bytes(BlockFormat format) { return block_of(format).bytes; }
std::ostream& operator<<(std::ostream& out, BlockFormat format) { return out << name(format); }

PackedMatrix::PackedMatrix(BlockFormat format, std::int64_t rows, std::int64_t columns,
                           const std::function<void(std::span<std::byte>)>& fill)
    : format_(format), rows_(rows), columns_(columns) {
    (void)check_sizes({rows, columns}, float32, "PackedMatrix");  // as a tensor, which it can become
    const auto bytes = static_cast<std::size_t>(rows * checked_row(format, columns));
    storage_ = std::make_shared<Storage>(bytes);
    fill({storage_->begin(), bytes});
}

std::int64_t PackedMatrix::row_bytes() const { return columns_ / block_length(format_) * block_bytes(format_); }

std::span<const std::byte> PackedMatrix::bytes() const {
    return {storage_->begin() + first_, static_cast<std::size_t>(rows_ * row_bytes())};
}

PackedMatrix PackedMatrix::slice(std::int64_t begin, std::int64_t end) const {
    if (begin < 0 || end < begin || end > rows_)
        throw IndexError("PackedMatrix: rows ", begin, " … ", end, " of ", rows_,
                         "; use 0 ≤ begin ≤ end ≤ rows()");
    PackedMatrix part = *this;
    part.first_ += begin * row_bytes();
    part.rows_ = end - begin;
    return part;
}

}  // namespace weft
