// The appendices: the dictionary's expressions compile and give what they should, every error message is
// explained, and what the sources' page names is there to be run.
#include <map>
#include <set>

#include "markdown.h"
#include "programs.h"

using namespace markdown;

namespace {

std::string page(const char* name) { return read(root / "docs" / name); }

std::string without(std::string text, const std::string& part) {
    for (std::size_t at; (at = text.find(part)) != std::string::npos;) text.erase(at, part.size());
    return text;
}

// The cells of a table's row; "\|" is a bar within one.
std::vector<std::string> cells_of(const std::string& line) {
    std::vector<std::string> cells(1);
    for (std::size_t i = 1; i < line.size(); ++i)
        if (line[i] == '\\' && i + 1 < line.size() && line[i + 1] == '|')
            cells.back() += line[++i];
        else if (line[i] == '|')
            cells.emplace_back();
        else
            cells.back() += line[i];
    cells.pop_back();
    for (std::string& cell : cells) {
        cell.erase(0, cell.find_first_not_of(' '));
        cell.erase(cell.find_last_not_of(' ') + 1);
    }
    return cells;
}

std::vector<std::vector<std::string>> rows_of(const std::string& text) {
    std::vector<std::vector<std::string>> rows;
    for (const std::string& line : lines_of(prose_of(text)))
        if (line.starts_with("| ")) rows.push_back(cells_of(line));
    return rows;
}

}  // namespace

TEST_CASE("every Weft expression of the dictionary stands in its program", "[book][dictionary]") {
    std::string program;
    for (const char c : read(root / "examples/dictionary.cpp"))
        if (const char space = c == '\n' ? ' ' : c; space != ' ' || !program.ends_with(' ')) program += space;
    int expressions = 0;
    for (const auto& row : rows_of(page("dictionary.md"))) {
        INFO(row[0]);
        REQUIRE(row.size() == 4);
        if (row[3] == "Weft") continue;
        CHECK(contains(program, without(row[3], "`")));
        ++expressions;
    }
    CHECK(expressions >= 175);
}

#ifdef WEFT_PROGRAMS_DIR

TEST_CASE("the dictionary's expressions give what they should", "[programs][book][dictionary]") {
    CHECK(run("dictionary").code == 0);
}

#endif
