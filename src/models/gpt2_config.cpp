// A GPT-2's config.json.
#include <algorithm>

#include "models/io/input_file.h"
#include "models/io/json.h"
#include "nn/error_list.h"
#include "weft/core/text.h"
#include "weft/models/gpt2.h"
#include "weft/models/io.h"

namespace weft::nn {

GPTConfig gpt2_config(const std::filesystem::path& path) {
    using nlohmann::json;
    const json file = io::load_json(path);
    ErrorList errors;
    const auto wrong = [&](const std::string& what) { errors.add(what); };
    const auto shown = [](const json& value) { return text::excerpt(value.dump()); };
    // A whole number in 1 … largest; 0 if it is not one.
    const auto size = [&](const std::string& name, std::int64_t largest) -> std::int64_t {
        if (!file.contains(name)) return wrong(name + " is missing"), 0;
        const json& value = file[name];
        const std::uint64_t size = value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
        if (size >= 1 && size <= static_cast<std::uint64_t>(largest)) return static_cast<std::int64_t>(size);
        wrong(name + " is " + shown(value) + ", not a whole number in 1 … " + std::to_string(largest));
        return 0;
    };
    // `otherwise` is the default of transformers.
    const auto require = [&](const std::string& name, const json& otherwise, const std::vector<json>& allowed,
                             const char* why) {
        const json value = file.value(name, otherwise);
        if (std::ranges::find(allowed, value) == allowed.end())
            wrong(name + " is " + shown(value) + ", and " + why);
    };

    constexpr std::int64_t million = 1'000'000;
    require("model_type", nullptr, {"gpt2"}, "only \"gpt2\" can be loaded");
    GPTConfig config{.vocab_size = size("vocab_size", 100 * million),
                     .block_size = size("n_positions", 100 * million),
                     .num_layers = size("n_layer", 10'000),
                     .num_heads = size("n_head", million),
                     .d_model = size("n_embd", million),
                     .bias = true};
    if (!file.value("n_inner", json()).is_null()) config.dim_feedforward = size("n_inner", 10 * million);
    const json epsilon = file.value("layer_norm_epsilon", json(config.layer_norm_eps));
    if (epsilon.is_number() && epsilon.get<double>() > 0)
        config.layer_norm_eps = epsilon.get<double>();
    else
        wrong("layer_norm_epsilon is " + shown(epsilon) + ", not a number above 0");
    if (config.num_heads > 0 && config.d_model % config.num_heads != 0)
        wrong("n_embd " + std::to_string(config.d_model) + " does not divide into n_head " +
              std::to_string(config.num_heads) + " heads");
    require("activation_function", "gelu_new", {"gelu_new", "gelu_pytorch_tanh"},
            "GELU's tanh form (\"gelu_new\") is what the MLP computes");
    require("scale_attn_weights", true, {true}, "attention's scores are always scaled by 1/√d_k");
    require("scale_attn_by_inverse_layer_idx", false, {false},
            "Weft does not scale scores by a block's number");
    require("add_cross_attention", false, {false}, "the model has no second sequence to attend to");
    require("tie_word_embeddings", true, {true}, "the head's weight is the token embedding's");
    if (!errors.empty())
        throw IoError(io::display_path(path), " does not describe a GPT-2 that Weft can run:", errors);
    return config;
}

}  // namespace weft::nn
