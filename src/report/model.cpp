// A GPT in a report's page: its weights at 16 bits as JSON, and back. The page may have been changed by hand,
// so reading checks everything.
#include <bit>
#include <cmath>
#include <cstring>

#include "report/content.h"
#include "weft/base/utf8.h"
#include "weft/io/json.h"
#include "weft/io/safetensors.h"
#include "weft/ops/creation.h"

namespace weft::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* model_format = "weft model 1";
constexpr double smallest_normal = 0x1p-14, largest_half = 65504;

// The IEEE half nearest to x, ties to even; |x| ≤ 65504. A half that is not subnormal is n · 2^(e − 10) with
// 1024 ≤ n < 2048, and an n of 2048 carries into the exponent as it should.
std::uint16_t half_of(float x) {
    const double size = std::fabs(static_cast<double>(x));
    const int e = size < smallest_normal ? -14 : std::ilogb(size);
    const auto n = static_cast<int>(std::nearbyint(std::ldexp(size, 10 - e)));
    return static_cast<std::uint16_t>((std::signbit(x) ? 0x8000 : 0) + ((e + 14) << 10) + n);
}

float float_of(std::uint16_t half) {
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    const double size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    return static_cast<float>((half & 0x8000) != 0 ? -size : size);
}

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
        if (const std::uint16_t bits = half ? half_of(value) : 0; half)
            tensor.values.append(reinterpret_cast<const char*>(&bits), sizeof bits);
        else
            tensor.values.append(reinterpret_cast<const char*>(&value), sizeof value);
    return tensor;
}

Tensor unpacked(const PackedTensor& tensor) {
    std::size_t count = 1;
    for (const std::int64_t size : tensor.shape)  // each at most INT32_MAX, so the product does not overflow
        if (count <= INT32_MAX) count *= static_cast<std::size_t>(size);
    if (tensor.values.size() != count * (tensor.half ? 2 : 4))
        throw IoError(std::to_string(tensor.values.size()) + " bytes instead of " + std::to_string(count) +
                      " numbers");
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
        if (std::uint16_t bits = 0; tensor.half) {
            std::memcpy(&bits, tensor.values.data() + 2 * i, 2);
            values[i] = float_of(bits);
        } else {
            std::memcpy(&values[i], tensor.values.data() + 4 * i, 4);
        }
    return from_vector(values, Shape(tensor.shape));
}

// A whole number in low … 2³¹ − 1.
std::int64_t size_of(const Json& json, std::int64_t low) {
    if (!json.is_number_integer() || json < low || json > INT32_MAX)
        throw IoError("it has " + excerpt(json.dump()) + " instead of a whole number in " +
                      std::to_string(low) + " … " + std::to_string(INT32_MAX));
    return json.get<std::int64_t>();
}

lm::GPTConfig config_of(const Json& json) {
    return {.vocab_size = size_of(json.at("vocab_size"), 1),
            .block_size = size_of(json.at("block_size"), 1),
            .num_layers = size_of(json.at("num_layers"), 1),
            .num_heads = size_of(json.at("num_heads"), 1),
            .d_model = size_of(json.at("d_model"), 1),
            .dropout = json.at("dropout").get<double>(),
            .bias = json.at("bias").get<bool>(),
            .dim_feedforward = size_of(json.at("dim_feedforward"), 0),
            .layer_norm_eps = json.at("layer_norm_eps").get<double>()};
}

PackedModel model_of(const Json& json) {
    if (json.at("format") != model_format)
        throw IoError("its format is " + excerpt(json.at("format").dump()) + ", not \"" + model_format + "\"");
    PackedModel model{config_of(json.at("config")),
                      json.at("vocabulary").get<std::string>(),
                      size_of(json.at("parameters"), 1),
                      size_of(json.at("max_parameters"), 0),
                      {}};
    for (const Json& item : json.at("tensors")) {
        PackedTensor tensor{item.at("name").get<std::string>(), {}, item.at("type") == "float16", {}};
        for (const Json& size : item.at("shape")) tensor.shape.push_back(size_of(size, 1));
        if (!from_base64(item.at("values").get_ref<const std::string&>(), tensor.values))
            throw IoError("invalid base64");
        model.tensors.push_back(std::move(tensor));
    }
    if (!model.tensors.empty()) (void)unpack(model);  // which checks the rest
    return model;
}

}  // namespace

PackedModel pack(const lm::GPT& gpt, const text::Characters& tokenizer, std::int64_t max_parameters) {
    if (tokenizer.vocab_size() != gpt.config.vocab_size)
        throw ValueError("report: the tokenizer has ", tokenizer.vocab_size(),
                         " characters, but the model's vocab_size is ", gpt.config.vocab_size,
                         "; give the tokenizer that the model was trained with");
    PackedModel model{gpt.config, tokenizer.vocabulary(), gpt.num_parameters(), max_parameters, {}};
    if (model.parameters > max_parameters) return model;
    for (const auto& [name, value] : gpt.state_dict())
        if (name != "head.weight") model.tensors.push_back(packed(name, value));  // it is the token embedding's
    return model;
}

PageModel unpack(const PackedModel& model) {
    const text::Characters tokenizer(model.vocabulary);
    io::NamedTensors state;
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

std::string ReportFile::model_json(const Report::Content& content) {
    Json json = Json::object();
    if (content.model) {
        const auto& [config, vocabulary, parameters, max_parameters, tensors] = *content.model;
        json = {{"format", model_format},
                {"config",
                 {{"vocab_size", config.vocab_size},
                  {"block_size", config.block_size},
                  {"num_layers", config.num_layers},
                  {"num_heads", config.num_heads},
                  {"d_model", config.d_model},
                  {"dropout", config.dropout},
                  {"bias", config.bias},
                  {"dim_feedforward", config.dim_feedforward},
                  {"layer_norm_eps", config.layer_norm_eps}}},
                {"vocabulary", vocabulary},
                {"parameters", parameters},
                {"max_parameters", max_parameters},
                {"tensors", Json::array()}};
        for (const PackedTensor& tensor : tensors)
            json["tensors"].push_back({{"name", tensor.name},
                                       {"shape", tensor.shape},
                                       {"type", tensor.half ? "float16" : "float32"},
                                       {"values", base64(tensor.values)}});
    }
    return script_text(json.dump(-1, ' ', true));
}

std::optional<PackedModel> ReportFile::model(const std::string& text, const std::string& where) {
    const Json json = io::parse_json(text, where + "its weights");
    if (json.empty()) return {};
    try {
        return model_of(json);
    } catch (const Json::exception& error) {
        throw IoError(where, excerpt(error.what(), 200));
    } catch (const Error& error) {
        throw IoError(where, error.what());
    }
}

}  // namespace weft::report
