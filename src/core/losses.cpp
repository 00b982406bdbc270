#include "weft/core/losses.h"

#include <cmath>
#include <limits>

#include "core/common.h"
#include "core/run.h"

namespace weft {

namespace {

// Logits (R, V), targets (R,).
Tensor small_cross_entropy(const Inputs& in, const ClassOptions& o) {
    const Tensor &logits = in[0], &targets = in[1], ignored = targets == integer(o.ignore_index);
    const double counted = static_cast<double>(targets.numel()) - sum(ignored.to(int64)).item();
    // Ignored rows are set to 0, because NaN · 0 is not 0.
    const Tensor read = any(ignored) ? masked_fill(logits, ignored.unsqueeze(1), 0) : logits;
    if (counted == 0) return sum(read);
    const Tensor index = masked_fill(targets, ignored, 0).unsqueeze(1);      // (R, 1)
    const Tensor log_p = gather(log_softmax(read, 1), 1, index).squeeze(1);  // (R,)
    return sum(masked_fill(-log_p, ignored, 0)) / counted;
}

}  // namespace

void check_classes(const char* what, const Tensor& x, const Tensor& targets, std::int64_t ignore_index) {
    check_floating(x);
    check_dtype("the targets", targets, int64);
    Shape wanted = x.shape();
    if (wanted.rank() > 0) wanted.erase(-1);
    if (x.rank() == 0 || targets.shape() != wanted) {
        Shape second = x.shape();  // without axis 1, where PyTorch has the classes
        if (second.rank() > 2) second.erase(1);
        const bool is_second = second == targets.shape();
        throw ShapeError(Op::name(), ": ", what, " ", x.shape(), " and targets ", targets.shape(),
                         " do not fit; ", what, " are (…, classes), targets (…)",
                         (is_second ? ": move the classes behind, with movedim(x, 1, -1)" : ""));
    }
    const std::int64_t V = x.size(-1);
    const Array dense = kernels::contiguous(targets.array());
    const std::int64_t wrong = kernels::first_outside(dense, 0, V, ignore_index);
    if (wrong >= 0)
        throw IndexError(Op::name(), ": target ", element_of(dense, wrong), " at flat position ", wrong,
                         " is outside the ", V, " classes (0 to ", V - 1, ", or ignore_index ", ignore_index,
                         ")");
}

Tensor cross_entropy(const Tensor& logits, const Tensor& targets, std::int64_t ignore_index) {
    const Op op("cross_entropy", Op::of_others);
    check_classes("logits", logits, targets, ignore_index);
    const std::int64_t V = logits.size(-1), R = targets.numel();
    const Tensor x = logits.reshape({R, V}), t = targets.reshape({R}).contiguous();
    return run("cross_entropy", {x, t}, ClassOptions{ignore_index}, small_cross_entropy, cross_entropy_kernel);
}

}  // namespace weft
