// Tests of the comparison with golden files itself: a comparison that cannot fail proves nothing.
// Ten steps of training against PyTorch: a GPT of two blocks, AdamW with decay on matrices only, gradients
// clipped to norm 1 (some steps are, some are not), a rate that changes at every step. V vocabulary, T tokens,
// B batch.
#include <cmath>

#include "catch.h"
#include "golden/golden.h"
#include "weft/weft.h"

using namespace weft;

namespace {

struct Distances {
    double loss = 0, norm = 0, first_gradient = 0, end = 0;
};

Distances train(DType dtype) {
    const Golden golden("training.safetensors");
    const lm::GPTConfig config{.vocab_size = 13,
                               .block_size = 8,
                               .num_layers = 2,
                               .num_heads = 4,
                               .d_model = 16,
                               .dropout = 0,
                               .bias = false};
    Rng rng(1);
    lm::GPT model(config, rng);
    model.to(dtype);
    nn::NamedTensors start;
    for (const auto& [name, value] : model.state_dict())
        start.push_back(
            {name, golden("start/" + (name == "head.weight" ? "token_embedding.weight" : name)).to(dtype)});
    model.load_state_dict(start);

    const optim::AdamWOptions options{.lr = 0.01, .beta1 = 0.9, .beta2 = 0.99, .weight_decay = 0.1};
    optim::AdamW optimizer(optim::decay_groups(model, options));
    const Tensor text = golden("text");  // (steps, B, T + 1)
    const auto losses = golden("losses").to_vector<double>(), norms = golden("norms").to_vector<double>(),
               rates = golden("rates").to_vector<double>();
    Distances d;
    for (std::int64_t step = 0; step < text.size(0); ++step) {
        const auto s = static_cast<std::size_t>(step);
        const Tensor ids = text[step].slice(1, 0, -1), targets = text[step].slice(1, 1, text.size(2));
        optimizer.set_lr(rates[s]);
        optimizer.zero_grad();
        const Tensor loss = cross_entropy(model(ids), targets);
        loss.backward();
        if (step == 0)
            for (const auto& [name, parameter] : model.named_parameters())
                d.first_gradient =
                    std::max(d.first_gradient, distance(parameter.grad(), golden("gradient/" + name)));
        const double norm = optim::clip_grad_norm(model, 1.0);
        optimizer.step();
        d.loss = std::max(d.loss, std::abs(loss.item() - losses[s]));
        d.norm = std::max(d.norm, std::abs(norm - norms[s]));
    }
    CHECK(optimizer.steps() == 10);
    for (const auto& [name, parameter] : model.named_parameters())
        d.end = std::max(d.end, distance(parameter, golden("end/" + name)));
    return d;
}

}  // namespace

TEST_CASE("distance sees a single wrong element, a wrong shape, and a NaN") {
    const Tensor expected = tensor({1, 2, -4}, float64);
    CHECK(distance(tensor({1, 2, -4}, float64), expected) == 0);
    CHECK(distance(tensor({1, 2 + 4e-9, -4}, float64), expected) == Approx(1e-9).epsilon(1e-6));
    CHECK(std::isinf(distance(tensor({{1, 2, -4}}, float64), expected)));
    CHECK(std::isinf(distance(tensor({1, 2, NAN}, float64), expected)));
    CHECK(std::isinf(distance(expected, tensor({1, INFINITY, -4}, float64))));
    CHECK(distance(tensor({NAN, INFINITY}), tensor({NAN, INFINITY})) == 0);
    CHECK(std::isinf(distance(tensor({-INFINITY}), tensor({INFINITY}))));
}

TEST_CASE("with_gaps keeps the values and changes every stride") {
    const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}}, float64), y = strided_copy(x);
    CHECK(same_bits(x, y));
    CHECK_FALSE(y.is_contiguous());
    CHECK(y.strides() == Strides{14, 2});
    CHECK_FALSE(same_bits(x, x.to(float32)));
    CHECK_FALSE(same_bits(tensor({0.0}), tensor({-0.0})));
}

TEST_CASE("ten AdamW steps of a GPT equal PyTorch's in float64", "[golden][training]") {
    const Distances d = train(float64);
    SUCCEED("distances: loss " << d.loss << ", norm " << d.norm << ", parameters " << d.end);
    CHECK(d.loss < 1e-10);
    CHECK(d.norm < 1e-10);
    CHECK(d.first_gradient < 1e-10);
    CHECK(d.end < 1e-9);
}

TEST_CASE("ten AdamW steps of a GPT equal PyTorch's in float32 to its precision", "[golden][training]") {
    const Distances d = train(float32);
    CHECK(d.first_gradient < 1e-5);
    CHECK(d.loss < 2e-4);
    CHECK(d.norm < 2e-3);
}
