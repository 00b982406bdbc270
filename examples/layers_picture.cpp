// Draws the picture of docs/architecture.md: the libraries of Weft, and the other libraries that each one uses.
//     layers_picture docs/figures/layers.svg
#include <weft/io.h>
#include <weft/viz.h>

#include <cstdio>

int main(int argc, char** argv) try {
    using namespace weft;
    if (argc != 2 || argv[1][0] == '-') {
        std::fprintf(stderr, "usage: layers_picture FILE\n");
        return 2;
    }
    struct Layer {
        const char *target, *contents, *uses, *fill;
    };
    const Layer layers[] = {
        {"weft::training", "batches, checkpoints, progress, Ctrl-C, evaluation", "", "#f6e3ea"},
        {"weft::report", "the page of a run", "JSON", "#f4e7d8"},
        {"weft::viz", "pictures in the terminal and as SVG, stories", "", "#f4e7d8"},
        {"weft::lm", "GPT, GPT-2, models of today, generation", "JSON", "#fbf6d9"},
        {"weft::io", "files of tensors; tokenisers", "JSON, zlib, PCRE2, utf8proc", "#fbf6d9"},
        {"weft::dist", "training on several processes and machines", "MPI, if it is there", "#e6e9f5"},
        {"weft::nn", "modules, attention, optimisers, checks", "", "#e3f1e6"},
    };
    const viz::Label name{.size = 15, .anchor = "start", .bold = true}, small{.size = 13, .anchor = "start"},
        other{.size = 13, .anchor = "start", .colour = "#555"};
    viz::Drawing d(800, 566, "The libraries of Weft: each is built on some of those below it");
    d.text(592, 24, "uses", {.size = 13, .anchor = "start", .colour = "#555", .bold = true});
    double y = 40;
    for (const Layer& layer : layers) {
        d.box(20, y, 552, 48, "", {.fill = layer.fill}).text(36, y + 24, layer.target, name);
        d.text(172, y + 24, layer.contents, small).text(592, y + 24, layer.uses, other);
        y += 58;
    }
    d.box(20, y, 552, 104, "", {}).text(36, y + 24, "weft::core", name);
    d.text(172, y + 24, "tensors, gradients, operations, masks, random numbers", small);
    const char* rooms[] = {"core", "ops", "fast", "derive", "watch"};
    for (int i = 0; i < 5; ++i) d.box(36 + 107 * i, y + 48, 85, 38, rooms[i], {.fill = "#fff"});
    d.text(592, y + 24, "xtensor, xsimd,", other).text(592, y + 42, "xtensor-blas,", other);
    d.text(592, y + 60, "OpenBLAS, oneDNN, oneTBB", other);
    io::save_text(argv[1], d.svg());
} catch (const weft::Error& error) {
    std::fprintf(stderr, "layers_picture: %s\n", error.what());
    return 1;
}
