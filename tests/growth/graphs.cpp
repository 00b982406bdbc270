#include "growth.h"

namespace {

using namespace growth;

Tensor leaf() { return ones({2}).requires_grad_(); }

Tensor chain(Tensor x, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) x = x * 2;
    return sum(x);
}

std::vector<Tensor> leaves(std::int64_t n) {
    std::vector<Tensor> all;
    for (std::int64_t i = 0; i < n; ++i) all.push_back(leaf());
    return all;
}

}  // namespace

std::vector<growth::Case> growth::graphs() {
    return {
        {"backward: a chain", 200, [](auto n) { return [n] { chain(leaf(), n).backward(); }; }},
        {"backward: a leaf used often", 200,
         [](auto n) {
             return [n, x = leaf()] {
                 Tensor y = x;
                 for (std::int64_t i = 0; i < n; ++i) y = y + x;
                 sum(y).backward();
             };
         }},
        {"backward: diamonds", 200,
         [](auto n) {
             return [n] {
                 Tensor y = leaf();
                 for (std::int64_t i = 0; i < n; ++i) y = (y + y) * 0.5;
                 sum(y).backward();
             };
         }},
        {"backward: leaves", 200, [](auto n) { return [all = leaves(n)] { sum(stack(all)).backward(); }; }},
        {"backward: passes over a kept graph", 200,
         [](auto n) {
             return [n] {
                 const Tensor y = chain(leaf(), 3);
                 for (std::int64_t i = 0; i < n; ++i) y.backward({}, true);
             };
         }},
        {"grad: inputs", 200, [](auto n) { return [all = leaves(n)] { (void)grad({sum(stack(all))}, all); }; }},
        {"grad: inputs along a chain", 200,
         [](auto n) {
             return [n] {
                 std::vector<Tensor> all{leaf()};
                 for (std::int64_t i = 0; i < n; ++i) all.push_back(all.back() * 2);
                 (void)grad({sum(all.back())}, all);
             };
         }},
        {"grad: outputs", 200,
         [](auto n) {
             return [n, x = leaf()] {
                 std::vector<Tensor> outputs;
                 for (std::int64_t i = 0; i < n; ++i) outputs.push_back(sum(x * 2));
                 (void)grad(outputs, {x});
             };
         }},
        {"grad: create_graph over a chain", 200,
         [](auto n) {
             return [n, x = leaf()] {
                 Tensor y = x;
                 for (std::int64_t i = 0; i < n; ++i) y = tanh(y);
                 sum(grad({sum(y)}, {x}, {}, {.create_graph = true})[0]).backward();
             };
         }},
        {"hooks of a tensor", 200,
         [](auto n) {
             return [n] {
                 Tensor x = leaf();
                 for (std::int64_t i = 0; i < n; ++i) x.register_hook([](const Tensor&) { return Tensor(); });
                 sum(x).backward();
             };
         }},
        {"retain_grad along a chain", 200,
         [](auto n) {
             return [n] {
                 Tensor x = leaf();
                 for (std::int64_t i = 0; i < n; ++i) {
                     x = x * 2;
                     x.retain_grad();
                 }
                 sum(x).backward();
             };
         }},
        {"graph_nodes: a chain", 1000, [](auto n) { return [y = chain(leaf(), n)] { (void)graph_nodes(y); }; }},
        {"graph_nodes: outputs", 200, [](auto n) { return [all = leaves(n)] { (void)graph_nodes(all); }; }},
        {"Trace: entries", 1000,
         [](auto n) {
             return [n, x = leaf()] {
                 const Trace trace;
                 for (std::int64_t i = 0; i < n; ++i) traced("x", x);
             };
         }},
        {"GradientLedger: a chain", 300,
         [](auto n) {
             return [n] {
                 const GradientLedger ledger;
                 chain(leaf(), n).backward();
             };
         }},
        {"in-place changes under NoGrad", 200,
         [](auto n) {
             return [n] {
                 const NoGrad off;
                 Tensor x = leaf();
                 for (std::int64_t i = 0; i < n; ++i) x += 1;
             };
         }},
    };
}
