// The functions of neural networks with the arguments of torch.nn.functional.
#include "bind.h"

namespace {

using T = const Tensor&;
using Options = std::optional<double>;

// PyTorch's normalized_shape: Weft normalises the last axis.
T normalized(const char* caller, T x, const Shape& shape) {
    if (shape.rank() == 1 && x.rank() > 0 && shape[0] == x.size(-1)) return x;
    throw ShapeError(caller, ": normalized_shape ", shape, " of a tensor ", x.shape(),
                     "; give the size of its last axis");
}
WindowOptions window(const Shape& kernel, I stride, I padding, I dilation = 1) {
    return {.kernel_height = kernel[0],
            .kernel_width = kernel[-1],
            .stride = stride,
            .padding = padding,
            .dilation = dilation};
}
// A Mask, or as in PyTorch a bool tensor, true where a query may attend, or a bias; of rank 3 it is (H, T, S).
AttentionOptions options(const py::object& attn_mask, double dropout, bool is_causal,
                         std::optional<double> scale) {
    AttentionOptions options{.scale = scale, .dropout = dropout, .rng = &default_rng()};
    if (py::isinstance<Mask>(attn_mask)) {
        options.mask = attn_mask.cast<Mask>();
    } else if (!attn_mask.is_none()) {
        const Tensor mask = attn_mask.cast<Tensor>(), ranked = mask.rank() == 3 ? mask.unsqueeze(0) : mask;
        if (mask.dtype() == boolean)
            options.mask = Mask::allowed(ranked);
        else
            options.bias = ranked;
    }
    if (is_causal) options.mask = options.mask | Mask::causal();
    return options;
}

}  // namespace

void bind_functional(py::module_& m, py::module_& functional) {
    const auto in_both = [&](const std::string& signature, auto f) {
        def(m, signature, f);
        const std::string name = signature.substr(0, signature.find('('));
        functional.attr(name.c_str()) = m.attr(name.c_str());
    };
    for (const char* name : {"relu", "tanh", "sigmoid", "softmax", "log_softmax"})
        functional.attr(name) = m.attr(name);
    const std::string rest = ", attn_mask=None, dropout_p=0.0, is_causal=False, scale=None)";
    using Scale = std::optional<double>;
    in_both("scaled_dot_product_attention(query, key, value" + rest,
            [](T q, T k, T v, const py::object& mask, double p, bool causal, Scale scale) {
                return scaled_dot_product_attention(q, k, v, options(mask, p, causal, scale));
            });
    in_both("scaled_dot_product_attention_with_weights(query, key, value" + rest,
            [](T q, T k, T v, const py::object& mask, double p, bool causal, Scale scale) {
                const auto y =
                    scaled_dot_product_attention_with_weights(q, k, v, options(mask, p, causal, scale));
                return std::pair(y.output, y.weights);
            });
    in_both("multi_head_attention(qkv, num_heads" + rest,
            [](T qkv, I heads, const py::object& mask, double p, bool causal, Scale scale) {
                return multi_head_attention(qkv, heads, options(mask, p, causal, scale));
            });
    in_both("linear(input, weight, bias=None)",
            [](T x, T w, const Maybe& b) { return linear(x, w, or_undefined(b)); });
    in_both("layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5)",
            [](T x, const Shape& shape, const Maybe& w, const Maybe& b, double eps) {
                return layer_norm(normalized("layer_norm", x, shape), or_undefined(w), or_undefined(b), eps);
            });
    in_both("rms_norm(input, normalized_shape, weight=None, eps=None)",
            [](T x, const Shape& shape, const Maybe& w, std::optional<double> eps) {
                return rms_norm(normalized("rms_norm", x, shape), or_undefined(w), eps);
            });
    in_both("dropout(input, p=0.5, training=True, generator=None)",
            [](T x, double p, bool training, Rng* g) { return dropout(x, p, generator_of(g), training); });
    in_both("embedding(input, weight)", [](T ids, T table) { return embedding(table, ids); });
    in_both("one_hot(tensor, num_classes=-1)", one_hot);
    in_both("pad(input, pad, value=0.0)", pad);
    in_both("silu(input)", silu);
    in_both("softplus(input)", softplus);
    in_both("leaky_relu(input, negative_slope=0.01)", leaky_relu);
    in_both("elu(input, alpha=1.0)", elu);
    in_both("gelu(input, approximate='none')", [](T x, const std::string& approximate) {
        if (approximate == "none" || approximate == "tanh")
            return gelu(x, approximate == "tanh" ? Gelu::tanh : Gelu::exact);
        throw ValueError("gelu: approximate is \"", approximate, "\"; use \"none\" or \"tanh\"");
    });
    in_both("cross_entropy(input, target, weight=None, ignore_index=-100, label_smoothing=0.0)",
            [](T x, T t, const Maybe& w, I ignored, double smoothing) {
                if (!w && smoothing == 0) return cross_entropy(x, t, ignored);  // the fused one
                return cross_entropy(x, t, {or_undefined(w), smoothing, ignored});
            });
    in_both("nll_loss(input, target, weight=None, ignore_index=-100)",
            [](T x, T t, const Maybe& w, I ignored) { return nll_loss(x, t, or_undefined(w), ignored); });
    in_both("mse_loss(input, target)", mse_loss);
    in_both("l1_loss(input, target)", l1_loss);
    in_both("huber_loss(input, target, delta=1.0)", huber_loss);
    in_both("binary_cross_entropy_with_logits(input, target)", binary_cross_entropy_with_logits);
    in_both("unfold(input, kernel_size, dilation=1, padding=0, stride=1)",
            [](T x, const Shape& k, I dilation, I padding, I stride) {
                return unfold(x, window(k, stride, padding, dilation));
            });
    in_both("fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1)",
            [](T x, const Shape& size, const Shape& k, I dilation, I padding, I stride) {
                return fold(x, size[0], size[-1], window(k, stride, padding, dilation));
            });
    in_both("conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1)",
            [](T x, T w, const Maybe& b, I stride, I padding, I dilation, I groups) {
                return conv2d(x, w, or_undefined(b), {stride, padding, dilation, groups});
            });
    in_both("max_pool2d(input, kernel_size, stride=0, padding=0)",
            [](T x, const Shape& k, I stride, I padding) { return max_pool2d(x, window(k, stride, padding)); });
    in_both("avg_pool2d(input, kernel_size, stride=0, padding=0)",
            [](T x, const Shape& k, I stride, I padding) { return avg_pool2d(x, window(k, stride, padding)); });
    in_both(
        "batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, "
        "eps=1e-5)",
        [](T x, const Maybe& mean, const Maybe& var, const Maybe& w, const Maybe& b, bool training,
           double momentum, double eps) {
            return batch_norm(x, {or_undefined(mean), or_undefined(var)}, or_undefined(w), or_undefined(b),
                              {training, momentum, eps});
        });
}
