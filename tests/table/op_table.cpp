#include "op_table.h"

using namespace weft;

const std::vector<OpEntry>& op_table() {
    static const std::vector<OpEntry> table = [] {
        std::vector<OpEntry> rows;
        for (const auto& family : {arithmetic_ops(), elementwise_ops(), reduction_ops(), shape_ops(),
                                   member_ops(), function_ops(), more_ops(), loss_ops()})
            rows.insert(rows.end(), family.begin(), family.end());
        return rows;
    }();
    return table;
}

const Golden& golden() {
    static const Golden file("ops.safetensors");
    return file;
}

Inputs inputs_of(const OpEntry& op) {
    Inputs inputs;
    for (int i = 0; golden().has(op.golden + "/in" + std::to_string(i)); ++i)
        inputs.push_back(golden()(op.golden + "/in" + std::to_string(i)).clone());
    if (inputs.empty() || op.golden.empty()) throw Error("no golden sample for " + op.declaration);
    return inputs;
}

Inputs as_leaves(Inputs inputs, DType dtype) {
    for (Tensor& x : inputs)
        if (is_floating_point(x.dtype())) x = x.to(dtype).detach().requires_grad_();
    return inputs;
}

Tensor flat(const Outputs& outputs) {
    std::vector<Tensor> parts;
    for (const Tensor& y : outputs)
        if (is_floating_point(y.dtype())) parts.push_back(y);
    if (parts.size() == 1) return parts[0];
    for (Tensor& part : parts) part = part.reshape({-1});
    return cat(parts);
}
