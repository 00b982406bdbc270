// Patterns by PCRE2. Byte pairs are merged only within a piece.
#include "text/byte_pairs.h"

#include <utf8proc.h>
#include <algorithm>
#include <iterator>
#include <new>
#include <vector>

#include "weft/base/text.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <new>
#include <vector>

#include "text/byte_pairs.h"
#include "weft/base/text.h"

namespace weft::text {

struct Pattern::Compiled {
    std::string text;
    std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)> code;
    decltype(&pcre2_match) match;  // or pcre2_jit_match, twice as fast, where the system lets it make its code
};

namespace {

using Match = std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)>;

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

[[noreturn]] void refuse_pattern(const std::string& pattern, const std::string& reason) {
    throw ValueError("the pattern \"", excerpt(pattern), "\" ", reason);
}

// The text with an exclamation mark, neither letter, number nor space, for each byte that is not UTF-8.
std::string repaired(std::string_view text) {
    std::string valid(text);
    for (std::size_t at = 0; at < text.size();) {
        const Decoded c = decode_at(text, at);
        if (c.kind != Decoded::character) valid.replace(at, c.length, c.length, '!');
        at += c.length;
    }
    return valid;
}

bool is_one_of(char c, std::string_view set) { return set.find(c) != set.npos; }  // '\0' is in no set

// "\p{sc:Han}" of "\p{Han}", which to PCRE2 from 10.40 on has what several scripts share, such as 、; other
// properties as they are.
std::string property(const std::string& written) {
    const std::size_t name = written.find_first_not_of("\\pP{^");
    if (name == written.npos) return written;
    const std::string script = std::string(written).insert(name, "sc:");
    int error = 0;
    PCRE2_SIZE at = 0;
    const std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)> code(
        pcre2_compile(units(script), script.size(), PCRE2_UTF, &error, &at, nullptr), pcre2_code_free);
    return code ? script : written;
}

// The letters, more than one, that Unicode folds one letter to: "ss" of ß.
const std::vector<std::u32string>& long_folds() {
    static const std::vector<std::u32string> folds = [] {
        std::vector<std::u32string> found;
        for (utf8proc_int32_t c = 0x80; c < 0x20000; ++c) {
            utf8proc_int32_t parts[8];
            int boundary = 0;
            const auto n = utf8proc_decompose_char(c, parts, 8, UTF8PROC_CASEFOLD, &boundary);
            if (n > 1) found.emplace_back(parts, parts + n);
        }
        return found;
    }();
    return folds;
}

// Whether a caseless text has a letter that folds to several, or such letters: Oniguruma takes ß and ss for
// equal, PCRE2 does not.
bool has_long_fold(std::string_view text) {
    std::u32string folded;
    for (std::size_t at = 0; at < text.size();) {
        const Decoded c = decode_at(text, at);
        utf8proc_int32_t parts[8];
        int boundary = 0;
        const auto n = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c.value), parts, 8,
                                               UTF8PROC_CASEFOLD, &boundary);
        folded.append(parts, parts + std::clamp<utf8proc_ssize_t>(n, 0, 8));
        at += c.length;
    }
    return std::ranges::any_of(long_folds(),
                               [&](const auto& fold) { return folded.find(fold) != folded.npos; });
}

// What stands in the group that begins at pattern[at], with what are no neighbours, escapes and the letters of
// a class, kept apart.
std::string group_at(std::string_view pattern, std::size_t at) {
    std::string group;
    int depth = 0;
    bool in_class = false;
    for (std::size_t i = at; i < pattern.size(); ++i) {
        group += pattern[i];
        if (in_class && static_cast<unsigned char>(pattern[i]) < 0x80) group += '|';
        if (pattern[i] == '\\')
            group.back() = '|', ++i;
        else if (in_class || pattern[i] == '[')
            in_class = pattern[i] != ']';
        else if (pattern[i] == '(')
            ++depth;
        else if (pattern[i] == ')' && --depth == 0)
            break;
    }
    return group;
}

// Whether the bracket that ends at pattern[end] has one number alone.
bool is_one_number(std::string_view pattern, std::size_t end) {
    const std::size_t begin = pattern.find_last_not_of("0123456789", end - 1);
    return begin != pattern.npos && begin + 1 < end && pattern[begin] == '{';
}

}  // namespace

Pattern::Pattern(const std::string& pcre2) {
    int error = 0;
    PCRE2_SIZE at = 0;
    constexpr auto options = PCRE2_UTF | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
    std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)> code(
        pcre2_compile(units(pcre2), pcre2.size(), options, &error, &at, nullptr), pcre2_code_free);
    if (!code) {
        std::array<PCRE2_UCHAR, 200> reason{};
        pcre2_get_error_message(error, reason.data(), reason.size());
        refuse_pattern(pcre2,
                       std::string("is not one of PCRE2's: ") + reinterpret_cast<const char*>(reason.data()));
    }
    const bool has_jit = pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE) == 0;
    compiled_ =
        std::make_shared<Compiled>(Compiled{pcre2, std::move(code), has_jit ? pcre2_jit_match : pcre2_match});
}

Pattern Pattern::of_oniguruma(const std::string& pattern) {
    const std::string space = white_space;
    std::string result;
    bool in_class = false;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const char c = pattern[i];
        const std::string_view rest = std::string_view(pattern).substr(i + 1);
        const char next = rest.empty() ? '\0' : rest[0];
        if (c == '\\') {
            ++i;
            if (next == 's')
                result += in_class ? space : "[" + space + "]";
            else if (next == 'S' && !in_class)
                result += "[^" + space + "]";
            else if (next == 'd' || next == 'D')
                result += next == 'd' ? "\\p{Nd}" : "\\P{Nd}";
            else if (const std::size_t end = rest.find('}');
                     (rest.starts_with("p{") || rest.starts_with("P{")) && end != rest.npos) {
                result += property(pattern.substr(i - 1, end + 2));
                i += end;
            } else if (is_one_of(next, "rntf!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"))
                result += {c, next};
            else
                refuse_pattern(pattern, "uses \\" + excerpt(rest.substr(0, 1)) + ", which is not supported");
            continue;
        }
        if (in_class) {
            if (c == '[' || (c == '&' && next == '&'))
                refuse_pattern(pattern, "has a class inside a class, which is not supported");
            in_class = c != ']';
        } else if (c == '[') {
            in_class = true;
            if (next == ']' || rest.starts_with("^]")) refuse_pattern(pattern, "has an empty class");
        } else if (c == '(' && (next == '*' || next == '?')) {
            const auto begins = [&](std::string_view group) { return rest.starts_with(group); };
            if (!begins("?:") && !begins("?i:") && !begins("?=") && !begins("?!") && !begins("?<=") &&
                !begins("?<!") && !begins("?>"))
                refuse_pattern(pattern,
                               "has a group (" + excerpt(rest.substr(0, 2)) + ", which is not supported");
            if (begins("?i:") && has_long_fold(group_at(pattern, i)))
                refuse_pattern(pattern,
                               "has letters in (?i:) that others fold to, as ß to ss, which is not supported");
        } else if (c == '{' && next == ',') {
            refuse_pattern(pattern, "repeats {,n} times, which is not supported; write {0,n}");
        } else if (c == '}' && next == '+') {
            refuse_pattern(pattern, "repeats a repetition, which is not supported");
        } else if (c == '}' && next == '?' && is_one_number(pattern, i)) {
            refuse_pattern(pattern, "repeats {n}? times, which is not supported; write (?:…{n})?");
        }
        result += c;
    }
    return Pattern(result);
}

Pattern Pattern::of_words(const std::string& literal) {
    std::string result;
    for (const char c : literal) {
        if (is_one_of(c, "\\^$.[]|()?*+{}#-")) result += '\\';
        result += c;
    }
    return Pattern(result);
}

void Pattern::split(std::string_view text, const std::function<void(std::string_view, bool)>& visit) const {
    const Match match(pcre2_match_data_create(1, nullptr), pcre2_match_data_free);
    if (!match) throw std::bad_alloc();
    std::size_t done = 0, at = 0;
    while (at <= text.size()) {
        const auto run = [&](decltype(&pcre2_match) function, std::uint32_t options) {
            return function(compiled_->code.get(), units(text), text.size(), at, options, match.get(), nullptr);
        };
        int found = run(compiled_->match, PCRE2_NO_UTF_CHECK);
        if (found == PCRE2_ERROR_JIT_STACKLIMIT) found = run(pcre2_match, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT);
        if (found == PCRE2_ERROR_NOMATCH) break;
        if (found == PCRE2_ERROR_NOMEMORY) throw std::bad_alloc();
        if (found < 0) refuse_pattern(compiled_->text, "takes too many steps on this text");
        const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(match.get());
        const std::size_t begin = ends[0], end = ends[1];
        if (begin > done) visit(text.substr(done, begin - done), false);
        if (end > begin) visit(text.substr(begin, end - begin), true);
        done = at = end;
        if (begin == end) at += at < text.size() ? decode_at(text, at).length : 1;
    }
    if (done < text.size()) visit(text.substr(done), false);
}

const Pattern& gpt2_pattern() {
    static const Pattern pattern =
        Pattern::of_oniguruma(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)");
    return pattern;
}

void for_each_piece(std::string_view text, const std::function<void(std::string_view)>& visit) {
    const std::string subject = repaired(text);
    gpt2_pattern().split(subject, [&](std::string_view piece, bool) {
        visit(text.substr(static_cast<std::size_t>(piece.data() - subject.data()), piece.size()));
    });
}

namespace {

// Marks, and U+11938 with its second part, that Unicode has since version 10. The tokenizers crate composes by
// version 9, to which they are letters (tests/golden/make_tokenizer_golden.py finds them).
constexpr std::pair<char32_t, char32_t> since_version_10[] = {
    {0x7FD, 0x7FD},     {0x898, 0x89F},     {0x8CA, 0x8D3},     {0x9FE, 0x9FE},     {0xC3C, 0xC3C},
    {0xD3B, 0xD3C},     {0xEBA, 0xEBA},     {0x1715, 0x1715},   {0x1ABF, 0x1ACE},   {0x1DF6, 0x1DFA},
    {0xA82C, 0xA82C},   {0x10D24, 0x10D27}, {0x10EAB, 0x10EAC}, {0x10EFD, 0x10EFF}, {0x10F46, 0x10F50},
    {0x10F82, 0x10F85}, {0x11070, 0x11070}, {0x1133B, 0x1133B}, {0x1145E, 0x1145E}, {0x11839, 0x1183A},
    {0x11930, 0x11930}, {0x11938, 0x11938}, {0x1193D, 0x1193E}, {0x11943, 0x11943}, {0x119E0, 0x119E0},
    {0x11A34, 0x11A34}, {0x11A47, 0x11A47}, {0x11A99, 0x11A99}, {0x11D42, 0x11D42}, {0x11D44, 0x11D45},
    {0x11D97, 0x11D97}, {0x11F41, 0x11F42}, {0x16FF0, 0x16FF1}, {0x1E08F, 0x1E08F}, {0x1E130, 0x1E136},
    {0x1E2AE, 0x1E2AE}, {0x1E2EC, 0x1E2EF}, {0x1E4EC, 0x1E4EF}};

bool is_since_version_10(char32_t c) {
    const auto* after =
        std::ranges::upper_bound(since_version_10, c, {}, [](const auto& range) { return range.first; });
    return after != std::begin(since_version_10) && c <= std::prev(after)->second;
}

// Appends the composed form of a text, in n log n steps: utf8proc's own decomposition takes n² for n marks.
void append_composed(std::string& result, std::string_view text) {
    std::vector<utf8proc_int32_t> points;
    for (std::size_t at = 0; at < text.size();) {
        const Decoded c = decode_at(text, at);
        utf8proc_int32_t parts[8];  // a character has at most four
        int boundary = 0;
        const auto n = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c.value), parts, 8,
                                               UTF8PROC_DECOMPOSE, &boundary);
        points.insert(points.end(), parts, parts + std::clamp<utf8proc_ssize_t>(n, 0, 8));
        at += c.length;
    }
    const auto mark = [](utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; };
    for (auto i = points.begin(); i != points.end();) {  // marks in the order of their classes
        const auto end = std::find_if(i, points.end(), [&](auto c) { return mark(c) == 0; });
        std::stable_sort(i, end, [&](auto a, auto b) { return mark(a) < mark(b); });
        i = end == points.end() ? end : end + 1;
    }
    const utf8proc_ssize_t n =
        utf8proc_normalize_utf32(points.data(), static_cast<utf8proc_ssize_t>(points.size()),
                                 static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    for (utf8proc_ssize_t i = 0; i < n; ++i)
        append_utf8(result, static_cast<char32_t>(points[static_cast<std::size_t>(i)]));
}

// The same, where the characters since version 10 stay what they are, and cut the text.
void append_by_version_9(std::string& result, std::string_view text) {
    std::size_t done = 0;
    for (std::size_t at = 0, next = 0; at < text.size(); at = next) {
        const Decoded c = decode_at(text, at);
        next = at + c.length;
        if (!is_since_version_10(c.value)) continue;
        append_composed(result, text.substr(done, at - done));
        result += text.substr(at, c.length);
        done = next;
    }
    append_composed(result, text.substr(done));
}

}  // namespace

std::string nfc(std::string_view text) {
    const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
    // What is below U+0300, whose first byte is 0xCC, is composed; ASCII composes with nothing before it.
    const auto may_change = [](char c) { return static_cast<unsigned char>(c) >= 0xCC; };
    std::string result;
    for (auto done = text.begin(); done != text.end();) {
        const auto found = std::find_if(done, text.end(), may_change);
        auto begin = found;
        while (begin != done && !is_ascii(*begin)) --begin;  // with the character that it may compose with
        if (found == text.end()) begin = found;
        const auto end = std::find_if(found, text.end(), is_ascii);
        result.append(done, begin);
        append_by_version_9(result, std::string_view(begin, end));
        done = end;
    }
    return result;
}

}  // namespace weft::text
