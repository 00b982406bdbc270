// A small GPT memorises a verse letter by letter. Then its attention is shown in the terminal and, if you give
// a folder, as SVG pictures.
//
//     attention_maps [folder]    writes folder/layers.svg and folder/layer_1_head_1.svg …
#include <weft/weft.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

using namespace weft;

namespace {

const std::string verse = "the cat sat on the mat and the rat sat on the cat ";
const std::string shown = "the cat sat on the mat";
constexpr std::int64_t block_size = 24, batch = 16;
constexpr int steps = 200;

// Letters and the space: 0 … 26.
std::int64_t id_of(char c) { return c == ' ' ? 0 : c - 'a' + 1; }

// `count` letters of the repeated verse, from position `start`.
std::vector<std::int64_t> letters(std::int64_t start, std::int64_t count) {
    std::vector<std::int64_t> ids;
    for (std::int64_t i = start; i < start + count; ++i)
        ids.push_back(id_of(verse[static_cast<std::size_t>(i) % verse.size()]));
    return ids;
}

double learn(lm::GPT& model, Rng& rng) {
    optim::AdamW optimizer(model, {.lr = 3e-3});
    const auto loss_of_a_batch = [&] {
        std::vector<std::int64_t> inputs, targets;
        for (std::int64_t b = 0; b < batch; ++b) {
            const std::int64_t start = rng.randint(0, static_cast<std::int64_t>(verse.size()));
            const auto x = letters(start, block_size), y = letters(start + 1, block_size);
            inputs.insert(inputs.end(), x.begin(), x.end());
            targets.insert(targets.end(), y.begin(), y.end());
        }
        return cross_entropy(model(from_vector(inputs, {batch, block_size})),
                             from_vector(targets, {batch, block_size}));
    };
    return training::minimise(optimizer, steps, loss_of_a_batch, {.print_every = 0});
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
        std::fprintf(stderr, "usage: attention_maps [folder]\n");
        return 2;
    }
    set_num_threads(1);  // the operations are too small to share among threads
    Rng rng(1);
    lm::GPT model({.vocab_size = 27, .block_size = block_size, .num_layers = 2, .num_heads = 4, .d_model = 32},
                  rng);
    const double loss = learn(model, rng);
    std::printf("loss after %d steps: %.3f\n\n", steps, loss);

    std::vector<std::string> tokens;
    std::vector<std::int64_t> ids;
    for (const char c : shown) tokens.emplace_back(1, c), ids.push_back(id_of(c));
    const auto T = static_cast<std::int64_t>(ids.size());
    const std::vector<Tensor> layers =
        viz::attention_weights(model, from_vector(ids, {1, T}));  // each (1, H, T, T)

    viz::MapOptions options{.queries = tokens, .mask = Mask::causal(), .title = "layer 1", .wide = true};
    std::printf("%s\n", viz::attention_text(layers[0], options).c_str());
    if (argc == 2) {
        const std::filesystem::path folder = argv[1];
        options.title = "a GPT of 2 layers, \"" + shown + "\"";
        io::save_text(folder / "layers.svg", viz::attention_grid_svg(layers, options));
        for (std::size_t l = 0; l < layers.size(); ++l)
            for (std::int64_t h = 0; h < layers[l].size(1); ++h) {
                const std::string name = "layer_" + std::to_string(l + 1) + "_head_" + std::to_string(h + 1);
                options.title = "layer " + std::to_string(l + 1) + ", head " + std::to_string(h + 1);
                io::save_text(folder / (name + ".svg"), viz::attention_svg(layers[l][0][h], options));
            }
        std::printf("pictures are in %s\n", folder.c_str());
    }
    return loss < 0.5 ? 0 : 1;
} catch (const Error& error) {
    std::fprintf(stderr, "attention_maps: %s\n", error.what());
    return 1;
}
