// Chapter 6: a training loop: the loss, the loop, how large a step may be, and three optimisers.
//
// N pairs of temperatures, S starts. p (2, S): two parameters for each start.
#include "chapter.h"

// From here on the page shows the program.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <vector>

#include "weft/weft.h"

using namespace weft;

namespace {

// ---- the loss, by hand

void loss_by_hand(Chapter& chapter) {
    chapter.section("the loss by hand");
    const Tensor celsius = tensor({0, 100}, float64), fahrenheit = tensor({32, 212}, float64);  // (N)
    const Tensor w = tensor(0, float64).requires_grad_(), b = tensor(0, float64).requires_grad_();

    const Tensor loss = mse_loss(w * celsius + b, fahrenheit);
    loss.backward();
    std::printf("loss %.0f\ngradient of w %.0f, of b %.0f\n", loss.item(), w.grad().item(), b.grad().item());
}

// ---- the loop

const Tensor celsius = arange(-50, 51, 10, float64);  // (N)
const Tensor fahrenheit = 1.8 * celsius + 32;         // (N)

void loop_by_hand(Chapter& chapter) {
    chapter.section("the loop by hand");
    const Tensor x = celsius / 50;  // (N), between −1 and 1
    Tensor w = tensor(0, float64).requires_grad_(), b = tensor(0, float64).requires_grad_();
    for (int step = 0; step <= 200; ++step) {
        w.zero_grad();  // 1. clear the gradients of the step before
        b.zero_grad();
        const Tensor loss = mse_loss(w * x + b, fahrenheit);  // 2. forward
        loss.backward();                                      // 3. gradients
        {
            const NoGrad off;  // 4. p ← p − lr · gradient
            w.add_(w.grad(), -0.1);
            b.add_(b.grad(), -0.1);
        }
        if (step % 40 == 0) std::printf("step %3d   loss %.2e\n", step, loss.item());
    }
    std::printf("F = %.3f C + %.3f\n", w.item() / 50, b.item());
}

std::vector<double> loop_with_optimizer(Chapter& chapter) {
    chapter.section("the loop with an optimiser");
    const Tensor x = celsius / 50;
    const Tensor w = tensor(0, float64).requires_grad_(), b = tensor(0, float64).requires_grad_();
    optim::SGD optimizer(std::vector<Tensor>{w, b}, {.lr = 0.1});
    std::vector<double> losses;
    for (int step = 0; step <= 200; ++step) {
        optimizer.zero_grad();
        const Tensor loss = mse_loss(w * x + b, fahrenheit);
        loss.backward();
        optimizer.step();
        losses.push_back(loss.item());
    }
    std::printf("loss at the end %.2e\n", losses.back());
    return losses;
}

// ---- curvature

using Surface = std::function<Tensor(const Tensor&)>;  // p (2, S) → (S): S values; or p (2) → one value

// The mean squared error of the line p₀ x + p₁, x (N).
Surface line_loss(const Tensor& x) {
    return [x](const Tensor& p) {
        const Tensor error = p[0] * x.unsqueeze(1) + p[1] - fahrenheit.unsqueeze(1);  // (N, S)
        return mean(error * error, 0);                                                // (S)
    };
}

// The gradient of f, in the shape of `at`.
Tensor gradient(const Surface& f, const Tensor& at) {
    const Tensor p = at.clone().requires_grad_();
    sum(f(p)).backward();
    return p.grad();
}

// H_ij = ∂²f / ∂p_i ∂p_j of a quadratic f, whose gradient is g(p) = g(0) + H p. (2, 2)
Tensor hessian(const Surface& f) {
    const Tensor g = gradient(f, tensor({0, 0}, float64));
    return stack({gradient(f, tensor({1, 0}, float64)) - g, gradient(f, tensor({0, 1}, float64)) - g});
}

struct Curvatures {
    double largest, smallest;
};

// The eigenvalues of a symmetric (2, 2) matrix, the solutions λ of (H₀₀ − λ)(H₁₁ − λ) = H₀₁².
Curvatures curvatures(const Tensor& H) {
    const double mean = (H.at(0, 0) + H.at(1, 1)) / 2, half = (H.at(0, 0) - H.at(1, 1)) / 2;
    const double root = std::hypot(half, H.at(0, 1));
    return {mean + root, mean - root};
}

void curvature(Chapter& chapter) {
    chapter.section("curvature and the stability limit");
    for (const double scale : {1.0, 50.0}) {
        const auto [largest, smallest] = curvatures(hessian(line_loss(celsius / scale)));
        std::printf("x = C / %-2.0f   curvatures %6.1f and %.1f: %6.1f to 1   limit 2 / %.1f = %.4f\n", scale,
                    largest, smallest, largest / smallest, largest, 2 / largest);
    }
}

void rate_of_each(Chapter& chapter) {
    chapter.section("a learning rate for each parameter");
    const Tensor w = tensor(0, float64).requires_grad_(), b = tensor(0, float64).requires_grad_();
    optim::SGD optimizer({{{w}, {.lr = 1 / 2000.0}}, {{b}, {.lr = 1 / 2.0}}});
    for (int step = 0; step <= 1; ++step) {
        optimizer.zero_grad();
        const Tensor loss = mse_loss(w * celsius + b, fahrenheit);
        loss.backward();
        std::printf("step %d   loss %8.3f   F = %.3f C + %.3f\n", step, loss.item(), w.item(), b.item());
        optimizer.step();
    }
}

using Points = std::vector<Tensor>;  // before each step and after the last, (2, S) each

// Takes steps from S starts (2, S) side by side. Returns nothing if one of them goes beyond 10⁵⁰.
template <class Options>
Points descend(const Surface& f, const Tensor& starts, Options options, int steps) {
    const Tensor p = starts.clone().requires_grad_();
    optim::Optimizer<Options> optimizer(std::vector<Tensor>{p}, options);
    Points points = {starts};
    for (int step = 0; step < steps; ++step) {
        optimizer.zero_grad();
        sum(f(p)).backward();  // each start's gradient depends on that start alone
        optimizer.step();
        points.push_back(p.detach().clone());
        if (!(points.back().abs().max().item() < 1e50)) return {};
    }
    return points;
}

// The values in ascending order; the median is in the middle.
std::vector<double> sorted(const Tensor& values) {
    std::vector<double> list = values.to_vector<double>();
    std::sort(list.begin(), list.end());
    return list;
}
double median(const std::vector<double>& list) { return list[list.size() / 2]; }

void around_the_limit(Chapter& chapter) {
    chapter.section("just below and just above the limit");
    Rng rng(1);
    const Tensor starts = 100 * randn({2, 21}, rng, float64);  // (2, S)
    std::printf("loss after 300 steps / loss before, median (range) of 21 starts\n");
    std::printf("x        momentum   limit    at 0.99 of it             at 1.01 of it\n");
    for (const double scale : {1.0, 50.0})
        for (const double beta : {0.0, 0.9}) {
            const Surface loss = line_loss(celsius / scale);
            const double limit = 2 * (1 + beta) / curvatures(hessian(loss)).largest;
            std::printf("C / %-2.0f   %8.1f   %6.4f", scale, beta, limit);
            for (const double share : {0.99, 1.01}) {
                const optim::SGDOptions options{.lr = share * limit, .momentum = beta};
                const Tensor end = descend(loss, starts, options, 300).back();
                const std::vector<double> ratio = sorted(loss(end) / loss(starts));
                std::printf("   %.0e (%.0e to %.0e)", median(ratio), ratio.front(), ratio.back());
            }
            std::printf("\n");
        }
}

// ---- three optimisers

// A long valley with its minimum at (0, 0): curvature 1 along it and 100 across.
Tensor straight(const Tensor& p) { return 0.5 * (p[0] * p[0] + 100 * p[1] * p[1]); }

// A bent valley with the floor p₁ = p₀² and the minimum at (1, 1).
Tensor bent(const Tensor& p) {
    const Tensor along = 1 - p[0], across = p[1] - p[0] * p[0];
    return along * along + 10 * across * across;
}

Points sgd(const Surface& f, const Tensor& starts, double lr, int steps) {
    return descend(f, starts, optim::SGDOptions{.lr = lr}, steps);
}
Points momentum(const Surface& f, const Tensor& starts, double lr, int steps) {
    return descend(f, starts, optim::SGDOptions{.lr = lr, .momentum = 0.9}, steps);
}
Points adam(const Surface& f, const Tensor& starts, double lr, int steps) {
    return descend(f, starts, optim::AdamOptions{.lr = lr}, steps);
}

struct Method {
    const char* name;
    Points (*descend)(const Surface& f, const Tensor& starts, double lr, int steps);
};
const std::vector<Method> methods = {{"SGD", sgd}, {"momentum", momentum}, {"Adam", adam}};

// 225 starts on a grid over −2 ≤ p₀ ≤ 2, −1 ≤ p₁ ≤ 1, corners included. (2, S)
Tensor grid_of_starts() {
    const Tensor row = arange(-7, 8, 1, float64) / 7;  // (15)
    const Tensor p0 = 2 * row.expand({15, 15}), p1 = row.unsqueeze(1).expand({15, 15});
    return stack({p0.reshape({225}), p1.reshape({225})});
}

// 201 random starts, uniform in the same rectangle. (2, S)
Tensor random_starts() {
    Rng rng(1);
    return (2 * rand({2, 201}, rng, float64) - 1) * tensor({{2}, {1}}, float64);
}

// 4, 2.8, 2, … 2⁻¹⁰, each 1/√2 of the one before.
const std::vector<double> rates = [] {
    std::vector<double> list;
    for (int i = 0; i <= 24; ++i) list.push_back(std::exp2(2 - 0.5 * i));
    return list;
}();

// For each rate the median loss after the last step; infinite if one of the starts diverges.
std::vector<double> tune(const Method& method, const Surface& f, int steps) {
    const Tensor starts = grid_of_starts();
    std::vector<double> losses;
    for (const double lr : rates) {
        const Points points = method.descend(f, starts, lr, steps);
        losses.push_back(points.empty() ? INFINITY : median(sorted(f(points.back()))));
    }
    return losses;
}

// The rate with the smallest of these losses.
double best_rate(const std::vector<double>& losses) {
    const auto least = std::min_element(losses.begin(), losses.end());
    return rates[static_cast<std::size_t>(least - losses.begin())];
}

void first_step(Chapter& chapter) {
    chapter.section("the first step in the straight valley");
    const Tensor start = tensor({{-2}, {1}}, float64);
    const Tensor g = gradient(straight, start);
    std::printf("gradient         (%7.3f, %7.3f)\n", g.at(0, 0), g.at(1, 0));
    for (const std::size_t i : {0, 1, 2}) {
        const Tensor move = methods[i].descend(straight, start, 0.015, 1).back() - start;
        std::printf("%-8s moves   (%7.3f, %7.3f)\n", methods[i].name, move.at(0, 0), move.at(1, 0));
    }
}

struct Race {
    std::vector<std::vector<double>> tuning;  // for each method, the losses of tune()
    std::vector<double> chosen;               // for each method, its best rate
};

Race compare(Chapter& chapter, const char* title, const Surface& f, const std::vector<int>& steps) {
    chapter.section(title);
    std::printf("            rate");
    for (const int step : steps) std::printf("  %-23s", ("loss after " + std::to_string(step)).c_str());
    std::printf("\n");
    Race race;
    const Tensor starts = random_starts();
    for (const Method& method : methods) {
        race.tuning.push_back(tune(method, f, steps.back()));
        race.chosen.push_back(best_rate(race.tuning.back()));
        const Points points = method.descend(f, starts, race.chosen.back(), steps.back());
        std::printf("%-8s  %6.4f", method.name, race.chosen.back());
        for (const int step : steps) {
            const std::vector<double> losses = sorted(f(points.at(static_cast<std::size_t>(step))));
            std::printf("  %.0e (%.0e to %.0e)", median(losses), losses.front(), losses.back());
        }
        std::printf("\n");
    }
    return race;
}

// ---- break it

std::vector<double> forgotten(Chapter& chapter) {
    chapter.section("break it: zero_grad forgotten");
    const Tensor x = celsius / 50;
    const Tensor w = tensor(0, float64).requires_grad_(), b = tensor(0, float64).requires_grad_();
    optim::SGD optimizer(std::vector<Tensor>{w, b}, {.lr = 0.1});
    std::vector<double> losses;
    for (int step = 0; step <= 200; ++step) {
        const Tensor loss = mse_loss(w * x + b, fahrenheit);
        loss.backward();  // adds to the gradients of all steps before
        optimizer.step();
        losses.push_back(loss.item());
        if (step % 40 == 0) std::printf("step %3d   loss %.2e\n", step, loss.item());
    }
    return losses;
}

// ---- figures

std::vector<double> counted(std::size_t n) {
    std::vector<double> steps;
    for (std::size_t i = 0; i < n; ++i) steps.push_back(static_cast<double>(i));
    return steps;
}

std::string loop_picture() {
    viz::Drawing d(640, 270, "The four calls of a training step");
    const std::string blue = viz::palette(0), red = viz::palette(1), green = viz::palette(2);
    const auto box = [&](double x, double y, const std::string& text, const std::string& colour) {
        d.box(x, y, 210, 56, text, {.fill = "#fff", .stroke = {colour, 2}, .label = {.size = 14}});
    };
    box(50, 30, "1. zero_grad()\nclears the gradients", "#666");
    box(380, 30, "2. forward\ncomputes the loss", blue);
    box(380, 180, "3. backward()\ncomputes the gradients", red);
    box(50, 180, "4. step()\nchanges the parameters", green);
    d.arrow(260, 58, 380, 58).arrow(485, 86, 485, 180).arrow(380, 208, 260, 208).arrow(155, 180, 155, 86);
    d.text(320, 133, "one round per step", {.size = 15, .colour = "#666"});
    return d.svg();
}

std::string loss_picture(const std::vector<double>& right, const std::vector<double>& wrong) {
    viz::Plot plot({.title = "From Celsius to Fahrenheit",
                    .x = "step",
                    .y = "loss",
                    .log_y = true,
                    .legend = "bottom-left"});
    plot.line(counted(right.size()), right, "the loop");
    plot.line(counted(wrong.size()), wrong, "without zero_grad()");
    return plot.svg();
}

std::string rates_picture() {
    const Surface loss = line_loss(celsius / 50);
    viz::Plot plot({.title = "SGD at shares of the stability limit",
                    .x = "step",
                    .y = "loss",
                    .log_y = true,
                    .y_range = {1e-9, 1e6}});
    for (const double share : {0.10, 0.50, 0.71, 0.90, 0.99, 1.01}) {  // the limit is 1
        std::vector<double> losses;
        for (const Tensor& p : descend(loss, zeros({2, 1}, float64), optim::SGDOptions{.lr = share}, 100))
            losses.push_back(loss(p).item());
        std::string name = std::to_string(share);
        name.resize(4);
        plot.line(counted(losses.size()), losses, name, {.colour = share > 1 ? viz::palette(7) : ""});
    }
    return plot.svg();
}

// ln(f + small) on a grid, so that the lines of equal value are spread evenly. (R, C)
Tensor heights(const Surface& f, std::pair<double, double> x, std::pair<double, double> y, double small) {
    const int R = 81, C = 121;
    std::vector<double> xs, ys;
    for (int r = 0; r < R; ++r)
        for (int c = 0; c < C; ++c) {
            xs.push_back(x.first + (x.second - x.first) * c / (C - 1));
            ys.push_back(y.first + (y.second - y.first) * r / (R - 1));
        }
    const Tensor p = stack({from_vector(xs, {R * C}), from_vector(ys, {R * C})});  // (2, R·C)
    return log(f(p) + small).reshape({R, C});
}

std::string paths_picture(const std::string& title, const Surface& f, const std::vector<double>& chosen,
                          const Tensor& start, double minimum, int steps, std::pair<double, double> x,
                          std::pair<double, double> y, double small) {
    viz::Plot plot({.title = title, .x = "p₀", .y = "p₁", .x_range = x, .y_range = y});
    plot.field(heights(f, x, y, small), x, y, 12);
    for (const std::size_t i : {0, 1, 2}) {
        std::vector<double> px, py;
        for (const Tensor& p : methods[i].descend(f, start, chosen[i], steps)) {
            px.push_back(p.at(0, 0));
            py.push_back(p.at(1, 0));
        }
        plot.line(px, py, methods[i].name,
                  {.colour = viz::palette(i == 2 ? 7 : i),
                   .width = steps > 100 && i == 0 ? 4 : 1.7,
                   .markers = steps < 100});
    }
    plot.points({minimum}, {minimum}, "minimum", {.colour = viz::palette(5), .width = 4});
    return plot.svg();
}

std::string tuning_picture(const std::string& title, const Race& race) {
    viz::Plot plot({.title = title,
                    .x = "learning rate",
                    .y = "median loss after the last step",
                    .log_x = true,
                    .log_y = true});
    for (const std::size_t i : {0, 1, 2})
        plot.line(rates, race.tuning[i], methods[i].name,
                  {.colour = viz::palette(i == 2 ? 7 : i), .markers = true});
    return plot.svg();
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    loss_by_hand(chapter);
    loop_by_hand(chapter);
    const std::vector<double> right = loop_with_optimizer(chapter);
    curvature(chapter);
    rate_of_each(chapter);
    around_the_limit(chapter);
    first_step(chapter);
    const Race in_straight = compare(chapter, "the straight valley", straight, {10, 30, 100});
    const Race in_bent = compare(chapter, "the bent valley", bent, {30, 100, 300});
    const std::vector<double> wrong = forgotten(chapter);

    chapter.figure("06_loop", loop_picture());
    chapter.figure("06_loss", loss_picture(right, wrong));
    chapter.figure("06_rates", rates_picture());
    chapter.figure("06_valley", paths_picture("40 steps in a valley 100 times as steep across as along",
                                              straight, in_straight.chosen, tensor({{-2}, {1}}, float64), 0, 40,
                                              {-2.2, 1}, {-1.4, 1.4}, 0.1));
    chapter.figure("06_bent",
                   paths_picture("300 steps in a bent valley", bent, in_bent.chosen,
                                 tensor({{-1.2}, {1}}, float64), 1, 300, {-1.6, 1.6}, {-0.6, 1.8}, 1));
    chapter.figure("06_tuning", tuning_picture("After 300 steps in the bent valley", in_bent));
}
