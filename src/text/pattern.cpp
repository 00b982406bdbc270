// GPT-2's pattern. Byte pairs are merged only within a piece.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <new>

#include "text/byte_pairs.h"
#include "weft/base/utf8.h"

namespace weft::text {

namespace {

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ with Unicode's White_Space for \s,
// to which PCRE2 would add U+180E.
constexpr char pattern[] = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\t-\r\x{85}\p{Z}\p{L}\p{N}]+)"
                           R"(|[\t-\r\x{85}\p{Z}]+(?![^\t-\r\x{85}\p{Z}])|[\t-\r\x{85}\p{Z}]+)";

using Code = std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)>;
using Match = std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)>;

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

struct Compiled {
    Code code;
    decltype(&pcre2_match) match;  // or pcre2_jit_match, twice as fast, where the system lets it make its code
};

Compiled compile() {
    int error = 0;
    PCRE2_SIZE at = 0;
    Code code(pcre2_compile(units(pattern), PCRE2_ZERO_TERMINATED, PCRE2_UTF, &error, &at, nullptr),
              pcre2_code_free);
    if (!code) throw std::bad_alloc();  // the only error that this pattern can have
    const bool has_jit = pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE) == 0;
    return {std::move(code), has_jit ? pcre2_jit_match : pcre2_match};
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

}  // namespace

void for_each_piece(std::string_view text, const std::function<void(std::string_view)>& visit) {
    static const Compiled compiled = compile();
    const std::string subject = repaired(text);
    const Match match(pcre2_match_data_create(1, nullptr), pcre2_match_data_free);
    if (!match) throw std::bad_alloc();
    for (std::size_t at = 0; at < text.size();) {
        if (compiled.match(compiled.code.get(), units(subject), subject.size(), at, PCRE2_NO_UTF_CHECK,
                           match.get(), nullptr) < 0)
            throw std::bad_alloc();  // the pattern matches everywhere
        const std::size_t end = pcre2_get_ovector_pointer(match.get())[1];
        visit(text.substr(at, end - at));
        at = end;
    }
}

}  // namespace weft::text
