// The tensor story: the trace of a run as a table.
#include <algorithm>
#include <iostream>
#include <map>
#include <set>

#include "weft/base/text.h"
#include "weft/core/modes.h"
#include "weft/viz/attention_map.h"
#include "weft/viz/pictures.h"
#include "weft/watch/trace.h"

namespace weft::viz {
namespace {

bool rearranges(const std::string& operation) {
    static const std::set<std::string> names = {"reshape", "permute",   "transpose", "slice", "select",
                                                "squeeze", "unsqueeze", "expand",    "clone", "to"};
    return names.count(operation) > 0;
}

std::string describe(const StoryRow& row) {
    if (row.memory == Memory::given) return "given";
    if (row.memory == Memory::own) return "its own";
    return (row.memory == Memory::view ? "a view of " : "a copy of ") + visible(row.of);
}

// "matmul, multiply"; a long chain is cut at the front.
std::string describe(const std::vector<std::string>& operations) {
    constexpr std::size_t max_operations = 4;
    const std::size_t first = operations.size() > max_operations ? operations.size() - max_operations : 0;
    std::string text = operations.empty() ? "-" : first > 0 ? "…, " : "";
    for (std::size_t i = first; i < operations.size(); ++i) text += (i > first ? ", " : "") + operations[i];
    return text;
}

// Each tensor once, with all its names.
std::vector<TraceEntry> with_names(const std::vector<TraceEntry>& entries) {
    std::vector<TraceEntry> tensors;
    std::map<const TensorImpl*, std::size_t> positions;  // in `tensors`
    std::map<std::string, int> times;
    for (const auto& [name, tensor] : entries) {
        const auto [same, is_new] = positions.emplace(tensor.handle().get(), tensors.size());
        if (!is_new && tensors[same->second].name == name) continue;
        const int time = ++times[name];
        const std::string numbered = time == 1 ? name : name + " #" + std::to_string(time);
        if (is_new)
            tensors.push_back({numbered, tensor});
        else
            tensors[same->second].name += " = " + numbered;
    }
    return tensors;
}

// How a tensor was computed from earlier named tensors and from leaves.
struct Provenance {
    std::vector<std::string> operations;
    std::set<std::size_t> sources;  // positions among the named tensors
    bool uses_a_parameter = false;
};

// The walk back from a tensor ends at other named tensors, so each node is visited about once.
std::vector<Provenance> provenances(const std::vector<TraceEntry>& tensors) {
    std::vector<Tensor> outputs;
    std::map<std::uint64_t, std::size_t> named, positions;  // number of a node → index in `tensors`, in `nodes`
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        outputs.push_back(tensors[i].tensor);
        named.emplace(graph_number(tensors[i].tensor), i);
    }
    const std::vector<GraphNode> nodes = graph_nodes(outputs);  // inputs first
    for (std::size_t i = 0; i < nodes.size(); ++i) positions.emplace(nodes[i].number, i);

    std::vector<Provenance> found(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const auto start = positions.find(graph_number(tensors[i].tensor));
        if (start == positions.end()) continue;
        Provenance& provenance = found[i];
        std::set<std::size_t> pending{start->second};  // the one with the highest position is next
        while (!pending.empty()) {
            const std::size_t position = *pending.rbegin();
            pending.erase(position);
            const GraphNode& node = nodes[position];
            const auto name = named.find(node.number);
            if (position != start->second && name != named.end()) {
                provenance.sources.insert(name->second);
            } else if (node.operation == "leaf") {
                provenance.uses_a_parameter = provenance.uses_a_parameter || name == named.end();
            } else {
                provenance.operations.push_back(node.operation);
                pending.insert(node.inputs.begin(), node.inputs.end());
            }
        }
        std::reverse(provenance.operations.begin(), provenance.operations.end());
    }
    return found;
}

}  // namespace

Story tensor_story(const Run& run, const Tensor& input, StoryOptions options) {
    const Plain composed(Plain::operations);
    const EnableGrad on;        // records for every tensor the operation that made it
    Tensor x = input.detach();  // a new leaf, so that the caller's gradients do not change
    if (takes_gradient(x.dtype())) x.requires_grad_();
    const Trace trace;
    const Tensor output = run(x);

    std::vector<TraceEntry> entries = trace.entries();
    const auto is_named = [&](const Tensor& t) {
        return std::ranges::any_of(entries,
                                   [&](const TraceEntry& e) { return e.tensor.handle() == t.handle(); });
    };
    if (!is_named(x)) entries.insert(entries.begin(), {"input", x});
    if (!is_named(output)) entries.push_back({"output", output});
    const std::vector<TraceEntry> tensors = with_names(entries);
    std::vector<Provenance> made = provenances(tensors);
    std::map<const void*, std::size_t> owners;  // the first tensor in each storage

    Story story;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const Tensor& tensor = tensors[i].tensor;
        Provenance& provenance = made[i];
        StoryRow& row = story.rows.emplace_back();
        row.name = tensors[i].name;
        row.shape = tensor.shape(), row.strides = tensor.strides(), row.dtype = tensor.dtype();
        row.contiguous = tensor.is_contiguous();
        row.made_by = std::move(provenance.operations);
        const std::size_t owner = owners.emplace(storage_of(tensor), i).first->second;
        const bool only_moved = std::ranges::all_of(row.made_by, rearranges);
        if (owner < i) {
            row.memory = Memory::view;
            row.of = tensors[owner].name;
        } else if (!only_moved) {
            row.memory = Memory::own;
        } else if (provenance.sources.size() == 1 && !provenance.uses_a_parameter) {
            row.memory = Memory::copy;
            row.of = tensors[*provenance.sources.begin()].name;
        }
        if (tensor.numel() <= options.values_up_to) row.values = tensor.detach().clone();
    }
    return story;
}

std::string Story::str() const {
    std::vector<std::vector<std::string>> lines{{"tensor", "shape", "strides", "layout", "made by", "memory"}};
    for (const StoryRow& row : rows) {
        const std::string type = row.dtype == float32 ? "" : std::string(" ") + name(row.dtype);
        lines.push_back({visible(row.name), row.shape.str() + type, row.strides.str(),
                         row.contiguous ? "contiguous" : "strided", describe(row.made_by), describe(row)});
    }
    std::string text = format_table(lines);
    for (const StoryRow& row : rows)
        if (row.values.defined()) text += "\n" + visible(row.name) + " =\n" + row.values.str() + "\n";
    return text;
}

void Story::print() const { std::cout << str() << std::flush; }

}  // namespace weft::viz
