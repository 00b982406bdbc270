// Element types. float32 is the default, and float64 runs the same code. int64 holds token ids and indices,
// boolean holds masks; neither takes a gradient. bfloat16 and float16 store: they are computed in float32.
// Where two types meet, nothing is lost silently: see operator+.
#pragma once

#if __cplusplus < 202002L  // not #error, after which the compiler would go on to some 75 other errors
#include "Weft needs C++20: add -std=c++20"
#endif

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <type_traits>

#include "weft/tensor/half.h"

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
    float16    // 2 bytes, for storing: 11 significant bits, to 65504
};

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

// Returns f(Element) for a dtype: choices by type go through this function, and a type is added here.
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
            break;
    }
    return f(Element<bool>{"bool"});
}

// "float32", "float64", "int64", "bool", "bfloat16" or "float16".
constexpr const char* name(DType dtype) {
    return visit(dtype, [](auto element) { return element.name; });
}

// Writes name(dtype).
std::ostream& operator<<(std::ostream& out, DType dtype);

// The bytes of one element: 4, 8, 8, 1, 2 or 2.
//
//     const std::size_t bytes = itemsize(float64);   // 8
//     const bool trains = takes_gradient(bfloat16);  // false
//     const DType wider = computed_in(bfloat16);     // float32
//     const DType same = dtype_of<double>();         // float64
constexpr std::size_t itemsize(DType dtype) {
    return visit(dtype, []<class S, class C>(Element<S, C>) { return sizeof(S); });
}

// True for float32, float64, bfloat16 and float16.
//
//     const bool is_real = is_floating_point(float16);  // true
constexpr bool is_floating_point(DType dtype) {
    return visit(dtype, []<class S, class C>(Element<S, C>) { return std::is_floating_point_v<C>; });
}

// True for float32 and float64, in which Weft computes: a tensor of another type takes no gradient.
constexpr bool takes_gradient(DType dtype) {
    return visit(dtype, []<class S, class C>(Element<S, C>) { return std::is_floating_point_v<S>; });
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

// The type in which tensors of this one are computed: float32 for bfloat16 and float16, itself for the others.
constexpr DType computed_in(DType dtype) {
    return visit(dtype, []<class S, class C>(Element<S, C>) { return dtype_of<C>(); });
}

}  // namespace weft
