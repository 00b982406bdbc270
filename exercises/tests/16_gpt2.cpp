#include "exercise.h"
#include EXERCISE

namespace {

using Symbols = std::vector<std::string>;

std::string shown(const Symbols& symbols) {
    std::string line;
    for (const std::string& symbol : symbols) line += (line.empty() ? "" : " ") + symbol;
    return "[" + line + "]";
}

void expect_merge(const Symbols& symbols, const Symbols& want) {
    const Symbols got = merge_step(symbols);
    expect(got == want,
           "merge_step(" + shown(symbols) + ") is " + shown(got) + ", and should be " + shown(want));
}

// x times a matrix of GPT-2's, and x through what was made of it.
void expect_same_layer(const std::string& name, const Tensor& x, const Tensor& made, const Tensor& theirs) {
    const std::int64_t C = x.size(-1);
    expect(made.defined() && made.shape() == Shape({C, C}),
           name + " should be (C, C) = " + Shape({C, C}).str() + ", not " +
               (made.defined() ? made.shape().str() : "undefined"));
    expect_equal("linear(x, " + name + ")", linear(x, made), matmul(x, theirs));
}

void expect_speed(const Sizes& model, std::int64_t T, double bytes, double memory, double want) {
    char call[200];
    std::snprintf(call, sizeof call, "most_tokens_per_second({%lld, %lld, %lld}, T = %lld, %g, %g)",
                  static_cast<long long>(model.parameters), static_cast<long long>(model.layers),
                  static_cast<long long>(model.d_model), static_cast<long long>(T), bytes, memory);
    expect_equal(call, most_tokens_per_second(model, T, bytes, memory), want, 1e-9 * want);
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "16. GPT-2");
    exercise.part(
        "attention_weights",
        "linear(x, A) is x Aᵀ, so A is the transpose of W, for the square c_proj as well. The columns 0 … C − "
        "1 of "
        "c_attn are q's; transposed they are rows.",
        [] {
            Rng rng(16);
            for (const std::int64_t C : {4, 1}) {
                const Tensor x = randn({3, C}, rng, float64);
                const Tensor c_attn = randn({C, 3 * C}, rng, float64), c_proj = randn({C, C}, rng, float64);
                const Projections made = attention_weights(c_attn, c_proj);
                expect_same_layer("W_q", x, made.W_q, c_attn.slice(1, 0, C));
                expect_same_layer("W_k", x, made.W_k, c_attn.slice(1, C, 2 * C));
                expect_same_layer("W_v", x, made.W_v, c_attn.slice(1, 2 * C, 3 * C));
                expect_same_layer("W_out", x, made.W_out, c_proj);
            }
        });
    exercise.part(
        "merge_step",
        "A std::map<std::pair<std::string, std::string>, int> counts. Look for the largest count in the order "
        "of the "
        "symbols, with >, so that the first of equals stays. After a join, go two symbols on.",
        [] {
            expect_merge({"l", "o", "l", "o", "w"}, {"lo", "lo", "w"});
            expect_merge({"x", "a", "b", "y", "a", "b"}, {"x", "ab", "y", "ab"});
            expect_merge({"c", "b", "a"}, {"cb", "a"});  // all once: the first
            expect_merge({"z", "y", "a", "b", "z", "y", "a", "b"}, {"zy", "a", "b", "zy", "a", "b"});
            expect_merge({"ab", "c", "a", "bc", "ab", "c"}, {"abc", "a", "bc", "abc"});  // "a" "bc" is another
            expect_merge({"a", "a", "a"}, {"aa", "a"});
            expect_merge({"a", "a", "a", "a"}, {"aa", "aa"});
            expect_merge({"low"}, {"low"});
            expect_merge({}, {});
        });
    exercise.part(
        "most_tokens_per_second",
        "The numbers are parameters + 2 · L · T · C; each of them takes bytes_per_number, in the cache as "
        "well.",
        [] {
            expect_speed({1000, 2, 5}, 0, 4, 8000, 2);
            expect_speed({1000, 2, 5}, 0, 2, 8000, 4);   // half the bytes, twice as fast
            expect_speed({1000, 2, 5}, 50, 4, 8000, 1);  // 2 · 2 · 50 · 5 = 1000 numbers in the cache
            expect_speed({124439808, 12, 768}, 0, 4, 30e9, 30e9 / (4 * 124439808.0));
            expect_speed({1557611200, 48, 1600}, 1024, 2, 1e12, 1e12 / (2 * (1557611200.0 + 157286400.0)));
        });
    return exercise.finish();
}
