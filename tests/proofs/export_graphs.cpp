// Runs every operation of the table by its definition (Plain) on a small sample, with its gradient and the
// gradient's gradient, and writes what was recorded as JSON, a line for each sample: prove.py reads the
// operations as SymPy expressions.
//
//     export_graphs > graphs.jsonl
//
// Each sample is run twice, with inputs that differ a little: a number that no node computed is a constant if
// it is the same in both runs, and else depends on the inputs outside the graph (a detached maximum).
#include <cmath>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "../random/program.h"
#include "core/node.h"
#include "weft/watch/trace.h"
#include "wrong_rules.h"

using namespace weft;
using nlohmann::json;

namespace {

// JSON has no infinity.
json values_of(const Tensor& x) {
    json list = json::array();
    for (const double v : x.detach().to(float64).to_vector<double>())
        if (std::isfinite(v))
            list.push_back(v);
        else
            list.push_back(std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
    return list;
}

json shape_of(const Tensor& x) {
    json sizes = json::array();
    for (const std::int64_t size : x.shape()) sizes.push_back(size);
    return sizes;
}

// What one run records, as entries of a list: leaves, operations, and tensors outside the graph.
class Recording : Observer {
public:
    Recording() = default;

    std::size_t leaf(const Tensor& x, const std::string& name) {
        positions_[graph_number(x)] = entries.size();
        entries.push_back({{"op", "leaf"}, {"name", name}, {"shape", shape_of(x)}, {"values", values_of(x)}});
        return entries.size() - 1;
    }
    // The entry of a tensor, which gets one of its own if it is a constant: outside the graph, or what backward
    // makes a variable of where a gradient is one. −1 if it is undefined.
    std::int64_t entry(const Tensor& x) {
        if (!x.defined()) return -1;
        if (const auto at = positions_.find(graph_number(x)); at != positions_.end())
            return static_cast<std::int64_t>(at->second);
        if (graph_number(x) != 0 && !x.is_leaf()) throw Error("a node that was not recorded");
        entries.push_back(
            {{"op", "constant"}, {"shape", shape_of(x)}, {"type", name(x.dtype())}, {"values", values_of(x)}});
        return static_cast<std::int64_t>(entries.size()) - 1;
    }

    json entries = json::array();

private:
    void records(const Recorded& node) override {
        const auto& [operation, y, inputs, saved] = node;
        json from = json::array(), kept = json::array();
        for (const Tensor& x : inputs) from.push_back(entry(x));
        for (const Tensor& x : saved)  // indices and conditions
            if (x.defined() && !is_floating_point(x.dtype())) kept.push_back(entry(x));
        positions_[graph_number(y)] = entries.size();
        entries.push_back({{"op", operation},
                           {"inputs", from},
                           {"saved", kept},
                           {"shape", shape_of(y)},
                           {"values", values_of(y)}});
    }

    std::map<std::uint64_t, std::size_t> positions_;  // by the numbers of nodes
};

// How the axes of a sample become small: all to at most `cap`, those before the last two to at most `leading`.
struct Cut {
    std::int64_t cap, leading;
};
constexpr Cut cuts[] = {{3, 3}, {3, 2}, {3, 1}, {2, 2}, {2, 1}, {INT64_MAX, INT64_MAX}};

// Operations whose options take no smaller sample: the sizes of their inputs.
const std::map<std::string, std::vector<Shape>> sizes = {
    {"attention.padding_causal", {{2, 1, 2, 1}, {2, 1, 5, 1}, {2, 1, 5, 1}}},
    {"attention.no_keys_left", {{2, 1, 2, 2}, {2, 1, 2, 2}, {2, 1, 2, 2}}},
    {"conv2d.groups", {{1, 2, 2, 2}, {2, 1, 3, 2}, {2}}},
    {"fold", {{1, 6, 9}}},
};

// The first elements along each axis. Indices are moved into the smaller range; −100 means that a target is
// ignored.
Inputs cut_inputs(const OpEntry& op, const Cut& cut) {
    Inputs small;
    const auto own = sizes.find(op.golden);
    for (Tensor x : inputs_of(op)) {
        for (int axis = 0; axis < x.rank(); ++axis)
            x = x.slice(axis, 0,
                        own != sizes.end()    ? own->second[small.size()][axis]
                        : axis < x.rank() - 2 ? cut.leading
                                              : cut.cap);
        x = x.clone();
        if (x.dtype() == int64)
            for (std::int64_t i = 0; i < x.numel(); ++i)
                if (std::int64_t& id = x.data<std::int64_t>()[i]; id > -100)
                    id = id < 0 ? -1 - (-1 - id) % cut.cap : id % cut.cap;
        small.push_back(x);
    }
    return small;
}

std::int64_t floats_in(const Inputs& inputs) {
    std::int64_t count = 0;
    for (const Tensor& x : inputs) count += is_floating_point(x.dtype()) ? x.numel() : 0;
    return count;
}

// Values near those of `like`, as a leaf: no two equal, none on a kink, and all exact in float32.
Tensor near(const Tensor& like, Rng& rng) {
    const Tensor x = like.detach().to(float64) + rand(like.shape(), rng, float64) * 4e-3 + 1e-5;
    return (floor(x * 0x1p20) / 0x1p20).requires_grad_();
}

json run(const OpEntry& op, const Inputs& sample, std::uint64_t seed) {
    const Plain readable(Plain::operations);
    Rng rng(seed);
    Recording recording;
    json result;
    Inputs inputs, xs;
    for (const Tensor& x : sample) {
        inputs.push_back(is_floating_point(x.dtype()) ? near(x, rng) : x);
        if (!is_floating_point(x.dtype())) continue;
        xs.push_back(inputs.back());
        result["x"].push_back(recording.leaf(xs.back(), "x" + std::to_string(xs.size() - 1)));
    }
    std::vector<Tensor> ys, vs;
    for (const Tensor& y : op.function(inputs))
        if (y.defined() && y.requires_grad()) ys.push_back(y);
    if (ys.empty()) throw Error("no result is in the graph");
    for (const Tensor& y : ys) {
        result["y"].push_back(recording.entry(y));
        vs.push_back(near(rand(y.shape(), rng, float64), rng));
        result["v"].push_back(recording.leaf(vs.back(), "v" + std::to_string(vs.size() - 1)));
    }
    const GradOptions options{.create_graph = true, .allow_unused = true};
    const std::vector<Tensor> gs = grad(ys, xs, vs, options);
    std::vector<Tensor> differentiable, ws, targets = xs;
    targets.insert(targets.end(), vs.begin(), vs.end());
    for (const Tensor& g : gs) {
        result["g"].push_back(recording.entry(g));
        result["w"].push_back(nullptr);
        if (!g.defined() || !g.requires_grad()) continue;
        differentiable.push_back(g);
        ws.push_back(near(rand(g.shape(), rng, float64), rng));
        result["w"].back() = recording.leaf(ws.back(), "w" + std::to_string(result["w"].size() - 1));
    }
    result["order"] = op.gradient == Gradient::twice ? 2 : 1;
    if (op.gradient == Gradient::twice) {
        std::vector<Tensor> hs(targets.size());
        if (!differentiable.empty()) hs = grad(differentiable, targets, ws, options);
        for (const Tensor& h : hs) result["h"].push_back(recording.entry(h));
    }
    result["entries"] = recording.entries;
    return result;
}

// Both runs of a sample, cut to the first size that the operation takes and that is small, or else the
// smallest.
json export_op(const OpEntry& op) {
    constexpr std::int64_t small = 17;
    json best;
    std::int64_t size = INT64_MAX;
    std::string refusal;
    for (const Cut& cut : cuts) {
        const Inputs inputs = cut_inputs(op, cut);
        if (floats_in(inputs) >= size || floats_in(inputs) == 0) continue;
        try {
            const json first = run(op, inputs, 1), second = run(op, inputs, 2);
            best = first;
            if (second["entries"].size() != first["entries"].size()) throw Error("the two runs differ");
            for (std::size_t i = 0; i < best["entries"].size(); ++i)
                best["entries"][i]["again"] = second["entries"][i]["values"];
            size = floats_in(inputs);
        } catch (const Error& error) {
            refusal = error.what();
        }
        if (size <= small) break;
    }
    if (best.is_null()) best["refusal"] = refusal;
    best["sample"] = op.golden;
    best["declaration"] = op.declaration;
    best["gradient"] = static_cast<int>(op.gradient);
    best["compared"] = op.compared;
    return best;
}

}  // namespace

int main() {
    std::set<std::string> in_programs;
    for (const auto& row : random_programs::rows()) in_programs.insert(row.declaration);
    std::set<std::string> smooth;  // operations with a sample that is not on a kink
    for (const OpEntry& op : op_table())
        if (op.gradient > Gradient::kink) smooth.insert(op.declaration);
    for (const OpEntry& op : op_table()) {
        if (op.gradient == Gradient::none) continue;
        if (op.gradient == Gradient::kink && smooth.count(op.declaration) > 0) continue;
        json row = export_op(op);
        row["in_programs"] = in_programs.count(op.declaration) > 0;
        std::cout << row << '\n';
    }
    for (const WrongRule& wrong : wrong_rules()) {
        json row = export_op(wrong.op);
        row["wrong_at"] = wrong.order;
        std::cout << row << '\n';
    }
}
