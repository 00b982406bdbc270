// "07. Multi-head causal attention — one tensor story from X to Y", section by section: make follow S=2
//
// B samples, T tokens, D = d_model, H heads, d_head = D / H.
#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <map>

#include "companion.h"

using namespace weft;

namespace {

constexpr std::int64_t B = 2, T = 5, D = 12, H = 3, d_head = D / H;

// A matrix with three digits; -1e9 as such.
void print_rows(const Tensor& x) {
    for (const Tensor& row : x) {
        for (const Tensor& value : row)
            value.item() < -1e8 ? std::printf("    -1e9") : std::printf("%8.3f", value.item());
        std::printf("\n");
    }
}

// ---- 2) Helper functions stay tiny

Tensor causal_mask(std::int64_t T) { return triu(ones({T, T}), 1) == 1; }  // true: blocked

Tensor split_heads(const Tensor& x, std::int64_t num_heads) {  // (B, T, D) → (B, H, T, d_head)
    return x.reshape(x.size(0), x.size(1), num_heads, x.size(2) / num_heads).permute(0, 2, 1, 3);
}

Tensor merge_heads(const Tensor& x) {  // (B, H, T, d_head) → (B, T, D)
    return x.permute(0, 2, 1, 3).reshape(x.size(0), x.size(2), x.size(1) * x.size(3));
}

// ---- 3) The core function with shapes. traced() names a step for whoever looks into the run.

AttentionResult multi_head_causal_attention(const Tensor& X, const Tensor& W_Q, const Tensor& W_K,
                                            const Tensor& W_V, const Tensor& W_O, std::int64_t num_heads) {
    const std::int64_t T = X.size(1), D = X.size(2), d_head = D / num_heads;
    const Tensor Q = traced("q", split_heads(traced("X W_Q", X.matmul(W_Q)), num_heads));  // (B, H, T, d_head)
    const Tensor K = traced("k", split_heads(traced("X W_K", X.matmul(W_K)), num_heads));  // (B, H, T, d_head)
    const Tensor V = traced("v", split_heads(traced("X W_V", X.matmul(W_V)), num_heads));  // (B, H, T, d_head)
    Tensor scores = Q.matmul(K.transpose(-2, -1)) / std::sqrt(static_cast<double>(d_head));
    traced("scores", scores);                                      // (B, H, T, T)
    const Tensor mask = causal_mask(T).unsqueeze(0).unsqueeze(0);  // (1, 1, T, T)
    scores = traced("masked scores", where(mask, -1e9, scores));
    const Tensor weights = traced("weights", scores.softmax(-1));  // (B, H, T, T)
    const Tensor heads = traced("heads", weights.matmul(V));       // (B, H, T, d_head)
    const Tensor merged = traced("merged", merge_heads(heads));    // (B, T, D)
    return {traced("Y", merged.matmul(W_O)), weights};             // (B, T, D)
}

// ---- 5) What changes during decoding: the new token's q, k and v, and the k and v of those before

struct MemoryShortcut {
    Tensor K, V;  // (B, H, t, d_head), undefined before the first token
};

Tensor one_more_token(const Tensor& x, MemoryShortcut& memory, const Tensor& W_Q, const Tensor& W_K,
                      const Tensor& W_V, const Tensor& W_O,
                      std::int64_t num_heads) {              // x (B, 1, D) → (B, 1, D)
    const Tensor q = split_heads(x.matmul(W_Q), num_heads);  // (B, H, 1, d_head)
    const Tensor k = split_heads(x.matmul(W_K), num_heads), v = split_heads(x.matmul(W_V), num_heads);
    memory.K = memory.K.defined() ? cat({memory.K, k}, 2) : k;  // (B, H, t, d_head)
    memory.V = memory.V.defined() ? cat({memory.V, v}, 2) : v;
    const Tensor scores = q.matmul(memory.K.transpose(-2, -1)) / std::sqrt(static_cast<double>(q.size(-1)));
    return merge_heads(scores.softmax(-1).matmul(memory.V)).matmul(W_O);  // (B, H, 1, t) → (B, 1, D)
}

// Four weights (D, D) and an input, drawn once for all sections.
struct Setting {
    nn::MultiHeadAttention module{D, H, {.fused = false}};  // the library's, for comparison
    Tensor W_Q = module.W_q->weight.T(), W_K = module.W_k->weight.T(), W_V = module.W_v->weight.T(),
           W_O = module.W_out.weight.T();
    Tensor X = randn({B, T, D});

    AttentionResult run(const Tensor& x) const { return multi_head_causal_attention(x, W_Q, W_K, W_V, W_O, H); }
};

void movie(Chapter& chapter, const Setting& s) {
    chapter.section("1) The whole movie first");
    const std::map<std::string, const char*> pictures = {
        {"X W_Q", "projection lens"},        {"X W_K", "projection lens"},
        {"X W_V", "projection lens"},        {"q", "parallel graders"},
        {"k", "parallel graders"},           {"v", "parallel graders"},
        {"scores", "answer sheet: T by T"},  {"masked scores", "exam rule"},
        {"Y", "projection lens, the fourth"}};
    std::printf("%-14s %-14s\n", "X", s.X.shape().str().c_str());
    const Trace trace;
    static_cast<void>(s.run(s.X));
    for (const TraceEntry& step : trace.entries()) {
        const auto picture = pictures.find(step.name);
        std::printf("%-14s %-14s %s\n", step.name.c_str(), step.tensor.shape().str().c_str(),
                    picture == pictures.end() ? "" : picture->second);
    }
}

void helpers(Chapter& chapter) {
    chapter.section("2) Helper functions stay tiny");
    std::cout << "softmax of 10000, 9999, -10000: " << tensor({10000.0, 9999, -10000}).softmax(-1) << "\n";
    std::cout << "causal_mask(4), 1 is blocked:\n" << causal_mask(4).to(int64) << "\n";
    const Tensor x = randn({B, T, D});
    std::cout << "x " << x.shape() << ", split " << split_heads(x, H).shape() << ", merged "
              << merge_heads(split_heads(x, H)).shape() << "\n";
    claim("merging undoes splitting", allclose(merge_heads(split_heads(x, H)), x));
    // One of four keys has a dot product that is larger by 16; D = 768 in 12 heads.
    const Tensor dots = tensor({16.0, 0, 0, 0});
    std::cout << "\nscaled by sqrt(d_head), sqrt(64): " << (dots / std::sqrt(64.0)).softmax(-1)
              << "\nscaled by sqrt(D), sqrt(768):     " << (dots / std::sqrt(768.0)).softmax(-1) << "\n";
    std::cout << "\nmask (T, T) " << causal_mask(T).shape() << " with two axes more "
              << causal_mask(T).unsqueeze(0).unsqueeze(0).shape() << " beside scores " << Shape{B, H, T, T}
              << ": " << where(causal_mask(T).unsqueeze(0).unsqueeze(0), -1e9, zeros({B, H, T, T})).shape()
              << "\n";
}

void core(Chapter& chapter, const Setting& s) {
    chapter.section("3) The core function with shapes");
    const auto [Y, weights] = s.run(s.X);
    std::cout << "X       " << s.X.shape() << "\nweights " << weights.shape() << "\nY       " << Y.shape()
              << "\n";
    std::printf("weights of sample 0, head 0:\n");
    print_rows(weights[0][0]);
    claim("every row of the weights sums to 1", allclose(weights.sum(-1), ones({B, H, T}), 1e-6));
    const auto library = s.module.with_weights(s.X, Mask::causal());
    claim("nn::MultiHeadAttention gives the same output to 1e-6", difference(Y, library.output) < 1e-6);
    claim("and the same weights", difference(weights, library.weights) < 1e-6);
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

void decoding_and_debugging(Chapter& chapter, const Setting& s) {
    chapter.section("5) What changes during decoding and debugging");
    const Tensor full = s.run(s.X).output;
    MemoryShortcut memory;
    double largest = 0;
    for (std::int64_t t = 0; t < T; ++t) {
        const Tensor y = one_more_token(s.X.slice(1, t, t + 1), memory, s.W_Q, s.W_K, s.W_V, s.W_O, H);
        largest = std::max(largest, difference(y, full.slice(1, t, t + 1)));
        std::cout << "token " << t << ": q " << Shape{B, H, 1, d_head} << ", memory of K " << memory.K.shape()
                  << ", y " << y.shape() << "\n";
    }
    claim("one token at a time gives the rows of the full pass", largest < 1e-6);

    std::printf("\nthe checklist, on the function above:\n");
    check::AttentionSubject subject{[&](const Tensor& x, const Mask&) { return s.run(x).output; }, H};
    subject.mask = Mask::causal();
    subject.takes_mask = false;
    const check::AttentionReport report = check::attention(subject, s.X);
    report.print();
    held = held && report.passed();

    // The bug that hides because the code still runs: sqrt(D) in place of sqrt(d_head).
    subject.run = [&](const Tensor& x, const Mask&) {
        const Tensor q = traced("q", split_heads(x.matmul(s.W_Q), H)),
                     k = traced("k", split_heads(x.matmul(s.W_K), H)),
                     v = traced("v", split_heads(x.matmul(s.W_V), H));
        const Tensor scores =
            traced("scores", q.matmul(k.transpose(-2, -1)) / std::sqrt(static_cast<double>(D)));
        const Tensor masked = traced("masked scores", where(causal_mask(x.size(1)), -1e9, scores));
        const Tensor heads = traced("heads", traced("weights", masked.softmax(-1)).matmul(v));
        return traced("merged", merge_heads(heads)).matmul(s.W_O);
    };
    const check::AttentionReport wrong = check::attention(subject, s.X);
    std::printf("\nand on one that divides by sqrt(D):\n");
    for (const check::AttentionCheck& row : wrong.checks)
        if (row.failed()) std::printf("FAILED  %s: %s\n", row.name.c_str(), row.evidence.c_str());
    held = held && !wrong.passed();
}

void in_the_wild(Chapter& chapter, const Setting& s) {
    chapter.section("Where this lives in the wild");
    const Tensor Y = s.run(s.X).output;
    std::printf("the same to 1e-6 as the function above:\n");
    const auto line = [&](const char* name, const Tensor& other) { claim(name, difference(Y, other) < 1e-6); };
    const Tensor q = split_heads(s.X.matmul(s.W_Q), H), k = split_heads(s.X.matmul(s.W_K), H),
                 v = split_heads(s.X.matmul(s.W_V), H);
    line("scaled_dot_product_attention, fused",
         merge_heads(scaled_dot_product_attention(q, k, v, {.mask = Mask::causal()})).matmul(s.W_O));
    line("nn::MultiHeadAttention with Mask::causal()", s.module(s.X, Mask::causal()));
    nn::CausalMultiHeadAttention gpt(D, H);  // as in nanoGPT and GPT-2: one projection for Q, K and V
    gpt.load_state_dict({{"W_qkv.weight", cat({s.W_Q, s.W_K, s.W_V}, 1).T()}, {"W_out.weight", s.W_O.T()}});
    line("nn::CausalMultiHeadAttention, W_Q W_K W_V side by side", gpt(s.X));
}

void pause_and_recall(Chapter& chapter, const Setting& s) {
    chapter.section("Pause and recall");
    std::printf("1. Queries and keys of 10000 random pairs, each element with variance 1:\n");
    for (const std::int64_t width : {12, 64, 768}) {
        const Tensor dots = (randn({10000, width}) * randn({10000, width})).sum(-1);
        std::printf("   width %3d: the dot products have standard deviation %4.1f, and sqrt(width) is %4.1f\n",
                    static_cast<int>(width), weft::std(dots).item(), std::sqrt(static_cast<double>(width)));
    }

    const Trace trace;
    static_cast<void>(s.run(s.X));
    std::printf("2. scores, sample 0, head 0, before and after the line with where:\n");
    print_rows(step(trace.entries(), "scores")[0][0]);
    std::printf("\n");
    print_rows(step(trace.entries(), "masked scores")[0][0]);

    const Tensor weights = tensor({{.80, .20, .00}, {.05, .90, .05}}), distance = tensor({2.0, 1, 0});
    std::cout << "3. mean distance to token 2 of what head 0 and head 1 read: " << weights.matmul(distance)
              << "\n";

    std::cout << "4. at the last token q is " << Shape{B, H, 1, d_head} << ", K and V from memory "
              << Shape{B, H, T - 1, d_head} << ", with the new ones " << Shape{B, H, T, d_head} << "\n";
}

void interview(Chapter& chapter, const Setting& s) {
    chapter.section("Interview Q&A");
    // How far the first token's output moves when the last token changes: 0 for whoever may not look ahead.
    const auto leak = [&](const auto& attention) {
        Tensor changed = s.X.clone();
        changed.slice(1, T - 1, T) += 1;
        return difference(attention(s.X).slice(1, 0, 1), attention(changed).slice(1, 0, 1));
    };
    const auto parts = [&](const Tensor& x) {
        return std::array{split_heads(x.matmul(s.W_Q), H), split_heads(x.matmul(s.W_K), H),
                          split_heads(x.matmul(s.W_V), H)};
    };
    const auto raw = [&](const Tensor& x) {
        const auto [q, k, v] = parts(x);
        return q.matmul(k.transpose(-2, -1)) / std::sqrt(static_cast<double>(d_head));
    };
    const auto product_alone = [&](const Tensor& x) {  // "just Q times K times V"
        return merge_heads(raw(x).matmul(parts(x)[2])).matmul(s.W_O);
    };
    const auto masked_after = [&](const Tensor& x) {  // "mask after the weighted sum"
        const Tensor heads = raw(x).softmax(-1).matmul(parts(x)[2]);
        return merge_heads(heads).matmul(s.W_O);  // by now no element belongs to one key: what would be masked?
    };
    const auto right = [&](const Tensor& x) { return s.run(x).output; };
    std::printf("1. sums of the rows of sample 0, head 0: of Q K^T / sqrt(d_head), and of the weights\n");
    print_rows(stack({raw(s.X)[0][0].sum(-1), s.run(s.X).weights[0][0].sum(-1)}, 0));
    const Tensor weights = s.run(s.X).weights[0];  // (H, T, T)
    std::printf("2. the last row of each head:\n");
    print_rows(weights.slice(1, T - 1, T).squeeze(1));
    std::printf("3. the last token changes; the first token's output moves by\n");
    std::printf(
        "   %.2f  without softmax and mask\n   %.2f  with the mask after the weighted sum\n   %.2f  as here\n",
        leak(product_alone), leak(masked_after), leak(right));
    held = held && leak(right) == 0 && leak(masked_after) > 0;
}

void apply_now(Chapter& chapter) {
    chapter.section("Apply now (5 min)");
    std::printf("D = %d and H = %d: d_head = %d\n", static_cast<int>(D), static_cast<int>(H),
                static_cast<int>(d_head));
    std::printf("write multi_head_causal_attention in exercises/10_masks.cpp, then: make exercise N=10\n");
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    manual_seed(1);
    const Setting setting;
    movie(chapter, setting);
    helpers(chapter);
    core(chapter, setting);
    worked_example(chapter);
    decoding_and_debugging(chapter, setting);
    in_the_wild(chapter, setting);
    pause_and_recall(chapter, setting);
    interview(chapter, setting);
    apply_now(chapter);
    return held ? 0 : 1;
}
