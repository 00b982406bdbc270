// The documents show what is true: their C++ is taken from programs that are compiled, and their links lead
// somewhere.
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <vector>

#include "catch.h"

namespace {

namespace fs = std::filesystem;
const fs::path root = WEFT_SOURCE_DIR;

std::string read(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<fs::path> files_in(const char* folder, const char* extension) {
    std::vector<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder))
        if (entry.path().extension() == extension) found.push_back(entry.path());
    return found;
}

std::vector<fs::path> documents() {
    std::vector<fs::path> found = files_in("docs", ".md");
    found.push_back(root / "README.md");
    return found;
}

std::vector<std::string> code_blocks(const std::string& text) {
    std::vector<std::string> blocks;
    bool inside = false;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line == "```cpp")
            blocks.emplace_back();
        else if (inside && line != "```")
            blocks.back() += line + "\n";
        inside = line == "```cpp" || (inside && line != "```");
    }
    return blocks;
}

}  // namespace

TEST_CASE("every piece of C++ in the documents stands in an example that is compiled", "[house]") {
    std::string examples;
    for (const fs::path& path : files_in("examples", ".cpp")) examples += read(path);
    int blocks = 0;
    for (const fs::path& document : documents())
        for (const std::string& block : code_blocks(read(document))) {
            INFO(document << ":\n" << block);
            CHECK(contains(examples, block));
            ++blocks;
        }
    CHECK(blocks >= 3);
}

TEST_CASE("every link of the documents leads to a file", "[house]") {
    static const std::regex link(R"(\]\(([^)#:\s]+)(#[^)]*)?\))");
    int links = 0;
    for (const fs::path& document : documents()) {
        const std::string text = read(document);
        for (std::sregex_iterator at(text.begin(), text.end(), link), end; at != end; ++at) {
            INFO(document << ": " << at->str());
            CHECK(fs::exists(document.parent_path() / (*at)[1].str()));
            ++links;
        }
    }
    CHECK(links >= 5);
}

TEST_CASE("pieces of C++ are found between their fences", "[house]") {
    CHECK(code_blocks("a\n```cpp\nx;\ny;\n```\nb\n```\nno\n```\n```cpp\nz;\n```\n") ==
          std::vector<std::string>{"x;\ny;\n", "z;\n"});
}
