// Activations as modules, for lists of modules; Sequential takes the functions, too.
#pragma once

#include "weft/nn/module.h"

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

}  // namespace weft::nn
