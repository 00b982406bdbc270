// Tokenisers against transformers' (tests/golden/make_gpt2_golden.py), and there and back.
#include <nlohmann/json.hpp>

#include "environment.h"
#include "places.h"
#include "refusal.h"
#include "text/byte_pairs.h"
#include "weft/base/text.h"
#include "weft/core/random.h"
#include "weft/io/files.h"
#include "weft/io/npy.h"
#include "weft/io/safetensors.h"
#include "weft/text/tokenizer.h"

using namespace weft;
using text::BytePairs;
using text::Ids;

namespace {

const std::filesystem::path golden_folder = places::golden();

const nlohmann::json& golden() {
    static const auto file = nlohmann::json::parse(io::load_text(golden_folder / "tokenizer_cases.json"));
    return file;
}

const BytePairs& trained() {
    static const BytePairs pairs = BytePairs::load(golden_folder / "gpt2");
    return pairs;
}

std::string hard_text() { return io::load_text(golden_folder / "tokenizer_text.txt"); }

// Any code points, of the first planes and of all, spaces and ASCII more often than chance would have them.
std::string random_text(Rng& rng) {
    std::string result;
    const std::int64_t n = rng.randint(0, 60);
    for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t limits[] = {0x80, 0x250, 0x3100, 0x20000, 0x110000};
        auto c = static_cast<char32_t>(rng.randint(0, limits[rng.randint(0, 5)]));
        if (rng.randint(0, 4) == 0) c = U" '\n\t sSet"[rng.randint(0, 10)];
        if (c < 0xD800 || c > 0xDFFF) append_utf8(result, c);
    }
    return result;
}

std::string random_bytes(Rng& rng) {
    std::string result;
    const std::int64_t n = rng.randint(0, 60);
    for (std::int64_t i = 0; i < n; ++i) result.push_back(static_cast<char>(rng.randint(0, 256)));
    return result;
}

std::vector<std::string> pieces_of(const std::string& text) {
    std::vector<std::string> pieces;
    text::for_each_piece(text, [&](std::string_view piece) { pieces.emplace_back(piece); });
    return pieces;
}

}  // namespace

// PCRE2 may know a later version of Unicode.
TEST_CASE("the class of every code point of Unicode 14 is that of the reference's pattern", "[tokenizer]") {
    const auto joins = [](std::string text, char32_t c) {
        append_utf8(text, c);
        return pieces_of(text).size() == 1;
    };
    std::uint64_t digest = 0xCBF29CE484222325;  // FNV-1a
    const std::vector<std::uint32_t> unassigned = golden()["unassigned"];
    auto next = unassigned.begin();  // the first of a range, and after it the last
    for (char32_t c = 0; c < 0x110000; ++c) {
        if (next != unassigned.end() && c == *next) {
            c = next[1];
            next += 2;
            continue;
        }
        const char kind = joins("a", c) ? 'L' : joins("1", c) ? 'N' : joins("\t", c) ? 'S' : 'O';
        digest = (digest ^ static_cast<unsigned char>(kind)) * 0x100000001B3;
    }
    char found[17];
    std::snprintf(found, sizeof found, "%016llx", static_cast<unsigned long long>(digest));
    CHECK(golden()["classes"] == found);
}

TEST_CASE("GPT-2's pattern cuts before endings, at changes of class, and before the last of several spaces",
          "[tokenizer]") {
    using Pieces = std::vector<std::string>;
    CHECK(pieces_of("it's  we'll\n\n'S 12ab!? x ") ==
          Pieces{"it", "'s", " ", " we", "'ll", "\n", "\n", "'", "S", " 12", "ab", "!?", " x", " "});
    CHECK(pieces_of("a \n\tb") == Pieces{"a", " \n", "\t", "b"});
    CHECK(pieces_of("\xC3\xA9\xCC\x81 \xFF\xFE.1") == Pieces{"\xC3\xA9", "\xCC\x81", " \xFF\xFE.", "1"});
    CHECK(pieces_of("").empty());
}

TEST_CASE("GPT-2's byte pairs give the reference tokeniser's ids, and the text back", "[tokenizer]") {
    int with_special = 0;
    for (const auto& item : golden()["cases"]) {
        const auto text = item["text"].get<std::string>();
        INFO(item["text"].dump());
        const auto wanted = item["ids"].get<Ids>();
        CHECK(trained().encode(text) == wanted);
        CHECK(trained().decode(wanted) == text);
        if (!item.contains("as_text")) {
            CHECK(trained().encode_ordinary(text) == wanted);
            continue;
        }
        ++with_special;
        CHECK(trained().encode_ordinary(text) == item["as_text"].get<Ids>());
        CHECK(trained().decode(item["as_text"].get<Ids>()) == text);
    }
    CHECK(golden()["cases"].size() > 200);
    CHECK(with_special > 20);
    CHECK(trained().vocab_size() == 384);
    CHECK(trained().num_merges() == 127);
    CHECK(trained().id_of(BytePairs::eos_token) == 383);
    CHECK_FALSE(trained().id_of("loom and weft"));
}

TEST_CASE("byte pairs learned from a text are those that the reference learns", "[tokenizer]") {
    const BytePairs learned = BytePairs::train(hard_text(), 384);
    const Scratch scratch;
    learned.save(scratch / "new");
    for (const char* file : {"vocab.json", "merges.txt"})
        CHECK(io::load_text(scratch / "new" / file) == io::load_text(golden_folder / "gpt2" / file));
    const BytePairs again = BytePairs::load(scratch / "new");
    CHECK(again.encode(hard_text()) == learned.encode(hard_text()));
    CHECK(learned.encode(hard_text()).size() < hard_text().size() * 3 / 4);
}

TEST_CASE("byte pairs are learned while two neighbours are there often enough", "[tokenizer]") {
    const auto merges = [](const std::string& text, std::int64_t min_frequency) {
        const BytePairs learned = BytePairs::train(text, 1000, min_frequency);
        std::vector<std::string> made;
        for (std::int64_t id = 256; id + 1 < learned.vocab_size(); ++id) made.push_back(learned.piece(id));
        CHECK(learned.id_of(BytePairs::eos_token) == learned.vocab_size() - 1);
        CHECK(learned.decode(learned.encode(text)) == text);
        return made;
    };
    using Made = std::vector<std::string>;
    CHECK(merges("", 1).empty());
    CHECK(merges("ab", 2).empty());
    CHECK(merges("ab", 1) == Made{"ab"});
    CHECK(merges("ab ab ab cd cd", 3) == Made{"ab"});  // " ab" is there twice
    CHECK(merges("ab ab ab cd cd", 2) == Made{"ab", "cd", " ab", " cd"});
    CHECK(merges("abab abab ab aaab", 1) == Made{"ab", " ab", "aa", " aa", "abab", " abab", " aaab"});
    CHECK(merges("aaaa", 1) == Made{"aa", "aaaa"});
    CHECK(merges("aaaaa", 1) == Made{"aa", "aaa", "aaaaa"});
    CHECK(BytePairs::train("ababab", 258).vocab_size() == 258);
    CHECK(BytePairs::train("ababab", 258).piece(256) == "ab");
    refuses<ValueError>("at least 257", [] { BytePairs::train("x", 256); });
    refuses<ValueError>("min_frequency", [] { BytePairs::train("x", 300, 0); });
}

TEST_CASE("any text goes through every tokeniser and back, and any bytes through those of bytes",
          "[tokenizer]") {
    Rng rng(11);
    const text::Bytes bytes;
    for (int i = 0; i < 400; ++i) {
        const std::string text = random_text(rng), anything = random_bytes(rng);
        const text::Characters characters(text);
        CHECK(characters.decode(characters.encode(text)) == text);
        for (const std::string& one : {text, anything}) {
            CHECK(trained().decode(trained().encode(one)) == one);
            CHECK(bytes.decode(bytes.encode(one)) == one);
            std::string joined;
            for (const std::string& piece : pieces_of(one)) {
                REQUIRE_FALSE(piece.empty());
                joined += piece;
            }
            CHECK(joined == one);
        }
    }
}

TEST_CASE("characters are numbered in the order of their code points", "[tokenizer]") {
    const text::Characters characters(
        "b\xC3\xA9"
        "a\xF0\x9F\xA7\xB5"
        "b");
    CHECK(characters.vocab_size() == 4);
    CHECK(characters.vocabulary() == "ab\xC3\xA9\xF0\x9F\xA7\xB5");
    CHECK(characters.encode("\xF0\x9F\xA7\xB5"
                            "ab") == Ids{3, 0, 1});
    CHECK(characters.piece(2) == "\xC3\xA9");
    CHECK(text::Characters(characters.vocabulary()).encode("\xC3\xA9") == Ids{2});
    refuses<ValueError>("\"\xC3\xA8\" at position 2 of the text is not one of the 4 known characters",
                        [&] { characters.encode("ab\xC3\xA8"); });
}

TEST_CASE("characters refuse what is not UTF-8, by its offset", "[tokenizer][fault]") {
    const std::pair<const char*, const char*> wrong[] = {
        {"ab\xFFz", "byte 0xFF at offset 2"},     {"a\xC3", "byte 0xC3 at offset 1"},
        {"\xC0\x80", "0xC0 at offset 0"},         {"ab\xED\xA0\x80", "0xED at offset 2"},
        {"\xE0\x80\x80", "0xE0 at offset 0"},     {"\xF4\x90\x80\x80", "0xF4 at offset 0"},
        {"\xF0\x8F\xBF\xBF", "0xF0 at offset 0"}, {"x\x80", "0x80 at offset 1"},
        {"\xF5\x80\x80\x80", "0xF5 at offset 0"}};
    refuses<ValueError>("byte 0xFF at offset 0; convert it first, UTF-16 by iconv -f UTF-16 -t UTF-8",
                        [] { text::Characters{"\xFF\xFEw"}; });
    for (const auto& [bytes, part] : wrong) {
        INFO(part);
        const std::string text = bytes;
        refuses<ValueError>(part, [&] { text::Characters{text}; });
        refuses<ValueError>(part, [&] { text::Characters("abxz").encode(text); });
    }
}

TEST_CASE("ids that no tokeniser has are refused by their place", "[tokenizer]") {
    refuses<IndexError>("the id at position 2 is 384, but the tokeniser has ids 0 … 383", [] {
        trained().decode({1, 2, 384});
    });
    refuses<IndexError>("position 0 is -1", [] { text::Bytes().decode({-1}); });
    refuses<IndexError>("the id is 2", [] { text::Characters("ab").piece(2); });
}

TEST_CASE("a tokeniser is any of the three", "[tokenizer]") {
    const text::Tokenizer all[] = {text::Characters("ab'"), text::Bytes(), trained()};
    const std::int64_t sizes[] = {3, 256, 384};
    for (int i = 0; i < 3; ++i) {
        CHECK(all[i].vocab_size() == sizes[i]);
        CHECK(all[i].decode(all[i].encode("ab'b")) == "ab'b");
        CHECK(all[i].piece(all[i].encode("b")[0]) == "b");
        CHECK(all[i].eos_token_id().value_or(-1) == (i == 2 ? 383 : -1));
    }
}

TEST_CASE("a stream of pieces shows whole characters, and U+FFFD for what is none", "[tokenizer]") {
    text::Utf8Stream stream;
    CHECK(stream.push("a\xF0\x9F") == "a");
    CHECK(stream.push("\xA7") == "");
    CHECK(stream.push("\xB5"
                      "b\xFF") ==
          "\xF0\x9F\xA7\xB5"
          "b\xEF\xBF\xBD");
    CHECK(stream.push("\xE2\x82") == "");
    CHECK(stream.push("x") == "\xEF\xBF\xBDx");  // one for both bytes
    CHECK(stream.finish().empty());
    CHECK(stream.push("\xC3") == "");
    CHECK(stream.finish() == "\xEF\xBF\xBD");
    CHECK(stream.finish().empty());
    CHECK(stream.push("\xC0\x80\xED\xA0") ==
          "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // as Python's
    std::string shown;
    for (const char c : hard_text()) shown += stream.push(std::string(1, c));
    CHECK(shown + stream.finish() == hard_text());
}

TEST_CASE("a pattern that matches empty text, too, gives no empty piece", "[tokenizer]") {
    std::vector<std::pair<std::string, bool>> pieces;
    text::Pattern::of_oniguruma("a*").split(
        "baac", [&](std::string_view piece, bool matches) { pieces.emplace_back(piece, matches); });
    CHECK(pieces == std::vector<std::pair<std::string, bool>>{{"b", false}, {"aa", true}, {"c", false}});
}
