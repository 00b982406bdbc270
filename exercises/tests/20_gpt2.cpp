#include "exercise.h"
#include EXERCISE

namespace {

using text::Ids;

std::string listed(const Ids& ids) {
    std::string line;
    for (const std::int64_t id : ids) line += (line.empty() ? "" : " ") + std::to_string(id);
    return "(" + line + ")";
}

void expect_ids(const std::string& what, const Ids& got, const Ids& want) {
    expect(got == want, what + " is " + listed(got) + ", and should be " + listed(want));
}

void expect_merge(const Ids& ids, const Ids& want) {
    expect_ids("merge_step(" + listed(ids) + ", 256)", merge_step(ids, 256), want);
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
    Exercise exercise(argc, argv, "20. GPT-2");
    exercise.predict("prediction_of_tokens", prediction_of_tokens, tokens_of_five,
                     "The only merge makes aa of a and a, from the left: aa, aa, a.",
                     {"Which pair is merged?", "Merge it in aaaaa, from the left; no letter is used twice."});
    exercise.predict("prediction_of_merge", prediction_of_merge, first_merge,
                     "Of equally frequent pairs the one with the smallest ids is merged, and the id of a is "
                     "smaller than that of c.",
                     {"The chapter has a rule for ties. Does it look at the text or at the ids?"});
    exercise.mend(
        "attention_weights", "linear(x, W_out)",
        {"Compare linear(x, W) with matmul(x, c) for each of the four.",
         "linear(x, A) is x Aᵀ, so A is the transpose of GPT-2's matrix. No shape reveals this if the matrix "
         "is square."},
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
    exercise.write(
        "merge_step",
        {"Count, choose, merge. A std::map from pairs to counts is in the order of its keys.",
         "Go through the map in its order, and keep the first of the largest counts: that is the rule for "
         "ties.",
         "if (count > most), not >=. After a merge at i, continue at i + 2."},
        [] {
            expect_merge({7, 5, 7, 5, 9}, {256, 256, 9});
            expect_merge({8, 1, 2, 9, 1, 2}, {8, 256, 9, 256});
            expect_merge({3, 2, 1}, {3, 256});  // both once: (2, 1) has the smaller left id
            expect_merge({3, 1, 2, 3, 1, 2}, {3, 256, 3, 256});
            expect_merge({1, 9, 0, 1, 4}, {1, 9, 256, 4});  // (0, 1), although (1, 4) and (1, 9) are there, too
            expect_merge({2, 9, 2, 4}, {2, 9, 256});        // (2, 9) and (2, 4): the smaller right id
            expect_merge({3, 3, 3}, {256, 3});
            expect_merge({3, 3, 3, 3}, {256, 256});
            expect_merge({5}, {5});
            expect_merge({}, {});
            for (const std::string piece : {"cabcab", "banana", "mississippi", "abracadabra", "zyxzyx"}) {
                const Ids bytes = text::BytePairs::train(piece, 257, 1).encode(piece);  // no merge
                expect_ids("merge_step of the bytes of " + piece, merge_step(bytes, 256),
                           text::BytePairs::train(piece, 258, 1).encode(piece));
            }
        });
    exercise.write(
        "encode",
        {"Which pair is merged next: the leftmost, or the one that was learned first?",
         "In a loop: find the first merge in the list whose pair occurs somewhere; merge it everywhere; end "
         "when there is none.",
         "A later merge may make a pair of an earlier one possible, so look from the beginning of the list "
         "again."},
        [] {
            const std::vector<Merge> merges = {{1, 2, 256}, {0, 1, 257}, {256, 3, 258}};
            expect_ids("encode((0 1 2 3)) with merges of 1 2, then 0 1, then 256 3",
                       encode({0, 1, 2, 3}, merges), {0, 258});
            expect_ids("encode((0 1 1 2)) with them", encode({0, 1, 1, 2}, merges), {257, 256});
            expect_ids("encode((1 2 1 2 1)) with them", encode({1, 2, 1, 2, 1}, merges), {256, 256, 1});
            expect_ids("encode((3 0)) with them, where no pair was learned,", encode({3, 0}, merges), {3, 0});
            expect_ids("encode(()) with them", encode({}, merges), {});
            expect_ids("encode((4 4 4 4 4)) with merges of 4 4 and 256 256",
                       encode({4, 4, 4, 4, 4}, {{4, 4, 256}, {256, 256, 257}}), {257, 4});
        });
    exercise.write(
        "most_tokens_per_second",
        {"Bytes per second over the bytes that one token has to read.",
         "The cache has a key and a value, of C numbers each, for each layer and each earlier token.",
         "parameters + 2 · L · T · C numbers, each of bytes_per_number."},
        [] {
            expect_speed({1000, 2, 5}, 0, 4, 8000, 2);
            expect_speed({1000, 2, 5}, 0, 2, 8000, 4);   // half the bytes, twice as fast
            expect_speed({1000, 2, 5}, 50, 4, 8000, 1);  // 2 · 2 · 50 · 5 = 1000 numbers in the cache
            expect_speed({124439808, 12, 768}, 0, 4, 30e9, 30e9 / (4 * 124439808.0));
            expect_speed({1557611200, 48, 1600}, 1024, 2, 1e12, 1e12 / (2 * (1557611200.0 + 157286400.0)));
        });
    const double MiB = 1 << 20;
    exercise.paper(
        "memory_on_paper", memory_on_paper,
        {{"the parameters", 4 * 124439808.0 / MiB}, {"the cache", 4 * 2 * 12 * 768 * 1024.0 / MiB}},
        {"A float32 has 4 bytes.", "The cache has a key and a value of 768 numbers for each token and layer."},
        2e-4);
    return exercise.finish();
}
