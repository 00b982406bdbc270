// One causal attention layer and one linear layer learn to copy the token three positions earlier: make toy
// Before the first step, the program checks that gradients reach every node of the graph and every parameter.
// B batch, T tokens, V vocabulary, C = d_model = V + T: the one-hot vectors of a token and of its position.
#include <weft/weft.h>

#include <cstdio>

using namespace weft;

namespace {

constexpr std::int64_t B = 32, T = 16, V = 8, C = V + T, num_heads = 2, lag = 3;
constexpr std::int64_t nothing = -100;  // cross_entropy's ignore_index: the first tokens have nothing to copy

struct Copier : nn::Module {
    nn::CausalMultiHeadAttention attention =
        register_module("attention", nn::CausalMultiHeadAttention(C, num_heads, {.max_seq_len = T}));
    nn::Linear head = register_module("head", nn::Linear(C, V));

    Tensor operator()(const Tensor& ids) const {                    // (B, T)
        Tensor tokens = embedding(eye(V), ids);                     // (B, T, V)
        Tensor places = broadcast_to(eye(T), {ids.size(0), T, T});  // (B, T, T)
        return head(attention(cat({tokens, places}, -1)));          // (B, T, C) → (B, T, V)
    }
};

// target[b, t] = ids[b, t − lag]
Tensor targets_of(const Tensor& ids) {
    return cat({full({ids.size(0), lag}, nothing, int64), ids.slice(1, 0, T - lag)}, 1);  // (B, T)
}

// Runs backward; returns how many nodes of the loss's graph got a gradient that is finite and not all 0.
std::size_t backward_through(const Tensor& loss) {
    const GradientLedger ledger;
    loss.backward();
    std::size_t reached = 0;
    for (const LedgerEntry& node : ledger.entries())
        reached += all(isfinite(node.gradient)) && any(node.gradient != 0);
    return reached;
}

}  // namespace

int main() {
    manual_seed(1);
    Copier model;
    optim::AdamW optimizer(model, {.lr = 1e-2, .weight_decay = 0});
    check::FlowReport flow;
    std::size_t nodes = 0, reached = 0;
    for (int step = 0; step <= 400; ++step) {
        Tensor ids = randint(0, V, {B, T});
        optimizer.zero_grad();
        Tensor loss = cross_entropy(model(ids), targets_of(ids));
        if (step == 0) {
            nodes = graph_nodes(loss).size();
            reached = backward_through(loss);
            flow = check::gradient_flow(model, loss);
        } else {
            loss.backward();
        }
        optimizer.step();
        if (step % 50 == 0) std::printf("step %3d  loss %.4f\n", step, loss.item());
    }

    std::printf("\ngradients at step 0\n");
    flow.print();
    std::printf("a gradient reached %zu of the %zu nodes of the graph\n", reached, nodes);

    NoGrad off;
    Tensor ids = randint(0, V, {B, T}), target = targets_of(ids);
    Tensor right = argmax(model(ids), -1) == target;  // (B, T); false where there is nothing to copy
    const double accuracy = sum(right.to(float32)).item() / (B * (T - lag));
    std::printf("\naccuracy on sequences not seen before: %.1f %%\n", 100 * accuracy);
    return reached == nodes && flow.passed() && accuracy > 0.95 ? 0 : 1;
}
