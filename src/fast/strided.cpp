// Runs of consecutive elements. Other layouts are gathered into a small buffer first, so that every element
// passes through the same vector code.
#include "core/kernels.h"
#include "fast/sizes.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace weft::kernels::fast {
namespace {

constexpr std::size_t max_operands = 4;  // the output and three inputs

// The axes along which several operands of one shape are read: those of size 1 are dropped, and neighbours are
// merged where the strides of every operand allow it.
struct MergedAxes {
    Shape shape;
    std::array<Strides, max_operands> strides;

    MergedAxes(const Array* const* operands, std::size_t count) {
        const Shape& sizes = operands[0]->shape;
        for (int axis = 0; axis < sizes.rank(); ++axis) {
            const std::int64_t size = sizes.begin()[axis];
            if (size == 1) continue;
            const auto stride = [&](std::size_t k) { return operands[k]->strides.begin()[axis]; };
            bool merges = shape.rank() > 0;
            for (std::size_t k = 0; k < count && merges; ++k) merges = strides[k].back() == stride(k) * size;
            if (!merges) {
                shape.push_back(1);
                for (Strides& s : strides) s.push_back(0);
            }
            shape.end()[-1] *= size;
            for (std::size_t k = 0; k < count; ++k) strides[k].end()[-1] = stride(k);
        }
        if (shape.empty()) {
            shape.push_back(1);
            for (Strides& s : strides) s.push_back(1);
        }
    }

    // The offset in operand k at which row `row` of the last axis starts.
    std::int64_t start(std::size_t k, std::int64_t row) const {
        std::int64_t offset = 0;
        for (int axis = shape.rank() - 2; axis >= 0; --axis) {
            offset += row % shape.begin()[axis] * strides[k].begin()[axis];
            row /= shape.begin()[axis];
        }
        return offset;
    }
};

// Copies n elements `stride` apart to consecutive memory; scatter is the inverse.
void gather_run(DType dtype, std::int64_t n, void* to, const void* from, std::int64_t stride) {
    visit_any(dtype, [&]<class T>(T) {
        for (std::int64_t i = 0; i < n; ++i) static_cast<T*>(to)[i] = static_cast<const T*>(from)[i * stride];
    });
}
void scatter(DType dtype, std::int64_t n, void* to, const void* from, std::int64_t stride) {
    visit_any(dtype, [&]<class T>(T) {
        for (std::int64_t i = 0; i < n; ++i) static_cast<T*>(to)[i * stride] = static_cast<const T*>(from)[i];
    });
}

}  // namespace

void for_runs(const Array& out, std::initializer_list<const Array*> in, RunBody body, const void* context) {
    if (out.numel() == 0) return;
    std::array<const Array*, max_operands> operands{&out};
    std::copy(in.begin(), in.end(), operands.begin() + 1);
    const std::size_t count = in.size() + 1;
    const MergedAxes axes(operands.data(), count);
    const auto stride = [&](std::size_t k) { return axes.strides[k].back(); };
    const std::int64_t inner = axes.shape.back(), rows = out.numel() / inner;
    bool dense = true;
    for (std::size_t k = 0; k < count; ++k) dense = dense && stride(k) == 1;
    const std::int64_t step = dense ? parallel_grain : run_length;
    const std::int64_t runs_per_row = (inner + step - 1) / step;
    const std::int64_t runs_per_task = std::max<std::int64_t>(1, parallel_grain / std::min(step, inner));

    parallel_blocks(rows * runs_per_row, runs_per_task, [&](std::int64_t first, std::int64_t last) {
        alignas(64) std::byte buffers[max_operands][run_length * sizeof(double)];
        std::array<const void*, max_operands>
            filled_with{};  // the element that fills all of an operand's buffer
        for (std::int64_t run = first; run < last; ++run) {
            const std::int64_t row = run / runs_per_row, from = run % runs_per_row * step,
                               n = std::min(step, inner - from);
            std::array<void*, max_operands> memory;       // the run of each operand
            std::array<void*, max_operands> consecutive;  // the same elements next to each other
            for (std::size_t k = 0; k < count; ++k) {
                const Array& x = *operands[k];
                const std::int64_t element = x.offset + axes.start(k, row) + from * stride(k);
                memory[k] = static_cast<std::byte*>(x.storage->data) +
                            element * static_cast<std::int64_t>(itemsize(x.dtype));
                consecutive[k] = stride(k) == 1 ? memory[k] : buffers[k];
                // A single broadcast element fills its buffer once for all runs of a task.
                if (k == 0 || stride(k) == 1 || (stride(k) == 0 && memory[k] == filled_with[k])) continue;
                gather_run(x.dtype, stride(k) == 0 ? std::min(step, inner) : n, buffers[k], memory[k],
                           stride(k));
                filled_with[k] = stride(k) == 0 ? memory[k] : nullptr;
            }
            body(context, n, consecutive[0], consecutive.data() + 1);
            if (stride(0) != 1) scatter(out.dtype, n, memory[0], buffers[0], stride(0));
        }
    });
}

}  // namespace weft::kernels::fast
