// One attention layer with two heads must predict, at each token, the previous token and the first token of the
// sequence. Nothing assigns these roles to the heads. Does each head take one of them? Ten runs with ten seeds
// answer: all learn the task, and in nine the roles are separate; with seed 1 each head gives a seventh of its
// weight to the other's role.
//
// B batch, T tokens, V vocabulary, C = d_model = V + T: the one-hot vectors of a token and of its position.
//
//     specialised_heads [map.svg]    draws the last model's heads into the file
#include <weft/weft.h>

#include <algorithm>
#include <array>
#include <cstdio>

using namespace weft;

namespace {

constexpr std::int64_t B = 32, T = 10, V = 6, C = V + T, num_heads = 2;
constexpr std::int64_t nothing = -100;  // cross_entropy's ignore_index: there is nothing before the first token
constexpr int seeds = 10, steps = 1000;
constexpr double taken = 0.8;  // a head has a role if it gives it at least this mean weight

struct TwoQuestions : nn::Module {
    nn::CausalMultiHeadAttention attention;
    nn::Linear answers;  // C → 2V: logits of the previous token and of the first token

    explicit TwoQuestions(Rng& rng)
        : attention(register_module("attention",
                                    nn::CausalMultiHeadAttention(C, num_heads, rng, {.max_seq_len = T}))),
          answers(register_module("answers", nn::Linear(C, 2 * V, rng))) {}

    Tensor operator()(const Tensor& ids) const {                    // (B, T)
        Tensor tokens = embedding(eye(V), ids);                     // (B, T, V)
        Tensor places = broadcast_to(eye(T), {ids.size(0), T, T});  // (B, T, T)
        return answers(attention(cat({tokens, places}, -1)))        // (B, T, C) → (B, T, 2V)
            .reshape({ids.size(0), T, 2, V});
    }
};

// target[b, t] = {ids[b, t − 1], ids[b, 0]}
Tensor targets_of(const Tensor& ids) {
    const std::int64_t n = ids.size(0);
    const Tensor none = full({n, 1}, nothing, int64);
    const Tensor before = cat({none, ids.slice(1, 0, T - 1)}, 1);                        // (B, T)
    const Tensor first = cat({none, ids.slice(1, 0, 1).expand({n, T - 1}).clone()}, 1);  // (B, T)
    return stack({before, first}, -1);                                                   // (B, T, 2)
}

TwoQuestions trained(std::uint64_t seed) {
    Rng rng(seed);
    TwoQuestions model(rng);
    optim::AdamW optimizer(model, {.lr = 1e-2, .weight_decay = 0});
    const auto loss_of_a_batch = [&] {
        const Tensor ids = randint(0, V, {B, T}, rng);
        return cross_entropy(model(ids), targets_of(ids));
    };
    training::minimise(optimizer, steps, loss_of_a_batch, {.print_every = 0});
    return model;
}

struct Findings {
    double accuracy = 0;                          // of both answers, on new sequences
    std::array<double, num_heads> before, first;  // mean weight of each head on them, from the third token on
    Tensor weights;                               // (H, T, T), mean over the sequences

    bool has_roles(std::size_t a, std::size_t b) const { return before[a] >= taken && first[b] >= taken; }
    bool specialised() const { return has_roles(0, 1) || has_roles(1, 0); }
};

Findings examine(const TwoQuestions& model, std::uint64_t seed) {
    const NoGrad off;
    Rng rng(seed);
    const Tensor ids = randint(0, V, {256, T}, rng);
    Findings found;
    const Tensor right =
        argmax(model(ids), -1) == targets_of(ids);  // (256, T, 2); false where nothing is asked
    found.accuracy = sum(right.to(float32)).item() / (256 * (T - 1) * 2);
    found.weights = mean(viz::attention_weights(model, ids)[0], 0);  // (H, T, T)
    for (std::int64_t h = 0; h < num_heads; ++h) {
        double before = 0, first = 0;
        for (std::int64_t t = 2; t < T; ++t) {
            before += found.weights.at({h, t, t - 1});
            first += found.weights.at({h, t, 0});
        }
        found.before[static_cast<std::size_t>(h)] = before / (T - 2);
        found.first[static_cast<std::size_t>(h)] = first / (T - 2);
    }
    return found;
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
        std::fprintf(stderr, "usage: specialised_heads [map.svg]\n");
        return 2;
    }
    set_num_threads(1);  // the operations are too small to share among threads
    std::printf("mean weight of each head, from the third token on\n");
    std::printf("seed  accuracy   head 1: before  first   head 2: before  first\n");
    int specialised = 0;
    double worst = 1;
    Findings found;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        found = examine(trained(seed), 1000 + seed);
        std::printf("%4d  %6.1f %%           %6.3f  %5.3f           %6.3f  %5.3f   %s\n",
                    static_cast<int>(seed), 100 * found.accuracy, found.before[0], found.first[0],
                    found.before[1], found.first[1],
                    found.has_roles(0, 1)   ? "1 before, 2 first"
                    : found.has_roles(1, 0) ? "1 first, 2 before"
                                            : "shared");
        specialised += found.specialised() ? 1 : 0;
        worst = std::min(worst, found.accuracy);
    }

    const viz::MapOptions options{
        .mask = Mask::causal(), .top = 1, .title = "seed 10, mean over 256 sequences"};
    std::printf("\n%s\n", viz::attention_text(found.weights, options).c_str());
    if (argc == 2) io::save_text(argv[1], viz::attention_grid_svg({found.weights}, options));

    std::printf("in %d of %d trainings each head took one role (at least %.0f %% of its weight)\n", specialised,
                seeds, 100 * taken);
    if (worst < 0.95) std::printf("the task was not learned: accuracy %.1f %%\n", 100 * worst);
    return worst < 0.95 ? 1 : 0;
} catch (const Error& error) {
    std::fprintf(stderr, "specialised_heads: %s\n", error.what());
    return 1;
}
