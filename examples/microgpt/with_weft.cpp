// microgpt.cpp in Weft, line by line: the same names, initial values, model, losses and made-up names.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numbers>
#include <string>
#include <vector>

#include "weft/weft.h"

using namespace weft;

// ---- Random numbers

std::uint64_t seed = 42;
double uniform() {
    std::uint64_t z = seed += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}
double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
}
Tensor random_matrix(std::int64_t rows, std::int64_t columns, double deviation) {
    std::vector<double> values(static_cast<std::size_t>(rows * columns));
    for (double& value : values) value = deviation * normal();
    return from_vector(values, {rows, columns}).requires_grad_();
}

// ---- The model

constexpr std::int64_t V = 27, T = 16, C = 16, H = 4;

struct Model {
    Tensor token = random_matrix(V, C, 0.1), position = random_matrix(T, C, 0.1);
    Tensor W_q = random_matrix(C, C, 0.25), W_k = random_matrix(C, C, 0.25), W_v = random_matrix(C, C, 0.25),
           W_out = random_matrix(C, C, 0.125);
    Tensor W_up = random_matrix(4 * C, C, 0.25), W_down = random_matrix(C, 4 * C, 0.0625);
    Tensor head = random_matrix(V, C, 0.1);
};

Tensor attention(const Model& model, const Tensor& x) {  // (T, C) → (T, C)
    const Tensor q = Heads::split(linear(x, model.W_q), H), k = Heads::split(linear(x, model.W_k), H),
                 v = Heads::split(linear(x, model.W_v), H);  // (H, T, D)
    return linear(Heads::merge(scaled_dot_product_attention(q, k, v, {.mask = Mask::causal()})), model.W_out);
}

// The logits after each of `ids`, (T,) → (T, V).
Tensor next(const Model& model, const Tensor& ids) {
    Tensor x = embedding(model.token, ids) + model.position.slice(0, 0, ids.size(0));  // (T, C)
    x = x + attention(model, rms_norm(x, {}, 1e-5));
    x = x + linear(relu(linear(rms_norm(x, {}, 1e-5), model.W_up)), model.W_down);
    return linear(rms_norm(x, {}, 1e-5), model.head);
}

// ---- Training, and sampling

std::vector<std::int64_t> ids_of(const std::string& name) {  // 0 before and after it
    std::vector<std::int64_t> ids = {0};
    for (const char c : name) ids.push_back(c - 'a' + 1);
    ids.push_back(0);
    return ids;
}

int main(int argc, char** argv) {
    std::vector<std::string> names;
    std::ifstream file(argc > 1 ? argv[1] : "");
    for (std::string line; std::getline(file, line);) names.push_back(line);
    const int steps = argc > 2 ? std::atoi(argv[2]) : 20000;
    if (names.empty() || steps < 1) {
        std::fprintf(stderr, "usage: microgpt_weft names.txt [steps]\n");
        return 2;
    }

    const Model model;
    const std::vector<Tensor> parameters = {model.token, model.position, model.W_q,    model.W_k, model.W_v,
                                            model.W_out, model.W_up,     model.W_down, model.head};
    optim::Adam optimizer(parameters, {.beta2 = 0.99});
    const auto start = std::chrono::steady_clock::now();
    for (int step = 1; step <= steps; ++step) {
        const std::vector<std::int64_t> ids = ids_of(names[step * 7919ull % names.size()]);
        const std::int64_t length = static_cast<std::int64_t>(ids.size()) - 1;
        const Tensor text = from_vector(ids), inputs = text.slice(0, 0, length),
                     targets = text.slice(0, 1, length + 1);
        const Tensor loss = cross_entropy(next(model, inputs), targets);
        loss.backward();
        if (step == 1 || step % 2000 == 0 || steps <= 100)
            std::printf("step %5d  loss %.9f\n", step, loss.item());

        optimizer.set_lr(0.005 * (1 - (step - 1.0) / steps));
        optimizer.step();
        optimizer.zero_grad();
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("%d steps in %.1f seconds\n\n", steps, took.count());

    const NoGrad off;
    for (int sample = 0; sample < 20; ++sample) {
        std::vector<std::int64_t> ids = {0};
        std::string name;
        for (std::int64_t t = 0; t < T; ++t) {
            const Tensor p = softmax(next(model, from_vector(ids))[-1] / 0.7, -1);
            double left = uniform();
            std::int64_t id = 0;
            for (; id < V - 1 && (left -= p[id].item()) > 0;) ++id;
            if (id == 0) break;
            ids.push_back(id);
            name += static_cast<char>('a' + id - 1);
        }
        const bool known = std::count(names.begin(), names.end(), name) > 0;
        std::printf("%s%s\n", name.c_str(), known ? "  (in the list)" : "");
    }
}
