// Arrays filled, copied and drawn.
#include <cmath>

#include "kernels/reference/element.h"

namespace weft::kernels::reference {
namespace {

// out_i = f(i).
template <class T, class F>
void generate(const Array& out, const F& f) {
    for (std::int64_t i = 0; i < out.numel(); ++i)
        element<T>(out, i) = static_cast<T>(f(static_cast<std::uint64_t>(i)));
}

void fill(const Array& out, double value) {
    visit_any(out.dtype, [&]<class T>(T) { generate<T>(out, [=](std::uint64_t) { return value; }); });
}

void copy(const Array& out, const Array& x) {
    visit_any(out.dtype, [&]<class To>(To) {
        visit_any(x.dtype, [&]<class From>(From) {
            for (std::int64_t i = 0; i < out.numel(); ++i)
                element<To>(out, i) = static_cast<To>(element<From>(x, i));
        });
    });
}

void fill_range(const Array& out, double start, double step) {
    visit_floating(out.dtype, [&]<class T>(T) {
        generate<T>(out, [=](std::uint64_t i) { return start + step * static_cast<double>(i); });
    });
}

void fill_integers(const Array& out, std::int64_t start, std::int64_t step) {
    const auto first = static_cast<std::uint64_t>(start), by = static_cast<std::uint64_t>(step);
    generate<std::uint64_t>(out, [=](std::uint64_t i) { return first + by * i; });
}

void fill_uniform(const Array& out, std::uint64_t seed, std::uint64_t first) {
    visit_floating(out.dtype, [&]<class T>(T) {
        generate<T>(out, [=](std::uint64_t i) {  // rounded to float, it must not reach 1
            return std::min(static_cast<T>(uniform_at(seed, first + i)), std::nextafter(T(1), T(0)));
        });
    });
}

void fill_normal(const Array& out, std::uint64_t seed, std::uint64_t first) {
    visit_floating(out.dtype, [&]<class T>(T) {
        generate<T>(out, [=](std::uint64_t i) { return normal_at(seed, first + i); });
    });
}

void fill_randint(const Array& out, std::uint64_t seed, std::uint64_t first, std::int64_t low,
                  std::int64_t high) {
    generate<std::int64_t>(out, [=](std::uint64_t i) { return randint_at(seed, first + i, low, high); });
}

void fill_dropout(const Array& out, const Dropout& dropout) {
    visit_floating(out.dtype, [&]<class T>(T) {
        generate<T>(out,
                    [&](std::uint64_t e) { return dropout_factor(dropout, static_cast<std::int64_t>(e)); });
    });
}

}  // namespace

extern const Filling filling_table{fill,         copy,        fill_range,   fill_integers,
                                   fill_uniform, fill_normal, fill_randint, fill_dropout};

}  // namespace weft::kernels::reference
