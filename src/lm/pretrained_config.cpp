// config.json of published models, and the metadata of GGUF files, as DecoderConfig and back.
#include <array>
#include <cmath>

#include "lm/pretrained.h"
#include "weft/io/files.h"
#include "weft/io/json.h"
#include "weft/lm/pretrained.h"

namespace weft::lm {

const std::vector<std::string> harmless_in_config = {
    // names, versions, how results are returned, and ids of tokens, which the tokenizer has
    "architectures", "transformers_version", "_name_or_path", "transformers.js_config", "is_llama_config",
    "torch_dtype", "dtype", "use_cache", "cache_implementation", "output_attentions", "output_hidden_states",
    "return_dict", "id2label", "label2id", "problem_type", "chunk_size_feed_forward", "task_specific_params",
    "bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "_num_labels", "finetuning_task",
    "tokenizer_class", "model_max_length", "auto_map", "unsloth_version", "unsloth_fixed", "torchscript",
    "use_bfloat16", "is_decoder", "_attn_implementation", "_attn_implementation_autoset", "attn_implementation",
    "_flash_attn_2_enabled", "num_logits_to_keep",
    // of generation, whose options lm::generate has
    "max_length", "min_length", "do_sample", "early_stopping", "num_beams", "num_beam_groups",
    "diversity_penalty", "temperature", "top_k", "top_p", "typical_p", "repetition_penalty", "length_penalty",
    "no_repeat_ngram_size", "num_return_sequences", "output_scores", "return_dict_in_generate",
    "remove_invalid_values", "prefix",
    // of training alone
    "initializer_range", "attention_dropout", "attn_pdrop", "embd_pdrop", "resid_pdrop", "pretraining_tp",
    "gradient_checkpointing",
    // how rounding errors fall
    "reorder_and_upcast_attn",
    // of heads other than that of language models
    "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type",
    "summary_use_proj"};

namespace {

using io::KeyReader;
using nlohmann::json;

const std::vector<std::pair<const char*, Activation>> activations = {
    {"silu", Activation::silu},
    {"gelu", Activation::gelu},
    {"gelu_pytorch_tanh", Activation::gelu_tanh},
    {"gelu_new", Activation::gelu_tanh},
    {"relu2", Activation::relu_squared},
    {"swish", Activation::silu}};

Activation read_activation(KeyReader& file, const std::string& name, std::size_t otherwise) {
    std::vector<json> names;
    for (const auto& [of_file, kind] : activations) names.emplace_back(of_file);
    return activations[file.choice(name, names, otherwise)].second;
}

const std::array rope_types = {"default", "linear",   "dynamic",
                               "yarn",    "longrope", "llama3"};  // as RotaryScaling::Kind

double yarn_scale(double factor, double mscale) {
    return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

// The rotary options in "rope_parameters", or in "rope_scaling" beside a base in `base`.
nn::RotaryOptions read_rotary(KeyReader file, double base, std::int64_t block_size, std::int64_t original) {
    nn::RotaryOptions rotary{.base = file.number("rope_theta", base), .pairs = nn::RotaryPairs::halves};
    nn::RotaryScaling& scaling = rotary.scaling;
    const std::vector<json> types(rope_types.begin(), rope_types.end());
    const std::string key = file.has("rope_type") ? "rope_type" : "type";  // the new name and the old
    file.ignore({"type"});
    scaling.kind = static_cast<nn::RotaryScaling::Kind>(file.choice(key, types, 0));
    (void)file.choice("partial_rotary_factor", {1.0}, 0);
    if (scaling.kind == nn::RotaryScaling::none) {
        file.ignore({"factor"});
        return file.finish(), rotary;
    }
    using Scaling = nn::RotaryScaling;
    const bool has_original =
        scaling.kind == Scaling::yarn || scaling.kind == Scaling::longrope || scaling.kind == Scaling::llama3;
    if (scaling.kind == Scaling::dynamic) scaling.original_length = block_size;
    file.ignore({"original_max_position_embeddings"});
    if (has_original)
        scaling.original_length = file.size("original_max_position_embeddings", 100 * million, original);
    const bool may_lack = scaling.kind == Scaling::yarn || scaling.kind == Scaling::longrope;
    const double extended = static_cast<double>(block_size) /
                            static_cast<double>(std::max<std::int64_t>(1, scaling.original_length));
    scaling.factor = file.number("factor", may_lack ? std::optional(extended) : std::nullopt);
    if (scaling.kind == Scaling::llama3) {
        scaling.low_freq_factor = file.number("low_freq_factor");
        scaling.high_freq_factor = file.number("high_freq_factor");
    }
    if (may_lack) scaling.attention_factor = file.optional_number("attention_factor");
    if (scaling.kind == Scaling::yarn) {
        scaling.beta_fast = file.number("beta_fast", 32), scaling.beta_slow = file.number("beta_slow", 1);
        scaling.truncate = file.flag("truncate", true);
        file.ignore({"finetuned"});
        const auto unless_0 = [&](const char* name) {
            return file.take(name) == 0 ? std::nullopt : file.optional_number(name);
        };
        const auto mscale = unless_0("mscale"), mscale_all = unless_0("mscale_all_dim");
        if (!scaling.attention_factor && mscale && mscale_all)
            scaling.attention_factor =
                yarn_scale(scaling.factor, *mscale) / yarn_scale(scaling.factor, *mscale_all);
    }
    if (scaling.kind == Scaling::longrope)
        for (const auto& [name, factors] : {std::pair("short_factor", &scaling.short_factor),
                                            std::pair("long_factor", &scaling.long_factor)}) {
            const json& list = file.take(name);
            if (!list.is_array() || !std::ranges::all_of(list, [](const json& x) { return x.is_number(); }))
                file.wrong(std::string(name) + " is " + KeyReader::shown(list) + ", not a list of numbers");
            else
                *factors = list.get<std::vector<double>>();
        }
    return file.finish(), rotary;
}

// The same from the top of a config, in its new place or its old ones.
nn::RotaryOptions rotary_of(KeyReader& file, double base, std::int64_t block_size) {
    const std::int64_t original = file.size("original_max_position_embeddings", 100 * million, block_size);
    const double theta = file.number("rope_theta", base);
    (void)file.choice("partial_rotary_factor", {1.0}, 0);
    const bool is_old = !file.has("rope_parameters");
    if (file.has("rope_parameters") && file.has("rope_scaling"))
        file.wrong("rope_parameters and rope_scaling are both there; leave out one");
    file.ignore({"rope_parameters", "rope_scaling"});
    return read_rotary(file.within(is_old ? "rope_scaling" : "rope_parameters"), theta, block_size, original);
}

// What llama, qwen2, qwen3, mistral and gemma3 share.
DecoderConfig read_llama_like(KeyReader& file, const char* activation) {
    DecoderConfig c{.vocab_size = file.size("vocab_size", 100 * million),
                    .block_size = file.size("max_position_embeddings", 1000 * million),
                    .num_layers = file.size("num_hidden_layers", 10'000),
                    .num_heads = file.size("num_attention_heads", million),
                    .d_model = file.size("hidden_size", million),
                    .dim_feedforward = file.size("intermediate_size", 100 * million),
                    .norm_eps = file.number("rms_norm_eps", 1e-6)};
    c.num_kv_heads = file.size("num_key_value_heads", c.num_heads, c.num_heads);
    c.activation = read_activation(file, activation, 0);
    (void)file.choice("rope_interleaved", {false}, 0);
    (void)file.choice("is_encoder_decoder", {false}, 0);
    (void)file.choice("use_mrope", {false}, 0);
    return c;
}

void read_head_dim(KeyReader& file, DecoderConfig& c, std::int64_t otherwise = 0) {
    const std::int64_t width = otherwise > 0 ? otherwise : std::max<std::int64_t>(1, c.d_model / c.num_heads);
    c.head_dim = file.size("head_dim", million, width);
    if (otherwise == 0 && !file.has("head_dim") && c.d_model % c.num_heads != 0)
        file.wrong("hidden_size " + std::to_string(c.d_model) + " does not divide into num_attention_heads " +
                   std::to_string(c.num_heads) + ", and there is no head_dim");
}

// The layers of which `slides` says that they have the window, or as layer_types names them.
template <class Slides>
void read_windows(KeyReader& file, DecoderConfig& c, const DecoderLayerOptions& full,
                  const DecoderLayerOptions& sliding, const Slides& slides) {
    const json& types = file.take("layer_types");
    if (!types.is_null() && (!types.is_array() || static_cast<std::int64_t>(types.size()) != c.num_layers))
        return file.wrong("layer_types is " + KeyReader::shown(types) + ", not a list of " +
                          std::to_string(c.num_layers));
    for (std::int64_t i = 0; i < c.num_layers; ++i) {
        const json type = types.is_null() ? json(slides(i) ? "sliding_attention" : "full_attention")
                                          : types[static_cast<std::size_t>(i)];
        if (type != "sliding_attention" && type != "full_attention")
            return file.wrong("layer_types has " + KeyReader::shown(type) +
                              ", and Decoder computes \"full_attention\" and \"sliding_attention\"");
        const DecoderLayerOptions& layer = type == "full_attention" ? full : sliding;
        if (type != "full_attention" && !layer.window)
            return file.wrong("layer_types has \"sliding_attention\", but sliding_window is missing");
        c.layers.push_back(layer);
    }
}

// transformers' default is 4096, and null means no window.
std::optional<std::int64_t> read_window(KeyReader& file) {
    if (file.is_null("sliding_window")) return {};
    return file.size("sliding_window", 1000 * million, 4096);
}

DecoderConfig read_llama(KeyReader& file) {
    DecoderConfig c = read_llama_like(file, "hidden_act");
    read_head_dim(file, c);
    c.tied_head = file.flag("tie_word_embeddings", false);
    c.qkv_bias = c.output_bias = file.flag("attention_bias", false);
    c.mlp_bias = file.flag("mlp_bias", false);
    c.layers = {{.rotary = rotary_of(file, 10000, c.block_size)}};
    return c;
}

DecoderConfig read_mistral(KeyReader& file) {
    DecoderConfig c = read_llama_like(file, "hidden_act");
    read_head_dim(file, c);
    c.tied_head = file.flag("tie_word_embeddings", false);
    c.layers = {{.rotary = rotary_of(file, 10000, c.block_size), .window = read_window(file)}};
    return c;
}

// qwen2 and qwen3.
DecoderConfig read_qwen(KeyReader& file, bool is_third) {
    DecoderConfig c = read_llama_like(file, "hidden_act");
    read_head_dim(file, c, is_third ? 128 : 0);
    c.tied_head = file.flag("tie_word_embeddings", false);
    c.qk_norm = is_third;
    c.qkv_bias = !is_third;
    if (is_third) c.qkv_bias = c.output_bias = file.flag("attention_bias", false);
    const DecoderLayerOptions full{.rotary = rotary_of(file, 10000, c.block_size)};
    DecoderLayerOptions sliding = full;
    const std::optional<std::int64_t> window = read_window(file);
    const bool slides = file.flag("use_sliding_window", false);
    const std::int64_t first = file.has("max_window_layers") && file.take("max_window_layers") == 0
                                   ? 0
                                   : file.size("max_window_layers", million, 28);
    if (slides) sliding.window = window;
    read_windows(file, c, full, sliding, [&](std::int64_t i) { return sliding.window && i >= first; });
    return c;
}

DecoderConfig read_gemma3(KeyReader& file) {
    DecoderConfig c = read_llama_like(file, "hidden_activation");
    read_head_dim(file, c, 256);
    c.tied_head = file.flag("tie_word_embeddings", true);
    c.norm = NormKind::rms_plus_one;
    c.norm_place = NormPlace::around;
    c.qk_norm = true;
    c.qkv_bias = c.output_bias = file.flag("attention_bias", false);
    if (!file.has("hidden_activation")) c.activation = Activation::gelu_tanh;
    (void)file.choice("use_bidirectional_attention", {false}, 0);
    c.attention_scale = 1 / std::sqrt(file.number("query_pre_attn_scalar", 256));
    // transformers keeps the root in float32.
    c.embedding_scale = static_cast<double>(std::sqrt(static_cast<float>(c.d_model)));
    c.logits_softcap = file.optional_number("final_logit_softcapping");
    DecoderLayerOptions full, sliding;
    const double local = file.number("rope_local_base_freq", 10000);
    if (file.has("rope_parameters") && file.take("rope_parameters").contains("full_attention")) {
        KeyReader both = file.within("rope_parameters");
        full.rotary = read_rotary(both.within("full_attention"), 1e6, c.block_size, c.block_size);
        sliding.rotary = read_rotary(both.within("sliding_attention"), local, c.block_size, c.block_size);
        both.finish();
    } else {
        if (KeyReader old = file.within("rope_scaling"); old.has("type") && !old.has("rope_type"))
            file.wrong("rope_scaling.type is " + KeyReader::shown(old.take("type")) +
                       ", which versions of transformers read differently in this family; call it rope_type");
        full.rotary = rotary_of(file, 1e6, c.block_size);
        sliding.rotary = nn::RotaryOptions{.base = local, .pairs = nn::RotaryPairs::halves};
    }
    sliding.window = read_window(file);
    file.ignore({"_sliding_window_pattern"});  // transformers writes it, and reads the other alone
    const std::int64_t pattern =
        file.size("sliding_window_pattern", million, 6);  // of layers, the last sees all
    read_windows(file, c, full, sliding, [&](std::int64_t i) { return (i + 1) % pattern != 0; });
    return c;
}

DecoderConfig read_gpt2(KeyReader& file) {
    DecoderConfig c{.vocab_size = file.size("vocab_size", 100 * million),
                    .block_size = file.size("n_positions", 100 * million),
                    .num_layers = file.size("n_layer", 10'000),
                    .num_heads = file.size("n_head", million),
                    .d_model = file.size("n_embd", million),
                    .norm = NormKind::layer,
                    .norm_eps = file.number("layer_norm_epsilon", 1e-5),
                    .norm_bias = true,
                    .layers = {{.rotary = std::nullopt}},
                    .learned_positions = true,
                    .qkv_bias = true,
                    .output_bias = true,
                    .mlp_bias = true,
                    .fused_qkv = true,
                    .gated = false};
    if (c.d_model % c.num_heads != 0)
        file.wrong("n_embd " + std::to_string(c.d_model) + " does not divide into n_head " +
                   std::to_string(c.num_heads) + " heads");
    c.num_kv_heads = c.num_heads, c.head_dim = std::max<std::int64_t>(1, c.d_model / c.num_heads);
    c.dim_feedforward = file.size("n_inner", 10 * million, 4 * c.d_model);
    c.activation = read_activation(file, "activation_function", 3);
    if (!file.flag("scale_attn_weights", true)) c.attention_scale = 1;
    c.scale_by_layer = file.flag("scale_attn_by_inverse_layer_idx", false);
    (void)file.choice("add_cross_attention", {false}, 0);
    c.tied_head = file.flag("tie_word_embeddings", true);
    file.ignore({"n_ctx"});
    return c;
}

struct Family {
    const char* model_type;
    DecoderConfig (*read)(KeyReader& file);
};
const Family families[] = {{"llama", read_llama},
                           {"qwen2", [](KeyReader& file) { return read_qwen(file, false); }},
                           {"qwen3", [](KeyReader& file) { return read_qwen(file, true); }},
                           {"mistral", read_mistral},
                           {"gemma3_text", read_gemma3},
                           {"gpt2", read_gpt2}};

// What `json` says, and what is wrong with it.
DecoderConfig read_config(const json& object, ErrorList& errors, const std::vector<std::string>& ignored) {
    KeyReader file(object, errors, "Decoder", ignored);
    file.ignore(harmless_in_config);
    std::vector<json> types;
    for (const Family& family : families) types.emplace_back(family.model_type);
    if (!file.has("model_type")) return errors.add("model_type is missing"), DecoderConfig();
    const std::size_t type = file.choice("model_type", types, std::size(families));
    if (type == std::size(families)) return {};
    return finished(families[type].read(file), file, errors);
}

json rotary_json(const nn::RotaryOptions& rotary) {
    const nn::RotaryScaling& s = rotary.scaling;
    json object{{"rope_theta", rotary.base}, {"rope_type", rope_types[s.kind]}};
    if (s.kind == nn::RotaryScaling::none) return object;
    object["factor"] = s.factor;
    if (s.kind == nn::RotaryScaling::linear || s.kind == nn::RotaryScaling::dynamic) return object;
    object["original_max_position_embeddings"] = s.original_length;
    if (s.attention_factor) object["attention_factor"] = *s.attention_factor;
    if (s.kind == nn::RotaryScaling::llama3)
        object.update({{"low_freq_factor", s.low_freq_factor}, {"high_freq_factor", s.high_freq_factor}});
    if (s.kind == nn::RotaryScaling::yarn)
        object.update({{"beta_fast", s.beta_fast}, {"beta_slow", s.beta_slow}, {"truncate", s.truncate}});
    if (s.kind == nn::RotaryScaling::longrope)
        object.update({{"short_factor", s.short_factor}, {"long_factor", s.long_factor}});
    return object;
}

// A config.json of this family; whether it says everything about the config is found by reading it.
json config_json(const std::string& type, const DecoderConfig& c) {
    const auto activation =
        std::ranges::find(activations, c.activation, [](const auto& a) { return a.second; });
    const std::vector<DecoderLayerOptions> layers =
        c.layers.empty() ? std::vector<DecoderLayerOptions>(1) : c.layers;
    if (type == "gpt2")
        return {{"model_type", type},
                {"architectures", {"GPT2LMHeadModel"}},
                {"vocab_size", c.vocab_size},
                {"n_positions", c.block_size},
                {"n_layer", c.num_layers},
                {"n_head", c.num_heads},
                {"n_embd", c.d_model},
                {"n_inner", c.dim_feedforward},
                {"layer_norm_epsilon", c.norm_eps},
                {"activation_function", activation->first},
                {"scale_attn_weights", c.attention_scale != 1},
                {"scale_attn_by_inverse_layer_idx", c.scale_by_layer},
                {"tie_word_embeddings", c.tied_head}};
    const std::string architecture =
        type == "gemma3_text" ? "Gemma3" : std::string(1, static_cast<char>(type[0] - 32)) + type.substr(1);
    json object{{"model_type", type},
                {"architectures", {architecture + "ForCausalLM"}},
                {"vocab_size", c.vocab_size},
                {"max_position_embeddings", c.block_size},
                {"num_hidden_layers", c.num_layers},
                {"num_attention_heads", c.num_heads},
                {"num_key_value_heads", c.num_kv_heads},
                {"hidden_size", c.d_model},
                {"intermediate_size", c.dim_feedforward},
                {"head_dim", c.head_dim},
                {"rms_norm_eps", c.norm_eps},
                {"tie_word_embeddings", c.tied_head},
                {type == "gemma3_text" ? "hidden_activation" : "hidden_act", activation->first}};
    if (type != "mistral" && type != "qwen2") object["attention_bias"] = c.qkv_bias;
    if (type == "llama") object["mlp_bias"] = c.mlp_bias;
    const auto windowed =
        std::ranges::find_if(layers, [](const auto& layer) { return layer.window.has_value(); });
    const auto whole = std::ranges::find_if(layers, [](const auto& layer) { return !layer.window; });
    const auto& any = layers[0];
    if (!any.rotary) return object;  // then no family fits
    if (type == "gemma3_text") {
        const nn::RotaryOptions local{.base = 10000, .pairs = nn::RotaryPairs::halves};
        const auto of = [&](auto found, const nn::RotaryOptions& otherwise) {
            return rotary_json(found != layers.end() && found->rotary ? *found->rotary : otherwise);
        };
        object["rope_parameters"] = {{"full_attention", of(whole, *any.rotary)},
                                     {"sliding_attention", of(windowed, local)}};
        const double scalar = 1 / (c.attention_scale.value_or(1) * c.attention_scale.value_or(1));
        object["query_pre_attn_scalar"] =
            std::abs(scalar - std::round(scalar)) < 1e-6 ? std::round(scalar) : scalar;
        if (c.logits_softcap) object["final_logit_softcapping"] = *c.logits_softcap;
    } else {
        object["rope_parameters"] = rotary_json(*any.rotary);
    }
    if (type == "qwen2" || type == "qwen3") object["use_sliding_window"] = windowed != layers.end();
    if (type != "llama") {
        object["sliding_window"] = windowed == layers.end() ? json() : json(*windowed->window);
        if (type != "mistral") {
            json types = json::array();
            for (std::int64_t i = 0; i < c.num_layers; ++i)
                types.push_back(layers[layers.size() == 1 ? 0 : static_cast<std::size_t>(i)].window
                                    ? "sliding_attention"
                                    : "full_attention");
            object["layer_types"] = types;
        }
    }
    return object;
}

}  // namespace

DecoderConfig pretrained_config(const std::filesystem::path& path, const PretrainedOptions& options) {
    ErrorList errors;
    const DecoderConfig config = read_config(io::load_json(path), errors, options.ignore_keys);
    refuse_errors(path, errors);
    return config;
}

DecoderConfig finished(const DecoderConfig& config, KeyReader& keys, ErrorList& errors) {
    keys.finish();
    if (errors.empty()) try {
            return checked(config);
        } catch (const ValueError& error) {
            errors.add(error.what());
        }
    return config;
}

void refuse_errors(const std::filesystem::path& path, const ErrorList& errors) {
    if (!errors.empty())
        throw IoError(io::display_path(path), " does not describe a model that Decoder computes:", errors);
}

std::optional<json> describing_json(const DecoderConfig& config) {
    for (const Family& family : families) {
        const json object = config_json(family.model_type, config);
        ErrorList errors;
        if (read_config(object, errors, {}) == config && errors.empty())
            return std::optional<json>(std::in_place, object);
    }
    return {};
}

}  // namespace weft::lm
