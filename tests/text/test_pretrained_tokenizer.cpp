// PreTrainedTokenizer against Hugging Face's tokenizers and SentencePiece
// (tests/golden/make_tokenizer_golden.py).
#include <cstdlib>

#include "catch.h"
#include "environment.h"
#include "gguf_json.h"
#include "places.h"
#include "refusal.h"
#include "text/byte_pairs.h"
#include "weft/base/text.h"
#include "weft/io/files.h"
#include "weft/text/tokenizer.h"

using namespace weft;
using nlohmann::json;
using text::Ids;
using text::PreTrainedTokenizer;

namespace {

const std::filesystem::path folder = std::filesystem::path(places::golden()) / "tokenizers";

const json& golden() {
    static const json file = json::parse(io::load_text(folder / "cases.json"));
    return file;
}

json file_of(const std::string& name) { return json::parse(io::load_text(folder / (name + ".json"))); }

PreTrainedTokenizer load(const std::string& name) {
    if (name.starts_with("sentencepiece")) return PreTrainedTokenizer::load(gguf_of(file_of(name)));
    return PreTrainedTokenizer::load(folder / (name + ".json"));
}

constexpr text::EncodeOptions plain{.add_special_tokens = false, .parse_special = false};
constexpr text::EncodeOptions parsed{.add_special_tokens = true, .parse_special = true};

// The texts of the script: Knuth's MMIX generator, and what it draws.
class Texts {
public:
    std::string next() {
        std::string result;
        const std::vector<std::string>& pieces = pieces_;
        for (std::uint64_t i = draw(30); i > 0; --i) {
            if (draw(4) != 0) {
                result += pieces[draw(pieces.size())];
            } else {
                constexpr std::uint64_t limits[] = {0x80, 0x250, 0x3100, 0x20000, 0x110000};
                const std::uint64_t c = draw(limits[draw(5)]);
                append_utf8(result, is_drawn(c) ? static_cast<char32_t>(c) : U'x');
            }
        }
        return result;
    }

private:
    std::uint64_t state_ = 1;
    std::vector<std::string> pieces_ = golden()["pieces"];
    std::vector<std::uint64_t> unassigned_ = json::parse(
        io::load_text(std::filesystem::path(places::golden()) / "tokenizer_cases.json"))["unassigned"];

    std::uint64_t draw(std::uint64_t n) {
        state_ = state_ * 6364136223846793005 + 1442695040888963407;
        return (state_ >> 33) % n;
    }
    bool is_drawn(std::uint64_t c) const {
        if (c >= 0xD800 && c < 0xE000) return false;
        const auto after =
            std::upper_bound(unassigned_.begin(), unassigned_.end(), c);  // first, last, first, …
        return (after - unassigned_.begin()) % 2 == 0 && (after == unassigned_.begin() || after[-1] != c);
    }
};

json differences() { return json::parse(io::load_text(folder / "differences.json")); }

// A hash of the ids of each hundred of the texts.
template <class Encode>
std::vector<std::string> hashes(const Encode& encode) {
    Texts texts;
    std::vector<std::string> result;
    for (int hundred = 0; hundred < 100; ++hundred) {
        std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
        for (int i = 0; i < 100; ++i) {
            std::string line;
            for (const std::int64_t id : encode(texts.next(), i % 2 == 1))
                line += (line.empty() ? "" : " ") + std::to_string(id);
            for (const char c : line + "\n") hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
        }
        char digits[17];
        std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
        result.emplace_back(digits);
    }
    return result;
}

std::string text_of(const json& text) {
    if (text.is_string()) return text;
    std::string bytes;
    for (const int byte : text) bytes.push_back(static_cast<char>(byte));
    return bytes;
}

std::string shown(const std::string& bytes) {
    text::Utf8Stream stream;
    const std::string whole = stream.push(bytes);
    return whole + stream.finish();
}

}  // namespace

TEST_CASE("texts are composed by Unicode 9, and cut by scripts, as by the tokenizers crate",
          "[golden][tokenizer]") {
    for (const auto& [text, composed] :
         differences()["nfc"].get<std::vector<std::pair<std::string, std::string>>>()) {
        INFO(text);
        CHECK(text::nfc(text) == composed);
        CHECK(text::nfc("e\u0301" + text + "e\u0301") == "é" + composed + "é");
    }
    for (const json& row : differences()["patterns"]) {
        std::vector<std::string> pieces;
        const std::string text = row[1];
        text::Pattern::of_oniguruma(row[0]).split(
            text, [&](std::string_view piece, bool) { pieces.emplace_back(piece); });
        INFO(row);
        CHECK(json(pieces) == row[2]);
    }
}

TEST_CASE("pre-trained tokenizers give the ids and texts of their libraries", "[tokenizer]") {
    for (const auto& [name, wanted] : golden()["tokenizers"].items()) {
        INFO(name);
        const PreTrainedTokenizer tokenizer = load(name);
        const bool is_sentencepiece = name.starts_with("sentencepiece");
        for (std::size_t i = 0; i < golden()["texts"].size(); ++i) {
            const std::string text = text_of(golden()["texts"][i]);
            INFO(excerpt(text));
            const Ids ids = wanted["plain"][i];
            CHECK(tokenizer.encode(text, plain) == ids);
            if (is_sentencepiece) continue;
            CHECK(tokenizer.encode(text, parsed) == wanted["parsed"][i].get<Ids>());
            const std::string decoded = wanted["decoded"][i];
            if (!contains(decoded, "\uFFFD")) CHECK(shown(tokenizer.decode(ids)) == decoded);
        }
        const auto encode = [&](const std::string& text, bool parse) {
            return tokenizer.encode(text, parse && !is_sentencepiece ? parsed : plain);
        };
        CHECK(hashes(encode) == wanted["hashes"].get<std::vector<std::string>>());
    }
}

TEST_CASE("a tokenizer in a GGUF file gives the ids of the same tokenizer.json", "[tokenizer]") {
    const std::pair<const char*, const char*> kinds[] = {
        {"gpt2", "gpt-2"}, {"llama3", "llama-bpe"}, {"smollm", "smollm"}, {"qwen2", "qwen2"}};
    for (const auto& [name, pre] : kinds) {
        INFO(name);
        json file = file_of(name);
        json& added = file["added_tokens"];
        if (added.size() > 3) added.erase(added.begin() + 3, added.end());  // those outside the vocabulary
        json keys = gguf_keys(file, pre);
        keys["tokenizer.ggml.bos_token_id"] = 0;
        file["normalizer"] = nullptr;  // llama.cpp has none
        const Scratch scratch;
        io::save_text(scratch / "tokenizer.json", file.dump());
        const auto a = PreTrainedTokenizer::load(scratch / "tokenizer.json");
        const auto b = PreTrainedTokenizer::load(gguf_of(keys));
        CHECK(b.adds_bos_token() == (name == std::string("llama3")));
        CHECK(b.vocab_size() == a.vocab_size());
        const auto of = [](const PreTrainedTokenizer& tokenizer) {
            return hashes([&](std::string text, bool parse) {
                std::erase(text, '\xC5');  // of ſ, which only Oniguruma takes for an s in another case
                return tokenizer.encode(text, parse ? parsed : plain);
            });
        };
        CHECK(of(a) == of(b));
        for (std::int64_t id = 0; id < a.vocab_size(); ++id) CHECK(a.piece(id) == b.piece(id));
    }
}

TEST_CASE("a byte that has no token keeps its neighbours apart in a GGUF file, as in llama.cpp",
          "[tokenizer]") {
    json keys = gguf_keys(file_of("smollm"), "smollm");
    for (json& token : keys["tokenizer.ggml.tokens"])
        if (token == "\u0113") token = "unused";  // of the byte 0x13
    const PreTrainedTokenizer in_gguf = PreTrainedTokenizer::load(gguf_of(keys));
    const Ids slash = in_gguf.encode("/");
    CHECK(in_gguf.encode("//").size() == 1);
    CHECK(in_gguf.encode("/\x13/") == Ids{slash[0], slash[0]});
    CHECK(in_gguf.encode("\x13").empty());
}

// The files of GPT-2 and SmolLM2, in the folder that WEFT_TOKENIZERS names.
TEST_CASE("published tokenizers give the ids of their libraries", "[tokenizer]") {
    const json wanted = json::parse(io::load_text(folder / "real.json"));
    const char* place = std::getenv("WEFT_TOKENIZERS");
    for (const auto& [name, hashed] : wanted.items()) {
        const std::filesystem::path path =
            std::filesystem::path(place != nullptr ? place : "build/tokenizers") / name;
        if (!std::filesystem::exists(path)) {
            skip(name + " is not in $WEFT_TOKENIZERS or build/tokenizers: ids of published tokenizers");
            continue;
        }
        INFO(name);
        const auto tokenizer = name.ends_with(".gguf") ? PreTrainedTokenizer::load(io::load_gguf(path).metadata)
                                                       : PreTrainedTokenizer::load(path);
        CHECK(hashes([&](const std::string& text, bool parse) {
                  return tokenizer.encode(text, parse ? parsed : plain);
              }) == hashed.get<std::vector<std::string>>());
    }
}

TEST_CASE("a special token is text unless it is parsed", "[tokenizer]") {
    const PreTrainedTokenizer tokenizer = load("qwen2");
    const std::int64_t end = *tokenizer.id_of("<|im_end|>");
    CHECK(tokenizer.encode("<|im_end|>", {.parse_special = true}) == Ids{end});
    const Ids typed = tokenizer.encode("<|im_end|>");
    CHECK(std::find(typed.begin(), typed.end(), end) == typed.end());
    CHECK(tokenizer.decode(typed) == "<|im_end|>");
    const PreTrainedTokenizer pieces = load("sentencepiece");
    CHECK(pieces.encode("</s>", {.add_special_tokens = false, .parse_special = true}) == Ids{2});
    CHECK(pieces.decode(pieces.encode("</s> <0x41>", plain)) == "</s> <0x41>");
}

TEST_CASE("a pre-trained tokenizer names the tokens that begin and end texts", "[tokenizer]") {
    const PreTrainedTokenizer llama = load("llama3");
    CHECK(llama.piece(*llama.bos_token_id()) == "<|begin_of_text|>");
    CHECK(llama.adds_bos_token());
    CHECK(llama.encode("a").front() == *llama.bos_token_id());
    CHECK(llama.piece(*llama.eos_token_id()) == "<|end_of_text|>");
    CHECK(llama.end_token_ids() == Ids{*llama.id_of("<|end_of_text|>"), *llama.id_of("<|eot_id|>")});
    CHECK_FALSE(load("qwen2").bos_token_id());
    CHECK_FALSE(load("qwen2").adds_bos_token());

    const Scratch scratch;
    std::filesystem::copy(folder / "qwen2.json", scratch / "tokenizer.json");
    io::save_text(scratch / "tokenizer_config.json",
                  R"({"bos_token": null, "eos_token": {"content": "<|im_end|>", "lstrip": false}})");
    const text::Tokenizer tokenizer = PreTrainedTokenizer::load(scratch / "tokenizer.json");
    CHECK(tokenizer.piece(*tokenizer.eos_token_id()) == "<|im_end|>");
    CHECK(tokenizer.pre_trained()->end_token_ids().front() == *tokenizer.eos_token_id());
    CHECK(tokenizer.decode(tokenizer.encode("a text")) == "a text");
    CHECK(tokenizer.vocab_size() == tokenizer.pre_trained()->vocab_size());

    json keys = file_of("sentencepiece");
    keys["tokenizer.ggml.eot_token_id"] = 5;
    keys["tokenizer.ggml.add_eos_token"] = true;
    const auto pieces = PreTrainedTokenizer::load(gguf_of(keys));
    CHECK(pieces.end_token_ids() == Ids{2, 5});
    CHECK(pieces.encode("") == Ids{1, 2});
}

TEST_CASE("an id without a token is an empty piece, beyond the last one, too", "[tokenizer]") {
    json file = file_of("gpt2");
    const std::int64_t V = load("gpt2").vocab_size();
    file["added_tokens"].push_back({{"id", V + 5}, {"content", "<|far|>"}, {"special", true}});
    const Scratch scratch;
    io::save_text(scratch / "tokenizer.json", file.dump());
    const auto tokenizer = PreTrainedTokenizer::load(scratch / "tokenizer.json");
    CHECK(tokenizer.vocab_size() == V + 6);
    CHECK(tokenizer.piece(V).empty());
    CHECK(tokenizer.encode("<|far|>", parsed) == Ids{V + 5});
    const std::int64_t far = V + 1000;
    CHECK(tokenizer.piece(far).empty());
    CHECK(tokenizer.decode({far, V + 5, far}) == "<|far|>");
    CHECK(load("llama2").decode({far}).empty());
    refuses<IndexError>("PreTrainedTokenizer: the id is -1", [&] { (void)tokenizer.piece(-1); });
    refuses<IndexError>("the id at position 1 is -1", [&] { (void)tokenizer.decode({0, -1}); });
}
