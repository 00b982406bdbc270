// The operations of weft/core/ops.h and more.h under PyTorch's names and arguments: functions, and methods of
// Tensor.
#include "bind.h"

namespace {

template <class F>
using Table = std::initializer_list<std::pair<const char*, F>>;
using One = Tensor (*)(const Tensor&);
using Two = Tensor (*)(const Tensor&, const Tensor&);
using Number = Tensor (*)(const Tensor&, double);
using Reduction = Tensor (*)(const Tensor&, const Axes&, bool);
using Axis = Tensor (*)(const Tensor&, int);
using Picked = Tensor (*)(const Tensor&, int, bool);
using T = const Tensor&;

py::object pair_of(const ValuesIndices& y) {  // y.values, y.indices
    static const py::handle type =
        py::module_::import("collections").attr("namedtuple")("ValuesIndices", "values indices").release();
    return type(y.values, y.indices);
}

Tensor arange_of(const py::args& bounds,
                 std::optional<DType> wanted) {  // of whole numbers int64, as in PyTorch
    bool whole = true;
    for (py::handle bound : bounds) whole = whole && PyIndex_Check(bound.ptr());
    const auto number = [&](std::size_t i) { return bounds[i].cast<double>(); };
    const std::size_t n = bounds.size();
    if (n < 1 || n > 3) throw DTypeError("arange: ", n, " numbers; give end, or start, end and maybe step");
    return arange(n > 1 ? number(0) : 0, number(n > 1), n > 2 ? number(2) : 1,
                  wanted.value_or(whole ? int64 : float32));
}

}  // namespace

void bind_ops(py::module_& m, py::class_<Tensor>& t) {
    const auto both = [&](const std::string& signature, auto f) { def(m, signature, f), def(t, signature, f); };

    // ---- arithmetic and comparisons: functions, operators, and operators with a number on the left
    for (const auto& [name, f] : Table<Two>{{"add", operator+}, {"sub", operator-}, {"mul", operator*}, {"div", operator/},
                                            {"pow", pow}, {"eq", operator==}, {"ne", operator!=}, {"lt", operator<},
                                            {"le", operator<=}, {"gt", operator>}, {"ge", operator>=}, {"matmul", matmul},
                                            {"logical_or", operator||}, {"logical_and", operator&&}, {"max", maximum},
                                            {"min", minimum}, {"maximum", maximum}, {"minimum", minimum}, {"outer", outer},
                                            {"dot", dot}, {"masked_select", masked_select}})
        both(std::string(name) + "(input, other)", f);
    for (const auto& [name, f] : Table<Number>{{"add", operator+}, {"sub", operator-}, {"mul", operator*}, {"div", operator/},
                                               {"pow", pow}, {"eq", operator==}, {"ne", operator!=}, {"lt", operator<},
                                               {"le", operator<=}, {"gt", operator>}, {"ge", operator>=},
                                               {"maximum", maximum}, {"minimum", minimum}})
        both(std::string(name) + "(input, other)", f);
    for (const auto& [name, f] : Table<Two>{{"add", operator+}, {"sub", operator-}, {"mul", operator*}, {"truediv", operator/},
                                            {"pow", pow}, {"eq", operator==}, {"ne", operator!=}, {"lt", operator<},
                                            {"le", operator<=}, {"gt", operator>}, {"ge", operator>=}, {"matmul", matmul},
                                            {"or", operator||}, {"and", operator&&}})
        def(t, "__" + std::string(name) + "__(self, other)", f);
    for (const auto& [name, f] : Table<Number>{{"add", operator+}, {"sub", operator-}, {"mul", operator*}, {"truediv", operator/},
                                               {"pow", pow}, {"eq", operator==}, {"ne", operator!=}, {"lt", operator<},
                                               {"le", operator<=}, {"gt", operator>}, {"ge", operator>=}})
        def(t, "__" + std::string(name) + "__(self, other)", f);
    def(t, "__radd__(self, other)", [](T x, double a) { return a + x; });
    def(t, "__rsub__(self, other)", [](T x, double a) { return a - x; });
    def(t, "__rmul__(self, other)", [](T x, double a) { return a * x; });
    def(t, "__rtruediv__(self, other)", [](T x, double a) { return a / x; });
    def(t, "__rpow__(self, other)", [](T x, double a) { return pow(full_like(x, a), x); });

    // ---- of one tensor
    for (const auto& [name, f] : Table<One>{{"exp", exp}, {"log", log}, {"sqrt", sqrt}, {"tanh", tanh}, {"sigmoid", sigmoid},
                                            {"relu", relu}, {"abs", abs}, {"sign", sign}, {"sin", sin}, {"cos", cos},
                                            {"erf", erf}, {"log1p", log1p}, {"expm1", expm1}, {"floor", floor},
                                            {"round", round}, {"rsqrt", rsqrt}, {"isnan", isnan}, {"isinf", isinf},
                                            {"isfinite", isfinite}, {"neg", operator-}, {"nonzero", nonzero},
                                            {"logical_not", operator!}, {"zeros_like", zeros_like}, {"ones_like", ones_like},
                                            {"max", max}, {"min", min}, {"argmax", argmax}, {"argmin", argmin}, {"prod", prod},
                                            {"__neg__", operator-}, {"__invert__", operator!}, {"__abs__", abs}})
        both(std::string(name) + "(input)", f);
    both("clamp(input, min=None, max=None)", [](T x, std::optional<double> low, std::optional<double> high) {
        return clamp(x, low.value_or(-INFINITY), high.value_or(INFINITY));
    });
    def(m, "where(condition, input, other)", py::overload_cast<T, T, T>(where));
    def(m, "where(condition, input, other)", py::overload_cast<T, double, double>(where));
    def(m, "where(condition, input, other)", py::overload_cast<T, double, T>(where));
    def(m, "where(condition, input, other)", py::overload_cast<T, T, double>(where));
    both("masked_fill(input, mask, value)", masked_fill);
    both("allclose(input, other, rtol=1e-5, atol=1e-8, equal_nan=False)", allclose);

    // ---- reductions, scans, sorting
    for (const auto& [name, f] :
         Table<Reduction>{{"sum", sum}, {"mean", mean}, {"logsumexp", logsumexp}, {"all", all}, {"any", any}})
        both(std::string(name) + "(input, dim=None, keepdim=False)", f);
    both("var(input, dim=None, keepdim=False, correction=1)", var);
    both("std(input, dim=None, keepdim=False, correction=1)", weft::std);
    both("norm(input, p=2.0, dim=None, keepdim=False)", norm);
    for (const auto& [name, f] : Table<Picked>{{"argmax", argmax}, {"argmin", argmin}, {"prod", prod}})
        both(std::string(name) + "(input, dim, keepdim=False)", f);
    both("max(input, dim, keepdim=False)", [](T x, int dim, bool keep) { return pair_of(max(x, dim, keep)); });
    both("min(input, dim, keepdim=False)", [](T x, int dim, bool keep) { return pair_of(min(x, dim, keep)); });
    for (const auto& [name, f] : Table<Axis>{
             {"cumsum", cumsum}, {"cumprod", cumprod}, {"softmax", softmax}, {"log_softmax", log_softmax}})
        both(std::string(name) + "(input, dim)", f);
    both("argsort(input, dim=-1, descending=False)", argsort);
    both("sort(input, dim=-1, descending=False)",
         [](T x, int dim, bool down) { return pair_of(sort(x, dim, down)); });
    both("topk(input, k, dim=-1, largest=True)",
         [](T x, I k, int dim, bool largest) { return pair_of(topk(x, k, dim, largest)); });

    // ---- shape and indexing
    using Shaped = Tensor (*)(T, const Shape&);
    for (const auto& [name, f] : Table<Shaped>{{"reshape", [](T x, const Shape&s) { return x.reshape(s); }},
                                               {"view", [](T x, const Shape&s) { return x.view(s); }},
                                               {"permute", [](T x, const Shape&s) { return x.permute(s); }},
                                               {"expand", [](T x, const Shape&s) { return x.expand(s); }},
                                               {"repeat", repeat},
                                               {"broadcast_to", broadcast_to},
                                               {"sum_to", sum_to}}) {
        def(m, std::string(name) + "(input, size)", f);
        def(t, std::string(name) + "(input, *size)",
            [f = f](T x, const py::args& sizes) { return f(x, shape_of(sizes)); });
    }
    both("transpose(input, dim0, dim1)", [](T x, int a, int b) { return x.transpose(a, b); });
    both("squeeze(input)", [](T x) { return x.squeeze(); });
    both("squeeze(input, dim)", [](T x, int dim) { return x.squeeze(dim); });
    both("unsqueeze(input, dim)", [](T x, int dim) { return x.unsqueeze(dim); });
    both("movedim(input, source, destination)", movedim);
    both("flatten(input, start_dim=0, end_dim=-1)", flatten);
    both("flip(input, dims)", [](Tensor x, const Axes& dims) {
        for (int dim : dims.axes) x = flip(x, dim);
        return x;
    });
    both("roll(input, shifts, dims)", roll);
    for (const auto& [name, f] : Table<Tensor (*)(T, I)>{{"triu", triu}, {"tril", tril}, {"diag", diag}})
        both(std::string(name) + "(input, diagonal=0)", f);
    both("split(tensor, split_size_or_sections, dim=0)", py::overload_cast<T, I, int>(split));
    both("split(tensor, split_size_or_sections, dim=0)",
         py::overload_cast<T, const std::vector<I>&, int>(split));
    both("chunk(input, chunks, dim=0)", chunk);
    def(m, "cat(tensors, dim=0)", cat);
    def(m, "stack(tensors, dim=0)", stack);
    def(m, "einsum(equation, *operands)", [](const std::string& equation, const py::args& operands) {
        return einsum(equation, operands.cast<std::vector<Tensor>>());
    });
    both("index_select(input, dim, index)", index_select);
    both("gather(input, dim, index)", gather);
    both("scatter_add(input, dim, index, src)",
         [](T x, int dim, T index, T src) { return x + scatter_add(x.shape(), dim, index, src); });

    // ---- creation
    for (const auto& [name, f] :
         Table<Tensor (*)(const Shape&, DType)>{{"zeros", zeros}, {"ones", ones}, {"empty", empty}})
        def(m, std::string(name) + "(*size, dtype=float32, requires_grad=False)",
            [f = f](const py::args& size, DType dtype, bool grad) {
                return f(shape_of(size), dtype).requires_grad_(grad);
            });
    for (const auto& [name, f] : Table<Tensor (*)(const Shape&, Rng&, DType)>{{"randn", randn}, {"rand", rand}})
        def(m, std::string(name) + "(*size, generator=None, dtype=float32, requires_grad=False)",
            [f = f](const py::args& size, Rng* g, DType dtype, bool grad) {
                return f(shape_of(size), generator_of(g), dtype).requires_grad_(grad);
            });
    for (const auto& [name, f] :
         Table<Tensor (*)(T, Rng&)>{{"randn_like", randn_like}, {"rand_like", rand_like}})
        def(m, std::string(name) + "(input, generator=None)",
            [f = f](T x, Rng* g) { return f(x, generator_of(g)); });
    def(m, "full(size, fill_value, dtype=float32)", full);
    def(m, "full_like(input, fill_value)", full_like);
    def(m, "eye(n, dtype=float32)", eye);
    def(m, "arange(*bounds, dtype=None)", arange_of);
    def(m, "linspace(start, end, steps, dtype=float32)", linspace);
    def(m, "randint(low, high, size, generator=None)",
        [](I low, I high, const Shape& size, Rng* g) { return randint(low, high, size, generator_of(g)); });
    def(m, "randperm(n, generator=None)", [](I n, Rng* g) { return randperm(n, generator_of(g)); });
    def(m, "multinomial(input, num_samples, replacement=False, generator=None)",
        [](T x, I n, bool again, Rng* g) { return multinomial(x, n, generator_of(g), again); });
}
