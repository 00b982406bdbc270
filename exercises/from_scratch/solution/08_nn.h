// Step 8: modules, which are parameters with names, and Adam, which trains them.
#pragma once

#include "07_gradcheck.h"

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// The base of layers and models. Registering a parameter or a child returns it, for the initialiser list.
struct Module {
    NamedTensors parameters;  // the children's too, as "child.name"
    Tensor register_parameter(const std::string& name, const Array& values) {
        parameters.emplace_back(name, Tensor(values, true));
        return parameters.back().second;
    }
    template <class M>
    M register_module(const std::string& name, const M& child) {
        for (const auto& [inner, parameter] : child.parameters)
            parameters.emplace_back(name + "." + inner, parameter);
        return child;
    }
};

// y = x Wᵀ + b: (…, I) → (…, O). With deviation 1/√I, y has about the variance of x.
struct Linear : Module {
    Tensor weight;  // (O, I)
    Tensor bias;    // (O)
    Linear(Index in, Index out, Random& random)
        : weight(register_parameter("weight", normal({out, in}, 1 / std::sqrt(in), random))),
          bias(register_parameter("bias", Array::full({out}, 0))) {}
    Tensor operator()(const Tensor& x) const { return matmul(x, transpose(weight, 0, 1)) + bias; }
};

// Adam (Kingma and Ba, 2015): m and v are running means of the gradient and of its square, divided by 1 − βᵗ
// because they begin at 0. A step has about the length lr for every parameter, however large its gradients are.
struct Adam {
    NamedTensors parameters;
    double lr;
    double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
    int t = 0;
    std::vector<std::vector<double>> m, v;
    Adam(const NamedTensors& parameters, double lr) : parameters(parameters), lr(lr) {
        for (const auto& [name, p] : parameters) m.emplace_back(p.data().storage->size());
        v = m;
    }
    void zero_grad() {
        for (auto& [name, p] : parameters) p.node->grad = {};
    }
    void step() {
        ++t;
        for (std::size_t n = 0; n < parameters.size(); ++n) {
            const Tensor& p = parameters[n].second;
            if (!p.grad().defined()) continue;
            const std::vector<double> g = p.grad().values();
            for (std::size_t i = 0; i < g.size(); ++i) {
                m[n][i] = beta1 * m[n][i] + (1 - beta1) * g[i];
                v[n][i] = beta2 * v[n][i] + (1 - beta2) * g[i] * g[i];
                const double mean = m[n][i] / (1 - std::pow(beta1, t)),
                             square = v[n][i] / (1 - std::pow(beta2, t));
                (*p.data().storage)[i] -= lr * mean / (std::sqrt(square) + eps);
            }
        }
    }
};
