// Reductions, shapes, views, indexing.
#include <algorithm>
#include <numeric>

#include "rows.h"

namespace random_programs {
namespace {

// Another shape for as many elements.
bool another_shape(ProgramBuilder& d, Statement& s) {
    if (!one(d, s)) return false;
    std::int64_t left = d.at(s.in[0]).numel();
    Shape shape;
    while (left > 1 && shape.rank() < 4) {
        std::vector<std::int64_t> divisors;
        for (std::int64_t k = 2; k <= left; ++k)
            if (left % k == 0) divisors.push_back(k);
        shape.push_back(divisors[static_cast<std::size_t>(d.number(0, static_cast<int>(divisors.size()) - 1))]);
        left /= shape.back();
    }
    if (left > 1 || d.coin(0.2)) shape.push_back(left);
    if (shape.rank() > 0 && d.coin(0.3)) shape[d.number(0, shape.rank() - 1)] = -1;
    append(s.numbers, shape);
    return true;
}

bool permutation(ProgramBuilder& d, Statement& s) {
    if (!ranked(d, s, 1)) return false;
    std::vector<int> axes(static_cast<std::size_t>(d.at(s.in[0]).rank()));
    std::iota(axes.begin(), axes.end(), 0);
    for (std::size_t i = axes.size(); i > 1; --i)
        std::swap(axes[i - 1], axes[static_cast<std::size_t>(d.number(0, static_cast<int>(i) - 1))]);
    s.numbers.assign(axes.begin(), axes.end());
    return true;
}

// A larger shape that x broadcasts to.
bool stretched(ProgramBuilder& d, Statement& s) {
    s.in = {d.ranked(0, 5)};
    if (s.in[0] < 0) return false;
    Shape shape = d.at(s.in[0]).shape();
    for (auto& size : shape)
        if (size == 1 && d.coin(0.7)) size = d.size();
    if (d.coin(0.5)) shape.insert(0, d.size());
    append(s.numbers, shape);
    return true;
}

// Numbers: axis, from, to, step.
bool range(ProgramBuilder& d, Statement& s) {
    if (!with_axis(d, s)) return false;
    const auto n = static_cast<int>(d.at(s.in[0]).size(static_cast<int>(s.numbers[0])));
    if (n < 1) return false;
    const int from = d.number(0, n - 1), to = d.number(from + 1, n);
    s.numbers.insert(s.numbers.end(), {double(from), double(to), double(d.number(1, 2))});
    return true;
}

bool part(ProgramBuilder& d, Statement& s,
          int parts_at) {  // numbers: which part, axis, …; the part is one that exists
    const int axis = static_cast<int>(s.numbers[0]);
    const auto n = static_cast<int>(d.at(s.in[0]).size(axis));
    if (n < 1) return false;
    s.numbers = {0, double(axis), double(parts_at)};
    return true;
}

// Several tensors of one shape.
bool alike(ProgramBuilder& d, Statement& s) {
    if (!with_axis(d, s)) return false;
    const Shape shape = d.at(s.in[0]).shape();
    for (int n = d.number(0, 2); n > 0; --n) s.in.push_back(d.shaped(shape));
    if (d.coin(0.3)) s.in.push_back(s.in[0]);
    return true;
}

bool triangle(ProgramBuilder& d, Statement& s) {
    s.numbers = {double(d.number(-2, 2))};
    return ranked(d, s, 2);
}

// Numbers: axis. Operands: x, and an index of such a shape.
bool gathered(ProgramBuilder& d, Statement& s) {
    if (!with_axis(d, s)) return false;
    const Tensor& x = d.at(s.in[0]);
    const int axis = normalize_axis(static_cast<int>(s.numbers[0]), x.rank(), "gather");
    Shape shape = x.shape();
    if (shape.numel() == 0) return false;
    for (int i = 0; i < shape.rank(); ++i)
        shape[i] = i == axis ? d.size() : std::int64_t{d.number(1, static_cast<int>(shape[i]))};
    s.in.push_back(d.ids(shape, x.size(axis)));
    return true;
}

}  // namespace

Rows shape_rows() {
    return {
        // PyTorch's var over one element with a correction of 1 is NaN, as ours: both are refused as not
        // finite.
        {"var(Tensor, Axes, KeepDim, int)", "var($0, {#2*}, #0b, #1)", "variance($0, [#2*], #0b, #1)",
         with_axes, [](const Call& c) { return var(c.x[0], c.axes(2), c.n[0] != 0, c.axis(1)); }},
        {"max(Tensor, int, KeepDim)", "max($0, #0).values", "torch.max($0, #0).values", with_axis,
         [](const Call& c) { return max(c.x[0], c.axis(0)).values; }},
        {"min(Tensor, int, KeepDim)", "min($0, #0, keepdim).values", "torch.min($0, #0, keepdim=True).values",
         with_axis, [](const Call& c) { return min(c.x[0], c.axis(0), keepdim).values; }},
        {"max(Tensor, int, KeepDim)", "max($0, #0).indices", "torch.max($0, #0).indices", with_axis,
         [](const Call& c) { return max(c.x[0], c.axis(0)).indices; }, rare | constant},
        {"argmax(Tensor, int, KeepDim)", "argmax($0, #0)", "torch.argmax($0, #0)", with_axis,
         [](const Call& c) { return argmax(c.x[0], c.axis(0)); }, rare | constant},
        {"cumsum(Tensor, int)", "cumsum($0, #0)", "torch.cumsum($0, #0)", with_axis,
         [](const Call& c) { return cumsum(c.x[0], c.axis(0)); }},
        {"softmax(Tensor, int)", "softmax($0, #0)", "torch.softmax($0, #0)", with_axis,
         [](const Call& c) { return softmax(c.x[0], c.axis(0)); }},
        {"log_softmax(Tensor, int)", "log_softmax($0, #0)", "torch.log_softmax($0, #0)", with_axis,
         [](const Call& c) { return log_softmax(c.x[0], c.axis(0)); }},

        {"broadcast_to(Tensor, Shape)", "broadcast_to($0, {#0*})", "torch.broadcast_to($0, [#0*])", stretched,
         [](const Call& c) { return broadcast_to(c.x[0], c.shape(0)); }},
        {"sum_to(Tensor, Shape)", "sum_to($0, {#0*})", "sum_to($0, [#0*])",
         [](ProgramBuilder& d, Statement& s) {
             if (!one(d, s)) return false;
             Shape shape = d.at(s.in[0]).shape();
             if (shape.rank() > 0 && d.coin(0.5)) shape.erase(0);
             for (auto& size : shape)
                 if (d.coin(0.4)) size = 1;
             append(s.numbers, shape);
             return true;
         },
         [](const Call& c) { return sum_to(c.x[0], c.shape(0)); }},
        {"cat(vector<Tensor>, int)", "cat({$0*}, #0)", "torch.cat([$0*], #0)", alike,
         [](const Call& c) { return cat(c.x, c.axis(0)); }},
        {"stack(vector<Tensor>, int)", "stack({$0*}, #0)", "torch.stack([$0*], #0)", alike,
         [](const Call& c) { return stack(c.x, c.axis(0)); }},
        {"vstack(vector<Tensor>)", "vstack({$0*})", "torch.vstack([$0*])", alike,
         [](const Call& c) { return vstack(c.x); }},
        {"hstack(vector<Tensor>)", "hstack({$0*})", "torch.hstack([$0*])", alike,
         [](const Call& c) { return hstack(c.x); }},
        {"split(Tensor, int64_t, int)", "split($0, 2, #0)[0]", "torch.split($0, 2, #0)[0]", with_axis,
         [](const Call& c) { return split(c.x[0], std::int64_t{2}, c.axis(0))[0]; }},
        {"split(Tensor, vector<int64_t>, int)", "split($0, std::vector<std::int64_t>{#2, #3}, #1)[#0]",
         "torch.split($0, [#2, #3], #1)[#0]",
         [](ProgramBuilder& d, Statement& s) {
             if (!with_axis(d, s)) return false;
             const int axis = static_cast<int>(s.numbers[0]);
             const auto n = static_cast<int>(d.at(s.in[0]).size(axis));
             if (n < 2) return false;
             const int first = d.number(1, n - 1);
             s.numbers = {double(d.coin(0.5)), double(axis), double(first), double(n - first)};
             return true;
         },
         [](const Call& c) {
             return split(c.x[0], std::vector<std::int64_t>{c.integer(2), c.integer(3)},
                          c.axis(1))[static_cast<std::size_t>(c.n[0])];
         }},
        {"chunk(Tensor, int64_t, int)", "chunk($0, #2, #1)[#0]", "torch.chunk($0, #2, #1)[#0]",
         [](ProgramBuilder& d, Statement& s) { return with_axis(d, s) && part(d, s, d.number(1, 3)); },
         [](const Call& c) {
             return chunk(c.x[0], c.integer(2), c.axis(1))[static_cast<std::size_t>(c.n[0])];
         }},
        {"flip(Tensor, int)", "flip($0, #0)", "torch.flip($0, [#0])", with_axis,
         [](const Call& c) { return flip(c.x[0], c.axis(0)); }},
        {"triu(Tensor, int64_t)", "triu($0, #0)", "torch.triu($0, #0)", triangle,
         [](const Call& c) { return triu(c.x[0], c.integer(0)); }},
        {"tril(Tensor, int64_t)", "tril($0, #0)", "torch.tril($0, #0)", triangle,
         [](const Call& c) { return tril(c.x[0], c.integer(0)); }},
        {"index_select(Tensor, int, Tensor)", "index_select($0, #0, $1)", "torch.index_select($0, #0, $1)",
         [](ProgramBuilder& d, Statement& s) {
             if (!with_axis(d, s)) return false;
             const std::int64_t n = d.at(s.in[0]).size(static_cast<int>(s.numbers[0]));
             if (n < 1) return false;
             s.in.push_back(d.ids({d.size()}, n));
             return true;
         },
         [](const Call& c) { return index_select(c.x[0], c.axis(0), c.x[1]); }},
        {"gather(Tensor, int, Tensor)", "gather($0, #0, $1)", "torch.gather($0, #0, $1)", gathered,
         [](const Call& c) { return gather(c.x[0], c.axis(0), c.x[1]); }},
        {"scatter(Tensor, int, Tensor, Tensor)", "scatter($0, #0, $1, $2)", "scattered($0, #0, $1, $2)",
         [](ProgramBuilder& d, Statement& s) {
             if (!gathered(d, s)) return false;
             s.in.push_back(d.shaped(d.at(s.in[1]).shape()));
             return true;
         },
         [](const Call& c) { return scatter(c.x[0], c.axis(0), c.x[1], c.x[2]); }},
        {"scatter(Tensor, int, Tensor, double)", "scatter($0, #0, $1, 0.5)", "$0.scatter(#0, $1, 0.5)",
         gathered, [](const Call& c) { return scatter(c.x[0], c.axis(0), c.x[1], 0.5); }},
        {"scatter_add(Shape, int, Tensor, Tensor)", "scatter_add({#1*}, #0, $1, $0)",
         "torch.zeros([#1*], dtype=$0.dtype).scatter_add(#0, $1, $0)",
         [](ProgramBuilder& d, Statement& s) {
             if (!with_axis(d, s)) return false;
             Shape shape = d.at(s.in[0]).shape();
             const int axis = normalize_axis(static_cast<int>(s.numbers[0]), shape.rank(), "scatter_add");
             if (shape.numel() == 0) return false;
             s.in.push_back(d.ids(shape, shape[axis] = d.size()));
             for (int i = 0; i < shape.rank(); ++i) shape[i] += i != axis && d.coin(0.2);
             append(s.numbers, shape);
             return true;
         },
         [](const Call& c) { return scatter_add(c.shape(1), c.axis(0), c.x[1], c.x[0]); }},
        {"embedding(Tensor, Tensor)", "embedding($0, $1)", "F.embedding($1, $0)",
         [](ProgramBuilder& d, Statement& s) {
             s.in = {d.ranked(2, 2)};
             if (s.in[0] < 0 || d.at(s.in[0]).size(0) < 1) return false;
             const Shape shape = d.coin(0.5) ? Shape{d.size()} : Shape{d.size(), d.size()};
             s.in.push_back(d.ids(shape, d.at(s.in[0]).size(0)));
             return true;
         },
         [](const Call& c) { return embedding(c.x[0], c.x[1]); }},

        {"Tensor::to(DType)", "$0.to(float32).to(float64)", "$0.to(torch.float32).to(torch.float64)",
         [](ProgramBuilder& d, Statement& s) { return one(d, s) && d.at(s.in[0]).dtype() == float64; },
         [](const Call& c) { return c.x[0].to(float32).to(c.dtype); }, rounds | rare},
        {"Tensor::clone()", "$0.clone()", "", one, [](const Call& c) { return c.x[0].clone(); }},
        {"Tensor::contiguous()", "$0.contiguous()", "", one, [](const Call& c) { return c.x[0].contiguous(); }},
        {"Tensor::reshape(Shape)", "$0.reshape({#0*})", "$0.reshape([#0*])", another_shape,
         [](const Call& c) { return c.x[0].reshape(c.shape(0)); }},
        {"Tensor::view(Shape)", "$0.view({#0*})", "$0.reshape([#0*])", another_shape,
         [](const Call& c) { return c.x[0].view(c.shape(0)); }},
        {"Tensor::permute(Shape)", "$0.permute({#0*})", "$0.permute([#0*])", permutation,
         [](const Call& c) { return c.x[0].permute(c.shape(0)); }},
        {"Tensor::transpose(int, int)", "$0.transpose(#0, #1)", "",
         [](ProgramBuilder& d, Statement& s) {
             if (!with_axis(d, s)) return false;
             s.numbers.push_back(double(d.axis(d.at(s.in[0]))));
             return true;
         },
         [](const Call& c) { return c.x[0].transpose(c.axis(0), c.axis(1)); }},
        {"Tensor::T()", "$0.T()", "$0.T",
         [](ProgramBuilder& d, Statement& s) {
             s.in = {d.ranked(2, 2)};
             return s.in[0] >= 0;
         },
         [](const Call& c) { return c.x[0].T(); }},
        {"Tensor::squeeze(int)", "$0.squeeze(#0)", "",
         [](ProgramBuilder& d, Statement& s) {
             return with_axis(d, s) && d.at(s.in[0]).size(static_cast<int>(s.numbers[0])) == 1;
         },
         [](const Call& c) { return c.x[0].squeeze(c.axis(0)); }},
        {"Tensor::squeeze()", "$0.squeeze()", "", one, [](const Call& c) { return c.x[0].squeeze(); }},
        {"Tensor::unsqueeze(int)", "$0.unsqueeze(#0)", "",
         [](ProgramBuilder& d, Statement& s) {
             s.in = {d.ranked(0, 5)};
             if (s.in[0] < 0) return false;
             s.numbers = {double(d.number(0, d.at(s.in[0]).rank()))};
             return true;
         },
         [](const Call& c) { return c.x[0].unsqueeze(c.axis(0)); }},
        {"Tensor::expand(Shape)", "$0.expand({#0*})", "$0.expand([#0*])", stretched,
         [](const Call& c) { return c.x[0].expand(c.shape(0)); }},
        {"Tensor::slice(int, int64_t, int64_t, int64_t)", "$0.slice(#0, #1, #2, #3)", "cut($0, #0, #1, #2, #3)",
         range,
         [](const Call& c) { return c.x[0].slice(c.axis(0), c.integer(1), c.integer(2), c.integer(3)); }},
        {"Tensor::select(int, int64_t)", "$0.select(#0, #1)", "",
         [](ProgramBuilder& d, Statement& s) { return range(d, s); },
         [](const Call& c) { return c.x[0].select(c.axis(0), c.integer(1)); }},
        {"Tensor::operator[](int64_t)", "$0[#0]", "",
         [](ProgramBuilder& d, Statement& s) {
             if (!ranked(d, s, 1)) return false;
             const auto n = static_cast<int>(d.at(s.in[0]).size(0));
             if (n < 1) return false;
             s.numbers = {double(d.number(-n, n - 1))};
             return true;
         },
         [](const Call& c) { return c.x[0][c.integer(0)]; }},
    };
}

}  // namespace random_programs
