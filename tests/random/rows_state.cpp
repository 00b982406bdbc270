// Leaves over foreign memory and from the default generator, and what changes a leaf on the way: its values,
// its gradient, whether it has one, a step of an optimiser.
#include <numeric>

#include "rows.h"
#include "weft/optim/clipping.h"
#include "weft/optim/optimizer.h"
#include "weft/optim/schedules.h"

namespace random_programs {
namespace {

// A leaf of which others take no part, and for most rows another tensor.
bool leaf(ProgramBuilder& d, Statement& s, bool in_graph = true) {
    s.in = {d.leaf(in_graph)};
    return s.in[0] >= 0;
}
bool leaf_and_like(ProgramBuilder& d, Statement& s, bool in_graph) {
    if (!leaf(d, s, in_graph)) return false;
    s.in.push_back(d.shaped(d.at(s.in[0]).shape()));
    return true;
}
bool leaf_and_loss(ProgramBuilder& d, Statement& s) {
    if (!leaf(d, s)) return false;
    s.in.push_back(d.any([](const Tensor& x) {
        return is_floating_point(x.dtype()) && x.requires_grad() && !x.is_leaf() && x.numel() > 0;
    }));
    s.numbers = {double(d.number(0, 3))};
    return s.in[1] > s.in[0];
}

Numbers of_leaf(ProgramBuilder& d) {
    Numbers numbers{double(d.coin(0.8)), double(d.number(1, 100000)), double(d.coin(0.5))};
    append(numbers, {d.size(), d.size()});
    return numbers;
}

Tensor drawn(const Call& c) {
    Rng rng(static_cast<std::uint64_t>(c.n[1]));
    return (rand(c.shape(3), rng, float64) * 2 - 1).to(c.dtype);
}

// Numbers: whether it requires a gradient, a seed, whether the memory is column by column, sizes.
Tensor blob(const Call& c) {
    const Tensor x = drawn(c);  // the owner
    Strides strides = x.strides();
    if (c.n[2] != 0) strides = {1, x.size(0)};
    void* const data = c.dtype == float32 ? static_cast<void*>(x.data<float>()) : x.data<double>();
    return from_blob(
               data, x.shape(), strides, [x](void*) {}, c.dtype)
        .requires_grad_(c.n[0] != 0);
}

// Numbers: whether it requires a gradient, a seed, whether it is uniform, sizes.
Tensor by_default(const Call& c) {
    manual_seed(static_cast<std::uint64_t>(c.n[1]));
    return (c.n[2] != 0 ? rand(c.shape(3), float64) : tanh(randn(c.shape(3), float64)))
        .to(c.dtype)
        .requires_grad_(c.n[0] != 0);
}

template <class Options>
void step_twice(const Tensor& x, const Options& options) {
    optim::Optimizer<Options> optimizer(std::vector{x}, options);
    optimizer.step();
    optimizer.step();
}

// Adam divides by √v + eps, and a small eps would make a step of a gradient that is 0 but for rounding.
Tensor stepped(Tensor x, const Tensor& y, double rule) {
    const EnableGrad on;
    x.set_grad(grad({sum(y)}, {x}, {}, {.retain_graph = true})[0]);
    if (rule == 0) step_twice(x, optim::SGDOptions{.lr = 0.1});
    if (rule == 1)
        step_twice(x, optim::SGDOptions{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.1, .nesterov = true});
    if (rule == 2) step_twice(x, optim::AdamOptions{.lr = 0.1, .eps = 0.1});
    if (rule == 3) step_twice(x, optim::AdamWOptions{.lr = 0.1, .eps = 0.1});
    return x;
}

Tensor after(const Tensor& x, const std::function<void(Tensor&)>& change) {
    Tensor y = x;
    change(y);
    return y;
}

}  // namespace

Rows state_rows() {
    const auto made = [](ProgramBuilder& d, Statement& s) {
        s.numbers = of_leaf(d);
        return true;
    };
    return {
        {"", "blob({#3*}, #1, #2b, #0b)", "leaf(@, #0b)", made, blob, stored},
        {"", "random({#3*}, #1, #2b, #0b)", "leaf(@, #0b)", made, by_default, stored},

        {"", "renewed($0, $1)", "", [](ProgramBuilder& d, Statement& s) { return leaf_and_like(d, s, false); },
         [](const Call& c) { return after(c.x[0], [&](Tensor& x) { x.set_data(c.x[1]); }); }, in_place | state},
        {"", "with_grad($0, $1)", "$0",
         [](ProgramBuilder& d, Statement& s) { return leaf_and_like(d, s, true); },
         [](const Call& c) { return after(c.x[0], [&](Tensor& x) { x.set_grad(c.x[1]); }); }, in_place | state},
        {"", "without_grad($0)", "$0", [](ProgramBuilder& d, Statement& s) { return leaf(d, s); },
         [](const Call& c) { return after(c.x[0], [](Tensor& x) { x.zero_grad(); }); }, in_place | state},
        {"", "backward($0, $1)", "$0", leaf_and_loss,
         [](const Call& c) {
             const EnableGrad on;
             sum(c.x[1]).backward({}, true);
             return c.x[0];
         },
         in_place | state},
        {"", "requires_grad($0, false)", "$0.requires_grad_(False)",
         [](ProgramBuilder& d, Statement& s) { return leaf(d, s); },
         [](const Call& c) { return after(c.x[0], [](Tensor& x) { x.requires_grad_(false); }); },
         in_place | state},
        {"", "requires_grad($0, true)", "$0.requires_grad_(True)",
         [](ProgramBuilder& d, Statement& s) { return leaf(d, s, false); },
         [](const Call& c) { return after(c.x[0], [](Tensor& x) { x.requires_grad_(); }); }, in_place | state},
        {"", "stepped($0, $1, #0)", "stepped(changing($0), $1, #0)", leaf_and_loss,
         [](const Call& c) { return stepped(c.x[0], c.x[1], c.n[0]); }, in_place | state},
    };
}

}  // namespace random_programs
