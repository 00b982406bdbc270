// Headers and names of the edition before forward to the new ones (docs/names.md).
#include "catch.h"
#include "messages.h"

std::string names_before();

TEST_CASE("a program with the headers and names of the edition before compiles and runs", "[house]") {
    CHECK(names_before() == "0 0.25 (1, 0) one\\x0atwo 6β3");
}

TEST_CASE("every header and name that forwards is in the program of the edition before", "[house]") {
    const std::string program = markdown::read(markdown::root / "tests/house/before.cpp");
    int headers = 0, names = 0;
    for (const auto& path : markdown::files_in("include/before", ".h")) {
        const std::string header =
            std::filesystem::relative(path, markdown::root / "include/before").generic_string();
        INFO(header);
        CHECK(contains(program, "#include \"" + header + "\"\n"));
        CHECK(contains(markdown::read(path), "#pragma message"));
        ++headers;
    }
    static const std::regex name(
        R"(namespace weft::(\w+) \{|using (\w+) \[\[dep|[\w>&*] (\w+)\((?=[^;{]*\)\s*\{))");
    const std::string text = markdown::read(markdown::root / "include/weft/before.h");
    std::string space;
    for (std::sregex_iterator found(text.begin(), text.end(), name), end; found != end; ++found) {
        if ((*found)[1].matched) {
            space = (*found)[1];
            continue;
        }
        const std::string old = space + "::" + (*found)[2].str() + (*found)[3].str();
        INFO(old);
        CHECK(contains(program, old));
        ++names;
    }
    CHECK(headers > 35);
    CHECK(names > 25);
}
