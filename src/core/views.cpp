// Views and copies. The gradient of a view is a view of dy, or dy placed in zeros, or (of expand) a sum.
#include <algorithm>
#include <numeric>

#include "core/common.h"

namespace weft {

namespace {

// `wanted` with a size of −1 inferred from the others.
Shape infer_size(const Tensor& x, const Shape& wanted) {
    const auto prefix = [&] {
        return std::string(Op::name()) + ": " + x.shape().str() + " to " + wanted.str() + ": ";
    };
    if (product_overflows(wanted))
        throw ShapeError(prefix(), "the product does not fit in 63 bits; use smaller sizes");
    Shape shape = wanted;
    std::int64_t known = 1, *unknown = nullptr;
    for (std::int64_t& size : shape) {
        if (size < -1) throw ShapeError(prefix(), "negative size ", size, "; use 0 or more, or one -1");
        if (size == -1 && unknown)
            throw ShapeError(prefix(), "two sizes are -1, so neither is known; give one of them");
        if (size == -1)
            unknown = &size;
        else
            known *= size;
    }
    if (!unknown && known != x.numel())
        throw ShapeError(prefix(), x.numel(), " elements do not fit ", known, "; the products must be equal");
    if (unknown && known == 0)
        throw ShapeError(prefix(), "-1 is ambiguous beside a size of 0; give every size");
    if (unknown && x.numel() % known != 0)
        throw ShapeError(prefix(), x.numel(), " elements are not a multiple of ", known,
                         "; -1 cannot be inferred");
    if (unknown) *unknown = x.numel() / known;
    return shape;
}

// x's elements in row-major order as `shape`; copied if strides cannot express it.
Tensor reshaped(const Tensor& x, const Shape& shape) {
    const std::optional<Strides> strides = reshaped_strides(x.array(), shape);
    const Array source = strides ? x.array() : kernels::contiguous(x.array());
    return record(Tensor(view_of(source, shape, strides ? *strides : contiguous_strides(shape), source.offset)),
                  {x}, {},
                  [from = x.shape()](const Saved&, const Tensor& dy) { return Grads{dy.reshape(from)}; });
}

// The transpose of slice: zeros of `shape` with x at positions from, from + step, … of the axis.
Tensor unslice(const Tensor& x, const Shape& shape, int axis, std::int64_t from, std::int64_t step) {
    const Op op("unslice");
    const Tensor y = zeros(shape, x.dtype());
    Strides strides = y.strides();
    strides[axis] *= step;
    kernels::copy(view_of(y.array(), x.shape(), strides, from * y.strides()[axis]), x.array());
    const std::int64_t to = x.size(axis) == 0 ? from : from + (x.size(axis) - 1) * step + 1;
    return record(y, {x}, {},
                  [=](const Saved&, const Tensor& dy) { return Grads{dy.slice(axis, from, to, step)}; });
}

}  // namespace

Tensor Tensor::reshape(const Shape& wanted) const {
    const Op op("reshape");
    return reshaped(*this, infer_size(*this, wanted));
}

Tensor Tensor::view(const Shape& wanted) const {
    const Op op("view");
    const Shape target = infer_size(*this, wanted);
    if (!reshaped_strides(array(), target))
        throw ShapeError(
            "view: a tensor of shape ", shape(), " with strides ", strides(), " cannot be seen as ", target,
            " without copying; call contiguous() first, or use reshape(), which copies where it must");
    return reshaped(*this, target);
}

Tensor Tensor::permute(const Shape& axes) const {
    const Op op("permute");
    Shape order = axes, sorted = Shape::filled(rank(), 0), inverse = sorted;
    std::iota(sorted.begin(), sorted.end(), 0);
    for (std::int64_t& axis : order) axis += axis < 0 ? rank() : 0;
    if (!std::is_permutation(order.begin(), order.end(), sorted.begin(), sorted.end()))
        throw ShapeError("permute: ", axes, " is not a permutation of the axes of ", shape(),
                         "; name each of 0 to ", rank() - 1, " once");
    Array y = array();
    for (int i = 0; i < rank(); ++i) {
        const int from = static_cast<int>(order[i]);
        y.shape[i] = shape()[from];
        y.strides[i] = strides()[from];
        inverse[from] = i;
    }
    return record(Tensor(std::move(y)), {*this}, {},
                  [inverse](const Saved&, const Tensor& dy) { return Grads{dy.permute(inverse)}; });
}

Tensor Tensor::transpose(int a, int b) const {
    const Op op("transpose");
    a = normalize_axis(a, rank());
    b = normalize_axis(b, rank());
    return record(Tensor(transposed_view(array(), a, b)), {*this}, {},
                  [a, b](const Saved&, const Tensor& dy) { return Grads{dy.transpose(a, b)}; });
}

Tensor Tensor::T() const {
    if (rank() != 2)
        throw ShapeError("T: a tensor of shape ", shape(), " is not a matrix; use transpose(a, b) or permute");
    return transpose(0, 1);
}

Tensor Tensor::squeeze(int axis) const {
    const Op op("squeeze");
    axis = normalize_axis(axis, rank());
    if (shape()[axis] != 1)
        throw ShapeError("squeeze: axis ", axis, " of ", shape(), " has size ", shape()[axis],
                         "; only an axis of size 1 can be removed (select takes one index)");
    Shape others = shape();
    others.erase(axis);
    return reshaped(*this, others);
}

Tensor Tensor::squeeze() const {
    const Op op("squeeze");
    Shape others;
    for (std::int64_t size : shape())
        if (size != 1) others.push_back(size);
    return reshaped(*this, others);
}

Tensor Tensor::unsqueeze(int axis) const {
    const Op op("unsqueeze");
    Shape more = shape();
    more.insert(normalize_axis(axis, rank() + 1), 1);
    return reshaped(*this, more);
}

Tensor Tensor::expand(const Shape& wanted) const {
    const Op op("expand");
    const auto prefix = [&] { return "expand: " + shape().str() + " to " + wanted.str() + ": "; };
    if (wanted.rank() < rank())
        throw ShapeError(prefix(), "fewer axes than the tensor has; expand only adds or stretches axes");
    Shape target = wanted;
    for (int i = 1; i <= target.rank(); ++i) {
        std::int64_t& size = target[target.rank() - i];
        const std::int64_t own = i <= rank() ? shape()[rank() - i] : 1;
        if (size == -1 && i > rank())
            throw ShapeError(prefix(), "-1 keeps a size, but a new axis has none; give its size");
        if (size == -1) size = own;
        if (size < 0) throw ShapeError(prefix(), "negative size ", size, "; use 0 or more, or -1 to keep");
        if (own != size && own != 1)
            throw ShapeError(prefix(), "axis ", -i, " has size ", own, " and cannot become ", size,
                             "; only a size of 1 stretches");
    }
    if (product_overflows(target))
        throw ShapeError(prefix(), "the product does not fit in 63 bits; use smaller sizes");
    return record(Tensor(broadcast_view(array(), target)), {*this}, {},
                  [shape = shape()](const Saved&, const Tensor& dy) { return Grads{sum_to(dy, shape)}; });
}

Tensor Tensor::slice(int axis, std::int64_t from, std::int64_t to, std::int64_t step) const {
    const Op op("slice");
    axis = normalize_axis(axis, rank());
    if (step < 1) throw ValueError("slice: the step is ", step, "; use 1 or more (flip reverses an axis)");
    const std::int64_t n = shape()[axis];
    from = std::clamp<std::int64_t>(from < 0 ? from + n : from, 0, n);
    to = std::clamp<std::int64_t>(to < 0 ? to + n : to, from, n);
    step =
        std::min(step, std::max<std::int64_t>(n, 1));  // a longer step changes nothing, and products stay small
    Array y = array();
    y.shape[axis] = (to - from) / step + ((to - from) % step != 0);
    if (y.shape[axis] > 0) y.offset += from * y.strides[axis];
    y.strides[axis] *= step;
    return record(Tensor(std::move(y)), {*this}, {},
                  [shape = shape(), axis, from, step](const Saved&, const Tensor& dy) {
                      return Grads{unslice(dy, shape, axis, from, step)};
                  });
}

Tensor Tensor::select(int axis, std::int64_t index) const {
    const Op op("select");
    axis = normalize_axis(axis, rank());
    const std::int64_t n = shape()[axis], i = index < 0 ? index + n : index;
    if (i < 0 || i >= n)
        throw IndexError("select: index ", index, " is out of range for axis ", axis, " of ", shape(),
                         valid_indices(n));
    Array y = array();
    y.offset += i * y.strides[axis];
    y.shape.erase(axis);
    y.strides.erase(axis);
    return record(Tensor(std::move(y)), {*this}, {},
                  [shape = shape(), axis, i](const Saved&, const Tensor& dy) {
                      return Grads{unslice(dy.unsqueeze(axis), shape, axis, i, 1)};
                  });
}

Tensor Tensor::contiguous() const { return is_contiguous() ? unchanged(*this) : clone(); }

Tensor Tensor::clone() const {
    const Op op("clone");
    return record_symmetric(Tensor(kernels::copy_of(array())), {*this}, {},
                            [](const Saved&, const Tensor& dy) { return Grads{dy}; });
}

Tensor Tensor::to(DType wanted) const {
    if (wanted == dtype()) return unchanged(*this);
    const Op op("to");
    if (only_stores(wanted) && is_grad_enabled() && (requires_grad() || has_tangent(*this)))
        throw GraphError("to: ", name(wanted),
                         " takes no gradient, so the graph would end at this tensor of shape ", shape(),
                         "; detach() it first, or convert it under NoGrad");
    if (is_quantized(wanted))
        throw DTypeError("to: ", name(wanted), " is made by pack(x, DType::", name(wanted),
                         "), which rounds matrices, and by Module::to");
    if (is_quantized(dtype())) {
        if (numel() == 0) return zeros(shape(), wanted);  // there may be any number of rows of 0
        const Tensor whole(kernels::copy_of(array())), rows = whole.reshape({-1, size(-1)});
        return rows_at(rows, arange(rows.size(0))).reshape(shape()).to(wanted);
    }
    if (const std::int64_t wrong = kernels::first_beyond(array(), wanted); wrong >= 0) {
        const Tensor value = element_of(kernels::contiguous(array()), wrong);
        const std::string position = format_index(wrong, shape());
        if (wanted == int64)
            throw ValueError("to: ", value, " at position ", position,
                             " does not fit in int64; replace it first (clamp, masked_fill)");
        throw ValueError("to: ", value, " at position ", position, " would be infinite in ", name(wanted),
                         ", which ends at ", end_of(wanted).largest, "; use ", end_of(wanted).instead);
    }
    return record(Tensor(kernels::copy_of(array(), wanted)), {*this}, {},
                  [from = dtype()](const Saved&, const Tensor& dy) { return Grads{dy.to(from)}; });
}

Tensor broadcast_to(const Tensor& x, const Shape& shape) {
    if (broadcast_shapes(x.shape(), shape, "broadcast_to") != shape)
        throw ShapeError("broadcast_to: ", x.shape(), " does not broadcast to ", shape,
                         "; only sizes of 1 stretch");
    return x.expand(shape);
}

}  // namespace weft
