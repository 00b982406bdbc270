// Modules against PyTorch: outputs, and the gradients of every parameter and input, in float64 and float32,
// fused, composed and by the reference kernels.
#include "catch.h"
#include "golden/golden.h"
#include "weft/weft.h"

using namespace weft;

namespace {

const Golden& golden() {
    static const Golden file("modules.safetensors");
    return file;
}

using Call = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;

// Loads the golden parameters of the case, calls, and compares outputs and gradients.
void compare(const std::string& name, nn::Module module, const Call& call, DType dtype) {
    const double tolerance = dtype == float64 ? 1e-10 : 1e-5;
    module.to(dtype);
    nn::NamedTensors state;
    for (const auto& [key, value] : module.state_dict()) {
        const std::string parameter =
            name + "/param/" + (key == "head.weight" ? "token_embedding.weight" : key);
        state.push_back({key, golden()(parameter).to(dtype)});
    }
    module.load_state_dict(state);

    std::vector<Tensor> inputs;
    for (int i = 0; golden().has(name + "/in" + std::to_string(i)); ++i) {
        const Tensor x = golden()(name + "/in" + std::to_string(i));
        inputs.push_back(is_floating_point(x.dtype()) ? x.to(dtype).clone().requires_grad_() : x);
    }
    const auto outputs = call(inputs);
    Tensor total = zeros({}, dtype);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        INFO("output " << i);
        CHECK(outputs[i].dtype() == dtype);
        CHECK(distance(outputs[i], golden()(name + "/out" + std::to_string(i))) <= tolerance);
        total = total + sum(outputs[i] * golden()(name + "/dy" + std::to_string(i)).to(dtype));
    }
    total.backward();
    std::size_t compared = 0;
    for (const auto& [key, parameter] : module.named_parameters()) {
        INFO("gradient of " << key);
        REQUIRE(parameter.grad().defined());
        // floor: a key's bias cancels in softmax, so its gradient is 0 but for rounding
        CHECK(distance(parameter.grad(), golden()(name + "/grad/" + key), dtype == float64 ? 1e-3 : 1) <=
              tolerance);
        ++compared;
    }
    std::size_t stored = 0;
    for (const auto& key : golden().names()) stored += key.starts_with(name + "/grad/");
    CHECK(compared == stored);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!inputs[i].requires_grad()) continue;
        INFO("gradient of input " << i);
        REQUIRE(inputs[i].grad().defined());
        CHECK(distance(inputs[i].grad(), golden()(name + "/grad_in" + std::to_string(i))) <= tolerance);
    }
}

// `make` gives a new module each time and `call` says how it is used.
template <class Make, class CallOf>
void compare_every_way(const std::string& name, Make make, CallOf call) {
    for (const DType dtype : {float64, float32})
        for (const auto& [way, composed, reference] : {std::tuple("fused", false, false),
                                                       {"composed", true, false},
                                                       {"reference kernels", false, true}}) {
            INFO(name << ", " << way << ", " << weft::name(dtype));
            const Plain mode(Plain::operations, composed);
            const Plain plain(Plain::primitives, reference);
            Rng rng(1);
            auto module = make(rng);
            compare(
                name, module, [&](const std::vector<Tensor>& x) { return call(module, x); }, dtype);
        }
}

std::vector<Tensor> both(const AttentionResult& result) { return {result.output, result.weights}; }

constexpr std::int64_t C = 8, H = 2;

}  // namespace

TEST_CASE("Linear, LayerNorm, Embedding and MLP equal PyTorch's", "[golden][nn]") {
    for (const bool bias : {true, false}) {
        const std::string suffix = bias ? ".bias" : ".plain";
        const auto apply = [](const auto& m, const auto& x) { return std::vector<Tensor>{m(x[0])}; };
        compare_every_way(
            "linear" + suffix, [&](Rng& rng) { return nn::Linear(4, 5, rng, bias); }, apply);
        compare_every_way(
            "layer_norm" + suffix, [&](Rng&) { return nn::LayerNorm(6, {.bias = bias}); }, apply);
        compare_every_way(
            "mlp" + suffix, [&](Rng& rng) { return nn::MLP(C, rng, {.bias = bias}); }, apply);
        if (bias)
            compare_every_way(
                "embedding", [&](Rng& rng) { return nn::Embedding(7, 3, rng); }, apply);
    }
}

TEST_CASE("Conv2d equals PyTorch's", "[golden][nn]") {
    const auto apply = [](const auto& m, const auto& x) { return std::vector<Tensor>{m(x[0])}; };
    compare_every_way(
        "conv2d.bias", [](Rng& rng) { return nn::Conv2d(3, 4, 3, rng, {.padding = 1}); }, apply);
    compare_every_way(
        "conv2d.plain",
        [](Rng& rng) {
            return nn::Conv2d(2, 4, 2, rng, {.stride = 2, .dilation = 2, .groups = 2, .bias = false});
        },
        apply);
}

TEST_CASE("MultiHeadAttention equals PyTorch's: self, cross, separate, masked, unbatched", "[golden][nn]") {
    const auto self = [](const auto& m, const auto& x) { return both(m.with_weights(x[0])); };
    const auto cross = [](const auto& m, const auto& x) { return both(m.with_weights(x[0], x[1], x[1])); };
    const auto three = [](const auto& m, const auto& x) { return both(m.with_weights(x[0], x[1], x[2])); };
    const auto masked = [](const auto& m, const auto& x) {
        return both(m.with_weights(x[0], Mask::blocked(x[1])));
    };
    for (const bool bias : {true, false}) {
        const std::string suffix = bias ? "_bias" : "_plain";
        const auto make = [&](Rng& rng) { return nn::MultiHeadAttention(C, H, rng, {.bias = bias}); };
        const auto separate = [&](Rng& rng) {
            return nn::Attention(C, H, rng, {.bias = bias, .fused = false});
        };
        compare_every_way("attention.self" + suffix, make, self);
        compare_every_way("attention.cross" + suffix, make, cross);
        compare_every_way("attention.separate" + suffix, separate, three);
        compare_every_way("attention.masked" + suffix, make, masked);
    }
    compare_every_way(
        "attention.unbatched", [](Rng& rng) { return nn::MultiHeadAttention(C, H, rng); }, self);
}

TEST_CASE("CausalMultiHeadAttention equals PyTorch's, also where a sample is all padding", "[golden][nn]") {
    for (const bool bias : {true, false}) {
        const std::string suffix = bias ? "bias" : "plain";
        const auto make = [&](Rng& rng) {
            return nn::CausalMultiHeadAttention(C, H, rng, {.max_seq_len = 9, .bias = bias});
        };
        compare_every_way("causal." + suffix, make,
                          [](const auto& m, const auto& x) { return both(m.with_weights(x[0])); });
        compare_every_way("causal.padded_" + suffix, make, [](const auto& m, const auto& x) {
            return both(m.with_weights(x[0], Mask::padding({5, 0})));
        });
    }
}

TEST_CASE("TransformerBlock and GPT equal PyTorch's", "[golden][nn]") {
    const auto apply = [](const auto& m, const auto& x) { return std::vector<Tensor>{m(x[0])}; };
    for (const bool bias : {true, false}) {
        const std::string suffix = bias ? ".bias" : ".plain";
        compare_every_way(
            "block" + suffix, [&](Rng& rng) { return nn::TransformerBlock(C, H, rng, {.bias = bias}); }, apply);
        const lm::GPTConfig config{.vocab_size = 11,
                                   .block_size = 6,
                                   .num_layers = 2,
                                   .num_heads = H,
                                   .d_model = C,
                                   .dropout = 0,
                                   .bias = bias};
        compare_every_way(
            "gpt" + suffix, [&](Rng& rng) { return lm::GPT(config, rng); }, apply);
    }
}
