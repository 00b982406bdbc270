// 6. A training loop: the loss, the loop, three optimisers, and how large a step may be.
//
// N pairs of temperatures. p (2): the two numbers that are learned.
#include <cmath>
#include <functional>

#include "chapter.h"

using namespace weft;

namespace {

// ---- the loss, by hand

void loss_by_hand(Chapter& chapter) {
    chapter.section("the loss by hand");
    const Tensor celsius = tensor({0, 100}, float64), fahrenheit = tensor({32, 212}, float64);  // (N)
    Tensor w = tensor(0, float64).requires_grad_(), b = tensor(0, float64).requires_grad_();

    Tensor loss = mse_loss(w * celsius + b, fahrenheit);
    loss.backward();
    std::printf("loss %.0f\ngradient of w %.0f, of b %.0f\n", loss.item(), w.grad().item(), b.grad().item());
}

// ---- the loop

struct Temperatures {
    Tensor celsius, fahrenheit;  // (N, 1) each
};

Temperatures measure() {
    const Tensor celsius = arange(-50, 51, 10, float64).reshape({11, 1});
    return {celsius, 1.8 * celsius + 32};
}

std::vector<double> train_a_line(Chapter& chapter) {
    chapter.section("the loop");
    const auto [celsius, fahrenheit] = measure();
    const Tensor x = celsius / 50;  // (N, 1), between −1 and 1

    Rng rng(1);
    nn::Linear model(1, 1, rng);
    model.to(float64);
    optim::SGD optimizer(model, {.lr = 0.1});
    std::vector<double> losses;
    for (int step = 0; step <= 200; ++step) {
        optimizer.zero_grad();                               // 1. forget the last step's gradients
        const Tensor loss = mse_loss(model(x), fahrenheit);  // 2. forward
        loss.backward();                                     // 3. gradients
        optimizer.step();                                    // 4. p ← p − lr · gradient
        losses.push_back(loss.item());
        if (step % 40 == 0) std::printf("step %3d   loss %.2e\n", step, loss.item());
    }
    std::printf("F = %.3f C + %.3f\n", model.weight.item() / 50, model.bias.item());
    return losses;
}

// ---- how large a step may be

using Surface = std::function<Tensor(const Tensor&)>;  // p (2) → ()

// The same loss as a function of p = (w, b).
Surface line_loss(const Tensor& x, const Tensor& y) {
    return [x, y](const Tensor& p) { return mse_loss(p[0] * x + p[1], y); };
}

// H_ij = ∂²f / ∂p_i ∂p_j: each row is the gradient of an element of the gradient. (2, 2)
Tensor hessian(const Surface& f, const Tensor& at) {
    Tensor p = at.clone().requires_grad_();
    const Tensor g = grad({f(p)}, {p}, {}, {.create_graph = true})[0];  // (2)
    std::vector<Tensor> rows;
    for (int i = 0; i < 2; ++i) rows.push_back(grad({g[i]}, {p}, {}, {.retain_graph = true})[0]);
    return stack(rows);
}

// The eigenvalues of a symmetric (2, 2) matrix, the larger first.
std::pair<double, double> curvatures(const Tensor& H) {
    const double half = (H.at({0, 0}) + H.at({1, 1})) / 2, difference = (H.at({0, 0}) - H.at({1, 1})) / 2,
                 root = std::hypot(difference, H.at({0, 1}));
    return {half + root, half - root};
}

struct Path {
    std::vector<double> x, y, loss;  // before each step, and after the last
};

template <class Options>
Path descend(const Surface& f, const Tensor& start, Options options, int steps) {
    Tensor p = start.clone().requires_grad_();
    optim::Optimizer<Options> optimizer(std::vector<Tensor>{p}, options);
    Path path;
    for (int step = 0; step <= steps; ++step) {
        optimizer.zero_grad();
        const Tensor loss = f(p);
        path.x.push_back(p.at({0})), path.y.push_back(p.at({1})), path.loss.push_back(loss.item());
        if (step == steps) break;
        loss.backward();
        optimizer.step();
    }
    return path;
}

const Tensor origin = zeros({2}, float64);

void curvature(Chapter& chapter) {
    chapter.section("curvature and the stability limit");
    const auto [celsius, fahrenheit] = measure();
    for (const double scale : {1.0, 50.0}) {
        const Tensor H = hessian(line_loss(celsius / scale, fahrenheit), origin);
        const auto [largest, smallest] = curvatures(H);
        std::printf("x = C / %-2.0f   curvatures %6.1f and %.1f: %6.1f to 1   limit 2 / %.1f = %.4f\n", scale,
                    largest, smallest, largest / smallest, largest, 2 / largest);
    }
}

void around_the_limit(Chapter& chapter) {
    chapter.section("just below and just above");
    const auto [celsius, fahrenheit] = measure();
    std::printf("x        momentum    limit   loss at first   after 100 at 0.99   at 1.01 of it\n");
    for (const double scale : {1.0, 50.0})
        for (const double momentum : {0.0, 0.9}) {
            const Surface loss = line_loss(celsius / scale, fahrenheit);
            const double limit = 2 * (1 + momentum) / curvatures(hessian(loss, origin)).first;
            const auto last = [&](double share) {
                return descend(loss, origin, optim::SGDOptions{.lr = share * limit, .momentum = momentum}, 100)
                    .loss.back();
            };
            std::printf("C / %-2.0f   %8.1f   %6.4f   %13.0f   %17.1e   %13.1e\n", scale, momentum, limit,
                        loss(origin).item(), last(0.99), last(1.01));
        }
}

// ---- one surface, three optimisers

// A long valley: curvature 1 along it and 25 across.
Tensor valley(const Tensor& p) { return 0.5 * (p[0] * p[0] + 25 * p[1] * p[1]); }

// Rosenbrock's: a bent valley whose floor is y = x², with the minimum at (1, 1).
Tensor banana(const Tensor& p) {
    const Tensor along = 1 - p[0], across = p[1] - p[0] * p[0];
    return along * along + 100 * across * across;
}

struct Race {
    Surface f;
    Tensor start;
    double lr, momentum, adam_lr;
    double minimum;  // p₀ = p₁ there

    std::vector<Path> run(int steps) const {
        return {descend(f, start, optim::SGDOptions{.lr = lr}, steps),
                descend(f, start, optim::SGDOptions{.lr = lr, .momentum = momentum}, steps),
                descend(f, start, optim::AdamOptions{.lr = adam_lr}, steps)};
    }
};
const Race straight{valley, tensor({-4, 1}, float64), 0.07, 0.6, 0.3, 0};
const Race bent{banana, tensor({-1.2, 1}, float64), 0.001, 0.9, 0.05, 1};
const char* const names[] = {"SGD", "momentum", "Adam"};

void first_step(Chapter& chapter) {
    chapter.section("the first step in the valley");
    Tensor p = straight.start.clone().requires_grad_();
    valley(p).backward();
    std::printf("gradient         (%6.2f, %6.2f)\n", p.grad().at({0}), p.grad().at({1}));
    const std::vector<Path> paths = straight.run(1);
    for (std::size_t i = 0; i < paths.size(); ++i)
        std::printf("%-8s moves   (%6.2f, %6.2f)\n", names[i], paths[i].x[1] - paths[i].x[0],
                    paths[i].y[1] - paths[i].y[0]);
}

void compare(Chapter& chapter, const char* title, const Race& race, const std::vector<int>& steps) {
    chapter.section(title);
    const std::vector<Path> paths = race.run(steps.back());
    std::printf("loss after");
    for (const int step : steps) std::printf("  %8d", step);
    for (std::size_t i = 0; i < paths.size(); ++i) {
        std::printf("\n%-10s", names[i]);
        for (const int step : steps) std::printf("  %8.1e", paths[i].loss[static_cast<std::size_t>(step)]);
    }
    std::printf("\n");
}

// ---- break it

std::vector<double> forgotten(Chapter& chapter) {
    chapter.section("break it: zero_grad forgotten");
    const auto [celsius, fahrenheit] = measure();
    const Tensor x = celsius / 50;
    Rng rng(1);
    nn::Linear model(1, 1, rng);
    model.to(float64);
    optim::SGD optimizer(model, {.lr = 0.1});
    std::vector<double> losses;
    for (int step = 0; step <= 200; ++step) {
        const Tensor loss = mse_loss(model(x), fahrenheit);
        loss.backward();  // adds to what the last steps left
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
        d.box(x, y, 190, 56, text, {.fill = "#fff", .stroke = {colour, 2}, .label = {.size = 15}});
    };
    box(60, 30, "1. zero_grad()\ngradients are gone", "#666");
    box(390, 30, "2. forward\nloss of the batch", blue);
    box(390, 180, "3. backward()\ngradients are there", red);
    box(60, 180, "4. step()\nparameters change", green);
    d.arrow(250, 58, 390, 58).arrow(485, 86, 485, 180).arrow(390, 208, 250, 208).arrow(155, 180, 155, 86);
    d.text(320, 133, "once for each step", {.size = 15, .colour = "#666"});
    return d.svg();
}

std::string loss_picture(const std::vector<double>& right, const std::vector<double>& wrong) {
    viz::Plot plot({.title = "From Celsius to Fahrenheit",
                    .x = "step",
                    .y = "loss",
                    .log_y = true,
                    .legend = "bottom-left"});
    plot.line(counted(right.size()), right, "the loop");
    plot.line(counted(wrong.size()), wrong, "zero_grad forgotten");
    return plot.svg();
}

std::string rates_picture() {
    const auto [celsius, fahrenheit] = measure();
    const Surface loss = line_loss(celsius / 50, fahrenheit);
    viz::Plot plot({.title = "SGD at shares of the stability limit",
                    .x = "step",
                    .y = "loss",
                    .log_y = true,
                    .y_range = {1e-9, 1e6}});
    for (const double share : {0.10, 0.50, 0.90, 0.99, 1.01}) {
        const Path path = descend(loss, origin, optim::SGDOptions{.lr = share}, 100);  // the limit is 1
        std::string name = std::to_string(share);
        name.resize(4);
        plot.line(counted(path.loss.size()), path.loss, name, {.colour = share > 1 ? viz::palette(7) : ""});
    }
    return plot.svg();
}

// ln(f + small) on a grid, so that the lines of equal value lie apart. (R, C)
Tensor heights(const Surface& f, std::pair<double, double> x, std::pair<double, double> y, double small) {
    const int R = 81, C = 121;
    std::vector<double> values;
    for (int r = 0; r < R; ++r)
        for (int c = 0; c < C; ++c) {
            const Tensor p = tensor({x.first + (x.second - x.first) * (c + 0.5) / C,
                                     y.first + (y.second - y.first) * (r + 0.5) / R},
                                    float64);
            values.push_back(std::log(f(p).item() + small));
        }
    return from_vector(values, {R, C});
}

std::string paths_picture(const std::string& title, const Race& race, int steps, std::pair<double, double> x,
                          std::pair<double, double> y, double small) {
    viz::Plot plot({.title = title, .x = "p₀", .y = "p₁", .x_range = x, .y_range = y});
    plot.field(heights(race.f, x, y, small), x, y, 12);
    const std::vector<Path> paths = race.run(steps);
    for (const std::size_t i : {0, 1, 2})
        plot.line(paths[i].x, paths[i].y, names[i],
                  {.colour = viz::palette(i == 2 ? 7 : i),
                   .width = steps > 100 && i == 0 ? 4 : 1.7,
                   .markers = steps < 100});
    plot.points({race.minimum}, {race.minimum}, "minimum", {.colour = viz::palette(5), .width = 4});
    return plot.svg();
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    loss_by_hand(chapter);
    const std::vector<double> right = train_a_line(chapter);
    curvature(chapter);
    around_the_limit(chapter);
    first_step(chapter);
    compare(chapter, "the straight valley", straight, {0, 10, 20, 40, 80});
    compare(chapter, "the bent valley", bent, {0, 100, 1000, 3000});
    const std::vector<double> wrong = forgotten(chapter);

    chapter.figure("06_loop", loop_picture());
    chapter.figure("06_loss", loss_picture(right, wrong));
    chapter.figure("06_rates", rates_picture());
    chapter.figure("06_valley", paths_picture("40 steps in a valley 25 times as steep across as along",
                                              straight, 40, {-4.5, 1.5}, {-1.3, 1.3}, 0.1));
    chapter.figure("06_bent",
                   paths_picture("1,000 steps in a bent valley", bent, 1000, {-1.6, 1.6}, {-0.6, 1.8}, 1));
}
