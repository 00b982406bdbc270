// 9. Attention with one head: from ids to vectors, a worked example, why scores are divided by √d_k, and what
// attention costs.
//
// V tokens in the vocabulary, C width of a token's vector, T queries, S keys and values, d_k width of queries
// and keys, d_v width of values.
#include "chapter.h"

#include <algorithm>

#include <array>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <vector>

#include "weft/weft.h"

using namespace weft;

namespace {

// ---- embeddings

void embeddings(Chapter& chapter) {
    chapter.section("from ids to vectors");
    // the 0, cat 1, saw 2, dog 3
    const Tensor ids = tensor({0, 1, 2, 0, 3}, int64);  // (T): the cat saw the dog
    Rng rng(1);
    nn::Embedding tokens(4, 2, rng);  // V = 4, C = 2
    tokens.to(float64);
    tokens.load_state_dict({{"weight", tensor({{1, 2}, {3, 4}, {5, 6}, {7, 8}}, float64)}});  // (V, C)
    const Tensor x = tokens(ids);                                                             // (T, C)
    std::cout << x << "\n";

    x.backward(tensor({{1, 0}, {0, 1}, {0, 1}, {10, 0}, {0, 1}}, float64));  // dx (T, C)
    std::cout << tokens.weight.grad() << "\n";                               // (V, C)

    const Tensor one_hot =
        tensor({{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {1, 0, 0, 0}, {0, 0, 0, 1}}, float64);
    std::cout << matmul(one_hot, tokens.weight) << "\n";  // (T, V) @ (V, C) → (T, C): the same as x
    try {
        (void)tokens(tensor({0, 4}, int64));
    } catch (const Error& error) {
        std::cout << error.what() << "\n";
    }
}

// ---- the definition

// q (…, T, d_k), k (…, S, d_k), v (…, S, d_v) → (…, T, d_v)
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v) {
    const double d_k = static_cast<double>(q.size(-1));
    Tensor scores = matmul(q, k.transpose(-2, -1)) / std::sqrt(d_k);  // (…, T, S)
    Tensor weights = softmax(scores, -1);                             // (…, T, S), each row sums to 1
    return matmul(weights, v);                                        // (…, T, d_v)
}

// ---- three tokens by hand

const std::vector<std::string> words = {"the", "cat", "sat"};
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
        std::printf("%-5s %s   %s   %s  %s\n", words[static_cast<std::size_t>(t)].c_str(),
                    numbers(dots[t], " %3.0f").c_str(), numbers(scores[t], " %4.1f").c_str(),
                    numbers(weights[t], " %5.3f").c_str(), numbers(y[t], " %6.3f").c_str());
}

// ---- where q, k and v come from

void from_tokens(Chapter& chapter) {
    chapter.section("from tokens to queries, keys and values");
    const Tensor x = eye(3, float64);             // (T, C): the one-hot vectors of three tokens
    const auto [W_Q, W_K, W_V] = three_tokens();  // (C, d_k), (C, d_k), (C, d_v)
    const Tensor y = attention(matmul(x, W_Q), matmul(x, W_K), matmul(x, W_V));
    std::printf("sat: %s\n", numbers(y[2], " %6.3f").c_str());

    const Tensor half = tensor({{0, 0.5, 0.5}}, float64);  // half cat, half sat
    std::printf("query of a token between cat and sat: %s\n", numbers(matmul(half, W_Q), " %.1f").c_str());
}

// ---- the kernel, and its gradients

// The largest difference between two tensors.
double apart(const Tensor& a, const Tensor& b) { return max(abs(a - b)).item(); }

void fused(Chapter& chapter) {
    chapter.section("the kernel gives what the definition gives");
    Rng rng(1);
    const Tensor q = randn({50, 16}, rng, float64).requires_grad_();  // (T, d_k)
    const Tensor k = randn({70, 16}, rng, float64).requires_grad_();  // (S, d_k)
    const Tensor v = randn({70, 8}, rng, float64).requires_grad_();   // (S, d_v)
    const Tensor dy = randn({50, 8}, rng, float64);                   // the gradient of the result

    const Tensor composed = attention(q, k, v);                   // (T, d_v)
    const Tensor kernel = scaled_dot_product_attention(q, k, v);  // (T, d_v)
    const std::vector<Tensor> one = grad({composed}, {q, k, v}, {dy}), other = grad({kernel}, {q, k, v}, {dy});
    const auto same = [](const Tensor& a, const Tensor& b) {
        return apart(a, b) < 1e-13 ? "same" : "DIFFERENT";
    };
    std::printf("output %s; gradients of q %s, of k %s, of v %s\n", same(composed, kernel),
                same(one[0], other[0]), same(one[1], other[1]), same(one[2], other[2]));
}

// ---- order

void order(Chapter& chapter) {
    chapter.section("attention does not know the order");
    // the 0, creek 1, was 2, cold 3, and 4, the 0, spunky 5, dog 6, wanted 7, to 8, jump 9, over 10, it 11
    const Tensor ids = tensor({0, 1, 2, 3, 4, 0, 5, 6, 7, 8, 9, 10, 11}, int64);  // (T)
    Rng rng(1);
    const nn::Embedding tokens(12, 16, rng);  // V = 12, C = 16
    const nn::Linear W_Q(16, 16, rng, false), W_K(16, 16, rng, false), W_V(16, 16, rng, false);  // C → d
    const auto head = [&](const Tensor& ids) {
        const Tensor x = tokens(ids);              // (T, C)
        return attention(W_Q(x), W_K(x), W_V(x));  // (T, d_v)
    };
    const Tensor y = head(ids), backwards = head(flip(ids, 0));
    std::printf("the outputs of the two \"the\" are the same: %s\n", apart(y[0], y[5]) < 1e-5 ? "yes" : "no");
    std::printf("those of \"the\" and \"creek\": %s\n", apart(y[0], y[1]) < 1e-5 ? "yes" : "no");
    std::printf("the sentence backwards gives the same outputs backwards: %s\n",
                apart(flip(y, 0), backwards) < 1e-5 ? "yes" : "no");
}

// ---- why √d_k

struct Measured {
    double variance;  // of the scores
    double top;       // the largest weight of a query, on average
    double keys;      // how many keys a query uses, on average: e to the entropy of its weights
    double gradient;  // the norm of the gradient at the scores of a query, on average
};

// Scores q kᵀ · factor, for many queries at once: q (N, T, d_k), k (N, S, d_k), and dw (N, T, S), the gradient
// of the weights.
Measured measure(const Tensor& q, const Tensor& k, double factor, const Tensor& dw) {
    Tensor scores = (matmul(q, k.transpose(-2, -1)) * factor).requires_grad_();  // (N, T, S)
    const Tensor weights = softmax(scores, -1);                                  // (N, T, S)
    weights.backward(dw);

    const Tensor w = weights.detach(), ds = scores.grad();                                 // (N, T, S)
    const Tensor entropy = logsumexp(scores.detach(), -1) - sum(w * scores.detach(), -1);  // −Σ w ln w, (N, T)
    return {var(scores).item(), mean(max(w, -1).values).item(), mean(exp(entropy)).item(),
            mean(sqrt(sum(ds * ds, -1))).item()};
}

const std::vector<std::int64_t> widths = {1, 4, 16, 64, 256, 1024};
constexpr std::uint64_t num_seeds = 10;

// The median of the seeds for each width; raises `apart` to the largest relative distance of a seed from it.
std::vector<Measured> medians(const std::vector<std::vector<Measured>>& of_widths, double& apart) {
    std::vector<Measured> found;
    for (const std::vector<Measured>& seeds : of_widths) {
        const auto median = [&](double Measured::*field) {
            std::vector<double> values;
            for (const Measured& seed : seeds) values.push_back(seed.*field);
            std::sort(values.begin(), values.end());
            const double middle = (values[values.size() / 2] + values[(values.size() - 1) / 2]) / 2;
            apart = std::max({apart, values.back() / middle - 1, 1 - values.front() / middle});
            return middle;
        };
        found.push_back({median(&Measured::variance), median(&Measured::top), median(&Measured::keys),
                         median(&Measured::gradient)});
    }
    return found;
}

struct Comparison {
    std::vector<Measured> raw, scaled;  // for each width
};

Comparison why_divide(Chapter& chapter) {
    chapter.section("with and without the division");
    std::vector<std::vector<Measured>> raw, scaled;
    for (const std::int64_t d_k : widths) {
        raw.emplace_back(), scaled.emplace_back();
        for (std::uint64_t seed = 1; seed <= num_seeds; ++seed) {
            Rng rng(seed);
            const Tensor q = randn({64, 16, d_k}, rng, float64), k = randn({64, 16, d_k}, rng, float64),
                         dw = randn({64, 16, 16}, rng, float64);
            raw.back().push_back(measure(q, k, 1, dw));
            scaled.back().push_back(measure(q, k, 1 / std::sqrt(static_cast<double>(d_k)), dw));
        }
    }
    double apart = 0;
    const Comparison both{medians(raw, apart), medians(scaled, apart)};
    std::printf("                 q·k as it is                     divided by the root of d_k\n");
    std::printf(" d_k   variance   top   keys   gradient     variance   top   keys   gradient\n");
    for (std::size_t i = 0; i < widths.size(); ++i)
        std::printf("%4d   %8.1f  %.2f  %5.1f   %8.3f     %8.2f  %.2f  %5.1f   %8.3f\n",
                    static_cast<int>(widths[i]), both.raw[i].variance, both.raw[i].top, both.raw[i].keys,
                    both.raw[i].gradient, both.scaled[i].variance, both.scaled[i].top, both.scaled[i].keys,
                    both.scaled[i].gradient);
    std::printf("no seed is farther than %.1f %% from these medians\n", 100 * apart);
    return both;
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
    const nn::Linear W_q(64, 64, rng);  // d = 64
    const nn::Linear W_k(64, 64, rng);
    const nn::Linear W_v(64, 64, rng);
    std::printf("      T   projections   scores and average   one T x T in float32\n");
    for (const std::int64_t T : {128, 1024, 8192}) {
        const Tensor x = randn({T, 64}, rng);  // (T, d)
        const CountMultiplyAdds counter;
        const Tensor q = W_q(x), k = W_k(x), v = W_v(x);  // (T, d) each
        const std::int64_t projections = counter.count();
        const Tensor y = scaled_dot_product_attention(q, k, v);  // (T, d)
        const std::int64_t attention = counter.count() - projections;
        std::printf("%7d   %5.1f million   %12.1f million   %16.4g MiB\n", static_cast<int>(T),
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
            d.text(x, top + h * (static_cast<double>(i) + 0.5), words[i], {.anchor = "end"});
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
        d.text(264 + w * static_cast<double>(j), 44, words[j], {.size = 12});
        d.text(460 + w * static_cast<double>(j), 58, words[j], {.size = 12});
    }
    d.bend(496, 156, 128, 240, {"#666", 1.5});
    d.text(352, 219, "softmax, row by row", {.size = 14, .colour = "#444"});
    // weights v = y
    const double u = 46;
    d.text(129, 384, "weights (T, S)", head).cells(60, 274, u, h, weights, {.viridis = true, .digits = 2});
    rows(54, 274);
    for (std::size_t j = 0; j < 3; ++j) d.text(83 + u * static_cast<double>(j), 264, words[j], {.size = 12});
    d.text(226, 316, "·", sign);
    d.text(326, 384, "v (S, d_v)", head)
        .cells(290, 274, w, h, v, {.fills = std::vector<std::string>(6, "#e9f6ef")});
    rows(284, 274);
    d.text(396, 316, "=", sign);
    d.text(496, 384, "output (T, d_v)", head).cells(450, 274, u, h, y, {.digits = 3});
    rows(444, 274);
    return d.svg();
}

std::string embedding_picture() {
    const Tensor table = tensor({{1, 2}, {3, 4}, {5, 6}, {7, 8}}, float64);  // (V, C)
    const std::vector<std::string> vocabulary = {"the", "cat", "saw", "dog"};
    const std::vector<std::int64_t> ids = {0, 1, 2, 0, 3};
    const std::vector<std::string> fills = {"#d6e9f5", "#fbe3d3", "#d9f0e6", "#f3dcea"};
    viz::Drawing d(640, 270, "Five ids pick rows of a table with four rows");
    const viz::Label head{.size = 14, .bold = true}, note{.size = 13, .anchor = "end"};
    const double w = 44, h = 30, top = 58;
    const auto row = [](std::int64_t i) { return static_cast<double>(i); };
    const auto twice = [&](std::int64_t id) {
        return std::vector<std::string>(2, fills[static_cast<std::size_t>(id)]);
    };
    d.text(124, 24, "sentence, ids (T)", head).text(342, 24, "table (V, C)", head);
    d.text(560, 24, "vectors (T, C)", head);
    for (std::int64_t v = 0; v < 4; ++v) {
        d.text(288, top + 15 + h * row(v) + 15, std::to_string(v), note);
        d.cells(298, top + 15 + h * row(v), w, h, table.slice(0, v, v + 1), {.fills = twice(v)});
    }
    for (std::int64_t t = 0; t < 5; ++t) {
        const std::int64_t id = ids[static_cast<std::size_t>(t)];
        const double y = top + h * row(t), from = top + 15 + h * row(id) + 15;
        d.text(112, y + 15, vocabulary[static_cast<std::size_t>(id)], note);
        d.cells(126, y, h, h, tensor({{static_cast<double>(id)}}, float64),
                {.fills = {fills[static_cast<std::size_t>(id)]}});
        d.line(158, y + 15, 272, from, {"#999", 1.2});
        d.arrow(390, from, 510, y + 15, {"#999", 1.2});
        d.cells(516, y, w, h, table.slice(0, id, id + 1), {.fills = twice(id)});
    }
    d.text(320, 244, "the id 0 occurs twice, so the row 0 is used twice and both gradients are added to it",
           {.size = 13, .colour = "#555"});
    return d.svg();
}

std::string scale_picture(const Comparison& both, bool gradient) {
    viz::Plot plot({
        .title = gradient ? "What softmax lets through to the scores" : "How many of 16 keys a query uses",
        .x = "d_k",
        .y = gradient ? "norm of the gradient" : "e to the entropy of the weights",
        .log_x = true,
        .log_y = gradient,
        .legend = gradient ? "bottom-left" : "right",
    });
    std::vector<double> x, raw, scaled;
    for (std::size_t i = 0; i < widths.size(); ++i) {
        const Measured &a = both.raw[i], &b = both.scaled[i];
        x.push_back(static_cast<double>(widths[i]));
        raw.push_back(gradient ? a.gradient : a.keys), scaled.push_back(gradient ? b.gradient : b.keys);
    }
    plot.line(x, scaled, "q·k / √d_k", {.markers = true}).line(x, raw, "q·k", {.markers = true});
    return plot.svg();
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    embeddings(chapter);
    by_hand(chapter);
    from_tokens(chapter);
    fused(chapter);
    order(chapter);
    const Comparison both = why_divide(chapter);
    which_width(chapter);
    cost(chapter);
    broken(chapter);
    chapter.figure("09_embedding", embedding_picture());
    chapter.figure("09_attention", worked_picture());
    chapter.figure("09_keys", scale_picture(both, false));
    chapter.figure("09_gradient", scale_picture(both, true));
}
