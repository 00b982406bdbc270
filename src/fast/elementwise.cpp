// Runs of consecutive elements. Other layouts are gathered into a small buffer first, so that every element
// passes through the same vector code.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

#include "core/common.h"
#include "core/formula.h"
#include "core/kernels.h"
#include "core/run.h"
#include "fast/simd.h"
#include "ops/common.h"
#include "weft/core/random.h"

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

namespace {

// xsimd's eˣ is inf a little before the type's end, and 0 where the result is denormal; there it is (e^(x/2))².
template <class T>
xsimd::batch<T> exp_of(const xsimd::batch<T>& x) {
    using B = xsimd::batch<T>;
    constexpr bool narrow = std::is_same_v<T, float>;
    const B e = xsimd::exp(x);
    const auto near_end = x < B(narrow ? T(-87) : T(-708)) || x > B(narrow ? T(88) : T(709));
    if (!xsimd::any(near_end)) return e;
    const B root = xsimd::exp(x * B(T(0.5)));
    return xsimd::select(near_end, root * root, e);
}

}  // namespace

void exp(const Array& out, const Array& x) {
    visit_floating(x.dtype, [&]<class T>(T) {
        const auto f = [](const xsimd::batch<T>& x) { return exp_of<T>(x); };
        for_runs_of<T, T>([&](std::int64_t n, T* y, const T* p) { simd_run(f, n, y, p); }, out, x);
    });
}

void sigmoid(const Array& out, const Array& x) {
    visit_floating(x.dtype, [&]<class T>(T) {
        using B = xsimd::batch<T>;
        const auto f = [](const B& x) {
            const B e = exp_of<T>(-xsimd::abs(x));  // never overflows
            return xsimd::select(x >= B(T(0)), B(T(1)), e) / (B(T(1)) + e);
        };
        for_runs_of<T, T>([&](std::int64_t n, T* y, const T* p) { simd_run(f, n, y, p); }, out, x);
    });
}

// xsimd's logarithm takes a denormal float64 for a larger number, so it gets x·2⁵⁴.
void log(const Array& out, const Array& x) {
    visit_floating(x.dtype, [&]<class T>(T) {
        using B = xsimd::batch<T>;
        const auto f = [](const B& x) {
            const B y = xsimd::log(x);
            const auto small = x < B(std::numeric_limits<T>::min());
            if (std::is_same_v<T, float> || !xsimd::any(small)) return y;
            return xsimd::select(small, xsimd::log(x * B(T(0x1p54))) - B(T(54 * std::numbers::ln2)), y);
        };
        for_runs_of<T, T>([&](std::int64_t n, T* y, const T* p) { simd_run(f, n, y, p); }, out, x);
    });
}

namespace {

// out_{4i + w} = word w of philox(key, counter + i) for i < lanes. The words are kept in 64 bits, the size of a
// product, so that compilers find the vectors.
template <int lanes>
void philox_lanes(std::uint64_t key, std::uint64_t counter, std::uint32_t* out) {
    constexpr std::uint64_t low = 0xFFFFFFFF, multiplier0 = 0xD2511F53, multiplier1 = 0xCD9E8D57;
    constexpr std::uint32_t weyl0 = 0x9E3779B9, weyl1 = 0xBB67AE85;
    std::uint64_t c0[lanes], c1[lanes], c2[lanes] = {}, c3[lanes] = {};
    for (int i = 0; i < lanes; ++i) {
        const std::uint64_t c = counter + static_cast<std::uint64_t>(i);
        c0[i] = c & low;
        c1[i] = c >> 32;
    }
    std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round, k0 += weyl0, k1 += weyl1)
        for (int i = 0; i < lanes; ++i) {
            const std::uint64_t p0 = multiplier0 * (c0[i] & low), p1 = multiplier1 * (c2[i] & low);
            c0[i] = (p1 >> 32) ^ c1[i] ^ k0;
            c1[i] = p1 & low;
            c2[i] = (p0 >> 32) ^ c3[i] ^ k1;
            c3[i] = p0 & low;
        }
    for (int i = 0; i < lanes; ++i) {
        out[4 * i] = static_cast<std::uint32_t>(c0[i]);
        out[4 * i + 1] = static_cast<std::uint32_t>(c1[i]);
        out[4 * i + 2] = static_cast<std::uint32_t>(c2[i]);
        out[4 * i + 3] = static_cast<std::uint32_t>(c3[i]);
    }
}

}  // namespace

template <class T>
void dropout_factors(const Dropout& dropout, std::int64_t e, std::int64_t n, T* factors) {
    const auto limit = static_cast<std::uint32_t>(dropout.p * 0x1p32);
    const T scale = static_cast<T>(1 / (1 - dropout.p));
    std::uint64_t counter = dropout.first + static_cast<std::uint64_t>(e) / 4;
    constexpr int lanes = 32;
    std::uint32_t words[4 * lanes];
    for (std::int64_t skipped = e % 4; n > 0; skipped = 0, counter += lanes) {
        philox_lanes<lanes>(dropout.seed, counter, words);
        const std::int64_t here = std::min(n, 4 * lanes - skipped);
        for (std::int64_t i = 0; i < here; ++i) factors[i] = words[skipped + i] >= limit ? scale : T(0);
        factors += here;
        n -= here;
    }
}

template void dropout_factors(const Dropout&, std::int64_t, std::int64_t, float*);
template void dropout_factors(const Dropout&, std::int64_t, std::int64_t, double*);

void fill_dropout(const Array& out, const Dropout& dropout) {
    visit_floating(out.dtype, [&]<class T>(T) {
        parallel_blocks(out.numel(), parallel_grain, [&](std::int64_t begin, std::int64_t end) {
            dropout_factors(dropout, begin, end - begin, out.data<T>() + begin);
        });
    });
}

// gelu as one formula, and its gradient as another.

namespace {

constexpr double gelu_factor = 2 * std::numbers::inv_sqrtpi * std::numbers::sqrt2;  // 2√(2/π)

// y = x·Φ(x):  dx = dy · (Φ(x) + x·φ(x))
Tensor gelu_exact(const Tensor& x) {
    const Op op("gelu");
    return elementwise(x, by_element([](const auto& x) {
                           using T = Value<decltype(x)>;
                           return x * T(0.5) * (T(1) + xt::erf(x * T(std::numbers::sqrt2 / 2)));
                       }));
}
Tensor gelu_exact_backward(const Tensor& x, const Tensor& dy) {
    const Op op("gelu");
    return elementwise(
        x, dy, by_element([](const auto& x, const auto& dy) {
            using T = Value<decltype(x)>;
            return dy * (T(0.5) * (T(1) + xt::erf(x * T(std::numbers::sqrt2 / 2))) +
                         x * T(std::numbers::inv_sqrtpi / std::numbers::sqrt2) * xt::exp(T(-0.5) * x * x));
        }));
}

// y = x·g(x) with g = ½(1 + tanh u) = σ(2u), u = √(2/π)(x + 0.044715 x³), which needs one exponential instead
// of a tanh (Hendrycks and Gimpel, "Gaussian error linear units", 2016, §2):  dx = dy · (g + x·g·(1 − g)·2u′)
Tensor gelu_tanh(const Tensor& x) {
    const Op op("gelu");
    return elementwise(x, [](const auto& x) {
        using T = Value<decltype(x)>;
        return x * (T(1) / (T(1) + xt::exp(T(-gelu_factor) * (x + T(0.044715) * x * x * x))));
    });
}
void gelu_tanh_backward(const Array& dx, const Array& x, const Array& dy) {
    visit_floating(x.dtype, [&]<class T>(T) {
        using B = xsimd::batch<T>;
        constexpr T factor = T(gelu_factor);
        const auto rule = [](const B& x, const B& dy) {
            // Beyond ±50 g is exactly 0 or 1, and x³ might overflow.
            const B t = xsimd::min(B(T(50)), xsimd::max(B(T(-50)), x));
            const B g = B(T(1)) / (B(T(1)) + xsimd::exp(B(-factor) * (t + B(T(0.044715)) * t * t * t)));
            const B du = B(factor) * (B(T(1)) + B(T(3 * 0.044715)) * t * t);
            return dy * (g + x * g * (B(T(1)) - g) * du);
        };
        for_runs_of<T, T, T>([&](std::int64_t n, T* d, const T* p, const T* q) { simd_run(rule, n, d, p, q); },
                             dx, x, dy);
    });
}

std::optional<FusedResult> gelu_at_once(const Inputs& in, const Gelu& kind) {
    return FusedResult{kind == Gelu::exact ? gelu_exact(in[0]) : gelu_tanh(in[0])};
}

Grads gelu_rule(const Saved& saved, const Tensor& dy, const Gelu& kind) {
    if (kind == Gelu::exact) return Grads{gelu_exact_backward(saved[0], dy)};
    const Tensor dx = empty(dy.shape(), dy.dtype());
    gelu_tanh_backward(dx.array(), saved[0].array(), dy.array());
    return Grads{dx};
}

}  // namespace
}  // namespace weft::kernels::fast

namespace weft {
constinit const Kernel<Gelu> gelu_kernel{kernels::fast::gelu_at_once, kernels::fast::gelu_rule};
}  // namespace weft
