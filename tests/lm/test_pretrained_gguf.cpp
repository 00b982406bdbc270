// GGUF files of every architecture as lm::Decoder: written here as llama.cpp's converter writes them, read
// back.
#include <cmath>

#include "catch.h"
#include "environment.h"
#include "gguf_writer.h"
#include "refusal.h"
#include "source.h"

using namespace weft;

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
    for (const auto& layer : c.layers) {
        if (!layer.rotary) break;
        if (!layer.window || c.layers.size() == 1) key("rope.freq_base", layer.rotary->base);
        if (layer.window) key("attention.sliding_window", *layer.window);
        if (layer.window || c.layers.size() == 1) break;
    }
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
    for (const auto& [name, w] : model.named_parameters())
        held += w.packed() ? static_cast<std::int64_t>(w.packed()->bytes().size())
                           : w.numel() * static_cast<std::int64_t>(itemsize(w.dtype()));
    CHECK(announced == held);
    return model;
}

}  // namespace

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
            blocks.add(name, x.rank() == 2 ? Tensor(pack(x, BlockFormat::Q4_1)) : x);
    }
    const lm::Decoder model = read(blocks.bytes());
    const NoGrad off;
    packed.pack(BlockFormat::Q4_1);
    const Tensor ids = ids_of({1, 12});
    CHECK(same_bits(model(ids), packed(ids)));
    CHECK(model.layers[0].self_attn.q_proj->weight.packed() != nullptr);
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
    refuses<IoError>("llama.rope.dimension_count is 4, and heads are 6 wide",
                     refusal("llama.rope.dimension_count", std::int64_t{4}));
    refuses<IoError>("it has no matrix token_embd.weight", [] {
        io::Gguf file;
        file.metadata = io::GgufMetadata("f", {{"general.architecture", std::string("llama")}});
        (void)lm::pretrained_config(file);
    });
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
