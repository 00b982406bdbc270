// In how many bits products of float32 are computed.
#pragma once

#include <string>
#include <string_view>

#include "weft/core/modes.h"

namespace weft {

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
