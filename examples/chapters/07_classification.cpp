// 7. Telling classes apart: softmax and cross-entropy that do not overflow, linear layers and modules, their
// initial values, layer norm, and a classifier that is measured on points that it has not seen.
//
// N points, K = 3 classes, D = 2 coordinates, H hidden units.
#include "chapter.h"

#include <algorithm>
#include <numeric>

#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <vector>

#include "weft/weft.h"

using namespace weft;

namespace {

// Prints the elements of x in one line.
void print(const char* name, const Tensor& x) {
    std::printf("%-14s", name);
    for (const double value : x.detach().to(float64).reshape({-1}).to_vector<double>())
        std::printf(" %7.3f", value);
    std::printf("\n");
}

// ---- from logits to a loss

void by_hand(Chapter& chapter) {
    chapter.section("three logits by hand");
    Tensor logits = tensor({{2, 1, 0}}, float64).requires_grad_();  // (N, K)
    const Tensor target = tensor({0}, int64);                       // (N)

    const Tensor p = softmax(logits, -1);               // (N, K)
    const Tensor loss = cross_entropy(logits, target);  // ()
    loss.backward();

    print("e^logits", exp(logits));
    print("softmax", p);
    print("cross-entropy", loss);
    print("its gradient", logits.grad());
    print("100 added", softmax(logits + 100, -1));
}

// ln Σ eˣ over the last axis. (…, K) → (…)
Tensor log_sum_exp(const Tensor& x) {
    const Tensor largest = max(x.detach(), -1, true).values;      // (…, 1)
    return log(sum(exp(x - largest), -1)) + largest.squeeze(-1);  // no exponent is above 0
}

void large_logits(Chapter& chapter) {
    chapter.section("large logits");
    const Tensor logits = tensor({{10000.0, 9999, -10000}});  // (1, K), float32
    print("softmax", softmax(logits, -1));
    std::printf("log-sum-exp  %.2f\n", log_sum_exp(logits).item());
    std::printf("target   cross_entropy   -ln softmax\n");
    for (const std::int64_t k : {0, 1, 2}) {
        const Tensor target = full({1}, static_cast<double>(k), int64);  // (1)
        std::printf("%6lld   %13.2f   %11.2f\n", static_cast<long long>(k),
                    cross_entropy(logits, target).item(), -log(softmax(logits, -1)).at({0, k}));
    }
}

// ---- a linear layer

void linear_layer(Chapter& chapter) {
    chapter.section("a linear layer");
    Rng rng(1);
    nn::Linear layer(2, 3, rng);  // 2 inputs, 3 outputs
    layer.to(float64);
    layer.load_state_dict({{"weight", tensor({{1, 2}, {0, -1}, {3, 1}}, float64)},  // (out, in)
                           {"bias", tensor({10, 20, 30}, float64)}});               // (out)
    const Tensor x = tensor({{1, 2}, {0, 1}}, float64);                             // (N, in)
    const Tensor y = layer(x);                                                      // (N, out)
    std::cout << y << "\n";
    std::cout << matmul(x, layer.weight.T()) + layer.bias << "\n";  // the same
}

// ---- points in three arms

constexpr std::int64_t K = 3, D = 2;  // classes, coordinates

struct Points {
    Tensor x, kind;  // (N, D) float64, (N) int64
};

// n points in K arms that wind around the origin.
Points draw_points(std::int64_t n, Rng& rng) {
    std::vector<double> x;
    std::vector<std::int64_t> kind;
    for (std::int64_t i = 0; i < n; ++i) {
        const double along = 0.1 + 0.9 * rng.uniform();
        const double angle = 2 * M_PI * static_cast<double>(i % K) / K + 3.5 * along + 0.5 * rng.normal();
        x.push_back(along * std::cos(angle)), x.push_back(along * std::sin(angle));
        kind.push_back(i % K);
    }
    return {from_vector(x, {n, D}), from_vector(kind, {n})};
}

// ---- the module

using Activation = Tensor (*)(const Tensor&);

struct Classifier : nn::Module {
    nn::Linear W_in;   // D → H
    nn::Linear W_out;  // H → K
    Activation activation;

    Classifier(std::int64_t hidden, Activation activation, Rng& rng)
        : Module("Classifier"),
          W_in(register_module("W_in", nn::Linear(D, hidden, rng))),
          W_out(register_module("W_out", nn::Linear(hidden, K, rng))),
          activation(activation) {
        to(float64);
    }
    Tensor operator()(const Tensor& x) const {  // (N, D)
        const Tensor h = activation(W_in(x));   // (N, H)
        return W_out(h);                        // (N, K): the logits
    }
};

void show_module(Chapter& chapter) {
    chapter.section("a module and its names");
    Rng rng(1);
    const Classifier model(32, relu, rng);
    for (const auto& [name, tensor] : model.state_dict())
        std::printf("%-13s %s\n", name.c_str(), tensor.shape().str().c_str());
    std::printf("%lld parameters\n", static_cast<long long>(model.num_parameters()));

    Classifier other(32, relu, rng);  // other initial values
    const Tensor x = tensor({{0.5, -0.5}}, float64);
    const bool before = all(model(x) == other(x));
    other.load_state_dict(model.state_dict());
    std::printf("the same logits before loading: %s, after: %s\n", before ? "yes" : "no",
                all(model(x) == other(x)) ? "yes" : "no");
}

// ---- initial values

Tensor no_activation(const Tensor& x) { return x; }

// What ten seeds give, in order.
struct Seeds {
    std::vector<double> values;
    double median() const { return (values[values.size() / 2] + values[(values.size() - 1) / 2]) / 2; }
    void add(double value) { values.insert(std::upper_bound(values.begin(), values.end(), value), value); }
};
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

// ---- training

// The loss on all points at once, which learns nothing.
double loss_on(const Classifier& model, const Points& points) {
    const NoGrad off;
    return cross_entropy(model(points.x), points.kind).item();
}

struct Losses {
    std::vector<double> training, validation;  // after each epoch
};

Losses train(Classifier& model, const Points& training, const Points& validation, int epochs, Rng& rng) {
    optim::Adam optimizer(model, {.lr = 0.01});
    Losses losses;
    for (int epoch = 0; epoch < epochs; ++epoch) {
        model.train();
        for (const Tensor& batch : split(randperm(training.x.size(0), rng), 50)) {  // 50 row numbers
            optimizer.zero_grad();
            const Tensor logits = model(index_select(training.x, 0, batch));                   // (50, K)
            const Tensor loss = cross_entropy(logits, index_select(training.kind, 0, batch));  // ()
            loss.backward();
            optimizer.step();
        }
        model.eval();
        losses.training.push_back(loss_on(model, training));
        losses.validation.push_back(loss_on(model, validation));
    }
    return losses;
}

double accuracy(const Tensor& logits, const Tensor& kind) {  // (N, K), (N)
    return mean((argmax(logits, -1) == kind).to(float64)).item();
}

void confusion(const Tensor& logits, const Tensor& kind) {
    const Tensor taken = argmax(logits, -1);  // (N)
    std::printf("\n           classified as 0       1       2\n");
    for (std::int64_t k = 0; k < K; ++k) {
        std::printf("class %lld         ", static_cast<long long>(k));
        for (std::int64_t t = 0; t < K; ++t)
            std::printf("%8.0f",
                        sum(((kind == static_cast<double>(k)) && (taken == static_cast<double>(t))).to(float64))
                            .item());
        std::printf("\n");
    }
    std::printf("accuracy %.2f\n", accuracy(logits, kind));
}

constexpr int epochs = 200;

Classifier first_training(Chapter& chapter, const Points& training, const Points& validation) {
    chapter.section("training");
    Rng rng(2), order(7);
    Classifier model(32, tanh, rng);
    std::printf("before training  training loss %.3f  validation loss %.3f\n", loss_on(model, training),
                loss_on(model, validation));
    const Losses losses = train(model, training, validation, epochs, order);
    for (const std::size_t epoch : {1, 100, 200})
        std::printf("epoch %3d        training loss %.3f  validation loss %.3f\n", static_cast<int>(epoch),
                    losses.training[epoch - 1], losses.validation[epoch - 1]);
    confusion(model(validation.x), validation.kind);
    return model;
}

// ---- activations

Tensor gelu_exact(const Tensor& x) { return gelu(x); }

const std::vector<std::pair<std::string, Activation>> activations = {
    {"none", no_activation}, {"relu", relu}, {"gelu", gelu_exact}, {"tanh", tanh}};

// A classifier that is trained with each seed.
struct Trained {
    std::string name;
    std::vector<Seeds> training, validation;           // after each epoch
    Seeds accuracy = {}, lowest = {}, lowest_at = {};  // lowest validation loss, after what share of steps
};

// Trains on the first `count` of 300 points. A seed decides the points and the initial values.
Trained train_seeds(const std::string& name, Activation activation, std::int64_t count, int epochs) {
    Trained all{name, std::vector<Seeds>(epochs), std::vector<Seeds>(epochs)};
    for (std::uint64_t seed = 1; seed <= num_seeds; ++seed) {
        Rng rng(seed);
        const Points training = draw_points(300, rng), validation = draw_points(150, rng);
        const Points first{training.x.slice(0, 0, count), training.kind.slice(0, 0, count)};
        Classifier model(32, activation, rng);
        const Losses losses = train(model, first, validation, epochs, rng);
        for (std::size_t i = 0; i < all.training.size(); ++i)
            all.training[i].add(losses.training[i]), all.validation[i].add(losses.validation[i]);
        const auto lowest = std::min_element(losses.validation.begin(), losses.validation.end());
        all.lowest.add(*lowest);
        all.lowest_at.add((static_cast<double>(lowest - losses.validation.begin()) + 1) / epochs);
        all.accuracy.add(accuracy(model(validation.x), validation.kind));
    }
    return all;
}

void print_seeds(const Seeds& seeds, const char* end) {
    std::printf("%.2f (%.2f to %.2f)%s", seeds.median(), seeds.values.front(), seeds.values.back(), end);
}

// Prints a row for each activation, and returns that of ReLU.
Trained compare(Chapter& chapter) {
    chapter.section("activations");
    std::printf("        training loss         validation loss       accuracy\n");
    Trained of_relu;
    for (const auto& [name, activation] : activations) {
        const Trained all = train_seeds(name, activation, 300, epochs);
        std::printf("%-5s   ", name.c_str());
        print_seeds(all.training.back(), "   ");
        print_seeds(all.validation.back(), "   ");
        print_seeds(all.accuracy, "\n");
        if (activation == static_cast<Activation>(relu)) of_relu = all;
    }
    return of_relu;
}

Trained overfit(Chapter& chapter, const Trained& of_relu) {
    chapter.section("overfitting");
    const Trained few = train_seeds("60 points", relu, 60, 3 * epochs);
    std::printf("             training loss         validation loss       its lowest value\n");
    for (const Trained* all : {&of_relu, &few}) {
        std::printf("%-10s   ", all == &few ? " 60 points" : "300 points");
        print_seeds(all->training.back(), "   ");
        print_seeds(all->validation.back(), "   ");
        print_seeds(all->lowest, "\n");
    }
    std::printf("the lowest value came after this share of the steps: 300 points ");
    print_seeds(of_relu.lowest_at, ", 60 points ");
    print_seeds(few.lowest_at, "\n");
    return few;
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
            if (kaiming)
                layer.load_state_dict(
                    {{"weight", nn::normal({out, in}, 0, std::sqrt(2.0 / in), rng)}, {"bias", zeros({out})}});
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

// The loss on the points after 100 steps, each with all of them.
double loss_after_100(const Deep& model, const Points& points) {
    optim::Adam optimizer(model, {.lr = 0.001});
    for (int step = 0; step < 100; ++step) {
        optimizer.zero_grad();
        const Tensor loss = cross_entropy(model(points.x), points.kind);
        loss.backward();
        optimizer.step();
    }
    const NoGrad off;
    return cross_entropy(model(points.x), points.kind).item();
}

void twenty_layers(Chapter& chapter) {
    chapter.section("twenty layers");
    std::printf("initial values       loss after 100 steps\n");
    const auto row = [](const char* name, bool kaiming, bool normalise) {
        Seeds losses;
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
            Rng rng(seed);
            const Points points = draw_points(300, rng);
            losses.add(loss_after_100(Deep(kaiming, normalise, rng), points));
        }
        // Rounding decides on more digits than one: twenty layers amplify it.
        std::printf("%-21s%.1f (%.1f to %.1f)\n", name, losses.median(), losses.values.front(),
                    losses.values.back());
    };
    row("nn::Linear's", false, false);
    row("Kaiming", true, false);
    row("nn::Linear's, norm", false, true);
}

// ---- break it

Tensor naive_cross_entropy(const Tensor& logits, const Tensor& target) {
    const Tensor e = exp(logits);
    const Tensor p = e / sum(e, -1, true);                   // (N, K)
    return -mean(log(gather(p, -1, target.unsqueeze(-1))));  // ()
}

void broken(Chapter& chapter) {
    chapter.section("break it: softmax as its definition is written");
    Rng rng(1);
    nn::Linear model(D, K, rng);
    optim::SGD optimizer(model, {.lr = 0.1});
    const Tensor x = tensor({{500, -500}, {500, -500}}, float32);  // (N, D)
    const Tensor target = tensor({0, 1}, int64);                   // (N)
    const Tensor logits = model(x);                                // (N, K)
    const Tensor loss = naive_cross_entropy(logits, target);
    loss.backward();
    std::printf("largest logit %.1f, naive loss %.3f, cross_entropy %.3f\n", max(logits).item(),
                std::abs(loss.item()), cross_entropy(logits, target).item());
    try {
        optimizer.step();
    } catch (const Error& error) {
        std::printf("%s\n", error.what());
    }
}

// ---- figures

std::string digits(double x) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3f", x);
    return text;
}

std::string steps_picture() {
    Tensor logits = tensor({{2, 1, 0}}, float64).requires_grad_();
    const Tensor loss = cross_entropy(logits, tensor({0}, int64));
    loss.backward();
    const std::vector<std::pair<std::string, Tensor>> rows = {
        {"logits", logits.detach()},
        {"softmax", softmax(logits.detach(), -1)},
        {"one-hot target", tensor({{1, 0, 0}}, float64)},
        {"gradient of the logits", logits.grad()},
    };
    viz::Drawing d(640, 290, "From logits to the loss and to the gradient of the logits");
    const viz::Label side{.size = 15, .anchor = "start"};
    double y = 40;
    for (const auto& [name, values] : rows) {
        d.text(178, y + 18, name, {.size = 15, .anchor = "end"});
        d.cells(190, y, 72, 36, values, {.text_size = 15});
        y += 66;
    }
    for (int k = 0; k < K; ++k)
        d.text(226 + 72 * k, 22, "class " + std::to_string(k), {.size = 14, .colour = "#666"});
    d.arrow(420, 58, 420, 116).text(434, 87, "eˣ / Σ eˣ", side);
    d.arrow(420, 132, 420, 256).text(434, 227, "softmax − one-hot", side);
    d.text(434, 157, "loss = −ln " + digits(rows[1].second.at({0, 0})) + " = " + digits(loss.item()), side);
    return d.svg();
}

std::string activations_picture() {
    viz::Plot plot({.title = "Activations, and their slopes dashed",
                    .x = "x",
                    .y = "",
                    .y_range = {-1.2, 2.2},
                    .legend = "top-left"});
    Tensor x = arange(-3, 3.01, 0.0625, float64);
    const std::vector<double> at = x.to_vector<double>();
    std::size_t i = 0;
    for (const auto& [name, activation] : activations) {
        if (activation == no_activation) continue;
        x = x.detach().clone().requires_grad_();
        const Tensor y = activation(x);
        sum(y).backward();
        plot.line(at, y.detach().to_vector<double>(), name, {.colour = viz::palette(i)});
        plot.line(at, x.grad().to_vector<double>(), {},
                  {.colour = viz::palette(i++), .width = 1.3, .dashed = true});
    }
    return plot.svg();
}

std::string losses_picture(const Trained& many, const Trained& few) {
    viz::Plot plot({.title = "Loss on training points, and dashed on validation points",
                    .x = "step",
                    .y = "cross-entropy, median of 10 seeds",
                    .y_range = {0, 1.2},
                    .legend = "top-right"});
    const auto curve = [&](const std::vector<Seeds>& losses, const std::string& name, std::size_t colour) {
        std::vector<double> x, y;
        for (const Seeds& seeds : losses) {
            x.push_back(1200.0 * static_cast<double>(x.size() + 1) / static_cast<double>(losses.size()));
            y.push_back(seeds.median());
        }
        plot.line(x, y, name, {.colour = viz::palette(colour), .dashed = name.empty()});
    };
    curve(many.training, "300 points", 0), curve(many.validation, "", 0);
    curve(few.training, "60 points", 1), curve(few.validation, "", 1);
    return plot.svg();
}

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

// The class that the model gives to each point of the plane, and the points with their true class.
std::string regions_picture(const std::string& title, const Classifier& model, const Points& points) {
    const std::int64_t cells = 120;
    const double edge = 1.2;
    std::vector<double> grid;
    for (std::int64_t i = 0; i < cells * cells; ++i) {
        grid.push_back(-edge + 2 * edge * (static_cast<double>(i % cells) + 0.5) / cells);
        grid.push_back(-edge + 2 * edge * (static_cast<double>(i / cells) + 0.5) / cells);
    }
    const NoGrad off;
    const Tensor taken = argmax(model(from_vector(grid, {cells * cells, D})), -1).reshape({cells, cells});
    viz::Plot plot({.title = title,
                    .x = "x₀",
                    .y = "x₁",
                    .width = 560,
                    .height = 480,
                    .x_range = {-edge, edge},
                    .y_range = {-edge, edge}});
    plot.field(taken.to(float64), {-edge, edge}, {-edge, edge});
    const char* const colours[] = {"#440154", "#21918c", "#fde725"};
    for (std::int64_t k = 0; k < K; ++k) {
        std::vector<double> x, y;
        for (std::int64_t n = 0; n < points.x.size(0); ++n)
            if (points.kind.at({n}) == static_cast<double>(k))
                x.push_back(points.x.at({n, 0})), y.push_back(points.x.at({n, 1}));
        plot.points(x, y, {}, {.colour = "#ffffff", .width = 3.4});
        plot.points(x, y, "class " + std::to_string(k), {.colour = colours[k], .width = 2.4});
    }
    return plot.svg();
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    set_num_threads(1);  // the operations are too small to share among threads
    by_hand(chapter);
    large_logits(chapter);
    linear_layer(chapter);
    show_module(chapter);
    const std::vector<Stack> stacks = initial_values(chapter);
    layer_norm_by_hand(chapter);

    Rng rng(1);
    const Points training = draw_points(300, rng), validation = draw_points(150, rng);
    const Classifier model = first_training(chapter, training, validation);
    const Trained many = compare(chapter), few = overfit(chapter, many);
    twenty_layers(chapter);
    broken(chapter);

    Rng first(2), order(7);
    Classifier straight(32, no_activation, first);
    train(straight, training, validation, epochs, order);
    chapter.figure("07_steps", steps_picture());
    chapter.figure("07_depth", depth_picture(stacks));
    chapter.figure("07_losses", losses_picture(many, few));
    chapter.figure("07_activations", activations_picture());
    chapter.figure("07_lines", regions_picture("Without an activation", straight, validation));
    chapter.figure("07_regions", regions_picture("With 32 hidden units and tanh", model, validation));
}
