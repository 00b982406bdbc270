// What Weft computes with the model of a report's page, for the test of the page in a browser.
//   page_model PAGE < TEXTS     TEXTS is a JSON list of texts; prints a list with each text's ids,
//                               log_probabilities (T, V), attention (layers, heads, T, T) and losses (T − 1)
//   page_model --make PAGE      writes a page with a model that train_gpt does not make
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
    const Tensor ids = from_vector(tokens, {std::ssize(tokens)});    // (T,)
    const Tensor log_probabilities = page.gpt(ids).log_softmax(-1);  // (T, V)
    json attention = json::array(), losses = json::array();
    for (const Tensor& layer : viz::attention_weights(page.gpt, ids))  // each (H, T, T) or (1, H, T, T)
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

}  // namespace

int main(int argc, char** argv) try {
    if (argc == 3 && std::string(argv[1]) == "--make") {
        make(argv[2]);
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
