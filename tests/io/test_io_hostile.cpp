// Files that were made to do harm: they take no more time and memory than their size, and what they hold
// reaches a message cut and escaped.
#include <algorithm>

#include "catch.h"
#include "places.h"
#include "scratch.h"
#include "weft/weft.h"

using namespace weft;
namespace fs = std::filesystem;

namespace {

// A name of a megabyte that clears the terminal, ends a C string and is no UTF-8.
const std::string nasty = "a\x1b[2J\xff" + std::string(1'000'000, 'n');
// The same as JSON may hold it.
const std::string nasty_json = "\"a\\u001b[2J\\u0000\\u202e\xC2\x9B" + std::string(1'000'000, 'n') + "\"";

std::string safetensors(std::string header, const std::string& values = "") {
    const std::uint64_t size = header.size();
    return std::string(reinterpret_cast<const char*>(&size), 8) + header + values;
}

void check_message(const std::string& message) {
    INFO(excerpt(message, 2000));
    CHECK(message.size() < 2500);
    CHECK(std::none_of(message.begin(), message.end(),
                       [](unsigned char c) { return (c < 0x20 && c != '\n') || c == 0x7F; }));
    CHECK_FALSE(contains(message, "\xff"));
    CHECK_FALSE(contains(message, "\xC2\x9B"));  // U+009B begins a terminal's command as ESC [ does
    CHECK_FALSE(contains(message, "\u202e"));
}

// What a reader says about a file of these bytes.
template <class Read>
std::string refusal(const std::string& bytes, Read read) {
    const Scratch scratch;
    io::save_text(scratch / "file", bytes);
    return message_of<IoError>([&] { read(scratch / "file"); });
}
std::string safetensors_refusal(const std::string& bytes) {
    return refusal(bytes, [](const fs::path& path) { io::load_safetensors(path); });
}

}  // namespace

TEST_CASE("an excerpt is cut at characters, and shows what hides", "[io]") {
    CHECK(excerpt("größe \"x\" \\ 日本") == "größe \"x\" \\ 日本");
    CHECK(excerpt("a\tb\n\x1b[2J\x7f") == "a\\x09b\\x0a\\x1b[2J\\x7f");
    CHECK(excerpt(std::string_view("a\0b", 3)) == "a\\x00b");
    CHECK(excerpt("\xff\xc3") == "\\xff\\xc3");
    CHECK(excerpt("\xe2\x80") == "\\xe2\\x80");
    CHECK(excerpt("\u202e\u009b\ufeff") == "\\u202e\\x9b\\ufeff");
    CHECK(excerpt("日本語", 3) == "日本語");
    CHECK(excerpt("日本語", 2) == "日本…");
    CHECK(excerpt(std::string(61, 'x')) == std::string(60, 'x') + "…");
    CHECK(excerpt("").empty());
}

TEST_CASE("what a file holds is cut and escaped in every message about it", "[io]") {
    const auto entry = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
        return safetensors("{" + nasty_json + ":{\"dtype\":" + dtype + ",\"shape\":" + shape +
                           ",\"data_offsets\":" + offsets + "}}");
    };
    std::string numbers = "[0";
    for (int i = 0; i < 300'000; ++i) numbers += ",0";
    numbers += "]";
    for (const std::string& bytes :
         {entry(nasty_json, "[1]", "[0,4]"), entry("\"F32\"", nasty_json, "[0,4]"),
          entry("\"F32\"", numbers, "[0,0]"), entry("\"F32\"", "[1]", numbers),
          entry("\"F32\"", "[1]", "[0,4]"), safetensors("{" + nasty_json + ":1}"),
          safetensors("{" + nasty_json + ":1," + nasty_json + ":1}"),
          safetensors("{\"__metadata__\":{" + nasty_json + ":1}}"), safetensors("{\"" + nasty),
          safetensors("{\"x\":" + std::string(1'000'000, '9') + "}")}) {
        const std::string message = safetensors_refusal(bytes);
        check_message(message);
        CHECK(message.starts_with("cannot read "));
    }
    CHECK(
        contains(safetensors_refusal(safetensors("{" + nasty_json + ":1}")), "tensor \"a\\x1b[2J\\x00\\u202e"));
    CHECK(
        contains(safetensors_refusal(safetensors("{\"x\":1e999}")), "holds a number that is too large: 1e999"));

    const auto npy = [](const fs::path& path) { io::load_npy(path); };
    const std::string magic("\x93NUMPY\x01\0\xf0\x00", 10);
    for (const std::string& text :
         {std::string("{'\x1b\xff\0': 1, ", 12), std::string("\x1b[2J\xff\0", 6),
          std::string("{'descr': '<f4\x1b\xff', 'fortran_order': False, 'shape': ()}")})
        check_message(refusal(magic + text + std::string(240 - text.size(), ' '), npy));

    const auto config = [](const fs::path& path) { lm::gpt2_config(path); };
    for (const std::string key :
         {"model_type", "n_embd", "n_inner", "layer_norm_epsilon", "activation_function"}) {
        check_message(refusal("{\"" + key + "\":" + nasty_json + "}", config));
        check_message(refusal("{\"" + key + "\":" + numbers + "}", config));
    }
    check_message(refusal("{" + nasty + "}", config));

    const Scratch scratch;
    fs::copy(fs::path(places::golden()) / "gpt2", scratch.folder(), fs::copy_options::recursive);
    const auto load = [&] { text::BytePairs::load(scratch.folder()); };
    const std::string vocabulary = io::load_text(scratch / "vocab.json").substr(1);
    for (const std::string& first :
         {"{" + nasty_json + ":" + numbers + ",", "{" + nasty_json + ":5,", "{" + nasty_json + ":384,",
          "{" + nasty_json + ":0," + nasty_json + ":0,"}) {
        io::save_text(scratch / "vocab.json", first + vocabulary);
        check_message(message_of<IoError>(load));
    }
    io::save_text(scratch / "vocab.json", "{" + vocabulary);
    const std::string merges = io::load_text(scratch / "merges.txt");
    for (const std::string& line : {nasty, nasty + " b", "a " + nasty + "\n"}) {
        io::save_text(scratch / "merges.txt", merges + line);
        check_message(message_of<IoError>(load));
    }
}

TEST_CASE("config.json with a zero byte, or with more after its object, is refused", "[io][gpt2]") {
    const std::string config = io::load_text(fs::path(places::golden()) / "gpt2/config.json");
    const auto why = [&](const std::string& end) {
        return refusal(config + end, [](const fs::path& path) { lm::gpt2_config(path); });
    };
    CHECK(contains(why(std::string("\0", 1)), ": a zero byte"));
    CHECK(contains(why(std::string("\0{\"n_layer\": 3}", 15)), ": a zero byte"));
    CHECK(contains(why("{}"), "it is not valid JSON at byte " + std::to_string(config.size() + 1)));
}
