// Forward mode. While a jvp runs, a tensor that depends on its inputs carries a tangent, its derivative in the
// direction v (a dual number is the two of them), and record calls push_tangents for every result. No operation
// needs a rule for this: the gradient rule of y = f(x) maps dy to dx = Jᵀ dy, so it is linear in dy, and the
// tangent of y is J ẋ, the transpose of this map. A rule is made of operations that have rules, so backward
// through it gives the transpose: J ẋ is the gradient of ẋ · (Jᵀ u) with respect to u, whatever u is. Nothing
// of it outlives the operation, so memory does not grow with the depth of the computation. (J. Townsend, "A new
// trick for calculating Jacobian vector products", 2017, transposes the whole graph in this way.)
#include <algorithm>

#include "core/node.h"
#include "weft/core/op.h"
#include "weft/core/record.h"

namespace weft {

JvpRun::JvpRun(bool create_graph)
    : number(next_number()),
      create_graph(create_graph),
      outer(running_jvp),
      constants_below(create_graph ? weft::constants_below() : number),
      here_(running_jvp, this),
      mode_(true) {}

JvpRun::~JvpRun() {
    for (const auto& knot : knots)
        if (const auto node = knot.lock())
            for (SavedTensor& saved : node->saved)
                std::erase_if(saved.tangents, [&](const Tangent& t) { return t.jvp == number; });
}

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
            const Scoped<JvpRun*> outside(running_jvp, run->outer);
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

void push_tangents(const char* operation, const Tensor& y, const std::vector<Tensor>& inputs,
                   const std::vector<Tensor>& saved, const Vjp& vjp, const Jvp& own_rule) {
    Push{operation, y, inputs, saved, vjp, own_rule}.in(running_jvp);
}

}  // namespace weft
