// Chapter 14: a model that learned to repeat, and the two heads that do it.
// B sequences, T letters, V letters of the alphabet, C = d_model, H heads.
#include <array>
#include <numeric>

#include "chapter.h"

using namespace weft;

namespace {

constexpr std::int64_t B = 32, T = 24, V = 16, C = 32, H = 2, half = T / 2;
constexpr std::int64_t unknown = -100;  // cross_entropy's ignore_index

struct Batch {
    Tensor letters, next;  // (B, T) both
};

// Each sequence says some different letters, drawn at random, again and again; how many, at least `shortest`
// and at most T / 2, is drawn too. From the second saying on the next letter can be known.
Batch sequences(std::int64_t count, std::int64_t shortest, Rng& rng) {
    std::vector<std::int64_t> letters, next;
    for (std::int64_t b = 0; b < count; ++b) {
        const std::int64_t period = rng.randint(shortest, half + 1);
        std::vector<std::int64_t> order(V);
        std::iota(order.begin(), order.end(), 0);
        for (std::int64_t i = 0; i < period; ++i) std::swap(order[i], order[rng.randint(i, V)]);
        for (std::int64_t t = 0; t < T; ++t) {
            letters.push_back(order[t % period]);
            next.push_back(t < period ? unknown : order[(t + 1) % period]);
        }
    }
    return {from_vector(letters, {count, T}), from_vector(next, {count, T})};
}

// Which heads act: (H,) of ones and zeros for each layer.
using Heads = std::array<Tensor, 2>;

Heads all_heads() { return {ones({H}, float64), ones({H}, float64)}; }

Heads without(std::int64_t layer, std::int64_t head) {
    Heads heads = all_heads();
    heads[static_cast<std::size_t>(layer)][head].fill_(0);
    return heads;
}

struct Layer : nn::Module {
    nn::LayerNorm norm;
    nn::MultiHeadAttention attn;

    Layer(Rng& rng, std::optional<double> rotary)
        : norm(register_module("norm", nn::LayerNorm(C))),
          attn(register_module("attn",
                               nn::MultiHeadAttention(C, H, rng, {.fused = false, .rotary_base = rotary}))) {}

    // What the layer adds, and the weights of its heads; `active` (H,) multiplies each head's result.
    AttentionResult operator()(const Tensor& x, const Tensor& active) const {  // (B, T, C)
        const Tensor n = norm(x);                                              // (B, T, C)
        return attend(n, n, n, active);
    }
    AttentionResult attend(const Tensor& query, const Tensor& key, const Tensor& value,
                           const Tensor& active) const {
        const auto [q, k, v] = attn.project(query, key, value);  // (B, H, T, d_k)
        const auto [heads, weights] =
            scaled_dot_product_attention_with_weights(q, k, v, {.mask = Mask::causal()});
        const Tensor kept = heads * active.reshape({H, 1, 1});  // (B, H, T, d_k): times 1 or 0
        return {attn.W_out(nn::merge_heads(kept)), weights};    // (B, T, C), (B, H, T, T)
    }
};

struct TwoLayers : nn::Module {
    nn::Embedding letter;
    Layer first;   // rotary: knows how far apart two letters are
    Layer second;  // knows of no places, only what the first has written
    nn::LayerNorm norm;
    nn::Linear head;

    explicit TwoLayers(Rng& rng)
        : letter(register_module("letter", nn::Embedding(V, C, rng))),
          first(register_module("first", Layer(rng, 100))),
          second(register_module("second", Layer(rng, std::nullopt))),
          norm(register_module("norm", nn::LayerNorm(C))),
          head(register_module("head", nn::Linear(C, V, rng))) {}

    struct Seen {
        Tensor logits;                  // (B, T, V)
        std::array<Tensor, 2> weights;  // of each layer (B, H, T, T)
    };
    Seen operator()(const Tensor& letters, const Heads& active = all_heads()) const {  // (B, T)
        const Tensor x = letter(letters);                                              // (B, T, C)
        const AttentionResult one = first(x, active[0]);
        const Tensor h = x + one.output;  // (B, T, C)
        const AttentionResult two = second(h, active[1]);
        return {head(norm(h + two.output)), {one.weights, two.weights}};
    }
};

double accuracy(const Tensor& logits, const Tensor& next) {  // (B, T, V), (B, T)
    const Tensor right = argmax(logits, -1) == next;         // (B, T); never where it is unknown
    return sum(right.to(float64)).item() / sum((next != unknown).to(float64)).item();
}

// The mean weight that places of the second saying give to the place `back` before them.
double looks_back(const Tensor& weights, std::int64_t back) {  // (T, T)
    double total = 0;
    for (std::int64_t t = half; t < T; ++t) total += weights.at({t, t - back});
    return total / static_cast<double>(T - half);
}

double previous_score(const Tensor& weights) { return looks_back(weights, 1); }
double induction_score(const Tensor& weights) { return looks_back(weights, half - 1); }

struct History {
    std::vector<double> step, loss, previous, induction;  // the best head's score in layer 1, in layer 2
};

double best(const Tensor& weights, double (*score)(const Tensor&)) {  // (B, H, T, T)
    double highest = 0;
    for (std::int64_t h = 0; h < H; ++h) highest = std::max(highest, score(mean(weights.select(1, h), 0)));
    return highest;
}

History train(TwoLayers& model, Rng& rng) {
    Rng apart(9);
    const Batch looked_at = sequences(32, half, apart);
    History history;
    optim::AdamW optimizer(model, {.weight_decay = 0});
    const int steps = 300;
    for (int step = 0; step <= steps; ++step) {
        const Batch batch = sequences(B, 3, rng);
        optimizer.set_lr(optim::cosine_lr(step, {.lr = 5e-3, .warmup_steps = 20, .steps = steps}));
        optimizer.zero_grad();
        const Tensor loss = cross_entropy(model(batch.letters).logits, batch.next);  // (B, T, V), (B, T) → ()
        loss.backward();
        optimizer.step();
        if (step % 10 != 0) continue;
        const NoGrad off;
        const auto [logits, weights] = model(looked_at.letters);
        history.step.push_back(step);
        history.loss.push_back(loss.item());
        history.previous.push_back(best(weights[0], previous_score));
        history.induction.push_back(best(weights[1], induction_score));
        if (step % 50 == 0)
            std::printf("step %3d  loss %5.3f  previous %.2f  induction %.2f\n", step, loss.item(),
                        history.previous.back(), history.induction.back());
    }
    return history;
}

void scores(const TwoLayers& model, const Batch& batch) {
    const auto [logits, weights] = model(batch.letters);
    std::printf("accuracy in the second saying: %.2f\n\n", accuracy(logits, batch.next));
    std::printf("                 previous  induction\n");
    for (std::int64_t l = 0; l < 2; ++l)
        for (std::int64_t h = 0; h < H; ++h) {
            const Tensor map = mean(weights[static_cast<std::size_t>(l)].select(1, h), 0);  // (T, T)
            std::printf("layer %d, head %d %10.2f %10.2f\n", static_cast<int>(l) + 1, static_cast<int>(h) + 1,
                        previous_score(map), induction_score(map));
        }
}

void ablation(const TwoLayers& model, const Batch& batch) {
    const auto row = [&](const char* what, const Heads& active) {
        const double right = accuracy(model(batch.letters, active).logits, batch.next);
        std::printf("%-24s %9.2f\n", what, right);
    };
    const Tensor on = ones({H}, float64), off = zeros({H}, float64);
    std::printf("%-24s  accuracy\n", "switched off");
    row("nothing", all_heads());
    row("layer 1, head 1", without(0, 0));
    row("layer 1, head 2", without(0, 1));
    row("layer 2, head 1", without(1, 0));
    row("layer 2, head 2", without(1, 1));
    row("layer 2, both heads", {on, off});
}

double mean_induction(const Tensor& weights, std::int64_t head) {  // (B, H, T, T)
    return induction_score(mean(weights.select(1, head), 0));
}

void break_it(const TwoLayers& model, const Batch& batch) {
    const auto row = [&](const char* what, const Heads& active) {
        const Tensor weights = model(batch.letters, active).weights[1];
        std::printf("%-24s %6.2f %8.2f\n", what, mean_induction(weights, 0), mean_induction(weights, 1));
    };
    std::printf("induction in layer 2     head 1   head 2\n");
    row("all heads on", all_heads());
    row("layer 1, head 1 off", without(0, 0));
    row("layer 1, head 2 off", without(0, 1));
}

// What layer 2 loses when head 1 of layer 1 is missing in one of the three things it reads.
void which_way(const TwoLayers& model, const Batch& batch) {
    const Tensor x = model.letter(batch.letters);                                        // (B, T, C)
    const Tensor h = x + model.first(x, all_heads()[0]).output;                          // (B, T, C)
    const Tensor whole = model.second.norm(h);                                           // (B, T, C)
    const Tensor less = model.second.norm(x + model.first(x, without(0, 0)[0]).output);  // (B, T, C)
    const auto row = [&](const char* what, const Tensor& q, const Tensor& k, const Tensor& v) {
        const Tensor added = model.second.attend(q, k, v, all_heads()[1]).output;  // (B, T, C)
        std::printf("%-24s %9.2f\n", what, accuracy(model.head(model.norm(h + added)), batch.next));
    };
    std::printf("%-24s  accuracy\n", "head 1 is missing in");
    row("nothing", whole, whole, whole);
    row("layer 2's queries", less, whole, whole);
    row("layer 2's keys", whole, less, whole);
    row("layer 2's values", whole, whole, less);
}

// ---- figures

// One sequence, and which position attends to which.
std::string idea_figure() {
    viz::Drawing d(640, 265,
                   "A previous-token head notes in b that it comes after a; an induction head finds that note");
    const std::string said = "abcdabcd";
    const auto x = [](int t) { return 45.0 + 74 * t; };
    const viz::BoxStyle plain{.label = {.size = 17}},
        hot{.fill = "#fdf1e3", .stroke = {viz::palette(1), 2.5, false}, .label = {.size = 17}};
    const auto row = [&](double y, int upto) {
        for (int t = 0; t < upto; ++t)
            d.box(x(t), y, 44, 36, std::string(1, said[static_cast<std::size_t>(t)]),
                  t == 1 || t == 4 ? hot : plain);
    };
    row(145, 5);
    d.text(x(5) + 22, 163, "?", {20, "middle", viz::palette(1), true});
    const viz::Stroke first{viz::palette(0), 2.5, false}, second{viz::palette(1), 2.5, false};
    d.path({{x(1) + 12, 181}, {x(1) + 12, 205}, {x(0) + 22, 205}}, first);
    d.arrow(x(0) + 22, 205, x(0) + 22, 183, first);
    d.text(25, 228, "1. previous-token head, layer 1: each letter looks at the one before,",
           {13, "start", viz::palette(0), true});
    d.text(41, 248, "so that b's vector also says \"after a\"", {13, "start", viz::palette(0)});
    d.path({{x(4) + 22, 145}, {x(4) + 22, 105}, {x(1) + 22, 105}}, second);
    d.arrow(x(1) + 22, 105, x(1) + 22, 143, second);
    d.text(25, 30, "2. induction head, layer 2: the second a looks for \"after a\", finds b,",
           {13, "start", viz::palette(1), true});
    d.text(41, 50, "and says that b comes next", {13, "start", viz::palette(1)});
    d.box(x(1) - 16, 68, 76, 26, "\"after a\"", {.fill = "#eef3fa", .stroke = {viz::palette(0), 1.5, true}});
    return d.svg();
}

std::string history_figure(const History& history) {
    viz::Plot plot({.title = "The loss falls while the two roles form",
                    .x = "step",
                    .y = "score, or loss",
                    .x_range = {0, 300},
                    .y_range = {0, 3.2},
                    .legend = "top-right"});
    plot.line(history.step, history.loss, "loss");
    plot.line(history.step, history.previous, "previous-token score, layer 1");
    plot.line(history.step, history.induction, "induction score, layer 2");
    return plot.svg();
}

viz::MapOptions labels(const Batch& batch, const char* title) {
    std::vector<std::string> said;
    for (const std::int64_t id : batch.letters[0].to_vector<std::int64_t>())
        said.emplace_back(1, static_cast<char>('a' + id));
    return {.queries = said, .mask = Mask::causal(), .title = title};
}

void maps(const Chapter& chapter, const TwoLayers& model, const Batch& batch) {
    const auto whole = model(batch.letters).weights, broken = model(batch.letters, without(0, 0)).weights;
    chapter.figure("14_maps", viz::attention_grid_svg({whole[0][0], whole[1][0]},
                                                      labels(batch, "Two layers, one sequence said twice")));
    chapter.figure("14_broken",
                   viz::attention_svg(broken[1][0][1],
                                      labels(batch, "Layer 2, head 2, with head 1 of layer 1 switched off")));
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    set_num_threads(1);  // there is too little to do at a time to share it out
    chapter.section("Training");
    Rng rng(13);
    TwoLayers model(rng);
    model.to(float64);
    const History history = train(model, rng);
    const NoGrad off;
    const Batch unseen = sequences(256, half, rng);
    chapter.section("Scores of the heads");
    scores(model, unseen);
    chapter.section("One head switched off");
    ablation(model, unseen);
    chapter.section("Break it: without the previous-token head");
    break_it(model, unseen);
    std::printf("\n");
    which_way(model, unseen);

    chapter.figure("14_idea", idea_figure());
    chapter.figure("14_history", history_figure(history));
    maps(chapter, model, unseen);
}
