// The graph of the loss of a small network.
//
//     graph_picture            prints it in Graphviz's DOT language
//     graph_picture out.svg    draws it, if the program dot is installed
#include <weft/weft.h>

#include <cstdio>

int main(int argc, char** argv) try {
    using namespace weft;
    if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
        std::fprintf(stderr, "usage: graph_picture [out.svg]\n");
        return 2;
    }
    Rng rng(1);
    const nn::Sequential net{nn::Linear(2, 8, rng), tanh, nn::Linear(8, 1, rng), sigmoid};
    const Tensor x = tensor({{0.0, 0}, {0, 1}, {1, 0}, {1, 1}}),
                 y = tensor({{0.0}, {1}, {1}, {0}});  // (4, 2), (4, 1)
    const std::string dot = viz::graph(mse_loss(net(x), y), net.named_parameters());
    if (argc == 1)
        std::fputs(dot.c_str(), stdout);
    else
        viz::save_svg(argv[1], dot);
    return 0;
} catch (const weft::Error& error) {
    std::fprintf(stderr, "graph_picture: %s\n", error.what());
    return 1;
}
