#include "core/kernels/elementwise.h"
#include "core/kernels/normalize.h"
#include "core/ops/common.h"

namespace weft {
namespace {

// Logits (R, V), targets (R,).
Tensor cross_entropy_reference(const Tensor& logits, const Tensor& targets, std::int64_t ignore_index) {
    const Tensor ignored = targets == integer(ignore_index);
    const double counted = static_cast<double>(targets.numel()) - sum(ignored.to(int64)).item();
    // Ignored rows are set to 0, because NaN · 0 is not 0.
    const Tensor read = any(ignored) ? masked_fill(logits, ignored.unsqueeze(1), 0) : logits;
    if (counted == 0) return sum(read);
    const Tensor index = masked_fill(targets, ignored, 0).unsqueeze(1);      // (R, 1)
    const Tensor log_p = gather(log_softmax(read, 1), 1, index).squeeze(1);  // (R,)
    return sum(masked_fill(-log_p, ignored, 0)) / counted;
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& targets, std::int64_t ignore_index) {
    check_floating("cross_entropy", logits);
    check_dtype("cross_entropy", "the targets", targets, int64);
    Shape wanted = logits.shape();
    if (wanted.rank() > 0) wanted.erase(wanted.rank() - 1);
    if (logits.rank() == 0 || targets.shape() != wanted)
        throw ShapeError("cross_entropy: logits ", logits.shape(), " and targets ", targets.shape(),
                         " do not fit; logits are (…, classes), targets (…)");
    const std::int64_t V = logits.size(-1), R = targets.numel();
    const Tensor flat_targets(kernels::contiguous(targets.array()));
    check_targets("cross_entropy", flat_targets, V, ignore_index);
    const Tensor t = flat_targets.reshape({R});
    const Tensor x = logits.reshape({R, V});
    if (composed_mode()) return cross_entropy_reference(x, t, ignore_index);

    const Array rows = kernels::contiguous(x.array());
    Array loss = make_array({}, x.dtype()), max = make_array({R}, x.dtype()),
          log_sum = make_array({R}, x.dtype());
    const std::int64_t counted = kernels::cross_entropy(loss, max, log_sum, rows, t.array(), ignore_index);
    // y = mean(ln Σeˣ − x_target):  dx = (softmax(x) − onehot(target))·dy / counted
    return record(
        "cross_entropy", Tensor(std::move(loss)), {x},
        {x, t, Tensor(std::move(max)), Tensor(std::move(log_sum))}, [=](const Saved& saved, const Tensor& dy) {
            const Tensor &x = saved[0], &t = saved[1];
            if (is_grad_enabled())
                return grads_of_reference([&] { return cross_entropy_reference(x, t, ignore_index); }, {x}, dy);
            Array dx = make_array(x.shape(), x.dtype());
            kernels::cross_entropy_backward(
                dx, kernels::contiguous(x.array()), saved[2].array(), saved[3].array(), t.array(), ignore_index,
                dy.item() / static_cast<double>(std::max<std::int64_t>(counted, 1)));
            return Grads{Tensor(std::move(dx))};
        });
}

Tensor mse_loss(const Tensor& prediction, const Tensor& target) {
    check_same_shape("mse_loss", prediction, target);
    const Tensor difference = prediction - target;
    return mean(difference * difference);
}

}  // namespace weft
