// Derivatives of functions by forward mode (src/core/forward.cpp) and by backward.
#include "weft/derive/functional.h"

#include <algorithm>

#include "core/common.h"
#include "weft/core/record.h"
#include "weft/ops/shapes.h"
#include "weft/packed/packed.h"

namespace weft {

namespace {

using List = std::vector<Tensor>;

void check_floating_list(const char* caller, const char* what, const List& list) {
    if (list.empty()) throw ValueError(caller, ": no ", what, "s; a derivative needs at least one");
    for (std::size_t i = 0; i < list.size(); ++i)
        if (!takes_gradient(list[i].dtype()))
            throw DTypeError(
                caller, ": ", what, " ", i, " is ", name(list[i].dtype()),
                ", which has no derivative; leave it out (f may hold it), or convert it with to()");
}

// v has a tensor, or an undefined one, for each tensor of the list.
void check_direction(const char* caller, const char* what, const List& list, const List& v) {
    if (v.size() != list.size())
        throw ValueError(caller, ": ", v.size(), " tensors v for ", list.size(), " ", what,
                         "s; give one for each");
    for (std::size_t i = 0; i < v.size(); ++i) {
        if (!v[i].defined()) continue;
        if (v[i].shape() != list[i].shape())
            throw ShapeError(caller, ": v has shape ", v[i].shape(), " for ", what, " ", i, " of ",
                             list[i].shape(), "; it must have the same");
        const Op op(caller, Op::of_others);
        check_same_dtype(list[i], v[i]);
    }
}

// Each input as a variable of its own.
List variables(const List& inputs, bool create_graph) {
    List own;
    for (const Tensor& x : inputs)
        own.push_back(variable_of(x.array(), create_graph ? x.impl().node : nullptr, x.impl().tangents));
    return own;
}

List results(List list, bool create_graph) {
    if (!create_graph) std::ranges::transform(list, list.begin(), without_node);
    return list;
}

List evaluated(const char* caller, const TensorFunction& f, const List& inputs) {
    List outputs = f(inputs);
    check_floating_list(caller, "output", outputs);
    return outputs;
}

// Gradients for the inputs, 0 where no output depends on one.
List gradients(const List& outputs, const List& inputs, const List& v, bool create_graph, bool retain = false) {
    List in_graph, seeds;
    for (std::size_t k = 0; k < outputs.size(); ++k)
        if (outputs[k].requires_grad() && v[k].defined()) in_graph.push_back(outputs[k]), seeds.push_back(v[k]);
    List found = grad(in_graph, inputs, seeds,
                      {.create_graph = create_graph, .retain_graph = retain, .allow_unused = true});
    for (std::size_t i = 0; i < found.size(); ++i)
        if (!found[i].defined()) found[i] = zeros_like(inputs[i]);
    return found;
}

// The j-th unit tensor of x's shape.
Tensor unit(const Tensor& x, std::int64_t j) {
    const Tensor e = zeros({x.numel()}, x.dtype());
    e[j].fill_(1);
    return e.reshape(x.shape());
}

// The rows or columns of ∂y/∂x as one tensor of y's shape and x's.
Tensor assembled(const List& parts, int axis, const Tensor& y, const Tensor& x) {
    Shape shape = y.shape();
    for (const std::int64_t size : x.shape()) shape.push_back(size);
    return parts.empty() ? zeros(shape, y.dtype()) : stack(parts, axis).reshape(shape);
}

// The gradient of f as a function, whose results are followed by the value if `with_value`.
TensorFunction gradient_of(const char* caller, const TensorFunction& f, bool create_graph, bool with_value) {
    return [=](const List& inputs) {
        const EnableGrad on;
        const List own = variables(inputs, true), y = evaluated(caller, f, own);
        if (y.size() != 1 || y[0].numel() != 1)
            throw ShapeError(caller, ": a Hessian is of one number, but f returns a tensor of shape ",
                             y[0].shape(), (y.size() > 1 ? " and others" : ""), "; reduce it (sum, mean)");
        List g = gradients(y, own, {ones_like(y[0])}, create_graph);
        if (with_value) g.push_back(y[0]);
        return g;
    };
}

const Tensor& only_output(const char* caller, const List& outputs) {
    if (outputs.size() != 1)
        throw ValueError(caller, ": f returns ", outputs.size(),
                         " tensors; pass its input as a list, std::vector<Tensor>{x}, and get lists");
    return outputs[0];
}

}  // namespace

List TensorFunction::operator()(const List& inputs) const {
    const Lent lent("the function to differentiate", inputs);
    return call_(inputs);
}

const Tensor& TensorFunction::only(const List& inputs) {
    if (inputs.size() != 1)
        throw ValueError("TensorFunction: f takes one tensor, not ", inputs.size(),
                         "; let it take const std::vector<Tensor>&");
    return inputs[0];
}

std::pair<List, List> jvp(const TensorFunction& f, const List& inputs, const List& v, bool create_graph) {
    check_floating_list("jvp", "input", inputs);
    check_direction("jvp", "input", inputs, v);
    JvpRun run(create_graph);
    List own, products;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const bool in_graph = create_graph && inputs[i].requires_grad();
        own.push_back(in_graph ? variables({inputs[i]}, true)[0] : without_node(inputs[i]));
        if (v[i].defined()) own[i].impl().tangents.push_back({run.number, v[i], own[i].version()});
    }
    List outputs = evaluated("jvp", f, own);
    for (Tensor& y : outputs) {
        const Tensor product = tangent_of("jvp", y, run.number);
        products.push_back(product.defined() ? product : zeros_like(y));
        TensorImpl value = y.impl();
        std::erase_if(value.tangents, [&](const Tangent& t) { return t.jvp == run.number; });
        y = Tensor(std::make_shared<TensorImpl>(std::move(value)));
    }
    return {results(outputs, create_graph), results(products, create_graph)};
}

std::pair<List, List> vjp(const TensorFunction& f, const List& inputs, const List& v, bool create_graph) {
    check_floating_list("vjp", "input", inputs);
    const EnableGrad on;
    const List own = variables(inputs, create_graph), outputs = evaluated("vjp", f, own);
    List seeds = v;
    if (v.empty()) {
        for (const Tensor& y : outputs) {
            if (y.numel() != 1)
                throw ShapeError("vjp: an output has shape ", y.shape(),
                                 "; pass a v of its shape, or reduce it (sum, mean)");
            seeds.push_back(ones_like(y));
        }
    }
    check_direction("vjp", "output", outputs, seeds);
    const List products = gradients(outputs, own, seeds, create_graph);
    return {results(outputs, create_graph), results(products, create_graph)};
}

std::vector<List> jacobian(const TensorFunction& f, const List& inputs, const JacobianOptions& options) {
    check_floating_list("jacobian", "input", inputs);
    const auto [create_graph, strategy] = options;
    const bool by_rows = strategy == Strategy::reverse_mode;
    const Rng::State before = default_rng().state();
    const EnableGrad on;
    const List own = by_rows ? variables(inputs, create_graph) : inputs, y = evaluated("jacobian", f, own);
    std::vector<List> J(y.size());
    std::vector<std::vector<List>> parts(y.size(),
                                         std::vector<List>(inputs.size()));  // of output k and input i
    for (std::size_t k = 0; by_rows && k < y.size(); ++k)
        for (std::int64_t j = 0; j < y[k].numel(); ++j) {
            const List row = gradients({y[k]}, own, {unit(y[k], j)}, create_graph, true);
            for (std::size_t i = 0; i < inputs.size(); ++i) parts[k][i].push_back(row[i]);
        }
    List first;  // the values of the first column
    for (std::size_t i = 0; !by_rows && i < inputs.size(); ++i)
        for (std::int64_t j = 0; j < inputs[i].numel(); ++j) {
            List v(inputs.size());
            v[i] = unit(inputs[i], j);
            default_rng().set_state(before);
            const auto [values, column] = jvp(f, inputs, v, create_graph);
            if (first.empty()) first = values;
            if (!std::ranges::equal(values, first, same_bits))
                throw GraphError(
                    "jacobian: f computed other values in another column; let it draw from default_rng(), "
                    "whose state each column restores, or use Strategy::reverse_mode, which calls f once");
            for (std::size_t k = 0; k < y.size(); ++k) parts[k][i].push_back(column[k]);
        }
    for (std::size_t k = 0; k < y.size(); ++k) {
        for (std::size_t i = 0; i < inputs.size(); ++i)
            J[k].push_back(assembled(parts[k][i], by_rows ? 0 : -1, y[k], inputs[i]));
        J[k] = results(J[k], create_graph);
    }
    return J;
}

std::vector<List> hessian(const TensorFunction& f, const List& inputs, bool create_graph) {
    return jacobian(gradient_of("hessian", f, true, false), inputs, {.create_graph = create_graph});
}

std::pair<Tensor, List> hvp(const TensorFunction& f, const List& inputs, const List& v, bool create_graph) {
    check_floating_list("hvp", "input", inputs);
    check_direction("hvp", "input", inputs, v);
    auto [g, products] = jvp(gradient_of("hvp", f, create_graph, true), inputs, v, create_graph);
    products.pop_back();  // the value's
    return {g.back(), products};
}

std::pair<Tensor, Tensor> jvp(const TensorFunction& f, const Tensor& x, const Tensor& v, bool create_graph) {
    const auto [y, products] = jvp(f, List{x}, List{v}, create_graph);
    return {only_output("jvp", y), products[0]};
}
std::pair<Tensor, Tensor> vjp(const TensorFunction& f, const Tensor& x, const Tensor& v, bool create_graph) {
    const auto [y, products] = vjp(f, List{x}, v.defined() ? List{v} : List{}, create_graph);
    return {only_output("vjp", y), products[0]};
}
Tensor jacobian(const TensorFunction& f, const Tensor& x, const JacobianOptions& options) {
    List of_x;
    for (const List& J : jacobian(f, List{x}, options)) of_x.push_back(J[0]);
    return only_output("jacobian", of_x);
}
Tensor hessian(const TensorFunction& f, const Tensor& x, bool create_graph) {
    return hessian(f, List{x}, create_graph)[0][0];
}
std::pair<Tensor, Tensor> hvp(const TensorFunction& f, const Tensor& x, const Tensor& v, bool create_graph) {
    const auto [y, products] = hvp(f, List{x}, List{v}, create_graph);
    return {y, products[0]};
}

bool jvp_mode() { return is_forward_mode(); }

}  // namespace weft
