// What a GPT's state_dict has to be, known without a GPT. P = block_size, C = d_model, F hidden.
#include "gpt_state.h"

#include "nn/registry.h"

namespace weft::nn {

std::vector<GPTEntry> gpt_entries(const GPTConfig& config) {
    const std::int64_t C = config.d_model, F = config.dim_feedforward == 0 ? 4 * C : config.dim_feedforward;
    std::vector<GPTEntry> all{{"token_embedding.weight", "wte.weight", {config.vocab_size, C}},
                              {"position_embedding.weight", "wpe.weight", {config.block_size, C}}};
    const auto bias = [&](const std::string& weft_name, const std::string& gpt2_name, std::int64_t size) {
        if (config.bias) all.push_back({weft_name + ".bias", gpt2_name + ".bias", {size}});
    };
    const auto norm = [&](const std::string& weft_name, const std::string& gpt2_name) {
        all.push_back({weft_name + ".weight", gpt2_name + ".weight", {C}});
        bias(weft_name, gpt2_name, C);
    };
    const auto linear = [&](const std::string& weft_name, const std::string& gpt2_name, std::int64_t in,
                            std::int64_t out) {
        all.push_back({weft_name + ".weight", gpt2_name + ".weight", {in, out}, true});
        bias(weft_name, gpt2_name, out);
    };
    for (std::int64_t i = 0; i < config.num_layers; ++i) {
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
    if (config.num_layers > static_cast<std::int64_t>(state.size()))  // not even listed, then
        throw ValueError("load_state_dict: the state does not fit this GPT: ", state.size(),
                         " tensors are too few for ", config.num_layers, " layers");
    std::vector<ExpectedTensor> expected;
    for (const GPTEntry& entry : gpt_entries(config)) {
        Shape shape = entry.shape;
        if (entry.transposed) std::swap(shape[0], shape[1]);
        expected.push_back({entry.weft_name, shape, float32});
    }
    expected.push_back({"head.weight", {config.vocab_size, config.d_model}, float32});
    check_state("GPT", expected, state, true);
}

}  // namespace weft::nn
