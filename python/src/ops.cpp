// The functions of weft/core/ops.h and more.h, with PyTorch's names and arguments. Most are methods of Tensor, too.
#include "bind.h"

namespace {

using List = py::list;
template <class F>
using Table = std::initializer_list<std::pair<const char*, F>>;

py::object named_pair(const ValuesIndices& pair) {
    static const auto* const type = new py::object(
        py::module_::import("collections").attr("namedtuple")("ValuesIndices", py::make_tuple("values", "indices")));
    return (*type)(pair.values, pair.indices);
}

Tensor made(Tensor x, bool requires_grad) { return x.requires_grad_(requires_grad); }

// arange(end), arange(start, end), arange(start, end, step): int64 if all are whole, as in PyTorch.
Tensor arange_of(const py::args& bounds, std::optional<DType> dtype) {
    const auto number = [&](std::size_t i) { return bounds[i].cast<double>(); };
    bool whole = true;
    for (py::handle bound : bounds) whole = whole && PyIndex_Check(bound.ptr());
    const DType type = dtype.value_or(whole ? int64 : float32);
    if (bounds.size() == 1) return arange(0, number(0), 1, type);
    if (bounds.size() == 2) return arange(number(0), number(1), 1, type);
    if (bounds.size() == 3) return arange(number(0), number(1), number(2), type);
    throw DTypeError("arange: ", bounds.size(), " arguments; give end, or start and end, or start, end and step");
}

}  // namespace

void bind_ops(py::module_& m, TensorClass& t) {
    const auto both = [&](const char* name, auto f, const auto&... args) {
        m.def(name, f, "input"_a, args...);
        t.def(name, f, args...);
    };
    const auto none = py::none();

    // ---- arithmetic and comparisons: the function, the operator, and the operator from the right
    using TT = Tensor (*)(const Tensor&, const Tensor&);
    using TD = Tensor (*)(const Tensor&, double);
    using DT = Tensor (*)(double, const Tensor&);
    struct Binary {
        const char *name, *method, *reflected;
        TT tensors;
        TD number = nullptr;
        DT from_right = nullptr;
    };
    for (const Binary& op : std::initializer_list<Binary>{
             {"add", "__add__", "__radd__", operator+, operator+, operator+},
             {"sub", "__sub__", "__rsub__", operator-, operator-, operator-},
             {"mul", "__mul__", "__rmul__", operator*, operator*, operator*},
             {"div", "__truediv__", "__rtruediv__", operator/, operator/, operator/},
             {"pow", "__pow__", "__rpow__", pow, pow, [](double a, const Tensor& x) { return pow(full_like(x, a), x); }},
             {"eq", "__eq__", nullptr, operator==, operator==},
             {"ne", "__ne__", nullptr, operator!=, operator!=},
             {"lt", "__lt__", nullptr, operator<, operator<},
             {"le", "__le__", nullptr, operator<=, operator<=},
             {"gt", "__gt__", nullptr, operator>, operator>},
             {"ge", "__ge__", nullptr, operator>=, operator>=},
             {"logical_or", "__or__", nullptr, operator||},
             {"logical_and", "__and__", nullptr, operator&&},
             {"matmul", "__matmul__", nullptr, matmul},
             {"maximum", nullptr, nullptr, maximum, maximum},
             {"minimum", nullptr, nullptr, minimum, minimum},
             {"outer", nullptr, nullptr, outer},
             {"dot", nullptr, nullptr, dot},
             {"masked_select", nullptr, nullptr, masked_select}}) {
        both(op.name, op.tensors, "other"_a);
        if (op.number) both(op.name, op.number, "other"_a);
        if (op.method) t.def(op.method, op.tensors, py::is_operator());
        if (op.method && op.number) t.def(op.method, op.number, py::is_operator());
        if (op.reflected)
            t.def(op.reflected, [f = op.from_right](const Tensor& x, double a) { return f(a, x); }, py::is_operator());
    }

    // ---- of one tensor
    for (const auto& [name, f] : Table<Tensor (*)(const Tensor&)>{
             {"exp", exp},       {"log", log},     {"sqrt", sqrt},   {"tanh", tanh},         {"sigmoid", sigmoid},
             {"relu", relu},     {"abs", abs},     {"sign", sign},   {"sin", sin},           {"cos", cos},
             {"erf", erf},       {"log1p", log1p}, {"expm1", expm1}, {"floor", floor},       {"round", round},
             {"rsqrt", rsqrt},   {"isnan", isnan}, {"isinf", isinf}, {"isfinite", isfinite}, {"neg", operator-},
             {"nonzero", nonzero}, {"logical_not", operator!}, {"silu", silu}, {"softplus", softplus},
             {"zeros_like", zeros_like}, {"ones_like", ones_like}})
        both(name, f);
    t.def("__neg__", [](const Tensor& x) { return -x; });
    t.def("__invert__", [](const Tensor& x) { return !x; });
    t.def("__abs__", [](const Tensor& x) { return abs(x); });
    m.def("gelu",
          [](const Tensor& x, const std::string& approximate) {
              if (approximate != "none" && approximate != "tanh")
                  throw ValueError("gelu: approximate is \"", approximate, "\"; use \"none\" or \"tanh\"");
              return gelu(x, approximate == "tanh" ? Gelu::tanh : Gelu::exact);
          },
          "input"_a, "approximate"_a = "none");
    m.def("leaky_relu", leaky_relu, "input"_a, "negative_slope"_a = 0.01);
    m.def("elu", elu, "input"_a, "alpha"_a = 1.0);
    both("clamp",
         [](const Tensor& x, std::optional<double> min, std::optional<double> max) {
             return clamp(x, min.value_or(-INFINITY), max.value_or(INFINITY));
         },
         "min"_a = none, "max"_a = none);
    m.def("where", py::overload_cast<const Tensor&, const Tensor&, const Tensor&>(where), "condition"_a, "input"_a, "other"_a);
    m.def("where", py::overload_cast<const Tensor&, double, double>(where), "condition"_a, "input"_a, "other"_a);
    m.def("where", py::overload_cast<const Tensor&, double, const Tensor&>(where), "condition"_a, "input"_a, "other"_a);
    m.def("where", py::overload_cast<const Tensor&, const Tensor&, double>(where), "condition"_a, "input"_a, "other"_a);
    both("masked_fill", masked_fill, "mask"_a, "value"_a);
    both("allclose", allclose, "other"_a, "rtol"_a = 1e-5, "atol"_a = 1e-8, "equal_nan"_a = false);

    // ---- reductions, scans, sorting
    for (const auto& [name, f] : Table<Tensor (*)(const Tensor&, const Axes&, bool)>{
             {"sum", sum}, {"mean", mean}, {"logsumexp", logsumexp}, {"all", all}, {"any", any}})
        both(name, f, "dim"_a = none, "keepdim"_a = false);
    for (const auto& [name, f] : Table<Tensor (*)(const Tensor&, const Axes&, bool, int)>{{"var", var}, {"std", weft::std}})
        both(name, f, "dim"_a = none, "keepdim"_a = false, "correction"_a = 1);
    both("norm", norm, "p"_a = 2.0, "dim"_a = none, "keepdim"_a = false);
    struct Along {
        const char* name;
        Tensor (*all)(const Tensor&);
        Tensor (*axis)(const Tensor&, int, bool);
    };
    for (const Along& op : {Along{"argmax", argmax, argmax}, {"argmin", argmin, argmin}, {"prod", prod, prod}}) {
        both(op.name, op.all);
        both(op.name, op.axis, "dim"_a, "keepdim"_a = false);
    }
    using Extreme = ValuesIndices (*)(const Tensor&, int, bool);
    both("max", py::overload_cast<const Tensor&>(max));
    both("min", py::overload_cast<const Tensor&>(min));
    both("max", py::overload_cast<const Tensor&, const Tensor&>(maximum), "other"_a);
    both("min", py::overload_cast<const Tensor&, const Tensor&>(minimum), "other"_a);
    for (const auto& [name, f] : Table<Extreme>{{"max", max}, {"min", min}})
        both(name, [f = f](const Tensor& x, int dim, bool keepdim) { return named_pair(f(x, dim, keepdim)); }, "dim"_a,
             "keepdim"_a = false);
    for (const auto& [name, f] : Table<Tensor (*)(const Tensor&, int)>{
             {"cumsum", cumsum}, {"cumprod", cumprod}, {"softmax", softmax}, {"log_softmax", log_softmax}})
        both(name, f, "dim"_a);
    both("argsort", argsort, "dim"_a = -1, "descending"_a = false);
    both("sort", [](const Tensor& x, int dim, bool descending) { return named_pair(sort(x, dim, descending)); },
         "dim"_a = -1, "descending"_a = false);
    both("topk", [](const Tensor& x, std::int64_t k, int dim, bool largest) { return named_pair(topk(x, k, dim, largest)); },
         "k"_a, "dim"_a = -1, "largest"_a = true);

    // ---- shape and indexing
    for (const auto& [name, f] : Table<Tensor (*)(const Tensor&, const Shape&)>{
             {"reshape", [](const Tensor& x, const Shape& shape) { return x.reshape(shape); }},
             {"view", [](const Tensor& x, const Shape& shape) { return x.view(shape); }},
             {"permute", [](const Tensor& x, const Shape& axes) { return x.permute(axes); }},
             {"expand", [](const Tensor& x, const Shape& shape) { return x.expand(shape); }},
             {"repeat", repeat},
             {"broadcast_to", broadcast_to},
             {"sum_to", sum_to}}) {
        m.def(name, f, "input"_a, "size"_a);
        t.def(name, [f = f](const Tensor& x, const py::args& sizes) { return f(x, shape_of(sizes)); });
    }
    both("transpose", [](const Tensor& x, int a, int b) { return x.transpose(a, b); }, "dim0"_a, "dim1"_a);
    both("squeeze", [](const Tensor& x) { return x.squeeze(); });
    both("squeeze", [](const Tensor& x, int dim) { return x.squeeze(dim); }, "dim"_a);
    both("unsqueeze", [](const Tensor& x, int dim) { return x.unsqueeze(dim); }, "dim"_a);
    both("select", [](const Tensor& x, int dim, std::int64_t i) { return x.select(dim, i); }, "dim"_a, "index"_a);
    both("movedim", movedim, "source"_a, "destination"_a);
    both("flatten", weft::flatten, "start_dim"_a = 0, "end_dim"_a = -1);
    both("flip",
         [](Tensor x, const Axes& dims) {
             for (int axis : dims.axes) x = flip(x, axis);
             return x;
         },
         "dims"_a);
    both("roll", roll, "shifts"_a, "dims"_a);
    both("triu", triu, "diagonal"_a = 0);
    both("tril", tril, "diagonal"_a = 0);
    both("diag", diag, "diagonal"_a = 0);
    both("split", py::overload_cast<const Tensor&, std::int64_t, int>(split), "split_size_or_sections"_a, "dim"_a = 0);
    both("split", py::overload_cast<const Tensor&, const std::vector<std::int64_t>&, int>(split),
         "split_size_or_sections"_a, "dim"_a = 0);
    both("chunk", chunk, "chunks"_a, "dim"_a = 0);
    m.def("cat", cat, "tensors"_a, "dim"_a = 0);
    m.def("stack", stack, "tensors"_a, "dim"_a = 0);
    m.def("einsum", [](const std::string& equation, const py::args& operands) {
        return einsum(equation, operands.cast<std::vector<Tensor>>());
    });
    both("index_select", index_select, "dim"_a, "index"_a);
    both("gather", gather, "dim"_a, "index"_a);
    both("scatter_add",
         [](const Tensor& x, int dim, const Tensor& index, const Tensor& src) {
             return x + scatter_add(x.shape(), dim, index, src);
         },
         "dim"_a, "index"_a, "src"_a);

    // ---- creation
    for (const auto& [name, f] : Table<Tensor (*)(const Shape&, DType)>{{"zeros", zeros}, {"ones", ones}, {"empty", empty}})
        m.def(name, [f = f](const py::args& size, DType dtype, bool grad) { return made(f(shape_of(size), dtype), grad); },
              py::kw_only(), "dtype"_a = float32, "requires_grad"_a = false);
    for (const auto& [name, f] : Table<Tensor (*)(const Shape&, Rng&, DType)>{{"randn", randn}, {"rand", rand}})
        m.def(name,
              [f = f](const py::args& size, DType dtype, bool grad, Rng* generator) {
                  return made(f(shape_of(size), generator_of(generator), dtype), grad);
              },
              py::kw_only(), "dtype"_a = float32, "requires_grad"_a = false, "generator"_a = none);
    for (const auto& [name, f] : Table<Tensor (*)(const Tensor&, Rng&)>{{"randn_like", randn_like}, {"rand_like", rand_like}})
        m.def(name, [f = f](const Tensor& x, Rng* generator) { return f(x, generator_of(generator)); }, "input"_a,
              "generator"_a = none);
    m.def("full", full, "size"_a, "fill_value"_a, "dtype"_a = float32);
    m.def("full_like", full_like, "input"_a, "fill_value"_a);
    m.def("eye", eye, "n"_a, "dtype"_a = float32);
    m.def("arange", arange_of, py::kw_only(), "dtype"_a = none);
    m.def("linspace", linspace, "start"_a, "end"_a, "steps"_a, "dtype"_a = float32);
    m.def("randint",
          [](std::int64_t low, std::int64_t high, const Shape& size, Rng* generator) {
              return randint(low, high, size, generator_of(generator));
          },
          "low"_a, "high"_a, "size"_a, "generator"_a = none);
    m.def("randperm", [](std::int64_t n, Rng* generator) { return randperm(n, generator_of(generator)); }, "n"_a,
          "generator"_a = none);
    m.def("multinomial",
          [](const Tensor& weights, std::int64_t n, bool replacement, Rng* generator) {
              return multinomial(weights, n, generator_of(generator), replacement);
          },
          "input"_a, "num_samples"_a, "replacement"_a = false, "generator"_a = none);
}
