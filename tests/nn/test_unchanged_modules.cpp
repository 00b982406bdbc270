// Refusals of what changes modules, their states, generators and caches, after which nothing has changed.
#include <cmath>

#include "unchanged.h"

using namespace unchanged;

namespace {

// A module that lets its test register anything.
struct Box : nn::Module {
    Box() : Module("Box") {}
    using Module::register_buffer;
    using Module::register_generator;
    using Module::register_module;
    using Module::register_module_if;
    using Module::register_parameter;
    using Module::register_weight;
};

// A weight, a buffer, a child with dropout, and gradients.
Box filled() {
    Rng rng(1);
    Box box;
    box.register_parameter("weight", ones({2})).set_grad(ones({2}));
    box.register_buffer("mean", zeros({2}));
    box.register_module("drop", nn::Dropout(0.5, rng));
    return box;
}

constexpr std::int64_t huge = std::int64_t{1} << 62;
const std::string probability = "the dropout probability must be at least 0 and below 1, not ";
const std::string feedforward = "dim_feedforward must be at least 1, not -1";

// Constructors that draw from a generator, which their refusals leave where it was.
struct Constructors : Unchanged {
    // The message begins with `start`.
    void refused(const std::string& start, const std::function<void()>& make) {
        refuses<ValueError>(start, watch(rng), make);
        CHECK(message_of<ValueError>(make).starts_with(start));
    }
    void draws(const std::function<void()>& make) { changes(watch(rng), make); }
    Rng rng = Rng(1);
};

}  // namespace

TEST_CASE_METHOD(Unchanged,
                 "refused without a change: uniform_ normal_ trunc_normal_ xavier_uniform_ "
                 "xavier_normal_ kaiming_uniform_ kaiming_normal_ orthogonal_",
                 "[fault][unchanged]") {
    using namespace nn::init;
    using Function = std::function<void(const Tensor&, Rng&)>;
    Rng rng(1);
    Tensor w = ones({2, 3}).requires_grad_(), v = ones({3}), ids = zeros({2, 3}, int64);
    const State all = watch(w, v, ids, rng);
    const std::vector<Function> of_matrices = {[](const Tensor& x, Rng& r) { xavier_uniform_(x, 1, r); },
                                               [](const Tensor& x, Rng& r) { xavier_normal_(x, 1, r); },
                                               [](const Tensor& x, Rng& r) { kaiming_uniform_(x, {}, r); },
                                               [](const Tensor& x, Rng& r) { kaiming_normal_(x, {}, r); },
                                               [](const Tensor& x, Rng& r) { orthogonal_(x, 1, r); }};
    std::vector<Function> functions = of_matrices;
    functions.push_back([](const Tensor& x, Rng& r) { uniform_(x, 0, 1, r); });
    functions.push_back([](const Tensor& x, Rng& r) { normal_(x, 0, 1, r); });
    functions.push_back([](const Tensor& x, Rng& r) { trunc_normal_(x, 0, 1, -2, 2, r); });
    for (const Function& fill : of_matrices)
        refuses<ShapeError>("x (3,) has no inputs and outputs; give a weight", all, [&] { fill(v, rng); });
    for (const Function& fill : functions) {
        refuses<DTypeError>("x is int64; fill a float32 or float64 tensor", all, [&] { fill(ids, rng); });
        changes(all, [&] { fill(w, rng); });
    }
    const auto refused = [&](const std::string& words, const std::function<void()>& fill) {
        refuses<ValueError>(words, all, fill);
    };
    const std::string ends = " must be finite, and low at most high",
                      gain = " must be finite and at least 0, not -1";
    refused("uniform_: low 1 and high 0" + ends, [&] { uniform_(w, 1, 0, rng); });
    refused("uniform_: low 0 and high inf" + ends, [&] { uniform_(w, 0, INFINITY, rng); });
    refused("normal_: mean must be finite, not nan", [&] { normal_(w, NAN, 1, rng); });
    refused("normal_: std" + gain, [&] { normal_(w, 0, -1, rng); });
    refused("trunc_normal_: std" + gain, [&] { trunc_normal_(w, 0, -1, -2, 2, rng); });
    refused("trunc_normal_: fewer than one in a hundred numbers of mean 0 and std 1 are in [4, 5]",
            [&] { trunc_normal_(w, 0, 1, 4, 5, rng); });
    refused("trunc_normal_: ", [&] { trunc_normal_(w, NAN, 1, -2, 2, rng); });
    refused("xavier_uniform_: gain" + gain, [&] { xavier_uniform_(w, -1, rng); });
    refused("xavier_normal_: gain" + gain, [&] { xavier_normal_(w, -1, rng); });
    refused("orthogonal_: gain" + gain, [&] { orthogonal_(w, -1, rng); });
    refused("orthogonal_: gain must be finite", [&] { orthogonal_(w, INFINITY, rng); });
    refused("kaiming_uniform_: a must be finite, not nan", [&] { kaiming_uniform_(w, {.a = NAN}, rng); });
    refused("kaiming_normal_: a must be finite, not nan", [&] { kaiming_normal_(w, {.a = NAN}, rng); });
}

TEST_CASE_METHOD(Unchanged,
                 "refused without a change: Module::register_parameter Module::register_weight "
                 "Module::register_buffer Module::register_generator Module::register_module "
                 "Module::register_module_if ModuleList::append",
                 "[fault][unchanged]") {
    Box box = filled();
    Rng rng(1);
    Tensor w = ones({2}), leaf = ones({2}).requires_grad_(), ids = zeros({2}, int64);
    const Tensor undefined, result = leaf * 2;
    const State all = watch(box, rng, w, ids);
    const std::string dotted = ": a name must not be empty or contain a dot, which separates modules";
    const std::pair<std::string, std::string> names[] = {
        {"", dotted},
        {"a.b", dotted},
        {"weight", ": there is a parameter of that name already"},
        {"mean", ": there is a buffer of that name already"},
        {"drop", ": there is a child of that name already"}};
    for (const auto& [name, words] : names) {
        const auto refused = [&, &words = words, quoted = " '" + name + "'"](const std::string& what,
                                                                             const std::function<void()>& add) {
            refuses<ValueError>("Box: " + what + quoted + words, all, add);
        };
        refused("parameter", [&, &name = name] { box.register_parameter(name, w); });
        refused("parameter", [&, &name = name] { box.register_weight(name, w); });
        refused("buffer", [&, &name = name] { box.register_buffer(name, w); });
        refused("generator", [&, &name = name] { box.register_generator(name, rng); });
        refused("child", [&, &name = name] { box.register_module(name, Box()); });
        refused("child", [&, &name = name] { (void)box.register_module_if(true, name, [] { return Box(); }); });
    }
    refuses<GraphError>("'new'", all, [&] { box.register_parameter("new", result); });
    refuses<DTypeError>("int64", all, [&] { box.register_parameter("new", ids); });
    refuses<GraphError>("", all, [&] { box.register_parameter("new", undefined); });
    refuses<GraphError>("", all, [&] { box.register_buffer("new", undefined); });
    refuses<ValueError>("cannot contain itself", all, [&] { box.register_module("new", box); });
    nn::ModuleList<nn::Module> list;
    Box holder;
    holder.register_module("list", list);
    refuses(watch(list), [&] { list.append(holder); });
    changes(watch(list), [&] { list.append(box); });
    changes(all, [&] { box.register_generator("new", rng); });
}

TEST_CASE_METHOD(Unchanged, "refused without a change: Module::load_state_dict load", "[fault][unchanged]") {
    Box box = filled(), tied;
    const Tensor w = box.register_parameter("first", ones({3}));
    box.register_parameter("second", w);
    box.register_buffer("wide", ones({1}).expand({3}));
    const nn::NamedTensors right = {
        {"weight", full({2}, 5)}, {"first", full({3}, 5)}, {"second", full({3}, 5)}, {"mean", full({2}, 5)}};
    const auto with = [&](const std::string& name, const Tensor& value) {
        nn::NamedTensors state = right;
        for (auto& [other, tensor] : state)
            if (other == name) return tensor = value, state;
        state.emplace_back(name, value);
        return state;
    };
    const Scratch scratch;
    for (const nn::NamedTensors& wrong :
         {with("weight", ones({3})), with("mean", ones({2}, float64)), with("second", ones({3})),
          with("unknown", ones({2})), with("wide", ones({3})), nn::NamedTensors{{"weight", ones({2})}}}) {
        refuses(watch(box), [&] { box.load_state_dict(wrong); });
        io::save_safetensors(scratch / "wrong", wrong);
        refuses(watch(box), [&] { io::load(box, scratch / "wrong"); });
    }
    nn::NamedTensors twice = right, undefined = with("mean", Tensor());
    twice.push_back(twice[0]);
    refuses(watch(box), [&] { box.load_state_dict(twice, false); });
    refuses(watch(box), [&] { box.load_state_dict(undefined, false); });
    refuses(watch(box), [&] { box.load_state_dict(with("wide", ones({3})), false); });
    refuses(watch(box), [&] { io::load(box, scratch / "missing"); });
    changes(watch(box), [&] { box.load_state_dict(right, false); });

    nn::Linear wide(32, 2), packed(32, 2);
    packed.pack(DType::Q8_0);
    const nn::NamedTensors blocks{{"bias", ones({2})}, {"weight", packed.weight}};
    refuses<DTypeError>(
        "load_state_dict: weight of the state is held in blocks of Q8_0; convert "
        "it with to(float32)",
        watch(wide), [&] { wide.load_state_dict(blocks); });
    refuses<DTypeError>("load_state_dict: weight of this Linear is held in blocks of Q8_0", watch(packed),
                        [&] { packed.load_state_dict(wide.state_dict()); });
    packed.load_state_dict({{"bias", ones({2})}});  // what never changes may be missing
    CHECK(all(packed.bias == 1));
}

TEST_CASE("a module loads its own tensors under exchanged names", "[nn]") {
    Box box;
    const Tensor a = box.register_parameter("a", tensor({1.0, 2})),
                 b = box.register_parameter("b", tensor({3.0, 4}));
    const Tensor row = box.register_buffer("row", tensor({5.0, 6}));
    box.load_state_dict({{"a", b}, {"b", row.detach()}, {"row", a.detach()}});
    CHECK(all(a == tensor({3.0, 4})));
    CHECK(all(b == tensor({5.0, 6})));
    CHECK(all(row == tensor({1.0, 2})));
}

TEST_CASE_METHOD(Unchanged,
                 "refused without a change: Module::to Module::pack Module::zero_grad "
                 "Module::train Module::eval",
                 "[fault][unchanged]") {
    Box box = filled();
    const Tensor w = box.register_parameter("last", ones({2}));
    refuses(watch(box), [&] { box.to(int64); });
    Box computed = filled();
    computed.register_buffer("squares", w * w);
    refuses(watch(computed), [&] { computed.to(float64); });
    changes(watch(box), [&] { box.eval(); });
    changes(watch(box), [&] { box.train(); });
    changes(watch(box), [&] { box.zero_grad(); });
    changes(watch(box), [&] { box.to(float64); });
    Box odd;  // its second weight cannot become blocks
    odd.register_module("first", nn::Linear(32, 2));
    odd.register_module("second", nn::Linear(3, 2));
    refuses(watch(odd), [&] { odd.pack(DType::Q8_0); });
    Box whole;
    whole.register_module("first", nn::Linear(32, 2));
    changes(watch(whole), [&] { whole.pack(DType::Q8_0); });
}

TEST_CASE_METHOD(Unchanged,
                 "refused without a change: KeyValueCache::append KeyValueCache::truncate "
                 "KeyValueCache::clear KeyValueCache::KeyValueCache",
                 "[fault][unchanged]") {
    nn::KeyValueCache cache(6);
    const auto of = [](const Shape& shape, DType dtype = float64) { return zeros(shape, dtype); };
    const Tensor k = rand({2, 3, 5, 4}, float64), v = rand({2, 3, 5, 6}, float64);
    cache.append(k, v);
    const auto [keys, values] = cache.append(of({2, 3, 0, 4}), of({2, 3, 0, 6}));
    const State all = watch(cache, keys, values);
    const auto refused = [&](const std::string& words, const Shape& of_keys, const Shape& of_values) {
        refuses<ShapeError>("KeyValueCache: " + words, all, [&] { cache.append(of(of_keys), of(of_values)); });
    };
    refused("keys (1, 3, 1, 4)…the 5 cached tokens, keys (2, 3, 5, 4) and values (2, 3, 5, 6)…clear()",
            {1, 3, 1, 4}, {1, 3, 1, 6});
    refused("…do not fit", {2, 3, 1, 5}, {2, 3, 1, 6});      // d_k
    refused("…do not fit", {2, 3, 1, 4}, {2, 3, 1, 4});      // d_v
    refused("…do not fit", {2, 1, 1, 4}, {2, 1, 1, 6});      // G
    refused("…do not fit", {3, 1, 4}, {3, 1, 6});            // rank
    refused("…(B, G, T, d_k)", {2, 3, 1, 4}, {2, 3, 2, 6});  // tokens of k and v
    refused("…(2, 2, 1, 6)", {2, 3, 1, 4}, {2, 2, 1, 6});    // heads of k and v
    refused("keys (1, 4) and values (1, 6) must be (B, G, T, d_k)", {1, 4}, {1, 6});
    refused("2 more tokens after 5 are 7, but its capacity is 6", {2, 3, 2, 4}, {2, 3, 2, 6});
    const auto refused_type = [&](const std::string& words, DType of_keys, DType of_values) {
        refuses<DTypeError>("KeyValueCache: " + words, all, [&] {
            cache.append(of({2, 3, 1, 4}, of_keys), of({2, 3, 1, 6}, of_values));
        });
    };
    refused_type("holds float64, not float32", float32, float32);
    refused_type("keys of float64 and values of float32", float64, float32);
    refused_type("keys of int64", int64, int64);
    const Tensor leaf = ones({2, 3, 1, 4}, float64).requires_grad_(), plain = ones({2, 3, 1, 6}, float64);
    const std::string in_graph = "KeyValueCache: keys or values require a gradient…NoGrad";
    refuses<GraphError>(in_graph, all, [&] { cache.append(leaf, plain); });
    refuses<GraphError>(in_graph, all, [&] { cache.append(of({2, 3, 1, 4}), plain * leaf[0][0][0][0]); });
    refuses<ValueError>("KeyValueCache: cannot truncate to -1 tokens", all, [&] { cache.truncate(-1); });
    refuses<ValueError>("KeyValueCache: cannot truncate to 6 tokens; it holds 5", all,
                        [&] { cache.truncate(6); });
    refuses<ValueError>("KeyValueCache: capacity must be at least 1, not 0", all,
                        [&] { nn::KeyValueCache(0); });
    changes(all, [&] { cache.truncate(1); });
}

TEST_CASE_METHOD(Unchanged,
                 "refused without a change: GPT::operator() LanguageModel::operator() "
                 "PreNormBlock::operator() Attention::operator()",
                 "[fault][unchanged]") {
    Rng rng(1);
    lm::GPT model(
        {.vocab_size = 5, .block_size = 4, .num_layers = 2, .num_heads = 2, .d_model = 8, .dropout = 0.5}, rng);
    std::vector<nn::KeyValueCache> caches = model.make_caches();
    CHECK(caches.size() == 2);
    CHECK(caches[0].capacity() == 4);
    const Tensor two = tensor({{1, 2}}), three = tensor({{1, 2, 3}});
    model.eval();  // in training, the layers before the one that refuses have drawn their dropout
    const State all = watch(model, caches);
    refuses<GraphError>("NoGrad", all, [&] { model(two, caches); });
    const NoGrad off;
    changes(all, [&] { model(two, caches); });
    const lm::LanguageModel handle = model;
    const std::string long_pass = "GPT: 3 tokens in (1, 3) after 2 in the caches, but block_size is 4";
    refuses<ShapeError>(long_pass, all, [&] { model(three, caches); });
    refuses<ShapeError>(long_pass, all, [&] { handle(three, caches); });
    refuses<IndexError>("token id 5 at position (0, 0) is outside the vocabulary of 5 (0 to 4)", all,
                        [&] { model(tensor({{5}}), caches); });
    refuses<ShapeError>("", all, [&] { model(tensor({{1}, {2}}), caches); });  // another batch
    refuses<DTypeError>("", all, [&] { model(ones({1, 1}), caches); });
    refuses<ShapeError>("GPT: 5 tokens in (5,), but block_size is 4", all, [&] {
        model(tensor({1, 2, 3, 4, 0}));
    });
    refuses<ShapeError>("GPT: ids must be (B, T) or (T,), not (1, 1, 2)", all,
                        [&] { model(two.unsqueeze(0)); });
    refuses<IndexError>("token id 7 at position (1,)", all, [&] { model(tensor({1, 7})); });
    std::vector<nn::KeyValueCache> few(1), odd = model.make_caches(), uneven = model.make_caches();
    refuses<ValueError>("1 caches for 2 blocks", watch(few), [&] { model(two, few); });
    odd[1].append(zeros({1, 2, 1, 3}), zeros({1, 2, 1, 3}));
    odd[0].append(zeros({1, 2, 1, 4}), zeros({1, 2, 1, 4}));
    refuses<ShapeError>("", watch(odd), [&] { model(tensor({{1}}), odd); });  // the second holds other widths
    (void)model(two, uneven);
    uneven[1].truncate(1);
    refuses<ValueError>("caches of 2 and of 1 tokens", watch(uneven), [&] { model(tensor({{1}}), uneven); });
    nn::TransformerBlock block = model.blocks[0];
    nn::KeyValueCache& cache = caches[0];
    const Mask mask = Mask::blocked(zeros({7, 7}, boolean));
    const Tensor x = ones({1, 1, 8});
    const State part = watch(block, cache);
    refuses<ShapeError>("(7, 7)", part, [&] { block(x, cache, mask); });
    refuses<ShapeError>("(7, 7)", part, [&] { block.attn(x, cache, mask); });
    refuses<ShapeError>("(1, 1, 7)", part, [&] { block.attn(ones({1, 1, 7}), cache); });
    refuses<ShapeError>("3 tokens in (1, 3, 8) after 2 in the cache, but max_seq_len is 4", part, [&] {
        block(ones({1, 3, 8}), cache);
    });
    refuses<DTypeError>("", part, [&] { block(ones({1, 1, 8}, float64), cache); });
    {
        const EnableGrad on;
        refuses<GraphError>("NoGrad", part, [&] { block.attn(x, cache); });
    }
    for (const char* path : {"mlp", "attn.W_out", "attn", ""}) {  // after the cache has grown
        const nn::ForwardHook hook = block.hook(path, [](const Tensor&) -> Tensor { throw ValueError("no"); });
        refuses<ValueError>("no", part, [&] { block(x, cache); });
    }
    changes(part, [&] { block(x, cache); });
}

TEST_CASE_METHOD(Unchanged, "refused without a change: Decoder::operator() LanguageModel::last_logits",
                 "[fault][unchanged]") {
    Rng rng(1);
    lm::DecoderConfig config{.vocab_size = 5, .block_size = 4, .num_layers = 2, .num_heads = 2, .d_model = 8};
    config.learned_positions = true;
    const lm::Decoder model(config, rng);
    std::vector<nn::KeyValueCache> caches = model.make_caches();
    const Tensor two = tensor({{1, 2}}), three = tensor({{1, 2, 3}});
    const State all = watch(model, caches);
    refuses<GraphError>("NoGrad", all, [&] { model(two, caches); });
    const NoGrad off;
    changes(all, [&] { model(two, caches); });
    const lm::LanguageModel handle = model;
    for (const Tensor& ids : {three, tensor({{5}}), tensor({{1}, {2}}), ones({1, 1})}) {
        refuses(all, [&] { model(ids, caches); });
        refuses(all, [&] { handle.last_logits(ids, caches); });
    }
    const auto refused = [&](const std::string& words, const std::function<void()>& call) {
        refuses<ShapeError>("Decoder: " + words, all, call);
    };
    refused("ids must be (B, T) or (T,), not (1, 1, 2)", [&] { model(two.unsqueeze(0)); });
    refused("5 tokens, but there are positions for 4", [&] { model(zeros({1, 5}, int64)); });
    refused("an attention_mask (1, 2) for ids (1, 3); it must be (B, S)", [&] {
        model(three, {.attention_mask = ones({1, 2}, boolean)});
    });
    refused("an attention_mask (1, 1) for ids (1, 1) after 2 in the caches", [&] {
        model(tensor({{1}}), caches, {.attention_mask = ones({1, 1}, boolean)});
    });
    std::vector<nn::KeyValueCache> few(1), uneven = model.make_caches();
    refuses<ValueError>("Decoder: 1 caches for 2 blocks", watch(few), [&] { model(two, few); });
    (void)model(two, uneven);
    uneven[1].truncate(1);
    refuses<ValueError>("Decoder: caches of 2 and of 1 tokens", watch(uneven),
                        [&] { model(tensor({{1}}), uneven); });
    const lm::DecoderBlock& layer = model.layers[0];
    const lm::DecoderPass pass{.mask = Mask::causal(), .cache = &caches[0]};
    for (const char* path : {"mlp", "self_attn.o_proj", "self_attn", ""}) {
        const nn::ForwardHook hook = layer.hook(path, [](const Tensor&) -> Tensor { throw ValueError("no"); });
        refuses<ValueError>("no", all, [&] { layer(ones({1, 1, 8}), pass); });
        refuses<ValueError>("no", all, [&] { model(tensor({{1}}), caches); });
    }
    changes(all, [&] { handle.last_logits(tensor({{1}}), caches); });
}

TEST_CASE_METHOD(Unchanged, "refused without a change: Attention::set_mask", "[fault][unchanged]") {
    Rng rng(1);
    nn::Attention attention(4, 2, rng, {.causal = true, .max_seq_len = 3});
    const State all = watch(attention);
    const std::string name = "Attention: ";
    refuses<DTypeError>(name + "a mask is bool, true where a key is blocked, not float32", all, [&] {
        attention.set_mask(zeros({3, 3}));
    });
    refuses<ShapeError>(name + "a mask must be (3, 3), not (2, 3)", all, [&] {
        attention.set_mask(zeros({2, 3}, boolean));
    });
    changes(all, [&] { attention.set_mask(zeros({3, 3}, boolean)); });
    refuses<ShapeError>(name + "a mask must be (3, 3), not (4, 4)", all, [&] {
        attention.set_mask(zeros({4, 4}, boolean));
    });
    changes(all, [&] { attention.set_mask(ones({3, 3}, boolean)); });
    nn::Attention open(4, 2, rng);
    nn::KeyValueCache cache;
    const Tensor x = ones({2, 4}), y = ones({3, 4});
    const State other = watch(open, attention, cache);
    refuses<ValueError>(name + "only causal attention has a mask of its own; set causal = true", other, [&] {
        open.set_mask(zeros({0, 0}, boolean));
    });
    refuses<ValueError>(
        name + "a cache has the tokens before, to which causal attention attends; set causal = true", other,
        [&] { open(x, cache); });
    refuses<ValueError>(name + "causal attention is that of tokens to themselves", other,
                        [&] { attention(x, y, y); });
}

TEST_CASE_METHOD(Unchanged, "refused without a change: GPT::generate sample generate", "[fault][unchanged]") {
    Rng rng(1);
    lm::GPT model(
        {.vocab_size = 5, .block_size = 4, .num_layers = 1, .num_heads = 2, .d_model = 8, .dropout = 0.5}, rng);
    const Tensor ids = tensor({1, 2}), old = tensor({9, 1, 2, 3, 4, 0, 1});
    const State all = watch(model, rng);
    const auto refused = [&](const std::string& words, const Tensor& prompt, std::int64_t count,
                             lm::SampleOptions options) {
        options.rng = &rng;
        refuses<ValueError>(words, all, [&] { model.generate(prompt, count, options); });
    };
    refused("generate: max_new_tokens must be at least 0, not -1", ids, -1, {});
    refused("(1, 9223372036854775807)", ids, INT64_MAX, {});
    refused("sample: temperature must be finite and at least 0 (greedy), not -1", ids, 2, {.temperature = -1});
    refused("sample: temperature must be finite and at least 0 (greedy), not nan", ids, 2,
            {.temperature = NAN});
    refused("sample: top_k must be at least 0 (all), not -1", ids, 2, {.top_k = -1});
    for (const double wrong : {0.0, -0.5, 1.5, double(NAN)})
        refused("sample: top_p must be above 0 and at most 1 (all), not " + to_chars(wrong), ids, 2,
                {.top_p = wrong});
    refuses<IndexError>("token id 9 at position (0, 0) is outside the vocabulary of 5 (0 to 4)", all,
                        [&] { (void)model.generate(old, 2, {.rng = &rng}); });  // 9 is outside the block
    refuses<IndexError>("token id -1", all, [&] { (void)model.generate(tensor({1, -1}), 2, {.rng = &rng}); });
    refuses<ShapeError>("generate: ids must be (T,) or (B, T) with T ≥ 1, not (0,)", all,
                        [&] { (void)model.generate(ids.slice(0, 0, 0), 2, {.rng = &rng}); });
    refuses<ValueError>("generate: the prompt is empty; give it at least one token", all,
                        [&] { lm::generate(model, {}, {.sampling = {.rng = &rng}}); });
    const double inf = INFINITY;
    for (const double temperature : {0.0, 1.0}) {
        const auto draw = [&](const Tensor& logits) {
            return [&, logits] { lm::sample(logits, {.temperature = temperature, .rng = &rng}); };
        };
        refuses<ValueError>("sample: logit 1 is nan", all, draw(tensor({1.0, NAN})));
        refuses<ValueError>("sample: logit 1 is inf", all, draw(tensor({1.0, inf})));
        refuses<ValueError>("sample: every logit is -inf", all, draw(tensor({-inf, -inf})));
        refuses<DTypeError>("sample: logits must be float32 or float64, not int64", all, draw(ids));
        refuses<ShapeError>("sample: logits must be (V,) with V ≥ 1, not (2, 2)", all, draw(ones({2, 2})));
        refuses<ShapeError>("sample: logits must be (V,) with V ≥ 1, not (0,)", all, draw(ones({0})));
    }
    changes(all, [&] { (void)model.generate(ids, 2, {.rng = &rng}); });
    CHECK(is_grad_enabled());
    CHECK(model.training());
}

TEST_CASE_METHOD(Constructors,
                 "refused without a change: uniform normal Linear::Linear Embedding::Embedding Conv2d::Conv2d "
                 "Dropout::Dropout MLP::MLP GatedMLP::GatedMLP Mixture::Mixture DataLoader::DataLoader "
                 "BatchSampler::BatchSampler",
                 "[fault][unchanged]") {
    refused("rand: negative size in shape (-1,)", [&] { nn::uniform({-1}, 0, 1, rng); });
    refused("randn: shape (4611686018427387904,) of float32 overflows", [&] { nn::normal({huge}, 0, 1, rng); });
    draws([&] { nn::normal({2}, 0, 1, rng); });
    refused("Linear: in_features must be at least 1, not 0", [&] { nn::Linear(0, 3, rng); });
    refused("Linear: out_features must be at least 1, not -1", [&] { nn::Linear(2, -1, rng); });
    refused("", [&] { nn::Linear(2, huge, rng); });
    draws([&] { nn::Linear(2, 3, rng); });
    refused("Embedding: num_embeddings must be at least 1, not 0", [&] { nn::Embedding(0, 3, rng); });
    refused("Embedding: embedding_dim must be at least 1, not 0", [&] { nn::Embedding(2, 0, rng); });
    refused("", [&] { nn::Embedding(huge, 3, rng); });
    draws([&] { nn::Embedding(2, 3, rng); });
    refused("Conv2d: in_channels must be at least 1, not 0", [&] { nn::Conv2d(0, 3, 3, rng); });
    refused("Conv2d: out_channels must be at least 1, not 0", [&] { nn::Conv2d(2, 0, 3, rng); });
    refused("Conv2d: kernel_size must be at least 1, not 0", [&] { nn::Conv2d(2, 3, 0, rng); });
    refused("Conv2d: groups must be at least 1, not 0", [&] { nn::Conv2d(2, 3, 3, rng, {.groups = 0}); });
    refused("Conv2d: 2 groups do not divide 4 and 3 channels",
            [&] { nn::Conv2d(4, 3, 1, rng, {.groups = 2}); });
    refused("Conv2d: 2 groups do not divide 3 and 4 channels",
            [&] { nn::Conv2d(3, 4, 1, rng, {.groups = 2}); });
    refused("", [&] { nn::Conv2d(2, huge, 3, rng); });
    draws([&] { nn::Conv2d(2, 3, 3, rng); });
    for (const double p : {1.0, -0.1, 2.0, double(NAN)})
        refused("Dropout: " + probability + to_chars(p), [&] { nn::Dropout(p, rng); });
    draws([&] { nn::Dropout(0.5, rng); });
    refuses<ValueError>("MLP: … must be at least 1, not 0", watch(rng), [&] { nn::MLP(0, rng); });
    refused("MLP: " + feedforward, [&] { nn::MLP(2, rng, {.dim_feedforward = -1}); });
    refused("", [&] { nn::MLP(2, rng, {.dim_feedforward = huge}); });
    draws([&] { nn::MLP(2, rng); });
    refused("GatedMLP: d_model must be at least 1, not 0", [&] { nn::GatedMLP(0, rng); });
    refused("GatedMLP: " + feedforward, [&] { nn::GatedMLP(2, rng, {.dim_feedforward = -1}); });
    refused("", [&] { nn::GatedMLP(2, rng, {.dim_feedforward = huge}); });
    draws([&] { nn::GatedMLP(2, rng); });
    const auto mixture = [&](const nn::MixtureOfExpertsOptions& options) {
        return [&, options] { nn::MixtureOfExperts(2, rng, options); };
    };
    refused("MixtureOfExperts: d_model must be at least 1, not 0", [&] { nn::MixtureOfExperts(0, rng); });
    refused("MixtureOfExperts: num_experts must be at least 1, not 0", mixture({.num_experts = 0}));
    refused("MixtureOfExperts: top_k is 0; use 1 to num_experts, 8", mixture({.top_k = 0}));
    refused("MixtureOfExperts: top_k is 3; use 1 to num_experts, 2", mixture({.num_experts = 2, .top_k = 3}));
    refused("GatedMLP: " + feedforward, mixture({.dim_feedforward = -1}));
    refused("", mixture({.dim_feedforward = huge}));
    draws(mixture({}));
    const auto loader = [&](std::vector<Tensor> data, training::DataLoaderOptions options) {
        return [&, data, options] { training::DataLoader(data, options, rng); };
    };
    refused("DataLoader: the dataset is empty", loader({}, {.shuffle = true}));
    refused("DataLoader: batch_size is 0; use at least 1",
            loader({ones({2})}, {.batch_size = 0, .shuffle = true}));
    refused("DataLoader: batch_size is 2 for 1",
            loader({ones({2})}, {.batch_size = 2, .shuffle = true, .drop_last = true}));
    draws(loader({ones({2})}, {.shuffle = true}));
}

TEST_CASE_METHOD(Constructors,
                 "refused without a change: MultiHeadAttention::MultiHeadAttention "
                 "CausalMultiHeadAttention::CausalMultiHeadAttention Attention::Attention "
                 "TransformerBlock::TransformerBlock EncoderBlock::EncoderBlock DecoderBlock::DecoderBlock",
                 "[fault][unchanged]") {
    const std::pair<std::int64_t, std::int64_t> sizes[] = {{8, 3}, {8, 0}, {8, -2}, {0, 1}, {-8, 2}, {4, 8}};
    for (const auto& [C, H] : sizes) {
        const std::string heads = "Attention: d_model " + std::to_string(C) + " does not divide into " +
                                  std::to_string(H) + " heads; both must be at least 1";
        refused("MultiHead" + heads, [&, C = C, H = H] { nn::MultiHeadAttention(C, H, rng); });
        refused(heads, [&, C = C, H = H] { nn::Attention(C, H, rng, {.fused = false}); });
        refused("CausalMultiHead" + heads, [&, C = C, H = H] { nn::CausalMultiHeadAttention(C, H, rng); });
    }
    const auto attention = [&](const nn::AttentionConfig& options) {
        return [&, options] { nn::Attention(12, 6, rng, options); };
    };
    const auto whole = [&](const nn::MultiHeadAttentionOptions& options) {
        return [&, options] { nn::MultiHeadAttention(12, 6, rng, options); };
    };
    const auto causal = [&](const nn::CausalMultiHeadAttentionOptions& options) {
        return [&, options] { nn::CausalMultiHeadAttention(12, 6, rng, options); };
    };
    const std::string name = "Attention: ", shares = name + "6 query heads cannot share ";
    const std::string width = " must be at least 1, or 0 for the default, not -1";
    const std::string one_width =
        name + "one fused projection reads tokens of one width, but d_model is 12, kdim ";
    refused(shares + "4 key-value heads; num_kv_heads must divide num_heads", attention({.num_kv_heads = 4}));
    refused(shares + "12 key-value heads", attention({.num_kv_heads = 12}));
    refused(shares + "-1 key-value heads", attention({.num_kv_heads = -1}));
    refused(name + "d_k" + width, attention({.d_k = -1}));
    refused(name + "d_v" + width, attention({.d_v = -1}));
    refused(name + "kdim" + width, attention({.fused = false, .kdim = -1}));
    refused(name + "vdim" + width, attention({.fused = false, .vdim = -1}));
    refused(one_width + "7 and vdim 12; set fused = false", attention({.kdim = 7}));
    refused(one_width + "12 and vdim 9; set fused = false", attention({.vdim = 9}));
    refused("", attention({.fused = false, .kdim = huge}));
    refused("", attention({.fused = false, .vdim = huge}));
    refused(name + "d_model 10 does not divide into 3 heads", [&] { nn::Attention(10, 3, rng, {.d_k = 4}); });
    refused(name + "d_model 10 does not divide into 0 heads",
            [&] { nn::Attention(10, 0, rng, {.d_k = 4, .d_v = 4}); });
    refused(name + "d_model 0 does not divide into 2 heads",
            [&] { nn::Attention(0, 2, rng, {.d_k = 4, .d_v = 4}); });
    for (const double p : {1.0, -0.1, 1.5, double(NAN)}) {
        refused(name + probability + to_chars(p), attention({.dropout = p}));
        refused(name + probability + to_chars(p), attention({.fused = false, .dropout = p}));
        refused("MultiHead" + name + probability + to_chars(p), whole({.dropout = p}));
        refused("CausalMultiHead" + name + probability + to_chars(p), causal({.dropout = p}));
    }
    for (const double base : {-1.0, double(NAN)}) {
        const std::string words = "rotary_base must be finite and above 0, not " + to_chars(base);
        refused(name + words, attention({.rotary_base = base}));
    }
    const std::string pairs = name + "rotary positions turn pairs of columns, but d_k is 3; it must be even";
    refused(pairs, attention({.d_k = 3, .rotary_base = 10000}));
    refused("CausalMultiHeadAttention: max_seq_len must be at least 1, not 0", causal({.max_seq_len = 0}));
    refused(name + "max_seq_len must be at least 1, not 0", attention({.causal = true, .max_seq_len = 0}));
    refused(name +
                "causal attention reads tokens of one width, but d_model is 12, kdim 8 and vdim 12; leave out "
                "kdim and vdim",
            attention({.causal = true, .fused = false, .kdim = 8}));
    const std::string any_length =
        name + "takes sequences of any length; leave out max_seq_len, or set causal = true";
    refused(any_length, attention({.max_seq_len = 8}));
    draws(attention({}));
    draws(whole({}));
    draws(causal({}));
    const auto refused_block = [&](const std::string& start, nn::TransformerBlockOptions options) {
        refused(start, [&] { nn::EncoderBlock(4, 2, rng, options); });
        refused(start, [&] { nn::DecoderBlock(4, 2, rng, options); });
        refused("", [&] { nn::TransformerBlock(4, 2, rng, options); });
    };
    refused_block("Attention: " + probability + "1", {.dropout = 1});
    refused_block("MLP: " + feedforward, {.dim_feedforward = -1});
    refused_block("", {.dim_feedforward = huge});
    refused_block("LayerNorm: eps must be above 0, not 0", {.layer_norm_eps = 0});
    refused(any_length, [&] { nn::EncoderBlock(4, 2, rng, {.max_seq_len = 8}); });
    refused("Attention: max_seq_len", [&] { nn::TransformerBlock(4, 2, rng, {.max_seq_len = 0}); });
    refused("Attention: d_model 4", [&] { nn::EncoderBlock(4, 3, rng); });
    refused("Attention: d_model 4", [&] { nn::DecoderBlock(4, 3, rng); });
    refused("Attention: d_model 4", [&] { nn::TransformerBlock(4, 3, rng); });
    draws([&] { nn::EncoderBlock(4, 2, rng); });
    draws([&] { nn::DecoderBlock(4, 2, rng); });
    draws([&] { nn::TransformerBlock(4, 2, rng); });
}

TEST_CASE_METHOD(Constructors, "refused without a change: GPT::GPT Decoder::Decoder", "[fault][unchanged]") {
    const auto gpt = [&](const std::function<void(lm::GPTConfig&)>& change) {
        lm::GPTConfig config{.vocab_size = 5, .block_size = 4, .num_layers = 1, .num_heads = 2, .d_model = 4};
        change(config);
        return [&, config] { lm::GPT(config, rng); };
    };
    refused("GPT: vocab_size must be at least 1, not 0", gpt([](auto& c) { c.vocab_size = 0; }));
    refused("GPT: block_size must be at least 1, not -1", gpt([](auto& c) { c.block_size = -1; }));
    refused("GPT: num_layers must be at least 1, not 0", gpt([](auto& c) { c.num_layers = 0; }));
    refused("GPT: d_model 4 does not divide into 3 heads", gpt([](auto& c) { c.num_heads = 3; }));
    refused("GPT: d_model 0 does not divide into 2 heads", gpt([](auto& c) { c.d_model = 0; }));
    refused("GPT: attention.max_seq_len is 8, but block_size, 4, is the longest sequence; leave it out",
            gpt([](auto& c) { c.attention.max_seq_len = 8; }));
    refused("", gpt([](auto& c) { c.dropout = 2; }));
    refused("", gpt([](auto& c) { c.dim_feedforward = -1; }));
    refused("", gpt([](auto& c) { c.dim_feedforward = huge; }));
    refused("", gpt([](auto& c) { c.layer_norm_eps = 0; }));
    refused("", gpt([](auto& c) { c.vocab_size = huge; }));
    draws(gpt([](auto&) {}));
    const auto decoder = [&](const std::function<void(lm::DecoderConfig&)>& change) {
        lm::DecoderConfig config{.vocab_size = 5, .num_layers = 2, .num_heads = 4, .d_model = 8};
        change(config);
        return [&, config] { lm::Decoder(config, rng); };
    };
    refused("Decoder: vocab_size must be at least 1, not 0", decoder([](auto& c) { c.vocab_size = 0; }));
    refused("Decoder: num_layers must be at least 1, not 0", decoder([](auto& c) { c.num_layers = 0; }));
    refused("Decoder: d_model 8 does not divide into 3 heads", decoder([](auto& c) { c.num_heads = 3; }));
    refused("Decoder: head_dim must be at least 1, or 0 for the default, not -2",
            decoder([](auto& c) { c.head_dim = -2; }));
    refused("Decoder: 4 query heads cannot share 3 key-value heads",
            decoder([](auto& c) { c.num_kv_heads = 3; }));
    refused("Decoder: options of 3 layers for 2 blocks", decoder([](auto& c) { c.layers.resize(3); }));
    refused("Decoder: norm_eps must be finite and above 0, not 0", decoder([](auto& c) { c.norm_eps = 0; }));
    refused("Decoder: logits_softcap must be finite and above 0, not -1",
            decoder([](auto& c) { c.logits_softcap = -1; }));
    refused("Decoder: norm_bias is an option of NormKind::layer", decoder([](auto& c) { c.norm_bias = true; }));
    refused("Mask::window: a width of 0", decoder([](auto& c) { c.layers = {{.window = 0}}; }));
    refused("rotary: the base is -1; it must be finite and above 0",
            decoder([](auto& c) { c.layers = {{.rotary = nn::RotaryOptions{.base = -1}}}; }));
    refused("", decoder([](auto& c) { c.dim_feedforward = huge; }));
    refused("", decoder([](auto& c) { c.vocab_size = huge; }));
    draws(decoder([](auto&) {}));
}
