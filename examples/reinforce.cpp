// A policy that learns to balance a pole on a cart by trial and error (Williams, "Simple statistical gradient-
// following algorithms", 1992, §4; the cart is that of Barto, Sutton and Anderson, 1983). N carts at once.
#include <weft/weft.h>

#include <cstdio>

using namespace weft;

namespace {

constexpr std::int64_t N = 32, longest = 200;

// The states (N, 4), position, speed, angle and its speed, 0.02 s after the carts were pushed right (1) or left
// (0).
Tensor pushed(const Tensor& state, const Tensor& right) {
    const Tensor v = state.select(1, 1), angle = state.select(1, 2), turning = state.select(1, 3);  // (N,)
    const Tensor force = 20.0 * right.to(float32) - 10, sine = sin(angle), cosine = cos(angle);
    const Tensor push = (force + 0.05 * turning.pow(2) * sine) / 1.1;
    const Tensor turn = (9.8 * sine - cosine * push) / (0.5 * (4.0 / 3 - 0.1 * cosine.pow(2) / 1.1));
    const Tensor acceleration = push - 0.05 * turn * cosine / 1.1;
    return state + 0.02 * stack({v, acceleration, turning, turn}, 1);
}

}  // namespace

int main() {
    Rng rng(1);
    const nn::Sequential policy{nn::Linear(4, 32, rng), tanh, nn::Linear(32, 2, rng)};
    optim::Adam optimizer(policy, {.lr = 1e-2});
    double steps = 0;
    for (int episode = 0; episode <= 60; ++episode) {
        Tensor state = 0.1 * rand({N, 4}, rng) - 0.05, alive = ones({N});
        std::vector<Tensor> chosen,
            lived;  // (N,) each: log-probability of the action, and whether it was taken
        for (std::int64_t t = 0; t < longest && alive.sum().item() > 0; ++t) {
            const Tensor log_p = policy(state).log_softmax(-1);               // (N, 2)
            const Tensor action = multinomial(log_p.detach().exp(), 1, rng);  // (N, 1)
            chosen.push_back(log_p.gather(1, action).squeeze(1));
            lived.push_back(alive);
            state = pushed(state, action.squeeze(1));
            alive = alive * (state.select(1, 0).abs() < 2.4 && state.select(1, 2).abs() < 0.2095);
        }
        const Tensor reward = stack(lived, 0);                       // (T, N)
        const Tensor to_come = flip(cumsum(flip(reward, 0), 0), 0);  // (T, N): steps that follow
        const Tensor advantage = (to_come - to_come.mean()) / (to_come.std() + 1e-6);
        const Tensor loss = -(stack(chosen, 0) * advantage * reward).sum() / reward.sum();
        optimizer.zero_grad();
        loss.backward();
        optimizer.step();
        steps = reward.sum().item() / N;
        if (episode % 20 == 0)
            std::printf("episode %2d  balanced for %5.1f of %ld steps\n", episode, steps, long(longest));
    }
    return steps > 120 ? 0 : 1;
}
