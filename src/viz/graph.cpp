// The graph in DOT, Graphviz's language.
#include <map>

#include "viz/text.h"
#include "weft/core/trace.h"
#include "weft/viz/pictures.h"

namespace weft::viz {
namespace {

// Escaped for a string in DOT.
std::string in_quotes(const std::string& text) {
    std::string escaped;
    for (const char c : visible(text)) {
        if (c == '"' || c == '\\') escaped += '\\';
        escaped += c;
    }
    return escaped;
}

constexpr const char* head =
    "digraph weft {\n"
    "  node [shape=box, style=\"rounded,filled\", fillcolor=\"#eef2f7\", color=\"#5b6b7f\", "
    "fontname=\"Helvetica\", "
    "fontsize=11];\n"
    "  edge [color=\"#5b6b7f\", arrowsize=0.7];\n";
constexpr const char* of_leaf = ", style=filled, fillcolor=\"#fdeeba\"";
constexpr const char* of_result = ", penwidth=2";

}  // namespace

std::string graph(const Tensor& x, const nn::NamedTensors& names) {
    const std::vector<GraphNode> nodes = graph_nodes(x);
    if (nodes.empty())
        throw GraphError(
            "graph: a tensor of shape ", x.shape(),
            " is outside the graph: nothing it was made from requires a gradient, or NoGrad was active; "
            "call requires_grad_() on the leaves before computing it");
    std::map<std::uint64_t, std::string> name_of;
    for (const auto& [name, tensor] : names)
        if (tensor.defined() && graph_number(tensor) != 0) name_of.emplace(graph_number(tensor), name);

    std::string dot = head;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const GraphNode& node = nodes[i];
        const auto name = name_of.find(node.number);
        const bool is_leaf = node.operation == "leaf";
        std::string label = is_leaf && name != name_of.end() ? "" : in_quotes(node.operation) + "\\n";
        if (name != name_of.end()) label += in_quotes(name->second) + "\\n";
        label += node.shape.str();
        if (node.dtype != float32) label += std::string(" ") + weft::name(node.dtype);
        dot += "  n" + std::to_string(i) + " [label=\"" + label + "\"" + (is_leaf ? of_leaf : "") +
               (i + 1 == nodes.size() ? of_result : "") + "];\n";
        for (const std::size_t input : node.inputs)
            dot += "  n" + std::to_string(input) + " -> n" + std::to_string(i) + ";\n";
    }
    return dot + "}\n";
}

}  // namespace weft::viz
