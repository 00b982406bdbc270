// Elementwise arithmetic on strided arrays that broadcast: an xtensor expression, evaluated over runs of
// consecutive elements. What is not consecutive in memory is gathered into a small buffer first, and every
// element passes through the same vector code, so views give the same bits as their copies.
#pragma once

#include <array>
#include <tuple>

#include "core/array/array.h"
#include "core/array/xtensor.h"
#include "core/kernels/parallel.h"

namespace weft::kernels {

constexpr std::int64_t run_length = 512;        // elements of one gathered run
constexpr std::int64_t parallel_grain = 16384;  // elements of one task

// n consecutive elements as an xtensor expression.
template <class T>
auto adapt(const T* x, std::int64_t n) {
    const auto size = static_cast<std::size_t>(n);
    return xt::adapt(x, size, xt::no_ownership(), std::array<std::size_t, 1>{size});
}

// One vector of an expression's elements, from element i.
template <class T, class E>
xsimd::batch<T> vector_at(const E& e, std::int64_t i) {
    return e.template load_simd<xt_simd::unaligned_mode, T>(static_cast<std::size_t>(i));
}

// A formula whose functions are std's, for one element at a time: by_element([](const auto& x) { return
// xt::pow(x, x); }).
template <class F>
struct ByElement {
    F f;
};
template <class F>
ByElement<F> by_element(F f) {
    return {f};
}

template <class T, class F, class... X>
void evaluate(std::int64_t n, T* y, const ByElement<F>& formula, const X*... x) {
    const std::tuple operands(adapt(x, n)...);
    const auto e = std::apply(formula.f, operands);
    for (std::int64_t i = 0; i < n; ++i) y[i] = e.data_element(static_cast<std::size_t>(i));
}

// y = f(x…) over n consecutive elements, where f makes an xtensor expression of its operands. Where xtensor has
// vector code for all of the expression, it runs on whole vectors: the last one is padded with zeros. (The
// expression refers to its operands, so they have names here.)
template <class T, class F, class... X>
void evaluate(std::int64_t n, T* y, const F& f, const X*... x) {
    const std::tuple operands(adapt(x, n)...);
    const auto e = std::apply(f, operands);
    if constexpr ((std::is_same_v<X, T> && ...) &&
                  xt::has_simd_interface<std::decay_t<decltype(e)>, T>::value) {
        constexpr std::int64_t width = xsimd::batch<T>::size;
        std::int64_t i = 0;
        for (; i + width <= n; i += width) vector_at<T>(e, i).store_unaligned(y + i);
        if (i == n) return;
        T last[width], buffers[sizeof...(X)][width] = {};
        auto padded = [&, next = buffers](const T* from) mutable -> const T* {
            std::copy(from + i, from + n, *next);
            return *next++;
        };
        evaluate(width, last, f, padded(x)...);
        std::copy(last, last + (n - i), y + i);
    } else {
        evaluate(n, y, by_element(f), x...);
    }
}

// The axes that several operands of one shape are read along: without those of size 1, and neighbours merged
// where the memory of every operand allows it.
template <std::size_t K>
struct MergedAxes {
    Shape shape;
    std::array<Strides, K> strides;

    explicit MergedAxes(const std::array<const Array*, K>& operands) {
        const Shape& sizes = operands[0]->shape;
        for (int axis = 0; axis < sizes.rank(); ++axis) {
            const std::int64_t size = sizes.begin()[axis];
            if (size == 1) continue;
            const auto stride = [&](std::size_t k) { return operands[k]->strides.begin()[axis]; };
            bool merges = shape.rank() > 0;
            for (std::size_t k = 0; k < K && merges; ++k) merges = strides[k].back() == stride(k) * size;
            if (merges)
                shape.end()[-1] *= size;
            else
                shape.push_back(size);
            for (std::size_t k = 0; k < K; ++k)
                if (merges)
                    strides[k].end()[-1] = stride(k);
                else
                    strides[k].push_back(stride(k));
        }
        if (shape.empty()) {
            shape.push_back(1);
            for (Strides& s : strides) s.push_back(1);
        }
    }

    // Where row `row` of the last axis starts in operand k.
    std::int64_t start(std::size_t k, std::int64_t row) const {
        std::int64_t offset = 0;
        for (int axis = shape.rank() - 2; axis >= 0; --axis) {
            offset += row % shape.begin()[axis] * strides[k].begin()[axis];
            row /= shape.begin()[axis];
        }
        return offset;
    }
};

// Calls body(n, y, x…) for every run of `out`, whose elements have type Y; those of `in`, which has out's shape
// (strides of 0 where it broadcasts), have types X.
template <class Y, class... X, class Body>
void for_runs(const Body& body, const Array& out, const std::conditional_t<true, Array, X>&... in) {
    if (out.numel() == 0) return;
    const MergedAxes<sizeof...(X) + 1> axes({&out, &in...});
    const std::int64_t inner = axes.shape.back(), rows = out.numel() / inner;
    bool dense = true;
    for (const Strides& s : axes.strides) dense = dense && s.back() == 1;
    const std::int64_t step = dense ? parallel_grain : run_length;
    const std::int64_t runs_per_row = (inner + step - 1) / step;
    const std::int64_t runs_per_task = std::max<std::int64_t>(1, parallel_grain / std::min(step, inner));

    parallel_blocks(rows * runs_per_row, runs_per_task, [&](std::int64_t first, std::int64_t last) {
        std::tuple<std::array<X, run_length>...> gathered;
        std::array<Y, run_length> result;
        for (std::int64_t run = first; run < last; ++run) {
            const std::int64_t row = run / runs_per_row, from = run % runs_per_row * step,
                               n = std::min(step, inner - from);
            [[maybe_unused]] std::size_t k = 0;
            [[maybe_unused]] const auto read = [&]<class T>(const Array& x, std::array<T, run_length>& buffer) {
                const std::int64_t stride = axes.strides[++k].back();
                const T* data = x.data<T>() + axes.start(k, row) + from * stride;
                if (stride == 1) return data;
                for (std::int64_t i = 0; i < n; ++i) buffer[static_cast<std::size_t>(i)] = data[i * stride];
                return static_cast<const T*>(buffer.data());
            };
            const std::int64_t stride = axes.strides[0].back();
            Y* target = out.data<Y>() + axes.start(0, row) + from * stride;
            Y* y = stride == 1 ? target : result.data();
            std::apply(
                [&](auto&... buffer) {
                    const std::tuple<const X*...> x{
                        read(in, buffer)...};  // braces: from left to right, as k counts
                    std::apply([&](const X*... p) { body(n, y, p...); }, x);
                },
                gathered);
            if (y != target)
                for (std::int64_t i = 0; i < n; ++i) target[i * stride] = y[i];
        }
    });
}

// out = f(x…), element by element: f makes an xtensor expression of its operands.
template <class Y, class... X, class F>
void evaluate(const Array& out, const F& f, const std::conditional_t<true, Array, X>&... in) {
    for_runs<Y, X...>([&](std::int64_t n, Y* y, const X*... x) { evaluate(n, y, f, x...); }, out, in...);
}

}  // namespace weft::kernels
