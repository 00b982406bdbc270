// Reductions, shapes, indexing, and the members of Tensor that stay in the graph.
#include "op_table.h"

using namespace weft;
using enum Gradient;

std::vector<OpEntry> reduction_ops() {
    std::vector<OpEntry> rows;
    const auto reduction = [&](const std::string& name, auto f, const std::string& more = "") {
        const std::string declaration = name + "(Tensor, Axes, KeepDim" + more + ")";
        rows.push_back(
            {declaration, name + ".all", twice, [f](In x) { return f(x[0], Axes{}, false); }, true, true, f});
        rows.push_back({declaration, name + ".axis", twice, [f](In x) { return f(x[0], 1, false); }});
        rows.push_back(
            {declaration, name + ".negative_keepdim", twice, [f](In x) { return f(x[0], -1, keepdim); }});
        rows.push_back({declaration, name + ".several", twice, [f](In x) { return f(x[0], {0, -1}, false); }});
        rows.push_back({declaration, name + ".several_keepdim", twice, [f](In x) {
                            return f(x[0], {0, 2}, true);
                        }});
    };
    reduction("sum", [](const Tensor& x, const Axes& axes, bool keep) { return sum(x, axes, keep); });
    reduction("mean", [](const Tensor& x, const Axes& axes, bool keep) { return mean(x, axes, keep); });
    reduction(
        "var", [](const Tensor& x, const Axes& axes, bool keep) { return var(x, axes, keep); }, ", int");
    reduction("logsumexp",
              [](const Tensor& x, const Axes& axes, bool keep) { return logsumexp(x, axes, keep); });
    const std::vector<OpEntry> others = {
        {"logsumexp(Tensor, Axes, KeepDim)", "logsumexp.far", kink, [](In x) { return logsumexp(x[0], -1); }},
        {"sum(Tensor, Axes, KeepDim)", "sum.int64", none, [](In x) { return sum(x[0]); }},
        {"var(Tensor, Axes, KeepDim, int)", "var.population", twice,
         [](In x) { return var(x[0], 1, false, 0); }},
        {"max(Tensor, int, KeepDim)", "max.axis", twice, [](In x) { return max(x[0], 1); }},
        {"max(Tensor, int, KeepDim)", "max.negative_keepdim", twice,
         [](In x) { return max(x[0], -1, keepdim); }},
        {"min(Tensor, int, KeepDim)", "min.axis", twice, [](In x) { return min(x[0], 1); }},
        {"min(Tensor, int, KeepDim)", "min.negative_keepdim", twice,
         [](In x) { return min(x[0], -1, keepdim); }},
        {"max(Tensor)", "max_all", twice, [](In x) { return max(x[0]); }},
        {"min(Tensor)", "min_all", twice, [](In x) { return min(x[0]); }},
        {"argmax(Tensor, int, KeepDim)", "argmax.axis", none, [](In x) { return argmax(x[0], 1); }},
        {"argmax(Tensor, int, KeepDim)", "argmax.keepdim", none,
         [](In x) { return argmax(x[0], -1, keepdim); }},
        {"cumsum(Tensor, int)", "cumsum.first", twice, [](In x) { return cumsum(x[0], 0); }},
        {"cumsum(Tensor, int)", "cumsum.last", twice, [](In x) { return cumsum(x[0], -1); }},
        {"softmax(Tensor, int)", "softmax.last", twice, [](In x) { return softmax(x[0], -1); }},
        {"softmax(Tensor, int)", "softmax.middle", twice, [](In x) { return softmax(x[0], 1); }},
        {"softmax(Tensor, int)", "softmax.far", kink, [](In x) { return softmax(x[0], -1); }},
        {"log_softmax(Tensor, int)", "log_softmax.last", twice, [](In x) { return log_softmax(x[0], -1); }},
        {"log_softmax(Tensor, int)", "log_softmax.middle", twice, [](In x) { return log_softmax(x[0], 1); }},
        {"log_softmax(Tensor, int)", "log_softmax.far", kink, [](In x) { return log_softmax(x[0], -1); }},
    };
    rows.insert(rows.end(), others.begin(), others.end());
    return rows;
}

std::vector<OpEntry> shape_ops() {
    return {
        {"broadcast_to(Tensor, Shape)", "broadcast_to", twice,
         [](In x) {
             return broadcast_to(x[0], {2, 4, 3});
         }},
        {"sum_to(Tensor, Shape)", "sum_to", twice,
         [](In x) {
             return sum_to(x[0], {4, 1});
         }},
        {"cat(vector<Tensor>, int)", "cat.first", twice, [](In x) { return cat(x); }},
        {"cat(vector<Tensor>, int)", "cat.negative", twice, [](In x) { return cat(x, -1); }},
        {"stack(vector<Tensor>, int)", "stack.first", twice, [](In x) { return stack(x); }},
        {"stack(vector<Tensor>, int)", "stack.last", twice, [](In x) { return stack(x, -1); }},
        {"split(Tensor, int64_t, int)", "split.size", twice, [](In x) { return split(x[0], 3, 1); }},
        {"split(Tensor, vector<int64_t>, int)", "split.sizes", twice,
         [](In x) {
             return split(x[0], std::vector<std::int64_t>{1, 4, 2}, -1);
         }},
        {"chunk(Tensor, int64_t, int)", "chunk.even", twice, [](In x) { return chunk(x[0], 3, -1); }},
        {"chunk(Tensor, int64_t, int)", "chunk.missing", twice, [](In x) { return chunk(x[0], 4); }},
        {"flip(Tensor, int)", "flip", twice, [](In x) { return flip(x[0], 1); }},
        {"triu(Tensor, int64_t)", "triu.main", twice, [](In x) { return triu(x[0]); }},
        {"triu(Tensor, int64_t)", "triu.above", twice, [](In x) { return triu(x[0], 1); }},
        {"triu(Tensor, int64_t)", "triu.below", twice, [](In x) { return triu(x[0], -2); }},
        {"tril(Tensor, int64_t)", "tril.main", twice, [](In x) { return tril(x[0]); }},
        {"tril(Tensor, int64_t)", "tril.above", twice, [](In x) { return tril(x[0], 1); }},
        {"tril(Tensor, int64_t)", "tril.below", twice, [](In x) { return tril(x[0], -2); }},

        {"index_select(Tensor, int, Tensor)", "index_select.first", twice,
         [](In x) { return index_select(x[0], 0, x[1]); }},
        {"index_select(Tensor, int, Tensor)", "index_select.negative", twice,
         [](In x) { return index_select(x[0], 1, x[1]); }},
        {"gather(Tensor, int, Tensor)", "gather.first", twice, [](In x) { return gather(x[0], 0, x[1]); }},
        {"gather(Tensor, int, Tensor)", "gather.last", twice, [](In x) { return gather(x[0], -1, x[1]); }},
        {"scatter_add(Shape, int, Tensor, Tensor)", "scatter_add", twice,
         [](In x) {
             return scatter_add({2, 5}, -1, x[0], x[1]);
         }},
        {"scatter_add(Shape, int, Tensor, Tensor)", "scatter_add.first", twice,
         [](In x) {
             return scatter_add({4, 3}, 0, x[0], x[1]);
         }},
        {"embedding(Tensor, Tensor)", "embedding", twice, [](In x) { return embedding(x[0], x[1]); }},
    };
}

std::vector<OpEntry> member_ops() {
    return {
        {"Tensor::reshape(Shape)", "reshape", twice,
         [](In x) {
             return x[0].reshape({4, -1});
         }},
        {"Tensor::reshape(Shape)", "reshape.copy", twice,
         [](In x) {
             return x[0].permute({2, 0, 1}).reshape({4, 6});
         }},
        {"Tensor::view(Shape)", "view", twice,
         [](In x) {
             return x[0].view({-1, 6});
         },
         true, false},
        {"Tensor::permute(Shape)", "permute", twice,
         [](In x) {
             return x[0].permute({2, 0, 1});
         }},
        {"Tensor::transpose(int, int)", "transpose", twice, [](In x) { return x[0].transpose(0, -1); }},
        {"Tensor::T()", "T", twice, [](In x) { return x[0].T(); }},
        {"Tensor::squeeze(int)", "squeeze.axis", twice, [](In x) { return x[0].squeeze(1); }},
        {"Tensor::squeeze()", "squeeze.all", twice, [](In x) { return x[0].squeeze(); }},
        {"Tensor::unsqueeze(int)", "unsqueeze", twice, [](In x) { return x[0].unsqueeze(-1); }},
        {"Tensor::expand(Shape)", "expand", twice,
         [](In x) {
             return x[0].expand({2, 4, -1});
         }},
        {"Tensor::slice(int, int64_t, int64_t, int64_t)", "slice", twice,
         [](In x) { return x[0].slice(1, 1, 6, 2); }},
        {"Tensor::slice(int, int64_t, int64_t, int64_t)", "slice.negative", twice,
         [](In x) { return x[0].slice(0, -3, -1); }},
        {"Tensor::select(int, int64_t)", "select", twice, [](In x) { return x[0].select(1, -2); }},
        {"Tensor::operator[](int64_t)", "subscript", twice, [](In x) { return x[0][1]; }},
        {"Tensor::operator[](Tensor)", "subscript.mask", twice, [](In x) { return x[0][x[1]]; }, true, false},
        {"Tensor::operator[](Tensor)", "subscript.indices", twice, [](In x) { return x[0][x[1]]; }},
        {"Tensor::contiguous()", "contiguous", twice, [](In x) { return x[0].T().contiguous(); }},
        {"Tensor::clone()", "clone", twice, [](In x) { return x[0].T().clone(); }},
        {"Tensor::to(DType)", "to", kink,
         [](In x) { return x[0].to(x[0].dtype() == float64 ? float32 : float64).to(x[0].dtype()); }},
    };
}
