// 11. Masks: causal, padding, both; several texts in a row; which keys a rule really blocks; queries that may
// attend to nothing.
//
// B batch, T tokens (queries), S keys, C = d_model, H heads.
#include "chapter.h"

#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>

#include "weft/weft.h"

using namespace weft;

namespace {

std::string numbers(const Tensor& row, const char* format) {
    std::string text;
    for (const double x : row.detach().to(float64).to_vector<double>()) {
        char number[32];
        std::snprintf(number, sizeof number, format, x);
        text += std::isnan(x) ? "   NaN" : number;
    }
    return text;
}

// ---- tables

const std::vector<std::string> seven = {"this", "is", "a", "sample", "sequence", "<pad>", "<pad>"};

// Blocks every key for the queries at positions length … T − 1.
Mask no_queries_from(std::int64_t length, std::int64_t T) {
    Tensor blocked = zeros({T, T}, boolean);  // (T, T)
    blocked.slice(0, length, T).fill_(1);
    return Mask::blocked(blocked);
}

void tables() {
    const Mask joined = Mask::causal() | Mask::padding({5}) | no_queries_from(5, 7);
    std::cout << viz::mask_grid(joined, 1, 1, 7, 7, {.queries = seven, .keys = seven}) << "\n";
    std::cout << "two new tokens after three in a cache:\n"
              << viz::mask_grid(Mask::causal(), 1, 1, 2, 5,
                                {.queries = {"4", "5"}, .keys = {"1", "2", "3", "4", "5"}});
}

// ---- by hand

Tensor scores_of_the_cat() {  // (T, T), of "The cat sat on"
    return tensor({{2.0, 1.5, 0.8, 0.3}, {1.2, 1.8, 0.9, 0.4}, {0.5, 1.1, 2.1, 0.7}, {0.3, 0.6, 1.3, 1.9}},
                  float64);
}
Tensor future() { return triu(ones({4, 4}), 1) == 1; }  // (T, T), true = blocked

void by_hand() {
    const Tensor masked = masked_fill(scores_of_the_cat(), future(), -INFINITY);  // (T, T)
    const Tensor weights = softmax(masked, -1);                                   // (T, T)
    const char* const tokens[] = {"The", "cat", "sat", "on"};
    for (std::int64_t t = 0; t < 4; ++t)
        std::printf("%-4s%s  %s\n", tokens[t], numbers(masked[t], " %4.1f").c_str(),
                    numbers(weights[t], " %.4f").c_str());
}

// ---- no output depends on a later token

constexpr std::int64_t T = 7, C = 8, H = 2;

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
bool close(const Tensor& a, const Tensor& b) { return max(abs(a - b)).item() < 1e-13; }
const char* yes_or_no(bool holds) { return holds ? "yes" : "no"; }

void edit_each_token() {
    const auto attention = small_attention();
    const Tensor x = some_tokens(1).slice(1, 0, 5);  // (1, 5, C)
    const Tensor y = attention(x, Mask::causal());   // (1, 5, C)
    std::printf("edited token  outputs 1 to 5 that change\n");
    for (std::int64_t j = 0; j < 5; ++j) {
        Tensor edited = x.clone();
        edited[0][j].fill_(3);
        const Tensor other = attention(edited, Mask::causal());
        std::printf("%12d ", static_cast<int>(j + 1));
        for (std::int64_t i = 0; i < 5; ++i) std::printf(" %s", all(other[0][i] == y[0][i]) ? "." : "x");
        std::printf("\n");
    }
    bool same = true;
    for (std::int64_t n = 1; n <= 5; ++n)  // a pass over the first n tokens alone
        same = same && close(attention(x.slice(1, 0, n), Mask::causal())[0][n - 1], y[0][n - 1]);
    std::printf("one pass gives what five passes over the prefixes give: %s\n", yes_or_no(same));
}

void built_in() {
    Rng rng(1);
    nn::Attention attention(8, 2, rng, {.causal = true, .max_seq_len = 4});
    attention.set_mask(attention.mask());  // a buffer that you may edit
    for (const auto& [name, tensor] : attention.named_parameters())
        std::printf("parameter %-13s %s\n", name.c_str(), tensor.shape().str().c_str());
    for (const auto& [name, tensor] : attention.named_buffers())
        std::printf("buffer    %-13s %s\n", name.c_str(), tensor.shape().str().c_str());
    try {
        (void)attention(zeros({1, 5, 8}));
    } catch (const ShapeError& error) {
        std::printf("%s\n", error.what());
    }
}

// ---- padding

void padding() {
    const auto attention = small_attention();
    const Tensor x = some_tokens(2);  // (B, T, C), sentences of 5 and 7 tokens
    const Mask mask = Mask::padding({5, 7});
    const Tensor real = attention(x, mask)[0].slice(0, 0, 5);  // (5, C), the outputs of the first sentence

    Tensor other = x.clone();
    other[0].slice(0, 5, 7).fill_(1000);  // other padding
    const bool unchanged = all(attention(other, mask)[0].slice(0, 0, 5) == real);
    std::printf("other padding changes a real token: %s\n", yes_or_no(!unchanged));

    const Tensor alone = attention(x[0].slice(0, 0, 5));  // (5, C), no padding and no mask
    std::printf("the sentence alone gives the same: %s\n", yes_or_no(close(alone, real)));
    std::printf("without the mask: %s\n", yes_or_no(close(alone, attention(x)[0].slice(0, 0, 5))));
}

void padded_on_the_left() {
    Rng rng(1);
    nn::Attention attention(C, H, rng, {.causal = true, .max_seq_len = T});
    attention.to(float64);
    const NoGrad off;
    const Tensor x = some_tokens(2);                                       // (B, T, C)
    const Mask real = Mask::keys(arange(T) >= tensor({{2}, {0}}, int64));  // sentence 1 begins with padding
    const Tensor y = attention(x, real);                                   // (B, T, C)
    const Tensor alone = attention(x[0].slice(0, 2, T));                   // (5, C)
    std::printf("the sentence alone gives the same: %s\n", yes_or_no(close(alone, y[0].slice(0, 2, T))));

    nn::KeyValueCache cache;
    (void)attention(x.slice(1, 0, 4), cache, real);                 // the first four tokens
    const Tensor fifth = attention(x.slice(1, 4, 5), cache, real);  // (B, 1, C)
    std::printf("so does a fifth token after four in a cache: %s\n", yes_or_no(close(fifth, y.slice(1, 4, 5))));
}

// ---- several texts in one row

void packed() {
    const auto attention = small_attention();
    const Mask mask = Mask::causal() | Mask::documents(tensor({0, 0, 0, 1, 1, 1, 1}, int64));
    const std::vector<std::string> tokens = {"The", "cat", "sat", "A", "dog", "ran", "off"};
    std::cout << viz::mask_grid(mask, 1, 1, T, T, {.queries = tokens, .keys = tokens});

    const Tensor x = some_tokens(1);                                    // (1, T, C)
    const Tensor second = attention(x.slice(1, 3, T), Mask::causal());  // (1, 4, C)
    std::printf("the second text alone gives the same: %s\n",
                yes_or_no(close(second, attention(x, mask).slice(1, 3, T))));
}

void work_of_texts() {
    const NoGrad off;
    const Tensor x = randn({1, 1, 4096, 32});  // (B, H, T, d_k)
    const auto millions = [&](const Mask& mask) {
        const CountMultiplyAdds counter;
        (void)scaled_dot_product_attention(x, x, x, {.mask = mask});
        return static_cast<double>(counter.count()) / 1e6;
    };
    const Tensor ids = (arange(4096).to(float64) / 256).to(int64);  // 16 texts of 256 tokens
    std::printf("millions of multiply-adds: one text %.0f, 16 texts %.0f\n", millions(Mask::causal()),
                millions(Mask::causal() | Mask::documents(ids)));
}

// ---- −∞ or −1e9, and queries that may attend to nothing

void oracle() {
    const Tensor scores = tensor({{2.0, 1.5, 0.8, 0.3}, {2.0, 1.5, 0.8, 0.3}}, float64);  // (T, S)
    const Mask mask = Mask::blocked(tensor({{0, 0, 1, 1}, {1, 1, 1, 1}}, boolean));       // two keys; none
    const check::MaskTable doubles = check::mask_oracle(scores, mask, float64);
    const check::MaskTable floats = check::mask_oracle(scores, mask, float32);
    const auto print = [](const check::MaskOutcome& outcome) {
        std::printf("%-20s  %s  %s   %s\n", check::name(outcome.rule), name(outcome.dtype),
                    numbers(outcome.weights[0], " %.3f").c_str(), numbers(outcome.weights[1], " %.3f").c_str());
    };
    std::printf("rule                  type      two keys allowed           no key allowed\n");
    print(doubles[check::MaskRule::add]);
    print(floats[check::MaskRule::add]);
    print(floats[check::MaskRule::replace]);
    print(floats[check::MaskRule::plain]);
    print(floats[check::MaskRule::safe]);
}

// Softmax as it is usually written.
Tensor plain_softmax(const Tensor& scores) {
    const Tensor e = exp(scores - max(scores, -1, keepdim).values.detach());
    return e / sum(e, -1, keepdim);
}
Tensor safe_softmax(const Tensor& scores) { return softmax(scores, -1); }

// Multi-head attention step by step, with any softmax. x (B, T, C) → (B, T, C)
Tensor attend(const nn::MultiHeadAttention& attention, const Tensor& x, const Mask& mask,
              Tensor (*softmax_of_rows)(const Tensor&)) {
    const auto [q, k, v] = nn::split_qkv(attention.W_qkv(x), H);  // (B, H, T, d_k) each
    const Tensor scores = matmul(q, k.transpose(-2, -1)) / 2;     // (B, H, T, T), √d_k = 2
    const Tensor blocked = mask.materialize(x.size(0), H, T, T);  // (B|1, H|1, T, T)
    const Tensor weights = softmax_of_rows(masked_fill(scores, blocked, -INFINITY));  // (B, H, T, T)
    return attention.W_out(nn::merge_heads(matmul(weights, v)));                      // (B, T, C)
}

void fully_masked_rows() {
    nn::MultiHeadAttention attention = small_attention();
    const Mask mask = Mask::causal() | Mask::padding({5}) | no_queries_from(5, T);
    const Tensor x = some_tokens(1);  // (1, T, C)
    const auto report = [&](const char* what, const Tensor& y) {
        int nan = 0, zero = 0;
        for (std::int64_t t = 0; t < T; ++t) {
            const Tensor row = y[0][t];  // (C,)
            if (any(isnan(row))) ++nan;
            if (all(row == 0)) ++zero;
        }
        attention.zero_grad();
        sum(y[0].slice(0, 0, 5)).backward();  // a loss of the five real tokens alone
        const auto finite = [](const Tensor& g) { return all(isfinite(g)) ? "finite" : "NaN"; };
        std::printf("%-14s rows NaN: %d, rows 0: %d; gradient of W_qkv: %s, of W_out: %s\n", what, nan, zero,
                    finite(attention.W_qkv.weight.grad()), finite(attention.W_out.weight.grad()));
    };
    report("plain softmax", attend(attention, x, mask, plain_softmax));
    report("Weft's softmax", attend(attention, x, mask, safe_softmax));
    report("the module", attention(x, mask));
}

// ---- the rank of a mask says what it means

// How many keys the first query of one sample attends to in one head, all scores being equal.
int attended(const Tensor& blocked, std::int64_t sample, std::int64_t head, const Shape& shape) {
    const Tensor weights = softmax(masked_fill(zeros(shape), blocked, -INFINITY), -1);  // (B, H, T, T)
    return static_cast<int>(sum((weights[sample][head][0] > 0).to(float32)).item());
}
void refused(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        std::printf("%s\n", error.what());
    }
}

void ranks() {
    const Shape scores{2, 2, T, T};                                                        // B = H = 2
    const Tensor mask = Mask::padding({2, 7}).materialize(2, 1, T, T).reshape({2, T, T});  // (B, T, T)
    std::printf("sample 1 has 2 real tokens; its first query attends, in head 2, to\n");
    std::printf("  %d keys with masked_fill(scores, mask)\n", attended(mask, 0, 1, scores));
    std::printf("  %d keys with masked_fill(scores, mask.unsqueeze(1))\n",
                attended(mask.unsqueeze(1), 0, 1, scores));
    std::printf("  %d keys with Mask::blocked(mask)\n",
                attended(Mask::blocked(mask).materialize(2, 2, T, T), 0, 1, scores));

    const Tensor causal = future().unsqueeze(1);  // (T, 1, T) with T = 4
    std::printf("a causal mask through unsqueeze(1): the first query of the last head attends to %d keys\n",
                attended(causal, 0, 3, {1, 4, 4, 4}));
    refused([&] { (void)masked_fill(zeros({4, 8, T, T}), zeros({4, T, T}, boolean), -INFINITY); });
    refused([&] { (void)small_attention()(some_tokens(1), Mask::blocked(mask)); });
}

// ---- break it

Tensor before_softmax(const Tensor& scores, const Tensor& v) {  // (T, T), (T, d_v) → (T, d_v)
    return matmul(softmax(masked_fill(scores, future(), -INFINITY), -1), v);
}
Tensor after_softmax(const Tensor& scores, const Tensor& v) {
    return matmul(masked_fill(softmax(scores, -1), future(), 0), v);
}
Tensor after_the_sum(const Tensor& scores, const Tensor& v) {
    return masked_fill(matmul(softmax(scores, -1), v), future().slice(1, 0, 2), 0);
}

void too_late() {
    Rng rng(3);
    const Tensor scores = scores_of_the_cat(), v = randn({4, 2}, rng, float64);  // (T, T), (T, d_v)
    Tensor other_v = v.clone(), other_scores = scores.clone();
    other_v[3].fill_(9);  // the last token has another value
    other_scores.slice(1, 3, 4).add_(
        full({4, 1}, 3, float64));  // the last token has another key: every query's score with it
    const std::pair<const char*, Tensor (*)(const Tensor&, const Tensor&)> rules[] = {
        {"before softmax", before_softmax},
        {"after softmax", after_softmax},
        {"after the weighted sum", after_the_sum}};

    const Tensor late = masked_fill(softmax(scores, -1), future(), 0);  // (T, T)
    std::printf("weights masked after softmax, sums of the rows:%s\n\n",
                numbers(sum(late, -1), " %.3f").c_str());
    std::printf("largest change of the outputs of The, cat, sat and on\n");
    std::printf("masked                  another last value      another last key\n");
    for (const auto& [name, attention] : rules) {
        const Tensor y = attention(scores, v);  // (T, d_v)
        const auto change = [&](const Tensor& now) { return numbers(max(abs(now - y), -1).values, " %.2f"); };
        std::printf("%-23s%s    %s\n", name, change(attention(scores, other_v)).c_str(),
                    change(attention(other_scores, v)).c_str());
    }
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
    d.text(100, 296, "the query (row) may attend to the key (column)", {.anchor = "start"});
    d.box(450, 288, 16, 16, "", {.fill = "#e3e3e3", .stroke = {"#888", 1}, .radius = 0});
    d.text(472, 296, "blocked", {.anchor = "start"});
    return d.svg();
}

std::string weights_picture() {
    const std::vector<std::string> tokens = {"The", "cat", "sat", "on"};
    const Tensor weights = softmax(masked_fill(scores_of_the_cat(), future(), -INFINITY), -1);  // (T, T)
    return viz::attention_svg(
        weights, {.queries = tokens, .mask = Mask::causal(), .top = 1, .title = "weights under a causal mask"});
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    chapter.section("who may attend to whom");
    tables();
    chapter.section("the cat sat on");
    by_hand();
    chapter.section("which outputs change after an edit");
    edit_each_token();
    chapter.section("a module with the mask built in");
    built_in();
    chapter.section("padding changes nothing");
    padding();
    chapter.section("padding on the left");
    padded_on_the_left();
    chapter.section("several texts in one row");
    packed();
    work_of_texts();
    chapter.section("the mask oracle");
    oracle();
    chapter.section("two fully masked rows");
    fully_masked_rows();
    chapter.section("a mask for each sample");
    ranks();
    chapter.section("break it: a mask that comes too late");
    too_late();
    chapter.figure("11_masks", masks_picture());
    chapter.figure("11_weights", weights_picture());
}
