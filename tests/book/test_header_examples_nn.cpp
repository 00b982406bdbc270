// The examples in the headers of weft::nn, line by line, with what they need before and what they claim after.
#include <cmath>
#include <iostream>

#include "catch.h"
#include "scratch.h"
#include "source.h"

using namespace weft;
using source::distance;
using source::same_bits;

namespace {

Tensor random_floats(const Shape& shape, std::uint64_t seed = 1) {
    return source::random(shape, seed, float32);
}

}  // namespace

// ---- layers

TEST_CASE("example of Linear", "[header-examples]") {
    Rng rng(1);
    const nn::Embedding table(50, 16, rng);
    const Tensor x = random_floats({2, 4});

    nn::Linear layer(4, 3, rng);
    const Tensor y = layer(x);        // (B, 4) → (B, 3)
    nn::Linear output(table.weight);  // no bias, and shares the weight of an nn::Embedding

    CHECK(y.shape() == Shape{2, 3});
    CHECK(distance(y, matmul(x, layer.weight.T()) + layer.bias) < 1e-6);
    CHECK(max(abs(layer.weight)).item() <= 0.5);
    CHECK_FALSE(output.bias.defined());
    CHECK(output.weight.handle() == table.weight.handle());
}

TEST_CASE("example of Embedding", "[header-examples]") {
    Rng rng(1);

    nn::Embedding tokens(50, 16, rng);
    const Tensor y = tokens(from_vector(std::vector<std::int64_t>{7, 3, 7}, {3}));  // (3) → (3, 16)

    CHECK(y.shape() == Shape{3, 16});
    CHECK(same_bits(y[0], tokens.weight[7]));
    CHECK(same_bits(y[0], y[2]));
    CHECK_FALSE(same_bits(y[0], y[1]));
}

TEST_CASE("example of LayerNorm", "[header-examples]") {
    const Tensor x = random_floats({2, 3, 64}) * 5 + 1;

    nn::LayerNorm norm(64);
    const Tensor y = norm(x);  // (B, T, 64) → (B, T, 64), each token with mean 0 and variance 1

    CHECK(y.shape() == x.shape());
    CHECK(max(abs(mean(y, -1))).item() < 1e-5);
    CHECK(max(abs(mean(y * y, -1) - 1)).item() < 1e-4);
}

TEST_CASE("example of Dropout", "[header-examples]") {
    Rng rng(1);
    const Tensor x = random_floats({100});

    nn::Dropout drop(0.5, rng);
    const Tensor noisy = drop(x);  // each element 0 or 2x
    drop.eval();
    const Tensor same = drop(x);  // x

    CHECK(all(noisy == 0 || noisy == 2 * x));
    CHECK(any(noisy == 0));
    CHECK(any(noisy == 2 * x));
    CHECK(same_bits(same, x));
}

namespace located_example {
struct Scale : nn::Module {
    nn::Parameter weight = register_parameter("weight", ones({3}));
    Tensor operator()(const Tensor& x) const {
        return nn::located(*this, [&] { return x * weight; });
    }
};
}  // namespace located_example

TEST_CASE("example of path and located", "[header-examples]") {
    const nn::Sequential model{nn::Linear(4, 3), nn::Linear(3, 2)};
    const std::string path = model.named_children()[1].second.path();  // "Sequential[1]"
    CHECK(path == "Sequential[1]");
    const nn::Sequential scaled{nn::Linear(4, 3), located_example::Scale()};
    CHECK(scaled(ones({2, 4})).shape() == Shape{2, 3});
    const nn::Sequential wrong{nn::Linear(4, 2), located_example::Scale()};
    CHECK(message_of<ShapeError>([&] { (void)wrong(ones({2, 4})); }).starts_with("Sequential[1]: multiply: "));
}

TEST_CASE("example of checkpoint", "[header-examples]") {
    Rng rng(1);
    const nn::Linear block(4, 4, rng);
    const Tensor x = random_floats({2, 4});

    const Tensor y = nn::checkpoint(block, x);  // the bits of block(x)

    CHECK(same_bits(y.detach(), block(x).detach()));
}

TEST_CASE("example of MLP", "[header-examples]") {
    Rng rng(1);
    const Tensor x = random_floats({2, 3, 64});

    nn::MLP mlp(64, rng);
    const Tensor y = mlp(x);  // (B, T, 64) → (B, T, 64), with 256 hidden units

    CHECK(y.shape() == Shape{2, 3, 64});
    CHECK(mlp.W_in.weight.shape() == Shape{256, 64});
    CHECK(distance(y, mlp.W_out(gelu(mlp.W_in(x), Gelu::tanh))) == 0);
}

TEST_CASE("example of Sequential", "[header-examples]") {
    Rng rng(1);
    const Tensor x = random_floats({5, 2});

    nn::Sequential net{nn::Linear(2, 8, rng), relu, nn::Linear(8, 1, rng)};
    const Tensor y = net(x);  // (B, 2) → (B, 1)
    net.at<nn::Linear>(0).weight.requires_grad_(false);

    CHECK(y.shape() == Shape{5, 1});
    CHECK_FALSE(net.named_parameters()[0].second.requires_grad());
    CHECK(message_of<IndexError>([&] { net.at<nn::Linear>(3); }) == "Sequential: no step 3; it has 3");
    CHECK(contains(message_of<ValueError>([&] { net.at<nn::Linear>(1); }), "step 1 is of another type"));
    const nn::NamedTensors state = net.state_dict();
    CHECK(state.front().first == "0.weight");
    const Tensor hidden = relu(linear(x, state[0].second, state[1].second));
    CHECK(same_bits(y, linear(hidden, state[2].second, state[3].second)));
}

TEST_CASE("examples of clone and Shared", "[header-examples]") {
    Rng rng(1);
    const nn::Linear layer(3, 2, rng);
    {
        const nn::Linear average = nn::clone(layer);  // of the weights over time, for example
        const NoGrad off;
        Tensor w = average.weight;
        w.mul_(0.99).add_(layer.weight, 0.01);

        CHECK(distance(average.weight, layer.weight) < 1e-6);
        CHECK_FALSE(average.weight.shares_storage(layer.weight));
    }
    struct Counted : nn::Module {
        nn::Shared<int> calls{std::make_shared<int>(0)};
    };
    const Counted a, b = a, c = nn::clone(a);
    ++*a.calls;  // *b.calls is 1, *c.calls is 0

    CHECK(*b.calls == 1);
    CHECK(*c.calls == 0);
}

TEST_CASE("examples of Cloning, groups and the rules of optimisers", "[header-examples]") {
    {
        const nn::Linear layer(2, 2);
        const nn::Cloning copies;
        const nn::Linear copy = layer;  // has tensors of its own, as nn::clone(layer)

        CHECK_FALSE(copy.weight.shares_storage(layer.weight));
        CHECK(same_bits(copy.weight, layer.weight));
    }
    {
        Tensor w = ones({2, 2}), b = ones({2});
        nn::init::constant_(w, 0.5);
        nn::init::ones_(w);
        nn::init::zeros_(b);

        CHECK(same_bits(w, ones({2, 2})));
        CHECK(same_bits(b, zeros({2})));
    }
    {
        struct Model : nn::Module {
            nn::Linear head = register_module("head", nn::Linear(2, 2));
        };
        const Model model;
        const optim::ParameterGroup<optim::SGDOptions> head{model.head, {.lr = 0.1}};

        CHECK(head.parameters.size() == 2);
        CHECK(head.options.lr == 0.1);
    }
    {
        optim::check_beta(0.9, "beta1");  // throws nothing
        CHECK(contains(message_of<ValueError>([] { optim::check_beta(1, "beta1"); }), "beta1"));
        const std::vector<double> rates = optim::in_ratio({0.5, 0.25}, 0.1);  // 0.1 and 0.05
        CHECK(rates == std::vector{0.1, 0.05});
    }
    Tensor w = zeros({2, 2});
    const Tensor g = eye(2);
    std::vector<Tensor> moments{zeros({2, 2})};  // one, because moment_names(options).size() is 1
    const optim::MuonOptions options{.lr = 0.1};
    optim::check(options);
    optim::check(options, {{"w", w}});
    optim::update({w, g, moments, 1}, options);
    const std::vector<const char*> names = optim::moment_names(options);

    CHECK(names.size() == 1);
    CHECK(w.at(0, 0) < -0.05);  // a step against an orthogonal matrix
    CHECK(w.at(0, 1) == Approx(0).margin(1e-6));
}

TEST_CASE("examples of the activations", "[header-examples]") {
    Rng rng(1);
    {
        const nn::Sequential net{nn::Flatten(), nn::Linear(6, 4), nn::ReLU(), nn::Linear(4, 1), nn::Tanh()};
        const Tensor y = net(ones({3, 2, 3}));  // (3, 2, 3) → (3, 1)

        const nn::NamedTensors p = net.named_parameters();
        const Tensor hidden = relu(linear(ones({3, 6}), p[0].second, p[1].second));
        CHECK(same_bits(y, tanh(linear(hidden, p[2].second, p[3].second))));
        CHECK(p[2].first == "3.weight");
    }
    const Tensor x = random_floats({3, 2, 2});
    {
        const nn::GELU activation(Gelu::tanh);
        const Tensor y = activation(zeros({2}));  // [0, 0]

        CHECK(same_bits(y, zeros({2})));
        CHECK(same_bits(activation(x), gelu(x, Gelu::tanh)));
        CHECK(same_bits(nn::GELU()(x), gelu(x)));
    }
    {
        const Tensor y = nn::Tanh()(zeros({2}));  // [0, 0]

        CHECK(same_bits(y, zeros({2})));
        CHECK(same_bits(nn::Tanh()(x), tanh(x)));
        CHECK(same_bits(nn::ReLU()(x), relu(x)));
    }
    {
        const Tensor y = nn::SiLU()(zeros({2}));  // [0, 0]

        CHECK(same_bits(y, zeros({2})));
        CHECK(same_bits(nn::SiLU()(x), silu(x)));
    }
    {
        const Tensor y = nn::Flatten()(ones({5, 2, 3}));  // (5, 6)

        CHECK(y.shape() == Shape{5, 6});
        CHECK(nn::Flatten(0)(x).shape() == Shape{12});
    }
    const Tensor y = nn::Identity()(x);  // x itself
    CHECK(y.handle() == x.handle());
}

TEST_CASE("example of ModuleList", "[header-examples]") {
    Rng rng(1);
    Tensor x = random_floats({2, 8});

    nn::ModuleList<nn::Linear> layers;
    for (int i = 0; i < 3; ++i) layers.append(nn::Linear(8, 8, rng));
    for (const nn::Linear& layer : layers) x = relu(layer(x));  // (B, 8) → (B, 8)

    CHECK(x.shape() == Shape{2, 8});
    CHECK(layers.size() == 3);
    CHECK(layers.named_parameters().back().first == "2.bias");
}

TEST_CASE("examples of uniform and normal", "[header-examples]") {
    Rng rng(1);
    {
        const Tensor w = nn::uniform({4, 3}, -0.5, 0.5, rng);  // (4, 3)

        CHECK(w.shape() == Shape{4, 3});
        CHECK(min(w).item() >= -0.5);
        CHECK(max(w).item() < 0.5);
    }
    const Tensor w = nn::normal({4, 3}, 0, 0.02, rng);  // (4, 3)

    CHECK(w.shape() == Shape{4, 3});
    CHECK(max(abs(w)).item() < 0.2);
}

// ---- modules

TEST_CASE("example of a module that registers its members where it declares them", "[header-examples]") {
    struct Net : nn::Module {
        nn::Linear hidden = register_module("hidden", nn::Linear(2, 16));
        nn::Linear out = register_module("out", nn::Linear(16, 1));
        nn::Parameter scale = register_parameter("scale", ones({1}));
        Tensor operator()(const Tensor& x) const { return scale * out(relu(hidden(x))); }  // (B, 2) → (B, 1)
    };

    const Net net;
    CHECK(net.num_parameters() == 32 + 16 + 16 + 1 + 1);
    CHECK(net(random_floats({3, 2})).shape() == Shape{3, 1});
}

TEST_CASE("example of Parameter", "[header-examples]") {
    nn::Linear layer(2, 2);
    nn::Parameter w = layer.weight;  // a copy is the same tensor
    const NoGrad off;
    w.copy_(eye(2));           // w = eye(2) does not compile
    w.set_data(ones({2, 3}));  // of another shape: now layer is (B, 3) → (B, 2)

    CHECK(layer(ones({4, 3})).shape() == Shape{4, 2});
}

TEST_CASE("example of a module of one's own", "[header-examples]") {
    struct Scale : nn::Module {
        nn::Parameter weight;
        explicit Scale(std::int64_t n) : Module("Scale"), weight(register_parameter("weight", ones({n}))) {}
        Tensor operator()(const Tensor& x) const { return x * weight; }
    };

    const Scale scale(3);
    CHECK(scale.kind() == "Scale");
    CHECK(scale.num_parameters() == 3);
    const Tensor x = random_floats({2, 3});
    CHECK(same_bits(scale(x), x));
    CHECK(scale(x).requires_grad());
}

TEST_CASE("example of EvalMode", "[header-examples]") {
    Rng rng(1);
    const nn::Sequential net{nn::Dropout(0.9, rng)};
    const Tensor x = ones({50});

    {
        const nn::EvalMode eval;
        const Tensor y = net(x);  // without dropout

        CHECK_FALSE(net.training());
        CHECK(same_bits(y, x));
    }
    CHECK(net.training());
    CHECK_FALSE(same_bits(net(x), x));
}

TEST_CASE("example of Module", "[header-examples]") {
    Rng rng(1);

    nn::Linear a(4, 3, rng), b(4, 3, rng);
    b.load_state_dict(a.state_dict());                      // copies the values of a
    for (const auto& [name, value] : b.named_parameters())  // "weight" (3, 4), "bias" (3,)
        std::cout << name << " " << value.shape().str() << "\n";
    b.to(float64);

    CHECK(b.named_parameters()[0].first == "weight");
    CHECK(b.named_parameters()[1].first == "bias");
    CHECK(b.weight.dtype() == float64);
    CHECK(a.weight.dtype() == float32);
    CHECK(same_bits(b.weight.to(float32), a.weight));
    CHECK(same_bits(b.bias.to(float32), a.bias));
}

// ---- attention

TEST_CASE("example of split_heads and merge_heads", "[header-examples]") {
    const Tensor x = random_floats({2, 3, 8});

    const Tensor q = nn::split_heads(x, 4);    // (B, T, C) → (B, 4, T, C/4)
    const Tensor merged = nn::merge_heads(q);  // (B, T, C), x again

    CHECK(q.shape() == Shape{2, 4, 3, 2});
    CHECK(q.at({1, 3, 2, 1}) == x.at({1, 2, 7}));
    CHECK(same_bits(merged, x));
}

TEST_CASE("example of MultiHeadAttention", "[header-examples]") {
    Rng rng(1);
    const Tensor x = random_floats({2, 5, 64}), memory = random_floats({2, 7, 64}, 2);

    nn::MultiHeadAttention attention(64, 8, rng);
    const Tensor y = attention(x);                              // self-attention, (B, T, 64) → the same
    const Tensor z = attention(x, memory, memory);              // cross-attention to memory (B, S, 64)
    const Tensor padded = attention(x, Mask::padding({5, 3}));  // two samples, of 5 and 3 tokens
    const Tensor weights = attention.with_weights(x).weights;   // (B, 8, T, T)

    CHECK(y.shape() == x.shape());
    CHECK(z.shape() == x.shape());
    CHECK(distance(padded[0], y[0]) < 1e-6);
    CHECK(distance(padded[1].slice(0, 0, 3), attention(x[1].slice(0, 0, 3))) < 1e-6);
    CHECK(weights.shape() == Shape{2, 8, 5, 5});
    CHECK(max(abs(sum(weights, -1) - 1)).item() < 1e-5);
}

TEST_CASE("examples of Mask::keys, documents and first_keys", "[header-examples]") {
    const nn::MultiHeadAttention attention(64, 8);
    {
        const Tensor x = randn({2, 4, 64}), memory = randn({2, 3, 64});

        const Mask real = Mask::keys(tensor({{0, 1, 1}, {1, 1, 1}}, boolean));  // padded on the left
        const Tensor y = attention(x, memory, memory, real);                    // memory (2, 3, 64)

        const Tensor seen = memory.slice(1, 1, 3);
        CHECK(max(abs(y - attention(x, seen, seen))[0]).item() < 1e-6);
        CHECK(max(abs(y - attention(x, memory, memory))[1]).item() < 1e-6);
    }
    {
        const Tensor x = randn({1, 5, 64});

        const Mask packed = Mask::causal() | Mask::documents(tensor({0, 0, 1, 1, 1}, int64));
        const Tensor y = attention(x, packed);  // x (1, 5, 64): what each of the two documents gives alone

        const Tensor last = x.slice(1, 2, 5);
        CHECK(max(abs(y.slice(1, 2, 5) - attention(last, Mask::causal()))).item() < 1e-6);
    }
    const Mask whole = Mask::keys(tensor({0, 1, 1, 1}, boolean));
    const Tensor blocked = whole.first_keys(3).materialize(1, 1, 1, 3)[0][0];  // [[1, 0, 0]]
    CHECK(blocked.to_vector<bool>() == std::vector<bool>{1, 0, 0});
}

TEST_CASE("examples of CausalMultiHeadAttention", "[header-examples]") {
    Rng rng(1);
    const Tensor x = random_floats({2, 5, 64});

    nn::CausalMultiHeadAttention attention(64, 8, rng, {.max_seq_len = 128});
    const Tensor y = attention(x);  // (B, T, 64) → (B, T, 64)

    CHECK(y.shape() == x.shape());
    CHECK(distance(attention(x.slice(1, 0, 3)), y.slice(1, 0, 3)) < 1e-6);

    SECTION("decoding") {
        const Tensor prompt = x[0].slice(0, 0, 4), token = x[0].slice(0, 4, 5);

        nn::KeyValueCache cache;
        const NoGrad off;
        const Tensor y = attention(prompt, cache);    // (T, 64) → (T, 64), and fills the cache
        const Tensor next = attention(token, cache);  // (1, 64) → (1, 64), attends to T + 1 tokens

        CHECK(cache.length() == 5);
        const Tensor all_at_once = attention(x[0]);
        CHECK(distance(y, all_at_once.slice(0, 0, 4)) < 1e-6);
        CHECK(distance(next, all_at_once.slice(0, 4, 5)) < 1e-6);
    }
}

TEST_CASE("example of KeyValueCache", "[header-examples]") {
    const Tensor k = random_floats({2, 3, 5, 4}), v = random_floats({2, 3, 5, 4}, 2);

    NoGrad off;
    nn::KeyValueCache cache;
    cache.append(k, v);                              // k and v (B, G, 5, d_k)
    const auto [keys, values] = cache.append(k, v);  // (B, G, 10, d_k) each
    cache.truncate(5);                               // the first five tokens

    CHECK(same_bits(keys, cat({k, k}, -2)));
    CHECK(same_bits(values, cat({v, v}, -2)));
    CHECK(cache.length() == 5);
}

TEST_CASE("example of fused_state and separate_state", "[header-examples]") {
    Rng rng(1);
    nn::MultiHeadAttention fused(8, 2, rng), separate(8, 2, rng, {.fused = false});
    const Tensor x = random_floats({3, 8});
    const Tensor before = separate(x);

    fused.load_state_dict(nn::fused_state(separate.state_dict()));
    separate.load_state_dict(nn::separate_state(fused.state_dict()));

    CHECK(distance(fused(x), before) < 1e-6);
    CHECK(same_bits(separate(x), before));
}

TEST_CASE("example of from_gpt2_attention", "[header-examples]") {
    Rng rng(1);
    const nn::NamedTensors gpt2{{"h.0.attn.c_attn.weight", random_floats({768, 3 * 768})},
                                {"h.0.attn.c_attn.bias", random_floats({3 * 768})},
                                {"h.0.attn.c_proj.weight", random_floats({768, 768})},
                                {"h.0.attn.c_proj.bias", random_floats({768})}};

    nn::CausalMultiHeadAttention attention(768, 12, rng, {.bias = true});
    attention.load_state_dict(nn::from_gpt2_attention(gpt2, "h.0.attn."));

    CHECK(same_bits(attention.W_qkv.weight.T(), gpt2[0].second));
    CHECK(same_bits(attention.W_qkv.bias, gpt2[1].second));
    CHECK(same_bits(attention.W_out.weight.T(), gpt2[2].second));
}

TEST_CASE("example of from_flax", "[header-examples]") {
    const Scratch scratch;
    const std::filesystem::path path = scratch / "params.npz";
    const Tensor kernel = random_floats({64, 192}), bias = random_floats({192});
    io::save_npz(path, {{"Dense_0/kernel", kernel},
                        {"Dense_0/bias", bias},
                        {"Dense_1/kernel", random_floats({64, 64})},
                        {"Dense_1/bias", random_floats({64})}});
    nn::CausalMultiHeadAttention attention(64, 8, {.bias = true});

    const io::NamedTensors params = io::load_npz(path);  // "Dense_0/kernel" (64, 192), "Dense_0/bias", …
    attention.load_state_dict(nn::from_flax(params, {{"Dense_0", "W_qkv"}, {"Dense_1", "W_out"}}));

    CHECK(same_bits(attention.W_qkv.weight.T(), kernel));
    CHECK(same_bits(attention.W_qkv.bias, bias));
}

TEST_CASE("example of rotary", "[header-examples]") {
    const std::int64_t T = 3;
    const Tensor q = source::random({2, 4, T, 6}), k = source::random({2, 4, T, 6}, 2);

    const Tensor y = nn::rotary(q);        // q (B, H, T, d_k), positions 0 … T − 1
    const Tensor next = nn::rotary(q, T);  // positions T … 2T − 1

    CHECK(y.shape() == q.shape());
    const auto products = [](const Tensor& a, const Tensor& b) { return matmul(a, b.transpose(-2, -1)); };
    CHECK(distance(products(y, nn::rotary(k)), products(next, nn::rotary(k, T))) < 1e-12);
}

// ---- blocks

TEST_CASE("example of TransformerBlock", "[header-examples]") {
    Rng rng(1);
    const Tensor x = random_floats({2, 5, 64});

    nn::TransformerBlock block(64, 8, rng, {.max_seq_len = 128, .dropout = 0.1});
    const Tensor y = block(x);  // (B, T, 64) → (B, T, 64)

    CHECK(y.shape() == x.shape());
    CHECK(block.attn.max_seq_len == 128);
}

TEST_CASE("examples of EncoderBlock and DecoderBlock", "[header-examples]") {
    Rng rng(1);
    const std::vector<std::int64_t> lengths{4, 2};
    const Tensor source = random_floats({2, 4, 64}), target = random_floats({2, 3, 64}, 2);

    nn::EncoderBlock encoder(64, 8, rng);
    const Tensor memory = encoder(source, Mask::padding(lengths));  // (B, S, 64) → (B, S, 64)

    CHECK(memory.shape() == source.shape());
    CHECK(distance(memory[1].slice(0, 0, 2), encoder(source[1].slice(0, 0, 2))) < 1e-5);

    nn::DecoderBlock decoder(64, 8, rng);
    const Tensor y = decoder(target, memory, Mask::padding(lengths));  // (B, T, 64) → (B, T, 64)

    CHECK(y.shape() == target.shape());
    CHECK(distance(y[1], decoder(target[1], memory[1].slice(0, 0, 2))) < 1e-5);
}

// ---- checks

TEST_CASE("example of gradcheck", "[header-examples]") {
    Rng rng(1);

    const Tensor x = randn({3, 4}, rng, float64).requires_grad_();
    const auto report = check::gradcheck("gelu", [](const auto& in) { return gelu(in[0]); }, {x});
    if (!report) std::cout << report.message;

    CHECK(report.passed);
    CHECK(report.elements == 12);
}

TEST_CASE("example of gradcheck on a module", "[header-examples]") {
    Rng rng(1);
    nn::MultiHeadAttention attention(4, 2, rng);
    const Tensor x = randn({3, 4}, rng, float64).requires_grad_();

    attention.to(float64);
    const auto all = check::gradcheck("attention", [&](const auto& in) { return attention(in[0]); }, {x},
                                      {.parameters = attention.parameters()});

    INFO(all.message);
    CHECK(all.passed);
    CHECK(all.elements == 12 + 4 * 16);
}

namespace {

// What the examples of training have: a model, a batch and a loss.
struct Training {
    Rng rng{1};
    nn::Sequential model{nn::Linear(3, 8, rng), relu, nn::Linear(8, 1, rng)};
    Tensor batch() const { return random_floats({16, 3}); }
    Tensor loss_of(const Tensor& x) const { return mse_loss(model(x), sum(x, -1, keepdim)); }
    double loss() const { return loss_of(batch()).item(); }
};

}  // namespace

TEST_CASE("example of gradient_flow", "[header-examples]") {
    const Training training;
    const nn::Module& model = training.model;
    const auto batch = [&] { return training.batch(); };
    const auto loss_of = [&](const Tensor& x) { return training.loss_of(x); };

    loss_of(batch()).backward();
    const check::FlowReport report = check::gradient_flow(model);
    if (!report.passed()) report.print();

    CHECK(report.passed());
    CHECK(report.rows.size() == 4);
}

TEST_CASE("example of gradient_flow of a loss", "[header-examples]") {
    const Training training;
    const nn::Module& model = training.model;
    const auto batch = [&] { return training.batch(); };
    const auto loss_of = [&](const Tensor& x) { return training.loss_of(x); };

    const Tensor loss = loss_of(batch());
    loss.backward();
    check::gradient_flow(model, loss).print();

    CHECK(check::gradient_flow(model, loss).rows.size() == 4);
}

TEST_CASE("example of first_step", "[header-examples]") {
    const Training training;
    const nn::Module& model = training.model;
    const auto batch = [&] { return training.batch(); };
    const auto loss_of = [&](const Tensor& x) { return training.loss_of(x); };
    optim::SGD optimizer(model, {.lr = 0.1});
    const double before = training.loss();

    check::first_step(model, optimizer.lr(), [&] {
        loss_of(batch()).backward();
        optimizer.step();
    });

    CHECK(training.loss() < before);
    const auto nothing = [] { return check::first_step(nn::Linear(Tensor(ones({1, 1}))), 0.1, [] {}); };
    CHECK(contains(message_of<GraphError>(nothing), "weight (1, 1) gets no gradient"));
}

TEST_CASE("example of check_finite", "[header-examples]") {
    const Tensor y = from_vector(std::vector<float>{1, NAN, 3, 4}, {2, 2});
    const auto checked = [&] {
        check::check_finite(y, "output");  // ValueError: output: nan at (0, 1) of (2, 2) is not finite
        return 0;
    };

    CHECK(message_of<ValueError>(checked) == "output: nan at (0, 1) of (2, 2) is not finite");
}

TEST_CASE("examples of the attention checklist", "[header-examples]") {
    Rng rng(1);
    const nn::CausalMultiHeadAttention attention(8, 2, rng);
    const auto my_attention = [&](const Tensor& x, const Mask& extra_mask) { return attention(x, extra_mask); };
    {
        const Tensor x = random_floats({2, 4, 8});

        check::AttentionSubject subject{my_attention, 2};
        subject.mask = Mask::causal();
        const check::AttentionReport report = check::attention(subject, x);
        if (!report.passed()) report.print();

        CHECK(report.passed());
    }
    const Tensor x = random_floats({2, 4, 64});

    const auto report = check::attention(nn::MultiHeadAttention(64, 8, rng), x);  // x (B, T, 64)

    CHECK(report.passed());
    CHECK(report.checks.size() == 18);
}

TEST_CASE("example of the mask oracle", "[header-examples]") {
    const Tensor blocked = from_vector(std::vector<bool>{true, true}, {1, 2});
    const check::MaskTable table = check::mask_oracle(zeros({2}), Mask::blocked(blocked));
    const Tensor added = table[check::MaskRule::add].weights;  // (1, 2): 0.5 and 0.5, the mask has no effect
    const Tensor safe = table[check::MaskRule::safe].weights;  // (1, 2): 0 and 0

    CHECK(same_bits(added, full({1, 2}, 0.5)));
    CHECK(same_bits(safe, zeros({1, 2})));
}

// ---- optimisers

TEST_CASE("example of a training loop", "[header-examples]") {
    const Training training;
    const nn::Module& model = training.model;
    const auto batch = [&] { return training.batch(); };
    const auto loss_of = [&](const Tensor& x) { return training.loss_of(x); };
    const double before = training.loss();
    const int steps = 150;

    optim::AdamW optimizer(model, {.lr = 3e-4, .weight_decay = 0.1});
    for (int step = 0; step < steps; ++step) {
        optimizer.set_lr(optim::cosine_lr(step, {.lr = 3e-4, .warmup_steps = 100, .steps = steps}));
        optimizer.zero_grad();
        loss_of(batch()).backward();
        optim::clip_grad_norm(model, 1.0);
        optimizer.step();
    }

    CHECK(optimizer.steps() == 150);
    CHECK(training.loss() < before);
}

TEST_CASE("example of decay_groups", "[header-examples]") {
    const nn::Module model = Training().model;

    optim::AdamW optimizer(optim::decay_groups(model, optim::AdamWOptions{.lr = 3e-4, .weight_decay = 0.1}));

    CHECK(optimizer.groups()[0].parameters.size() == 2);  // two weights
    CHECK(optimizer.options(0).weight_decay == 0.1);
    CHECK(optimizer.groups()[1].parameters.size() == 2);  // two biases
    CHECK(optimizer.options(1).weight_decay == 0);
    CHECK(optimizer.lr() == 3e-4);
}

namespace {

struct SignOptions {
    double lr = 1e-3;
};
std::vector<const char*> moment_names(const SignOptions&) { return {}; }
void check(const SignOptions& options) { optim::check_rate(options.lr, "lr"); }
void update(const optim::Update& u, const SignOptions& options) {
    u.parameter.add_(sign(u.gradient), -options.lr);
}
using SignDescent = optim::Optimizer<SignOptions>;

}  // namespace

TEST_CASE("example of a rule of one's own", "[header-examples]") {
    Tensor p = ones({2}).requires_grad_();
    SignDescent optimizer({p}, {.lr = 0.25});
    sum(p * from_vector(std::vector<float>{3, -5}, {2})).backward();
    optimizer.step();

    CHECK(p.to_vector<float>() == std::vector<float>{0.75f, 1.25f});
    CHECK_THROWS_AS(SignDescent({p}, {.lr = -1}), ValueError);
}

TEST_CASE("example of Optimizer", "[header-examples]") {
    const Training training;
    const nn::Module& model = training.model;
    const auto batch = [&] { return training.batch(); };
    const auto loss_of = [&](const Tensor& x) { return training.loss_of(x); };
    const double before = training.loss();

    optim::SGD optimizer(model, {.lr = 0.1, .momentum = 0.9});
    loss_of(batch()).backward();
    optimizer.step();
    const nn::NamedTensors state = optimizer.state_dict();  // to save, and to resume with load_state_dict

    CHECK(training.loss() < before);
    optim::SGD resumed(model, {.lr = 0.1, .momentum = 0.9});
    resumed.load_state_dict(state);
    CHECK(resumed.steps() == 1);
}

TEST_CASE("example of cosine_lr", "[header-examples]") {
    const double rate = optim::cosine_lr(50, {.lr = 0.1, .steps = 100});  // 0.05, half way down

    CHECK(rate == Approx(0.05));
}

TEST_CASE("conv2d.h, batch_norm.h: layers for images", "[header-examples]") {
    Rng rng(1);
    const Tensor image = randn({2, 1, 28, 28}, rng);
    Tensor maps;
    {
        const Tensor& x = image;
        nn::Conv2d conv(1, 6, 5, rng, {.padding = 2});
        const Tensor y = relu(conv(x));  // (N, 1, 28, 28) → (N, 6, 28, 28)
        CHECK(y.shape() == Shape{2, 6, 28, 28});
        maps = y;
    }
    const Tensor& x = maps;
    nn::BatchNorm norm(6);
    const Tensor y = norm(x);  // (N, 6, H, W) → the same, each channel with mean 0 and variance 1
    norm.eval();               // from now on with norm.running_mean and norm.running_var
    CHECK(allclose(mean(y, {0, 2, 3}), zeros({6}), 0, 1e-5));
    CHECK(allclose(var(y, {0, 2, 3}), ones({6}), 1e-2));
    CHECK_FALSE(allclose(norm(x), y));
}

TEST_CASE("examples of step_lr, linear_lr and one_cycle_lr", "[header-examples]") {
    {
        const double rate = optim::step_lr(60, {.lr = 0.1, .step_size = 30});  // 0.001, after two falls
        CHECK(rate == Approx(0.001));
    }
    {
        const double rate = optim::linear_lr(5, {.lr = 0.1, .start_factor = 0, .total_iters = 10});  // 0.05
        CHECK(rate == Approx(0.05));
    }
    {
        const double rate = optim::one_cycle_lr(29, {.max_lr = 0.1, .total_steps = 100});  // 0.1, the highest
        CHECK(rate == Approx(0.1));
    }
}

TEST_CASE("example of clip_grad_norm", "[header-examples]") {
    const Training training;
    const nn::Module& model = training.model;
    (100 * training.loss_of(training.batch())).backward();

    const double norm = optim::clip_grad_norm(model, 1.0);  // the norm before clipping

    CHECK(norm > 1);
    CHECK(optim::clip_grad_norm(model, 1.0) == Approx(1));
}

TEST_CASE("examples of RotaryOptions and RotaryTable", "[header-examples]") {
    const Tensor q = source::random({2, 4, 8, 16}, 1, float32), k = source::random({2, 4, 8, 16}, 2, float32);
    const Tensor of_llama = [&] {
        const nn::RotaryOptions llama{.base = 500000, .pairs = nn::RotaryPairs::halves};
        const Tensor y = nn::rotary(q, 0, llama);  // (B, H, T, d_k)
        return y;
    }();
    CHECK(of_llama.shape() == q.shape());

    const nn::RotaryTable table = nn::rotary_table(0, 8, 16, {}, float32);  // 8 positions, heads of width 16
    const Tensor y = nn::rotary(q, table), z = nn::rotary(k, table);        // (B, H, 8, 16)
    CHECK(source::same_bits(y, nn::rotary(q)));
    CHECK(source::same_bits(z, nn::rotary(k)));

    nn::RotaryOptions longer;
    longer.scaling = {.kind = nn::RotaryScaling::dynamic, .factor = 2, .original_length = 64};

    const std::int64_t at_64 = nn::rotary_length(longer, 64);  // 0
    const std::int64_t at_65 = nn::rotary_length(longer, 65);  // 65: other angles
    CHECK(at_64 == 0);
    CHECK(at_65 == 65);
}
