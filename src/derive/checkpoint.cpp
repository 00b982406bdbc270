#include "weft/derive/functional.h"

#include <algorithm>

#include "core/node.h"
#include "weft/core/modes.h"
#include "weft/core/record.h"
#include "weft/packed/packed.h"

namespace weft {
namespace {

// The states of default_rng() and of some generators.
class Draws {
public:
    explicit Draws(std::vector<std::shared_ptr<Rng>> generators) : generators_(std::move(generators)) {
        for_each([&](Rng& rng) { states_.push_back(rng.state()); });
    }
    void restore() const {
        std::size_t next = 0;
        for_each([&](Rng& rng) { rng.set_state(states_[next++]); });
    }
    const std::vector<std::shared_ptr<Rng>>& generators() const { return generators_; }

private:
    template <class F>
    void for_each(const F& f) const {
        f(default_rng());
        for (const auto& rng : generators_) f(*rng);
    }
    std::vector<std::shared_ptr<Rng>> generators_;
    std::vector<Rng::State> states_;
};

// GraphError if y depends on a tensor of the graph, made before `first`, that is not one of `named`.
void check_named(const Tensor& y, const std::vector<Tensor>& named, std::uint64_t first) {
    std::vector<Node*> stack{y.impl().node.get()};
    std::map<const Node*, bool> seen;
    for (const Tensor& x : named)
        if (x.defined()) seen[x.impl().node.get()] = true;
    while (!stack.empty()) {
        const Node* const node = stack.back();
        stack.pop_back();
        if (node == nullptr || !seen.emplace(node, true).second) continue;
        if (node->number < first)
            throw GraphError("checkpoint: f depends on a tensor of shape ", node->shape, " (", node->operation,
                             ") that is neither among its inputs nor its parameters; name it in parameters");
        for (const auto& input : node->inputs) stack.push_back(input.get());
    }
}

}  // namespace

Tensor checkpoint(const std::function<Tensor(const std::vector<Tensor>& inputs)>& f,
                  const std::vector<Tensor>& inputs, const std::vector<Tensor>& parameters,
                  const std::vector<std::shared_ptr<Rng>>& generators) {
    if (is_forward_mode()) return f(inputs);  // its operations have tangents, and y no rule of its own
    const Draws before(generators);
    std::vector<Tensor> all = inputs, to_save;
    all.insert(all.end(), parameters.begin(), parameters.end());
    to_save = all;
    Tensor y;
    try {
        // Where nothing named requires a gradient, backward will not come by: recording shows what does.
        const bool none =
            std::ranges::none_of(all, [](const Tensor& x) { return x.defined() && x.requires_grad(); });
        const GradMode mode(is_grad_enabled() && none);
        const Lent lent("the function of checkpoint", inputs);
        const std::uint64_t first = next_number();
        y = f(inputs);
        if (none) check_named(y, {}, first);
    } catch (...) {
        before.restore();
        throw;
    }
    to_save.push_back(y);
    return record(
        "checkpoint", y, all, to_save,
        [f, parameters, before, n = inputs.size()](const Saved& saved, const Tensor& dy) {
            const bool create_graph = is_grad_enabled();
            const std::vector<Tensor> own = inputs_again(saved, n);
            std::vector<Tensor> named = own;  // parameters are those that f holds, not copies of them
            named.insert(named.end(), parameters.begin(), parameters.end());
            const EnableGrad on;
            const Tensor& y = saved[named.size()];
            const std::uint64_t first =
                Node::make("checkpoint", y.array())->number;  // f's nodes have larger ones
            const Draws now(before.generators());
            before.restore();
            Tensor again;
            try {
                // f may read elements, as it did before.
                const Scoped<const char*> no_rule(differentiated_rule, nullptr);
                again = f(own);
            } catch (...) {
                now.restore();
                throw;
            }
            now.restore();
            if (!same_bits(again, y))
                throw GraphError(
                    "checkpoint: f computed other values in backward than before; pass the generators that it "
                    "draws from, and call backward in the mode (eval, Plain, …) of the forward pass");
            check_named(again, named, first);
            return gradients_again(again, named, saved, dy, create_graph);
        });
}

}  // namespace weft
