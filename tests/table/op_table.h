// One table of operations, from which the tests of all of them are made: golden values and gradients, gradient
// checks of first and second order, fused against composed, strided against contiguous, refusals. An operation
// declared in weft/ops.h, or a member of Tensor that stays in the graph, without a row here fails the
// build (op_table_check.cpp).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "golden/golden.h"
#include "weft/core.h"

// How far the gradient of a sample can be checked.
enum class Gradient {
    none,  // no floating output, or a random one: values only
    kink,  // the sample lies on a kink, or rounds: the gradient is compared with the golden one, differences do
           // not apply
    once,  // first order
    twice,  // first and second order
};

// Whatever an operation returns, as a list of tensors.
struct Outputs : std::vector<weft::Tensor> {
    Outputs(weft::Tensor y) : vector{std::move(y)} {}
    Outputs(std::vector<weft::Tensor> y) : vector(std::move(y)) {}
    Outputs(weft::ValuesIndices y) : vector{y.values, y.indices} {}
    Outputs(weft::UniqueResult y) : vector{y.values, y.inverse, y.counts} {}
    Outputs(weft::AttentionResult y) : vector{y.output, y.weights} {}
    Outputs(bool y) : vector{weft::from_vector(std::vector<bool>{y}, {})} {}
};
using Inputs = std::vector<weft::Tensor>;
using In = const Inputs&;

struct OpEntry {
    std::string
        declaration;     // name and types of the arguments: "softmax(Tensor, int)", "Tensor::reshape(Shape)"
    std::string golden;  // the sample's name in golden/ops.safetensors, where its inputs lie: "softmax.last"
    Gradient gradient;
    std::function<Outputs(In)> function;
    bool compared = true;       // with the golden outputs; false for random ones
    bool takes_strided = true;  // false for view, which refuses what it would have to copy, and for
                                // masked_select, whose shape depends on values
    // Of a reduction: random programs take it over any axes.
    std::function<weft::Tensor(const weft::Tensor&, const weft::Axes&, bool keepdim)> over = {};
};

const std::vector<OpEntry>& op_table();

const Golden& golden();  // golden/ops.safetensors
Inputs inputs_of(const OpEntry& op);
Inputs as_leaves(Inputs inputs, weft::DType dtype = weft::float64);  // floating tensors, ready for a gradient
weft::Tensor flat(const Outputs& outputs);  // the floating outputs, one after the other: gradcheck takes one

// The families it is made of.
std::vector<OpEntry> arithmetic_ops();
std::vector<OpEntry> elementwise_ops();
std::vector<OpEntry> reduction_ops();
std::vector<OpEntry> shape_ops();
std::vector<OpEntry> member_ops();
std::vector<OpEntry> function_ops();
std::vector<OpEntry> more_ops();
std::vector<OpEntry> loss_ops();
