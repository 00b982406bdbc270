// A model in a report's page: a Decoder, its weights at 16 bits as JSON, and back. The page may have been
// changed by hand, so reading checks everything.
#include <algorithm>
#include <cmath>

#include "report/content.h"
#include "weft/core/creation.h"
#include "weft/packed/packed.h"

namespace weft::report {
namespace {

constexpr const char *model_format = "weft model 2", *first_model_format = "weft model 1";
constexpr std::int64_t page_tokens = 256;  // of which the page computes at most so many (reachOf in model.js)
constexpr double smallest_normal = 0x1p-14, largest_half = 65504;

// Halves where no value loses more than 2⁻¹¹ of the largest by that, else the float32 values themselves.
PackedTensor packed(const std::string& name, const Tensor& x) {
    const std::vector<float> values = x.to(float32).to_vector<float>();
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

// The rates θ of the pairs, and what multiplies their cosines and sines: the page turns position p by p · θ.
void write_rates(Json& rotary, const nn::RotaryOptions& options, std::int64_t head_dim) {
    const nn::RotaryTable first = nn::rotary_table(1, 1, head_dim, options, float64);
    const std::vector<double> c = first.cos.to_vector<double>(), s = first.sin.to_vector<double>();
    for (std::size_t i = 0; i < c.size(); ++i) rotary["rates"].push_back(std::atan2(s[i], c[i]));
    rotary["size"] = std::hypot(c[0], s[0]);
}

void layer(Fields f, lm::DecoderLayerOptions& options) {
    f.optional("rotary", options.rotary, [](Fields rotary, nn::RotaryOptions& o) {
        rotary.plain("base", o.base);
        rotary.word("pairs", o.pairs, {"neighbours", "halves"});
        whole(rotary, "width", o.width, 0);
        const Fields scaling = rotary.of("scaling");
        nn::RotaryScaling& s = o.scaling;
        scaling.word("kind", s.kind, {"none", "linear", "dynamic", "yarn", "longrope", "llama3"});
        scaling.plain("factor", s.factor);
        whole(scaling, "original_length", s.original_length, 0);
        scaling.plain("low_freq_factor", s.low_freq_factor);
        scaling.plain("high_freq_factor", s.high_freq_factor);
        scaling.plain("beta_fast", s.beta_fast);
        scaling.plain("beta_slow", s.beta_slow);
        scaling.plain("truncate", s.truncate);
        scaling.plain("short_factor", s.short_factor);
        scaling.plain("long_factor", s.long_factor);
        scaling.optional("attention_factor", s.attention_factor);
    });
    f.optional("window", options.window, [](Fields window, std::int64_t& tokens) {
        if (window.reading) check_whole(window.json, 1, INT32_MAX);
        window.plain(tokens);
    });
}

// What both kinds of config begin with.
void sizes(Fields f, auto& c) {
    whole(f, "vocab_size", c.vocab_size, 1);
    whole(f, "block_size", c.block_size, 1);
    whole(f, "num_layers", c.num_layers, 1);
    whole(f, "num_heads", c.num_heads, 1);
}

void config(Fields f, lm::DecoderConfig& c) {
    sizes(f, c);
    whole(f, "num_kv_heads", c.num_kv_heads, 0);
    whole(f, "d_model", c.d_model, 1);
    whole(f, "head_dim", c.head_dim, 0);
    whole(f, "dim_feedforward", c.dim_feedforward, 0);
    f.word("norm", c.norm, {"rms", "rms_plus_one", "layer"});
    f.plain("norm_eps", c.norm_eps);
    f.word("norm_place", c.norm_place, {"before", "around", "after"});
    f.plain("norm_bias", c.norm_bias);
    f.plain("qk_norm", c.qk_norm);
    f.of("layers").list(c.layers, layer);
    f.plain("learned_positions", c.learned_positions);
    f.optional("attention_scale", c.attention_scale);
    f.plain("scale_by_layer", c.scale_by_layer);
    f.optional("attention_softcap", c.attention_softcap);
    f.optional("logits_softcap", c.logits_softcap);
    f.plain("qkv_bias", c.qkv_bias);
    f.plain("output_bias", c.output_bias);
    f.plain("mlp_bias", c.mlp_bias);
    f.plain("fused_qkv", c.fused_qkv);
    f.word("activation", c.activation, {"silu", "gelu", "gelu_tanh", "relu_squared"});
    f.plain("gated", c.gated);
    f.plain("embedding_scale", c.embedding_scale);
    f.plain("tied_head", c.tied_head);
}

// The Decoder that a GPT of the first format is.
lm::DecoderConfig first_config(Fields f) {
    lm::GPTConfig c;
    sizes(f, c);
    whole(f, "d_model", c.d_model, 1);
    f.plain("bias", c.bias);
    whole(f, "dim_feedforward", c.dim_feedforward, 0);
    f.plain("layer_norm_eps", c.layer_norm_eps);
    return lm::decoder_config(c);
}

void model(Fields f, PackedModel& m) {
    if (f.json.at("format") == first_model_format)
        m.config = first_config(f.of("config"));
    else
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

std::vector<PackedTensor> packed(const nn::NamedTensors& state) {
    std::vector<PackedTensor> all;
    for (const auto& [name, value] : state) all.push_back(packed(name, value));
    return all;
}

nn::NamedTensors unpacked(const std::vector<PackedTensor>& tensors) {
    nn::NamedTensors all;
    for (const PackedTensor& tensor : tensors) all.emplace_back(tensor.name, unpacked(tensor));
    return all;
}

void check_vocabulary(const text::Characters& tokenizer, std::int64_t vocab_size) {
    if (tokenizer.vocab_size() != vocab_size)
        throw ValueError("report: the tokenizer has ", tokenizer.vocab_size(),
                         " characters, but the model's vocab_size is ", vocab_size,
                         "; give the tokenizer that the model was trained with");
}

// The model as a Decoder, which shares its parameters.
lm::Decoder as_decoder(const lm::LanguageModel& model) {
    if (const auto* decoder = model.target<lm::Decoder>()) return *decoder;
    const auto* gpt = model.target<lm::GPT>();
    if (gpt == nullptr) throw ValueError("report: the page runs a GPT or a Decoder; leave another model out");
    lm::GPTConfig config = gpt->config;
    config.dropout = 0, config.attention.dropout = {};  // the page only evaluates
    return {lm::decoder_config(config), lm::decoder_state(gpt->state_dict())};
}

}  // namespace

PackedModel pack(const lm::LanguageModel& given, const text::Characters& tokenizer,
                 std::int64_t max_parameters) {
    const lm::Decoder decoder = as_decoder(given);
    const lm::DecoderConfig& config = decoder.config;
    check_vocabulary(tokenizer, config.vocab_size);
    PackedModel model{config, tokenizer.vocabulary(), decoder.num_parameters(), max_parameters, {}};
    if (model.parameters > max_parameters) return model;
    for (const lm::DecoderLayerOptions& layer : config.layers)
        if (layer.rotary &&
            nn::rotary_length(*layer.rotary, 1) != nn::rotary_length(*layer.rotary, page_tokens))
            throw ValueError("report: the page computes up to ", page_tokens,
                             " tokens, among which the rotary angles of this model change with the length; "
                             "leave the model out");
    nn::NamedTensors state = decoder.state_dict();
    if (config.tied_head)
        std::erase_if(state, [](const auto& entry) { return entry.first == "lm_head.weight"; });
    model.tensors = packed(state);
    return model;
}

PageModel unpack(const PackedModel& model) {
    PageModel found{lm::Decoder(model.config, unpacked(model.tensors)), text::Characters(model.vocabulary)};
    check_vocabulary(found.tokenizer, model.config.vocab_size);
    found.decoder.eval();
    return found;
}

std::string ReportFile::model_json(Report::Content& content) {
    Json json = Json::object();
    if (content.model) {
        json["format"] = model_format;
        const PackedModel& m = *content.model;
        report::model({json, /*reading=*/false}, *content.model);
        for (std::size_t i = 0; i < m.config.layers.size() && !m.tensors.empty(); ++i)
            if (const auto& rotary = m.config.layers[i].rotary)
                write_rates(json["config"]["layers"][i]["rotary"], *rotary, m.config.head_dim);
    }
    return script_text(json.dump(-1, ' ', true));
}

std::optional<PackedModel> ReportFile::model(const std::string& text, const std::string& where) {
    return read_json(text, where, "its weights", [](Json& json) -> std::optional<PackedModel> {
        if (json.empty()) return {};
        const bool is_first = json.at("format") == first_model_format;
        if (!is_first && json.at("format") != model_format)
            refuse("its format is " + excerpt(json.at("format").dump()) + ", not \"" + model_format + "\"");
        PackedModel m;
        report::model({json, /*reading=*/true}, m);
        if (is_first) m.tensors = packed(lm::decoder_state(unpacked(m.tensors)));
        if (!m.tensors.empty()) m.config = unpack(m).decoder.config;  // which checks the rest
        return m;
    });
}

}  // namespace weft::report
