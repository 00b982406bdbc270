// Chapter 23: from GPT-2 to a model of today: norms, gates, rotary positions, grouped heads, windows, and
// SmolLM2. B batch, T tokens, V vocabulary, C = d_model, F width of the MLP, H heads, G heads of keys and
// values, D = head_dim.
//
//     chapter_23 --model FILE    only the last part, with this file of SmolLM2
#include "chapter.h"

#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <future>
#include <iostream>

#include "23_texts.h"
#include "weft/weft.h"

using namespace weft;
namespace fs = std::filesystem;

namespace {

long long whole(std::int64_t n) { return n; }

// A line break would break our lines.
std::string one_line(std::string said) {
    for (char& c : said)
        if (c == '\n') c = '/';
    return said;
}

// ---- the GPT of chapter 14, and its texts

constexpr std::int64_t B = 8;
constexpr std::uint64_t seeds = 5;
constexpr optim::CosineOptions brief{.lr = 1e-2, .warmup_steps = 20, .steps = 300};
constexpr optim::CosineOptions longer{.lr = 3e-3, .warmup_steps = 20, .steps = 1000};

const lm::GPTConfig gpt{
    .vocab_size = end_of_words, .block_size = T, .num_layers = 2, .num_heads = 4, .d_model = 32, .bias = true};

void same_as_gpt() {
    Rng rng(1);
    const lm::GPT model(gpt, rng);
    const lm::Decoder same(lm::decoder_config(gpt), lm::decoder_state(model.state_dict()));
    const NoGrad off;
    const Tensor ids = texts(4, rng).ids;  // (B, T + 1)
    const Tensor inputs = ids.slice(1, 0, T);
    std::printf("%s\n", in_words(ids[0].slice(0, 0, 26).to_vector<std::int64_t>()).c_str());
    std::printf("largest difference of the logits: %g\n", max(abs(model(inputs) - same(inputs))).item());
}

// ---- one option at a time

struct Change {
    const char* name;
    lm::DecoderConfig config;
};

nn::RotaryOptions rotary_of(double base) { return {.base = base, .pairs = nn::RotaryPairs::halves}; }

std::vector<Change> changes() {
    std::vector<Change> all = {{"chapter 14's GPT", lm::decoder_config(gpt)}};
    const auto add = [&](const char* name, auto change) {
        lm::DecoderConfig config = lm::decoder_config(gpt);
        change(config);
        all.push_back({name, config});
    };
    const auto no_biases = [](auto& c) { c.norm_bias = c.qkv_bias = c.output_bias = c.mlp_bias = false; };
    const auto rms = [](auto& c) { c.norm = lm::NormKind::rms, c.norm_bias = false; };
    const auto gated = [](auto& c) {
        c.gated = true, c.activation = lm::Activation::silu;
        c.dim_feedforward = 85;  // 8/3 C, where it was 4 C
    };
    const auto rotary = [](double base) {
        return [base](auto& c) { c.learned_positions = false, c.layers = {{.rotary = rotary_of(base)}}; };
    };
    add("no biases", no_biases);
    add("RMSNorm", rms);
    add("SwiGLU", gated);
    add("rotary, base 10000", rotary(10000));
    add("rotary, base 100", rotary(100));
    add("2 heads of k, v", [](auto& c) { c.num_kv_heads = 2; });
    add("1 head of k, v", [](auto& c) { c.num_kv_heads = 1; });
    add("QK-norm", [](auto& c) { c.qk_norm = true; });
    add("window of 8, layer 1", [](auto& c) { c.layers = {{.rotary = {}, .window = 8}, {.rotary = {}}}; });
    add("all of Llama's", [&](auto& c) {
        no_biases(c), rms(c), gated(c), rotary(100)(c);
        c.num_kv_heads = 2;
    });
    return all;
}

Tensor loss_of(const lm::Decoder& model, const Tensor& ids) {                 // (B, T + 1)
    return cross_entropy(model(ids.slice(1, 0, T)), ids.slice(1, 1, T + 1));  // (B, T, V), (B, T) → ()
}

// The values of a model after its training, in float64. Each seed has its own texts, the same for every change.
nn::NamedTensors trained(const lm::DecoderConfig& config, std::uint64_t seed,
                         const optim::CosineOptions& rates) {
    Rng initial(seed), rng(100 + seed);
    lm::Decoder model(config, initial);
    model.to(float64);
    optim::AdamW optimizer(model, {.weight_decay = 0});
    for (std::int64_t step = 0; step < rates.steps; ++step) {
        optimizer.set_lr(optim::cosine_lr(step, rates));
        optimizer.zero_grad();
        loss_of(model, texts(B, rng).ids).backward();
        optim::clip_grad_norm(model, 1.0);
        optimizer.step();
    }
    return model.state_dict();
}

const Texts& unseen() {
    static const Texts found = [] {
        Rng rng(1000);
        return texts(64, rng);
    }();
    return found;
}

double unseen_loss(const lm::DecoderConfig& config, const nn::NamedTensors& state) {
    const NoGrad off;
    return loss_of(lm::Decoder(config, state), unseen().ids).item();
}

// f(1) … f(5), at the same time where there are processors.
std::vector<double> for_each_seed(const std::function<double(std::uint64_t)>& f) {
    std::vector<std::future<double>> runs;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed)
        runs.push_back(std::async(std::launch::async, [&f, seed] {
            set_num_threads(1);
            return f(seed);
        }));
    std::vector<double> found;
    for (std::future<double>& run : runs) found.push_back(run.get());
    return found;
}

double mean_of(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
}

double deviation_of(const std::vector<double>& values) {  // of the sample
    double sum = 0;
    for (const double value : values) sum += std::pow(value - mean_of(values), 2);
    return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

struct Measured {
    std::string name;
    std::vector<double> apart;  // its loss minus that of chapter 14's GPT, for each seed
};

std::vector<Measured> one_at_a_time() {
    std::printf("knows the rules: %.2f nats a word; and forgets earlier sentences: %.2f; ln %lld = %.2f\n\n",
                unseen().best, unseen().forgetful, whole(end_of_words),
                std::log(static_cast<double>(end_of_words)));
    std::printf("%22sparameters  loss: mean (deviation)  minus the GPT's: mean (range)\n", "");
    std::vector<double> before;
    std::vector<Measured> all;
    for (const auto& [name, changed] : changes()) {
        const lm::DecoderConfig& config = changed;
        const std::vector<double> losses = for_each_seed(
            [&](std::uint64_t seed) { return unseen_loss(config, trained(config, seed, brief)); });
        if (before.empty()) before = losses;
        std::vector<double> apart;
        for (std::size_t i = 0; i < losses.size(); ++i) apart.push_back(losses[i] - before[i]);
        std::int64_t parameters = 0;
        for (const lm::DecoderParameter& p : lm::decoder_parameters(config)) parameters += p.shape.numel();
        std::printf("%-22s%10lld  %.2f (%.2f)", name, whole(parameters), mean_of(losses), deviation_of(losses));
        if (!all.empty()) {
            const auto [least, most] = std::ranges::minmax(apart);
            std::printf("             %+.2f (%+.2f to %+.2f)%s", mean_of(apart), least, most,
                        least > 0.005 || most < -0.005 ? "  one side" : "");
        }
        std::printf("\n");
        std::fflush(stdout);
        all.push_back({name, apart});
    }
    return all;
}

// ---- the parts

void norms() {
    Rng rng(1);
    const Tensor x = randn({3, 64}, rng, float64);  // (T, C)
    const Tensor by_hand = x / sqrt(mean(x * x, -1, keepdim) + 1e-5);
    const auto apart = [](const Tensor& a, const Tensor& b) { return max(abs(a - b)).item(); };
    std::printf("RMSNorm by hand differs by %.10f\n", apart(rms_norm(x, {}, 1e-5), by_hand));
    std::printf("x multiplied by 3: layer norm changes by %.4f, RMSNorm by %.4f\n",
                apart(layer_norm(3 * x, {}), layer_norm(x, {})), apart(rms_norm(3 * x), rms_norm(x)));
    std::printf("3 added to x: layer norm changes by %.4f, RMSNorm by %.4f\n",
                apart(layer_norm(x + 3, {}), layer_norm(x, {})), apart(rms_norm(x + 3), rms_norm(x)));
}

Tensor swiglu(const Tensor& x, const Tensor& W_gate, const Tensor& W_up, const Tensor& W_down) {  // (…, C)
    return linear(silu(linear(x, W_gate)) * linear(x, W_up), W_down);                             // (…, C)
}

void gates() {
    Rng rng(1);
    const std::int64_t C = 576, F = 1536;
    const nn::GatedMLP library(C, rng, {.dim_feedforward = F});
    const Tensor x = randn({3, C}, rng);  // (T, C)
    const Tensor by_hand =
        swiglu(x, library.gate_proj.weight, library.up_proj.weight, library.down_proj.weight);
    std::printf("SwiGLU by hand differs by %.10f\n", max(abs(library(x) - by_hand)).item());
    std::printf("3 C F = %lld parameters, 2 C 4C = %lld\n", whole(3 * C * F), whole(2 * C * 4 * C));
}

// ---- rotary positions

Tensor turn(double angle) {  // (2, 2)
    return tensor({{std::cos(angle), -std::sin(angle)}, {std::sin(angle), std::cos(angle)}}, float64);
}

void turns() {
    const Tensor q = tensor({1.0, 0.5}, float64), k = tensor({0.2, 1.0}, float64);  // (2,)
    const double rate = 0.3;                                                        // θ
    const auto score = [&](double i, double j) {
        return sum(matmul(turn(i * rate), q) * matmul(turn(j * rate), k)).item();
    };
    for (const auto& [i, j] : {std::pair{5, 2}, {15, 12}, {1005, 1002}, {6, 2}, {2, 5}})
        std::printf("query at %4d, key at %4d: score %6.3f\n", i, j, score(i, j));
    std::printf("q turned by 3 steps, k not: score %6.3f\n", sum(matmul(turn(3 * rate), q) * k).item());
}

// Rows of a head for halves, in the order for neighbours: 0, D/2, 1, D/2 + 1, …
Tensor order_of_neighbours(std::int64_t D) { return arange(D).reshape(2, D / 2).T().reshape(D); }  // (D,)

void pairs() {
    Rng rng(1);
    const std::int64_t C = 16, D = 8;
    const Tensor x = randn({6, C}, rng, float64);                                       // (T, C)
    const Tensor W_q = randn({D, C}, rng, float64), W_k = randn({D, C}, rng, float64);  // one head
    const auto scores = [&](const Tensor& W_q, const Tensor& W_k, nn::RotaryPairs pairs) {
        const nn::RotaryOptions options{.pairs = pairs};
        return matmul(nn::rotary(linear(x, W_q), 0, options), nn::rotary(linear(x, W_k), 0, options).T());
    };
    const Tensor order = order_of_neighbours(D);
    std::cout << order << "\n";
    const Tensor halves = scores(W_q, W_k, nn::RotaryPairs::halves);  // (T, T)
    const Tensor permuted = scores(W_q[order], W_k[order], nn::RotaryPairs::neighbours);
    const Tensor mistaken = scores(W_q, W_k, nn::RotaryPairs::neighbours);
    std::printf("as halves, and permuted as neighbours: the same scores? %s\n",
                max(abs(halves - permuted)).item() < 1e-12 ? "yes" : "no");
    std::printf("not permuted: scores differ by up to %.1f\n", max(abs(halves - mistaken)).item());
}

// ---- what a score may become, and what a window reaches

void qk_norm() {
    Rng rng(1);
    const std::int64_t D = 64;
    const Tensor q = randn({16, D}, rng, float64), k = randn({16, D}, rng, float64);  // (T, D)
    std::printf("q and k times   largest score   with QK-norm\n");
    for (const double factor : {1.0, 4.0, 16.0}) {
        const auto largest = [&](const Tensor& q, const Tensor& k) {
            return max(abs(matmul(q, k.T()))).item() / std::sqrt(static_cast<double>(D));
        };
        const Tensor more_q = factor * q, more_k = factor * k;
        std::printf("%13.0f   %13.1f   %12.1f\n", factor, largest(more_q, more_k),
                    largest(rms_norm(more_q), rms_norm(more_k)));
    }
}

void reach() {
    for (const std::int64_t layers : {1, 2, 3}) {
        Rng rng(1);
        lm::DecoderConfig config{.vocab_size = 10, .num_layers = layers, .d_model = 32};
        config.layers = {{.window = 4}};
        lm::Decoder model(config, rng);
        model.to(float64);
        const NoGrad off;
        const Tensor ids = randint(0, 9, {16}, rng), other = ids.clone();
        other[0].fill_(9);
        const Tensor moved = max(abs(model(ids) - model(other)), 1).values;  // (T,)
        std::string line;
        for (const double x : moved.to_vector<double>()) line += x > 1e-12 ? "x" : ".";
        std::printf("layers %lld, window 4: %s\n", whole(layers), line.c_str());
    }
}

// ---- bytes

struct Published {
    const char* name;
    std::int64_t layers, H, G, D, local, window;  // `local` of the layers have a window
};
const std::vector<Published> published_sizes = {{"SmolLM2-135M", 30, 9, 3, 64, 0, 0},
                                                {"Qwen3-0.6B", 28, 16, 8, 128, 0, 0},
                                                {"Llama 3.2 1B", 16, 32, 8, 64, 0, 0},
                                                {"Gemma 3 270M", 18, 4, 1, 256, 15, 512}};

// Bytes of the keys and values of T tokens in bfloat16.
std::int64_t cache_bytes(std::int64_t layers, std::int64_t heads, std::int64_t D, std::int64_t T) {
    return 2 * layers * heads * D * T * 2;
}

void cache_sizes() {
    constexpr std::int64_t tokens = 8192;
    const auto MiB = [](std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
    std::printf("MiB for %lld tokens   H heads   G heads   and windows\n", whole(tokens));
    for (const auto& [name, layers, H, G, D, local, window] : published_sizes) {
        const std::int64_t windows =
            cache_bytes(layers - local, G, D, tokens) + cache_bytes(local, G, D, window);
        std::printf("%-19s %10.0f %9.0f %13.1f\n", name, MiB(cache_bytes(layers, H, D, tokens)),
                    MiB(cache_bytes(layers, G, D, tokens)), MiB(windows));
    }
    const lm::DecoderConfig smollm{
        .block_size = tokens, .num_layers = 30, .num_heads = 9, .num_kv_heads = 3, .d_model = 576};
    std::printf("the library's cache for the first: %.0f MiB\n",
                MiB(lm::decoder_memory(smollm, bfloat16, bfloat16).cache));
}

// ---- Break it: a wrong base, and the wrong pairs

lm::DecoderConfig rotary_gpt(double base, nn::RotaryPairs pairs = nn::RotaryPairs::halves) {
    lm::DecoderConfig config = lm::decoder_config(gpt);
    config.learned_positions = false;
    config.layers = {{.rotary = nn::RotaryOptions{.base = base, .pairs = pairs}}};
    return config;
}

// The loss on unseen texts with each of the five models, and a text of the fourth, read with rotary options
// that they were not trained with.
void break_it() {
    std::vector<nn::NamedTensors> states(seeds);
    for_each_seed([&](std::uint64_t seed) {
        states[seed - 1] = trained(rotary_gpt(100), seed, longer);
        return 0.0;
    });
    std::vector<double> right;
    const auto row = [&](const char* name, const lm::DecoderConfig& config) {
        std::vector<double> losses, apart;
        for (const nn::NamedTensors& state : states) losses.push_back(unseen_loss(config, state));
        if (right.empty()) right = losses;
        for (std::size_t i = 0; i < seeds; ++i) apart.push_back(losses[i] - right[i]);
        const auto [least, most] = std::ranges::minmax(apart);
        std::printf("%-22s %.2f  %+.3f (%+.3f to %+.3f)\n", name, mean_of(losses), mean_of(apart), least, most);
    };
    row("as trained, base 100", rotary_gpt(100));
    row("base 200", rotary_gpt(200));
    row("base 500", rotary_gpt(500));
    row("base 10000", rotary_gpt(10000));
    row("neighbours for halves", rotary_gpt(100, nn::RotaryPairs::neighbours));
    std::printf("\n");
    const text::Ids prompt = unseen().ids[0].slice(0, 0, 8).to_vector<std::int64_t>();
    for (const double base : {100.0, 200.0, 500.0, 10000.0}) {
        const lm::Decoder model(rotary_gpt(base), states[3]);
        const text::Ids more =
            lm::generate(model, prompt, {.max_new_tokens = 16, .sampling = {.temperature = 0}});
        std::printf("base %5.0f, loss %.2f: %s | %s\n", base, unseen_loss(rotary_gpt(base), states[3]),
                    in_words(prompt).c_str(), in_words(more).c_str());
    }
}

// ---- SmolLM2

const char* const smollm_json = R"({"model_type": "llama", "vocab_size": 49152, "max_position_embeddings": 8192,
 "hidden_size": 576, "num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3,
 "intermediate_size": 1536, "hidden_act": "silu", "rms_norm_eps": 1e-05, "rope_theta": 100000,
 "attention_bias": false, "mlp_bias": false, "tie_word_embeddings": true})";

lm::DecoderConfig smollm_config() {
    std::string name = (fs::temp_directory_path() / "smollm-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw IoError("cannot make a folder like ", name);
    const fs::path folder = name;  // new and empty
    io::save_text(folder / "config.json", smollm_json);
    const lm::DecoderConfig config = lm::pretrained_config(folder / "config.json");
    fs::remove_all(folder);
    return config;
}

void names_and_numbers() {
    const lm::DecoderConfig config = smollm_config();
    std::int64_t all = 0, block = 0;
    for (const auto& [name, shape, is_weight] : lm::decoder_parameters(config)) {
        all += shape.numel();
        if (name.starts_with("layers.0.")) block += shape.numel();
        if (!name.starts_with("layers.") || name.starts_with("layers.0."))
            std::printf("%-41s %-13s %9lld\n", name.c_str(), shape.str().c_str(), whole(shape.numel()));
    }
    std::printf("a block %lld, and 30 of them %lld\n", whole(block), whole(30 * block));
    std::printf("together %lld\n", whole(all));
}

Tensor batch_of(const text::Ids& ids) { return from_vector(ids, {1, std::ssize(ids)}); }  // (1, T)

// What each part of the model adds to the stream of the last token, (C,) each, the embedding first.
std::vector<std::pair<std::string, Tensor>> parts_of_stream(const lm::Decoder& model, const Tensor& ids) {
    std::vector<std::pair<std::string, Tensor>> parts;
    std::vector<nn::ForwardHook> hooks;
    const auto watch = [&](const std::string& path) {
        hooks.push_back(model.hook(path, [&parts, path](const Tensor& y) {
            parts.emplace_back(path, y[0][-1]);
            return y;
        }));
    };
    watch("embed_tokens");
    for (std::size_t l = 0; l < model.layers.size(); ++l)
        for (const char* part : {"].self_attn", "].mlp"}) watch("layers[" + std::to_string(l) + part);
    (void)model(ids);
    return parts;
}

void one_logit(const lm::Pretrained& published) {
    const lm::Decoder& model = published.model;
    const text::Ids ids = published.tokenizer.encode("The capital of France is");
    const auto parts = parts_of_stream(model, batch_of(ids));
    Tensor x = zeros({576});  // (C,)
    for (const auto& [path, part] : parts) x = x + part;
    const Tensor logits = model(batch_of(ids))[0][-1];  // (V,)
    const std::int64_t token = static_cast<std::int64_t>(argmax(logits).item());
    const Tensor row = model.embed_tokens(tensor({token}, int64))[0];  // (C,)
    const double root = std::sqrt(mean(x * x).item() + 1e-5);
    const Tensor reads = model.norm.weight * row / root;  // (C,): the logit is x · reads
    std::printf("%zu parts of the stream, root mean square %.1f\n", parts.size(), root);
    std::printf("stream · (w ⊙ row %lld) / root = %.3f; the model's logit %.3f\n", whole(token),
                dot(x, reads).item(), logits[token].item());
    const double normaliser = logsumexp(logits, 0).item();
    std::printf("p = exp(%.3f - %.3f) = %.3f for \"%s\"\n\n", logits[token].item(), normaliser,
                std::exp(logits[token].item() - normaliser), published.tokenizer.piece(token).c_str());

    std::vector<std::pair<double, std::string>> sorted;
    for (const auto& [path, part] : parts) sorted.emplace_back(dot(part, reads).item(), path);
    std::ranges::sort(sorted, std::greater());
    for (std::size_t i = 0; i < 5; ++i) std::printf("%-22s %+.2f\n", sorted[i].second.c_str(), sorted[i].first);
    double rest = 0;
    for (std::size_t i = 5; i < sorted.size(); ++i) rest += sorted[i].first;
    std::printf("%-22s %+.2f\n", ("the other " + std::to_string(sorted.size() - 5)).c_str(), rest);
}

void lens(const lm::Pretrained& published) {
    const text::Ids ids = published.tokenizer.encode("The capital of France is");
    const Tensor logits = lm::logit_lens(published.model, ids);  // (L, V)
    const std::int64_t paris = published.tokenizer.encode(" Paris")[0];
    std::printf("after layer  rank of \" Paris\"  likeliest\n");
    for (const std::int64_t l : {0, 4, 9, 14, 19, 22, 23, 24, 26, 27, 28, 29}) {
        const Tensor row = logits[l];  // (V,)
        const auto better = static_cast<std::int64_t>(sum(row > row[paris]).item());
        const auto best = static_cast<std::int64_t>(argmax(row).item());
        std::printf("%11lld  %15lld  \"%s\"\n", whole(l), whole(better + 1),
                    published.tokenizer.piece(best).c_str());
    }
}

// A page of ordinary prose, on which nothing was trained.
const char* const page =
    R"(The mill stood where the stream left the wood, and for as long as anyone could remember it had belonged to
the same family. In the dry years it worked for three days a week, in the wet ones day and night, and the people
of the valley had learned to hear from their beds whether there would be cheap flour in the spring. When the
railway came, the owner was offered a fair price for the land. He refused, because he thought that a town which
buys its bread from far away has to pay whatever it is asked.

His daughter saw it differently. She had studied engineering in the capital, at a time when few women did, and
she came home with drawings for a turbine. The old wheel, she explained, used less than a third of the water's
force, and a good part of that was lost in the gears. Her father listened, looked at the drawings for a whole
evening, and asked what would become of the two men who did nothing but look after the wheel. She had no answer
to that. The turbine was built six years later, after his death, and the two men were taught to run it.

Most histories of the region mention the railway and say little about the mill, although the bank's records show
that it employed more people in 1912 than the station did. What changed the valley in the end was neither of them
but the dam that was finished in the autumn of 1931. The reservoir covered the road, the station and eleven
farms. The mill, which stood higher than the rest, was on an island for a few weeks every spring. Children rowed
there to look for coins, and found a brass plate with the name of the company that had made the turbine.)";

void wrong_in_four_ways(const lm::Pretrained& published) {
    const text::Ids ids = published.tokenizer.encode(page),
                    prompt = published.tokenizer.encode("The capital of France is");
    std::printf("%zu tokens of a page of prose\n", ids.size());
    for (const double base : {100000.0, 10000.0})
        for (const nn::RotaryPairs pairs : {nn::RotaryPairs::halves, nn::RotaryPairs::neighbours}) {
            lm::DecoderConfig config = published.model.config;
            config.layers = {{.rotary = nn::RotaryOptions{.base = base, .pairs = pairs}}};
            const lm::Decoder model(config, published.model.state_dict());
            const text::Ids more =
                lm::generate(model, prompt, {.max_new_tokens = 8, .sampling = {.temperature = 0}});
            std::printf("base %6.0f, %-10s %.3f nats a token: %s\n", base,
                        pairs == nn::RotaryPairs::halves ? "halves" : "neighbours",
                        lm::log_likelihood(model, ids).mean(),
                        one_line(published.tokenizer.decode(more)).c_str());
        }
}

const char* const smollm = "build/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";

void inside_smollm(const fs::path& path) {
    const NoGrad off;
    const lm::Pretrained published = lm::load_language(path);
    lm::DecoderConfig config = published.model.config;
    std::printf("%lld parameters; ε = %.9g\n", whole(published.model.num_parameters()), config.norm_eps);
    config.norm_eps = 1e-5;
    std::printf("all other options are those of config.json: %s\n\n", config == smollm_config() ? "yes" : "no");
    for (const std::int64_t id : published.tokenizer.encode("The capital of France is"))
        std::printf("%lld \"%s\"  ", whole(id), published.tokenizer.piece(id).c_str());
    std::printf("\n");
    one_logit(published);
    std::printf("\n");
    lens(published);
    std::printf("\n");
    wrong_in_four_ways(published);
}

// ---- figures

constexpr double pi = 3.14159265358979;

// Query and key as hands of a clock: at positions 5 and 2, and ten later.
std::string turn_figure() {
    viz::Drawing d(640, 316,
                   "A query and a key, turned by their positions: ten positions later both have turned on "
                   "by the same angle, and the angle between them is the same");
    const auto clock = [&](double x, double i, double j, const char* title) {
        constexpr double y = 160, radius = 100, rate = 0.3, q = -0.2, k = 1.9;  // angles at position 0
        std::vector<std::pair<double, double>> rim;
        for (int step = 0; step <= 72; ++step)
            rim.emplace_back(x + radius * std::cos(step * pi / 36), y - radius * std::sin(step * pi / 36));
        d.path(rim, {"#bbb", 1, false});
        const auto hand = [&](double angle, const std::string& name, std::size_t colour, bool dashed) {
            const double dx = std::cos(angle), dy = -std::sin(angle);
            d.arrow(x, y, x + radius * dx, y + radius * dy, {viz::palette(colour), dashed ? 1.0 : 2.5, dashed});
            d.text(x + (radius + 16) * dx, y + (radius + 13) * dy, name,
                   {.size = 14, .colour = viz::palette(colour), .bold = !dashed});
        };
        hand(q, "q", 0, true);
        hand(k, "k", 1, true);
        hand(q + i * rate, "q" + std::to_string(static_cast<int>(i)), 0, false);
        hand(k + j * rate, "k" + std::to_string(static_cast<int>(j)), 1, false);
        std::vector<std::pair<double, double>> arc;
        const double from = k + j * rate, to = q + i * rate;
        for (int step = 0; step <= 20; ++step) {
            const double angle = from + (to - from) * step / 20;
            arc.emplace_back(x + 40 * std::cos(angle), y - 40 * std::sin(angle));
        }
        d.path(arc, {viz::palette(2), 3, false});
        d.text(x, 22, title, {.size = 15, .bold = true});
    };
    clock(160, 5, 2, "query at 5, key at 2");
    clock(480, 15, 12, "query at 15, key at 12");
    d.text(320, 300, "dashed: before the turn. The angle between q and k is the same in both.",
           {.colour = "#555"});
    return d.svg();
}

std::string pairs_figure() {
    viz::Drawing d(640, 236,
                   "The rows of a head for halves, and in the order for neighbours: row 4 moves next to row 0");
    const std::string fills[] = {"#d6e6f5", "#fbe0cc", "#d5efe4", "#f3dcea"};
    const Tensor order = order_of_neighbours(8);
    const auto row = [&](double y, const Tensor& numbers, const char* title, const char* files) {
        viz::CellsStyle style{.text_size = 15};
        for (const std::int64_t i : numbers.to_vector<std::int64_t>())
            style.fills.push_back(fills[static_cast<std::size_t>(i % 4)]);
        d.cells(200, y, 50, 40, numbers, style);
        d.text(186, y + 12, title, {.size = 15, .anchor = "end", .bold = true});
        d.text(186, y + 30, files, {.size = 12, .anchor = "end", .colour = "#555"});
    };
    row(20, arange(8), "halves", "Hugging Face");
    row(150, order, "neighbours", "GGUF of llama, Meta");
    std::size_t to = 0;
    for (const std::int64_t from : order.to_vector<std::int64_t>()) {
        d.arrow(225 + 50 * static_cast<double>(from), 62, 225 + 50 * static_cast<double>(to), 147,
                {viz::palette(static_cast<std::size_t>(from % 4)), 1.5, false});
        ++to;
    }
    d.text(400, 214, "a colour is a pair, which turns as a point in the plane", {.colour = "#555"});
    return d.svg();
}

// A dot for each seed, and a bar for the mean.
std::string changes_figure(const std::vector<Measured>& all) {
    constexpr double zero = 470, unit = 900, top = 46, height = 30;  // pixels for a nat, and for a row
    viz::Drawing d(
        640, top + height * static_cast<double>(all.size() - 1) + 24,
        "The loss after one change minus the loss before, for each of five seeds: rotary positions with "
        "base 100 alone are better with every seed by more than 0.005");
    const double bottom = d.height() - 24;
    for (const double nats : {-0.3, -0.2, -0.1, 0.0, 0.1}) {
        const double x = zero + unit * nats;
        d.line(x, top - 10, x, bottom, {nats == 0 ? "#555" : "#ddd", nats == 0 ? 1.5 : 1, false});
        char number[8];
        std::snprintf(number, sizeof number, "%.1f", std::abs(nats));
        const std::string sign = nats < 0 ? "−" : "+";
        d.text(x, top - 22, nats == 0 ? "0" : sign + number, {.size = 12, .colour = "#555"});
    }
    for (std::size_t i = 1; i < all.size(); ++i) {
        const double y = top + height * (static_cast<double>(i) - 0.5);
        const auto [least, most] = std::ranges::minmax(all[i].apart);
        const std::size_t colour = least > 0.005 || most < -0.005 ? 1 : 0;
        d.text(180, y, all[i].name, {.size = 13, .anchor = "end", .bold = colour == 1});
        const double x = zero + unit * mean_of(all[i].apart);
        d.line(x, y - 10, x, y + 10, {"#222", 2.5, false});
        for (const double apart : all[i].apart) d.circle(zero + unit * apart, y, 4, viz::palette(colour));
    }
    d.text(zero, bottom + 12, "loss minus that of chapter 14's GPT: better on the left",
           {.size = 12, .colour = "#555"});
    return d.svg();
}

std::string cache_figure() {
    viz::Plot plot({.title = "Keys and values of one text in bfloat16",
                    .x = "tokens of the text",
                    .y = "MiB",
                    .width = 640,
                    .height = 340,
                    .legend = "top-left"});
    std::vector<double> tokens, each, shared, windows;
    const auto& [name, layers, H, G, D, local, window] = published_sizes[3];
    for (std::int64_t T = 0; T <= 8192; T += 256) {
        const auto MiB = [](std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
        tokens.push_back(static_cast<double>(T));
        each.push_back(MiB(cache_bytes(layers, H, D, T)));
        shared.push_back(MiB(cache_bytes(layers, G, D, T)));
        windows.push_back(
            MiB(cache_bytes(layers - local, G, D, T) + cache_bytes(local, G, D, std::min(T, window))));
    }
    plot.line(tokens, each, "Gemma 3 270M with 4 heads of keys and values");
    plot.line(tokens, shared, "with its one head");
    plot.line(tokens, windows, "with its one head, and windows of 512 in 15 of 18 layers");
    return plot.svg();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 3 && std::string(argv[1]) == "--model") {
        inside_smollm(argv[2]);
        return 0;
    }
    Chapter chapter(argc, argv);
    const int threads = get_num_threads();
    set_num_threads(1);  // the tensors are too small to be shared out
    chapter.section("Norms");
    norms();
    chapter.section("Gates");
    gates();
    chapter.section("Positions as angles");
    turns();
    chapter.section("Halves and neighbours");
    pairs();
    chapter.section("Heads that share, in bytes");
    cache_sizes();
    chapter.section("QK-norm");
    qk_norm();
    chapter.section("Windows");
    reach();
    chapter.section("A GPT as a Decoder");
    same_as_gpt();
    chapter.section("One option at a time");
    const std::vector<Measured> all = one_at_a_time();
    chapter.section("SmolLM2, name by name");
    names_and_numbers();
    chapter.section("Break it: a wrong base, and the wrong pairs");
    break_it();
    chapter.section("Inside SmolLM2");
    if (fs::exists(smollm)) {
        set_num_threads(threads);
        inside_smollm(smollm);
    } else {
        std::printf("%s is not here; make smollm fetches it, and this part waits for it\n", smollm);
    }

    chapter.figure("23_turn", turn_figure());
    chapter.figure("23_pairs", pairs_figure());
    chapter.figure("23_changes", changes_figure(all));
    chapter.figure("23_cache", cache_figure());
}
