// checkpoint: the bits of what it computes again, what it keeps, and what it refuses.
#include <set>

#include "core/node.h"
#include "golden/golden.h"
#include "refusal.h"
#include "weft/nn.h"

using namespace weft;

namespace {

using Tensors = std::vector<Tensor>;

// The bytes that backward from y keeps in its nodes.
std::int64_t saved_bytes(const Tensor& y) {
    std::set<const Storage*> kept;
    std::int64_t bytes = 0;
    for (const auto& [number, node] : ancestors({y.impl().node.get()}))
        for (const SavedTensor& saved : node->saved)
            if (saved.array.storage && kept.insert(saved.array.storage.get()).second)
                bytes += static_cast<std::int64_t>(saved.array.storage->bytes);
    return bytes;
}

void check_same_bits(const Tensors& found, const Tensors& expected) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        INFO("tensor " << i);
        CHECK(found[i].detach().to_vector<float>() == expected[i].detach().to_vector<float>());
    }
}

}  // namespace

TEST_CASE("checkpoint: values and gradients have the bits that they have without", "[autograd][checkpoint]") {
    Rng rng(1);
    const Tensor x = randn({6, 16}, rng).requires_grad_(), w = randn({16, 16}, rng).requires_grad_();
    const auto own = std::make_shared<Rng>(7);
    const auto f = [&](const Tensors& in) {
        return dropout(tanh(dropout(matmul(in[0], w), 0.3, *own)), 0.2, default_rng()) + in[0];
    };
    const auto results = [&](bool checkpointed) {
        *own = Rng(7);
        manual_seed(5);
        const Tensor y = checkpointed ? checkpoint(f, {x}, {w}, {own}) : f({x});
        const Tensor after = rand({4});  // draws go on where they were
        Tensors all = grad({sum(y * y)}, {x, w});
        all.insert(all.end(), {y, after, rand({4}), rand({4}, *own)});
        return all;
    };
    check_same_bits(results(true), results(false));
}

TEST_CASE("checkpoint: second order is that of the function", "[autograd][checkpoint]") {
    Rng rng(2);
    const Tensor x = randn({3, 4}, rng).requires_grad_(), w = randn({4, 4}, rng).requires_grad_();
    const auto f = [&](const Tensors& in) { return tanh(matmul(in[0], w)); };
    const auto second = [&](bool checkpointed) {
        const Tensor y = checkpointed ? checkpoint(f, {x}, {w}) : f({x});
        const Tensors first = grad({sum(y * y * y)}, {x, w}, {}, {.create_graph = true});
        return grad({sum(first[0] * first[0]) + sum(first[1])}, {x, w});
    };
    const Tensors found = second(true), expected = second(false);
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(distance(found[i], expected[i]) < 1e-5);
}

TEST_CASE("checkpoint: backward keeps the borders of the blocks, not what lies between",
          "[autograd][checkpoint]") {
    Rng rng(3);
    const Tensor x = randn({8, 32}, rng).requires_grad_();
    const auto block = [](const Tensors& in) {
        Tensor y = in[0];
        for (int i = 0; i < 5; ++i) y = tanh(y);
        return y;
    };
    Tensor plain = x, kept = x;
    for (int i = 0; i < 4; ++i) plain = block({plain}), kept = checkpoint(block, {kept});
    const std::int64_t one = 8 * 32 * 4;
    CHECK(saved_bytes(plain) == 20 * one);
    CHECK(saved_bytes(kept) == 5 * one);  // x and four results
    check_same_bits(grad({sum(kept)}, {x}), grad({sum(plain)}, {x}));
}

TEST_CASE("checkpoint: within a checkpoint, and through backward", "[autograd][checkpoint]") {
    Rng rng(4);
    Tensor x = randn({5, 5}, rng).requires_grad_(), w = randn({5, 5}, rng).requires_grad_();
    const auto inner = [&](const Tensors& in) { return tanh(matmul(in[0], w)); };
    const auto outer = [&](const Tensors& in) { return checkpoint(inner, {in[0] * 2}, {w}) + in[0]; };
    const auto plain = [&](const Tensors& in) { return inner({in[0] * 2}) + in[0]; };
    sum(checkpoint(outer, {x}, {w})).backward();
    check_same_bits({x.grad(), w.grad()}, grad({sum(plain({x}))}, {x, w}));
    CHECK_FALSE(
        grad({sum(checkpoint(inner, {x.detach()}, {w}))}, {x}, {}, {.allow_unused = true})[0].defined());
}

TEST_CASE("checkpoint: what would give a wrong gradient is refused in backward",
          "[autograd][checkpoint][fault]") {
    Rng rng(5);
    const Tensor x = randn({3, 3}, rng).requires_grad_();
    Tensor w = randn({3, 3}, rng).requires_grad_();
    const auto f = [&](const Tensors& in) { return gelu(matmul(in[0], w)); };
    CHECK_THROWS_WITH(sum(checkpoint(f, {x})).backward(),
                      "checkpoint: f depends on a tensor of shape (3, 3) (leaf) that is "
                      "neither among its inputs nor its parameters; name it in parameters");
    CHECK_FALSE(x.grad().defined());
    const Tensor hidden = x * 2;
    refuses<GraphError>("(multiply) that is neither", [&] {
        sum(checkpoint([&](const Tensors& in) { return in[0] * hidden; }, {x})).backward();
    });
    // Where nothing that was named requires a gradient, backward would pass by.
    const Tensor data = randn({3, 3}, rng);
    const auto unnamed = [&] {
        const auto before = default_rng().state();
        refuses<GraphError>("checkpoint: f depends on a tensor of shape (3, 3) (leaf) that is neither", [&] {
            (void)checkpoint([&](const Tensors& in) { return f({dropout(in[0], 0.5, default_rng())}); },
                             {data});
        });
        CHECK(default_rng().state().position == before.position);
    };
    unnamed();
    CHECK_FALSE(checkpoint([](const Tensors& in) { return in[0] * 2; }, {data}).requires_grad());
    {
        const NoGrad off;
        CHECK(same_bits(checkpoint(f, {data}), f({data})));
    }
    const auto other_values =
        "checkpoint: f computed other values in backward than before; pass the generators that it draws "
        "from, and call backward in the mode (eval, Plain, …) of the forward pass";
    Rng hidden_generator(6);
    CHECK_THROWS_WITH(
        sum(checkpoint([&](const Tensors& in) { return dropout(in[0], 0.5, hidden_generator); }, {x}))
            .backward(),
        other_values);
    const Tensor y = sum(checkpoint(f, {x}, {w}));
    {
        const NoGrad off;
        w.add_(ones({3, 3}));
    }
    refuses<GraphError>("checkpoint: a tensor of shape (3, 3) saved for backward was changed in place",
                        [&] { y.backward(); });
    CHECK_THROWS_AS(checkpoint([](const Tensors& in) { return in[0]; }, {x}), GraphError);
}

TEST_CASE("nn::checkpoint: a block with dropout keeps its bits", "[nn][checkpoint]") {
    const auto results = [](bool checkpointed) {
        manual_seed(1);
        const nn::Sequential block{nn::Linear(8, 16), nn::Dropout(0.5), nn::Linear(16, 8)};
        const Tensor x = randn({4, 8}).requires_grad_();
        const Tensor y = checkpointed ? nn::checkpoint(block, x) : block(x);
        Tensors wanted = block.parameters();
        wanted.push_back(x);
        Tensors all = grad({sum(y * y)}, wanted);
        all.insert(all.end(), {y, block(x)});
        return all;
    };
    check_same_bits(results(true), results(false));
}
