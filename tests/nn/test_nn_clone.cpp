// nn::clone: a module of its own.
// Evaluation that changes no module: several threads use one model.
#include <atomic>
#include <thread>
#include <vector>

#include "catch.h"
#include "source.h"
#include "weft/check/attention.h"
#include "weft/lm.h"
#include "weft/lm/generate.h"
#include "weft/nn.h"

using namespace weft;

namespace {

struct Inner : nn::Module {
    nn::Parameter scale = register_parameter("scale", ones({4}));
    nn::Dropout drop = register_module("drop", nn::Dropout(0.5));
    nn::BatchNorm norm = register_module("norm", nn::BatchNorm(4));
    Tensor operator()(const Tensor& x) const { return norm(drop(x * scale)); }
};
struct Net : nn::Module {
    nn::ModuleList<Inner> parts = register_module("parts", nn::ModuleList<Inner>());
    nn::Linear middle = register_module("middle", nn::Linear(4, 4));
    nn::Sequential end = register_module("end", nn::Sequential{middle, relu, nn::Linear(4, 2)});
    Tensor operator()(Tensor x) const {
        for (const Inner& part : parts) x = part(x);
        return end(middle(x));
    }
};

void check_equal(const nn::Module& a, const nn::Module& b) {
    const auto sa = a.state_dict(), sb = b.state_dict();
    REQUIRE(sa.size() == sb.size());
    for (std::size_t i = 0; i < sa.size(); ++i) {
        CHECK(sa[i].first == sb[i].first);
        CHECK(same_bits(sa[i].second.to(float64), sb[i].second.to(float64)));
    }
}

void check_shares_nothing(const nn::Module& a, const nn::Module& b) {
    std::vector<Tensor> of_a;
    for (const auto& list : {a.state_dict(), a.named_buffers()})
        for (const auto& [name, x] : list) of_a.push_back(x);
    for (const auto& list : {b.state_dict(), b.named_buffers()})
        for (const auto& [name, x] : list)
            for (const Tensor& y : of_a) CHECK_FALSE(x.shares_storage(y));
    for (const auto& [name, rng] : a.named_generators())
        for (const auto& [other, of_b] : b.named_generators()) CHECK(rng != of_b);
}

// Three steps of training, and the last output.
template <class M>
Tensor trained(const M& net, const Tensor& x) {
    optim::Adam optimizer(net, {.lr = 0.1});
    Tensor y;
    for (int step = 0; step < 3; ++step) {
        optimizer.zero_grad();
        y = net(x);
        sum(y * y).backward();
        optimizer.step();
    }
    return y;
}

lm::GPT model_with_dropout() {
    Rng rng(1);
    return {
        {.vocab_size = 16, .block_size = 16, .num_layers = 2, .num_heads = 2, .d_model = 16, .dropout = 0.5},
        rng};
}

text::Ids generated(const lm::GPT& model) {
    Rng rng(3);
    return lm::generate(model, {1, 2, 3}, {.max_new_tokens = 20, .sampling = {.temperature = 1, .rng = &rng}});
}

}  // namespace

TEST_CASE("a clone is trained as the module would have been, which stays as it was", "[nn][clone]") {
    manual_seed(3);
    Net net;
    for (int i = 0; i < 2; ++i) net.parts.append(Inner());
    net.parts[0].scale.requires_grad_(false);
    net.parts[1].eval();
    const Tensor x = randn({5, 4});
    const Net clone = nn::clone(net), untouched = nn::clone(net);
    check_equal(net, clone);
    check_shares_nothing(net, clone);
    CHECK(clone.named_parameters().size() == net.named_parameters().size());
    CHECK_FALSE(clone.parts[0].scale.requires_grad());
    CHECK(clone.parts[0].training());
    CHECK_FALSE(clone.parts[1].training());
    CHECK(clone.parts[1].norm.path() == net.parts[1].norm.path());
    CHECK(clone.kind() == net.kind());

    const Tensor of_clone = trained(clone, x);
    check_equal(net, untouched);
    CHECK(same_bits(of_clone, trained(net, x)));
    check_equal(net, clone);

    const Tensor loss = sum(untouched(x));
    loss.backward();
    CHECK(check::gradient_flow(untouched, loss).rows.size() == untouched.named_parameters().size());
}

TEST_CASE("what is tied in a module is tied in its clone", "[nn][clone]") {
    const lm::GPT model(
        {.vocab_size = 7, .block_size = 4, .num_layers = 2, .num_heads = 2, .d_model = 8, .dropout = 0.1});
    const lm::GPT clone = nn::clone(model);
    CHECK(clone.head.weight.handle() == clone.token_embedding.weight.handle());
    CHECK(clone.head.weight.handle() != model.head.weight.handle());
    const Tensor ids = arange(4);
    CHECK(same_bits(clone(ids), model(ids)));  // with the same dropout
    check_shares_nothing(model, clone);
    const nn::CausalMultiHeadAttention attention(8, 2, {.max_seq_len = 4, .dropout = 0.1}),
        copy = nn::clone(attention);
    const Tensor x = randn({4, 8});
    CHECK(same_bits(attention(x), copy(x)));
    check_shares_nothing(attention, copy);
}

TEST_CASE("a clone has no parent, no gradients and lists of its own", "[nn][clone]") {
    Net net;
    net.parts.append(Inner());
    trained(net, randn({5, 4}));
    nn::ModuleList<Inner> list = nn::clone(net.parts);
    CHECK(list.path() == "ModuleList");
    CHECK(net.parts.path() == "Module.parts");
    list.append(Inner());
    CHECK(list.size() == 2);
    CHECK(net.parts.size() == 1);
    for (const auto& [name, p] : list.named_parameters()) CHECK_FALSE(p.grad().defined());
    CHECK(net.middle.weight.grad().defined());
    // A copy that is no clone is the same module.
    nn::ModuleList<Inner> same = net.parts;
    same.append(Inner());
    CHECK(net.parts.size() == 2);
    CHECK(same[0].scale.handle() == net.parts[0].scale.handle());
}

TEST_CASE("a function in a Sequential takes its clone of a module along", "[nn][clone]") {
    const nn::Linear layer(3, 3);
    const nn::Sequential net{layer, [layer](const Tensor& x) { return layer(x); }};
    nn::Sequential clone = nn::clone(net);
    const Tensor x = randn({2, 3}), before = net(x);
    {
        const NoGrad off;
        clone.at<nn::Linear>(0).weight.fill_(0);
        clone.at<nn::Linear>(0).bias.fill_(2);
    }
    CHECK(same_bits(net(x), before));
    CHECK(same_bits(clone(x), full({2, 3}, 2)));
}

TEST_CASE("EvalMode is a mode of its thread, and leaves the modules as they are", "[nn][evaluating]") {
    lm::GPT model = model_with_dropout();
    model.drop.eval();
    {
        const nn::EvalMode outer;
        CHECK_FALSE(model.training());
        {
            const nn::EvalMode inner;
            CHECK_FALSE(model.training());
        }
        CHECK_FALSE(model.training());
        bool elsewhere = false;
        std::thread([&] { elsewhere = model.training(); }).join();
        CHECK(elsewhere);
        model.train();  // is seen once no EvalMode lives
        CHECK_FALSE(model.drop.training());
    }
    CHECK(model.training());
    CHECK(model.drop.training());
}

TEST_CASE("two threads generate from one model that a third trains", "[nn][evaluating]") {
    lm::GPT model = model_with_dropout();
    const text::Ids expected = generated(model);
    std::atomic<int> wrong{0}, running{2};
    const auto generate_often = [&] {
        for (int i = 0; i < 20; ++i) wrong += generated(model) != expected;
        --running;
    };
    std::thread first(generate_often), second(generate_often);
    const Tensor ids = arange(8);
    int passes = 0, evaluated = 0;
    for (; running > 0 || passes == 0; ++passes)
        evaluated += !model.training() || all(model(ids) == model(ids));
    first.join();
    second.join();
    CHECK(wrong == 0);
    CHECK(evaluated == 0);  // dropout acted in every pass of this thread
}

TEST_CASE("the callback for each token runs in the caller's mode", "[nn][evaluating]") {
    const lm::GPT model = model_with_dropout();
    int training = 0;
    lm::generate(model, {1}, {.max_new_tokens = 3, .sampling = {.temperature = 0}}, [&](std::int64_t) {
        training += model.training();
        return true;
    });
    CHECK(training == 3);
}

TEST_CASE("the checklist leaves the modes of a module's parts as they are", "[nn][evaluating]") {
    Rng rng(1);
    nn::MultiHeadAttention attention(4, 2, rng, {.dropout = 0.5});
    attention.named_children()[1].second.eval();
    (void)check::attention(attention, randn({2, 3, 4}, rng));
    CHECK(attention.training());
    CHECK(attention.named_children()[0].second.training());
    CHECK_FALSE(attention.named_children()[1].second.training());
}
