#!/usr/bin/env python3
"""Writes unicode_table.cpp beside this script: the letters (L) and numbers (N) of the Unicode version that Python knows.

    python3.11 make_unicode_table.py       Unicode 14.0, which the tokenizers library has too
"""
import pathlib
import unicodedata


def ranges(category):
    found = []
    for c in range(0x110000):
        if unicodedata.category(chr(c))[0] != category:
            continue
        if found and found[-1][1] == c - 1:
            found[-1][1] = c
        else:
            found.append([c, c])
    return found


def table(name, category):
    all_ranges = ranges(category)
    lines, line = [], "   "
    for first, last in all_ranges:
        entry = f" {{0x{first:X}, 0x{last:X}}},"
        if len(line) + len(entry) > 112:
            lines.append(line)
            line = "   "
        line += entry
    return f"constexpr Range {name}[] = {{\n" + "\n".join(lines + [line]) + "\n};\n"


text = f"""// Written by make_unicode_table.py: the general categories L and N of Unicode {unicodedata.unidata_version}.
#include "models/text/unicode_table.h"

#include <algorithm>

namespace weft::text {{

namespace {{

struct Range {{
    char32_t first, last;
}};

// clang-format off
{table("letters", "L")}
{table("numbers", "N")}// clang-format on

template <std::size_t n>
bool contains(const Range (&ranges)[n], char32_t c) {{
    const Range* after = std::upper_bound(ranges, ranges + n, c, [](char32_t x, const Range& r) {{ return x < r.first; }});
    return after != ranges && c <= after[-1].last;
}}

}}  // namespace

bool is_letter(char32_t c) {{ return contains(letters, c); }}
bool is_number(char32_t c) {{ return contains(numbers, c); }}

}}  // namespace weft::text
"""
(pathlib.Path(__file__).parent / "unicode_table.cpp").write_text(text)
