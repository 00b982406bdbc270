// The messages of refusals as docs/errors.md lists them, read out of the sources: "…: axis … is out of range
// for rank …"
#pragma once

#include <cctype>
#include <set>

#include "markdown.h"

namespace messages {

using namespace markdown;

inline std::string without(std::string text, const std::string& part) {
    for (std::size_t at; (at = text.find(part)) != std::string::npos;) text.erase(at, part.size());
    return text;
}

// The source without its comments.
inline std::string code_of(const std::string& source) {
    std::string code;
    for (std::size_t i = 0; i < source.size(); ++i)
        if (source.compare(i, 2, "//") == 0) {
            i = source.find('\n', i) - 1;
        } else if (source[i] == '"') {
            const std::size_t begin = i;
            for (++i; source[i] != '"'; ++i) i += source[i] == '\\';
            code += source.substr(begin, i + 1 - begin);
        } else if (source.compare(i, 3, "'\"'") == 0) {
            i += 2;
        } else {
            code += source[i];
        }
    return code;
}

// The message of the call whose first argument is at `at`, or the value that is assigned there: its string
// literals, with … for everything between them and for what parentheses enclose. An error's message is all of
// its arguments, another function's is its last.
inline std::string pattern_at(const std::string& code, std::size_t at, bool is_error) {
    const std::string text_of = "std::string(";
    std::string pattern;
    std::vector<bool> counts;  // for each open parenthesis, whether what it holds varies
    const auto depth = [&] { return std::count(counts.begin(), counts.end(), true); };
    bool gap = false;
    for (;; ++at) {
        const char c = code[at];
        if (c == '"') {
            std::string words;
            for (++at; code[at] != '"'; ++at)
                if (code[at] == '\\')
                    words += code[++at] == 'n' ? ' ' : code[at];
                else
                    words += code[at];
            if (depth() == 0) pattern += (gap ? "…" : "") + words;
            gap = depth() > 0;
        } else if (code.compare(at, text_of.size() + 1, text_of + '"') == 0) {
            counts.push_back(false);
            at += text_of.size() - 1;
        } else if (c == '\'') {
            at += code[at + 1] == '\\' ? 3 : 2;
            gap = true;
        } else if (c == '(' || c == '[' || c == '{') {
            counts.push_back(true);
            gap = true;
        } else if (c == ')' || c == ']' || c == '}') {
            if (counts.empty()) break;
            counts.pop_back();
        } else if (c == ';' && depth() == 0) {
            break;
        } else if (c == ',' && depth() == 0 && !is_error) {
            pattern.clear();
            gap = false;
        } else if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
            gap = true;
        }
    }
    return pattern + (gap ? "…" : "");
}

// Every message of a file: of what is thrown, and of what a function of its own adds to before it throws.
inline void add_messages(const fs::path& path, std::set<std::string>& messages) {
    static const std::regex site(
        R"(\bthrow\s+(\w+::)?\w*Error\s*\(|\b(refuse|refuse_line|wrong|fail|require)\(|\bmessage\s*=)"),
        gaps("(…)+"), spaces(" +"), first("^…([^:;, ])");
    const std::string code = code_of(read(path));
    for (std::sregex_iterator found(code.begin(), code.end(), site), end; found != end; ++found) {
        std::string pattern = pattern_at(code, static_cast<std::size_t>(found->position() + found->length()),
                                         found->str().starts_with("throw"));
        pattern = std::regex_replace(std::regex_replace(pattern, gaps, "…"), spaces, " ");
        pattern.erase(0, pattern.find_first_not_of(' '));
        pattern.erase(pattern.find_last_not_of(' ') + 1);
        std::string words = without(pattern, "…");
        words.erase(0, words.find_first_not_of(' '));
        if (words.find(' ') != std::string::npos) messages.insert(std::regex_replace(pattern, first, "… $1"));
    }
}

// Of the files of src and include that are `among` those asked for.
template <class Among>
std::set<std::string> of_files(const Among& among) {
    std::set<std::string> messages;
    for (const char* folder : {"src", "include"})
        for (const char* extension : {".cpp", ".h"})
            for (const fs::path& path : files_in(folder, extension))
                if (among(path)) add_messages(path, messages);
    return messages;
}

inline std::set<std::string> of_the_library() {
    return of_files([](const fs::path&) { return true; });
}

inline std::set<std::string> of_the_programs() {
    std::set<std::string> messages;
    for (const char* name : {"train_gpt.cpp", "train_gpt_options.cpp", "generate.cpp", "command_line.cpp"})
        add_messages(root / "examples" / name, messages);
    return messages;
}

inline std::set<std::string> of_the_sources() {
    std::set<std::string> messages = of_the_library();
    messages.merge(of_the_programs());
    return messages;
}

// The text with one space for every run of spaces and ends of lines.
inline std::string spaced(const std::string& text) {
    std::string result;
    for (const char c : text)
        if (c != ' ' && c != '\n')
            result += c;
        else if (!result.empty() && result.back() != ' ')
            result += ' ';
    return result;
}

}  // namespace messages
