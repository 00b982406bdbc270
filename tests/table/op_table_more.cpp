// The operations of weft/ops.h.
#include <cmath>

#include "op_table.h"

using namespace weft;
using enum Gradient;

namespace {

const WindowOptions tall{.kernel_height = 3, .kernel_width = 2, .stride = 2, .padding = 1};
const WindowOptions spread{.kernel_height = 2, .kernel_width = 2, .dilation = 2};
Rng& generator() {  // the same draws each time
    static Rng rng;
    return rng = Rng(1);
}

}  // namespace

std::vector<OpEntry> more_ops() {
    std::vector<OpEntry> rows = {
        {"rsqrt(Tensor)", "rsqrt", twice, [](In x) { return rsqrt(x[0]); }},
        {"isnan(Tensor)", "isnan", none, [](In x) { return isnan(x[0]); }},
        {"isinf(Tensor)", "isinf", none, [](In x) { return isinf(x[0]); }},
        {"exp2(Tensor)", "exp2", twice, [](In x) { return exp2(x[0]); }},
        {"log2(Tensor)", "log2", twice, [](In x) { return log2(x[0]); }},
        {"log10(Tensor)", "log10", twice, [](In x) { return log10(x[0]); }},
        {"tan(Tensor)", "tan", twice, [](In x) { return tan(x[0]); }},
        {"sinh(Tensor)", "sinh", twice, [](In x) { return sinh(x[0]); }},
        {"sinh(Tensor)", "sinh.small", twice, [](In x) { return sinh(x[0]); }},
        {"cosh(Tensor)", "cosh", twice, [](In x) { return cosh(x[0]); }},
        {"logaddexp(Tensor, Tensor)", "logaddexp", twice, [](In x) { return logaddexp(x[0], x[1]); }},
        {"logaddexp(Tensor, Tensor)", "logaddexp.broadcast", twice, [](In x) { return logaddexp(x[0], x[1]); }},
        {"logaddexp(Tensor, Tensor)", "logaddexp.far", kink, [](In x) { return logaddexp(x[0], x[1]); }},
        {"silu(Tensor)", "silu", twice, [](In x) { return silu(x[0]); }},
        {"softplus(Tensor)", "softplus", twice, [](In x) { return softplus(x[0]); }},
        {"softplus(Tensor)", "softplus.far", kink, [](In x) { return softplus(x[0]); }},
        {"logsigmoid(Tensor)", "logsigmoid", twice, [](In x) { return logsigmoid(x[0]); }},
        {"logsigmoid(Tensor)", "logsigmoid.far", kink, [](In x) { return logsigmoid(x[0]); }},
        {"leaky_relu(Tensor, double)", "leaky_relu", twice, [](In x) { return leaky_relu(x[0], 0.1); }},
        {"elu(Tensor, double)", "elu", twice, [](In x) { return elu(x[0], 1.5); }},
        {"elu(Tensor, double)", "elu.far", kink, [](In x) { return elu(x[0]); }},
        {"where(Tensor, double, Tensor)", "where.number_first", twice,
         [](In x) { return where(x[0], -1e9, x[1]); }},
        {"where(Tensor, Tensor, double)", "where.number_last", twice,
         [](In x) { return where(x[0], x[1], 1.5); }},
        {"where(Tensor, double, double)", "where.numbers", none, [](In x) { return where(x[0], 1.5, -2); }},
        {"maximum(Tensor, double)", "maximum.number", twice, [](In x) { return maximum(x[0], 0.25); }},
        {"minimum(Tensor, double)", "minimum.number", twice, [](In x) { return minimum(x[0], 0.25); }},
        {"allclose(Tensor, Tensor, double, double, bool)", "allclose.close", none,
         [](In x) { return allclose(x[0], x[1], 1e-3); }},
        {"allclose(Tensor, Tensor, double, double, bool)", "allclose.far", none,
         [](In x) { return allclose(x[0], x[1]); }},
        {"allclose(Tensor, Tensor, double, double, bool)", "allclose.nan", none,
         [](In x) { return allclose(x[0], x[1], 1e-5, 1e-8, true); }},

        {"isclose(Tensor, Tensor, double, double, bool)", "isclose", none,
         [](In x) { return isclose(x[0], x[1], 1e-3); }},
        {"isclose(Tensor, Tensor, double, double, bool)", "isclose.nan", none,
         [](In x) { return isclose(x[0], x[1], 1e-5, 1e-8, true); }},

        {"all(Tensor, Axes, KeepDim)", "all.axis", none, [](In x) { return all(x[0], 1); }},
        {"all(Tensor, Axes, KeepDim)", "all.several", none,
         [](In x) {
             return all(x[0], {0, -1}, keepdim);
         }},
        {"any(Tensor, Axes, KeepDim)", "any.axis", none, [](In x) { return any(x[0], 1); }},
        {"any(Tensor, Axes, KeepDim)", "any.several", none,
         [](In x) {
             return any(x[0], {0, -1}, keepdim);
         }},
        {"std(Tensor, Axes, KeepDim, int)", "std.all", twice, [](In x) { return weft::std(x[0]); }},
        {"std(Tensor, Axes, KeepDim, int)", "std.population", twice,
         [](In x) { return weft::std(x[0], 1, keepdim, 0); }},
        {"norm(Tensor, double, Axes, KeepDim)", "norm.all", twice, [](In x) { return norm(x[0]); }},
        {"norm(Tensor, double, Axes, KeepDim)", "norm.axis", twice, [](In x) { return norm(x[0], 2, 1); }},
        {"norm(Tensor, double, Axes, KeepDim)", "norm.zero", kink, [](In x) { return norm(x[0], 2, 1); }},
        {"norm(Tensor, double, Axes, KeepDim)", "norm.one", twice,
         [](In x) {
             return norm(x[0], 1, {0, 2});
         }},
        {"norm(Tensor, double, Axes, KeepDim)", "norm.three", twice,
         [](In x) {
             return norm(x[0], 3, {0, -1}, keepdim);
         }},
        {"norm(Tensor, double, Axes, KeepDim)", "norm.largest", twice,
         [](In x) { return norm(x[0], INFINITY, 1); }},
        {"prod(Tensor, int, KeepDim)", "prod.axis", twice, [](In x) { return prod(x[0], 1); }},
        {"prod(Tensor, int, KeepDim)", "prod.zeros", twice, [](In x) { return prod(x[0], -1, keepdim); }},
        {"prod(Tensor)", "prod.all", twice, [](In x) { return prod(x[0]); }},
        {"cumprod(Tensor, int)", "cumprod.zeros", twice, [](In x) { return cumprod(x[0], -1); }},
        {"cumprod(Tensor, int)", "cumprod.first", twice, [](In x) { return cumprod(x[0], 0); }},
        {"argmin(Tensor, int, KeepDim)", "argmin.axis", none, [](In x) { return argmin(x[0], 1); }},
        {"argmax(Tensor)", "argmax_all", none, [](In x) { return argmax(x[0]); }},
        {"argmin(Tensor)", "argmin_all", none, [](In x) { return argmin(x[0]); }},
        {"unique(Tensor)", "unique", none, [](In x) { return unique(x[0]); }},
        {"unique(Tensor)", "unique.float", none, [](In x) { return unique(x[0]); }, true, false},
        {"argsort(Tensor, int, bool)", "argsort.ties", none, [](In x) { return argsort(x[0], 0); }},
        {"argsort(Tensor, int, bool)", "argsort.descending", none,
         [](In x) { return argsort(x[0], -1, true); }},
        {"sort(Tensor, int, bool)", "sort.last", twice, [](In x) { return sort(x[0]); }},
        {"sort(Tensor, int, bool)", "sort.middle", twice, [](In x) { return sort(x[0], 1, true); }},
        {"topk(Tensor, int64_t, int, bool)", "topk.largest", twice, [](In x) { return topk(x[0], 2, 1); }},
        {"topk(Tensor, int64_t, int, bool)", "topk.smallest", twice,
         [](In x) { return topk(x[0], 3, -1, false); }},

        {"full_like(Tensor, double)", "full_like", none, [](In x) { return full_like(x[0], 2.5); }},
        {"randn_like(Tensor, Rng)", "randn_like", none, [](In x) { return randn_like(x[0], generator()); },
         false},
        {"rand_like(Tensor, Rng)", "rand_like", none, [](In x) { return rand_like(x[0], generator()); }, false},
        {"linspace(double, double, int64_t, DType)", "linspace", none,
         [](In x) { return linspace(-1, 2, 7, x[0].dtype()); }},
        {"one_hot(Tensor, int64_t)", "one_hot", none, [](In x) { return one_hot(x[0], 5); }},
        {"one_hot(Tensor, int64_t)", "one_hot.inferred", none, [](In x) { return one_hot(x[0]); }},
        {"randperm(int64_t, Rng)", "randn_like", none, [](In x) { return randperm(x[0].numel(), generator()); },
         false},
        {"multinomial(Tensor, int64_t, Rng, bool)", "multinomial", none,
         [](In x) { return multinomial(x[0], 2, generator()); }, false},

        {"flatten(Tensor, int, int)", "flatten.all", twice, [](In x) { return flatten(x[0]); }},
        {"flatten(Tensor, int, int)", "flatten.front", twice, [](In x) { return flatten(x[0], 0, 1); }},
        {"movedim(Tensor, int, int)", "movedim.last", twice, [](In x) { return movedim(x[0], 0, -1); }},
        {"movedim(Tensor, int, int)", "movedim.first", twice, [](In x) { return movedim(x[0], 2, 0); }},
        {"repeat(Tensor, Shape)", "repeat", twice,
         [](In x) {
             return repeat(x[0], {2, 1, 3});
         }},
        {"repeat_interleave(Tensor, int64_t, optional<int>)", "repeat_interleave", twice,
         [](In x) { return repeat_interleave(x[0], 2); }},
        {"repeat_interleave(Tensor, int64_t, optional<int>)", "repeat_interleave.axis", twice,
         [](In x) { return repeat_interleave(x[0], 3, -1); }},
        {"repeat_interleave(Tensor, Tensor, optional<int>)", "repeat_interleave.each", twice,
         [](In x) { return repeat_interleave(x[0], x[1], 0); }, true, false},
        {"vstack(vector<Tensor>)", "vstack", twice, [](In x) { return vstack(x); }},
        {"vstack(vector<Tensor>)", "vstack.vectors", twice, [](In x) { return vstack(x); }},
        {"hstack(vector<Tensor>)", "hstack", twice, [](In x) { return hstack(x); }},
        {"hstack(vector<Tensor>)", "hstack.vectors", twice, [](In x) { return hstack(x); }},
        {"diagonal(Tensor, int64_t, int, int)", "diagonal", twice, [](In x) { return diagonal(x[0]); }},
        {"diagonal(Tensor, int64_t, int, int)", "diagonal.last", twice,
         [](In x) { return diagonal(x[0], 1, -1, 0); }},
        {"diagonal(Tensor, int64_t, int, int)", "diagonal.below", twice,
         [](In x) { return diagonal(x[0], -1, 1, 2); }},
        {"trace(Tensor)", "trace", twice, [](In x) { return trace(x[0]); }},
        {"scatter(Tensor, int, Tensor, Tensor)", "scatter", twice,
         [](In x) { return scatter(x[0], -1, x[1], x[2]); }},
        {"scatter(Tensor, int, Tensor, Tensor)", "scatter.first", twice,
         [](In x) { return scatter(x[0], 0, x[1], x[2]); }},
        {"scatter(Tensor, int, Tensor, double)", "scatter.value", twice,
         [](In x) { return scatter(x[0], 1, x[1], 2.5); }},
        {"pad(Tensor, vector<int64_t>, double)", "pad", twice,
         [](In x) {
             return pad(x[0], {1, 2, -1, 3}, 2.5);
         }},
        {"pad(Tensor, vector<int64_t>, double)", "pad.cut", twice,
         [](In x) {
             return pad(x[0], {-2, -1, 0, 0, 1, 0});
         }},
        {"roll(Tensor, int64_t, int)", "roll", twice, [](In x) { return roll(x[0], 1, -1); }},
        {"roll(Tensor, int64_t, int)", "roll.back", twice, [](In x) { return roll(x[0], -7, 1); }},
        {"outer(Tensor, Tensor)", "outer", twice, [](In x) { return outer(x[0], x[1]); }},
        {"dot(Tensor, Tensor)", "dot", twice, [](In x) { return dot(x[0], x[1]); }},
        {"tensordot(Tensor, Tensor, int)", "tensordot", twice, [](In x) { return tensordot(x[0], x[1]); }},
        {"tensordot(Tensor, Tensor, int)", "tensordot.outer", twice,
         [](In x) { return tensordot(x[0], x[1], 0); }},
        {"tensordot(Tensor, Tensor, pair<vector<int>, vector<int>>)", "tensordot.axes", twice,
         [](In x) {
             return tensordot(x[0], x[1], {{-1, 0}, {1, 2}});
         }},
        {"nonzero(Tensor)", "nonzero", none, [](In x) { return nonzero(x[0]); }},
        {"masked_select(Tensor, Tensor)", "masked_select", twice,
         [](In x) { return masked_select(x[0], x[1]); }, true, false},
        {"einsum(string, vector<Tensor>)", "einsum.three", twice,
         [](In x) { return einsum("ijk,jk,k->i", x); }},

        {"unfold(Tensor, WindowOptions)", "unfold", twice, [](In x) { return unfold(x[0], tall); }},
        {"unfold(Tensor, WindowOptions)", "unfold.dilated", twice, [](In x) { return unfold(x[0], spread); }},
        {"fold(Tensor, int64_t, int64_t, WindowOptions)", "fold", twice,
         [](In x) { return fold(x[0], 6, 5, tall); }},
        {"conv2d(Tensor, Tensor, Tensor, ConvOptions)", "conv2d.groups", twice,
         [](In x) { return conv2d(x[0], x[1], x[2], {.stride = 2, .padding = 1, .groups = 2}); }},
        {"conv2d(Tensor, Tensor, Tensor, ConvOptions)", "conv2d.dilated", twice,
         [](In x) { return conv2d(x[0], x[1], {}, {.dilation = 2}); }},
        {"max_pool2d(Tensor, WindowOptions)", "max_pool2d", twice, [](In x) { return max_pool2d(x[0], tall); }},
        {"avg_pool2d(Tensor, WindowOptions)", "avg_pool2d", twice, [](In x) { return avg_pool2d(x[0], tall); }},
        {"batch_norm(Tensor, BatchNormStats, Tensor, Tensor, BatchNormOptions)", "batch_norm.training", twice,
         [](In x) { return batch_norm(x[0], {}, x[1], x[2], {.training = true}); }},
        {"batch_norm(Tensor, BatchNormStats, Tensor, Tensor, BatchNormOptions)", "batch_norm.running", twice,
         [](In x) {
             return batch_norm(x[0], {x[1], x[2]}, x[3], x[4]);
         }},
    };
    for (const int k : {-2, 0, 1}) {
        const std::string offset = std::to_string(k);
        rows.push_back(
            {"diag(Tensor, int64_t)", "diag.vector" + offset, twice, [k](In x) { return diag(x[0], k); }});
        rows.push_back(
            {"diag(Tensor, int64_t)", "diag.matrix" + offset, twice, [k](In x) { return diag(x[0], k); }});
    }
    for (const char* formula : {"ijk->kji", "ijk->ik", "ijk", "ijk->"})
        rows.push_back({"einsum(string, vector<Tensor>)", std::string("einsum.") + formula, twice,
                        [formula](In x) { return einsum(formula, x); }});
    for (const char* formula :
         {"ijk,ijk->ijk", "ijk,ijl->ikl", "ijk,ljk->il", "ijk,abc->ia", "ijk,ijk->i", "ijk,ijk"})
        rows.push_back({"einsum(string, vector<Tensor>)", std::string("einsum.") + formula, twice,
                        [formula](In x) { return einsum(formula, x); }});
    for (const char* formula :
         {"...ij,...jk->...ik", "...ij,...jk", "...ij,...jk->ki", "i...j,...->ij...", "...,...->..."})
        rows.push_back({"einsum(string, vector<Tensor>)", std::string("einsum.") + formula, twice,
                        [formula](In x) { return einsum(formula, x); }});
    for (const char* formula : {"ii->i", "ii"})
        rows.push_back({"einsum(string, vector<Tensor>)", std::string("einsum.") + formula, twice,
                        [formula](In x) { return einsum(formula, x); }});
    return rows;
}
