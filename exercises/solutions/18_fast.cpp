// Our solutions: the functions of exercises/18_fast.cpp that change.
#include <set>

double prediction_of_addition() { return 0.083; }

double prediction_of_fusing() { return 4; }

double fastest(const std::function<void()>& work, const std::function<double()>& clock, int runs) {
    double least = INFINITY;
    for (int i = 0; i < runs; ++i) {
        const double start = clock();
        work();
        least = std::min(least, clock() - start);
    }
    return least;
}

double intensity(double M, double K, double N) { return 2 * M * N * K / (4 * (M * K + N * K + M * N)); }

std::int64_t lines_read(const Tensor& x) {
    std::set<std::int64_t> lines;
    for (std::int64_t i = 0; i < x.size(0); ++i)
        for (std::int64_t j = 0; j < x.size(1); ++j)
            lines.insert((i * x.strides()[0] + j * x.strides()[1]) / 16);  // 16 numbers of 4 bytes
    return static_cast<std::int64_t>(lines.size());
}

std::vector<double> roof_on_paper() { return {5, 3.36, 0.34}; }
