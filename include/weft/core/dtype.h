// Element types. float32 is the default, and float64 runs the same code. int64 holds token ids and indices,
// boolean holds masks; neither takes a gradient. bfloat16, float16 and the blocks store: they are computed in
// float32. Where two types meet, nothing is lost silently: see operator+.
#pragma once

#include "weft/core/error.h"

#if __cplusplus < 202002L  // not #error, after which the compiler would go on to some 75 other errors
#include "Weft needs C++20: add -std=c++20"
#endif

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <type_traits>

#include "weft/base/half.h"

namespace weft {

// The type of a tensor's elements.
//
//     const Tensor ids = arange(3);  // int64, as indices are
//     const Tensor x = ids.to(float64);
//     const std::string type = name(x.dtype());  // "float64"
enum class DType : std::uint8_t {
    float32,   // 4 bytes, IEEE 754; the default
    float64,   // 8 bytes, for gradient checks
    int64,     // 8 bytes, for ids and indices
    boolean,   // 1 byte, for masks
    bfloat16,  // 2 bytes, for storing: a float32 with 8 significant bits
    float16,   // 2 bytes, for storing: 11 significant bits, to 65504
    // Blocks, in which the rows of a weight (n, k) are stored, by the names of GGUF
    // (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, "GGML types"). The 32 weights of a block, or
    // 256, share a scale d of float16, and where there is one a minimum m: w = d · q, or d · q + m. In a _K
    // format eight blocks of 32 have their scales and minima in six bits each, or sixteen of 16 their scales in
    // eight. `linear` and `embedding` read such a tensor, and whatever else needs its elements refuses it.
    Q8_0,  // q in −128 … 127; 8.5 bits a weight
    Q4_0,  // q in −8 … 7; 4.5 bits
    Q4_1,  // q in 0 … 15, and m; 5 bits
    Q5_0,  // q in −16 … 15; 5.5 bits
    Q5_1,  // q in 0 … 31, and m; 6 bits
    Q4_K,  // q in 0 … 15, and m; 4.5 bits
    Q5_K,  // q in 0 … 31, and m; 5.5 bits
    Q6_K   // q in −32 … 31; 6.5625 bits
};

// A DType of blocks.
using BlockFormat = DType;

// Short names, for calls such as zeros({2, 3}, float64).
inline constexpr DType float32 = DType::float32, float64 = DType::float64;
// The same for the types without gradients.
inline constexpr DType int64 = DType::int64, boolean = DType::boolean;
// And for those that store.
inline constexpr DType bfloat16 = DType::bfloat16, float16 = DType::float16;

// A type of elements: how they are stored, and what they are computed in.
template <class S, class C = S>
struct Element {
    using Storage = S;  // in memory
    using Compute = C;  // in arithmetic
    const char* name;   // "float32"
};

// Whether a type is one of blocks.
//
//     const bool in_blocks = is_quantized(DType::Q4_K);  // true
constexpr bool is_quantized(DType dtype) { return dtype >= DType::Q8_0; }

// DTypeError, in the name of the operation that runs, because it needs the elements of blocks.
//
//     const DType type = float32;
//     if (is_quantized(type)) refuse_blocks(type);
[[noreturn]] void refuse_blocks(DType dtype);

// Returns f(Element) for a dtype: choices by type go through this function, and a type is added here.
// DTypeError for blocks, which have no elements.
//
//     const auto size = []<class S, class C>(Element<S, C>) { return sizeof(S); };
//     const std::size_t bytes = visit(float64, size);  // 8
template <class F>
constexpr decltype(auto) visit(DType dtype, F&& f) {
    switch (dtype) {  // the compiler names a type that is missing
        case DType::float32:
            return f(Element<float>{"float32"});
        case DType::float64:
            return f(Element<double>{"float64"});
        case DType::int64:
            return f(Element<std::int64_t>{"int64"});
        case DType::bfloat16:
            return f(Element<BFloat16, float>{"bfloat16"});
        case DType::float16:
            return f(Element<Float16, float>{"float16"});
        case DType::boolean:
            return f(Element<bool>{"bool"});
        case DType::Q8_0:
        case DType::Q4_0:
        case DType::Q4_1:
        case DType::Q5_0:
        case DType::Q5_1:
        case DType::Q4_K:
        case DType::Q5_K:
        case DType::Q6_K:
            break;
    }
    refuse_blocks(dtype);
}

// What stores several elements together, or one.
struct Blocks {
    const char* name;     // of the type
    std::int64_t length;  // elements
    std::int64_t bytes;   // which they take
};

// The blocks of a type: {"Q8_0", 32, 34}, {"float64", 1, 8}.
//
//     const Blocks block = blocks_of(DType::Q4_0);
//     const double bits = 8.0 * block.bytes / block.length;  // 4.5
constexpr Blocks blocks_of(DType dtype) {
    constexpr Blocks all[] = {{"Q8_0", 32, 34}, {"Q4_0", 32, 18},   {"Q4_1", 32, 20},   {"Q5_0", 32, 22},
                              {"Q5_1", 32, 24}, {"Q4_K", 256, 144}, {"Q5_K", 256, 176}, {"Q6_K", 256, 210}};
    if (is_quantized(dtype)) return all[static_cast<int>(dtype) - static_cast<int>(DType::Q8_0)];
    return visit(dtype, []<class S, class C>(Element<S, C> one) { return Blocks{one.name, 1, sizeof(S)}; });
}

// "float32", "float64", "int64", "bool", "bfloat16", "float16" or the name of blocks.
constexpr const char* name(DType dtype) { return blocks_of(dtype).name; }

// Writes name(dtype).
std::ostream& operator<<(std::ostream& out, DType dtype);

// The bytes of one element: 4, 8, 8, 1, 2 or 2. DTypeError for blocks.
//
//     const std::size_t bytes = itemsize(float64);   // 8
//     const bool trains = takes_gradient(bfloat16);  // false
//     const DType wider = computed_in(bfloat16);     // float32
//     const DType same = dtype_of<double>();         // float64
constexpr std::size_t itemsize(DType dtype) {
    return visit(dtype, []<class S, class C>(Element<S, C>) { return sizeof(S); });
}

// True for float32, float64, bfloat16, float16 and blocks.
//
//     const bool is_real = is_floating_point(float16);  // true
constexpr bool is_floating_point(DType dtype) {
    return is_quantized(dtype) ||
           visit(dtype, []<class S, class C>(Element<S, C>) { return std::is_floating_point_v<C>; });
}

// True for float32 and float64, in which Weft computes: a tensor of another type takes no gradient.
constexpr bool takes_gradient(DType dtype) {
    return !is_quantized(dtype) &&
           visit(dtype, []<class S, class C>(Element<S, C>) { return std::is_floating_point_v<S>; });
}

// The DType of float, double, std::int64_t, bool, BFloat16 or Float16; other types do not compile.
template <class T>
constexpr DType dtype_of() {
    if constexpr (std::is_same_v<T, float>)
        return float32;
    else if constexpr (std::is_same_v<T, double>)
        return float64;
    else if constexpr (std::is_same_v<T, std::int64_t>)
        return int64;
    else if constexpr (std::is_same_v<T, BFloat16>)
        return bfloat16;
    else if constexpr (std::is_same_v<T, Float16>)
        return float16;
    else {
        static_assert(std::is_same_v<T, bool>,
                      "a tensor holds float, double, int64_t, bool, BFloat16 or Float16");
        return boolean;
    }
}

// The bytes of n elements, which are whole blocks.
//
//     const std::int64_t bytes = bytes_of(DType::Q4_0, 64);  // 36
constexpr std::int64_t bytes_of(DType dtype, std::int64_t n) {
    const Blocks block = blocks_of(dtype);
    return n / block.length * block.bytes;
}

// The type in which tensors of this one are computed: float32 for those that store, itself for the others.
constexpr DType computed_in(DType dtype) {
    if (is_quantized(dtype)) return float32;
    return visit(dtype, []<class S, class C>(Element<S, C>) { return dtype_of<C>(); });
}
// Whether arithmetic is in another type: bfloat16, float16 and blocks.
//
//     const bool stores = only_stores(bfloat16);  // true
constexpr bool only_stores(DType dtype) { return computed_in(dtype) != dtype; }

// Internal: Choices by type, among some of the types.

// f(S{}) for a type whose elements `Among` takes: f is compiled for those alone, and DTypeError for another,
// which the caller should have refused.
template <template <class> class Among, class F>
auto visit_among(DType dtype, F&& f) -> decltype(f(float{})) {
    return visit(dtype, [&]<class S, class C>(Element<S, C>) -> decltype(f(float{})) {
        if constexpr (Among<S>::value)
            return f(S{});
        else
            throw DTypeError("visit: ", name(dtype),
                             " is none of the types that are computed here; convert it with to()");
    });
}

// Whether a type is a number of C++, and so is computed in as it is stored.
template <class S>
using IsNumber = std::conjunction<std::is_arithmetic<S>, std::negation<std::is_same<S, bool>>>;

template <class F>
decltype(auto) visit_floating(DType dtype, F&& f) {
    return visit_among<std::is_floating_point>(dtype, f);
}
// All but bfloat16 and float16.
template <class F>
decltype(auto) visit_computed(DType dtype, F&& f) {
    return visit_among<std::is_arithmetic>(dtype, f);
}
template <class F>
decltype(auto) visit_numeric(DType dtype, F&& f) {
    return visit_among<IsNumber>(dtype, f);
}
// For sums and products: int64 is computed in unsigned numbers, which wrap on overflow, as in NumPy.
template <class F>
decltype(auto) visit_wrapping(DType dtype, F&& f) {
    return visit_numeric(dtype, [&]<class T>(T) {
        if constexpr (std::is_integral_v<T>)
            return f(std::make_unsigned_t<T>{});
        else
            return f(T{});
    });
}
template <class F>
decltype(auto) visit_any(DType dtype, F&& f) {
    return visit(dtype, [&]<class S, class C>(Element<S, C>) { return f(S{}); });
}

}  // namespace weft
