// Chapter 17: a model that learned to repeat, and the two heads that do it.
// B sequences, T letters, V letters of the alphabet, C = d_model, H heads, d_k = C / H.
#include "chapter.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>
#include <optional>

#include "weft/weft.h"

using namespace weft;

namespace {

constexpr std::int64_t B = 32, T = 24, V = 16, C = 32, H = 2, half = T / 2;
constexpr std::int64_t unknown = -100;  // the target that cross_entropy ignores
constexpr int steps = 200, seeds = 5;

struct Batch {
    Tensor letters, next;  // (B, T) both
};

// Each sequence repeats some different letters, drawn at random; how many, at least `shortest` and at most
// T / 2, is drawn for each sequence. From the first repetition on, the next letter can be known.
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

// Which heads of each layer are on, (H,) of ones and zeros, and what replaces the result of one that is off.
struct Switches {
    std::array<Tensor, 2> on = {ones({H}, float64), ones({H}, float64)};
    bool by_mean = false;  // its mean over the batch and all positions, otherwise 0
};

// All heads on but one of a layer, or but both.
Switches without(std::size_t layer, std::int64_t head) {
    Switches heads;
    heads.on[layer][head].fill_(0);
    return heads;
}
Switches without_both(std::size_t layer) {
    Switches heads;
    heads.on[layer] = zeros({H}, float64);
    return heads;
}

struct Layer : nn::Module {
    std::optional<double> rotary;
    nn::LayerNorm norm = register_module("norm", nn::LayerNorm(C));
    nn::Attention attn = register_module("attn", nn::Attention(C, H, {.fused = false, .rotary_base = rotary}));

    explicit Layer(std::optional<double> rotary) : rotary(rotary) {}

    // What the layer adds to the residual stream, and the weights of its heads.
    AttentionResult operator()(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& on,
                               bool by_mean) const {             // (B, T, C) three times, (H,)
        const auto [q, k, v] = attn.project(query, key, value);  // (B, H, T, d_k)
        const auto [heads, weights] =
            scaled_dot_product_attention_with_weights(q, k, v, {.mask = Mask::causal()});
        const Tensor factor = on.reshape({H, 1, 1});
        Tensor kept = heads * factor;  // (B, H, T, d_k): times 1 or 0
        if (by_mean) kept = kept + mean(heads, {0, 2}, true) * (1 - factor);
        return {attn.W_out(nn::merge_heads(kept)), weights};  // (B, T, C), (B, H, T, T)
    }
};

struct TwoLayers : nn::Module {
    double rotary_base;
    nn::Embedding letter = register_module("letter", nn::Embedding(V, C));
    // Rotary: sees the distance between two letters.
    Layer first = register_module("first", Layer(rotary_base));
    // Has no position encoding, and reads what the first has written.
    Layer second = register_module("second", Layer(std::nullopt));
    nn::LayerNorm norm = register_module("norm", nn::LayerNorm(C));
    nn::Linear head = register_module("head", nn::Linear(C, V));

    explicit TwoLayers(double rotary_base = 100) : rotary_base(rotary_base) {}

    struct Result {
        Tensor logits;                  // (B, T, V)
        std::array<Tensor, 2> weights;  // of each layer (B, H, T, T)
    };
    Result operator()(const Tensor& letters, const Switches& heads = {}) const {  // (B, T)
        const Tensor x = letter(letters), n = first.norm(x);                      // (B, T, C)
        const AttentionResult one = first(n, n, n, heads.on[0], heads.by_mean);
        const Tensor h = x + one.output, m = second.norm(h);  // (B, T, C)
        const AttentionResult two = second(m, m, m, heads.on[1], heads.by_mean);
        return {head(norm(h + two.output)), {one.weights, two.weights}};
    }
};

double accuracy(const Tensor& logits, const Tensor& next) {  // (B, T, V), (B, T)
    const Tensor right = argmax(logits, -1) == next;         // (B, T), false where the target is unknown
    return sum(right.to(float64)).item() / sum((next != unknown).to(float64)).item();
}

// For each head, the mean weight that positions of the second half give to the position `back` before them.
std::vector<double> looks_back(const Tensor& weights, std::int64_t back) {  // (B, H, T, T)
    std::vector<double> scores(H);
    for (std::int64_t h = 0; h < H; ++h) {
        const Tensor map = mean(weights.select(1, h), 0);  // (T, T)
        for (std::int64_t t = half; t < T; ++t) scores[h] += map.at({t, t - back}) / (T - half);
    }
    return scores;
}

std::vector<double> previous_scores(const Tensor& weights) { return looks_back(weights, 1); }
std::vector<double> induction_scores(const Tensor& weights) { return looks_back(weights, half - 1); }

struct History {
    std::vector<double> step, loss, previous, induction;  // the scores of the best head in layer 1, in layer 2
};

History train(TwoLayers& model, Rng& rng, const Switches& heads = {}) {
    Rng other(9);
    const Batch looked_at = sequences(32, half, other);
    History history;
    optim::AdamW optimizer(model, {.weight_decay = 0});
    for (int step = 0; step <= steps; ++step) {
        const Batch batch = sequences(B, 3, rng);
        optimizer.set_lr(optim::cosine_lr(step, {.lr = 5e-3, .warmup_steps = 20, .steps = steps}));
        optimizer.zero_grad();
        const Tensor logits = model(batch.letters, heads).logits;  // (B, T, V)
        const Tensor loss = cross_entropy(logits, batch.next);     // ()
        loss.backward();
        optimizer.step();
        if (step % 10 != 0) continue;
        const NoGrad off;
        const auto weights = model(looked_at.letters, heads).weights;
        history.step.push_back(step);
        history.loss.push_back(loss.item());
        history.previous.push_back(std::ranges::max(previous_scores(weights[0])));
        history.induction.push_back(std::ranges::max(induction_scores(weights[1])));
    }
    return history;
}

// A trained model, with the heads that its scores name.
struct Trained {
    TwoLayers model;
    History history;
    Batch unseen;                                // 256 sequences of twelve letters said twice
    std::vector<double> previous, induction;     // scores of layer 1, of layer 2, on other sequences
    std::int64_t previous_head, induction_head;  // those with the higher score
};

std::int64_t best(const std::vector<double>& scores) {
    return std::ranges::max_element(scores) - scores.begin();
}

Trained trained(std::uint64_t seed) {
    manual_seed(seed);
    Rng& rng = default_rng();
    TwoLayers model;
    model.to(float64);
    const History history = train(model, rng);
    const NoGrad off;
    const auto weights = model(sequences(256, half, rng).letters).weights;
    const auto previous = previous_scores(weights[0]), induction = induction_scores(weights[1]);
    return {model, history, sequences(256, half, rng), previous, induction, best(previous), best(induction)};
}

// f of each model.
template <class F>
std::string over(const std::vector<Trained>& all, const F& f) {
    std::vector<double> values;
    for (const Trained& t : all) values.push_back(f(t));
    return spread(values);
}

void history_table(const History& history) {
    for (std::size_t i = 0; i < history.step.size(); i += 5)
        std::printf("step %3.0f  loss %5.3f  previous %.2f  induction %.2f\n", history.step[i], history.loss[i],
                    history.previous[i], history.induction[i]);
}

// The first step of those looked at whose score is at least half of the last one's.
double half_grown(const History& history, const std::vector<double>& scores) {
    std::size_t i = 0;
    while (scores[i] < scores.back() / 2) ++i;
    return history.step[i];
}

void every_seed(const std::vector<Trained>& all) {
    std::printf("               layer 1, previous   layer 2, induction  half grown at step\n");
    std::printf("seed accuracy  head 1   head 2     head 1   head 2     previous induction\n");
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Trained& t = all[i];
        std::printf("%4d %8.2f %7.2f %8.2f %10.2f %8.2f %12.0f %9.0f\n", static_cast<int>(i) + 1,
                    accuracy(t.model(t.unseen.letters).logits, t.unseen.next), t.previous[0], t.previous[1],
                    t.induction[0], t.induction[1], half_grown(t.history, t.history.previous),
                    half_grown(t.history, t.history.induction));
    }
}

// The share of guesses in the second half that name a letter which has been said twice already.
double said_twice(const Tensor& logits, const Tensor& letters) {                      // (B, T, V), (B, T)
    const Tensor guesses = argmax(logits, -1).unsqueeze(-1) == arange(V);             // (B, T, V)
    const Tensor said = cumsum((letters.unsqueeze(-1) == arange(V)).to(float64), 1);  // (B, T, V)
    return mean(sum((guesses && said == 2).to(float64), -1).slice(1, half, T)).item();
}

// The accuracy of a model that is trained with one layer off, and its guesses at letters said twice.
std::array<double, 2> one_layer(std::uint64_t seed, std::size_t off) {
    manual_seed(seed);
    Rng& rng = default_rng();
    TwoLayers model;
    model.to(float64);
    const Switches heads = without_both(off);
    train(model, rng, heads);
    const NoGrad no_grad;
    const Batch unseen = sequences(256, half, rng);
    const Tensor logits = model(unseen.letters, heads).logits;  // (B, T, V)
    return {accuracy(logits, unseen.next), said_twice(logits, unseen.letters)};
}

void one_layer_table() {
    std::printf("               accuracy             guesses that were said twice\n");
    for (const std::size_t off : {1, 0}) {
        std::vector<double> right, twice;
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            const auto [accuracy, said] = one_layer(seed, off);
            right.push_back(accuracy), twice.push_back(said);
        }
        std::printf("layer %d alone  %s  %s\n", off == 0 ? 2 : 1, spread(right).c_str(), spread(twice).c_str());
    }
}

// What other bases of the rotary positions give: the loss of the last batch.
void bases(const std::vector<Trained>& all) {
    const auto row = [](int base, const std::vector<double>& losses) {
        std::printf("rotary base %5d  loss at step %d: %s\n", base, steps, spread(losses).c_str());
    };
    std::vector<double> losses, others;
    for (const Trained& t : all) losses.push_back(t.history.loss.back());
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        manual_seed(seed);
        TwoLayers model(10000);
        model.to(float64);
        others.push_back(train(model, default_rng()).loss.back());
    }
    row(100, losses), row(10000, others);
}

double accuracy_with(const Trained& t, Switches heads, bool by_mean) {
    heads.by_mean = by_mean;
    return accuracy(t.model(t.unseen.letters, heads).logits, t.unseen.next);
}

void ablation(const std::vector<Trained>& all) {
    const auto row = [&](const char* what, const auto& heads_of) {
        std::printf("%-31s", what);
        for (const bool by_mean : {false, true})
            std::printf("  %s", over(all, [&](const Trained& t) {
                                    return accuracy_with(t, heads_of(t), by_mean);
                                }).c_str());
        std::printf("\n");
    };
    std::printf("switched off                     replaced by 0        replaced by its mean\n");
    row("nothing", [](const Trained&) { return Switches{}; });
    row("layer 1, higher previous score", [](const Trained& t) { return without(0, t.previous_head); });
    row("layer 1, the other head", [](const Trained& t) { return without(0, 1 - t.previous_head); });
    row("layer 1, both heads", [](const Trained&) { return without_both(0); });
    row("layer 2, higher induction score", [](const Trained& t) { return without(1, t.induction_head); });
    row("layer 2, the other head", [](const Trained& t) { return without(1, 1 - t.induction_head); });
    row("layer 2, both heads", [](const Trained&) { return without_both(1); });
    const auto costs_more = std::ranges::count_if(all, [](const Trained& t) {
        return accuracy_with(t, without(0, t.previous_head), false) <
               accuracy_with(t, without(0, 1 - t.previous_head), false);
    });
    std::printf("in layer 1, the head with the higher score costs more in %d of %d models\n",
                static_cast<int>(costs_more), seeds);
}

// How large a head's results are, the root mean square of their norms over the batch and all positions, and how
// large their mean is.
void sizes(const std::vector<Trained>& all) {
    std::printf("norm of                         the results          their mean\n");
    const auto row = [&](const char* what, std::size_t layer, const auto& head_of) {
        const auto norm_of = [&](bool of_mean) {
            return over(all, [&](const Trained& t) {
                const Plain readable(Plain::operations);
                const Trace trace;
                t.model(t.unseen.letters);
                Tensor head;  // (B, T, d_k)
                std::size_t layers = 0;
                for (const TraceEntry& entry : trace.entries())
                    if (entry.name == "heads" && layers++ == layer) head = entry.tensor.select(1, head_of(t));
                const Tensor vector = of_mean ? mean(head, {0, 1}, keepdim) : head;
                return sqrt(mean(sum(vector * vector, -1))).item();
            });
        };
        std::printf("%-31s %s  %s\n", what, norm_of(false).c_str(), norm_of(true).c_str());
    };
    row("layer 1, higher previous score", 0, [](const Trained& t) { return t.previous_head; });
    row("layer 1, the other head", 0, [](const Trained& t) { return 1 - t.previous_head; });
    row("layer 2, higher induction score", 1, [](const Trained& t) { return t.induction_head; });
    row("layer 2, the other head", 1, [](const Trained& t) { return 1 - t.induction_head; });
}

void break_it(const std::vector<Trained>& all) {
    const auto row = [&](const char* what, const auto& heads_of) {
        const auto score = [&](const Trained& t) {
            return induction_scores(t.model(t.unseen.letters, heads_of(t)).weights[1])[t.induction_head];
        };
        std::printf("%-31s %s\n", what, over(all, score).c_str());
    };
    std::printf("switched off in layer 1         induction score in layer 2\n");
    row("nothing", [](const Trained&) { return Switches{}; });
    row("the higher previous score", [](const Trained& t) { return without(0, t.previous_head); });
    row("the other head", [](const Trained& t) { return without(0, 1 - t.previous_head); });
    row("both heads", [](const Trained&) { return without_both(0); });
}

enum class Input { none, queries, keys, values };

// The accuracy if heads of layer 1 are missing in one of the three inputs of layer 2.
double accuracy_without(const Trained& t, const Switches& heads, Input missing) {
    const TwoLayers& model = t.model;
    const Tensor on = ones({H}, float64);
    const Tensor x = model.letter(t.unseen.letters), n = model.first.norm(x);                    // (B, T, C)
    const Tensor whole = model.second.norm(x + model.first(n, n, n, on, false).output);          // (B, T, C)
    const Tensor less = model.second.norm(x + model.first(n, n, n, heads.on[0], false).output);  // (B, T, C)
    const auto input = [&](Input which) { return which == missing ? less : whole; };
    const AttentionResult two =
        model.second(input(Input::queries), input(Input::keys), input(Input::values), on, false);
    const Tensor h = x + model.first(n, n, n, on, false).output;  // (B, T, C)
    return accuracy(model.head(model.norm(h + two.output)), t.unseen.next);
}

void which_input(const std::vector<Trained>& all) {
    std::printf("missing in            one head of layer 1   both heads\n");
    for (const auto& [name, input] : {std::pair{"no input", Input::none}, std::pair{"queries", Input::queries},
                                      std::pair{"keys", Input::keys}, std::pair{"values", Input::values}}) {
        const auto one = [input = input](const Trained& t) {
            return accuracy_without(t, without(0, t.previous_head), input);
        };
        const auto both = [input = input](const Trained& t) {
            return accuracy_without(t, without_both(0), input);
        };
        std::printf("%-20s  %s  %s\n", name, over(all, one).c_str(), over(all, both).c_str());
    }
}

// ---- figures

// One sequence, and which position attends to which.
std::string idea_figure() {
    viz::Drawing d(640, 265,
                   "A previous-token head writes into b that it follows a; an induction head finds that b");
    const std::string said = "abcdabcd";
    const auto x = [](int t) { return 45.0 + 74 * t; };
    const viz::BoxStyle plain{.label = {.size = 17}},
        hot{.fill = "#fdf1e3", .stroke = {viz::palette(1), 2.5, false}, .label = {.size = 17}};
    for (int t = 0; t < 5; ++t)
        d.box(x(t), 145, 44, 36, std::string(1, said[static_cast<std::size_t>(t)]),
              t == 1 || t == 4 ? hot : plain);
    d.text(x(5) + 22, 163, "?", {20, "middle", viz::palette(1), true});
    const viz::Stroke first{viz::palette(0), 2.5, false}, second{viz::palette(1), 2.5, false};
    d.path({{x(1) + 12, 181}, {x(1) + 12, 205}, {x(0) + 22, 205}}, first);
    d.arrow(x(0) + 22, 205, x(0) + 22, 183, first);
    d.text(25, 228, "1. Previous-token head, layer 1: each letter attends to the letter before it,",
           {13, "start", viz::palette(0), true});
    d.text(41, 248, "so the vector of b also says \"after a\".", {13, "start", viz::palette(0)});
    d.path({{x(4) + 22, 145}, {x(4) + 22, 105}, {x(1) + 22, 105}}, second);
    d.arrow(x(1) + 22, 105, x(1) + 22, 143, second);
    d.text(25, 30, "2. Induction head, layer 2: the second a attends to \"after a\", finds b,",
           {13, "start", viz::palette(1), true});
    d.text(41, 50, "and predicts that b comes next.", {13, "start", viz::palette(1)});
    d.box(x(1) - 16, 68, 76, 26, "\"after a\"", {.fill = "#eef3fa", .stroke = {viz::palette(0), 1.5, true}});
    return d.svg();
}

std::string history_figure(const History& history) {
    viz::Plot plot({.title = "Loss, and the scores of the two roles",
                    .x = "step",
                    .y = "score, or loss",
                    .x_range = {0, steps},
                    .y_range = {0, 3.2},
                    .legend = "top-right"});
    plot.line(history.step, history.loss, "loss");
    plot.line(history.step, history.previous, "previous-token score, layer 1");
    plot.line(history.step, history.induction, "induction score, layer 2");
    return plot.svg();
}

viz::MapOptions labels(const Batch& batch, const std::string& title) {
    std::vector<std::string> said;
    for (const std::int64_t id : batch.letters[0].to_vector<std::int64_t>())
        said.emplace_back(1, static_cast<char>('a' + id));
    return {.queries = said, .mask = Mask::causal(), .title = title};
}

void maps(const Chapter& chapter, const Trained& t) {
    const auto weights = t.model(t.unseen.letters).weights;
    const auto broken = t.model(t.unseen.letters, without_both(0)).weights;
    chapter.figure("17_maps",
                   viz::attention_grid_svg({weights[0][0], weights[1][0]},
                                           labels(t.unseen, "Two layers, twelve letters said twice")));
    chapter.figure("17_broken",
                   viz::attention_svg(broken[1][0][t.induction_head],
                                      labels(t.unseen, "Layer 2, head " + std::to_string(t.induction_head + 1) +
                                                           ", with layer 1 off")));
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    set_num_threads(1);  // the operations are too small to share among threads
    std::vector<Trained> all;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) all.push_back(trained(seed));
    chapter.section("Training");
    history_table(all[0].history);
    chapter.section("One layer");
    one_layer_table();
    chapter.section("Another base");
    bases(all);
    const NoGrad off;
    chapter.section("Every seed");
    every_seed(all);
    chapter.section("Switches switched off");
    ablation(all);
    std::printf("\n");
    sizes(all);
    chapter.section("Break it: without the previous-token head");
    break_it(all);
    std::printf("\n");
    which_input(all);

    chapter.figure("17_idea", idea_figure());
    chapter.figure("17_history", history_figure(all[0].history));
    maps(chapter, all[0]);
}
