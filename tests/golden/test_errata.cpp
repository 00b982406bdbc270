// docs/errata.md: its tables are what examples/errata.cpp prints, and every test that it names exists.
#include "markdown.h"
#include "programs.h"
#include "source.h"

using namespace source;

namespace {

std::string page() { return markdown::read(markdown::root / "docs/errata.md"); }

}  // namespace

TEST_CASE("S1.12 of the pictures' filled cells one looks at the future: head 2, The at cat",
          "[S1.12][source][errata]") {
    const Tensor head_1 = tensor({{1, 0, 0}, {1, 1, 0}, {0, 1, 1}}, boolean),
                 head_2 = tensor({{0, 1, 0}, {1, 0, 0}, {0, 1, 0}}, boolean);
    const Tensor future = Mask::causal().materialize(1, 1, 3, 3).reshape({3, 3});
    CHECK_FALSE(any(head_1 && future));
    const Tensor ahead = head_2 && future;
    CHECK(ahead.to_vector<bool>() == std::vector<bool>{0, 1, 0, 0, 0, 0, 0, 0, 0});
    // Causal attention cannot make that picture: its first token sees itself alone.
    Rng rng(1);
    const nn::CausalMultiHeadAttention attention(8, 2, rng);
    const Tensor weights = attention.with_weights(random({3, 8}, 2, float32)).weights;  // (2, 3, 3)
    for (std::int64_t h = 0; h < 2; ++h) CHECK(printed(weights[h][0], 2) == "1.00 0.00 0.00");
}

TEST_CASE("errata.md names each statement that differs, and only tests that exist", "[errata]") {
    const std::string text = page();
    for (const char* id :
         {"S0.07", "S1.05", "S1.08", "S1.09", "S1.10", "S1.12", "S3.10", "S3.12", "S3.15", "S3.18", "S4.05"})
        CHECK(contains(text, std::string("`weft_tests \"[") + id + "]\"`"));
    std::string tests;
    for (const auto& path : markdown::files_in("tests", ".cpp")) tests += markdown::read(path);
    static const std::regex command("weft_tests \"\\[([^\\]]+)\\]\"");
    int commands = 0;
    for (std::sregex_iterator at(text.begin(), text.end(), command), end; at != end; ++at, ++commands) {
        INFO(at->str());
        CHECK(std::regex_search(tests, std::regex("TEST_CASE\\([^;{]*\\[" + (*at)[1].str() + "\\]")));
    }
    CHECK(commands >= 14);
}

#ifdef WEFT_PROGRAMS

TEST_CASE("errata.md's tables are what examples/errata prints", "[programs][errata]") {
    const auto [code, output] = run("errata");
    REQUIRE(code == 0);
    const std::size_t first = output.find("\n\n"), second = output.find("\n\n", first + 2);
    REQUIRE(second != std::string::npos);
    const std::string text = page();
    for (const std::string& table :
         {output.substr(0, first + 1), output.substr(first + 2, second - first - 1)}) {
        INFO("the page does not hold this table, which examples/errata prints:\n" << table);
        CHECK(contains(text, "\n\n" + table));
        CHECK(std::count(table.begin(), table.end(), '\n') >= 7);
    }
    // And the times, whose numbers are of one machine and one hour.
    static const std::regex number("[0-9]+\\.[0-9]{2}");
    const auto without_numbers = [&](const std::string& lines) {
        return std::regex_replace(lines, number, "#");
    };
    bool found = false;
    for (const markdown::Block& block : markdown::blocks_of(text))
        if (block.varies())
            found = found || without_numbers(block.str()) == without_numbers(output.substr(second + 2));
    CHECK(found);
    CHECK(without_numbers(output) != output);
}

TEST_CASE("what beside_pytorch.md shows of Weft is what its program prints", "[programs][errata]") {
    const auto [code, output] = run("beside_pytorch");
    REQUIRE(code == 0);
    std::string shown;
    for (const markdown::Block& block :
         markdown::blocks_of(markdown::read(markdown::root / "docs/beside_pytorch.md")))
        if (block.output_of == "beside_pytorch") shown += block.str();
    CHECK(shown == output);
}

#endif
