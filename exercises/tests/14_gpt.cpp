#include "exercise.h"
#include EXERCISE

namespace {

// What the library's block computes, with weights drawn at random.
struct Given {
    nn::TransformerBlock block;
    BlockWeights weights;

    Given(std::int64_t C, std::int64_t num_heads, Rng& rng)
        : block(C, num_heads, rng), weights{block.norm1.weight, block.norm2.weight, {}, {}} {
        block.to(float64);
        const NoGrad off;
        block.norm1.weight.copy_(rand({C}, rng, float64) + 0.5);
        block.norm2.weight.copy_(rand({C}, rng, float64) + 0.5);
        weights = {block.norm1.weight, block.norm2.weight, block.mlp.W_in.weight, block.mlp.W_out.weight};
    }
};

void expect_count(std::int64_t vocab_size, std::int64_t block_size, std::int64_t layers, std::int64_t d_model,
                  std::int64_t want) {
    const std::int64_t got = num_parameters(vocab_size, block_size, layers, d_model);
    const auto text = [](std::int64_t n) { return std::to_string(n); };
    expect(got == want, "num_parameters(" + text(vocab_size) + ", " + text(block_size) + ", " + text(layers) +
                            ", " + text(d_model) + ") is " + text(got) + ", and should be " + text(want) +
                            ": " + text(std::abs(got - want)) + (got > want ? " too many" : " too few"));
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "14. The transformer block and GPT");
    exercise.predict("prediction_of_first_loss", prediction_of_first_loss, first_loss,
                     "A model that knows nothing gives each of the 65 characters about the same probability, "
                     "and -ln(1/65) = 4.17.",
                     {"Which probability does each character have, roughly?", "The loss is -ln of it."}, 0.1);
    exercise.predict("prediction_without_tying", prediction_without_tying, more_without_tying,
                     "The head is a matrix of 65 × 32 numbers, which it shares with the token embedding.",
                     {"Which shape has the head's weight?"});
    exercise.mend(
        "embed", "the difference between the same token at positions 0 and 2",
        {"Embed the ids 1 2 1: how do the first and the last token differ?",
         "Which index chooses a row of the table of positions: what the token is, or where it is?",
         "arange(T) counts the positions; the rows (T, C) broadcast to (B, T, C)."},
        [] {
            Rng rng(12);
            const Tensor tokens = randn({4, 3}, rng, float64), positions = randn({5, 3}, rng, float64);
            const Tensor x = embed(tokens, positions, tensor({{1, 2, 1}}, int64));
            expect(x.shape() == Shape({1, 3, 3}),
                   "embed of ids (1, 3) is " + x.shape().str() + ", and should be (1, 3, 3)");
            expect_equal("the difference between the same token at positions 0 and 2", x[0][2] - x[0][0],
                         positions[2] - positions[0]);
            const Tensor y = embed(tokens, positions, tensor({{3, 0}, {0, 3}}, int64));
            expect_equal("embed of {{3, 0}, {0, 3}}, sample 1", y[1],
                         stack({tokens[0] + positions[0], tokens[3] + positions[1]}));
        });
    exercise.write("pre_norm_block",
                   {"Two halves of the same form. What is added to in each, and what is normalised?",
                    "x + attention(norm(x)): the norm is inside, the stream itself is never normalised. The "
                    "second half does the same to the result of the first.",
                    "h = x + attention(layer_norm(x, w.norm1)); the MLP is linear, gelu, linear, of "
                    "layer_norm(h, w.norm2)."},
                   [] {
                       Rng rng(12);
                       const Tensor x = randn({2, 3, 4}, rng, float64);
                       const BlockWeights none{ones({4}, float64), ones({4}, float64), zeros({16, 4}, float64),
                                               zeros({4, 16}, float64)};
                       const auto nothing = [](const Tensor& t) { return t * 0; };
                       expect_equal("a block of x whose parts add 0", pre_norm_block(x, none, nothing), x);
                       const auto itself = [](const Tensor& t) { return t; };
                       expect_equal("with attention that gives what it gets and an MLP of 0, the block of x",
                                    pre_norm_block(x, none, itself), x + layer_norm(x, none.norm1));
                       const Given given(4, 2, rng);
                       const auto attention = [&](const Tensor& t) { return given.block.attn(t); };
                       expect_equal("the block of x (2, 3, 4)", pre_norm_block(x, given.weights, attention),
                                    given.block(x));
                       const Tensor leaf = x.clone().requires_grad_();
                       expect_gradient("pre_norm_block",
                                       [&](const std::vector<Tensor>& in) {
                                           return pre_norm_block(in[0], given.weights, attention);
                                       },
                                       {leaf});
                   });
    exercise.write(
        "num_parameters",
        {"Two tables, the blocks, the last norm. What is in a block?",
         "A block's four matrices are W_qkv (3C, C), W_out (C, C), and the MLP's (4C, C) and (C, 4C): 12 C².",
         "The biases of those are 3C + C + 4C + C, and two norms have 2C each: 13 C. The last norm has 2C, the "
         "tied head nothing."},
        [] {
            expect_count(50257, 1024, 12, 768, 124439808);    // GPT-2 small
            expect_count(50257, 1024, 48, 1600, 1557611200);  // GPT-2 XL
            Rng zeros = Rng::skip_init();
            const lm::GPT model({.vocab_size = 11,
                                 .block_size = 7,
                                 .num_layers = 3,
                                 .num_heads = 1,
                                 .d_model = 5,
                                 .bias = true},
                                zeros);
            expect_count(11, 7, 3, 5, model.num_parameters());
            expect_count(2, 1, 0, 1, 2 + 1 + 2);  // no blocks
        });
    exercise.paper("stream_on_paper", stream_on_paper,
                   {{"the standard deviation", std::sqrt(1.0 + 24)}, {"the variance", 1 + 24 / 24.0}},
                   {"Variances of independent parts add up. How many parts are added in all?",
                    "1 + 24 · 1 is the variance; the standard deviation is its root.",
                    "Dividing by √24 divides a variance by 24."});
    return exercise.finish();
}
