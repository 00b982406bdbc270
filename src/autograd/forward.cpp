// Forward mode. While a jvp runs, a tensor that depends on its inputs carries a tangent, its derivative in the
// direction v (a dual number is the two of them), and record calls push_tangents for every result. No operation
// needs a rule for this: the gradient rule of y = f(x) maps dy to dx = Jᵀ dy, so it is linear in dy, and the
// tangent of y is J ẋ, the transpose of this map. A rule is made of operations that have rules, so backward
// through it gives the transpose: J ẋ is the gradient of ẋ · (Jᵀ u) with respect to u, whatever u is. Nothing
// of it outlives the operation, so memory does not grow with the depth of the computation. (J. Townsend, "A new
// trick for calculating Jacobian vector products", 2017, transposes the whole graph in this way.)
#include <algorithm>

#include "autograd/node.h"
#include "weft/autograd/ledger.h"
#include "weft/autograd/trace.h"

namespace weft {

JvpRun::JvpRun(bool create_graph)
    : number(next_number()),
      create_graph(create_graph),
      outer(running_jvp),
      here_(running_jvp, this),
      mode_(true),
      constants_(constants_below, create_graph ? constants_below : number) {}

JvpRun::~JvpRun() {
    for (const auto& knot : knots)
        if (const auto node = knot.lock())
            for (SavedTensor& saved : node->saved)
                std::erase_if(saved.tangents, [&](const Tangent& t) { return t.jvp == number; });
}

struct Push {
    const char* const operation;
    const Tensor& y;
    const std::vector<Tensor>& inputs;
    const std::vector<Tensor>& saved;
    const Vjp& vjp;

    // The tangents of the outer jvps come first, because those of the inner ones are computed from tensors that
    // have them: a derivative of a derivative is the tangent of a tangent.
    void in(JvpRun* jvp) const {
        if (jvp == nullptr) return;
        in(jvp->outer);
        std::vector<Tensor> dx;
        std::vector<bool> moves;
        for (const Tensor& x : inputs) {
            dx.emplace_back();
            if (x.defined())
                for (const Tangent& t : x.impl().tangents)
                    if (t.jvp == jvp->number) dx.back() = t.value;
            moves.push_back(dx.back().defined());
        }
        if (std::ranges::find(moves, true) == moves.end()) return;
        const Scoped<JvpRun*> outside(running_jvp, jvp->outer);
        if (const Tensor dy = tangent(dx, moves, *jvp); dy.defined())
            y.impl().tangents.push_back({jvp->number, dy});
        const auto& node = y.impl().node;
        if (!node) return;
        for (SavedTensor& s : node->saved)
            if (s.is_output) s.tangents = y.impl().tangents;
        if (jvp->create_graph) jvp->knots.push_back(node);
    }

    // J dx, undefined where it is 0 everywhere.
    Tensor tangent(const std::vector<Tensor>& dx, const std::vector<bool>& moves, const JvpRun& jvp) const {
        const EnableGrad on;
        const NoTrace no_trace;
        const Scoped<GradientLedger*> no_ledger(GradientLedger::current_, nullptr);
        std::vector<Tensor> constants;
        for (const Tensor& x : saved) constants.push_back(unpacked(x, jvp));
        const Array numbers = make_array(y.shape(), y.dtype());
        kernels::active().fill_range(numbers, 1, 1);  // any u would do, but 1 hides what a rule sums to 0
        const Tensor u = variable_of(numbers, nullptr, {});
        const Grads gradients = vjp(Saved(constants, moves), u);
        if (gradients.size() != inputs.size())
            throw GraphError(operation, ": its gradient rule returned ", gradients.size(), " gradients for ",
                             inputs.size(), " inputs; return one for each, undefined if there is none");
        std::vector<Tensor> terms, seeds;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            if (!moves[i] || !gradients[i].defined()) continue;
            const auto& node = gradients[i].impl().node;
            if (node && ancestors({node.get()}, u.impl().node->number).contains(u.impl().node->number))
                terms.push_back(gradients[i]), seeds.push_back(dx[i]);
            else if (const auto values = gradients[i].detach().to(float64).to_vector<double>();
                     !std::ranges::all_of(values, [](double value) { return value == 0; }))
                throw GraphError(
                    operation,
                    ": jvp differentiates the gradient rule, which is not made of operations that "
                    "are recorded; write it with Weft's operations, on dy itself and not a detach()");
        }
        return terms.empty() ? Tensor() : grad(terms, {u}, seeds, {.create_graph = jvp.create_graph})[0];
    }

    // What the rule sees of a tensor that it saved. If its result is differentiated again, by an outer jvp or a
    // graph, it may call grad() on a function of a variable.
    static Tensor unpacked(const Tensor& x, const JvpRun& jvp) {
        if (!x.defined() || !is_floating_point(x.dtype())) return x;
        const std::shared_ptr<Node> node = jvp.create_graph ? x.impl().node : nullptr;
        return node || jvp.outer ? variable_of(x.array(), node, x.impl().tangents) : without_node(x);
    }
};

void push_tangents(const char* operation, const Tensor& y, const std::vector<Tensor>& inputs,
                   const std::vector<Tensor>& saved, const Vjp& vjp) {
    Push{operation, y, inputs, saved, vjp}.in(running_jvp);
}

}  // namespace weft
