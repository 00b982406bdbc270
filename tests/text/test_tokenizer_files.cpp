// vocab.json and merges.txt as others leave them: what is read, and what is refused.
#include <filesystem>

#include "catch.h"
#include "environment.h"
#include "places.h"
#include "weft/io/files.h"
#include "weft/io/npy.h"
#include "weft/io/safetensors.h"
#include "weft/text/tokenizer.h"

using namespace weft;
using text::BytePairs;
using text::Ids;

namespace {

// The golden tokeniser's files, changed.
class Changed {
public:
    Changed() { std::filesystem::copy(std::filesystem::path(places::golden()) / "gpt2", scratch_.folder()); }

    std::string read(const char* file) const { return io::load_text(scratch_ / file); }
    void write(const char* file, const std::string& text) const { io::save_text(scratch_ / file, text); }
    Changed& replace(const char* file, const std::string& from, const std::string& to) {
        std::string text = read(file);
        const std::size_t at = text.find(from);
        REQUIRE(at != std::string::npos);
        write(file, text.replace(at, from.size(), to));
        return *this;
    }
    Changed& vocabulary(const std::string& from, const std::string& to) {
        return replace("vocab.json", from, to);
    }
    Changed& merges(const std::string& from, const std::string& to) { return replace("merges.txt", from, to); }
    BytePairs load() const { return BytePairs::load(scratch_.folder()); }
    std::string refusal() const {
        return message_of<IoError>([&] { load(); });
    }
    std::filesystem::path path(const char* file) const { return scratch_ / file; }

private:
    Scratch scratch_;
};

std::string with_crlf(const std::string& text) {
    std::string result;
    for (const char c : text) result += c == '\n' ? "\r\n" : std::string(1, c);
    return result;
}

const std::string example = "The loom's thread \xE2\x80\x94 1,204 <|endoftext|> \xFF";

}  // namespace

TEST_CASE("a byte-order mark, CR LF, no version and no last line break change nothing", "[tokenizer][fault]") {
    const Ids wanted = Changed().load().encode(example);
    Changed other;
    const std::string merges = other.read("merges.txt"), vocabulary = other.read("vocab.json");
    other.write("merges.txt", "\xEF\xBB\xBF" + with_crlf(merges));
    other.write("vocab.json", "\xEF\xBB\xBF" + vocabulary + "\r\n");
    CHECK(other.load().encode(example) == wanted);
    other.write("merges.txt", merges.substr(merges.find('\n') + 1, merges.size() - merges.find('\n') - 2));
    CHECK(other.load().encode(example) == wanted);
}

TEST_CASE("a tokeniser without an end of text takes its name for text", "[tokenizer]") {
    Changed other;
    other.vocabulary(R"(,"<|endoftext|>":383)", "");
    const BytePairs pairs = other.load();
    CHECK(pairs.vocab_size() == 383);
    CHECK_FALSE(pairs.id_of(BytePairs::eos_token));
    CHECK(pairs.encode(BytePairs::eos_token) == Changed().load().encode_ordinary(BytePairs::eos_token));
}

TEST_CASE("of special tokens that begin at one place the longest is taken", "[tokenizer]") {
    Changed other;
    other.vocabulary(R"("<|endoftext|>":383)", R"("<|endoftext|>":383,"<|end":384,"two words":385)");
    CHECK(contains(other.refusal(), "\"two words\" is empty or has a character that stands for no byte"));
    const BytePairs pairs =
        BytePairs::load(other.path("."), {"<|end", "two words", BytePairs::eos_token, "<|not in vocab.json|>"});
    CHECK(pairs.encode("<|endoftext|>") == Ids{383});
    CHECK(pairs.encode("<|end<|endoftext|>two words<|end") == Ids{384, 383, 385, 384});
    CHECK(pairs.decode({385, 383}) == "two words<|endoftext|>");
    const Scratch scratch;
    pairs.save(scratch / "saved");
    CHECK(io::load_text(scratch / "saved" / "vocab.json") == other.read("vocab.json"));
}

TEST_CASE("a vocab.json that gives no tokeniser is refused by name", "[tokenizer]") {
    const auto refused = [](const std::string& from, const std::string& to) {
        const std::string refusal = Changed().vocabulary(from, to).refusal();
        CHECK(contains(refusal, "vocab.json: "));
        return refusal;
    };
    CHECK(contains(refused(R"("#":2)", R"("#":3)"), R"("#" and "$" both have the id 3)"));
    CHECK(contains(refused(R"("!":0)", R"("!":384)"),
                   "the id of \"!\" is 384; the ids of 384 tokens must count from 0"));
    CHECK(contains(refused(R"("!":0)", R"("!":-1)"), "is -1"));
    CHECK(contains(refused(R"("!":0)", R"("!":0.5)"), "is 0.5"));
    CHECK(contains(refused(R"("!":0)", R"("!":"0")"), "is \"0\""));
    CHECK(contains(refused(R"("!":0)", R"("!":99999999999999999999999)"), "the id of \"!\""));
    CHECK(contains(refused(R"("!":0)", R"("!":0,"!":0)"), "it has \"!\" twice"));
    CHECK(contains(refused(R"("!":0)", R"("\u3042":0)"),
                   "\"\u3042\" is empty or has a character that stands for no byte"));
    CHECK(contains(refused(R"("!":0)", R"("":0)"), "\"\" is empty or has a character that stands for no byte"));
    CHECK(contains(refused(R"("!":0)", R"("!!":0)"),
                   "single bytes are missing, so not every text can be encoded: \"!\""));
    CHECK(contains(refused("{", "["), "not valid JSON"));
    CHECK(contains(refused("\"!\"", "\"\xFF\""), "not valid JSON"));
    Changed other;
    other.write("vocab.json", "{}");
    CHECK(contains(other.refusal(), "\"!\", \"\"\", \"#\", \"$\", \"%\" and 251 more"));
    other.write("vocab.json", "[1]");
    CHECK(contains(other.refusal(), "it is not a JSON object"));
    other.write("vocab.json", "");
    CHECK(contains(other.refusal(), "not valid JSON"));
}

TEST_CASE("a tokeniser whose folder cannot be made, or whose files lead in circles, is not saved",
          "[tokenizer]") {
    const Scratch scratch;
    const BytePairs pairs = Changed().load();
    io::save_text(scratch / "file", "in the way");
    const auto why = [&](const char* folder) {
        return message_of<IoError>([&] { pairs.save(scratch / folder); });
    };
    CHECK(contains(why("file"), "cannot make the folder " + (scratch / "file").string() + ": "));
    CHECK(contains(why("file/deeper"), "cannot make the folder " + (scratch / "file/deeper").string() + ": "));
    std::filesystem::create_directory(scratch / "folder");
    std::filesystem::create_symlink("vocab.json", scratch / "folder/vocab.json");
    CHECK(contains(why("folder"), "vocab.json: could not follow its symbolic links: Too many levels"));
    CHECK(std::filesystem::is_symlink(scratch / "folder/vocab.json"));
}

TEST_CASE("a merges.txt that does not go with vocab.json is refused by line", "[tokenizer]") {
    const auto refused = [](const std::string& from, const std::string& to) {
        const std::string refusal = Changed().merges(from, to).refusal();
        CHECK(contains(refusal, "merges.txt: "));
        return refusal;
    };
    const std::string line = "\nĠ t\n";
    CHECK(contains(refused(line, "\nĠt\n"), "line 4, \"Ġt\": a merge is two tokens with one space"));
    CHECK(contains(refused(line, "\nĠ t h\n"), "line 4, \"Ġ t h\": a merge is two tokens"));
    CHECK(contains(refused(line, "\nĠ  t\n"), "one space between them"));
    CHECK(contains(refused(line, "\n Ġt\n"), "one space between them"));
    CHECK(contains(refused(line, "\nĠt \n"), "one space between them"));
    CHECK(contains(refused(line, "\n\nĠ t\n"), "line 4, \"\": a merge is two tokens"));
    CHECK(contains(refused(line, "\nĠ t\nĠ t\n"), "line 5, \"Ġ t\": the merge is repeated"));
    CHECK(contains(refused(line, "\nQ Z\n"),
                   "line 4, \"Q Z\": \"QZ\" is not in vocab.json; are both files of one"));
    CHECK(contains(refused(line, "\nあ t\n"), "\"あ\" is not in vocab.json"));
    CHECK(contains(refused(line, "\nĠ \xFF\n"), "is not in vocab.json"));
    CHECK(contains(refused(line, "\nĠ th\n"), "line 4"));
    CHECK(contains(refused(line, "\n"), "neither a byte nor made by an earlier line"));
    Changed cut;
    const std::string merges = cut.read("merges.txt");
    cut.write("merges.txt", merges.substr(0, merges.rfind('\n', merges.size() - 2) + 1));
    CHECK(contains(cut.refusal(), "nor special nor made by a merge: "));
    CHECK(contains(cut.refusal(), "does the file end too early?"));
    cut.write("merges.txt", "");
    CHECK(contains(cut.refusal(), "and 122 more; does the file end too early?"));
}

TEST_CASE("files of a tokeniser that are missing or folders are refused by path", "[tokenizer]") {
    for (const char* file : {"vocab.json", "merges.txt"}) {
        Changed other;
        std::filesystem::remove(other.path(file));
        CHECK(contains(other.refusal(), other.path(file).string() + ": no such file"));
        std::filesystem::create_directory(other.path(file));
        CHECK(contains(other.refusal(), other.path(file).string() + ": it is a directory"));
    }
}
