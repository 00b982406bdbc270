// Weights in fewer bits: widened row by row, and made.
#include <cstring>
#include <vector>

#include "kernels/packed.h"
#include "kernels/reference/element.h"
#include "kernels/reference/packed_formats.h"

namespace weft::kernels {
namespace reference {
namespace {

// Row i of W.
std::vector<float> row(const CompactMatrix& w, std::int64_t i) {
    std::vector<float> out(static_cast<std::size_t>(w.k));
    const std::byte* from = w.data + i * w.row_bytes;
    if (const DType* type = std::get_if<DType>(&w.format)) {
        for (float& value : out) {
            std::uint16_t bits;
            std::memcpy(&bits, from, 2);
            from += 2;
            value = *type == float16 ? half::from_float16(bits) : half::from_bfloat16(bits);
        }
        return out;
    }
    visit_block<Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K>(
        std::get<BlockFormat>(w.format), [&]<class Format>(Format) {
            for (std::int64_t p = 0; p < w.k; p += Format::length, from += Format::bytes)
                Format::widen(from, out.data() + p);
        });
    return out;
}

void widen_rows(const Array& out, const CompactMatrix& w, const Array& indices) {
    for (std::int64_t i = 0; i < indices.numel(); ++i) {
        const std::vector<float> weights = row(w, at<std::int64_t>(indices, i));
        std::copy(weights.begin(), weights.end(), out.data<float>() + i * w.k);
    }
}

}  // namespace
}  // namespace reference

constinit decltype(kernels::widen_rows) widen_rows{reference::widen_rows, installed.widen_rows};

CompactMatrix compact(const Array& half) {
    const auto* const first = static_cast<const std::byte*>(half.storage->begin()) + 2 * half.offset;
    return {half.dtype, first, half.shape[0], half.shape[1], 2 * half.shape[1]};
}

CompactMatrix compact(const PackedMatrix& w) {
    return {w.format(), w.bytes().data(), w.rows(), w.columns(), w.row_bytes()};
}

namespace {

// f(format) for one that is written.
template <class Function>
void visit_written(BlockFormat format, const Function& f) {
    visit_block<reference::Q8_0, reference::Q4_0, reference::Q4_1>(format, f);
}

}  // namespace

bool is_written(BlockFormat format) {
    bool written = false;
    visit_written(format, [&](auto) { written = true; });
    return written;
}

std::int64_t first_unpackable(const Array& w, BlockFormat format) {
    const Array x = contiguous(w);
    std::int64_t found = -1;
    visit_written(format, [&]<class Format>(Format) {
        for (std::int64_t i = 0; i < x.numel() && found < 0; i += Format::length)
            if (!Format::fits(x.data<float>() + i)) found = i;
    });
    return found;
}

PackedMatrix pack(const Array& w, BlockFormat format) {
    const Array x = contiguous(w);
    return PackedMatrix(format, w.shape[0], w.shape[1], [&](std::span<std::byte> bytes) {
        visit_written(format, [&]<class Format>(Format) {
            parallel_for(x.numel() / Format::length, Format::length, 1 << 14, [&](std::int64_t block) {
                Format::pack(x.data<float>() + block * Format::length, bytes.data() + block * Format::bytes);
            });
        });
    });
}

}  // namespace weft::kernels
