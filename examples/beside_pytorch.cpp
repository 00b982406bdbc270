// Five results that PyTorch 2.13 gets wrong, computed by Weft: prints what docs/beside_pytorch.md shows.
#include <weft/weft.h>

#include <iostream>

using namespace weft;

namespace {

// A normalisation of three numbers, and its definition.
Tensor normed(const Tensor& x) { return layer_norm(x, ones(3, float64)); }
Tensor by_definition(const Tensor& x) {
    const Tensor centred = x - mean(x, 0, keepdim);                     // (3,)
    return centred / sqrt(mean(centred * centred, 0, keepdim) + 1e-5);  // (3,)
}

// The gradient of ∂²y₀/∂x₀² with respect to x.
Tensor third_derivatives(Tensor (*y)(const Tensor&)) {
    const Tensor x = tensor({0.3, -1.2, 0.7}, float64).requires_grad_();
    const Tensor first = grad({y(x)[0]}, {x}, {}, {.create_graph = true})[0];    // (3,)
    const Tensor second = grad({first[0]}, {x}, {}, {.create_graph = true})[0];  // (3,)
    return grad({second[0]}, {x})[0];                                            // (3,)
}

void layer_norm_three_times() {
    std::cout << "layer_norm:    " << third_derivatives(normed) << "\n"
              << "by definition: " << third_derivatives(by_definition) << "\n";
}

void power_of_zero() {
    const Tensor x = tensor(2.0, float64).requires_grad_(), p = tensor(0.0, float64).requires_grad_();
    const auto slopes = grad({pow(x, p)}, {x, p}, {}, {.create_graph = true});  // () each
    std::cout << "first x, then p: " << grad({slopes[0]}, {p}, {}, {.retain_graph = true})[0].item() << "\n"
              << "first p, then x: " << grad({slopes[1]}, {x})[0].item() << "\n";
}

void embedding_of_nothing() {
    const Tensor table = ones({4, 3}).requires_grad_();
    const Tensor y = embedding(table, zeros({5, 0}, int64));                           // (5, 0, 3)
    const Tensor first = grad({sum(exp(y))}, {table}, {}, {.create_graph = true})[0];  // (4, 3)
    std::cout << "second derivatives: " << grad({sum(first)}, {table})[0] << "\n";
}

void scaled_by_its_own_column() {
    Tensor x = tensor({{1.0, 2, 3}, {4, 5, 6}}, float64);  // (2, 3)
    x *= x.slice(1, 0, 1);                                 // (2, 1)
    std::cout << x << "\n";
}

void one_gradient_for_two() {
    Tensor v = ones(3).requires_grad_(), w = ones(3).requires_grad_();
    const Tensor gradient = tensor({1.0, 2, 3});  // (3,)
    v.set_grad(gradient);
    w.set_grad(gradient);
    sum(w * w).backward();  // adds 2 to each element of w's gradient
    std::cout << "w.grad(): " << w.grad() << "\n"
              << "v.grad(): " << v.grad() << "\n";
}

}  // namespace

int main() {
    layer_norm_three_times();
    power_of_zero();
    embedding_of_nothing();
    scaled_by_its_own_column();
    one_gradient_for_two();
}
