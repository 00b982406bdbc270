// B batch, T tokens, C = d_model.
#include "workloads.h"

#include <algorithm>

namespace weft::bench {
namespace {

Training training(lm::GPTConfig config, std::int64_t B, std::int64_t T, double dropout) {
    config.dropout = dropout;
    Rng rng(0);
    auto model = std::make_shared<lm::GPT>(config, rng);
    auto optimizer = std::make_shared<optim::AdamW>(
        *model, optim::AdamWOptions{.lr = 1e-3, .beta1 = 0.9, .beta2 = 0.99, .weight_decay = 0.1});
    const Tensor x = randint(0, config.vocab_size, {B, T}, rng), y = randint(0, config.vocab_size, {B, T}, rng);
    return {model, optimizer, x, y};
}

// One step is forward, backward and the update.
Workload training_workload(const char* name, int repetitions, int warm_up, const lm::GPTConfig& config,
                           std::int64_t B, std::int64_t T) {
    const auto make = [=](std::int64_t batch, double p) { return training(config, batch, T, p); };
    const auto step = [=](const Options& options) {
        return Step{[t = make(B, options.dropout)] {
            cross_entropy((*t.model)(t.x), t.y).backward();
            t.update();
            return 0.0;
        }};
    };
    return {name, repetitions, warm_up, step, B, T, make};
}

// Causal attention alone: forward and backward from a given gradient.
Step attention(std::int64_t B, std::int64_t T, double dropout) {
    Rng rng(0);
    auto layer = std::make_shared<nn::CausalMultiHeadAttention>(
        768, 12, rng, nn::CausalMultiHeadAttentionOptions{.max_seq_len = T, .bias = true, .dropout = dropout});
    auto x = std::make_shared<Tensor>(randn({B, T, 768}, rng).requires_grad_());
    const Tensor dy = randn({B, T, 768}, rng);
    return {[=] {
        x->zero_grad();
        layer->zero_grad();
        (*layer)(*x).backward(dy);
        return 0.0;
    }};
}

// Greedy generation: a prompt of T tokens, then T_new new ones, one at a time with a key/value cache. Only the
// new ones count in the tokens per second, or the prompt's if there are none.
Workload generation(const char* name, const lm::GPTConfig& config, std::int64_t T, std::int64_t T_new) {
    const auto make = [=](const Options& options) {
        Rng rng(0);
        auto model = std::make_shared<lm::GPT>(config, rng);
        model->eval();
        store_weights(*model, options.weights);
        const Tensor prompt = randint(0, config.vocab_size, {1, T}, rng);
        const auto step = [=] {
            NoGrad values;
            auto caches = model->make_caches();
            const auto next = [&](const Tensor& ids) {  // (1, T) → (1, 1)
                return argmax((*model)(ids, caches).select(1, -1), 1, true);
            };
            auto start = std::chrono::steady_clock::now();
            Tensor id = next(prompt);
            if (T_new > 0) start = std::chrono::steady_clock::now();
            for (std::int64_t i = 0; i < T_new; ++i) id = next(id);
            return 1e3 * static_cast<double>(T_new > 0 ? T_new : T) / ms_since(start);
        };
        return Step{step, weight_bytes(*model)};
    };
    return {name, 3, 1, make};
}

}  // namespace

void Training::update() const {
    optim::clip_grad_norm(*model, 1.0);
    optimizer->step();
    optimizer->zero_grad();
}

const std::vector<Workload>& workloads() {
    using Config = lm::GPTConfig;
    const Config gpt2{.vocab_size = 50257,
                      .block_size = 1024,
                      .num_layers = 12,
                      .num_heads = 12,
                      .d_model = 768,
                      .bias = true};
    const Config toy{.vocab_size = 32, .block_size = 16, .num_layers = 1, .num_heads = 2, .d_model = 32};
    const Config chars{.vocab_size = 65, .block_size = 64, .num_layers = 4, .num_heads = 4, .d_model = 128};
    const Config smol{.vocab_size = 49152,
                      .block_size = 2048,
                      .num_layers = 30,
                      .num_heads = 9,
                      .d_model = 576,
                      .attention = {.num_kv_heads = 3, .rotary_base = 1e5}};
    static const std::vector<Workload> all{
        training_workload("toy", 200, 20, toy, 8, 16),
        training_workload("char", 60, 5, chars, 12, 64),
        training_workload("gpt2", 4, 1, gpt2, 4, 64),
        {"attention", 8, 2, [](const Options& o) { return attention(4, 1024, o.dropout); }},
        {"long", 4, 1, [](const Options& o) { return attention(1, 4096, o.dropout); }},
        generation("decode", gpt2, 64, 64),
        generation("smol", smol, 64, 64),
        generation("prompt", smol, 448, 0),
    };
    return all;
}

const std::vector<std::string>& weight_formats() {
    static const std::vector<std::string> all{"float32", "bfloat16", "float16", "Q8_0", "Q4_0", "Q4_1"};
    return all;
}

void store_weights(nn::Module& module, const std::string& format) {
    for (const DType type : {bfloat16, float16, DType::Q8_0, DType::Q4_0, DType::Q4_1})
        if (format == name(type)) module.to(type);
}

std::int64_t weight_bytes(const nn::Module& module) {
    std::int64_t bytes = 0;
    for (const Tensor& p : module.parameters()) bytes += bytes_of(p.dtype(), p.numel());
    return bytes;
}

double ms_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> times) {
    std::sort(times.begin(), times.end());
    const std::size_t n = times.size();
    return n == 0 ? 0 : (times[(n - 1) / 2] + times[n / 2]) / 2;
}

}  // namespace weft::bench
