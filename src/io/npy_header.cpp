#include <charconv>
#include <optional>

#include "io/npy.h"
#include "weft/base/numbers.h"
#include "weft/base/utf8.h"

namespace weft::io {

namespace {

// Parses {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class HeaderReader {
public:
    HeaderReader(const std::string& text, const ByteSource& source) : text_(text), source_(source) {}

    NpyHeader read() {
        std::optional<std::string> descr;
        std::optional<bool> fortran_order;
        std::optional<Shape> shape;
        expect('{');
        while (!accept('}')) {
            const std::string key = quoted();
            expect(':');
            if (key == "descr" && !descr)
                descr = quoted();
            else if (key == "fortran_order" && !fortran_order)
                fortran_order = parse_bool();
            else if (key == "shape" && !shape)
                shape = sizes();
            else
                refuse("has \"" + excerpt(key) + "\" twice, or should not have it");
            if (!accept(',')) {
                expect('}');
                break;
            }
        }
        skip_space();
        if (at_ != text_.size()) refuse("continues after its dictionary");
        if (!descr || !fortran_order || !shape) refuse("must have descr, fortran_order and shape");
        return {*descr, *fortran_order, *shape};
    }

private:
    const std::string& text_;
    const ByteSource& source_;
    std::size_t at_ = 0;

    [[noreturn]] void refuse(const std::string& reason) const {
        source_.refuse("its header " + reason + ": " + excerpt(text_, 200));
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
        if (!accept(c)) refuse("should have '" + std::string(1, c) + "' at position " + std::to_string(at_));
    }
    std::string quoted() {
        skip_space();
        const char quote = next();
        if (quote == '[') refuse("describes structured values; only plain numbers can be read");
        if (quote != '\'' && quote != '"') refuse("should have a string at position " + std::to_string(at_));
        const auto end = text_.find(quote, ++at_);
        if (end == std::string::npos) refuse("has an unterminated string");
        const std::string inside = text_.substr(at_, end - at_);
        at_ = end + 1;
        return inside;
    }
    bool parse_bool() {
        skip_space();
        if (text_.compare(at_, 4, "True") == 0) return at_ += 4, true;
        if (text_.compare(at_, 5, "False") == 0) return at_ += 5, false;
        refuse("should have True or False at position " + std::to_string(at_));
    }
    Shape sizes() {
        Shape shape;
        expect('(');
        while (!accept(')')) {
            std::int64_t size = 0;
            const std::size_t begin = at_;
            skip_space();
            const char* digits = text_.data() + at_;
            const auto [end, error] = std::from_chars(digits, text_.data() + text_.size(), size);
            if (error != std::errc() || *digits == '-' || (*digits == '0' && end != digits + 1))
                refuse("should have a size at position " + std::to_string(begin));
            at_ = static_cast<std::size_t>(end - text_.data());
            if (shape.rank() == Shape::max_rank) refuse("has more than 8 axes");
            shape.push_back(size);
            if (!accept(',')) {
                expect(')');
                if (shape.rank() == 1)
                    refuse("has a number as its shape; with one axis a shape is written (3,)");
                break;
            }
        }
        return shape;
    }
};

}  // namespace

NpyHeader parse_npy_header(const std::string& text, const ByteSource& source) {
    return HeaderReader(text, source).read();
}

}  // namespace weft::io
