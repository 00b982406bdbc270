// 7. Telling classes apart: softmax and cross-entropy that do not overflow, a module, its training, and how
// well it does on points that it has not seen.
//
// N points, K = 3 classes, D = 2 coordinates, H hidden units.
#include <cmath>
#include <numeric>

#include "chapter.h"

using namespace weft;

namespace {

constexpr std::int64_t K = 3, D = 2;

std::string list(const Tensor& x, const char* format) {  // (n)
    std::string text;
    for (const double value : x.detach().to(float64).to_vector<double>()) {
        char number[32];
        std::snprintf(number, sizeof number, format, value);
        text += number;
    }
    return text;
}

// ---- from logits to a loss

void by_hand(Chapter& chapter) {
    chapter.section("three logits by hand");
    Tensor logits = tensor({{2, 1, 0}}, float64).requires_grad_();  // (N, K)
    const Tensor target = tensor({0}, int64);                       // (N)

    const Tensor p = softmax(logits, -1);               // (N, K)
    const Tensor loss = cross_entropy(logits, target);  // ()
    loss.backward();
    std::printf("e^logits       %s\n", list(exp(logits)[0], " %7.3f").c_str());
    std::printf("softmax        %s\n", list(p[0], " %7.3f").c_str());
    std::printf("cross-entropy  %8.3f\n", loss.item());
    std::printf("its gradient   %s\n", list(logits.grad()[0], " %7.3f").c_str());
    std::printf("softmax of (102, 101, 100):%s\n",
                list(softmax(tensor({102, 101, 100}, float64), -1), " %.3f").c_str());
}

// ln Σ eˣ over the last axis. (…, K) → (…)
Tensor log_sum_exp(const Tensor& x) {
    const Tensor largest = max(x.detach(), -1, true).values;      // (…, 1)
    return log(sum(exp(x - largest), -1)) + largest.squeeze(-1);  // no exponent is above 0
}

void large_logits(Chapter& chapter) {
    chapter.section("large logits");
    const Tensor logits = tensor({{10000.0, 9999, -10000}});  // (1, K), float32
    std::printf("softmax     %s\n", list(softmax(logits, -1)[0], " %.3f").c_str());
    std::printf("log-sum-exp  %.2f\n", log_sum_exp(logits).item());
    std::printf("target   cross_entropy   -ln softmax\n");
    for (const std::int64_t k : {0, 1, 2}) {
        const Tensor target = full({1}, static_cast<double>(k), int64);  // (1)
        std::printf("%6lld   %13.2f   %11.2f\n", static_cast<long long>(k),
                    cross_entropy(logits, target).item(), -log(softmax(logits, -1)).at({0, k}));
    }
}

// ---- points in three arms

struct Points {
    Tensor x, kind;  // (N, D) float64, (N) int64
};

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

Tensor gelu_exact(const Tensor& x) { return gelu(x); }
Tensor none(const Tensor& x) { return x; }

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

// ---- training

struct Losses {
    std::vector<double> train, validation;  // after each epoch
};

double accuracy(const Tensor& logits, const Tensor& kind) {  // (N, K), (N)
    return mean((argmax(logits, -1) == kind).to(float64)).item();
}

// 0 … n − 1 in random order. (n)
Tensor shuffled(std::int64_t n, Rng& rng) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    for (std::int64_t i = n - 1; i > 0; --i) std::swap(order[i], order[rng.randint(0, i + 1)]);
    return from_vector(order, {n});
}

Losses train(Classifier& model, const Points& training, const Points& validation, int epochs, bool print) {
    Rng rng(7);
    optim::Adam optimizer(model, {.lr = 0.01});
    Losses losses;
    for (int epoch = 1; epoch <= epochs; ++epoch) {
        model.train();
        for (const Tensor& batch : split(shuffled(training.x.size(0), rng), 50)) {  // ids of 50 points
            optimizer.zero_grad();
            const Tensor logits = model(index_select(training.x, 0, batch));                   // (50, K)
            const Tensor loss = cross_entropy(logits, index_select(training.kind, 0, batch));  // ()
            loss.backward();
            optimizer.step();
        }
        model.eval();
        const NoGrad off;
        const Tensor logits = model(validation.x);  // (N, K)
        losses.train.push_back(cross_entropy(model(training.x), training.kind).item());
        losses.validation.push_back(cross_entropy(logits, validation.kind).item());
        if (print && (epoch == 1 || epoch % 40 == 0))
            std::printf("epoch %3d   training loss %.3f   held-out loss %.3f   accuracy %.3f\n", epoch,
                        losses.train.back(), losses.validation.back(), accuracy(logits, validation.kind));
    }
    return losses;
}

void confusion(Chapter& chapter, const Tensor& logits, const Tensor& kind) {
    chapter.section("which class is taken for which");
    const Tensor taken = argmax(logits, -1);  // (N)
    std::printf("            taken for 0       1       2\n");
    for (std::int64_t k = 0; k < K; ++k) {
        std::printf("class %lld     ", static_cast<long long>(k));
        for (std::int64_t t = 0; t < K; ++t)
            std::printf("%8.0f",
                        sum(((kind == static_cast<double>(k)) && (taken == static_cast<double>(t))).to(float64))
                            .item());
        std::printf("\n");
    }
}

const std::vector<std::pair<std::string, Activation>> activations = {
    {"none", none}, {"relu", relu}, {"gelu", gelu_exact}, {"tanh", tanh}};

struct Trained {
    std::string name;
    Classifier model;
    Losses losses;
};

std::vector<Trained> compare(Chapter& chapter, const Points& training, const Points& validation) {
    chapter.section("activations");
    std::printf("activation   training loss     held-out loss   accuracy\n");
    std::vector<Trained> trained;
    for (const auto& [name, activation] : activations) {
        Rng rng(2);
        Classifier model(32, activation, rng);
        const Losses losses = train(model, training, validation, 200, false);
        std::printf("%-10s   %13.3f   %15.3f   %8.3f\n", name.c_str(), losses.train.back(),
                    losses.validation.back(), accuracy(model(validation.x), validation.kind));
        trained.push_back({name, model, losses});
    }
    return trained;
}

// ---- break it

Tensor naive_cross_entropy(const Tensor& logits, const Tensor& target) {
    const Tensor e = exp(logits);
    const Tensor p = e / sum(e, -1, true);                   // (N, K)
    return -mean(log(gather(p, -1, target.unsqueeze(-1))));  // ()
}

void broken(Chapter& chapter) {
    chapter.section("break it: softmax as it is written");
    Rng rng(1);
    nn::Linear model(D, K, rng);
    optim::SGD optimizer(model, {.lr = 0.1});
    const Tensor target = tensor({0, 1}, int64);  // (N)
    for (const double scale : {1.0, 1000.0}) {
        const Tensor x = tensor({{0.5, -0.5}, {0.5, -0.5}}) * scale;  // (N, D)
        optimizer.zero_grad();
        const Tensor loss = naive_cross_entropy(model(x), target);
        loss.backward();
        std::printf("x times %4.0f: largest logit %.1f, naive loss %.3f, cross_entropy %.3f\n", scale,
                    max(model(x)).item(), std::abs(loss.item()), cross_entropy(model(x), target).item());
        try {
            optimizer.step();
        } catch (const Error& error) {
            std::printf("%s\n", error.what());
        }
    }
}

// ---- figures

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
    d.text(434, 157,
           "loss = −ln " + list(rows[1].second[0].slice(0, 0, 1), "%.3f") + " =" +
               list(loss.reshape({1}), " %.3f"),
           side);
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
        if (activation == none) continue;
        x = x.detach().clone().requires_grad_();
        const Tensor y = activation(x);
        sum(y).backward();
        plot.line(at, y.detach().to_vector<double>(), name, {.colour = viz::palette(i)});
        plot.line(at, x.grad().to_vector<double>(), {},
                  {.colour = viz::palette(i++), .width = 1.3, .dashed = true});
    }
    return plot.svg();
}

std::string losses_picture(const std::vector<Trained>& trained) {
    viz::Plot plot({.title = "Loss on the training points, and dashed on the held-out points",
                    .x = "epoch",
                    .y = "cross-entropy",
                    .y_range = {0, 1},
                    .legend = "top-right"});
    std::vector<double> epochs(trained[0].losses.train.size());
    std::iota(epochs.begin(), epochs.end(), 1);
    for (std::size_t i = 0; i < trained.size(); ++i) {
        const std::string colour = viz::palette(i == 0 ? 7 : i - 1);
        plot.line(epochs, trained[i].losses.train, trained[i].name, {.colour = colour});
        plot.line(epochs, trained[i].losses.validation, {}, {.colour = colour, .dashed = true});
    }
    return plot.svg();
}

// The class that the model gives to each place, and the points with their true class.
std::string regions_picture(const std::string& title, const Classifier& model, const Points& points) {
    const std::int64_t cells = 120;
    const double edge = 1.2;
    std::vector<double> places;
    for (std::int64_t i = 0; i < cells * cells; ++i) {
        places.push_back(-edge + 2 * edge * (static_cast<double>(i % cells) + 0.5) / cells);
        places.push_back(-edge + 2 * edge * (static_cast<double>(i / cells) + 0.5) / cells);
    }
    const NoGrad off;
    const Tensor taken = argmax(model(from_vector(places, {cells * cells, D})), -1).reshape({cells, cells});
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
    by_hand(chapter);
    large_logits(chapter);
    show_module(chapter);

    Rng rng(1);
    const Points training = draw_points(300, rng), validation = draw_points(150, rng);
    chapter.section("training");
    Rng first(2);
    Classifier model(32, tanh, first);
    train(model, training, validation, 200, true);
    confusion(chapter, model(validation.x), validation.kind);
    const std::vector<Trained> trained = compare(chapter, training, validation);
    broken(chapter);

    chapter.figure("07_steps", steps_picture());
    chapter.figure("07_losses", losses_picture(trained));
    chapter.figure("07_activations", activations_picture());
    chapter.figure("07_lines", regions_picture("Without an activation", trained[0].model, validation));
    chapter.figure("07_regions", regions_picture("With 32 hidden units and tanh", model, validation));
}
