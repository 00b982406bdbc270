// Our solutions: the functions of exercises/15_own_text.cpp that change.

double prediction_of_starts() { return 936; }

double prediction_of_perplexity() { return 4; }

Batch make_batch(const Tensor& ids, const std::vector<std::int64_t>& starts, std::int64_t T) {
    std::vector<Tensor> inputs, targets;
    for (const std::int64_t start : starts) {
        if (start + T + 1 > ids.numel())
            throw ValueError("make_batch: the targets of start " + std::to_string(start) +
                             " end beyond the text");
        inputs.push_back(ids.slice(0, start, start + T));           // (T,)
        targets.push_back(ids.slice(0, start + 1, start + T + 1));  // (T,)
    }
    return {stack(inputs), stack(targets)};
}

double perplexity(const std::vector<Predictions>& batches) {
    double total = 0;
    std::int64_t tokens = 0;
    for (const auto& [logits, targets] : batches) {
        total += cross_entropy(logits, targets).item() * static_cast<double>(targets.numel());
        tokens += targets.numel();
    }
    return std::exp(total / static_cast<double>(tokens));
}

void keep_best(Best& best, double loss, const nn::Module& model) {
    if (!(loss < best.loss)) return;
    best.loss = loss;
    best.weights = model.state_dict();
    for (auto& [name, value] : best.weights) value = value.detach().clone();
}

std::vector<double> run_on_paper() { return {0.001, 0.002, 0.0011, 0.0002, 11}; }
