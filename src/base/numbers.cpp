#include "weft/base/numbers.h"

#include <locale.h>
#include <stdlib.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

#include <cctype>
#include <cmath>

namespace weft {

std::from_chars_result from_chars(std::string_view text, double& value) {
    static const locale_t plain = ::newlocale(LC_ALL_MASK, "C", nullptr);
    const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
    // strtod also reads spaces and + in front, and hexadecimal digits after 0x.
    const bool is_hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
    const std::string copy(text, 0, is_hexadecimal ? text.size() - digits.size() + 1 : text.size());
    char* end = nullptr;
    const double found = ::strtod_l(copy.c_str(), &end, plain);
    if (end == copy.c_str() || text[0] == '+' || std::isspace(static_cast<unsigned char>(text[0])) != 0)
        return {text.data(), std::errc::invalid_argument};
    const char* const behind = text.data() + (end - copy.c_str());
    if (std::isinf(found) && digits[0] != 'i' && digits[0] != 'I')
        return {behind, std::errc::result_out_of_range};
    value = found;
    return {behind, std::errc()};
}

std::string format_number(double value, int digits) {
    return to_chars(value, std::chars_format::general, digits);
}

}  // namespace weft
