// What headers, README, CONTRIBUTING and some pages of docs claim with words like "never" and "every" is
// tested: each such sentence is in claims.txt with the test that would fail if it were false.
#include "claims.h"

#include "catch.h"

namespace {

const std::string register_of_claims = "tests/house/claims.txt";

}  // namespace

TEST_CASE("every claim of the headers and pages names the test that would find it false", "[house][claims]") {
    const std::vector<claims::Entry> entries =
        claims::entries_of(claims::read(claims::root / register_of_claims));
    int found = 0;
    for (const auto& [file, sentences] : claims::of_the_project())
        for (const std::string& claim : sentences) {
            INFO(file << ": " << claim << "\n\nAdd it to " << register_of_claims
                      << " with the test that fails if it is false, or let it say less.");
            CHECK(
                std::any_of(entries.begin(), entries.end(), [&file = file, &claim](const claims::Entry& entry) {
                    return entry.file == file && entry.quotes(claim);
                }));
            ++found;
        }
    CHECK(found >= 200);
}

TEST_CASE("the register of claims has no claim that is gone, and no test that does not exist",
          "[house][claims]") {
    const auto sentences = claims::of_the_project();
    const std::set<std::string> tests = claims::tests();
    for (const claims::Entry& entry : claims::entries_of(claims::read(claims::root / register_of_claims))) {
        INFO(register_of_claims << ":" << entry.line << ": " << entry.quote);
        const auto file = sentences.find(entry.file);
        CHECK((file != sentences.end() &&
               std::any_of(file->second.begin(), file->second.end(),
                           [&](const std::string& claim) { return entry.quotes(claim); })));
        CHECK_FALSE(entry.tests.empty());
        for (const std::string& test : entry.tests) {
            INFO("the test " << test);
            CHECK(claims::is_test(test, tests));
        }
    }
}

TEST_CASE("claims are found where they are written, and quoted to their last word", "[house][claims]") {
    using Claims = std::vector<std::string>;
    CHECK(claims::of_header(
              "// It never fails. It `only` runs, all-in.\n//     only an example\nint x;  // all\n"
              "        // of them\nconst char* s = \"// every\";\n// A list:\n// - every\n//   one\n") ==
          Claims{"It never fails.", "all of them", "- every one"});
    CHECK(claims::of_page(
              "# Never\n\nThey are\nsafe. All\nof them.\n\n    only code\n\n- always\n  here\n| row | "
              "cannot |\n```text\nevery\n```\n") == Claims{"All of them.", "always here", "| row | cannot |"});
    const claims::Entry entry{1, "", "Never […] it all", {}};
    CHECK(entry.quotes("Never do it all at once."));
    CHECK_FALSE(entry.quotes("Never do it all, and never at once."));
    CHECK_FALSE(entry.quotes("They never do it all."));
    const auto entries =
        claims::entries_of("# why\n[a.h]\nIt never fails.\n    it does not fail\n\n[b.h]\nAll.\n");
    REQUIRE(entries.size() == 2);
    CHECK((entries[0].file == "a.h" && entries[0].tests == Claims{"it does not fail"}));
    CHECK((entries[1].file == "b.h" && entries[1].line == 7 && entries[1].tests.empty()));
    CHECK(claims::is_test("claims are found where they are written, and quoted to their last word",
                          claims::tests()));
    CHECK(
        claims::is_test("tests/house/test_claims.cpp: "
                        "quoted to their last word",
                        {}));
    CHECK_FALSE(
        claims::is_test("tests/house/test_claims.cpp: quoted to their "
                        "first word",
                        {}));
    CHECK_FALSE(claims::is_test("nowhere.cpp: quoted", {}));
}
