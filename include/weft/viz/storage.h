// The storage movie: what views and copies do to memory, frame by frame.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/core/tensor.h"

namespace weft::viz {

// One step of a movie.
//
//     viz::StorageMovie movie;
//     movie.show("m", tensor({{1.0, 2}, {3, 4}}));
//     const viz::StorageFrame& frame = movie.frames()[0];  // frame.memory is {1, 2, 3, 4}
struct StorageFrame {
    std::string step;             // the caller's description
    Tensor tensor;                // undefined if the step threw an Error
    std::string refused;          // the message of that Error
    char storage = 'A';           // A for the first storage shown, B for the second, …
    bool is_new = false;          // whether this is the first frame of its storage
    std::vector<double> memory;   // the values in the storage at this moment, by address
    std::vector<std::size_t> at;  // the position in `memory` of each element, in row-major order
};

// A movie of up to 26 storages of up to 64 elements each. The first frame of a storage determines which part of
// it is shown, so show the tensor that owns the memory first.
//
//     viz::StorageMovie movie;
//     const Tensor m = tensor({{1.0, 2, 3}, {4, 5, 6}});
//     movie.show("m", m).show("m.T()", m.T()).attempt("view", [&] { return m.T().view({6}); });
//     movie.print();
//     io::save_text("movie.svg", movie.svg());
class StorageMovie {
public:
    // Adds a frame with the present values of x and its memory. ValueError if x is empty, too large, or reaches
    // beyond the part of its storage that the first frame showed.
    StorageMovie& show(const std::string& step, const Tensor& x);
    // Adds a frame with what `make` returns, or with the message of the Error that it throws.
    StorageMovie& attempt(const std::string& step, const std::function<Tensor()>& make);

    const std::vector<StorageFrame>& frames() const { return frames_; }  // in order
    std::string str() const;  // for each frame shape, strides, memory, and what is read from it
    void print() const;       // writes str() to standard output
    // An SVG picture: for each frame the memory with the path that the tensor takes through it, and the tensor
    // beside it. A value has the same colour in every frame.
    std::string svg(const std::string& title = "What each step does to memory") const;

private:
    std::vector<StorageFrame> frames_;
};

}  // namespace weft::viz
