// Sums of products by a formula of indices.
#include "weft/ops/products.h"

#include <compare>
#include <map>
#include <numeric>
#include <vector>

#include "core/common.h"

namespace weft {

namespace {

// x with the named axes first, or last, and both groups of axes flattened; and the shape of the others.
std::pair<Tensor, Shape> as_matrix(const Tensor& x, std::vector<int> names, bool first) {
    std::vector<bool> named(static_cast<std::size_t>(x.rank()));
    Shape axes, rest;
    std::int64_t k = 1;
    for (int& axis : names) {
        axis = normalize_axis(axis, x.rank(), "tensordot");
        if (named[static_cast<std::size_t>(axis)])
            throw IndexError("tensordot: axis ", axis, " is named twice; name each axis once");
        named[static_cast<std::size_t>(axis)] = true;
        k *= x.size(axis);
    }
    for (int axis = 0; axis < x.rank(); ++axis)
        if (!named[static_cast<std::size_t>(axis)]) axes.push_back(axis), rest.push_back(x.size(axis));
    for (std::size_t i = 0; i < names.size(); ++i) axes.insert(first ? static_cast<int>(i) : -1, names[i]);
    const Tensor y = x.permute(axes);
    return {first ? y.reshape({k, rest.numel()}) : y.reshape({rest.numel(), k}), rest};
}

}  // namespace

Tensor outer(const Tensor& a, const Tensor& b) {
    const Op op("outer", Op::of_others);
    if (a.rank() != 1 || b.rank() != 1)
        throw ShapeError("outer: tensors of shape ", a.shape(), " and ", b.shape(), "; both must be vectors");
    return a.unsqueeze(1) * b;
}

Tensor dot(const Tensor& a, const Tensor& b) {
    const Op op("dot", Op::of_others);
    if (a.rank() != 1 || a.shape() != b.shape())
        throw ShapeError("dot: tensors of shape ", a.shape(), " and ", b.shape(),
                         "; both must be vectors of one length");
    return sum(a * b);
}

Tensor tensordot(const Tensor& a, const Tensor& b, const std::pair<std::vector<int>, std::vector<int>>& axes) {
    const Op op("tensordot", Op::of_others);
    const auto& [of_a, of_b] = axes;
    bool fits = of_a.size() == of_b.size();
    for (std::size_t i = 0; fits && i < of_a.size(); ++i) fits = a.size(of_a[i]) == b.size(of_b[i]);
    if (!fits)
        throw ShapeError("tensordot: the axes of ", a.shape(), " and ", b.shape(),
                         " do not fit; name as many of both, with equal sizes");
    auto [left, shape] = as_matrix(a, of_a, false);
    const auto [right, columns] = as_matrix(b, of_b, true);
    for (const std::int64_t size : columns) shape.push_back(size);
    return matmul(left, right).reshape(shape);
}

Tensor tensordot(const Tensor& a, const Tensor& b, int axes) {
    if (axes < 0 || axes > a.rank() || axes > b.rank())
        throw ValueError("tensordot: ", axes, " axes of ", a.shape(), " and ", b.shape(),
                         "; use 0 or more, at most as many as both have");
    std::vector<int> last(static_cast<std::size_t>(axes)), first(last.size());
    std::iota(last.begin(), last.end(), a.rank() - axes);
    std::iota(first.begin(), first.end(), 0);
    return tensordot(a, b, {last, first});
}

namespace {

// A character of a formula. For "..." the character is 0: number 0 is "..." itself, and from 1 on the numbers
// are its axes, counted from the last.
struct Symbol {
    char character = 0;
    int number = 0;
    auto operator<=>(const Symbol&) const = default;
};
constexpr Symbol dots{};

std::string shown(Symbol s) { return s.character == 0 ? "..." : std::string(1, s.character); }

// Names of axes, or the symbols of a formula.
struct Symbols : std::vector<Symbol> {
    using std::vector<Symbol>::vector;

    // The first place of s from `from` on, or size().
    std::size_t find(Symbol s, std::size_t from = 0) const {
        return static_cast<std::size_t>(std::find(begin() + static_cast<std::ptrdiff_t>(from), end(), s) -
                                        begin());
    }
    bool has(Symbol s, std::size_t from = 0) const { return find(s, from) < size(); }
    Symbols& operator+=(const Symbols& other) {
        insert(end(), other.begin(), other.end());
        return *this;
    }
    friend Symbols operator+(Symbols a, const Symbols& b) { return a += b; }
};

std::string shown(const Symbols& symbols) {
    std::string text;
    for (const Symbol s : symbols) text += shown(s);
    return text;
}

// A tensor whose axes have names.
struct Named {
    Tensor x;
    Symbols axes;

    // Sums over the axes that are not in `kept`.
    Named reduced_to(const Symbols& kept) const {
        std::vector<int> over;
        Symbols left;
        for (std::size_t i = 0; i < axes.size(); ++i)
            if (!kept.has(axes[i]))
                over.push_back(static_cast<int>(i));
            else
                left.push_back(axes[i]);
        return {over.empty() ? x : sum(x, over), left};
    }
    // With the axes in this order; those that are missing have size 1.
    Tensor in_order(const Symbols& order) const {
        Shape from;
        Tensor y = x;
        Symbols names = axes;
        for (const Symbol s : order)
            if (!axes.has(s)) {
                y = y.unsqueeze(-1);
                names.push_back(s);
            }
        for (const Symbol s : order) from.push_back(static_cast<std::int64_t>(names.find(s)));
        return y.permute(from);
    }
};

// Takes the diagonal of axes that have the same name.
Named without_repeats(Named n) {
    for (std::size_t i = 0; i < n.axes.size(); ++i)
        for (std::size_t j; (j = n.axes.find(n.axes[i], i + 1)) < n.axes.size();) {
            const int a = static_cast<int>(i), b = static_cast<int>(j);
            Shape index = n.x.shape();
            index[b] = 1;
            Shape along = Shape::filled(n.x.rank(), 1);
            along[a] = n.x.size(a);
            n.x = gather(n.x, b, arange(n.x.size(a)).reshape(along).expand(index)).squeeze(b);
            n.axes.erase(n.axes.begin() + b);
        }
    return n;
}

// The product of two, summed over the axes that are not in `kept`: a matrix product over a batch.
Named contracted(const Named& left, const Named& right, const Symbols& kept) {
    const Named a = left.reduced_to(kept + right.axes), b = right.reduced_to(kept + left.axes);
    Symbols batch, inner, rows, columns;
    for (const Symbol s : a.axes) (!b.axes.has(s) ? rows : kept.has(s) ? batch : inner).push_back(s);
    for (const Symbol s : b.axes)
        if (!a.axes.has(s)) columns.push_back(s);
    if (inner.empty() || !takes_gradient(a.x.dtype())) {
        const Symbols all = batch + rows + columns + inner;
        return Named{a.in_order(all) * b.in_order(all), all}.reduced_to(kept);
    }
    const auto matrices = [&](const Named& n, const Symbols& first, const Symbols& second) {
        const Tensor y = n.in_order(batch + first + second);
        Shape shape;
        std::size_t axis = 0;
        const auto merged = [&](const Symbols& names) {
            std::int64_t size = 1;
            for (std::size_t i = 0; i < names.size(); ++i) size *= y.shape()[static_cast<int>(axis++)];
            return size;
        };
        for (const Symbols& names : {batch, first, second}) shape.push_back(merged(names));
        return y.reshape(shape);
    };
    const Tensor y = matmul(matrices(a, rows, inner), matrices(b, inner, columns));
    Shape shape;
    for (const Symbol s : batch + rows + columns) {
        const Named& source = a.axes.has(s) ? a : b;
        shape.push_back(source.x.size(static_cast<int>(source.axes.find(s))));
    }
    return {y.reshape(shape), batch + rows + columns};
}

// The symbols of a formula, without spaces.
Symbols symbols_of(const std::string& formula) {
    Symbols symbols;
    for (std::size_t i = 0; i < formula.size(); ++i)
        if (formula.compare(i, 3, "...") == 0)
            symbols.push_back(dots), i += 2;
        else if (formula[i] != ' ')
            symbols.push_back({formula[i]});
    return symbols;
}

}  // namespace

Tensor einsum(const std::string& formula, const std::vector<Tensor>& operands) {
    const Op op("einsum", Op::of_others);
    const Symbols symbols = symbols_of(formula);
    Symbols ellipsis;  // the axes of "..." in the result
    const Symbol dash_and_tip[] = {{'-'}, {'>'}};
    const auto arrow =
        std::search(symbols.begin(), symbols.end(), std::begin(dash_and_tip), std::end(dash_and_tip));
    std::vector<Named> terms{{}};
    std::map<Symbol, std::int64_t> sizes;
    for (auto s = symbols.begin(); s != arrow; ++s) {
        if (s->character == ',')
            terms.push_back({});
        else if (std::isalpha(static_cast<unsigned char>(s->character)) ||
                 (*s == dots && !terms.back().axes.has(dots)))
            terms.back().axes.push_back(*s);
        else
            throw ValueError("einsum: \"", formula, "\": '", shown(*s),
                             "' is no index; use letters, ... once for each tensor, commas and ->");
    }
    if (terms.size() != operands.size())
        throw ValueError("einsum: \"", formula, "\": ", terms.size(), " groups of indices for ",
                         operands.size(), " tensors; give one for each");
    std::map<Symbol, int> uses;
    for (std::size_t k = 0; k < terms.size(); ++k) {
        terms[k].x = operands[k];
        check_same_dtype(operands[0], operands[k]);
        check_arithmetic(operands[k]);
        check_computes(operands[k].dtype());
        auto& [x, axes] = terms[k];
        const bool has_dots = axes.has(dots);
        const int rest = x.rank() - static_cast<int>(axes.size()) + has_dots;
        if (has_dots ? rest < 0 : rest != 0)
            throw ValueError("einsum: \"", formula, "\": tensor ", k, " of shape ", x.shape(),
                             " needs one index for each axis, not \"", shown(axes), "\"");
        if (has_dots) {
            Symbols names;
            for (int i = rest; i > 0; --i) names.push_back({0, i});
            if (names.size() > ellipsis.size()) ellipsis = names;
            const int at = static_cast<int>(axes.find(dots));
            axes.insert(axes.erase(axes.begin() + at), names.begin(), names.end());
            for (int i = at + rest; i-- > at;)
                if (x.size(i) == 1) {  // broadcast, as if it were not there
                    x = x.squeeze(i);
                    axes.erase(axes.begin() + i);
                }
        }
        for (std::size_t i = 0; i < axes.size(); ++i) {
            const Symbol s = axes[i];
            const std::int64_t size = x.size(static_cast<int>(i));
            if (const auto [found, is_new] = sizes.emplace(s, size); !is_new && found->second != size)
                throw ValueError("einsum: \"", formula, "\": index '", shown(s), "' has size ", found->second,
                                 " and ", size, "; each index needs one size");
            if (s.character != 0) ++uses[s];
        }
        terms[k] = without_repeats(terms[k]);
    }
    Symbols result;
    if (arrow != symbols.end()) {
        for (auto s = arrow + 2; s != symbols.end(); ++s) result += *s == dots ? ellipsis : Symbols{*s};
    } else {
        result = ellipsis;
        for (const auto& [s, count] : uses)
            if (count == 1) result.push_back(s);
    }
    for (std::size_t i = 0; i < result.size(); ++i)
        if (!(sizes.contains(result[i]) || ellipsis.has(result[i])) || result.has(result[i], i + 1))
            throw ValueError("einsum: \"", formula, "\": the result names '", shown(result[i]),
                             "', which must be an index, once");

    Named total = terms[0];
    for (std::size_t k = 1; k < terms.size(); ++k) {
        Symbols kept = result;  // axes that the result and the terms that follow need
        for (std::size_t later = k + 1; later < terms.size(); ++later) kept += terms[later].axes;
        total = contracted(total, terms[k], kept);
    }
    return total.reduced_to(result).in_order(result);
}

}  // namespace weft
