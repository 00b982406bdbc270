// "07. Multi-head causal attention — one tensor story from X to Y", section by section.
//
// B samples, T tokens, D = d_model, H heads, d_head = D / H.
#include <cmath>
#include <iostream>

#include "../chapters/chapter.h"

using namespace weft;

namespace {

void print(const char* name, const Tensor& x) { std::printf("%-9s %s\n", name, x.shape().str().c_str()); }

// ---- 2) Helper functions stay tiny

Tensor causal_mask(std::int64_t T) { return triu(ones({T, T}), 1) == 1; }  // true: blocked

Tensor split_heads(const Tensor& x, std::int64_t num_heads) {  // (B, T, D) → (B, H, T, d_head)
    return x.reshape(x.size(0), x.size(1), num_heads, x.size(2) / num_heads).permute(0, 2, 1, 3);
}

Tensor merge_heads(const Tensor& x) {  // (B, H, T, d_head) → (B, T, D)
    return x.permute(0, 2, 1, 3).reshape(x.size(0), x.size(2), x.size(1) * x.size(3));
}

// ---- 3) The core function with shapes

AttentionResult multi_head_causal_attention(const Tensor& X, const Tensor& W_Q, const Tensor& W_K,
                                            const Tensor& W_V, const Tensor& W_O, std::int64_t num_heads) {
    const std::int64_t T = X.size(1), D = X.size(2), d_head = D / num_heads;
    const Tensor Q = split_heads(X.matmul(W_Q), num_heads);  // (B, H, T, d_head)
    const Tensor K = split_heads(X.matmul(W_K), num_heads);  // (B, H, T, d_head)
    const Tensor V = split_heads(X.matmul(W_V), num_heads);  // (B, H, T, d_head)
    Tensor scores = Q.matmul(K.transpose(-2, -1)) / std::sqrt(static_cast<double>(d_head));  // (B, H, T, T)
    const Tensor mask = causal_mask(T).unsqueeze(0).unsqueeze(0);                            // (1, 1, T, T)
    scores = where(mask, -1e9, scores);
    const Tensor weights = scores.softmax(-1);             // (B, H, T, T)
    const Tensor merged = merge_heads(weights.matmul(V));  // (B, T, D)
    return {merged.matmul(W_O), weights};                  // (B, T, D)
}

void movie(Chapter& chapter) {
    chapter.section("1) The whole movie first");
    Rng rng(1);
    const nn::CausalMultiHeadAttention attention(12, 3, rng, {.max_seq_len = 8});
    viz::tensor_story(attention, randn({2, 5, 12}, rng)).print();
}

void helpers(Chapter& chapter) {
    chapter.section("2) Helper functions stay tiny");
    std::cout << "softmax of (10000, 9999, -10000): " << tensor({10000.0, 9999, -10000}).softmax(-1) << "\n";
    std::cout << "causal_mask(4), true is blocked:\n" << causal_mask(4).to(int64) << "\n";
    const Tensor x = arange(24).reshape(1, 2, 12);
    print("x", x);
    print("split", split_heads(x, 3));
    print("merged", merge_heads(split_heads(x, 3)));

    // Four keys, of which one has a dot product that is larger by 16; D = 768 in 12 heads.
    const Tensor dots = tensor({16.0, 0, 0, 0});
    std::cout << "scaled by sqrt(64):  " << (dots / std::sqrt(64.0)).softmax(-1) << "\n";
    std::cout << "scaled by sqrt(768): " << (dots / std::sqrt(768.0)).softmax(-1) << "\n";
}

void core(Chapter& chapter) {
    chapter.section("3) The core function with shapes");
    manual_seed(1);
    const nn::MultiHeadAttention module(12, 3, {.fused = false});
    const Tensor X = randn({2, 5, 12});
    const auto [Y, weights] = multi_head_causal_attention(X, module.W_q->weight.T(), module.W_k->weight.T(),
                                                          module.W_v->weight.T(), module.W_out.weight.T(), 3);
    print("X", X);
    print("weights", weights);
    print("Y", Y);
    const auto library = module.with_weights(X, Mask::causal());
    std::printf("rows of weights sum to 1: %s\n",
                allclose(weights.sum(-1), ones({2, 3, 5}), 1e-6) ? "yes" : "no");
    std::printf("as nn::MultiHeadAttention, output and weights: %s\n",
                allclose(Y, library.output, 1e-5, 1e-6) && allclose(weights, library.weights, 1e-5, 1e-6)
                    ? "yes"
                    : "no");
}

void worked_example(Chapter& chapter) {
    chapter.section("4) One worked numerical example");
    const Tensor weights = tensor({{{.80, .20, .00}}, {{.05, .90, .05}}});  // (H = 2, 1, 3)
    const Tensor values =
        tensor({{{10.0, 1}, {4, 2}, {7, 3}}, {{1, 9}, {3, 6}, {5, 2}}});  // (H, 3, d_head = 2)
    const Tensor heads = weights.matmul(values);                          // (H, 1, d_head)
    std::cout << "head 0: " << heads[0][0] << "\nhead 1: " << heads[1][0]
              << "\nmerged: " << nn::merge_heads(heads)[0] << "\n";
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    movie(chapter);
    helpers(chapter);
    core(chapter);
    worked_example(chapter);
}
