// Weights from elsewhere: PyTorch's and GPT-2's attention load, and give the outputs and gradients that they
// give there.
#include "golden/golden.h"
#include "refusal.h"
#include "weft/weft.h"

using namespace weft;

namespace {

const Golden& golden() {
    static const Golden file("attention.safetensors");
    return file;
}

// The tensors under "<name>/<what>/", named by what follows.
nn::NamedTensors all_of(const std::string& name, const std::string& what) {
    nn::NamedTensors found;
    const std::string prefix = name + "/" + what + "/";
    for (const std::string& key : golden().names())
        if (key.starts_with(prefix)) found.emplace_back(key.substr(prefix.size()), golden()(key));
    return found;
}

Tensor input(const std::string& name, DType dtype) { return golden()(name).to(dtype).clone().requires_grad_(); }

using Inputs = std::vector<std::pair<std::string, Tensor>>;

// Backward from the output with the golden seed, and every gradient against its golden one.
void compare(const std::string& name, const Tensor& output, const Inputs& inputs,
             const nn::NamedTensors& wanted, const nn::NamedTensors& parameters) {
    const double tolerance = output.dtype() == float64 ? 1e-12 : 1e-5;
    CHECK(distance(output, golden()(name + "/out")) <= tolerance);
    output.backward(golden()(name + "/dy").to(output.dtype()));
    for (const auto& [key, x] : inputs) {
        INFO("gradient of " << key);
        CHECK(distance(x.grad(), golden()(name + "/grad_" + key)) <= tolerance);
    }
    REQUIRE(wanted.size() == parameters.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const auto& [key, expected] = wanted[i];
        INFO("gradient of " << key);
        REQUIRE(parameters[i].first == key);
        // floor: a key's bias cancels in softmax, so its gradient is 0 but for rounding
        CHECK(distance(parameters[i].second.grad(), expected, 1) <= tolerance);
    }
}

// Runs `test` for both types, fused and composed.
template <class Test>
void every_way(const std::string& name, Test test) {
    for (const DType dtype : {float64, float32})
        for (const bool composed : {false, true}) {
            INFO(name << ", " << weft::name(dtype) << (composed ? ", composed" : ""));
            const Plain path(Plain::operations, composed);
            test(dtype);
        }
}

std::vector<std::string> cases(const std::string& kind) {
    std::vector<std::string> found;
    for (const std::string& key : golden().names()) {
        const std::string name = key.substr(0, key.find('/', kind.size() + 1));
        if (key.starts_with(kind + "/") && std::find(found.begin(), found.end(), name) == found.end())
            found.push_back(name);
    }
    return found;
}

// PyTorch's masks: true = blocked, in both.
Mask torch_masks(const std::string& name, std::int64_t B, std::int64_t H, std::int64_t T, std::int64_t S) {
    Mask mask;
    if (golden().has(name + "/attn_mask")) {
        const Tensor blocked = golden()(name + "/attn_mask");  // (T, S) or (B·H, T, S)
        mask = mask | Mask::blocked(blocked.rank() == 2 ? blocked : blocked.reshape({B, H, T, S}));
    }
    if (golden().has(name + "/key_padding_mask")) {
        const Tensor blocked = golden()(name + "/key_padding_mask");  // (B, S)
        mask = mask | Mask::keys(!blocked);
    }
    return mask;
}

struct TorchRun {
    nn::Attention attention{512, 8};
    Inputs inputs;
    Tensor query, key, value;

    // The attention that the saved state asks for, with its weights.
    TorchRun(const std::string& name, DType dtype, std::int64_t H) : attention(made(name, H)) {
        attention.to(dtype);
        nn::NamedTensors state;
        for (const auto& [key, value] : all_of(name, "state"))
            state.emplace_back("a.b." + key, value.to(dtype));
        attention.load_state_dict(nn::from_torch_multihead_attention(state, "a.b."));
        for (const char* what : {"query", "key", "value"})
            if (golden().has(name + "/" + what)) inputs.emplace_back(what, input(name + "/" + what, dtype));
        query = inputs[0].second;
        key = inputs.size() > 1 ? inputs[1].second : query;
        value = inputs.size() > 2 ? inputs[2].second : key;
    }

    static nn::Attention made(const std::string& name, std::int64_t H) {
        Rng rng(1);
        const bool bias = golden().has(name + "/state/in_proj_bias");
        if (golden().has(name + "/state/in_proj_weight")) return {8, H, rng, {.bias = bias}};
        const auto width = [&](const char* key) { return golden()(name + "/state/" + key).size(1); };
        return {8,
                H,
                rng,
                {.bias = bias, .fused = false, .kdim = width("k_proj_weight"), .vdim = width("v_proj_weight")}};
    }
};

}  // namespace

TEST_CASE("PyTorch's MultiheadAttention loads and gives its outputs, weights and gradients", "[nn][torch]") {
    const auto names = cases("torch");
    CHECK(names.size() == 13);
    for (const std::string& name : names)
        every_way(name, [&](DType dtype) {
            const std::int64_t H = golden()(name + "/weights").size(-3);
            TorchRun run(name, dtype, H);
            const bool batched = run.query.rank() == 3;
            const Mask mask =
                torch_masks(name, batched ? run.query.size(0) : 1, H, run.query.size(-2), run.key.size(-2));
            const Tensor output = run.attention(run.query, run.key, run.value, mask);
            compare(name, output, run.inputs, nn::from_torch_multihead_attention(all_of(name, "grad")),
                    run.attention.named_parameters());
            const auto [again, weights] = run.attention.with_weights(run.query, run.key, run.value, mask);
            const double tolerance = dtype == float64 ? 1e-12 : 1e-5;
            CHECK(distance(again, golden()(name + "/out")) <= tolerance);
            CHECK(distance(weights, golden()(name + "/weights")) <= tolerance);
        });
}

TEST_CASE("PyTorch's key_padding_mask of lengths is Mask::padding; the other polarity gives something else",
          "[nn][torch]") {
    const std::string name = "torch/lengths";
    TorchRun run(name, float64, 2);
    CHECK(distance(run.attention(run.query, Mask::padding({4, 1, 3})), golden()(name + "/out")) <= 1e-12);
    const Tensor padding = golden()(name + "/key_padding_mask");  // (3, 4), true = blocked
    for (const Mask& mask : {Mask::keys(!padding), Mask::blocked(padding.unsqueeze(1)),
                             Mask::blocked(padding.unsqueeze(1).expand({3, 4, 4}))})
        CHECK(distance(run.attention(run.query, mask), golden()(name + "/out")) <= 1e-12);
    CHECK(distance(run.attention(run.query, Mask::keys(padding)), golden()(name + "/out")) > 1e-2);
}

TEST_CASE("PyTorch's function takes true for visible: Mask::allowed", "[nn][torch]") {
    const auto names = cases("sdpa");
    CHECK(names.size() == 3);
    for (const std::string& name : names)
        every_way(name, [&](DType dtype) {
            const Inputs inputs{{"q", input(name + "/q", dtype)},
                                {"k", input(name + "/k", dtype)},
                                {"v", input(name + "/v", dtype)}};
            const auto attend = [&](const Mask& mask) {
                return scaled_dot_product_attention(inputs[0].second, inputs[1].second, inputs[2].second,
                                                    {.mask = mask});
            };
            const bool masked = golden().has(name + "/attn_mask");
            const Mask mask = masked ? Mask::allowed(golden()(name + "/attn_mask")) : Mask();
            compare(name, attend(mask), inputs, {}, {});
            if (masked)
                CHECK(distance(attend(Mask::blocked(golden()(name + "/attn_mask"))), golden()(name + "/out")) >
                      1e-2);
        });
}

TEST_CASE("GPT-2's attention loads and gives its outputs and gradients", "[nn][torch]") {
    const auto names = cases("gpt2");
    CHECK(names.size() == 3);
    for (const std::string& name : names)
        every_way(name, [&](DType dtype) {
            const Tensor x = input(name + "/x", dtype);
            const std::int64_t H = name.ends_with("batch") ? 3 : name.ends_with("square") ? 1 : 2;
            if (name == "gpt2/batch") REQUIRE(x.shape() == Shape{2, 5, 12});
            Rng rng(1);
            nn::CausalMultiHeadAttention attention(x.size(-1), H, rng, {.max_seq_len = 8, .bias = true});
            attention.to(dtype);
            nn::NamedTensors state;
            for (const auto& [key, value] : all_of(name, "state"))
                state.emplace_back("h.3.attn." + key, value.to(dtype));
            state.emplace_back("h.3.attn.bias", ones({1, 1, 8, 8}));  // the masks that older files keep
            state.emplace_back("h.3.attn.masked_bias", full({}, -1e4));
            state.emplace_back("h.4.attn.c_attn.weight", zeros({2, 6}));  // another layer's
            attention.load_state_dict(nn::from_gpt2_attention(state, "h.3.attn."));
            compare(name, attention(x), {{"x", x}}, nn::from_gpt2_attention(all_of(name, "grad")),
                    attention.named_parameters());
        });
}

TEST_CASE("rotary positions are products of complex numbers", "[nn][rotary]") {
    every_way("rotary/from_0", [](DType dtype) {
        const Tensor x = input("rotary/from_0/x", dtype);
        compare("rotary/from_0", nn::rotary(x), {{"x", x}}, {}, {});
    });
    every_way("rotary/from_1000", [](DType dtype) {
        const Tensor x = input("rotary/from_1000/x", dtype);
        compare("rotary/from_1000", nn::rotary(x, 1000, 500), {{"x", x}}, {}, {});
    });
}

TEST_CASE("what a state cannot say, or says too much, is refused by name", "[nn][torch]") {
    const Tensor x = zeros({6, 2});
    const auto torch = [](const nn::NamedTensors& state, const std::string& prefix = "") {
        return message_of<ValueError>([&] { nn::from_torch_multihead_attention(state, prefix); });
    };
    const nn::NamedTensors good{{"in_proj_weight", x}, {"out_proj.weight", zeros({2, 2})}};
    CHECK(nn::from_torch_multihead_attention(good).size() == 2);
    const auto with = [&](const std::string& name) {
        nn::NamedTensors state = good;
        state.emplace_back(name, zeros({1, 1, 2}));
        return torch(state);
    };
    CHECK(contains(with("bias_k"), "'bias_k' comes from add_bias_kv"));
    CHECK(contains(with("bias_v"), "'bias_v' comes from add_bias_kv"));
    CHECK(contains(with("add_zero_attn"), "'add_zero_attn' is not known"));
    CHECK(contains(with("in_proj_weight"), "'in_proj_weight' occurs twice"));
    CHECK(contains(with("q_proj_weight"), "'k_proj_weight' is missing; found in_proj_weight, out_proj.weight"));
    CHECK(contains(torch({good[0]}), "'out_proj.weight' is missing; no name begins with ''"));
    CHECK(contains(torch(good, "layer."), "'layer.in_proj_weight' is missing; no name begins with 'layer.'"));
    CHECK(contains(torch({{"a.in_proj_weight", x}, {"a.out_proj.weight", x}}, "a"), "found a.in_proj_weight"));

    const auto gpt2 = [](const nn::NamedTensors& state) {
        return message_of<ValueError>([&] { nn::from_gpt2_attention(state); });
    };
    nn::NamedTensors small{
        {"c_attn.weight", zeros({2, 6})}, {"c_attn.bias", zeros({6})}, {"c_proj.weight", zeros({2, 2})}};
    CHECK(contains(gpt2(small), "'c_proj.bias' is missing"));
    small.emplace_back("c_proj.bias", zeros({2}));
    CHECK(nn::from_gpt2_attention(small)[0].second.shape() == Shape{6, 2});
    small.emplace_back("q_attn.weight", zeros({2, 2}));
    CHECK(contains(gpt2(small), "'q_attn.weight' is not known"));
    small[0].second = zeros({6, 2});
    refuses<ShapeError>("must be (C, 3C), not (6, 2); weights that are (3C, C), of layers x Wᵀ + b",
                        [&] { nn::from_gpt2_attention(small); });
    small[0].second = zeros({2, 5});
    refuses<ShapeError>("must be (C, 3C), not (2, 5)", [&] { nn::from_gpt2_attention(small); });
}
