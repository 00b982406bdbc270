// GPT-2's checkpoints, made by transformers (tests/golden/make_gpt2_golden.py): they load, and give its logits,
// gradients and continuations.
#include <filesystem>

#include "environment.h"
#include "golden/golden.h"
#include "places.h"
#include "refusal.h"
#include "weft/weft.h"

using namespace weft;

namespace {

const std::filesystem::path golden_folder = places::golden();

const Golden& golden() {
    static const Golden file("gpt2.safetensors");
    return file;
}

double difference(const Tensor& a, const Tensor& b) {
    REQUIRE(a.shape() == b.shape());
    return max(abs(a.detach().to(float64) - b.detach().to(float64))).item();
}

// The tensors under a prefix, named by what follows.
nn::NamedTensors under(const std::string& prefix) {
    nn::NamedTensors found;
    for (const std::string& name : golden().names())
        if (name.starts_with(prefix)) found.emplace_back(name.substr(prefix.size()), golden()(name));
    return found;
}

// A copy of the golden checkpoint, changed.
class Changed {
public:
    Changed() { std::filesystem::copy(golden_folder / "gpt2", folder()); }
    const std::filesystem::path& folder() const { return scratch_.folder(); }

    // Every occurrence of `from` in config.json becomes `to`.
    void config(const std::string& from, const std::string& to) {
        std::string text = io::load_text(folder() / "config.json");
        REQUIRE(contains(text, from));
        for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
            text.replace(at, from.size(), to);
        io::save_text(folder() / "config.json", text);
    }
    template <class Change>
    void tensors(Change change) {
        nn::NamedTensors state = io::load_safetensors(folder() / "model.safetensors").tensors;
        change(state);
        io::save_safetensors(folder() / "model.safetensors", state);
    }
    lm::GPT load() const { return lm::load_gpt2(folder()); }
    std::string refusal() const {
        return message_of<IoError>([&] { load(); });
    }

private:
    Scratch scratch_;
};

Tensor& named(nn::NamedTensors& state, const std::string& name) {
    for (auto& [key, value] : state)
        if (key == name) return value;
    throw Error("no " + name);
}

bool same_model(const lm::GPT& a, const lm::GPT& b) {
    const auto x = a.state_dict(), y = b.state_dict();
    for (std::size_t i = 0; i < x.size(); ++i)
        if (x[i].first != y[i].first || !same_bits(x[i].second, y[i].second)) return false;
    return x.size() == y.size();
}

}  // namespace

TEST_CASE("a state is compared with a GPT's sizes without that GPT, by the same words", "[gpt2][nn]") {
    for (const bool bias : {false, true})
        for (const std::int64_t hidden : {0, 6}) {
            const lm::GPTConfig config{.vocab_size = 5,
                                       .block_size = 3,
                                       .num_layers = 2,
                                       .num_heads = 2,
                                       .d_model = 4,
                                       .bias = bias,
                                       .dim_feedforward = hidden};
            Rng rng = Rng::skip_init();
            lm::GPT model(config, rng);
            nn::NamedTensors state = model.state_dict();
            CHECK_NOTHROW(lm::check_state_dict(config, state));
            state.front().second = zeros({7});
            state[1].second = zeros({3, 4}, float64);
            state[2].first = "stranger";
            state.pop_back();
            const std::string message = message_of<ValueError>([&] { lm::check_state_dict(config, state); });
            CHECK(contains(message, "unexpected: stranger"));
            CHECK(message == message_of<ValueError>([&] { model.load_state_dict(state); }));
        }
    const lm::GPTConfig deep{.num_layers = 1'000'000'000'000};
    refuses<ValueError>("0 tensors are too few for 1000000000000 layers",
                        [&] { lm::check_state_dict(deep, {}); });
}

TEST_CASE("of many things that do not fit, twenty are listed and the others counted", "[gpt2][nn]") {
    nn::NamedTensors state;
    for (int i = 0; i < 10'000; ++i) state.emplace_back("\x1b[2J" + std::to_string(i), zeros({1}));
    const lm::GPTConfig config{.num_layers = 5000};
    Rng rng = Rng::skip_init();
    nn::Linear small(2, 2, rng);
    for (const std::string& message : {message_of<ValueError>([&] { lm::check_state_dict(config, state); }),
                                       message_of<ValueError>([&] { lm::from_gpt2(state, config); }),
                                       message_of<ValueError>([&] { small.load_state_dict(state); })}) {
        INFO(message);
        CHECK(std::count(message.begin(), message.end(), '\n') == 21);
        CHECK(contains(message, " more"));
        CHECK(message.find('\x1b') == std::string::npos);
    }
    refuses<ValueError>("\n  and 9982 more", [&] { small.load_state_dict(state); });
}

TEST_CASE("GPT-2's checkpoints give the logits, the loss and all the gradients that transformers gives",
          "[gpt2]") {
    for (const std::string name : {"gpt2", "gpt2_inner"})
        for (const DType dtype : {float64, float32})
            for (const bool composed : {false, true}) {
                INFO(name << ", " << weft::name(dtype) << (composed ? ", composed" : ""));
                const Plain path(Plain::operations, composed);
                const double tolerance = dtype == float64 ? 1e-12 : 1e-5;
                const lm::GPT model = lm::load_gpt2(golden_folder / name, {.dtype = dtype});
                CHECK_FALSE(model.training());
                const Tensor ids = golden()(name + "/ids");  // (B, T)
                const Tensor logits = model(ids);            // (B, T, V)
                CHECK(difference(logits, golden()(name + "/logits")) <= tolerance);
                CHECK(difference(logits, golden()(name + "/logits32")) <= 1e-5);
                const std::int64_t T = ids.size(1);
                const Tensor loss = cross_entropy(logits.slice(1, 0, T - 1), ids.slice(1, 1, T));
                CHECK(difference(loss, golden()(name + "/loss")) <= tolerance);
                loss.backward();
                const nn::NamedTensors grads = lm::from_gpt2(under(name + "/grad/"), model.config);
                const nn::NamedTensors parameters = model.named_parameters();
                REQUIRE(parameters.size() + 1 == grads.size());  // the head is tied
                for (std::size_t i = 0; i < parameters.size(); ++i) {
                    INFO(parameters[i].first);
                    const auto found = std::find_if(grads.begin(), grads.end(), [&](const auto& grad) {
                        return grad.first == parameters[i].first;
                    });
                    REQUIRE(found != grads.end());
                    CHECK(difference(parameters[i].second.grad(), found->second) <= tolerance);
                }
            }
}

TEST_CASE("GPT-2's checkpoints continue a prompt greedily as transformers does, up to the block's end",
          "[gpt2]") {
    for (const std::string name : {"gpt2", "gpt2_inner"})
        for (const DType dtype : {float64, float32}) {
            lm::GPT model = lm::load_gpt2(golden_folder / name, {.dtype = dtype});
            const Tensor wanted = golden()(name + "/greedy");  // (block_size,)
            CHECK(wanted.size(0) == model.config.block_size);
            const Tensor found = model.generate(wanted.slice(0, 0, 5), wanted.size(0) - 5, {.temperature = 0});
            CHECK(found.to_vector<std::int64_t>() == wanted.to_vector<std::int64_t>());
        }
}

TEST_CASE("a GPT-2 loads under the names of other versions too", "[gpt2]") {
    const lm::GPT plain = lm::load_gpt2(golden_folder / "gpt2");
    Changed other;
    other.tensors([](nn::NamedTensors& state) {  // as the published model.safetensors has them
        for (auto& [name, value] : state) name = name.substr(std::string("transformer.").size());
        for (const char* layer : {"h.0", "h.1"}) {
            state.emplace_back(std::string(layer) + ".attn.bias", ones({1, 1, 24, 24}));
            state.emplace_back(std::string(layer) + ".attn.masked_bias", full({}, -1e4));
        }
    });
    CHECK(same_model(other.load(), plain));
    other.tensors([](nn::NamedTensors& state) {
        state.emplace_back("lm_head.weight", named(state, "wte.weight").clone());
    });
    CHECK(same_model(other.load(), plain));
    other.tensors([](nn::NamedTensors& state) {  // in float64, under the longer names
        for (auto& [name, value] : state) {
            if (!name.starts_with("lm_head")) name = "transformer." + name;
            value = value.to(float64);
        }
    });
    CHECK(same_model(other.load(), plain));
}

TEST_CASE("config.json may leave out what has a default, and begin with a byte-order mark", "[gpt2]") {
    const Scratch scratch;
    const auto config_of = [&](const std::string& text) {
        io::save_text(scratch / "config.json", text);
        return lm::gpt2_config(scratch / "config.json");
    };
    const std::string sizes =
        R"("model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024, "n_layer": 12, "n_head": 12, "n_embd": 768)";
    const lm::GPTConfig plain = config_of("{" + sizes + "}");
    CHECK(plain.vocab_size == 50257);
    CHECK(plain.block_size == 1024);
    CHECK(plain.num_layers == 12);
    CHECK(plain.num_heads == 12);
    CHECK(plain.d_model == 768);
    CHECK(plain.dim_feedforward == 0);
    CHECK(plain.bias);
    CHECK(plain.dropout == 0);
    CHECK(plain.layer_norm_eps == 1e-5);
    const lm::GPTConfig other =
        config_of("\xEF\xBB\xBF{" + sizes +
                  R"(, "n_inner": 100, "layer_norm_epsilon": 0.5, "reorder_and_upcast_attn": true,)"
                  R"( "activation_function": "gelu_pytorch_tanh", "task_specific_params": {"x": [1]}})");
    CHECK(other.dim_feedforward == 100);
    CHECK(other.layer_norm_eps == 0.5);
}

TEST_CASE("config.json may give each size up to its limit, and a wrong one is refused for itself alone",
          "[gpt2]") {
    const Scratch scratch;
    const std::vector<std::pair<std::string, std::int64_t>> limits{
        {"vocab_size", 100'000'000}, {"n_positions", 100'000'000}, {"n_layer", 10'000},
        {"n_head", 1'000'000},       {"n_embd", 1'000'000},        {"n_inner", 10'000'000}};
    const auto config_of = [&](const std::string& name, const std::string& value) {
        std::string text = "{\"model_type\": \"gpt2\"";
        for (const auto& [size, limit] : limits) {
            const bool divides = size == "n_embd" && name == "n_head";  // what n_head divides
            text += ", \"" + size + "\": " + (size == name ? value : divides ? "1000000" : "1");
        }
        io::save_text(scratch / "config.json", text + "}");
        return lm::gpt2_config(scratch / "config.json");
    };
    for (const auto& [name, limit] : limits) {
        INFO(name);
        CHECK_NOTHROW(config_of(name, "1"));
        CHECK_NOTHROW(config_of(name, std::to_string(limit)));
        for (const std::string& wrong : {std::to_string(limit + 1), std::string("0"), std::string("\"12\"")})
            CHECK(message_of<IoError>([&, &name = name] { config_of(name, wrong); }) ==
                  (scratch / "config.json").string() + " does not describe a GPT-2 that Weft can run:\n  " +
                      name + " is " + wrong + ", not a whole number in 1 … " + std::to_string(limit));
    }
    // What is no size divides into nothing and is divided by nothing.
    for (const char* sizes : {R"("n_embd": "x", "n_head": 12)", R"("n_embd": 768, "n_head": 0.5)"}) {
        io::save_text(scratch / "config.json",
                      R"({"model_type": "gpt2", "vocab_size": 5, "n_positions": 5, "n_layer": 5, )" +
                          std::string(sizes) + "}");
        const auto message = message_of<IoError>([&] { lm::gpt2_config(scratch / "config.json"); });
        CHECK(contains(message, "not a whole number in 1 … 1000000"));
        CHECK_FALSE(contains(message, "divide"));
    }
    CHECK(config_of("n_inner", "10000000").dim_feedforward == 10'000'000);
    CHECK(config_of("n_layer", "10000").num_layers == 10'000);
}

TEST_CASE("a GPT-2 loads for training on, with a dropout of one's own", "[gpt2]") {
    lm::GPT model = lm::load_gpt2(golden_folder / "gpt2", {.dropout = 0.5});
    const Tensor ids = golden()("gpt2/ids");
    CHECK(difference(model(ids), golden()("gpt2/logits")) < 1e-4);
    model.train();
    CHECK(difference(model(ids), golden()("gpt2/logits")) > 0.1);
}

TEST_CASE("a config.json of another architecture is refused with all that differs", "[gpt2]") {
    Changed other;
    other.config(R"("model_type": "gpt2")", R"("model_type": "llama", "add_cross_attention": true)");
    other.config("gelu_new", "silu");
    other.config(R"("scale_attn_weights": true)",
                 R"("scale_attn_weights": false, "tie_word_embeddings": false)");
    other.config(R"("scale_attn_by_inverse_layer_idx": false)", R"("scale_attn_by_inverse_layer_idx": true)");
    other.config(R"("n_head": 3)", R"("n_head": 5)");
    other.config(R"("n_inner": null)", R"("n_inner": -1)");
    other.config(R"("n_layer": 2)", R"("n_layer": 2.5)");
    other.config(R"("n_positions": 24,)", "");
    other.config("1e-05", "0");
    const std::string refusal = other.refusal();
    for (const char* part :
         {"config.json does not describe a GPT-2", "model_type is \"llama\", and GPT computes \"gpt2\"",
          "activation_function is \"silu\"", "scale_attn_weights is false", "tie_word_embeddings is false",
          "scale_attn_by_inverse_layer_idx is true", "add_cross_attention is true",
          "n_embd 24 does not divide into n_head 5", "n_inner is -1, not a whole number",
          "n_layer is 2.5, not a whole number in 1 … 10000", "n_positions is missing",
          "layer_norm_epsilon is 0"}) {
        INFO(part);
        CHECK(contains(refusal, part));
    }
}

TEST_CASE("weights that are not those of config.json are refused with all that differs", "[gpt2]") {
    Changed other;
    other.tensors([](nn::NamedTensors& state) {
        named(state, "transformer.ln_f.bias") = zeros({24}, int64);
        named(state, "transformer.h.1.mlp.c_fc.weight") = zeros({96, 24});
        for (auto& [name, value] : state)
            if (name == "transformer.wpe.weight") name = "model.embed_positions.weight";
        state.emplace_back("h.0.ln_1.bias", zeros({24}));
    });
    const std::string refusal = other.refusal();
    CHECK(refusal.starts_with("cannot load " + other.folder().string() + ": from_gpt2: "));
    for (const char* part :
         {"ln_f.bias: int64, but it has to be floating",
          "h.1.mlp.c_fc.weight: shape (96, 24), but it has to be (24, 96)", "missing: wpe.weight (24, 24)",
          "unexpected: model.embed_positions.weight (24, 24)", "repeated: h.0.ln_1.bias"}) {
        INFO(part);
        CHECK(contains(refusal, part));
    }
    Changed deeper;
    deeper.config(R"("n_layer": 2)", R"("n_layer": 3)");
    CHECK(contains(deeper.refusal(), "missing: h.2.ln_1.weight (24,)"));
    Changed shallower;
    shallower.config(R"("n_layer": 2)", R"("n_layer": 1)");
    CHECK(contains(shallower.refusal(), "unexpected: h.1.ln_1.weight (24,)"));
    Changed huge;  // refused before memory is asked for
    huge.config(R"("vocab_size": 384)", R"("vocab_size": 100000000)");
    CHECK(contains(huge.refusal(), "wte.weight: shape (384, 24), but it has to be (100000000, 24)"));
}

TEST_CASE("a GPT-2 whose head is not its token embedding is refused", "[gpt2]") {
    Changed untied;
    untied.tensors([](nn::NamedTensors& state) {
        Tensor head = named(state, "transformer.wte.weight").clone();
        head[383][23].add_(full({}, 1e-3));
        state.emplace_back("lm_head.weight", head);
    });
    CHECK(contains(untied.refusal(), "lm_head.weight: its values differ from those of wte.weight"));
    Changed other;
    other.tensors([](nn::NamedTensors& state) {
        state.emplace_back("lm_head.weight", named(state, "transformer.wte.weight").to(float64));
    });
    CHECK(contains(other.refusal(), "lm_head.weight: its values differ from those of wte.weight"));
    Changed narrow;
    narrow.tensors([](nn::NamedTensors& state) { state.emplace_back("lm_head.weight", zeros({384, 12})); });
    CHECK(contains(narrow.refusal(), "lm_head.weight: shape (384, 12), but it has to be (384, 24)"));
}

TEST_CASE("a GPT-2 in shards is the one in a single file", "[gpt2]") {
    const Changed whole, shards;
    const std::filesystem::path one = shards.folder() / "model.safetensors";
    nn::NamedTensors first = io::load_safetensors(one).tensors, rest(first.begin() + 5, first.end());
    first.resize(5);
    std::filesystem::remove(one);
    std::string index;
    for (const auto& [file, tensors] : {std::pair("1.safetensors", first), std::pair("2.safetensors", rest)}) {
        io::save_safetensors(shards.folder() / file, tensors);
        for (const auto& [name, x] : tensors)
            index += (index.empty() ? "\"" : ", \"") + name + "\": \"" + file + "\"";
    }
    io::save_text(shards.folder() / "model.safetensors.index.json", "{\"weight_map\": {" + index + "}}");
    const nn::NamedTensors a = whole.load().state_dict(), b = shards.load().state_dict();
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
        CHECK((a[i].first == b[i].first && same_bits(a[i].second, b[i].second)));
}

TEST_CASE("a folder without a whole GPT-2 is refused by the file that is missing or broken", "[gpt2]") {
    for (const char* file : {"config.json", "model.safetensors"}) {
        Changed other;
        std::filesystem::remove(other.folder() / file);
        const bool is_config = file == std::string("config.json");
        CHECK(contains(other.refusal(),
                       is_config ? "config.json: no such file" : "it has neither model.safetensors"));
        std::filesystem::create_directory(other.folder() / file);
        CHECK(contains(other.refusal(), std::string(file) + ": it is a directory"));
        std::filesystem::remove(other.folder() / file);
        io::save_text(other.folder() / file, "{");
        CHECK(contains(other.refusal(), std::string("cannot read ") + (other.folder() / file).string()));
    }
    const auto with_config = [](const std::string& text) {
        Changed other;
        io::save_text(other.folder() / "config.json", text);
        return other.refusal();
    };
    CHECK(contains(with_config("[]"), "it is not a JSON object"));
    CHECK(contains(with_config(R"({"n_embd": 1, "n_embd": 2})"), "it has \"n_embd\" twice"));
    CHECK(contains(with_config("{\"a\": " + std::string(100000, '[')), "nested too deeply"));
    const auto nested = [&](std::size_t levels) {  // the object itself is one
        return with_config("{\"a\": " + std::string(levels - 1, '[') + std::string(levels - 1, ']') + "}");
    };
    CHECK_FALSE(contains(nested(64), "nested"));
    CHECK(contains(nested(65), "nested too deeply, in more than 64 levels"));
    CHECK(contains(with_config("{\"a\": \"\xFF\"}"), "not valid JSON"));
}

TEST_CASE("a generator of zeros draws tensors of zeros, and all else as any", "[random]") {
    Rng zero = Rng::skip_init(7), rng(7);
    for (const auto& x : {randn({3, 2}, zero), rand({3, 2}, zero)})
        CHECK(x.to_vector<float>() == std::vector<float>(6, 0));
    randn({3, 2}, rng), rand({3, 2}, rng);
    CHECK(zero.randint(0, 1000000) == rng.randint(0, 1000000));
    CHECK(zero.uniform() == rng.uniform());
}

TEST_CASE("a GPT from a generator of zeros has zeros, but for its norms, until values are loaded",
          "[nn][gpt]") {
    Rng rng = Rng::skip_init();
    const lm::GPT model(
        {.vocab_size = 5, .block_size = 4, .num_layers = 2, .num_heads = 2, .d_model = 4, .bias = true}, rng);
    for (const auto& [name, parameter] : model.named_parameters()) {
        INFO(name);
        const bool scale = parameter.rank() == 1 && name.ends_with(".weight");
        CHECK(difference(parameter, full(parameter.shape(), scale ? 1 : 0)) == 0);
    }
}
