// Prints as NumPy's array2string: the shortest digits, at most 8 after the point, in aligned columns.
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "core/array/array.h"
#include "weft/core/text.h"

namespace weft {

using text::chars;

namespace {

constexpr int precision = 8, line_width = 75, edge_items = 3, threshold = 1000;

std::string trim_zeros(std::string digits) {
    while (digits.back() == '0') digits.pop_back();
    return digits;
}

// "0.1", "2."
template <class T>
std::string positional(T value) {
    std::string text = chars(value, std::chars_format::fixed);
    std::size_t point = text.find('.');
    if (point == std::string::npos) return text + ".";
    if (text.size() - point - 1 > precision)
        text = trim_zeros(chars(value, std::chars_format::fixed, precision));
    return text;
}

// "1.e-05", "1.2345e+10"
template <class T>
std::string scientific(T value) {
    std::string text = chars(value, std::chars_format::scientific);
    std::size_t e = text.find('e');
    if (e > precision + 2u + (value < 0)) {
        text = chars(value, std::chars_format::scientific, precision);
        e = text.find('e');
        text = trim_zeros(text.substr(0, e)) + text.substr(e);
        e = text.find('e');
    }
    if (text.find('.') == std::string::npos) text.insert(e, ".");
    return text;
}

// With `fraction` digits, exact ones after the shortest, and an exponent of `width` characters: "1.000e+005"
template <class T>
std::string scientific(T value, std::size_t fraction, std::size_t width) {
    std::string text = chars(value, std::chars_format::scientific, static_cast<int>(fraction));
    if (fraction == 0) text.insert(text.find('e'), ".");
    const std::size_t e = text.find('e');
    return text.insert(e + 2, width - (text.size() - e), '0');
}

std::string nonfinite(double value) { return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf"; }

std::string padded_left(const std::string& text, std::size_t width) {
    return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

template <class T>
std::string scalar(T value) {
    if constexpr (std::is_same_v<T, bool>)
        return value ? "True" : "False";
    else if constexpr (std::is_same_v<T, std::int64_t>)
        return chars(value);
    else {
        if (!std::isfinite(value)) return nonfinite(value);
        const double size = std::fabs(static_cast<double>(value));
        const double cutoff = std::is_same_v<T, float> ? 1e6 : 1e16;
        if (size != 0 && (size < 1e-4 || size >= cutoff)) return chars(value, std::chars_format::scientific);
        std::string text = chars(value, std::chars_format::fixed);
        return text.find('.') == std::string::npos ? text + ".0" : text;
    }
}

// Returns a function that formats each of `values` at their common width.
std::function<std::string(std::int64_t)> formatter(const std::vector<std::int64_t>& values) {
    std::size_t width = 0;
    for (std::int64_t v : values) width = std::max(width, chars(v).size());
    return [width](std::int64_t v) { return padded_left(chars(v), width); };
}

std::function<std::string(bool)> formatter(const std::vector<bool>&) {
    return [](bool v) { return v ? " True" : "False"; };
}

template <class T>
std::function<std::string(T)> formatter(const std::vector<T>& values) {
    T largest = 0, smallest = INFINITY;
    for (T v : values)
        if (std::isfinite(v) && v != 0) {
            largest = std::max(largest, std::fabs(v));
            smallest = std::min(smallest, std::fabs(v));
        }
    const T cutoff = std::is_same_v<T, float> ? 1e6 : 1e8;  // since NumPy 2.3
    const bool use_exponent =
        largest >= cutoff || (largest > 0 && (smallest < T(1e-4) || largest / smallest > 1000));

    std::size_t left = 0, fraction = 0, exponent = 0, special = 0;
    for (T v : values) {
        if (!std::isfinite(v)) {
            special = std::max(special, nonfinite(v).size());
            continue;
        }
        const std::string text = use_exponent ? scientific(v) : positional(v);
        const std::size_t point = text.find('.'), e = std::min(text.find('e'), text.size());
        left = std::max(left, point);
        fraction = std::max(fraction, e - point - 1);
        exponent = std::max(exponent, text.size() - e);
    }
    const std::size_t right = fraction + exponent;
    if (special > right + 1) left = std::max(left, special - right - 1);

    return [=](T v) {
        if (!std::isfinite(v)) return padded_left(nonfinite(v), left + 1 + right);
        std::string text = use_exponent ? scientific(v, fraction, exponent) : positional(v);
        const std::size_t missing = use_exponent ? 0 : fraction - (text.size() - text.find('.') - 1);
        text.append(missing, ' ');
        return padded_left(text, left + 1 + right);
    };
}

template <class T>
class Printer {
public:
    explicit Printer(const Array& x) : x_(x), summarize_(x.numel() > threshold) {
        std::vector<T> shown;
        collect(0, 0, shown);
        write_ = formatter(shown);
    }
    std::string run() { return nested(0, 0, " ", line_width); }

private:
    bool leaves_out(int axis) const { return summarize_ && x_.shape[axis] > 2 * edge_items; }

    void collect(int axis, std::int64_t offset, std::vector<T>& out) const {
        if (axis == x_.rank()) return out.push_back(x_.data<T>()[offset]);
        for (std::int64_t i = 0; i < x_.shape[axis]; ++i) {
            if (leaves_out(axis) && i == edge_items) i = x_.shape[axis] - edge_items;
            collect(axis + 1, offset + i * x_.strides[axis], out);
        }
    }

    std::string nested(int axis, std::int64_t offset, const std::string& indent, int width) const {
        const int left = x_.rank() - axis;
        if (left == 0) return write_(x_.data<T>()[offset]);
        const std::int64_t n = x_.shape[axis];
        std::string text, line = indent;
        auto extend = [&](const std::string& word) {
            if (line.size() + word.size() > static_cast<std::size_t>(width - 1) &&
                line.size() > indent.size()) {
                text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
                line = indent;
            }
            line += word;
        };
        for (std::int64_t i = 0; i < n; ++i) {
            const bool is_gap = leaves_out(axis) && i == edge_items;
            if (is_gap) i = n - edge_items - 1;
            const std::string word =
                is_gap ? "..." : nested(axis + 1, offset + i * x_.strides[axis], indent + " ", width - 1);
            const bool is_last = i + 1 == n;
            if (left == 1) {
                extend(word);
                if (!is_last) line += " ";
            } else {
                text += indent + word + (is_last ? "" : std::string(static_cast<std::size_t>(left - 1), '\n'));
            }
        }
        if (left == 1) text += line;
        return "[" + text.substr(indent.size()) + "]";
    }

    const Array& x_;
    bool summarize_;
    std::function<std::string(T)> write_;
};

}  // namespace

std::string format(const Array& x) {
    return visit_any(x.dtype, [&](auto zero) -> std::string {
        using T = decltype(zero);
        if (x.rank() == 0) return scalar(*x.data<T>());
        if (x.numel() == 0) return "[]";
        return Printer<T>(x).run();
    });
}

}  // namespace weft
