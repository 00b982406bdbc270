// What a GPT's state_dict has to be, known without a GPT. P = block_size, C = d_model, F hidden.
#include "gpt_state.h"

#include "nn/registry.h"

namespace weft::nn {

std::vector<GPTEntry> entries_of(const GPTConfig& config) {
    const std::int64_t C = config.d_model, F = config.hidden == 0 ? 4 * C : config.hidden;
    std::vector<GPTEntry> all{{"token_embedding.weight", "wte.weight", {config.vocab, C}},
                              {"position_embedding.weight", "wpe.weight", {config.block_size, C}}};
    const auto bias = [&](const std::string& ours, const std::string& theirs, std::int64_t size) {
        if (config.bias) all.push_back({ours + ".bias", theirs + ".bias", {size}});
    };
    const auto norm = [&](const std::string& ours, const std::string& theirs) {
        all.push_back({ours + ".weight", theirs + ".weight", {C}});
        bias(ours, theirs, C);
    };
    const auto linear = [&](const std::string& ours, const std::string& theirs, std::int64_t in,
                            std::int64_t out) {
        all.push_back({ours + ".weight", theirs + ".weight", {in, out}, true});
        bias(ours, theirs, out);
    };
    for (std::int64_t i = 0; i < config.layers; ++i) {
        const std::string block = "blocks." + std::to_string(i) + ".", h = "h." + std::to_string(i) + ".";
        norm(block + "norm1", h + "ln_1");
        linear(block + "attn.W_qkv", h + "attn.c_attn", C, 3 * C);
        linear(block + "attn.W_out", h + "attn.c_proj", C, C);
        norm(block + "norm2", h + "ln_2");
        linear(block + "mlp.W_in", h + "mlp.c_fc", C, F);
        linear(block + "mlp.W_out", h + "mlp.c_proj", F, C);
    }
    norm("norm", "ln_f");
    return all;
}

void check_state_dict(const GPTConfig& config, const NamedTensors& state) {
    if (config.layers > static_cast<std::int64_t>(state.size()))  // not even listed, then
        throw ValueError("load_state_dict: the state does not fit this GPT: " + std::to_string(state.size()) +
                         " tensors are too few for " + std::to_string(config.layers) + " layers");
    std::vector<Wanted> wanted;
    for (const GPTEntry& entry : entries_of(config)) {
        Shape shape = entry.shape;
        if (entry.transposed) std::swap(shape[0], shape[1]);
        wanted.push_back({entry.ours, shape, float32});
    }
    wanted.push_back({"head.weight", {config.vocab, config.d_model}, float32});
    check_state("GPT", wanted, state, true);
}

}  // namespace weft::nn
