// Chapter 12: attention's gradients, by hand.
#include "chapter.h"

// From here on the page shows the program.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "weft/weft.h"

using namespace weft;

namespace {

std::string numbers(const Tensor& row, const char* format) {
    std::string text;
    for (const double value : row.to_vector<double>()) {
        char one[24];
        std::snprintf(one, sizeof one, format, value == 0 ? 0.0 : value);  // no -0.00
        text += one;
    }
    return text;
}

// ---- on paper

struct Example {
    Tensor q = tensor({{1, 1}, {0, 2}, {1, 2}}, float64);   // (T, d_k)
    Tensor k = tensor({{1, 0}, {0, 1}, {-1, 1}}, float64);  // (S, d_k)
    Tensor v = tensor({{5, 0}, {0, 5}, {-1, 2}}, float64);  // (S, d_v)
    Tensor dy = tensor({{2, 1}, {1, 0}, {1, 1}}, float64);  // (T, d_v)
    Tensor blocked = triu(ones({3, 3}), 1) == 1;            // (T, S): every key after the query
    double scale = std::log(2.0);                           // 0.693, in place of 1/√d_k = 0.707
};

// The weights softmax(q kᵀ · scale), 0 where blocked. (…, T, d_k), (…, S, d_k) → (…, T, S)
Tensor weights_of(const Tensor& q, const Tensor& k, const Tensor& blocked, double scale) {
    const Tensor s = matmul(q, k.transpose(-2, -1)) * scale;  // (…, T, S)
    return softmax(masked_fill(s, blocked, -INFINITY), -1);
}

// ds for p = softmax(s): in each row, ds_j = p_j · (dp_j − Σ p dp).
Tensor softmax_rule(const Tensor& p, const Tensor& dp) { return p * (dp - sum(p * dp, -1, keepdim)); }

struct Gradients {
    Tensor dq, dk, dv, dp = {}, ds = {};
};
using Rule = Tensor (*)(const Tensor& p, const Tensor& dp);

// From dy, the gradient of y = p v, back to the queries, keys and values.
Gradients by_hand(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& p, double scale,
                  const Tensor& dy, Rule rule = softmax_rule) {
    const Tensor dv = matmul(p.transpose(-2, -1), dy);          // y = p v
    const Tensor dp = matmul(dy, v.transpose(-2, -1));          // y = p v
    const Tensor ds = rule(p, dp);                              // p = softmax(s)
    const Tensor dq = matmul(ds, k) * scale;                    // s = q kᵀ · scale
    const Tensor dk = matmul(ds.transpose(-2, -1), q) * scale;  // s = q kᵀ · scale
    return {dq, dk, dv, dp, ds};
}

void on_paper() {
    const Example e;
    const Tensor p = weights_of(e.q, e.k, e.blocked, e.scale), y = matmul(p, e.v);  // (T, S), (T, d_v)
    const Gradients g = by_hand(e.q, e.k, e.v, p, e.scale, e.dy);
    const Tensor D = sum(p * g.dp, -1, keepdim);  // (T, 1)
    std::printf("      q·k         weights           y      dy        dp        D         ds\n");
    for (std::int64_t i = 0; i < 3; ++i)
        std::printf("%d  %s  %s %s %s %s %s  %s\n", static_cast<int>(i + 1),
                    numbers(matmul(e.q, e.k.T())[i], "%3.0f").c_str(), numbers(p[i], " %.2f").c_str(),
                    numbers(y[i], "%3.0f").c_str(), numbers(e.dy[i], "%3.0f").c_str(),
                    numbers(g.dp[i], "%4.0f").c_str(), numbers(D[i], "%4.0f").c_str(),
                    numbers(g.ds[i], " %5.2f").c_str());
    std::printf("\n        dv           ds k          dsᵀ q            dq             dk\n");
    for (std::int64_t i = 0; i < 3; ++i)
        std::printf("%d %s  %s  %s  %s  %s\n", static_cast<int>(i + 1), numbers(g.dv[i], " %5.2f").c_str(),
                    numbers(g.dq[i] / e.scale, " %5.2f").c_str(), numbers(g.dk[i] / e.scale, " %5.2f").c_str(),
                    numbers(g.dq[i], " %6.3f").c_str(), numbers(g.dk[i], " %6.3f").c_str());
}

// ---- the library's numbers

const char* same(const Tensor& a, const Tensor& b) {
    return max(abs(a - b)).item() < 1e-13 ? "same" : "DIFFERENT";
}

void compare() {
    const Example e;
    const Gradients g = by_hand(e.q, e.k, e.v, weights_of(e.q, e.k, e.blocked, e.scale), e.scale, e.dy);

    const Tensor q = e.q.clone().requires_grad_(), k = e.k.clone().requires_grad_(),
                 v = e.v.clone().requires_grad_();
    const Tensor s = masked_fill(matmul(q, k.T()) * e.scale, e.blocked, -INFINITY);  // (T, S)
    const Tensor p = softmax(s, -1);                                                 // (T, S)
    const std::vector<Tensor> graph = grad({matmul(p, v)}, {q, k, v, p, s}, {e.dy});
    const Tensor y = scaled_dot_product_attention(q, k, v, {.mask = Mask::causal(), .scale = e.scale});
    const std::vector<Tensor> kernel = grad({y}, {q, k, v}, {e.dy});

    const char* const names[] = {"dq", "dk", "dv", "dp", "ds"};
    const Tensor mine[] = {g.dq, g.dk, g.dv, g.dp, g.ds};
    for (std::size_t n = 0; n < 5; ++n)
        std::printf("%s  graph: %s%s%s\n", names[n], same(mine[n], graph[n]), n < 3 ? ", kernel: " : "",
                    n < 3 ? same(mine[n], kernel[n]) : "");
    std::printf("sums of the rows of ds:   %s\n", numbers(sum(g.ds, 1), "%6.2f").c_str());
    std::printf("sums of the columns of dk:%s\n", numbers(sum(g.dk, 0), "%6.2f").c_str());
    std::printf("sums of the columns of dv:%s, and of dy:%s\n", numbers(sum(g.dv, 0), "%6.2f").c_str(),
                numbers(sum(e.dy, 0), "%6.2f").c_str());
}

// ---- as an operation

// softmax(q kᵀ · scale) v, 0 where blocked. It saves p, T × S numbers.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& blocked, double scale,
                 Rule rule = softmax_rule) {
    Tensor p, y;
    {
        const NoGrad off;
        p = weights_of(q, k, blocked, scale);  // (…, T, S)
        y = matmul(p, v);                      // (…, T, d_v)
    }
    return record("attention", y, {q, k, v}, {q, k, v, p}, [scale, rule](const Saved& saved, const Tensor& dy) {
        const Gradients g = by_hand(saved[0], saved[1], saved[2], saved[3], scale, dy, rule);
        return Grads{g.dq, g.dk, g.dv};
    });
}

check::GradcheckReport checked(Rule rule) {
    Rng rng(1);
    const Tensor q = randn({2, 3, 5, 4}, rng, float64).requires_grad_();  // (B, H, T, d_k)
    const Tensor k = randn({2, 3, 5, 4}, rng, float64).requires_grad_();  // (B, H, S, d_k)
    const Tensor v = randn({2, 3, 5, 6}, rng, float64).requires_grad_();  // (B, H, S, d_v)
    const Tensor blocked = triu(ones({5, 5}), 1) == 1;                    // (T, S)
    return check::gradcheck(
        "attention",
        [&](const std::vector<Tensor>& in) { return attention(in[0], in[1], in[2], blocked, 0.5, rule); },
        {q, k, v});
}

void as_an_operation() {
    const check::GradcheckReport report = checked(softmax_rule);
    std::printf("%zu derivatives compared, %s\n", report.elements, report ? "all agree" : "some are wrong");
}

// ---- a query that may attend to nothing

void padded_on_the_left() {
    Example e;
    e.blocked = e.blocked || arange(3) < 1;                     // key 1 is padding, for every query
    const Tensor p = weights_of(e.q, e.k, e.blocked, e.scale);  // (T, S)
    const Gradients g = by_hand(e.q, e.k, e.v, p, e.scale, e.dy);
    std::printf("      weights            dq             dk             dv\n");
    for (std::int64_t i = 0; i < 3; ++i)
        std::printf("%d %s  %s  %s  %s\n", static_cast<int>(i + 1), numbers(p[i], " %.2f").c_str(),
                    numbers(g.dq[i], " %6.3f").c_str(), numbers(g.dk[i], " %6.3f").c_str(),
                    numbers(g.dv[i], " %6.3f").c_str());
    const bool zero = all(g.dq[0] == 0) && all(g.dk[0] == 0) && all(g.dv[0] == 0);
    std::printf("row 1 of dq, dk and dv is exactly 0: %s\n", zero ? "yes" : "no");
}

// ---- without the T × T matrix

// Queries i0 … i1 − 1 against keys j0 … j1 − 1, of which the first `padding` are padding. True = blocked.
Tensor blocked_part(std::int64_t i0, std::int64_t i1, std::int64_t j0, std::int64_t j1, std::int64_t padding) {
    const Tensor i = arange(i0, i1).unsqueeze(1), j = arange(j0, j1);  // (i1 − i0, 1), (j1 − j0,)
    return j > i || j < padding;
}

struct Kept {
    Tensor y, lse;  // (T, d_v), (T, 1)
};
Kept forward_by_rows(const Tensor& q, const Tensor& k, const Tensor& v, double scale, std::int64_t padding,
                     std::int64_t rows) {  // `rows` divides T
    const std::int64_t T = q.size(0);
    std::vector<Tensor> y, lse;
    for (std::int64_t i = 0; i < T; i += rows) {
        Tensor s = matmul(q.slice(0, i, i + rows), k.T()) * scale;  // (rows, T)
        s = masked_fill(s, blocked_part(i, i + rows, 0, T, padding), -INFINITY);
        y.push_back(matmul(softmax(s, -1), v));    // (rows, d_v)
        lse.push_back(logsumexp(s, -1, keepdim));  // (rows, 1)
    }
    return {cat(y, 0), cat(lse, 0)};
}

Gradients backward_by_columns(const Tensor& q, const Tensor& k, const Tensor& v, const Kept& kept, double scale,
                              std::int64_t padding, const Tensor& dy, std::int64_t columns) {
    const std::int64_t T = q.size(0);
    const Tensor D = sum(dy * kept.y, -1, keepdim);  // (T, 1)
    Tensor dq = zeros_like(q);                       // (T, d_k)
    std::vector<Tensor> dk, dv;
    for (std::int64_t j = 0; j < T; j += columns) {
        const Tensor k_j = k.slice(0, j, j + columns), v_j = v.slice(0, j, j + columns);  // (columns, d)
        const Tensor s = matmul(q, k_j.T()) * scale;                                      // (T, columns)
        const Tensor p = masked_fill(exp(s - kept.lse), blocked_part(0, T, j, j + columns, padding), 0);
        const Tensor ds = p * (matmul(dy, v_j.T()) - D);  // (T, columns)
        dq = dq + matmul(ds, k_j) * scale;
        dk.push_back(matmul(ds.T(), q) * scale);  // (columns, d_k)
        dv.push_back(matmul(p.T(), dy));          // (columns, d_v)
    }
    return {dq, cat(dk, 0), cat(dv, 0)};
}

void without_the_matrix() {
    constexpr std::int64_t T = 256, d = 16, padding = 3;
    Rng rng(1);
    const Tensor q = randn({T, d}, rng, float64), k = randn({T, d}, rng, float64),
                 v = randn({T, d}, rng, float64), dy = randn({T, d}, rng, float64);
    const double scale = 0.25;
    const Tensor blocked = blocked_part(0, T, 0, T, padding);  // for the library alone

    const Tensor a = q.clone().requires_grad_(), b = k.clone().requires_grad_(), c = v.clone().requires_grad_();
    const Tensor y = scaled_dot_product_attention(a, b, c, {.mask = Mask::blocked(blocked), .scale = scale});
    const std::vector<Tensor> library = grad({y}, {a, b, c}, {dy});

    const Kept kept = forward_by_rows(q, k, v, scale, padding, 64);
    std::printf("y %s; the first rows of lse:%s\n", same(kept.y, y.detach()),
                numbers(kept.lse.slice(0, 0, 5).reshape({5}), " %.2f").c_str());
    std::printf("row 1 of the kernel's dq, dk and dv is exactly 0: %s\n",
                all(library[0][0] == 0) && all(library[1][0] == 0) && all(library[2][0] == 0) ? "yes" : "no");
    std::printf("columns  numbers at once  dq    dk    dv    row 1 of dq\n");
    for (const std::int64_t columns : {std::int64_t(1), std::int64_t(32), T}) {
        const Gradients g = backward_by_columns(q, k, v, kept, scale, padding, dy, columns);
        std::printf("%7d  %15d  %s  %s  %s  %s\n", static_cast<int>(columns), static_cast<int>(T * columns),
                    same(g.dq, library[0]), same(g.dk, library[1]), same(g.dv, library[2]),
                    all(g.dq[0] == 0) ? "exactly 0" : "not 0");
    }
    const Tensor p = weights_of(q, k, blocked, scale);
    const auto count = [&](const auto& work) {  // in units of T² d
        const CountMultiplyAdds counter;
        work();
        return static_cast<double>(counter.count()) / static_cast<double>(T * T * d);
    };
    std::printf(
        "products of T² d multiply-adds: forward %g, backward %g with p saved, %g with p computed again\n",
        count([&] { (void)forward_by_rows(q, k, v, scale, padding, 64); }),
        count([&] { (void)by_hand(q, k, v, p, scale, dy); }),
        count([&] { (void)backward_by_columns(q, k, v, kept, scale, padding, dy, 32); }));
}

// ---- break it

Tensor without_row_term(const Tensor& p, const Tensor& dp) { return p * dp; }

constexpr std::int64_t V = 6, length = 8, width = V + length;  // tokens, positions, C

struct Previous : nn::Module {  // which token came before this one?
    Rule rule;
    nn::Linear W_q = register_module("W_q", nn::Linear(width, 8, false));
    nn::Linear W_k = register_module("W_k", nn::Linear(width, 8, false));
    nn::Linear W_v = register_module("W_v", nn::Linear(width, 8, false));
    nn::Linear answer = register_module("answer", nn::Linear(8, V));
    explicit Previous(Rule rule) : rule(rule) { to(float64); }
    Tensor operator()(const Tensor& ids) const {                                                   // (B, T)
        const Tensor positions = eye(length, float64).expand({ids.size(0), length, length});       // (B, T, T)
        const Tensor x = cat({embedding(eye(V, float64), ids), positions}, -1);                    // (B, T, C)
        const Tensor y = attention(W_q(x), W_k(x), W_v(x), blocked_part(0, length, 0, length, 0),  // (B, T, 8)
                                   1 / std::sqrt(8.0), rule);
        return answer(y).slice(1, 1, length);  // (B, T − 1, V), without the first token
    }
};

constexpr int steps = 400, seeds = 10;

// All numbers of W_q and W_k as one vector, and the right gradient for them.
Tensor as_vector(const Tensor& W_q, const Tensor& W_k) {
    return cat({W_q.reshape({-1}), W_k.reshape({-1})}, 0);
}
Tensor right_gradient(Previous model, const Tensor& ids) {  // a copy shares the parameters
    model.rule = softmax_rule;
    const Tensor loss = cross_entropy(model(ids), ids.slice(1, 0, length - 1));
    const std::vector<Tensor> g = grad({loss}, {model.W_q.weight, model.W_k.weight});
    return as_vector(g[0], g[1]);
}
double cosine(const Tensor& a, const Tensor& b) {  // of the angle between them
    return sum(a * b).item() / std::sqrt(sum(a * a).item() * sum(b * b).item());
}

struct Run {
    std::vector<double> losses, cosines;  // of each step; of steps 1, 101, 201, … to the right gradient
};
Run trained(Rule rule, std::uint64_t seed) {
    manual_seed(seed);
    Previous model(rule);
    optim::Adam optimizer(model, {.lr = 0.003});
    Run run;
    for (int step = 0; step < steps; ++step) {
        const Tensor ids = randint(0, V, {32, length});  // (B, T)
        const auto W = [&] { return as_vector(model.W_q.weight, model.W_k.weight).detach(); };
        const bool measures = step % 100 == 0;
        const Tensor before = measures ? W() : Tensor(),
                     right = measures ? right_gradient(model, ids) : Tensor();
        optimizer.zero_grad();
        const Tensor loss = cross_entropy(model(ids), ids.slice(1, 0, length - 1));
        loss.backward();
        optimizer.step();
        if (measures) run.cosines.push_back(cosine(before - W(), right));
        run.losses.push_back(loss.item());
    }
    return run;
}

using Runs = std::vector<Run>;  // one for each seed
Runs runs(Rule rule) {
    Runs all;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) all.push_back(trained(rule, seed));
    return all;
}

std::vector<double> at_step(const Runs& runs, std::size_t step) {
    std::vector<double> values;
    for (const Run& run : runs) values.push_back(run.losses[step]);
    return values;
}

int steps_to(double loss, const Runs& runs) {  // until the median of the seeds is below it
    for (std::size_t step = 0; step < steps; ++step) {
        std::vector<double> values = at_step(runs, step);
        std::sort(values.begin(), values.end());
        if (values[values.size() / 2] < loss) return static_cast<int>(step) + 1;
    }
    return steps;
}

void compare_runs(const Runs& right, const Runs& wrong) {
    std::printf("loss after  softmax's rule          without the row term\n");
    for (const std::size_t step : {100, 200, 300, 400})
        std::printf("%4zu steps  %s  %s\n", step,
                    spread(at_step(right, step - 1), "%.3f (%.3f to %.3f)").c_str(),
                    spread(at_step(wrong, step - 1), "%.3f (%.3f to %.3f)").c_str());
    std::printf("below 0.1   after %d steps         after %d steps\n", steps_to(0.1, right),
                steps_to(0.1, wrong));
}

void compare_angles(const Runs& right, const Runs& wrong) {
    std::printf(
        "cosine of the angle between Adam's step and the right gradient\n"
        "          softmax's rule       without the row term\n");
    const auto column = [](const Runs& runs, std::size_t n) {
        std::vector<double> values;
        for (const Run& run : runs) values.push_back(run.cosines[n]);
        return spread(values);
    };
    for (std::size_t n = 0; n < wrong[0].cosines.size(); ++n)
        std::printf("step %3zu  %s  %s\n", 100 * n + 1, column(right, n).c_str(), column(wrong, n).c_str());
}

void what_finds_it() {
    const Example e;
    const Tensor p = weights_of(e.q, e.k, e.blocked, e.scale);
    const Gradients g = by_hand(e.q, e.k, e.v, p, e.scale, e.dy, without_row_term);
    std::printf("sums of the rows of ds:%s\n", numbers(sum(g.ds, 1), " %.2f").c_str());
    std::printf("gradcheck: %s\n", checked(without_row_term) ? "passed" : "failed");
}

// ---- figures

std::string flow_figure() {
    const Example e;
    const Tensor p = weights_of(e.q, e.k, e.blocked, e.scale), y = matmul(p, e.v);
    const Gradients g = by_hand(e.q, e.k, e.v, p, e.scale, e.dy);
    const std::string blue = viz::palette(0), red = viz::palette(1), grey = "#e3e3e3";
    viz::Drawing d(640, 330, "Attention of three tokens forward, and its gradients backward");
    const double w = 36, h = 26, top = 66, low = 210;
    const auto grid = [&](double x, double at, const Tensor& values, const char* format,
                          const std::string& title, const std::string& colour, bool masked) {
        std::vector<std::string> texts, fills;
        const std::vector<double> numbers = values.to_vector<double>();
        const std::vector<bool> blocked = e.blocked.to_vector<bool>();
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            char text[24];
            std::snprintf(text, sizeof text, format, numbers[i] == 0 ? 0.0 : numbers[i]);
            const bool out = masked && blocked[i];
            texts.push_back(out ? "" : text);
            fills.push_back(out ? grey : "#fff");
        }
        d.cells(x, at, w, h, values, {.texts = texts, .fills = fills});
        d.text(x + w * static_cast<double>(values.size(1)) / 2, at - 12, title,
               {.size = 14, .colour = colour, .bold = true});
    };
    const double x[] = {10, 98, 196, 330, 464, 562};  // q, k, s, p, v, y
    grid(x[0], top, e.q, "%.0f", "q", blue, false);
    grid(x[1], top, e.k, "%.0f", "k", blue, false);
    grid(x[2], top, matmul(e.q, e.k.T()), "%.0f", "q·k", blue, true);
    grid(x[3], top, p, "%.3g", "p", blue, true);
    grid(x[4], top, e.v, "%.0f", "v", blue, false);
    grid(x[5], top, y, "%.0f", "y", blue, false);
    grid(x[0], low, g.dq / e.scale, "%.3g", "dq", red, false);
    grid(x[1], low, g.dk / e.scale, "%.3g", "dk", red, false);
    grid(x[2], low, g.ds, "%.3g", "ds", red, true);
    grid(x[3], low, g.dp, "%.0f", "dp", red, true);
    grid(x[4], low, g.dv, "%.3g", "dv", red, false);
    grid(x[5], low, e.dy, "%.0f", "dy", red, false);
    const double mid_top = top + 1.5 * h, mid_low = low + 1.5 * h;
    d.text(320, 20, "forward", {.size = 14, .colour = blue, .bold = true});
    d.text(320, 168, "backward (dq and dk without the factor ln 2)", {.size = 14, .colour = red, .bold = true});
    d.arrow(x[1] + 2 * w + 3, mid_top, x[2] - 3, mid_top, {blue, 1.8});
    d.arrow(x[2] + 3 * w + 3, mid_top, x[3] - 3, mid_top, {blue, 1.8});
    d.arrow(x[4] + 2 * w + 3, mid_top, x[5] - 3, mid_top, {blue, 1.8});
    d.arrow(x[5] - 3, mid_low, x[4] + 2 * w + 3, mid_low, {red, 1.8});
    d.arrow(x[3] - 3, mid_low, x[2] + 3 * w + 3, mid_low, {red, 1.8});
    d.arrow(x[2] - 3, mid_low, x[1] + 2 * w + 3, mid_low, {red, 1.8});
    const double under = low + 3 * h + 18;
    const std::pair<double, const char*> rules[] = {
        {x[0] + w, "ds k"},        {x[1] + w, "dsᵀ q"}, {x[2] + 1.5 * w, "p ∘ (dp − D)"},
        {x[3] + 1.5 * w, "dy vᵀ"}, {x[4] + w, "pᵀ dy"}, {x[5] + w, "given"}};
    for (const auto& [at, text] : rules) d.text(at, under, text, {.size = 13, .colour = red});
    return d.svg();
}

std::string tiles_figure() {
    viz::Drawing d(640, 300, "Which part of the weights is in memory: rows forward, columns backward");
    const double w = 24, top = 66;
    const auto table = [&](double left, const char* title, bool rows) {
        std::vector<std::string> fills, texts(64);
        for (int i = 0; i < 8; ++i)
            for (int j = 0; j < 8; ++j) {
                const bool now = rows ? i / 2 == 2 : j / 2 == 1;
                fills.push_back(j > i ? (now ? "#f6e3c2" : "#e3e3e3") : now ? "#e69f00" : "#fff");
            }
        d.text(left + 4 * w, 22, title, {.size = 14, .bold = true});
        d.cells(left, top, w, w, zeros({8, 8}, float64), {.texts = texts, .fills = fills});
        d.text(left + 4 * w, top - 14, "keys", {.size = 13});
        d.text(left - 14, top + 4 * w, "queries", {.size = 13, .rotate = -90});
    };
    const auto vector = [&](double left, const char* title, bool part) {
        std::vector<std::string> fills, texts(8);
        for (int i = 0; i < 8; ++i)
            fills.push_back(!part || i / 2 == 2 ? "#56b4e9" : i < 4 ? "#cde8f8" : "#fff");
        d.cells(left, top, w, w, zeros({8, 1}, float64), {.texts = texts, .fills = fills});
        d.text(left + w / 2, top - 14, title, {.size = 13});
    };
    table(50, "forward: some rows at a time", true);
    vector(262, "lse", true);
    table(370, "backward: some columns at a time", false);
    vector(574, "lse", false);
    vector(606, "D", false);
    d.text(144, top + 8 * w + 20, "a whole row gives softmax its sum", {.size = 13});
    d.text(462, top + 8 * w + 20, "no row is whole: lse and D stand in for the sums", {.size = 13});
    return d.svg();
}

std::string training_figure(const Runs& right, const Runs& wrong) {
    viz::Plot plot({.title = "Which token came before this one? Median of ten seeds",
                    .x = "step",
                    .y = "loss",
                    .log_y = true,
                    .height = 320,
                    .legend = "top-right"});
    for (const auto& [all, name] : {std::pair<const Runs&, const char*>{right, "softmax's rule"},
                                    std::pair<const Runs&, const char*>{wrong, "without the row term"}}) {
        std::vector<double> x, y;
        for (std::size_t step = 0; step < steps; step += 5) {
            std::vector<double> values = at_step(all, step);
            std::sort(values.begin(), values.end());
            x.push_back(static_cast<double>(step + 1));
            y.push_back(values[values.size() / 2]);
        }
        plot.line(x, y, name);
    }
    return plot.svg();
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    chapter.section("three tokens on paper");
    on_paper();
    chapter.section("the library's numbers");
    compare();
    chapter.section("as an operation");
    as_an_operation();
    chapter.section("a query that may attend to nothing");
    padded_on_the_left();
    chapter.section("without the matrix");
    without_the_matrix();
    chapter.section("break it: softmax's rule without its row term");
    const Runs right = runs(softmax_rule), wrong = runs(without_row_term);
    compare_runs(right, wrong);
    std::printf("\n");
    compare_angles(right, wrong);
    std::printf("\n");
    what_finds_it();
    chapter.figure("12_flow", flow_figure());
    chapter.figure("12_tiles", tiles_figure());
    chapter.figure("12_training", training_figure(right, wrong));
}
