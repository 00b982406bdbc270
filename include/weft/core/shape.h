// Shape: the sizes of a tensor's axes, at most eight, stored without allocation.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace weft {

// Sizes, axis 0 first. Also used for strides and for lists of axes or indices.
//
//     Shape shape{2, 3};
//     shape.push_back(4);
//     const std::int64_t last = shape[-1];          // 4
//     const std::int64_t elements = shape.numel();  // 24
//     const std::string text = shape.str();         // "(2, 3, 4)"
class Shape {
public:
    static constexpr int max_rank = 8;  // the most axes a tensor can have

    Shape() = default;  // rank 0: a scalar
    // One axis, as in zeros(5).
    template <std::integral Size>
    Shape(Size size) : Shape{static_cast<std::int64_t>(size)} {}
    // Shape{2, 3}, or from a vector or span; ShapeError above max_rank axes.
    Shape(std::initializer_list<std::int64_t> sizes) : Shape(std::span(sizes.begin(), sizes.size())) {}
    Shape(const std::vector<std::int64_t>& sizes) : Shape(std::span(sizes)) {}
    explicit Shape(std::span<const std::int64_t> sizes);
    // `rank` axes of one size: filled(2, 3) is (3, 3). ShapeError above max_rank axes.
    static Shape filled(int rank, std::int64_t size);

    int rank() const { return rank_; }         // the number of axes
    bool empty() const { return rank_ == 0; }  // no axes: a scalar's shape
    // The size of an axis; negative axes count from the end. IndexError if out of range.
    std::int64_t operator[](int axis) const { return sizes_[position(axis)]; }
    std::int64_t& operator[](int axis) { return sizes_[position(axis)]; }
    // The sizes, for a range-based for.
    const std::int64_t* begin() const { return sizes_.data(); }
    std::int64_t* begin() { return sizes_.data(); }
    // One past the end.
    const std::int64_t* end() const { return sizes_.data() + rank_; }
    std::int64_t* end() { return sizes_.data() + rank_; }
    // The size of the last axis; IndexError for a scalar.
    std::int64_t back() const { return (*this)[rank_ - 1]; }
    void push_back(std::int64_t size);  // adds a last axis; ShapeError above max_rank axes
    // Inserts before `axis` (−1: after the last). ShapeError above max_rank axes, IndexError if out of range.
    void insert(int axis, std::int64_t size);
    void erase(int axis);  // removes an axis; IndexError if out of range

    // The product of the sizes; 1 for a scalar. ValueError if it does not fit in 63 bits.
    std::int64_t numel() const;

    // "(2, 3)", "(4,)", "()".
    std::string str() const;

    // Whether rank and sizes are equal.
    friend bool operator==(const Shape& a, const Shape& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }

private:
    std::array<std::int64_t, max_rank> sizes_{};
    int rank_ = 0;

    // Kernels call this in their loops, so an axis in 0 … rank − 1 costs no function call.
    std::size_t position(int axis) const {
        if (static_cast<unsigned>(axis) < static_cast<unsigned>(rank_)) [[likely]]
            return static_cast<std::size_t>(axis);
        return normalized_axis(axis);
    }
    std::size_t normalized_axis(int axis) const;
};

using Strides = Shape;  // in elements, not bytes

// Writes shape.str().
std::ostream& operator<<(std::ostream& out, const Shape& shape);

// Whether T is a type of numbers.
template <class T>
concept is_number = std::is_arithmetic_v<T>;
// Whether arguments are sizes, one by one, as of zeros(2, 3).
template <class... T>
concept all_integral = (std::integral<std::remove_cvref_t<T>> && ...);

// The shape that a and b broadcast to by NumPy's rule: aligned from the right, sizes of 1 stretch. If two
// sizes differ and neither is 1, ShapeError, naming `operation`, both shapes and the axis.
//
//     const Shape shape = broadcast_shapes({4, 1}, {3}, "add");  // (4, 3)
Shape broadcast_shapes(const Shape& a, const Shape& b, const char* operation);

// `axis` in 0 … rank − 1; negative axes count from the end. IndexError, naming `operation`, if out of range.
//
//     const int last = normalize_axis(-1, 3, "sum");          // 2
//     const Strides strides = contiguous_strides({2, 3, 4});  // (12, 4, 1)
int normalize_axis(int axis, int rank, const char* operation);

// The row-major strides of a shape: (2, 3) → (3, 1).
Strides contiguous_strides(const Shape& shape);

// The axes of a reduction, for sum(x), sum(x, 0) and sum(x, {0, -1}). Empty means every axis.
//
//     const Axes outer{0, -1};
//     const Tensor y = sum(ones({2, 3, 4}), outer);  // (3,), each 8
struct Axes {
    std::vector<int> axes;  // axes as passed, so possibly negative
    Axes() = default;       // every axis
    // One axis, or several.
    Axes(int axis) : axes{axis} {}
    Axes(std::initializer_list<int> list) : axes(list) {}
    Axes(std::vector<int> list) : axes(std::move(list)) {}
};

// Whether reduced axes stay, with size 1: true or false. A number does not compile, because sum(x, 1, 2) would
// not be what it seems: write several axes in braces, sum(x, {1, 2}).
//
//     const Tensor y = sum(ones({2, 3, 4}), {0, -1}, KeepDim(true));  // (1, 3, 1)
struct KeepDim {
    bool value;                                        // whether they stay
    constexpr KeepDim(bool keep) : value(keep) {}      // converts from bool alone
    constexpr operator bool() const { return value; }  // value
    template <class Number>
    KeepDim(Number) = delete;  // write several axes in braces: x.sum({1, 2})
};

inline constexpr bool keepdim = true;  // for sum(x, -1, keepdim): reduced axes stay, with size 1

// The index of the element at position i in row-major order: format_index(2, Shape{2, 2}) is "(1, 0)".
//
//     const std::string position = format_index(2, {2, 2});  // "(1, 0)"
std::string format_index(std::int64_t i, const Shape& shape);

}  // namespace weft
