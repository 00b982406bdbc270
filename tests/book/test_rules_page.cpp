// docs/rules.md, which make proofs writes, has an entry for each operation that has a gradient.
#include <regex>
#include <set>

#include "catch.h"
#include "markdown.h"
#include "op_table.h"

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
