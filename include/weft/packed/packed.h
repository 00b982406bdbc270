// Weights in blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "weft/core/modes.h"
#include "weft/core/tensor.h"

namespace weft {

// The name of a tensor in blocks until version 0.4.
using PackedMatrix = Tensor;

// The blocks of a weight w (n, k), rounded as ggml's quantize_row_q8_0_ref, _q4_0_ref and _q4_1_ref do
// (https://github.com/ggml-org/ggml/blob/master/src/ggml-quants.c); float64 is rounded to float32 first. The
// other formats are read only (ValueError). ShapeError unless w is a matrix whose rows divide into blocks;
// ValueError, with its position, for a block with a NaN, an infinity or a scale beyond float16's 65504. The
// blocks never change, so that a clone() shares them.
//
//     const Tensor blocks = pack(w, DType::Q8_0);  // w (n, k), 34 bytes for each 32 weights
Tensor pack(const Tensor& w, BlockFormat format);

// The weights of the blocks, exactly, as float32 (n, k): w.to(float32).
//
//     const Tensor rounded = dequantize(pack(w, DType::Q4_0));  // w with 4.5 bits an element
Tensor dequantize(const Tensor& w);

// The blocks of w, row by row. DTypeError where a row of w, which may be a slice, begins or ends within one.
//
//     const std::size_t bytes = bytes_of(pack(w, DType::Q4_0)).size();  // 18 for each 32 weights
std::span<const std::byte> bytes_of(const Tensor& w);

// Internal: The values of tensors as bytes.

// The values of a contiguous tensor.
std::byte* bytes_at(const Tensor& x);

inline std::uint64_t byte_count(const Tensor& x) {
    return static_cast<std::uint64_t>(bytes_of(x.dtype(), x.numel()));
}

// The same as a text to write or compare.
inline std::string_view raw_values(const Tensor& x) {
    if (x.numel() == 0) return "";  // not a null pointer, at which crc32 would begin anew
    return {reinterpret_cast<const char*>(bytes_at(x)), byte_count(x)};
}

// Copies such a text into a contiguous tensor of as many bytes.
inline void set_raw_values(const Tensor& x, std::string_view bytes) {
    if (!bytes.empty()) std::memcpy(bytes_at(x), bytes.data(), bytes.size());
}

// Whether shape, type and bits are equal: NaN equals itself, and +0 differs from −0.
inline bool same_bits(const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() && a.dtype() == b.dtype() &&
           raw_values(a.detach().contiguous()) == raw_values(b.detach().contiguous());
}

// In how many bits products of float32 are computed.

// What this thread's products of float32 (matmul, linear, attention, einsum, conv2d), forward and backward, do
// with their operands from now on. "highest", the default: multiply them as they are. "medium": round each
// operand to bfloat16, 8 significant bits, to nearest even, and sum in float32. Values, gradients, softmax,
// norms, losses and optimisers stay float32, whose range bfloat16 has, so no loss needs scaling. A finite
// operand from 3.39e38 on becomes infinite. Weights of fewer bits are widened first. float64 is as before.
//
// Where oneDNN 2.6 is there, when Weft is built and when the program runs, and the processor has instructions
// for bfloat16 (AVX512-BF16, AMX), such products run several times as fast; elsewhere they mean the same and
// gain nothing, which the first "medium" of a process says once on std::cerr. Those instructions may take
// subnormal numbers for 0. A rounded weight is kept, half as large beside it, until it changes. Bits are equal
// at every number of threads. Plain(Plain::primitives) multiplies the operands as they are. The words are those
// of torch.set_float32_matmul_precision, whose setting belongs to the process; PyTorch's "high" is refused,
// with ValueError, as any other word. (Kalamkar et al., "A study of bfloat16 for deep learning training",
// 2019.)
//
//     set_float32_matmul_precision("medium");
//     const Tensor y = matmul(full({1, 1}, 1.01), ones({1, 1}));  // 1.0078125: 1.01 with 8 bits
//     set_float32_matmul_precision("highest");
void set_float32_matmul_precision(std::string_view precision);
// "highest" or "medium".
//
//     const std::string precision = get_float32_matmul_precision();  // "highest"
std::string get_float32_matmul_precision();

// set_float32_matmul_precision for as long as it is in scope. Backward is computed in the precision that is set
// when it runs.
//
//     const Float32MatmulPrecision medium("medium");
//     const std::string precision = get_float32_matmul_precision();  // "medium"
class [[nodiscard]] Float32MatmulPrecision {
public:
    explicit Float32MatmulPrecision(std::string_view precision);  // until it goes out of scope

private:
    Modes mode_;
};

// Whether "medium" has instructions to use: oneDNN and a processor with AVX512-BF16 or AMX.
//
//     const bool fast = has_bfloat16_products();
bool has_bfloat16_products();

}  // namespace weft
