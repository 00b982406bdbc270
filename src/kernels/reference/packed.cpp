// Products with weights in fewer bits: a row is widened, and then a plain sum.
#include <cstring>
#include <vector>

#include "kernels/reference/element.h"
#include "kernels/reference/packed_formats.h"
#include "kernels/threads/parallel.h"

namespace weft::kernels::reference {
namespace {

template <class Format>
void widen_blocks(const std::byte* row, std::int64_t k, float* out) {
    for (std::int64_t i = 0; i < k; i += Format::length, row += Format::bytes) Format::widen(row, out + i);
}

// Row i of W.
std::vector<float> row(const CompactMatrix& w, std::int64_t i) {
    std::vector<float> out(static_cast<std::size_t>(w.k));
    const std::byte* from = w.data + i * w.row_bytes;
    if (const DType* half = std::get_if<DType>(&w.format)) {
        for (float& value : out) {
            std::uint16_t bits;
            std::memcpy(&bits, from, 2);
            from += 2;
            value = *half == float16 ? half_to_float(bits)
                                     : std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
        }
        return out;
    }
    switch (std::get<BlockFormat>(w.format)) {
        case BlockFormat::Q8_0:
            widen_blocks<Q8_0>(from, w.k, out.data());
            break;
        case BlockFormat::Q4_0:
            widen_blocks<Q4_0>(from, w.k, out.data());
            break;
        case BlockFormat::Q4_1:
            widen_blocks<Q4_1>(from, w.k, out.data());
            break;
        case BlockFormat::Q5_0:
            widen_blocks<Q5_0>(from, w.k, out.data());
            break;
        case BlockFormat::Q5_1:
            widen_blocks<Q5_1>(from, w.k, out.data());
            break;
        case BlockFormat::Q4_K:
            widen_blocks<Q4_K>(from, w.k, out.data());
            break;
        case BlockFormat::Q5_K:
            widen_blocks<Q5_K>(from, w.k, out.data());
            break;
        case BlockFormat::Q6_K:
            widen_blocks<Q6_K>(from, w.k, out.data());
    }
    return out;
}

void packed_linear(const Array& y, const Array& x, const CompactMatrix& w, bool adds) {
    count_multiply_adds(x.shape[0] * w.n * w.k);
    for (std::int64_t j = 0; j < w.n; ++j) {
        const std::vector<float> weights = row(w, j);
        for (std::int64_t i = 0; i < x.shape[0]; ++i) {
            double total = adds ? value<float>(y, i, j) : 0;
            for (std::int64_t p = 0; p < w.k; ++p)
                total += value<float>(x, i, p) * static_cast<double>(weights[static_cast<std::size_t>(p)]);
            at<float>(y, i, j) = static_cast<float>(total);
        }
    }
}

void packed_linear_backward(const Array& dx, const Array& dy, const CompactMatrix& w) {
    count_multiply_adds(dx.shape[0] * w.n * w.k);
    for (std::int64_t i = 0; i < dx.shape[0]; ++i) {
        std::vector<double> totals(static_cast<std::size_t>(w.k));
        for (std::int64_t j = 0; j < w.n; ++j) {
            const std::vector<float> weights = row(w, j);
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
