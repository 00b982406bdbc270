// Elementwise work over strided arrays that broadcast. map() cuts the output into runs and hands each run to a
// body that sees only consecutive elements; what lies otherwise in memory is gathered into a small buffer
// first. Every element passes through the same SIMD function, whatever its place and strides, so views give the
// same bits as their copies.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <tuple>
#include <utility>
#include <xsimd/xsimd.hpp>

#include "core/array/array.h"
#include "core/kernels/parallel.h"

namespace weft::kernels {

constexpr std::int64_t run_length = 512;        // elements of one gathered run
constexpr std::int64_t parallel_grain = 16384;  // elements of one task

// y_i = f(x_i…) over n consecutive elements, in SIMD batches; the rest passes through a padded batch.
template <class T, class F, class... X>
void simd_run(std::int64_t n, T* y, const F& f, const X*... x) {
    if constexpr (std::is_floating_point_v<T>) {
        using Batch = xsimd::batch<T>;
        constexpr std::int64_t width = Batch::size;
        std::int64_t i = 0;
        for (; i + width <= n; i += width) f(Batch::load_unaligned(x + i)...).store_unaligned(y + i);
        if (i < n) {
            auto padded = [&](const T* from) {
                T buffer[width] = {};
                std::copy(from + i, from + n, buffer);
                return Batch::load_unaligned(buffer);
            };
            T buffer[width];
            f(padded(x)...).store_unaligned(buffer);
            std::copy(buffer, buffer + (n - i), y + i);
        }
    } else {
        for (std::int64_t i = 0; i < n; ++i) y[i] = f(x[i]...);
    }
}

// The axes of several operands of one shape, with size-1 axes dropped and neighbours merged where all of them
// allow it.
template <std::size_t K>
struct Loop {
    Shape shape;
    std::array<Strides, K> strides;

    explicit Loop(const std::array<const Array*, K>& operands) {
        const std::int64_t* size = operands[0]->shape.begin();
        std::array<const std::int64_t*, K> stride;  // of the axis, in each operand
        for (std::size_t k = 0; k < K; ++k) stride[k] = operands[k]->strides.begin();
        for (int axis = 0; axis < operands[0]->rank(); ++axis) {
            if (size[axis] == 1) continue;
            bool merges = shape.rank() > 0;
            for (std::size_t k = 0; k < K && merges; ++k)
                merges = strides[k].end()[-1] == stride[k][axis] * size[axis];
            if (merges)
                shape.end()[-1] *= size[axis];
            else
                shape.push_back(size[axis]);
            for (std::size_t k = 0; k < K; ++k)
                if (merges)
                    strides[k].end()[-1] = stride[k][axis];
                else
                    strides[k].push_back(stride[k][axis]);
        }
        if (shape.empty()) {
            shape.push_back(1);
            for (auto& s : strides) s.push_back(1);
        }
    }
    std::int64_t inner() const { return shape.back(); }
    std::int64_t rows() const { return inner() == 0 ? 0 : shape.numel() / inner(); }

    // Where row `row` starts in operand k.
    std::int64_t start(std::size_t k, std::int64_t row) const {
        std::int64_t offset = 0;
        for (int axis = shape.rank() - 2; axis >= 0; --axis) {
            offset += row % shape.begin()[axis] * strides[k].begin()[axis];
            row /= shape.begin()[axis];
        }
        return offset;
    }
};

// Calls body(n, out, in…) for every run of `out`. The inputs have out's shape (strides of 0 where they
// broadcast).
template <class Out, class... In, class Body>
void map(const Body& body, const Array& out, const std::type_identity_t<std::pair<const Array&, In*>>&... in) {
    constexpr std::size_t count = sizeof...(In) + 1;
    if (out.numel() == 0) return;
    const Loop<count> loop({&out, &in.first...});
    const std::int64_t inner = loop.inner(), rows = loop.rows();
    bool dense = true;
    for (const auto& s : loop.strides) dense = dense && s.back() == 1;
    const std::int64_t step = dense ? parallel_grain : run_length;
    const std::int64_t runs_per_row = (inner + step - 1) / step;
    const std::int64_t runs_per_task = std::max<std::int64_t>(1, parallel_grain / std::min(step, inner));

    parallel_blocks(rows * runs_per_row, runs_per_task, [&](std::int64_t first, std::int64_t last) {
        std::tuple<std::array<In, run_length>...> buffers;
        std::array<Out, run_length> out_buffer;
        for (std::int64_t run = first; run < last; ++run) {
            [[maybe_unused]] const std::int64_t row = run / runs_per_row, from = run % runs_per_row * step,
                                                n = std::min(step, inner - from);
            [&]<std::size_t... I>(std::index_sequence<I...>) {
                [[maybe_unused]] auto source = [&](const auto& operand, std::size_t k, auto& buffer) {
                    using T = typename std::decay_t<decltype(buffer)>::value_type;
                    const std::int64_t stride = loop.strides[k].back();
                    const T* data = operand.first.template data<T>() + loop.start(k, row) + from * stride;
                    if (stride == 1) return data;
                    for (std::int64_t i = 0; i < n; ++i) buffer[static_cast<std::size_t>(i)] = data[i * stride];
                    return static_cast<const T*>(buffer.data());
                };
                const std::int64_t stride = loop.strides[0].back();
                Out* target = out.data<Out>() + loop.start(0, row) + from * stride;
                Out* y = stride == 1 ? target : out_buffer.data();
                body(n, y, source(in, I + 1, std::get<I>(buffers))...);
                if (y != target)
                    for (std::int64_t i = 0; i < n; ++i) target[i * stride] = y[i];
            }
            (std::index_sequence_for<In...>{});
        }
    });
}

// A plain number in the arithmetic of T, where int64 is unsigned (visit_wrapping). It is held exactly.
template <class T>
T number(double value) {
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::int64_t>(value));
    else
        return static_cast<T>(value);
}

// An operand of map with its element type.
template <class T>
std::pair<const Array&, T*> as(const Array& x) {
    return {x, nullptr};
}

}  // namespace weft::kernels
