// Chapter 14: the transformer block, and the GPT that is a stack of them.
// B batch, T tokens, V vocabulary, P = block_size, C = d_model, L layers.
#include "chapter.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "weft/weft.h"

using namespace weft;

namespace {

void gelu_values() {
    const Tensor many = arange(-5, 5, 0.01, float64);  // (1000,)
    const double apart = max(abs(gelu(many) - gelu(many, Gelu::tanh))).item();
    std::printf("largest difference between -5 and 5: %.4f\n", apart);
}

struct Block : nn::Module {
    std::int64_t d_model, num_heads;
    nn::LayerNorm norm1 = register_module("norm1", nn::LayerNorm(d_model));
    nn::CausalMultiHeadAttention attn =
        register_module("attn", nn::CausalMultiHeadAttention(d_model, num_heads, {.bias = true}));
    nn::LayerNorm norm2 = register_module("norm2", nn::LayerNorm(d_model));
    nn::MLP mlp = register_module("mlp", nn::MLP(d_model));  // C → 4C → C

    Block(std::int64_t d_model, std::int64_t num_heads) : d_model(d_model), num_heads(num_heads) {}

    Tensor operator()(const Tensor& x) const {  // (B, T, C)
        Tensor h = x + attn(norm1(x));          // (B, T, C): between tokens
        return h + mlp(norm2(h));               // (B, T, C): within each token
    }
};

struct SmallGPT : nn::Module {
    lm::GPTConfig c;
    nn::Embedding token_embedding =  // (V, C)
        register_module("token_embedding", nn::Embedding(c.vocab_size, c.d_model));
    nn::Embedding position_embedding =  // (P, C)
        register_module("position_embedding", nn::Embedding(c.block_size, c.d_model));
    nn::ModuleList<Block> blocks = register_module("blocks", nn::ModuleList<Block>());
    nn::LayerNorm norm = register_module("norm", nn::LayerNorm(c.d_model));
    // C → V; its weight is the token embedding's.
    nn::Linear head = register_module("head", nn::Linear(token_embedding.weight));

    explicit SmallGPT(const lm::GPTConfig& config) : c(config) {
        for (std::int64_t l = 0; l < c.num_layers; ++l) blocks.append(Block(c.d_model, c.num_heads));
    }

    Tensor operator()(const Tensor& ids) const {                            // (B, T)
        const Tensor positions = position_embedding(arange(ids.size(-1)));  // (T, C): rows 0 … T − 1
        Tensor x = token_embedding(ids) + positions;                        // (B, T, C)
        for (const Block& block : blocks) x = block(x);                     // (B, T, C)
        return head(norm(x));                                               // (B, T, V)
    }
};

const std::string sentence = "to be or not to be, that is the question";
const text::Characters tokenizer(sentence);  // an id for each of its 14 different characters

Tensor ids_of_sentence() {
    const text::Ids ids = tokenizer.encode(sentence);
    return from_vector(ids, {1, std::ssize(ids)});  // (1, 40)
}

lm::GPTConfig small(std::int64_t num_layers) {
    return {.vocab_size = tokenizer.vocab_size(),
            .block_size = 64,
            .num_layers = num_layers,
            .num_heads = 4,
            .d_model = 32,
            .bias = true};
}

void same_as_the_library() {
    Rng rng(1);
    lm::GPT library(small(2), rng);
    SmallGPT mine(small(2));
    mine.load_state_dict(library.state_dict());  // refused unless every name and shape is the same

    const Tensor ids = ids_of_sentence();  // (1, 40)
    const Tensor logits = mine(ids);       // (1, 40, V)
    std::printf("logits %s, largest difference from lm::GPT's: %g\n", logits.shape().str().c_str(),
                max(abs(logits - library(ids))).item());
}

void shapes() {
    Rng rng(1);
    const lm::GPT model(small(1), rng);
    const Plain definitions(Plain::operations);  // the textbook's steps, each of which has a name
    const Trace trace;
    (void)model(ids_of_sentence());
    for (const auto& [name, tensor] : trace.entries())
        std::printf("%-14s %s\n", name.c_str(), tensor.shape().str().c_str());
}

void count_parameters() {
    const auto whole = [](std::int64_t n) { return static_cast<long long>(n); };
    const std::int64_t V = 50257, P = 1024, C = 768, L = 12;
    const std::int64_t attention = (3 * C * C + 3 * C) + (C * C + C);  // W_qkv, W_out
    const std::int64_t mlp = (4 * C * C + 4 * C) + (4 * C * C + C);    // W_in, W_out
    const std::int64_t norms = 2 * 2 * C;
    const std::int64_t block = attention + mlp + norms;  // 12 C² + 13 C
    std::printf("token embedding     %11lld\n", whole(V * C));
    std::printf("position embedding  %11lld\n", whole(P * C));
    std::printf("one block           %11lld   attention %lld, MLP %lld, norms %lld\n", whole(block),
                whole(attention), whole(mlp), whole(norms));
    std::printf("12 blocks           %11lld\n", whole(L * block));
    std::printf("last norm           %11lld\n", whole(2 * C));
    std::printf("head, tied          %11d\n", 0);
    std::printf("sum                 %11lld\n", whole(V * C + P * C + L * block + 2 * C));

    Rng zeros = Rng::skip_init();  // values do not matter here
    const lm::GPT gpt2(
        {.vocab_size = V, .block_size = P, .num_layers = L, .num_heads = 12, .d_model = C, .bias = true},
        zeros);
    std::printf("lm::GPT's count     %11lld\n", whole(gpt2.num_parameters()));
}

void all_predictions_at_once() {
    Rng rng(3);
    lm::GPT model(small(2), rng);
    model.to(float64);
    const NoGrad off;
    const Tensor ids = ids_of_sentence();  // (1, 40)
    const Tensor logits = model(ids);      // (1, 40, V): one pass
    double largest = 0;
    for (std::int64_t n = 1; n < ids.size(1); ++n) {
        const Tensor prefix = model(ids.slice(1, 0, n));  // (1, n, V): a pass of its own
        const Tensor difference = logits.select(1, n - 1) - prefix.select(1, n - 1);  // (1, V)
        largest = std::max(largest, max(abs(difference)).item());
    }
    std::printf("%lld predictions from one pass; the same from %lld passes: %s\n",
                static_cast<long long>(ids.size(1) - 1), static_cast<long long>(ids.size(1) - 1),
                largest < 1e-12 ? "yes" : "no");
}

// The mean of −ln p of every next character: N − 1 predictions in one pass.
Tensor loss_of(const lm::GPT& model, const Tensor& ids) {  // (B, N)
    const std::int64_t N = ids.size(1);
    const Tensor logits = model(ids.slice(1, 0, N - 1));  // (B, N − 1, V)
    return cross_entropy(logits, ids.slice(1, 1, N));     // ()
}

void first_loss() {
    Rng rng(4);
    lm::GPT model(small(2), rng);
    model.to(float64);
    const NoGrad off;
    const Tensor ids = randint(0, model.config.vocab_size, {64, 33}, rng);  // characters at random
    std::printf("ln %lld = %.3f, first loss %.3f\n", static_cast<long long>(model.config.vocab_size),
                std::log(static_cast<double>(model.config.vocab_size)), loss_of(model, ids).item());
    model.token_embedding.weight.mul_(50);  // deviation 1 where it was 0.02
    std::printf("with embeddings 50 times as large: first loss %.1f\n", loss_of(model, ids).item());
}

void overfit_one_batch() {
    Rng rng(5);
    lm::GPT model(small(2), rng);
    model.to(float64);
    const Tensor ids = ids_of_sentence();
    optim::AdamW optimizer(model, {.lr = 1e-2, .weight_decay = 0});
    for (int step = 0; step <= 60; ++step) {
        optimizer.zero_grad();
        const Tensor loss = loss_of(model, ids);
        loss.backward();
        if (step == 0 && !check::gradient_flow(model).passed()) std::printf("a gradient is missing\n");
        if (step % 20 == 0) std::printf("step %2d  loss %.3f\n", step, loss.item());
        optimizer.step();
    }
}

// ---- Break it: the same parts in another order

void newer_parts() {
    Rng rng(6);
    const nn::AttentionConfig attention{.causal = true, .num_kv_heads = 1, .rotary_base = 10000};
    lm::GPTConfig config = small(2);
    const lm::GPT learned(config, rng);
    config.attention = attention;
    const lm::GPT turned(config, rng);
    const nn::PreNormBlock block{"LlamaBlock", nn::RMSNorm(32), nn::Attention(32, 4, rng, attention),
                                 nn::RMSNorm(32), nn::GatedMLP(32, rng)};
    const Tensor x = randn({1, 40, 32}, rng);
    std::printf("GPT %lld parameters, with rotary positions and one head of keys %lld\n",
                static_cast<long long>(learned.num_parameters()),
                static_cast<long long>(turned.num_parameters()));
    std::printf("%s %s -> %s, %lld parameters\n", block.kind().c_str(), x.shape().str().c_str(),
                block(x).shape().str().c_str(), static_cast<long long>(block.num_parameters()));
}

constexpr std::int64_t layers = 8;
constexpr std::uint64_t seeds = 5;

enum class Order { pre_norm, post_norm, no_residual, neither };
const std::vector<std::pair<Order, const char*>> orders = {{Order::pre_norm, "pre-norm"},
                                                           {Order::post_norm, "post-norm"},
                                                           {Order::no_residual, "no residual"},
                                                           {Order::neither, "neither"}};

Tensor block_in_order(const nn::TransformerBlock& b, const Tensor& x, Order order) {  // (B, T, C)
    if (order == Order::post_norm) {
        const Tensor h = b.norm1(x + b.attn(x));  // the stream itself is normalised, twice in each block
        return b.norm2(h + b.mlp(h));
    }
    if (order == Order::no_residual) return b.mlp(b.norm2(b.attn(b.norm1(x))));
    if (order == Order::neither) return b.mlp(b.attn(x));
    return b(x);
}

Tensor through_blocks(const lm::GPT& model, const Tensor& ids, Order order) {               // (1, T)
    Tensor x = model.token_embedding(ids) + model.position_embedding(arange(ids.size(1)));  // (1, T, C)
    for (const nn::TransformerBlock& block : model.blocks) x = block_in_order(block, x, order);
    return x;  // (1, T, C)
}

Tensor first_ids() { return ids_of_sentence().slice(1, 0, 19); }  // (1, 19): "to be or not to be,"

Tensor loss_in_order(const lm::GPT& model, Order order) {
    const Tensor x = through_blocks(model, first_ids().slice(1, 0, 18), order);    // (1, T, C)
    return cross_entropy(model.head(model.norm(x)), first_ids().slice(1, 1, 19));  // ()
}

// A deep and narrow GPT. Each W_out is multiplied by its factor: `undivided` undoes the division by √(2L) = 4.
constexpr double undivided = 4;

lm::GPT deep_model(std::uint64_t seed, double attention_factor, double mlp_factor) {
    Rng rng(seed);
    lm::GPT model({.vocab_size = tokenizer.vocab_size(),
                   .block_size = 64,
                   .num_layers = layers,
                   .num_heads = 2,
                   .d_model = 16,
                   .bias = true},
                  rng);
    model.to(float64);
    const NoGrad off;
    for (nn::TransformerBlock& block : model.blocks) {
        block.attn.W_out.weight.mul_(attention_factor);
        block.mlp.W_out.weight.mul_(mlp_factor);
    }
    return model;
}

// How much of the tokens' vectors is not the same in all of them: 0 when they are all alike.
double difference_of_tokens(const Tensor& x) {  // (1, T, C)
    const Tensor apart = x - mean(x, 1, true);
    return std::sqrt(sum(apart * apart).item() / sum(x * x).item());
}

// Norm of the first gradient of W_in in each layer's MLP.
std::vector<double> first_gradients(const lm::GPT& model, Order order) {
    loss_in_order(model, order).backward();
    std::vector<double> norms;
    for (const nn::TransformerBlock& block : model.blocks) {
        const Tensor g = block.mlp.W_in.weight.grad();  // (4C, C)
        norms.push_back(std::sqrt(sum(g * g).item()));
    }
    return norms;
}

struct Spread {
    double least, median, most;
    explicit Spread(std::vector<double> values) {
        std::sort(values.begin(), values.end());
        least = values.front(), median = values[values.size() / 2], most = values.back();
    }
};

struct Series {
    std::string name;
    bool divided;
    std::vector<double> medians;  // of the first gradients, layer by layer
};

std::vector<Series> before_training() {
    std::vector<Series> all;
    std::printf("             gradient in layer 1     gradient in layer 8     tokens differ by\n");
    for (const double factor : {1.0, undivided}) {
        std::printf("W_out %s\n", factor == 1 ? "divided by 4" : "not divided");
        for (const auto& [order, name] : orders) {
            std::vector<std::vector<double>> gradients(layers);
            std::vector<double> apart;
            for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
                const lm::GPT model = deep_model(seed, factor, factor);
                const std::vector<double> norms = first_gradients(model, order);
                for (std::size_t l = 0; l < norms.size(); ++l) gradients[l].push_back(norms[l]);
                const NoGrad off;
                apart.push_back(
                    difference_of_tokens(through_blocks(model, first_ids().slice(1, 0, 18), order)));
            }
            const Spread first(gradients.front()), last(gradients.back()), differ(apart);
            std::printf("%-12s %.0e (%.0e to %.0e)  %.0e (%.0e to %.0e)  %.2f (%.2f to %.2f)\n", name,
                        first.median, first.least, first.most, last.median, last.least, last.most,
                        differ.median, differ.least, differ.most);
            Series series{name, factor == 1, {}};
            for (const auto& norms : gradients) series.medians.push_back(Spread(norms).median);
            all.push_back(series);
        }
    }
    return all;
}

// Which factors make the gradient of "neither" so small; medians of the seeds.
void factors_of_neither() {
    std::printf("                              deviation after the blocks   gradient in layer 1\n");
    const auto row = [](const char* what, double attention_factor, double mlp_factor) {
        std::vector<double> deviations, norms;
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
            const lm::GPT model = deep_model(seed, attention_factor, mlp_factor);
            norms.push_back(first_gradients(model, Order::neither)[0]);
            const NoGrad off;
            const Tensor x = through_blocks(model, first_ids().slice(1, 0, 18), Order::neither);  // (1, T, C)
            deviations.push_back(std::sqrt(mean(var(x, -1, true, 0)).item()));
        }
        std::printf("%-30s %16.0e %23.0e\n", what, Spread(deviations).median, Spread(norms).median);
    };
    row("W_out divided by 4", 1, 1);
    row("W_out not divided", undivided, undivided);
    row("and that of the MLPs doubled", undivided, 2 * undivided);
}

// The mean loss of the last ten of 80 steps.
double train_deep(Order order, std::uint64_t seed, double factor, double lr, int warmup_steps) {
    constexpr int steps = 80;
    lm::GPT model = deep_model(seed, factor, factor);
    optim::AdamW optimizer(model, {.weight_decay = 0});
    double last_ten = 0;
    for (int step = 0; step < steps; ++step) {
        optimizer.set_lr(lr * std::min(1.0, (step + 1.0) / (warmup_steps + 1)));
        optimizer.zero_grad();
        const Tensor loss = loss_in_order(model, order);
        loss.backward();
        optimizer.step();
        if (step >= steps - 10) last_ten += loss.item() / 10;
    }
    return last_ten;
}

// The loss of a model that knows how often each character comes next, and nothing else.
double loss_of_frequencies(const Tensor& next) {
    std::map<std::int64_t, double> counts;
    for (const std::int64_t id : next.to_vector<std::int64_t>()) ++counts[id];
    double loss = 0;
    const auto n = static_cast<double>(next.numel());
    for (const auto& [id, count] : counts) loss -= count / n * std::log(count / n);
    return loss;
}

void after_training() {
    std::printf("loss of the frequencies: %.1f\n\n", loss_of_frequencies(first_ids().slice(1, 1, 19)));
    std::printf("learning rate        0.001                       0.003                       0.005\n");
    std::printf(
        "warm-up      none          16 steps      none          16 steps      none          16 steps\n");
    for (const double factor : {1.0, undivided}) {
        std::printf("W_out %s\n", factor == 1 ? "divided by 4" : "not divided");
        for (const auto& [order, name] : orders) {
            std::printf("%-12s", name);
            for (const double lr : {1e-3, 3e-3, 5e-3})
                for (const int warmup_steps : {0, 16}) {
                    std::vector<double> losses;
                    for (std::uint64_t seed = 1; seed <= seeds; ++seed)
                        losses.push_back(train_deep(order, seed, factor, lr, warmup_steps));
                    const Spread s(losses);
                    std::printf(" %.1f (%.1f–%.1f)", s.median, s.least, s.most);
                }
            std::printf("\n");
        }
    }
}

// ---- figures

std::string gpt_figure() {
    viz::Drawing d(
        640, 500,
        "Left: a GPT from ids to logits. Right: one block, whose two parts add to the residual stream");
    const viz::BoxStyle plain, warm{.fill = "#fdf1e3", .stroke = {viz::palette(5), 1.5, false}},
        green{.fill = "#e8f5ef", .stroke = {viz::palette(2), 1.5, false}};
    const viz::Label shape{12, "start", "#555"};

    const auto stage = [&](double y, const std::string& name, const viz::BoxStyle& style) {
        d.box(20, y, 160, 34, name, style);
    };
    d.text(100, 20, "GPT", {15, "middle", "#222", true});
    stage(62, "head, tied", warm);
    stage(118, "layer norm", green);
    stage(174, "block L", plain);
    stage(246, "block 1", plain);
    stage(374, "token embedding", warm);
    d.text(100, 227, "…", {.size = 18});
    d.circle(100, 335, 11, "#fff");
    d.text(100, 335, "+", {.size = 18});
    d.text(20, 320, "position", {12, "start", "#222"});
    d.text(20, 335, "embedding", {12, "start", "#222"});
    d.text(20, 350, "0 … T − 1", {12, "start", "#222"});
    d.text(100, 440, "ids", {.size = 14});
    d.text(92, 42, "logits", {.size = 14});
    d.arrow(100, 430, 100, 410).arrow(100, 374, 100, 348).arrow(100, 323, 100, 282);
    d.arrow(100, 246, 100, 238).arrow(100, 216, 100, 210).arrow(100, 174, 100, 154).arrow(100, 118, 100, 98);
    d.arrow(100, 62, 100, 51);
    const std::pair<double, const char*> shapes[] = {{42, "(B, T, V)"},  {107, "(B, T, C)"}, {164, "(B, T, C)"},
                                                     {302, "(B, T, C)"}, {361, "(B, T, C)"}, {440, "(B, T)"}};
    for (const auto& [y, s] : shapes) d.text(122, y, s, shape);

    d.line(182, 246, 270, 40, {"#aaa", 1, true}).line(182, 280, 270, 478, {"#aaa", 1, true});
    d.path({{270, 36}, {628, 36}, {628, 480}, {270, 480}}, {"#999", 1, false}, true);
    d.text(449, 20, "one block", {15, "middle", "#222", true});
    const double stream = 330;
    d.arrow(stream, 474, stream, 48, {viz::palette(0), 5, false});
    d.text(316, 452, "x", {15, "end", "#222", true});
    d.text(316, 262, "h", {15, "end", "#222", true});
    d.text(316, 66, "y", {15, "end", "#222", true});
    const auto branch = [&](double from, double to, const std::string& part, const std::string& does) {
        d.line(stream, from, 480, from).arrow(480, from, 480, from - 22);
        d.box(400, from - 58, 160, 34, "layer norm", green);
        d.arrow(480, from - 58, 480, from - 76);
        d.box(400, from - 112, 160, 34, part, plain);
        d.line(480, from - 112, 480, to).arrow(480, to, stream + 13, to);
        d.circle(stream, to, 12, viz::palette(0));
        d.text(stream, to, "+", {18, "middle", "#fff", true});
        d.text(455, to - 12, does, {12, "middle", "#555"});
    };
    branch(430, 292, "causal attention", "between tokens");
    branch(234, 96, "MLP", "in each token");
    d.text(302, 380, "residual stream", {13, "middle", viz::palette(0), true, -90});
    return d.svg();
}

std::string gradients_figure(const std::vector<Series>& all) {
    viz::Plot plot({.title = "First gradient of each layer's MLP",
                    .x = "layer",
                    .y = "norm of the gradient",
                    .log_y = true,
                    .x_range = {1, layers}});
    std::vector<double> layer;
    for (std::int64_t l = 1; l <= layers; ++l) layer.push_back(static_cast<double>(l));
    // A line that would lie on another is not drawn, and the other's label says so.
    const auto covers = [&](const Series& a, const Series& b) {
        for (std::size_t l = 0; l < layer.size(); ++l)
            if (std::abs(std::log(a.medians[l] / b.medians[l])) > 0.1) return false;
        return true;
    };
    for (std::size_t i = 0; i < orders.size(); ++i) {
        const Series &divided = all[i], &whole = all[i + orders.size()];
        const bool same = covers(divided, whole);
        plot.line(layer, divided.medians, divided.name + (same ? ", either way" : ", divided"),
                  {.colour = viz::palette(i), .markers = true});
        if (!same)
            plot.line(layer, whole.medians, whole.name + ", not divided",
                      {.colour = viz::palette(i), .dashed = true});
    }
    return plot.svg();
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    set_num_threads(1);  // there is too little to do at a time to share it out
    chapter.section("GELU and its tanh form");
    gelu_values();
    chapter.section("A GPT with the library's parameters");
    same_as_the_library();
    chapter.section("Shapes");
    shapes();
    chapter.section("GPT-2's parameters, counted");
    count_parameters();
    chapter.section("All predictions in one pass");
    all_predictions_at_once();
    chapter.section("The first loss");
    first_loss();
    chapter.section("One batch memorised");
    overfit_one_batch();
    chapter.section("Parts of newer models");
    newer_parts();
    chapter.section("Break it: eight blocks in four orders, before training");
    const std::vector<Series> starts = before_training();
    chapter.section("Break it: the factors of a small gradient");
    factors_of_neither();
    chapter.section("Break it: after training");
    after_training();

    chapter.figure("14_gpt", gpt_figure());
    chapter.figure("14_gradients", gradients_figure(starts));
}
