// What the sick programs share: something to learn, a training loop, and pictures for the terminal.
// B batch, T tokens, V vocabulary.
#pragma once

#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "weft/weft.h"

using namespace weft;

constexpr double infinity = std::numeric_limits<double>::infinity();

// A whole number, low ≤ n < high.
inline std::int64_t draw_number(std::int64_t low, std::int64_t high, Rng& rng) {
    return static_cast<std::int64_t>(randint(low, high, {}, rng).item());
}
// Sentences of a small language, such as "the old cat sees a red hen.", drawn from a seed.
inline std::string story(std::uint64_t seed, int sentences) {
    static const std::vector<std::string> articles = {"the", "a", "my"},
                                          kinds = {"old", "red", "small", "quick", "lazy"},
                                          animals = {"cat", "hen", "fox", "dog", "mouse", "owl"},
                                          verbs = {"sees", "likes", "follows", "hears", "finds"};
    Rng rng(seed);
    const auto one_of = [&](const std::vector<std::string>& words) {
        return words[static_cast<std::size_t>(draw_number(0, std::ssize(words), rng))] + " ";
    };
    std::string text;
    for (int i = 0; i < sentences; ++i) {
        text += one_of(articles) + one_of(kinds) + one_of(animals) + one_of(verbs);
        text += one_of(articles) + one_of(kinds) + one_of(animals);
        text.back() = '.';
        text += ' ';
    }
    return text;
}
inline const text::Characters& alphabet() {  // of every story
    static const text::Characters characters(" .abcdefghijklmnopqrstuvwxyz");
    return characters;
}

// Trains with Adam for so many steps, from the loss of each, and returns the losses. A step whose loss is not a
// number is skipped.
inline std::vector<double> train(const std::vector<Tensor>& parameters, int steps, double lr,
                                 const std::function<Tensor(int)>& loss_of) {
    optim::Adam optimizer(optim::numbered(parameters), {.lr = lr});
    std::vector<double> losses;
    for (int step = 0; step < steps; ++step) {
        optimizer.zero_grad();
        const Tensor loss = loss_of(step);  // ()
        losses.push_back(loss.item());
        if (!std::isfinite(losses.back())) continue;
        loss.backward();
        optimizer.step();
    }
    return losses;
}

// A language model around an attention of yours, x (B, T, C) → (B, T, C), in float64: ids (B, T) → (B, T, V).
template <class Attention>
struct Model : nn::Module {
    struct {
        std::int64_t vocab_size, block_size, d_model;
    } config;  // for generation
    nn::Embedding tokens = register_module("tokens", nn::Embedding(config.vocab_size, config.d_model));
    nn::Embedding positions = register_module("positions", nn::Embedding(config.block_size, config.d_model));
    Attention attention;
    nn::LayerNorm norm = register_module("norm", nn::LayerNorm(config.d_model));
    nn::Linear head = register_module("head", nn::Linear(config.d_model, config.vocab_size));
    Model(std::int64_t V, std::int64_t T, std::int64_t C, const Attention& made)
        : config{V, T, C}, attention(register_module("attention", made)) {
        to(float64);
    }
    Tensor operator()(const Tensor& ids) const {
        const Tensor x = tokens(ids) + positions(arange(ids.size(-1)));  // (B, T, C)
        return head(norm(x + attention(x)));                             // (B, T, V)
    }
};

// Prints how a model continues a prompt.
inline void show_sample(const lm::LanguageModel& model, const std::string& prompt, std::uint64_t seed) {
    Rng rng(seed);
    const text::Ids ids =
        lm::generate(model, alphabet().encode(prompt), {.max_new_tokens = 60, .sampling = {.rng = &rng}});
    std::printf("\n%s|%s\n", prompt.c_str(), alphabet().decode(ids).c_str());
}

// The mean of the values that are numbers; not a number if there are none.
inline double mean_of(const std::vector<double>& values, std::size_t begin, std::size_t end) {
    double total = 0, count = 0;
    for (std::size_t i = begin; i < end; ++i)
        if (std::isfinite(values[i])) total += values[i], ++count;
    return total / count;
}
// Draws curves over each other, each with a mark, a name and its values, and prints the mean of its last tenth.
struct Curve {
    char mark;
    std::string name;
    std::vector<double> values;
};
inline void draw(const std::vector<Curve>& curves) {
    constexpr std::size_t width = 60, height = 9;
    std::vector<std::string> rows(height, std::string(width, ' '));
    std::vector<std::vector<double>> means;
    double low = infinity, high = -infinity;
    for (const Curve& curve : curves) {
        means.emplace_back();
        const std::size_t n = curve.values.size();
        for (std::size_t x = 0; x < width; ++x) {  // the mean of its part of the run
            const std::size_t begin = x * n / width, end = std::max((x + 1) * n / width, begin + 1);
            means.back().push_back(mean_of(curve.values, begin, end));
            if (!std::isfinite(means.back().back())) continue;
            low = std::min(low, means.back().back()), high = std::max(high, means.back().back());
        }
    }
    for (std::size_t c = 0; c < curves.size(); ++c)
        for (std::size_t x = 0; x < width; ++x) {
            const double share = (high - means[c][x]) / std::max(high - low, 1e-9) * (height - 1);
            if (std::isfinite(share)) rows[static_cast<std::size_t>(share + 0.5)][x] = curves[c].mark;
        }
    for (std::size_t y = 0; y < height; ++y) {
        char label[16] = "";
        if (y == 0 || y == height - 1)
            std::snprintf(label, sizeof label, high < 100 ? "%.2f" : "%.0e", y == 0 ? high : low);
        std::printf("%6s │%s\n", label, rows[y].substr(0, rows[y].find_last_not_of(' ') + 1).c_str());
    }
    for (const Curve& curve : curves)
        std::printf("  %c  %s: %.3f in the last tenth\n", curve.mark, curve.name.c_str(),
                    std::abs(mean_of(curve.values, curve.values.size() * 9 / 10, curve.values.size())));
}

// The weights of one head, (T, S): a line per query.
inline void show_map(const std::string& title, const Tensor& weights, const std::string& queries,
                     const std::string& keys, const Mask& mask = {}) {
    viz::MapOptions options{.mask = mask, .top = 1, .title = title};
    for (const char c : queries) options.queries.emplace_back(1, c);
    for (const char c : keys) options.keys.emplace_back(1, c);
    std::printf("\n%s\n", viz::attention_text(weights.detach(), options).c_str());
}
