// The classes of faults that Weft survives are listed in faults.txt with the tests of each.
#include <set>

#include "catch.h"
#include "markdown.h"

using namespace markdown;

namespace {

// The names of the tests in tests/*.cpp.
std::set<std::string> tests() {
    static const std::regex test(R"rx(TEST_CASE(?:_METHOD\(\s*[\w:]+,|\()\s*((?:"(?:[^"\\]|\\.)*"\s*)+))rx"),
        gap(R"("\s+")"), quote(R"(\\")");
    std::set<std::string> names;
    for (const fs::path& path : files_in("tests", ".cpp")) {
        const std::string source = read(path);
        for (std::sregex_iterator found(source.begin(), source.end(), test), end; found != end; ++found) {
            std::string name = std::regex_replace((*found)[1].str(), gap, "");
            name = std::regex_replace(name, quote, "'");
            name.erase(name.find_last_of('"'));
            names.insert(name.substr(1));
        }
    }
    return names;
}

}  // namespace

TEST_CASE("every class of faults in the list has a test, and every test of the list exists", "[house][fault]") {
    const std::set<std::string> names = tests();
    std::vector<std::string> lines = lines_of(read(root / "tests/house/faults.txt"));
    lines.emplace_back("[end]");
    int faults = 0, of_this_one = 1;  // tests of it
    for (const std::string& line : lines) {
        INFO("before or at " << line);
        if (line.empty() || line.starts_with("#")) continue;
        if (line.starts_with("    ")) {
            CHECK(names.contains(line.substr(4)));
            ++of_this_one;
            continue;
        }
        CHECK(of_this_one > 0);
        const bool section = line.starts_with("[");
        of_this_one = section ? 1 : 0;
        faults += section ? 0 : 1;
    }
    CHECK(faults >= 115);
}
