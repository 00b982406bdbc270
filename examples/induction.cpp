// A random sequence of letters repeats. From the second time on, the next letter can be predicted: find where
// the current letter occurred before, and read what followed it. Two layers of attention alone learn this in
// the same way as language models of every size: a head of the first layer attends to the previous letter, so
// each position knows its letter and the one before it; an induction head of the second layer finds the
// position whose previous letter is the current one (Olsson et al., "In-context learning and induction heads",
// 2022). The program finds both heads by what they attend to.
//
//     induction [--steps N] [--svg FILE]
//
// B batch, T letters, V letters in the alphabet, C = d_model, H heads.
#include <weft/weft.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "settings.h"

using namespace weft;

namespace {

constexpr std::int64_t B = 32, T = 32, V = 26, C = 64, num_heads = 2;
constexpr std::int64_t unknown = -100;  // cross_entropy's ignore_index: the first period is unpredictable

struct Batch {
    Tensor letters, next;  // (B, T) both
};

// Each sequence repeats `period` different letters; the period is drawn for each.
Batch sequences(std::int64_t count, std::int64_t shortest, std::int64_t longest, Rng& rng) {
    std::vector<std::int64_t> letters, next;
    for (std::int64_t b = 0; b < count; ++b) {
        const std::int64_t period = rng.randint(shortest, longest + 1);
        std::vector<std::int64_t> order(V);
        std::iota(order.begin(), order.end(), 0);
        for (std::int64_t i = 0; i < period; ++i) std::swap(order[i], order[rng.randint(i, V)]);
        for (std::int64_t t = 0; t < T; ++t) {
            letters.push_back(order[t % period]);
            next.push_back(t < period ? unknown : order[(t + 1) % period]);
        }
    }
    return {from_vector(letters, {count, T}), from_vector(next, {count, T})};
}

struct TwoLayers : nn::Module {
    nn::Embedding letter = register_module("letter", nn::Embedding(V, C));
    nn::LayerNorm norm1 = register_module("norm1", nn::LayerNorm(C));
    nn::LayerNorm norm2 = register_module("norm2", nn::LayerNorm(C));
    nn::LayerNorm norm3 = register_module("norm3", nn::LayerNorm(C));
    // Rotary: sees the distance between two letters.
    nn::Attention first = register_module(
        "first", nn::Attention(C, num_heads, {.causal = true, .max_seq_len = T, .rotary_base = 100}));
    // Sees no positions, only what the first layer wrote.
    nn::Attention second =
        register_module("second", nn::Attention(C, num_heads, {.causal = true, .max_seq_len = T}));
    nn::Linear head = register_module("head", nn::Linear(C, V));

    Tensor operator()(const Tensor& letters) const {  // (B, T)
        Tensor x = letter(letters);                   // (B, T, C)
        x = x + first(norm1(x));                      // (B, T, C)
        x = x + second(norm2(x));                     // (B, T, C)
        return head(norm3(x));                        // (B, T, V)
    }
};

double accuracy(const TwoLayers& model, const Batch& batch) {
    const Tensor right = argmax(model(batch.letters), -1) == batch.next;  // (B, T); false where unknown
    return sum(right.to(float32)).item() / sum((batch.next != unknown).to(float32)).item();
}

struct Score {
    double value = 0;
    std::int64_t layer = 0, head = 0;
};

// The head with the largest mean weight from a position of the second half to the one `back` positions earlier.
Score best_head(const std::vector<Tensor>& weights, std::int64_t back) {  // of each layer (B, H, T, T)
    Score best;
    for (std::int64_t l = 0; l < std::ssize(weights); ++l)
        for (std::int64_t h = 0; h < num_heads; ++h) {
            const Tensor map = mean(weights[l].select(1, h), 0);  // (T, T)
            double score = 0;
            for (std::int64_t t = T / 2; t < T; ++t) score += map.at({t, t - back}) / (T / 2);
            if (score > best.value) best = {score, l, h};
        }
    return best;
}

}  // namespace

int main(int argc, char** argv) try {
    const auto settings = read_settings(argc, argv, "induction", {.steps = 300}, true);
    if (!settings) return 2;
    set_num_threads(1);  // the operations are too small to share among threads
    manual_seed(1);
    Rng& rng = default_rng();
    TwoLayers model;
    optim::AdamW optimizer(model, {.weight_decay = 0});
    const auto loss_of_a_batch = [&] {
        const Batch batch = sequences(B, 3, T / 2, rng);
        return cross_entropy(model(batch.letters), batch.next);  // (B, T, V), (B, T) → ()
    };
    const optim::CosineOptions schedule{.lr = 5e-3, .warmup_steps = 20, .steps = settings->steps};
    training::minimise(optimizer, settings->steps, loss_of_a_batch, {.schedule = schedule});

    const NoGrad off;
    const Batch halves = sequences(512, T / 2, T / 2, rng);  // sixteen letters, twice
    const double right = accuracy(model, halves);
    std::printf("\naccuracy on the second half of sequences not seen before: %.1f %%\n", 100 * right);

    const std::vector<Tensor> weights = viz::attention_weights(model, halves.letters);  // two of (512, H, T, T)
    const Score before = best_head(weights, 1), followed = best_head(weights, T / 2 - 1);
    const auto print = [](const char* role, const Score& score) {
        std::printf("%s: layer %d, head %d, score %.3f\n", role, static_cast<int>(score.layer) + 1,
                    static_cast<int>(score.head) + 1, score.value);
    };
    print("the head that looks at the letter before", before);
    print("induction head, which looks at what followed the present letter", followed);

    std::vector<std::string> said;
    for (const std::int64_t id : halves.letters[0].to_vector<std::int64_t>())
        said.emplace_back(1, 'a' + static_cast<char>(id));
    viz::MapOptions options{.queries = said, .mask = Mask::causal(), .title = "the induction head"};
    std::printf("\n%s\n", viz::attention_text(weights[followed.layer][0][followed.head], options).c_str());
    options.title = "two layers, one sequence said twice";
    if (!settings->svg.empty())
        io::save_text(settings->svg, viz::attention_grid_svg({weights[0][0], weights[1][0]}, options));

    const bool found = before.layer == 0 && before.value > 0.5 && followed.layer == 1 && followed.value > 0.5;
    if (right < 0.99) std::printf("not learned: the accuracy is below 99 %%\n");
    if (!found) std::printf("no induction head: a score is below 0.5, or not in its layer\n");
    return right >= 0.99 && found ? 0 : 1;
} catch (const Error& error) {
    std::fprintf(stderr, "induction: %s\n", error.what());
    return 1;
}
