// A GPT in a report's page: its weights at 16 bits as JSON, and back. The page may have been changed by hand,
// so reading checks everything.
#include <cmath>

#include "report/fields.h"
#include "weft/ops/creation.h"

namespace weft::report {
namespace {

constexpr const char* model_format = "weft model 1";
constexpr double smallest_normal = 0x1p-14, largest_half = 65504;

// Halves where no value loses more than 2⁻¹¹ of the largest by that, else the float32 values themselves.
PackedTensor packed(const std::string& name, const Tensor& x) {
    const std::vector<float> values = x.to_vector<float>();
    double largest = 0;
    for (const float value : values) {
        const double size = std::fabs(static_cast<double>(value));
        if (!(size <= largest)) largest = size;  // keeps NaN
        if (std::isnan(size)) break;
    }
    const bool half = largest == 0 || (largest >= smallest_normal && largest <= largest_half);
    PackedTensor tensor{name, {x.shape().begin(), x.shape().end()}, half, {}};
    for (const float value : values)
        if (const Float16 rounded(value); half)
            tensor.values.append(reinterpret_cast<const char*>(&rounded), sizeof rounded);
        else
            tensor.values.append(reinterpret_cast<const char*>(&value), sizeof value);
    return tensor;
}

Tensor unpacked(const PackedTensor& tensor) {
    std::size_t count = 1;
    for (const std::int64_t size : tensor.shape)  // each at most INT32_MAX, so the product does not overflow
        if (count <= INT32_MAX) count *= static_cast<std::size_t>(size);
    check_size(tensor.values, count, tensor.half ? 2 : 4);
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
        if (Float16 stored; tensor.half) {
            std::memcpy(&stored, tensor.values.data() + 2 * i, 2);
            values[i] = static_cast<float>(stored);
        } else {
            std::memcpy(&values[i], tensor.values.data() + 4 * i, 4);
        }
    return from_vector(values, Shape(tensor.shape));
}

void whole(Fields f, const char* name, auto& numbers, std::int64_t low) {
    f.whole(name, numbers, low, INT32_MAX);
}

void config(Fields f, lm::GPTConfig& c) {
    whole(f, "vocab_size", c.vocab_size, 1);
    whole(f, "block_size", c.block_size, 1);
    whole(f, "num_layers", c.num_layers, 1);
    whole(f, "num_heads", c.num_heads, 1);
    whole(f, "d_model", c.d_model, 1);
    f.plain("dropout", c.dropout);
    f.plain("bias", c.bias);
    whole(f, "dim_feedforward", c.dim_feedforward, 0);
    f.plain("layer_norm_eps", c.layer_norm_eps);
}

void model(Fields f, PackedModel& m) {
    config(f.of("config"), m.config);
    f.plain("vocabulary", m.vocabulary);
    whole(f, "parameters", m.parameters, 1);
    whole(f, "max_parameters", m.max_parameters, 0);
    f.of("tensors").list(m.tensors, [](Fields item, PackedTensor& tensor) {
        std::string type = tensor.half ? "float16" : "float32";
        item.plain("name", tensor.name);
        whole(item, "shape", tensor.shape, 1);
        item.plain("type", type);
        item.of("values").base64(tensor.values);
        tensor.half = type == "float16";
    });
}

}  // namespace

PackedModel pack(const lm::GPT& gpt, const text::Characters& tokenizer, std::int64_t max_parameters) {
    if (tokenizer.vocab_size() != gpt.config.vocab_size)
        throw ValueError("report: the tokenizer has ", tokenizer.vocab_size(),
                         " characters, but the model's vocab_size is ", gpt.config.vocab_size,
                         "; give the tokenizer that the model was trained with");
    if (gpt.config.attention != nn::AttentionConfig{})
        throw ValueError(
            "report: the page computes attention of as many heads of keys as of queries, with learned "
            "positions; "
            "leave the model out, or make the GPT without config.attention");
    PackedModel model{gpt.config, tokenizer.vocabulary(), gpt.num_parameters(), max_parameters, {}};
    if (model.parameters > max_parameters) return model;
    for (const auto& [name, value] : gpt.state_dict())
        if (name != "head.weight") model.tensors.push_back(packed(name, value));  // it is the token embedding's
    return model;
}

PageModel unpack(const PackedModel& model) {
    const text::Characters tokenizer(model.vocabulary);
    nn::NamedTensors state;
    for (const PackedTensor& tensor : model.tensors) {
        state.emplace_back(tensor.name, unpacked(tensor));
        if (tensor.name == "token_embedding.weight") state.emplace_back("head.weight", state.back().second);
    }
    lm::check_state_dict(model.config, state);
    Rng rng = Rng::skip_init();
    PageModel found{lm::GPT(model.config, rng), tokenizer};
    found.gpt.load_state_dict(state);
    found.gpt.eval();
    if (tokenizer.vocab_size() != model.config.vocab_size) pack(found.gpt, tokenizer, 0);  // refuses
    return found;
}

std::string ReportFile::model_json(Report::Content& content) {
    Json json = Json::object();
    if (content.model) {
        json["format"] = model_format;
        report::model({json, /*reading=*/false}, *content.model);
    }
    return script_text(json.dump(-1, ' ', true));
}

std::optional<PackedModel> ReportFile::model(const std::string& text, const std::string& where) {
    return read_json(text, where, "its weights", [](Json& json) -> std::optional<PackedModel> {
        if (json.empty()) return {};
        if (json.at("format") != model_format)
            refuse("its format is " + excerpt(json.at("format").dump()) + ", not \"" + model_format + "\"");
        PackedModel m;
        report::model({json, /*reading=*/true}, m);
        if (!m.tensors.empty()) (void)unpack(m);  // which checks the rest
        return m;
    });
}

}  // namespace weft::report
