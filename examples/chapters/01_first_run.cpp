// Chapter 1: the gradient of one number, a few steps downhill, and a line fitted to five points.
#include <cstdio>
#include <regex>
#include <sstream>
#include <utility>

#include "chapter.h"
#include "weft/viz/figure.h"

using namespace weft;

extern const char* const project_folder;  // of Weft; CMake writes it

namespace {

void difference_quotients() {
    std::printf("step h   (f(3 + h) - f(3)) / h\n");
    for (const double h : {1.0, 0.1, 0.01, 0.001}) {
        const double quotient = ((3 + h) * (3 + h) - 3 * 3) / h;
        std::printf("%-5g    %.3f\n", h, quotient);
    }
}

void downhill() {
    Tensor x = tensor(3.0, float64).requires_grad_();
    for (int step = 0; step <= 5; ++step) {
        Tensor y = x * x;
        x.zero_grad();
        y.backward();
        std::printf("step %d   x = %.3f   y = %.3f   dy/dx = %.3f\n", step, x.item(), y.item(),
                    x.grad().item());
        NoGrad off;
        x.add_(x.grad(), -0.1);  // x ← x − 0.1 · dy/dx
    }
}

// The mean squared error of the line y = w x + b at five points.
Tensor error_of_line(const Tensor& w, const Tensor& b) {
    const Tensor x = tensor({0, 1, 2, 3, 4}, float64);
    const Tensor y = tensor({1.2, 2.7, 5.3, 6.8, 9.0}, float64);
    const Tensor residual = w * x + b - y;  // five numbers
    return mean(residual * residual);
}

void fit_line() {
    Tensor w = tensor(0.0, float64).requires_grad_();
    Tensor b = tensor(0.0, float64).requires_grad_();
    for (int step = 0; step <= 200; ++step) {
        Tensor loss = error_of_line(w, b);
        w.zero_grad();
        b.zero_grad();
        loss.backward();
        if (step <= 2 || step == 20 || step == 200)
            std::printf("step %3d   w = %.3f   b = %.3f   loss = %7.4f\n", step, w.item(), b.item(),
                        loss.item());
        NoGrad off;
        w.add_(w.grad(), -0.1);
        b.add_(b.grad(), -0.1);
    }
}

// ---- Break it

void cut() {
    Tensor w = tensor(0.0, float64).requires_grad_();
    Tensor b = tensor(0.0, float64).requires_grad_();
    for (int step = 0; step <= 100; ++step) {
        Tensor loss = error_of_line(w.detach(), b);
        b.zero_grad();
        loss.backward();
        if (step % 50 == 0)
            std::printf("step %3d   w = %.3f   b = %.3f   loss = %7.4f\n", step, w.item(), b.item(),
                        loss.item());
        NoGrad off;
        b.add_(b.grad(), -0.1);
    }
    std::printf("b has a gradient: %s\n", b.grad().defined() ? "yes" : "no");
    std::printf("w has a gradient: %s\n", w.grad().defined() ? "yes" : "no");
}

void nothing_left() {
    Tensor w = tensor(0.0, float64).requires_grad_();
    Tensor b = tensor(0.0, float64).requires_grad_();
    try {
        error_of_line(w.detach(), b.detach()).backward();
    } catch (const GraphError& error) {
        std::printf("%s\n", error.what());
    }
}

// The loss after that many steps, with the gradients cleared before each step or not.
double loss_after(int steps, bool clear) {
    Tensor w = tensor(0.0, float64).requires_grad_();
    Tensor b = tensor(0.0, float64).requires_grad_();
    for (int step = 0; step < steps; ++step) {
        if (clear) {
            w.zero_grad();
            b.zero_grad();
        }
        error_of_line(w, b).backward();
        NoGrad off;
        w.add_(w.grad(), -0.1);
        b.add_(b.grad(), -0.1);
    }
    return error_of_line(w, b).item();
}

void added_up() {
    std::printf("steps   cleared   added up\n");
    for (const int steps : {0, 1, 2, 3, 4, 5, 100, 200})
        std::printf("%5d   %7.2f   %8.2f\n", steps, loss_after(steps, true), loss_after(steps, false));
}

// ---- figures

std::string slope_figure() {
    std::vector<double> x, y;
    for (int i = 0; i <= 60; ++i) x.push_back(-1.5 + i * 0.1), y.push_back(x.back() * x.back());
    std::vector<double> steps, heights;
    double at = 3;
    for (int step = 0; step <= 5; ++step, at -= 0.1 * 2 * at) steps.push_back(at), heights.push_back(at * at);
    return viz::Plot({.title = "Five steps of gradient descent on y = x²",
                      .x = "x",
                      .y = "y",
                      .height = 360,
                      .x_range = {-1.5, 4.2},
                      .y_range = {-1, 17},
                      .legend = "top-left"})
        .line(x, y, "y = x²")
        .line({2, 4}, {3, 15}, "slope 6 at x = 3", {.dashed = true})
        .points(steps, heights, "x at steps 0 to 5")
        .svg();
}

// The same descent with plain numbers and the formulas of the page: w, b and the loss at each step.
struct Descent {
    std::vector<double> w = {0}, b = {0}, loss;
};
Descent descent_by_formula(int steps) {
    const std::vector<double> x = {0, 1, 2, 3, 4}, y = {1.2, 2.7, 5.3, 6.8, 9.0};
    Descent d;
    for (int step = 0; step <= steps; ++step) {
        const double w = d.w.back(), b = d.b.back();
        double loss = 0, dw = 0, db = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double residual = w * x[i] + b - y[i];
            loss += residual * residual / 5;
            dw += 2 * residual * x[i] / 5;
            db += 2 * residual / 5;
        }
        d.loss.push_back(loss);
        d.w.push_back(w - 0.1 * dw);
        d.b.push_back(b - 0.1 * db);
    }
    return d;
}

std::string line_figure() {
    const Descent d = descent_by_formula(200);
    viz::Plot plot({.title = "The line after 0, 1, 2 and 200 steps",
                    .x = "x",
                    .y = "y",
                    .height = 380,
                    .x_range = {-0.3, 4.3},
                    .y_range = {-1, 14},
                    .legend = "top-left"});
    for (const std::size_t step : {0u, 1u, 2u, 200u})
        plot.line({-0.3, 4.3}, {d.b[step] - 0.3 * d.w[step], d.b[step] + 4.3 * d.w[step]},
                  "step " + std::to_string(step), {.dashed = step < 200});
    return plot.points({0, 1, 2, 3, 4}, {1.2, 2.7, 5.3, 6.8, 9.0}, "the five points", {.colour = "#222"}).svg();
}

std::string loss_figure() {
    const Descent d = descent_by_formula(60);
    std::vector<double> steps;
    for (std::size_t i = 0; i < d.loss.size(); ++i) steps.push_back(static_cast<double>(i));
    return viz::Plot({.title = "The loss of the line, on a logarithmic axis",
                      .x = "step",
                      .y = "loss",
                      .log_y = true,
                      .height = 300,
                      .y_range = {0.03, 50}})
        .line(steps, d.loss, "", {.markers = true})
        .horizontal(0.0502, "least possible: 0.0502", {.dashed = true})
        .svg();
}

// "12 Attention's backward, by hand" in two lines, as nearly equal as words allow; a short title stays in one.
std::string in_two_lines(const std::string& title) {
    std::string best = title;
    if (title.size() <= 18) return title;
    std::size_t shortest = title.size();
    for (std::size_t at = title.find(' '); at != std::string::npos; at = title.find(' ', at + 1))
        if (const std::size_t longer = std::max(at, title.size() - at - 1); longer < shortest) {
            shortest = longer;
            best = title;
            best[at] = '\n';
        }
    return best;
}

// The parts and chapters that the book's table of contents, docs/README.md, has today.
std::string way_figure() {
    struct Part {
        std::string name;
        std::vector<std::string> chapters;
    };
    std::vector<Part> parts;
    std::vector<std::string> before;  // the chapters that stand before the first part
    static const std::regex part("### Part [0-9]+: (.+)"), chapter(R"(\| ([0-9]+) \| \[(.+)\]\([0-9].+)");
    std::istringstream lines(io::load_text(std::string(project_folder) + "/docs/README.md"));
    std::smatch found;
    for (std::string line; std::getline(lines, line);)
        if (std::regex_match(line, found, part))
            parts.push_back({found[1], std::exchange(before, {})});
        else if (std::regex_match(line, found, chapter))
            (parts.empty() ? before : parts.back().chapters)
                .push_back(in_two_lines(found[1].str() + " " + found[2].str()));
    std::size_t rows = 0;
    for (const Part& p : parts) rows = std::max(rows, p.chapters.size());
    const double width = 126, step = 138, row = 58, top = 40;
    viz::Drawing d(12 + step * static_cast<double>(parts.size()), top + row * static_cast<double>(rows) - 6,
                   "The parts of the book, each building on the one before");
    for (std::size_t p = 0; p < parts.size(); ++p) {
        const double left = 12 + static_cast<double>(p) * step, middle = left + width / 2;
        d.text(middle, 20, parts[p].name, {.size = 14, .bold = true});
        for (std::size_t c = 0; c < parts[p].chapters.size(); ++c) {
            const std::string& title = parts[p].chapters[c];
            const double y = top + static_cast<double>(c) * row;
            d.box(left, y, width, 42, title,
                  {.fill = title.starts_with("1 ") ? "#fdf3d8" : "#eef3fa", .label = {.size = 12}});
            if (c > 0) d.arrow(middle, y - 16, middle, y - 1);
        }
        if (p > 0) d.arrow(left - 27, 20, left + 17, 20);
    }
    return d.svg();
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    chapter.section("The difference quotient");
    difference_quotients();
    chapter.section("Downhill");
    downhill();
    chapter.section("A line through five points");
    fit_line();
    chapter.section("Break it: a parameter cut off");
    cut();
    std::printf("\n");
    nothing_left();
    chapter.section("Break it: gradients that add up");
    added_up();
    chapter.figure("01_way", way_figure());
    chapter.figure("01_slope", slope_figure());
    chapter.figure("01_line", line_figure());
    chapter.figure("01_loss", loss_figure());
}
