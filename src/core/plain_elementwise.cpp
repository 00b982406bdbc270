// One element after the other.
#include <cmath>

#include "core/element.h"

namespace weft::kernels {
namespace reference {
namespace {

// out_i = f(x_i).
template <class F>
void each(const F& f, const Array& out, const Array& x) {
    visit_floating(out.dtype, [&]<class T>(T) {
        for (std::int64_t i = 0; i < out.numel(); ++i) element<T>(out, i) = f(element<T>(x, i));
    });
}

void exp(const Array& out, const Array& x) {
    each([](auto x) { return std::exp(x); }, out, x);
}

void log(const Array& out, const Array& x) {
    each([](auto x) { return std::log(x); }, out, x);
}

void sigmoid(const Array& out, const Array& x) {
    each(
        []<class T>(T x) {
            const T e = std::exp(-std::abs(x));  // never overflows
            return (x >= 0 ? T(1) : e) / (1 + e);
        },
        out, x);
}

void fill_dropout(const Array& out, const Dropout& dropout) {
    visit_floating(out.dtype, [&]<class T>(T) {
        for (std::int64_t i = 0; i < out.numel(); ++i)
            out.data<T>()[i] = static_cast<T>(dropout_factor(dropout, static_cast<std::uint64_t>(i)));
    });
}

void for_runs(const Array& out, std::initializer_list<const Array*> in, RunBody body, const void* context) {
    const auto address = [](const Array& x, std::int64_t i) {
        return static_cast<std::byte*>(x.storage->data) +
               (x.offset + offset_of(x, i)) * static_cast<std::int64_t>(itemsize(x.dtype));
    };
    for (std::int64_t i = 0; i < out.numel(); ++i) {
        const void* x[3];
        for (std::size_t k = 0; k < in.size(); ++k) x[k] = address(*in.begin()[k], i);
        body(context, 1, address(out, i), x);
    }
}

}  // namespace
}  // namespace reference

constinit decltype(kernels::exp) exp{reference::exp, installed.exp};
constinit decltype(kernels::log) log{reference::log, installed.log};
constinit decltype(kernels::sigmoid) sigmoid{reference::sigmoid, installed.sigmoid};
constinit decltype(kernels::fill_dropout) fill_dropout{reference::fill_dropout, installed.fill_dropout};
constinit decltype(kernels::for_runs) for_runs{reference::for_runs, installed.for_runs};

}  // namespace weft::kernels
