// Chapter 21: gradients of gradients: curvature, Newton's step, and a penalty on slopes.
#include "chapter.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>

#include "weft/weft.h"

using namespace weft;

namespace {

void thrice() {
    Tensor x = tensor(2.0, float64).requires_grad_();
    Tensor y = x * x * x;
    Tensor first = grad({y}, {x}, {}, {.create_graph = true})[0];       // 3x²
    Tensor second = grad({first}, {x}, {}, {.create_graph = true})[0];  // 6x
    Tensor third = grad({second}, {x})[0];                              // 6
    std::printf("y = %.1f, y' = %.1f, y'' = %.1f, y''' = %.1f\n", y.item(), first.item(), second.item(),
                third.item());
    std::printf("nodes in the graph of y: %zu, of y': %zu, of y'': %zu\n", graph_nodes(y).size(),
                graph_nodes(first).size(), graph_nodes(second).size());
}

using Scalar = std::function<Tensor(const Tensor&)>;  // (n,) → ()

// H v of f at `at`: v (n,) → (n,), without H.
Tensor hessian_vector(const Scalar& f, const Tensor& at, const Tensor& v) {
    Tensor w = at.clone().requires_grad_();                       // (n,)
    Tensor g = grad({f(w)}, {w}, {}, {.create_graph = true})[0];  // (n,), with its graph
    return grad({sum(g * v)}, {w})[0];                            // ∂(g · v)/∂w = H v
}

// All of H, one product for each row: (n, n).
Tensor hessian_of(const Scalar& f, const Tensor& at) {
    const std::int64_t n = at.size(0);
    std::vector<Tensor> rows;
    for (std::int64_t i = 0; i < n; ++i) rows.push_back(hessian_vector(f, at, eye(n, float64)[i]));
    return stack(rows);
}

Tensor cubic(const Tensor& w) { return w[0] * w[0] * w[1] + w[1] * w[1] * w[1]; }  // w₁² w₂ + w₂³

void products() {
    const Tensor at = tensor({1.0, 2.0}, float64), v = tensor({1.0, -1.0}, float64);
    std::cout << "H v = " << hessian_vector(cubic, at, v) << "\n";
    std::cout << "H =\n" << hessian_of(cubic, at) << "\n";
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

    const double h = 1e-4;
    const auto move = [&](double by) {  // w ← w + by · v
        const NoGrad off;
        w[0].add_(v0, by), w[1].add_(v1, by);
    };
    move(h);
    const std::vector<Tensor> after = gradient({});
    move(-2 * h);
    const std::vector<Tensor> before = gradient({});
    double largest = 0, apart = 0;
    for (std::size_t i = 0; i < 2; ++i) {
        largest = std::max(largest, max(abs(product[i])).item());
        apart = std::max(apart, max(abs(product[i] - (after[i] - before[i]) / (2 * h))).item());
    }
    const auto n = static_cast<double>(attention.num_parameters());
    std::printf("%.0f parameters, so H has %.1f million elements\n", n, n * n / 1e6);
    std::printf("largest element of H v: %.4f\n", largest);
    std::printf("the difference of two gradients agrees to one part in a million: %s\n",
                apart < 1e-6 * largest ? "yes" : "no");
}

// ---- forward and reverse

// A number, and its slope as one variable moves.
struct Dual {
    double value, slope;
};
Dual operator*(Dual a, Dual b) { return {a.value * b.value, a.slope * b.value + a.value * b.slope}; }

void dual_numbers() {
    const Dual x = {2, 1}, y = x * x * x;
    std::printf("dual numbers: y = %.1f, y' = %.1f\n", y.value, y.slope);
    const auto cube = [](const Tensor& x) { return x * x * x; };
    const auto [value, slope] = jvp(cube, tensor(2.0, float64), tensor(1.0, float64));
    std::printf("jvp:          y = %.1f, y' = %.1f\n", value.item(), slope.item());
}

// The fastest of 20 calls, in milliseconds.
double milliseconds(const std::function<void()>& f) {
    double fastest = INFINITY;
    for (int i = 0; i < 20; ++i) {
        const auto start = std::chrono::steady_clock::now();
        f();
        const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
        fastest = std::min(fastest, took.count());
    }
    return fastest;
}

void race() {
    Rng rng(1);
    const JacobianOptions columns = {.strategy = Strategy::forward_mode};
    std::printf("inputs  outputs       f     J v   v^T J    J by rows  J by columns\n");
    for (const auto& [n, m] : {std::pair{128, 4}, std::pair{24, 24}, std::pair{4, 128}}) {
        const Tensor V = randn({256, n}, rng), W = randn({m, 256}, rng);
        const auto f = [&](const Tensor& x) { return tanh(matmul(W, tanh(matmul(V, x)))); };  // (n,) → (m,)
        const Tensor x = randn({n}, rng), v = randn({n}, rng), u = randn({m}, rng);
        std::printf("%6d  %7d  %6.3f  %6.3f  %6.3f  %11.2f  %12.2f\n", n, m, milliseconds([&] { (void)f(x); }),
                    milliseconds([&] { (void)jvp(f, x, v); }), milliseconds([&] { (void)vjp(f, x, u); }),
                    milliseconds([&] { (void)jacobian(f, x); }),
                    milliseconds([&] { (void)jacobian(f, x, columns); }));
    }
}

// ---- Newton's step

// The valley of H. Rosenbrock (1960), with 10 for its 100. The lowest point is (1, 1).
Tensor valley(const Tensor& w) {
    const Tensor x = w[0], y = w[1];
    return (1 - x) * (1 - x) + 10 * (y - x * x) * (y - x * x);
}

// w − H⁻¹ g, for two parameters.
Tensor newton_step(const Tensor& at) {
    Tensor w = at.clone().requires_grad_();
    const Tensor g = grad({valley(w)}, {w})[0], H = hessian_of(valley, at);  // (2,) and (2, 2)
    const double a = H.at(0, 0), b = H.at(0, 1), d = H.at(1, 1), det = a * d - b * b;
    const double gx = g.at({0}), gy = g.at({1});
    return at - tensor({(d * gx - b * gy) / det, (a * gy - b * gx) / det}, float64);
}

Tensor descent_step(const Tensor& at, double lr) {
    Tensor w = at.clone().requires_grad_();
    return at - lr * grad({valley(w)}, {w})[0];
}

using Step = std::function<Tensor(const Tensor&)>;  // (2,) → (2,)

// The number of steps until w is within 0.001 of (1, 1); −1 if 4000 are not enough, or w runs away.
int steps_needed(const Step& step, Tensor w) {
    for (int i = 0; i <= 4000; ++i, w = step(w)) {
        const double away = std::hypot(w.at({0}) - 1, w.at({1}) - 1);
        if (away < 1e-3) return i;
        if (!(away < 1e3)) break;
    }
    return -1;
}

struct Path {
    std::vector<double> x, y;
};

Path walk(const Step& step, int steps) {
    Tensor w = tensor({-1.2, 1.0}, float64);
    Path path;
    for (int i = 0; i <= steps; ++i, w = step(w)) path.x.push_back(w.at({0})), path.y.push_back(w.at({1}));
    return path;
}

Path newton_path() { return walk(newton_step, 6); }
Path descent_path() {
    return walk([](const Tensor& w) { return descent_step(w, 0.015); }, 600);
}

void newton() {
    const Path quick = newton_path(), slow = descent_path();
    for (std::size_t i = 0; i < quick.x.size(); ++i)
        std::printf("step %zu     Newton (%.4f, %.4f)   descent (%.4f, %.4f)\n", i, quick.x[i], quick.y[i],
                    slow.x[i], slow.y[i]);
    std::printf("step 600                            descent (%.4f, %.4f)\n", slow.x[600], slow.y[600]);
}

void print_steps(const std::string& name, const Step& step, const Tensor& starts) {
    std::vector<int> arrived;
    for (const Tensor& from : starts)
        if (const int steps = steps_needed(step, from); steps >= 0) arrived.push_back(steps);
    std::sort(arrived.begin(), arrived.end());
    std::printf("%-14s %2zu of %lld", name.c_str(), arrived.size(), static_cast<long long>(starts.size(0)));
    if (!arrived.empty())
        std::printf("   %4d (%d to %d)", arrived[arrived.size() / 2], arrived.front(), arrived.back());
    std::printf("\n");
}

void from_many_starts() {
    Rng rng(17);
    const Tensor starts = 3 * rand({21, 2}, rng, float64) - 1.5;  // in the square from −1.5 to 1.5
    std::printf("               arrived    steps, median and range\n");
    print_steps("Newton", newton_step, starts);
    for (const double lr : {0.004, 0.008, 0.016, 0.032})
        print_steps(
            "descent " + std::to_string(lr).substr(0, 5), [lr](const Tensor& w) { return descent_step(w, lr); },
            starts);
}

// The curvature of largest magnitude, from products alone: v ← H v / ‖H v‖ turns v towards its direction.
double largest_curvature(const Scalar& f, const Tensor& at, Tensor v, int products) {
    double curvature = 0;
    for (int i = 1; i <= products; ++i) {
        const Tensor Hv = hessian_vector(f, at, v);  // (n,)
        curvature = sum(v * Hv).item();
        std::printf("product %d: curvature along v is %.2f\n", i, curvature);
        v = Hv / sqrt(sum(Hv * Hv));
    }
    return curvature;
}

void limit_of_descent() {
    const Tensor lowest = tensor({1.0, 1.0}, float64), v = tensor({1.0, 0.0}, float64);
    const double curvature = largest_curvature(valley, lowest, v, 3);
    std::printf("limit of the learning rate: 2 / %.2f = %.4f\n", curvature, 2 / curvature);

    const Tensor corner = tensor({-1.5, -1.5}, float64);
    const int steps = steps_needed([](const Tensor& w) { return descent_step(w, 0.016); }, corner);
    std::printf("in the corner the curvature along the first axis is %.0f, and descent with 0.016 %s\n",
                sum(v * hessian_vector(valley, corner, v)).item(), steps < 0 ? "runs away" : "arrives");
}

// ---- a penalty on slopes

struct Fit {
    Tensor points, values;  // (14, 1) each
    nn::Sequential net;
    double on_points, slope, error;  // loss on the points; mean squared slope; mean squared distance to sin 3x
};

Fit fit(double strength, std::uint64_t seed) {
    Rng rng(seed);
    const Tensor points = linspace(-1.5, 1.5, 14, float64).unsqueeze(1);         // (14, 1)
    const Tensor values = sin(3 * points) + 0.3 * randn({14, 1}, rng, float64);  // (14, 1)
    nn::Sequential net{nn::Linear(1, 32, rng), tanh, nn::Linear(32, 32, rng), tanh, nn::Linear(32, 1, rng)};
    net.to(float64);
    optim::Adam optimizer(net);
    for (int step = 0; step < 1000; ++step) {
        optimizer.set_lr(optim::cosine_lr(step, {.lr = 0.01, .steps = 1000}));
        optimizer.zero_grad();
        Tensor loss = mse_loss(net(points), values);
        if (strength > 0) {
            Tensor x = (3 * rand({32, 1}, rng, float64) - 1.5).requires_grad_();     // anywhere
            Tensor slope = grad({sum(net(x))}, {x}, {}, {.create_graph = true})[0];  // (32, 1)
            loss = loss + strength * mean(slope * slope);
        }
        loss.backward();
        optimizer.step();
    }
    Tensor x = linspace(-1.5, 1.5, 301, float64).unsqueeze(1).requires_grad_();  // (301, 1)
    const Tensor slope = grad({sum(net(x))}, {x})[0];
    return {points,
            values,
            net,
            mse_loss(net(points), values).item(),
            mean(slope * slope).item(),
            mse_loss(net(x), sin(3 * x)).item()};
}

// Seven fits of each strength; returns those of seed 1 without a penalty and with 0.02.
std::vector<Fit> compare() {
    std::vector<Fit> shown;
    std::vector<double> without;
    std::printf("penalty  on the points        mean squared slope      from sin 3x          closer\n");
    for (const double strength : {0.0, 0.005, 0.02, 0.1}) {
        std::vector<double> points, slopes, errors;
        for (std::uint64_t seed = 1; seed <= 7; ++seed) {
            const Fit one = fit(strength, seed);
            points.push_back(one.on_points), slopes.push_back(one.slope), errors.push_back(one.error);
            if (seed == 1 && (strength == 0 || strength == 0.02)) shown.push_back(one);
        }
        if (strength == 0) without = errors;
        int closer = 0;
        for (std::size_t i = 0; i < errors.size(); ++i) closer += errors[i] < without[i];
        std::printf("%-7g  %-19s  %-22s  %-19s  %s\n", strength, spread(points).c_str(), spread(slopes).c_str(),
                    spread(errors).c_str(), strength == 0 ? "-" : (std::to_string(closer) + " of 7").c_str());
    }
    return shown;
}

void checked() {
    Rng rng(2);
    const Tensor w = randn({4, 1}, rng, float64).requires_grad_();
    const Tensor u = randn({1, 4}, rng, float64).requires_grad_();
    const auto penalty = [](const std::vector<Tensor>& in) {
        Tensor x = tensor({{0.3}, {-0.7}}, float64).requires_grad_();             // (2, 1)
        const Tensor y = matmul(tanh(matmul(x, in[1])), in[0]);                   // (2, 1)
        const Tensor slope = grad({sum(y)}, {x}, {}, {.create_graph = true})[0];  // (2, 1)
        return mean(slope * slope);
    };
    std::printf("the gradient of the penalty is right: %s\n",
                check::gradcheck("penalty", penalty, {w, u}) ? "yes" : "no");
}

// ---- Break it

// y = x³, with a gradient rule that gives the right slope but detaches what it saved.
Tensor forgetful_cube(const Tensor& x) {
    Tensor y;
    {
        const NoGrad off;
        y = x * x * x;
    }
    return record("forgetful_cube", y, {x}, {x}, [](const Saved& saved, const Tensor& dy) {
        const Tensor x = saved[0].detach();
        return Grads{3 * x * x * dy};
    });
}

// y = x³, with a gradient rule that loops over elements.
Tensor looped_cube(const Tensor& x) {
    Tensor y;
    {
        const NoGrad off;
        y = x * x * x;
    }
    return record("looped_cube", y, {x}, {x}, [](const Saved& saved, const Tensor& dy) {
        std::vector<double> slope = saved[0].to_vector<double>();
        for (double& v : slope) v = 3 * v * v;
        return Grads{from_vector(slope, dy.shape()) * dy};
    });
}

void without_create_graph() {
    Tensor w = tensor({1.0, 2.0}, float64).requires_grad_();
    Tensor g = grad({cubic(w)}, {w})[0];  // create_graph is missing
    try {
        (void)grad({sum(g)}, {w});
    } catch (const GraphError& error) {
        std::cout << error.what() << "\n";
    }
}

void forgotten() {
    const auto cube = [](const std::vector<Tensor>& in) { return forgetful_cube(in[0]); };
    const Tensor x = tensor({2.0}, float64).requires_grad_();
    const check::GradcheckReport once = check::gradcheck("forgetful_cube", cube, {x});
    const check::GradcheckReport twice = check::gradgradcheck("forgetful_cube", cube, {x});
    std::cout << "gradcheck: " << (once ? "passed" : "failed") << "\n";
    std::cout << "gradgradcheck: " << (twice ? "passed" : "failed") << "\n";
    std::cout << twice.message.substr(0, twice.message.find(": expected")) << "\n";
    try {
        (void)hessian([](const Tensor& x) { return sum(looped_cube(x)); }, x);
    } catch (const GraphError& error) {
        std::cout << error.what() << "\n";
    }
}

// ---- figures

std::string twice_figure() {
    viz::Drawing d(580, 256,
                   "From the parameters to the loss, to its gradient, and to a Hessian–vector product");
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
    d.text(147, 132, "g depends on w too", {.size = 12});
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
    const Path quick = newton_path(), slow = descent_path();
    return viz::Plot({.title = "Six Newton steps and six hundred steps of gradient descent",
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
    const Tensor x = linspace(-1.5, 1.5, 201, float64).unsqueeze(1);  // (201, 1)
    const auto numbers = [](const Tensor& t) { return t.to_vector<double>(); };
    return viz::Plot({.title = "The same points and initial values, with and without a penalty",
                      .x = "x",
                      .y = "y",
                      .legend = "bottom-left"})
        .line(numbers(x), numbers(sin(3 * x)), "sin 3x", {.colour = "#999", .dashed = true})
        .line(numbers(x), numbers(free.net(x)), "no penalty", {.colour = viz::palette(1)})
        .line(numbers(x), numbers(smooth.net(x)), "penalty 0.02", {.colour = viz::palette(0)})
        .points(numbers(free.points), numbers(free.values), "measured", {.colour = "#000"})
        .svg();
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    set_num_threads(1);  // the tensors are too small to be shared out
    chapter.section("A slope of a slope");
    thrice();
    chapter.section("Hessian–vector products");
    products();
    chapter.section("Of a layer");
    of_a_layer();
    chapter.section("Forward and reverse");
    dual_numbers();
    std::printf("\n");
    race();
    chapter.section("Newton's step");
    newton();
    std::printf("\n");
    from_many_starts();
    chapter.section("The largest curvature");
    limit_of_descent();
    chapter.section("A penalty on slopes");
    const std::vector<Fit> fits = compare();
    std::printf("\n");
    checked();
    chapter.section("Break it");
    without_create_graph();
    std::printf("\n");
    forgotten();
    chapter.figure("21_twice", twice_figure());
    chapter.figure("21_valley", valley_figure());
    chapter.figure("21_penalty", penalty_figure(fits[0], fits[1]));
}
