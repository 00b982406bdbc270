// Our solutions: the functions of exercises/17_inside.cpp that change.

double prediction_of_position() { return 1; }

double prediction_of_uniform() { return 0.36; }

Tensor without_head(const Tensor& heads, std::int64_t head) {
    Tensor active = ones({heads.size(1)}, heads.dtype());  // (H,)
    active[head].fill_(0);
    return heads * active.reshape({heads.size(1), 1, 1});  // (B, H, T, d_k) · (H, 1, 1)
}

double previous_score(const Tensor& weights) {
    const std::int64_t T = weights.size(0);
    double total = 0;
    for (std::int64_t i = 1; i < T; ++i) total += weights.at({i, i - 1});
    return total / static_cast<double>(T - 1);
}

double induction_score(const Tensor& weights, const std::vector<std::int64_t>& ids) {
    double total = 0;
    int positions = 0;
    for (std::int64_t i = 0; i < std::ssize(ids); ++i) {
        std::int64_t j = i - 1;
        while (j >= 0 && ids[j] != ids[i]) --j;
        if (j < 0) continue;  // it has not occurred before
        total += weights.at({i, j + 1});
        ++positions;
    }
    return positions == 0 ? 0 : total / positions;
}

std::vector<double> scores_on_paper() { return {5.0 / 12, 3.0 / 8}; }
