// Step 3: neurons, and a net of them.
#pragma once

#include "02_backward.h"
#include "03_data.h"

inline Value operator-(const Value& a, const Value& b) {
    return {a.data() - b.data(), {a.node, b.node}, {1, -1}};
}
inline Value tanh(const Value& x) {
    const double y = std::tanh(x.data());
    return {y, {x.node}, {1 - y * y}};
}

// tanh(w₁x₁ + … + wₙxₙ + b)
struct Neuron {
    std::vector<Value> weights;  // w₁ … wₙ, b
    Neuron(int inputs, Random& random) {
        for (int i = 0; i < inputs; ++i) weights.push_back(random.normal() / std::sqrt(inputs));
        weights.push_back(0);
    }
    Value operator()(const std::vector<Value>& x) const {
        Value sum = weights.back();
        for (std::size_t i = 0; i < x.size(); ++i) sum = sum + weights[i] * x[i];
        return tanh(sum);
    }
};

// Layers of neurons. Every neuron of a layer reads all numbers of the layer before.
struct Net {
    std::vector<std::vector<Neuron>> layers;
    std::vector<Value> parameters;
    Net(const std::vector<int>& sizes, Random& random) {  // {2, 8, 1}: 2 inputs, 8 neurons, 1 neuron
        for (std::size_t l = 1; l < sizes.size(); ++l) {
            layers.emplace_back();
            for (int i = 0; i < sizes[l]; ++i) {
                const Neuron& neuron = layers.back().emplace_back(sizes[l - 1], random);
                parameters.insert(parameters.end(), neuron.weights.begin(), neuron.weights.end());
            }
        }
    }
    Value operator()(std::vector<Value> x) const {
        for (const std::vector<Neuron>& layer : layers) {
            std::vector<Value> y;
            for (const Neuron& neuron : layer) y.push_back(neuron(x));
            x = y;
        }
        return x[0];
    }
};
