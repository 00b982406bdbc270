// Classifies three kinds of iris by four measures of a flower. The flowers are drawn from the three normal
// distributions below, so the best possible classifier is known: choose the kind with the highest density
// (Bayes' rule). An MLP that sees only 1,200 flowers comes within one percentage point of it.
//
//     iris [--steps N]
//
// N flowers, F = 4 measures in cm, K = 3 kinds.
#include <weft/weft.h>

#include <array>
#include <cmath>
#include <cstdio>

#include "settings.h"

using namespace weft;

namespace {

constexpr int F = 4, K = 3;

// x = mean + L z with z standard normal, covariance L Lᵀ. Measures: length and width of sepal, then of petal.
struct Kind {
    const char* name;
    std::array<double, F> mean;
    std::array<std::array<double, F>, F> L;  // lower triangular
};
constexpr Kind kinds[K] = {
    {"setosa",
     {5.0, 3.4, 1.5, 0.2},
     {{{0.35, 0, 0, 0}, {0.28, 0.25, 0, 0}, {0.05, 0.00, 0.17, 0}, {0.03, 0.01, 0.03, 0.09}}}},
    {"versicolor",
     {5.9, 2.8, 4.3, 1.3},
     {{{0.51, 0, 0, 0}, {0.17, 0.26, 0, 0}, {0.36, 0.08, 0.30, 0}, {0.11, 0.09, 0.09, 0.10}}}},
    {"virginica",
     {6.6, 3.0, 5.6, 2.0},
     {{{0.63, 0, 0, 0}, {0.15, 0.28, 0, 0}, {0.48, 0.00, 0.27, 0}, {0.08, 0.13, 0.06, 0.22}}}},
};

struct Flowers {
    Tensor measures, kind;  // (N, F) float64, (N,)
};

Flowers grow(std::int64_t each, Rng& rng) {
    std::vector<double> measures;
    std::vector<std::int64_t> kind;
    for (std::int64_t n = 0; n < each * K; ++n) {
        const Kind& is = kinds[n % K];
        std::array<double, F> z;
        for (double& value : z) value = rng.normal();
        for (int i = 0; i < F; ++i) {
            double x = is.mean[i];
            for (int j = 0; j <= i; ++j) x += is.L[i][j] * z[j];
            measures.push_back(x);
        }
        kind.push_back(n % K);
    }
    return {from_vector(measures, {each * K, F}), from_vector(kind, {each * K})};
}

// log density of each kind up to a constant: −½‖z‖² − log det L, where L z = x − mean. (N, F) → (N, K)
Tensor log_density(const Tensor& x) {
    std::vector<Tensor> columns;
    for (const Kind& kind : kinds) {
        std::vector<Tensor> z;  // each (N,), by forward substitution
        Tensor density = zeros({x.size(0)}, float64);
        for (int i = 0; i < F; ++i) {
            Tensor rest = x.select(1, i) - kind.mean[i];
            for (int j = 0; j < i; ++j) rest = rest - z[j] * kind.L[i][j];
            z.push_back(rest / kind.L[i][i]);
            density = density - 0.5 * z[i] * z[i] - std::log(kind.L[i][i]);
        }
        columns.push_back(density);
    }
    return stack(columns, -1);
}

double accuracy(const Tensor& scores, const Tensor& kind) {  // (N, K), (N,)
    return mean((argmax(scores, -1) == kind).to(float64)).item();
}

}  // namespace

int main(int argc, char** argv) try {
    const auto settings = read_settings(argc, argv, "iris", {.steps = 200});
    if (!settings) return 2;
    set_num_threads(1);  // the operations are too small to share among threads
    Rng rng(1);
    const Flowers train = grow(400, rng), test = grow(10'000, rng);
    // Normalises every measure to mean 0 and deviation 1 over the training set.
    const Tensor centre = mean(train.measures, 0), width = sqrt(var(train.measures, 0));  // (F,)
    const auto scaled = [&](const Tensor& x) { return ((x - centre) / width).to(float32); };

    nn::Sequential net{nn::Linear(F, 16, rng), tanh, nn::Linear(16, K, rng)};
    optim::AdamW optimizer(net, {.lr = 0.02, .weight_decay = 0.3});
    training::minimise(optimizer, settings->steps, [&] {
        return cross_entropy(net(scaled(train.measures)), train.kind);  // (N, K), (N,) → ()
    });

    const NoGrad off;
    const Tensor scores = net(scaled(test.measures));  // (N, K)
    std::printf("\n%-12s is taken for %s, %s, %s\n", "", kinds[0].name, kinds[1].name, kinds[2].name);
    for (std::int64_t k = 0; k < K; ++k) {
        std::printf("%-12s             ", kinds[k].name);
        for (std::int64_t taken = 0; taken < K; ++taken) {
            const Tensor both = (test.kind == k) && (argmax(scores, -1) == static_cast<double>(taken));
            std::printf("%7.0f", sum(both.to(float32)).item());
        }
        std::printf("\n");
    }
    const double learned = accuracy(scores, test.kind), best = accuracy(log_density(test.measures), test.kind);
    std::printf("accuracy on %lld new flowers: %.2f %%; Bayes' rule, which knows the distributions: %.2f %%\n",
                static_cast<long long>(test.kind.numel()), 100 * learned, 100 * best);
    if (learned < best - 0.01) std::printf("not learned: more than one in a hundred below Bayes' rule\n");
    return learned < best - 0.01 ? 1 : 0;
} catch (const Error& error) {
    std::fprintf(stderr, "iris: %s\n", error.what());
    return 1;
}
