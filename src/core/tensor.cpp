// A tensor's properties, its changes in place, and what it is as a leaf. A change in place is never recorded:
// it raises the version of the storage, which all views share, and backward compares versions. So a view need
// not know what it is a view of, as PyTorch's does.
#include "weft/core/tensor.h"

#include <algorithm>
#include <cstddef>
#include <ostream>

#include "core/node.h"
#include "weft/core/record.h"

namespace weft {

// tools/gdb/weft_gdb.py reads these, and the first member of Storage, where the library has no debug
// information.
static_assert(sizeof(void*) != 8 || (sizeof(Shape) == 72 && offsetof(Array, shape) == 16 &&
                                     offsetof(Array, strides) == 88 && offsetof(Array, offset) == 160 &&
                                     offsetof(Array, dtype) == 168 && offsetof(TensorImpl, node) == 176));

void check_in_place(const char* operation, const Tensor& x, const Tensor* other) {
    Lent::check(operation, x);
    if ((is_grad_enabled() && (x.requires_grad() || (other && other->requires_grad()))) || has_tangent(x) ||
        (other && has_tangent(*other)))
        throw GraphError(
            operation, ": in-place operations are not recorded, so they do not take ",
            (x.requires_grad()     ? (x.is_leaf() ? "a leaf that requires a gradient" : "a tensor in the graph")
             : has_tangent(x)      ? "a tensor that a jvp differentiates"
             : has_tangent(*other) ? "an operand that a jvp differentiates"
                                   : "an operand in the graph"),
            ", of shape ", (x.requires_grad() || has_tangent(x) ? x : *other).shape(),
            "; call it under NoGrad, or compute a new tensor, as in x = x + y");
    if (x.array().overlaps_itself())
        throw GraphError(operation, ": elements of an expanded tensor of shape ", x.shape(),
                         " share memory; clone() it first");
    if (!other) return;
    if (!promotes(other->dtype(), x.dtype()))
        throw DTypeError(operation, ": a tensor of ", name(x.dtype()), " does not take ", name(other->dtype()),
                         "; convert the operand with to(", name(x.dtype()), ")");
    if (broadcast_shapes(x.shape(), other->shape(), operation) != x.shape())
        throw ShapeError(operation, ": ", other->shape(), " does not broadcast to ", x.shape(),
                         ", the shape of the tensor that holds the result; compute a new tensor");
}

bool promotes(DType from, DType to) {
    if (from == to || is_quantized(from) || is_quantized(to)) return from == to;
    return from == boolean || (from == int64 && is_floating_point(to)) ||
           (only_stores(from) && takes_gradient(to));
}

void throw_unmixable(const char* operation, const Tensor& a, const Tensor& b) {
    if (only_stores(a.dtype()) && only_stores(b.dtype()))
        throw DTypeError(operation, ": ", name(a.dtype()), " and ", name(b.dtype()),
                         " do not mix; convert both with to(float32)");
    const bool one_number =
        (a.rank() == 0) != (b.rank() == 0) && takes_gradient(a.dtype()) && takes_gradient(b.dtype());
    const bool keeps_a = is_quantized(b.dtype()) ||
                         (one_number ? b.rank() == 0 : b.dtype() == float64 || promotes(b.dtype(), a.dtype()));
    const Tensor &kept = keeps_a ? a : b, &other = keeps_a ? b : a;
    throw DTypeError(operation, ": ", name(a.dtype()), " and ", name(b.dtype()), " do not mix; convert the ",
                     name(other.dtype()), " one, of shape ", other.shape(), ", with to(", name(kept.dtype()),
                     ")");
}

Tensor promoted(const char* operation, const Tensor& x, DType to) {
    if (x.dtype() == to) return x;
    const Tensor y = x.to(to), from = x.contiguous();
    if (x.dtype() == int64)
        visit_any(to, [&]<class T>(T) {
            for (std::int64_t i = 0; i < x.numel(); ++i) {
                const std::int64_t n = from.data<std::int64_t>()[i];
                const auto rounded = static_cast<double>(y.data<T>()[i]);  // exactly, for T is no wider
                if (!(rounded < 0x1p63) || static_cast<std::int64_t>(rounded) != n)
                    throw DTypeError(operation, ": ", name(to), " does not hold the int64 ", n,
                                     "; convert it with to(), which rounds, or use float64");
            }
        });
    return y;
}

namespace {

// `other` in x's type, expanded to its shape; copied if it shares x's memory in another layout, or may: foreign
// storages can overlap.
Array operand(const char* operation, const Tensor& x, const Tensor& other) {
    const Array& target = x.array();
    Array o = promoted(operation, other, x.dtype()).array();
    if ((o.storage == target.storage || o.storage->is_foreign() || target.storage->is_foreign()) &&
        !(o.storage->data == target.storage->data && o.offset == target.offset && o.strides == target.strides &&
          o.shape == target.shape))
        o = copy_of(o);
    return broadcast_view(o, x.shape());
}

// The element at `offset` from x's first, which must be a double.
double element(const char* operation, const Array& x, std::int64_t offset) {
    return visit_any(x.dtype, [&]<class T>(T) {
        const T found = x.data<T>()[offset];
        const auto value = static_cast<double>(found);
        if constexpr (std::is_same_v<T, std::int64_t>)
            if (value == 0x1p63 || static_cast<T>(value) != found)
                throw DTypeError(
                    operation, ": the element ", found,
                    " is not a double; read it with data<std::int64_t>() or to_vector<std::int64_t>()");
        return value;
    });
}

// The node of x, which `operation` writes to; GraphError if x is outside the graph.
Node& node_of(const char* operation, const Tensor& x) {
    if (!x.impl().node)
        throw GraphError(operation,
                         ": this tensor does not require a gradient, so none reaches it; call requires_grad_() "
                         "on it, or on the leaves before computing it");
    return *x.impl().node;
}

}  // namespace

Tensor::Tensor(Array array) : impl_(std::make_shared<TensorImpl>(TensorImpl{std::move(array), nullptr})) {}

TensorImpl& Tensor::impl() const {
    if (!impl_)
        throw GraphError(
            "tensor: this tensor is undefined: it was never assigned, was moved from, or is the grad() of a "
            "tensor that no backward has reached; assign one to it, or call backward() first");
    return *impl_;
}
const Array& Tensor::array() const { return impl().array; }
const Shape& Tensor::shape() const { return impl().array.shape; }
std::int64_t Tensor::size(int axis) const { return shape()[normalize_axis(axis, rank(), "size")]; }
DType Tensor::dtype() const { return impl().array.dtype; }
const Strides& Tensor::strides() const { return impl().array.strides; }
bool Tensor::is_contiguous() const { return impl().array.is_contiguous(); }
bool Tensor::shares_storage(const Tensor& other) const { return array().storage == other.array().storage; }
std::uint64_t Tensor::version() const { return array().storage->version; }
std::string Tensor::str() const {
    return is_quantized(dtype()) ? "blocks of " + std::string(name(dtype())) : format(array());
}
std::string Tensor::repr() const {
    if (!defined()) return "Tensor()";
    std::string values = str();
    for (std::size_t at = 0; (at = values.find('\n', at)) != std::string::npos; ++at)
        values.insert(at + 1, 7, ' ');
    return "tensor(" + values + ", shape=" + shape().str() + ", dtype=" + name(dtype()) +
           (requires_grad() ? ", requires_grad=true)" : ")");
}
std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << x.str(); }

void* Tensor::data(DType wanted) const {
    if (dtype() != wanted)
        throw DTypeError("data: the tensor is ", name(dtype()), ", not ", name(wanted),
                         "; convert it with to()");
    check_may_read("data", *this);
    return bytes_at(array());
}

double Tensor::item() const {
    if (numel() != 1)
        throw ShapeError("item: a tensor of shape ", shape(), " has ", numel(),
                         " elements, not one; use at({i, j}) or to_vector()");
    check_may_read("item", *this);
    return element("item", array(), 0);
}

double Tensor::at(const Shape& index) const {
    if (index.rank() != rank())
        throw IndexError("at: ", index.rank(), " indices for shape ", shape(), "; give one for each axis");
    std::int64_t offset = 0;
    for (int axis = 0; axis < rank(); ++axis) {
        const std::int64_t n = shape()[axis], i = index[axis] < 0 ? index[axis] + n : index[axis];
        if (i < 0 || i >= n)
            throw IndexError("at: index ", index[axis], " is out of range for axis ", axis, " of shape ",
                             shape());
        offset += i * strides()[axis];
    }
    check_may_read("at", *this);
    return element("at", array(), offset);
}

Tensor& Tensor::fill_(double value) {
    check_in_place("fill_", *this);
    check_representable("fill_", value, dtype());
    kernels::fill(array(), value);
    return bump_version();
}

Tensor& Tensor::add_(const Tensor& other, double alpha) {
    check_in_place("add_", *this, &other);
    if (dtype() == boolean) throw DTypeError("add_: bool tensors do not add; convert them with to()");
    check_computes("add_", dtype());
    check_representable("add_", alpha, dtype());
    kernels::axpy(array(), alpha, operand("add_", *this, other));
    return bump_version();
}

Tensor& Tensor::mul_(const Tensor& other) {
    check_in_place("mul_", *this, &other);
    if (dtype() == boolean) throw DTypeError("mul_: bool tensors do not multiply; use &&");
    check_computes("mul_", dtype());
    kernels::multiply(array(), array(), operand("mul_", *this, other));
    return bump_version();
}

Tensor& Tensor::mul_(double factor) {
    check_in_place("mul_", *this);
    if (dtype() == boolean) throw DTypeError("mul_: bool tensors do not multiply; use &&");
    check_computes("mul_", dtype());
    check_representable("mul_", factor, dtype());
    kernels::scale(array(), array(), factor);
    return bump_version();
}

Tensor& Tensor::copy_(const Tensor& other) {
    check_in_place("copy_", *this, &other);
    kernels::copy(array(), operand("copy_", *this, other));
    return bump_version();
}

Tensor& Tensor::set_data(const Tensor& other) {
    if (!is_leaf())
        throw GraphError("set_data: a tensor made by ", impl().node->operation,
                         " cannot take new values; only a leaf can");
    if (requires_grad() && !takes_gradient(other.dtype()))
        throw DTypeError("set_data: a tensor that requires a gradient cannot become ", name(other.dtype()),
                         "; only float32 and float64 take one");
    Lent::check("set_data", *this);
    Array values = copy_of(other.array());
    const auto renewed = [&](const std::shared_ptr<Node>& before) {
        if (!before) return before;
        auto node = Node::make("leaf", values);
        node->hooks = before->hooks;
        node->next_hook = before->next_hook;
        node->owner = before->owner;
        node->retains_gradient = before->retains_gradient;
        return node;
    };
    auto node = renewed(impl().node);
    auto disabled_node = takes_gradient(other.dtype()) ? renewed(impl().disabled_node) : nullptr;
    impl().node = std::move(node);  // nothing throws from here on
    impl().disabled_node = std::move(disabled_node);
    impl().array = std::move(values);
    impl().tangents.clear();
    return *this;
}

Tensor& Tensor::bump_version() {
    ++array().storage->version;
    return *this;
}

bool Tensor::requires_grad() const { return impl().node != nullptr; }
bool Tensor::is_leaf() const { return !impl().node || impl().node->is_leaf; }

Tensor& Tensor::requires_grad_(bool wanted) {
    if (!is_leaf()) {
        if (wanted) return *this;
        throw GraphError("requires_grad_: a tensor made by ", impl().node->operation,
                         " requires a gradient because its inputs do; use detach() for one outside the graph");
    }
    if (wanted && is_quantized(dtype()))
        throw DTypeError("requires_grad_: a weight in blocks of ", name(dtype()),
                         " takes no gradient; train an adapter beside it (LoRA, docs/training.md), or make it "
                         "float32 again: to(float32) of its module");
    if (wanted && !takes_gradient(dtype()))
        throw DTypeError("requires_grad_: only float32 and float64 take a gradient, not ", name(dtype()),
                         "; write 1.0 for 1, or convert it with to()");
    if (wanted == requires_grad()) return *this;
    if (wanted && !impl().disabled_node)
        impl().node = Node::make("leaf", array());
    else
        std::swap(impl().node, impl().disabled_node);
    (wanted ? impl().node : impl().disabled_node)->retains_gradient = wanted;
    return *this;
}

Tensor Tensor::grad() const { return impl().node ? impl().node->gradient : Tensor(); }

void Tensor::set_grad(const Tensor& g) {
    Node& node = node_of("set_grad", *this);
    if (g.defined()) check_gradient(g, node, "set_grad: the gradient");
    node.gradient = g.defined() ? g.detach().clone() : g;
}

void Tensor::zero_grad() {
    for (Node* node : {impl().node.get(), impl().disabled_node.get()})
        if (node) node->gradient = Tensor();
}

void Tensor::retain_grad() { node_of("retain_grad", *this).retains_gradient = true; }

Tensor Tensor::detach() const { return Tensor(array()); }

std::uint64_t Tensor::register_hook(Hook hook) {
    Node& node = node_of("register_hook", *this);
    const std::uint64_t number = node.next_hook++;
    node.hooks.emplace_back(number, std::move(hook));
    return number;
}

void Tensor::remove_hook(std::uint64_t number) {
    for (Node* node : {impl().node.get(), impl().disabled_node.get()})
        if (node) std::erase_if(node->hooks, [&](const auto& hook) { return hook.first == number; });
}

}  // namespace weft
