// The blocks, the language model made of them, and sampling from it. B batch, T tokens, C = d_model, V
// vocabulary.
#include "weft/nn/gpt.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "nn/cache_guard.h"
#include "weft/nn/init.h"

namespace weft::nn {

TransformerBlock::TransformerBlock(std::int64_t d_model, std::int64_t heads, Rng& rng,
                                   TransformerBlockOptions options)
    : Module("TransformerBlock"),
      norm1(child("norm1", LayerNorm(d_model, {.eps = options.norm_eps, .bias = options.bias}))),
      attn(child("attn",
                 CausalMultiHeadAttention(
                     d_model, heads, rng,
                     {.max_seq_len = options.max_seq_len, .bias = options.bias, .dropout = options.dropout}))),
      norm2(child("norm2", LayerNorm(d_model, {.eps = options.norm_eps, .bias = options.bias}))),
      mlp(child("mlp", MLP(d_model, rng, {.hidden = options.hidden, .bias = options.bias}))),
      drop(child("drop", Dropout(options.dropout, rng))) {}

namespace {

const GPTConfig& checked(const GPTConfig& config) {
    const std::pair<const char*, std::int64_t> sizes[] = {
        {"vocab", config.vocab}, {"block_size", config.block_size}, {"layers", config.layers}};
    for (const auto& [name, size] : sizes)
        if (size < 1)
            throw ValueError(std::string("GPT: ") + name + " must be at least 1, not " + std::to_string(size));
    head_size(config.d_model, config.heads, "GPT");
    return config;
}

void overwrite(Tensor parameter, const Tensor& values) {
    NoGrad off;
    parameter.copy_(values);
}

// Evaluation mode for as long as this lives; then each module is again in the mode it had.
class Evaluating {
public:
    explicit Evaluating(Module& module) {
        remember(module);
        module.eval();
    }
    ~Evaluating() {
        for (auto& [module, training] : before_) module.train(training);  // a parent before its children
    }
    Evaluating(const Evaluating&) = delete;
    Evaluating& operator=(const Evaluating&) = delete;

private:
    std::vector<std::pair<Module, bool>> before_;

    void remember(const Module& module) {
        before_.emplace_back(module, module.training());
        for (const auto& [name, child] : module.named_children()) remember(child);
    }
};

}  // namespace

GPT::GPT(const GPTConfig& wanted, Rng& rng)
    : Module("GPT"),
      config(checked(wanted)),
      token_embedding(child("token_embedding", Embedding(config.vocab, config.d_model, rng))),
      position_embedding(child("position_embedding", Embedding(config.block_size, config.d_model, rng))),
      drop(child("drop", Dropout(config.dropout, rng))),
      blocks(child("blocks", ModuleList<TransformerBlock>())),
      norm(child("norm", LayerNorm(config.d_model, {.eps = config.norm_eps, .bias = config.bias}))),
      head(child("head", Linear(token_embedding.weight))) {
    for (std::int64_t i = 0; i < config.layers; ++i)
        blocks.add(TransformerBlock(config.d_model, config.heads, rng,
                                    {.max_seq_len = config.block_size,
                                     .bias = config.bias,
                                     .dropout = config.dropout,
                                     .hidden = config.hidden,
                                     .norm_eps = config.norm_eps}));

    const double into_stream = 1 / std::sqrt(2.0 * static_cast<double>(config.layers));
    for (const auto& [name, parameter] : named_parameters()) {
        if (name.ends_with("embedding.weight")) {
            overwrite(parameter, normal(parameter.shape(), 0, 0.02, rng));
        } else if (parameter.rank() >= 2) {
            const double keeps_size = 1 / std::sqrt(static_cast<double>(parameter.size(1)));
            const double deviation = name.ends_with("W_out.weight") ? keeps_size * into_stream : keeps_size;
            overwrite(parameter, normal(parameter.shape(), 0, deviation, rng));
        }
        if (name.ends_with(".bias")) overwrite(parameter, zeros(parameter.shape()));
    }
}

// T, of ids (B, T) or (T,) that follow `past` others.
std::int64_t GPT::count_tokens(const Tensor& ids, std::int64_t past) const {
    if (ids.rank() != 1 && ids.rank() != 2)
        throw ShapeError("GPT: ids must be (B, T) or (T,), not " + ids.shape().str());
    const std::int64_t T = ids.size(-1);
    if (past + T > config.block_size)
        throw ShapeError("GPT: " + std::to_string(T) + " tokens in " + ids.shape().str() +
                         (past > 0 ? " after " + std::to_string(past) + " in the caches" : std::string()) +
                         ", but block_size is " + std::to_string(config.block_size) +
                         "; give it the last block_size tokens" + (past > 0 ? ", and cleared caches" : ""));
    return T;
}

Tensor GPT::operator()(const Tensor& ids) const {  // (B, T)
    const std::int64_t T = count_tokens(ids, 0);
    Tensor x = traced("embedded", drop(token_embedding(ids) + position_embedding(arange(T))));  // (B, T, C)
    for (const TransformerBlock& block : blocks) x = block(x);                                  // (B, T, C)
    return traced("logits", head(norm(x)));                                                     // (B, T, V)
}

Tensor GPT::operator()(const Tensor& ids, std::vector<KeyValueCache>& caches) const {  // (B, T)
    if (caches.size() != blocks.size())
        throw ValueError("GPT: " + std::to_string(caches.size()) + " caches for " +
                         std::to_string(blocks.size()) + " blocks; make_caches() makes one for each");
    const std::int64_t past = caches[0].length();
    for (const KeyValueCache& cache : caches)
        if (cache.length() != past)
            throw ValueError("GPT: caches of " + std::to_string(past) + " and of " +
                             std::to_string(cache.length()) +
                             " tokens; all must hold the same ones: clear() them");
    const std::int64_t T = count_tokens(ids, past);
    const CacheGuard guard(caches);
    const Tensor positions = arange(T) + static_cast<double>(past);                             // (T,)
    Tensor x = traced("embedded", drop(token_embedding(ids) + position_embedding(positions)));  // (B, T, C)
    for (std::size_t i = 0; i < caches.size(); ++i) x = blocks[i](x, caches[i]);                // (B, T, C)
    return traced("logits", head(norm(x)));                                                     // (B, T, V)
}

std::vector<KeyValueCache> GPT::make_caches() const {
    std::vector<KeyValueCache> caches;
    for (std::size_t i = 0; i < blocks.size(); ++i) caches.emplace_back(config.block_size);
    return caches;
}

std::int64_t sample(const Tensor& logits, const SampleOptions& options) {
    const double temperature = options.temperature;
    if (!(temperature >= 0) || !std::isfinite(temperature))
        throw ValueError("sample: temperature must be finite and at least 0 (greedy), not " +
                         std::to_string(temperature));
    if (options.top_k < 0)
        throw ValueError("sample: top_k must be at least 0 (all), not " + std::to_string(options.top_k));
    if (temperature > 0 && options.rng == nullptr)
        throw ValueError("sample: a temperature above 0 needs a random generator: {.rng = &rng}");
    if (logits.rank() != 1 || logits.numel() == 0)
        throw ShapeError("sample: logits must be (V,) with V ≥ 1, not " + logits.shape().str());

    std::vector<double> scores = logits.detach().to(float64).to_vector<double>();
    for (std::size_t i = 0; i < scores.size(); ++i)
        if (std::isnan(scores[i]) || scores[i] == std::numeric_limits<double>::infinity())
            throw ValueError("sample: logit " + std::to_string(i) + " is " + std::to_string(scores[i]));

    const auto best = std::max_element(scores.begin(), scores.end());
    const double highest = *best;
    if (temperature == 0) return best - scores.begin();
    if (highest == -std::numeric_limits<double>::infinity()) throw ValueError("sample: every logit is -inf");

    if (options.top_k > 0 && static_cast<std::size_t>(options.top_k) < scores.size()) {
        std::vector<std::size_t> order(scores.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
        for (std::size_t i = static_cast<std::size_t>(options.top_k); i < order.size(); ++i)
            scores[order[i]] = -std::numeric_limits<double>::infinity();
    }
    for (double& score : scores) score = std::exp((score - highest) / temperature);
    return options.rng->categorical(scores);
}

Tensor GPT::generate(const Tensor& ids, std::int64_t n, const SampleOptions& options) {
    if (n < 0) throw ValueError("generate: the number of tokens must be at least 0, not " + std::to_string(n));
    if ((ids.rank() != 1 && ids.rank() != 2) || ids.size(-1) == 0)
        throw ShapeError("generate: ids must be (T,) or (B, T) with T ≥ 1, not " + ids.shape().str());
    NoGrad off;
    Evaluating evaluating(*this);
    const Tensor prompt = ids.rank() == 1 ? ids.unsqueeze(0) : ids;  // (B, T)
    const std::int64_t B = prompt.size(0), given = prompt.size(1), block = config.block_size;
    const Tensor all = empty({B, given + n}, int64);
    all.slice(1, 0, given).copy_(prompt);
    std::vector<KeyValueCache> caches = make_caches();
    for (std::int64_t T = given; T < given + n; ++T) {
        // Beyond block_size the window slides, so every token has another position, and nothing cached holds.
        const Tensor said = T <= block ? (*this)(all.slice(1, caches[0].length(), T), caches)
                                       : (*this)(all.slice(1, T - block, T));  // (B, ·, V)
        const Tensor logits = said.select(1, -1);                              // (B, V)
        std::vector<std::int64_t> next;
        for (std::int64_t b = 0; b < B; ++b) next.push_back(sample(logits[b], options));
        all.slice(1, T, T + 1).copy_(from_vector(next, {B, 1}));
    }
    return ids.rank() == 1 ? all.squeeze(0) : all;
}

}  // namespace weft::nn
