// The operations of weft/ops.h.
#include <cmath>

#include "rows.h"
#include "weft/core.h"

namespace random_programs {
namespace {

// An axis with elements.
bool filled_axis(ProgramBuilder& d, Statement& s) { return with_axis(d, s) && d.at(s.in[0]).numel() > 0; }

// Numbers: keepdim and an axis.
bool kept_axis(ProgramBuilder& d, Statement& s) {
    if (!filled_axis(d, s)) return false;
    s.numbers.insert(s.numbers.begin(), double(d.coin(0.5)));
    return true;
}

bool matrix(ProgramBuilder& d, Statement& s) {
    s.in = {d.ranked(2, 2)};
    s.numbers = {double(d.number(-1, 1))};
    return s.in[0] >= 0;
}

bool vectors(ProgramBuilder& d, Statement& s) {
    s.in = {d.ranked(1, 1)};
    if (s.in[0] < 0) return false;
    s.in.push_back(d.shaped(d.at(s.in[0]).shape()));
    return true;
}

// Numbers: before and after, of the last axis and, with a second pair, of the one before.
bool padded(ProgramBuilder& d, Statement& s) {
    if (!ranked(d, s, 1)) return false;
    const int pairs = d.at(s.in[0]).rank() > 1 && d.coin(0.5) ? 2 : 1;
    for (int i = 0; i < pairs; ++i) {
        const std::int64_t n = d.at(s.in[0]).size(-1 - i);
        s.numbers.push_back(n > 0 && d.coin(0.3) ? -1 : d.number(0, 2));
        s.numbers.push_back(d.number(0, 2));
    }
    return true;
}

// Numbers: formula. Operands: (a, b, c) and (a, b, c).
constexpr const char* formulas[] = {"ijk,ijk->ik", "ijk,ijl->kl",    "ijk,ljk->il",
                                    "ijk,ijk->",   "...k,...k->...", "i...,ij...->...j"};
bool summed(ProgramBuilder& d, Statement& s) {
    s.in = {d.ranked(3, 3)};
    if (s.in[0] < 0) return false;
    s.in.push_back(d.shaped(d.at(s.in[0]).shape()));
    s.numbers = {double(d.number(0, 5))};
    return true;
}
std::string einsum_text(const Statement& s, bool python) {
    const std::string formula = formulas[static_cast<std::size_t>(s.numbers[0])];
    const std::string a = r(s.in[0]), b = r(s.in[1]);
    return python ? "torch.einsum('" + formula + "', " + a + ", " + b + ")"
                  : "einsum(\"" + formula + "\", {" + a + ", " + b + "})";
}

// Images (N, C, H, W) of at least 2 × 2.
bool images(ProgramBuilder& d, Statement& s) {
    s.in = {d.shaped({d.size(), 2, d.size() + 1, d.size() + 1})};
    return s.in[0] >= 0;
}
const WindowOptions window{.kernel_height = 2, .kernel_width = 2, .padding = 1};

}  // namespace

Rows more_rows() {
    const auto positive = [](const Tensor& x) { return x * x + 0.5; };
    const auto image_rows = [&](const char* name, Tensor (*f)(const Tensor&), const char* python) {
        return Row{std::string(name) + "(Tensor, WindowOptions)",
                   std::string(name) + "($0, {.kernel_height = 2, .kernel_width = 2, .padding = 1})", python,
                   images, [f](const Call& c) { return f(c.x[0]); }};
    };
    return {
        {"log1p(Tensor)", "log1p($0 * $0)", "torch.log1p($0 * $0)", one,
         [](const Call& c) { return log1p(c.x[0] * c.x[0]); }},
        {"expm1(Tensor)", "expm1(tanh($0))", "torch.expm1(torch.tanh($0))", one,
         [](const Call& c) { return expm1(tanh(c.x[0])); }},
        {"exp2(Tensor)", "exp2(tanh($0))", "torch.exp2(torch.tanh($0))", one,
         [](const Call& c) { return exp2(tanh(c.x[0])); }},
        {"log2(Tensor)", "log2($0 * $0 + 0.5)", "torch.log2($0 * $0 + 0.5)", one,
         [=](const Call& c) { return log2(positive(c.x[0])); }},
        {"log10(Tensor)", "log10($0 * $0 + 0.5)", "torch.log10($0 * $0 + 0.5)", one,
         [=](const Call& c) { return log10(positive(c.x[0])); }},
        {"tan(Tensor)", "tan(tanh($0))", "torch.tan(torch.tanh($0))", one,
         [](const Call& c) { return tan(tanh(c.x[0])); }},
        {"sinh(Tensor)", "sinh(tanh($0))", "torch.sinh(torch.tanh($0))", one,
         [](const Call& c) { return sinh(tanh(c.x[0])); }},
        {"cosh(Tensor)", "cosh(tanh($0))", "torch.cosh(torch.tanh($0))", one,
         [](const Call& c) { return cosh(tanh(c.x[0])); }},
        {"floor(Tensor)", "floor($0 * 3.0)", "torch.floor($0 * 3.0)", one,
         [](const Call& c) { return floor(c.x[0] * 3.0); }},
        {"round(Tensor)", "round($0 * 3.0)", "torch.round($0 * 3.0)", one,
         [](const Call& c) { return round(c.x[0] * 3.0); }},
        {"rsqrt(Tensor)", "rsqrt($0 * $0 + 0.5)", "torch.rsqrt($0 * $0 + 0.5)", one,
         [=](const Call& c) { return rsqrt(positive(c.x[0])); }},
        {"leaky_relu(Tensor, double)", "leaky_relu($0, 0.1)", "F.leaky_relu($0, 0.1)", one,
         [](const Call& c) { return leaky_relu(c.x[0], 0.1); }},
        {"elu(Tensor, double)", "elu($0, 1.5)", "F.elu($0, 1.5)", one,
         [](const Call& c) { return elu(c.x[0], 1.5); }},
        {"where(Tensor, double, Tensor)", "where($0 > 0, #0, $0)", "torch.where($0 > 0, #0, $0)", with_number,
         [](const Call& c) { return where(c.x[0] > 0, c.n[0], c.x[0]); }},
        {"where(Tensor, Tensor, double)", "where($0 > 0, $0, #0)", "torch.where($0 > 0, $0, #0)", with_number,
         [](const Call& c) { return where(c.x[0] > 0, c.x[0], c.n[0]); }},
        {"where(Tensor, double, double)", "where($0 > 0, #0, 0).to($0.dtype())",
         "torch.where($0 > 0, #0, 0.0).to($0.dtype)", with_number,
         [](const Call& c) { return where(c.x[0] > 0, c.n[0], 0).to(c.dtype); }, rare | constant},
        {"maximum(Tensor, double)", "maximum($0, #0)", "torch.clamp($0, min=#0)", with_number,
         [](const Call& c) { return maximum(c.x[0], c.n[0]); }},
        {"minimum(Tensor, double)", "minimum($0, #0)", "torch.clamp($0, max=#0)", with_number,
         [](const Call& c) { return minimum(c.x[0], c.n[0]); }},
        {"Tensor::operator[](Tensor)", "$0[$1]", "$0[$1]",
         [](ProgramBuilder& d, Statement& s) {
             if (!ranked(d, s, 1) || d.at(s.in[0]).size(0) < 1) return false;
             s.in.push_back(d.coin(0.5) ? d.ids({d.size(), d.size()}, d.at(s.in[0]).size(0))
                                        : d.bools({d.at(s.in[0]).size(0)}));
             return true;
         },
         [](const Call& c) { return c.x[0][c.x[1]]; }},
        {"dropout(Tensor, double, bool)", "dropout($0, 0.5, false)", "F.dropout($0, 0.5, False)", one,
         [](const Call& c) { return dropout(c.x[0], 0.5, false); }, rare},
        {"allclose(Tensor, Tensor, double, double, bool)", "full({}, allclose($0, $1), boolean)",
         "torch.tensor(torch.allclose($0, $1))", two_of_one_shape,
         [](const Call& c) { return full({}, allclose(c.x[0], c.x[1]), boolean); }, rare | constant},
        {"isclose(Tensor, Tensor, double, double, bool)", "isclose($0, $1, 0.5)", "torch.isclose($0, $1, 0.5)",
         two, [](const Call& c) { return isclose(c.x[0], c.x[1], 0.5); }, rare | constant},

        {"all(Tensor, Axes, KeepDim)", "all($0 > 0, #1, #0b)", "torch.all($0 > 0, #1, #0b)", kept_axis,
         [](const Call& c) { return all(c.x[0] > 0, c.axis(1), c.n[0] != 0); }, rare | constant},
        {"any(Tensor, Axes, KeepDim)", "any($0 > 0, #1, #0b)", "torch.any($0 > 0, #1, #0b)", kept_axis,
         [](const Call& c) { return any(c.x[0] > 0, c.axis(1), c.n[0] != 0); }, rare | constant},
        {"std(Tensor, Axes, KeepDim, int)", "weft::std($0, #1, #0b, 0)", "deviation($0, #1, #0b)", kept_axis,
         [](const Call& c) { return weft::std(c.x[0], c.axis(1), c.n[0] != 0, 0); }},
        {"norm(Tensor, double, Axes, KeepDim)", "norm($0, 2, #1, #0b)", "norm($0, 2, #1, #0b)", kept_axis,
         [](const Call& c) { return norm(c.x[0], 2, c.axis(1), c.n[0] != 0); }},
        {"norm(Tensor, double, Axes, KeepDim)", "norm($0, 3, #1, #0b)", "norm($0, 3, #1, #0b)", kept_axis,
         [](const Call& c) { return norm(c.x[0], 3, c.axis(1), c.n[0] != 0); }},
        {"prod(Tensor, int, KeepDim)", "prod($0, #1, #0b)", "torch.prod($0, #1, #0b)", kept_axis,
         [](const Call& c) { return prod(c.x[0], c.axis(1), c.n[0] != 0); }},
        {"prod(Tensor)", "prod(tanh($0))", "torch.prod(torch.tanh($0))", one,
         [](const Call& c) { return prod(tanh(c.x[0])); }},
        {"cumprod(Tensor, int)", "cumprod($0, #0)", "torch.cumprod($0, #0)", filled_axis,
         [](const Call& c) { return cumprod(c.x[0], c.axis(0)); }},
        {"argmin(Tensor, int, KeepDim)", "argmin($0, #1, #0b)", "torch.argmin($0, #1, #0b)", kept_axis,
         [](const Call& c) { return argmin(c.x[0], c.axis(1), c.n[0] != 0); }, rare | constant},
        {"argsort(Tensor, int, bool)", "argsort($0, #0)", "torch.argsort($0, dim=#0, stable=True)", with_axis,
         [](const Call& c) { return argsort(c.x[0], c.axis(0)); }, rare | constant},
        {"sort(Tensor, int, bool)", "sort($0, #0, true).values",
         "torch.sort($0, dim=#0, descending=True, stable=True).values", with_axis,
         [](const Call& c) { return sort(c.x[0], c.axis(0), true).values; }},
        {"topk(Tensor, int64_t, int, bool)", "topk($0, 1, #0).values", "torch.topk($0, 1, #0).values",
         filled_axis, [](const Call& c) { return topk(c.x[0], 1, c.axis(0)).values; }},

        {"unique(Tensor)", "unique(floor($0 * 2.0)).values", "torch.unique(torch.floor($0.detach() * 2.0))",
         one, [](const Call& c) { return unique(floor(c.x[0] * 2.0)).values; }, rare | constant},
        {"unique(Tensor)", "unique(floor($0 * 2.0)).inverse",
         "torch.unique(torch.floor($0.detach() * 2.0), return_inverse=True)[1]", one,
         [](const Call& c) { return unique(floor(c.x[0] * 2.0)).inverse; }, rare | constant},

        {"full_like(Tensor, double)", "full_like($0, #0)", "torch.full_like($0, #0)", with_number,
         [](const Call& c) { return full_like(c.x[0], c.n[0]); }, rare | constant},
        {"randn_like(Tensor, Rng)", "[&] { Rng rng(1); return randn_like($0, rng); }()", "drawn(@)", one,
         [](const Call& c) {
             Rng rng(1);
             return randn_like(c.x[0], rng);
         },
         rare | constant | stored},
        {"rand_like(Tensor, Rng)", "[&] { Rng rng(1); return rand_like($0, rng); }()", "drawn(@)", one,
         [](const Call& c) {
             Rng rng(1);
             return rand_like(c.x[0], rng);
         },
         rare | constant | stored},
        {"linspace(double, double, int64_t, DType)", "linspace(-1, 1, 3, $0.dtype())",
         "torch.linspace(-1, 1, 3, dtype=$0.dtype)", one,
         [](const Call& c) { return linspace(-1, 1, 3, c.x[0].dtype()); }, rare | constant},
        {"one_hot(Tensor, int64_t)", "one_hot($0, 4)", "F.one_hot($0, 4)",
         [](ProgramBuilder& d, Statement& s) {
             s.in = {d.ids({d.size()}, 4)};
             return true;
         },
         [](const Call& c) { return one_hot(c.x[0], 4); }, rare | constant},
        {"randperm(int64_t, Rng)", "[&] { Rng rng(1); return randperm(3, rng); }()", "drawn(@)",
         [](ProgramBuilder&, Statement&) { return true; },
         [](const Call&) {
             Rng rng(1);
             return randperm(3, rng);
         },
         rare | constant | stored},
        {"multinomial(Tensor, int64_t, Rng, bool)",
         "[&] { Rng rng(1); return multinomial($0 * $0 + 0.5, 1, rng); }()", "drawn(@)",
         [](ProgramBuilder& d, Statement& s) {
             s.in = {d.ranked(1, 2)};
             return s.in[0] >= 0 && d.at(s.in[0]).numel() > 0;
         },
         [=](const Call& c) {
             Rng rng(1);
             return multinomial(positive(c.x[0]), 1, rng);
         },
         rare | constant | stored},

        {"flatten(Tensor, int, int)", "flatten($0, 0, #0)", "flatten($0, 0, #0)", with_axis,
         [](const Call& c) { return flatten(c.x[0], 0, c.axis(0)); }},
        {"movedim(Tensor, int, int)", "movedim($0, #0, #1)", "torch.movedim($0, #0, #1)",
         [](ProgramBuilder& d, Statement& s) {
             if (!with_axis(d, s)) return false;
             s.numbers.push_back(double(d.axis(d.at(s.in[0]))));
             return true;
         },
         [](const Call& c) { return movedim(c.x[0], c.axis(0), c.axis(1)); }},
        {"repeat(Tensor, Shape)", "repeat($0, {#0*})", "$0.repeat([#0*])",
         [](ProgramBuilder& d, Statement& s) {
             s.in = {d.ranked(0, 3)};
             if (s.in[0] < 0) return false;
             for (int i = d.at(s.in[0]).rank() + d.number(0, 1); i > 0; --i)
                 s.numbers.push_back(d.number(1, 2));
             return true;
         },
         [](const Call& c) { return repeat(c.x[0], c.shape(0)); }},
        {"repeat_interleave(Tensor, int64_t, optional<int>)", "repeat_interleave($0, 2, #0)",
         "$0.repeat_interleave(2, #0)", with_axis,
         [](const Call& c) { return repeat_interleave(c.x[0], 2, c.axis(0)); }},
        {"repeat_interleave(Tensor, Tensor, optional<int>)", "repeat_interleave($0, $1)",
         "$0.repeat_interleave($1)",
         [](ProgramBuilder& d, Statement& s) {
             if (!one(d, s)) return false;
             s.in.push_back(d.ids({d.at(s.in[0]).numel()}, 3));
             return true;
         },
         [](const Call& c) { return repeat_interleave(c.x[0], c.x[1]); }},
        {"diagonal(Tensor, int64_t, int, int)", "diagonal($0, #0, -1, 0)", "torch.diagonal($0, #0, -1, 0)",
         [](ProgramBuilder& d, Statement& s) {
             s.numbers = {double(d.number(-1, 1))};
             return ranked(d, s, 2);
         },
         [](const Call& c) { return diagonal(c.x[0], c.integer(0), -1, 0); }},
        {"trace(Tensor)", "trace($0)", "torch.trace($0)", matrix, [](const Call& c) { return trace(c.x[0]); }},
        {"tensordot(Tensor, Tensor, int)", "tensordot($0, $1, 1)", "torch.tensordot($0, $1, 1)", vectors,
         [](const Call& c) { return tensordot(c.x[0], c.x[1], 1); }},
        {"tensordot(Tensor, Tensor, pair<vector<int>, vector<int>>)", "tensordot($0, $1, {{0, -1}, {0, -1}})",
         "torch.tensordot($0, $1, ([0, -1], [0, -1]))",
         [](ProgramBuilder& d, Statement& s) {
             if (!ranked(d, s, 2)) return false;
             s.in.push_back(d.shaped(d.at(s.in[0]).shape()));
             return true;
         },
         [](const Call& c) {
             return tensordot(c.x[0], c.x[1], {{0, -1}, {0, -1}});
         }},
        {"pad(Tensor, vector<int64_t>, double)", "pad($0, {#0*})", "F.pad($0, [#0*])", padded,
         [](const Call& c) { return pad(c.x[0], std::vector<std::int64_t>(c.n.begin(), c.n.end())); }},
        {"roll(Tensor, int64_t, int)", "roll($0, 1, #0)", "torch.roll($0, 1, #0)", with_axis,
         [](const Call& c) { return roll(c.x[0], 1, c.axis(0)); }},
        {"diag(Tensor, int64_t)", "diag($0, #0)", "torch.diag($0, #0)", matrix,
         [](const Call& c) { return diag(c.x[0], c.integer(0)); }},
        {"outer(Tensor, Tensor)", "outer($0, $1)", "torch.outer($0, $1)", vectors,
         [](const Call& c) { return outer(c.x[0], c.x[1]); }},
        {"dot(Tensor, Tensor)", "dot($0, $1)", "torch.dot($0, $1)", vectors,
         [](const Call& c) { return dot(c.x[0], c.x[1]); }},
        {"einsum(string, vector<Tensor>)", "", "", summed,
         [](const Call& c) {
             return einsum(formulas[c.integer(0)], {c.x[0], c.x[1]});
         },
         0, einsum_text},
        {"nonzero(Tensor)", "nonzero($0 > 0)", "torch.nonzero($0 > 0)", one,
         [](const Call& c) { return nonzero(c.x[0] > 0); }, rare | constant},
        {"masked_select(Tensor, Tensor)", "masked_select($0, $1)", "torch.masked_select($0, $1)",
         [](ProgramBuilder& d, Statement& s) {
             if (!one(d, s)) return false;
             s.in.push_back(d.bools(d.at(s.in[0]).shape()));
             return true;
         },
         [](const Call& c) { return masked_select(c.x[0], c.x[1]); }},

        image_rows(
            "unfold", [](const Tensor& x) { return unfold(x, window); }, "F.unfold($0, 2, padding=1)"),
        {"fold(Tensor, int64_t, int64_t, WindowOptions)",
         "fold($0, 2, 3, {.kernel_height = 2, .kernel_width = 2, .padding = 1})",
         "F.fold($0, (2, 3), 2, padding=1)",
         [](ProgramBuilder& d, Statement& s) {
             s.in = {d.shaped({d.size(), 8, 12})};
             return s.in[0] >= 0;
         },
         [](const Call& c) { return fold(c.x[0], 2, 3, window); }},
        {"conv2d(Tensor, Tensor, Tensor, ConvOptions)", "conv2d($0, $1, $2, {.padding = 1})",
         "F.conv2d($0, $1, $2, padding=1)",
         [](ProgramBuilder& d, Statement& s) {
             if (!images(d, s)) return false;
             s.in.push_back(d.shaped({3, 2, 2, 2}));
             s.in.push_back(d.shaped({3}));
             return true;
         },
         [](const Call& c) { return conv2d(c.x[0], c.x[1], c.x[2], {.padding = 1}); }},
        image_rows(
            "max_pool2d", [](const Tensor& x) { return max_pool2d(x, window); }, "F.max_pool2d($0, 2, 2, 1)"),
        image_rows(
            "avg_pool2d", [](const Tensor& x) { return avg_pool2d(x, window); }, "F.avg_pool2d($0, 2, 2, 1)"),
        {"batch_norm(Tensor, BatchNormStats, Tensor, Tensor, BatchNormOptions)",
         "batch_norm($0, {}, {}, {}, {.training = true})", "F.batch_norm($0, None, None, None, None, True)",
         [](ProgramBuilder& d, Statement& s) {
             s.in = {d.ranked(2, 4)};
             return s.in[0] >= 0 && d.at(s.in[0]).numel() > 2 * d.at(s.in[0]).size(1);
         },
         [](const Call& c) { return batch_norm(c.x[0], {}, {}, {}, {.training = true}); }},
    };
}

}  // namespace random_programs
