// The loop that minimises a loss.
#pragma once

#include <cstdio>
#include <optional>

#include "weft/optim/optimizer.h"
#include "weft/optim/schedules.h"

namespace weft::training {

// Options of minimise.
//
//     const training::MinimiseOptions options{.print_every = 0};
//     const Tensor w = ones({1}).requires_grad_();
//     optim::SGD optimizer({w}, {.lr = 0.1});
//     const auto square = [&] { return sum(w * w); };
//     const double last = training::minimise(optimizer, 30, square, options);  // last < 1e-4
struct MinimiseOptions {
    std::optional<optim::CosineOptions> schedule = {};  // schedule of the learning rate; constant without one
    std::int64_t print_every = 50;                      // prints every so many steps; 0 prints nothing
};

// Repeats zero_grad, loss_of() → (), backward and a step of the optimiser `steps` times; returns the last loss.
//
//     optim::AdamW optimizer(model, {.lr = 1e-2});
//     training::minimise(optimizer, 200, [&] { return cross_entropy(model(x), target); });
//
// This prints "step   0  loss 1.0986" and every 50th step after it. Throws what loss_of, backward and the
// optimiser throw.
template <class Optimizer, class Loss>
double minimise(Optimizer& optimizer, std::int64_t steps, Loss loss_of, const MinimiseOptions& options = {}) {
    double last = 0;
    for (std::int64_t step = 0; step < steps; ++step) {
        if (options.schedule) optimizer.set_lr(optim::cosine_lr(step, *options.schedule));
        optimizer.zero_grad();
        const Tensor loss = loss_of();
        loss.backward();
        optimizer.step();
        last = loss.item();
        if (options.print_every > 0 && step % options.print_every == 0)
            std::printf("step %3d  loss %.4f\n", static_cast<int>(step), last);
    }
    return last;
}

}  // namespace weft::training
