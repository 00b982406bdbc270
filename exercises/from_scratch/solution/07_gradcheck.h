// Step 7: are the gradients right? Compare them with differences.
#pragma once

#include "03_data.h"
#include "06_ops.h"

inline Array normal(const Shape& shape, double deviation, Random& random) {
    std::vector<double> values(static_cast<std::size_t>(numel(shape)));
    for (double& value : values) value = deviation * random.normal();
    return {shape, std::move(values)};
}

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

// The largest error of the gradients that backward gives, over all elements of the inputs, by comparison with
// (L(x + h) − L(x − h)) / 2h, and relative where this is above 1. L is the sum of f's elements, each with a
// random weight: their plain sum would hide mistakes, such as those in softmax, whose sum is always 1.
inline double gradcheck(const Function& f, const std::vector<Array>& inputs, double h = 1e-5) {
    std::vector<Tensor> x;
    for (const Array& input : inputs) x.emplace_back(Array(input.shape, input.values()), true);
    Random random(7);
    const Array weights = normal(f(x).shape(), 1, random);
    const auto loss = [&] { return sum(f(x) * weights); };  // ()
    backward(loss());
    double largest = 0;
    for (const Tensor& input : x) {
        const Array gradient = input.grad().defined() ? input.grad() : Array::full(input.shape(), 0);
        const std::vector<double> slopes = gradient.values();
        std::vector<double>& values = *input.data().storage;
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double value = values[i];
            values[i] = value + h;
            const double above = loss().item();
            values[i] = value - h;
            const double below = loss().item();
            values[i] = value;
            const double difference = (above - below) / (2 * h), error = std::abs(slopes[i] - difference);
            largest = std::max(largest, error / std::max(1.0, std::abs(difference)));
        }
    }
    return largest;
}
