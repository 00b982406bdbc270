// Shape: the sizes of a tensor's axes, at most eight of them, held in place (no allocation).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace weft {

// Sizes, counted from axis 0. Also strides, and lists of axes and of indices.
class Shape {
public:
    static constexpr int max_rank = 8;  // of every tensor

    Shape() = default;  // rank 0: a scalar
    // Shape{2, 3}, or a vector's values: ShapeError above max_rank axes.
    Shape(std::initializer_list<std::int64_t> sizes) : Shape(std::span(sizes.begin(), sizes.size())) {}
    Shape(const std::vector<std::int64_t>& sizes) : Shape(std::span(sizes)) {}
    explicit Shape(std::span<const std::int64_t> sizes);
    // `rank` axes of one size: filled(2, 3) is (3, 3), while Shape{2, 3} is (2, 3). ShapeError above max_rank.
    static Shape filled(int rank, std::int64_t size);

    int rank() const { return rank_; }         // the number of axes
    bool empty() const { return rank_ == 0; }  // no axis: a scalar
    // The size of an axis; negative axes count from the end. IndexError out of range.
    std::int64_t operator[](int axis) const { return sizes_[position(axis)]; }
    std::int64_t& operator[](int axis) { return sizes_[position(axis)]; }
    // The sizes, for a range-based for.
    const std::int64_t* begin() const { return sizes_.data(); }
    std::int64_t* begin() { return sizes_.data(); }
    // One past the last of them.
    const std::int64_t* end() const { return sizes_.data() + rank_; }
    std::int64_t* end() { return sizes_.data() + rank_; }
    // The size of the last axis; IndexError for a scalar.
    std::int64_t back() const { return (*this)[rank_ - 1]; }
    void push_back(std::int64_t size);  // ShapeError above max_rank axes
    // Before `axis` (−1: after the last); ShapeError above max_rank axes, IndexError out of range.
    void insert(int axis, std::int64_t size);
    void erase(int axis);  // the later axes move up; IndexError out of range

    // The product of the sizes; 1 for a scalar. ValueError when it does not fit in 63 bits.
    std::int64_t numel() const;

    // "(2, 3)", "(4,)", "()".
    std::string str() const;

    // The same rank and the same sizes.
    friend bool operator==(const Shape& a, const Shape& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }

private:
    std::array<std::int64_t, max_rank> sizes_{};
    int rank_ = 0;

    // Where an axis is kept. Kernels ask in their loops: only what is not 0 … rank − 1 pays for a call.
    std::size_t position(int axis) const {
        if (static_cast<unsigned>(axis) < static_cast<unsigned>(rank_)) [[likely]]
            return static_cast<std::size_t>(axis);
        return normalized_axis(axis);
    }
    std::size_t normalized_axis(int axis) const;
};

using Strides = Shape;  // in elements, not bytes

// The shape that a and b broadcast to by NumPy's rule (aligned from the right; a size of 1 stretches).
// Refused with ShapeError, naming `operation`, both shapes and the axis, where two sizes differ and neither
// is 1.
Shape broadcast_shapes(const Shape& a, const Shape& b, const char* operation);

// `axis` as 0 … rank − 1; negative axes count from the end. IndexError, naming `operation`, when out of range.
int normalize_axis(int axis, int rank, const char* operation);

// The row-major strides of a shape.
Strides contiguous_strides(const Shape& shape);

// The axes of a reduction: sum(x, 0), sum(x, {0, -1}). An empty list means every axis.
struct Axes {
    std::vector<int> axes;  // as they were given, negative ones too
    Axes() = default;       // every axis
    // One axis, or several.
    Axes(int axis) : axes{axis} {}
    Axes(std::initializer_list<int> list) : axes(list) {}
    Axes(std::vector<int> list) : axes(std::move(list)) {}
};

inline constexpr bool keepdim = true;  // sum(x, -1, keepdim): reduced axes stay, with size 1

}  // namespace weft
