// The classes of faults that Weft survives are listed in faults.txt with the tests of each.
#include "catch.h"
#include "claims.h"

TEST_CASE("every class of faults in the list has a test, and every test of the list exists", "[house][fault]") {
    const auto faults = claims::entries_of(claims::read(claims::root / "tests/house/faults.txt"));
    CHECK(faults.size() >= 115);
    const std::set<std::string> tests = claims::tests();
    for (const claims::Entry& fault : faults) {
        INFO("tests/house/faults.txt:" << fault.line << ": " << fault.quote << ", under " << fault.file);
        CHECK_FALSE(fault.tests.empty());
        for (const std::string& test : fault.tests) {
            INFO("the test " << test);
            CHECK(tests.contains(test));
        }
    }
}
