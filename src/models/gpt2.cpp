// GPT-2's weights under Weft's names.
#include "weft/models/gpt2.h"

#include <cstring>
#include <map>

#include "gpt_state.h"
#include "nn/error_list.h"
#include "weft/core/text.h"
#include "weft/models/io.h"

namespace weft::nn {

namespace {

std::string shown(const std::string& name) { return text::excerpt(name, 200); }

bool is_causal_mask(const std::string& name) {
    return name.starts_with("h.") && (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias"));
}

template <class T>
bool same_bits(const Tensor& a, const Tensor& b) {
    return std::memcmp(a.contiguous().data<T>(), b.contiguous().data<T>(), itemsize(a.dtype()) * a.numel()) ==
           0;
}

bool same_values(const Tensor& a, const Tensor& b) {
    if (!(a.shape() == b.shape()) || a.dtype() != b.dtype()) return false;
    return a.dtype() == float32 ? same_bits<float>(a, b) : same_bits<double>(a, b);
}

}  // namespace

NamedTensors from_gpt2(const NamedTensors& state, const GPTConfig& config) {
    const std::string prefix = "transformer.";
    std::map<std::string, Tensor> left;
    ErrorList wrong;
    for (const auto& [full, value] : state) {
        const std::string name = full.starts_with(prefix) ? full.substr(prefix.size()) : full;
        if (!is_causal_mask(name) && !left.emplace(name, value.detach()).second)
            wrong.add("repeated: " + shown(full));
    }
    NamedTensors result;
    const auto take = [&](const GPTEntry& entry) {
        const auto found = left.find(entry.gpt2_name);
        if (found == left.end())
            return wrong.add("missing: " + entry.gpt2_name + " " + entry.shape.str()), Tensor();
        const Tensor value = found->second;
        left.erase(found);
        if (!(value.shape() == entry.shape))
            wrong.add(entry.gpt2_name + ": shape " + value.shape().str() + ", but it has to be " +
                      entry.shape.str());
        else if (!is_floating_point(value.dtype()))
            wrong.add(entry.gpt2_name + ": " + name(value.dtype()) + ", but it has to be floating");
        else
            return value;
        return Tensor();
    };
    for (const GPTEntry& entry : gpt_entries(config)) {
        const Tensor value = take(entry);
        if (value.defined()) result.emplace_back(entry.weft_name, entry.transposed ? value.T() : value);
    }
    Tensor head = result.empty() ? Tensor() : result[0].second;
    if (left.contains("lm_head.weight")) {
        const Tensor own = take({"head.weight", "lm_head.weight", {config.vocab_size, config.d_model}});
        if (own.defined() && head.defined() && !same_values(own, head))
            wrong.add("lm_head.weight: its values are not wte.weight's, to which the head is tied here");
    }
    for (const auto& [name, value] : left) wrong.add("unexpected: " + shown(name) + " " + value.shape().str());
    if (!wrong.empty()) throw ValueError("from_gpt2: the state is not that of a GPT-2 of these sizes:", wrong);
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
        throw IoError("cannot load ", path.string(), ": ", error.what());
    }
    for (auto& [name, value] : state) value = value.to(options.dtype);
    Rng rng = Rng::skip_init();
    GPT model(config, rng);
    model.to(options.dtype);
    model.load_state_dict(state);
    model.eval();
    return model;
}

}  // namespace weft::nn
