// Reads what a comment of a header's example says, as checks. It says something where one of its parts, between
// commas, semicolons and colons, is a value:
//
//     const Tensor y = f(x);      // (B, 3) → (2, 3): [[0, 1, 2], [3, 4, 5]]
//     const Tensor dx = x.grad(); // 2x = [2, 4]
//     const auto [a, b] = g(x);   // [1, 2] and [0, 1]
//     const auto [a, b] = g(x);   // each (2,)
//     x.step();                   // x.size() is 3, x.name() is "3"
//     const double b = draw();    // b == a
//     x.check();                  // ValueError: x is 3
//
// A value is that of the variable, in the first line its shape and then its elements; what precedes the last =
// or → is for the reader. Values are written as in C++, except shapes (…), the elements of tensors […] and
// texts that end in ": …". The letters of a shape are variables.
#pragma once

#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

namespace comments {

// Where a line's comment begins, outside of strings; the line's end if it has none.
inline std::size_t comment_at(const std::string& line) {
    bool quoted = false;
    for (std::size_t i = 0; i + 1 < line.size(); ++i) {
        if (line[i] == '"' && (i == 0 || line[i - 1] != '\\')) quoted = !quoted;
        if (!quoted && line.compare(i, 2, "//") == 0) return i;
    }
    return line.size();
}

// What stands between separators, outside of brackets and strings.
inline std::vector<std::string> parts_of(const std::string& text) {
    static const std::regex separator(R"(^(,|;|:)( and)? |^ and (?=[\[(]))");
    std::vector<std::string> parts(1);
    int depth = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '"' && (i == 0 || text[i - 1] != '\\')) quoted = !quoted;
        if (!quoted)
            depth += text.find_first_of("([{", i) == i ? 1 : text.find_first_of(")]}", i) == i ? -1 : 0;
        std::smatch found;
        const std::string rest = text.substr(i);
        if (!quoted && depth == 0 && std::regex_search(rest, found, separator)) {
            parts.emplace_back();
            i += static_cast<std::size_t>(found.length()) - 1;
        } else {
            parts.back() += text[i];
        }
    }
    return parts;
}

// The names that a statement declares or assigns to.
inline std::vector<std::string> names_in(const std::string& code) {
    static const std::regex several(R"(auto \[([\w, ]+)\] = )"), word(R"(\w+)"), next(R"(, (\w+) = )"),
        one(R"(^ *(?:(\w+) = |(?:const )?[A-Za-z_][\w:]*(?:<.*?>)?[&*]? (\w+)(?: = |\(|\{|;)))");
    std::vector<std::string> names;
    std::smatch found;
    if (std::regex_search(code, found, several)) {
        const std::string list = found[1];
        for (std::sregex_iterator at(list.begin(), list.end(), word), end; at != end; ++at)
            names.push_back(at->str());
    } else if (std::regex_search(code, found, one)) {
        names.push_back(found[1].str() + found[2].str());
        for (std::sregex_iterator at(code.begin(), code.end(), next), end; at != end; ++at)
            names.push_back((*at)[1]);
    }
    return names;
}

inline bool is_value(const std::string& text) {
    static const std::regex value(
        R"rx(-?\d[\d.]*(e-?\d+)?|0x[0-9a-f]+|true|false|b?float(16|32|64)|int64|boolean)rx"
        R"rx(|[\[({].*[\])}]|"([^"\\]|\\.)*"|U'[^']+')rx");
    return std::regex_match(text, value);
}

// A value in C++.
inline std::string in_cpp(std::string value) {
    static const std::regex factor(R"((\d)([A-Z]))"), whole(R"(-?\d+)"), open(R"(\[)"), close(R"(\])");
    if (value[0] == '(') {
        value = value.substr(1, value.size() - (value.ends_with(",)") ? 3 : 2));
        return "Shape{" + std::regex_replace(value, factor, "$1 * $2") + "}";
    }
    if (value[0] == '[')
        return "tensor(" + std::regex_replace(std::regex_replace(value, open, "{"), close, "}") + ", float64)";
    return std::regex_match(value, whole) ? value + ".0" : value;
}

inline std::string check(const std::string& x, const std::string& value) {
    if (value[0] == '{') return " CHECK(" + x + " == std::decay_t<decltype(" + x + ")>" + value + ");";
    if (value[0] == 'U') return " CHECK(" + x + " == " + value + ");";
    return " CHECK(unlike(" + x + ", " + in_cpp(value) + ") == \"\");";
}

// What follows the last sign.
inline std::string after(const std::string& text, const std::string& sign) {
    const std::size_t last = text.rfind(sign);
    return last == std::string::npos ? text : text.substr(last + sign.size());
}

// The checks of what `comment` says after the statement `code`.
inline std::string checks_of(const std::string& code, const std::string& comment) {
    static const std::regex of_all("(?:each|both) (.*)"), comparison(".* (==|!=|<|>|<=|>=) .*"),
        equation(R"((?:([A-Za-z_*].*) is|([A-Za-z_]\w*) =) (.*))"), noun(R"(([A-Za-z_][\w.]*) ([\[(].*))"),
        named_tensor(R"rx(("[^"]*") (\(.*\)))rx"), unfinished(R"rx((.* (is|=) )?[\[({"].*)rx");
    const std::vector<std::string> names = names_in(code);
    std::vector<std::string> values;
    std::string checks;
    int tensors = 0;
    for (const std::string& whole : parts_of(comment)) {
        const std::string part = after(whole, "→ "), value = after(part, " = ");
        std::smatch found;
        if (std::regex_match(part, comparison)) {
            checks += " CHECK((" + part + "));";
        } else if (std::regex_match(part, found, of_all) && is_value(found[1])) {
            if (names.size() == 1) checks += " CHECK(all(" + names[0] + " == " + found[1].str() + "));";
            for (std::size_t i = 0; names.size() > 1 && i < names.size(); ++i)
                checks += check(names[i], found[1]);
        } else if (std::regex_match(part, found, equation) && is_value(after(found[3], " = "))) {
            checks += check(found[1].str() + found[2].str(), after(found[3], " = "));
        } else if (std::regex_match(part, found, named_tensor)) {
            checks += " CHECK(unlike(" + names.at(0) + ", " + std::to_string(tensors++) + ", " +
                      found[1].str() + ", " + in_cpp(found[2]) + ") == \"\");";
        } else if (is_value(value)) {
            values.push_back(value);
        } else if (std::regex_match(part, found, noun)) {
            checks += check(found[1], found[2]);
        } else if (std::regex_match(part, unfinished)) {
            throw std::runtime_error("this is no value: " + part);
        }
    }
    if (!values.empty() && names.size() != 1 && names.size() != values.size())
        throw std::runtime_error("write which variables these values have: " + comment);
    if (tensors > 0 && comment.find("…") == std::string::npos)
        checks += " CHECK(" + names.at(0) + ".size() == " + std::to_string(tensors) + ");";
    for (std::size_t i = 0; i < values.size(); ++i)
        checks += check(names[names.size() == 1 ? 0 : i], values[i]);
    return checks;
}

}  // namespace comments
