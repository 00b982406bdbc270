// Files are the same, and are read alike, whatever the locale.
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <locale>
#include <string>

#include "catch.h"
#include "golden/golden.h"
#include "places.h"
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

// While it lives, numbers in this program look German: in C++ streams, and in C's functions by a locale that
// localedef makes in `folder` from nothing but what is here, so none has to be installed.
class German {
public:
    explicit German(const fs::path& folder)
        : before_(std::locale::global(std::locale(std::locale(), new Comma))) {
        std::string ascii = "<code_set_name> ASCII\nCHARMAP\n";
        for (int code = 0; code < 128; ++code) {
            char line[32];
            std::snprintf(line, sizeof line, "<U%04X> /x%02x\n", code, code);
            ascii += line;
        }
        io::save_text(folder / "ascii", "<escape_char> /\n" + ascii + "END CHARMAP\n");
        io::save_text(folder / "german",
                      "LC_NUMERIC\ndecimal_point \"<U002C>\"\nthousands_sep \"<U002E>\"\ngrouping 3;3\n"
                      "END LC_NUMERIC\n");
        // It warns of the categories that are not there, and --force makes them all the same.
        const std::string at = folder.string() + "/";
        (void)!std::system(("localedef --force -f " + at + "ascii -i " + at + "german " + at + "de_DE 2>&1 " +
                            ">/dev/null | grep -v warning")
                               .c_str());
        setenv("LOCPATH", folder.c_str(), 1);
        INFO("localedef (Debian: libc-bin) has made no German locale");
        REQUIRE(std::setlocale(LC_ALL, "de_DE") != nullptr);
        REQUIRE(std::string(std::localeconv()->decimal_point) == ",");
    }
    ~German() {
        std::locale::global(before_);
        std::setlocale(LC_ALL, "C");
        unsetenv("LOCPATH");
    }
    German(const German&) = delete;
    German& operator=(const German&) = delete;

private:
    std::locale before_;
};

// Everything that is written as text or with text in it: files, tensors, errors, checks and pictures.
std::string written() {
    const Scratch scratch;
    const Tensor x = tensor({1234.5, -0.125, 1e10}, float64);
    io::save_safetensors(scratch / "a", {{"x", x}, {"wide", zeros({1, 1234})}}, {{"k", "1,5"}});
    io::save_npy(scratch / "b", zeros({2, 1234}));
    io::save_npz(scratch / "c", {{"x", x}, {"wide", zeros({1, 1234})}});
    const std::string message = message_of<ShapeError>([] {
        return matmul(zeros({1, 1234}), zeros({4321, 1}));
    });
    Rng rng(1);
    const std::string refusal = message_of<ValueError>([&] { return dropout(x, 1.5, rng); });
    const Tensor weights = softmax(randn({1, 3, 3}, rng), -1);
    return format_number(1234.5) + refusal + check::mask_oracle(x, Mask()).str() +
           viz::attention_text(weights) + viz::attention_svg(weights) + io::load_text(scratch / "a") +
           io::load_text(scratch / "b") + io::load_text(scratch / "c") + x.str() + message;
}

}  // namespace

#ifdef __GLIBCXX__  // which has std::from_chars for doubles
TEST_CASE("from_chars reads what std::from_chars does", "[io]") {
    const Scratch locales;
    const German german(locales.folder());
    const std::string texts[] = {"0",
                                 "-0",
                                 "1",
                                 "1.5",
                                 "1,5",
                                 "-2.5e-3x",
                                 "1e400",
                                 "-1e400",
                                 "1e-400",
                                 "5e-324",
                                 "2.3e-308",
                                 "inf",
                                 "-inf",
                                 "infinity",
                                 "INF",
                                 "nan",
                                 "-NaN",
                                 "nan(1)",
                                 "",
                                 "-",
                                 "+1",
                                 " 1",
                                 "\n1",
                                 "- 1",
                                 "--1",
                                 "-+1",
                                 "0x1p3",
                                 "-0X10",
                                 "0x",
                                 ".5",
                                 "5.",
                                 ".",
                                 "e5",
                                 "1e",
                                 "1e+",
                                 "1e+2",
                                 "1.2.3",
                                 "1 2",
                                 "abc",
                                 "i",
                                 "1_000",
                                 "0.1",
                                 "123456789012345678901234567890",
                                 "1.7976931348623157e308"};
    for (const std::string& text : texts) {
        INFO("\"" << text << "\"");
        double value = 7, expected = 7;
        const auto found = from_chars(text, value);
        if (text == "1e-400") {  // which std::from_chars refuses
            CHECK(value == 0);
            continue;
        }
        const auto wanted = std::from_chars(text.data(), text.data() + text.size(), expected);
        CHECK(found.ec == wanted.ec);
        CHECK(found.ptr - text.data() == wanted.ptr - text.data());
        CHECK((value == expected || (std::isnan(value) && std::isnan(expected))));
        CHECK(std::signbit(value) == std::signbit(expected));
    }
    int whole = 0;
    CHECK(*from_chars("12,", whole).ptr == ',');
    CHECK(whole == 12);
}
#endif

TEST_CASE("under a German locale the same files are written, and read as they were", "[fault][io]") {
    const Scratch scratch;
    const std::string before = written();
    const fs::path python = fs::path(places::golden()) / "io";
    const German german(scratch.folder());
    char text[16];
    std::snprintf(text, sizeof text, "%.1f", 1.5);
    REQUIRE(std::string(text) == "1,5");  // this is what the files must not show
    CHECK(written() == before);
    CHECK(io::load_safetensors(python / "python.safetensors").at("matrix").at({2, 3}) == 4.5);
    CHECK(io::load_npy(python / "float64.npy").at({1, 2, 1}) == 4.5);
    CHECK(io::load_npz(python / "savez.npz").size() == 7);
}
