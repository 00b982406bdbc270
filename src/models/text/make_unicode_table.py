#!/usr/bin/env python3
"""Writes unicode_table.cpp beside this script: the letters (L) and numbers (N) of the Unicode version that Python knows.

    python3.11 make_unicode_table.py       Unicode 14.0, which the tokenizers library has too
"""
import pathlib
import unicodedata


def sizes(category):
    """The sizes of the ranges outside and inside a category, alternately, from U+0000 to its last character."""
    found, inside = [0], False
    for c in range(0x110000):
        if (unicodedata.category(chr(c))[0] == category) != inside:
            found.append(0)
            inside = not inside
        found[-1] += 1
    return found if inside else found[:-1]


def table(name, category):
    lines, line = [], "   "
    for size in sizes(category):
        entry = f" {size},"
        if len(line) + len(entry) > 112:
            lines.append(line)
            line = "   "
        line += entry
    return f"constexpr std::uint16_t {name}[] = {{\n" + "\n".join(lines + [line]) + "\n};\n"


text = f"""// Written by make_unicode_table.py: the general categories L and N of Unicode {unicodedata.unidata_version}.
#include "models/text/unicode_table.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace weft::text {{

namespace {{

// The sizes of the ranges outside and inside the category, alternately, from U+0000 on.
// clang-format off
{table("letter_ranges", "L")}
{table("number_ranges", "N")}// clang-format on

// One past the last character of each range.
template <std::size_t n>
constexpr std::array<char32_t, n> ends_of(const std::uint16_t (&sizes)[n]) {{
    std::array<char32_t, n> ends{{}};
    char32_t end = 0;
    for (std::size_t i = 0; i < n; ++i) ends[i] = end += sizes[i];
    return ends;
}}

constexpr auto letter_ends = ends_of(letter_ranges);
constexpr auto number_ends = ends_of(number_ranges);

// Ranges with an odd index are inside the category.
template <class Ends>
bool contains(const Ends& ends, char32_t c) {{
    const auto range = std::upper_bound(ends.begin(), ends.end(), c);
    return range != ends.end() && (range - ends.begin()) % 2 == 1;
}}

}}  // namespace

bool is_letter(char32_t c) {{ return contains(letter_ends, c); }}
bool is_number(char32_t c) {{ return contains(number_ends, c); }}

}}  // namespace weft::text
"""
(pathlib.Path(__file__).parent / "unicode_table.cpp").write_text(text)
