// Published models in folders as transformers has them, and the reading of both kinds of files.
#include "weft/lm/pretrained.h"

#include <algorithm>
#include <cstring>

#include "lm/pretrained.h"
#include "weft/io/files.h"
#include "weft/io/json.h"
#include "weft/packed/packed.h"

namespace weft::lm {

namespace {

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

bool is_gpt2(const DecoderConfig& config) { return config.learned_positions; }

// GPT-2's layers are x W + b.
bool is_transposed(const std::string& name) { return name.ends_with("_proj.weight"); }

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
    return without_tied_head(std::move(state), config);
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
    std::function<void(std::int64_t)> announce;
    if (options.before_weights) announce = [&](std::int64_t bytes) { options.before_weights(config, bytes); };
    return loaded(
        folder, config,
        [&] { return from_transformers(io::load_sharded_checkpoint(folder, announce), config); }, options);
}

io::Gguf read_gguf(const std::filesystem::path& path, const PretrainedOptions& options) {
    if (!options.before_weights) return io::load_gguf(path);
    return io::load_gguf(path, [&](const io::Gguf& header, std::int64_t bytes) {
        options.before_weights(pretrained_config(header, options), bytes);
    });
}

Decoder of_gguf(const std::filesystem::path& path, io::Gguf file, const PretrainedOptions& options) {
    const DecoderConfig config = pretrained_config(file, options);
    return loaded(
        path, config, [&] { return from_gguf(std::move(file), config); }, options);
}

std::string chat_template_of(const std::filesystem::path& folder) {
    if (std::filesystem::exists(folder / "chat_template.jinja"))
        return io::load_text(folder / "chat_template.jinja");
    if (!std::filesystem::exists(folder / "tokenizer_config.json")) return "";
    const std::filesystem::path path = folder / "tokenizer_config.json";
    const nlohmann::json file = io::load_json(path);
    const auto found = file.find("chat_template");
    if (found == file.end() || found->is_null()) return "";
    if (found->is_string()) return *found;
    const auto is_text = [](const nlohmann::json& of, const char* key) {
        return of.is_object() && of.contains(key) && of[key].is_string();
    };
    const auto is_entry = [&](const nlohmann::json& each) {
        return is_text(each, "name") && is_text(each, "template");
    };
    if (!found->is_array() || !std::ranges::all_of(*found, is_entry))
        throw IoError("cannot load ", io::display_path(path),
                      ": its chat_template is neither a text nor a list of objects with the texts name and "
                      "template");
    for (const nlohmann::json& each : *found)  // others are for tools or documents
        if (each["name"] == "default") return each["template"];
    return "";
}

}  // namespace

std::string renamed(std::string name, const Names& names, bool to_file) {
    for (auto [from, to] : names) {
        if (to_file) std::swap(from, to);
        const std::size_t at = from[0] == '.' || name.starts_with(from) ? name.find(from) : std::string::npos;
        if (at != std::string::npos) name.replace(at, from.size(), to);
    }
    return name;
}

nn::NamedTensors without_tied_head(nn::NamedTensors state, const DecoderConfig& config) {
    const auto head = std::ranges::find(state, "lm_head.weight", &nn::NamedTensors::value_type::first);
    const auto table = std::ranges::find(state, "embed_tokens.weight", &nn::NamedTensors::value_type::first);
    if (!config.tied_head || head == state.end() || table == state.end()) return state;
    if (!same_bits(head->second, table->second))
        throw ValueError(
            "lm_head.weight: its values differ from those of the embedding, to which the config ties it");
    state.erase(head);
    return state;
}

std::int64_t bytes_as(DType weights, const Shape& shape, bool is_weight) {
    return bytes_of(is_weight ? weights : computed_in(weights), shape.numel());
}

Decoder load_pretrained(const std::filesystem::path& path, const PretrainedOptions& options) {
    return std::filesystem::is_directory(path) ? of_folder(path, options)
                                               : of_gguf(path, read_gguf(path, options), options);
}

Pretrained load_language(const std::filesystem::path& path, const PretrainedOptions& options) {
    if (std::filesystem::is_directory(path))
        return {of_folder(path, options),
                text::PreTrainedTokenizer::load(path / "tokenizer.json", options.ignore_keys),
                chat_template_of(path)};
    io::Gguf file = read_gguf(path, options);
    const auto tokenizer = text::PreTrainedTokenizer::load(file.metadata, options.ignore_keys);
    const char* const key = "tokenizer.chat_template";
    const std::string chat = file.metadata.has(key) ? file.metadata.text(key) : "";
    return {of_gguf(path, std::move(file), options), tokenizer, chat};
}

void save_pretrained(const std::filesystem::path& folder, const Decoder& model) {
    const std::optional<nlohmann::json> config = describing_json(model.config);
    if (!config)
        throw ValueError(
            "save_pretrained: no family of transformers that Weft knows has all the options of this Decoder; "
            "io::save keeps its parameters");
    nn::NamedTensors tensors;
    for (const auto& [name, value] : model.named_parameters()) {
        if (is_quantized(value.dtype()))
            throw ValueError("save_pretrained: ", name, " is in blocks of ", weft::name(value.dtype()),
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
