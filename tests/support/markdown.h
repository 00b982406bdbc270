// What stands in the project's Markdown: fenced blocks, headings, links and pictures.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "places.h"

namespace markdown {

namespace fs = std::filesystem;

inline const fs::path root = places::source();

inline std::string read(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

inline std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

inline std::vector<std::string> without_blank_lines(std::vector<std::string> lines) {
    std::erase_if(lines,
                  [](const std::string& line) { return line.find_first_not_of(' ') == std::string::npos; });
    return lines;
}

// The files of `folder` with that extension, in order, folders within too.
inline std::vector<fs::path> files_in(const fs::path& folder, const std::string& extension) {
    std::vector<fs::path> found;
    if (!fs::exists(root / folder)) return found;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder))
        if (entry.path().extension() == extension) found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
}

inline std::vector<fs::path> documents() {
    std::vector<fs::path> found = files_in("docs", ".md");
    found.push_back(root / "README.md");
    for (const char* other : {"CONTRIBUTING.md", "tools/packaging/README.md"})
        if (fs::exists(root / other)) found.push_back(root / other);
    return found;
}

// docs/00_….md, the primer, to docs/23_….md
inline std::vector<fs::path> pages_with_programs() {
    std::vector<fs::path> found = files_in("docs", ".md");
    std::erase_if(found, [](const fs::path& path) {
        const std::string name = path.filename().string();
        return !(std::isdigit(static_cast<unsigned char>(name[0])) &&
                 std::isdigit(static_cast<unsigned char>(name[1])));
    });
    return found;
}

// docs/01_….md to docs/23_….md
inline std::vector<fs::path> chapters() {
    std::vector<fs::path> found = pages_with_programs();
    std::erase_if(found, [](const fs::path& path) { return path.filename().string().starts_with("00"); });
    return found;
}

struct Block {
    int line = 0;      // line of its first fence, from 1
    std::string info;  // after the fence: "cpp", "text varies"
    std::vector<std::string> lines;
    std::string output_of;  // the command in <!-- output of: … --> on the line before, or empty

    std::string language() const { return info.substr(0, info.find(' ')); }
    bool varies() const { return info == "text varies"; }
    std::string str() const {
        std::string text;
        for (const std::string& line : lines) text += line + "\n";
        return text;
    }
};

inline std::vector<Block> blocks_of(const std::string& text) {
    static const std::string before = "<!-- output of: ", after = " -->";
    std::vector<Block> blocks;
    bool inside = false;
    int number = 0;
    std::string command;
    for (const std::string& line : lines_of(text)) {
        ++number;
        if (line.starts_with("```")) {
            if (!inside) blocks.push_back({number, line.substr(3), {}, command});
            inside = !inside;
        } else if (inside) {
            blocks.back().lines.push_back(line);
        }
        command.clear();
        if (line.starts_with(before) && line.ends_with(after))
            command = line.substr(before.size(), line.size() - before.size() - after.size());
    }
    if (inside) throw std::runtime_error("a block is not closed: " + blocks.back().str());
    return blocks;
}

// The text without its fenced blocks.
inline std::string prose_of(const std::string& text) {
    std::string prose;
    bool inside = false;
    for (const std::string& line : lines_of(text)) {
        if (line.starts_with("```"))
            inside = !inside;
        else if (!inside)
            prose += line + "\n";
    }
    return prose;
}

// A heading's anchor, as forges make it: lower case, without punctuation, spaces as hyphens.
inline std::string anchor(const std::string& heading) {
    std::string anchor;
    for (const char c : heading) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte) || c == '-' || c == '_' || byte >= 0x80)
            anchor += static_cast<char>(byte < 0x80 ? std::tolower(byte) : byte);
        else if (c == ' ')
            anchor += '-';
    }
    return anchor;
}

inline std::vector<std::string> headings_of(const std::string& text) {
    std::vector<std::string> found;
    for (const std::string& line : lines_of(prose_of(text)))
        if (const std::size_t level = line.find_first_not_of('#'); level > 0 && level < 7 && line[level] == ' ')
            found.push_back(line);
    return found;
}

inline std::vector<std::string> anchors_of(const std::string& text) {
    std::vector<std::string> found;
    for (const std::string& heading : headings_of(text))
        found.push_back(anchor(heading.substr(heading.find(' ') + 1)));
    return found;
}

// The text under the heading with this anchor, up to the next heading of its level or above.
inline std::string section_of(const std::string& text, const std::string& wanted) {
    std::string section;
    std::size_t level = 0;
    bool inside = false;
    for (const std::string& line : lines_of(text)) {
        if (line.starts_with("```")) inside = !inside;
        const std::size_t marks = inside ? 0 : line.find_first_not_of('#');
        if (marks != std::string::npos && marks > 0 && marks < 7 && line[marks] == ' ') {
            if (level == 0 && anchor(line.substr(marks + 1)) == wanted)
                level = marks;
            else if (marks <= level)
                break;
        }
        if (level > 0) section += line + "\n";
    }
    return section;
}

struct Link {
    std::string text, file, anchor;  // [text](file#anchor)
    bool picture = false;
};
inline std::vector<Link> links_of(const std::string& text) {
    static const std::regex link(R"((!?)\[([^\]]*)\]\(([^)#\s]*)(#([^)\s]*))?\))");
    std::vector<Link> found;
    const std::string prose = prose_of(text);
    for (std::sregex_iterator at(prose.begin(), prose.end(), link), end; at != end; ++at)
        if ((*at)[3].str().find(':') == std::string::npos)  // not to another site
            found.push_back({(*at)[2], (*at)[3], (*at)[5], (*at)[1] == "!"});
    return found;
}

// Without the indentation that all lines share.
inline std::vector<std::string> dedented(std::vector<std::string> lines) {
    std::size_t width = std::string::npos;
    for (const std::string& line : lines)
        if (const std::size_t first = line.find_first_not_of(' '); first != std::string::npos)
            width = std::min(width, first);
    for (std::string& line : lines) line = line.size() > width ? line.substr(width) : std::string();
    return lines;
}

}  // namespace markdown
