// The documents show what is true: their C++ is taken from programs that are compiled, and their links lead
// somewhere.
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
    for (const Op& op : op_table())
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
