// The appendices: the dictionaries' expressions compile and give what they should, every error message is
// explained, and what the sources' page names is there to be run.
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <set>

#include "markdown.h"
#include "messages.h"
#include "programs.h"

using namespace markdown;

namespace {

std::string page(const char* name) { return read(root / "docs" / name); }

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

// Two messages' words in common, as a part of all of them.
double alike(const std::string& a, const std::string& b) {
    const auto words_of = [](const std::string& text) {
        std::istringstream in(text);
        return std::multiset<std::string>(std::istream_iterator<std::string>(in), {});
    };
    const std::multiset<std::string> x = words_of(a), y = words_of(b);
    std::vector<std::string> both;
    std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(both));
    return 2.0 * static_cast<double>(both.size()) / static_cast<double>(x.size() + y.size());
}

// The page of errors with the messages that the sources throw: a reworded one keeps its place, another that is
// gone leaves its row, and a new one gets a row at the end that waits for an explanation.
std::string with_messages(std::string text, std::set<std::string> gone, const std::set<std::string>& added) {
    const auto cell_of = [](const std::string& message) {
        return "`" + std::regex_replace(message, std::regex("\\|"), "\\|") + "`";
    };
    for (const std::string& message : added) {
        const auto nearest = std::max_element(gone.begin(), gone.end(), [&](const auto& a, const auto& b) {
            return alike(a, message) < alike(b, message);
        });
        if (nearest != gone.end() && alike(*nearest, message) >= 0.5) {
            const std::string before = cell_of(*nearest);
            text.replace(text.find(before), before.size(), cell_of(message));
            gone.erase(nearest);
        } else {
            text += "| " + cell_of(message) + " |  |\n";
        }
    }
    for (const std::string& message : gone) {
        const std::string cell = cell_of(message);
        const std::size_t at = text.find(cell);
        const bool first = text.compare(at - 2, 2, "| ") == 0,
                   more = text.compare(at + cell.size(), 4, "<br>") == 0;
        if (first && !more)
            text.erase(at - 2, text.find('\n', at) + 1 - (at - 2));
        else
            text.erase(more ? at : at - 4, cell.size() + 4);
    }
    return text;
}

// The messages in the left column of the page of errors.
std::vector<std::string> explained_in(const std::string& text) {
    static const std::regex code("`([^`]+)`");
    std::vector<std::string> found;
    for (const auto& row : rows_of(text))
        for (std::sregex_iterator at(row[0].begin(), row[0].end(), code), end; at != end; ++at)
            found.push_back((*at)[1]);
    return found;
}

}  // namespace

TEST_CASE("every Weft expression of the dictionaries stands in their program", "[book][dictionary]") {
    std::string program;
    for (const char c : read(root / "examples/dictionary.cpp"))
        if (const char space = c == '\n' ? ' ' : c; space != ' ' || !program.ends_with(' ')) program += space;
    for (const auto& [name, least] : {std::pair{"dictionary.md", 190}, {"dictionary_jax.md", 240}}) {
        int expressions = 0;
        for (const auto& row : rows_of(page(name))) {
            INFO(name << ": " << row[0]);
            REQUIRE(row.size() == (name == std::string("dictionary.md") ? 5 : 4));  // one for Weft in Python
            if (row[3] == "Weft") continue;
            CHECK(contains(program, messages::without(row[3], "`")));
            ++expressions;
        }
        INFO(name);
        CHECK(expressions >= least);
    }
}

TEST_CASE("every message of a refusal is explained on the page of errors, and no other", "[book][errors]") {
    const std::set<std::string> thrown = messages::of_the_sources();
    std::string text = page("errors.md");
    const auto differ = [&](std::set<std::string>& gone, std::set<std::string>& added) {
        const std::vector<std::string> listed = explained_in(text);
        gone = {listed.begin(), listed.end()};
        CHECK(gone.size() == listed.size());
        added = thrown;
        for (const std::string& message : listed) added.erase(message);
        for (const std::string& message : thrown) gone.erase(message);
    };
    std::set<std::string> gone, added;
    differ(gone, added);
    if (std::getenv("WEFT_WRITE_ERRORS") != nullptr) {  // make errors
        text = with_messages(text, gone, added);
        std::ofstream(root / "docs/errors.md", std::ios::binary) << text;
        differ(gone, added);
    }
    for (const std::string& message : added)
        FAIL_CHECK("docs/errors.md lacks, until make errors: `" << message << "`");
    for (const std::string& message : gone)
        FAIL_CHECK("docs/errors.md explains what is thrown no more, until make errors: `" << message << "`");
    for (const auto& row : rows_of(text)) {
        INFO("docs/errors.md: write in the right column what it means and the way out: " << row[0]);
        REQUIRE(row.size() == 2);
        CHECK(row[1].size() >= 10);
    }
    CHECK(thrown.size() >= 400);
}

TEST_CASE("the page of errors keeps the explanations of messages that stay or are reworded", "[book][errors]") {
    CHECK(with_messages(
              "| `f: a | b`<br>`f: old` | one |\n| `g: bad size …; use 1` | two |\n| `h: x` | three |\n",
              {"f: old", "g: bad size …; use 1", "h: x"}, {"g: bad size …; use 2", "new: a | b"}) ==
          "| `f: a | b` | one |\n| `g: bad size …; use 2` | two |\n| `new: a \\| b` |  |\n");
}

TEST_CASE("a message is found in the source as the page writes it", "[book][errors]") {
    const auto pattern = [](const std::string& code, bool is_error = false) {
        return messages::pattern_at(code, 0, is_error);
    };
    CHECK(pattern("\"a \" + x.str() + \" b\" \"c\");") == "a … bc");
    CHECK(pattern("who() + \"a, b\");") == "…a, b");
    CHECK(pattern("std::string(\"a \") + name + (x ? \" b\" : \"\"));") == "a …");
    CHECK(pattern("name, \": a \", x.size(1, 2), \" b\");", true) == "…: a … b");
    CHECK(pattern("path, \"the \\\"\" + name + \"\\\"\");") == "the \"…\"");
    CHECK(messages::code_of("a; // \"b\"\n\"c // d\" '\"'") == "a; \n\"c // d\" ");
}

TEST_CASE("the contents name every document, and the chapters' titles as they stand there",
          "[book][contents]") {
    const std::string contents = page("README.md");
    std::set<std::string> named;
    for (const Link& link : links_of(contents)) named.insert(link.file);
    for (const fs::path& document : files_in("docs", ".md")) {
        INFO(document);
        // The second track lists its own pages.
        if (document.filename() != "README.md" && document.parent_path().filename() != "from_scratch")
            CHECK(named.count(document.lexically_relative(root / "docs").generic_string()) == 1);
    }
    for (const fs::path& project : files_in("exercises", ".cpp"))
        if (project.parent_path().filename() == "exercises" &&
            project.filename().string().starts_with("project_")) {
            const std::string name = project.filename().string(), number(1, name.at(8));
            INFO("docs/README.md lacks part " << number << ", its project or its recap");
            const std::size_t part = contents.find("\n### Part " + number + ": "),
                              done = contents.find("](../exercises/" + name + ")", part),
                              recap = contents.find("](recap_" + number + ".md)", done);
            CHECK((part < done && done < recap && recap < contents.find("\n## ", part)));
        }
    for (const fs::path& chapter : pages_with_programs()) {
        const std::string title = headings_of(read(chapter)).at(0).substr(2);  // "9. Many heads"
        const std::string row = "| " + title.substr(0, title.find('.')) + " | [" +
                                title.substr(title.find(' ') + 1) + "](" + chapter.filename().string() + ") |";
        INFO("docs/README.md lacks: " << row);
        CHECK(contains(contents, row));
    }
}

TEST_CASE("the glossary is in alphabetical order, each term once and with a link to what explains it",
          "[book][glossary]") {
    static const std::regex entry(R"(- \*\*([^*]+)\*\*)");
    std::string before, text;
    int terms = 0;
    const auto plain = [](std::string words) {
        for (char& c : words)
            c = c == '_' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        return words;
    };
    const auto check_link = [&] {
        if (before.empty()) return;
        INFO(before << ": " << text);
        const std::vector<Link> links = links_of(text);
        REQUIRE(links.size() == 1);
        CHECK(contains(plain(read(root / "docs" / links[0].file)),
                       before.substr(0, 4)));  // at least the beginning: "clip" of "clipping"
    };
    for (const std::string& line : lines_of(page("glossary.md"))) {
        std::smatch match;
        if (std::regex_search(line, match, entry)) {
            check_link();
            const std::string term = plain(match[1]);
            INFO(before << " before " << term);
            CHECK(before < term);
            before = term, text = line, ++terms;
        } else {
            text += line.starts_with("#") ? "" : line;
        }
    }
    check_link();
    CHECK(terms >= 100);
}

TEST_CASE("every command of the sources' page is there to be run", "[book][sources]") {
    const std::string text = page("sources.md");
    std::string tests;
    for (const fs::path& path : files_in("tests", ".cpp")) tests += read(path);
    const auto each = [&](const char* pattern, auto check) {
        const std::regex command(pattern);
        int count = 0;
        for (std::sregex_iterator at(text.begin(), text.end(), command), end; at != end; ++at, ++count) {
            INFO(at->str());
            check((*at)[1].str());
        }
        return count;
    };
    CHECK(each("weft_tests \"(\\[[^\\]]+\\])\"",
               [&](const std::string& tag) { CHECK(contains(tests, tag)); }) >= 65);
    CHECK(each("make (?:chapter|exercise) N=(\\d+)", [](const std::string& number) {
              CHECK((std::stoi(number) >= 0 && std::stoi(number) <= static_cast<int>(chapters().size())));
          }) >= 20);
    CHECK(each("build/release/examples/(\\w+)", [](const std::string& program) {
              CHECK(fs::exists(root / "examples" / (program + ".cpp")));
          }) >= 10);
    // And every statement of the sources that a test proves is there.
    static const std::regex statement("\\[S[0-4]\\.[0-9]{2}\\]");
    for (std::sregex_iterator at(tests.begin(), tests.end(), statement), end; at != end; ++at) {
        INFO("docs/sources.md does not say where " << at->str() << " is");
        CHECK(contains(text, at->str()));
    }
}

namespace {

// What stands between the brackets of each TEST_CASE(…): its name and its tags.
std::vector<std::string> heads_of_tests() {
    const std::string begin = "TEST_CASE(", end = ") {";
    std::vector<std::string> heads;
    for (const fs::path& path : files_in("tests", ".cpp")) {
        const std::string text = read(path);
        for (std::size_t at = text.find("\n" + begin); at != std::string::npos;
             at = text.find("\n" + begin, at + 1)) {
            const std::size_t from = at + 1 + begin.size();
            heads.push_back(text.substr(from, text.find(end, from) - from));
        }
    }
    return heads;
}

}  // namespace

TEST_CASE("every statement of the sources has a test, and [source] runs all of these", "[book][sources]") {
    constexpr int statements[] = {12, 13, 12, 19, 5};  // counts for S0 to S4
    std::set<std::string> tested;
    static const std::regex statement("S[0-4]\\.[0-9]{2}");
    for (const std::string& head : heads_of_tests())
        for (std::sregex_iterator at(head.begin(), head.end(), statement), end; at != end; ++at) {
            INFO(head);
            CHECK(contains(head, "[source]"));
            if (contains(head, "[" + at->str() + "]")) tested.insert(at->str());
        }
    for (int source = 0; source < 5; ++source)
        for (int i = 1; i <= statements[source]; ++i) {
            const std::string id = "S" + std::to_string(source) + (i < 10 ? ".0" : ".") + std::to_string(i);
            INFO("no test is named for " << id);
            CHECK(tested.count(id) == 1);
        }
}

TEST_CASE("the golden case that CONTRIBUTING shows is one of those in the script", "[book][contributing]") {
    int blocks = 0;
    for (const Block& block : blocks_of(read(root / "CONTRIBUTING.md")))
        if (block.language() == "python") {
            INFO(block.str());
            for (const std::string& line : block.lines)
                CHECK(contains(read(root / "tests/golden/golden_ops.py"), "\n" + line + "\n"));
            ++blocks;
        }
    CHECK(blocks == 1);
}

#ifdef WEFT_PROGRAMS

TEST_CASE("the dictionaries' expressions give what they should", "[programs][book][dictionary]") {
    CHECK(run("dictionary").code == 0);
}

#endif
