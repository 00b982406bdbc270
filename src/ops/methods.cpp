// Operations as methods of Tensor, and x[tensor].
#include <algorithm>

#include "core/common.h"
#include "core/node.h"
#include "weft/ops.h"

namespace weft {

Tensor Tensor::sum(const Axes& axes, KeepDim keepdim) const { return weft::sum(*this, axes, keepdim); }
Tensor Tensor::mean(const Axes& axes, KeepDim keepdim) const { return weft::mean(*this, axes, keepdim); }
Tensor Tensor::var(const Axes& axes, KeepDim keepdim, int correction) const {
    return weft::var(*this, axes, keepdim, correction);
}
ValuesIndices Tensor::max(int axis, KeepDim keepdim) const { return weft::max(*this, axis, keepdim); }
ValuesIndices Tensor::min(int axis, KeepDim keepdim) const { return weft::min(*this, axis, keepdim); }
Tensor Tensor::max() const { return weft::max(*this); }
Tensor Tensor::min() const { return weft::min(*this); }
Tensor Tensor::argmax(int axis, KeepDim keepdim) const { return weft::argmax(*this, axis, keepdim); }
Tensor Tensor::cumsum(int axis) const { return weft::cumsum(*this, axis); }
Tensor Tensor::softmax(int axis) const { return weft::softmax(*this, axis); }
Tensor Tensor::log_softmax(int axis) const { return weft::log_softmax(*this, axis); }
Tensor Tensor::exp() const { return weft::exp(*this); }
Tensor Tensor::log() const { return weft::log(*this); }
Tensor Tensor::sqrt() const { return weft::sqrt(*this); }
Tensor Tensor::abs() const { return weft::abs(*this); }
Tensor Tensor::tanh() const { return weft::tanh(*this); }
Tensor Tensor::sigmoid() const { return weft::sigmoid(*this); }
Tensor Tensor::relu() const { return weft::relu(*this); }
Tensor Tensor::pow(double p) const { return weft::pow(*this, p); }
Tensor Tensor::clamp(std::optional<double> low, std::optional<double> high) const {
    return weft::clamp(*this, low, high);
}
Tensor Tensor::masked_fill(const Tensor& mask, double value) const {
    return weft::masked_fill(*this, mask, value);
}
Tensor Tensor::matmul(const Tensor& other) const { return weft::matmul(*this, other); }
Tensor Tensor::gather(int axis, const Tensor& index) const { return weft::gather(*this, axis, index); }
std::vector<Tensor> Tensor::split(std::int64_t size, int axis) const { return weft::split(*this, size, axis); }
std::vector<Tensor> Tensor::chunk(std::int64_t chunks, int axis) const {
    return weft::chunk(*this, chunks, axis);
}

Tensor::Iterator Tensor::begin() const {
    if (rank() == 0) throw ShapeError("begin: a scalar has no axis to iterate over; use item() for its value");
    return {this, 0};
}
Tensor::Iterator Tensor::end() const { return {this, rank() == 0 ? 0 : size(0)}; }

Tensor& Tensor::operator+=(double number) {
    const Op op("add_", Op::of_others);
    return add_(scalar_like(*this, number));
}
Tensor& Tensor::operator-=(const Tensor& other) {
    const Op op("subtract", Op::of_others);
    return add_(other, -1);
}
Tensor& Tensor::operator/=(const Tensor& other) {
    check_in_place("divide", *this, &other);
    check_computes("divide", dtype());
    return copy_(*this / other);
}
Tensor& Tensor::operator/=(double number) {
    const Op op("divide", Op::of_others);
    return *this /= scalar_like(*this, number);
}
Tensor& Tensor::operator-=(double number) {
    const Op op("subtract", Op::of_others);
    return *this -= scalar_like(*this, number);
}

Tensor Tensor::std(const Axes& axes, KeepDim keepdim, int correction) const {
    return weft::std(*this, axes, keepdim, correction);
}
Tensor Tensor::norm(double p, const Axes& axes, KeepDim keepdim) const {
    return weft::norm(*this, p, axes, keepdim);
}
Tensor Tensor::prod(int axis, KeepDim keepdim) const { return weft::prod(*this, axis, keepdim); }
Tensor Tensor::prod() const { return weft::prod(*this); }
Tensor Tensor::argmax() const { return weft::argmax(*this); }
Tensor Tensor::argmin(int axis, KeepDim keepdim) const { return weft::argmin(*this, axis, keepdim); }
Tensor Tensor::argmin() const { return weft::argmin(*this); }
ValuesIndices Tensor::sort(int axis, bool descending) const { return weft::sort(*this, axis, descending); }
ValuesIndices Tensor::topk(std::int64_t k, int axis, bool largest) const {
    return weft::topk(*this, k, axis, largest);
}
Tensor Tensor::flatten(int first, int last) const { return weft::flatten(*this, first, last); }

Tensor Tensor::operator[](const Tensor& index) const {
    const Op op("[]", Op::of_others);
    if (index.dtype() == boolean) {
        bool fits = index.rank() > 0 && index.rank() <= rank();
        for (int axis = 0; fits && axis < index.rank(); ++axis) fits = index.size(axis) == size(axis);
        if (!fits)
            throw ShapeError("[]: a mask of shape ", index.shape(), " does not fit the first axes of ", shape(),
                             "; the sizes must be equal");
        const Tensor positions = nonzero(index.reshape({-1})).squeeze(1);
        return index_select(weft::flatten(*this, 0, index.rank() - 1), 0, positions);
    }
    check_dtype("the index", index, int64);
    Tensor rows = index_select(*this, 0, index.reshape({-1}));  // (n, …)
    Shape shape = index.shape();
    for (int axis = 1; axis < rank(); ++axis) shape.push_back(size(axis));
    return rows.reshape(shape);
}

}  // namespace weft
