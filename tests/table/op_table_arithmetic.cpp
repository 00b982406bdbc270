// Arithmetic, comparisons and functions of one element.
#include "op_table.h"

using namespace weft;
using enum Gradient;

std::vector<OpEntry> arithmetic_ops() {
    const auto add = [](In x) { return x[0] + x[1]; };
    const auto sub = [](In x) { return x[0] - x[1]; };
    const auto mul = [](In x) { return x[0] * x[1]; };
    const auto div = [](In x) { return x[0] / x[1]; };
    std::vector<OpEntry> rows;
    for (const std::string sample : {"same", "broadcast", "scalar", "trailing"}) {
        rows.push_back({"operator+(Tensor, Tensor)", "add." + sample, twice, add});
        rows.push_back({"operator-(Tensor, Tensor)", "sub." + sample, twice, sub});
        rows.push_back({"operator*(Tensor, Tensor)", "mul." + sample, twice, mul});
        rows.push_back({"operator/(Tensor, Tensor)", "div." + sample, twice, div});
    }
    const std::vector<OpEntry> others = {
        {"operator+(Tensor, Tensor)", "add.int64", none, add},
        {"operator-(Tensor, Tensor)", "sub.int64", none, sub},
        {"operator*(Tensor, Tensor)", "mul.int64", none, mul},
        {"operator-(Tensor)", "neg", twice, [](In x) { return -x[0]; }},
        {"operator+(Tensor, double)", "add_number", twice, [](In x) { return x[0] + 1.5; }},
        {"operator-(Tensor, double)", "sub_number", twice, [](In x) { return x[0] - 1.5; }},
        {"operator*(Tensor, double)", "mul_number", twice, [](In x) { return x[0] * 1.5; }},
        {"operator/(Tensor, double)", "div_number", twice, [](In x) { return x[0] / 1.5; }},
        {"operator+(double, Tensor)", "number_add", twice, [](In x) { return 1.5 + x[0]; }},
        {"operator-(double, Tensor)", "number_sub", twice, [](In x) { return 1.5 - x[0]; }},
        {"operator*(double, Tensor)", "number_mul", twice, [](In x) { return 1.5 * x[0]; }},
        {"operator/(double, Tensor)", "number_div", twice, [](In x) { return 1.5 / x[0]; }},
        {"pow(Tensor, double)", "pow.cube", twice, [](In x) { return pow(x[0], 3); }},
        {"pow(Tensor, double)", "pow.square", twice, [](In x) { return pow(x[0], 2); }},
        {"pow(Tensor, double)", "pow.root", twice, [](In x) { return pow(x[0], 0.5); }},
        {"pow(Tensor, double)", "pow.inverse", twice, [](In x) { return pow(x[0], -2); }},
        {"pow(Tensor, double)", "pow.zero", twice, [](In x) { return pow(x[0], 0); }},
        {"pow(Tensor, double)", "pow.fraction", twice, [](In x) { return pow(x[0], 1.7); }},
        {"pow(Tensor, Tensor)", "pow_tensor.same", twice, [](In x) { return pow(x[0], x[1]); }},
        {"pow(Tensor, Tensor)", "pow_tensor.broadcast", twice, [](In x) { return pow(x[0], x[1]); }},
        {"pow(Tensor, Tensor)", "pow_tensor.zero", kink, [](In x) { return pow(x[0], x[1]); }},

        {"operator==(Tensor, Tensor)", "eq.broadcast", none, [](In x) { return x[0] == x[1]; }},
        {"operator!=(Tensor, Tensor)", "ne.broadcast", none, [](In x) { return x[0] != x[1]; }},
        {"operator<(Tensor, Tensor)", "lt.broadcast", none, [](In x) { return x[0] < x[1]; }},
        {"operator<=(Tensor, Tensor)", "le.broadcast", none, [](In x) { return x[0] <= x[1]; }},
        {"operator>(Tensor, Tensor)", "gt.broadcast", none, [](In x) { return x[0] > x[1]; }},
        {"operator>=(Tensor, Tensor)", "ge.broadcast", none, [](In x) { return x[0] >= x[1]; }},
        {"operator==(Tensor, Tensor)", "eq.float", none, [](In x) { return x[0] == x[1]; }},
        {"operator!=(Tensor, Tensor)", "ne.float", none, [](In x) { return x[0] != x[1]; }},
        {"operator<(Tensor, Tensor)", "lt.float", none, [](In x) { return x[0] < x[1]; }},
        {"operator<=(Tensor, Tensor)", "le.float", none, [](In x) { return x[0] <= x[1]; }},
        {"operator>(Tensor, Tensor)", "gt.float", none, [](In x) { return x[0] > x[1]; }},
        {"operator>=(Tensor, Tensor)", "ge.float", none, [](In x) { return x[0] >= x[1]; }},
        {"operator==(Tensor, double)", "eq_number", none, [](In x) { return x[0] == 1; }},
        {"operator!=(Tensor, double)", "ne_number", none, [](In x) { return x[0] != 1; }},
        {"operator<(Tensor, double)", "lt_number", none, [](In x) { return x[0] < 1; }},
        {"operator<=(Tensor, double)", "le_number", none, [](In x) { return x[0] <= 1; }},
        {"operator>(Tensor, double)", "gt_number", none, [](In x) { return x[0] > 1; }},
        {"operator>=(Tensor, double)", "ge_number", none, [](In x) { return x[0] >= 1; }},
        {"operator||(Tensor, Tensor)", "or", none, [](In x) { return x[0] || x[1]; }},
        {"operator&&(Tensor, Tensor)", "and", none, [](In x) { return x[0] && x[1]; }},
        {"operator!(Tensor)", "not", none, [](In x) { return !x[0]; }},
        {"isfinite(Tensor)", "isfinite", none, [](In x) { return isfinite(x[0]); }},
        {"all(Tensor)", "all", none, [](In x) { return all(x[0]); }},
        {"any(Tensor)", "any", none, [](In x) { return any(x[0]); }},
    };
    rows.insert(rows.end(), others.begin(), others.end());
    return rows;
}

std::vector<OpEntry> elementwise_ops() {
    return {
        {"exp(Tensor)", "exp", twice, [](In x) { return exp(x[0]); }},
        {"log(Tensor)", "log", twice, [](In x) { return log(x[0]); }},
        {"sqrt(Tensor)", "sqrt", twice, [](In x) { return sqrt(x[0]); }},
        {"tanh(Tensor)", "tanh", twice, [](In x) { return tanh(x[0]); }},
        {"sigmoid(Tensor)", "sigmoid", twice, [](In x) { return sigmoid(x[0]); }},
        {"sigmoid(Tensor)", "sigmoid.far", twice, [](In x) { return sigmoid(x[0]); }},
        {"relu(Tensor)", "relu", twice, [](In x) { return relu(x[0]); }},
        {"relu(Tensor)", "relu.zero", kink, [](In x) { return relu(x[0]); }},
        {"abs(Tensor)", "abs", twice, [](In x) { return abs(x[0]); }},
        {"abs(Tensor)", "abs.zero", kink, [](In x) { return abs(x[0]); }},
        {"sign(Tensor)", "sign", twice, [](In x) { return sign(x[0]); }},
        {"sign(Tensor)", "sign.zero", kink, [](In x) { return sign(x[0]); }},
        {"sin(Tensor)", "sin", twice, [](In x) { return sin(x[0]); }},
        {"cos(Tensor)", "cos", twice, [](In x) { return cos(x[0]); }},
        {"erf(Tensor)", "erf", twice, [](In x) { return erf(x[0]); }},
        {"log1p(Tensor)", "log1p", twice, [](In x) { return log1p(x[0]); }},
        {"log1p(Tensor)", "log1p.small", twice, [](In x) { return log1p(x[0]); }},
        {"expm1(Tensor)", "expm1", twice, [](In x) { return expm1(x[0]); }},
        {"expm1(Tensor)", "expm1.small", twice, [](In x) { return expm1(x[0]); }},
        {"floor(Tensor)", "floor", kink, [](In x) { return floor(x[0]); }},
        {"round(Tensor)", "round", kink, [](In x) { return round(x[0]); }},
        {"gelu(Tensor, Gelu)", "gelu.exact", twice, [](In x) { return gelu(x[0]); }},
        {"gelu(Tensor, Gelu)", "gelu.tanh", twice, [](In x) { return gelu(x[0], Gelu::tanh); }},
        {"clamp(Tensor, optional<double>, optional<double>)", "clamp", twice,
         [](In x) { return clamp(x[0], -0.5, 1); }},
        {"clamp(Tensor, optional<double>, optional<double>)", "clamp.edge", kink,
         [](In x) { return clamp(x[0], -0.5, 1); }},
        {"maximum(Tensor, Tensor)", "maximum.same", twice, [](In x) { return maximum(x[0], x[1]); }},
        {"maximum(Tensor, Tensor)", "maximum.broadcast", twice, [](In x) { return maximum(x[0], x[1]); }},
        {"maximum(Tensor, Tensor)", "maximum.ties", kink, [](In x) { return maximum(x[0], x[1]); }},
        {"minimum(Tensor, Tensor)", "minimum.same", twice, [](In x) { return minimum(x[0], x[1]); }},
        {"minimum(Tensor, Tensor)", "minimum.broadcast", twice, [](In x) { return minimum(x[0], x[1]); }},
        {"minimum(Tensor, Tensor)", "minimum.ties", kink, [](In x) { return minimum(x[0], x[1]); }},
        {"where(Tensor, Tensor, Tensor)", "where", twice, [](In x) { return where(x[0], x[1], x[2]); }},
        {"masked_fill(Tensor, Tensor, double)", "masked_fill", twice,
         [](In x) { return masked_fill(x[0], x[1], -7.5); }},
    };
}
