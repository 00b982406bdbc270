// Array: the storage, shape, strides and type of a tensor's values, without gradients.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "weft/core/dtype.h"
#include "weft/core/error.h"
#include "weft/core/shape.h"

namespace weft {

// A block of memory, aligned to 64 bytes; recycled, because every training step asks for the same sizes. Or one
// that somebody else owns, which is aligned to its elements and never recycled.
struct Storage {
    explicit Storage(std::size_t bytes);  // throws std::bad_alloc
    explicit Storage(void* theirs) : data(theirs) {}
    ~Storage();
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;

    std::byte* begin() const { return static_cast<std::byte*>(data); }
    bool is_foreign() const { return bytes == 0; }  // blocks of ours have at least one

    void* data = nullptr;
    std::size_t bytes = 0;
    std::function<void(void*)> deleter = {};  // frees foreign memory; called with its address
    std::uint64_t version = 0;                // incremented by every in-place change
    std::shared_ptr<const void> beside = {};  // what src/fast keeps with the memory, and nothing else reads
};

// A handle: a const Array& has a fixed shape and memory, but its elements can be written.
struct Array {
    std::shared_ptr<Storage> storage;
    Shape shape;
    Strides strides;
    std::int64_t offset = 0;  // position of the first element, in elements
    DType dtype = float32;

    template <class T>
    T* data() const {
        return static_cast<T*>(storage->data) + offset;
    }
    std::int64_t numel() const { return shape.numel(); }
    int rank() const { return shape.rank(); }
    bool is_contiguous() const;
    bool overlaps_itself() const;  // whether elements share memory (a stride of 0)
};

// Whether the memory from the first element of a to its last has a byte of that of b.
bool may_share_memory(const Array& a, const Array& b);

// Whether the product of the positive sizes exceeds 63 bits. Zeros are skipped, because strides are products of
// the other sizes.
bool product_overflows(const Shape& shape);

// The bytes of such an array. ValueError, naming `operation`, for negative or overflowing sizes; ShapeError
// where rows do not divide into the type's blocks.
std::int64_t check_sizes(const Shape& shape, DType dtype, const char* operation);

// The values of a contiguous array as bytes. DTypeError where a row of it begins or ends within a block.
std::byte* bytes_at(const Array& x);

// A new contiguous array, uninitialised. Refuses what check_sizes does.
Array make_array(const Shape& shape, DType dtype, const char* operation = "empty");

// DTypeError, naming `operation`, unless int64 or bool holds `value` exactly. (A floating type rounds it, but
// bfloat16 and float16 not to infinity.)
void check_holds(const char* operation, double value, DType dtype);
inline void check_representable(const char* operation, double value, DType dtype) {
    if (!takes_gradient(dtype)) check_holds(operation, value, dtype);
}

// DTypeError, naming `operation`, for bfloat16 and float16.
void check_computes(const char* operation, DType dtype);

// Where bfloat16 or float16 ends.
struct End {
    double infinite;      // the least number that is rounded to infinity
    const char* largest;  // the largest number
    const char* instead;  // what to use beyond it
};
End end_of(DType dtype);

// Views of x's storage. broadcast_view takes a shape that x broadcasts to; the sizes that it stretches get
// strides of 0.
Array view_of(const Array& x, const Shape& shape, const Strides& strides, std::int64_t offset);
Array broadcast_view(const Array& x, const Shape& shape);
Array transposed_view(const Array& x, int a, int b);

// The strides with which x's memory reads as `shape`, of equal numel; nothing if that needs a copy.
std::optional<Strides> reshaped_strides(const Array& x, const Shape& shape);

// As NumPy's str(): 8 digits, lines of 75 columns, a summary above 1000 elements.
std::string format(const Array& x);

}  // namespace weft
