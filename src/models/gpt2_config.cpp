// A GPT-2's config.json.
#include <algorithm>

#include "models/io/input_file.h"
#include "models/io/json.h"
#include "nn/error_list.h"
#include "weft/core/text.h"
#include "weft/models/gpt2.h"
#include "weft/models/io.h"

namespace weft::nn {

namespace {

using nlohmann::json;

class Reader {
public:
    explicit Reader(const std::filesystem::path& path) : config_(io::load_json(path)) {}

    // A whole number in 1 … largest; 0 if it is not one.
    std::int64_t size(const char* name, std::int64_t largest) {
        if (!config_.contains(name)) return wrong(std::string(name) + " is missing"), 0;
        const json& value = config_[name];
        const std::uint64_t size = value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
        if (size >= 1 && size <= static_cast<std::uint64_t>(largest)) return static_cast<std::int64_t>(size);
        wrong(std::string(name) + " is " + shown(value) + ", not a whole number in 1 … " +
              std::to_string(largest));
        return 0;
    }
    std::int64_t size_or(const char* name, std::int64_t largest, std::int64_t otherwise) {
        return !config_.contains(name) || config_[name].is_null() ? otherwise : size(name, largest);
    }
    double epsilon(const char* name, double otherwise) {
        const json value = config_.value(name, json(otherwise));
        if (value.is_number() && value.get<double>() > 0) return value.get<double>();
        wrong(std::string(name) + " is " + shown(value) + ", not a number above 0");
        return otherwise;
    }
    // `otherwise` is the default of transformers.
    void require(const char* name, const json& otherwise, const std::vector<json>& allowed, const char* why) {
        const json value = config_.value(name, otherwise);
        if (std::find(allowed.begin(), allowed.end(), value) == allowed.end())
            wrong(std::string(name) + " is " + shown(value) + ", and " + why);
    }
    void wrong(const std::string& what) { errors.add(what); }

    ErrorList errors;

private:
    json config_;

    static std::string shown(const json& value) { return text::excerpt(value.dump()); }
};

}  // namespace

GPTConfig gpt2_config(const std::filesystem::path& path) {
    constexpr std::int64_t million = 1'000'000;
    Reader read(path);
    read.require("model_type", nullptr, {"gpt2"}, "only \"gpt2\" can be loaded");
    GPTConfig config{.vocab_size = read.size("vocab_size", 100 * million),
                     .block_size = read.size("n_positions", 100 * million),
                     .num_layers = read.size("n_layer", 10'000),
                     .num_heads = read.size("n_head", million),
                     .d_model = read.size("n_embd", million),
                     .bias = true,
                     .dim_feedforward = read.size_or("n_inner", 10 * million, 0),
                     .layer_norm_eps = read.epsilon("layer_norm_epsilon", 1e-5)};
    if (config.num_heads > 0 && config.d_model % config.num_heads != 0)
        read.wrong("n_embd " + std::to_string(config.d_model) + " does not divide into n_head " +
                   std::to_string(config.num_heads) + " heads");
    read.require("activation_function", "gelu_new", {"gelu_new", "gelu_pytorch_tanh"},
                 "GELU's tanh form (\"gelu_new\") is what the MLP computes");
    read.require("scale_attn_weights", true, {true}, "attention's scores are always scaled by 1/√d_k");
    read.require("scale_attn_by_inverse_layer_idx", false, {false},
                 "Weft does not scale scores by a block's number");
    read.require("add_cross_attention", false, {false}, "the model has no second sequence to attend to");
    read.require("tie_word_embeddings", true, {true}, "the head's weight is the token embedding's");
    if (!read.errors.empty())
        throw IoError(io::display_path(path), " does not describe a GPT-2 that Weft can run:", read.errors);
    return config;
}

}  // namespace weft::nn
