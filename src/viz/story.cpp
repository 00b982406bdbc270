// The tensor story: a trace of the real run, told as a table.
#include <algorithm>
#include <iostream>
#include <map>
#include <set>

#include "viz/text.h"
#include "weft/core/trace.h"
#include "weft/viz/pictures.h"

namespace weft::viz {
namespace {

bool rearranges(const std::string& operation) {
    static const std::set<std::string> names = {"reshape", "permute",   "transpose", "slice", "select",
                                                "squeeze", "unsqueeze", "expand",    "clone", "to"};
    return names.count(operation) > 0;
}

std::string told(const StoryRow& row) {
    switch (row.memory) {
        case Memory::given:
            return "given";
        case Memory::own:
            return "its own";
        case Memory::view:
            return "a view of " + visible(row.of);
        case Memory::copy:
            break;
    }
    return "a copy of " + visible(row.of);
}

// "matmul, multiply"; of a long chain the end.
std::string told(const std::vector<std::string>& operations) {
    constexpr std::size_t most = 4;
    const std::size_t first = operations.size() > most ? operations.size() - most : 0;
    std::string text = operations.empty() ? "-" : first > 0 ? "…, " : "";
    for (std::size_t i = first; i < operations.size(); ++i) text += (i > first ? ", " : "") + operations[i];
    return text;
}

// A tensor under all the names it was given in the run.
struct Named {
    std::string name;
    Tensor tensor;
};

std::vector<Named> told_once(const std::vector<TraceEntry>& entries) {
    std::vector<Named> tensors;
    std::map<const TensorImpl*, std::size_t> places;  // in `tensors`
    std::map<std::string, int> times;
    for (const auto& [name, tensor] : entries) {
        const auto [same, is_new] = places.emplace(tensor.handle().get(), tensors.size());
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

// How a tensor was made from those that have a name, and the leaves.
struct Making {
    std::vector<std::string> operations;
    std::set<std::size_t> from;  // positions in `tensors`
    bool uses_a_parameter = false;
};

// The graph behind all tensors of a run. From each the way back ends at the tensors that have a name, so that
// the whole of it is walked once.
class Makings {
public:
    explicit Makings(const std::vector<Named>& tensors) {
        std::vector<Tensor> outputs;
        for (std::size_t i = 0; i < tensors.size(); ++i) {
            outputs.push_back(tensors[i].tensor);
            if (const std::uint64_t number = graph_number(outputs.back()); number != 0)
                named_.emplace(number, i);
        }
        nodes_ = graph_nodes(outputs);
        for (std::size_t i = 0; i < nodes_.size(); ++i) places_.emplace(nodes_[i].number, i);
    }

    Making of(const Tensor& x) const {
        Making making;
        const auto start = places_.find(graph_number(x));
        if (start == places_.end()) return making;
        std::set<std::size_t> waiting{start->second};  // places in nodes_: the last is taken first
        while (!waiting.empty()) {
            const std::size_t place = *waiting.rbegin();
            waiting.erase(place);
            const GraphNode& node = nodes_[place];
            const auto name = named_.find(node.number);
            if (place != start->second && name != named_.end()) {
                making.from.insert(name->second);
            } else if (node.operation == "leaf") {
                making.uses_a_parameter = making.uses_a_parameter || name == named_.end();
            } else {
                making.operations.push_back(node.operation);
                waiting.insert(node.inputs.begin(), node.inputs.end());
            }
        }
        std::reverse(making.operations.begin(), making.operations.end());
        return making;
    }

private:
    std::vector<GraphNode> nodes_;                 // inputs before what uses them
    std::map<std::uint64_t, std::size_t> places_;  // of a node's number, in nodes_
    std::map<std::uint64_t, std::size_t> named_;   // of a node's number, among the tensors
};

}  // namespace

Story tensor_story(const Run& run, const Tensor& input, StoryOptions options) {
    const Composed definitions;
    const EnableGrad on;        // so that every tensor knows the operation that made it
    Tensor x = input.detach();  // its own place in the graph: the caller's gradients are left alone
    if (is_floating(x.dtype())) x.requires_grad_();
    const Trace trace;
    const Tensor output = run(x);

    std::vector<TraceEntry> entries = trace.entries();
    const auto names = [&](const Tensor& t) {
        return std::any_of(entries.begin(), entries.end(),
                           [&](const TraceEntry& e) { return e.tensor.handle() == t.handle(); });
    };
    if (!names(x)) entries.insert(entries.begin(), {"input", x});
    if (!names(output)) entries.push_back({"output", output});

    const std::vector<Named> tensors = told_once(entries);
    const Makings makings(tensors);
    std::map<const void*, std::size_t> owners;  // of each memory, the first tensor in it

    Story story;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const Tensor& tensor = tensors[i].tensor;
        const Making making = makings.of(tensor);
        StoryRow row;
        row.name = tensors[i].name;
        row.shape = tensor.shape();
        row.strides = tensor.strides();
        row.dtype = tensor.dtype();
        row.contiguous = tensor.is_contiguous();
        row.made_by = making.operations;
        const std::size_t owner = owners.emplace(storage_of(tensor), i).first->second;
        const bool only_moved = std::all_of(row.made_by.begin(), row.made_by.end(), rearranges);
        if (owner < i) {
            row.memory = Memory::view;
            row.of = tensors[owner].name;
        } else if (!only_moved) {
            row.memory = Memory::own;
        } else if (making.from.size() == 1 && !making.uses_a_parameter) {
            row.memory = Memory::copy;
            row.of = tensors[*making.from.begin()].name;
        }
        if (tensor.numel() <= options.values_up_to) row.values = tensor.detach().clone();
        story.rows.push_back(std::move(row));
    }
    return story;
}

std::string Story::str() const {
    std::vector<std::vector<std::string>> lines{{"tensor", "shape", "strides", "layout", "made by", "memory"}};
    for (const StoryRow& row : rows) {
        const std::string type = row.dtype == float32 ? "" : std::string(" ") + name(row.dtype);
        lines.push_back({visible(row.name), row.shape.str() + type, row.strides.str(),
                         row.contiguous ? "contiguous" : "strided", told(row.made_by), told(row)});
    }
    std::string text = table(lines);
    for (const StoryRow& row : rows)
        if (row.values.defined()) text += "\n" + visible(row.name) + " =\n" + row.values.str() + "\n";
    return text;
}

void Story::print() const { std::cout << str() << std::flush; }

}  // namespace weft::viz
