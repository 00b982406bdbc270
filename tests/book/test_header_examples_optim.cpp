// The examples in the headers of weft::optim and of initial values, line by line, with what they need before
// and what they claim after.
#include "catch.h"
#include "source.h"

using namespace weft;

namespace {

struct Net : nn::Module {
    nn::Embedding embedding = register_module("embedding", nn::Embedding(5, 4));
    nn::Linear body = register_module("body", nn::Linear(4, 4));
    nn::Linear head = register_module("head", nn::Linear(4, 5));
    Net() : Module("Net") {}
    Tensor operator()(const Tensor& ids) const { return head(tanh(body(embedding(ids)))); }
};

Tensor batch() { return arange(5); }

}  // namespace

TEST_CASE("examples of groups of parameters", "[header-examples]") {
    manual_seed(1);
    const Net model;

    optim::AdamW optimizer({{model.body, {.lr = 1e-5}}, {model.head, {.lr = 1e-3, .beta2 = 0.95}}});

    CHECK(optimizer.groups().size() == 2);
    CHECK(optimizer.options(1).beta2 == 0.95);

    optimizer.set_lr(1, 1e-4);  // of the second group
    optim::AdamWOptions options = optimizer.options(1);
    options.weight_decay = 0;
    optimizer.set_options(1, options);

    CHECK(optimizer.lr(1) == 1e-4);
    CHECK(optimizer.options(1).weight_decay == 0);
    CHECK(optimizer.options().weight_decay == 0.01);
    manual_seed(0);
}

TEST_CASE("example of Muon", "[header-examples]") {
    manual_seed(1);
    const Net model;
    const auto loss_of = [&](const Tensor& ids) { return cross_entropy(model(ids), ids); };
    const double before = loss_of(batch()).item();

    nn::NamedTensors matrices, others;
    for (const auto& [name, p] : model.named_parameters())
        (p.rank() == 2 && name != "embedding.weight" ? matrices : others).emplace_back(name, p);
    optim::Muon muon(matrices, {.lr = 0.02});
    optim::AdamW adamw(others, {.lr = 3e-4});
    loss_of(batch()).backward();
    muon.step(), adamw.step();

    CHECK(matrices.size() == 2);
    CHECK(others.size() == 3);
    CHECK(loss_of(batch()).item() < before);
    manual_seed(0);
}

TEST_CASE("examples of initial values in place", "[header-examples]") {
    Rng rng(1);
    Tensor w = zeros({40, 30});
    const auto largest = [&] { return max(abs(w)).item(); };

    nn::Linear layer(256, 128);
    nn::init::kaiming_normal_(layer.weight, {.nonlinearity = nn::init::Nonlinearity::relu});
    nn::init::zeros_(layer.bias);
    CHECK(var(layer.weight).item() == Approx(2.0 / 256).epsilon(0.05));
    CHECK(max(abs(layer.bias)).item() == 0);

    nn::init::constant_(w, 0.5);
    CHECK((min(w).item() == 0.5 && max(w).item() == 0.5));
    CHECK(min(nn::init::ones_(w)).item() == 1);
    nn::init::uniform_(w, -0.1, 0.1, rng);
    CHECK(largest() <= 0.1f);
    nn::init::normal_(w, 0, 0.02, rng);
    CHECK(var(w).item() == Approx(0.0004).epsilon(0.2));
    nn::init::trunc_normal_(w, 0, 0.02, -0.04, 0.04, rng);
    CHECK(largest() <= 0.04f);
    const double gain = nn::init::calculate_gain(nn::init::Nonlinearity::tanh);  // 5/3
    CHECK(gain == 5.0 / 3);
    nn::init::xavier_uniform_(w, 1, rng);
    CHECK(largest() <= std::sqrt(6.0 / 70) * (1 + 1e-6));
    nn::init::xavier_normal_(w, 1, rng);
    CHECK(var(w).item() == Approx(2.0 / 70).epsilon(0.2));
    nn::init::kaiming_uniform_(w, {.mode = nn::init::FanMode::fan_out}, rng);
    CHECK(largest() <= std::sqrt(6.0 / 40) * (1 + 1e-6));
    nn::init::kaiming_normal_(w, {.nonlinearity = nn::init::Nonlinearity::relu}, rng);
    CHECK(var(w).item() == Approx(2.0 / 30).epsilon(0.2));
    nn::init::orthogonal_(w, 1, rng);
    CHECK(max(abs(matmul(w.T(), w) - eye(30))).item() < 1e-5);
}
