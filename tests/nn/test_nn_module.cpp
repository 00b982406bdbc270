// Module: names, ties, handles, states, types.
#include "refusal.h"
#include "weft/packed/packed.h"
#include "weft/weft.h"

using namespace weft;

namespace {

// What is registered is not assigned: the forward pass would use one tensor, and the optimiser another.
template <class To, class... From>
constexpr bool takes_none = !(std::is_assignable_v<To&, From> || ...);
static_assert(takes_none<nn::Parameter, Tensor, Tensor&, const Tensor&, nn::Parameter, nn::Parameter&>);
static_assert(takes_none<nn::Buffer, Tensor, const nn::Buffer&>);
static_assert(std::is_copy_constructible_v<nn::Parameter> &&
              std::is_nothrow_move_constructible_v<nn::Parameter>);
static_assert(!std::is_constructible_v<nn::Parameter, Tensor>);  // register_parameter makes them
template <class... M>
constexpr bool stay = (!(std::is_copy_assignable_v<M> || std::is_move_assignable_v<M>)&&...) &&
                      (std::is_copy_constructible_v<M> && ...);
static_assert(stay<nn::Module, nn::Linear, nn::Embedding, nn::LayerNorm, nn::RMSNorm, nn::BatchNorm, nn::Conv2d,
                   nn::Dropout, nn::MLP, nn::GatedMLP, nn::MixtureOfExperts, nn::MultiHeadAttention,
                   nn::CausalMultiHeadAttention, nn::TransformerBlock, nn::DecoderBlock, nn::Sequential,
                   nn::ModuleList<nn::Linear>, lm::GPT, lm::LanguageModel>);

// Registered where they are declared.
struct Declared : nn::Module {
    nn::Linear first = register_module("first", nn::Linear(2, 3));
    nn::Linear second = register_module("second", nn::Linear(first.weight));
    nn::Parameter scale = register_parameter("scale", ones({3}));
    nn::Buffer seen = register_buffer("seen", zeros({1}));
    Tensor operator()(const Tensor& x) const { return first(x) * scale; }
};
static_assert(stay<Declared>);

struct Scale : nn::Module {
    nn::Parameter weight;
    nn::Buffer calls;
    explicit Scale(const std::vector<float>& values)
        : Module("Scale"),
          weight(register_parameter("weight", from_vector(values, {static_cast<std::int64_t>(values.size())}))),
          calls(register_buffer("calls", zeros({1}))) {}
    Tensor operator()(const Tensor& x) const { return x * weight; }
};

struct Pair : nn::Module {
    Scale first, second;
    nn::Parameter offset;
    nn::Buffer scratch;
    Pair()
        : Module("Pair"),
          first(register_module("first", Scale({1, 2}))),
          second(register_module("second", Scale({3, 4}))),
          offset(register_parameter("offset", tensor({5.0, 6}))),
          scratch(register_buffer("scratch", tensor({7.0}), /*persistent=*/false)) {}
};

// Two names for one tensor.
struct Tied : nn::Module {
    nn::Parameter a = register_parameter("a", tensor({1.0, 2, 3})), b = register_parameter("b", a);
    Tied() : Module("Tied") {}
};

// Registers whatever it is told to, to be refused.
struct Free : nn::Module {
    Free() : Module("Free") {}
    using Module::register_buffer;
    using Module::register_module;
    using Module::register_parameter;
};

std::vector<std::string> names(const nn::NamedTensors& named) {
    std::vector<std::string> result;
    for (const auto& [name, value] : named) result.push_back(name);
    return result;
}

using Names = std::vector<std::string>;
using Floats = std::vector<float>;

}  // namespace

TEST_CASE("members registered where they are declared are made, and draw, in their order", "[nn][module]") {
    manual_seed(1);
    const Declared net;
    CHECK(names(net.named_parameters()) == Names{"scale", "first.weight", "first.bias"});
    CHECK(names(net.state_dict()) == Names{"scale", "seen", "first.weight", "first.bias", "second.weight"});
    CHECK(net.kind() == "Module");
    CHECK(net.named_children()[0].second.path() == "Module.first");
    Rng rng(1);
    const nn::Linear alone(2, 3, rng);
    CHECK(same_bits(net.first.weight, alone.weight));
    CHECK(same_bits(net.first.bias, alone.bias));
    CHECK(Declared{}.num_parameters() == net.num_parameters());
    CHECK(std::make_shared<Declared>()->num_parameters() == net.num_parameters());
}

TEST_CASE("copy_ and set_data of a member reach the forward pass, the parameters and the state",
          "[nn][module]") {
    Declared net;
    const NoGrad off;
    net.first.weight.copy_(full({3, 2}, 2));
    net.first.bias.zero_();
    CHECK(all(net(ones({1, 2})) == 4));
    CHECK(all(net.state_dict()[2].second == 2));
    net.first.weight.set_data(ones({3, 5}));
    CHECK(all(net(ones({1, 5})) == 5));
    CHECK(net.named_parameters()[1].second.shape() == Shape{3, 5});
    CHECK(net.second.weight.shape() == Shape{3, 5});  // tied
    net.to(float64);
    CHECK(net.first.weight.dtype() == float64);
    net.seen += 1;
    CHECK(net.named_buffers()[0].second.item() == 1);
}

TEST_CASE("parameters come with dotted names: a module's own, then its children's", "[nn][module]") {
    const Pair pair;
    CHECK(names(pair.named_parameters()) == Names{"offset", "first.weight", "second.weight"});
    CHECK(names(pair.named_buffers()) == Names{"scratch", "first.calls", "second.calls"});
    CHECK(names(pair.state_dict()) ==
          Names{"offset", "first.weight", "first.calls", "second.weight", "second.calls"});
    CHECK(pair.num_parameters() == 6);
    CHECK(pair.named_children().at(1).first == "second");
    CHECK(pair.named_children().at(1).second.kind() == "Scale");
    for (const Tensor& parameter : pair.parameters()) CHECK(parameter.requires_grad());
    for (const auto& [name, value] : pair.named_buffers()) CHECK_FALSE(value.requires_grad());
}

TEST_CASE("a copy of a module is the same module", "[nn][module]") {
    Pair pair;
    const Pair copy = pair;
    pair.eval();
    CHECK_FALSE(copy.training());
    CHECK_FALSE(copy.first.training());
    pair.to(float64);
    CHECK(copy.second.weight.dtype() == float64);
    {
        NoGrad off;
        pair.first.weight.fill_(9);
    }
    CHECK(copy.first.weight.at({1}) == 9);
    sum(copy.first(ones({2}, float64))).backward();
    CHECK(pair.first.weight.grad().to_vector<double>() == std::vector<double>{1, 1});
    pair.zero_grad();
    CHECK_FALSE(copy.first.weight.grad().defined());
}

TEST_CASE("train and eval reach every child", "[nn][module]") {
    Pair pair;
    CHECK(pair.second.training());
    pair.eval();
    CHECK_FALSE(pair.second.training());
    pair.second.train();
    CHECK_FALSE(pair.training());
    CHECK(pair.second.training());
    pair.train();
    CHECK(pair.first.training());
}

TEST_CASE("a tied parameter is listed, counted and converted once, and is in the state under both names",
          "[nn][module]") {
    Tied tied;
    CHECK(names(tied.named_parameters()) == Names{"a"});
    CHECK(names(tied.state_dict()) == Names{"a", "b"});
    CHECK(tied.num_parameters() == 3);
    tied.to(float64);
    CHECK(tied.a.dtype() == float64);
    CHECK(tied.b.dtype() == float64);
    CHECK(tied.a.shares_storage(tied.b));
    sum(tied.a * tied.b).backward();  // Σ a²
    CHECK(tied.a.grad().to_vector<double>() == std::vector<double>{2, 4, 6});
}

TEST_CASE("to changes every floating tensor in place and clears gradients", "[nn][module]") {
    Pair pair;
    const Tensor handle = pair.first.weight;
    sum(pair.first(tensor({1.0, 1}))).backward();
    pair.to(float64);
    CHECK(handle.dtype() == float64);
    CHECK(handle.requires_grad());
    CHECK(handle.is_leaf());
    CHECK_FALSE(handle.grad().defined());
    CHECK(handle.to_vector<double>() == std::vector<double>{1, 2});
    CHECK(pair.scratch.dtype() == float64);
    sum(pair.first(tensor({3, 4}, float64))).backward();
    CHECK(handle.grad().to_vector<double>() == std::vector<double>{3, 4});
    refuses<DTypeError>("int64", [&] { pair.to(int64); });
}

TEST_CASE("a state that was saved is loaded into other modules, by value", "[nn][module]") {
    const Pair from;
    Pair to;
    {
        NoGrad off;
        for (auto& [name, value] : to.state_dict()) Tensor(value).fill_(0);
    }
    to.load_state_dict(from.state_dict());
    CHECK(to.first.weight.to_vector<float>() == Floats{1, 2});
    CHECK(to.second.weight.to_vector<float>() == Floats{3, 4});
    CHECK(to.offset.to_vector<float>() == Floats{5, 6});
    CHECK_FALSE(to.offset.shares_storage(from.offset));
}

TEST_CASE("a state that does not fit is refused with everything that is wrong, and changes nothing",
          "[fault][nn][module]") {
    Pair pair;
    nn::NamedTensors state{{"offset", tensor({0.0, 0})},
                           {"first.weight", tensor({0.0, 0, 0})},
                           {"first.calls", zeros({1}, float64)},
                           {"second.weight", tensor({0.0, 0})},
                           {"third.weight", tensor({0.0})}};
    refuses<ValueError>(
        "missing: second.calls (1,)…unexpected: third.weight (1,)…first.weight: shape (3,), but the module's "
        "is (2,)…first.calls: float64, but the module's is float32",
        [&] { pair.load_state_dict(state); });
    CHECK(pair.offset.to_vector<float>() == Floats{5, 6});

    const std::string lenient = message_of<ShapeError>([&] { pair.load_state_dict(state, false); });
    CHECK_FALSE(contains(lenient, "missing"));
    CHECK(pair.offset.to_vector<float>() == Floats{5, 6});

    state[1].second = tensor({8.0, 9});
    refuses<DTypeError>("first.calls", [&] { pair.load_state_dict(state, false); });
    CHECK(pair.first.weight.to_vector<float>() == Floats{1, 2});

    state[2].second = zeros({1});
    pair.load_state_dict(state, false);
    CHECK(pair.first.weight.to_vector<float>() == Floats{8, 9});

    state.push_back(state.front());
    refuses<ValueError>("repeated: offset", [&] { pair.load_state_dict(state, false); });
}

TEST_CASE("a parameter is made contiguous", "[nn][module]") {
    CHECK(Free().register_parameter("strided", ones({3}).expand({2, 3})).is_contiguous());
}

TEST_CASE("an expanded buffer without elements loads: none share memory", "[nn][module]") {
    Free free;
    free.register_buffer("empty", zeros({0, 1}).expand({0, 3}));
    CHECK_NOTHROW(free.load_state_dict(free.state_dict()));
}

TEST_CASE("the summary has a row for each module and parameter, and the total", "[nn][module]") {
    const std::string text = Tied().summary();
    CHECK(text ==
          "(this)  Tied\n"
          "  a     (3,) float32  3\n"
          "  b     (3,) float32  = a\n"
          "parameters: 3 (12 bytes)\n");
    const std::string pair = Pair().summary();
    CHECK(contains(pair, "  first     Scale\n    weight  (2,) float32  2\n    calls   (1,) float32  buffer\n"));
    CHECK(contains(pair, "parameters: 6 (24 bytes)"));
    Rng rng(1);
    CHECK(contains(nn::Linear(1000, 1235, rng, false).summary(), "1,235,000"));
}

TEST_CASE("tied names are loaded with one value, or refused together", "[nn][module]") {
    Rng rng(1);
    lm::GPT model({.vocab_size = 4, .block_size = 4, .num_layers = 1, .num_heads = 1, .d_model = 4}, rng);
    const auto values = [&] { return model.token_embedding.weight.to_vector<float>(); };
    const auto before = values();
    nn::NamedTensors state;
    for (const auto& [name, value] : model.state_dict()) {
        state.emplace_back(name, value.detach().clone());
        if (name == "head.weight" || name == "token_embedding.weight") state.back().second[0][0].fill_(NAN);
    }
    model.load_state_dict(state);  // NaN in both is the same value
    CHECK(std::isnan(values()[0]));
    state.front().second.fill_(2);
    for (const bool strict : {true, false})
        refuses<ValueError>(
            "tied: token_embedding.weight and head.weight are one tensor of the module, but their "
            "values differ",
            [&] { model.load_state_dict(state, strict); });
    CHECK(std::isnan(values()[0]));
    CHECK(values()[1] == before[1]);
    std::erase_if(state, [](const auto& named) { return named.first == "head.weight"; });
    model.load_state_dict(state, false);  // one of the two names is enough
    CHECK(values() == std::vector<float>(16, 2));
}
