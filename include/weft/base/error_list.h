// Internal: A list of errors, one per line: the first 20, and the number of the others. Names in them may come
// from a file, so hidden characters are shown as escapes.
#pragma once

#include <string>

#include "weft/base/utf8.h"

namespace weft {

class ErrorList {
public:
    void add(const std::string& line) {
        if (++count_ <= max_shown) lines_ += "\n  " + excerpt(line, 300);
    }
    bool empty() const { return count_ == 0; }
    std::string str() const {
        return lines_ + (count_ > max_shown ? "\n  and " + std::to_string(count_ - max_shown) + " more" : "");
    }

private:
    static constexpr std::size_t max_shown = 20;
    std::string lines_;
    std::size_t count_ = 0;
};

}  // namespace weft
