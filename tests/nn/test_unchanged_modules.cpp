// Rows of the table of what changes something: modules, their states and generators, and caches.
#include <cmath>

#include "unchanged.h"

namespace unchanged {

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

}  // namespace

std::vector<Row> module_rows() {
    return {
        {"uniform_ normal_ trunc_normal_ xavier_uniform_ xavier_normal_ kaiming_uniform_ kaiming_normal_ "
         "orthogonal_",
         [](Check& c) {
             using namespace nn::init;
             using Function = std::function<void(const Tensor&, Rng&)>;
             Rng rng(1);
             Tensor w = ones({2, 3}).requires_grad_(), v = ones({3}), ids = zeros({2, 3}, int64);
             const State all = watch(w, v, ids, rng);
             const std::vector<Function> of_matrices = {
                 [](const Tensor& x, Rng& r) { xavier_uniform_(x, 1, r); },
                 [](const Tensor& x, Rng& r) { xavier_normal_(x, 1, r); },
                 [](const Tensor& x, Rng& r) { kaiming_uniform_(x, {}, r); },
                 [](const Tensor& x, Rng& r) { kaiming_normal_(x, {}, r); },
                 [](const Tensor& x, Rng& r) { orthogonal_(x, 1, r); }};
             std::vector<Function> functions = of_matrices;
             functions.push_back([](const Tensor& x, Rng& r) { uniform_(x, 0, 1, r); });
             functions.push_back([](const Tensor& x, Rng& r) { normal_(x, 0, 1, r); });
             functions.push_back([](const Tensor& x, Rng& r) { trunc_normal_(x, 0, 1, -2, 2, r); });
             for (const Function& fill : of_matrices) c.refuses(all, [&] { fill(v, rng); });
             for (const Function& fill : functions) {
                 c.refuses(all, [&] { fill(ids, rng); });
                 c.changes(all, [&] { fill(w, rng); });
             }
             c.refuses(all, [&] { uniform_(w, 1, 0, rng); });
             c.refuses(all, [&] { normal_(w, 0, -1, rng); });
             c.refuses(all, [&] { trunc_normal_(w, 0, 1, 5, 6, rng); });
             c.refuses(all, [&] { xavier_uniform_(w, -1, rng); });
             c.refuses(all, [&] { xavier_normal_(w, -1, rng); });
             c.refuses(all, [&] { kaiming_uniform_(w, {.a = NAN}, rng); });
             c.refuses(all, [&] { kaiming_normal_(w, {.a = NAN}, rng); });
             c.refuses(all, [&] { orthogonal_(w, -1, rng); });
         }},
        {"Module::register_parameter Module::register_weight Module::register_buffer "
         "Module::register_generator "
         "Module::register_module Module::register_module_if "
         "ModuleList::append",
         [](Check& c) {
             Box box = filled();
             Rng rng(1);
             Tensor w = ones({2}), leaf = ones({2}).requires_grad_(), ids = zeros({2}, int64);
             const Tensor undefined, result = leaf * 2;
             const State all = watch(box, rng, w, ids);
             for (const char* name : {"", "a.b", "weight", "mean", "drop"}) {
                 c.refuses(all, [&] { box.register_parameter(name, w); });
                 c.refuses(all, [&] { box.register_weight(name, w); });
                 c.refuses(all, [&] { box.register_buffer(name, w); });
                 c.refuses(all, [&] { box.register_generator(name, rng); });
                 c.refuses(all, [&] { box.register_module(name, Box()); });
                 c.refuses(all, [&] { (void)box.register_module_if(true, name, [] { return Box(); }); });
             }
             c.refuses(all, [&] { box.register_parameter("new", result); });
             c.refuses(all, [&] { box.register_parameter("new", ids); });
             c.refuses(all, [&] { box.register_parameter("new", undefined); });
             c.refuses(all, [&] { box.register_buffer("new", undefined); });
             c.refuses(all, [&] { box.register_module("new", box); });
             nn::ModuleList<nn::Module> list;
             Box holder;
             holder.register_module("list", list);
             c.refuses(watch(list), [&] { list.append(holder); });
             c.changes(watch(list), [&] { list.append(box); });
             c.changes(all, [&] { box.register_generator("new", rng); });
         }},
        {"Module::load_state_dict load",
         [](Check& c) {
             Box box = filled(), tied;
             const Tensor w = box.register_parameter("first", ones({3}));
             box.register_parameter("second", w);
             box.register_buffer("wide", ones({1}).expand({3}));
             const nn::NamedTensors right = {{"weight", full({2}, 5)},
                                             {"first", full({3}, 5)},
                                             {"second", full({3}, 5)},
                                             {"mean", full({2}, 5)}};
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
                   with("unknown", ones({2})), with("wide", ones({3})),
                   nn::NamedTensors{{"weight", ones({2})}}}) {
                 c.refuses(watch(box), [&] { box.load_state_dict(wrong); });
                 io::save_safetensors(scratch / "wrong", wrong);
                 c.refuses(watch(box), [&] { io::load(box, scratch / "wrong"); });
             }
             nn::NamedTensors twice = right, undefined = with("mean", Tensor());
             twice.push_back(twice[0]);
             c.refuses(watch(box), [&] { box.load_state_dict(twice, false); });
             c.refuses(watch(box), [&] { box.load_state_dict(undefined, false); });
             c.refuses(watch(box), [&] { box.load_state_dict(with("wide", ones({3})), false); });
             c.refuses(watch(box), [&] { io::load(box, scratch / "missing"); });
             c.changes(watch(box), [&] { box.load_state_dict(right, false); });
         }},
        {"Module::to Module::pack Module::zero_grad Module::train Module::eval",
         [](Check& c) {
             Box box = filled();
             const Tensor w = box.register_parameter("last", ones({2}));
             c.refuses(watch(box), [&] { box.to(int64); });
             Box computed = filled();
             computed.register_buffer("squares", w * w);
             c.refuses(watch(computed), [&] { computed.to(float64); });
             c.changes(watch(box), [&] { box.eval(); });
             c.changes(watch(box), [&] { box.train(); });
             c.changes(watch(box), [&] { box.zero_grad(); });
             c.changes(watch(box), [&] { box.to(float64); });
             Box odd;  // its second weight cannot become blocks
             odd.register_module("first", nn::Linear(32, 2));
             odd.register_module("second", nn::Linear(3, 2));
             c.refuses(watch(odd), [&] { odd.pack(BlockFormat::Q8_0); });
             Box whole;
             whole.register_module("first", nn::Linear(32, 2));
             c.changes(watch(whole), [&] { whole.pack(BlockFormat::Q8_0); });
         }},
        {"KeyValueCache::append KeyValueCache::truncate KeyValueCache::clear KeyValueCache::KeyValueCache",
         [](Check& c) {
             const NoGrad off;
             nn::KeyValueCache cache(4);
             const Tensor k = ones({1, 2, 3, 5}), leaf = ones({1, 2, 1, 5}).requires_grad_();
             cache.append(k, k);
             const auto [keys, values] = cache.append(k.slice(2, 0, 0), k.slice(2, 0, 0));
             const State all = watch(cache, keys, values);
             c.refuses(all, [&] { cache.append(k, k); });
             c.refuses(all, [&] { cache.append(k, k.slice(2, 0, 2)); });
             c.refuses(all, [&] { cache.append(k[0], k[0]); });
             c.refuses(all, [&] { cache.append(k.slice(3, 0, 4).slice(2, 0, 1), k.slice(2, 0, 1)); });
             c.refuses(all, [&] { cache.append(k.slice(2, 0, 1).to(float64), k.slice(2, 0, 1).to(float64)); });
             c.refuses(all, [&] { cache.append(k.slice(2, 0, 1).to(float64), k.slice(2, 0, 1)); });
             c.refuses(all, [&] {
                 const EnableGrad on;
                 cache.append(leaf, leaf);
             });
             c.refuses(all, [&] { cache.truncate(-1); });
             c.refuses(all, [&] { cache.truncate(4); });
             c.refuses(all, [&] { nn::KeyValueCache(0); });
             c.changes(all, [&] { cache.truncate(1); });
         }},
        {"GPT::operator() LanguageModel::operator() PreNormBlock::operator() "
         "CausalMultiHeadAttention::operator()",
         [](Check& c) {
             Rng rng(1);
             lm::GPT model({.vocab_size = 5,
                            .block_size = 4,
                            .num_layers = 2,
                            .num_heads = 2,
                            .d_model = 8,
                            .dropout = 0.5},
                           rng);
             std::vector<nn::KeyValueCache> caches = model.make_caches();
             const Tensor two = tensor({{1, 2}}), three = tensor({{1, 2, 3}});
             model.eval();  // in training, the layers before the one that refuses have drawn their dropout
             const State all = watch(model, caches);
             c.refuses(all, [&] { model(two, caches); });  // the graph is on
             const NoGrad off;
             c.changes(all, [&] { model(two, caches); });
             c.refuses(all, [&] { model(three, caches); });
             const lm::LanguageModel handle = model;
             c.refuses(all, [&] { handle(three, caches); });
             c.refuses(all, [&] { model(tensor({{5}}), caches); });
             c.refuses(all, [&] { model(tensor({{1}, {2}}), caches); });
             c.refuses(all, [&] { model(ones({1, 1}), caches); });
             c.refuses(all, [&] { model(tensor({1, 2, 3, 4, 0})); });
             c.refuses(all, [&] { model(tensor({1, 7})); });
             std::vector<nn::KeyValueCache> few(1);
             c.refuses(watch(few), [&] { model(two, few); });
             nn::TransformerBlock block = model.blocks[0];
             nn::KeyValueCache& cache = caches[0];
             const Mask mask = Mask::blocked(zeros({7, 7}, boolean));
             const Tensor x = ones({1, 1, 8});
             const State part = watch(block, cache);
             c.refuses(part, [&] { block(x, cache, mask); });
             c.refuses(part, [&] { block.attn(x, cache, mask); });
             c.refuses(part, [&] { block.attn(ones({1, 1, 7}), cache); });
             c.refuses(part, [&] { block(ones({1, 3, 8}), cache); });
             c.refuses(part, [&] { block(ones({1, 1, 8}, float64), cache); });
             c.changes(part, [&] { block(x, cache); });
         }},
        {"Decoder::operator() LanguageModel::last_logits",
         [](Check& c) {
             Rng rng(1);
             lm::DecoderConfig config{
                 .vocab_size = 5, .block_size = 4, .num_layers = 2, .num_heads = 2, .d_model = 8};
             config.learned_positions = true;
             const lm::Decoder model(config, rng);
             std::vector<nn::KeyValueCache> caches = model.make_caches();
             const Tensor two = tensor({{1, 2}}), three = tensor({{1, 2, 3}});
             const State all = watch(model, caches);
             c.refuses(all, [&] { model(two, caches); });  // the graph is on
             const NoGrad off;
             c.changes(all, [&] { model(two, caches); });
             const lm::LanguageModel handle = model;
             for (const Tensor& ids : {three, tensor({{5}}), tensor({{1}, {2}}), ones({1, 1})}) {
                 c.refuses(all, [&] { model(ids, caches); });
                 c.refuses(all, [&] { handle.last_logits(ids, caches); });
             }
             c.refuses(all, [&] { model(tensor({{1}}), caches, {.attention_mask = ones({1, 1}, boolean)}); });
             std::vector<nn::KeyValueCache> few(1);
             c.refuses(watch(few), [&] { model(two, few); });
             c.changes(all, [&] { handle.last_logits(tensor({{1}}), caches); });
         }},
        {"CausalMultiHeadAttention::set_mask",
         [](Check& c) {
             Rng rng(1);
             nn::CausalMultiHeadAttention attention(4, 2, rng, {.max_seq_len = 3});
             c.refuses(watch(attention), [&] { attention.set_mask(zeros({3, 3})); });
             c.refuses(watch(attention), [&] { attention.set_mask(zeros({2, 3}, boolean)); });
             c.changes(watch(attention), [&] { attention.set_mask(zeros({3, 3}, boolean)); });
             c.refuses(watch(attention), [&] { attention.set_mask(zeros({4, 4}, boolean)); });
             c.changes(watch(attention), [&] { attention.set_mask(ones({3, 3}, boolean)); });
         }},
        {"GPT::generate sample generate",
         [](Check& c) {
             Rng rng(1);
             lm::GPT model({.vocab_size = 5,
                            .block_size = 4,
                            .num_layers = 1,
                            .num_heads = 2,
                            .d_model = 8,
                            .dropout = 0.5},
                           rng);
             const Tensor ids = tensor({1, 2}), old = tensor({9, 1, 2, 3, 4, 0, 1});
             const State all = watch(model, rng);
             c.refuses(all, [&] { (void)model.generate(old, 2, {.rng = &rng}); });  // 9 is outside the block
             c.refuses(all, [&] { (void)model.generate(tensor({1, -1}), 2, {.rng = &rng}); });
             c.refuses(all, [&] { (void)model.generate(ids, -1, {.rng = &rng}); });
             c.refuses(all, [&] { (void)model.generate(ids, 2, {.temperature = -1, .rng = &rng}); });
             c.refuses(all, [&] { (void)model.generate(ids, 2, {.temperature = NAN, .rng = &rng}); });
             c.refuses(all, [&] { (void)model.generate(ids, 2, {.top_k = -1, .rng = &rng}); });
             c.refuses(all, [&] { (void)model.generate(ids, 2, {.rng = &rng, .top_p = 0}); });
             c.refuses(all, [&] { (void)model.generate(ids.slice(0, 0, 0), 2, {.rng = &rng}); });
             c.refuses(all, [&] { lm::generate(model, {}, {.sampling = {.rng = &rng}}); });
             const double inf = INFINITY;
             for (const Tensor& logits : {tensor({1.0, NAN}), tensor({1.0, inf}), tensor({-inf, -inf}), ids,
                                          ones({2, 2}), ones({0})}) {
                 c.refuses(all, [&] { lm::sample(logits, {.rng = &rng}); });
                 c.refuses(all, [&] { lm::sample(logits, {.temperature = 0, .rng = &rng}); });
             }
             c.changes(all, [&] { (void)model.generate(ids, 2, {.rng = &rng}); });
             CHECK(is_grad_enabled());
             CHECK(model.training());
         }},
    };
}

std::vector<Row> constructor_rows() {
    std::vector<Row> rows;
    // A constructor that draws, and the calls of it that are refused.
    const auto add = [&](const std::string& name, const std::function<void(Rng&)>& right,
                         const std::vector<std::function<void(Rng&)>>& wrong) {
        rows.push_back({name + "::" + name, [=](Check& c) {
                            Rng rng(1);
                            for (const auto& make : wrong) c.refuses(watch(rng), [&] { make(rng); });
                            c.changes(watch(rng), [&] { right(rng); });
                        }});
    };
    constexpr std::int64_t huge = std::int64_t{1} << 62;
    using namespace nn;
    rows.push_back({"uniform normal", [](Check& c) {
                        Rng rng(1);
                        c.refuses(watch(rng), [&] { uniform({-1}, 0, 1, rng); });
                        c.refuses(watch(rng), [&] { normal({huge}, 0, 1, rng); });
                        c.changes(watch(rng), [&] { normal({2}, 0, 1, rng); });
                    }});
    add("Linear", [](Rng& r) { Linear(2, 3, r); },
        {[](Rng& r) { Linear(0, 3, r); }, [](Rng& r) { Linear(2, 0, r); }, [](Rng& r) { Linear(2, huge, r); }});
    add("Embedding", [](Rng& r) { Embedding(2, 3, r); },
        {[](Rng& r) { Embedding(0, 3, r); }, [](Rng& r) { Embedding(2, 0, r); },
         [](Rng& r) { Embedding(huge, 3, r); }});
    add("Conv2d", [](Rng& r) { Conv2d(2, 3, 3, r); },
        {[](Rng& r) { Conv2d(0, 3, 3, r); }, [](Rng& r) { Conv2d(2, 0, 3, r); },
         [](Rng& r) { Conv2d(2, 3, 0, r); }, [](Rng& r) { Conv2d(2, 3, 3, r, {.groups = 2}); },
         [](Rng& r) { Conv2d(2, huge, 3, r); }});
    add("Dropout", [](Rng& r) { Dropout(0.5, r); },
        {[](Rng& r) { Dropout(1, r); }, [](Rng& r) { Dropout(-0.1, r); }, [](Rng& r) { Dropout(NAN, r); }});
    add("MLP", [](Rng& r) { MLP(2, r); },
        {[](Rng& r) { MLP(0, r); }, [](Rng& r) { MLP(2, r, {.dim_feedforward = -1}); },
         [](Rng& r) { MLP(2, r, {.dim_feedforward = huge}); }});
    add("GatedMLP", [](Rng& r) { GatedMLP(2, r); },
        {[](Rng& r) { GatedMLP(0, r); }, [](Rng& r) { GatedMLP(2, r, {.dim_feedforward = -1}); },
         [](Rng& r) { GatedMLP(2, r, {.dim_feedforward = huge}); }});
    add("Mixture", [](Rng& r) { MixtureOfExperts(2, r); },
        {[](Rng& r) { MixtureOfExperts(0, r); }, [](Rng& r) { MixtureOfExperts(2, r, {.num_experts = 0}); },
         [](Rng& r) { MixtureOfExperts(2, r, {.top_k = 9}); },
         [](Rng& r) { MixtureOfExperts(2, r, {.dim_feedforward = -1}); },
         [](Rng& r) { MixtureOfExperts(2, r, {.dim_feedforward = huge}); }});
    add("MultiHeadAttention", [](Rng& r) { MultiHeadAttention(4, 2, r); },
        {[](Rng& r) { MultiHeadAttention(4, 3, r); }, [](Rng& r) { MultiHeadAttention(4, 0, r); },
         [](Rng& r) { MultiHeadAttention(4, 2, r, {.dropout = 1}); },
         [](Rng& r) { MultiHeadAttention(4, 2, r, {.num_kv_heads = 3}); },
         [](Rng& r) { MultiHeadAttention(4, 2, r, {.rotary_base = -1}); },
         [](Rng& r) { MultiHeadAttention(4, 2, r, {.d_k = -1}); },
         [](Rng& r) { MultiHeadAttention(4, 2, r, {.fused = false, .kdim = huge}); },
         [](Rng& r) { MultiHeadAttention(4, 2, r, {.fused = false, .vdim = huge}); }});
    add("CausalMultiHeadAttention", [](Rng& r) { CausalMultiHeadAttention(4, 2, r); },
        {[](Rng& r) { CausalMultiHeadAttention(4, 3, r); },
         [](Rng& r) { CausalMultiHeadAttention(4, 2, r, {.max_seq_len = 0}); },
         [](Rng& r) { CausalMultiHeadAttention(4, 2, r, {.dropout = 2}); },
         [](Rng& r) { CausalMultiHeadAttention(4, 2, r, {.rotary_base = NAN}); },
         [](Rng& r) { CausalMultiHeadAttention(4, 2, r, {.num_kv_heads = 3}); }});
    add("PreNormBlock", [](Rng& r) { EncoderBlock(4, 2, r); },
        {[](Rng& r) { EncoderBlock(4, 3, r); }, [](Rng& r) { EncoderBlock(4, 2, r, {.max_seq_len = 8}); },
         [](Rng& r) { EncoderBlock(4, 2, r, {.dropout = 1}); },
         [](Rng& r) { EncoderBlock(4, 2, r, {.dim_feedforward = -1}); },
         [](Rng& r) { EncoderBlock(4, 2, r, {.dim_feedforward = huge}); },
         [](Rng& r) { EncoderBlock(4, 2, r, {.layer_norm_eps = 0}); }});
    add("DecoderBlock", [](Rng& r) { DecoderBlock(4, 2, r); },
        {[](Rng& r) { DecoderBlock(4, 3, r); }, [](Rng& r) { DecoderBlock(4, 2, r, {.dropout = 1}); },
         [](Rng& r) { DecoderBlock(4, 2, r, {.dim_feedforward = -1}); },
         [](Rng& r) { DecoderBlock(4, 2, r, {.dim_feedforward = huge}); },
         [](Rng& r) { DecoderBlock(4, 2, r, {.layer_norm_eps = 0}); }});
    add("PreNormBlock", [](Rng& r) { TransformerBlock(4, 2, r); },
        {[](Rng& r) { TransformerBlock(4, 3, r); }, [](Rng& r) { TransformerBlock(4, 2, r, {.dropout = 1}); },
         [](Rng& r) { TransformerBlock(4, 2, r, {.max_seq_len = 0}); },
         [](Rng& r) { TransformerBlock(4, 2, r, {.dim_feedforward = -1}); },
         [](Rng& r) { TransformerBlock(4, 2, r, {.dim_feedforward = huge}); },
         [](Rng& r) { TransformerBlock(4, 2, r, {.layer_norm_eps = 0}); }});
    const lm::GPTConfig small{.vocab_size = 5, .block_size = 4, .num_layers = 1, .num_heads = 2, .d_model = 4};
    const auto gpt = [&](const std::function<void(lm::GPTConfig&)>& change) {
        lm::GPTConfig config = small;
        change(config);
        return [config](Rng& r) { lm::GPT(config, r); };
    };
    add("GPT", gpt([](lm::GPTConfig&) {}),
        {gpt([](lm::GPTConfig& o) { o.dropout = 2; }), gpt([](lm::GPTConfig& o) { o.vocab_size = 0; }),
         gpt([](lm::GPTConfig& o) { o.block_size = 0; }), gpt([](lm::GPTConfig& o) { o.num_layers = 0; }),
         gpt([](lm::GPTConfig& o) { o.num_heads = 3; }), gpt([](lm::GPTConfig& o) { o.d_model = 0; }),
         gpt([](lm::GPTConfig& o) { o.dim_feedforward = -1; }),
         gpt([](lm::GPTConfig& o) { o.dim_feedforward = huge; }),
         gpt([](lm::GPTConfig& o) { o.layer_norm_eps = 0; }),
         gpt([](lm::GPTConfig& o) { o.vocab_size = huge; })});
    const auto decoder = [](const std::function<void(lm::DecoderConfig&)>& change) {
        lm::DecoderConfig config{.vocab_size = 5, .num_layers = 1, .num_heads = 2, .d_model = 4};
        change(config);
        return [config](Rng& r) { lm::Decoder(config, r); };
    };
    add("Decoder", decoder([](lm::DecoderConfig&) {}),
        {decoder([](lm::DecoderConfig& o) { o.vocab_size = 0; }),
         decoder([](lm::DecoderConfig& o) { o.num_layers = 0; }),
         decoder([](lm::DecoderConfig& o) { o.num_heads = 3; }),
         decoder([](lm::DecoderConfig& o) { o.norm_eps = 0; }),
         decoder([](lm::DecoderConfig& o) { o.dim_feedforward = huge; }),
         decoder([](lm::DecoderConfig& o) { o.vocab_size = huge; })});
    add("DataLoader",
        [](Rng& r) { training::DataLoader(std::vector<Tensor>{ones({2})}, {.shuffle = true}, r); },
        {[](Rng& r) { training::DataLoader(std::vector<Tensor>{}, {.shuffle = true}, r); },
         [](Rng& r) {
             training::DataLoader(std::vector<Tensor>{ones({2})}, {.batch_size = 0, .shuffle = true}, r);
         },
         [](Rng& r) {
             training::DataLoader(std::vector<Tensor>{ones({2})},
                                  {.batch_size = 2, .shuffle = true, .drop_last = true}, r);
         }});
    rows.back().functions += " BatchSampler::BatchSampler";
    return rows;
}

}  // namespace unchanged
