// What Weft computes with the model of a report's page, for the test of the page in a browser.
//   page_model PAGE < TEXTS     TEXTS is a JSON list of texts; prints a list with each text's ids,
//                               log_probabilities (T, V), attention (layers, heads, T, T) and losses (T − 1)
//   page_model --make PAGE      writes a page with a model that train_gpt does not make
//   page_model --make PAGE N    writes the N-th of many pages with a Decoder of drawn options
// T tokens, V vocabulary.
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "weft/weft.h"

using namespace weft;
using nlohmann::json;

namespace {

json rows(const Tensor& x) {  // accepts any rank
    if (x.rank() == 0) return x.item();
    json list = json::array();
    for (std::int64_t i = 0; i < x.size(0); ++i) list.push_back(rows(x[i]));
    return list;
}

json computed(const report::PageModel& page, const std::string& text) {
    const NoGrad no_grad;
    const text::Ids tokens = page.tokenizer.encode(text);
    const Tensor ids = from_vector(tokens, {std::ssize(tokens)});        // (T,)
    const Tensor log_probabilities = page.decoder(ids).log_softmax(-1);  // (T, V)
    json attention = json::array(), losses = json::array();
    for (const Tensor& layer : viz::attention_weights(page.decoder, ids))  // each (H, T, T) or (1, H, T, T)
        attention.push_back(rows(layer.rank() == 4 ? layer[0] : layer));
    for (std::size_t i = 1; i < tokens.size(); ++i)
        losses.push_back(-log_probabilities[static_cast<std::int64_t>(i) - 1][tokens[i]].item());
    return {{"ids", tokens},
            {"log_probabilities", rows(log_probabilities)},
            {"attention", attention},
            {"losses", losses}};
}

// Biases, other sizes, characters of one to four bytes, and tensors that halves cannot hold.
void make(const char* path) {
    const text::Characters tokenizer("abcdefgh <&>\n\téλ漢🧵");
    Rng rng(7);
    lm::GPT gpt({.vocab_size = tokenizer.vocab_size(),
                 .block_size = 24,
                 .num_layers = 3,
                 .num_heads = 5,
                 .d_model = 20,
                 .dropout = 0.5,
                 .bias = true,
                 .dim_feedforward = 33,
                 .layer_norm_eps = 1e-3},
                rng);
    const NoGrad no_grad;
    for (auto& [name, parameter] : gpt.named_parameters()) {
        if (parameter.rank() == 1) parameter.copy_(randn(parameter.shape(), rng) * 0.3 + 0.5);
        if (name == "token_embedding.weight") parameter.mul_(30);
        if (name == "blocks.1.norm1.weight") parameter.mul_(1e5);  // above the largest half
        if (name == "blocks.1.attn.W_qkv.weight") parameter.mul_(1e-5);
        if (name == "blocks.2.mlp.W_out.bias") parameter.mul_(1e-6);  // below the smallest normal half
    }
    report::Report report("Made for a test");
    report.model(gpt, tokenizer);
    report.save(path);
}

// A Decoder whose options are drawn, and its parameters too, so that no norm is 1 and no bias 0.
void make_decoder(const char* path, std::uint64_t seed) {
    const text::Characters tokenizer("abcdefgh <&>\n\téλ漢🧵");
    Rng rng(seed);
    const auto any = [&](std::int64_t count) { return rng.randint(0, count); };
    const auto layer = [&] {
        lm::DecoderLayerOptions options{.rotary = std::nullopt};
        if (any(2) == 1) options.window = 1 + any(9);
        if (any(3) == 0) return options;
        const nn::RotaryScaling scalings[] = {
            {},
            {.kind = nn::RotaryScaling::linear, .factor = 2},
            {.kind = nn::RotaryScaling::llama3, .factor = 8, .original_length = 40},
            {.kind = nn::RotaryScaling::yarn, .factor = 4, .original_length = 16},
            {.kind = nn::RotaryScaling::dynamic, .factor = 2, .original_length = 300}};
        options.rotary =
            nn::RotaryOptions{.base = any(2) == 0 ? 10.0 : 10000.0,
                              .pairs = any(2) == 0 ? nn::RotaryPairs::neighbours : nn::RotaryPairs::halves,
                              .width = any(2) == 0 ? 0 : 4,
                              .scaling = scalings[any(5)]};
        return options;
    };
    lm::DecoderConfig config{.vocab_size = tokenizer.vocab_size(),
                             .block_size = 24,
                             .num_layers = 3,
                             .num_heads = 6,
                             .num_kv_heads = std::array{1, 2, 6}[static_cast<std::size_t>(any(3))],
                             .d_model = 20,
                             .head_dim = 6,
                             .dim_feedforward = 33,
                             .norm = static_cast<lm::NormKind>(any(3)),
                             .norm_eps = 1e-3,
                             .norm_place = static_cast<lm::NormPlace>(any(3)),
                             .qk_norm = any(2) == 1,
                             .layers = {layer(), layer(), layer()},
                             .learned_positions = any(2) == 1,
                             .scale_by_layer = any(2) == 1,
                             .qkv_bias = any(2) == 1,
                             .output_bias = any(2) == 1,
                             .mlp_bias = any(2) == 1,
                             .fused_qkv = any(2) == 1,
                             .activation = static_cast<lm::Activation>(any(4)),
                             .gated = any(2) == 1,
                             .embedding_scale = any(2) == 1 ? 1 : 4.5,
                             .tied_head = any(2) == 1};
    config.norm_bias = config.norm == lm::NormKind::layer && any(2) == 1;
    if (any(2) == 1) config.attention_scale = 0.7;
    if (any(2) == 1) config.attention_softcap = 1.5;
    if (any(2) == 1) config.logits_softcap = 2;
    const lm::Decoder decoder(config, rng);
    const NoGrad no_grad;
    for (auto& [name, parameter] : decoder.named_parameters())
        parameter.copy_(randn(parameter.shape(), rng) * (parameter.rank() == 1 ? 0.3 : 0.2) +
                        (parameter.rank() == 1 ? 0.5 : 0.0));
    report::Report report("Made for a test");
    report.model(decoder, tokenizer);
    report.save(path);
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc == 3 && std::string(argv[1]) == "--make") {
        make(argv[2]);
        return 0;
    }
    if (argc == 4 && std::string(argv[1]) == "--make") {
        make_decoder(argv[2], std::stoul(argv[3]));
        return 0;
    }
    const report::PageModel page = report::Report::load(argv[1]).model();
    json all = json::array();
    for (const json& text : json::parse(std::cin)) all.push_back(computed(page, text.get<std::string>()));
    std::cout << all << '\n';
} catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
