// The graph as a picture.
#include <algorithm>
#include <map>
#include <regex>
#include <sstream>

#include "catch.h"
#include "environment.h"
#include "refusal.h"
#include "weft/weft.h"

using namespace weft;

namespace {

// What a DOT text of ours says: labels by node, and edges.
struct Dot {
    std::map<std::string, std::string> labels;
    std::vector<std::pair<std::string, std::string>> edges;

    explicit Dot(const std::string& text) {
        static const std::regex node(R"re(^  (n\d+) \[label="((?:[^"\\]|\\.)*)")re"),
            edge(R"(^  (n\d+) -> (n\d+);$)");
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            std::smatch match;
            if (std::regex_search(line, match, node)) {
                CHECK(labels.emplace(match[1], match[2]).second);  // declared once
            } else if (std::regex_match(line, match, edge)) {
                edges.emplace_back(match[1], match[2]);
            }
        }
    }
    std::vector<std::string> sorted_labels() const {
        std::vector<std::string> all;
        for (const auto& [node, label] : labels) all.push_back(label);
        std::sort(all.begin(), all.end());
        return all;
    }
    std::vector<std::string> inputs_of(const std::string& label) const {
        std::vector<std::string> found;
        for (const auto& [from, to] : edges)
            if (labels.at(to) == label) found.push_back(labels.at(from));
        return found;
    }
};

}  // namespace

TEST_CASE("every operation and leaf is in the picture exactly once, with its shape and name", "[viz][graph]") {
    Rng rng(1);
    const nn::Linear layer(3, 2, rng);
    const Tensor x = ones({4, 3}).requires_grad_();
    const Tensor h = layer(x), y = sum(h * tanh(h) + h);  // h is used three times
    nn::NamedTensors names = layer.named_parameters();
    names.emplace_back("x", x);
    const Dot dot(viz::graph(y, names));
    CHECK(dot.sorted_labels() == std::vector<std::string>{"add\\n(4, 2)", "bias\\n(2,)", "linear\\n(4, 2)",
                                                          "multiply\\n(4, 2)", "sum\\n()", "tanh\\n(4, 2)",
                                                          "weight\\n(2, 3)", "x\\n(4, 3)"});
    using Labels = std::vector<std::string>;
    CHECK(dot.inputs_of("linear\\n(4, 2)") == Labels{"x\\n(4, 3)", "weight\\n(2, 3)", "bias\\n(2,)"});
    CHECK(dot.inputs_of("multiply\\n(4, 2)") == Labels{"linear\\n(4, 2)", "tanh\\n(4, 2)"});
    CHECK(dot.inputs_of("add\\n(4, 2)") == Labels{"multiply\\n(4, 2)", "linear\\n(4, 2)"});
    CHECK(dot.inputs_of("sum\\n()") == Labels{"add\\n(4, 2)"});
    CHECK(dot.edges.size() == 3 + 1 + 2 + 2 + 1);
}

TEST_CASE("the picture of attention has its operations, fused or composed", "[viz][graph]") {
    Rng rng(1);
    const nn::CausalMultiHeadAttention attention(8, 2, rng, {.max_seq_len = 4});
    const Tensor x = randn({1, 3, 8}, rng);
    const auto count = [](const std::string& dot, const std::string& operation) {
        const auto labels = Dot(dot).sorted_labels();
        return std::count_if(labels.begin(), labels.end(),
                             [&](const std::string& label) { return label.starts_with(operation + "\\n"); });
    };
    const std::string fused = viz::graph(attention(x), attention.named_parameters());
    CHECK(count(fused, "scaled_dot_product_attention") == 1);
    CHECK(count(fused, "softmax") == 0);
    CHECK(count(fused, "linear") == 2);
    CHECK(count(fused, "W_qkv.weight") == 1);
    CHECK(count(fused, "W_out.weight") == 1);
    CHECK(count(fused, "leaf") == 0);
    const Plain guard(Plain::operations);
    const std::string composed = viz::graph(attention(x), attention.named_parameters());
    CHECK(count(composed, "scaled_dot_product_attention") == 0);
    CHECK(count(composed, "softmax") == 1);
    CHECK(count(composed, "matmul") == 4);
    CHECK(count(viz::graph(attention(x)), "leaf") == 2);  // without names
}

TEST_CASE("the same computation gives the same picture", "[viz][graph]") {
    const auto picture = [] {
        Rng rng(3);
        const nn::Sequential net{nn::Linear(2, 4, rng), relu, nn::Linear(4, 1, rng)};
        return viz::graph(mean(net(ones({5, 2}))), net.named_parameters());
    };
    const std::string first = picture();
    const Tensor between = exp(ones({2}).requires_grad_());  // takes numbers of the graph
    CHECK(picture() == first);
}

TEST_CASE("names of any kind and types are written so that DOT can read them", "[viz][graph]") {
    const Tensor w = ones({2}, float64).requires_grad_();
    const std::string dot = viz::graph(w * 2, {{"a \"b\" \\ c\n", w}});
    CHECK(contains(dot, "n0 [label=\"a \\\"b\\\" \\\\ c↵\\n(2,) float64\""));
    CHECK(contains(dot, "multiply\\n(2,) float64"));
    // A tensor that an operation made can have a name too; what is not in this graph is left out.
    const Tensor h = exp(w), other = ones({1}).requires_grad_();
    const std::string named =
        viz::graph(h + 1, {{"hidden", h}, {"other", other}, {"data", ones({1})}, {"none", {}}});
    CHECK(contains(named, "exp\\nhidden\\n(2,) float64"));
    CHECK_FALSE(contains(named, "other"));
    CHECK_FALSE(contains(named, "data"));
}

TEST_CASE("a tensor outside the graph has no picture", "[viz][graph]") {
    CHECK(message_of<GraphError>([] {
              viz::graph(ones({2, 3}));
          }) ==
          "graph: a tensor of shape (2, 3) is outside the graph: nothing it was made from requires a gradient, "
          "or "
          "NoGrad was active; call requires_grad_() on the leaves before computing it");
    CHECK_THROWS_AS(viz::graph(Tensor()), GraphError);
}

TEST_CASE("without graphviz save_svg says which package is missing, and writes nothing", "[viz][graph]") {
    const Scratch scratch;
    const Environment nowhere("PATH", scratch.folder().string());
    refuses<IoError>("save_svg: cannot run the program dot…apt-get install graphviz",
                     [&] { viz::save_svg(scratch / "out.svg", "digraph {}"); });
    CHECK_FALSE(std::filesystem::exists(scratch / "out.svg"));
}

TEST_CASE("save_svg writes what dot draws and reports a failure of dot", "[viz][graph]") {
    const Scratch scratch;
    const Environment first("PATH", path_with(scratch.folder()));
    write_program(scratch / "dot", "[ \"$1 $2\" = '-Tsvg -o' ] && { echo drawn; cat \"$4\"; } > \"$3\"\n");
    viz::save_svg(scratch / "out.svg", "digraph { a -> b }");
    CHECK(io::load_text(scratch / "out.svg") == "drawn\ndigraph { a -> b }");

    write_program(scratch / "dot", "echo 'syntax error in line 1' >&2\nexit 3\n");
    refuses<IoError>("dot refused the graph (exit code 3): syntax error in line 1",
                     [&] { viz::save_svg(scratch / "out.svg", "nonsense"); });
    CHECK(io::load_text(scratch / "out.svg") == "drawn\ndigraph { a -> b }");  // the old one stays

    write_program(scratch / "dot", "kill -9 $$\n");
    refuses<IoError>("exit code -1", [&] { viz::save_svg(scratch / "out.svg", ""); });
}

TEST_CASE("graphviz draws our text, where it is installed", "[viz][graph]") {
    if (std::system("dot -V > /dev/null 2>&1") != 0)
        return skip("graphviz is not installed: its reading of our DOT text");
    Rng rng(1);
    const Scratch scratch;
    const nn::Linear layer(3, 2, rng);
    const Tensor y = mean(tanh(layer(ones({4, 3}))));
    viz::save_svg(scratch / "graph.svg", viz::graph(y, layer.named_parameters()));
    const std::string svg = io::load_text(scratch / "graph.svg");
    for (const char* part : {"<svg", ">weight<", ">(2, 3)<", ">bias<", ">linear<", ">tanh<", ">divide<"})
        CHECK(contains(svg, part));
    viz::save_svg(scratch / "odd.svg", viz::graph(y, {{"a \"b\" \\ <c>\n", layer.weight}}));
    CHECK(contains(io::load_text(scratch / "odd.svg"), "a &quot;b&quot; \\ &lt;c&gt;↵"));
    refuses<IoError>("syntax error", [&] { viz::save_svg(scratch / "bad.svg", "digraph {"); });
}
