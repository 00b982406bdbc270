// GGUF files of every architecture as lm::Decoder: written here as llama.cpp's converter writes them, read
// back.
#include <cmath>

#include "catch.h"
#include "environment.h"
#include "gguf_writer.h"
#include "golden_weights.h"
#include "lm/pretrained.h"
#include "places.h"
#include "refusal.h"
#include "source.h"
#include "weft/io/json.h"

using namespace weft;
using nlohmann::json;

namespace {

// Rows of each head's halves as neighbours, as the converter writes q and k of llama: 0, d/2, 1, d/2 + 1, …
Tensor as_neighbours(const Tensor& w, std::int64_t heads) {
    text::Ids order;
    const std::int64_t d = w.size(0) / heads;
    for (std::int64_t h = 0; h < heads; ++h)
        for (std::int64_t i = 0; i < d; ++i) order.push_back(h * d + (i % 2) * d / 2 + i / 2);
    return index_select(w, 0, from_vector(order, {w.size(0)}));
}

std::string in_gguf(std::string name, const lm::DecoderConfig& c) {
    const std::vector<std::pair<std::string, std::string>> names{
        {"embed_tokens", "token_embd"},
        {"embed_positions", "position_embd"},
        {"layers.", "blk."},
        {"input_layernorm", "attn_norm"},
        {"self_attn.qkv_proj", "attn_qkv"},
        {"self_attn.q_proj", "attn_q"},
        {"self_attn.k_proj", "attn_k"},
        {"self_attn.v_proj", "attn_v"},
        {"self_attn.q_norm", "attn_q_norm"},
        {"self_attn.k_norm", "attn_k_norm"},
        {"self_attn.o_proj", "attn_output"},
        {"post_attention_layernorm",
         c.norm_place == lm::NormPlace::around ? "post_attention_norm" : "ffn_norm"},
        {"pre_feedforward_layernorm", "ffn_norm"},
        {"post_feedforward_layernorm", "post_ffw_norm"},
        {"mlp.gate_proj", "ffn_gate"},
        {"mlp.up_proj", "ffn_up"},
        {"mlp.down_proj", "ffn_down"},
        {"lm_head", "output"}};
    if (name.starts_with("norm.")) return "output_" + name;
    for (const auto& [from, to] : names)
        if (const std::size_t at = name.find(from); at != std::string::npos) name.replace(at, from.size(), to);
    return name;
}

GgufWriter written(const std::string& architecture, const lm::Decoder& model) {
    const lm::DecoderConfig& c = model.config;
    GgufWriter file;
    const auto key = [&](const char* name, const io::GgufValue& value) {
        file.add(architecture + "." + name, value);
    };
    file.add("general.architecture", architecture);
    key("context_length", c.block_size);
    key("embedding_length", c.d_model);
    key("block_count", c.num_layers);
    key("feed_forward_length", c.dim_feedforward);
    key("attention.head_count", c.num_heads);
    key("attention.head_count_kv", c.num_kv_heads);
    key("attention.key_length", c.head_dim);
    key(architecture == "gpt2" ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon",
        c.norm_eps);
    const auto full =
        std::ranges::find_if(c.layers, [](const auto& layer) { return layer.rotary && !layer.window; });
    if (full != c.layers.end()) key("rope.freq_base", full->rotary->base);
    if (c.layers[0].window) key("attention.sliding_window", *c.layers[0].window);
    for (const auto& [name, value] : model.named_parameters()) {
        Tensor x = value.detach();
        if (architecture == "llama" && name.find("q_proj") != std::string::npos)
            x = as_neighbours(x, c.num_heads);
        if (architecture == "llama" && name.find("k_proj") != std::string::npos)
            x = as_neighbours(x, c.num_kv_heads);
        if (c.norm == lm::NormKind::rms_plus_one && x.rank() == 1) x = x + 1.0;
        file.add(in_gguf(name, c), x);
    }
    return file;
}

lm::Decoder model_of(const lm::DecoderConfig& config, DType dtype = float64) {
    Rng rng(4);
    lm::Decoder model(config, rng);
    NoGrad off;
    for (auto [name, p] : model.named_parameters())
        if (p.rank() == 1) p.add_(0.3 * randn(p.shape(), rng));
    model.to(dtype);
    return model;
}

lm::DecoderConfig llama(std::int64_t head_dim = 6) {
    return {.vocab_size = 11,
            .block_size = 32,
            .num_layers = 2,
            .num_heads = 4,
            .num_kv_heads = 2,
            .d_model = 16,
            .head_dim = head_dim,
            .dim_feedforward = 24,
            .layers = {{.rotary = nn::RotaryOptions{.base = 700, .pairs = nn::RotaryPairs::halves}}}};
}

Tensor ids_of(const Shape& shape) {
    Rng rng(9);
    return randint(0, 11, shape, rng);
}

lm::Decoder read(const std::string& bytes) {
    const Scratch scratch;
    io::save_text(scratch / "model.gguf", bytes);
    lm::DecoderConfig header;
    std::int64_t announced = 0;
    const lm::Decoder model = lm::load_pretrained(scratch / "model.gguf",
                                                  {.before_weights = [&](const auto& config, auto of_weights) {
                                                      header = config, announced = of_weights;
                                                  }});
    const auto now = lm::decoder_memory(model.config), before = lm::decoder_memory(header);
    CHECK(std::pair(now.weights, now.cache) == std::pair(before.weights, before.cache));
    const auto& rotary = model.config.layers[0].rotary;
    const bool has_factors =
        rotary && rotary->scaling.kind == nn::RotaryScaling::longrope;  // rope_freqs.weight
    std::int64_t held = has_factors ? model.config.head_dim / 2 * 4 : 0;
    for (const auto& [name, w] : model.named_parameters()) held += bytes_of(w.dtype(), w.numel());
    CHECK(announced == held);
    return model;
}

io::GgufValue golden_value(const json& x) {
    if (x.is_boolean()) return x.get<bool>();
    if (x.is_string()) return x.get<std::string>();
    if (x.is_number_integer()) return x.get<std::int64_t>();
    if (x.is_number()) return x.get<double>();
    if (x[0].is_boolean()) return x.get<std::vector<bool>>();
    if (x[0].is_number_integer()) return x.get<std::vector<std::int64_t>>();
    return x.get<std::vector<double>>();
}

// The file of a model in gguf_keys.json with these keys and tensors, too.
io::Gguf golden_file(const std::string& architecture, const json& model, const json& changes) {
    std::map<std::string, io::GgufValue> values{{"general.architecture", architecture}};
    const auto key = [&](const std::string& name) { return architecture + "." + name; };
    for (const auto& [name, x] : model["keys"].items()) values[key(name)] = golden_value(x);
    for (const auto& [name, x] : changes["keys"].items()) values[key(name)] = golden_value(x);
    for (const std::string name : changes["without"]) values.erase(key(name));
    io::Gguf file{.tensors = {}, .metadata = io::GgufMetadata("f", values)};
    for (const json& tensors : {model["tensors"], changes["tensors"]})
        for (const auto& [name, sizes] : tensors.items()) {
            const auto shape = sizes.get<std::vector<std::int64_t>>();
            file.tensors.emplace_back(name, name == "rope_freqs.weight"
                                                ? tensor({1, 1.5, 4, 8}).to(float32)
                                                : golden_weights(name, Shape(std::span(shape))));
        }
    return file;
}

}  // namespace

TEST_CASE("each key of a GGUF file is computed as llama.cpp does, changes nothing there, or is refused",
          "[lm][pretrained][gguf]") {
    const json golden = io::load_json(std::filesystem::path(places::golden()) / "gguf_keys.json");
    const NoGrad off;
    const Tensor ids = from_vector(golden["ids"].get<text::Ids>(), {1, std::ssize(golden["ids"])});
    std::map<std::string, int> computed;
    for (const json& change : golden["cases"]) {
        const std::string architecture = change["architecture"];
        if (change["log_probabilities"].is_null()) continue;  // llama.cpp refuses it
        INFO(change.dump());
        const io::Gguf file = golden_file(architecture, golden["models"][architecture], change);
        lm::DecoderConfig config;
        try {
            config = lm::pretrained_config(file);
        } catch (const IoError& error) {
            const bool has_to =
                change["keys"].empty() && change["tensors"].empty() && change["without"].empty();
            INFO(error.what());
            CHECK_FALSE(has_to);
            continue;
        }
        const lm::Decoder model(config, lm::from_gguf(file, config));
        const auto p = log_softmax(model(ids).to(float64).select(1, -1), -1).contiguous().to_vector<double>();
        double difference = 0;
        for (std::size_t i = 0; i < golden["shown"].size(); ++i)
            difference = std::max(difference, std::abs(p[golden["shown"][i].get<std::size_t>()] -
                                                       change["log_probabilities"][i].get<double>()));
        CHECK(difference < 0.01);  // llama.cpp has a table for GELU
        ++computed[architecture];
    }
    for (const auto& [architecture, model] : golden["models"].items()) {
        INFO(architecture);
        CHECK(computed[architecture] >= (architecture == "gpt2" ? 2 : 15));
        json change{{"keys", json::object()}, {"tensors", json::object()}, {"without", json::array()}};
        const auto config_with = [&, &model = model, &architecture = architecture](const std::string& key,
                                                                                   const json& x) {
            change["keys"] = {{key, x}};
            return lm::pretrained_config(golden_file(architecture, model, change));
        };
        const lm::DecoderConfig base = config_with("vocab_size", 264);
        // What llama.cpp passes over Weft passes over, or refuses.
        for (const std::string key : model["same"])
            for (const json& x : {json(3.0), json(3), json(true), json("relu")}) {
                INFO(key << " " << x);
                try {
                    const lm::DecoderConfig config = config_with(key, x);
                    CHECK(config == base);
                } catch (const IoError& error) {
                    const std::string message = error.what();
                    INFO(message);
                    CHECK(contains(message, architecture + "." + key + " is "));
                }
            }
        // What published files have loads.
        std::vector<std::pair<std::string, json>> published{
            {"rope.scaling.attn_factor", 1.0},
            {"rope.dimension_count", model["keys"].value("attention.key_length", 4)},
            {"rope.scaling.finetuned", true},
            {"expert_count", 0}};
        for (const char* key : {"attn_logit_softcapping", "logit_scale", "embedding_scale", "residual_scale",
                                "attention.clamp_kqv"})
            published.emplace_back(key, 3.0);
        published.emplace_back("use_parallel_residual", true);
        if (architecture != "gemma3") published.emplace_back("attention.sliding_window", 4);
        for (const auto& [key, x] : published) {
            if (architecture == "gpt2" && key.starts_with("rope.")) continue;
            INFO(key);
            CHECK_NOTHROW(config_with(key, x));
        }
    }
}

TEST_CASE("a GGUF file of each architecture gives the logits of the model that it was made of",
          "[lm][pretrained][gguf]") {
    std::map<std::string, lm::DecoderConfig> configs;
    configs["llama"] = llama();
    configs["llama"].tied_head = false;
    configs["qwen2"] = llama();
    configs["qwen2"].qkv_bias = true;
    configs["qwen3"] = llama(4);
    configs["qwen3"].qk_norm = true;
    lm::DecoderConfig gemma = llama(4);
    gemma.num_layers = 7;  // the sixth sees all
    gemma.norm = lm::NormKind::rms_plus_one, gemma.norm_place = lm::NormPlace::around, gemma.qk_norm = true;
    gemma.activation = lm::Activation::gelu_tanh, gemma.embedding_scale = 4;
    gemma.layers.assign(7, {.rotary = nn::RotaryOptions{.pairs = nn::RotaryPairs::halves}, .window = 5});
    gemma.layers[5] = {.rotary = nn::RotaryOptions{.base = 1e6, .pairs = nn::RotaryPairs::halves}};
    configs["gemma3"] = gemma;
    configs["gpt2"] =
        lm::decoder_config({.vocab_size = 11, .block_size = 32, .num_layers = 2, .d_model = 16, .bias = true});
    const NoGrad off;
    for (const auto& [architecture, config] : configs) {
        INFO(architecture);
        const lm::Decoder model = model_of(config);
        const lm::Decoder same = read(written(architecture, model).bytes());
        const Tensor ids = ids_of({2, 10});
        CHECK(source::difference(same(ids), model(ids)) < 1e-13 * max(abs(model(ids))).item());
    }
}

TEST_CASE("before a model's weights are read, what they take is told, and may be refused",
          "[lm][pretrained][gguf]") {
    const Scratch scratch;
    io::save_text(scratch / "model.gguf", written("llama", model_of(llama())).bytes());
    struct TooLarge {};
    const lm::PretrainedOptions options{
        .before_weights = [](const lm::DecoderConfig&, std::int64_t) { throw TooLarge(); }};
    CHECK_THROWS_AS(lm::load_pretrained(scratch / "model.gguf", options), TooLarge);
    lm::save_pretrained(scratch / "folder", model_of(llama()));
    io::save_text(scratch / "folder/model.safetensors", "not read");
    CHECK_THROWS_AS(lm::load_pretrained(scratch / "folder", options), TooLarge);
}

TEST_CASE("weights in blocks stay as the GGUF file has them, with q and k in their order",
          "[lm][pretrained][gguf]") {
    lm::DecoderConfig config = llama(8);
    config.d_model = 32, config.dim_feedforward = 64;
    const lm::Decoder whole = model_of(config, float32);
    lm::Decoder packed = nn::clone(whole);
    GgufWriter file = written("llama", whole);
    GgufWriter blocks;
    // The same file with the matrices in blocks.
    {
        const io::Gguf read = load_bytes(file.bytes());
        for (const auto& [key, value] : read.metadata.values()) blocks.add(key, value);
        for (const auto& [name, x] : read.tensors)
            blocks.add(name, x.rank() == 2 ? Tensor(pack(x, DType::Q4_1)) : x);
    }
    const lm::Decoder model = read(blocks.bytes());
    const NoGrad off;
    packed.pack(DType::Q4_1);
    const Tensor ids = ids_of({1, 12});
    CHECK(same_bits(model(ids), packed(ids)));
    CHECK(model.layers[0].self_attn.q_proj->weight.dtype() == DType::Q4_1);
    CHECK(source::difference(model(ids), whole(ids)) > 1e-4);
}

TEST_CASE("what Decoder does not compute of a GGUF file is refused by its key",
          "[lm][pretrained][gguf][fault]") {
    const lm::Decoder model = model_of(llama());
    const auto refusal = [&](const std::string& key, const io::GgufValue& value) {
        return [&model, key, value] {
            io::Gguf file = load_bytes(written("llama", model).bytes());
            std::map<std::string, io::GgufValue> values = file.metadata.values();
            values[key] = value;
            file.metadata = io::GgufMetadata("f", values);
            (void)lm::pretrained_config(file);
        };
    };
    refuses<IoError>("its architecture is \"mamba\", and Decoder computes llama, qwen2, qwen3, gemma3 and gpt2",
                     refusal("general.architecture", std::string("mamba")));
    refuses<IoError>("llama.block_count is 0, not a whole number in 1 …",
                     refusal("llama.block_count", std::int64_t{0}));
    refuses<IoError>("llama.rope.scaling.type is \"longrope\"",
                     refusal("llama.rope.scaling.type", std::string("longrope")));
    refuses<IoError>("llama.rope.dimension_count is 4, and Decoder computes 6",
                     refusal("llama.rope.dimension_count", std::int64_t{4}));
    refuses<IoError>("it has no matrix token_embd.weight", [] {
        io::Gguf file;
        file.metadata = io::GgufMetadata("f", {{"general.architecture", std::string("llama")}});
        (void)lm::pretrained_config(file);
    });
    refuses<IoError>("llama.warp is 1, and Decoder does not know this key; ignore_keys passes over it",
                     refusal("llama.warp", std::int64_t{1}));
    refuses<IoError>("llama.warp is \"\ufffd\"", refusal("llama.warp", std::string("\xff")));
    refuses<IoError>("missing: norm.weight (16,)", [&] {
        const Scratch scratch;
        GgufWriter file;
        const io::Gguf read = load_bytes(written("llama", model).bytes());
        for (const auto& [key, value] : read.metadata.values()) file.add(key, value);
        for (const auto& [name, x] : read.tensors)
            if (name != "output_norm.weight") file.add(name, x);
        io::save_text(scratch / "g", file.bytes());
        (void)lm::load_pretrained(scratch / "g");
    });
    refuses<IoError>("rope_freqs.weight does not have 3 numbers", [&] {
        const Scratch scratch;
        GgufWriter file = written("llama", model);
        file.add("rope_freqs.weight", ones({2}));
        io::save_text(scratch / "f", file.bytes());
        (void)lm::load_pretrained(scratch / "f");
    });
    // Keys of other names than the architecture's are no business of the model's.
    CHECK_NOTHROW(refusal("mradermacher.quantized_by", std::string("warp"))());
    // Llama 3's scaling as numbers that divide the rates of the pairs; linear and yarn by their keys.
    GgufWriter scaled = written("llama", model);
    scaled.add("rope_freqs.weight", tensor({1, 2, 8}).to(float32));
    lm::DecoderConfig config = llama();
    config.layers[0].rotary->scaling = {.kind = nn::RotaryScaling::longrope,
                                        .original_length = 1,
                                        .short_factor = {1, 2, 8},
                                        .long_factor = {1, 2, 8},
                                        .attention_factor = 1};
    const NoGrad off;
    const Tensor ids = ids_of({1, 12});
    CHECK(source::difference(read(scaled.bytes())(ids), lm::Decoder(config, model.named_parameters())(ids)) <
          1e-13);
    GgufWriter linear = written("llama", model);
    linear.add("llama.rope.scaling.type", std::string("linear"));
    linear.add("llama.rope.scaling.factor", 2.0);
    config.layers[0].rotary->scaling = {.kind = nn::RotaryScaling::linear, .factor = 2};
    CHECK(source::difference(read(linear.bytes())(ids), lm::Decoder(config, model.named_parameters())(ids)) <
          1e-13);
    GgufWriter yarn = written("llama", model);
    yarn.add("llama.rope.scaling.type", std::string("yarn"));
    yarn.add("llama.rope.scaling.factor", 4.0);
    yarn.add("llama.rope.scaling.original_context_length", std::int64_t{8});
    config.layers[0].rotary->scaling = {.kind = nn::RotaryScaling::yarn, .factor = 4, .original_length = 8};
    CHECK(source::difference(read(yarn.bytes())(ids), lm::Decoder(config, model.named_parameters())(ids)) <
          1e-13);
}
