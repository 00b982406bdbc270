#include <array>
#include <cctype>
#include <charconv>

#include "models/io/npy.h"
#include "weft/core/text.h"
#include "weft/models/io.h"

namespace weft::io {

namespace {

// Reads {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } from left to right.
class HeaderReader {
public:
    HeaderReader(const std::string& text, const ByteSource& source) : text_(text), source_(source) {}

    NpyHeader read() {
        NpyHeader header;
        bool descr = false, order = false, shape = false;
        expect('{');
        while (!accept('}')) {
            const std::string key = quoted();
            expect(':');
            if (key == "descr" && !descr)
                header.descr = quoted(), descr = true;
            else if (key == "fortran_order" && !order)
                header.fortran_order = parse_bool(), order = true;
            else if (key == "shape" && !shape)
                header.shape = sizes(), shape = true;
            else
                refuse("has \"" + text::excerpt(key) + "\" twice, or should not have it");
            if (!accept(',')) {
                expect('}');
                break;
            }
        }
        skip_space();
        if (at_ != text_.size()) refuse("goes on after its dictionary");
        if (!descr || !order || !shape) refuse("has to say descr, fortran_order and shape");
        return header;
    }

private:
    const std::string& text_;
    const ByteSource& source_;
    std::size_t at_ = 0;

    [[noreturn]] void refuse(const std::string& reason) const {
        source_.refuse("its header " + reason + ": " + text::excerpt(text_, 200));
    }
    char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    void skip_space() {
        while (next() == ' ' || next() == '\n') ++at_;
    }
    bool accept(char c) {
        skip_space();
        if (next() != c) return false;
        ++at_;
        return true;
    }
    void expect(char c) {
        if (!accept(c)) refuse("should have '" + std::string(1, c) + "' at place " + std::to_string(at_));
    }
    std::string quoted() {
        skip_space();
        const char quote = next();
        if (quote == '[') refuse("describes structured values, and only plain numbers are read");
        if (quote != '\'' && quote != '"') refuse("should have a string at place " + std::to_string(at_));
        const auto end = text_.find(quote, ++at_);
        if (end == std::string::npos) refuse("has a string without an end");
        const std::string inside = text_.substr(at_, end - at_);
        at_ = end + 1;
        return inside;
    }
    bool parse_bool() {
        skip_space();
        for (const bool value : {false, true}) {
            const std::string word = value ? "True" : "False";
            if (text_.compare(at_, word.size(), word) != 0) continue;
            at_ += word.size();
            return value;
        }
        refuse("should have True or False at place " + std::to_string(at_));
    }
    Shape sizes() {
        Shape shape;
        expect('(');
        while (!accept(')')) {
            std::int64_t size = 0;
            const std::size_t place = at_;
            skip_space();
            const char* digits = text_.data() + at_;
            const auto [end, error] = std::from_chars(digits, text_.data() + text_.size(), size);
            if (error != std::errc() || *digits == '-' || (*digits == '0' && end != digits + 1))
                refuse("should have a size at place " + std::to_string(place));
            at_ = static_cast<std::size_t>(end - text_.data());
            if (shape.rank() == Shape::max_rank) refuse("has more than 8 axes");
            shape.push_back(size);
            if (!accept(',')) {
                expect(')');
                if (shape.rank() == 1) refuse("has a number for its shape, which is written (3,)");
                break;
            }
        }
        return shape;
    }
};

const char* descr_of(DType dtype) {
    switch (dtype) {
        case DType::float32:
            return "<f4";
        case DType::float64:
            return "<f8";
        case DType::int64:
            return "<i8";
        case DType::boolean:
            break;
    }
    return "|b1";
}

}  // namespace

NpyHeader parse_npy_header(const std::string& text, const ByteSource& source) {
    return HeaderReader(text, source).read();
}

std::string npy_header(const Tensor& x) {
    std::string sizes;
    for (const std::int64_t size : x.shape()) sizes += std::to_string(size) + ", ";
    if (x.rank() == 1) sizes.pop_back();               // "(3,)"
    if (x.rank() > 1) sizes.resize(sizes.size() - 2);  // "(3, 4)"
    std::string header = std::string("{'descr': '") + descr_of(x.dtype()) +
                         "', 'fortran_order': False, 'shape': (" + sizes + "), }";
    constexpr std::size_t before = 10,
                          alignment = 64;  // magic, version and length; then the values are aligned
    header.resize((before + header.size() + alignment) / alignment * alignment - before - 1, ' ');
    header += '\n';
    const auto length = static_cast<unsigned>(header.size());
    return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(length & 0xFF) +
           static_cast<char>(length >> 8) + header;
}

}  // namespace weft::io
