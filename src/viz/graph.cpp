// The graph in DOT, Graphviz's language, and as drawn by Graphviz, which runs without a shell.
#include <cmath>
#include <map>

#include "weft/base/text.h"
#include "weft/optim/clipping.h"
#include "weft/viz/attention_map.h"
#include "weft/viz/pictures.h"
#include "weft/watch/trace.h"

#ifdef __APPLE__
#include <crt_externs.h>
#define environ (*_NSGetEnviron())  // a shared library on macOS has no other
#endif
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "weft/io/files.h"
#include "weft/io/safetensors.h"
#include "weft/viz/attention_map.h"
#include "weft/viz/pictures.h"
#include "weft/watch/trace.h"

#ifndef __APPLE__
extern char** environ;
#endif

namespace weft::viz {
namespace {

namespace fs = std::filesystem;

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

// A temporary folder, removed at the end of its scope.
struct Folder {
    std::string path;
    Folder() {
        std::error_code failure;
        path = fs::temp_directory_path(failure) / "weft-XXXXXX";
        if (failure) throw IoError("save_svg: no folder for temporary files: ", failure.message());
        if (::mkdtemp(path.data()) == nullptr)
            throw IoError("save_svg: cannot make the folder ", path, ": ", std::strerror(errno));
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
};

// The exit code of `dot -Tsvg -o out in`, or −1 if it was killed; its messages go to the file `errors`.
int run_dot(std::string in, std::string out, const std::string& errors) {
    std::string program = "dot", format = "-Tsvg", option = "-o";
    char* arguments[] = {program.data(), format.data(), option.data(), out.data(), in.data(), nullptr};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 2, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t child = 0;
    const int failure = posix_spawnp(&child, program.c_str(), &files, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    if (failure != 0)
        throw IoError(
            "save_svg: cannot run the program dot (", std::strerror(failure),
            "). Install Graphviz (on Debian: apt-get install graphviz), or save the DOT text and draw it "
            "elsewhere");
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

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

void save_svg(const fs::path& path, const std::string& dot) {
    const Folder folder;
    const std::string in = folder.path + "/graph.dot", out = folder.path + "/graph.svg",
                      errors = folder.path + "/errors";
    io::save_text(in, dot);
    if (const int code = run_dot(in, out, errors); code != 0)
        throw IoError("save_svg: dot refused the graph (exit code ", code, "): ", io::load_text(errors));
    io::save_text(path, io::load_text(out));
}

// The gradient ledger as a table.

namespace {

constexpr std::int64_t max_in_full = 12;  // elements
constexpr int digits = 4;

// "[[1 2] [3 4]]" from the values at position `at`, which advances past them.
std::string nested(const std::vector<double>& values, const Shape& shape, int axis, std::size_t& at) {
    if (axis == shape.rank()) return format_number(values[at++], digits);
    std::string text = "[";
    for (std::int64_t i = 0; i < shape[axis]; ++i)
        text += (i > 0 ? " " : "") + nested(values, shape, axis + 1, at);
    return text + "]";
}

std::string format_gradient(const Tensor& gradient) {
    if (gradient.numel() > max_in_full)
        return gradient.shape().str() + ", norm " +
               format_number(std::sqrt(optim::sum_of_squares(gradient)), digits);
    std::size_t at = 0;
    return nested(gradient.to(float64).to_vector<double>(), gradient.shape(), 0, at);
}

using Names = std::map<std::uint64_t, std::string>;  // names of nodes by number

// The operations of the nodes without a name, numbered in the order of creation if there are several of a kind.
Names numbered(const std::vector<LedgerEntry>& entries, const Names& named) {
    Names unnamed;
    std::map<std::string, int> same_operation, counted;
    for (const LedgerEntry& entry : entries)
        if (named.count(entry.number) == 0 && unnamed.emplace(entry.number, entry.operation).second)
            ++same_operation[entry.operation];
    for (auto& [node, name] : unnamed)
        if (same_operation[name] > 1) name += " " + std::to_string(++counted[name]);
    return unnamed;
}

}  // namespace

std::string ledger_table(const GradientLedger& ledger, const nn::NamedTensors& given) {
    Names named;
    for (const auto& [name, tensor] : given)
        if (tensor.defined() && graph_number(tensor) != 0) named.emplace(graph_number(tensor), name);
    Names names = numbered(ledger.entries(), named);
    names.insert(named.begin(), named.end());
    std::vector<std::vector<std::string>> rows{{"node", "gets from", "gradient"}};
    int backward = 1;
    for (const LedgerEntry& entry : ledger.entries()) {
        if (entry.backward != backward) rows.push_back({"", "", ""});
        if (entry.backward != backward)
            rows.push_back({"(backward " + std::to_string(backward = entry.backward) + ")", "", ""});
        std::string node = visible(names.at(entry.number));
        if (named.count(entry.number) > 0 && entry.operation != "leaf")
            node += " = " + visible(entry.operation);
        const auto add = [&](const std::string& from, const Tensor& gradient) {
            rows.push_back({std::move(node), from, format_gradient(gradient)});
            node.clear();
        };
        for (const LedgerTerm& term : entry.terms)
            add(term.from == 0 ? "seed"
                               : visible(names.at(term.from)) + ", input " + std::to_string(term.input),
                term.gradient);
        if (entry.hooked)
            add("hook", entry.gradient);
        else if (entry.terms.size() > 1)
            add("sum", entry.gradient);
    }
    return rows.size() == 1 ? "" : format_table(rows);
}

}  // namespace weft::viz
