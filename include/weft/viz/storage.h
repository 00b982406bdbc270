// The storage movie: what views and copies do to memory, frame by frame, with the values stored there.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/core/tensor.h"

namespace weft::viz {

// One step of a movie.
struct StorageFrame {
    std::string step;             // the caller's description
    Tensor tensor;                // undefined if the step was refused
    std::string refused;          // then the error's message
    char storage = 'A';           // the first storage that was shown is A, the next B
    bool is_new = false;          // no earlier frame shows this storage
    std::vector<double> memory;   // the storage's values at this moment, by address
    std::vector<std::size_t> at;  // the position in memory of each element of the tensor, in row-major order
};

// A movie of up to 26 storages of up to 64 elements. The first frame of a storage decides which part of it is
// shown, so show the tensor that owns the memory first: ValueError if a later one goes beyond that part, or if
// a tensor is too large or empty.
//
//     viz::StorageMovie movie;
//     movie.show("m", m).show("m.T()", m.T()).attempt("view", [&] { return m.T().view({6}); }).print();
class StorageMovie {
public:
    // Adds a frame: x as it is now, and its memory.
    StorageMovie& show(const std::string& step, const Tensor& x);
    // Shows what `make` returns, or the message of the Error that it throws.
    StorageMovie& attempt(const std::string& step, const std::function<Tensor()>& make);

    const std::vector<StorageFrame>& frames() const { return frames_; }  // in order
    std::string str() const;  // for each frame shape, strides, memory, and what is read from it
    void print() const;       // str() to standard output
    // For each frame the memory with the tensor's path through it, and the tensor next to it. A value keeps its
    // colour.
    std::string svg(const std::string& title = "What each step does to memory") const;

private:
    std::vector<StorageFrame> frames_;
};

}  // namespace weft::viz
