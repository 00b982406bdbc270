// One attention layer with three heads answers three questions about each token (three_roles.h): the letter of
// the previous token, of the first token, and of the earlier token with the same role. Nothing assigns the
// questions to the heads. Does each head take one? Ten runs with ten seeds answer.
//
//     specialised_heads [map.svg]    draws the last model's heads on one sequence into the file
#include <cstdio>

#include "three_roles.h"

using namespace three_roles;

int main(int argc, char** argv) try {
    if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
        std::fprintf(stderr, "usage: specialised_heads [map.svg]\n");
        return 2;
    }
    set_num_threads(1);  // the operations are too small to share among threads
    constexpr int seeds = 10;
    std::printf("accuracy, and for each head the question to which it gives most of its weight\n");
    std::printf("seed  previous    first    match   head 1          head 2          head 3\n");
    int specialised = 0;
    double worst = 1, weakest = 1;
    Sequences batch;
    Findings found;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        Rng rng(1000 + seed);
        batch = sequences(256, rng);
        found = examine(trained(3, seed), batch);
        std::printf("%4d", static_cast<int>(seed));
        for (int q = 0; q < questions; ++q) std::printf("   %5.1f %%", 100 * found.accuracy[q].item());
        for (const Tensor& head : found.shares) {  // (3,)
            const auto [share, question] = head.max(0);
            std::printf("   %-8s %.2f", question_names[static_cast<int>(question.item())], share.item());
            weakest = std::min(weakest, share.item());
        }
        std::printf("   %s\n", one_each(found) ? "one each" : "shared");
        specialised += one_each(found) ? 1 : 0;
        worst = std::min(worst, found.accuracy.min().item());
    }

    const viz::MapOptions options{
        .queries = labels(batch, 0), .mask = Mask::causal(), .title = "letter and role, seed 10"};
    std::printf("\n%s\n", viz::attention_text(found.weights[0], options).c_str());
    if (argc == 2) io::save_text(argv[1], viz::attention_grid_svg({found.weights[0]}, options));

    std::printf("in %d of %d runs each head took one question; the smallest share is %.2f\n", specialised,
                seeds, weakest);
    if (worst < 0.95) std::printf("the task was not learned: accuracy %.1f %%\n", 100 * worst);
    return worst < 0.95 ? 1 : 0;
} catch (const Error& error) {
    std::fprintf(stderr, "specialised_heads: %s\n", error.what());
    return 1;
}
