// Tests of step 10.
#include "10_gpt.h"
#include "check.h"

namespace {

using Doubles = std::vector<double>;
using X = const std::vector<Tensor>&;

GPTConfig small() { return {.vocab_size = 5, .block_size = 6, .num_layers = 2, .num_heads = 2, .d_model = 8}; }

}  // namespace

int main() {
    Step step(10, "a character-level transformer");

    step.claim("LayerNorm gives each row mean 0 and variance 1",
               "Subtract the mean, divide by sqrt(variance + eps).", [] {
                   const LayerNorm norm(4);
                   const Doubles y = norm(Array({2, 4}, {1, 2, 3, 4, 10, 10, 10, 50})).data().values();
                   for (int row = 0; row < 2; ++row) {
                       double sum = 0, squares = 0;
                       for (int i = 0; i < 4; ++i) {
                           sum += y[4 * row + i];
                           squares += y[4 * row + i] * y[4 * row + i];
                       }
                       expect_equal("the sum of a row", sum, 0);
                       expect_equal("the mean square of a row", squares / 4, 1, 1e-4);
                   }
               });
    step.claim("gelu is GPT-2's", "0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x x x))).", [] {
        const Doubles y = gelu(Array({3}, {-1, 0, 2})).data().values();
        expect_equal("gelu(-1), gelu(0), gelu(2)", y, Doubles{-0.15880800939, 0, 1.95459769409}, 1e-9);
    });
    step.claim("the gradients of LayerNorm and gelu are right", "They follow from steps 5 and 6.", [] {
        Random random(1);
        const LayerNorm norm(4);
        const double first = gradcheck([&](X x) { return norm(x[0]); }, {normal({2, 4}, 1, random)});
        const double second = gradcheck([](X x) { return gelu(x[0]); }, {normal({6}, 1, random)});
        expect(first < 1e-7, "gradcheck of LayerNorm gives " + text(first) + ".");
        expect(second < 1e-7, "gradcheck of gelu gives " + text(second) + ".");
    });
    step.claim("a block adds to its input and does nothing else to it",
               "x + attn(norm1(x)), and then h + W_out(gelu(W_in(norm2(h)))).", [] {
                   Random random(7);
                   const Block block(8, 2, random);
                   for (const Linear* last : {&block.attn.W_out, &block.W_out})
                       for (const Tensor& p : {last->weight, last->bias})
                           for (double& value : *p.data().storage) value = 0;
                   const Array x = normal({1, 1, 8}, 1, random);  // (1, 1, 8)
                   expect_equal("what a block whose two W_out are 0 makes of x", block(x).data().values(),
                                x.values());
               });
    step.claim("the model has 12 C² + 13 C parameters in each block", "4 C² for attention, 8 C² for the MLP.",
               [] {
                   Random random(2);
                   const GPT model(small(), random);
                   Index count = 0;
                   for (const auto& [name, p] : model.parameters) count += numel(p.shape());
                   expect_equal("their number", static_cast<double>(count),
                                2 * (12 * 64 + 13 * 8) + 5 * 8 + 6 * 8 + 2 * 8);
               });
    step.claim("logits are (B, T, V), and the first loss is about ln V", "The head is the token embedding.",
               [] {
                   Random random(3);
                   const GPT model(small(), random);
                   const std::vector<Index> ids = {0, 1, 2, 3, 4, 0, 4, 3, 2, 1, 0, 4};
                   const Tensor logits = model(ids, 2);  // (2, 6, 5)
                   expect_equal("the shape", logits.shape(), Shape{2, 6, 5});
                   expect_equal("the loss", cross_entropy(logits, ids).item(), std::log(5.0), 0.1);
               });
    step.claim("no logit depends on a later token", "The mask of step 9.", [] {
        Random random(4);
        const GPT model(small(), random);
        const Array y = model({0, 1, 2, 3}, 1).data(), z = model({0, 1, 2, 4}, 1).data();  // (1, 4, 5)
        expect(y.slice(1, 0, 3).values() == z.slice(1, 0, 3).values(), "Token 3 changes the logits at 0 … 2.");
        expect(y.slice(1, 3, 4).values() != z.slice(1, 3, 4).values(), "Token 3 changes nothing.");
    });
    step.claim(
        "every parameter's gradient agrees with differences",
        "Look at what reads the parameter. One without a gradient is never read.", [] {
            Random random(5);
            const GPT model({.vocab_size = 3, .block_size = 3, .num_layers = 1, .num_heads = 1, .d_model = 2},
                            random);
            const std::vector<Index> ids = {0, 2, 1}, targets = {2, 1, 1};
            const auto loss = [&] { return cross_entropy(model(ids, 1), targets); };
            for (const auto& [name, p] : model.parameters)  // larger values, where curvature shows
                for (double& value : *p.data().storage) value += 0.3 * random.normal();
            backward(loss());
            for (const auto& [name, p] : model.parameters) {
                expect(p.grad().defined(), name + " has no gradient.");
                const Doubles gradient = p.grad().values();
                for (std::size_t i = 0; i < gradient.size(); ++i) {
                    double& value = (*p.data().storage)[i];
                    const double before = value, h = 1e-5;
                    value = before + h;
                    const double above = loss().item();
                    value = before - h;
                    const double below = loss().item();
                    value = before;
                    expect_equal("the gradient of " + name, gradient[i], (above - below) / (2 * h), 1e-6);
                }
            }
        });
    step.claim("it can memorise one sequence",
               "If the claims before this one hold, look at Adam: make step N=8.", [] {
                   Random random(6);
                   const GPT model(small(), random);
                   Adam adam(model.parameters, 1e-2);
                   const std::vector<Index> ids = {0, 1, 0, 2, 0, 3}, targets = {1, 0, 2, 0, 3, 4};
                   double last = 0;
                   for (int step = 0; step < 60; ++step) {
                       const Tensor loss = cross_entropy(model(ids, 1), targets);
                       adam.zero_grad();
                       backward(loss);
                       adam.step();
                       last = loss.item();
                   }
                   expect(last < 0.05, "The loss after 60 steps is " + text(last) + ".");
               });
    return step.finish();
}
