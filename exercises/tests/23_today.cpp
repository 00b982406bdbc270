#include "exercise.h"
#include EXERCISE

namespace {

// Scores of all queries with all keys, by head, for rows in one of the orders: W (H · D, C), x (T, C) → (H, T,
// T).
Tensor scores(const Tensor& x, const Tensor& W_q, const Tensor& W_k, std::int64_t H, nn::RotaryPairs pairs) {
    const auto heads = [&](const Tensor& W) {
        const Tensor y = linear(x, W);  // (T, H · D)
        return nn::rotary(y.reshape(y.size(0), H, y.size(1) / H).transpose(0, 1), 0, {.pairs = pairs});
    };
    return matmul(heads(W_q), heads(W_k).transpose(1, 2));
}

void expect_rows(std::int64_t H, std::int64_t D, const std::vector<double>& want) {
    const Tensor W = arange(0, H * D, 1, float64).unsqueeze(1).clone();  // (H · D, 1): its rows' numbers
    const std::string call =
        "rows_for_neighbours(W, H = " + std::to_string(H) + ") with D = " + std::to_string(D);
    const Tensor got = rows_for_neighbours(W, H);
    expect(got.defined() && got.shape() == W.shape(), call + " should be " + W.shape().str() + ", not " +
                                                          (got.defined() ? got.shape().str() : "undefined"));
    expect_equal(call, got, from_vector(want, {H * D, 1}));
}

void expect_bytes(const CacheSizes& s, std::int64_t T, std::int64_t bytes, double want) {
    char call[200];
    std::snprintf(call, sizeof call, "cache_bytes({%lld, %lld, %lld, %lld, %lld, %lld}, T = %lld, %lld)",
                  static_cast<long long>(s.layers), static_cast<long long>(s.heads),
                  static_cast<long long>(s.kv_heads), static_cast<long long>(s.head_dim),
                  static_cast<long long>(s.windowed), static_cast<long long>(s.window),
                  static_cast<long long>(T), static_cast<long long>(bytes));
    expect_equal(call, static_cast<double>(cache_bytes(s, T, bytes)), want);
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "23. From GPT-2 to a model of today");
    exercise.predict("prediction_of_swap", prediction_of_swap, score_of_swapped,
                     "The score depends on j - i, and not on its absolute value: before and after differ.",
                     {"Which angle is between the two turns, in each case?", "Is R(φ) its own inverse?"});
    exercise.predict("prediction_of_reach", prediction_of_reach, rows_that_change,
                     "A layer carries what the first token says 4 further, so three carry it 12, to row 12.",
                     {"How many rows change with a single layer?", "Each further layer adds window - 1 rows."});
    exercise.mend("rotated", "rotated(x, 10000)",
                  {"Compare it with nn::rotary for one pair, D = 2, at position 1.",
                   "The two lines of R(φ) are (cos, -sin) and (sin, cos). Which lines are computed here?"},
                  [] {
                      Rng rng(23);
                      for (const std::int64_t D : {2, 8})
                          for (const double base : {10000.0, 100.0}) {
                              const Tensor x = randn({7, D}, rng, float64);
                              char call[80];
                              std::snprintf(call, sizeof call, "rotated(x, %g), x (7, %lld)", base,
                                            static_cast<long long>(D));
                              expect_equal(call, rotated(x, base),
                                           nn::rotary(x, 0, {.base = base, .pairs = nn::RotaryPairs::halves}));
                          }
                  });
    exercise.write("rms_normed",
                   {"The mean of x * x over the last axis, with keepdim so that it broadcasts.",
                    "eps is added under the root: sqrt(mean(x * x, -1, keepdim) + eps)."},
                   [] {
                       Rng rng(23);
                       const Tensor weight = rand({6}, rng, float64) + 0.5;  // (C,)
                       for (const Shape& shape : {Shape{6}, Shape{4, 6}, Shape{2, 3, 6}})
                           for (const double size : {1.0, 1e-4}) {
                               const Tensor x = size * (randn(shape, rng, float64) + 1);
                               expect_equal("rms_normed(x), x " + shape.str(), rms_normed(x, weight, 1e-5),
                                            rms_norm(x, weight, 1e-5));
                           }
                       expect_equal("rms_normed(0)", rms_normed(zeros({6}, float64), weight, 1e-5),
                                    zeros({6}, float64));
                   });
    exercise.write("rows_for_neighbours",
                   {"Give each of the axes head, half, n and column an axis of its own.",
                    "Then the two axes half and n change places: transpose.",
                    "W.reshape(H, 2, D / 2, C), transpose(1, 2), and back to (H · D, C)."},
                   [] {
                       expect_rows(1, 4, {0, 2, 1, 3});
                       expect_rows(2, 4, {0, 2, 1, 3, 4, 6, 5, 7});
                       expect_rows(1, 8, {0, 4, 1, 5, 2, 6, 3, 7});  // not its own inverse
                       expect_rows(3, 2, {0, 1, 2, 3, 4, 5});
                       Rng rng(23);
                       const Tensor x = randn({5, 12}, rng, float64);  // (T, C)
                       const Tensor W_q = randn({24, 12}, rng, float64), W_k = randn({24, 12}, rng, float64);
                       for (const std::int64_t H : {1, 3})
                           expect_equal("the scores of " + std::to_string(H) + " heads, by neighbours",
                                        scores(x, rows_for_neighbours(W_q, H), rows_for_neighbours(W_k, H), H,
                                               nn::RotaryPairs::neighbours),
                                        scores(x, W_q, W_k, H, nn::RotaryPairs::halves));
                   });
    exercise.write(
        "cache_bytes",
        {"A key and a value, of head_dim numbers, for each layer, head of keys, and token. Queries are not "
         "kept.",
         "A layer with a window keeps the smaller of T and window tokens.",
         "Add the tokens of all layers first: (layers - windowed) · T + windowed · min(T, window)."},
        [] {
            expect_bytes({2, 3, 3, 5, 0, 0}, 7, 4, 2 * 2 * 3 * 5 * 7 * 4);
            expect_bytes({2, 6, 3, 5, 0, 0}, 7, 2, 2 * 2 * 3 * 5 * 7 * 2);  // of the keys' heads
            expect_bytes({4, 2, 1, 8, 3, 10}, 100, 2, 2 * 8 * (100 + 3 * 10) * 2);
            expect_bytes({4, 2, 1, 8, 3, 10}, 6, 2, 2 * 8 * 4 * 6 * 2);  // the text fits the window
            expect_bytes({18, 4, 1, 256, 15, 512}, 8192, 2, 33030144);
            expect_bytes({80, 64, 8, 128, 0, 0}, 131072, 2, 42949672960.0);  // more than an int holds
        });
    exercise.paper("smollm_on_paper", smollm_on_paper,
                   {{"the parameters of a block", 3540096}, {"the bytes of a token in the cache", 23040}},
                   {"q and o are (576, 576); k and v have 3 · 64 rows. Three matrices make the MLP.",
                    "Each layer keeps a key and a value of 3 · 64 numbers, of two bytes each."});
    return exercise.finish();
}
