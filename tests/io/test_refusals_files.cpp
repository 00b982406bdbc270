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
    check_refusals<IoError>({
        {"socket: it cannot be opened; check its permissions", [&] { io::load_text(scratch / "socket"); }},
        {"socket: it cannot be opened; check its permissions",
         [&] { io::load_safetensors(scratch / "socket"); }},
        {"pipe: it is not a file with a size", [&] { io::load_safetensors(scratch / "pipe"); }},
        {"/proc/self/mem: reading failed after 0 bytes", [] { io::load_text("/proc/self/mem"); }},
        {"short: it ends too early; is it still being written?",
         [&] {
             io::InputFile file(scratch / "short");
             char bytes[10];
             file.take(bytes, 4);
             fs::resize_file(scratch / "short", 5);
             file.seek(0);
             file.take(bytes, 10);
         }},
        {"it begins with a byte-order mark", [] { io::parse_json("\xEF\xBB\xBF{}", "it"); }},
        {"cannot read an array: it ends 2 bytes too early",
         [] {
             io::ByteSource source{"an array", 1, [](void*, std::uint64_t) {}};
             char bytes[3];
             source.take(bytes, 3);
         }},
    });
    ::close(writer);
}

TEST_CASE("refusals of archives whose directory says too much or too little", "[fault][io]") {
    check_refusals<IoError>({
        {"its directory cannot hold the 1000 members that it claims",
         [] {
             Archive archive;
             archive.put(archive.end + 8, 1000, 2), archive.put(archive.end + 10, 1000, 2);
             archive.load();
         }},
        {"its directory continues after its last member",
         [] {
             Archive archive;
             archive.put(archive.end + 8, 1, 2), archive.put(archive.end + 10, 1, 2);
             archive.load();
         }},
        {"member \"a.npy\" lacks its size",
         [] {  // its size is in an extra field, which is empty
             Archive archive;
             const std::uint32_t size = static_cast<std::uint32_t>(archive.end - archive.directory);
             archive.put(archive.directory + 24, 0xFFFFFFFF, 4);
             archive.put(archive.directory + 30, 4, 2);
             archive.put(archive.end + 12, size + 4, 4);
             archive.bytes.insert(archive.directory + 46 + 5, std::string("\1\0\0\0", 4));
             archive.load();
         }},
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
    CHECK(contains(message_of<IoError>([&] {
                       text::BytePairs::load(scratch.folder(), {"two words", "<|endoftext|>"});
                   }),
                   "two tokens are \""));
}

TEST_CASE("a picture is refused where there is no folder for temporary files", "[fault][viz]") {
    const Scratch scratch;
    {
        const Environment nowhere("TMPDIR", "/nowhere/at/all");
        CHECK(contains(message_of<IoError>([&] { viz::save_svg(scratch / "a.svg", "digraph {}"); }),
                       "save_svg: no folder for temporary files: "));
    }
    const Environment system("TMPDIR", system_folder());
    CHECK(contains(message_of<IoError>([&] { viz::save_svg(scratch / "a.svg", "digraph {}"); }),
                   "save_svg: cannot make the folder " + system_folder() + "/weft-"));
    CHECK(fs::is_empty(scratch.folder()));
}

TEST_CASE("refusals of optimisers and archives", "[fault]") {
    const Scratch scratch;
    const Tensor a = zeros({2}).requires_grad_();
    check_refusals<ValueError>({
        {"parameter 'a' is in two groups",
         [&] {
             optim::AdamW({{nn::NamedTensors{{"a", a}}, {.lr = 0.1}}, {nn::NamedTensors{{"a", a}}, {}}});
         }},
        {"SGD: Nesterov's momentum needs a momentum above 0",
         [&] { optim::SGD(std::vector<Tensor>{a}, {.lr = 1, .nesterov = true}); }},
        {"the archive would reach 4 GiB or 65535 members",
         [&] {
             io::NamedTensors many;
             for (int i = 0; i < 65535; ++i) many.emplace_back(std::to_string(i), a.detach());
             io::save_npz(scratch / "a.npz", many);
         }},
        {"the archive would reach 4 GiB or 65535 members",
         [&] {
             io::save_npz(scratch / "a.npz", {{std::string(65532, 'x'), a.detach()}});
         }},
    });
    CHECK_FALSE(std::filesystem::exists(scratch / "a.npz"));
    CHECK_NOTHROW(io::save_npz(scratch / "a.npz", {{std::string(65531, 'x'), a.detach()}}));
}

TEST_CASE("refusals of pictures and reports", "[fault]") {
    viz::Drawing drawing(100, 100, "a drawing");
    const auto plot = [](const std::function<void(viz::Plot&)>& change) {
        return [change] {
            viz::Plot plot({});
            change(plot);
        };
    };
    check_refusals<ValueError>({
        {"Drawing::path: 1 points; give two or more",
         [&] {
             drawing.path({{1, 2}});
         }},
        {"Drawing::path: 0 points; give two or more", [&] { drawing.path({}); }},
        {"Drawing::cells: 0 digits; give 1 to 17",
         [&] { drawing.cells(0, 0, 9, 9, zeros({2}), {.digits = 0}); }},
        {"Drawing::cells: 18 digits; give 1 to 17",
         [&] { drawing.cells(0, 0, 9, 9, zeros({2}), {.digits = 18}); }},
        {"contours; give 0 to 100", plot([](viz::Plot& p) {
             p.field(zeros({2, 2}), {0, 1}, {0, 1}, 101);
         })},
        {"contours; give 0 to 100", plot([](viz::Plot& p) {
             p.field(zeros({2, 2}), {0, 1}, {0, 1}, -1);
         })},
        {"Plot::text: a length is", plot([](viz::Plot& p) { p.text(NAN, 0, "x"); })},
        {"Plot::text: a length is", plot([](viz::Plot& p) { p.text(0, INFINITY, "x"); })},
        {"give the smaller end first", plot([](viz::Plot& p) {
             p.field(zeros({2, 2}), {1, 1}, {0, 1});
         })},
        {"count steps from 0",
         [] {
             report::Report report("a run");
             report.loss(-1, {.training = 1.0});
         }},
    });
    CHECK_NOTHROW(drawing.cells(0, 0, 9, 9, zeros({2}), {.digits = 17}));
    CHECK_NOTHROW(plot([](viz::Plot& p) { p.field(zeros({2, 2}), {0, 1}, {0, 1}, 100); })());
}
