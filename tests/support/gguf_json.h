// The metadata of a GGUF file from JSON.
#pragma once

#include <map>
#include <nlohmann/json.hpp>

#include "weft/io/gguf.h"

inline weft::io::GgufMetadata gguf_of(const nlohmann::json& keys) {
    std::map<std::string, weft::io::GgufValue> values;
    for (const auto& [key, value] : keys.items()) {
        weft::io::GgufValue& to = values[key];
        if (value.is_string()) to = value.get<std::string>();
        if (value.is_boolean()) to = value.get<bool>();
        if (value.is_number()) to = value.get<std::int64_t>();
        if (!value.is_array()) continue;
        if (key.ends_with("scores"))
            to = value.get<std::vector<double>>();
        else if (key.ends_with("token_type"))
            to = value.get<std::vector<std::int64_t>>();
        else
            to = value.get<std::vector<std::string>>();
    }
    return weft::io::GgufMetadata("model.gguf", std::move(values));
}

// The tokenizer of a tokenizer.json as the keys of a GGUF file.
inline nlohmann::json gguf_keys(const nlohmann::json& tokenizer, const std::string& pre) {
    const nlohmann::json& model = tokenizer["model"];
    std::vector<std::string> tokens(model["vocab"].size()), merges;
    std::vector<std::int64_t> types(tokens.size(), 1);
    for (const auto& [token, id] : model["vocab"].items()) tokens.at(id) = token;
    for (const nlohmann::json& token : tokenizer["added_tokens"]) types.at(token["id"]) = 3;
    for (const nlohmann::json& merge : model["merges"])
        merges.push_back(merge.is_string() ? merge.get<std::string>()
                                           : merge[0].get<std::string>() + " " + merge[1].get<std::string>());
    return {{"tokenizer.ggml.model", "gpt2"},
            {"tokenizer.ggml.pre", pre},
            {"tokenizer.ggml.tokens", tokens},
            {"tokenizer.ggml.merges", merges},
            {"tokenizer.ggml.token_type", types}};
}
