// Everything that Weft refuses is refused with one of these. Each message names the operation, the shapes or
// values, and the way out; nothing has been changed when it is thrown. Memory that cannot be had is
// std::bad_alloc.
#pragma once

#include <concepts>
#include <stdexcept>
#include <string>
#include <string_view>

namespace weft {

// Every refusal. Its message is its arguments one after another: texts, characters, integers, and what has a
// str(), as shapes do. For example
//     throw ShapeError("matmul: ", a.shape(), " @ ", b.shape(), ": ", a.size(-1), " vs ", b.size(-2));
struct Error : std::runtime_error {
    template <class... Parts>
    requires(sizeof...(Parts) > 0) explicit Error(const Parts&... parts)
        : std::runtime_error((std::string() + ... + text_of(parts))) {}

private:
    static std::string text_of(std::string_view part) { return std::string(part); }
    static std::string text_of(char part) { return {part}; }
    static std::string text_of(const std::integral auto& part) { return std::to_string(part); }
    static std::string text_of(const auto& part) requires requires { part.str(); }
    { return part.str(); }
};
struct ShapeError : Error {  // shapes that do not fit each other, or the operation
    using Error::Error;
};
struct DTypeError : Error {  // a type the operation does not take, or types that do not mix
    using Error::Error;
};
struct IndexError : Error {  // an index, axis or token id out of its range
    using Error::Error;
};
struct ValueError : Error {  // a value that is no valid setting: a negative rate, a probability of 2
    using Error::Error;
};
struct GraphError : Error {  // backward or an in-place change where the graph does not allow it
    using Error::Error;
};
struct IoError : Error {  // a file that cannot be read, written or understood
    using Error::Error;
};

}  // namespace weft
