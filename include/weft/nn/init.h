// Initial values of parameters.
#pragma once

#include "weft/core/tensor.h"

namespace weft::nn {

// Returns a float32 tensor with each element uniform in [low, high); zeros if `rng` was made by Rng::skip_init.
//
//     const Tensor w = nn::uniform({4, 3}, -0.5, 0.5, rng);  // (4, 3)
Tensor uniform(const Shape& shape, double low, double high, Rng& rng = default_rng());
// The same with normally distributed elements.
//
//     const Tensor w = nn::normal({4, 3}, 0, 0.02, rng);  // (4, 3)
Tensor normal(const Shape& shape, double mean, double deviation, Rng& rng = default_rng());

// Functions that fill x in place and return it, as those of torch.nn.init. The graph does not see the change.
// Those that draw refuse an x that is not floating (DTypeError) and numbers that make no distribution
// (ValueError), and leave x as it is if `rng` was made by Rng::skip_init.
//
//     nn::Linear layer(256, 128);
//     nn::init::kaiming_normal_(layer.weight, {.nonlinearity = nn::init::Nonlinearity::relu});
//     nn::init::zeros_(layer.bias);
namespace init {

// Fills x with `value`, 0 or 1.
//
//     nn::init::constant_(w, 0.5);
//     nn::init::ones_(w);
//     nn::init::zeros_(b);
const Tensor& constant_(const Tensor& x, double value);
inline const Tensor& zeros_(const Tensor& x) { return constant_(x, 0); }  // fills x with 0
inline const Tensor& ones_(const Tensor& x) { return constant_(x, 1); }   // fills x with 1

// Each element uniform in [low, high).
//
//     nn::init::uniform_(w, -0.1, 0.1, rng);
const Tensor& uniform_(const Tensor& x, double low = 0, double high = 1, Rng& rng = default_rng());
// Normally distributed.
//
//     nn::init::normal_(w, 0, 0.02, rng);
const Tensor& normal_(const Tensor& x, double mean = 0, double std = 1, Rng& rng = default_rng());
// Normally distributed and drawn again while outside [low, high]. ValueError if fewer than one draw in a
// hundred is inside.
//
//     nn::init::trunc_normal_(w, 0, 0.02, -0.04, 0.04, rng);
const Tensor& trunc_normal_(const Tensor& x, double mean = 0, double std = 1, double low = -2, double high = 2,
                            Rng& rng = default_rng());

// What follows a layer.
enum class Nonlinearity {
    linear,      // nothing: gain 1
    sigmoid,     // weft::sigmoid: 1
    tanh,        // weft::tanh: 5/3
    relu,        // weft::relu: √2
    leaky_relu,  // weft::leaky_relu with slope a: √(2/(1 + a²))
    selu         // selu: 3/4
};
// The factor on weights that makes up for it.
//
//     const double gain = nn::init::calculate_gain(nn::init::Nonlinearity::tanh);  // 5/3 = 1.6666667
double calculate_gain(Nonlinearity nonlinearity, double a = 0.01);

// Uniform in ±gain·√(6/(fan_in + fan_out)). In a weight (out, in, …) fan_in is in, and fan_out is out, times
// the product of the other sizes. ShapeError if x has fewer than two axes. (Glorot and Bengio, "Understanding
// the difficulty of training deep feedforward neural networks", 2010, eq. 16.)
//
//     nn::init::xavier_uniform_(w, 1, rng);
const Tensor& xavier_uniform_(const Tensor& x, double gain = 1, Rng& rng = default_rng());
// Normal with mean 0 and variance gain²·2/(fan_in + fan_out).
//
//     nn::init::xavier_normal_(w, 1, rng);
const Tensor& xavier_normal_(const Tensor& x, double gain = 1, Rng& rng = default_rng());

// The numbers to keep the size of: those on their way forward, or gradients on their way back.
enum class FanMode {
    fan_in,  // what each output is a sum of
    fan_out  // what each input goes into
};
// Options of kaiming_uniform_ and kaiming_normal_, with PyTorch's defaults.
struct KaimingOptions {
    double a = 0;                                          // the slope of leaky_relu below 0
    FanMode mode = FanMode::fan_in;                        // the fan that the variance is divided by
    Nonlinearity nonlinearity = Nonlinearity::leaky_relu;  // with a = 0 it is relu
};
// Uniform in ±gain·√(3/fan), with gain = calculate_gain(nonlinearity, a). ShapeError as above. (He et al.,
// "Delving deep into rectifiers", 2015, eq. 10.)
//
//     nn::init::kaiming_uniform_(w, {.mode = nn::init::FanMode::fan_out}, rng);
const Tensor& kaiming_uniform_(const Tensor& x, const KaimingOptions& options = {}, Rng& rng = default_rng());
// Normal with mean 0 and variance gain²/fan.
//
//     nn::init::kaiming_normal_(w, {.nonlinearity = nn::init::Nonlinearity::relu}, rng);
const Tensor& kaiming_normal_(const Tensor& x, const KaimingOptions& options = {}, Rng& rng = default_rng());

// A random orthogonal matrix times gain, each as likely: x as a matrix (size(0), the rest) has x xᵀ = gain²·1,
// or xᵀ x if it has more rows than columns. ShapeError as above. (Saxe et al., "Exact solutions to the
// nonlinear dynamics of learning in deep linear neural networks", 2014.)
//
//     nn::init::orthogonal_(w, 1, rng);
const Tensor& orthogonal_(const Tensor& x, double gain = 1, Rng& rng = default_rng());

}  // namespace init

}  // namespace weft::nn
