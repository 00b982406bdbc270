// The tensors of published models: the names and layouts of safetensors and GGUF files, and of Decoder.
#include "weft/lm/pretrained.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lm/pretrained.h"
#include "weft/autograd/raw.h"
#include "weft/base/error_list.h"
#include "weft/io/atomic_file.h"
#include "weft/io/files.h"
#include "weft/io/input_file.h"
#include "weft/io/json.h"
#include "weft/ops/packed.h"

namespace weft::lm {

namespace {

using Names = std::vector<std::pair<std::string, std::string>>;  // in a file, in Decoder

// The name with what a row has in a file's names replaced, at the beginning where it has no dot before it.
std::string renamed(std::string name, const Names& names, bool to_file = false) {
    for (auto [from, to] : names) {
        if (to_file) std::swap(from, to);
        const std::size_t at = from[0] == '.' || name.starts_with(from) ? name.find(from) : std::string::npos;
        if (at != std::string::npos) name.replace(at, from.size(), to);
    }
    return name;
}

const Names gpt2_names = {{"wte.", "embed_tokens."},
                          {"wpe.", "embed_positions."},
                          {"ln_f.", "norm."},
                          {"h.", "layers."},
                          {".ln_1.", ".input_layernorm."},
                          {".attn.c_attn.", ".self_attn.qkv_proj."},
                          {".attn.c_proj.", ".self_attn.o_proj."},
                          {".ln_2.", ".post_attention_layernorm."},
                          {".mlp.c_fc.", ".mlp.up_proj."},
                          {".mlp.c_proj.", ".mlp.down_proj."}};

const Names gguf_names = {{"token_embd.", "embed_tokens."},
                          {"position_embd.", "embed_positions."},
                          {"output_norm.", "norm."},
                          {"blk.", "layers."},
                          {".attn_norm.", ".input_layernorm."},
                          {".attn_qkv.", ".self_attn.qkv_proj."},
                          {".attn_q.", ".self_attn.q_proj."},
                          {".attn_k.", ".self_attn.k_proj."},
                          {".attn_v.", ".self_attn.v_proj."},
                          {".attn_q_norm.", ".self_attn.q_norm."},
                          {".attn_k_norm.", ".self_attn.k_norm."},
                          {".attn_output.", ".self_attn.o_proj."},
                          {".ffn_gate.", ".mlp.gate_proj."},
                          {".ffn_up.", ".mlp.up_proj."},
                          {".ffn_down.", ".mlp.down_proj."},
                          {".post_ffw_norm.", ".post_feedforward_layernorm."}};

bool is_gpt2(const DecoderConfig& config) { return config.learned_positions; }

// GPT-2's layers are x W + b.
bool is_transposed(const std::string& name) { return name.ends_with("_proj.weight"); }

// A tied head may be in a file, too; it is then the embedding's.
void drop_tied_head(nn::NamedTensors& state, const DecoderConfig& config) {
    const auto head = std::ranges::find(state, "lm_head.weight", &nn::NamedTensors::value_type::first);
    const auto table = std::ranges::find(state, "embed_tokens.weight", &nn::NamedTensors::value_type::first);
    if (!config.tied_head || head == state.end() || table == state.end()) return;
    const Tensor &a = head->second, &b = table->second;
    const bool is_same = a.packed() && b.packed()
                             ? std::ranges::equal(a.packed()->bytes(), b.packed()->bytes())
                             : !a.packed() && !b.packed() && a.dtype() == b.dtype() && same_bits(a, b);
    if (!is_same)
        throw ValueError(
            "lm_head.weight: its values differ from those of the embedding, to which the config ties it");
    state.erase(head);
}

nn::NamedTensors from_transformers(const nn::NamedTensors& file, const DecoderConfig& config) {
    nn::NamedTensors state;
    for (const auto& [full, value] : file) {
        std::string name = full;
        for (const char* prefix : {"model.", "transformer."})
            if (name.starts_with(prefix)) name = name.substr(std::strlen(prefix));
        // Tables that older files have beside the parameters they are made of.
        if (name.ends_with(".rotary_emb.inv_freq") ||
            (is_gpt2(config) && (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias"))))
            continue;
        if (is_gpt2(config)) name = renamed(name, gpt2_names);
        state.emplace_back(name,
                           is_gpt2(config) && is_transposed(name) && value.rank() == 2 ? value.T() : value);
    }
    drop_tied_head(state, config);
    return state;
}

// Rows of a head's neighbours 0, d/2, 1, d/2 + 1, … put back in the order 0, 1, …: llama's GGUF files have them
// so.
Tensor in_halves(const Tensor& x, std::int64_t heads) {
    if (!x.packed()) {
        const std::int64_t rows = x.size(0) / heads;
        Shape split{heads, rows / 2, 2}, whole = x.shape();
        for (int axis = 1; axis < x.rank(); ++axis) split.push_back(x.size(axis));
        return x.reshape(split).transpose(1, 2).reshape(whole);
    }
    const PackedMatrix& w = *x.packed();
    const std::int64_t rows = w.rows() / heads;
    const auto bytes = static_cast<std::size_t>(w.row_bytes());
    return Tensor(PackedMatrix(w.format(), w.rows(), w.columns(), [&](std::span<std::byte> to) {
        for (std::int64_t row = 0; row < w.rows(); ++row) {
            const std::int64_t head = row / rows, at = row % rows, half = rows / 2;
            const std::int64_t from = head * rows + at % half * 2 + at / half;
            std::memcpy(to.data() + static_cast<std::size_t>(row) * bytes,
                        w.bytes().data() + static_cast<std::size_t>(from) * bytes, bytes);
        }
    }));
}

nn::NamedTensors from_gguf(io::Gguf file, const DecoderConfig& config) {
    const std::string architecture = file.metadata.text("general.architecture");
    const bool has_norms_after = config.norm_place == NormPlace::around;
    nn::NamedTensors state;
    for (const auto& [in_file, value] : file.tensors) {
        if (in_file == "rope_freqs.weight") continue;  // read by pretrained_config
        std::string name = in_file == "output.weight" ? "lm_head.weight" : renamed(in_file, gguf_names);
        const auto norms = has_norms_after ? Names{{".post_attention_norm.", ".post_attention_layernorm."},
                                                   {".ffn_norm.", ".pre_feedforward_layernorm."}}
                                           : Names{{".ffn_norm.", ".post_attention_layernorm."}};
        name = renamed(name, norms);
        const bool is_q = name.find(".self_attn.q_proj.") != std::string::npos,
                   is_k = name.find(".self_attn.k_proj.") != std::string::npos;
        const std::int64_t heads = is_q ? config.num_heads : config.num_kv_heads;
        const bool divides = value.shape().rank() > 0 && value.size(0) % (2 * heads) == 0;
        state.emplace_back(
            name, architecture == "llama" && (is_q || is_k) && divides ? in_halves(value, heads) : value);
    }
    drop_tied_head(state, config);
    return state;
}

Decoder loaded(const std::filesystem::path& path, const DecoderConfig& config, const auto& make_state,
               const PretrainedOptions& options) {
    try {
        Decoder model(config, make_state());
        if (options.dtype) model.to(*options.dtype);
        model.eval();
        return model;
    } catch (const ValueError& error) {
        throw IoError("cannot load ", io::display_path(path), ": ", error.what());
    }
}

Decoder of_folder(const std::filesystem::path& folder, const PretrainedOptions& options) {
    const DecoderConfig config = pretrained_config(folder / "config.json", options);
    return loaded(
        folder, config, [&] { return from_transformers(io::load_sharded_checkpoint(folder), config); },
        options);
}

Decoder of_gguf(const std::filesystem::path& path, io::Gguf file, const PretrainedOptions& options) {
    const DecoderConfig config = pretrained_config(file);
    return loaded(
        path, config, [&] { return from_gguf(std::move(file), config); }, options);
}

std::string chat_template_of(const std::filesystem::path& folder) {
    if (std::filesystem::exists(folder / "chat_template.jinja"))
        return io::load_text(folder / "chat_template.jinja");
    if (!std::filesystem::exists(folder / "tokenizer_config.json")) return "";
    const nlohmann::json file = io::load_json(folder / "tokenizer_config.json");
    const auto found = file.find("chat_template");
    return found != file.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

DecoderConfig pretrained_config(const io::Gguf& file) {
    const std::string here = "cannot read the model in " + io::display_path(file.metadata.file()) + ": ";
    const io::GgufMetadata& meta = file.metadata;
    const std::string architecture = meta.text("general.architecture"), prefix = architecture + ".";
    const auto is = [&](const char* name) { return architecture == name; };
    if (!is("llama") && !is("qwen2") && !is("qwen3") && !is("gemma3") && !is("gpt2"))
        throw IoError(here, "its architecture is \"", architecture,
                      "\", and Decoder computes llama, qwen2, qwen3, gemma3 and gpt2");
    const auto size = [&](const std::string& key, std::optional<std::int64_t> otherwise = {}) {
        const std::int64_t n = meta.integer(prefix + key, otherwise);
        if (n < 1 || n > 1'000'000'000)
            throw IoError(here, prefix, key, " is ", n, ", not a whole number in 1 … 1000000000");
        return n;
    };
    if (!file.has("token_embd.weight") || file.at("token_embd.weight").shape().rank() != 2)
        throw IoError(here, "it has no matrix token_embd.weight");
    DecoderConfig c{.vocab_size = file.at("token_embd.weight").shape()[0],
                    .block_size = size("context_length"),
                    .num_layers = size("block_count"),
                    .num_heads = size("attention.head_count"),
                    .d_model = size("embedding_length"),
                    .dim_feedforward = size("feed_forward_length")};
    c.num_kv_heads = size("attention.head_count_kv", c.num_heads);
    c.head_dim = size("attention.key_length", std::max<std::int64_t>(1, c.d_model / c.num_heads));
    c.tied_head = !file.has("output.weight");
    const auto has = [&](const char* part) { return file.has("blk.0." + std::string(part)); };
    if (is("gpt2")) {
        c.norm = NormKind::layer, c.norm_eps = meta.number(prefix + "attention.layer_norm_epsilon", 1e-5);
        c.norm_bias = c.qkv_bias = c.output_bias = c.mlp_bias = c.learned_positions = c.fused_qkv = true;
        c.activation = Activation::gelu_tanh, c.gated = false;
        c.layers = {{.rotary = std::nullopt}};
        return c;
    }
    c.norm_eps = meta.number(prefix + "attention.layer_norm_rms_epsilon");
    c.qkv_bias = has("attn_q.bias"), c.output_bias = has("attn_output.bias"), c.mlp_bias = has("ffn_up.bias");
    c.qk_norm = is("qwen3") || is("gemma3");
    if (size("rope.dimension_count", c.head_dim) != c.head_dim)
        throw IoError(here, prefix, "rope.dimension_count is ", size("rope.dimension_count"),
                      ", and heads are ", c.head_dim, " wide");
    DecoderLayerOptions layer{
        .rotary = nn::RotaryOptions{.base = meta.number(prefix + "rope.freq_base", is("gemma3") ? 1e6 : 1e4),
                                    .pairs = nn::RotaryPairs::halves}};
    nn::RotaryScaling& scaling = layer.rotary->scaling;
    const std::string type =
        meta.has(prefix + "rope.scaling.type") ? meta.text(prefix + "rope.scaling.type") : "none";
    if (type == "linear") {
        scaling.kind = nn::RotaryScaling::linear;
        scaling.factor = meta.number(prefix + "rope.scaling.factor");
    } else if (type == "yarn") {
        scaling = {.kind = nn::RotaryScaling::yarn,
                   .factor = meta.number(prefix + "rope.scaling.factor"),
                   .original_length = size("rope.scaling.original_context_length")};
    } else if (type != "none") {
        throw IoError(here, prefix, "rope.scaling.type is \"", type,
                      "\", and Decoder computes none, linear and yarn of a GGUF file");
    }
    if (file.has("rope_freqs.weight")) {  // what divides each pair's rate: Llama 3's scaling, worked out
        const Tensor factors = file.at("rope_freqs.weight");
        if (factors.packed() || factors.shape() != Shape{c.head_dim / 2})
            throw IoError(here, "rope_freqs.weight does not have ", c.head_dim / 2, " numbers");
        const std::vector<double> list = factors.to(float64).to_vector<double>();
        scaling = {.kind = nn::RotaryScaling::longrope,
                   .original_length = c.block_size,
                   .short_factor = list,
                   .long_factor = list,
                   .attention_factor = 1};
    }
    c.layers = {layer};
    if (is("gemma3")) {
        // The file's weights of norms are 1 + w.
        c.norm_place = NormPlace::around, c.activation = Activation::gelu_tanh;
        c.embedding_scale = static_cast<double>(std::sqrt(static_cast<float>(c.d_model)));
        DecoderLayerOptions local{
            .rotary = nn::RotaryOptions{.base = meta.number(prefix + "rope.freq_base_swa", 1e4),
                                        .pairs = nn::RotaryPairs::halves},
            .window = size("attention.sliding_window")};
        c.layers.clear();
        for (std::int64_t i = 0; i < std::min<std::int64_t>(c.num_layers, 10'000); ++i)
            c.layers.push_back((i + 1) % 6 == 0 ? layer : local);
        if (c.num_layers == 62)
            c.attention_scale = 1 / std::sqrt(static_cast<double>(c.d_model) /
                                              static_cast<double>(c.num_heads));  // the 27B model's
    }
    return c;
}

Decoder load_pretrained(const std::filesystem::path& path, const PretrainedOptions& options) {
    return std::filesystem::is_directory(path) ? of_folder(path, options)
                                               : of_gguf(path, io::load_gguf(path), options);
}

Pretrained load_language(const std::filesystem::path& path, const PretrainedOptions& options) {
    Pretrained all = [&]() -> Pretrained {
        if (std::filesystem::is_directory(path))
            return {of_folder(path, options), text::PreTrainedTokenizer::load(path / "tokenizer.json"),
                    chat_template_of(path)};
        io::Gguf file = io::load_gguf(path);
        const auto tokenizer = text::PreTrainedTokenizer::load(file.metadata);
        const char* const key = "tokenizer.chat_template";
        const std::string chat = file.metadata.has(key) ? file.metadata.text(key) : "";
        return {of_gguf(path, std::move(file), options), tokenizer, chat};
    }();
    if (all.tokenizer.vocab_size() > all.model.config.vocab_size)
        throw IoError("cannot load ", io::display_path(path), ": the tokenizer has ",
                      all.tokenizer.vocab_size(), " tokens and the model ", all.model.config.vocab_size,
                      "; are both of one model?");
    return all;
}

void save_pretrained(const std::filesystem::path& folder, const Decoder& model) {
    const std::optional<nlohmann::json> config = describing_json(model.config);
    if (!config)
        throw ValueError(
            "save_pretrained: no family of transformers that Weft knows has all the options of this Decoder; "
            "io::save keeps its parameters");
    nn::NamedTensors tensors;
    for (const auto& [name, value] : model.named_parameters()) {
        if (value.packed())
            throw ValueError("save_pretrained: ", name, " is in blocks of ",
                             weft::name(value.packed()->format()),
                             ", which safetensors does not hold; use to(float32) or to(bfloat16) before");
        const bool is_head = name == "lm_head.weight";
        if (is_gpt2(model.config))
            tensors.emplace_back(is_head ? name : "transformer." + renamed(name, gpt2_names, true),
                                 is_transposed(name) ? value.T() : value);
        else
            tensors.emplace_back(is_head ? name : "model." + name, value);
    }
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw IoError("cannot make the folder ", io::display_path(folder), ": ", error.message());
    io::AtomicFile file(folder / "config.json");
    file.write(config->dump(2) + "\n");
    io::save_safetensors(folder / "model.safetensors", tensors, {{"format", "pt"}});
    file.commit();
}

}  // namespace weft::lm
