#include "weft/nn/sequential.h"

#include "weft/autograd/lent.h"

namespace weft::nn {

Sequential::Sequential(std::initializer_list<Step> steps) : Module("Sequential") {
    for (const Step& step : steps) {
        if (step.module) register_module(std::to_string(steps_.size()), *step.module);
        steps_.push_back(step.call);
    }
}

Tensor Sequential::operator()(const Tensor& x) const {
    const Lent lent("a step of Sequential", {&x, 1});
    return located(*this, [&] {
        Tensor y = x;
        for (const auto& step : steps_) y = step(y);
        return y;
    });
}

}  // namespace weft::nn
