// docs/microgpt.md: a GPT in standard C++ and the same in Weft.
#include "agree.h"
#include "markdown.h"
#include "programs.h"

using namespace markdown;

namespace {

std::vector<std::string> program(const std::string& name) {
    return lines_of(read(root / "examples/microgpt" / name));
}

}  // namespace

TEST_CASE("microgpt has at most 250 lines and needs the standard library alone", "[house][book]") {
    const std::vector<std::string> lines = program("microgpt.cpp");
    CHECK(lines.size() <= 250);
    CHECK(lines.size() > 150);
    static const std::regex standard("#include <[a-z]+>");
    for (const std::string& line : lines)
        if (line.starts_with("#include")) CHECK(std::regex_match(line, standard));
}

TEST_CASE("the page of microgpt shows every line of it, and then of the same in Weft, in order",
          "[house][book]") {
    std::vector<std::string> shown, both = program("microgpt.cpp");
    const std::string page = read(root / "docs/microgpt.md");
    for (const Block& block : blocks_of(page))
        if (block.language() == "cpp") shown.insert(shown.end(), block.lines.begin(), block.lines.end());
    for (const char* name : {"microgpt.cpp", "with_weft.cpp"})
        CHECK(contains(page, "| " + std::to_string(program(name).size()) + " |"));
    for (const std::string& line : program("with_weft.cpp")) both.push_back(line);
    CHECK(without_blank_lines(shown) == without_blank_lines(both));
}

#ifdef WEFT_BOOK

TEST_CASE("a GPT made of numbers and the same in Weft have the same hundred losses to 1e-9",
          "[programs][book]") {
    const std::string names = " " + (root / "examples/microgpt/names.txt").string();
    const auto losses = [&](const std::string& name) {
        std::vector<double> found;
        const Result printed = run(name + names + " 100");
        REQUIRE(printed.code == 0);
        for (const std::string& line : lines_of(printed.output))
            if (line.starts_with("step ")) found.push_back(std::stod(line.substr(line.find("loss ") + 5)));
        return found;
    };
    const std::vector<double> numbers = losses("microgpt"), tensors = losses("microgpt_weft");
    REQUIRE(numbers.size() == 100);
    REQUIRE(tensors.size() == 100);
    for (std::size_t i = 0; i < 100; ++i) CHECK(std::abs(numbers[i] - tensors[i]) < 1.5e-9);  // as printed
    CHECK(numbers[0] > 3.2);
    CHECK(numbers[99] < 3);
}

TEST_CASE("what the page of microgpt shows is what both programs print", "[programs][book]") {
    const std::string page = read(root / "docs/microgpt.md");
    for (const char* name : {"microgpt", "microgpt_weft"}) {
        const Result printed = run(std::string(name) + " " + (root / "examples/microgpt/names.txt").string());
        REQUIRE(printed.code == 0);
        std::vector<std::string> output = lines_of(printed.output);
        if (name != std::string("microgpt")) output.insert(output.begin(), "943 names, 4192 parameters");
        int blocks = 0;
        for (const Block& block : blocks_of(page))
            if (block.language() == "text") {
                INFO("line " << block.line << " shows\n"
                             << block.str() << "but " << name << " prints\n"
                             << printed.output);
                CHECK(agree::occurs_in(block.lines, output, block.varies()));
                ++blocks;
            }
        CHECK(blocks == 3);
    }
}

TEST_CASE("microgpt refuses what is no list of names", "[programs][book]") {
    const Scratch scratch;
    std::ofstream(scratch / "odd.txt") << "anna\nBerta\n";
    const Result odd = run("microgpt " + (scratch / "odd.txt").string());
    CHECK(odd.code == 2);
    CHECK(contains(odd.output, "odd.txt: \"Berta\" is no name of 1 to 15 letters from a to z"));
    for (const char* arguments : {"", "/nonexistent", " /dev/null 10"}) {
        const Result refused = run(std::string("microgpt ") + arguments);
        CHECK(refused.code == 2);
        CHECK(contains(refused.output, "usage: microgpt names.txt [steps]"));
    }
}

#endif
