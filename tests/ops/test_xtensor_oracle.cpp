// xtensor's own functions as a second opinion on the values of the operations, on the inputs of the golden
// samples and on views of them with gaps.
#include <map>

#include "catch.h"
#include "golden/golden.h"
#include "op_table.h"
#include "weft/xtensor.h"
#include "xtensor_headers.h"

using namespace weft;

namespace {

using X = xt::xarray<double>;
using Operands = const std::vector<X>&;

// By the sample's name in the golden file, or by the part of it before the dot.
const std::map<std::string, std::function<X(Operands)>> oracles = {
    {"add", [](Operands x) { return X(x[0] + x[1]); }},
    {"sub", [](Operands x) { return X(x[0] - x[1]); }},
    {"mul", [](Operands x) { return X(x[0] * x[1]); }},
    {"div", [](Operands x) { return X(x[0] / x[1]); }},
    {"neg", [](Operands x) { return X(-x[0]); }},
    {"mul_number", [](Operands x) { return X(x[0] * 1.5); }},
    {"number_sub", [](Operands x) { return X(1.5 - x[0]); }},
    {"number_div", [](Operands x) { return X(1.5 / x[0]); }},
    {"pow.cube", [](Operands x) { return X(xt::pow<3>(x[0])); }},
    {"pow.square", [](Operands x) { return X(xt::square(x[0])); }},
    {"pow.root", [](Operands x) { return X(xt::sqrt(x[0])); }},
    {"eq", [](Operands x) { return X(xt::cast<double>(xt::equal(x[0], x[1]))); }},
    {"lt", [](Operands x) { return X(xt::cast<double>(x[0] < x[1])); }},
    {"ge", [](Operands x) { return X(xt::cast<double>(x[0] >= x[1])); }},
    {"isfinite", [](Operands x) { return X(xt::cast<double>(xt::isfinite(x[0]))); }},
    {"exp", [](Operands x) { return X(xt::exp(x[0])); }},
    {"log", [](Operands x) { return X(xt::log(x[0])); }},
    {"sqrt", [](Operands x) { return X(xt::sqrt(x[0])); }},
    {"tanh", [](Operands x) { return X(xt::tanh(x[0])); }},
    {"sigmoid", [](Operands x) { return X(0.5 * (1 + xt::tanh(0.5 * x[0]))); }},
    {"relu", [](Operands x) { return X(xt::maximum(x[0], 0.0)); }},
    {"abs", [](Operands x) { return X(xt::abs(x[0])); }},
    {"sign", [](Operands x) { return X(xt::sign(x[0])); }},
    {"sin", [](Operands x) { return X(xt::sin(x[0])); }},
    {"cos", [](Operands x) { return X(xt::cos(x[0])); }},
    {"clamp", [](Operands x) { return X(xt::clip(x[0], -0.5, 1.0)); }},
    {"maximum", [](Operands x) { return X(xt::maximum(x[0], x[1])); }},
    {"minimum", [](Operands x) { return X(xt::minimum(x[0], x[1])); }},
    {"maximum.number", [](Operands x) { return X(xt::maximum(x[0], 0.25)); }},
    {"minimum.number", [](Operands x) { return X(xt::minimum(x[0], 0.25)); }},
    {"sum.axis", [](Operands x) { return X(xt::sum(x[0], {1})); }},
    {"sum.several",
     [](Operands x) {
         return X(xt::sum(x[0], {0, 2}));
     }},
    {"mean.axis", [](Operands x) { return X(xt::mean(x[0], {1})); }},
    {"max.axis", [](Operands x) { return X(xt::amax(x[0], {1})); }},
    {"min.axis", [](Operands x) { return X(xt::amin(x[0], {1})); }},
    {"max_all", [](Operands x) { return X(xt::amax(x[0])); }},
    {"min_all", [](Operands x) { return X(xt::amin(x[0])); }},
    {"argmax.axis", [](Operands x) { return X(xt::cast<double>(xt::argmax(x[0], 1))); }},
    {"cumsum.first", [](Operands x) { return X(xt::cumsum(x[0], 0)); }},
    {"cumsum.last", [](Operands x) { return X(xt::cumsum(x[0], -1)); }},
    {"flip", [](Operands x) { return X(xt::flip(x[0], 1)); }},
};

}  // namespace

TEST_CASE("xtensor's functions agree with the operations", "[xtensor]") {
    const Golden golden("ops.safetensors");
    std::map<std::string, int> compared;
    for (const Op& op : op_table()) {
        auto oracle = oracles.find(op.golden);
        if (oracle == oracles.end()) oracle = oracles.find(op.golden.substr(0, op.golden.find('.')));
        if (oracle == oracles.end()) continue;
        Inputs inputs, views;
        std::vector<X> operands;
        for (int i = 0; golden.has(op.golden + "/in" + std::to_string(i)); ++i) {
            const Tensor x = golden(op.golden + "/in" + std::to_string(i));
            inputs.push_back(is_floating_point(x.dtype()) ? x.to(float64) : x);
            views.push_back(strided_copy(inputs.back()));
            operands.emplace_back(as_xtensor<double>(x.to(float64)));
        }
        INFO(op.golden);
        const Tensor expected = from_xtensor(oracle->second(operands));
        CHECK(distance(op.function(inputs)[0], expected) < 1e-14);
        CHECK(distance(op.function(views)[0], expected) < 1e-14);
        ++compared[oracle->first];
    }
    for (const auto& [name, oracle] : oracles) {
        INFO(name << " is in no row of the table");
        CHECK(compared[name] > 0);
    }
}
