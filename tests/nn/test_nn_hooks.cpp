// Module::hook: what a hook sees and replaces, for how long, of which modules, and what is refused.
#include <filesystem>
#include <optional>
#include <regex>
#include <set>

#include "places.h"
#include "refusal.h"
#include "source.h"

using namespace weft;
using source::difference;

namespace {

// Two layers, of which a parent calls located() itself.
struct Net : nn::Module {
    nn::Linear hidden = register_module("hidden", nn::Linear(3, 4));
    nn::Sequential out = register_module("out", nn::Sequential{nn::Linear(4, 4), nn::Linear(4, 2)});
    Net() : Module("Net") {}
    Tensor operator()(const Tensor& x) const {
        return nn::located(*this, [&] { return out(tanh(hidden(x))); });
    }
};

Tensor input() {
    Rng rng(3);
    return randn({5, 3}, rng);
}

Tensor same(const Tensor& y) { return y; }

// A module, a pass of it, and the paths to its parts that are not called.
struct Called {
    nn::Module module;
    std::function<void()> run;
    std::set<std::string> not_called = {};
};

// Calls check(path, part) for a module and its parts.
void for_each_part(const nn::Module& module, const std::string& path,
                   const std::function<void(const std::string&, const nn::Module&)>& check) {
    check(path, module);
    for (const auto& [name, child] : module.named_children())
        for_each_part(child, path.empty() ? name : path + "." + name, check);
}

// Every module of nn and lm is in one of these.
std::vector<Called> all_modules() {
    Rng rng(1);
    const Tensor x = randn({2, 3, 8}, rng), memory = randn({2, 5, 8}, rng), ids = tensor({{1, 2, 3}});
    std::vector<Called> all;
    const auto add = [&](const auto& module, const auto&... arguments) {
        all.push_back({module, [=] { (void)module(arguments...); }});
    };
    add(nn::Sequential{nn::Flatten(), nn::Linear(24, 8), nn::ReLU(), nn::Tanh(), nn::GELU(), nn::SiLU(),
                       nn::Identity(), nn::Dropout(0.5), nn::LayerNorm(8), nn::RMSNorm(8), nn::GatedMLP(8),
                       nn::MLP(8), nn::Mixture<nn::MLP>(8), nn::MixtureOfExperts(8)},
        x);
    add(nn::Sequential{nn::Embedding(7, 8),
                       [](const Tensor& y) {
                           return y.reshape({1, 1, 3, 8});
                       },
                       nn::Conv2d(1, 2, 3), nn::BatchNorm(2)},
        ids);
    const nn::AttentionConfig separate{.fused = false};
    add(nn::MultiHeadAttention(8, 2), x);
    add(nn::Attention(8, 2, separate), x);
    add(nn::Attention(8, 2, separate), x, memory, memory);
    add(nn::CausalMultiHeadAttention(8, 2), x);
    add(nn::TransformerBlock(8, 2), x);
    add(nn::DecoderBlock(8, 2, {.attention = separate}), x, memory);
    const nn::DecoderBlock fused(8, 2);
    add(fused, x, memory);
    all.back().not_called = {"cross.W_qkv"};
    for (const std::optional<double> rotary : {std::optional<double>(), std::optional<double>(1e4)}) {
        const lm::GPT gpt({.vocab_size = 7,
                           .block_size = 8,
                           .num_layers = 1,
                           .num_heads = 2,
                           .d_model = 8,
                           .attention = {.rotary_base = rotary}});
        add(gpt, ids);
        add(lm::LanguageModel(gpt), ids);
    }
    lm::DecoderConfig config{.vocab_size = 7, .num_layers = 1, .num_heads = 2, .d_model = 8};
    add(lm::Decoder(config, rng), ids);
    config.norm_place = lm::NormPlace::around;
    config.qk_norm = config.fused_qkv = true;
    add(lm::Decoder(config, rng), ids);
    config.norm_place = lm::NormPlace::after;
    config.learned_positions = true;
    config.gated = config.tied_head = config.fused_qkv = false;
    add(lm::Decoder(config, rng), ids);
    return all;
}

}  // namespace

TEST_CASE("a hook acts on every module, and on every part of one", "[nn][hooks]") {
    std::set<std::string> kinds;
    for (const Called& one : all_modules())
        for_each_part(one.module, "", [&](const std::string& path, const nn::Module& part) {
            INFO(one.module.kind() << " at \"" << path << "\"");
            kinds.insert(part.kind());
            int calls = 0;
            const auto counting = [&](const Tensor& y) { return ++calls, y; };
            if (part.kind() == "ModuleList")
                return refuses<ValueError>(
                    "Module::hook: … is a list, which is never called itself; hook its parts",
                    [&] { (void)one.module.hook(path, counting); });
            const nn::ForwardHook hook = one.module.hook(path, counting);
            if (one.not_called.contains(path))
                return refuses<ValueError>(
                    "DecoderBlock.cross: Attention: cross-attention uses parts of W_qkv, which gives "
                    "a "
                    "hook of W_qkv nothing to act on; use Attention with fused = false, and hook W_q, W_k or "
                    "W_v",
                    one.run);
            one.run();
            CHECK(calls > 0);
        });
    const std::map<std::string, std::string> other_names{{"Mixture", "MixtureOfExperts"},
                                                         {"PreNormBlock", "TransformerBlock"},
                                                         {"DecoderNorm", "RMSNorm"},
                                                         {"LanguageModel", "GPT"}};
    const std::regex declared("\n(?:struct|class) (\\w+) : (?:public )?(?:nn::)?Module \\{");
    int found = 0;
    for (const char* room : {"nn", "lm"})
        for (const auto& file :
             std::filesystem::directory_iterator(places::source() + "/include/weft/" + room)) {
            const std::string text = io::load_text(file.path());
            for (std::sregex_iterator at(text.begin(), text.end(), declared), end; at != end; ++at, ++found) {
                const std::string name = (*at)[1];
                INFO(name << " of " << file.path());
                CHECK(kinds.contains(other_names.contains(name) ? other_names.at(name) : name));
            }
        }
    CHECK(found > 25);
}

TEST_CASE("a hook sees what a module returns, and what it returns takes its place", "[nn][hooks]") {
    const Net net;
    const Tensor x = input(), before = net(x);
    Tensor seen;
    {
        const nn::ForwardHook hook = net.hook("hidden", [&](const Tensor& y) { return seen = y; });
        CHECK(difference(net(x), before) == 0);
        CHECK(difference(seen, net.hidden(x)) == 0);
    }
    {
        const nn::ForwardHook hook = net.hook("hidden", [](const Tensor& y) { return y * 2; });
        CHECK(difference(net(x), net.out(tanh(linear(x, net.hidden.weight, net.hidden.bias) * 2))) < 1e-6);
        CHECK(difference(net.hidden(x), linear(x, net.hidden.weight, net.hidden.bias) * 2) == 0);
    }
    {
        const nn::ForwardHook hook = net.hook("", [](const Tensor& y) { return y + 1; });
        CHECK(difference(net(x), before + 1) == 0);
    }
    CHECK(difference(net(x), before) == 0);
}

TEST_CASE("several hooks act in the order in which they were added, each on the result of the one before",
          "[nn][hooks]") {
    const Net net;
    const Tensor x = input(), before = net(x);
    std::string order;
    const nn::ForwardHook add = net.hook("", [&](const Tensor& y) { return order += 'a', y + 1; });
    const nn::ForwardHook twice = net.hook("", [&](const Tensor& y) { return order += 'b', y * 2; });
    CHECK(difference(net(x), (before + 1) * 2) == 0);
    const nn::ForwardHook inner = net.hook("out[1]", [&](const Tensor& y) { return order += 'c', y; });
    CHECK(difference(net(x), (before + 1) * 2) == 0);
    CHECK(order == "abcab");
}

TEST_CASE("a hook acts as long as its object or a copy of it lives", "[nn][hooks]") {
    const Net net;
    const Tensor x = input();
    int calls = 0;
    const auto counting = [&](const Tensor& y) { return ++calls, y; };
    std::optional<nn::ForwardHook> hook = net.hook("hidden", counting), copy = hook;
    net(x);
    hook.reset();
    net(x);
    CHECK(calls == 2);
    std::vector<nn::ForwardHook> moved = {std::move(*copy)};
    copy.reset();
    net(x);
    CHECK(calls == 3);
    moved.clear();
    net(x);
    CHECK(calls == 3);

    nn::ForwardHook replaced = net.hook("hidden", counting);
    replaced = net.hook("hidden", same);
    net(x);
    CHECK(calls == 3);
    try {
        const nn::ForwardHook gone = net.hook("hidden", counting);
        throw ValueError("left by an error");
    } catch (const ValueError&) {
    }
    net(x);
    CHECK(calls == 3);

    // What it holds on to goes with it, and it may outlive the module.
    const auto held = std::make_shared<int>(1);
    std::optional<nn::ForwardHook> last;
    {
        const Net other;
        last = other.hook("hidden", [held](const Tensor& y) { return y; });
        CHECK(held.use_count() == 2);
    }
    last.reset();
    CHECK(held.use_count() == 1);
}

TEST_CASE("a hook may add and remove hooks of the module that is running", "[nn][hooks]") {
    const Net net;
    const Tensor x = input(), before = net(x);
    std::vector<nn::ForwardHook> added;
    std::optional<nn::ForwardHook> once;
    once = net.hook("", [&](const Tensor& y) {
        added.push_back(net.hook("", [](const Tensor& z) { return z + 1; }));
        once.reset();
        return y;
    });
    CHECK(difference(net(x), before + 1) == 0);
    CHECK(difference(net(x), before + 1) == 0);
    CHECK(added.size() == 1);
}

TEST_CASE("a hook that removes an expired one does not make the next be skipped", "[nn][hooks]") {
    const Net net;
    std::optional<nn::ForwardHook> expired = net.hook("", same), added;
    const nn::ForwardHook adding = net.hook("", [&](const Tensor& y) {
        expired.reset();
        if (!added) added = net.hook("", same);
        return y;
    });
    const nn::ForwardHook next = net.hook("", [](const Tensor& y) { return zeros_like(y); });
    CHECK(max(abs(net(input()))).item() == 0);
}

TEST_CASE("a hook does not act on what it calls itself", "[nn][hooks]") {
    const Net net;
    const Tensor x = input(), before = net(x);
    const nn::ForwardHook hook =
        net.hook("hidden", [&](const Tensor& y) { return y + net.hidden(x) + net.hidden(x); });
    CHECK(difference(net(x), net.out(tanh(3 * linear(x, net.hidden.weight, net.hidden.bias)))) < 1e-6);
    const nn::ForwardHook other = net.hook("hidden", [&](const Tensor& y) { return net(x), y; });
    CHECK(difference(net(x), net.out(tanh(3 * linear(x, net.hidden.weight, net.hidden.bias)))) < 1e-6);
}

TEST_CASE("copies of a module share its hooks, and clones have none", "[nn][hooks]") {
    const Net net;
    const Net copy = net;
    const Tensor x = input(), before = net(x);
    const nn::ForwardHook hook = copy.hook("hidden", [](const Tensor& y) { return zeros_like(y); });
    CHECK(difference(net(x), before) > 1e-3);
    CHECK(difference(copy(x), net(x)) == 0);
    CHECK(max(abs(copy.hidden(x))).item() == 0);
    CHECK(difference(nn::clone(net)(x), before) == 0);
    const nn::Linear tied = net.hidden;
    CHECK(max(abs(tied(x))).item() == 0);
}

TEST_CASE("gradients flow through what a hook returns", "[nn][hooks]") {
    Net net;
    const Tensor x = input();
    Tensor seen, scale = full({4}, 0.5).requires_grad_();
    const nn::ForwardHook hook = net.hook("hidden", [&](const Tensor& y) {
        seen = y;
        return y * scale;
    });
    const auto loss = [&] { return sum(pow(net(x), 2)); };
    const Tensor once = loss();  // which sets `seen`
    const std::vector<Tensor> d = grad({once}, {seen, scale, net.hidden.weight});
    // y' = y·scale:  dscale = Σ_rows dy'·y, dy = dy'·scale
    CHECK(difference(d[1], sum(d[0] / scale * seen, 0)) < 1e-4);
    CHECK(max(abs(d[2])).item() > 0);
    loss().backward();
    CHECK(difference(net.hidden.weight.grad(), d[2]) < 1e-6);

    // A value from elsewhere: nothing reaches the module whose result it replaces.
    Tensor other = ones({5, 4}).requires_grad_();
    const nn::ForwardHook replace = net.hook("hidden", [&](const Tensor&) { return other; });
    net.zero_grad();
    sum(net(x)).backward();
    CHECK(max(abs(other.grad())).item() > 0);
    CHECK_FALSE(net.hidden.weight.grad().defined());
    CHECK(net.out.parameters()[0].grad().defined());
}

TEST_CASE("a hook on a GPT's attention is one on its output, and acts at each step of generation",
          "[nn][hooks]") {
    Rng rng(1);
    const lm::GPT gpt({.vocab_size = 7, .block_size = 16, .num_layers = 2, .num_heads = 2, .d_model = 8}, rng);
    const Tensor ids = tensor({{1, 2, 3}}).to(int64);
    const NoGrad no_grad;
    const Tensor before = gpt(ids);
    std::vector<Shape> seen;
    {
        const nn::ForwardHook off = gpt.hook("blocks[0].attn", [&](const Tensor& y) {
            seen.push_back(y.shape());
            return zeros_like(y);
        });
        const lm::GPT other = nn::clone(gpt);
        Tensor(other.blocks[0].attn.W_out.weight).fill_(0);
        CHECK(difference(gpt(ids), other(ids)) < 1e-6);
        CHECK(difference(gpt(ids), before) > 1e-4);
        seen.clear();
        lm::generate(gpt, {1, 2, 3}, {.max_new_tokens = 4, .sampling = {.temperature = 0}});
        CHECK(seen == std::vector<Shape>{{1, 3, 8}, {1, 1, 8}, {1, 1, 8}, {1, 1, 8}});
    }
    CHECK(difference(gpt(ids), before) == 0);

    const lm::Decoder decoder({.vocab_size = 7, .num_layers = 2, .num_heads = 2, .d_model = 8}, rng);
    seen.clear();
    const nn::ForwardHook hook = decoder.hook("layers[1].self_attn.heads", [&](const Tensor& y) {
        seen.push_back(y.shape());
        return y;
    });
    lm::generate(decoder, {1, 2, 3}, {.max_new_tokens = 3});
    CHECK(seen == std::vector<Shape>{{1, 3, 8}, {1, 1, 8}, {1, 1, 8}});
}

TEST_CASE("a result of another shape or type is refused with the module's path", "[nn][hooks][fault]") {
    const Net net;
    const Tensor x = input();
    {
        const nn::ForwardHook hook = net.hook("out[0]", [](const Tensor& y) { return y.slice(0, 0, 1); });
        CHECK(message_of<ShapeError>([&] { net(x); }) ==
              "Net.out[0]: hook: the result has the shape (1, 4), and what it replaces (5, 4)");
    }
    {
        const nn::ForwardHook hook = net.hook("hidden", [](const Tensor& y) { return y.to(float64); });
        CHECK(message_of<DTypeError>([&] { net(x); }) ==
              "Net.hidden: hook: the result is float64, and what it replaces float32");
    }
    {
        const nn::ForwardHook hook = net.hook("hidden", [](const Tensor& y) { return y + ones({3}); });
        CHECK(message_of<ShapeError>([&] { net(x); }).starts_with("Net.hidden: "));
    }
    net(x);
}

TEST_CASE("a hook that changes what it is given is refused, and the module's input is as it was",
          "[nn][hooks][fault]") {
    const NoGrad off;
    const nn::Sequential net{nn::Identity(), nn::Flatten(), nn::Dropout(0.5)};
    nn::Module(net).eval();
    const Tensor x = input(), before = x.clone();
    for (const char* path : {"0", "1", "2", ""}) {
        const nn::ForwardHook hook =
            net.hook(path, [](const Tensor& y) { return Tensor(y).slice(0, 0, 1).mul_(2), y; });
        refuses<GraphError>(
            "mul_: a hook of … was given this tensor of shape (1, 3), which others hold, too; change a "
            "clone() of it",
            [&] { net(x); });
        CHECK(difference(x, before) == 0);
    }
    const nn::Sequential careless{[](const Tensor& y) { return Tensor(y).mul_(2); }};
    refuses<GraphError>(
        "mul_: a step of Sequential was given this tensor of shape (5, 3), which others hold, too",
        [&] { careless(x); });
    CHECK(difference(x, before) == 0);
}

TEST_CASE("hooks stay with the modules on the path, and a path to nowhere is refused by its part",
          "[nn][hooks][fault]") {
    const Net net;
    const Tensor x = input();
    int calls = 0;
    const auto counting = [&](const Tensor& y) { return ++calls, y; };
    for (const char* path : {"hidden", "out", "out[0]", "out[1]", "out.1", ""}) {
        INFO(path);
        const nn::ForwardHook hook = net.hook(path, counting);
        calls = 0;
        net(x);
        CHECK(calls == 1);
    }
    CHECK(message_of<IndexError>([&] { (void)net.hook("out[2]", same); }) ==
          "Module::hook: Net.out has no part \"2\"; its parts are 0, 1");
    CHECK(message_of<IndexError>([&] { (void)net.hook("hiden", same); }) ==
          "Module::hook: Net has no part \"hiden\"; its parts are hidden, out");
    CHECK(message_of<IndexError>([&] { (void)net.hook("hidden.weight", same); }) ==
          "Module::hook: Net.hidden has no part \"weight\"; its parts are none");
    const lm::GPT gpt({.vocab_size = 5, .block_size = 4, .num_layers = 1, .d_model = 8});
    CHECK(message_of<IndexError>([&] { (void)gpt.hook("blocks[1].attn", same); }) ==
          "Module::hook: GPT.blocks has no part \"1\"; its parts are 0");
}
