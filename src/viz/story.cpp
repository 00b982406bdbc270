// The tensor story: a trace of the real run, told as a table.
#include <algorithm>
#include <array>
#include <iostream>
#include <map>

#include "viz/text.h"
#include "weft/trace.h"
#include "weft/viz.h"

namespace weft::viz {
namespace {

bool is_one_of(const std::string& operation, std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* name) { return operation == name; });
}

Memory memory_of(const StoryRow& row) {
    if (!row.view_of.empty()) return Memory::view;
    if (row.made_by.empty()) return Memory::given;
    if (is_one_of(row.made_by, {"reshape", "clone", "to"})) return Memory::copy;
    // A view whose owner has no name in this run: of a parameter, say.
    if (is_one_of(row.made_by, {"permute", "transpose", "slice", "select", "squeeze", "unsqueeze", "expand"}))
        return Memory::view;
    return Memory::own;
}

std::string told(const StoryRow& row) {
    switch (row.memory) {
        case Memory::given:
            return "given";
        case Memory::own:
            return "its own";
        case Memory::copy:
            return "a copy";
        case Memory::view:
            break;
    }
    return row.view_of.empty() ? "a view" : "a view of " + visible(row.view_of);
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
        const auto same = std::find_if(tensors.begin(), tensors.end(),
                                       [&](const Named& n) { return n.tensor.handle() == tensor.handle(); });
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

    Story story;
    const std::vector<Named> tensors = told_once(entries);
    for (const auto& [name, tensor] : tensors) {
        StoryRow row;
        row.name = name;
        row.shape = tensor.shape();
        row.strides = tensor.strides();
        row.dtype = tensor.dtype();
        row.contiguous = tensor.is_contiguous();
        if (!tensor.is_leaf()) row.made_by = operation_of(tensor);
        const auto owner = std::find_if(tensors.begin(), tensors.end(), [&, &t = tensor](const Named& earlier) {
            return earlier.tensor.shares_storage(t);
        });
        if (owner->tensor.handle() != tensor.handle()) row.view_of = owner->name;
        row.memory = memory_of(row);
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
                         row.contiguous ? "contiguous" : "strided", row.made_by.empty() ? "-" : row.made_by,
                         told(row)});
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
