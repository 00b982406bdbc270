// The gradient ledger as a table.
#include "weft/viz/ledger.h"

#include <cmath>
#include <map>

#include "weft/base/numbers.h"
#include "weft/base/table.h"
#include "weft/optim/norms.h"
#include "weft/viz/text.h"
#include "weft/watch/trace.h"

namespace weft::viz {
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
