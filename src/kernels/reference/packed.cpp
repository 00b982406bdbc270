// Products with weights in fewer bits: a row is widened, and then a plain sum.
#include <cstring>
#include <vector>

#include "kernels/reference/element.h"
#include "kernels/reference/packed_formats.h"
#include "kernels/threads/parallel.h"
#include "kernels/visit_block.h"

namespace weft::kernels::reference {
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

// Row i of W as an operand of this type.
std::vector<float> row(const CompactMatrix& w, std::int64_t i, DType operands) {
    std::vector<float> out = row(w, i);
    if (operands == bfloat16)
        for (float& value : out) value = half::from_bfloat16(half::bfloat16_bits(value));
    return out;
}

void packed_linear(const Array& y, const Array& operand, const CompactMatrix& w, bool adds) {
    const Array x = copy_of(operand, float32);
    count_multiply_adds(x.shape[0] * w.n * w.k, operand.dtype == bfloat16);
    for (std::int64_t j = 0; j < w.n; ++j) {
        const std::vector<float> weights = row(w, j, operand.dtype);
        for (std::int64_t i = 0; i < x.shape[0]; ++i) {
            double total = adds ? value<float>(y, i, j) : 0;
            for (std::int64_t p = 0; p < w.k; ++p)
                total += value<float>(x, i, p) * static_cast<double>(weights[static_cast<std::size_t>(p)]);
            at<float>(y, i, j) = static_cast<float>(total);
        }
    }
}

void packed_linear_backward(const Array& dx, const Array& operand, const CompactMatrix& w) {
    const Array dy = copy_of(operand, float32);
    count_multiply_adds(dx.shape[0] * w.n * w.k, operand.dtype == bfloat16);
    for (std::int64_t i = 0; i < dx.shape[0]; ++i) {
        std::vector<double> totals(static_cast<std::size_t>(w.k));
        for (std::int64_t j = 0; j < w.n; ++j) {
            const std::vector<float> weights = row(w, j, operand.dtype);
            for (std::size_t p = 0; p < totals.size(); ++p)
                totals[p] += value<float>(dy, i, j) * static_cast<double>(weights[p]);
        }
        for (std::int64_t p = 0; p < w.k; ++p)
            at<float>(dx, i, p) = static_cast<float>(totals[static_cast<std::size_t>(p)]);
    }
}

void widen_rows(const Array& out, const CompactMatrix& w, const Array& indices) {
    for (std::int64_t i = 0; i < indices.numel(); ++i) {
        const std::vector<float> weights = row(w, at<std::int64_t>(indices, i));
        std::copy(weights.begin(), weights.end(), out.data<float>() + i * w.k);
    }
}

}  // namespace

extern const Packed packed_table{packed_linear, packed_linear_backward, widen_rows};

}  // namespace weft::kernels::reference
