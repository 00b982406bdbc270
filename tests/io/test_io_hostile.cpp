// Files that were made to do harm: they take no more time and memory than their size, and what they hold
// reaches a message cut and escaped.
// Refusals of files, pictures and reports that the tests of these leave out.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>

#include "catch.h"
#include "environment.h"
#include "io/npy.h"
#include "places.h"
#include "refusal.h"
#include "weft/io/files.h"
#include "weft/io/json.h"
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

// An archive of two members, a.npy and b.npy, and its end record.
class Archive {
public:
    Archive() {
        io::save_npz(scratch_ / "a", {{"a", ones({1})}, {"b", zeros({1})}});
        bytes = io::load_text(scratch_ / "a");
        end = bytes.size() - 22;
        std::uint32_t begin = 0;
        std::memcpy(&begin, bytes.data() + end + 16, 4);
        directory = begin;
    }
    void put(std::size_t at, std::uint32_t value, std::size_t width) {
        std::memcpy(bytes.data() + at, &value, width);
    }
    void load() const {
        std::ofstream(scratch_ / "a", std::ios::binary) << bytes;
        io::load_npz(scratch_ / "a");
    }
    std::string bytes;
    std::size_t directory = 0, end = 0;

private:
    Scratch scratch_;
};

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
    CHECK(printable("a\tb\n\x1b[2J\x7f\u009b\u202e\xff") == "a\tb\n\\x1b[2J\\x7f\\x9b\\u202e\\xff");
    CHECK(printable("👩\u200d🚀 größe") == "👩\u200d🚀 größe");
    CHECK(std::string(IoError("cannot read ", "a\rb").what()) == "cannot read a\\x0db");
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

TEST_CASE("refusals of files that are none", "[fault][io]") {
    const Scratch scratch;
    REQUIRE(::mknod((scratch / "socket").c_str(), S_IFSOCK | 0600, 0) == 0);
    REQUIRE(::mkfifo((scratch / "pipe").c_str(), 0600) == 0);
    const int writer = ::open((scratch / "pipe").c_str(), O_RDWR | O_CLOEXEC);  // or opening it waits for one
    io::save_text(scratch / "short", "0123456789");
    refuses<IoError>("socket: it cannot be opened; check its permissions",
                     [&] { io::load_text(scratch / "socket"); });
    refuses<IoError>("socket: it cannot be opened; check its permissions",
                     [&] { io::load_safetensors(scratch / "socket"); });
    refuses<IoError>("pipe: it is not a file with a size", [&] { io::load_safetensors(scratch / "pipe"); });
    refuses<IoError>("/proc/self/mem: reading failed after 0 bytes", [] { io::load_text("/proc/self/mem"); });
    const std::string pointer =
        "version https://git-lfs.github.com/spec/v1\noid sha256:" + std::string(64, 'a') +
        "\nsize 2471645608\n";
    for (const char* name : {"model.safetensors", "model.gguf", "tokenizer.json", "x.npz"}) {
        io::save_text(scratch / name, pointer);
        const auto reads = {std::function<void()>([&] { io::load_safetensors(scratch / name); }),
                            std::function<void()>([&] { io::load_gguf(scratch / name); }),
                            std::function<void()>([&] { io::load_json(scratch / name); }),
                            std::function<void()>([&] { io::load_npz(scratch / name); })};
        for (const auto& read : reads)
            refuses<IoError>("it is a Git LFS pointer, not the file itself; fetch that with git lfs pull",
                             read);
    }
    io::save_text(scratch / "utf16", "\xFF\xFE{");
    refuses<IoError>("utf16: it is UTF-16; convert it to UTF-8: iconv -f UTF-16 -t UTF-8",
                     [&] { io::load_json(scratch / "utf16"); });
    refuses<IoError>("short: it ends too early; is it still being written?", [&] {
        io::InputFile file(scratch / "short");
        char bytes[10];
        file.take(bytes, 4);
        fs::resize_file(scratch / "short", 5);
        file.seek(0);
        file.take(bytes, 10);
    });
    refuses<IoError>("it begins with a byte-order mark", [] { io::parse_json("\xEF\xBB\xBF{}", "it"); });
    refuses<IoError>("cannot read an array: it ends 2 bytes too early", [] {
        io::ByteSource source{"an array", 1, [](void*, std::uint64_t) {}};
        char bytes[3];
        source.take(bytes, 3);
    });
    ::close(writer);
}

TEST_CASE("refusals of archives whose directory says too much or too little", "[fault][io]") {
    refuses<IoError>("its directory cannot hold the 1000 members that it claims", [] {
        Archive archive;
        archive.put(archive.end + 8, 1000, 2), archive.put(archive.end + 10, 1000, 2);
        archive.load();
    });
    refuses<IoError>("its directory continues after its last member", [] {
        Archive archive;
        archive.put(archive.end + 8, 1, 2), archive.put(archive.end + 10, 1, 2);
        archive.load();
    });
    refuses<IoError>("member \"a.npy\" lacks its size", [] {  // its size is in an extra field, which is empty
        Archive archive;
        const std::uint32_t size = static_cast<std::uint32_t>(archive.end - archive.directory);
        archive.put(archive.directory + 24, 0xFFFFFFFF, 4);
        archive.put(archive.directory + 30, 4, 2);
        archive.put(archive.end + 12, size + 4, 4);
        archive.bytes.insert(archive.directory + 46 + 5, std::string("\1\0\0\0", 4));
        archive.load();
    });
    CHECK_NOTHROW(Archive().load());
}

TEST_CASE("a special token that is another token's bytes is refused", "[fault][tokenizer]") {
    const Scratch scratch;
    const fs::path golden = fs::path(places::golden()) / "gpt2";
    std::string vocabulary = io::load_text(golden / "vocab.json");
    const std::string last = "\"<|endoftext|>\":383";
    vocabulary.replace(vocabulary.find(last), last.size(), last + ",\"two words\":384,\"two\u0120words\":385");
    io::save_text(scratch / "vocab.json", vocabulary);
    io::save_text(scratch / "merges.txt", io::load_text(golden / "merges.txt"));
    refuses<IoError>("two tokens are \"", [&] {
        text::BytePairs::load(scratch.folder(), {"two words", "<|endoftext|>"});
    });
}

TEST_CASE("a picture is refused where there is no folder for temporary files", "[fault][viz]") {
    const Scratch scratch;
    {
        const Environment nowhere("TMPDIR", "/nowhere/at/all");
        refuses<IoError>("save_svg: no folder for temporary files: ",
                         [&] { viz::save_svg(scratch / "a.svg", "digraph {}"); });
    }
    const Environment system("TMPDIR", system_folder());
    refuses<IoError>("save_svg: cannot make the folder " + system_folder() + "/weft-",
                     [&] { viz::save_svg(scratch / "a.svg", "digraph {}"); });
    CHECK(fs::is_empty(scratch.folder()));
}

TEST_CASE("refusals of archives that would be too large", "[fault]") {
    const Scratch scratch;
    const Tensor a = zeros({2}).requires_grad_();
    refuses<ValueError>("the archive would reach 4 GiB or 65535 members", [&] {
        io::NamedTensors many;
        for (int i = 0; i < 65535; ++i) many.emplace_back(std::to_string(i), a.detach());
        io::save_npz(scratch / "a.npz", many);
    });
    refuses<ValueError>("the archive would reach 4 GiB or 65535 members", [&] {
        io::save_npz(scratch / "a.npz", {{std::string(65532, 'x'), a.detach()}});
    });
    CHECK_FALSE(std::filesystem::exists(scratch / "a.npz"));
    CHECK_NOTHROW(io::save_npz(scratch / "a.npz", {{std::string(65531, 'x'), a.detach()}}));
}
