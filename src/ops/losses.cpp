#include "weft/ops/losses.h"

#include <cmath>
#include <limits>

#include "core/common.h"
#include "weft/ops/functions.h"
#include "weft/ops/reductions.h"

namespace weft {

namespace {

void check_same_shape(const Tensor& prediction, const Tensor& target) {
    check_same_dtype(prediction, target);
    if (prediction.shape() != target.shape())
        throw ShapeError(Op::name(), ": prediction ", prediction.shape(), " and target ", target.shape(),
                         " must have one shape; reshape one of them");
}

// What a loss returns of its elements.
Tensor reduced(const Tensor& losses, Reduction reduction) {
    if (reduction == Reduction::none) return losses;
    if (reduction == Reduction::mean) return mean(losses);
    const Tensor total = sum(losses);
    const bool by_rows = reduction == Reduction::batchmean && losses.rank() > 0;
    return by_rows ? total / static_cast<double>(losses.size(0)) : total;
}

// The same where the mean is by the weights of the targets; 0 where nothing counts.
Tensor reduced(const Tensor& losses, const Tensor& weight, Reduction reduction) {
    if (reduction != Reduction::mean) return reduced(losses, reduction);
    const Tensor total = sum(weight);
    return sum(losses) / masked_fill(total, total == 0, 1);
}

// The targets that count, as indices of the last axis of log_p, and their weights (0 for those that are
// ignored). IndexError, as cross_entropy, for a class that log_p does not have.
struct Counted {
    Tensor index, weight, ignored;  // all (…)
};

Counted counted(const Tensor& log_p, const Tensor& targets, const Tensor& weight, std::int64_t ignore_index) {
    check_classes("predictions", log_p, targets, ignore_index);
    const std::int64_t V = log_p.size(-1);
    if (weight.defined()) {
        check_same_dtype(log_p, weight);
        if (weight.shape() != Shape{V})
            throw ShapeError(Op::name(), ": class weights of shape ", weight.shape(), " for ", V,
                             " classes; they must be (", V, ",)");
    }
    const Tensor ignored = targets == integer(ignore_index);
    const Tensor index = masked_fill(targets, ignored, 0);
    const Tensor per_class = weight.defined() ? weight : ones({V}, log_p.dtype());
    const Tensor per_target = V == 0 ? zeros(targets.shape(), log_p.dtype())
                                     : index_select(per_class, 0, index.reshape({-1})).reshape(targets.shape());
    return {index, masked_fill(per_target, ignored, 0), ignored};
}

// The loss of no elements: 0, or for Reduction::none those of the targets.
Tensor of_nothing(const Tensor& x, Reduction reduction) {
    return reduction == Reduction::none ? sum(x, -1) : sum(x);
}

// ln(1 + eˣ) − x·t elementwise, without the cancellation of its terms where t is 0 or 1.
Tensor logistic_losses(const Tensor& x, const Tensor& t) {
    const Op op("binary_cross_entropy_with_logits");
    const Tensor v = x.detach(), is_infinite = isinf(v);
    Tensor y = relu(v) - v * t.detach() + log1p(exp(-abs(v)));
    if (any(is_infinite)) {  // ∞·(1 − t) or ∞·t, where ∞·0 is the loss 0 of a certain and right prediction
        const Tensor wrong = where(v > 0, 1 - t.detach(), t.detach());
        y = where(is_infinite, masked_fill(abs(v) * wrong, wrong == 0, 0), y);
    }
    // y = ln(1 + eˣ) − x·t:  dx = σ(x) − t = (1 − t)·σ(x) − t·σ(−x),  dt = −x
    return record_symmetric(y, {x, t}, {x, t}, [](const Saved& saved, const Tensor& dy) {
        const Tensor &x = saved[0], &t = saved[1], is_negative = x < 0;
        const Tensor small = sigmoid(where(is_negative, x, -x)),
                     large = 1 - small;  // all digits, at any order
        const Tensor p = where(is_negative, small, large), q = where(is_negative, large, small);  // σ(x), σ(−x)
        return Grads{dy * ((1 - t) * p - t * q), saved.needs_input_grad(1) ? -(dy * x) : Tensor()};
    });
}

// Whether x's type has no normal number near `threshold`, a positive one: the loss is computed in float64 then.
bool is_beyond(const Tensor& x, double threshold) {
    using Limits = std::numeric_limits<float>;
    return x.dtype() == float32 && !(threshold >= Limits::min() && threshold <= Limits::max());
}

}  // namespace

Tensor mse_loss(const Tensor& prediction, const Tensor& target, Reduction reduction) {
    const Op op("mse_loss", Op::of_others);
    check_same_shape(prediction, target);
    const Tensor difference = prediction - target;
    return reduced(difference * difference, reduction);
}

Tensor nll_loss(const Tensor& log_p, const Tensor& targets, const Tensor& weight, std::int64_t ignore_index,
                Reduction reduction) {
    const Op op("nll_loss", Op::of_others);
    const Counted c = counted(log_p, targets, weight, ignore_index);
    if (log_p.numel() == 0) return of_nothing(log_p, reduction);
    const Tensor losses = -gather(log_p, -1, c.index.unsqueeze(-1)).squeeze(-1);
    return reduced(masked_fill(losses, c.ignored, 0) * c.weight, c.weight, reduction);  // filled, as below
}

Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options) {
    const Op op("cross_entropy", Op::of_others);
    const double smoothing = options.label_smoothing;
    const Reduction reduction = options.reduction;
    if (!(smoothing >= 0 && smoothing <= 1))
        throw ValueError("cross_entropy: label_smoothing is ", smoothing, "; use 0 to 1");
    if (!options.weight.defined() && smoothing == 0 && reduction == Reduction::mean)
        return cross_entropy(logits, targets, options.ignore_index);
    const Counted c = counted(logits, targets, options.weight, options.ignore_index);
    if (logits.numel() == 0) return of_nothing(logits, reduction);
    const Tensor ignored = c.ignored.unsqueeze(-1);  // filled, because NaN · 0 is not 0
    const Tensor log_p = log_softmax(any(ignored) ? masked_fill(logits, ignored, 0) : logits, -1);
    const Tensor loss = nll_loss(log_p, targets, options.weight, options.ignore_index, reduction);
    if (smoothing == 0) return loss;
    // The share `smoothing` of each target is spread over all classes, in proportion to their weights.
    const Tensor spread = masked_fill(options.weight.defined() ? log_p * options.weight : log_p, ignored, 0);
    const Tensor uniform =
        -reduced(reduction == Reduction::mean ? spread : sum(spread, -1), c.weight, reduction);
    return (1 - smoothing) * loss + smoothing / static_cast<double>(logits.size(-1)) * uniform;
}

Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& targets, Reduction reduction) {
    const Op op("binary_cross_entropy_with_logits", Op::of_others);
    check_same_shape(logits, targets);
    check_floating(logits);
    return reduced(logistic_losses(logits, targets), reduction);
}

Tensor binary_cross_entropy(const Tensor& prediction, const Tensor& targets, Reduction reduction) {
    const Op op("binary_cross_entropy", Op::of_others);
    check_same_shape(prediction, targets);
    check_floating(prediction);
    if (const Tensor outside = nonzero(!(prediction >= 0 && prediction <= 1).reshape({-1}));
        outside.numel() > 0) {
        const std::int64_t wrong = outside.to_vector<std::int64_t>()[0];
        throw ValueError("binary_cross_entropy: prediction ", prediction.detach().reshape({-1})[wrong],
                         " at position ", format_index(wrong, prediction.shape()),
                         " is no probability; of logits, take binary_cross_entropy_with_logits");
    }
    const auto bounded = [](const Tensor& q, const Tensor& is_small, Tensor (*log)(const Tensor&)) {
        return masked_fill(log(masked_fill(q, is_small, 0.5)), is_small, -100);
    };
    const Tensor log_p = bounded(prediction, prediction < std::exp(-100), weft::log);
    const Tensor log_q = bounded(-prediction, prediction == 1, log1p);
    return reduced(-(targets * log_p + (1 - targets) * log_q), reduction);
}

Tensor kl_div(const Tensor& log_p, const Tensor& target, Reduction reduction, bool log_target) {
    const Op op("kl_div", Op::of_others);
    check_same_shape(log_p, target);
    check_floating(log_p);
    const Tensor t = log_target ? exp(target) : target, is_zero = t == 0;
    const Tensor log_t = log_target ? target : log(masked_fill(t, is_zero, 1));
    return reduced(t * masked_fill(log_t - log_p, is_zero, 0), reduction);
}

Tensor l1_loss(const Tensor& prediction, const Tensor& target, Reduction reduction) {
    const Op op("l1_loss", Op::of_others);
    check_same_shape(prediction, target);
    return reduced(abs(prediction - target), reduction);
}

Tensor huber_loss(const Tensor& prediction, const Tensor& target, double delta, Reduction reduction) {
    const Op op("huber_loss", Op::of_others);
    check_same_shape(prediction, target);
    if (!(delta > 0)) throw ValueError("huber_loss: delta is ", delta, "; it must be above 0");
    if (is_beyond(prediction, delta))
        return huber_loss(prediction.to(float64), target.to(float64), delta, reduction).to(float32);
    // d²/2 or delta·(|d| − delta/2), by the part of d that counts: an infinite d has the slope ±delta, not NaN.
    const Tensor d = prediction - target, clipped = clamp(d, -delta, delta);
    return reduced(clipped * (d - 0.5 * clipped), reduction);
}

Tensor smooth_l1_loss(const Tensor& prediction, const Tensor& target, double beta, Reduction reduction) {
    const Op op("smooth_l1_loss", Op::of_others);
    check_same_shape(prediction, target);
    if (!(beta >= 0 && std::isfinite(beta)))
        throw ValueError("smooth_l1_loss: beta is ", beta, "; it must be finite, 0 or more");
    if (beta == 0) return l1_loss(prediction, target, reduction);
    if (is_beyond(prediction, beta))
        return smooth_l1_loss(prediction.to(float64), target.to(float64), beta, reduction).to(float32);
    const Tensor d = prediction - target, clipped = clamp(d / beta, -1, 1);
    return reduced(clipped * (d - 0.5 * beta * clipped), reduction);
}

}  // namespace weft
