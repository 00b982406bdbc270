// What PreTrainedTokenizer refuses, by name.
#include "catch.h"
#include "environment.h"
#include "gguf_json.h"
#include "places.h"
#include "refusal.h"
#include "weft/io/files.h"
#include "weft/text/tokenizer.h"

using namespace weft;
using nlohmann::json;
using text::PreTrainedTokenizer;

namespace {

json file_of(const std::string& name) {
    return json::parse(
        io::load_text(std::filesystem::path(places::golden()) / "tokenizers" / (name + ".json")));
}

PreTrainedTokenizer loaded(const std::string& text) {
    const Scratch scratch;
    io::save_text(scratch / "tokenizer.json", text);
    return PreTrainedTokenizer::load(scratch / "tokenizer.json");
}

// Loading a golden file in which the JSON value at a path has been replaced.
std::function<void()> with(const std::string& path, const json& value, const std::string& name = "gpt2") {
    return [=] {
        json file = file_of(name);
        file[json::json_pointer(path)] = value;
        loaded(file.dump());
    };
}

std::function<void()> with_key(const std::string& key, const json& value,
                               const std::string& name = "sentencepiece") {
    return [=] {
        json keys = name == "sentencepiece" ? file_of(name) : gguf_keys(file_of(name), "gpt-2");
        keys["tokenizer.ggml." + key] = value;
        PreTrainedTokenizer::load(gguf_of(keys));
    };
}

json split(const json& pattern, const std::string& behavior = "Isolated") {
    return {{"type", "Sequence"},
            {"pretokenizers",
             {{{"type", "Split"}, {"pattern", pattern}, {"behavior", behavior}, {"invert", false}},
              {{"type", "ByteLevel"}, {"use_regex", false}}}}};
}

json added(const std::string& content, const json& id) {
    return json::array({{{"id", id}, {"content", content}}});
}

}  // namespace

TEST_CASE("a tokenizer.json with a part that is not supported is refused by its name", "[tokenizer]") {
    const json lone = "\xFF";
    refuses<IoError>("the option \"extra\" of the file is not supported", with("/extra", 1));
    refuses<IoError>("it sets truncation, which is not supported; set it to null",
                     with("/truncation", {{"max_length", 8}}));
    refuses<IoError>("it sets padding", with("/padding", json::object()));
    refuses<IoError>("the normalizer \"Lowercase\", which is not supported",
                     with("/normalizer", {{"type", "Lowercase"}}));
    refuses<IoError>("\"normalizer\" is 1", with("/normalizer", 1));
    refuses<IoError>("\"type\" is null", with("/normalizer", json::object()));
    refuses<IoError>(
        "\"pattern\" is {\"Regex\":\"a\"}",
        with("/normalizer", {{"type", "Replace"}, {"pattern", {{"Regex", "a"}}}, {"content", ""}}));
    refuses<IoError>("\"normalizers\" is null", with("/normalizer", {{"type", "Sequence"}}));
    refuses<IoError>("the pre-tokenizer \"Whitespace\"", with("/pre_tokenizer", {{"type", "Whitespace"}}));
    refuses<IoError>("the option \"speed\" of ByteLevel", with("/pre_tokenizer/speed", 1));
    refuses<IoError>("\"use_regex\" is 1", with("/pre_tokenizer/use_regex", 1));
    refuses<IoError>(
        "ByteLevel is not the last one",
        with("/pre_tokenizer",
             {{"type", "Sequence"}, {"pretokenizers", {{{"type", "ByteLevel"}}, {{"type", "Digits"}}}}}));
    refuses<IoError>("\"behavior\" is \"Mixed\"", with("/pre_tokenizer", split({{"String", "a"}}, "Mixed")));
    refuses<IoError>("\"pattern\" is {\"String\":\"\"}", with("/pre_tokenizer", split({{"String", ""}})));
    refuses<IoError>(
        "\"pattern\" is {\"Regex\":\"b\",\"String\":\"a\"}",
        with("/normalizer",
             {{"type", "Replace"}, {"pattern", {{"Regex", "b"}, {"String", "a"}}}, {"content", ""}}));
    refuses<IoError>("\"prepend_scheme\" is \"last\"",
                     with("/pre_tokenizer/prepend_scheme", "last", "metaspace"));
    refuses<IoError>("the decoder \"WordPiece\"", with("/decoder", {{"type", "WordPiece"}}));
    refuses<IoError>("the decoder \"Strip at this place\"", with("/decoder", {{"type", "Strip"}}));
    refuses<IoError>("\"start\" is 2", with("/decoder/decoders/3/start", 2, "llama2"));
    refuses<IoError>(
        "the decoder after another \"Fuse\"",
        with("/decoder", {{"type", "Sequence"}, {"decoders", {{{"type", "ByteLevel"}}, {{"type", "Fuse"}}}}}));
    refuses<IoError>("its decoder does not belong to its pre-tokenizer", with("/decoder", {{"type", "Fuse"}}));
    refuses<IoError>("its decoder does not belong to its pre-tokenizer", with("/decoder", nullptr, "llama2"));
    refuses<IoError>("the post-processor \"BertProcessing\"",
                     with("/post_processor", {{"type", "BertProcessing"}}));
    refuses<IoError>("\"single\" is []", with("/post_processor/single", json::array(), "llama2"));
    refuses<IoError>("\"single\" is ", with("/post_processor/special_tokens", json::object(), "llama2"));
    refuses<IoError>("\"ids\" is [99999]", with("/post_processor/special_tokens/<s>/ids", {99999}, "llama2"));
    refuses<IoError>("the model \"Unigram\"", with("/model/type", "Unigram"));
    refuses<IoError>("\"model\" is null", with("/model", nullptr));
    refuses<IoError>("the option \"extra\" of BPE", with("/model/extra", 1));
    refuses<IoError>("\"dropout\" is 0.5", with("/model/dropout", 0.5));
    refuses<IoError>("\"end_of_word_suffix\" is \"</w>\"", with("/model/end_of_word_suffix", "</w>"));
    refuses<IoError>("it has no \"vocab\" and \"merges\"", with("/model/vocab", 1));
    refuses<IoError>("the option \"trim\" of an added token", with("/added_tokens/0/trim", true));
    refuses<IoError>("\"added_tokens\" is \"x\"", with("/added_tokens/0", "x"));
    refuses<IoError>("\"added_tokens\" is {}", with("/added_tokens", json::object()));
}

TEST_CASE("a tokenizer.json whose tokens make no tokenizer is refused by token", "[tokenizer]") {
    const std::string name(100, 'x');
    refuses<IoError>("the id of \"!\" is -1; the ids of 401 tokens must be whole numbers below 802",
                     with("/model/vocab/!", -1));
    refuses<IoError>("the id of \"!\" is 802", with("/model/vocab/!", 802));
    refuses<IoError>("has the id 5, which another token has", with("/model/vocab/!", 5));
    refuses<IoError>("has the id 5, which another token has", with("/added_tokens", added("new", 5)));
    refuses<IoError>("the id of \"new\" is null", with("/added_tokens", added("new", nullptr)));
    refuses<IoError>("the added token \"\" is empty, repeated or longer than 1024 bytes",
                     with("/added_tokens", added("", 400)));
    refuses<IoError>("…\" is empty, repeated or longer",
                     with("/added_tokens", added(std::string(1 << 20, 'x'), 400)));
    refuses<IoError>("\"!\" has one id among the added tokens and another in the model",
                     with("/added_tokens", added("!", 400)));
    refuses<IoError>("merge 0, \"Q Z\", is not of two tokens that make a third",
                     with("/model/merges/0", "Q Z"));
    refuses<IoError>("merge 0, \"QZ\", is not of two", with("/model/merges/0", "QZ"));
    refuses<IoError>("merge 0, \"a b c\", is not", with("/model/merges/0", "a b c"));
    refuses<IoError>("merge 0, [\"a\"], is not", with("/model/merges/0", {"a"}));
    refuses<IoError>("merge 0, 7, is not", with("/model/merges/0", 7));
    refuses<IoError>("byte_fallback needs all of the tokens <0x00> … <0xFF>, but 1 are missing", [] {
        std::string text = file_of("gemma").dump();
        loaded(text.replace(text.find("<0x41>"), 6, "<0x4_>"));
    });
    refuses<IoError>("unk_token \"<none>\" is no token of the model",
                     with("/model/unk_token", "<none>", "metaspace"));
    refuses<IoError>("not valid JSON", [] { loaded("{\"version\": \"\xFF\"}"); });
    refuses<IoError>("nested too deeply", [] { loaded("{\"normalizer\":" + std::string(100'000, '[')); });
    refuses<IoError>("no such file", [] { PreTrainedTokenizer::load("no/tokenizer.json"); });
    json steps = json::array();
    for (int i = 0; i < 65; ++i) steps.push_back({{"type", "NFC"}});
    json nested = {{"type", "NFC"}};
    refuses<IoError>("\"normalizers\" is [",
                     with("/normalizer", {{"type", "Sequence"}, {"normalizers", steps}}));
    refuses<IoError>("it has too many parts of the kind normalizer", [&] {
        steps.erase(0);
        const json sequence = {{"type", "Sequence"}, {"normalizers", steps}};
        with("/normalizer", {{"type", "Sequence"}, {"normalizers", {sequence, sequence}}})();
    });
    const Scratch scratch;
    io::save_text(scratch / "tokenizer.json", file_of("gpt2").dump());
    io::save_text(scratch / "tokenizer_config.json", R"({"eos_token": "<|none|>"})");
    refuses<IoError>("tokenizer_config.json: eos_token is \"<|none|>\", which is no token of tokenizer.json",
                     [&] { PreTrainedTokenizer::load(scratch / "tokenizer.json"); });
    const auto config = [&](const std::string& text, const std::vector<std::string>& ignore_keys = {}) {
        return [&, text, ignore_keys] {
            io::save_text(scratch / "tokenizer_config.json", text);
            (void)PreTrainedTokenizer::load(scratch / "tokenizer.json", ignore_keys);
        };
    };
    const std::string unknown =
        R"({"warp": 1, "tokenizer_class": "GPT2Tokenizer", "model_max_length": 1e30, "padding_side": "left"})";
    refuses<IoError>(
        "tokenizer_config.json: it does not go with tokenizer.json:\n  warp is 1, and "
        "PreTrainedTokenizer does not know this key; ignore_keys passes over it, at your own risk",
        config(unknown));
    CHECK_NOTHROW(config(unknown, {"warp"})());
    refuses<IoError>("add_prefix_space is true, and PreTrainedTokenizer computes false",
                     config(R"({"add_prefix_space": true})"));
    CHECK_NOTHROW(config(R"({"add_prefix_space": false})")());
    const std::string other = R"({"add_prefix_space": true, "tokenizer_class": "LlamaTokenizer"})";
    CHECK_NOTHROW(config(other)());  // uses the steps of tokenizer.json
    refuses<IoError>("added_tokens_decoder has \"<|more|>\", which is no token of tokenizer.json",
                     config(R"({"added_tokens_decoder": {"9999": {"content": "<|more|>"}}})"));
    const json wrapping = file_of("llama2")["post_processor"];
    refuses<IoError>(
        "it has the second post-processor \"TemplateProcessing\", which is not supported",
        with("/post_processor", {{"type", "Sequence"}, {"processors", {wrapping, wrapping}}}, "llama2"));
}

TEST_CASE("a pattern that PCRE2 would read otherwise, or never end, is refused", "[tokenizer]") {
    const auto pattern = [](const std::string& regex) {
        return with("/pre_tokenizer", split({{"Regex", regex}}));
    };
    refuses<IoError>("the pattern \"\\w+\" uses \\w, which is not supported", pattern("\\w+"));
    refuses<IoError>("uses \\K", pattern("a\\Kb"));
    refuses<IoError>("uses \\1", pattern("(a)\\1"));
    refuses<IoError>("uses \\, which", pattern("a\\"));
    refuses<IoError>("uses \\S", pattern("[\\S]"));
    refuses<IoError>("has a class inside a class", pattern("[a[b]]"));
    refuses<IoError>("has a class inside a class", pattern("[a&&b]"));
    refuses<IoError>("has an empty class", pattern("[]a]"));
    refuses<IoError>("has a group (?R, which is not supported", pattern("(?R)"));
    refuses<IoError>("has a group (*V", pattern("(*VERB)"));
    refuses<IoError>("repeats a repetition", pattern("a{2}+"));
    refuses<IoError>("repeats {,n} times, which is not supported; write {0,n}", pattern("a{,2}"));
    refuses<IoError>("repeats {n}? times, which is not supported; write (?:…{n})?", pattern("(?:ab){12}?"));
    CHECK_NOTHROW(pattern("a{1,2}?b{3,}?c{2}")());
    for (const char* folded : {"(?i:ﬁ)", "(?i:a(?:fi)+)", "(?i:ß)", "b|(?i:[aß])", "(?i:ŉ)"})
        refuses<IoError>("has letters in (?i:) that others fold to, as ß to ss, which is not supported",
                         pattern(folded));
    CHECK_NOTHROW(pattern("fi(?i:'s|'t|[st]|s\\st|e)ss")());
    refuses<IoError>("uses \\p, which", pattern("\\pL"));
    refuses<IoError>("is not one of PCRE2's: ", pattern("(a"));
    refuses<IoError>("is not one of PCRE2's: ", pattern("\\p{Nothing}"));
    json file = file_of("gpt2");
    file["pre_tokenizer"] = split({{"Regex", "(?:a|aa)+$"}});
    refuses<ValueError>("the pattern \"(?:a|aa)+$\" takes too many steps on this text",
                        [&] { (void)loaded(file.dump()).encode(std::string(60, 'a') + "b"); });
}

TEST_CASE("a GGUF file whose keys make no tokenizer is refused by key", "[tokenizer]") {
    const std::size_t V = file_of("sentencepiece")["tokenizer.ggml.tokens"].size();
    const std::string tokens = std::to_string(V) + " tokens";
    json types = file_of("sentencepiece")["tokenizer.ggml.token_type"],
         scores = file_of("sentencepiece")["tokenizer.ggml.scores"];
    const json no_unknown = [&] {
        json changed = types;
        for (json& type : changed)
            if (type == 6 || type == 2) type = 1;
        return changed;
    }();
    types[3] = 9;
    scores.erase(0);
    refuses<IoError>("its tokenizer is of the model \"bert\"; \"gpt2\" and \"llama\" are supported",
                     with_key("model", "bert"));
    refuses<IoError>("tokenizer.ggml.pre is \"gpt-4\", which is not supported",
                     with_key("pre", "gpt-4", "gpt2"));
    refuses<IoError>("tokenizer.ggml.warp is 1, and PreTrainedTokenizer does not know this key",
                     with_key("warp", 1));
    CHECK_NOTHROW(with_key("padding_token_id", 0)());
    refuses<IoError>("tokenizer.ggml.token_type has 1 values for " + tokens, with_key("token_type", {1}));
    refuses<IoError>("has the type 9; there are 1 … 6", with_key("token_type", types));
    refuses<IoError>("tokenizer.ggml.scores has " + std::to_string(V - 1) + " values for " + tokens,
                     with_key("scores", scores));
    refuses<IoError>("neither a token for every byte nor one of the type unknown",
                     with_key("token_type", no_unknown));
    refuses<IoError>("tokenizer.ggml.eos_token_id is -1, but there are " + tokens,
                     with_key("eos_token_id", -1));
    refuses<IoError>("tokenizer.ggml.add_bos_token is true, but the file does not say which token that is",
                     with_key("add_bos_token", true, "gpt2"));
    refuses<IoError>("merge 0, \"Q Z\", is not of two tokens that make a third",
                     with_key("merges", {"Q Z"}, "gpt2"));
    refuses<IoError>("merge 0, \"\", is not of two", with_key("merges", {""}, "gpt2"));
    refuses<IoError>("merge 0, \" \", is not of two", with_key("merges", {" "}, "gpt2"));
    refuses<IoError>("tokenizer.ggml.tokens", with_key("tokens", "text"));
    refuses<IoError>("scores has a NaN", [&] {
        auto values = gguf_of(file_of("sentencepiece")).values();
        std::get<std::vector<double>>(values.at("tokenizer.ggml.scores"))[7] = std::nan("");
        PreTrainedTokenizer::load(io::GgufMetadata("model.gguf", values));
    });
    refuses<IoError>("is longer than 1024 bytes", [&] {
        auto values = gguf_of(file_of("sentencepiece")).values();
        std::get<std::vector<std::string>>(values.at("tokenizer.ggml.tokens"))[1] = std::string(2000, 'x');
        PreTrainedTokenizer::load(io::GgufMetadata("model.gguf", values));
    });
}
