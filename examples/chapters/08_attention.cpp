// 8. Attention with one head: a worked example, why scores are divided by √d_k, and what attention costs.
//
// T queries, S keys and values, d_k width of queries and keys, d_v width of values.
#include <array>
#include <cmath>

#include "chapter.h"

using namespace weft;

namespace {

// ---- the definition

// q (…, T, d_k), k (…, S, d_k), v (…, S, d_v) → (…, T, d_v)
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v) {
    const double d_k = static_cast<double>(q.size(-1));
    Tensor scores = matmul(q, k.transpose(-2, -1)) / std::sqrt(d_k);  // (…, T, S)
    Tensor weights = softmax(scores, -1);                             // (…, T, S), each row sums to 1
    return matmul(weights, v);                                        // (…, T, d_v)
}

// ---- three tokens by hand

const std::vector<std::string> tokens = {"the", "cat", "sat"};
std::array<Tensor, 3> three_tokens() {
    return {tensor({{0, 1, 0, 0}, {2, 0, 1, 0}, {0, 2, 0, 0}}, float64),  // q (T, d_k)
            tensor({{1, 0, 0, 0}, {0, 2, 0, 1}, {0, 0, 2, 1}}, float64),  // k (S, d_k)
            tensor({{1, 1}, {5, 0}, {0, 3}}, float64)};                   // v (S, d_v)
}

std::string numbers(const Tensor& row, const char* format) {
    std::string text;
    for (const double x : row.to_vector<double>()) {
        char number[32];
        std::snprintf(number, sizeof number, format, x);
        text += number;
    }
    return text;
}

void by_hand(Chapter& chapter) {
    chapter.section("three tokens by hand");
    const auto [q, k, v] = three_tokens();
    const Tensor dots = matmul(q, k.T());        // (T, S)
    const Tensor scores = dots / 2;              // √d_k = √4
    const Tensor weights = softmax(scores, -1);  // (T, S)
    const Tensor y = matmul(weights, v);         // (T, d_v)
    std::printf("query    q·k            scores          weights                output\n");
    for (std::int64_t t = 0; t < 3; ++t)
        std::printf("%-5s %s   %s   %s  %s\n", tokens[static_cast<std::size_t>(t)].c_str(),
                    numbers(dots[t], " %3.0f").c_str(), numbers(scores[t], " %4.1f").c_str(),
                    numbers(weights[t], " %5.3f").c_str(), numbers(y[t], " %6.3f").c_str());
}

// ---- where q, k and v come from

void from_tokens(Chapter& chapter) {
    chapter.section("from tokens to queries, keys and values");
    const Tensor x = eye(3, float64);             // (T, C): a column for each token that there is
    const auto [W_Q, W_K, W_V] = three_tokens();  // (C, d_k), (C, d_k), (C, d_v)
    const Tensor y = attention(matmul(x, W_Q), matmul(x, W_K), matmul(x, W_V));
    std::printf("sat: %s\n", numbers(y[2], " %6.3f").c_str());

    const Tensor half = tensor({{0, 0.5, 0.5}}, float64);  // half cat, half sat
    std::printf("query of a token between cat and sat: %s\n", numbers(matmul(half, W_Q), " %.1f").c_str());
}

// ---- the kernel, and its gradient

// The largest difference between two tensors.
double apart(const Tensor& a, const Tensor& b) { return max(abs(a - b)).item(); }

void fused(Chapter& chapter) {
    chapter.section("the kernel gives what the definition gives");
    Rng rng(1);
    const auto leaf = [&](const Shape& shape) { return randn(shape, rng, float64).requires_grad_(); };
    const Tensor q = leaf({50, 16}), k = leaf({70, 16}), v = leaf({70, 8});  // T 50, S 70, d_k 16, d_v 8
    const Tensor composed = attention(q, k, v);                              // (T, d_v)
    const Tensor kernel = scaled_dot_product_attention(q, k, v);             // (T, d_v)

    const Tensor dy = randn({50, 8}, rng, float64);
    const std::vector<Tensor> one = grad({composed}, {q, k, v}, {dy}), other = grad({kernel}, {q, k, v}, {dy});
    const auto same = [](const Tensor& a, const Tensor& b) {
        return apart(a, b) < 1e-13 ? "same" : "DIFFERENT";
    };
    std::printf("%s: output %s; gradients of q %s, of k %s, of v %s\n", kernel.shape().str().c_str(),
                same(composed, kernel), same(one[0], other[0]), same(one[1], other[1]), same(one[2], other[2]));
}

// ---- no token knows its place

void order(Chapter& chapter) {
    chapter.section("attention does not know the order");
    // the 0, creek 1, was 2, cold 3, and 4, the 0, spunky 5, dog 6, wanted 7, to 8, jump 9, over 10, it 11
    const Tensor ids =
        from_vector(std::vector<std::int64_t>{0, 1, 2, 3, 4, 0, 5, 6, 7, 8, 9, 10, 11}, {13});  // (T,)
    Rng rng(1);
    const Tensor table = randn({12, 16}, rng, float64), W_Q = randn({16, 16}, rng, float64) / 4,
                 W_K = randn({16, 16}, rng, float64) / 4, W_V = randn({16, 16}, rng, float64) / 4;
    const auto head = [&](const Tensor& ids) {
        const Tensor x = embedding(table, ids);                            // (T, C)
        return attention(matmul(x, W_Q), matmul(x, W_K), matmul(x, W_V));  // (T, d_v)
    };
    const Tensor y = head(ids), backwards = head(flip(ids, 0));
    std::printf("the outputs of the two \"the\" are the same: %s\n", apart(y[0], y[5]) < 1e-12 ? "yes" : "no");
    std::printf("those of \"the\" and \"creek\": %s\n", apart(y[0], y[1]) < 1e-12 ? "yes" : "no");
    std::printf("the sentence backwards gives the same outputs backwards: %s\n",
                apart(flip(y, 0), backwards) < 1e-12 ? "yes" : "no");
}

// ---- why √d_k

constexpr std::int64_t samples = 64, T = 16, S = 16;  // 1024 queries, each with 16 keys

struct Measured {
    double variance;  // of the scores
    double top;       // the largest weight of a query
    double keys;      // how many keys a query uses: e to the entropy of its weights
    double gradient;  // the norm of what comes through softmax, for random gradients of norm 1 per weight
};

Measured measure(std::int64_t d_k, double scale) {
    Rng rng(1);
    const Tensor q = randn({samples, T, d_k}, rng, float64), k = randn({samples, S, d_k}, rng, float64);
    Tensor scores = (matmul(q, k.transpose(-2, -1)) * scale).requires_grad_();  // (samples, T, S)
    const Tensor weights = softmax(scores, -1);                                 // (samples, T, S)
    weights.backward(randn(weights.shape(), rng, float64));

    const Tensor entropy = logsumexp(scores, -1) - sum(weights * scores, -1);  // −Σ w ln w, (samples, T)
    return {var(scores).item(), mean(max(weights, -1).values).item(), mean(exp(entropy)).item(),
            mean(sqrt(sum(scores.grad() * scores.grad(), -1))).item()};
}

const std::vector<std::int64_t> widths = {1, 4, 16, 64, 256, 1024};

double divided(std::int64_t d_k) { return 1 / std::sqrt(static_cast<double>(d_k)); }

void why_divide(Chapter& chapter) {
    chapter.section("with and without the division");
    std::printf("                 q·k as it is                     divided by the root of d_k\n");
    std::printf(" d_k   variance   top   keys   gradient     variance   top   keys   gradient\n");
    for (const std::int64_t d_k : widths) {
        const Measured raw = measure(d_k, 1), scaled = measure(d_k, divided(d_k));
        std::printf("%4d   %8.3g  %.2f  %5.1f   %8.2f     %8.2f  %.2f  %5.1f   %8.2f\n", static_cast<int>(d_k),
                    raw.variance, raw.top, raw.keys, raw.gradient, scaled.variance, scaled.top, scaled.keys,
                    scaled.gradient);
    }
}

void which_width(Chapter& chapter) {
    chapter.section("a score that stands out by 16");
    const Tensor dots = tensor({16, 0, 0, 0}, float64);  // q·k of one query with four keys
    const auto show = [&](const char* what, double scale) {
        std::printf("%-24s%s\n", what, numbers(softmax(dots * scale, -1), " %.3f").c_str());
    };
    show("not divided", 1);
    show("by root 64, the head", 1 / std::sqrt(64.0));
    show("by root 768, the model", 1 / std::sqrt(768.0));
}

// ---- cost

void cost(Chapter& chapter) {
    chapter.section("cost");
    Rng rng(1);
    const nn::Linear W_q(64, 64, rng), W_k(64, 64, rng), W_v(64, 64, rng);  // d = d_k = d_v
    std::printf("      T   projections   scores and average   one T x T in float32\n");
    for (const std::int64_t T : {128, 1024, 8192}) {
        const Tensor x = randn({T, 64}, rng);
        const CountMultiplyAdds counter;
        const Tensor q = W_q(x), k = W_k(x), v = W_v(x);
        const std::int64_t projections = counter.count();
        const Tensor y = scaled_dot_product_attention(q, k, v);
        const std::int64_t attention = counter.count() - projections;
        std::printf("%7d   %7.0f million   %13.0f million   %17.2f MB\n", static_cast<int>(T),
                    static_cast<double>(projections) / 1e6, static_cast<double>(attention) / 1e6,
                    static_cast<double>(T * T * 4) / 1048576);
    }
}

// ---- break it

Tensor without_softmax(const Tensor& q, const Tensor& k, const Tensor& v) {
    return matmul(matmul(q, k.transpose(-2, -1)) / std::sqrt(static_cast<double>(q.size(-1))), v);
}

void broken(Chapter& chapter) {
    chapter.section("break it: without the softmax, and along the wrong axis");
    const auto [q, k, v] = three_tokens();
    std::printf("output of sat          attention   without softmax\n");
    std::printf("its query           %s  %s\n", numbers(attention(q, k, v)[2], " %5.2f").c_str(),
                numbers(without_softmax(q, k, v)[2], " %6.2f").c_str());
    std::printf("three times that    %s  %s\n", numbers(attention(3 * q, k, v)[2], " %5.2f").c_str(),
                numbers(without_softmax(3 * q, k, v)[2], " %6.2f").c_str());

    const Tensor scores = matmul(q, k.T()) / 2;
    std::printf("\nsums of the rows, softmax over axis -1: %s\n",
                numbers(sum(softmax(scores, -1), -1), " %.3f").c_str());
    std::printf("sums of the rows, softmax over axis  0: %s\n",
                numbers(sum(softmax(scores, 0), -1), " %.3f").c_str());
}

// ---- figures

std::string worked_picture() {
    const auto [q, k, v] = three_tokens();
    const Tensor scores = matmul(q, k.T()) / 2, weights = softmax(scores, -1), y = matmul(weights, v);
    viz::Drawing d(640, 400, "Attention of three tokens, step by step");
    const double w = 36, h = 28;
    const auto rows = [&](double x, double top) {
        for (std::size_t i = 0; i < 3; ++i)
            d.text(x, top + h * (static_cast<double>(i) + 0.5), tokens[i], {.anchor = "end"});
    };
    const viz::Label head{.size = 14, .bold = true}, sign{.size = 20};
    // q kᵀ / 2 = scores
    d.text(132, 24, "q (T, d_k)", head)
        .cells(60, 66, w, h, q, {.fills = std::vector<std::string>(12, "#e6f1f9")});
    rows(54, 66);
    d.text(226, 108, "·", sign);
    d.text(300, 24, "kᵀ (d_k, S)", head)
        .cells(246, 52, w, h, k.T(), {.fills = std::vector<std::string>(12, "#fdf0e8")});
    d.text(394, 108, "/ √4  =", {.size = 16});
    d.text(496, 24, "scores (T, S)", head).cells(442, 66, w, h, scores, {.viridis = true});
    for (std::size_t j = 0; j < 3; ++j) {
        d.text(264 + w * static_cast<double>(j), 44, tokens[j], {.size = 12});
        d.text(460 + w * static_cast<double>(j), 58, tokens[j], {.size = 12});
    }
    d.bend(496, 156, 128, 240, {"#666", 1.5});
    d.text(352, 219, "softmax, row by row", {.size = 14, .colour = "#444"});
    // weights v = y
    const double u = 46;
    d.text(129, 384, "weights (T, S)", head).cells(60, 274, u, h, weights, {.viridis = true, .digits = 2});
    rows(54, 274);
    for (std::size_t j = 0; j < 3; ++j) d.text(83 + u * static_cast<double>(j), 264, tokens[j], {.size = 12});
    d.text(226, 316, "·", sign);
    d.text(326, 384, "v (S, d_v)", head)
        .cells(290, 274, w, h, v, {.fills = std::vector<std::string>(6, "#e9f6ef")});
    rows(284, 274);
    d.text(396, 316, "=", sign);
    d.text(496, 384, "output (T, d_v)", head).cells(450, 274, u, h, y, {.digits = 3});
    rows(444, 274);
    return d.svg();
}

std::string scale_picture(bool gradient) {
    viz::Plot plot({
        .title = gradient ? "What softmax lets through to the scores" : "How many of 16 keys a query uses",
        .x = "d_k",
        .y = gradient ? "norm of the gradient" : "e to the entropy of the weights",
        .log_x = true,
        .log_y = gradient,
        .legend = gradient ? "bottom-left" : "right",
    });
    std::vector<double> x, raw, scaled;
    for (const std::int64_t d_k : widths) {
        const Measured a = measure(d_k, 1), b = measure(d_k, divided(d_k));
        x.push_back(static_cast<double>(d_k));
        raw.push_back(gradient ? a.gradient : a.keys), scaled.push_back(gradient ? b.gradient : b.keys);
    }
    plot.line(x, scaled, "q·k / √d_k", {.markers = true}).line(x, raw, "q·k", {.markers = true});
    return plot.svg();
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    by_hand(chapter);
    from_tokens(chapter);
    fused(chapter);
    order(chapter);
    why_divide(chapter);
    which_width(chapter);
    cost(chapter);
    broken(chapter);
    chapter.figure("08_attention", worked_picture());
    chapter.figure("08_keys", scale_picture(false));
    chapter.figure("08_gradient", scale_picture(true));
}
