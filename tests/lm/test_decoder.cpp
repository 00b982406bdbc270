// lm::Decoder: the families of published models against transformers (tests/golden/make_decoder_golden.py),
// and every way to run a pass.
#include <cmath>
#include <fstream>
#include <functional>
#include <sstream>

#include "environment.h"
#include "places.h"
#include "refusal.h"
#include "source.h"

using namespace weft;
using source::difference;

namespace {

const io::SafeTensors& golden() {
    static const io::SafeTensors file =
        io::load_safetensors(std::filesystem::path(places::golden()) / "decoder.safetensors");
    return file;
}

// "llama.0", …
std::vector<std::string> cases() {
    std::vector<std::string> names;
    for (const auto& [name, value] : golden().metadata)
        if (golden().has(name + ".logits")) names.push_back(name);
    return names;
}

double largest(const Tensor& x) { return max(abs(x.detach())).item(); }
// The distance in shares of the largest number, at least 1.
double error(const Tensor& found, const Tensor& expected) {
    return difference(found.to(float64), expected.to(float64)) / std::max(1.0, largest(expected.to(float64)));
}

Tensor uniform(std::uint64_t seed, const Shape& shape) {
    Rng rng(seed);
    return rand(shape, rng, float64);
}

// One of them: a folder as it is published, with the weights of the script.
class Published {
public:
    explicit Published(const std::string& name) : name_(name) {
        const std::vector<std::string> all = cases();
        // The script numbers families in the order of its table.
        std::int64_t number = 0;
        for (const char* family : {"llama", "mistral", "qwen2", "qwen3", "gemma3_text", "gpt2"}) {
            const std::string prefix = std::string(family) + ".";
            if (name.starts_with(prefix)) {
                number += std::stoll(name.substr(prefix.size()));
                break;
            }
            number +=
                std::ranges::count_if(all, [&](const std::string& other) { return other.starts_with(prefix); });
        }
        std::ofstream(folder() / "config.json") << golden().meta(name);
        config = lm::pretrained_config(folder() / "config.json");
        ids = floor(uniform(77 + 1000 * static_cast<std::uint64_t>(number), {2, 10}) * 13.0).to(int64);

        Scratch made;  // the names and layouts of the file, as save_pretrained writes them
        lm::save_pretrained(made.folder(), lm::Decoder(config));
        std::map<std::string, Shape> shapes;
        for (const auto& [in_file, value] : io::load_safetensors(made / "model.safetensors").tensors)
            shapes.emplace(in_file, value.shape());
        std::istringstream names(golden().meta(name + ".parameters"));
        io::NamedTensors tensors;
        std::uint64_t i = 1000 * (static_cast<std::uint64_t>(number) + 1);
        for (std::string parameter; std::getline(names, parameter); ++i) {
            INFO(parameter);
            REQUIRE(shapes.contains(parameter));
            const Shape shape = shapes.at(parameter);
            Tensor w = uniform(i, shape) * 2.0 - 1.0;
            if (shape.rank() == 2) {
                const bool is_table = parameter.find("embed") != std::string::npos ||
                                      parameter.find("wte") != std::string::npos ||
                                      parameter.find("wpe") != std::string::npos;
                const auto inputs =
                    static_cast<double>(contains(parameter, "h.") && is_gpt2() ? shape[0] : shape[1]);
                if (!is_table) w = w * std::sqrt(6 / inputs);
            } else {
                w = w * 0.4;
                if (!parameter.ends_with("bias") && !name.starts_with("gemma3")) w = w + 1.0;
            }
            tensors.emplace_back(parameter, w);
        }
        CHECK(tensors.size() == shapes.size());
        io::save_safetensors(folder() / "model.safetensors", tensors);
        parameters = tensors;
    }
    const std::filesystem::path& folder() const { return scratch_.folder(); }
    Tensor operator()(const std::string& what) const { return golden().at(name_ + "." + what); }
    bool is_gpt2() const { return name_.starts_with("gpt2"); }

    lm::DecoderConfig config;
    io::NamedTensors parameters;  // with the names of the file, in the order of the golden gradients
    Tensor ids;

private:
    std::string name_;
    Scratch scratch_;
};

// The gradients of a model's parameters by the names and in the layouts of the file.
std::map<std::string, Tensor> gradients(const lm::Decoder& model) {
    nn::NamedTensors all;
    for (const auto& [name, p] : model.named_parameters()) all.emplace_back(name, p.grad().clone());
    Scratch scratch;
    lm::save_pretrained(scratch.folder(), lm::Decoder(model.config, all));
    std::map<std::string, Tensor> result;
    for (const auto& [name, value] : io::load_safetensors(scratch / "model.safetensors").tensors)
        result.emplace(name, value);
    return result;
}

Tensor loss_of(const lm::Decoder& model, const Tensor& ids) {
    const Tensor logits = model(ids);
    const std::int64_t V = logits.size(2), T = ids.size(1);
    return cross_entropy(logits.slice(1, 0, T - 1).reshape({-1, V}), ids.slice(1, 1, T).reshape({-1}));
}

}  // namespace

TEST_CASE("each family's logits and gradients are those of transformers, in float64 and in float32",
          "[lm][decoder][golden]") {
    REQUIRE(cases().size() == 101);
    for (const std::string& name : cases()) {
        DYNAMIC_SECTION(name << " " << golden().meta(name)) {
            const Published published(name);
            const lm::Decoder model = lm::load_pretrained(published.folder());
            CHECK(model.num_parameters() > 0);
            CHECK(error(model(published.ids), published("logits")) < 1e-12);

            Tensor loss = loss_of(model, published.ids);
            CHECK(loss.item() == Approx(published("loss").item()).epsilon(1e-12));
            loss.backward();
            const std::map<std::string, Tensor> grads = gradients(model);
            const Tensor norms = published("norms"), entries = published("entries");
            for (std::size_t i = 0; i < published.parameters.size(); ++i) {
                const auto row = static_cast<std::int64_t>(i);
                const Tensor g = grads.at(published.parameters[i].first).reshape({-1});
                INFO(published.parameters[i].first);
                CHECK(std::abs(std::sqrt(sum(g * g).item()) - norms[row].item()) <=
                      1e-12 * std::max(1.0, norms[row].item()));
                for (std::int64_t k = 0; k < 8; ++k) {
                    const double step = static_cast<double>(g.numel() - 1) / 7;
                    const auto at = static_cast<std::int64_t>(std::nearbyint(step * static_cast<double>(k)));
                    CHECK(std::abs(g[at].item() - entries.at({row, k})) <=
                          1e-12 * std::max(1.0, norms[row].item()));
                }
            }
            const lm::Decoder narrow = lm::load_pretrained(published.folder(), {.dtype = float32});
            CHECK(narrow(published.ids).dtype() == float32);
            CHECK(error(narrow(published.ids), published("logits32")) < 1e-5);
        }
    }
}

TEST_CASE("a pass over all, one token at a time, one sample, padding on the left and a cache resumed agree",
          "[lm][decoder]") {
    const NoGrad off;
    for (const std::string& name : cases())
        for (const DType dtype : {float64, float32}) {
            DYNAMIC_SECTION(name << " " << weft::name(dtype)) {
                const double most = dtype == float64 ? 1e-12 : 1e-5;
                const Published published(name);
                const lm::Decoder model = lm::load_pretrained(published.folder(), {.dtype = dtype});
                const Tensor &ids = published.ids, whole = model(ids);
                const std::int64_t B = ids.size(0), T = ids.size(1);
                CHECK(error(model(ids[1]), whole[1]) < most);
                CHECK(error(model(ids, {.last_only = true}), whole.slice(1, T - 1, T)) < most);

                std::vector<nn::KeyValueCache> caches = model.make_caches({}, 16);
                for (std::int64_t t = 0; t < T; ++t) {
                    const Tensor next = ids.slice(1, t, t + 1);
                    if (!model.caches_apply(t, t + 1)) {  // a step of dynamic or longrope scaling
                        refuses<ShapeError>("no longer applies", [&] { return model(next, caches); });
                        for (nn::KeyValueCache& cache : caches) cache.clear();
                        CHECK(error(model(ids.slice(1, 0, t + 1), caches), model(ids.slice(1, 0, t + 1))) <
                              most);
                    } else {
                        CHECK(error(model(next, caches), model(ids.slice(1, 0, t + 1)).slice(1, t, t + 1)) <
                              most);
                    }
                }
                CHECK(caches[0].length() == T);
                if (model.caches_apply(3, T)) {
                    for (nn::KeyValueCache& cache : caches) cache.truncate(3);  // resumed in the middle
                    CHECK(error(model(ids.slice(1, 3, T), caches), whole.slice(1, 3, T)) < most);
                }

                if (!model.caches_apply(T, T + 3)) continue;  // lengths count the padding
                const Tensor padding = zeros({B, 3}, int64);
                const Tensor padded = cat({padding, ids}, 1);
                const Tensor real = cat({zeros({B, 3}, boolean), ones({B, T}, boolean)}, 1);
                CHECK(error(model(padded, {.attention_mask = real}).slice(1, 3, T + 3), whole) < most);
                std::vector<nn::KeyValueCache> fresh = model.make_caches({}, 16);
                if (!model.caches_apply(7, T + 3)) continue;
                (void)model(padded.slice(1, 0, 7), fresh, {.attention_mask = real.slice(1, 0, 7)});
                CHECK(error(model(padded.slice(1, 7, T + 3), fresh, {.attention_mask = real}),
                            whole.slice(1, 4, T)) < most);
            }
        }
}

TEST_CASE("a Decoder is made of its own state_dict, which lists a tied head, too", "[lm][decoder]") {
    Rng rng(2);
    const lm::Decoder model({.vocab_size = 7, .num_layers = 1, .num_heads = 2, .d_model = 8}, rng);
    nn::NamedTensors state = model.state_dict();
    const auto head = std::ranges::find(state, "lm_head.weight", &nn::NamedTensors::value_type::first);
    REQUIRE(head != state.end());
    const Tensor ids = tensor({{0, 3, 6}});  // (1, 3)
    CHECK(same_bits(lm::Decoder(model.config, state)(ids), model(ids)));
    head->second = head->second.detach() + 1.0;
    refuses<ValueError>("lm_head.weight: its values differ", [&] { lm::Decoder(model.config, state); });
}

TEST_CASE("a Decoder with a GPT's options has its bits", "[lm][decoder]") {
    const NoGrad off;
    for (const bool bias : {false, true})
        for (const bool rotates : {false, true})
            for (const DType dtype : {float32, float64}) {
                Rng rng(3);
                lm::GPTConfig config{
                    .vocab_size = 50, .block_size = 24, .num_layers = 2, .d_model = 32, .bias = bias};
                config.attention.num_kv_heads = 2;
                if (rotates) config.attention.rotary_base = 1000;
                lm::GPT gpt(config, rng);
                gpt.to(dtype);
                const lm::Decoder same(lm::decoder_config(config), lm::decoder_state(gpt.state_dict()));
                const Tensor ids = randint(0, 50, {2, 24}, rng);
                CHECK(same_bits(same(ids), gpt(ids)));
                auto one = same.make_caches(), other = gpt.make_caches();
                for (std::int64_t t = 0; t < 24; t += 6)
                    CHECK(same_bits(same(ids.slice(1, t, t + 6), one), gpt(ids.slice(1, t, t + 6), other)));
                CHECK(lm::decoder_memory(same.config, dtype).weights == lm::memory_of(config, dtype).weights);
                CHECK(lm::decoder_memory(same.config, dtype).cache == lm::memory_of(config, dtype).cache);
            }
}
