// Refusals of files, pictures and reports that the tests of these leave out.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <fstream>

#include "environment.h"
#include "io/npy.h"
#include "places.h"
#include "refusal.h"
#include "scratch.h"
#include "weft/io/input_file.h"
#include "weft/io/json.h"
#include "weft/weft.h"

using namespace weft;
namespace fs = std::filesystem;

namespace {

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
