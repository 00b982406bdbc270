// Our solutions: the functions of exercises/08_deep_networks.cpp that change.

double prediction_of_change() { return 0; }

double prediction_of_units() { return 1; }

Tensor kaiming(std::int64_t out, std::int64_t in, Rng& rng) {
    return nn::normal({out, in}, 0, std::sqrt(2.0 / static_cast<double>(in)), rng);
}

Tensor normalise(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
    const Tensor centred = x - mean(x, -1, keepdim);               // (…, C)
    const Tensor variance = mean(centred * centred, -1, keepdim);  // (…, 1)
    return centred / sqrt(variance + eps) * weight + bias;
}

std::vector<Tensor> rescale(const Tensor& x, const std::vector<Tensor>& weights) {
    std::vector<Tensor> rescaled;
    Tensor h = x;
    for (const Tensor& W : weights) {
        h = relu(linear(h, W));
        const Tensor size = sqrt(mean(h * h));  // ()
        rescaled.push_back(W / size);
        h = h / size;  // as ReLU of a multiple is the multiple of ReLU
    }
    return rescaled;
}

std::vector<double> variance_on_paper() { return {0.25, 1.0 / 1024, 0.1}; }
