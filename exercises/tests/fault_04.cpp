#include "judge.h"
#include FAULT

namespace {

// What the library's attention gives with the same weights.
Tensor truth(const Attention& attention, const Tensor& x, const std::vector<std::int64_t>& lengths) {
    return attention.W_out(multi_head_attention(attention.W_qkv(x), H, {.mask = Mask::padding(lengths)}));
}
Tensor padding_of(const std::vector<std::int64_t>& lengths) {  // (B, T)
    return arange(T) >= from_vector(lengths).unsqueeze(1);
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "Fault 4. Good neighbours");
    exercise.fault({
        .program = program,
        .planted = "a word among others",
        .look = "The same word gets two answers, and all that changed is how long the other words are. What "
                "connects samples of a batch? Write the shapes beside masked_fill.",
        .hints = {"padding is (B, T) and the scores are (B, H, T, T). Which shape has `blocked`, and how does "
                  "it broadcast (from the right)?",
                  "B and H are both 4. Make a batch of 5 words: what does Weft say?",
                  "The axis of samples of `blocked` has to be the first of four: (B, 1, 1, T)."},
        .check =
            [] {
                manual_seed(3);
                Rng& rng = default_rng();
                const Attention attention;
                const std::vector<std::int64_t> lengths = {3, 8, 1, 5};
                const auto run = [&](const Tensor& x, const Mask&) {
                    return attention(x, padding_of(lengths).slice(0, 0, x.size(0)));
                };
                return verdict(check::attention({.run = run,
                                                 .num_heads = H,
                                                 .mask = Mask::padding(lengths),
                                                 .parameters = attention.named_parameters(),
                                                 .takes_mask = false},
                                                randn({4, T, C}, rng, float64)));
            },
        .test =
            [] {
                manual_seed(3);
                Rng& rng = default_rng();
                const Attention attention;
                const Tensor x = randn({B, T, C}, rng, float64);
                const std::vector<std::int64_t> equal = {3, 3, 3, 3}, mixed = {3, 8, 1, 5};
                expect_equal("what attention gives for words of one length,", attention(x, padding_of(equal)),
                             truth(attention, x, equal));
                expect_equal("what attention gives for a word among others,", attention(x, padding_of(mixed)),
                             truth(attention, x, mixed));
            },
        .why = "Each sample has its own mask for all heads, (B, 1, 1, T). As (B, 1, T) it met the scores as "
               "(1, B, 1, T): word b's padding became head b's, in every word, and only because B was H was "
               "there no error.",
    });
    return exercise.finish();
}
