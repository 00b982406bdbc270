// GPT-2's weights under Weft's names. V vocabulary, P = block_size, C = d_model, F hidden.
#include "weft/nn/gpt2.h"

#include <cstring>
#include <map>

#include "weft/io.h"

namespace weft::nn {

namespace {

// One tensor of GPT-2's, what it is here, and its shape there.
struct Entry {
    std::string theirs, ours;
    Shape shape;
    bool transposed = false;
};

std::vector<Entry> entries_of(const GPTConfig& config) {
    const std::int64_t C = config.d_model, F = config.hidden == 0 ? 4 * C : config.hidden;
    std::vector<Entry> all{{"wte.weight", "token_embedding.weight", {config.vocab, C}},
                           {"wpe.weight", "position_embedding.weight", {config.block_size, C}}};
    const auto norm = [&](const std::string& theirs, const std::string& ours) {
        all.push_back({theirs + ".weight", ours + ".weight", {C}});
        all.push_back({theirs + ".bias", ours + ".bias", {C}});
    };
    const auto linear = [&](const std::string& theirs, const std::string& ours, std::int64_t in,
                            std::int64_t out) {
        all.push_back({theirs + ".weight", ours + ".weight", {in, out}, true});
        all.push_back({theirs + ".bias", ours + ".bias", {out}});
    };
    for (std::int64_t i = 0; i < config.layers; ++i) {
        const std::string h = "h." + std::to_string(i) + ".", block = "blocks." + std::to_string(i) + ".";
        norm(h + "ln_1", block + "norm1");
        linear(h + "attn.c_attn", block + "attn.W_qkv", C, 3 * C);
        linear(h + "attn.c_proj", block + "attn.W_out", C, C);
        norm(h + "ln_2", block + "norm2");
        linear(h + "mlp.c_fc", block + "mlp.W_in", C, F);
        linear(h + "mlp.c_proj", block + "mlp.W_out", F, C);
    }
    norm("ln_f", "norm");
    return all;
}

bool is_causal_mask(const std::string& name) {
    return name.starts_with("h.") && (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias"));
}

template <class T>
bool same_bits(const Tensor& a, const Tensor& b) {
    return std::memcmp(a.contiguous().data<T>(), b.contiguous().data<T>(), size_of(a.dtype()) * a.numel()) == 0;
}

bool same_values(const Tensor& a, const Tensor& b) {
    if (!(a.shape() == b.shape()) || a.dtype() != b.dtype()) return false;
    return a.dtype() == float32 ? same_bits<float>(a, b) : same_bits<double>(a, b);
}

}  // namespace

NamedTensors from_gpt2(const NamedTensors& state, const GPTConfig& config) {
    const std::string prefix = "transformer.";
    std::map<std::string, Tensor> left;
    std::string wrong;
    for (const auto& [full, value] : state) {
        const std::string name = full.starts_with(prefix) ? full.substr(prefix.size()) : full;
        if (!is_causal_mask(name) && !left.emplace(name, value.detach()).second)
            wrong += "\n  repeated: " + full;
    }
    NamedTensors result;
    const auto take = [&](const Entry& entry) {
        const auto found = left.find(entry.theirs);
        if (found == left.end())
            return wrong += "\n  missing: " + entry.theirs + " " + entry.shape.str(), Tensor();
        const Tensor value = found->second;
        left.erase(found);
        if (!(value.shape() == entry.shape))
            wrong += "\n  " + entry.theirs + ": shape " + value.shape().str() + ", but it has to be " +
                     entry.shape.str();
        else if (!is_floating(value.dtype()))
            wrong += "\n  " + entry.theirs + ": " + name(value.dtype()) + ", but it has to be floating";
        else
            return value;
        return Tensor();
    };
    for (const Entry& entry : entries_of(config)) {
        const Tensor value = take(entry);
        if (value.defined()) result.emplace_back(entry.ours, entry.transposed ? value.T() : value);
    }
    Tensor head = result.empty() ? Tensor() : result[0].second;
    if (left.contains("lm_head.weight")) {
        const Tensor own = take({"lm_head.weight", "head.weight", {config.vocab, config.d_model}});
        if (own.defined() && head.defined() && !same_values(own, head))
            wrong += "\n  lm_head.weight: its values are not wte.weight's, to which the head is tied here";
    }
    for (const auto& [name, value] : left) wrong += "\n  unexpected: " + name + " " + value.shape().str();
    if (!wrong.empty()) throw ValueError("from_gpt2: the state is not that of a GPT-2 of these sizes:" + wrong);
    result.emplace_back("head.weight", head);
    return result;
}

GPT load_gpt2(const std::filesystem::path& folder, const GPT2Options& options) {
    GPTConfig config = gpt2_config(folder / "config.json");
    config.dropout = options.dropout;
    const std::filesystem::path path = folder / "model.safetensors";
    NamedTensors state;
    try {
        state = from_gpt2(io::load_safetensors(path).tensors, config);
    } catch (const ValueError& error) {
        throw IoError("cannot load " + path.string() + ": " + error.what());
    }
    for (auto& [name, value] : state) value = value.to(options.dtype);
    Rng rng = Rng::of_zeros();
    GPT model(config, rng);
    model.to(options.dtype);
    model.load_state_dict(state);
    model.eval();
    return model;
}

}  // namespace weft::nn
