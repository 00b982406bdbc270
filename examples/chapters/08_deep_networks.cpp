// 8. Deep networks: initial values and layer norm, which keep numbers and gradients at one size through many
// layers, and a network of twenty layers that learns by either.
//
// N points, K = 3 classes, D = 2 coordinates, C features.
#include "chapter.h"

#include <algorithm>
#include <numeric>

#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "07_arms.h"
#include "weft/weft.h"

using namespace weft;

namespace {

// ---- initial values

Tensor no_activation(const Tensor& x) { return x; }

constexpr int num_seeds = 10;

// What happens to numbers on their way through a stack of layers, and to a gradient on its way back.
struct Passage {
    std::vector<double> squares;  // the mean of h² before the first layer and after each
    double gradient;              // the mean square of the gradient at the input
};

// h ← after(h Wᵀ · deviation) for each W (n, n) of `weights`. x and the gradient dy of the result are (N, n).
Passage pass(const Tensor& x, const std::vector<Tensor>& weights, double deviation,
             const std::function<Tensor(const Tensor&)>& after, const Tensor& dy) {
    const Tensor input = x.clone().requires_grad_();
    Tensor h = input;
    Passage passage{{mean(h * h).item()}, 0};
    for (const Tensor& W : weights) {
        h = after(linear(h, W * deviation));  // (N, n)
        passage.squares.push_back(mean(h * h).item());
    }
    h.backward(dy);
    passage.gradient = mean(input.grad() * input.grad()).item();
    return passage;
}

struct Stack {
    std::string name;
    bool uniform;      // weights as nn::Linear draws them, else standard normal ones
    double deviation;  // by which they are multiplied
    std::function<Tensor(const Tensor&)> after;
    double factor;  // of the mean square in each layer, by the formula
    std::vector<Seeds> squares = {};
    Seeds gradient = {};
};

constexpr std::int64_t n = 256, depth = 20;  // inputs of a layer, layers

std::vector<Stack> initial_values(Chapter& chapter) {
    chapter.section("initial values");
    const double root = std::sqrt(static_cast<double>(n));
    const auto normalised = [](const Tensor& h) { return relu(layer_norm(h, {})); };
    std::vector<Stack> stacks = {
        {"none        0.5 / root n  ", false, 0.5 / root, no_activation, 0.25},
        {"none        1 / root n    ", false, 1 / root, no_activation, 1},
        {"none        2 / root n    ", false, 2 / root, no_activation, 4},
        {"ReLU        1 / root n    ", false, 1 / root, relu, 0.5},
        {"ReLU        root (2 / n)  ", false, std::sqrt(2.0) / root, relu, 1},
        {"ReLU        nn::Linear's  ", true, 1, relu, 1 / 6.0},
        {"norm, ReLU  0.5 / root n  ", false, 0.5 / root, normalised, 0},
        {"norm, ReLU  1 / root n    ", false, 1 / root, normalised, 0},
        {"norm, ReLU  2 / root n    ", false, 2 / root, normalised, 0},
    };
    for (Stack& stack : stacks) stack.squares.resize(depth + 1);
    for (std::uint64_t seed = 1; seed <= num_seeds; ++seed) {
        Rng rng(seed);
        const Tensor x = randn({32, n}, rng, float64), dy = randn({32, n}, rng, float64);
        std::vector<Tensor> normal, uniform;
        for (std::int64_t layer = 0; layer < depth; ++layer) {
            normal.push_back(randn({n, n}, rng, float64));
            uniform.push_back(nn::Linear(n, n, rng, false).weight.detach().to(float64));
        }
        for (Stack& stack : stacks) {
            const Passage passage = pass(x, stack.uniform ? uniform : normal, stack.deviation, stack.after, dy);
            for (std::size_t i = 0; i <= depth; ++i) stack.squares[i].add(passage.squares[i]);
            stack.gradient.add(passage.gradient);
        }
    }
    const auto print_stack = [](const Stack& stack) {
        const std::vector<double>& last = stack.squares.back().values;
        std::printf("   %7.1e (%7.1e to %7.1e)   %7.1e\n", stack.squares.back().median(), last.front(),
                    last.back(), stack.gradient.median());
    };
    std::printf("                          by formula                   measured\n");
    std::printf("activation  deviation     a layer  after 20   after 20 layers                  gradient\n");
    for (std::size_t i = 0; i < 6; ++i) {
        std::printf("%s%7.3f   %7.1e", stacks[i].name.c_str(), stacks[i].factor,
                    std::pow(stacks[i].factor, static_cast<double>(depth)));
        print_stack(stacks[i]);
    }
    chapter.section("initial values with layer norm");
    std::printf("            deviation       after 20 layers                  gradient\n");
    for (std::size_t i = 6; i < stacks.size(); ++i) {
        std::printf("%s", stacks[i].name.c_str());
        print_stack(stacks[i]);
    }
    return stacks;
}

void kept_lengths(Chapter& chapter) {
    chapter.section("orthogonal initial values");
    Rng rng(1);
    const Tensor x = randn({64, n}, rng, float64), dy = randn({64, n}, rng, float64);  // (N, n)
    std::vector<Tensor> weights;
    for (std::int64_t i = 0; i < depth; ++i)
        weights.push_back(nn::init::orthogonal_(zeros({n, n}, float64), 1, rng));
    const auto none = [](const Tensor& h) { return h; };
    const Passage passage = pass(x, weights, 1, none, dy);
    std::printf("mean square before %.9f, after 20 layers %.9f\n", passage.squares[0], passage.squares[depth]);
}

// ---- layer norm

double length(const Tensor& x) { return std::sqrt(sum(x * x).item()); }

// The angle between two vectors.
double degrees(const Tensor& a, const Tensor& b) {
    const double cosine = sum(a * b).item() / (length(a) * length(b));
    return std::acos(std::clamp(cosine, -1.0, 1.0)) * 180 / M_PI;
}

void layer_norm_by_hand(Chapter& chapter) {
    chapter.section("layer norm");
    const Tensor x = tensor({1, 2, 3, 6}, float64);    // (C)
    const Tensor centred = x - mean(x);                // (C)
    const Tensor variance = mean(centred * centred);   // ()
    const Tensor y = centred / sqrt(variance + 1e-5);  // (C)

    print("x", x);
    print("mean", mean(x));
    print("x - mean", centred);
    print("variance", variance);
    print("normalised", y);
    std::printf("lengths %.3f, %.3f and %.3f\n", length(x), length(centred), length(y));
    std::printf("angle between x and x - mean %.1f degrees, between x - mean and the result %.1f\n",
                degrees(x, centred), degrees(centred, y));

    nn::LayerNorm norm(4);
    norm.to(float64);
    std::printf("\n");
    print("nn::LayerNorm", norm(x));
    print("of x + 10", norm(x + 10));
    print("of 10 x", norm(10 * x));
    print("of -x", norm(-x));
    for (const auto& [name, parameter] : norm.named_parameters())
        std::printf("%-6s %s\n", name.c_str(), parameter.shape().str().c_str());
}

// ---- twenty layers

// `depth` layers of 32 units with ReLU, and one that computes the logits.
struct Deep : nn::Module {
    std::vector<nn::Linear> layers;
    std::vector<nn::LayerNorm> norms;  // one before each ReLU, or none

    Deep(bool kaiming, bool normalise, Rng& rng) : Module("Deep") {
        for (std::int64_t i = 0; i <= depth; ++i) {
            const std::int64_t in = i == 0 ? D : 32, out = i == depth ? K : 32;
            nn::Linear layer(in, out, rng);
            if (kaiming) {
                nn::init::kaiming_normal_(layer.weight, {.nonlinearity = nn::init::Nonlinearity::relu}, rng);
                nn::init::zeros_(layer.bias);
            }
            layers.push_back(register_module("layer" + std::to_string(i), layer));
            if (normalise && i < depth)
                norms.push_back(register_module("norm" + std::to_string(i), nn::LayerNorm(32)));
        }
        to(float64);
    }
    Tensor operator()(const Tensor& x) const {  // (N, D) → (N, K)
        Tensor h = x;
        for (std::size_t i = 0; i < depth; ++i) {
            h = layers[i](h);  // (N, 32)
            h = relu(norms.empty() ? h : norms[i](h));
        }
        return layers[depth](h);
    }
};

// The loss after so many steps of Adam.
double train(const nn::Module& model, const std::function<Tensor()>& loss_now, double lr, int steps) {
    optim::Adam optimizer(model, {.lr = lr});
    for (int step = 0; step < steps; ++step) {
        optimizer.zero_grad();
        const Tensor loss = loss_now();
        loss.backward();
        optimizer.step();
    }
    return loss_now().item();
}

// The norm of the gradient of each layer's weight at the first step.
std::vector<double> first_gradients(const Deep& model, const Points& points) {
    cross_entropy(model(points.x), points.kind).backward();
    std::vector<double> norms;
    for (const nn::Linear& layer : model.layers) norms.push_back(norm(layer.weight.grad()).item());
    return norms;
}

// The standard deviation of a logit over the points, before training.
double spread_of_logits(const Deep& model, const Points& points) {
    const NoGrad off;
    return sqrt(mean(var(model(points.x), 0))).item();
}

// One way to start, with several seeds.
struct Start {
    std::string name;
    bool kaiming, normalise;
    std::vector<Seeds> gradients = std::vector<Seeds>(depth + 1);  // of each layer's weight
    Seeds spread = {}, losses = {};
};

std::vector<Start> twenty_layers(Chapter& chapter) {
    chapter.section("twenty layers");
    std::vector<Start> starts = {
        {"nn::Linear's", false, false}, {"Kaiming", true, false}, {"nn::Linear's, norm", false, true}};
    bool healthy = true;
    for (Start& start : starts)
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
            Rng rng(seed);
            const Points points = draw_points(300, rng);
            const Deep model(start.kaiming, start.normalise, rng);
            const std::vector<double> gradients = first_gradients(model, points);
            for (std::size_t i = 0; i <= depth; ++i) start.gradients[i].add(gradients[i]);
            healthy = healthy && check::gradient_flow(model).passed();
            start.spread.add(spread_of_logits(model, points));
            start.losses.add(train(
                model, [&] { return cross_entropy(model(points.x), points.kind); }, 0.001, 100));
        }
    std::printf("                     norm of the gradient of layer ...\n");
    std::printf("initial values             0         5        10        15        20\n");
    for (const Start& start : starts) {
        std::printf("%-18s", start.name.c_str());
        for (const std::size_t i : {0, 5, 10, 15, 20}) std::printf("   %.1e", start.gradients[i].median());
        std::printf("\n");
    }
    std::printf("check::gradient_flow finds a problem: %s\n", healthy ? "no" : "yes");
    std::printf("\ninitial values       spread of the logits   loss after 100 steps\n");
    for (const Start& start : starts)  // rounding decides on more digits than one: twenty layers amplify it
        std::printf("%-21s%.1e                %.1f (%.1f to %.1f)\n", start.name.c_str(), start.spread.median(),
                    start.losses.median(), start.losses.values.front(), start.losses.values.back());
    return starts;
}

void muon(Chapter& chapter) {
    chapter.section("Muon");
    Tensor W = zeros({3, 3}, float64).requires_grad_();
    W.set_grad(tensor({{1, 0, 0}, {0, 0.1, 0}, {0, 0, 0.01}}, float64));
    optim::Muon optimizer(std::vector<Tensor>{W}, {.lr = 1, .weight_decay = 0});
    optimizer.step();
    for (const Tensor& row : W.detach())
        std::printf("%8.3f %8.3f %8.3f\n", row.at(0) + 0.0, row.at(1) + 0.0, row.at(2) + 0.0);
}

// ---- break it

// Layer norm by hand, of each row of h (N, C) with axis −1.
Tensor normalise(const Tensor& h, std::int64_t axis) {
    const Tensor centred = h - mean(h, axis, keepdim);
    return centred / sqrt(mean(centred * centred, axis, keepdim) + 1e-5);
}

struct Normalised : nn::Module {
    nn::Linear W_in, W_out;  // D → 32 → K
    std::int64_t axis;

    Normalised(std::int64_t axis, Rng& rng)
        : Module("Normalised"),
          W_in(register_module("W_in", nn::Linear(D, 32, rng))),
          W_out(register_module("W_out", nn::Linear(32, K, rng))),
          axis(axis) {
        to(float64);
    }
    Tensor operator()(const Tensor& x) const { return W_out(normalise(relu(W_in(x)), axis)); }
};

// The share of points classified rightly, if the model is given `size` of them at a time.
double accuracy(const Normalised& model, const Points& points, std::int64_t size) {
    const NoGrad off;
    std::vector<Tensor> logits;
    for (const Tensor& some : split(points.x, size)) logits.push_back(model(some));
    return mean((argmax(cat(logits), -1) == points.kind).to(float64)).item();
}

// How much the first row of the result depends on the other rows of x.
double mixing(const Normalised& model, const Tensor& x) {
    return max(abs(model(x).slice(0, 0, 1) - model(x.slice(0, 0, 1)))).item();
}

void broken(Chapter& chapter) {
    chapter.section("break it: layer norm over the wrong axis");
    std::printf("axis   loss                  150 at once           one class at once     one at a time\n");
    std::vector<Seeds> mixings;
    for (const std::int64_t axis : {-1, 0}) {
        Seeds losses, together, by_class, alone, mixed;
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
            Rng rng(seed);
            const Points training = draw_points(300, rng), validation = draw_points(150, rng);
            Normalised model(axis, rng);
            losses.add(train(
                model, [&] { return cross_entropy(model(training.x), training.kind); }, 0.01, 300));
            const Tensor order = argsort(validation.kind);  // (150): the 50 of class 0 first
            together.add(accuracy(model, validation, 150));
            by_class.add(accuracy(
                model, {index_select(validation.x, 0, order), index_select(validation.kind, 0, order)}, 50));
            alone.add(accuracy(model, validation, 1));
            mixed.add(mixing(model, validation.x));
        }
        std::printf("%4d", static_cast<int>(axis));
        for (const Seeds* seeds : {&losses, &together, &by_class, &alone})
            std::printf("   %.2f (%.2f to %.2f)", seeds->median(), seeds->values.front(), seeds->values.back());
        std::printf("\n");
        mixings.push_back(mixed);
    }
    std::printf("\naxis   mixing\n");
    for (const int i : {0, 1})
        std::printf("%4d   %.1f (%.1f to %.1f)\n", i - 1, mixings[i].median(), mixings[i].values.front(),
                    mixings[i].values.back());
}

// ---- figures

std::string depth_picture(const std::vector<Stack>& stacks) {
    viz::Plot plot({.title = "Mean square after each of 20 layers",
                    .x = "layer",
                    .y = "mean of h², median of 10 seeds",
                    .log_y = true,
                    .y_range = {1e-18, 1e14},
                    .legend = "bottom-left"});
    const char* const names[] = {"none, 0.5/√n", "none, 1/√n",   "none, 2/√n",
                                 "ReLU, 1/√n",   "ReLU, √(2/n)", "ReLU, nn::Linear"};
    std::vector<double> x(depth + 1);
    std::iota(x.begin(), x.end(), 0);
    for (std::size_t i = 0; i < 6; ++i) {
        std::vector<double> y;
        for (const Seeds& seeds : stacks[i].squares) y.push_back(seeds.median());
        plot.line(x, y, names[i], {.colour = viz::palette(i % 3), .dashed = i >= 3, .markers = i >= 3});
    }
    return plot.svg();
}

std::string gradients_picture(const std::vector<Start>& starts) {
    viz::Plot plot({.title = "Norm of the gradient of each layer's weight at the first step",
                    .x = "layer",
                    .y = "norm, median of 5 seeds",
                    .log_y = true,
                    .y_range = {1e-10, 1e2},
                    .legend = "bottom-right"});
    std::vector<double> x(depth + 1);
    std::iota(x.begin(), x.end(), 0);
    for (std::size_t i = 0; i < starts.size(); ++i) {
        std::vector<double> y;
        for (const Seeds& seeds : starts[i].gradients) y.push_back(seeds.median());
        plot.line(x, y, starts[i].name, {.colour = viz::palette(i), .markers = true});
    }
    return plot.svg();
}

std::string norm_picture() {
    const Tensor x = tensor({1, 2, 3, 6}, float64), centred = x - mean(x);
    const Tensor y = centred / sqrt(mean(centred * centred) + 1e-5);
    viz::Drawing d(640, 230, "Layer norm of four numbers: the mean is subtracted, and the length becomes 2");
    double top = 30;
    for (const auto& [name, values] :
         {std::pair("x", x), std::pair("x − mean", centred), std::pair("layer norm", y)}) {
        char about[64];
        std::snprintf(about, sizeof about, "mean %.0f, length %.2f", std::abs(mean(values).item()),
                      length(values));
        d.text(128, top + 18, name, {.size = 15, .anchor = "end"});
        d.cells(140, top, 72, 36, values, {.text_size = 15});
        d.text(442, top + 18, about, {.size = 15, .anchor = "start"});
        top += 70;
    }
    d.arrow(284, 68, 284, 98).text(298, 83, "− 3", {.size = 15, .anchor = "start"});
    d.arrow(284, 138, 284, 168).text(298, 153, "÷ √3.5", {.size = 15, .anchor = "start"});
    return d.svg();
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    set_num_threads(1);  // the operations are too small to share among threads
    const std::vector<Stack> stacks = initial_values(chapter);
    kept_lengths(chapter);
    layer_norm_by_hand(chapter);
    const std::vector<Start> starts = twenty_layers(chapter);
    muon(chapter);
    broken(chapter);
    chapter.figure("08_depth", depth_picture(stacks));
    chapter.figure("08_norm", norm_picture());
    chapter.figure("08_gradients", gradients_picture(starts));
}
