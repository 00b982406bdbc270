// The functions of neural networks, with PyTorch's arguments: weft.layer_norm, or weft.nn.functional.layer_norm.
#include "bind.h"

namespace {

using Pair = std::array<std::int64_t, 2>;

// PyTorch's normalized_shape: Weft normalises the last axis.
void check_normalized(const char* caller, const Tensor& x, const Shape& normalized_shape) {
    if (normalized_shape.rank() != 1 || x.rank() == 0 || normalized_shape[0] != x.size(-1))
        throw ShapeError(caller, ": normalized_shape ", normalized_shape, " of ", x.shape(),
                         "; Weft normalises the last axis: give its size");
}

Pair pair_of(const Shape& sizes, const char* caller) {  // 3 is (3, 3)
    if (sizes.rank() == 1) return {sizes[0], sizes[0]};
    if (sizes.rank() == 2) return {sizes[0], sizes[1]};
    throw ShapeError(caller, ": a size of ", sizes, "; give one number or two");
}

WindowOptions window(const Shape& kernel, std::int64_t stride, std::int64_t padding, std::int64_t dilation = 1) {
    const auto [height, width] = pair_of(kernel, "kernel_size");
    return {.kernel_height = height, .kernel_width = width, .stride = stride, .padding = padding, .dilation = dilation};
}

// attn_mask is a Mask, or as in PyTorch: a bool tensor that is true where a query may attend, or a bias; of rank 3
// it is (H, T, S).
AttentionOptions attention(const py::object& attn_mask, double dropout_p, bool is_causal, std::optional<double> scale) {
    AttentionOptions options{.scale = scale, .dropout = dropout_p, .rng = &default_rng()};
    if (py::isinstance<Mask>(attn_mask)) {
        options.mask = attn_mask.cast<Mask>();
    } else if (!attn_mask.is_none()) {
        Tensor mask = attn_mask.cast<Tensor>();
        if (mask.rank() == 3) mask = mask.unsqueeze(0);
        if (mask.dtype() == boolean)
            options.mask = Mask::allowed(mask);
        else
            options.bias = mask;
    }
    if (is_causal) options.mask = options.mask | Mask::causal();
    return options;
}

}  // namespace

void bind_neural(py::module_& m, TensorClass&) {
    py::class_<Mask>(m, "Mask")
        .def(py::init())
        .def_static("causal", &Mask::causal)
        .def_static("padding", &Mask::padding, "lengths"_a)
        .def_static("blocked", &Mask::blocked, "mask"_a)
        .def_static("allowed", &Mask::allowed, "mask"_a)
        .def("__or__", [](const Mask& a, const Mask& b) { return a | b; }, py::is_operator())
        .def("materialize", [](const Mask& mask, std::int64_t B, std::int64_t H, std::int64_t T, std::int64_t S) {
            return mask.materialize(B, H, T, S);
        });
    const auto none = py::none();
    const auto with_options = [&](const char* name, auto f, auto... args) {
        m.def(name, f, args..., "attn_mask"_a = none, "dropout_p"_a = 0.0, "is_causal"_a = false, "scale"_a = none);
    };
    using Scale = std::optional<double>;
    with_options("scaled_dot_product_attention",
                 [](const Tensor& q, const Tensor& k, const Tensor& v, const py::object& mask, double p, bool causal,
                    Scale scale) { return scaled_dot_product_attention(q, k, v, attention(mask, p, causal, scale)); },
                 "query"_a, "key"_a, "value"_a);
    with_options("scaled_dot_product_attention_with_weights",
                 [](const Tensor& q, const Tensor& k, const Tensor& v, const py::object& mask, double p, bool causal,
                    Scale scale) {
                     auto y = scaled_dot_product_attention_with_weights(q, k, v, attention(mask, p, causal, scale));
                     return std::pair(y.output, y.weights);
                 },
                 "query"_a, "key"_a, "value"_a);
    with_options("multi_head_attention",
                 [](const Tensor& qkv, std::int64_t heads, const py::object& mask, double p, bool causal, Scale scale) {
                     return multi_head_attention(qkv, heads, attention(mask, p, causal, scale));
                 },
                 "qkv"_a, "num_heads"_a);

    m.def("linear",
          [](const Tensor& x, const Tensor& weight, const MaybeTensor& bias) {
              return linear(x, weight, or_undefined(bias));
          },
          "input"_a, "weight"_a, "bias"_a = none);
    m.def("layer_norm",
          [](const Tensor& x, const Shape& shape, const MaybeTensor& weight, const MaybeTensor& bias, double eps) {
              check_normalized("layer_norm", x, shape);
              return layer_norm(x, or_undefined(weight), or_undefined(bias), eps);
          },
          "input"_a, "normalized_shape"_a, "weight"_a = none, "bias"_a = none, "eps"_a = 1e-5);
    m.def("rms_norm",
          [](const Tensor& x, const Shape& shape, const MaybeTensor& weight, std::optional<double> eps) {
              check_normalized("rms_norm", x, shape);
              return rms_norm(x, or_undefined(weight), eps);
          },
          "input"_a, "normalized_shape"_a, "weight"_a = none, "eps"_a = none);
    m.def("dropout",
          [](const Tensor& x, double p, bool training, Rng* generator) {
              return dropout(x, p, generator_of(generator), training);
          },
          "input"_a, "p"_a = 0.5, "training"_a = true, "generator"_a = none);
    m.def("embedding", [](const Tensor& ids, const Tensor& table) { return embedding(table, ids); }, "input"_a, "weight"_a);
    m.def("one_hot", one_hot, "tensor"_a, "num_classes"_a = -1);
    m.def("pad", pad, "input"_a, "pad"_a, "value"_a = 0.0);

    // ---- losses
    m.def("cross_entropy",
          [](const Tensor& x, const Tensor& targets, const MaybeTensor& weight, std::int64_t ignored, double smoothing) {
              if (!weight && smoothing == 0) return cross_entropy(x, targets, ignored);
              return cross_entropy(x, targets,
                                   {.weight = or_undefined(weight), .label_smoothing = smoothing, .ignore_index = ignored});
          },
          "input"_a, "target"_a, "weight"_a = none, "ignore_index"_a = -100, "label_smoothing"_a = 0.0);
    m.def("nll_loss",
          [](const Tensor& log_p, const Tensor& targets, const MaybeTensor& weight, std::int64_t ignored) {
              return nll_loss(log_p, targets, or_undefined(weight), ignored);
          },
          "input"_a, "target"_a, "weight"_a = none, "ignore_index"_a = -100);
    m.def("mse_loss", mse_loss, "input"_a, "target"_a);
    m.def("l1_loss", l1_loss, "input"_a, "target"_a);
    m.def("huber_loss", huber_loss, "input"_a, "target"_a, "delta"_a = 1.0);
    m.def("binary_cross_entropy_with_logits", binary_cross_entropy_with_logits, "input"_a, "target"_a);

    // ---- images
    m.def("unfold",
          [](const Tensor& x, const Shape& kernel, std::int64_t dilation, std::int64_t padding, std::int64_t stride) {
              return unfold(x, window(kernel, stride, padding, dilation));
          },
          "input"_a, "kernel_size"_a, "dilation"_a = 1, "padding"_a = 0, "stride"_a = 1);
    m.def("fold",
          [](const Tensor& x, const Shape& size, const Shape& kernel, std::int64_t dilation, std::int64_t padding,
             std::int64_t stride) {
              const auto [height, width] = pair_of(size, "output_size");
              return fold(x, height, width, window(kernel, stride, padding, dilation));
          },
          "input"_a, "output_size"_a, "kernel_size"_a, "dilation"_a = 1, "padding"_a = 0, "stride"_a = 1);
    m.def("conv2d",
          [](const Tensor& x, const Tensor& weight, const MaybeTensor& bias, std::int64_t stride, std::int64_t padding,
             std::int64_t dilation, std::int64_t groups) {
              return conv2d(x, weight, or_undefined(bias), {stride, padding, dilation, groups});
          },
          "input"_a, "weight"_a, "bias"_a = none, "stride"_a = 1, "padding"_a = 0, "dilation"_a = 1, "groups"_a = 1);
    using Pool = Tensor (*)(const Tensor&, const WindowOptions&);
    for (const auto& [name, f] : std::initializer_list<std::pair<const char*, Pool>>{{"max_pool2d", max_pool2d},
                                                                                    {"avg_pool2d", avg_pool2d}})
        m.def(name,
              [f = f](const Tensor& x, const Shape& kernel, std::optional<std::int64_t> stride, std::int64_t padding) {
                  return f(x, window(kernel, stride.value_or(0), padding));
              },
              "input"_a, "kernel_size"_a, "stride"_a = none, "padding"_a = 0);
    m.def("batch_norm",
          [](const Tensor& x, const MaybeTensor& mean, const MaybeTensor& var, const MaybeTensor& weight,
             const MaybeTensor& bias, bool training, double momentum, double eps) {
              return batch_norm(x, {or_undefined(mean), or_undefined(var)}, or_undefined(weight), or_undefined(bias),
                                {training, momentum, eps});
          },
          "input"_a, "running_mean"_a = none, "running_var"_a = none, "weight"_a = none, "bias"_a = none,
          "training"_a = false, "momentum"_a = 0.1, "eps"_a = 1e-5);
}
