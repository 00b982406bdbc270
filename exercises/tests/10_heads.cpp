#include "exercise.h"

#include EXERCISE

namespace {

void expect_count(const std::string& what, std::int64_t got, std::int64_t want) {
    expect(got == want, what + " gives " + std::to_string(got) + ", and should give " + std::to_string(want));
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "10. Many heads");
    exercise.predict("prediction_of_heads", prediction_of_heads, shape_of_heads,
                     "The 12 columns become 3 heads of 4, and the heads come before the tokens.",
                     {"Which axis is cut into heads, and how wide is each?",
                      "Attention works on the last two axes, tokens and width. Where do the heads go?"});
    exercise.predict("prediction_of_more", prediction_of_more, more_parameters,
                     "The heads share the width: 8 heads of 8 columns have the same four matrices (64, 64) as "
                     "one head of 64.",
                     {"How wide is a head of eight, and how wide is one alone?"});
    exercise.mend(
        "merge_heads", "merge_heads of two heads (1, 2, 2, 3), element (0, 0, 3)",
        {"Try it on heads that hold the numbers 0 … 11, and look at the first row.",
         "reshape reads the elements in the order in which they lie: head by head.",
         "The tokens must come before the heads first: permute({0, 2, 1, 3})."},
        [] {
            const Tensor heads = tensor({{{{0, 1, 2}, {6, 7, 8}}, {{3, 4, 5}, {9, 10, 11}}}}, float64);
            expect_equal("merge_heads of two heads (1, 2, 2, 3)", merge_heads(heads),
                         arange(0, 12, 1, float64).reshape({1, 2, 6}));
            Rng rng(2);
            const Tensor x = randn({2, 3, 4, 5}, rng, float64).requires_grad_();  // (B, H, T, d_k)
            expect_equal("merge_heads of (2, 3, 4, 5)", merge_heads(x), nn::merge_heads(x));
            expect_gradient("merge_heads",
                            [](const std::vector<Tensor>& inputs) { return merge_heads(inputs[0]); }, {x});
        });
    exercise.write(
        "split_heads",
        {"Two steps: cut the columns into heads, then bring the heads to the front.",
         "reshape cuts an axis in two and moves nothing; only permute moves axes.",
         "(B, T, C) → reshape (B, T, H, d_k) → permute({0, 2, 1, 3}); without B, permute({1, 0, 2})."},
        [] {
            const Tensor x = arange(0, 12, 1, float64).reshape({2, 6});  // (T, C)
            expect_equal("split_heads of the rows 0 … 5 and 6 … 11 in 2 heads", split_heads(x, 2),
                         tensor({{{0, 1, 2}, {6, 7, 8}}, {{3, 4, 5}, {9, 10, 11}}}, float64));
            Rng rng(1);
            const Tensor batch = randn({3, 5, 8}, rng, float64);
            expect_equal("split_heads of a batch (3, 5, 8) in 4 heads", split_heads(batch, 4),
                         nn::split_heads(batch, 4));
            expect_equal("split_heads of a batch in 1 head", split_heads(batch, 1), batch.unsqueeze(1));
        });
    exercise.write("count_parameters",
                   {"Write down the shape of each of the four matrices.",
                    "W_Q and W_K are d_model × (heads · d_k), W_V is d_model × (heads · d_v). And W_O?",
                    "W_O is (heads · d_v) × d_model. Each bias is as long as its projection's output."},
                   [] {
                       expect_count("count_parameters(512, 8, 64, 64, false), which is 4 · 512²,",
                                    count_parameters(512, 8, 64, 64, false), 1048576);
                       expect_count("count_parameters(768, 12, 64, 64, true), of GPT-2,",
                                    count_parameters(768, 12, 64, 64, true), 2362368);
                       for (const bool bias : {false, true}) {
                           Rng rng(3);
                           const nn::Attention module(12, 3, rng, {.bias = bias, .d_k = 2, .d_v = 5});
                           expect_count(
                               std::string("count_parameters(12, 3, 2, 5, ") + (bias ? "true)" : "false)"),
                               count_parameters(12, 3, 2, 5, bias), module.num_parameters());
                       }
                   });
    exercise.write(
        "multi_head_attention",
        {"Project, split, score, softmax, weigh, merge, project. split_heads and merge_heads are above.",
         "The scores are divided by the root of d_head, not of D. Softmax goes over the keys, the last axis.",
         "weights = softmax(matmul(Q, K.transpose(-2, -1)) / √d_head, -1); then merge matmul(weights, V)."},
        [] {
            Rng rng(4);
            const nn::Attention module(12, 3, rng, {.fused = false});  // d_head = 4
            const Tensor X = randn({2, 5, 12}, rng);
            const auto found = multi_head_attention(X, module.W_in[0].weight.T(), module.W_in[1].weight.T(),
                                                    module.W_in[2].weight.T(), module.W_out.weight.T(), 3);
            const auto expected = module.with_weights(X);
            expect_equal("weights for D = 12 in 3 heads, (2, 3, 5, 5)", found.weights, expected.weights, 1e-5);
            expect_equal("output for D = 12 in 3 heads, (2, 5, 12)", found.output, expected.output, 1e-5);
        });
    const double T = 128, C = 64;
    exercise.paper(
        "cost_on_paper", cost_on_paper,
        {{"the projections", 4 * T * C * C}, {"the products with the weights", 2 * T * T * C}, {"T", 2 * 768}},
        {"A product (m, k) @ (k, n) takes m · k · n multiply-adds.",
         "Each projection is (T, C) @ (C, C). Each head's scores are (T, d_k) @ (d_k, T), and there are H "
         "heads.",
         "4 T C² and 2 T² C. Set them equal."});
    return exercise.finish();
}
