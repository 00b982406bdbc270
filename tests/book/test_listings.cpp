// The chapters' listings can be typed from an empty file: they use no name that was not shown before.
#include <map>
#include <set>

#include "catch.h"
#include "markdown.h"

using namespace markdown;

namespace {

struct Token {
    std::string text;
    bool name = false;  // an identifier, keywords included
};

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The tokens of C++ text, without comments, preprocessor lines and what stands in quotes.
std::vector<Token> tokens_of(const std::string& text) {
    std::vector<Token> tokens;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at + 1;
        const char c = text[at];
        if (text.compare(at, 2, "//") == 0 || c == '#') {
            end = std::min(text.find('\n', at), text.size());
        } else if (c == '"' || (c == '\'' && (at == 0 || !in_name(text[at - 1])))) {
            while (end < text.size() && text[end] != c) end += text[end] == '\\' ? 2 : 1;
            ++end;
        } else if (in_name(c)) {
            while (end < text.size() && in_name(text[end])) ++end;
            tokens.push_back({text.substr(at, end - at), !std::isdigit(static_cast<unsigned char>(c))});
        } else if (!std::isspace(static_cast<unsigned char>(c))) {
            if (text.compare(at, 2, "::") == 0 || text.compare(at, 2, "->") == 0) ++end;
            tokens.push_back({text.substr(at, end - at)});
        }
        at = end;
    }
    return tokens;
}

const std::set<std::string> keywords = {
    "auto",     "bool",     "break",   "case",   "catch",  "char",    "class",     "const",       "constexpr",
    "continue", "default",  "do",      "double", "else",   "enum",    "false",     "float",       "for",
    "if",       "inline",   "int",     "long",   "new",    "mutable", "namespace", "nullptr",     "operator",
    "override", "private",  "public",  "return", "size_t", "sizeof",  "static",    "static_cast", "struct",
    "switch",   "template", "this",    "throw",  "true",   "try",     "typename",  "unsigned",    "using",
    "void",     "while",    "main",    "argc",   "argv",   "delete",  "explicit",  "short",       "signed",
    "final",    "virtual",  "noexcept"};
// Of the standard library, used as members or without std::.
const std::set<std::string> standard = {
    "INFINITY",  "NAN",     "M_PI",        "npos",         "begin",      "end",
    "size",      "find",    "push_back",   "emplace_back", "pop_back",   "pop",
    "push",      "top",     "starts_with", "ends_with",    "first",      "second",
    "exists",    "empty",   "back",        "front",        "substr",     "data",
    "count",     "insert",  "erase",       "str",          "what",       "insert_or_assign",
    "contains",  "resize",  "assign",      "append",       "fetch_add",  "uint32_t",
    "int64_t",   "int32_t", "string",      "reset",        "get",        "value",
    "has_value", "reserve", "clear",       "rbegin",       "rend",       "rfind",
    "c_str",     "mkdtemp", "R",           "tanh",         "remove_all", "temp_directory_path",
    "join"};
// After these a name is used, not declared.
const std::set<std::string> before_a_use = {"return", "else",     "new",    "throw",
                                            "case",   "operator", "sizeof", "delete"};

// Names of the public headers.
std::set<std::string> public_names() {
    std::set<std::string> names;
    for (const fs::path& header : files_in("include/weft", ".h"))
        for (const Token& token : tokens_of(read(header)))
            if (token.name) names.insert(token.text);
    return names;
}

// Constants of the public headers, which are used as variables are: `constexpr DType float32 = …, float64 =
// …;`.
std::set<std::string> public_constants() {
    std::set<std::string> names;
    for (const fs::path& header : files_in("include/weft", ".h")) {
        const std::vector<Token> tokens = tokens_of(read(header));
        bool constant = false;
        for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
            if (tokens[i].text == "constexpr") constant = true;
            if (tokens[i].text == ";" || tokens[i].text == "{") constant = false;
            if (constant && tokens[i].name && tokens[i + 1].text == "=") names.insert(tokens[i].text);
        }
    }
    return names;
}

// Names that the listings of a page use and neither the page has shown by then nor the headers hold.
std::set<std::string> unknown_names(const std::string& page) {
    static const std::set<std::string> library = public_names(), constants = public_constants();
    std::set<std::string> declared, unknown;
    for (const Block& block : blocks_of(page)) {
        if (block.language() != "cpp") continue;
        // A header of the examples, which the page links to, brings its names.
        static const std::regex include(R"re(#include "(?!weft/)[^"]*?(\w+\.h)")re");
        for (const std::string& line : block.lines)
            if (std::smatch match; std::regex_search(line, match, include))
                for (const fs::path& header : files_in("examples", ".h"))
                    if (header.filename() == match[1].str())
                        for (const Token& token : tokens_of(read(header))) declared.insert(token.text);
        const std::vector<Token> tokens = tokens_of(block.str());
        const auto text = [&](std::size_t i) { return i < tokens.size() ? tokens[i].text : std::string(); };
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            if (!tokens[i].name || keywords.count(tokens[i].text)) continue;
            const std::string &name = tokens[i].text, before = i > 0 ? text(i - 1) : "", after = text(i + 1);
            const bool after_type = (i > 0 && tokens[i - 1].name && !before_a_use.count(before)) ||
                                    before == "&" || before == "*" || before == ">" || before == "]";
            const bool in_list = before == "[" || before == "," || before == "(";
            if (after_type && std::string("=({;,):[").find(after) != std::string::npos) declared.insert(name);
            const bool in_braces = before == "{" || before == ",";
            if (in_braces &&
                (after == "," || after == "}" || after == "=")) {  // enum class Order { first, second }
                std::size_t open = i;
                while (open > 0 && text(open) != "{") --open;
                if (open > 1 && (text(open - 2) == "enum" || text(open - 2) == "class")) declared.insert(name);
            }
            if (in_list && (after == "=" || after == "," || after == "]" || after == ";")) {
                // auto [a, b] = …;  Tensor a = f(x), b;  [n = 3]
                std::size_t start = i;
                for (int depth = 0; start > 0; --start) {
                    const std::string t = text(start - 1);
                    if (t == ")" || t == "]" || t == "}") ++depth;
                    if (depth == 0 && (t == ";" || t == "(" || t == "[" || t == "{")) break;
                    if (t == "(" || t == "[" || t == "{") --depth;
                }
                const std::string first = text(start), opened = start > 0 ? text(start - 1) : "",
                                  bound = start > 1 ? text(start - 2) : "";
                if (after == "=" || (opened == "[" && (bound == "auto" || bound == "&")) ||
                    (opened != "[" && (keywords.count(first) || text(start + 1) == "::" ||
                                       std::isupper(static_cast<unsigned char>(first[0])))))
                    declared.insert(name);
            }
            const bool member = before == "." || before == "->" || before == "::" || after == "::";
            std::size_t outermost = i;  // start of a::b::name
            while (outermost > 1 && text(outermost - 1) == "::") outermost -= 2;
            if (text(outermost) == "std" || text(outermost) == "xt") continue;
            if (name == "std" || name == "xt" || declared.count(name) || standard.count(name)) continue;
            if (member || after == "(" || after == "<" || std::isupper(static_cast<unsigned char>(name[0]))
                    ? library.count(name)
                    : constants.count(name))
                continue;
            if (after_type && tokens[i - 1].name) continue;
            unknown.insert(name);
        }
    }
    return unknown;
}

std::string joined(const std::set<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += " " + name;
    return text;
}

}  // namespace

TEST_CASE("a listing uses no name that its chapter has not shown", "[house][book]") {
    for (const fs::path& page : pages_with_programs()) {
        INFO(page);
        CHECK(joined(unknown_names(read(page))) == "");
    }
}
