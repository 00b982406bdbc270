// Exercises of chapter 23: norms, angles, the order of rows, and the bytes of a cache.
//
//     make exercise N=23          tries what you wrote; make hint N=23 helps
//
// Replace each blank(). The tasks are numbered as on the page. T tokens, C = d_model, H heads, D = head_dim.
#include <algorithm>
#include <cmath>

#include "exercise.h"

// 1. Predict. The score of a query at position 5 and a key at position 2, with rotary positions, is s. The same
// query now stands at position 2, and the same key at position 5. Is their score "equal" to s or "other"?
inline std::string score_of_swapped() {
    Rng rng(23);
    const Tensor q = randn({1, 8}, rng, float64), k = randn({1, 8}, rng, float64);  // (1, D)
    const auto score = [&](std::int64_t i, std::int64_t j) {
        return sum(nn::rotary(q, i) * nn::rotary(k, j)).item();
    };
    return std::abs(score(5, 2) - score(2, 5)) < 1e-9 ? "equal" : "other";
}
std::string prediction_of_swap() { return blank(); }

// 2. Predict. A Decoder of three layers, each with a window of 5, reads 20 tokens. How many of the 20 rows of
// its logits change if the first id changes?
inline double rows_that_change() {
    Rng rng(23);
    lm::Decoder model(
        {.vocab_size = 9, .num_layers = 3, .num_heads = 2, .d_model = 16, .layers = {{.window = 5}}}, rng);
    model.to(float64);
    const NoGrad off;
    const Tensor ids = randint(0, 8, {20}, rng), other = ids.clone();  // (T,)
    other[0].fill_(8);
    return sum(max(abs(model(ids) - model(other)), 1).values > 1e-12).item();
}
double prediction_of_reach() { return blank(); }

// 3. Mend. Rotary positions 0 … T − 1 by halves: x (T, D) → (T, D). The scores depend on distances alone, so a
// model that is trained with this learns well. But no published model works with it.
Tensor rotated(const Tensor& x, double base) {
    const std::int64_t T = x.size(0), D = x.size(1);
    const double step = -2 * std::log(base) / static_cast<double>(D);
    const Tensor rates = exp(step * arange(0, D / 2, 1, float64));        // (D/2,): base^(-2n/D)
    const Tensor angles = arange(0, T, 1, float64).unsqueeze(1) * rates;  // (T, D/2)
    const Tensor a = x.slice(1, 0, D / 2), b = x.slice(1, D / 2, D);      // (T, D/2)
    return cat({a * cos(angles) - b * sin(angles), a * sin(angles) - b * cos(angles)}, 1);
}

// 4. Write. x / √(mean x² + eps) · weight over the last axis: x (…, C), weight (C,) → (…, C). Without rms_norm.
Tensor rms_normed(const Tensor& x, const Tensor& weight, double eps) { return blank(); }

// 5. Write. The rows of a projection W (H · D, C) of queries or keys, in which each head has its rows in the
// order for halves, in the order for neighbours: in each head, row n of the first half and then row n of the
// second, for n = 0, 1, ….
//     H = 1, D = 4: rows 0 1 2 3 → 0 2 1 3;  H = 2, D = 4: 0 … 7 → 0 2 1 3 4 6 5 7
Tensor rows_for_neighbours(const Tensor& W, std::int64_t H) { return blank(); }

struct CacheSizes {
    std::int64_t layers, heads, kv_heads, head_dim;
    std::int64_t windowed, window;  // so many of the layers need only the last `window` tokens
};

// 6. Write. The bytes of the keys and values of T tokens, of which each number takes bytes_per_number.
//     {18, 4, 1, 256, 15, 512}, T = 8192, 2 bytes → 33030144, which are 31.5 MiB
std::int64_t cache_bytes(const CacheSizes& sizes, std::int64_t T, std::int64_t bytes_per_number) {
    return blank();
}

// 7. Paper. SmolLM2-135M has C = 576, F = 1536, nine heads of 64 for queries and three for keys and values, no
// biases, and in each of its 30 blocks two norms. Enter the parameters of one block, and the bytes that one
// token takes in the cache of the whole model in float16.
std::vector<double> smollm_on_paper() { return blank(); }
