#include "exercise.h"

#include EXERCISE

namespace {

void expect_count(const std::string& what, std::int64_t got, std::int64_t want) {
    expect(got == want, what + " gives " + std::to_string(got) + ", and should give " + std::to_string(want));
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "9. Many heads");
    exercise.part("split_heads",
                  "reshape cuts an axis in two and moves nothing: (B, T, C) to (B, T, heads, d_k). Only "
                  "permute moves axes.",
                  [] {
                      const Tensor x = arange(0, 12, 1, float64).reshape({2, 6});  // (T, C)
                      expect_equal("split_heads of the rows 0 … 5 and 6 … 11 in 2 heads", split_heads(x, 2),
                                   tensor({{{0, 1, 2}, {6, 7, 8}}, {{3, 4, 5}, {9, 10, 11}}}, float64));
                      Rng rng(1);
                      const Tensor batch = randn({3, 5, 8}, rng, float64);
                      expect_equal("split_heads of a batch (3, 5, 8) in 4 heads", split_heads(batch, 4),
                                   nn::split_heads(batch, 4));
                      expect_equal("split_heads of a batch in 1 head", split_heads(batch, 1),
                                   batch.unsqueeze(1));
                  });
    exercise.part("merge_heads",
                  "After the permute a row of the result lies as (heads, d_k) for one token; then reshape "
                  "joins those two axes.",
                  [] {
                      const Tensor heads =
                          tensor({{{0, 1, 2}, {6, 7, 8}}, {{3, 4, 5}, {9, 10, 11}}}, float64);  // (H, T, d_k)
                      expect_equal("merge_heads of two heads (2, 2, 3)", merge_heads(heads),
                                   arange(0, 12, 1, float64).reshape({2, 6}));
                      Rng rng(2);
                      Tensor x = randn({2, 3, 4, 5}, rng, float64).requires_grad_();  // (B, H, T, d_k)
                      expect_equal("merge_heads of (2, 3, 4, 5)", merge_heads(x), nn::merge_heads(x));
                      expect_gradient("merge_heads",
                                      [](const std::vector<Tensor>& inputs) { return merge_heads(inputs[0]); },
                                      {x});
                  });
    exercise.part(
        "count_parameters",
        "Each of the four matrices has (in · out) numbers; each bias is as long as its layer's out, and W_O's "
        "out is d_model.",
        [] {
            expect_count("count_parameters(512, 8, 64, 64, false), which is 4 · 512²,",
                         count_parameters(512, 8, 64, 64, false), 1048576);
            expect_count("count_parameters(768, 12, 64, 64, true), of GPT-2,",
                         count_parameters(768, 12, 64, 64, true), 2362368);
            for (const bool bias : {false, true}) {
                Rng rng(3);
                const nn::MultiHeadAttention module(12, 3, rng, {.bias = bias, .d_k = 2, .d_v = 5});
                expect_count(std::string("count_parameters(12, 3, 2, 5, ") + (bias ? "true)" : "false)"),
                             count_parameters(12, 3, 2, 5, bias), module.num_parameters());
            }
        });
    exercise.part(
        "multi_head_causal_attention",
        "Scores are divided by sqrt(d_head), not sqrt(D); what is blocked becomes -1e9 before softmax, not "
        "after it.",
        [] {
            Rng rng(4);
            const nn::MultiHeadAttention module(12, 3, rng, {.fused = false});  // d_head = 4
            const Tensor X = randn({2, 5, 12}, rng);
            const auto found = multi_head_causal_attention(X, module.W_q->weight.T(), module.W_k->weight.T(),
                                                           module.W_v->weight.T(), module.W_out.weight.T(), 3);
            const auto expected = module.with_weights(X, Mask::causal());
            expect_equal("weights for D = 12 in 3 heads, (2, 3, 5, 5)", found.weights, expected.weights, 1e-5);
            expect_equal("output for D = 12 in 3 heads, (2, 5, 12)", found.output, expected.output, 1e-5);
        });
    return exercise.finish();
}
