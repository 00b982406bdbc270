// The documents show what is true: their C++ is taken from programs that are compiled, and their links lead
// somewhere.
#include <map>

#include "catch.h"
#include "markdown.h"

using namespace markdown;

namespace {

// The lines of every file of some folders, to look for quoted ones.
class Sources {
public:
    explicit Sources(const std::vector<std::string>& folders = {"examples", "exercises/solutions",
                                                                "exercises/from_scratch/solution"}) {
        for (const std::string& folder : folders)
            for (const char* extension : {".cpp", ".h"})
                for (const fs::path& path : files_in(folder, extension)) files_.push_back(lines_of(read(path)));
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

TEST_CASE("every example in a header is run by a test", "[house][header-examples]") {
    const Sources sources({"tests"});
    int examples = 0;
    for (const fs::path& header : files_in("include", ".h")) {
        std::vector<std::string> block;
        std::vector<std::string> lines = lines_of(read(header));
        lines.emplace_back();  // ends the last block
        for (std::string line : lines) {
            line.erase(0, line.find_first_not_of(' '));
            if (line.starts_with("//     ")) {
                block.push_back(line.substr(7));
            } else if (!block.empty()) {
                INFO(header << ": the example that begins with " << block[0]);
                CHECK(sources.hold(block));
                block.clear();
                ++examples;
            }
        }
    }
    CHECK(examples >= 30);
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

TEST_CASE("the new names on the page of names are the library's", "[house]") {
    std::string library;
    for (const char* folder : {"include", "examples"})
        for (const fs::path& path : files_in(folder, ".h")) library += read(path);
    library += read(root / "examples/generate.cpp");
    static const std::regex quoted("`([^`]+)`"), last_word(R"(\w+(?=\W*$|\())");
    int names = 0;
    for (const std::string& line : lines_of(read(root / "docs/names.md"))) {
        const std::size_t second = line.find(" | ");
        if (!line.starts_with("| `") || contains(line, "weft/")) continue;
        const std::string cell = line.substr(second + 3, line.find(" |", second + 3) - second - 3);
        for (std::sregex_iterator quote(cell.begin(), cell.end(), quoted), end; quote != end; ++quote) {
            const std::string text = (*quote)[1];
            for (std::sregex_iterator word(text.begin(), text.end(), last_word); word != end; ++word) {
                INFO(word->str() << " in " << line);
                CHECK(std::regex_search(library, std::regex("\\b" + word->str() + "\\b")));
                ++names;
            }
        }
    }
    CHECK(names >= 60);
}
