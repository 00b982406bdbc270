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
    Exercise exercise(argc, argv, "12. The transformer block and GPT");
    exercise.part(
        "pre_norm_block",
        "Two lines: h = x + attention(layer_norm(x, …)), and the result is h + the MLP of layer_norm(h, …). "
        "What is added to is the stream itself, not its norm.",
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
            Tensor leaf = x.clone().requires_grad_();
            expect_gradient(
                "pre_norm_block",
                [&](const std::vector<Tensor>& in) { return pre_norm_block(in[0], given.weights, attention); },
                {leaf});
        });
    exercise.part(
        "num_parameters",
        "A block has 12 C² weights in its four matrices; its biases are 3C + C + 4C + C, its two norms 4C. "
        "The tied head has none, the last norm 2C.",
        [] {
            expect_count(50257, 1024, 12, 768, 124439808);    // GPT-2 small
            expect_count(50257, 1024, 48, 1600, 1557611200);  // GPT-2 XL
            Rng zeros = Rng::skip_init();
            const nn::GPT model({.vocab_size = 11,
                                 .block_size = 7,
                                 .num_layers = 3,
                                 .num_heads = 1,
                                 .d_model = 5,
                                 .bias = true},
                                zeros);
            expect_count(11, 7, 3, 5, model.num_parameters());
            expect_count(2, 1, 0, 1, 2 + 1 + 2);  // no blocks
        });
    exercise.part("first_loss", "Each token has the probability 1/V, so the loss is −ln(1/V).", [] {
        for (const std::int64_t V : {2, 65, 50257}) {
            const auto [loss, perplexity] = first_loss(V);
            const std::string of = "first_loss(" + std::to_string(V) + ")";
            const Tensor logits = zeros({1, V}, float64), target = full({1}, 0, int64);
            expect_equal("the loss of " + of, loss, cross_entropy(logits, target).item());
            expect_equal("the perplexity of " + of, perplexity, static_cast<double>(V),
                         1e-6 * static_cast<double>(V));
        }
        expect_equal("the loss of first_loss(1), where nothing can be wrong", first_loss(1).first, 0);
    });
    return exercise.finish();
}
