// Tests of step 9.
#include "09_attention.h"
#include "check.h"

namespace {

using Doubles = std::vector<double>;
using X = const std::vector<Tensor>&;

}  // namespace

int main() {
    Step step(9, "attention with a mask");

    step.claim("split_heads gives head h the columns h d to (h + 1) d - 1",
               "Reshape, then transpose axes 1 and 2.", [] {
                   const Tensor x = Array({1, 2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});  // (1, 2, 4)
                   const Tensor heads = split_heads(x, 2);                       // (1, 2, 2, 2)
                   expect_equal("the shape of split_heads of (1, 2, 4)", heads.shape(), Shape{1, 2, 2, 2});
                   expect_equal("its values", heads.data().values(), Doubles{0, 1, 4, 5, 2, 3, 6, 7});
                   expect_equal("merge_heads of it", merge_heads(heads).data().values(), x.data().values());
                   expect_equal("the shape of that", merge_heads(heads).shape(), Shape{1, 2, 4});
               });
    step.claim("the causal mask is -inf above the diagonal, and 0 elsewhere", "s > t is the future of t.", [] {
        const double none = -std::numeric_limits<double>::infinity();
        expect_equal("causal_mask(3)", causal_mask(3).values(), Doubles{0, none, none, 0, 0, none, 0, 0, 0});
    });
    step.claim("where all scores are equal, attention is the mean of what a query may see",
               "softmax(scores + mask).", [] {
                   const Tensor zero = Array::full({3, 1}, 0), v = Array({3, 1}, {3, 5, 10});
                   expect_equal("attention to the values 3, 5, 10",
                                attention(zero, zero, v, causal_mask(3)).data().values(), Doubles{3, 4, 6});
               });
    step.claim("scores are q k / sqrt(d)", "Divide by the root of the last axis.", [] {
        // d = 4; the score of query 1 and key 1 is 2 ln 3 / 2 = ln 3: weights 1/4 and 3/4
        const double l = std::log(3.0);
        const Tensor q = Array({2, 4}, {0, 0, 0, 0, l, l, 0, 0}), k = Array({2, 4}, {0, 0, 0, 0, 1, 1, 0, 0});
        const Tensor v = Array({2, 1}, {8, 4});
        expect_equal("attention", attention(q, k, v, causal_mask(2)).data().values(), Doubles{8, 5});
    });
    step.claim("no output depends on a later token", "Add the mask before softmax.", [] {
        Random random(1);
        const CausalMultiHeadAttention layer(8, 2, random);
        const Array x = normal({1, 5, 8}, 1, random);  // (1, 5, 8)
        Array other(x.shape, x.values());
        for (Index c = 0; c < 8; ++c) other.at({0, 3, c}) += 1;  // token 3 changes
        const Array y = layer(x).data(), z = layer(other).data();
        expect(y.slice(1, 0, 3).values() == z.slice(1, 0, 3).values(), "Token 3 changes the output at 0 … 2.");
        expect(y.slice(1, 3, 4).values() != z.slice(1, 3, 4).values(),
               "Token 3 does not change its own output.");
        expect(y.slice(1, 4, 5).values() != z.slice(1, 4, 5).values(),
               "Token 3 does not change the output at 4.");
    });
    step.claim("samples of a batch do not mix", "Only the last two axes take part in the products.", [] {
        Random random(2);
        const CausalMultiHeadAttention layer(4, 2, random);
        const Array x = normal({2, 3, 4}, 1, random);  // (2, 3, 4)
        expect_equal("sample 1 alone", layer(x.slice(0, 1, 2)).data().values(),
                     layer(x).data().slice(0, 1, 2).values());
    });
    step.claim("its parameters have the names and shapes of Weft's", "W_qkv and W_out, each a Linear.", [] {
        Random random(3);
        const CausalMultiHeadAttention layer(4, 2, random);
        std::string names;
        for (const auto& [name, p] : layer.parameters) names += name + " " + to_string(p.shape()) + " ";
        expect(names == "W_qkv.weight (12, 4) W_qkv.bias (12) W_out.weight (4, 4) W_out.bias (4) ",
               "They are " + names +
                   "and should be W_qkv.weight (12, 4) W_qkv.bias (12) W_out.weight (4, 4) W_out.bias (4).");
    });
    step.claim("W_qkv makes the queries, the keys and the values, in this order",
               "Part i begins at column i C.", [] {
                   Random random(5);
                   const CausalMultiHeadAttention layer(1, 1, random);
                   // q = ln 3 and k = x: token 1 has the scores 0 and ln 3, and the weights 1/4 and 3/4
                   *layer.W_qkv.weight.data().storage = {0, 1, 4};
                   *layer.W_qkv.bias.data().storage = {std::log(3.0), 0, 0};
                   *layer.W_out.weight.data().storage = {1};
                   expect_equal("the layer of (0, 1), where q = ln 3, k = x, v = 4 x and W_out = 1",
                                layer(Array({1, 2, 1}, {0, 1})).data().values(), Doubles{0, 3});
               });
    step.claim("the gradients of attention are right", "They follow from steps 5 and 6.", [] {
        Random random(4);
        const Function f = [](X x) { return attention(x[0], x[1], x[2], causal_mask(3)); };
        const double error = gradcheck(
            f, {normal({2, 3, 2}, 1, random), normal({2, 3, 2}, 1, random), normal({2, 3, 2}, 1, random)});
        expect(error < 1e-7, "gradcheck gives " + text(error) + ".");
    });

    step.example([] {
        Random random(6);
        const Tensor q = normal({4, 8}, 1, random), k = normal({4, 8}, 1, random);  // (4, 8) each
        const Tensor eye = Array({4, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
        const std::vector<double> weights =
            attention(q, k, eye, causal_mask(4)).data().values();  // the weights themselves
        std::printf("The weights of four tokens, a row for each query:\n");
        for (int t = 0; t < 4; ++t)
            std::printf("    %.2f %.2f %.2f %.2f\n", weights[4 * t], weights[4 * t + 1], weights[4 * t + 2],
                        weights[4 * t + 3]);
    });
    return step.finish();
}
