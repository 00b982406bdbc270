// Arrays filled, copied and drawn.
#include <cmath>

#include "kernels/reference/element.h"

namespace weft::kernels::reference {
namespace {

// out_i = f(i), converted to out's type.
template <class F>
void generate(const Array& out, const F& f) {
    visit_any(out.dtype, [&]<class T>(T) {
        for (std::int64_t i = 0; i < out.numel(); ++i)
            element<T>(out, i) = static_cast<T>(f(static_cast<std::uint64_t>(i)));
    });
}

void fill(const Array& out, double value) {
    generate(out, [=](std::uint64_t) { return value; });
}

void copy(const Array& out, const Array& x) {
    visit_any(x.dtype, [&]<class From>(From) {
        generate(out, [&](std::uint64_t i) { return element<From>(x, static_cast<std::int64_t>(i)); });
    });
}

void fill_range(const Array& out, double start, double step) {
    generate(out, [=](std::uint64_t i) { return start + step * static_cast<double>(i); });
}

void fill_integers(const Array& out, std::int64_t start, std::int64_t step) {
    const auto first = static_cast<std::uint64_t>(start), by = static_cast<std::uint64_t>(step);
    generate(out, [=](std::uint64_t i) { return first + by * i; });
}

void fill_uniform(const Array& out, std::uint64_t seed, std::uint64_t first) {
    visit_floating(out.dtype, [&]<class T>(T) {
        generate(out, [=](std::uint64_t i) {  // rounded to float, it must not reach 1
            return std::min(static_cast<T>(uniform_at(seed, first + i)), std::nextafter(T(1), T(0)));
        });
    });
}

void fill_normal(const Array& out, std::uint64_t seed, std::uint64_t first) {
    generate(out, [=](std::uint64_t i) { return normal_at(seed, first + i); });
}

void fill_randint(const Array& out, std::uint64_t seed, std::uint64_t first, std::int64_t low,
                  std::int64_t high) {
    generate(out, [=](std::uint64_t i) { return randint_at(seed, first + i, low, high); });
}

void fill_dropout(const Array& out, const Dropout& dropout) {
    generate(out, [&](std::uint64_t e) { return dropout_factor(dropout, e); });
}

}  // namespace

extern const Filling filling_table{fill,         copy,        fill_range,   fill_integers,
                                   fill_uniform, fill_normal, fill_randint, fill_dropout};

}  // namespace weft::kernels::reference
