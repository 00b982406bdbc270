// Sentences that claim something: where they stand in headers and pages, and how tests/house/claims.txt quotes
// them.
#pragma once

#include <cctype>
#include <map>
#include <set>

#include "markdown.h"

namespace claims {

using namespace markdown;

// How many of the words that make a sentence a claim are in it, code and titles left out.
inline int words_in(const std::string& sentence) {
    static const std::regex code("`[^`]*`|\"[^\"]*\""),
        word(
            R"((^|[^\w-])(nothing has changed|never|always|only|every|all|complete|same bits|cannot)(?![\w-]))",
            std::regex::icase);
    const std::string prose = std::regex_replace(sentence, code, "``");
    return static_cast<int>(std::distance(std::sregex_iterator(prose.begin(), prose.end(), word), {}));
}

// Paragraphs that lines are added to.
class Paragraphs {
public:
    void add(const std::string& line) {
        if (!open_) list_.emplace_back();
        open_ = true;
        std::istringstream in(line);
        for (std::string word; in >> word;) list_.back() += (list_.back().empty() ? "" : " ") + word;
    }
    void end() { open_ = false; }
    bool open() const { return open_; }
    // Every claim among their sentences.
    std::vector<std::string> claims() const {
        static const std::regex sentence(R"([.!?][)*"]* )");
        std::vector<std::string> found;
        for (const std::string& paragraph : list_) {
            auto begin = paragraph.begin();
            for (std::sregex_iterator stop(begin, paragraph.end(), sentence), last;; ++stop) {
                const auto end = stop == last ? paragraph.end() : (*stop)[0].second - 1;
                const std::string text(begin, end);
                if (words_in(text) > 0) found.push_back(text);
                if (stop == last) break;
                begin = end + 1;
            }
        }
        return found;
    }

private:
    std::vector<std::string> list_;
    bool open_ = false;
};

// Of the comments of a header. The lines of a comment begin in one column; examples, five spaces in, are left
// out.
inline std::vector<std::string> of_header(const std::string& source) {
    Paragraphs paragraphs;
    std::size_t column = 0;
    for (const std::string& line : lines_of(source)) {
        std::size_t at = 0;
        for (bool quoted = false; at < line.size() && (quoted || line.compare(at, 2, "//") != 0); ++at)
            if (line[at] == '"' && (at == 0 || line[at - 1] != '\\')) quoted = !quoted;
        const std::string comment = at < line.size() ? line.substr(at + 2) : "";
        const bool alone = line.find_first_not_of(' ') == at;
        if (!alone || at != column || comment.starts_with(" - ")) paragraphs.end();
        column = at;
        if (comment.empty() || comment.starts_with("     "))
            paragraphs.end();
        else
            paragraphs.add(comment);
    }
    return paragraphs.claims();
}

// Of the prose and the tables of a page.
inline std::vector<std::string> of_page(const std::string& text) {
    static const std::regex item(R"(^(- |\d+\. ))");
    Paragraphs paragraphs;
    for (const std::string& line : lines_of(prose_of(text))) {
        const bool row = line.starts_with("| ");
        if (row || line.empty() || std::regex_search(line, item)) paragraphs.end();
        if (line.empty() || line.starts_with("#") || line.starts_with("<") || line.starts_with("!") ||
            (line.starts_with("    ") && !paragraphs.open()))
            continue;
        paragraphs.add(std::regex_replace(line, item, ""));
        if (row) paragraphs.end();
    }
    return paragraphs.claims();
}

// The claims of each file, by its path.
inline std::map<std::string, std::vector<std::string>> of_the_project() {
    std::map<std::string, std::vector<std::string>> found;
    for (const fs::path& header : files_in("include", ".h"))
        found[fs::relative(header, root).generic_string()] = of_header(read(header));
    for (const char* page : {"README.md", "docs/features.md", "docs/training.md", "docs/installing.md",
                             "CONTRIBUTING.md", "docs/architecture.md"})
        found[page] = of_page(read(root / page));
    std::erase_if(found, [](const auto& file) { return file.second.empty(); });
    return found;
}

struct Entry {
    int line = 0;
    std::string file, quote;  // the claim's beginning, at least to the last of its words; […] leaves some out
    std::vector<std::string> tests;

    bool quotes(const std::string& claim) const {
        std::size_t at = 0, from = 0;
        for (bool first = true; from <= quote.size(); first = false) {
            const std::size_t gap = std::min(quote.find(" […] ", from), quote.size());
            const std::string part = quote.substr(from, gap - from);
            const std::size_t found = claim.find(part, at);
            if (found == std::string::npos || (first && found != 0)) return false;
            at = found + part.size();
            from = gap + std::string(" […] ").size();
        }
        return words_in(quote) == words_in(claim);
    }
};

// Of tests/house/claims.txt: "[file]", claims below it, and indented below each the names of its tests.
inline std::vector<Entry> entries_of(const std::string& text) {
    std::vector<Entry> entries;
    std::string file;
    int number = 0;
    for (const std::string& line : lines_of(text)) {
        ++number;
        if (line.empty() || line.starts_with("#")) continue;
        if (line.starts_with("[") && line.ends_with("]") && !line.starts_with("[…"))
            file = line.substr(1, line.size() - 2);
        else if (line.starts_with("    ") && !entries.empty())
            entries.back().tests.push_back(line.substr(4));
        else
            entries.push_back({number, file, line, {}});
    }
    return entries;
}

// The names of the tests in tests/*.cpp.
inline std::set<std::string> tests() {
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

// Whether it is the name of a test, or "file: text" and the file, of another kind of test, has that text.
inline bool is_test(const std::string& name, const std::set<std::string>& tests) {
    if (tests.count(name)) return true;
    const std::size_t colon = name.find(": ");
    return colon != std::string::npos && fs::is_regular_file(root / name.substr(0, colon)) &&
           read(root / name.substr(0, colon)).find(name.substr(colon + 2)) != std::string::npos;
}

}  // namespace claims
