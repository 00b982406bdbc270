// Tells two spirals apart, on one process or several, with the same numbers:
//
//     data_parallel
//     mpirun -n 4 data_parallel
#include <weft/weft.h>

#include <cmath>
#include <cstdio>

#include "settings.h"

using namespace weft;

int main(int argc, char** argv) {
    const std::optional<Settings> settings = read_settings(argc, argv, "data_parallel", {.steps = 300});
    if (!settings) return 2;
    dist::Group group;

    // 256 points on two spirals, of which each process has a copy.
    Rng rng(1);
    const Tensor angle = 9 * rand({256, 1}, rng) + 1, arm = randint(0, 2, {256, 1}, rng);
    const Tensor turned = angle + M_PI * arm.to(float32);
    const Tensor points = cat({angle * cos(turned), angle * sin(turned)}, 1) / 10.0;  // (256, 2)
    const Tensor classes = arm.squeeze(1);                                            // (256)

    const nn::Sequential model{nn::Linear(2, 64, rng), tanh, nn::Linear(64, 64, rng), tanh,
                               nn::Linear(64, 2, rng)};
    optim::AdamW optimizer(model, {.lr = 0.01});
    dist::DataParallel parallel(model, group, {.grains = 8});  // 32 points each
    for (int step = 0; step <= settings->steps; ++step) {
        optimizer.zero_grad();
        const double loss = parallel.backward([&](std::int64_t grain) {
            const auto part = [&](const Tensor& all) { return all.slice(0, 32 * grain, 32 * grain + 32); };
            return cross_entropy(model(part(points)), part(classes));
        });
        optimizer.step();
        if (group.rank() == 0 && step % 100 == 0) std::printf("step %3d  loss %.9f\n", step, loss);
    }
    const Tensor right = (argmax(model(points), 1) == classes).to(float32);
    if (group.rank() == 0) std::printf("%.1f %% of the points are told apart\n", 100 * mean(right).item());
}
