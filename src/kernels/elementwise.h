// Kernels that fill, copy and combine arrays. Inputs have out's shape (broadcast_view makes it) and, unless
// stated otherwise, its type. int64 wraps on overflow, as in NumPy.
#pragma once

#include <numbers>

#include "tensor/array.h"

namespace weft::kernels {

void add(const Array& out, const Array& a, const Array& b);       // a + b
void axpy(const Array& out, double alpha, const Array& x);        // out ← out + alpha · x
void multiply(const Array& out, const Array& a, const Array& b);  // a · b
void scale(const Array& out, const Array& x, double factor);      // factor · x
void where(const Array& out, const Array& condition, const Array& a, const Array& b);  // bool condition ? a : b
void exp(const Array& out, const Array& x);                                            // eˣ, floating
void log(const Array& out, const Array& x);                                            // ln x, floating
constexpr double gelu_factor = 2 * std::numbers::inv_sqrtpi * std::numbers::sqrt2;     // 2√(2/π)
// The gradient of gelu's tanh approximation, y = x·g with g = σ(2u):  dx = dy · (g + x·g·(1 − g)·2u′). Written
// with vectors, because an expression would compute g three times.
void gelu_tanh_backward(const Array& dx, const Array& x, const Array& dy);
void fill(const Array& out, double value);
void copy(const Array& out, const Array& x);  // any types: converts
// The first position, in row-major order, of an element of x (floating) that copy cannot convert to int64 (NaN,
// or out of range); −1 if there is none.
std::int64_t first_beyond_int64(const Array& x);
bool all(const Array& x);  // bool

// The elements first … of a seed's sequence (weft/tensor/random.h), in a contiguous out.
void fill_uniform(const Array& out, std::uint64_t seed, std::uint64_t first);
void fill_normal(const Array& out, std::uint64_t seed, std::uint64_t first);
void fill_randint(const Array& out, std::uint64_t seed, std::uint64_t first, std::int64_t low,
                  std::int64_t high);
// start + i · step, in a contiguous out.
void fill_range(const Array& out, double start, double step);                 // floating
void fill_integers(const Array& out, std::int64_t start, std::int64_t step);  // int64

// x itself if it is contiguous, else a contiguous copy.
Array contiguous(const Array& x);

}  // namespace weft::kernels
