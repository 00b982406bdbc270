// Derivatives of functions by forward mode and by backward.
#include "weft/derive/functional.h"

#include <algorithm>

#include "core/common.h"
#include "weft/core/record.h"
#include "weft/ops/shapes.h"
#include "weft/packed/packed.h"

namespace weft {

namespace {

// Forward mode: while a jvp runs, a tensor that depends on its inputs carries a tangent, its derivative in the
// direction v (a dual number is the two of them), and record tells it of every result. No operation
// needs a rule for this: the gradient rule of y = f(x) maps dy to dx = Jᵀ dy, so it is linear in dy, and the
// tangent of y is J ẋ, the transpose of this map. A rule is made of operations that have rules, so backward
// through it gives the transpose: J ẋ is the gradient of ẋ · (Jᵀ u) with respect to u, whatever u is. Nothing
// of it outlives the operation, so memory does not grow with the depth of the computation. (J. Townsend, "A new
// trick for calculating Jacobian vector products", 2017, transposes the whole graph in this way.)

// A jvp while it runs on this thread. They nest, and each has tangents of its own. To those without
// create_graph, a node made before them is a constant: their operations record nothing of the parameters
// outside, so nothing is retained, but a gradient inside may record leaves of its own.
struct JvpRun final : ForwardMode {
    explicit JvpRun(bool create_graph);
    ~JvpRun();
    // Gives y, the result of an operation, its tangents in every running jvp, from those of the inputs.
    void computed(const char* operation, const Tensor& y, const std::vector<Tensor>& inputs,
                  const std::vector<Tensor>& saved, const Vjp& vjp, const Jvp& own_rule) override;
    const std::uint64_t number;
    const bool create_graph;
    JvpRun* const outer;
    // With create_graph, a tangent of a node's output leads back to this node, which owns it if it saved the
    // output. The end of the jvp unties these knots.
    std::vector<std::weak_ptr<Node>> knots;

private:
    JvpRun(bool create_graph, std::uint64_t number);
    const Scoped<ForwardMode*> here_;
    const GradMode mode_;
    const Plain textbook_{Plain::operations};  // kernels have no tangents
};

JvpRun::JvpRun(bool create_graph) : JvpRun(create_graph, next_number()) {}

JvpRun::JvpRun(bool create_graph, std::uint64_t number)
    : ForwardMode(create_graph ? weft::constants_below() : number),
      number(number),
      create_graph(create_graph),
      outer(static_cast<JvpRun*>(forward_mode)),
      here_(forward_mode, this),
      mode_(true) {}

JvpRun::~JvpRun() {
    for (const auto& knot : knots)
        if (const auto node = knot.lock())
            for (SavedTensor& saved : node->saved)
                std::erase_if(saved.tangents, [&](const Tangent& t) { return t.jvp == number; });
}

// x's derivative in that jvp, undefined if it has none; GraphError if x was changed in place since it was made.
Tensor tangent_of(const char* operation, const Tensor& x, std::uint64_t jvp) {
    const auto found = std::ranges::find(x.impl().tangents, jvp, &Tangent::jvp);
    if (found == x.impl().tangents.end()) return {};
    if (found->version != x.version())
        throw GraphError(operation, ": a tensor of shape ", x.shape(),
                         " that a jvp differentiates was changed in place (version ", x.version(),
                         ", its derivative is that of version ", found->version,
                         "); change a clone() of it, or compute a new tensor");
    return found->value;
}

struct Push {
    const char* const operation;
    const Tensor& y;
    const std::vector<Tensor>& inputs;
    const std::vector<Tensor>& saved;
    const Vjp& vjp;
    const Jvp& own_rule;

    // The tangents of the outer jvps come first, because those of the inner ones are computed from tensors that
    // have them: a derivative of a derivative is the tangent of a tangent.
    void in(JvpRun* run) const {
        if (run == nullptr) return;
        in(run->outer);
        std::vector<Tensor> dx(inputs.size());
        for (std::size_t i = 0; i < inputs.size(); ++i)
            if (inputs[i].defined()) dx[i] = tangent_of(operation, inputs[i], run->number);
        if (std::ranges::none_of(dx, &Tensor::defined)) return;
        Tensor dy;
        {
            const Scoped<ForwardMode*> outside(forward_mode, run->outer);
            const EnableGrad on;
            const Op::Apart apart;
            const Unwatched rule(Observer::naming | Observer::passing);
            dy = tangent(dx, *run);
        }
        if (!dy.defined()) return;
        if (dy.shape() != y.shape() || dy.dtype() != y.dtype())
            throw ShapeError(operation, ": its tangent rule returned ", name(dy.dtype()), " ", dy.shape(),
                             " for a result of ", name(y.dtype()), " ", y.shape(), "; both must be equal");
        y.impl().tangents.push_back({run->number, run->create_graph ? dy : without_node(dy), y.version()});
        const auto& node = y.impl().node;
        if (!node) return;
        for (SavedTensor& s : node->saved)
            if (s.is_output) s.tangents = y.impl().tangents;
        if (run->create_graph) run->knots.push_back(node);
    }

    // J dx; undefined where it is 0 everywhere.
    Tensor tangent(const std::vector<Tensor>& dx, const JvpRun& run) const {
        std::vector<Tensor> constants;
        for (const Tensor& x : saved) constants.push_back(unpacked(x, run));
        const Lent moving("a rule of ", dx, operation), given("a rule of ", constants, operation);
        std::vector<bool> moves;
        bool is_symmetric = own_rule && own_rule.target<Symmetric>() != nullptr;
        for (std::size_t i = 0; i < dx.size(); ++i) {
            moves.push_back(dx[i].defined());
            is_symmetric = is_symmetric && (!moves[i] || dx[i].shape() == y.shape());
        }
        if (is_symmetric) return by_slope(dx, constants, run);
        if (own_rule && own_rule.target<Symmetric>() == nullptr) {
            tell("own rule");
            return own_rule(Saved(constants, moves), dx);
        }
        return transposed(dx, Saved(constants, moves), run.create_graph);
    }

    Tensor by_slope(const std::vector<Tensor>& dx, const std::vector<Tensor>& constants,
                    const JvpRun& run) const {
        tell("gradient rule");
        const Scoped<const char*> here(differentiated_rule, is_differentiated(run) ? operation : nullptr);
        Tensor sum;
        for (std::size_t i = 0; i < dx.size(); ++i) {
            if (!dx[i].defined()) continue;
            std::vector<bool> only(dx.size(), false);
            only[i] = true;
            const Tensor term = gradients(Saved(constants, only), dx[i])[i];
            sum = sum.defined() ? sum_of(sum, term) : term;
        }
        return sum;
    }

    Tensor transposed(const std::vector<Tensor>& dx, const Saved& constants, bool create_graph) const {
        const bool is_linear = std::ranges::none_of(
            saved, [](const Tensor& x) { return x.defined() && takes_gradient(x.dtype()); });
        tell(is_linear ? "linear" : "transposed");
        const Array numbers = make_array(y.shape(), y.dtype());
        kernels::fill_range(numbers, 1, 1);  // any u would do, but equal ones hide what a rule centres
        const Tensor u = variable_of(numbers, nullptr, {});
        const Scoped<const char*> here(differentiated_rule, operation);
        const Grads of_u = gradients(constants, u);
        std::vector<Tensor> terms, seeds;
        for (std::size_t i = 0; i < dx.size(); ++i) {
            if (!dx[i].defined() || !of_u[i].defined()) continue;
            if (depends_on_dy(operation, "jvp", of_u[i], u)) terms.push_back(of_u[i]), seeds.push_back(dx[i]);
        }
        return terms.empty() ? Tensor() : grad(terms, {u}, seeds, {.create_graph = create_graph})[0];
    }

    Grads gradients(const Saved& constants, const Tensor& dy) const {
        Grads result = vjp(constants, dy);
        check_count(operation, result.size(), inputs.size());
        return result;
    }

    void tell(const char* how) const {
        Observer::tell(Observer::watching(), Observer::recording,
                       [&](Observer& one) { one.moves(operation, how); });
    }

    // Whether the tangent is differentiated in turn, by an outer jvp or in a graph.
    static bool is_differentiated(const JvpRun& run) { return run.create_graph || run.outer; }

    // What the rule sees of a tensor that it saved. If its result is differentiated again, it may call grad()
    // on a function of a variable.
    Tensor unpacked(const Tensor& x, const JvpRun& run) const {
        if (!x.defined() || !takes_gradient(x.dtype())) return x;
        const std::shared_ptr<Node> node = run.create_graph ? x.impl().node : nullptr;
        const bool derived = is_differentiated(run) && is_derived(x, y, inputs);
        if (!node && !run.outer && !derived) return without_node(x);
        const Tensor variable = variable_of(x.array(), node, x.impl().tangents);
        variable.impl().node->is_derived = derived;
        return variable;
    }
};

void JvpRun::computed(const char* operation, const Tensor& y, const std::vector<Tensor>& inputs,
                      const std::vector<Tensor>& saved, const Vjp& vjp, const Jvp& own_rule) {
    Push{operation, y, inputs, saved, vjp, own_rule}.in(this);
}

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
