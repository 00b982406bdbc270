// Filling, copying and changing arrays in place. Inputs have out's shape (broadcast beforehand: broadcast_view)
// and, unless stated otherwise, its type. int64 wraps on overflow, as in NumPy.
#pragma once

#include "core/array/array.h"

namespace weft::kernels {

void add(const Array& out, const Array& a, const Array& b);       // a + b
void axpy(const Array& out, double alpha, const Array& x);        // out ← out + alpha · x
void multiply(const Array& out, const Array& a, const Array& b);  // a · b
void scale(const Array& out, const Array& x, double factor);      // factor · x
// The gradient of gelu's tanh approximation, y = x·g with g = σ(2u):  dx = dy · (g + x·g·(1 − g)·2u′). Written
// in vectors, because an expression would calculate g three times.
void gelu_tanh_backward(const Array& dx, const Array& x, const Array& dy);
void fill(const Array& out, double value);
void copy(const Array& out, const Array& x);  // any types: converts
// The first position, in row-major order, of what copy cannot convert to int64 (NaN, or out of range), or −1. x
// is floating.
std::int64_t first_beyond_int64(const Array& x);
bool all(const Array& x);  // bool

// Contiguous out of any shape.
void fill_uniform(const Array& out, std::uint64_t seed, std::uint64_t position);
void fill_normal(const Array& out, std::uint64_t seed, std::uint64_t position);
void fill_randint(const Array& out, std::uint64_t seed, std::uint64_t position, std::int64_t low,
                  std::int64_t high);
// out = 1/(1 − p) with probability 1 − p, else 0.
void fill_dropout(const Array& out, std::uint64_t seed, std::uint64_t position, double p);
void fill_range(const Array& out, double start, double step);                 // floating
void fill_integers(const Array& out, std::int64_t start, std::int64_t step);  // int64

// A contiguous copy, or x itself where it is contiguous.
Array contiguous(const Array& x);

}  // namespace weft::kernels
