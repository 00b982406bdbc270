// 7. Telling classes apart: softmax and cross-entropy that do not overflow, linear layers and modules, and a
// classifier that is measured on points that it has not seen.
//
// N points, K = 3 classes, D = 2 coordinates, H hidden units.
#include "07_arms.h"
#include "chapter.h"

#include <algorithm>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <vector>

#include "weft/weft.h"

using namespace weft;

namespace {

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

// ---- the module

using Activation = Tensor (*)(const Tensor&);

struct Classifier : nn::Module {
    std::int64_t hidden;
    Activation activation;
    nn::Linear W_in = register_module("W_in", nn::Linear(D, hidden));    // D → H
    nn::Linear W_out = register_module("W_out", nn::Linear(hidden, K));  // H → K

    Classifier(std::int64_t hidden, Activation activation)
        : Module("Classifier"), hidden(hidden), activation(activation) {
        to(float64);
    }
    Tensor operator()(const Tensor& x) const {  // (N, D)
        const Tensor h = activation(W_in(x));   // (N, H)
        return W_out(h);                        // (N, K): the logits
    }
};

void show_module(Chapter& chapter) {
    chapter.section("a module and its names");
    manual_seed(1);
    const Classifier model(32, relu);
    for (const auto& [name, tensor] : model.state_dict())
        std::printf("%-13s %s\n", name.c_str(), tensor.shape().str().c_str());
    std::printf("%lld parameters\n", static_cast<long long>(model.num_parameters()));

    Classifier other(32, relu);  // other initial values
    const Tensor x = tensor({{0.5, -0.5}}, float64);
    const bool before = all(model(x) == other(x));
    other.load_state_dict(model.state_dict());
    std::printf("the same logits before loading: %s, after: %s\n", before ? "yes" : "no",
                all(model(x) == other(x)) ? "yes" : "no");
}

struct Forgetful : nn::Module {
    nn::Linear W_in = register_module("W_in", nn::Linear(D, 32));
    nn::Linear W_out = nn::Linear(32, K);  // not registered
    Tensor operator()(const Tensor& x) const { return W_out(relu(W_in(x))); }
};

void forgotten_layer(Chapter& chapter) {
    chapter.section("a layer that is not registered");
    manual_seed(1);
    const Forgetful forgetful;
    const Tensor loss = cross_entropy(forgetful(ones({1, D})), zeros({1}, int64));
    loss.backward();
    check::gradient_flow(forgetful, loss).print();
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
    manual_seed(2);
    Classifier model(32, tanh);
    Rng order(7);
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

Tensor no_activation(const Tensor& x) { return x; }
Tensor gelu_exact(const Tensor& x) { return gelu(x); }

const std::vector<std::pair<std::string, Activation>> activations = {
    {"none", no_activation}, {"relu", relu}, {"gelu", gelu_exact}, {"tanh", tanh}};

constexpr int num_seeds = 10;

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
        manual_seed(seed);
        Rng& rng = default_rng();
        const Points training = draw_points(300, rng), validation = draw_points(150, rng);
        const Points first{training.x.slice(0, 0, count), training.kind.slice(0, 0, count)};
        Classifier model(32, activation);
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
    // A row of cells is a thick line, in parts of one class each: tints without a scale between the classes.
    const char* const tints[] = {"#b3d4e8", "#f6d3bf", "#b8e0d1"};
    const auto at = [&](std::int64_t border) { return -edge + 2 * edge * static_cast<double>(border) / cells; };
    for (std::int64_t row = 0; row < cells; ++row)
        for (std::int64_t from = 0, to = 1; to <= cells; ++to) {
            if (to < cells && taken.at({row, to}) == taken.at({row, from})) continue;
            const double y = (at(row) + at(row + 1)) / 2;
            plot.line({at(from), at(to)}, {y, y}, {},
                      {.colour = tints[static_cast<int>(taken.at({row, from}))], .width = 4.6});
            from = to;
        }
    for (std::int64_t k = 0; k < K; ++k) {
        std::vector<double> x, y;
        for (std::int64_t n = 0; n < points.x.size(0); ++n)
            if (points.kind.at({n}) == static_cast<double>(k))
                x.push_back(points.x.at({n, 0})), y.push_back(points.x.at({n, 1}));
        plot.points(x, y, {}, {.colour = "#ffffff", .width = 3.4});
        plot.points(x, y, "class " + std::to_string(k),
                    {.colour = viz::palette(static_cast<std::size_t>(k)), .width = 2.4});
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
    forgotten_layer(chapter);

    Rng rng(1);
    const Points training = draw_points(300, rng), validation = draw_points(150, rng);
    const Classifier model = first_training(chapter, training, validation);
    const Trained many = compare(chapter), few = overfit(chapter, many);
    broken(chapter);

    manual_seed(2);
    Classifier straight(32, no_activation);
    Rng order(7);
    train(straight, training, validation, epochs, order);
    chapter.figure("07_steps", steps_picture());
    chapter.figure("07_losses", losses_picture(many, few));
    chapter.figure("07_activations", activations_picture());
    chapter.figure("07_lines", regions_picture("Without an activation", straight, validation));
    chapter.figure("07_regions", regions_picture("With 32 hidden units and tanh", model, validation));
}
