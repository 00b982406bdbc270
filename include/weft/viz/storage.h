// The storage movie: what a view does to memory, frame by frame, with the values that lie there.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/core/tensor.h"

namespace weft::viz {

// One step of a movie.
struct StorageFrame {
    std::string step;             // what was done, in the caller's words
    Tensor tensor;                // undefined where the step was refused
    std::string refused;          // the error's message, then
    char storage = 'A';           // the first storage that was shown is A, the next B
    bool is_new = false;          // no frame before shows this storage
    std::vector<double> memory;   // the storage's values in the order of their addresses, at this moment
    std::vector<std::size_t> at;  // where in memory the tensor's elements are, the last index running fastest
};

// Up to 26 storages of up to 64 elements. What of a storage is shown is what its first frame reaches, so show
// the tensor that owns the memory first: ValueError when a later one goes beyond it, or when it is too large
// or empty.
class StorageMovie {
public:
    // x as it is now, and the memory behind it.
    StorageMovie& show(const std::string& step, const Tensor& x);
    // Shows what `make` returns or, where it throws an Error, what that says.
    StorageMovie& attempt(const std::string& step, const std::function<Tensor()>& make);

    const std::vector<StorageFrame>& frames() const { return frames_; }  // in their order
    std::string str() const;  // for each frame its shape and strides, the memory, and what is read from it
    void print() const;       // str() to standard output
    // For each frame the memory with the way that the tensor takes through it, and the tensor beside it. A
    // value keeps its colour.
    std::string svg(const std::string& title = "What each step does to memory") const;

private:
    std::vector<StorageFrame> frames_;
};

}  // namespace weft::viz
