// Conversions of attention weights. C = d_model.
#include "weft/nn/states.h"

#include <algorithm>
#include <array>
#include <map>

namespace weft::nn {

namespace {

constexpr std::array<const char*, 3> projections{"W_q", "W_k", "W_v"};

// "blocks.0.attn.W_q.weight" split into "blocks.0.attn.", "W_q" and "weight"; all empty without a dot.
struct Name {
    std::string module, layer, part;

    explicit Name(const std::string& name) {
        const auto last = name.rfind('.');
        if (last == std::string::npos) return;
        const auto before = name.rfind('.', last - 1);
        const auto start = last == 0 || before == std::string::npos ? 0 : before + 1;
        module = name.substr(0, start), layer = name.substr(start, last - start), part = name.substr(last + 1);
    }
};

// The tensors under a prefix. After taking those it knows, a conversion refuses the rest.
class Reader {
public:
    Reader(const NamedTensors& state, const std::string& prefix, const char* function)
        : prefix_(prefix), function_(function) {
        for (const auto& [name, value] : state)
            if (name.starts_with(prefix) && !left_.emplace(name.substr(prefix.size()), value.detach()).second)
                throw ValueError(function, ": '", name, "' occurs twice");
    }
    bool has(const std::string& name) const { return left_.count(name) > 0; }
    Tensor take(const std::string& name) {
        const auto found = left_.extract(name);
        if (found.empty()) throw ValueError(function_, ": '", prefix_, name, "' is missing", listing());
        return found.mapped();
    }
    Tensor take_optional(const std::string& name) { return has(name) ? take(name) : Tensor(); }
    void refuse_unknown() const {
        if (!left_.empty())
            throw ValueError(function_, ": '", prefix_, left_.begin()->first,
                             "' is not known; the prefix must be all that precedes a layer's own names, with "
                             "its dot");
    }

private:
    std::map<std::string, Tensor> left_;
    std::string prefix_;
    const char* function_;

    std::string listing() const {
        std::string names;
        for (const auto& [name, value] : left_) names += (names.empty() ? "" : ", ") + prefix_ + name;
        return names.empty() ? "; no name begins with '" + prefix_ + "'" : "; found " + names;
    }
};

void add(NamedTensors& state, const std::string& layer, const Tensor& weight, const Tensor& bias) {
    state.emplace_back(layer + ".weight", weight);
    if (bias.defined()) state.emplace_back(layer + ".bias", bias);
}

}  // namespace

NamedTensors fused_state(const NamedTensors& state) {
    const std::map<std::string, Tensor> all(state.begin(), state.end());
    NamedTensors result;
    for (const auto& [full, value] : state) {
        const Name name(full);
        if (std::find(projections.begin(), projections.end(), name.layer) == projections.end()) {
            result.emplace_back(full, value.detach());
            continue;
        }
        std::vector<Tensor> parts;
        for (const char* layer : projections) {
            const std::string wanted = name.module + layer + "." + name.part;
            const auto found = all.find(wanted);
            if (found == all.end())
                throw ValueError("fused_state: '", full, "' is there without '", wanted, "'; add it");
            parts.push_back(found->second.detach());
        }
        if (name.layer != "W_q") continue;  // W_q's turn joins all three
        const Tensor& q = parts[0];
        for (const Tensor& other : parts)
            if (other.rank() != q.rank() || (q.rank() == 2 && other.size(1) != q.size(1)))
                throw ShapeError("fused_state: '", full, "' ", q.shape(), " and its key or value of ",
                                 other.shape(), " read tokens of different widths; keep them separate");
        const std::string fused = name.module + "W_qkv." + name.part;
        if (all.contains(fused))
            throw ValueError("fused_state: both '", full, "' and '", fused, "' are there; leave one out");
        result.emplace_back(fused, cat(parts));
    }
    return result;
}

NamedTensors separate_state(const NamedTensors& state, const std::vector<std::int64_t>& rows) {
    if (!rows.empty() && (rows.size() != 3 || *std::min_element(rows.begin(), rows.end()) < 1))
        throw ValueError("separate_state: rows must be three numbers of at least 1, those of Q, K and V");
    NamedTensors result;
    for (const auto& [full, value] : state) {
        const Name name(full);
        if (name.layer != "W_qkv") {
            result.emplace_back(full, value.detach());
            continue;
        }
        const std::int64_t all = value.size(0);
        const std::vector<std::int64_t> sizes = rows.empty() ? std::vector<std::int64_t>(3, all / 3) : rows;
        if (sizes[0] + sizes[1] + sizes[2] != all)
            throw ShapeError("separate_state: '", full, "' ", value.shape(), " has ", all, " rows, not ",
                             (rows.empty() ? "three equal parts; give the rows of Q, K and V"
                                           : std::to_string(rows[0]) + " + " + std::to_string(rows[1]) + " + " +
                                                 std::to_string(rows[2])));
        const std::vector<Tensor> parts = split(value.detach(), sizes);
        for (std::size_t i = 0; i < 3; ++i)
            result.emplace_back(name.module + projections[i] + "." + name.part, parts[i]);
    }
    return result;
}

NamedTensors from_torch_multihead_attention(const NamedTensors& state, const std::string& prefix) {
    Reader reader(state, prefix, "from_torch_multihead_attention");
    for (const char* name : {"bias_k", "bias_v"})
        if (reader.has(name))
            throw ValueError("from_torch_multihead_attention: '", prefix, name,
                             "' comes from add_bias_kv, which Weft's attention does not support");
    NamedTensors result;
    if (!reader.has("q_proj_weight")) {
        const Tensor weight = reader.take("in_proj_weight");  // (3C, C), rows of Q, K, V as in W_qkv
        add(result, "W_qkv", weight, reader.take_optional("in_proj_bias"));
    } else {
        const Tensor bias = reader.take_optional("in_proj_bias");  // (3C,), also with separate weights
        const std::array<const char*, 3> names{"q_proj_weight", "k_proj_weight", "v_proj_weight"};
        for (std::size_t i = 0; i < 3; ++i) {
            const Tensor weight = reader.take(names[i]);  // (C, width)
            const std::int64_t C = weight.size(0), begin = static_cast<std::int64_t>(i) * C;
            add(result, projections[i], weight, bias.defined() ? bias.slice(0, begin, begin + C) : bias);
        }
    }
    const Tensor weight = reader.take("out_proj.weight");
    add(result, "W_out", weight, reader.take_optional("out_proj.bias"));
    reader.refuse_unknown();
    return result;
}

NamedTensors from_gpt2_attention(const NamedTensors& state, const std::string& prefix) {
    Reader reader(state, prefix, "from_gpt2_attention");
    for (const char* mask : {"bias", "masked_bias"})
        (void)reader.take_optional(mask);  // the causal mask of older files
    NamedTensors result;
    const std::pair<const char*, const char*> layers[] = {{"c_attn", "W_qkv"}, {"c_proj", "W_out"}};
    for (const auto& [gpt2_name, weft_name] : layers) {
        const std::string name = gpt2_name;
        const Tensor weight = reader.take(name + ".weight");  // (in, out)
        if (name == "c_attn" && (weight.rank() != 2 || weight.size(1) != 3 * weight.size(0)))
            throw ShapeError(
                "from_gpt2_attention: '", prefix, "c_attn.weight' must be (C, 3C), not ", weight.shape(),
                (weight.rank() == 2 && weight.size(0) == 3 * weight.size(1)
                     ? "; weights that are (3C, C), of layers x Wᵀ + b, are W_qkv and W_out as they are"
                     : ""));
        add(result, weft_name, weight.T().contiguous(), reader.take(name + ".bias"));
    }
    reader.refuse_unknown();
    return result;
}

NamedTensors from_flax(const NamedTensors& params,
                       const std::vector<std::pair<std::string, std::string>>& layers) {
    std::map<std::string, std::pair<Tensor, bool>> all;  // each tensor, and whether a layer has taken it
    for (const auto& [name, value] : params)
        if (!all.emplace(name, std::pair(value.detach(), false)).second)
            throw ValueError("from_flax: '", name, "' occurs twice");
    const auto joined = [](const std::string& layer, const char* between, const std::string& part) {
        return layer.empty() ? part : layer + between + part;
    };
    struct Part {
        const char *flax, *weft;
        int rank;
    };
    NamedTensors result;
    for (const auto& [path, layer] : layers) {
        const std::size_t before = result.size();
        for (const auto& [flax, weft, rank] : {Part{"kernel", "weight", 2},
                                               {"embedding", "weight", 2},
                                               {"scale", "weight", 1},
                                               {"bias", "bias", 1}}) {
            const auto found = all.find(joined(path, "/", flax));
            if (found == all.end()) continue;
            auto& [value, taken] = found->second;
            if (value.rank() != rank)
                throw ShapeError("from_flax: '", found->first, "' must have rank ", rank, ", not the shape ",
                                 value.shape(),
                                 "; reshape a kernel of DenseGeneral to (in, out) and its bias to (out,)");
            const bool is_kernel = flax == std::string("kernel");
            result.emplace_back(joined(layer, ".", weft), is_kernel ? value.T().contiguous() : value);
            taken = true;
        }
        if (result.size() == before) {
            std::string names;
            for (const auto& [name, value] : all) names += (names.empty() ? "" : ", ") + name;
            throw ValueError("from_flax: no tensor is in '", path, "'; the names are: ", names);
        }
    }
    for (const auto& [name, value] : all)
        if (!value.second)
            throw ValueError(
                "from_flax: '", name,
                "' is in none of the layers; add its layer to the table, or leave it out of params");
    return result;
}

}  // namespace weft::nn
