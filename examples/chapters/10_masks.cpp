// 10. Masks: causal, padding, both; what blocks and what only seems to; rows that may see nothing.
//
// B batch, T tokens (queries), S keys, C = d_model, H heads.
#include <cmath>
#include <functional>
#include <iostream>

#include "chapter.h"

using namespace weft;

namespace {

constexpr std::int64_t T = 7, C = 8, H = 2;
constexpr double inf = INFINITY;

std::string numbers(const Tensor& row, const char* format) {
    std::string text;
    for (const double x : row.detach().to(float64).to_vector<double>()) {
        char number[32];
        std::snprintf(number, sizeof number, format, x);
        text += std::isnan(x) ? "   NaN" : number;
    }
    return text;
}
const char* yes(bool holds) { return holds ? "yes" : "no"; }
bool has_nan(const Tensor& x) { return any(x != x); }
double apart(const Tensor& a, const Tensor& b) { return max(abs(a - b)).item(); }

nn::MultiHeadAttention small_attention() {
    Rng rng(1);
    nn::MultiHeadAttention attention(C, H, rng);
    attention.to(float64);
    return attention;
}
Tensor some_tokens(std::int64_t samples) {
    Rng rng(2);
    return randn({samples, T, C}, rng, float64);  // (B, T, C)
}

// ---- tables

const std::vector<std::string> five = {"this", "is", "a", "sample", "sequence"};
const std::vector<std::string> seven = {"this", "is", "a", "sample", "sequence", "<pad>", "<pad>"};

// Blocks everything for the queries behind `length`.
Mask blind_from(std::int64_t length) {
    Tensor blocked = zeros({T, T}, boolean);
    blocked.slice(0, length, T).fill_(1);
    return Mask::blocked(blocked);
}

void tables(Chapter& chapter) {
    chapter.section("who may see whom");
    std::cout << viz::mask_grid(Mask::causal(), 1, 1, 5, 5, {.queries = five, .keys = five}) << "\n";
    std::cout << viz::mask_grid(Mask::padding({5}), 1, 1, 7, 7, {.queries = seven, .keys = seven}) << "\n";
    const Mask both = Mask::causal() | Mask::padding({5}) | blind_from(5);
    std::cout << viz::mask_grid(both, 1, 1, 7, 7, {.queries = seven, .keys = seven}) << "\n";
    std::cout << "two new tokens behind three that are in a cache:\n"
              << viz::mask_grid(Mask::causal(), 1, 1, 2, 5,
                                {.queries = {"4", "5"}, .keys = {"1", "2", "3", "4", "5"}});
}

// ---- by hand

Tensor scores_of_the_cat() {
    return tensor({{2.0, 1.5, 0.8, 0.3}, {1.2, 1.8, 0.9, 0.4}, {0.5, 1.1, 2.1, 0.7}, {0.3, 0.6, 1.3, 1.9}},
                  float64);
}

void by_hand(Chapter& chapter) {
    chapter.section("the cat sat on");
    const Tensor scores = scores_of_the_cat();                     // (T, T)
    const Tensor future = triu(ones({4, 4}), 1) == 1;              // (T, T), true = blocked
    const Tensor masked = masked_fill(scores, future, -INFINITY);  // (T, T)
    const Tensor weights = softmax(masked, -1);                    // (T, T)
    const char* const tokens[] = {"The", "cat", "sat", "on"};
    for (std::int64_t t = 0; t < 4; ++t)
        std::printf("%-4s%s  %s\n", tokens[t], numbers(masked[t], " %4.1f").c_str(),
                    numbers(weights[t], " %.4f").c_str());
}

void shades(Chapter& chapter) {
    chapter.section("the same in shades");
    const Tensor masked = masked_fill(scores_of_the_cat(), triu(ones({4, 4}), 1) == 1, -INFINITY);
    const viz::MapOptions map{.queries = {"The", "cat", "sat", "on"}, .mask = Mask::causal(), .top = 1};
    std::printf("%s", viz::attention_text(softmax(masked, -1), map).c_str());
}

// ---- the definition holds: no token sees its future

void edits(Chapter& chapter) {
    chapter.section("who notices an edit");
    const auto attention = small_attention();
    const Tensor x = some_tokens(1).slice(1, 0, 5);  // (1, 5, C)
    const Tensor y = attention(x, Mask::causal());
    std::printf("edited token  outputs 1 to 5 that change\n");
    for (std::int64_t j = 0; j < 5; ++j) {
        Tensor edited = x.clone();
        edited[0][j].fill_(3);
        const Tensor other = attention(edited, Mask::causal());
        std::printf("%12d ", static_cast<int>(j + 1));
        for (std::int64_t i = 0; i < 5; ++i) std::printf(" %s", apart(other[0][i], y[0][i]) > 0 ? "x" : ".");
        std::printf("\n");
    }
    double largest = 0;
    for (std::int64_t n = 1; n <= 5; ++n)  // the pass over the first n tokens alone
        largest = std::max(largest, apart(attention(x.slice(1, 0, n), Mask::causal())[0][n - 1], y[0][n - 1]));
    std::printf("one pass gives what five passes over the beginnings give: %s\n", yes(largest < 1e-13));
}

void built_in(Chapter& chapter) {
    chapter.section("a module with the mask built in");
    Rng rng(1);
    const nn::CausalMultiHeadAttention attention(8, 2, rng, {.max_seq_len = 4});
    (void)attention.mask();  // made when it is first asked for
    for (const auto& [name, tensor] : attention.named_parameters())
        std::printf("parameter %-13s %s\n", name.c_str(), tensor.shape().str().c_str());
    for (const auto& [name, tensor] : attention.named_buffers())
        std::printf("buffer    %-13s %s\n", name.c_str(), tensor.shape().str().c_str());
    try {
        (void)attention(zeros({1, 5, 8}));
    } catch (const Error& error) {
        std::printf("%s\n", error.what());
    }
}

// ---- padding

void padding(Chapter& chapter) {
    chapter.section("padding is invisible");
    const auto attention = small_attention();
    const Tensor x = some_tokens(2);  // (B, T, C), sentences of 5 and 7 tokens
    const Mask mask = Mask::padding({5, 7});
    const Tensor y = attention(x, mask);

    Tensor other = x.clone();
    other[0].slice(0, 5, 7).fill_(1000);  // other padding
    std::printf("other padding changes a real token: %s\n",
                yes(apart(attention(other, mask)[0].slice(0, 0, 5), y[0].slice(0, 0, 5)) > 0));
    const Tensor alone = attention(x[0].slice(0, 0, 5));  // (5, C), no padding and no mask
    std::printf("the sentence alone gives the same: %s\n", yes(apart(alone, y[0].slice(0, 0, 5)) < 1e-13));
    std::printf("without the mask: %s\n", yes(apart(alone, attention(x)[0].slice(0, 0, 5)) < 1e-13));
}

// ---- −∞ or −1e9, and rows that see nothing

void oracle(Chapter& chapter) {
    chapter.section("the mask oracle");
    const Tensor scores = tensor({{2.0, 1.5, 0.8, 0.3}, {2.0, 1.5, 0.8, 0.3}}, float64);  // (T, S)
    const Mask mask = Mask::blocked(tensor({{0, 0, 1, 1}, {1, 1, 1, 1}}, boolean));       // two keys; nothing
    std::printf("rule                  type      sees two keys              sees nothing\n");
    const auto row = [&](check::MaskRule rule, DType dtype) {
        const check::MaskOutcome outcome = check::mask_oracle(scores, mask, dtype)[rule];
        std::printf("%-20s  %s  %s   %s\n", check::name(rule), name(dtype),
                    numbers(outcome.weights[0], " %.3f").c_str(), numbers(outcome.weights[1], " %.3f").c_str());
    };
    row(check::MaskRule::add, float64);
    row(check::MaskRule::add, float32);
    row(check::MaskRule::replace, float32);
    row(check::MaskRule::plain, float32);
    row(check::MaskRule::safe, float32);
}

// Softmax as it is usually written.
Tensor plain_softmax(const Tensor& scores) {
    const Tensor e = exp(scores - max(scores, -1, keepdim).values.detach());
    return e / sum(e, -1, keepdim);
}

void blind_rows(Chapter& chapter) {
    chapter.section("two rows that see nothing");
    const auto attention = small_attention();
    const Mask mask = Mask::causal() | Mask::padding({5}) | blind_from(5);
    const Tensor x = some_tokens(1);  // (1, T, C)

    const auto run = [&](Tensor (*softmax_of_rows)(const Tensor&)) {
        const auto parts = nn::split_qkv((*attention.W_qkv)(x), H);
        const Tensor scores = matmul(parts[0], parts[1].transpose(-2, -1)) / 2;  // (1, H, T, T), √d_k = 2
        const Tensor masked = masked_fill(scores, mask.materialize(1, H, T, T), -inf);
        return attention.W_out(nn::merge_heads(matmul(softmax_of_rows(masked), parts[2])));  // (1, T, C)
    };
    const auto tell = [&](const char* what, const Tensor& y) {
        int nan = 0, zero = 0;
        for (std::int64_t t = 0; t < T; ++t) nan += has_nan(y[0][t]), zero += all(y[0][t] == 0);
        for (Tensor p : attention.parameters()) p.zero_grad();
        sum(y[0].slice(0, 0, 5)).backward();  // a loss of the five real tokens alone
        std::printf("%-14s rows NaN: %d, rows 0: %d; gradient of W_qkv: %s, of W_out: %s\n", what, nan, zero,
                    has_nan(attention.W_qkv->weight.grad()) ? "NaN" : "finite",
                    has_nan(attention.W_out.weight.grad()) ? "NaN" : "finite");
    };
    tell("plain softmax", run(plain_softmax));
    tell("Weft's softmax", run([](const Tensor& scores) { return softmax(scores, -1); }));
    tell("the module", attention(x, mask));
}

// ---- the rank of a mask says what it means

void ranks(Chapter& chapter) {
    chapter.section("a mask for each sample");
    const Tensor scores = zeros({2, 2, T, T}, float64);  // (B, H, T, T) with B = H
    const Tensor per_sample = Mask::padding({2, 7}).materialize(2, 1, T, T).reshape({2, T, T});  // (B, T, T)
    const auto seen = [&](const Tensor& blocked) {  // by the first query of sample 1, in head 2
        const Tensor weights = softmax(masked_fill(scores, blocked, -inf), -1);
        return static_cast<int>(sum((weights[0][1][0] > 0).to(float64)).item());
    };
    const Mask mask = Mask::blocked(per_sample);  // rank 3: one for each sample
    std::printf("sample 1 has 2 real tokens; its head 2 sees\n");
    std::printf("  %d keys with masked_fill(scores, mask)\n", seen(per_sample));
    std::printf("  %d keys with masked_fill(scores, mask.unsqueeze(1))\n", seen(per_sample.unsqueeze(1)));
    std::printf("  %d keys with Mask::blocked(mask)\n", seen(mask.materialize(2, 2, T, T)));

    const Tensor causal = Mask::causal().materialize(1, 1, 4, 4).reshape({4, 4});     // (T, T)
    const Tensor tall = masked_fill(zeros({1, 4, 4, 4}), causal.unsqueeze(1), -inf);  // T = H = 4
    std::printf("a causal mask through unsqueeze(1): the first query of the last head sees %d keys\n",
                static_cast<int>(sum((tall[0][3][0] == 0).to(float64)).item()));
    const auto refused = [](const std::function<void()>& action) {
        try {
            action();
        } catch (const Error& error) {
            std::printf("%s\n", error.what());
        }
    };
    refused([&] { return masked_fill(zeros({4, 8, T, T}), zeros({4, T, T}, boolean), -inf); });
    refused([&] { return small_attention()(some_tokens(1), mask); });
}

// ---- break it

void broken(Chapter& chapter) {
    chapter.section("break it: a mask that comes too late");
    Rng rng(3);
    const Tensor future = triu(ones({4, 4}), 1) == 1, scores = scores_of_the_cat();  // (T, T)
    Tensor v = randn({4, 2}, rng, float64);                                          // (T, d_v)
    const auto in_time = [&] { return matmul(softmax(masked_fill(scores, future, -inf), -1), v); };
    const auto after_softmax = [&] { return matmul(masked_fill(softmax(scores, -1), future, 0), v); };
    const auto after_sum = [&] {
        return masked_fill(matmul(softmax(scores, -1), v), future.slice(1, 0, 2), 0);
    };
    const Tensor kept = masked_fill(softmax(scores, -1), future, 0);
    std::printf("weights masked after softmax, sums of the rows:%s\n", numbers(sum(kept, -1), " %.3f").c_str());

    const Tensor a = in_time(), b = after_softmax(), c = after_sum();
    v[3].fill_(9);  // edit the value of the last token
    const auto moved = [](const Tensor& before, const Tensor& now) {
        return numbers(max(abs(now - before), -1).values, " %.2f");
    };
    std::printf("the last value is edited; the outputs of The, cat, sat, on move by\n");
    std::printf("  masked before softmax:         %s\n", moved(a, in_time()).c_str());
    std::printf("  masked after softmax:          %s\n", moved(b, after_softmax()).c_str());
    std::printf("  masked after the weighted sum: %s\n", moved(c, after_sum()).c_str());
}

// ---- figures

std::string masks_picture() {
    viz::Drawing d(640, 316, "Three masks of seven tokens, two of them padding");
    const double w = 23;
    const Mask masks[] = {Mask::causal(), Mask::padding({5}), Mask::causal() | Mask::padding({5})};
    const char* const titles[] = {"causal()", "padding({5})", "causal() | padding({5})"};
    const double left[] = {78, 268, 458};
    for (std::size_t i = 0; i < 3; ++i) {
        const Tensor blocked = masks[i].materialize(1, 1, T, T).reshape({T, T});
        std::vector<std::string> fills, texts(static_cast<std::size_t>(T * T));
        for (const bool b : blocked.to_vector<bool>()) fills.push_back(b ? "#e3e3e3" : "#56b4e9");
        d.text(left[i] + 3.5 * w, 24, titles[i], {.size = 14, .bold = true});
        d.cells(left[i], 108, w, w, blocked.to(float64), {.texts = texts, .fills = fills});
        for (std::size_t t = 0; t < 7; ++t) {
            const double at = w * (static_cast<double>(t) + 0.5);
            d.text(left[i] + at, 102, seven[t], {.size = 12, .anchor = "start", .rotate = -60});
            if (i == 0) d.text(left[i] - 6, 108 + at, seven[t], {.size = 12, .anchor = "end"});
        }
    }
    d.box(78, 288, 16, 16, "", {.fill = "#56b4e9", .stroke = {"#888", 1}, .radius = 0});
    d.text(100, 296, "the query (row) may see the key (column)", {.anchor = "start"});
    d.box(400, 288, 16, 16, "", {.fill = "#e3e3e3", .stroke = {"#888", 1}, .radius = 0});
    d.text(422, 296, "blocked", {.anchor = "start"});
    return d.svg();
}

std::string weights_picture() {
    const std::vector<std::string> tokens = {"The", "cat", "sat", "on"};
    const Tensor masked = masked_fill(scores_of_the_cat(), triu(ones({4, 4}), 1) == 1, -inf);
    return viz::attention_svg(
        softmax(masked, -1),
        {.queries = tokens, .mask = Mask::causal(), .top = 1, .title = "weights behind a causal mask"});
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    tables(chapter);
    by_hand(chapter);
    shades(chapter);
    edits(chapter);
    built_in(chapter);
    padding(chapter);
    oracle(chapter);
    blind_rows(chapter);
    ranks(chapter);
    broken(chapter);
    chapter.figure("10_masks", masks_picture());
    chapter.figure("10_weights", weights_picture());
}
