// Tensor: values, and a place in the graph. A Tensor is a handle: copies of it are the same tensor, as in
// PyTorch.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/core/shape.h"

namespace weft {

struct Array;       // storage, shape and strides of the values   (src/core/array/array.h)
struct TensorImpl;  // an Array and a place in the graph          (src/core/autograd/tensor_impl.h)
struct Node;        // a place in the graph                       (src/core/autograd/node.h)

// Values of one type, with a shape; and where they took part in it, a place in the graph. A statement that
// makes a tensor and drops it does nothing, and draws a warning.
class [[nodiscard]] Tensor {
public:
    Tensor() = default;  // undefined: every use but defined() is a GraphError
    // A copy is the same tensor.
    Tensor(const Tensor&) = default;
    Tensor(Tensor&&) noexcept = default;
    // From here on this handle is the other tensor. Only a variable can be assigned to: x[0] = y, which would
    // change a handle that is dropped at once and no value of x, does not compile. Write x[0].copy_(y).
    Tensor& operator=(const Tensor&) & = default;
    Tensor& operator=(Tensor&&) & noexcept = default;
    ~Tensor() = default;

    // ---- what it is
    bool defined() const { return impl_ != nullptr; }  // false for Tensor() alone
    const Shape& shape() const;                        // the sizes of its axes
    // Of one axis; negative axes count from the end; IndexError out of range.
    std::int64_t size(int axis) const;
    int rank() const { return shape().rank(); }             // the number of axes
    std::int64_t numel() const { return shape().numel(); }  // of elements: the product of the sizes
    DType dtype() const;                                    // the type of its elements
    const Strides& strides() const;                         // in elements
    bool is_contiguous() const;                             // row-major without gaps
    bool shares_storage(const Tensor& other) const;         // a view of the same memory
    std::uint64_t version() const;                          // of its storage; every in-place change adds one
    std::string str() const;                                // as NumPy's str() prints it

    // ---- values
    // The address of the first element. DTypeError when T is not the tensor's type. Elements lie at strides()
    // from it. Writing here is not seen by version(): prefer the in-place operations.
    template <class T>
    T* data() const;
    double item() const;  // the only element, as double; ShapeError when there is not exactly one
    // One element, as double; IndexError out of range; a negative index wraps once.
    double at(const Shape& index) const;
    // All elements in row-major order; DTypeError when T is not the tensor's type.
    template <class T>
    std::vector<T> to_vector() const;

    // The same values in another type; differentiable between float32 and float64. To int64 the fraction is cut
    // off, and ValueError, naming the position, refuses NaN and what lies outside −2⁶³ … 2⁶³ − 1; to bool,
    // non-zero is true. The tensor itself when it has that type already (under NoGrad, outside the graph).
    Tensor to(DType dtype) const;
    Tensor clone() const;  // a contiguous copy of its own storage; differentiable

    // ---- views: they share storage. None of them copies, but for reshape and contiguous where they must.

    // Same numel, one size may be −1; shares storage where strides allow, else copies.
    Tensor reshape(const Shape& shape) const;
    Tensor view(const Shape& shape) const;    // as reshape, but ShapeError where it would have to copy
    Tensor permute(const Shape& axes) const;  // y.size(i) = x.size(axes[i]); ShapeError unless a permutation
    Tensor transpose(int axis0, int axis1) const;  // axes axis0 and axis1 exchanged
    Tensor T() const;                              // (m, n) → (n, m); ShapeError unless rank 2
    Tensor squeeze(int axis) const;                // without that axis; ShapeError unless its size is 1
    Tensor squeeze() const;                        // without every axis of size 1
    Tensor unsqueeze(int axis) const;  // with an axis of size 1 before `axis` (−1: after the last)
    // Broadcast to `shape` by strides of 0; −1 keeps a size. Not for writing.
    Tensor expand(const Shape& shape) const;
    // [start, end) as Python's; step ≥ 1.
    Tensor slice(int axis, std::int64_t start, std::int64_t end, std::int64_t step = 1) const;
    // One index of an axis, which goes; IndexError out of range.
    Tensor select(int axis, std::int64_t index) const;
    Tensor operator[](std::int64_t index) const { return select(0, index); }  // select(0, index)
    // Itself where it is contiguous (under NoGrad, outside the graph), else a row-major copy.
    Tensor contiguous() const;

    // ---- in place: they change the values, add one to version(), and are seen by every view. They are for
    // values, not for the graph: where this tensor or an operand takes part in the graph, GraphError outside
    // NoGrad. The operand broadcasts to this tensor's shape (ShapeError when the result would be larger) and
    // has its type (DTypeError). A plain number must be one that the tensor's type holds: DTypeError for 0.5
    // beside int64. GraphError also on an expanded tensor, whose elements share memory.
    Tensor& fill_(double value);                          // x ← value
    Tensor& zero_() { return fill_(0); }                  // x ← 0
    Tensor& add_(const Tensor& other, double alpha = 1);  // x ← x + alpha · other
    Tensor& mul_(const Tensor& other);                    // x ← x · other
    Tensor& mul_(double factor);                          // x ← x · factor
    Tensor& copy_(const Tensor& other);                   // x ← other

    // From here on this handle, and every copy of it, is other's values (a contiguous copy of its own), shape
    // and type, as a leaf that requires a gradient as before and keeps its hooks; its gradient is cleared. What
    // modules use to change type. GraphError on a non-leaf; DTypeError where a tensor that requires a gradient
    // would become int64 or bool. Nothing has changed when it throws.
    Tensor& set_data(const Tensor& other);
    void bump_version();  // after values were written through data(): adds one to version()

    // ---- the graph (rules of leaves as in PyTorch)
    bool requires_grad() const;  // takes part in the graph
    // Makes a leaf take part in the graph, or not. DTypeError for int64 and bool. A non-leaf requires a
    // gradient because its inputs do: true changes nothing there, false is a GraphError. A leaf that is taken
    // out and brought back is the same leaf: its hooks, its gradient, and what was computed from it before
    // still belong to it. While it is out it has no gradient, and backward leaves none.
    Tensor& requires_grad_(bool wanted = true);
    bool is_leaf() const;  // not made by a recorded operation
    Tensor grad() const;  // ∂(backward's root)/∂(this), summed over backwards; undefined when there is none
    // The gradient is a copy of g; an undefined g clears it. ShapeError or DTypeError unless g is like this
    // tensor.
    void set_grad(const Tensor& g);
    void zero_grad();       // the gradient is undefined again
    void retain_grad();     // also a non-leaf keeps its gradient
    Tensor detach() const;  // the same values, outside the graph (shares storage and version)

    // From the whole gradient of a tensor to one in its place.
    using Hook = std::function<Tensor(const Tensor& gradient)>;
    // `hook` sees the whole gradient of this tensor during backward, once, and returns one in its place (same
    // shape), or an undefined Tensor to leave it. Returns a number for remove_hook. A hook must not own its own
    // tensor.
    std::uint64_t register_hook(Hook hook);
    void remove_hook(std::uint64_t number);  // by register_hook's number

    // Adds ∂(gradient · this)/∂x to x.grad() for every leaf x this depends on. `gradient` has this tensor's
    // shape, and may be left out (1) for a single element. Saved values are released on the way unless
    // retain_graph; GraphError on a graph that was released before, on a tensor outside the graph, or without a
    // seed where there is more than one element. If anything throws, no gradient has changed.
    void backward(const Tensor& gradient = {}, bool retain_graph = false) const;

    // ---- for the library
    // Around what others made.
    explicit Tensor(std::shared_ptr<TensorImpl> impl) : impl_(std::move(impl)) {}
    explicit Tensor(Array array);
    TensorImpl& impl() const;                                            // GraphError when undefined
    const std::shared_ptr<TensorImpl>& handle() const { return impl_; }  // null when undefined
    const Array& array() const;  // storage, shape and strides; GraphError when undefined

private:
    std::shared_ptr<TensorImpl> impl_;
};

// Writes x.str().
std::ostream& operator<<(std::ostream& out, const Tensor& x);

// ---- creation. Sizes must be ≥ 0 (0 is valid); ValueError when negative or when their product overflows.
// int64 and bool take only numbers that they hold exactly: DTypeError for full({2}, 0.5, int64).
Tensor zeros(const Shape& shape, DType dtype = float32);               // every element 0
Tensor ones(const Shape& shape, DType dtype = float32);                // every element 1
Tensor full(const Shape& shape, double value, DType dtype = float32);  // every element `value`
Tensor empty(const Shape& shape, DType dtype = float32);               // values not set
Tensor zeros_like(const Tensor& x);                                    // 0, of x's shape and type
Tensor ones_like(const Tensor& x);                                     // 1, of x's shape and type
Tensor eye(std::int64_t n, DType dtype = float32);                     // (n, n), ones on the diagonal
// (⌈(end − start) / step⌉,): start, start + step, … before end; ValueError when step is 0, points away from
// end, or is so small that the steps cannot be counted.
Tensor arange(double start, double end, double step = 1, DType dtype = float32);
Tensor arange(std::int64_t end);                                    // int64: 0 … end − 1
Tensor randn(const Shape& shape, Rng& rng, DType dtype = float32);  // normal, mean 0, deviation 1
Tensor rand(const Shape& shape, Rng& rng, DType dtype = float32);   // uniform in [0, 1)
Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, Rng& rng);  // int64, low ≤ i < high

// What `tensor` takes: a number, or braces around such.
struct Nested {
    double value = 0;           // of a number
    std::vector<Nested> items;  // of a list
    bool is_list = false;       // which of the two
    // A number, or a list in braces.
    Nested(double v) : value(v) {}
    Nested(std::initializer_list<Nested> list) : items(list), is_list(true) {}
};
// Nested braces: tensor({{1, 2}, {3, 4}}) is (2, 2). ShapeError when the rows are ragged.
Tensor tensor(const Nested& values, DType dtype = float32);

// The values in row-major order. ShapeError when their number is not the shape's.
Tensor from_vector(const std::vector<float>& values, const Shape& shape);
Tensor from_vector(const std::vector<double>& values, const Shape& shape);
Tensor from_vector(const std::vector<std::int64_t>& values, const Shape& shape);
Tensor from_vector(const std::vector<bool>& values, const Shape& shape);

// ---- threads: one OpenMP team of ours. The same bits at any number.
void set_num_threads(int n);  // ValueError unless 1 ≤ n ≤ 1024
int get_num_threads();        // how many there are

}  // namespace weft
