// Files are the same, and are read alike, whatever the locale.
#include <clocale>
#include <cstdlib>
#include <locale>
#include <string>

#include "catch.h"
#include "golden/golden.h"
#include "programs.h"
#include "weft/weft.h"

using namespace weft;
namespace fs = std::filesystem;

namespace {

// "1.234,5", as in German.
struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
};

// While it lives, numbers in this program look German: in C++ streams, and in C's functions by de_DE as
// localedef makes it in `folder`.
class German {
public:
    explicit German(const fs::path& folder)
        : before_(std::locale::global(std::locale(std::locale(), new Comma))) {
        const std::string make = "localedef -i de_DE -f UTF-8 " + (folder / "de_DE.UTF-8").string();
        made_ = std::system((make + " >/dev/null 2>&1").c_str()) == 0;
        setenv("LOCPATH", folder.c_str(), 1);
        made_ = made_ && std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr;
    }
    ~German() {
        std::locale::global(before_);
        std::setlocale(LC_ALL, "C");
        unsetenv("LOCPATH");
    }
    German(const German&) = delete;
    German& operator=(const German&) = delete;
    bool made() const { return made_; }

private:
    std::locale before_;
    bool made_ = false;
};

// Everything that is written as text or with text in it.
std::string written() {
    const Scratch scratch;
    const Tensor x = tensor({1234.5, -0.125, 1e10}, float64);
    io::save_safetensors(scratch / "a", {{"x", x}, {"wide", zeros({1, 1234})}}, {{"k", "1,5"}});
    io::save_npy(scratch / "b", zeros({2, 1234}));
    io::save_npz(scratch / "c", {{"x", x}, {"wide", zeros({1, 1234})}});
    const std::string message = message_of<ShapeError>([] {
        return matmul(zeros({1, 1234}), zeros({4321, 1}));
    });
    return io::load_text(scratch / "a") + io::load_text(scratch / "b") + io::load_text(scratch / "c") +
           x.str() + message;
}

}  // namespace

TEST_CASE("fault 102: under a German locale the same files are written, and read as they were", "[fault][io]") {
    const Scratch scratch;
    const std::string before = written();
    const fs::path python = fs::path(WEFT_GOLDEN_DIR) / "io";
    const German german(scratch.folder());
    if (!german.made()) WARN("no localedef (Debian: locales): only C++'s streams were made German");
    if (german.made()) REQUIRE(std::string(std::localeconv()->decimal_point) == ",");
    CHECK(written() == before);
    CHECK(io::load_safetensors(python / "python.safetensors").at("matrix").at({2, 3}) == 4.5);
    CHECK(io::load_npy(python / "float64.npy").at({1, 2, 1}) == 4.5);
    CHECK(io::load_npz(python / "savez.npz").size() == 7);
}

#ifdef WEFT_PROGRAMS_DIR
TEST_CASE("fault 102: train_gpt under a German locale writes the same files", "[fault][programs][train]") {
    const Scratch data, plain, other, locales;
    io::save_text(data / "text", pangrams());
    const std::string command =
        tiny + "--steps 3 --lr 1.5e-3 --prompt 'The ' --text " + (data / "text").string() + " ";
    const German german(locales.folder());  // its folder stays in the environment
    const Result first = run(command + in(plain), "export LC_ALL=C");
    const Result second = run(command + in(other), "export LC_ALL=de_DE.UTF-8");
    REQUIRE(first.code == 0);
    REQUIRE(second.code == 0);
    for (const char* name : {"model.safetensors", "best.safetensors", "loss.csv"})
        CHECK((io::load_text(plain / name) == io::load_text(other / name)));
    CHECK(contains(second.output, "step      3/3  loss 3."));
    check_refusal(run("train_gpt --lr 0,5", "export LC_ALL=de_DE.UTF-8"), 2, "\"0,5\" is not a number");
}
#endif
