// Our solutions: the functions of exercises/23_today.cpp that change.

std::string prediction_of_swap() { return "other"; }

double prediction_of_reach() { return 13; }

Tensor rotated(const Tensor& x, double base) {
    const std::int64_t T = x.size(0), D = x.size(1);
    const double step = -2 * std::log(base) / static_cast<double>(D);
    const Tensor rates = exp(step * arange(0, D / 2, 1, float64));        // (D/2,): base^(-2n/D)
    const Tensor angles = arange(0, T, 1, float64).unsqueeze(1) * rates;  // (T, D/2)
    const Tensor a = x.slice(1, 0, D / 2), b = x.slice(1, D / 2, D);      // (T, D/2)
    return cat({a * cos(angles) - b * sin(angles), a * sin(angles) + b * cos(angles)}, 1);
}

Tensor rms_normed(const Tensor& x, const Tensor& weight, double eps) {
    return x / sqrt(mean(x * x, -1, keepdim) + eps) * weight;
}

Tensor rows_for_neighbours(const Tensor& W, std::int64_t H) {
    const std::int64_t D = W.size(0) / H, C = W.size(1);
    return W.reshape(H, 2, D / 2, C).transpose(1, 2).reshape(H * D, C);
}

std::int64_t cache_bytes(const CacheSizes& sizes, std::int64_t T, std::int64_t bytes_per_number) {
    const std::int64_t tokens =
        (sizes.layers - sizes.windowed) * T + sizes.windowed * std::min(T, sizes.window);
    return 2 * sizes.kv_heads * sizes.head_dim * tokens * bytes_per_number;
}

std::vector<double> smollm_on_paper() { return {3540096, 23040}; }
