// Sums of products by a formula of indices.
#include <map>

#include "core/ops/common.h"
#include "weft/core/more.h"

namespace weft {
namespace {

// A tensor whose axes are named by letters.
struct Named {
    Tensor x;
    std::string axes;

    bool has(char c) const { return axes.find(c) != std::string::npos; }
    // Sums over the axes that are not in `kept`.
    Named reduced_to(const std::string& kept) const {
        std::vector<int> over;
        std::string left;
        for (std::size_t i = 0; i < axes.size(); ++i)
            if (kept.find(axes[i]) == std::string::npos)
                over.push_back(static_cast<int>(i));
            else
                left += axes[i];
        return {over.empty() ? x : sum(x, over), left};
    }
    // With the axes in this order; those that are missing have size 1.
    Tensor in_order(const std::string& order) const {
        Shape from;
        Tensor y = x;
        std::string names = axes;
        for (const char c : order)
            if (!has(c)) {
                y = y.unsqueeze(-1);
                names += c;
            }
        for (const char c : order) from.push_back(static_cast<std::int64_t>(names.find(c)));
        return y.permute(from);
    }
};

// Takes the diagonal of axes that have the same letter.
Named without_repeats(Named n) {
    for (std::size_t i = 0; i < n.axes.size(); ++i)
        for (std::size_t j; (j = n.axes.find(n.axes[i], i + 1)) != std::string::npos;) {
            const int a = static_cast<int>(i), b = static_cast<int>(j);
            Shape index = n.x.shape();
            index[b] = 1;
            Shape along = Shape::filled(n.x.rank(), 1);
            along[a] = n.x.size(a);
            n.x = gather(n.x, b, arange(n.x.size(a)).reshape(along).expand(index)).squeeze(b);
            n.axes.erase(j, 1);
        }
    return n;
}

// The product of two, summed over the axes that are not in `kept`: a matrix product over a batch.
Named contracted(const Named& left, const Named& right, const std::string& kept) {
    const Named a = left.reduced_to(kept + right.axes), b = right.reduced_to(kept + left.axes);
    std::string batch, inner, rows, columns;
    for (const char c : a.axes) (!b.has(c) ? rows : kept.find(c) != std::string::npos ? batch : inner) += c;
    for (const char c : b.axes)
        if (!a.has(c)) columns += c;
    if (inner.empty() || !is_floating_point(a.x.dtype())) {
        const std::string all = batch + rows + columns + inner;
        return Named{a.in_order(all) * b.in_order(all), all}.reduced_to(kept);
    }
    const auto matrices = [&](const Named& n, const std::string& first, const std::string& second) {
        const Tensor y = n.in_order(batch + first + second);
        Shape shape;
        std::size_t axis = 0;
        const auto merged = [&](const std::string& names) {
            std::int64_t size = 1;
            for (std::size_t i = 0; i < names.size(); ++i) size *= y.shape()[static_cast<int>(axis++)];
            return size;
        };
        for (const std::string& names : {batch, first, second}) shape.push_back(merged(names));
        return y.reshape(shape);
    };
    const Tensor y = matmul(matrices(a, rows, inner), matrices(b, inner, columns));
    Shape shape;
    for (const char c : batch + rows + columns) {
        const Named& source = a.has(c) ? a : b;
        shape.push_back(source.x.size(static_cast<int>(source.axes.find(c))));
    }
    return {y.reshape(shape), batch + rows + columns};
}

// "..." in a formula without spaces, and from 1 on its axes, counted from the last. They are no text.
constexpr char dots = '\x10';
std::string shown(const std::string& axes) {
    std::string text;
    for (const char c : axes) text += c > 0 && c <= dots ? "..." : std::string(1, c);
    return text;
}

}  // namespace

Tensor einsum(const std::string& formula, const std::vector<Tensor>& operands) {
    std::string text, ellipsis;  // the axes of "..." in the result
    for (std::size_t i = 0; i < formula.size(); ++i)
        if (formula.compare(i, 3, "...") == 0)
            text += dots, i += 2;
        else if (formula[i] != ' ')
            text += formula[i];
    const std::size_t arrow = text.find("->");
    std::vector<Named> terms{{}};
    std::map<char, std::int64_t> sizes;
    for (const char c : text.substr(0, arrow)) {
        if (c == ',')
            terms.push_back({});
        else if (std::isalpha(static_cast<unsigned char>(c)) || (c == dots && !terms.back().has(c)))
            terms.back().axes += c;
        else
            throw ValueError("einsum: \"", formula, "\": '", shown({c}),
                             "' is no index; use letters, ... once for each tensor, commas and ->");
    }
    if (terms.size() != operands.size())
        throw ValueError("einsum: \"", formula, "\": ", terms.size(), " groups of indices for ",
                         operands.size(), " tensors; give one for each");
    std::map<char, int> uses;
    for (std::size_t k = 0; k < terms.size(); ++k) {
        terms[k].x = operands[k];
        check_same_dtype("einsum", operands[0], operands[k]);
        check_arithmetic("einsum", operands[k]);
        auto& [x, axes] = terms[k];
        const std::size_t at = axes.find(dots), letters = axes.size() - (at != std::string::npos);
        const int rest = x.rank() - static_cast<int>(letters);
        if (at == std::string::npos ? rest != 0 : rest < 0)
            throw ValueError("einsum: \"", formula, "\": tensor ", k, " of shape ", x.shape(),
                             " needs one index for each axis, not \"", shown(axes), "\"");
        if (at != std::string::npos) {
            std::string names;
            for (int i = rest; i > 0; --i) names += static_cast<char>(i);
            axes.replace(at, 1, names);
            ellipsis = std::max(ellipsis, names);
            for (std::size_t i = at + names.size(); i-- > at;)
                if (x.size(static_cast<int>(i)) == 1) {  // broadcast, as if it were not there
                    x = x.squeeze(static_cast<int>(i));
                    axes.erase(i, 1);
                }
        }
        for (std::size_t i = 0; i < axes.size(); ++i) {
            const char c = axes[i];
            const std::int64_t size = x.size(static_cast<int>(i));
            if (const auto [found, is_new] = sizes.emplace(c, size); !is_new && found->second != size)
                throw ValueError("einsum: \"", formula, "\": index '", shown({c}), "' has size ", found->second,
                                 " and ", size, "; each index needs one size");
            if (c > dots) ++uses[c];
        }
        terms[k] = without_repeats(terms[k]);
    }
    std::string result;
    if (arrow != std::string::npos) {
        for (const char c : text.substr(arrow + 2)) result += c == dots ? ellipsis : std::string(1, c);
    } else {
        result = ellipsis;
        for (const auto& [c, count] : uses)
            if (count == 1) result += c;
    }
    for (std::size_t i = 0; i < result.size(); ++i)
        if (!(sizes.contains(result[i]) || ellipsis.find(result[i]) != std::string::npos) ||
            result.find(result[i], i + 1) != std::string::npos)
            throw ValueError("einsum: \"", formula, "\": the result names '", shown({result[i]}),
                             "', which must be an index, once");

    Named total = terms[0];
    for (std::size_t k = 1; k < terms.size(); ++k) {
        std::string kept = result;  // axes that the result and the terms that follow need
        for (std::size_t later = k + 1; later < terms.size(); ++later) kept += terms[later].axes;
        total = contracted(total, terms[k], kept);
    }
    return total.reduced_to(result).in_order(result);
}

}  // namespace weft
