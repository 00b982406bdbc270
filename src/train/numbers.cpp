#include "numbers.h"

#include <array>
#include <charconv>
#include <cmath>

#include "options.h"
#include "weft/core/text.h"

namespace {

// The end of a range, without an exponent where it can be read without one.
std::string bound(double number) {
    if (std::abs(number) >= 1e16) return number_text(number);
    std::array<char, 64> text;
    return {text.data(),
            std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed).ptr};
}

template <class Number>
Number number(const std::string& what, const std::string& text, double low, double high, const char* kind) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number =
        end == text.data() + text.size() && !text.empty() && error != std::errc::invalid_argument;
    if (!is_number) throw UsageError(what + ": \"" + weft::text::excerpt(text) + "\" is not " + kind);
    const auto wide = static_cast<double>(value);
    if (error == std::errc::result_out_of_range || !std::isfinite(wide) || wide < low || wide > high)
        throw UsageError(what + ": " + weft::text::excerpt(text) + " is out of range; use at least " +
                         bound(low) + " and " +
                         (high == std::nextafter(1.0, 0.0) ? "less than 1" : "at most " + bound(high)));
    return value;
}

}  // namespace

std::int64_t whole_number(const std::string& what, const std::string& text, double low, double high) {
    return number<std::int64_t>(what, text, low, high, "a whole number");
}

double real_number(const std::string& what, const std::string& text, double low, double high) {
    return number<double>(what, text, low, high, "a number");
}

bool truth(const std::string& what, const std::string& text) {
    if (text == "true" || text == "false") return text == "true";
    throw UsageError(what + ": \"" + weft::text::excerpt(text) + "\" is neither true nor false");
}

std::string number_text(double number) {
    std::array<char, 32> text;
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

std::string number_text(double number, int places) {
    std::array<char, 512> text;
    return {
        text.data(),
        std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed, places).ptr};
}
