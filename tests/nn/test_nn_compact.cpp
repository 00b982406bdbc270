// Modules whose weights are half or in blocks, and caches of half size.
#include <sstream>

#include "catch.h"
#include "environment.h"
#include "refusal.h"
#include "source.h"
#include "weft/check/gradcheck.h"

using namespace weft;
using source::difference;

namespace {

lm::GPT small_gpt(double seed = 1) {
    Rng rng(static_cast<std::uint64_t>(seed));
    return lm::GPT({.vocab_size = 40,
                    .block_size = 12,
                    .num_layers = 2,
                    .num_heads = 2,
                    .d_model = 32,
                    .bias = true,
                    .attention = {.num_kv_heads = 1}},
                   rng);
}

const DType forms[] = {bfloat16, float16, DType::Q8_0, DType::Q4_0, DType::Q4_1};

// The weights that are held in fewer bits, by their names.
std::vector<std::string> compact_names(const nn::Module& model) {
    std::vector<std::string> names;
    for (const auto& [name, x] : model.named_parameters())
        if (!takes_gradient(x.dtype())) names.push_back(name);
    return names;
}

// x Wᵀ + x Aᵀ, where W may be half or in blocks.
struct Adapted : nn::Module {
    nn::Linear base = register_module("base", nn::Linear(32, 32));
    nn::Parameter A = register_parameter("A", 0.1 * ones({32, 32}));
    Tensor operator()(const Tensor& x) const { return base(x) + linear(x, A); }
};

}  // namespace

TEST_CASE("a model holds the weights of its layers and tables in fewer bits, and all else in float32",
          "[nn][packed]") {
    const Tensor ids = randint(0, 40, {3, 12});
    for (const DType form : forms) {
        lm::GPT model = small_gpt(), wide = small_gpt();
        const std::int64_t parameters = model.num_parameters();
        model.to(form);
        CHECK(compact_names(model) ==
              std::vector<std::string>{"token_embedding.weight", "position_embedding.weight",
                                       "blocks.0.attn.W_qkv.weight", "blocks.0.attn.W_out.weight",
                                       "blocks.0.mlp.W_in.weight", "blocks.0.mlp.W_out.weight",
                                       "blocks.1.attn.W_qkv.weight", "blocks.1.attn.W_out.weight",
                                       "blocks.1.mlp.W_in.weight", "blocks.1.mlp.W_out.weight"});
        CHECK(model.num_parameters() == parameters);
        CHECK(model.head.weight.handle() == model.token_embedding.weight.handle());  // still tied
        for (const Tensor& x : model.parameters())
            CHECK(x.requires_grad() == (x.rank() == 1));  // norms and biases are trained
        const lm::GPTMemory memory = lm::memory_of(model.config, form);
        std::ostringstream summary;
        summary << model;
        std::string bytes = std::to_string(memory.weights);
        for (std::size_t i = bytes.size() - 3; i < bytes.size(); i -= 3)
            if (i > 0) bytes.insert(i, ",");
        CHECK(contains(summary.str(), "(" + bytes + " bytes)"));

        // The same logits as from the rounded weights, whole, one at a time, and after a way back.
        const NoGrad off;
        for (auto& [name, x] : wide.named_parameters()) {
            const auto held = model.named_parameters();
            for (const auto& [other, y] : held)
                if (name == other) x.copy_(y.to(float32));
        }
        const Tensor expected = wide(ids), logits = model(ids);
        const double largest = max(abs(expected)).item();
        CHECK(difference(logits, expected) < 1e-5 * largest);
        CHECK(difference(logits, small_gpt()(ids)) > 1e-5 * largest);  // they were rounded
        std::vector<nn::KeyValueCache> caches = model.make_caches();
        for (std::int64_t t = 0; t < 12; ++t)
            CHECK(difference(model(ids.slice(1, t, t + 1), caches).select(1, 0), expected.select(1, t)) <
                  1e-5 * largest);
        lm::GPT copy = nn::clone(model);
        CHECK(same_bits(copy(ids), logits));
        copy.to(float32);
        CHECK(compact_names(copy).empty());
        CHECK(difference(copy(ids), expected) < 1e-5 * largest);
        for (const Tensor& x : copy.parameters()) CHECK(x.requires_grad());
        CHECK(same_bits(model(ids), logits));  // the clone's way back did not touch the model
        copy.to(float64);
        CHECK(difference(copy(ids).to(float32), expected) < 1e-5 * largest);
    }
}

TEST_CASE("beside weights in blocks the rest is trained", "[nn][packed]") {
    lm::GPT model = small_gpt();
    model.pack(DType::Q8_0);
    const Tensor ids = randint(0, 40, {3, 12});
    optim::AdamW optimizer(model, {.lr = 0.02});
    const auto loss = [&] { return cross_entropy(model(ids.slice(1, 0, 11)), ids.slice(1, 1, 12)); };
    const double before = loss().item();
    for (int step = 0; step < 20; ++step) {
        optimizer.zero_grad();
        loss().backward();
        optimizer.step();
    }
    CHECK(loss().item() < before - 0.1);
    CHECK(is_quantized(model.token_embedding.weight.dtype()));
}

TEST_CASE("an adapter beside weights in blocks or of half size is checkpointed, recorded, checked and saved",
          "[nn][packed]") {
    const Tensor x = randn({4, 32}).requires_grad_();
    for (const DType form : forms) {
        Adapted net;
        net.to(form);
        const Tensor W = net.base.weight;
        const std::vector<Tensor> expected = grad({sum(net(x) * net(x))}, {x, net.A});
        const auto agrees = [&](const Tensor& y, const std::vector<Tensor>& wanted) {
            const std::vector<Tensor> found = grad({sum(y * y)}, wanted);
            for (std::size_t i = 0; i < found.size(); ++i)
                CHECK(difference(found[i], expected[i]) < 1e-4 * max(abs(expected[i])).item());
        };
        agrees(nn::checkpoint(net, x), {x, net.A});
        agrees(checkpoint([&](const auto& in) { return net(in[0]); }, {x}, net.parameters()), {x, net.A});
        agrees(checkpoint([&](const auto& in) { return linear(in[0], in[1]) + in[2]; },
                          {x, W, linear(x, net.A) + net.base.bias}),
               {x, net.A});
        const auto rest = linear(x, net.A).detach() + net.base.bias.detach();
        const auto product = [&](const std::vector<Tensor>& in) { return linear(in[0], in[1]) + rest; };
        const auto dx = [&](const Saved& saved, const Tensor& dy) {
            const Tensor& w = saved[1];
            return Grads{matmul(dy, w.to(float32)), {}};
        };
        const Tensor y = product({x.detach(), W});
        const std::vector<Tensor> of_base = grad({sum(product({x, W}) * product({x, W}))}, {x});
        for (const Tensor& z : {record("mine", y.clone(), {x, W}, {x, W}, dx),
                                fused("mine", {x, W}, product,
                                      [&] {
                                          return FusedResult{y.clone(), {}};
                                      }),
                                fused(
                                    "mine", {x, W}, product,
                                    [&] {
                                        return FusedResult{y.clone(), {}};
                                    },
                                    dx)})
            CHECK(difference(grad({sum(z * z)}, {x})[0], of_base[0]) < 1e-3 * max(abs(of_base[0])).item());
        const auto [value, tangent] = jvp(
            [&](const Tensor& in) {
                return record("mine", y.clone(), {in, W}, {in, W}, dx);
            },
            x, ones_like(x));
        CHECK(difference(tangent, linear(ones_like(x), W)) < 1e-3);

        nn::NamedTensors trained;
        for (const auto& named : net.named_parameters())
            if (named.second.requires_grad()) trained.push_back(named);
        CHECK(trained.size() == 2);
        optim::AdamW optimizer(trained, {.lr = 0.01});
        const auto step = [&] {
            optimizer.zero_grad();
            mean(pow(net(x.detach()), 2)).backward();
            optimizer.step();
        };
        CHECK(check::first_step(net, 0.01, step).passed());
        const Scratch scratch;
        training::Checkpoint(net, optimizer, 1).save(scratch / "run");
        const Tensor before = net(x.detach());
        step();
        CHECK(difference(net(x.detach()), before) > 0);
        CHECK(training::Checkpoint::load(scratch / "run").restore(net, optimizer) == 1);
        CHECK(same_bits(net(x.detach()), before));
    }
}

TEST_CASE("a layer takes blocks, or half a matrix, in place of its weight", "[nn][packed]") {
    nn::Linear layer(64, 5);
    nn::Embedding table(7, 32);
    const Tensor x = randn({3, 64}), ids = tensor({6, 0});
    for (const DType form : forms) {
        const auto compact = [&](const Tensor& x) {
            return is_quantized(form) ? pack(x, form) : x.detach().to(form);
        };
        const Tensor w = compact(layer.weight), t = compact(table.weight);
        const nn::Linear small(w, layer.bias);
        CHECK(same_bits(small(x), linear(x, w, layer.bias)));
        CHECK(small.bias.handle() == layer.bias.handle());
        CHECK(same_bits(nn::Embedding(t)(ids), embedding(t, ids)));
    }
    refuses<ShapeError>("Embedding: the table must be", [] { nn::Embedding(ones({3})); });
}

TEST_CASE("cross-attention reads rows of a fused projection in blocks", "[nn][packed]") {
    Rng rng(1);
    nn::Attention attention(32, 4, rng, {.bias = true, .num_kv_heads = 2});
    const Tensor x = randn({2, 3, 32}, rng), memory = randn({2, 5, 32}, rng);
    const NoGrad off;
    nn::Attention wide = nn::clone(attention);
    attention.pack(DType::Q8_0);
    wide.W_in[0].weight.copy_(attention.W_in[0].weight.to(float32));
    wide.W_out.weight.copy_(attention.W_out.weight.to(float32));
    CHECK(difference(attention(x, memory, memory), wide(x, memory, memory)) < 1e-5);
}

TEST_CASE("a tied matrix that another module reads stays float32", "[nn][packed]") {
    struct Both : nn::Module {
        nn::Linear layer = register_module("layer", nn::Linear(32, 4));
        nn::Parameter same = register_parameter("same", layer.weight);
    } model;
    model.pack(DType::Q8_0);
    model.to(bfloat16);
    CHECK(compact_names(model).empty());
}

TEST_CASE("what cannot be held in fewer bits is refused, and nothing has changed", "[nn][packed][fault]") {
    struct Odd : nn::Module {
        nn::Linear a = register_module("a", nn::Linear(64, 4));
        nn::Linear b = register_module("b", nn::Linear(40, 64));
        nn::Embedding c = register_module("c", nn::Embedding(3, 33));
    } model;
    const std::string message = message_of<ValueError>([&] { model.pack(DType::Q8_0); });
    INFO(message);
    CHECK(contains(message, "b.weight (64, 40): pack: rows of 40 weights do not divide"));
    CHECK(contains(message, "c.weight (3, 33)"));
    CHECK_FALSE(contains(message, "a.weight"));
    CHECK(compact_names(model).empty());
    {
        const NoGrad off;
        model.b.weight[0].fill_(1e6);
    }
    refuses<ValueError>("float16", [&] { model.to(float16); });
    CHECK(compact_names(model).empty());
    for (const Tensor& x : model.parameters()) CHECK(x.requires_grad());
    model.to(bfloat16);
    refuses<DTypeError>("a.weight: float32, but the module's is bfloat16",
                        [&] { model.load_state_dict(Odd().state_dict()); });
    Odd whole;
    whole.load_state_dict(model.state_dict());  // half widens exactly
    CHECK(same_bits(whole.a.weight, model.a.weight.to(float32)));
    model.to(float32);
    model.a.pack(DType::Q4_0);
    const std::vector<float> before = model.b.weight.to_vector<float>();
    refuses<DTypeError>(
        "load_state_dict: a.weight of this Module is held in blocks of Q4_0, which never change",
        [&] { model.load_state_dict(Odd().state_dict()); });
    CHECK(model.b.weight.to_vector<float>() == before);
}

TEST_CASE("a cache of half size rounds keys and values, and takes half the memory", "[nn][packed]") {
    const Tensor ids = randint(0, 40, {2, 12});
    const lm::GPT model = small_gpt();
    const NoGrad off;
    const Tensor expected = model(ids);
    for (const DType half : {bfloat16, float16}) {
        std::vector<nn::KeyValueCache> caches = model.make_caches(half);
        double largest = 0;
        for (std::int64_t t = 0; t < 12; ++t)
            largest = std::max(
                largest, difference(model(ids.slice(1, t, t + 1), caches).select(1, 0), expected.select(1, t)));
        CHECK(largest > 1e-6);
        CHECK(largest < (half == bfloat16 ? 0.02 : 0.003) * max(abs(expected)).item());
        const Tensor k = randn({2, 1, 5, 16});
        nn::KeyValueCache cache(8, half);
        const auto [keys, values] = cache.append(k, k);
        CHECK(same_bits(keys, k.to(half).to(float32)));
        cache.truncate(2);
        CHECK(same_bits(cache.append(k, k)[0].slice(-2, 0, 2), keys.slice(-2, 0, 2)));
        refuses<DTypeError>("float64", [&] { cache.append(k.to(float64), k.to(float64)); });
    }
    refuses<DTypeError>("use bfloat16 or float16", [] { nn::KeyValueCache(4, float64); });
    CHECK(lm::memory_of(model.config, float32, bfloat16).cache == 2 * 1 * (16 + 16) * 12 * 2);
    const text::Ids prompt{1, 2, 3};
    CHECK(lm::generate(model, prompt, {.max_new_tokens = 4, .cache_dtype = bfloat16}).size() == 4);
}
