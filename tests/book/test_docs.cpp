// The documents show what is true: their C++ is taken from programs that are compiled, their links lead
// somewhere, and sentences agree with the outputs beside them.
// docs/rules.md, which make proofs writes, has an entry for each operation that has a gradient.
// How the comments of the headers' examples are read. The tests of the examples themselves are written by
// header_examples.cpp.
#include <map>
#include <regex>
#include <set>

#include "catch.h"
#include "header_comments.h"
#include "markdown.h"
#include "op_table.h"
#include "weft/core.h"

using namespace markdown;
using comments::checks_of;

namespace {

// The lines of every file of some folders, to look for quoted ones.
class Sources {
public:
    explicit Sources(const std::vector<std::string>& folders = {"examples", "exercises/solutions",
                                                                "exercises/from_scratch/solution"}) {
        for (const std::string& folder : folders)
            for (const char* extension : {".cpp", ".h"})
                for (const fs::path& path : files_in(folder, extension)) {
                    files_.push_back(lines_of(read(path)));
                    if (folder != "include") continue;
                    for (std::string& line : files_.back())  // an example, which the tests compile
                        if (line.starts_with("//     ")) line.erase(0, 2);
                }
    }
    // Whether these lines stand in one of the files, all of them indented by more, or none.
    bool hold(const std::vector<std::string>& block) const {
        const std::vector<std::string> wanted = dedented(block);
        for (const std::vector<std::string>& file : files_)
            for (std::size_t start = 0; start + wanted.size() <= file.size(); ++start) {
                const auto first = file.begin() + static_cast<std::ptrdiff_t>(start);
                if (!wanted.empty() && contains(*first, wanted[0]) &&
                    dedented({first, first + static_cast<std::ptrdiff_t>(wanted.size())}) == wanted)
                    return true;
            }
        return false;
    }

private:
    std::vector<std::vector<std::string>> files_;
};

// Checks that the sources hold every block of this language in the documents; returns how many there are. The
// companions' C++ is left out: it is a program as it stands there (test_companions.cpp).
int blocks_held(const std::string& language, const Sources& sources) {
    int blocks = 0;
    for (const fs::path& document : documents())
        for (const Block& block : blocks_of(read(document)))
            if (block.language() == language && document.parent_path().filename() != "sources") {
                INFO(document << ":" << block.line << "\n" << block.str());
                CHECK(sources.hold(block.lines));
                ++blocks;
            }
    return blocks;
}

}  // namespace

TEST_CASE("every piece of C++ in the documents stands in a program that is compiled", "[house][book]") {
    CHECK(blocks_held("cpp", Sources()) >= 100);
}

TEST_CASE("every piece of the library that the documents quote stands there", "[house][book]") {
    CHECK(blocks_held("c++", Sources({"include", "src", "tests"})) >= 3);
}

// Checks that a page says so, in one paragraph; what its numbers rest on is checked beside.
void says(const std::string& page, const std::string& sentence) {
    INFO(page << " says: " << sentence);
    CHECK(contains(std::regex_replace(read(root / "docs" / page), std::regex("\\n *"), " "), sentence));
}

// The numbers of the first line of a page that begins so, which is part of an output that the page shows.
std::vector<double> row(const std::string& page, const std::string& beginning) {
    static const std::regex number(R"(-?\d+(\.\d+)?(e[-+]\d+)?)");
    for (const std::string& line : lines_of(read(root / "docs" / page))) {
        if (!line.starts_with(beginning)) continue;
        std::vector<double> numbers;
        for (std::sregex_iterator at(line.begin() + std::ssize(beginning), line.end(), number), end; at != end;
             ++at)
            numbers.push_back(std::stod(at->str()));
        return numbers;
    }
    FAIL("docs/" << page << " has no line " << beginning);
    return {};
}

TEST_CASE("a sentence about an output is true of the output that its page shows", "[house][book]") {
    using namespace weft;
    says("00_mathematics.md", "from almost any start, repeated multiplication leads to the direction");
    says("00_mathematics.md", "$(-1, 1)$ stays where it is");
    CHECK(row("00_mathematics.md", "6   (")[2] == Approx(1).margin(0.003));  // y / x: the direction (1, 1)
    CHECK(all(matmul(tensor({{2.0, 1}, {1, 2}}), tensor({-1.0, 1})) == tensor({-1.0, 1})));

    says("07_classification.md",
         "Three of 150 are wrong, and 147/150 = 0.98. Two of them are green points in the");
    CHECK(row("07_classification.md", "class 2   ") == std::vector<double>{2, 1, 47});  // blue is class 0

    says("08_deep_networks.md", "The scale of the weights no longer changes what comes out");
    says("08_deep_networks.md", "get a gradient $1/c$ as large");
    CHECK(row("08_deep_networks.md", "norm, ReLU  1 / root n") ==
          row("08_deep_networks.md", "norm, ReLU  2 / root n"));
    const auto gradient = [](double c) {
        Rng rng(1);
        const Tensor x = randn({5, 8}, rng, float64), target = randn({5, 8}, rng, float64);
        const Tensor W = (randn({8, 8}, rng, float64) * c).requires_grad_();
        return grad({mse_loss(relu(layer_norm(linear(x, W), ones({8}, float64), {}, 1e-30)), target)}, {W})[0];
    };
    CHECK(max(abs(gradient(3) - gradient(1) / 3)).item() < 1e-15);

    says("11_masks.md", "$4096 \\cdot 4097 / 2$ pairs, which makes 537 million");
    says("11_masks.md", "$16 \\cdot 256 \\cdot 257 / 2$, which makes 34");
    CHECK(std::lround(2 * 32 * 4096 * 4097 / 2 / 1e6) == 537);
    CHECK(std::lround(2 * 32 * 16 * 256 * 257 / 2 / 1e6) == 34);
    double whole = 0,
           packed = 0;  // tiles of 128 queries by 128 keys, of which up to four make one of the kernel
    for (int i = 0; i < 32; ++i) whole += i + 1, packed += i % 4 + 1;
    const double tile = 2 * 32 * 128 * 128 / 1e6;
    CHECK(row("11_masks.md", "millions of multiply-adds: one text ") ==
          std::vector<double>{std::round(whole * tile), 16, std::round(packed * tile)});

    says("12_attention_backward.md", "a quarter more arithmetic in backward, and a sixth more in all");
    CHECK(row("12_attention_backward.md", "products of T² d multiply-adds:") == std::vector<double>{2, 4, 5});
    says("12_attention_backward.md", "no seed's cosine falls below 0.05 here");
    double lowest = 1, before = 1;
    for (const char* step : {"step   1", "step 101", "step 201", "step 301"}) {
        const std::vector<double> cosines =
            row("12_attention_backward.md", step);  // right, and wrong from 3 on
        lowest = std::min(lowest, cosines[4]);
        CHECK(cosines[3] < before);  // "the steps turn away from the gradient"
        CHECK(cosines[3] < cosines[0]);
        before = cosines[3];
    }
    CHECK(lowest == 0.05);
    says("12_attention_backward.md", "its slowest seed ends at ten times the loss of the slowest one with the");
    const std::vector<double> ends = row("12_attention_backward.md", " 400 steps");
    CHECK(std::round(ends[5] / ends[2]) == 10);

    says("16_writing.md",
         "498 MB in float32, so a processor that reads 20 GB in a second makes at most 40 such passes");
    CHECK(std::floor(20e9 / 498e6) == 40);

    says("20_gpt2.md", "[36.6 tokens a second on one thread](performance.md#the-tables), which is 18.1 GB/s");
    CHECK(36.6 * 494.6e6 / 1e9 == Approx(18.1).margin(0.05));

    says("22_more_machines.md", "We assume that 125 of them go into what every host does once");
    CHECK(contains(read(root / "examples/chapters/22_more_machines.cpp"), "grain = 0.925 - serial;"));
    says("22_more_machines.md", "step takes 19.5 s instead of 102.5");
    const double at_8 = 16 * 0.8 + 0.125 + 2 * 7 / 8. * 496 / 125 + 2 * 7 * 2e-5 * 475 - 2 / 3. * 0.8;
    CHECK(at_8 == Approx(19.5).margin(0.05));
    CHECK(row("22_more_machines.md", "    8  ")[0] == Approx(102.525 / at_8).margin(0.05));
    says("22_more_machines.md", "They are slower than 64 hosts");
    for (const std::size_t network : {0, 1, 2})
        CHECK(row("22_more_machines.md", "  128  ")[network] < row("22_more_machines.md", "   64  ")[network]);

    says("23_today.md", "The wrong base costs 0.16 nats for every token");
    CHECK(row("23_today.md", "base  10000, halves")[0] - row("23_today.md", "base 100000, halves")[0] ==
          Approx(0.16).margin(0.005));
    says("23_today.md", "The last pair takes $2\\pi \\cdot \\mathrm{base}^{1 - 2/D}$ tokens for a turn");
    CHECK(std::pow(100000., 2. * 31 / 64) == Approx(std::pow(100000., 1 - 2. / 64)));  // 1 / θ of n = D/2 − 1

    says("faults.md", "a new story, whose loss is nearly twice the validation loss");
    const std::string faults = read(root / "docs/faults.md"), top = faults.substr(faults.find("\n## 12. "));
    std::smatch losses;
    REQUIRE(std::regex_search(
        top, losses, std::regex(R"(validation: ([\d.]+) in the last tenth\na story written today: ([\d.]+))")));
    CHECK(std::stod(losses[2]) / std::stod(losses[1]) == Approx(1.9).margin(0.1));
}

TEST_CASE("a piece of C++ is found where it is indented otherwise, and not where a line differs",
          "[house][book]") {
    const Sources sources;
    const std::vector<std::string> loop = {"Tensor loss = mse_loss(attention(x), target);", "loss.backward();"};
    CHECK(sources.hold(loop));
    CHECK_FALSE(sources.hold({loop[0], " " + loop[1]}));
    CHECK_FALSE(sources.hold({loop[1], loop[0]}));
}

TEST_CASE("every link of the documents leads to a file, and to a heading in it", "[house][book]") {
    std::map<fs::path, std::vector<std::string>> anchors;
    int links = 0;
    for (const fs::path& document : documents())
        for (const Link& link : links_of(read(document))) {
            INFO(document << ": [" << link.text << "](" << link.file << "#" << link.anchor << ")");
            const fs::path target = link.file.empty() ? document : document.parent_path() / link.file;
            CHECK(fs::exists(target));
            ++links;
            if (link.anchor.empty() || target.extension() != ".md") continue;
            if (!anchors.count(target)) anchors[target] = anchors_of(read(target));
            CHECK(std::count(anchors[target].begin(), anchors[target].end(), link.anchor) == 1);
        }
    CHECK(links >= 100);
}

TEST_CASE("a number that the text of a link quotes stands where the link leads", "[house][book]") {
    static const std::regex of_pages(R"([Cc]hapters?\s+\d+|[Ff]aults?\s+\d+|^[\d.]+$)"),
        quoted(R"((^|[\s(])(\d[\d,.]*\d|\d)(?=[\s,%]|$))");
    int quotes = 0;
    for (const fs::path& document : documents())
        for (const Link& link : links_of(read(document))) {
            if (link.picture || link.anchor.empty()) continue;
            const fs::path target = link.file.empty() ? document : document.parent_path() / link.file;
            if (target.extension() != ".md") continue;
            const std::string text = std::regex_replace(link.text, of_pages, "");
            for (std::sregex_iterator at(text.begin(), text.end(), quoted), end; at != end; ++at) {
                INFO(document << ": [" << link.text << "](" << link.file << "#" << link.anchor << ")");
                const std::string number =
                    std::regex_replace((*at)[2].str(), std::regex("\\."), std::string("\\."));
                CHECK(std::regex_search(section_of(read(target), link.anchor),
                                        std::regex("(^|[^\\d.])" + number + "(?!\\.?\\d)")));
                ++quotes;
            }
        }
    CHECK(quotes >= 25);
}

TEST_CASE("blocks, links and anchors are read as they are written", "[house][book]") {
    const std::string text =
        "a\n```cpp\nx;\n\ny;\n```\nb\n<!-- output of: iris --steps 0 -->\n```text varies\n[no](no)\n```\n"
        "```text\nz\n```\n## One `d_k`, & two\n[c](d.md#e) ![f](g.svg) [h](https://i.org) [j](#k)\n";
    const std::vector<Block> blocks = blocks_of(text);
    REQUIRE(blocks.size() == 3);
    CHECK(blocks[0].lines == std::vector<std::string>{"x;", "", "y;"});
    CHECK(blocks[0].line == 2);
    CHECK(blocks[1].output_of == "iris --steps 0");
    CHECK(blocks[1].varies());
    CHECK(blocks[2].output_of.empty());
    CHECK_FALSE(blocks[2].varies());
    CHECK(anchors_of(text) == std::vector<std::string>{"one-d_k--two"});
    const std::vector<Link> links = links_of(text);
    REQUIRE(links.size() == 3);
    CHECK(links[0].file == "d.md");
    CHECK(links[0].anchor == "e");
    CHECK(links[1].picture);
    CHECK(links[2].file.empty());
    CHECK(section_of("# a\n## b\nx\n```\n# y\n```\n### c\nz\n## d\n", "b") ==
          "## b\nx\n```\n# y\n```\n### c\nz\n");
    CHECK_THROWS(blocks_of("```cpp\nx;\n"));
}

TEST_CASE("the recipes of the packages name the project's version", "[house]") {
    const std::string project = read(root / "CMakeLists.txt");
    std::smatch version;
    REQUIRE(std::regex_search(project, version, std::regex("project\\(weft VERSION ([0-9.]+)")));
    CHECK(
        contains(read(root / "tools/packaging/vcpkg/vcpkg.json"), "\"version\": \"" + version[1].str() + "\""));
    CHECK(
        contains(read(root / "tools/packaging/conda/recipe.yaml"), "\n  version: " + version[1].str() + "\n"));
    CHECK(contains(read(root / "pyproject.toml"), "\nversion = \"" + version[1].str() + "\"\n"));
}

TEST_CASE("the page of gradient rules has an entry for every differentiable operation, and no other",
          "[house][book]") {
    std::set<std::string> operations, entries;
    for (const OpEntry& op : op_table())
        if (op.gradient != Gradient::none)
            operations.insert(op.declaration.substr(0, op.declaration.find('(')));
    const std::regex entry(R"(- `(.+)`: .*)");
    for (const std::string& line : markdown::lines_of(markdown::read(markdown::root / "docs/rules.md")))
        if (std::smatch found; std::regex_match(line, found, entry)) entries.insert(found[1]);
    CHECK(entries == operations);
    CHECK(entries.size() >= 90);
}

TEST_CASE("a comment that says a value is a check of it", "[house][header-examples]") {
    CHECK(checks_of("const Tensor y = f(x);", "(B, 3) → (2, 3C): [[0, 1]]") ==
          " CHECK(unlike(y, Shape{2, 3 * C}) == \"\"); CHECK(unlike(y, tensor({{0, 1}}, float64)) == \"\");");
    CHECK(checks_of("y = f(x);", "2x = 4, as x is two") == " CHECK(unlike(y, 4.0) == \"\");");
    CHECK(checks_of("const auto [a, b] = g();", "[1] and [2]") ==
          checks_of("a.f();", "a is [1]") + checks_of("a.f();", "b is [2]"));
    CHECK(checks_of("const auto [a, b] = g();", "each (2,)") == checks_of("a.f();", "a (2,), b (2,)"));
    CHECK(checks_of("const Tensor y = f(x);", "each 8") == " CHECK(all(y == 8));");
    CHECK(checks_of("x.step();", "x.size() == 3: three") == " CHECK((x.size() == 3));");
    CHECK(checks_of("x.step();", "two texts, of 3 tokens").empty());
}

TEST_CASE("a comment that begins a value and does not end it is refused", "[house][header-examples]") {
    for (const char* wrong : {"(2, 3", "y is [1, 2", "\"text"})
        CHECK_THROWS(checks_of("const Tensor y = f(x);", wrong));
    CHECK_THROWS(checks_of("x.step();", "3"));                      // of which variable?
    CHECK_THROWS(checks_of("const auto [a, b] = g();", "[1, 2]"));  // likewise
}
