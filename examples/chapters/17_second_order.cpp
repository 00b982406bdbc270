// Chapter 17: gradients of gradients: curvature, Newton's step, and a penalty on slopes.
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>

#include "chapter.h"
#include "weft/core/trace.h"
#include "weft/viz/figure.h"

using namespace weft;

namespace {

using Scalar = std::function<Tensor(const Tensor&)>;  // (n,) → ()

void thrice() {
    Tensor x = tensor(2.0, float64).requires_grad_();
    Tensor y = x * x * x;
    Tensor first = grad({y}, {x}, {}, {.create_graph = true})[0];       // 3x²
    Tensor second = grad({first}, {x}, {}, {.create_graph = true})[0];  // 6x
    Tensor third = grad({second}, {x})[0];                              // 6
    std::printf("y = %.1f, y' = %.1f, y'' = %.1f, y''' = %.1f\n", y.item(), first.item(), second.item(),
                third.item());
    std::printf("nodes behind y, y', y'': %zu, %zu, %zu\n", graph_nodes(y).size(), graph_nodes(first).size(),
                graph_nodes(second).size());
}

// H v of f at `at`: v (n,) → (n,), without H.
Tensor hessian_vector(const Scalar& f, const Tensor& at, const Tensor& v) {
    Tensor w = at.clone().requires_grad_();                       // (n,)
    Tensor g = grad({f(w)}, {w}, {}, {.create_graph = true})[0];  // (n,), and where it came from
    return grad({sum(g * v)}, {w})[0];                            // ∂(g · v)/∂w = H v
}

// All of H, a product for each row: (n, n).
Tensor hessian(const Scalar& f, const Tensor& at) {
    const std::int64_t n = at.size(0);
    std::vector<Tensor> rows;
    for (std::int64_t i = 0; i < n; ++i) rows.push_back(hessian_vector(f, at, eye(n, float64)[i]));
    return stack(rows, 0);
}

Tensor cubic(const Tensor& w) { return w[0] * w[0] * w[1] + w[1] * w[1] * w[1]; }  // w₁² w₂ + w₂³

void products() {
    const Tensor at = tensor({1.0, 2.0}, float64), v = tensor({1.0, -1.0}, float64);
    std::cout << "H v = " << hessian_vector(cubic, at, v) << "\n";
    std::cout << "H =\n" << hessian(cubic, at) << "\n";
}

void of_a_layer() {
    Rng rng(1);
    nn::CausalMultiHeadAttention attention(64, 4, rng);  // d_model, heads
    attention.to(float64);
    std::vector<Tensor> w = attention.parameters();         // (192, 64) and (64, 64)
    const Tensor x = randn({2, 8, 64}, rng, float64);       // (B, T, C)
    const Tensor target = randn({2, 8, 64}, rng, float64);  // (B, T, C)
    const Tensor v0 = randn(w[0].shape(), rng, float64), v1 = randn(w[1].shape(), rng, float64);

    const auto gradient = [&](GradOptions options) {
        return grad({mse_loss(attention(x), target)}, w, {}, options);
    };
    const std::vector<Tensor> g = gradient({.create_graph = true});
    const Tensor along = sum(g[0] * v0) + sum(g[1] * v1);  // how the loss changes along v
    const std::vector<Tensor> product = grad({along}, w);  // H v, in the shapes of the parameters

    // The same by a difference of two gradients, a little before and a little after.
    const double h = 1e-4;
    const auto moved = [&](double by) {
        const NoGrad off;
        w[0].add_(v0, by), w[1].add_(v1, by);
    };
    moved(h);
    const std::vector<Tensor> after = gradient({});
    moved(-2 * h);
    const std::vector<Tensor> before = gradient({});
    const double largest = max(abs(product[0])).item();
    const double apart = max(abs(product[0] - (after[0] - before[0]) / (2 * h))).item();
    std::printf("parameters %lld, so H has %.1f million elements\n",
                static_cast<long long>(w[0].numel() + w[1].numel()),
                std::pow(static_cast<double>(w[0].numel() + w[1].numel()), 2) / 1e6);
    std::printf("largest element of H v: %.4f\n", largest);
    std::printf("differences of gradients agree to one part in a million: %s\n",
                apart < 1e-6 * largest ? "yes" : "no");
}

// The valley of H. Rosenbrock (1960), with 10 for its 100. The lowest point is (1, 1).
Tensor valley(const Tensor& w) {
    const Tensor x = w[0], y = w[1];
    return (1 - x) * (1 - x) + 10 * (y - x * x) * (y - x * x);
}

// w less H⁻¹g, for two parameters.
Tensor newton_step(const Tensor& at) {
    Tensor w = at.clone().requires_grad_();
    const Tensor g = grad({valley(w)}, {w})[0], H = hessian(valley, at);  // (2,) and (2, 2)
    const double a = H.at({0, 0}), b = H.at({0, 1}), d = H.at({1, 1}), det = a * d - b * b;
    const double gx = g.at({0}), gy = g.at({1});
    return at - tensor({(d * gx - b * gy) / det, (a * gy - b * gx) / det}, float64);
}

Tensor descent_step(const Tensor& at) {
    Tensor w = at.clone().requires_grad_();
    return at - 0.015 * grad({valley(w)}, {w})[0];
}

struct Path {
    std::vector<double> x, y;
    void add(const Tensor& w) { x.push_back(w.at({0})), y.push_back(w.at({1})); }
};
Path walk(Tensor (*step)(const Tensor&), int steps) {
    Tensor w = tensor({-1.2, 1.0}, float64);
    Path path;
    for (int i = 0; i <= steps; ++i, w = step(w)) path.add(w);
    return path;
}

void newton() {
    const Path quick = walk(newton_step, 6), slow = walk(descent_step, 600);
    for (std::size_t i = 0; i < quick.x.size(); ++i)
        std::printf("step %zu   Newton (%.4f, %.4f)   descent (%.4f, %.4f)\n", i, quick.x[i], quick.y[i],
                    slow.x[i], slow.y[i]);
    std::printf("step 600                          descent (%.4f, %.4f)\n", slow.x[600], slow.y[600]);
}

// The largest eigenvalue of H, by products alone: v ← H v / ‖H v‖ turns v towards its eigenvector.
void largest_curvature() {
    const Tensor at = tensor({1.0, 1.0}, float64);
    Tensor v = tensor({1.0, 0.0}, float64);
    for (int i = 0; i < 3; ++i) {
        const Tensor Hv = hessian_vector(valley, at, v);
        const double norm = sqrt(sum(Hv * Hv)).item();
        std::printf("product %d: curvature along v is %.2f\n", i + 1, sum(v * Hv).item());
        v = Hv / norm;
    }
    std::printf("so steps of descent must stay below 2 / 101.61 = %.4f\n", 2 / 101.61);
}

// ---- a penalty on slopes

struct Fit {
    nn::Sequential net;
    double loss, roughness, error;  // on the points; mean squared slope; against the truth
};

Tensor line(double from, double to, std::int64_t n) {  // (n, 1)
    Tensor x = zeros({n, 1}, float64);
    for (std::int64_t i = 0; i < n; ++i)
        x.data<double>()[i] = from + (to - from) * static_cast<double>(i) / static_cast<double>(n - 1);
    return x;
}

// Fourteen points with noise: x and y, each (14, 1).
std::pair<Tensor, Tensor> measured() {
    Rng rng(5);
    Tensor x = line(-1.5, 1.5, 14);
    return {x, sin(3 * x) + 0.3 * randn({14, 1}, rng, float64)};
}

Fit fit(double strength) {
    Rng rng(1);
    nn::Sequential net{nn::Linear(1, 32, rng), tanh, nn::Linear(32, 32, rng), tanh, nn::Linear(32, 1, rng)};
    net.to(float64);
    optim::Adam optimizer(net, {.lr = 0.01});
    const auto [points, values] = measured();  // each (14, 1)
    double mse = 0;
    for (int step = 0; step < 2000; ++step) {
        optimizer.set_lr(optim::cosine_lr(step, {.lr = 0.01, .warmup_steps = 0, .steps = 2000}));
        optimizer.zero_grad();
        Tensor loss = mse_loss(net(points), values);
        mse = loss.item();
        if (strength > 0) {
            Tensor x = (3 * rand({32, 1}, rng, float64) - 1.5).requires_grad_();     // anywhere
            Tensor slope = grad({sum(net(x))}, {x}, {}, {.create_graph = true})[0];  // (32, 1)
            loss = loss + strength * mean(slope * slope);
        }
        loss.backward();
        optimizer.step();
    }
    Tensor x = line(-1.5, 1.5, 301).requires_grad_();
    const Tensor y = net(x), slope = grad({sum(y)}, {x}, {}, {.retain_graph = true})[0];
    return {net, mse, mean(slope * slope).item(), mse_loss(y, sin(3 * x)).item()};
}

void report(const char* name, const Fit& fit) {
    std::printf("%-16s  on the points %.3f   mean squared slope %5.2f   against the truth %.3f\n", name,
                fit.loss, fit.roughness, fit.error);
}

void checked() {
    Rng rng(2);
    const Tensor w = randn({4, 1}, rng, float64).requires_grad_(),
                 u = randn({1, 4}, rng, float64).requires_grad_();
    const auto penalty = [](const std::vector<Tensor>& in) {
        Tensor x = tensor({{0.3}, {-0.7}}, float64).requires_grad_();             // (2, 1)
        const Tensor y = matmul(tanh(matmul(x, in[1])), in[0]);                   // (2, 1)
        const Tensor slope = grad({sum(y)}, {x}, {}, {.create_graph = true})[0];  // (2, 1)
        return mean(slope * slope);
    };
    std::printf("the penalty's gradient is right: %s\n",
                check::gradcheck("penalty", penalty, {w, u}).passed ? "yes" : "no");
}

// y = x³, and a rule that gives the right slope, but forgets where it came from.
Tensor forgetful_cube(const Tensor& x) {
    Tensor y;
    {
        NoGrad off;
        y = x * x * x;
    }
    return record("forgetful_cube", y, {x}, {x}, [](const Saved& saved, const Tensor& dy) {
        const Tensor x = saved[0].detach();
        return Grads{3 * x * x * dy};
    });
}

void broken() {
    try {
        Tensor w = tensor({1.0, 2.0}, float64).requires_grad_();
        Tensor g = grad({cubic(w)}, {w})[0];  // create_graph is missing
        (void)grad({sum(g)}, {w});
    } catch (const GraphError& error) {
        std::printf("%s\n\n", error.what());
    }
    const auto cube = [](const std::vector<Tensor>& in) { return forgetful_cube(in[0]); };
    const Tensor x = tensor({2.0}, float64).requires_grad_();
    const check::GradcheckReport once = check::gradcheck("forgetful_cube", cube, {x});
    const check::GradcheckReport twice = check::gradgradcheck("forgetful_cube", cube, {x});
    std::printf("gradcheck: %s\n", once.passed ? "passed" : "failed");
    std::printf("gradgradcheck: %s\n", twice.passed ? "passed" : "failed");
    std::printf("%s\n", twice.message.substr(0, twice.message.find(": expected")).c_str());
}

// ---- figures

std::string twice_figure() {
    viz::Drawing d(580, 256,
                   "From the parameters to the loss, to its gradient, and to a Hessian-vector product");
    const viz::BoxStyle leaf = {.fill = "#fdf3d8", .stroke = {"#b8860b", 1.5, false}};
    const viz::BoxStyle result = {.fill = "#e6f4ec", .stroke = {"#009e73", 1.5, false}};
    d.box(20, 30, 110, 44, "parameters\nw", leaf).box(220, 30, 110, 44, "loss\nL");
    d.box(220, 120, 110, 44, "gradient\ng = ∂L/∂w").box(440, 30, 110, 44, "direction\nv", leaf);
    d.box(440, 120, 110, 44, "number\ns = g · v").box(220, 195, 110, 44, "product\nH v = ∂s/∂w", result);
    d.arrow(130, 52, 219, 52).arrow(275, 74, 275, 119, {"#d55e00", 2, false});
    d.arrow(330, 142, 439, 142).arrow(495, 74, 495, 119);
    d.path({{495, 164}, {495, 217}}, {"#d55e00", 2, false}).arrow(495, 217, 331, 217, {"#d55e00", 2, false});
    d.path({{75, 74}, {75, 142}}).arrow(75, 142, 219, 142);
    d.text(175, 42, "forward", {.size = 12})
        .text(284, 97, "backward, recorded", {.size = 12, .anchor = "start", .colour = "#d55e00"});
    d.text(147, 132, "g depends on w, too", {.size = 12});
    d.text(413, 207, "backward again", {.size = 12, .colour = "#d55e00"});
    return d.svg();
}

std::string valley_figure() {
    constexpr std::int64_t rows = 61, columns = 81;
    Tensor heights = zeros({rows, columns}, float64);  // √ of the height, so that the lines spread
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c) {
            const double x = -2 + 4.0 * static_cast<double>(c) / (columns - 1);
            const double y = -1.2 + 3.2 * static_cast<double>(r) / (rows - 1);
            heights.data<double>()[r * columns + c] = std::sqrt(valley(tensor({x, y}, float64)).item());
        }
    const Path quick = walk(newton_step, 6), slow = walk(descent_step, 600);
    return viz::Plot({.title = "Newton's six steps, and six hundred of gradient descent",
                      .x = "w₁",
                      .y = "w₂",
                      .legend = "bottom-left"})
        .field(heights, {-2, 2}, {-1.2, 2}, 12)
        .line(slow.x, slow.y, "gradient descent", {.colour = viz::palette(1), .width = 2.5})
        .line(quick.x, quick.y, "Newton", {.colour = viz::palette(0), .markers = true})
        .points({1}, {1}, "lowest point", {.colour = "#000"})
        .svg();
}

std::string penalty_figure(const Fit& free, const Fit& smooth) {
    const NoGrad off;
    const auto [points, values] = measured();
    const Tensor x = line(-1.5, 1.5, 201);  // (201, 1)
    const auto numbers = [](const Tensor& t) { return t.to_vector<double>(); };
    return viz::Plot({.title = "The same net, points and steps, without and with a penalty",
                      .x = "x",
                      .y = "y",
                      .legend = "bottom-left"})
        .line(numbers(x), numbers(sin(3 * x)), "truth", {.colour = "#999", .dashed = true})
        .line(numbers(x), numbers(free.net(x)), "no penalty", {.colour = viz::palette(1)})
        .line(numbers(x), numbers(smooth.net(x)), "penalty", {.colour = viz::palette(0)})
        .points(numbers(points), numbers(values), "measured", {.colour = "#000"})
        .svg();
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    chapter.section("A slope of a slope");
    thrice();
    chapter.section("Hessian-vector products");
    products();
    chapter.section("Of a layer");
    of_a_layer();
    chapter.section("Newton's step");
    newton();
    chapter.section("The largest curvature");
    largest_curvature();
    chapter.section("A penalty on slopes");
    const Fit free = fit(0), smooth = fit(0.02);
    report("no penalty", free);
    report("penalty of 0.02", smooth);
    report("penalty of 0.1", fit(0.1));
    checked();
    chapter.section("Break it");
    broken();
    chapter.figure("17_twice", twice_figure());
    chapter.figure("17_valley", valley_figure());
    chapter.figure("17_penalty", penalty_figure(free, smooth));
}
