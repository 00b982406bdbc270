// Tensor: an array of values that can take part in the graph. Views and conversions are implemented in
// src/core/views.cpp, backward in backward.cpp, operations as methods in src/ops/methods.cpp.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/core/shape.h"

namespace weft {

struct Array;       // storage, shape and strides of the values   (src/core/array.h)
struct TensorImpl;  // an Array and its node in the graph         (src/core/node.h)
struct Node;        // a node of the graph                        (src/core/node.h)
struct ValuesIndices;

// Values of one type with a shape and, if it takes part in the graph, a node there. A Tensor is a handle, as
// in PyTorch: a copy of it is the same tensor. The compiler warns about a statement that discards a tensor.
//
//     const Tensor x = tensor({{1.0, 2}, {3, 4}}).requires_grad_();
//     const Tensor y = sum(x * x);
//     y.backward();
//     const Tensor dx = x.grad();  // 2x = [[2, 4], [6, 8]]
class [[nodiscard]] Tensor {
public:
    Tensor() = default;  // undefined: every use except defined() is a GraphError
    // A copy is the same tensor.
    Tensor(const Tensor&) = default;
    Tensor(Tensor&&) noexcept = default;
    // Makes this handle refer to the other tensor.
    Tensor& operator=(const Tensor&) & = default;
    Tensor& operator=(Tensor&&) & noexcept = default;
    // x[0] = y does not compile, because it would change a temporary handle and no value of x.
    template <class Value>
    void operator=(Value&&) && = delete;  // write x[0].copy_(y), or x[0].fill_(3)
    // Which element would decide?
    explicit operator bool() const = delete;  // write any(x > 0), all(x > 0), x.item() > 0, or x.defined()

    // ---- properties
    bool defined() const { return impl_ != nullptr; }  // false only for Tensor()
    const Shape& shape() const;                        // the sizes of the axes
    // The size of one axis; negative axes count from the end. IndexError if out of range.
    std::int64_t size(int axis) const;
    const Shape& size() const { return shape(); }           // the same as shape()
    int dim() const { return rank(); }                      // the same as rank()
    int rank() const { return shape().rank(); }             // the number of axes
    std::int64_t numel() const { return shape().numel(); }  // the number of elements
    DType dtype() const;                                    // the type of the elements
    const Strides& strides() const;                         // in elements
    bool is_contiguous() const;                             // row-major without gaps
    bool shares_storage(const Tensor& other) const;         // whether both are views of one memory
    std::uint64_t version() const;                          // of the storage; in-place changes increment it
    std::string str() const;                                // the values, printed as by NumPy's str()
    // str() with what it leaves out: "tensor([1 2], shape=(2,), dtype=float32, requires_grad=true)".
    std::string repr() const;

    // ---- values

    // The address of the first element; the others are at strides() from it. DTypeError unless T is the
    // tensor's type. version() does not notice writes through it, so prefer the in-place operations.
    template <class T>
    T* data() const {
        return static_cast<T*>(data(dtype_of<T>()));
    }
    double item() const;  // the only element, as double (DTypeError if none equals it); ShapeError unless one
    template <class T>
    T item() const = delete;  // write item(), a double whatever the type of the tensor
    // One element, as double; negative indices count from the end. IndexError if one is out of range, or
    // unless there is one for each axis; DTypeError if no double equals the element.
    double at(const Shape& index) const;
    // at(0, 1) is at({0, 1}).
    template <std::integral... Indices>
    double at(Indices... indices) const requires(sizeof...(Indices) > 1) {
        return at(listed(indices...));
    }
    // All elements in row-major order. DTypeError unless T is the tensor's type.
    template <class T>
    std::vector<T> to_vector() const {
        (void)data<T>();  // for its refusals
        const Tensor dense = detach().contiguous();
        return std::vector<T>(dense.data<T>(), dense.data<T>() + numel());
    }

    // The same values in another type, differentiable between float32 and float64; the tensor itself if it
    // has that type (under NoGrad, detached). bfloat16 and float16 take the nearest number, ties to even;
    // ValueError, with the position, for one that would become infinite, and GraphError for a tensor in the
    // graph, except under NoGrad. int64 drops the fraction; ValueError for NaN and what int64 does not hold.
    // bool is true for every number except 0.
    Tensor to(DType dtype) const;
    Tensor clone() const;  // a contiguous copy in storage of its own; differentiable

    // ---- views: they share storage, and only reshape and contiguous may copy. All are differentiable.
    //
    //     const Tensor x = arange(6).reshape({2, 3});  // [[0, 1, 2], [3, 4, 5]]
    //     const Tensor column = x.select(1, 0);        // (2,): [0, 3]
    //     const Tensor last_two = x.slice(1, 1, 3);    // (2, 2): [[1, 2], [4, 5]]
    //     const Tensor row = x[1].unsqueeze(0);        // (1, 3): [[3, 4, 5]]
    //     const Tensor same = x.T().reshape({2, -1});  // (2, 3), copied: [[0, 3, 1], [4, 2, 5]]

    // The same elements in row-major order with another shape; one size may be −1. Copies if strides cannot
    // express it. ShapeError unless the numbers of elements are equal.
    Tensor reshape(const Shape& shape) const;
    Tensor view(const Shape& shape) const;    // reshape without a copy, or ShapeError
    Tensor permute(const Shape& axes) const;  // y.size(i) = x.size(axes[i]); ShapeError unless a permutation
    Tensor transpose(int axis0, int axis1) const;  // exchanges two axes
    Tensor T() const;                              // (m, n) → (n, m); ShapeError unless rank 2
    Tensor squeeze(int axis) const;                // removes the axis; ShapeError unless its size is 1
    Tensor squeeze() const;                        // removes every axis of size 1
    Tensor unsqueeze(int axis) const;  // adds an axis of size 1 before `axis` (−1: after the last)
    // Stretches axes of size 1 and adds axes in front, with strides of 0; −1 keeps a size. ShapeError for any
    // other change. Where an axis is stretched the result cannot be written to.
    Tensor expand(const Shape& shape) const;
    // With the sizes or axes one by one: reshape(2, 3) is reshape({2, 3}).
    template <std::integral... Sizes>
    Tensor reshape(Sizes... sizes) const requires(sizeof...(Sizes) > 1) {
        return reshape(listed(sizes...));
    }
    // The same of view.
    template <std::integral... Sizes>
    Tensor view(Sizes... sizes) const requires(sizeof...(Sizes) > 1) {
        return view(listed(sizes...));
    }
    // The same of permute.
    template <std::integral... Sizes>
    Tensor permute(Sizes... axes) const requires(sizeof...(Sizes) > 1) {
        return permute(listed(axes...));
    }
    // The same of expand.
    template <std::integral... Sizes>
    Tensor expand(Sizes... sizes) const requires(sizeof...(Sizes) > 1) {
        return expand(listed(sizes...));
    }
    // Indices start, start + step, … before end of one axis, as Python's x[start:end:step]; ValueError unless
    // step ≥ 1.
    Tensor slice(int axis, std::int64_t start, std::int64_t end, std::int64_t step = 1) const;
    // The elements at one index of an axis; the axis is removed. Negative indices count from the end.
    // IndexError if out of range.
    Tensor select(int axis, std::int64_t index) const;
    Tensor operator[](std::int64_t index) const { return select(0, index); }  // select(0, index)
    // By a bool mask of the sizes of the first axes: the elements (or rows) where it is true, in order, copied.
    // By int64 indices (…): the rows at them, (…, the other axes), copied. ShapeError or IndexError if they do
    // not fit.
    //
    //     const Tensor positive = x[x > 0];  // (n,)
    Tensor operator[](const Tensor& index) const;
    // The tensor itself if it is contiguous (under NoGrad, detached), otherwise a row-major copy.
    Tensor contiguous() const;

    // An iterator over the tensors along the first axis.
    class Iterator {
    public:
        using iterator_category = std::input_iterator_tag;  // for std::vector<Tensor>(x.begin(), x.end())
        using value_type = Tensor;                          // likewise
        using difference_type = std::ptrdiff_t;             // likewise
        using pointer = const Tensor*;                      // likewise
        using reference = Tensor;                           // likewise
        Iterator(const Tensor* x, std::int64_t i) : x_(x), i_(i) {}              // at index i of x
        Tensor operator*() const { return x_->select(0, i_); }                   // a view
        Iterator& operator++() { return ++i_, *this; }                           // the next one
        Iterator operator++(int) { return {x_, i_++}; }                          // this one, and then the next
        bool operator==(const Iterator& other) const { return i_ == other.i_; }  // whether at the same index

    private:
        const Tensor* x_;
        std::int64_t i_;
    };
    // The tensors along the first axis, as views; ShapeError for a scalar.
    //
    //     for (const Tensor& row : x) total += row.sum().item();  // total == x.sum().item()
    Iterator begin() const;
    // One past the last.
    Iterator end() const;

    // ---- the common functions of weft/ops.h as methods: x.sum(1) is sum(x, 1)

    Tensor sum(const Axes& axes = {}, KeepDim keepdim = false) const;   // sum(x, axes, keepdim)
    Tensor mean(const Axes& axes = {}, KeepDim keepdim = false) const;  // mean(x, axes, keepdim)
    Tensor var(const Axes& axes = {}, KeepDim keepdim = false,
               int correction = 1) const;  // var(x, axes, keepdim, correction)
    Tensor std(const Axes& axes = {}, KeepDim keepdim = false,
               int correction = 1) const;  // std(x, axes, keepdim, correction)
    Tensor norm(double p = 2, const Axes& axes = {},
                KeepDim keepdim = false) const;                                    // norm(x, p, axes, keepdim)
    Tensor prod(int axis, KeepDim keepdim = false) const;                          // prod(x, axis, keepdim)
    Tensor prod() const;                                                           // prod(x)
    ValuesIndices max(int axis, KeepDim keepdim = false) const;                    // max(x, axis, keepdim)
    Tensor max() const;                                                            // max(x)
    ValuesIndices min(int axis, KeepDim keepdim = false) const;                    // min(x, axis, keepdim)
    Tensor min() const;                                                            // min(x)
    Tensor argmax(int axis, KeepDim keepdim = false) const;                        // argmax(x, axis, keepdim)
    Tensor argmax() const;                                                         // argmax(x)
    Tensor argmin(int axis, KeepDim keepdim = false) const;                        // argmin(x, axis, keepdim)
    Tensor argmin() const;                                                         // argmin(x)
    Tensor cumsum(int axis) const;                                                 // cumsum(x, axis)
    ValuesIndices sort(int axis = -1, bool descending = false) const;              // sort(x, axis, descending)
    ValuesIndices topk(std::int64_t k, int axis = -1, bool largest = true) const;  // topk(x, k, axis, largest)
    Tensor softmax(int axis) const;                                                // softmax(x, axis)
    Tensor log_softmax(int axis) const;                                            // log_softmax(x, axis)
    Tensor exp() const;                                                            // exp(x)
    Tensor log() const;                                                            // log(x)
    Tensor sqrt() const;                                                           // sqrt(x)
    Tensor abs() const;                                                            // abs(x)
    Tensor tanh() const;                                                           // tanh(x)
    Tensor sigmoid() const;                                                        // sigmoid(x)
    Tensor relu() const;                                                           // relu(x)
    Tensor pow(double p) const;                                                    // pow(x, p)
    Tensor clamp(std::optional<double> low, std::optional<double> high = {}) const;  // clamp(x, low, high)
    Tensor masked_fill(const Tensor& mask, double value) const;          // masked_fill(x, mask, value)
    Tensor matmul(const Tensor& other) const;                            // matmul(x, other)
    Tensor flatten(int first = 0, int last = -1) const;                  // flatten(x, first, last)
    Tensor gather(int axis, const Tensor& index) const;                  // gather(x, axis, index)
    std::vector<Tensor> split(std::int64_t size, int axis = 0) const;    // split(x, size, axis)
    std::vector<Tensor> chunk(std::int64_t chunks, int axis = 0) const;  // chunk(x, chunks, axis)
    // ---- in place: they change the values, increment version(), and are seen through every view. They are not
    // recorded: GraphError, except under NoGrad, if this tensor or the operand is in the graph, and always for
    // an expanded tensor, whose elements share memory. The operand has this tensor's type or one that it
    // promotes to it (see operator+), or DTypeError, and broadcasts to its shape (ShapeError); the type must
    // hold a plain number (int64: not 0.5, nor 2⁵³; float16: none beyond 65504). Of these, bfloat16 and float16
    // take fill_, zero_ and copy_.
    //
    //     const NoGrad off;
    //     w.add_(w.grad(), -0.1);  // a step of gradient descent
    Tensor& fill_(double value);                          // x ← value
    Tensor& zero_() { return fill_(0); }                  // x ← 0
    Tensor& add_(const Tensor& other, double alpha = 1);  // x ← x + alpha · other
    Tensor& mul_(const Tensor& other);                    // x ← x · other
    Tensor& mul_(double factor);                          // x ← x · factor
    Tensor& copy_(const Tensor& other);                   // x ← other
    // The same as operators: x += y is x.add_(y). For a result in the graph write x = x + y.
    Tensor& operator+=(const Tensor& other) { return add_(other); }
    Tensor& operator+=(double number);
    // x ← x − other
    Tensor& operator-=(const Tensor& other);
    Tensor& operator-=(double number);
    // x ← x · other
    Tensor& operator*=(const Tensor& other) { return mul_(other); }
    Tensor& operator*=(double number) { return mul_(number); }
    // x ← x / other
    Tensor& operator/=(const Tensor& other);
    Tensor& operator/=(double number);

    // Gives this leaf, in every copy of the handle, a contiguous copy of other's values, with other's shape and
    // type: a new leaf without a gradient, which requires one as before and keeps its hooks. GraphError unless
    // it is a leaf; DTypeError if a tensor that requires a gradient would become a type that takes none.
    Tensor& set_data(const Tensor& other);
    Tensor& bump_version();  // increments version(); call it after writing through data()

    // ---- the graph: leaves behave as in PyTorch
    bool requires_grad() const;  // whether it takes part in the graph
    // Adds a leaf to the graph or takes it out. DTypeError unless float32 or float64. For a non-leaf true
    // changes nothing and false is a GraphError, because its inputs require a gradient. A leaf that is taken
    // out and added again is the same leaf, with its hooks and its gradient; in between, grad() is undefined
    // and backward leaves no gradient.
    Tensor& requires_grad_(bool wanted = true);
    bool is_leaf() const;  // whether no recorded operation computed it
    Tensor grad() const;   // ∂(root)/∂(this), summed over the calls of backward; undefined before the first
    // Replaces the gradient with a copy of g, or clears it if g is undefined. ShapeError or DTypeError unless
    // g has this tensor's shape and type; GraphError outside the graph.
    void set_grad(const Tensor& g);
    void zero_grad();       // clears the gradient: it is undefined again
    void retain_grad();     // makes backward store a non-leaf's gradient too; GraphError outside the graph
    Tensor detach() const;  // the same values, storage and version, outside the graph

    // Takes a tensor's complete gradient; returns its replacement, or an undefined Tensor to leave it.
    using Hook = std::function<Tensor(const Tensor& gradient)>;
    // Backward calls `hook` once with the complete gradient. Returns a number for remove_hook. GraphError
    // outside the graph; backward throws ShapeError or DTypeError if a replacement differs in shape or type,
    // and GraphError if the hook changes the gradient in place, which may be another tensor's, too. A hook does
    // not act on a backward that it calls itself. It must not own its tensor, or neither is ever freed.
    //
    //     Tensor x = ones({2}).requires_grad_();
    //     const std::uint64_t number = x.register_hook([](const Tensor& dx) { return 10 * dx; });
    //     sum(x).backward();  // x.grad() is [10, 10]
    //     x.remove_hook(number);
    std::uint64_t register_hook(Hook hook);
    void remove_hook(std::uint64_t number);  // takes the number that register_hook returned

    // Adds ∂(Σ gradient · this)/∂x to x.grad() for every leaf x that this depends on. `gradient`, the *seed*,
    // has this tensor's shape and type, and is 1 if left out, which needs a single element. Saved tensors are
    // released on the way unless retain_graph is set. GraphError if the tensor is outside the graph, if
    // `gradient` is missing, if an earlier backward released the saved tensors, or if one was changed in
    // place. If anything throws, no gradient has changed, but saved tensors may have been released.
    //
    //     const Tensor x = tensor({1.0, 2, 3}).requires_grad_();
    //     const Tensor y = x * x;
    //     y.backward(tensor({1.0, 10, 100}));  // x.grad() is 2x · gradient = [2, 40, 600]
    void backward(const Tensor& gradient = {}, bool retain_graph = false) const;

    // ---- for the library
    // Wraps an existing impl.
    explicit Tensor(std::shared_ptr<TensorImpl> impl) : impl_(std::move(impl)) {}
    explicit Tensor(Array array);
    TensorImpl& impl() const;                                            // GraphError if undefined
    const std::shared_ptr<TensorImpl>& handle() const { return impl_; }  // null if undefined
    const Array& array() const;  // storage, shape and strides; GraphError if undefined

private:
    void* data(DType wanted) const;
    template <class... Sizes>
    static Shape listed(Sizes... sizes) {
        return {static_cast<std::int64_t>(sizes)...};
    }

    std::shared_ptr<TensorImpl> impl_;
};

// Writes x.str().
std::ostream& operator<<(std::ostream& out, const Tensor& x);

// Returns x, and tells observers its name, if it is defined.
//
//     const Tensor hidden = traced("hidden", relu(x));
inline const Tensor& traced(const char* name, const Tensor& x) {
    if (const int watching = Observer::watching(); watching > 0 && x.defined()) [[unlikely]]
        Observer::tell(watching, Observer::naming, [&](Observer& one) { one.names(name, x); });
    return x;
}
inline Tensor traced(const char* name, Tensor&& x) {
    traced(name, x);
    return std::move(x);
}

}  // namespace weft
