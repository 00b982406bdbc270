// Array: storage, shape, strides and type of a tensor's values. It knows nothing of gradients.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "weft/core/dtype.h"
#include "weft/core/error.h"
#include "weft/core/shape.h"

namespace weft {

// A block of memory, aligned to 64 bytes, with a version that every in-place change advances. Blocks are
// recycled: a training step asks for the same sizes again and again.
struct Storage {
    explicit Storage(std::size_t bytes);  // std::bad_alloc when it cannot be had
    ~Storage();
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;

    void* data = nullptr;
    std::size_t bytes = 0;
    std::uint64_t version = 0;
};

struct Array {
    std::shared_ptr<Storage> storage;
    Shape shape;
    Strides strides;
    std::int64_t offset = 0;  // of the first element, in elements
    DType dtype = float32;

    template <class T>
    T* data() const {
        return static_cast<T*>(storage->data) + offset;
    }
    std::int64_t numel() const { return shape.numel(); }
    int rank() const { return shape.rank(); }
    bool is_contiguous() const;
    bool overlaps_itself() const;  // two elements share memory (a stride of 0)
};

// Whether the product of the sizes (those of 0 left out: strides multiply the others) does not fit in 63 bits.
bool product_overflows(const Shape& shape);

// New, contiguous, values not set. ValueError naming `operation` for a negative size or a product that
// overflows.
Array make_array(const Shape& shape, DType dtype, const char* operation = "empty");

// DTypeError naming `operation` unless a plain number is exact in the type: int64 and bool hold few, and a
// floating type rounds.
void check_representable_exactly(const char* operation, double value, DType dtype);
inline void check_representable(const char* operation, double value, DType dtype) {
    if (!is_floating_point(dtype)) check_representable_exactly(operation, value, dtype);
}

// The same storage seen through another shape, with strides.
Array view_of(const Array& x, const Shape& shape, const Strides& strides, std::int64_t offset);
Array broadcast_view(const Array& x, const Shape& shape);  // strides of 0 where x has size 1; sizes must fit
Array permuted_view(const Array& x, const Shape& axes);
Array transposed_view(const Array& x, int a, int b);

// Strides with which x's memory can be read as `shape` (of equal numel); false where that takes a copy.
bool reshaped_strides(const Array& x, const Shape& shape, Strides& strides);

// As NumPy's str(): 8 digits, lines of 75 columns, the middle left out above 1000 elements.
std::string format(const Array& x);

// Calls f(T{}) with the C++ type of a dtype.
template <class F>
decltype(auto) visit_floating(DType dtype, F&& f) {
    return dtype == float64 ? f(double{}) : f(float{});
}
template <class F>
decltype(auto) visit_numeric(DType dtype, F&& f) {
    return dtype == int64 ? f(std::int64_t{}) : visit_floating(dtype, f);
}
// The same for sums and products: int64 is calculated in unsigned numbers, which wrap where they overflow, as
// NumPy's.
template <class F>
decltype(auto) visit_wrapping(DType dtype, F&& f) {
    return dtype == int64 ? f(std::uint64_t{}) : visit_floating(dtype, f);
}
template <class F>
decltype(auto) visit_any(DType dtype, F&& f) {
    return dtype == boolean ? f(bool{}) : visit_numeric(dtype, f);
}

}  // namespace weft
