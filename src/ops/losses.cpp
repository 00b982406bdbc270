#include "weft/ops/losses.h"

#include "kernels/interface.h"
#include "ops/common.h"

namespace weft {

namespace {

void check_same_shape(const char* operation, const Tensor& prediction, const Tensor& target) {
    check_same_dtype(operation, prediction, target);
    if (prediction.shape() != target.shape())
        throw ShapeError(operation, ": prediction ", prediction.shape(), " and target ", target.shape(),
                         " must have one shape; reshape one of them");
}

// Refuses all but predictions (…, V) of V classes and targets (…), each of them a class or ignore_index. `what`
// is what the operation calls the predictions.
void check_classes(const char* operation, const char* what, const Tensor& x, const Tensor& targets,
                   std::int64_t ignore_index) {
    check_floating(operation, x);
    check_dtype(operation, "the targets", targets, int64);
    Shape wanted = x.shape();
    if (wanted.rank() > 0) wanted.erase(-1);
    if (x.rank() == 0 || targets.shape() != wanted)
        throw ShapeError(operation, ": ", what, " ", x.shape(), " and targets ", targets.shape(),
                         " do not fit; ", what, " are (…, classes), targets (…)");
    const std::int64_t V = x.size(-1);
    const Array dense = kernels::contiguous(targets.array());
    const std::int64_t wrong = kernels::first_outside(dense, 0, V, ignore_index);
    if (wrong >= 0)
        throw IndexError(operation, ": target ", element_of(dense, wrong), " at flat position ", wrong,
                         " is outside the ", V, " classes (0 to ", V - 1, ", or ignore_index ", ignore_index,
                         ")");
}

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
    check_classes("cross_entropy", "logits", logits, targets, ignore_index);
    const std::int64_t V = logits.size(-1), R = targets.numel();
    const Tensor x = logits.reshape({R, V}), t = targets.reshape({R}).contiguous();
    // y = mean(ln Σeˣ − x_target):  dx = (softmax(x) − onehot(target))·dy / counted
    return fused(
        "cross_entropy", {x, t},
        [ignore_index](const std::vector<Tensor>& in) {
            return cross_entropy_reference(in[0], in[1], ignore_index);
        },
        [&] {
            const Array loss = make_array({}, x.dtype()), max = make_array({R}, x.dtype()),
                        log_sum = make_array({R}, x.dtype());
            const std::int64_t counted = kernels::active().cross_entropy(
                loss, max, log_sum, kernels::contiguous(x.array()), t.array(), ignore_index);
            return FusedResult{Tensor(loss), {Tensor(max), Tensor(log_sum), integer(counted)}};
        },
        [ignore_index](const Saved& saved, const Tensor& dy) {
            const Tensor &x = saved[0], &t = saved[1];
            const Array dx = make_array(x.shape(), x.dtype());
            kernels::active().cross_entropy_backward(dx, kernels::contiguous(x.array()), saved[2].array(),
                                                     saved[3].array(), t.array(), ignore_index,
                                                     dy.item() / std::max(saved[4].item(), 1.0));
            return Grads{Tensor(dx), Tensor()};
        });
}

Tensor mse_loss(const Tensor& prediction, const Tensor& target) {
    check_same_shape("mse_loss", prediction, target);
    const Tensor difference = prediction - target;
    return mean(difference * difference);
}

namespace {

// The targets that count, as indices of the last axis of log_p, and their weights (0 for those that are
// ignored). IndexError, as cross_entropy, for a class that log_p does not have.
struct Counted {
    Tensor index, weight;  // both (…)
};
Counted counted(const char* operation, const Tensor& log_p, const Tensor& targets, const Tensor& weight,
                std::int64_t ignore_index) {
    check_classes(operation, "predictions", log_p, targets, ignore_index);
    const std::int64_t V = log_p.size(-1);
    if (weight.defined()) {
        check_same_dtype(operation, log_p, weight);
        if (weight.shape() != Shape{V})
            throw ShapeError(operation, ": class weights of shape ", weight.shape(), " for ", V,
                             " classes; they must be (", V, ",)");
    }
    const Tensor ignored = targets == integer(ignore_index);
    const Tensor index = masked_fill(targets, ignored, 0);
    const Tensor per_class = weight.defined() ? weight : ones({V}, log_p.dtype());
    const Tensor per_target = V == 0 ? zeros(targets.shape(), log_p.dtype())
                                     : index_select(per_class, 0, index.reshape({-1})).reshape(targets.shape());
    return {index, masked_fill(per_target, ignored, 0)};
}

// −Σ weight · log_p[target] / Σ weight; 0 where nothing counts.
Tensor weighted_mean(const Tensor& losses, const Tensor& weight) {
    const Tensor total = sum(weight);
    return sum(masked_fill(losses * weight, weight == 0, 0)) / masked_fill(total, total == 0, 1);
}

// ln(1 + eˣ) − x·t elementwise, without the cancellation of its terms where t is 0 or 1.
Tensor logistic_losses(const Tensor& x, const Tensor& t) {
    const Tensor v = x.detach(), y = relu(v) - v * t.detach() + log1p(exp(-abs(v)));
    // y = ln(1 + eˣ) − x·t:  dx = σ(x) − t = (1 − t)·σ(x) − t·σ(−x),  dt = −x
    return record_symmetric(
        "binary_cross_entropy_with_logits", y, {x, t}, {x, t}, [](const Saved& saved, const Tensor& dy) {
            const Tensor &x = saved[0], &t = saved[1], is_negative = x < 0;
            const Tensor small = sigmoid(where(is_negative, x, -x)),
                         large = 1 - small;  // all digits, at any order
            const Tensor p = where(is_negative, small, large),
                         q = where(is_negative, large, small);  // σ(x), σ(−x)
            return Grads{dy * ((1 - t) * p - t * q), saved.needs_input_grad(1) ? -(dy * x) : Tensor()};
        });
}

}  // namespace

Tensor nll_loss(const Tensor& log_p, const Tensor& targets, const Tensor& weight, std::int64_t ignore_index) {
    const Counted c = counted("nll_loss", log_p, targets, weight, ignore_index);
    if (log_p.numel() == 0) return sum(log_p);
    return weighted_mean(-gather(log_p, -1, c.index.unsqueeze(-1)).squeeze(-1), c.weight);
}

Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options) {
    const double smoothing = options.label_smoothing;
    if (!(smoothing >= 0 && smoothing <= 1))
        throw ValueError("cross_entropy: label_smoothing is ", smoothing, "; use 0 to 1");
    if (!options.weight.defined() && smoothing == 0)
        return cross_entropy(logits, targets, options.ignore_index);
    const Counted c = counted("cross_entropy", logits, targets, options.weight, options.ignore_index);
    if (logits.numel() == 0) return sum(logits);
    const Tensor log_p = log_softmax(logits, -1);
    const Tensor loss = nll_loss(log_p, targets, options.weight, options.ignore_index);
    if (smoothing == 0) return loss;
    // The share `smoothing` of each target is spread over all classes, in proportion to their weights.
    const Tensor spread = options.weight.defined() ? log_p * options.weight : log_p;
    const Tensor ignored = (targets == integer(options.ignore_index)).unsqueeze(-1);
    const Tensor total = sum(c.weight);
    const Tensor uniform = -sum(masked_fill(spread, ignored, 0)) / masked_fill(total, total == 0, 1);
    return (1 - smoothing) * loss + smoothing / static_cast<double>(logits.size(-1)) * uniform;
}

Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& targets) {
    check_same_shape("binary_cross_entropy_with_logits", logits, targets);
    check_floating("binary_cross_entropy_with_logits", logits);
    return mean(logistic_losses(logits, targets));
}

Tensor l1_loss(const Tensor& prediction, const Tensor& target) {
    check_same_shape("l1_loss", prediction, target);
    return mean(abs(prediction - target));
}

Tensor huber_loss(const Tensor& prediction, const Tensor& target, double delta) {
    check_same_shape("huber_loss", prediction, target);
    if (!(delta > 0)) throw ValueError("huber_loss: delta is ", delta, "; it must be above 0");
    // d²/2 or delta·(|d| − delta/2), by the part of d that counts: an infinite d has the slope ±delta, not NaN.
    const Tensor d = prediction - target, clipped = clamp(d, -delta, delta);
    return mean(clipped * (d - 0.5 * clipped));
}

}  // namespace weft
