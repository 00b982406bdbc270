#include <cstdio>
#include <chrono>
#include <iostream>
#include "weft/core.h"
using namespace weft;
static double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
template <class F> double best(F f, int n = 15) { double b = 1e9; for (int i = 0; i < n; ++i) { double t = now(); f(); b = std::min(b, now() - t); } return b * 1e3; }
int main() {
    set_num_threads(1);
    Rng rng(1);
    const Tensor x0 = tensor({1.0, 2}, float64);
    std::cout << jvp([](const Tensor& x) { return x * x; }, x0, tensor({1.0, 10}, float64)).second << "\n";
    std::cout << jacobian([](const Tensor& x) { return sum(x * x * x) * x; }, x0) << "\n"
              << jacobian([](const Tensor& x) { return sum(x * x * x) * x; }, x0, {.strategy = Strategy::forward_mode}) << "\n";
    auto cubic = [](const Tensor& w) { return w[0] * w[0] * w[1] + w[1] * w[1] * w[1]; };
    std::cout << hessian(cubic, x0) << "\n" << hvp(cubic, x0, tensor({1.0, -1}, float64)).second << "\n";
    std::cout << jvp([&](const Tensor& x) { return vjp(cubic, x).second; }, x0, tensor({1.0, -1}, float64)).second << "\n";
    std::cout << jvp([&](const Tensor& x) { return jvp(cubic, x, tensor({1.0, 0}, float64)).second; }, x0, tensor({1.0, -1}, float64)).second << " fof 2 \n";
    {   // reverse over forward
        Tensor x = tensor({1.0, 2}, float64).requires_grad_();
        std::cout << grad({jvp(cubic, x, tensor({1.0, -1}, float64), true).second}, {x})[0] << "\n";
    }
    // mlp
    const int B = 64, C = 256;
    std::vector<Tensor> W;
    for (int i = 0; i < 8; ++i) W.push_back((randn({C, C}, rng) * (1.0 / 16)).requires_grad_());
    const Tensor x = randn({B, C}, rng), v = randn({B, C}, rng);
    const auto mlp = [&](const Tensor& x) { Tensor y = x; for (auto& w : W) y = y + gelu(linear(layer_norm(y, {}), w)); return y; };
    const auto fused = [&] { NoGrad off; (void)mlp(x); };
    const auto composed = [&] { NoGrad off; Composed c; (void)mlp(x); };
    const auto loss = [&](const Tensor& x) { return sum(mlp(x) * v); };
    std::printf("mlp forward fused %.2f composed %.2f jvp %.2f vjp %.2f\n", best(fused), best(composed), best([&] { (void)jvp(mlp, x, v); }), best([&] { (void)vjp(mlp, x, v); }));
    std::printf("hvp rr %.2f fr %.2f\n", best([&] { (void)hvp(loss, x, v); }), best([&] { (void)jvp([&](const Tensor& x) { return vjp(loss, x).second; }, x, v); }));
    const Tensor q = randn({2, 4, 64, 32}, rng), vq = randn(q.shape(), rng);
    const auto att = [&](const Tensor& q) { return scaled_dot_product_attention(q, q, q, {.mask = Mask::causal()}); };
    std::printf("attention fused %.2f composed %.2f jvp %.2f vjp %.2f\n", best([&] { NoGrad off; (void)att(q); }), best([&] { NoGrad off; Composed c; (void)att(q); }), best([&] { (void)jvp(att, q, vq); }), best([&] { (void)vjp(att, q, vq); }));
    for (auto [name, f] : std::vector<std::pair<const char*, Tensor (*)(const Tensor&)>>{{"exp", [](const Tensor& x) { return exp(x); }}, {"mul", [](const Tensor& x) { return x * x; }}, {"matmul", [](const Tensor& x) { return matmul(x, x); }}, {"sum", [](const Tensor& x) { return sum(x, 1); }}, {"softmax", [](const Tensor& x) { return softmax(x, 1); }}, {"add", [](const Tensor& x) { return x + x; }}, {"reshape", [](const Tensor& x) { return x.reshape({-1}); }}}) {
        for (int n : {4, 256}) {
            const Tensor a = randn({n, n}, rng) ;
            std::printf("%-8s %4d forward %.4f jvp %.4f\n", name, n, best([&] { NoGrad off; (void)f(a); }, 50), best([&] { (void)jvp(f, a, a); }, 50));
        }
    }
}
