// Activations as modules, for lists of modules; Sequential takes the functions, too.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <optional>
#include <type_traits>

#include "weft/derive/functional.h"
#include "weft/nn/module.h"
#include "weft/ops.h"

namespace weft::nn {

// y = relu(x), of x's shape.
//
//     const nn::Sequential net{nn::Flatten(), nn::Linear(6, 4), nn::ReLU(), nn::Linear(4, 1), nn::Tanh()};
//     const Tensor y = net(ones({3, 2, 3}));  // (3, 2, 3) → (3, 1)
struct ReLU : Module {
    ReLU() : Module("ReLU") {}
    // relu(x)
    Tensor operator()(const Tensor& x) const {
        return located(*this, [&] { return relu(x); });
    }
};
// y = tanh(x), of x's shape.
//
//     const Tensor y = nn::Tanh()(zeros({2}));  // [0, 0]
struct Tanh : Module {
    Tanh() : Module("Tanh") {}
    // tanh(x)
    Tensor operator()(const Tensor& x) const {
        return located(*this, [&] { return tanh(x); });
    }
};
// y = gelu(x, kind), of x's shape.
//
//     const nn::GELU activation(Gelu::tanh);
//     const Tensor y = activation(zeros({2}));  // [0, 0]
struct GELU : Module {
    const Gelu kind;  // the formula
    // By that formula.
    explicit GELU(Gelu kind = Gelu::exact) : Module("GELU"), kind(kind) {}
    // gelu(x, kind)
    Tensor operator()(const Tensor& x) const {
        return located(*this, [&] { return gelu(x, kind); });
    }
};
// y = silu(x), of x's shape.
//
//     const Tensor y = nn::SiLU()(zeros({2}));  // [0, 0]
struct SiLU : Module {
    SiLU() : Module("SiLU") {}
    // silu(x)
    Tensor operator()(const Tensor& x) const {
        return located(*this, [&] { return silu(x); });
    }
};
// y = flatten(x, first, last): the samples stay, as in PyTorch. The errors of flatten.
//
//     const Tensor y = nn::Flatten()(ones({5, 2, 3}));  // (5, 6)
struct Flatten : Module {
    const int first, last;  // the axes that become one
    // Of these axes.
    explicit Flatten(int first = 1, int last = -1) : Module("Flatten"), first(first), last(last) {}
    // flatten(x, first, last)
    Tensor operator()(const Tensor& x) const {
        return located(*this, [&] { return flatten(x, first, last); });
    }
};
// y = x, for a place where a layer may be.
//
//     const Tensor y = nn::Identity()(x);  // x itself: y.handle() == x.handle()
struct Identity : Module {
    Identity() : Module("Identity") {}
    // x
    Tensor operator()(const Tensor& x) const {
        return located(*this, [&] { return x; });
    }
};

// The layers: ModuleList and Sequential of others, Linear, Embedding, Dropout, LayerNorm and RMSNorm, and the
// networks MLP and GatedMLP.

// A list of modules of type M.
//
//     nn::ModuleList<nn::Linear> layers;
//     for (int i = 0; i < 3; ++i) layers.append(nn::Linear(8, 8, rng));  // layers.size() is 3
//     for (const nn::Linear& layer : layers) x = relu(layer(x));  // x is (B, 8)
template <class M>
class ModuleList : public Module {
public:
    ModuleList() : Module("ModuleList") {}  // empty
    // Appends a module as the next child.
    void append(M module) { items_->push_back(register_module(std::to_string(size()), std::move(module))); }
    std::size_t size() const { return items_->size(); }  // number of modules
    // The i-th module; IndexError unless i < size().
    const M& operator[](std::size_t i) const {
        if (i >= size()) throw IndexError("ModuleList: no module ", i, "; it holds ", size());
        return (*items_)[i];
    }
    M& operator[](std::size_t i) { return const_cast<M&>(std::as_const(*this)[i]); }  // likewise
    auto begin() { return items_->begin(); }                                          // for a range-based for
    auto end() { return items_->end(); }                                              // one past the last
    auto begin() const { return items_->cbegin(); }  // likewise, of const modules
    auto end() const { return items_->cend(); }      // likewise

private:
    Shared<std::vector<M>> items_{std::make_shared<std::vector<M>>()};
};

// y = step_n(… step_1(step_0(x))). A step is a function such as `relu`, or a module: at step i, the child "i".
//
//     nn::Sequential net{nn::Linear(2, 8, rng), relu, nn::Linear(8, 1, rng)};
//     const Tensor y = net(x);  // (B, 2) → (B, 1)
//     net.at<nn::Linear>(0).weight.requires_grad_(false);
//
// Construct with braces: they evaluate from left to right, so the layers draw from rng in that order.
class Sequential : public Module {
public:
    // One step, converted from what you write in the braces.
    struct Step {
        std::function<Tensor(const Tensor&)> call;  // computes the step
        std::optional<Module> module;               // the child, if the step is a module

        // A function such as relu.
        Step(Tensor (*function)(const Tensor&)) : call(function) {}
        // gelu, in its exact form.
        Step(Tensor (*function)(const Tensor&, Gelu))
            : call([function](const Tensor& x) { return function(x, Gelu::exact); }) {}
        // A module, or anything else that can be called with a tensor and returns one.
        template <class F>
        Step(F step) {
            static_assert(std::is_invocable_v<const F&, const Tensor&>,
                          "a step of Sequential is called with one Tensor; put a module that takes more into a "
                          "function of one: [m](const Tensor& x) { return m(x, x, x); }");
            static_assert(std::is_invocable_r_v<Tensor, const F&, const Tensor&>,
                          "a step of Sequential returns a Tensor, which is the next step's input");
            if constexpr (std::is_invocable_r_v<Tensor, const F&, const Tensor&>) call = step;
            if constexpr (std::derived_from<F, Module>) module.emplace(step);
        }
    };

    Sequential(std::initializer_list<Step> steps);  // registers each step that is a module
    // Applies the steps in order; without steps, returns x. GraphError if a step changes x in place.
    Tensor operator()(const Tensor& x) const;
    template <class A, class B, class... More>
    Sequential(const A&, const B&, const More&...) = delete;  // in braces: Sequential{a, b}
    std::size_t size() const { return steps_.size(); }        // number of steps
    // Step i, as what it is. IndexError unless i < size(); ValueError unless it is an M.
    template <class M>
    M& at(std::size_t i) {
        if (i >= size()) throw IndexError("Sequential: no step ", i, "; it has ", size());
        if (M* step = steps_[i].template target<M>()) return *step;
        throw ValueError("Sequential: step ", i,
                         " is of another type; at<M>(i) takes the type it was made with");
    }

private:
    std::vector<std::function<Tensor(const Tensor&)>> steps_;
};

// y = x Wᵀ + b: x (…, in) → (…, out), with weight W (out, in) and bias b (out,), both initially uniform in
// ±1/√in as in PyTorch. ValueError unless in ≥ 1 and out ≥ 1; ShapeError from `linear` unless x fits.
//
//     nn::Linear layer(4, 3, rng);
//     const Tensor y = layer(x);        // (B, 4) → (B, 3)
//     nn::Linear output(table.weight);  // no bias; output.weight.handle() == table.weight.handle()
struct Linear : Module {
    Parameter weight;  // (out, in)
    Parameter bias;    // (out,), undefined without bias

    Linear() = delete;  // write nn::Linear layer = register_module("layer", nn::Linear(in, out)); in the class
    // Draws initial values from `rng`.
    Linear(std::int64_t in_features, std::int64_t out_features, Rng& rng, bool bias = true);
    // The same from default_rng().
    Linear(std::int64_t in_features, std::int64_t out_features, bool bias = true)
        : Linear(in_features, out_features, default_rng(), bias) {}
    // Uses a weight (out, in), tied if it is a parameter elsewhere, and a bias (out,) or none. The weight may
    // be half or in blocks (weft/packed/packed.h): then only the bias is trained. ShapeError at other ranks.
    //
    //     const nn::Linear small(pack(layer.weight, DType::Q8_0), layer.bias);
    explicit Linear(Tensor weight, Tensor bias = {});
    // x (…, in) → (…, out).
    Tensor operator()(const Tensor& x) const {
        return located(*this, [&] { return linear(x, weight, bias); });
    }
};

// y = weight[ids]: ids int64 (…) → (…, embedding_dim), with weight (num_embeddings, embedding_dim), initially
// standard normal as in PyTorch. ValueError unless both sizes are at least 1; IndexError from `embedding`
// unless 0 ≤ id < num_embeddings, naming the id's position.
//
//     nn::Embedding tokens(50, 16, rng);
//     const Tensor y = tokens(from_vector(std::vector<std::int64_t>{7, 3, 7}, {3}));  // (3) → (3, 16)
struct Embedding : Module {
    Parameter weight;  // (num_embeddings, embedding_dim)

    Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim,
              Rng& rng = default_rng());  // draws weight from `rng`
    // Uses a table (num_embeddings, embedding_dim), tied if it is a parameter elsewhere; half or in blocks as
    // Linear's weight. ShapeError at other ranks.
    explicit Embedding(Tensor weight);
    Embedding() : Module("Embedding") {}  // without a table: `weight` is undefined
    // ids (…) → (…, embedding_dim).
    Tensor operator()(const Tensor& ids) const {
        return located(*this, [&] { return embedding(weight, ids); });
    }
};

// In training, each element becomes 0 with probability p and x / (1 − p) otherwise; in evaluation, or with
// p = 0, x is returned (Srivastava et al., "Dropout", JMLR 2014, §10, inverted). Any shape → the same.
// ValueError unless 0 ≤ p < 1. Draws come from a generator of its own (see Module::named_generators).
//
//     nn::Dropout drop(0.5, rng);
//     const Tensor noisy = drop(x);  // all(noisy == 0 || noisy == 2 * x)
//     drop.eval();
//     const Tensor same = drop(x);  // all(same == x)
struct Dropout : Module {
    const double p;         // probability of a zero
    const Shared<Rng> rng;  // its generator; null if p = 0

    Dropout(double p, Rng& rng = default_rng());  // draws a seed from `rng` if p > 0
    Tensor operator()(const Tensor& x) const;     // any shape → the same
};

// Returns p. ValueError, naming `what`, unless 0 ≤ p < 1.
//
//     const double p = nn::checked_probability(0.1, "Dropout");  // 0.1
double checked_probability(double p, const char* what);

// Options of LayerNorm.
//
//     const nn::LayerNormOptions options{.eps = 1e-6, .bias = false};
//     const nn::LayerNorm norm(64, options);  // norm.bias.defined() is false
struct LayerNormOptions {
    double eps = 1e-5;  // added to the variance
    bool bias = true;   // whether to shift
};

// y = (x − mean) / √(var + eps) · weight + bias over the last axis (Ba, Kiros and Hinton, "Layer
// normalization", 2016, eq. 4). x (…, dim) → (…, dim); weight (dim,) is initially ones, bias (dim,) zeros.
// ValueError unless dim ≥ 1 and eps > 0; ShapeError from `layer_norm` unless the last axis of x is dim.
//
//     nn::LayerNorm norm(64);
//     const Tensor y = norm(x);  // (B, T, 64) → (B, T, 64), each token with mean 0 and variance 1
struct LayerNorm : Module {
    Parameter weight;  // (dim,)
    Parameter bias;    // (dim,), undefined without bias
    const double eps;  // eps of the options

    explicit LayerNorm(std::int64_t dim, LayerNormOptions options = {});  // normalises tokens of width dim
    template <std::floating_point T>
    LayerNorm(std::int64_t dim, T eps) = delete;  // write LayerNorm(64, {.eps = 1e-6})
    // x (…, dim) → (…, dim).
    Tensor operator()(const Tensor& x) const {
        return located(*this, [&] { return layer_norm(x, weight, bias, eps); });
    }
};

// Options of RMSNorm.
struct RMSNormOptions {
    std::optional<double> eps = {};  // added to the mean of the squares
};

// y = x / √(mean x² + eps) · weight over the last axis (Zhang and Sennrich, "Root mean square layer
// normalization", 2019, eq. 4). x (…, dim) → (…, dim); weight (dim,) is initially ones. Without eps it is the
// machine epsilon of x's type, as in PyTorch. ValueError unless dim ≥ 1 and eps > 0; ShapeError from `rms_norm`
// unless the last axis of x is dim.
//
//     nn::RMSNorm norm(64, {.eps = 1e-6});
//     const Tensor y = norm(x);  // (B, T, 64) → (B, T, 64), the squares of each token with mean 1
struct RMSNorm : Module {
    Parameter weight;                 // (dim,)
    const std::optional<double> eps;  // eps of the options

    explicit RMSNorm(std::int64_t dim, RMSNormOptions options = {});  // normalises tokens of width dim
    template <std::floating_point T>
    RMSNorm(std::int64_t dim, T eps) = delete;  // write RMSNorm(64, {.eps = 1e-6})
    // x (…, dim) → (…, dim).
    Tensor operator()(const Tensor& x) const {
        return located(*this, [&] { return rms_norm(x, weight, eps); });
    }
};

// Options of MLP.
//
//     const nn::MLPOptions options{.dim_feedforward = 128};
//     const nn::MLP narrow(64, options);  // narrow.W_in.weight (128, 64)
struct MLPOptions {
    std::int64_t dim_feedforward = 0;  // width of the hidden layer; 0 means 4 · d_model
    bool bias = true;                  // whether both layers have a bias
};

// y = W_out gelu(W_in x), with GELU in its tanh form as in GPT-2 (Vaswani et al., "Attention is all you need",
// 2017, §3.3, with GELU for ReLU). x (…, C) → (…, C), C = d_model. ValueError unless d_model ≥ 1 and
// dim_feedforward ≥ 0.
//
//     nn::MLP mlp(64, rng);
//     const Tensor y = mlp(x);  // (B, T, 64) → (B, T, 64), with 256 hidden units
struct MLP : Module {
    Linear W_in;   // C → dim_feedforward
    Linear W_out;  // dim_feedforward → C

    MLP(std::int64_t d_model, Rng& rng, MLPOptions options = {});  // draws initial values from `rng`
    // The same from default_rng().
    explicit MLP(std::int64_t d_model, MLPOptions options = {}) : MLP(d_model, default_rng(), options) {}
    // x (…, C) → (…, C).
    Tensor operator()(const Tensor& x) const {
        return located(*this, [&] { return W_out(gelu(W_in(x), Gelu::tanh)); });
    }
};

// Options of GatedMLP.
struct GatedMLPOptions {
    std::int64_t dim_feedforward = 0;  // width of the hidden layer; 0 means ⌊8 · d_model / 3⌋
    bool bias = false;                 // whether the three layers have a bias
};

// y = down_proj(silu(gate_proj x) ⊙ up_proj x), SwiGLU (Shazeer, "GLU variants improve transformer", 2020, eq.
// 6). Each hidden number is a product: the gate decides how much of it passes. With the default width it has as
// many weights as an MLP of width 4 · d_model. x (…, C) → (…, C), C = d_model. ValueError unless d_model ≥ 1
// and dim_feedforward ≥ 0; `rng` then has drawn nothing. The names of the layers are those of transformers.
//
//     nn::GatedMLP mlp(64, rng, {.dim_feedforward = 176});
//     const Tensor y = mlp(x);  // (B, T, 64) → (B, T, 64), mlp.up_proj.weight (176, 64)
struct GatedMLP : Module {
    Linear gate_proj;  // C → dim_feedforward
    Linear up_proj;    // C → dim_feedforward
    Linear down_proj;  // dim_feedforward → C

    GatedMLP(std::int64_t d_model, Rng& rng, GatedMLPOptions options = {});  // draws initial values from `rng`
    // The same from default_rng().
    explicit GatedMLP(std::int64_t d_model, GatedMLPOptions options = {})
        : GatedMLP(d_model, default_rng(), options) {}
    // x (…, C) → (…, C).
    Tensor operator()(const Tensor& x) const {
        return located(*this, [&] { return down_proj(silu(gate_proj(x)) * up_proj(x)); });
    }

private:
    GatedMLP(std::int64_t d_model, std::int64_t hidden, bool bias, Rng& rng);
};

// What networks for pictures add: Conv2d, and BatchNorm over its channels.

// Options of Conv2d.
struct Conv2dOptions {
    std::int64_t stride = 1, padding = 0, dilation = 1, groups = 1;  // see ConvOptions
    bool bias = true;                                                // whether to add one
};

// conv2d(x, weight, bias): x (N, in, H, W) → (N, out, H', W'), with weight (out, in / groups, k, k) and bias
// (out,), both initially uniform in ±1/√(in / groups · k²) as in PyTorch. Call the function conv2d for windows
// that are not square. ValueError unless the sizes are at least 1 and groups divides in and out; conv2d refuses
// the rest.
//
//     nn::Conv2d conv(1, 6, 5, rng, {.padding = 2});
//     const Tensor y = relu(conv(x));  // (N, 1, 28, 28) → (N, 6, 28, 28)
struct Conv2d : Module {
    Parameter weight;           // (out, in / groups, k, k)
    Parameter bias;             // (out,), undefined without bias
    const ConvOptions options;  // stride, padding, dilation and groups

    // Windows of k × k = kernel_size × kernel_size; draws initial values from `rng`.
    Conv2d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel_size, Rng& rng,
           const Conv2dOptions& options = {});
    // The same from default_rng().
    Conv2d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel_size,
           const Conv2dOptions& options = {})
        : Conv2d(in_channels, out_channels, kernel_size, default_rng(), options) {}
    // x (N, in, H, W) → (N, out, H', W').
    Tensor operator()(const Tensor& x) const {
        return located(*this, [&] { return conv2d(x, weight, bias, options); });
    }

private:
    Conv2d(const Shape& filters, Rng& rng, const Conv2dOptions& options);
};

// batch_norm: x (N, C, …) → the same, C = num_features; weight (C,) is initially ones, bias (C,) zeros. In
// training with the batch's own mean and variance, which also enter the running ones; in evaluation with those.
// ValueError unless num_features ≥ 1 and eps > 0; batch_norm refuses the rest.
//
//     nn::BatchNorm norm(6);
//     const Tensor y = norm(x);  // (N, 6, H, W) → (N, 6, H, W), each channel with mean 0 and variance 1
//     norm.eval();               // from now on with norm.running_mean and norm.running_var
struct BatchNorm : Module {
    Parameter weight, bias;            // (C,)
    Buffer running_mean, running_var;  // (C,), initially zeros and ones
    Buffer num_batches_tracked;        // () int64: the number of batches in the running statistics
    const double eps;                  // added to the variance
    const double momentum;             // running ← (1 − momentum) · running + momentum · new

    explicit BatchNorm(std::int64_t num_features, double eps = 1e-5, double momentum = 0.1);  // for C channels
    Tensor operator()(const Tensor& x) const;  // x (N, C, …) → the same
};

// Modules whose intermediate values are computed again in backward.

// module(x), with the tensors in between computed again in backward: weft::checkpoint with the module's
// parameters and generators. x and the result have the shapes of the module's. A module that changes a buffer
// in its forward pass (BatchNorm in training) changes it a second time in backward. Refusals as
// weft::checkpoint's.
//
//     const Tensor y = nn::checkpoint(block, x);  // all(y == block(x))
template <class M>
Tensor checkpoint(const M& module, const Tensor& x) {
    std::vector<std::shared_ptr<Rng>> generators;
    for (const auto& [name, rng] : module.named_generators()) generators.push_back(rng);
    return weft::checkpoint([module](const std::vector<Tensor>& in) { return module(in[0]); }, {x},
                            module.parameters(), generators);
}

}  // namespace weft::nn
