#include "weft/core/shape.h"

#include <algorithm>
#include <ostream>

#include "weft/core/dtype.h"
#include "weft/core/error.h"

namespace weft {

namespace {
template <class T>
void check_rank(T rank) {
    if (rank > static_cast<T>(Shape::max_rank))
        throw ShapeError("shape: ", rank, " axes, but a tensor has at most ", Shape::max_rank,
                         "; merge some with reshape");
}
}  // namespace

Shape::Shape(std::span<const std::int64_t> sizes) {
    check_rank(sizes.size());
    std::copy(sizes.begin(), sizes.end(), sizes_.begin());
    rank_ = static_cast<int>(sizes.size());
}

Shape Shape::filled(int rank, std::int64_t size) {
    Shape shape;
    check_rank(rank);
    shape.rank_ = rank;
    std::fill(shape.begin(), shape.end(), size);
    return shape;
}

std::size_t Shape::normalized_axis(int axis) const {
    return static_cast<std::size_t>(normalize_axis(axis, rank_, "shape"));
}

void Shape::push_back(std::int64_t size) {
    if (rank_ == max_rank)
        throw ShapeError("shape: cannot add an axis to ", str(), ", because a tensor has at most ", max_rank,
                         "; merge some with reshape");
    sizes_[static_cast<std::size_t>(rank_++)] = size;
}

void Shape::insert(int axis, std::int64_t size) {
    axis = normalize_axis(axis, rank_ + 1, "shape");
    push_back(size);
    std::rotate(begin() + axis, end() - 1, end());
}

void Shape::erase(int axis) {
    std::int64_t* size = &(*this)[axis];
    std::copy(size + 1, end(), size);
    --rank_;
}

std::int64_t Shape::numel() const {
    std::int64_t product = 1;
    for (std::int64_t size : *this)
        if (__builtin_mul_overflow(product, size, &product) && std::find(begin(), end(), 0) == end())
            throw ValueError("shape: the product of ", str(), " does not fit in 63 bits; use smaller sizes");
    return product;
}

std::string Shape::str() const {
    std::string text = "(";
    for (int i = 0; i < rank_; ++i) text += (i ? ", " : "") + std::to_string((*this)[i]);
    return text + (rank_ == 1 ? ",)" : ")");
}

Shape broadcast_shapes(const Shape& a, const Shape& b, const char* operation) {
    Shape result = Shape::filled(std::max(a.rank(), b.rank()), 1);
    for (int i = 1; i <= result.rank(); ++i) {
        const std::int64_t m = i <= a.rank() ? a.end()[-i] : 1, n = i <= b.rank() ? b.end()[-i] : 1;
        if (m != n && m != 1 && n != 1)
            throw ShapeError(operation, ": ", a, " and ", b, " do not broadcast: axis ", -i, " has ", m,
                             " against ", n, "; sizes must be equal, or one of them 1");
        result.end()[-i] = m == 1 ? n : m;
    }
    return result;
}

int normalize_axis(int axis, int rank, const char* operation) {
    const int normalized = axis < 0 ? axis + rank : axis;
    if (normalized < 0 || normalized >= rank)
        throw IndexError(operation, ": axis ", axis, " is out of range for rank ", rank,
                         (rank == 0 ? " (a scalar has no axes)"
                                    : "; use " + std::to_string(-rank) + " to " + std::to_string(rank - 1)));
    return normalized;
}

Strides contiguous_strides(const Shape& shape) {
    Strides strides = Strides::filled(shape.rank(), 1);
    const std::int64_t* size = shape.begin();
    std::int64_t* stride = strides.begin();
    for (int i = shape.rank() - 1; i > 0; --i) stride[i - 1] = stride[i] * size[i];
    return strides;
}

std::string format_index(std::int64_t i, const Shape& shape) {
    Shape at = Shape::filled(shape.rank(), 0);
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        at[axis] = i % shape[axis];
        i /= shape[axis];
    }
    return at.str();
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.str(); }
std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name(dtype); }

}  // namespace weft
