// Composed operations as methods of Tensor, x[tensor], and plain numbers in where, maximum and minimum.
#include "core/ops/common.h"
#include "weft/core/more.h"

namespace weft {

Tensor Tensor::std(const Axes& axes, bool keepdim, int correction) const {
    return weft::std(*this, axes, keepdim, correction);
}
Tensor Tensor::norm(double p, const Axes& axes, bool keepdim) const {
    return weft::norm(*this, p, axes, keepdim);
}
Tensor Tensor::prod(int axis, bool keepdim) const { return weft::prod(*this, axis, keepdim); }
Tensor Tensor::prod() const { return weft::prod(*this); }
Tensor Tensor::argmax() const { return weft::argmax(*this); }
Tensor Tensor::argmin(int axis, bool keepdim) const { return weft::argmin(*this, axis, keepdim); }
Tensor Tensor::argmin() const { return weft::argmin(*this); }
ValuesIndices Tensor::sort(int axis, bool descending) const { return weft::sort(*this, axis, descending); }
ValuesIndices Tensor::topk(std::int64_t k, int axis, bool largest) const {
    return weft::topk(*this, k, axis, largest);
}
Tensor Tensor::flatten(int first, int last) const { return weft::flatten(*this, first, last); }

Tensor Tensor::operator[](const Tensor& index) const try {
    if (index.dtype() == boolean) {
        bool fits = index.rank() > 0 && index.rank() <= rank();
        for (int axis = 0; fits && axis < index.rank(); ++axis) fits = index.size(axis) == size(axis);
        if (!fits)
            throw ShapeError("[]: a mask of shape ", index.shape(), " does not fit the first axes of ", shape(),
                             "; the sizes must be equal");
        const Tensor positions = nonzero(index.reshape({-1})).squeeze(1);
        return index_select(weft::flatten(*this, 0, index.rank() - 1), 0, positions);
    }
    check_dtype("[]", "the index", index, int64);
    Tensor rows = index_select(*this, 0, index.reshape({-1}));  // (n, …)
    Shape shape = index.shape();
    for (int axis = 1; axis < rank(); ++axis) shape.push_back(size(axis));
    return rows.reshape(shape);
} catch (const Error&) {
    rethrow_as("[]");
}

Tensor where(const Tensor& condition, double a, const Tensor& b) {
    return where(condition, scalar_like(b, a, "where"), b);
}
Tensor where(const Tensor& condition, const Tensor& a, double b) {
    return where(condition, a, scalar_like(a, b, "where"));
}
Tensor where(const Tensor& condition, double a, double b) { return where(condition, a, full({}, b)); }
Tensor maximum(const Tensor& a, double b) { return maximum(a, scalar_like(a, b, "maximum")); }
Tensor minimum(const Tensor& a, double b) { return minimum(a, scalar_like(a, b, "minimum")); }

}  // namespace weft
