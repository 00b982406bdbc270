// Internal: A list of errors, one per line: the first 20, and the number of the others.
#pragma once

#include <string>

namespace weft {

class ErrorList {
public:
    void add(const std::string& line) {
        if (++count_ <= max_shown) lines_ += "\n  " + line;
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
