// Whether what a program prints today agrees with what a document shows: words exactly, numbers as closely as
// they are printed, for another processor may round otherwise.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

namespace agree {

struct Piece {
    std::string text;
    bool number = false;
    bool whole = false;  // a count, which rounding does not touch
    double value = 0;
    double unit = 0;  // value of one unit in the last digit
};

// A line as words and numbers, in turn. A number is [−]digits[.digits][e[±]digits].
inline std::vector<Piece> pieces_of(const std::string& line) {
    static const std::string minus = "−";
    std::vector<Piece> pieces;
    std::string words;
    const auto digit = [&](std::size_t at) {
        return at < line.size() && std::isdigit(static_cast<unsigned char>(line[at]));
    };
    for (std::size_t at = 0; at < line.size();) {
        if (!digit(at)) {
            words += line[at++];
            continue;
        }
        const bool negative = words.ends_with("-") || words.ends_with(minus);
        if (negative) words.resize(words.size() - (words.ends_with("-") ? 1 : minus.size()));
        std::size_t end = at;
        int decimals = 0, exponent = 0;
        while (digit(end)) ++end;
        if (end + 1 < line.size() && line[end] == '.' && digit(end + 1))
            for (++end; digit(end); ++end) ++decimals;
        const std::size_t sign = end + 1 < line.size() && (line[end + 1] == '-' || line[end + 1] == '+');
        if (end < line.size() && line[end] == 'e' && digit(end + 1 + sign)) {
            exponent = std::atoi(line.c_str() + end + 1);
            for (end += 1 + sign; digit(end);) ++end;
        }
        Piece number{(negative ? "-" : "") + line.substr(at, end - at), true, decimals == 0 && exponent == 0, 0,
                     0};
        number.value = std::strtod(number.text.c_str(), nullptr);
        number.unit = std::pow(10.0, exponent - decimals);
        pieces.push_back({words});
        pieces.push_back(number);
        words.clear();
        at = end;
    }
    pieces.push_back({words});
    return pieces;
}

inline bool numbers(const Piece& a, const Piece& b) {
    if (a.text == b.text) return true;
    if (a.whole || b.whole) return false;
    return std::abs(a.value - b.value) <= 1.001 * std::max(a.unit, b.unit);
}

inline std::string without_spaces(std::string text) {
    std::erase(text, ' ');
    return text;
}

// `varies`: any number does in the place of a number, and columns may be of other widths.
inline bool lines(const std::string& a, const std::string& b, bool varies = false) {
    if (a == b) return true;
    const std::vector<Piece> one = pieces_of(a), other = pieces_of(b);
    if (one.size() != other.size()) return false;
    for (std::size_t i = 0; i < one.size(); ++i) {
        if (one[i].number != other[i].number) return false;
        if (one[i].number ? !varies && !numbers(one[i], other[i])
            : varies      ? without_spaces(one[i].text) != without_spaces(other[i].text)
                          : one[i].text != other[i].text)
            return false;
    }
    return true;
}

// Whether `block` stands in `output`, line by line without a gap. Spaces at the ends of lines do not count.
inline bool occurs_in(std::vector<std::string> block, std::vector<std::string> output, bool varies = false) {
    for (std::vector<std::string>* text : {&block, &output})
        for (std::string& line : *text) line.resize(line.find_last_not_of(" \r") + 1);
    for (std::size_t start = 0; start + block.size() <= output.size(); ++start) {
        std::size_t i = 0;
        while (i < block.size() && lines(block[i], output[start + i], varies)) ++i;
        if (i == block.size()) return !block.empty();
    }
    return false;
}

// Two SVG files: the same tags and words; numbers within tags (places, sizes, parts of colours) within a pixel
// or a fiftieth, numbers that are read as `numbers` allows.
inline bool pictures(const std::string& a, const std::string& b) {
    if (a == b) return true;
    // "#1f2e3d" as three numbers, so that a colour may be a shade off.
    const auto decimal_colours = [](const std::string& svg) {
        std::string text;
        for (std::size_t at = 0; at < svg.size(); ++at) {
            if (svg[at] == '#' && at + 7 < svg.size() &&
                svg.find_first_not_of("0123456789abcdef", at + 1) == at + 7) {
                for (std::size_t part = at + 1; part < at + 7; part += 2)
                    text += (part == at + 1 ? "rgb " : " ") +
                            std::to_string(std::strtol(svg.substr(part, 2).c_str(), nullptr, 16));
                at += 6;
            } else {
                text += svg[at];
            }
        }
        return text;
    };
    const std::vector<Piece> one = pieces_of(decimal_colours(a)), other = pieces_of(decimal_colours(b));
    if (one.size() != other.size()) return false;
    bool in_tag = false;
    for (std::size_t i = 0; i < one.size(); ++i) {
        if (one[i].number != other[i].number) return false;
        if (!one[i].number) {
            if (one[i].text != other[i].text) return false;
            if (const std::size_t last = one[i].text.find_last_of("<>"); last != std::string::npos)
                in_tag = one[i].text[last] == '<';
        } else if (in_tag ? std::abs(one[i].value - other[i].value) >
                                1.01 + 0.02 * std::max(std::abs(one[i].value), std::abs(other[i].value))
                          : !numbers(one[i], other[i])) {
            return false;
        }
    }
    return true;
}

}  // namespace agree
