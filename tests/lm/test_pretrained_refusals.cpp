// What the readers of published models refuse: keys, sizes, tensors and GGUF files; and the options of Decoder.
#include <fstream>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "environment.h"
#include "gguf_writer.h"
#include "places.h"
#include "refusal.h"
#include "source.h"

using namespace weft;
using nlohmann::json;

namespace {

const json llama = {{"model_type", "llama"},      {"vocab_size", 7},          {"hidden_size", 8},
                    {"num_hidden_layers", 1},     {"num_attention_heads", 2}, {"num_key_value_heads", 1},
                    {"intermediate_size", 12},    {"hidden_act", "silu"},     {"max_position_embeddings", 16},
                    {"tie_word_embeddings", true}};

// The config with these keys; null takes one out.
std::string refused(json changes, const lm::PretrainedOptions& options = {}) {
    const Scratch scratch;
    json config = llama;
    config.update(changes);
    std::ofstream(scratch / "config.json") << config;
    const std::string message =
        message_of<IoError>([&] { (void)lm::pretrained_config(scratch / "config.json", options); });
    CHECK(contains(message,
                   (scratch / "config.json").string() + " does not describe a model that Decoder computes:"));
    return message;
}

lm::DecoderConfig accepted(json changes, const lm::PretrainedOptions& options = {}) {
    const Scratch scratch;
    json config = llama;
    config.update(changes);
    std::ofstream(scratch / "config.json") << config;
    return lm::pretrained_config(scratch / "config.json", options);
}

}  // namespace

TEST_CASE("config.json: what a family does not have is refused by name, all at once",
          "[lm][pretrained][fault]") {
    const std::pair<json, std::string> cases[] = {
        {{{"quantization_config", {{"bits", 4}}}},
         "quantization_config is {\"bits\":4}, and Decoder does not know this key"},
        {{{"no_rope_layers", {1}}}, "no_rope_layers is [1], and Decoder does not know this key"},
        {{{"sliding_window", 4}}, "sliding_window is 4, and Decoder does not know this key"},
        {{{"model_type", "mixtral"}}, "model_type is \"mixtral\", and Decoder computes \"llama\", \"qwen2\""},
        {{{"model_type", nullptr}}, "model_type is missing"},
        {{{"hidden_size", nullptr}}, "hidden_size is missing"},
        {{{"num_hidden_layers", 0}}, "num_hidden_layers is 0, not a whole number in 1 … 10000"},
        {{{"num_hidden_layers", 2.5}}, "num_hidden_layers is 2.5, not a whole number"},
        {{{"vocab_size", -4}}, "vocab_size is -4, not a whole number"},
        {{{"vocab_size", 18446744073709551615u}}, "vocab_size is 18446744073709551615, not a whole number"},
        {{{"rms_norm_eps", 0}}, "rms_norm_eps is 0, not a number above 0"},
        {{{"rms_norm_eps", "small"}}, "rms_norm_eps is \"small\", not a number above 0"},
        {{{"attention_bias", 1}}, "attention_bias is 1, neither true nor false"},
        {{{"hidden_act", "swish9"}}, "hidden_act is \"swish9\", and Decoder computes \"silu\", \"gelu\""},
        {{{"num_key_value_heads", 3}}, "num_key_value_heads is 3, not a whole number in 1 … 2"},
        {{{"num_attention_heads", 3}, {"num_key_value_heads", 2}},
         "hidden_size 8 does not divide into num_attention_heads 3"},
        {{{"num_attention_heads", 3}, {"num_key_value_heads", 2}, {"head_dim", 4}},
         "3 query heads cannot share 2 key-value heads"},
        {{{"head_dim", 5}}, "a width of 5 of 5 columns; pairs need an even number"},
        {{{"rope_scaling", {{"type", "ntk-by-parts"}, {"factor", 2}}}},
         "rope_scaling.type is \"ntk-by-parts\", and Decoder computes \"default\", \"linear\""},
        {{{"rope_scaling", {{"type", "linear"}}}}, "rope_scaling.factor is missing"},
        {{{"rope_scaling", {{"type", "linear"}, {"factor", 2}, {"warp", 1}}}},
         "rope_scaling.warp is 1, and Decoder does not know this key"},
        {{{"rope_scaling", 4}}, "rope_scaling is 4, not an object"},
        {{{"rope_parameters", {{"rope_type", "default"}}},
          {"rope_scaling", {{"type", "linear"}, {"factor", 2}}}},
         "rope_parameters and rope_scaling are both there"},
        {{{"rope_parameters",
           {{"rope_type", "longrope"}, {"factor", 2}, {"short_factor", {1, 2}}, {"long_factor", "x"}}}},
         "long_factor is \"x\", not a list of numbers"},
        {{{"rope_parameters",
           {{"rope_type", "longrope"}, {"factor", 2}, {"short_factor", {1}}, {"long_factor", {1, 2}}}}},
         "longrope needs 2 numbers above 0"},
        {{{"rope_parameters",
           {{"rope_type", "llama3"}, {"factor", 2}, {"low_freq_factor", 4}, {"high_freq_factor", 1}}}},
         "high_freq_factor is 1; it must be finite and above low_freq_factor"},
        {{{"partial_rotary_factor", 0.5}}, "partial_rotary_factor is 0.5, and Decoder computes 1.0"},
        {{{"model_type", "qwen3"}, {"layer_types", {"full_attention", "full_attention"}}},
         "layer_types is [\"full_attention\",\"full_attention\"], not a list of 1"},
        {{{"model_type", "qwen3"}, {"layer_types", {"chunked_attention"}}},
         "layer_types has \"chunked_attention\", and Decoder computes \"full_attention\" and"},
        {{{"model_type", "qwen3"}, {"layer_types", {"sliding_attention"}}},
         "layer_types has \"sliding_attention\", but sliding_window is missing"},
        {{{"model_type", "gpt2"}, {"n_layer", 1}, {"n_head", 3}, {"n_embd", 8}, {"n_positions", 4}},
         "n_embd 8 does not divide into n_head 3 heads"},
    };
    for (const auto& [changes, words] : cases) {
        INFO(changes.dump());
        const std::string message = refused(changes);
        INFO(message);
        CHECK(contains(message, words));
    }
    const std::string both = refused({{"hidden_size", 0}, {"chunks", true}});
    CHECK(contains(both, "hidden_size is 0"));
    CHECK(contains(both, "chunks is true"));
    const auto yarn = [](json more) {
        json scaling{{"type", "yarn"}, {"factor", 2.0}, {"original_max_position_embeddings", 8}};
        scaling.update(more);
        return json{{"rope_scaling", scaling}};
    };
    CHECK(contains(refused({{"use_mrope", true}}), "use_mrope is true, and Decoder computes false"));
    // A window: mistral's default is transformers', and null means none, which is not the same as no key.
    const auto window = [](const char* type, json more) {
        more.update({{"model_type", type}});
        return accepted(more).layers[0].window;
    };
    CHECK(window("mistral", json::object()) == 4096);
    CHECK(window("mistral", {{"sliding_window", nullptr}}) == std::nullopt);
    for (const char* type : {"qwen2", "qwen3"}) {
        const json slides{{"use_sliding_window", true}, {"max_window_layers", 0}};
        json none = slides;
        none["sliding_window"] = nullptr;
        CHECK(window(type, slides) == 4096);
        CHECK(window(type, none) == std::nullopt);
    }
    // A key at one's own risk, null as absent, and what is known to change nothing.
    CHECK(accepted({{"chunks", true}}, {.ignore_keys = {"chunks"}}) == accepted(json::object()));
    CHECK(accepted(yarn({{"warp", 1}}), {.ignore_keys = {"rope_scaling.warp"}}) ==
          accepted(yarn(json::object())));
    CHECK(accepted({{"chunks", nullptr}, {"attention_dropout", 0.1}, {"torch_dtype", "bfloat16"}}) ==
          accepted(json::object()));
    CHECK(accepted({{"rope_theta", 500}}) ==
          accepted({{"rope_parameters", {{"rope_theta", 500}, {"rope_type", "default"}}}}));
    CHECK(accepted({{"rope_theta", 500}}) != accepted(json::object()));
}

TEST_CASE("a published model's tensors must be those of its config", "[lm][pretrained][fault]") {
    const Scratch scratch;
    std::ofstream(scratch / "config.json") << llama;
    const lm::Decoder model(accepted(json::object()));
    lm::save_pretrained(scratch.folder(), model);
    const io::NamedTensors whole = io::load_safetensors(scratch / "model.safetensors").tensors;
    const auto message = [&](const std::function<void(io::NamedTensors&)>& change) {
        io::NamedTensors changed = whole;
        change(changed);
        io::save_safetensors(scratch / "model.safetensors", changed);
        const std::string text = message_of<IoError>([&] { (void)lm::load_pretrained(scratch.folder()); });
        CHECK(text.starts_with("cannot load " + scratch.folder().string() + ": "));
        return text;
    };
    CHECK(contains(message([](auto& t) { t.erase(t.begin() + 2); }),
                   "missing: layers.0.self_attn.q_proj.weight (8, 8)"));
    CHECK(
        contains(message([](auto& t) { t.emplace_back("model.extra", ones({2})); }), "unexpected: extra (2,)"));
    CHECK(contains(message([](auto& t) {
                       t[2].second = ones({8, 4});
                   }),
                   "q_proj.weight: shape (8, 4), but it has to be (8, 8)"));
    CHECK(contains(message([](auto& t) {
                       t[2].second = ones({8, 8}, int64);
                   }),
                   "q_proj.weight: int64, but it has to be floating"));
    CHECK(
        contains(message([](auto& t) { t.emplace_back("norm.weight", ones({8})); }), "repeated: norm.weight"));
    CHECK(
        contains(message([](auto& t) {
                     t.emplace_back("lm_head.weight", ones({7, 8}));
                 }),
                 "lm_head.weight: its values differ from those of the embedding, to which the config ties it"));
    io::NamedTensors tied = whole;  // the same values are fine, and so is a table that old files have
    tied.emplace_back("lm_head.weight", whole[0].second);
    tied.emplace_back("model.layers.0.self_attn.rotary_emb.inv_freq", ones({2}));
    io::save_safetensors(scratch / "model.safetensors", tied);
    CHECK(same_bits(lm::load_pretrained(scratch.folder())(tensor({1, 2})), model(tensor({1, 2}))));

    refuses<ValueError>("0 tensors are too few for 1 layers",
                        [&] { (void)lm::Decoder(model.config, nn::NamedTensors{}); });
    refuses<ValueError>("norm.weight: shape (1, 32), but it has to be (32,)", [&] {
        const lm::Decoder wide({.vocab_size = 4, .num_layers = 1, .num_heads = 1, .d_model = 32});
        nn::NamedTensors state = wide.named_parameters();
        state.back().second = Tensor(pack(ones({1, 32}), DType::Q8_0));
        (void)lm::Decoder(wide.config, state);
    });
}

TEST_CASE("a token that the model lacks is refused where it is used", "[lm][pretrained][fault]") {
    const Scratch scratch;
    const std::filesystem::path tokenizer = std::filesystem::path(places::golden()) / "tokenizers/qwen2.json";
    lm::save_pretrained(scratch.folder(), lm::Decoder({.vocab_size = 421, .num_layers = 1, .d_model = 8}));
    std::filesystem::copy_file(tokenizer, scratch / "tokenizer.json");
    const lm::Pretrained published = lm::load_language(scratch.folder());
    CHECK(published.tokenizer.vocab_size() == 422);
    CHECK_NOTHROW(published.model(tensor({{0, 420}})));
    refuses<IndexError>("token id 421 at position", [&] { (void)published.model(tensor({{0, 421}})); });
    std::ofstream(scratch / "tokenizer_config.json") << R"({"chat_template": "<|im_start|> …"})";
    lm::save_pretrained(scratch.folder(), lm::Decoder({.vocab_size = 422, .num_layers = 1, .d_model = 8}));
    CHECK(lm::load_language(scratch.folder()).chat_template == "<|im_start|> …");
    const auto of_config = [&](const std::string& value) {
        std::ofstream(scratch / "tokenizer_config.json") << R"({"chat_template": )" + value + "}";
        return lm::load_language(scratch.folder()).chat_template;
    };
    CHECK(of_config(R"([{"name": "tool_use", "template": "a"}, {"name": "default", "template": "b"}])") == "b");
    for (const char* none : {"null", "[]", R"([{"name": "tool_use", "template": "a"}])",
                             R"([{"name": "default\u0000", "template": "a"}])"})
        CHECK(of_config(none).empty());
    for (const char* wrong :
         {"7", "{}", "true", R"(["a"])", R"([{"name": "default"}])", R"([{"name": "default", "template": 7}])"})
        refuses<IoError>(
            (scratch / "tokenizer_config.json").string() +
                ": its chat_template is neither a text nor a list of objects with the texts name and template",
            [&] { (void)of_config(wrong); });
    std::ofstream(scratch / "chat_template.jinja") << "[INST] …";
    CHECK(lm::load_language(scratch.folder()).chat_template == "[INST] …");
}

TEST_CASE("a Decoder has no dropout, and no softcap of 0", "[lm][decoder][fault]") {
    refuses<ValueError>("a Decoder has no dropout", [] { (void)lm::decoder_config({.dropout = 0.1}); });
    refuses<ValueError>("a softcap of 0; it must be finite and above 0", [&] {
        const Tensor q = ones({1, 2, 4});
        (void)scaled_dot_product_attention(q, q, q, {.softcap = 0});
    });
}
