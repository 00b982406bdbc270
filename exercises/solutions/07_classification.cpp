// Our solutions: the functions of exercises/07_classification.cpp that change.

double prediction_of_loss() { return 1.39; }

Shape prediction_of_shape() { return {8, 5}; }

Tensor classifier_loss(const nn::Linear& layer, const Tensor& x, const Tensor& targets) {
    return cross_entropy(layer(x), targets);
}

Tensor stable_softmax(const Tensor& x) {
    const Tensor e = exp(x - max(x, -1, true).values);  // (N, K), none above 1
    return e / sum(e, -1, true);
}

LossAndGradient loss_and_gradient(const Tensor& logits, const Tensor& targets) {
    const Tensor column = targets.unsqueeze(-1);  // (N, 1)
    const Tensor one_hot = scatter_add(logits.shape(), 1, column, ones({targets.size(0), 1}, logits.dtype()));
    const double loss = -mean(gather(log_softmax(logits, -1), 1, column)).item();
    return {loss, (softmax(logits, -1) - one_hot) / static_cast<double>(targets.size(0))};
}

Tensor confusion(const Tensor& logits, const Tensor& targets) {
    const std::int64_t K = logits.size(1);
    const Tensor cell = targets * K + argmax(logits, -1);  // (N)
    return scatter_add({K * K}, 0, cell, ones(cell.shape(), int64)).reshape({K, K});
}

std::vector<double> classifier_on_paper() { return {0.6, 1.204, -0.7, 83}; }
