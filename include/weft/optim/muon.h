// Muon, an optimiser of matrices.
#pragma once

#include <array>

#include "weft/optim/optimizer.h"

namespace weft::optim {

// b ← momentum·b + (1 − momentum)·g;  u = momentum·b + (1 − momentum)·g, or b without Nesterov;
// p ← (1 − lr·weight_decay)·p − lr·√max(1, rows/cols) · O(u), where O brings the singular values of u near 1:
// X ← u/max(‖u‖, eps), then ns_steps times X ← aX + (bA + cA²)X with A = XXᵀ (Jordan, "Muon: An optimizer for
// hidden layers in neural networks", 2024). PyTorch's Muon rounds X to bfloat16; this one keeps p's type.
struct MuonOptions {
    double lr = 1e-3;                                                   // learning rate
    double weight_decay = 0.1;                                          // each step shrinks p by lr times this
    double momentum = 0.95;                                             // factor on b in each step
    bool nesterov = true;                                               // one more step of b in u
    std::array<double, 3> ns_coefficients = {3.4445, -4.7750, 2.0315};  // a, b and c
    double eps = 1e-7;                                                  // the smallest divisor of u, above 0
    std::int64_t ns_steps = 5;  // number of Newton–Schulz steps, at least 0
};

// Returns {"momentum_buffer"}. This and the next three are what Optimizer asks of a rule: see optim::Update.
//
//     Tensor w = zeros({2, 2});
//     const Tensor g = eye(2);
//     std::vector<Tensor> moments{zeros({2, 2})};  // one for each name below
//     const optim::MuonOptions options{.lr = 0.1};
//     optim::check(options);
//     optim::check(options, {{"w", w}});
//     optim::update({w, g, moments, 1}, options);
//     const std::vector<const char*> names = optim::moment_names(options);  // names.size() is 1
std::vector<const char*> moment_names(const MuonOptions& options);
// Throws ValueError when an option is out of range.
void check(const MuonOptions& options);
// Throws ShapeError, with their names, when parameters are no matrices.
void check(const MuonOptions& options, const nn::NamedTensors& parameters);
// Updates one parameter and its moment by the formula at MuonOptions.
void update(const Update& u, const MuonOptions& options);

// For matrices inside a model; embeddings, the layer that computes the logits, biases and norms get an AdamW:
//
//     nn::NamedTensors matrices, others;
//     for (const auto& [name, p] : model.named_parameters())
//         (p.rank() == 2 && name != "embedding.weight" ? matrices : others).emplace_back(name, p);
//     optim::Muon muon(matrices, {.lr = 0.02});
//     optim::AdamW adamw(others, {.lr = 3e-4});
//     loss_of(batch()).backward();
//     muon.step(), adamw.step();
using Muon = Optimizer<MuonOptions>;

}  // namespace weft::optim
