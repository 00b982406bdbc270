// The text that train_gpt trains on if none is given: the prose of the Jargon File, from Debian's package
// jargon-text, or else that of this project's own pages. One paragraph a line, in ASCII.
#pragma once

#include <weft/training.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace default_text {

namespace fs = std::filesystem;

struct Source {
    std::string title, text;
    std::string warning = {};  // if it is not the Jargon File
};

// The characters that a keyboard has, for those of typesetting.
inline std::string in_ascii(std::string text) {
    static const std::pair<std::string_view, std::string_view> replacements[] = {
        {"“", "\""}, {"”", "\""}, {"‘", "'"}, {"’", "'"}, {"—", "-"}, {"–", "-"}, {"\u00A0", " "}};
    for (const auto& [from, to] : replacements)
        for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
            text.replace(at, from.size(), to);
    return text;
}

// Whether a line is sentences: it has some length, begins like one, ends like one, and consists of what is on a
// page of prose. Headings, items of lists, code and tables fail.
inline bool is_prose(const std::string& line) {
    const std::size_t last = line.find_last_not_of("\"')]");
    return line.size() >= 60 && last != std::string::npos &&
           std::string_view(".!?").find(line[last]) != std::string_view::npos &&
           (std::isupper(static_cast<unsigned char>(line[0])) || std::string_view("\"'(").find(line[0]) < 3) &&
           std::all_of(line.begin(), line.end(), [](char c) {
               return std::isalnum(static_cast<unsigned char>(c)) ||
                      std::string_view(" .,;:!?'\"()[]-/&").find(c) != std::string_view::npos;
           });
}

// The paragraphs of the Jargon File: blocks of lines that are indented by three spaces. They lose what may
// stand before a definition, as in "2. [Usenet] vt. To post", and the braces of references.
inline std::string jargon_prose(const std::string& file) {
    static const std::regex beginning(R"(^([0-9]+\. )?(\[[^\]]*\] )?([a-z]{1,6}\.,? ?)*(\[[^\]]*\] )?)"),
        spaces(" +");
    std::istringstream lines(in_ascii(file) + "\n\n");
    std::string prose, paragraph;
    bool indented = true;
    for (std::string line; std::getline(lines, line);) {
        if (line.find_first_not_of(' ') != std::string::npos) {
            indented = indented && line.find_first_not_of(' ') == 3;
            paragraph += (paragraph.empty() ? "" : " ") + line.substr(std::min<std::size_t>(3, line.size()));
            continue;
        }
        std::erase_if(paragraph, [](char c) { return c == '{' || c == '}'; });
        paragraph = std::regex_replace(std::regex_replace(paragraph, beginning, ""), spaces, " ");
        if (indented && is_prose(paragraph)) prose += paragraph + "\n";
        paragraph.clear();
        indented = true;
    }
    return prose;
}

// The paragraphs and list items of a page in Markdown, without code, tables, headings, pictures, the targets of
// links, and the marks of emphasis.
inline std::string markdown_prose(const std::string& page) {
    static const std::regex link(R"(\[([^\]]*)\]\([^)]*\))"), emphasis(R"(\*{1,2}([^* ][^*]*)\*{1,2})"),
        item(R"(^ *(?:[-*]|[0-9]+\.) +)"), spaces(" +");
    std::istringstream lines(in_ascii(page) + "\n\n");
    std::string prose, paragraph;
    bool code = false;
    const auto end = [&] {
        std::erase(paragraph, '`');
        for (const auto& [mark, text] : {std::pair{&link, "$1"}, {&emphasis, "$1"}, {&spaces, " "}})
            paragraph = std::regex_replace(paragraph, *mark, text);
        if (is_prose(paragraph)) prose += paragraph + "\n";
        paragraph.clear();
    };
    for (std::string line; std::getline(lines, line);) {
        const bool fence = line.starts_with("```"), is_item = std::regex_search(line, item);
        if (fence) code = !code;
        const bool kept = !code && !fence && !line.empty() && !line.starts_with("    ") &&
                          std::string_view("#|<!").find(line[0]) == std::string_view::npos;
        if (!kept || is_item) end();
        if (kept) paragraph += (paragraph.empty() ? "" : " ") + std::regex_replace(line, item, "");
    }
    return prose;
}

// Where the Jargon File is: installed, or unpacked by make train into the project's folder build.
inline std::vector<fs::path> places(const fs::path& project) {
    const fs::path installed = "/usr/share/doc/jargon-text/jargon.txt.gz";
    return {installed, project / "build/jargon-text" / installed.relative_path()};
}

// The first of `jargon` that exists, or README.md of the project and all of docs.
inline Source load(const fs::path& project, const std::vector<fs::path>& jargon) {
    for (const fs::path& path : jargon)
        if (fs::exists(path)) return {"The Jargon File", jargon_prose(weft::training::read_text({path}))};
    std::vector<fs::path> pages;
    if (fs::is_directory(project / "docs"))
        for (const auto& entry : fs::recursive_directory_iterator(project / "docs"))
            if (entry.path().extension() == ".md") pages.push_back(entry.path());
    std::sort(pages.begin(), pages.end());
    pages.insert(pages.begin(), project / "README.md");
    Source source{
        "Weft's book", "",
        "the Jargon File is missing, so the text is the prose of Weft's book; install Debian's package "
        "jargon-text, or run make train once with a network"};
    for (const fs::path& page : pages) source.text += markdown_prose(weft::training::read_text({page}));
    return source;
}

}  // namespace default_text
