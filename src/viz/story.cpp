// The tensor story: a trace of the real run, told as a table.
#include <algorithm>
#include <array>
#include <iostream>
#include <map>
#include <set>

#include "viz/text.h"
#include "weft/trace.h"
#include "weft/viz.h"

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
    std::map<std::string, int> times;
    for (const auto& [name, tensor] : entries) {
        const auto same = std::find_if(tensors.begin(), tensors.end(), [&tensor = tensor](const Named& n) {
            return n.tensor.handle() == tensor.handle();
        });
        if (same != tensors.end() && same->name == name) continue;
        const int time = ++times[name];
        const std::string numbered = time == 1 ? name : name + " #" + std::to_string(time);
        if (same == tensors.end())
            tensors.push_back({numbered, tensor});
        else
            same->name += " = " + numbered;
    }
    return tensors;
}

// How a tensor was made from those that have a name, and the leaves.
struct Making {
    std::vector<std::string> operations;
    std::set<std::size_t> from;  // positions in `tensors`
    bool uses_a_parameter = false;
};

Making making_of(const Tensor& x, const std::map<std::uint64_t, std::size_t>& named) {
    const std::vector<GraphNode> nodes = graph_nodes(x);  // inputs first, x last
    std::vector<bool> needed(nodes.size(), false);
    if (!nodes.empty()) needed.back() = true;
    Making making;
    for (std::size_t i = nodes.size(); i-- > 0;) {
        if (!needed[i]) continue;
        const auto name = named.find(nodes[i].number);
        if (i + 1 < nodes.size() && name != named.end()) {
            making.from.insert(name->second);
        } else if (nodes[i].operation == "leaf") {
            making.uses_a_parameter = making.uses_a_parameter || name == named.end();
        } else {
            making.operations.insert(making.operations.begin(), nodes[i].operation);
            for (const std::size_t input : nodes[i].inputs) needed[input] = true;
        }
    }
    return making;
}

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
    std::map<std::uint64_t, std::size_t> named;  // by place in the graph
    for (std::size_t i = 0; i < tensors.size(); ++i)
        if (const std::uint64_t number = graph_number(tensors[i].tensor); number != 0) named.emplace(number, i);

    Story story;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const Tensor& tensor = tensors[i].tensor;
        const Making making = making_of(tensor, named);
        StoryRow row;
        row.name = tensors[i].name;
        row.shape = tensor.shape();
        row.strides = tensor.strides();
        row.dtype = tensor.dtype();
        row.contiguous = tensor.is_contiguous();
        row.made_by = making.operations;
        std::size_t owner = 0;
        while (!tensors[owner].tensor.shares_storage(tensor)) ++owner;
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
    using Line = std::array<std::string, 6>;
    std::vector<Line> lines{{"tensor", "shape", "strides", "layout", "made by", "memory"}};
    for (const StoryRow& row : rows) {
        const std::string type = row.dtype == float32 ? "" : std::string(" ") + name(row.dtype);
        lines.push_back({visible(row.name), row.shape.str() + type, row.strides.str(),
                         row.contiguous ? "contiguous" : "strided", told(row.made_by), told(row)});
    }
    std::array<std::size_t, 6> widths{};
    for (const Line& line : lines)
        for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], columns(line[i]));

    std::string text;
    for (const Line& line : lines) {
        for (std::size_t i = 0; i + 1 < line.size(); ++i) text += padded(line[i], widths[i]) + "  ";
        text += line.back() + "\n";
    }
    for (const StoryRow& row : rows)
        if (row.values.defined()) text += "\n" + visible(row.name) + " =\n" + row.values.str() + "\n";
    return text;
}

void Story::print() const { std::cout << str() << std::flush; }

}  // namespace weft::viz
