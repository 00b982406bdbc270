// What the pages say was measured is what the programs that measure have left in docs/measured.
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "catch.h"
#include "markdown.h"

using namespace markdown;

namespace {

std::vector<std::string> split(const std::string& line, const std::string& separator) {
    std::vector<std::string> cells;
    std::size_t begin = 0;
    for (std::size_t end; (end = line.find(separator, begin)) != std::string::npos;
         begin = end + separator.size())
        cells.push_back(line.substr(begin, end - begin));
    cells.push_back(line.substr(begin));
    return cells;
}

// The rows of the tables under a heading of docs/performance.md.
std::vector<std::string> rows_under(const std::string& heading) {
    std::vector<std::string> rows;
    bool inside = false;
    for (const std::string& line : lines_of(read(root / "docs/performance.md"))) {
        if (line.starts_with("#")) inside = line == heading;
        if (inside && line.starts_with("| ")) rows.push_back(line);
    }
    return rows;
}

// A row's cell: "34.4" of "| char | 2 | 34.4 |" is the third, 2.
std::string cell(const std::string& row, std::size_t i) {
    return split(row.substr(2, row.size() - 4), " | ").at(i);
}

}  // namespace

TEST_CASE("the tables of measurements are those in docs/measured, with processor, kernels, commit and date",
          "[house][measured]") {
    std::vector<std::string> kept;
    for (const fs::path& path : files_in("docs/measured", ".txt")) {
        INFO(path);
        const std::vector<std::string> lines = lines_of(read(path));
        REQUIRE(lines.size() > 6);
        for (std::size_t i = 0; i < 5; ++i) {
            const char* names[] = {"processor  ", "kernels    ", "commit     ", "date       ", "command    "};
            CHECK((lines[i].starts_with(names[i]) && lines[i].size() > 11));
        }
        kept.insert(kept.end(), lines.begin() + 5, lines.end());
    }
    int rows = 0;
    for (const char* heading : {"## The tables", "## A published model", "## What each fused operation buys",
                                "## What fewer bits cost", "## Where the time goes"})
        for (const std::string& row : rows_under(heading)) {
            INFO(heading << ": " << row);
            CHECK(std::count(kept.begin(), kept.end(), row) >= 1);
            ++rows;
        }
    CHECK(rows >= 40);
}

TEST_CASE("the times on 16 cores are those in docs/measured/scaling.txt", "[house][measured]") {
    const std::vector<std::string> record = lines_of(read(root / "docs/measured/scaling.txt"));
    // Whether the first row of a workload, products and number of threads has such a cell, or any has.
    const auto found = [&](const std::string& begin, std::size_t i, const std::string& value, bool in_any) {
        for (const std::string& line : record) {
            if (!line.starts_with(begin)) continue;
            const std::string kept = cell(line, i);
            if (kept == value || std::strtod(kept.c_str(), nullptr) == std::stod(value)) return true;
            if (!in_any) return false;
        }
        return false;
    };
    const std::vector<std::string> rows = rows_under("### On 16 cores");
    CHECK(rows.size() == 8);
    for (std::size_t i = 2; i < rows.size(); ++i) {
        INFO(rows[i]);
        const std::string begin = "| " + cell(rows[i], 0) + " | " + cell(rows[i], 1) + " | ";
        CHECK(found(begin + "1 |", 3, cell(rows[i], 2), false));
        const char* threads[] = {"2 |", "4 |", "8 |", "16 |"};
        for (std::size_t k = 0; k < 4; ++k) CHECK(found(begin + threads[k], 4, cell(rows[i], 3 + k), false));
        CHECK(found(begin + "16 |", 3, cell(rows[i], 7), false));
        if (cell(rows[i], 8) == "–") continue;
        CHECK(found(begin + "16 |", 5, cell(rows[i], 8), true));
        const double ratio = std::stod(cell(rows[i], 7)) / std::stod(cell(rows[i], 8));
        CHECK(std::abs(ratio - std::stod(cell(rows[i], 9))) < 0.0051);
    }
}

TEST_CASE("the times in the README are those of docs/performance.md", "[house][measured]") {
    const std::string readme = read(root / "README.md");
    const auto row = [&](const std::string& begin, const std::string& end = "|") {  // the first of the page
        for (const std::string& line : rows_under("## The tables"))
            if (line.starts_with(begin) && contains(line, end)) return line;
        FAIL("no row " << begin);
        return std::string();
    };
    const auto number = [](const std::string& text) { return text.substr(0, text.find(' ')); };
    for (const char* name : {"char", "gpt2", "attention", "long"}) {
        const std::string begin = "| " + std::string(name) + " | 2 | ";
        const std::string whole = row(begin), half = row(begin, " % |");
        const std::string shown = " | " + cell(whole, 2) + " | " + cell(half, 2) + " | " + cell(whole, 7) +
                                  " | " + cell(half, 8) + " | " + number(cell(whole, 8)) + " | " +
                                  number(cell(half, 10)) + " | " + number(cell(whole, 4)) + " |";
        INFO(name << shown);
        CHECK(contains(readme, shown));
    }
    const std::string decode = row("| decode | bfloat16 | 2 | ");
    CHECK(contains(readme, "Weft generates " + std::to_string(std::lround(std::stod(cell(decode, 3)))) +
                               " tokens a second and PyTorch " +
                               std::to_string(std::lround(std::stod(cell(decode, 9))))));
}

TEST_CASE("the configurations on the page of installing are those that .ci/matrix has recorded",
          "[house][measured]") {
    const std::string page = read(root / "docs/installing.md");
    static const std::regex row(R"(\| `(\w+)` \| ([\d,]+|a program trains) \| ([\d,]+|–) \|)"),
        passed(R"((\d+) assertions in (\d+) test cases?)");
    std::map<std::string, std::pair<std::string, std::string>> shown;
    for (std::sregex_iterator found(page.begin(), page.end(), row), end; found != end; ++found)
        shown[(*found)[1]] = {std::regex_replace((*found)[2].str(), std::regex(","), ""),
                              std::regex_replace((*found)[3].str(), std::regex(","), "")};
    const std::vector<std::string> lines = lines_of(read(root / "docs/measured/matrix.tsv"));
    CHECK(shown.size() == lines.size() - 1);
    std::set<std::string> dates;
    for (std::size_t i = 1; i < lines.size(); ++i) {
        INFO(lines[i]);
        const std::vector<std::string> cells = split(lines[i], "\t");
        REQUIRE(cells.size() == 6);
        CHECK(cells[1] == "passed");
        dates.insert(cells[2]);
        long assertions = 0, tests = 0;
        for (std::sregex_iterator run(cells[5].begin(), cells[5].end(), passed), end; run != end; ++run)
            assertions += std::stol((*run)[1]), tests += std::stol((*run)[2]);
        REQUIRE(shown.count(cells[0]) == 1);
        CHECK(shown[cells[0]] == (tests > 0 ? std::pair(std::to_string(tests), std::to_string(assertions))
                                            : std::pair<std::string, std::string>("a program trains", "–")));
    }
    const std::string first = *dates.begin();  // 2026-11-24
    const std::string day = std::to_string(std::stoi(first.substr(8))), year = first.substr(0, 4);
    CHECK(std::regex_search(page, std::regex("last ran from " + day + " \\w+ " + year + " on,")));
}

TEST_CASE("the lines on the page of comparison are the project's", "[house][measured]") {
    std::smatch shown;
    const std::string page = read(root / "docs/comparison.md");
    REQUIRE(std::regex_search(
        page, shown,
        std::regex(R"(\| lines \| (\d+),(\d+) with headers.*graph, operations and kernels (\d+),(\d+) \|)")));
    const auto lines = [](const std::vector<std::string>& folders) {
        std::size_t count = 0;
        for (const std::string& folder : folders)
            for (const char* extension : {".h", ".cpp"})
                for (const fs::path& path : files_in(folder, extension)) count += lines_of(read(path)).size();
        return static_cast<double>(count);
    };
    std::vector<std::string> core;
    for (const char* room : {"base", "core", "ops", "packed", "fast", "derive", "watch"})
        for (const char* top : {"src/", "include/weft/"}) core.push_back(top + std::string(room));
    CHECK(std::stod(shown[1].str() + shown[2].str()) == Approx(lines({"include", "src"})).epsilon(0.05));
    CHECK(std::stod(shown[3].str() + shown[4].str()) == Approx(lines(core)).epsilon(0.05));
}
