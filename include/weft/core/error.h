// Everything that Weft refuses is refused with one of these. Each message names the operation, the shapes or
// values, and the way out; nothing has been changed when it is thrown. Memory that cannot be had is
// std::bad_alloc.
#pragma once

#include <stdexcept>
#include <string>

namespace weft {

struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
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
