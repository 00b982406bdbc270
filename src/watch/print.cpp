// Prints as NumPy's array2string: the shortest digits, at most 8 after the point, in aligned columns.
#include <algorithm>
#include <cmath>
#include <concepts>
#include <vector>

#include "core/array.h"
#include "weft/base/text.h"

namespace weft {

namespace {

constexpr std::size_t precision = 8, line_width = 75;
constexpr std::int64_t edge_items = 3, threshold = 1000;

// What an element is as a number.
template <class T>
using Number = std::conditional_t<std::is_arithmetic_v<T>, T, float>;

// The shortest digits that read back as the same T.
template <class T>
std::string digits_of(Number<T> value, std::chars_format format) {
    if constexpr (std::is_arithmetic_v<T>) {
        return to_chars(value, format);
    } else {
        T above(value), below(value);
        ++above.bits, --below.bits;
        const auto exact = static_cast<double>(value);
        // What lies nearer to it than to its neighbours. It is not in the middle where it is a power of two.
        const double middle = exact / 2 + (static_cast<double>(below) + static_cast<double>(above)) / 4;
        for (int digits = 0;; ++digits)
            for (const double x : {exact, middle}) {
                double read = 0;
                from_chars(to_chars(x, std::chars_format::scientific, digits), read);
                if (T(read) == T(value)) return to_chars(read, format);
            }
    }
}

// The same with at most `precision` of them after the point, and always a point: "0.1", "2.", "1.e-05"
template <class T>
std::string shortest(Number<T> value, std::chars_format format) {
    std::string text = digits_of<T>(value, format);
    if (text.find('.') == std::string::npos) return text.insert(std::min(text.find('e'), text.size()), ".");
    if (std::min(text.find('e'), text.size()) - text.find('.') - 1 <= precision) return text;
    text = to_chars(value, format, precision);
    const std::size_t e = std::min(text.find('e'), text.size()), end = text.find_last_not_of('0', e - 1) + 1;
    return text.erase(end, e - end);
}

// With `fraction` digits, exact ones after the shortest, and an exponent of `width` characters: "1.000e+005"
template <class T>
std::string scientific(T value, std::size_t fraction, std::size_t width) {
    std::string text = to_chars(value, std::chars_format::scientific, static_cast<int>(fraction));
    if (fraction == 0) text.insert(text.find('e'), ".");
    const std::size_t e = text.find('e');
    return text.insert(e + 2, width - (text.size() - e), '0');
}

// From here on an exponent is printed (since NumPy 2.3).
template <class T>
constexpr double largest_fixed = std::is_same_v<T, double>  ? 1e8
                                 : std::is_same_v<T, float> ? 1e6
                                                            : 1e3;

std::string nonfinite(double value) { return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf"; }

template <class T>
std::string scalar(T element) {
    const Number<T> value(element);
    if constexpr (std::is_same_v<T, bool>)
        return value ? "True" : "False";
    else if constexpr (std::is_same_v<T, std::int64_t>)
        return to_chars(value);
    else {
        if (!std::isfinite(value)) return nonfinite(value);
        const double size = std::fabs(static_cast<double>(value));
        const double cutoff = std::is_same_v<T, double> ? 1e16 : largest_fixed<T>;
        if (size != 0 && (size < 1e-4 || size >= cutoff))
            return digits_of<T>(value, std::chars_format::scientific);
        std::string text = digits_of<T>(value, std::chars_format::fixed);
        return text.find('.') == std::string::npos ? text + ".0" : text;
    }
}

// The words of an array's elements, before they are padded to one width.
template <std::integral T>
std::vector<std::string> words(const std::vector<T>& values) {
    std::vector<std::string> result;
    for (T v : values) result.push_back(scalar(v));
    return result;
}

template <class T>
std::vector<std::string> words(const std::vector<T>& elements) {
    std::vector<Number<T>> values;
    for (const T e : elements) values.push_back(static_cast<Number<T>>(e));
    Number<T> largest = 0, smallest = INFINITY;
    for (const auto v : values)
        if (std::isfinite(v) && v != 0) {
            largest = std::max(largest, std::fabs(v));
            smallest = std::min(smallest, std::fabs(v));
        }
    const auto rounded = [](auto v) { return static_cast<Number<T>>(static_cast<T>(v)); };
    const bool use_exponent = largest >= largest_fixed<T> ||
                              (largest > 0 && (smallest < rounded(1e-4) || rounded(largest / smallest) > 1000));
    const auto format = use_exponent ? std::chars_format::scientific : std::chars_format::fixed;

    std::size_t fraction = 0, exponent = 0;  // the most digits after a point, the longest exponent
    for (const auto v : values) {
        if (!std::isfinite(v)) continue;
        const std::string text = shortest<T>(v, format);
        const std::size_t e = std::min(text.find('e'), text.size());
        fraction = std::max(fraction, e - text.find('.') - 1);
        exponent = std::max(exponent, text.size() - e);
    }
    std::vector<std::string> result;
    for (const auto v : values) {
        std::string text = !std::isfinite(v) ? nonfinite(v)
                           : use_exponent    ? scientific(v, fraction, exponent)
                                             : shortest<T>(v, format);
        if (const std::size_t point = text.find('.'); point != std::string::npos && !use_exponent)
            text.resize(point + 1 + fraction, ' ');
        result.push_back(text);
    }
    return result;
}

bool leaves_out(const Array& x, int axis) { return x.numel() > threshold && x.shape[axis] > 2 * edge_items; }

// Appends the elements that are shown, of those at `element` and the axes from `axis` on.
template <class T>
void collect(const Array& x, int axis, const T* element, std::vector<T>& shown) {
    if (axis == x.rank()) return shown.push_back(*element);
    for (std::int64_t i = 0; i < x.shape[axis]; ++i) {
        if (leaves_out(x, axis) && i == edge_items) i = x.shape[axis] - edge_items;
        collect(x, axis + 1, element + i * x.strides[axis], shown);
    }
}

// The axes from `axis` on in brackets, with the words that start at `word`, which is moved past them.
std::string nested(const Array& x, int axis, const std::string*& word) {
    if (axis == x.rank()) return *word++;
    const auto depth = static_cast<std::size_t>(axis), outer = static_cast<std::size_t>(x.rank() - axis - 1);
    const std::string indent(depth + 1, ' ');
    const std::int64_t n = x.shape[axis];
    std::string text, line = indent;
    for (std::int64_t i = 0; i < n; ++i) {
        const bool is_gap = leaves_out(x, axis) && i == edge_items;
        if (is_gap) i = n - edge_items - 1;
        const std::string part = is_gap ? "..." : nested(x, axis + 1, word);
        const bool is_last = i + 1 == n;
        if (outer > 0) {
            line += part + (is_last ? "" : std::string(outer, '\n') + indent);
            continue;
        }
        if (line.size() + part.size() > line_width - 1 - depth && line.size() > indent.size()) {
            text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
            line = indent;
        }
        line += part + (is_last ? "" : " ");
    }
    return "[" + (text + line).substr(indent.size()) + "]";
}

}  // namespace

std::string format(const Array& x) {
    return visit_any(x.dtype, [&](auto zero) -> std::string {
        using T = decltype(zero);
        if (x.rank() == 0) return scalar(*x.data<T>());
        if (x.numel() == 0) return "[]";
        std::vector<T> shown;
        collect(x, 0, x.data<T>(), shown);
        std::vector<std::string> all = words(shown);
        std::size_t width = x.dtype == boolean ? 5 : 0;  // width of False, even if all are True
        for (const std::string& word : all) width = std::max(width, word.size());
        for (std::string& word : all) word.insert(0, width - word.size(), ' ');
        const std::string* first = all.data();
        return nested(x, 0, first);
    });
}

}  // namespace weft
