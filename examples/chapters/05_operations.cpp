// Chapter 5: an operation of your own: its values, its gradient rule, and how to check the rule.
//
// N rows, C columns, h step of a difference.
#include "chapter.h"

// From here on the page shows the program.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "weft/weft.h"

using namespace weft;

namespace {

// ---- the operation

// softplus(x) = ln(1 + eˣ), elementwise.
Tensor my_softplus(const Tensor& x) {
    Tensor y;
    {
        const NoGrad off;
        y = relu(x) + log(1 + exp(-abs(x)));  // the same value, without overflow for a large x
    }
    return record("softplus", y, {x}, {x}, [](const Saved& saved, const Tensor& dy) {
        const Tensor& x = saved[0];
        return Grads{dy * sigmoid(x)};  // y = ln(1 + eˣ):  dx = dy · eˣ / (1 + eˣ)
    });
}

void by_hand(Chapter& chapter) {
    chapter.section("by hand, by the rule, by a difference");
    const Tensor x = tensor({-2, 0, 3}, float64).requires_grad_();
    const Tensor y = my_softplus(x);
    y.backward(ones({3}, float64));

    const double h = 0.001;
    const Tensor difference = (my_softplus(x.detach() + h) - my_softplus(x.detach() - h)) / (2 * h);
    std::printf("   x   softplus   e^x/(1+e^x)   backward   difference\n");
    for (std::int64_t i = 0; i < 3; ++i) {
        const double e = std::exp(x.at({i}));
        std::printf("%4.0f   %8.4f   %11.4f   %8.4f   %10.4f\n", x.at({i}), y.at({i}), e / (1 + e),
                    x.grad().at({i}), difference.at({i}));
    }
}

void large_values(Chapter& chapter) {
    chapter.section("a value that would overflow");
    const Tensor x = tensor(100.0);  // float32: eˣ is infinite for x > 88.7
    std::cout << "ln(1 + e^x) as written: " << log(1 + exp(x)).item() << "\n";
    std::cout << "softplus(x): " << my_softplus(x).item() << "\n";
}

// ---- two inputs, one of them broadcast

// y = x · w: x (N, C), w (C) → (N, C), a weight for each column.
Tensor weigh_columns(const Tensor& x, const Tensor& w) {
    Tensor y;
    {
        const NoGrad off;
        y = x * w;
    }
    return record("weigh_columns", y, {x, w}, {x, w}, [](const Saved& saved, const Tensor& dy) {
        const Tensor &x = saved[0], &w = saved[1];
        Tensor dx, dw;
        if (saved.needs_input_grad(0)) dx = dy * w;                     // (N, C)
        if (saved.needs_input_grad(1)) dw = sum_to(dy * x, w.shape());  // (N, C) → (C)
        return Grads{dx, dw};
    });
}

void two_inputs(Chapter& chapter) {
    chapter.section("two inputs, one of them broadcast");
    const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}}, float64);         // (N, C)
    const Tensor w = tensor({10, 20, 30}, float64).requires_grad_();  // (C)
    sum(weigh_columns(x, w)).backward();
    std::cout << "gradient of w: " << w.grad() << "\n";
    std::cout << "gradient of x: " << (x.grad().defined() ? "computed" : "not computed") << "\n";
}

// ---- what backward refuses

// Prints the message of the error that `action` throws.
void refused(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        std::cout << "refused: " << error.what() << "\n";
    }
}

// weigh_columns for an x outside the graph, with a rule that forgets sum_to.
Tensor weigh_wrongly(const Tensor& x, const Tensor& w) {
    Tensor y;
    {
        const NoGrad off;
        y = x * w;
    }
    return record("weigh_wrongly", y, {w}, {x}, [](const Saved& saved, const Tensor& dy) {
        return Grads{dy * saved[0]};  // (N, C), but w is (C)
    });
}

void refusals(Chapter& chapter) {
    chapter.section("a gradient of the wrong shape");
    const Tensor w = tensor({10, 20, 30}, float64).requires_grad_();  // (C)
    refused([&] { sum(weigh_wrongly(ones({2, 3}, float64), w)).backward(); });

    chapter.section("a saved tensor that was changed");
    Tensor x = tensor({1, 2, 3}, float64).requires_grad_();
    const Tensor y = sum(my_softplus(x));
    {
        const NoGrad off;
        x.add_(ones({3}, float64));  // the rule needs x as it was
    }
    refused([&] { y.backward(); });
}

// ---- checks

void show(const char* name, const check::GradcheckReport& report) {
    std::printf("%s: %zu derivatives compared, %s\n", name, report.elements,
                report ? "all agree" : "some are wrong");
}

void checks(Chapter& chapter) {
    chapter.section("gradcheck");
    Rng rng(1);
    const Tensor x = randn({3, 4}, rng, float64).requires_grad_();
    const check::Function softplus_of = [](const std::vector<Tensor>& inputs) {
        return my_softplus(inputs[0]);
    };
    show("softplus", check::gradcheck("softplus", softplus_of, {x}));

    const Tensor a = randn({3, 4}, rng, float64).requires_grad_();
    const Tensor w = randn({4}, rng, float64).requires_grad_();
    const check::Function weighed = [](const std::vector<Tensor>& inputs) {
        return weigh_columns(inputs[0], inputs[1]);
    };
    show("weigh_columns", check::gradcheck("weigh_columns", weighed, {a, w}));

    chapter.section("gradgradcheck");
    show("gradient of softplus", check::gradgradcheck("softplus", softplus_of, {x}));
}

// ---- differences: which step is best

// f'(x) ≈ Σ_k c_k (f(x + kh) − f(x − kh)) / h, for k = 1, 2, …
const std::map<int, std::vector<double>> coefficients = {
    {2, {1.0 / 2}},
    {4, {2.0 / 3, -1.0 / 12}},
    {8, {4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280}},
};

Tensor central_difference(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, double h, int order) {
    Tensor sum = zeros_like(x);
    double k = 1;
    for (const double c : coefficients.at(order)) {
        sum = sum + c * (f(x + k * h) - f(x - k * h));
        ++k;
    }
    return sum / h;
}

// Only +, · and /, which every processor rounds alike.
Tensor bell(const Tensor& x) { return 1 / (1 + x * x); }
Tensor slope_of_bell(const Tensor& x) { return -2 * x / ((1 + x * x) * (1 + x * x)); }
const Tensor points = arange(1, 16, 1, float64) / 16;  // (15)

// The absolute errors at all points, in ascending order.
std::vector<double> sorted_errors(int exponent, int order) {
    const double h = std::ldexp(1.0, -exponent);  // a power of two, so x ± kh is exact
    const Tensor error = central_difference(bell, points, h, order) - slope_of_bell(points);
    std::vector<double> errors = abs(error).to_vector<double>();
    std::sort(errors.begin(), errors.end());
    return errors;
}
double median_error(int exponent, int order) { return sorted_errors(exponent, order)[7]; }

constexpr int last = 40;

void error_table(Chapter& chapter) {
    chapter.section("the error of a difference, step by step");
    std::printf("h               order 2                  order 4                  order 8\n");
    for (const int k : {2, 3, 4, 5, 6, 7, 8, 10, 11, 14, 18, 20, 30, 40}) {
        std::printf("2^-%-2d = %.0e", k, std::ldexp(1.0, -k));
        for (const int order : {2, 4, 8}) {
            const std::vector<double> errors = sorted_errors(k, order);
            std::printf("   %.0e (%.0e to %.0e)", errors[7], errors.front(), errors.back());
        }
        std::printf("\n");
    }
}

void best_steps(Chapter& chapter) {
    chapter.section("the best step");
    const double u = std::ldexp(1.0, -53);  // half the distance from 1 to the next number
    std::printf("order   measured          C   best step       by the formula\n");
    for (const int p : {2, 4, 8}) {
        const double measured = std::log2(median_error(5, p) / median_error(6, p));
        const double C = median_error(5, p) / std::ldexp(1.0, -5 * p);  // error = C hᵖ
        int best = 1;
        for (int k = 1; k <= last; ++k)
            if (median_error(k, p) < median_error(best, p)) best = k;
        const double formula = std::pow(u * 0.8 / (p * C), 1.0 / (p + 1));
        std::printf("%5d   %8.2f   %8.3g   2^-%-2d = %.0e   %.0e\n", p, measured, C, best,
                    std::ldexp(1.0, -best), formula);
    }
}

void best_at_each_point(Chapter& chapter) {
    chapter.section("the best step at each point alone");
    for (const int p : {2, 4, 8}) {
        std::vector<int> best;
        for (std::int64_t i = 0; i < points.numel(); ++i) {
            const auto error_at = [&](int k) {
                const Tensor x = points[i];
                return std::abs(
                    (central_difference(bell, x, std::ldexp(1.0, -k), p) - slope_of_bell(x)).item());
            };
            best.push_back(1);
            for (int k = 1; k <= last; ++k)
                if (error_at(k) < error_at(best.back())) best.back() = k;
        }
        const auto [longest, shortest] = std::minmax_element(best.begin(), best.end());
        std::printf("order %d: 2^-%d to 2^-%d\n", p, *shortest, *longest);
    }
}

// ---- break it

// The rule forgets dy.
Tensor wrong_softplus(const Tensor& x) {
    Tensor y;
    {
        const NoGrad off;
        y = my_softplus(x);
    }
    return record("wrong_softplus", y, {x}, {x},
                  [](const Saved& saved, const Tensor&) { return Grads{sigmoid(saved[0])}; });
}

void broken(Chapter& chapter) {
    chapter.section("break it: a rule that forgets dy");
    const Tensor x = tensor({-2, 0, 3}, float64).requires_grad_();
    sum(wrong_softplus(x)).backward();
    std::printf("gradient of the sum: %.4f %.4f %.4f\n", x.grad().at({0}), x.grad().at({1}), x.grad().at({2}));

    const check::Function wrong = [](const std::vector<Tensor>& inputs) { return wrong_softplus(inputs[0]); };
    const std::string message = check::gradcheck("wrong_softplus", wrong, {x}).message;
    std::printf("%s\n", std::regex_replace(message, std::regex("(\\.\\d{4})\\d+"), "$1").c_str());
}

// ---- figures

std::string rule_picture() {
    viz::Drawing d(640, 250, "An operation, forward and backward");
    const std::string blue = viz::palette(0), red = viz::palette(1);
    d.text(60, 30, "forward", {.size = 15, .anchor = "start", .colour = blue, .bold = true});
    d.box(60, 50, 60, 44, "x", {.label = {.size = 17}});
    d.arrow(120, 72, 230, 72, {blue, 2});
    d.box(230, 50, 180, 44, "y = ln(1 + eˣ)", {.label = {.size = 16}});
    d.arrow(410, 72, 520, 72, {blue, 2});
    d.box(520, 50, 60, 44, "y", {.label = {.size = 17}});

    d.text(60, 228, "backward", {.size = 15, .anchor = "start", .colour = red, .bold = true});
    d.box(520, 160, 60, 44, "dy", {.fill = "#fdf0e8", .stroke = {red, 1.5}, .label = {.size = 17}});
    d.arrow(520, 182, 410, 182, {red, 2});
    d.box(230, 160, 180, 44, "dx = dy · eˣ/(1 + eˣ)",
          {.fill = "#fdf0e8", .stroke = {red, 1.5}, .label = {.size = 16}});
    d.arrow(230, 182, 120, 182, {red, 2});
    d.box(60, 160, 60, 44, "dx", {.fill = "#fdf0e8", .stroke = {red, 1.5}, .label = {.size = 17}});

    d.arrow(320, 94, 320, 160, {"#666", 1.5, true});
    d.text(332, 127, "x, saved for backward", {.size = 14, .anchor = "start", .colour = "#666"});
    return d.svg();
}

std::string secant_picture() {
    const double middle = 0.5, slope = -0.64, h = 0.5, low = 1, high = 0.5, chord = (high - low) / (2 * h);
    std::vector<double> x, y;
    for (int i = 0; i <= 60; ++i) {
        x.push_back(-0.4 + 0.03 * i);
        y.push_back(1 / (1 + x.back() * x.back()));
    }
    const auto through = [](double x0, double y0, double m) {
        return std::vector<double>{y0 + m * (-0.2 - x0), y0 + m * (1.2 - x0)};
    };
    viz::Plot plot({.title = "A central difference is the slope of a chord",
                    .x = "x",
                    .y = "f(x) = 1/(1 + x²)",
                    .legend = "bottom-left"});
    plot.line(x, y, "f");
    plot.line({-0.2, 1.2}, through(middle, 0.8, slope), "tangent at 1/2: slope −0.64", {.dashed = true});
    plot.line({-0.2, 1.2}, through(middle - h, low, chord), "chord from 1/2 − h to 1/2 + h: slope −0.50");
    plot.points({middle - h, middle + h}, {low, high}, {}, {.colour = viz::palette(2), .width = 4});
    return plot.svg();
}

std::string error_picture() {
    viz::Plot plot({.title = "Error of the derivative of 1/(1 + x²), median of 15 points",
                    .x = "step h",
                    .y = "|error|",
                    .log_x = true,
                    .log_y = true,
                    .legend = "bottom-left"});
    std::vector<double> steps, noise;
    for (int k = 1; k <= last; ++k) steps.push_back(std::ldexp(1.0, -k));
    for (const int order : {2, 4, 8}) {
        std::vector<double> errors;
        for (int k = 1; k <= last; ++k) errors.push_back(median_error(k, order));
        plot.line(steps, errors, "order " + std::to_string(order), {.markers = true});
    }
    for (const double h : steps) noise.push_back(std::ldexp(0.8, -53) / h);
    plot.line(steps, noise, "u · |f| / h", {.colour = "#666", .dashed = true});
    return plot.svg();
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    by_hand(chapter);
    large_values(chapter);
    two_inputs(chapter);
    refusals(chapter);
    checks(chapter);
    error_table(chapter);
    best_steps(chapter);
    best_at_each_point(chapter);
    broken(chapter);
    chapter.figure("05_rule", rule_picture());
    chapter.figure("05_chord", secant_picture());
    chapter.figure("05_error_curve", error_picture());
}
