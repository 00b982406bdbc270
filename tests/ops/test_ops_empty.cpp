// What holds for every operation where axes are empty, and where its arguments do not fit, tested on every
// sample of the table.
#include <algorithm>
#include <map>
#include <set>

#include "catch.h"
#include "op_table.h"

using namespace weft;

namespace {

// As its messages call it: "softmax" of "softmax(Tensor, int)", "add" of "operator+(Tensor, double)".
std::string name_of(const OpEntry& op) {
    static const std::map<std::string, std::string> operators = {
        {"+", "add"}, {"-", "subtract"}, {"*", "multiply"}, {"/", "divide"}};
    std::string name = op.declaration.substr(0, op.declaration.find('('));
    for (const std::string begin : {"Tensor::", "operator"})
        if (name.starts_with(begin)) name.erase(0, begin.size());
    if (op.declaration == "operator-(Tensor)") return "negative";
    return operators.count(name) ? operators.at(name) : name;
}

std::string described(const Inputs& inputs) {
    std::string text;
    for (const Tensor& x : inputs) text += (text.empty() ? "" : ", ") + x.shape().str() + " " + name(x.dtype());
    return text;
}

// The sizes that occur in a sample's inputs.
std::set<std::int64_t> sizes_of(const Inputs& inputs) {
    std::set<std::int64_t> sizes;
    for (const Tensor& x : inputs) sizes.insert(x.shape().begin(), x.shape().end());
    return sizes;
}

// The inputs where every axis of this size is empty; 0: every axis.
Inputs emptied(const Inputs& inputs, std::int64_t size) {
    Inputs result;
    for (Tensor x : inputs) {
        for (int axis = 0; axis < x.rank(); ++axis)
            if (size == 0 || x.size(axis) == size) x = x.slice(axis, 0, 0);
        result.push_back(x.clone());
    }
    return result;
}

bool any_floating(const std::vector<Tensor>& tensors) {
    return std::any_of(tensors.begin(), tensors.end(),
                       [](const Tensor& x) { return is_floating_point(x.dtype()); });
}

// Whether the message begins with the operation's name, or with one that the sample's function calls before it.
bool names(const OpEntry& op, const std::string& message) {
    static const std::map<std::string, std::vector<std::string>> earlier = {
        {"Tensor::operator[](int64_t)", {"select"}},  // what it is, in the header
        {"Tensor::reshape(Shape)", {"permute"}},
        {"Tensor::contiguous()", {"T"}},
        {"Tensor::clone()", {"T"}},
        {"matmul(Tensor, Tensor)", {"transpose"}},
        {"multi_head_attention(Tensor, HeadSizes, AttentionOptions)", {"size", "permute", "cat"}},
    };
    std::vector<std::string> valid = {name_of(op), "Mask::blocked", "Mask::allowed"};
    if (const auto found = earlier.find(op.declaration); found != earlier.end())
        valid.insert(valid.end(), found->second.begin(), found->second.end());
    return std::any_of(valid.begin(), valid.end(),
                       [&](const std::string& name) { return message.starts_with(name + ": "); });
}

// Runs the operation; what is not a refusal of its own fails. `accepted` gets the outputs.
template <class Accepted>
void run_or_refuse(const OpEntry& op, const Inputs& inputs, const Accepted& accepted) {
    INFO(op.declaration << ", sample " << op.golden << ": " << described(inputs));
    try {
        accepted(op.function(inputs));
    } catch (const Error& error) {
        const std::string message = error.what();
        INFO(message);
        CHECK(names(op, message));
        CHECK(!contains(message, "ambiguous"));
    } catch (const std::exception& error) {
        FAIL_CHECK("threw " << error.what());
    }
}

}  // namespace

TEST_CASE("where an axis is empty, an operation refuses in its own name or stays in the graph",
          "[ops][empty]") {
    int runs = 0;
    for (const OpEntry& op : op_table())
        for (const char* route : {"fast", "composed", "reference"})
            for (const std::int64_t size : [&] {
                     auto sizes = sizes_of(inputs_of(op));
                     sizes.insert(0);
                     return sizes;
                 }()) {
                const Plain composed(Plain::operations, route == std::string_view("composed"));
                const Plain plain(Plain::primitives, route == std::string_view("reference"));
                const Inputs inputs = as_leaves(emptied(inputs_of(op), size));
                run_or_refuse(op, inputs, [&](const Outputs& outputs) {
                    if (op.gradient == Gradient::none || !any_floating(inputs) || !any_floating(outputs))
                        return;
                    std::vector<Tensor> roots, seeds, leaves;
                    for (const Tensor& y : outputs) {
                        if (!is_floating_point(y.dtype())) continue;
                        CHECK(y.requires_grad());
                        if (!y.requires_grad()) return;
                        roots.push_back(y), seeds.push_back(ones_like(y));
                    }
                    for (const Tensor& x : inputs)
                        if (x.requires_grad()) leaves.push_back(x);
                    for (const bool create_graph : {false, true}) {
                        const auto gradients =
                            grad(roots, leaves, seeds,
                                 {.create_graph = create_graph, .retain_graph = true, .allow_unused = true});
                        for (const Tensor& g : gradients) CHECK((!g.defined() || all(isfinite(g))));
                    }
                    ++runs;
                });
            }
    CHECK(runs > 500);
}

TEST_CASE("attention takes several axes of samples, and any of its axes may be empty", "[ops][empty]") {
    const auto q = [](Shape shape) { return ones(shape, float64).requires_grad_(); };
    for (const char* route : {"fast", "composed", "reference"})
        for (const bool with_weights : {false, true})
            for (int empty_axis = 0; empty_axis < 7; ++empty_axis) {
                std::int64_t sizes[] = {2, 2, 1, 3, 2, 4, 5};  // samples, samples, heads, T, S, d_k, d_v
                sizes[empty_axis] = 0;
                const auto [A, B, H, T, S, d_k, d_v] = sizes;
                const Plain composed(Plain::operations, route == std::string_view("composed"));
                const Plain plain(Plain::primitives, route == std::string_view("reference"));
                const Tensor leaves[] = {q({A, B, H, T, d_k}), q({A, B, H, S, d_k}), q({A, B, H, S, d_v})};
                AttentionResult y;
                if (with_weights)
                    y = scaled_dot_product_attention_with_weights(leaves[0], leaves[1], leaves[2]);
                else
                    y.output = scaled_dot_product_attention(leaves[0], leaves[1], leaves[2]);
                CHECK(y.output.shape() == Shape{A, B, H, T, d_v});
                if (with_weights) CHECK(y.weights.shape() == Shape{A, B, H, T, S});
                sum(y.output).backward();
                if (y.output.numel() > 0 && S == 0) CHECK(all(y.output == 0));
                for (const Tensor& x : leaves) {
                    CHECK(all(isfinite(x.grad())));
                    if (S == 0 || T == 0) CHECK(all(x.grad() == 0));
                }
            }
}

TEST_CASE("a refusal begins with the name of the operation that was called", "[ops][fault]") {
    for (const OpEntry& op : op_table()) {
        const Inputs plain = inputs_of(op);
        for (std::size_t i = 0; i < plain.size(); ++i) {
            const DType own = plain[i].dtype();
            Inputs replacements = {zeros({}, own), zeros({0}, own), ones({7}, own),
                                   ones({1, 1, 7, 2, 1, 1}, own)};
            for (const DType dtype : {float32, int64, boolean})
                if (dtype != own) replacements.push_back(ones(plain[i].shape(), dtype));
            for (const Tensor& x : replacements) {
                Inputs inputs = plain;
                inputs[i] = x;
                run_or_refuse(op, inputs, [](const Outputs&) {});
            }
        }
    }
}
