// Our solutions: the functions of exercises/19_tiles.cpp that change.

double prediction_of_sum() { return 6; }

double prediction_of_growth() { return 0; }

float sum_on_threads(const std::vector<float>& values, std::size_t threads) {
    const std::size_t block = 1000;
    std::vector<float> parts((values.size() + block - 1) / block);
    for (std::size_t t = 0; t < threads; ++t)
        for (std::size_t b = t; b < parts.size(); b += threads)
            for (std::size_t i = b * block; i < std::min(values.size(), (b + 1) * block); ++i)
                parts[b] += values[i];
    float total = 0;
    for (const float part : parts) total += part;
    return total;
}

std::int64_t tiles_to_compute(std::int64_t T, std::int64_t queries, std::int64_t keys) {
    std::int64_t tiles = 0;
    for (std::int64_t from = 0; from < T; from += queries) {
        const std::int64_t visible = std::min(T, from + queries);  // to the last query of this row of tiles
        tiles += (visible + keys - 1) / keys;
    }
    return tiles;
}

Part merge(const Part& a, const Part& b) {
    const double largest = std::max(a.largest, b.largest);
    if (std::isinf(largest)) return {};  // no key yet
    const double of_a = std::exp(a.largest - largest), of_b = std::exp(b.largest - largest);
    return {largest, of_a * a.sum + of_b * b.sum, of_a * a.weighted + of_b * b.weighted};
}

std::vector<double> memory_on_paper() { return {64, 128, 512}; }
