// The kernels at sizes on both sides of each constant that switches their path, against plain loops:
// elementwise ones, draws, reductions and rows.
#include "fast/simd.h"
#include "kernel_sizes.h"
#include "weft/core/random.h"

using namespace weft;
using namespace weft::kernels::fast;
using namespace sizes;

namespace {

// x, y and the result over every kind of memory: dense, a column of a matrix, one value for all, in place.
void check_map(std::int64_t rows, std::int64_t columns, DType dtype) {
    INFO(rows << " × " << columns << " of " << name(dtype));
    const std::int64_t n = rows * columns;
    const Tensor x = small_integers({rows, columns}, dtype), y = small_integers({columns, rows}, dtype);
    const auto at = [&](std::int64_t i, std::int64_t j) {
        return small_integer(j * rows + i);
    };  // element of yᵀ
    std::vector<double> sums(static_cast<std::size_t>(n)), products(sums), row_sums(sums);
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
            const auto k = static_cast<std::size_t>(i * columns + j);
            sums[k] = small_integer(i * columns + j) + at(i, j);
            products[k] = at(i, j) * small_integer(i * columns + j) * 2;
            row_sums[k] = small_integer(i * columns + j) + small_integer(j);
        }
    check_equal(x + y.T(), sums);
    check_equal(y.T() * x * 2, products);
    check_equal(x + small_integers({columns}, dtype), row_sums);
    Tensor out = zeros({rows, columns, 2}, dtype);
    out.select(2, 1).copy_(y.T());
    out.select(2, 1).add_(x);
    check_equal(out.select(2, 1), sums);
    CHECK(max(abs(out.select(2, 0).to(float64))).item() == 0);
    std::vector<double> chosen(sums);
    for (std::size_t k = 0; k < chosen.size(); ++k) chosen[k] = sums[k] > 0 ? 1 : 0;
    check_equal(where(x + y.T() > 0, ones_like(x), zeros_like(x)), chosen);
}

}  // namespace

TEST_CASE("elementwise kernels around the ends of vectors, gathered runs and tasks", "[ops]") {
    for (const std::int64_t n : neighbours({0, 2, 4, 8, 16, 2 * 16, run_length, 2 * run_length}))
        for (const DType dtype : numbers) check_map(2, n, dtype), check_map(n, 3, dtype);
    for (const std::int64_t n : neighbours({parallel_grain, 2 * parallel_grain}))
        for (const DType dtype : floats) check_map(1, n, dtype), check_map(n, 2, dtype);
    for (const std::int64_t n : neighbours({parallel_grain / run_length}))  // runs of one task
        check_map(n, run_length + 1, float32);
}

TEST_CASE("a tensor's draw is that of its seed and position, around the ends of tasks", "[ops][rng]") {
    for (const std::int64_t n : neighbours({0, parallel_grain, 2 * parallel_grain})) {
        Rng rng(12345);
        rng.reserve(67);
        const auto count = static_cast<std::uint64_t>(n);
        const auto normal = randn({n}, rng, float64).to_vector<double>();
        const auto uniform = rand({n}, rng, float64).to_vector<double>();
        const auto whole_numbers = randint(-3, 900, {n}, rng).to_vector<std::int64_t>();
        const auto kept = dropout(ones({n}, float64), 0.25, rng).to_vector<double>();
        CHECK(rng.state().position == 67 + 3 * count + (count + 3) / 4);  // dropout: four elements for each
        int wrong = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
            wrong += normal[i] != normal_at(12345, 67 + i);
            wrong += uniform[i] != uniform_at(12345, 67 + count + i);
            wrong += whole_numbers[i] != randint_at(12345, 67 + 2 * count + i, -3, 900);
            wrong += kept[i] != (philox(12345, 67 + 3 * count + i / 4)[i % 4] < 0x40000000 ? 0 : 1 / 0.75);
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("what is drawn below p is dropped, and p itself is kept", "[ops][rng]") {
    const double p = 0x1p-32 * philox(7, 0)[3];
    Rng rng(7);
    const auto kept = dropout(ones({8}, float64), p, rng).to_vector<double>();
    for (std::uint64_t i = 0; i < 8; ++i)
        CHECK(kept[i] == (0x1p-32 * philox(7, i / 4)[i % 4] < p ? 0 : 1 / (1 - p)));
    CHECK(kept[3] > 0);
}

TEST_CASE("sums, cumulated sums and extremes around the ends of vectors, blocks, strips and tasks", "[ops]") {
    const auto check = [](std::int64_t outer, std::int64_t n, std::int64_t inner, DType dtype) {
        INFO(outer << " × " << n << " × " << inner << " of " << name(dtype));
        const Tensor x = small_integers({outer, n, inner}, dtype);
        std::vector<double> sums, largest, where_largest, smallest,
            running(static_cast<std::size_t>(x.numel()));
        std::vector<double> backwards(running);
        for (std::int64_t o = 0; o < outer; ++o)
            for (std::int64_t j = 0; j < inner; ++j) {
                double sum = 0, most = -100, least = 100, index = 0;
                for (std::int64_t i = 0; i < n; ++i) {
                    const std::int64_t at = (o * n + i) * inner + j;
                    running[static_cast<std::size_t>(at)] = sum += small_integer(at);
                    if (small_integer(at) > most) index = static_cast<double>(i);
                    most = std::max(most, small_integer(at)), least = std::min(least, small_integer(at));
                }
                double from_the_end = 0;
                for (std::int64_t i = n; i-- > 0;)
                    backwards[static_cast<std::size_t>((o * n + i) * inner + j)] = from_the_end +=
                        small_integer((o * n + i) * inner + j);
                sums.push_back(sum), largest.push_back(most), smallest.push_back(least);
                where_largest.push_back(index);
            }
        check_equal(sum(x, 1), sums);
        const auto [values, indices] = max(x, 1);
        check_equal(values, largest);
        check_equal(indices, where_largest);
        check_equal(min(x, 1).values, smallest);
        check_equal(cumsum(x, 1), running);
        if (dtype != float64) return;
        const Tensor leaf = zeros(x.shape(), float64).requires_grad_();
        cumsum(leaf, 1).backward(x);
        check_equal(leaf.grad(), backwards);
    };
    for (const DType dtype : numbers) {
        for (const std::int64_t n : neighbours(vector_ends())) check(3, n, 1, dtype);
        for (const std::int64_t n : neighbours({sum_rows, 2 * sum_rows}))
            for (const std::int64_t inner : neighbours({sum_strip, 2 * sum_strip})) check(2, n, inner, dtype);
    }
    for (const std::int64_t n : neighbours({reduce_grain})) {
        check(2, n, 1, float32), check(n, 2, 1, float32), check(1, n, 2, float32);
        check(n, 1, 2, float32);
    }
    for (const std::int64_t n : neighbours({sum_part, 3 * sum_part})) check(2, n, 1, float32);
    for (const std::int64_t n : neighbours({rows_part, 3 * rows_part})) check(2, n, 70, float32);
    for (const std::int64_t strips : neighbours({reduce_grain / sum_strip / 8}))  // strips of one task
        check(1, 8, strips * sum_strip, float64), check(strips, 8, 2, float64);
}

TEST_CASE("softmax, its logarithm, cross-entropy and both norms around the ends of rows and tasks", "[ops]") {
    const auto check = [](std::int64_t R, std::int64_t C, DType dtype) {
        INFO(R << " × " << C << " of " << name(dtype));
        const double tolerance = dtype == float32 ? 1e-5 : 1e-13;
        const Tensor x = (small_integers({R, C}, dtype) * 0.5).detach().requires_grad_();
        const Tensor w = (small_integers({C}, dtype) * 0.25 + 2).detach().requires_grad_(),
                     b = small_integers({C}, dtype).requires_grad_();
        std::vector<double> shares, logarithms, normed, scaled, dx(static_cast<std::size_t>(R * C)),
            dnormed(dx);
        std::vector<double> dw(static_cast<std::size_t>(C)), db(dw);
        std::vector<std::int64_t> targets;
        double loss = 0;
        const double c = static_cast<double>(C);
        for (std::int64_t r = 0; r < R; ++r) {
            const auto at = [&](std::int64_t j) { return small_integer(r * C + j) / 2; };
            const auto weight = [&](std::int64_t j) { return small_integer(j) / 4 + 2; };
            double total = 0, mean = 0, variance = 0, mean_g = 0, mean_gx = 0;
            for (std::int64_t j = 0; j < C; ++j) total += std::exp(at(j)), mean += at(j) / c;
            for (std::int64_t j = 0; j < C; ++j) variance += (at(j) - mean) * (at(j) - mean) / c;
            const double rstd = 1 / std::sqrt(variance + 1e-5);
            const auto seed = [&](std::int64_t j) { return small_integer(r * C + j + 1); };
            const auto hat = [&](std::int64_t j) { return (at(j) - mean) * rstd; };
            for (std::int64_t j = 0; j < C; ++j) {
                mean_g += seed(j) * weight(j) / c, mean_gx += seed(j) * weight(j) * hat(j) / c;
                dw[static_cast<std::size_t>(j)] += seed(j) * hat(j);
                db[static_cast<std::size_t>(j)] += seed(j);
            }
            targets.push_back(r % 5 == 3 ? -100 : (r * 7) % C);
            const bool counts = targets.back() != -100;
            if (counts) loss += std::log(total) - at(targets.back());
            for (std::int64_t j = 0; j < C; ++j) {
                const auto k = static_cast<std::size_t>(r * C + j);
                shares.push_back(std::exp(at(j)) / total);
                logarithms.push_back(at(j) - std::log(total));
                normed.push_back(hat(j) * weight(j) + small_integer(j));
                scaled.push_back(at(j) * weight(j) / std::sqrt(variance + mean * mean + 1e-5));
                dx[k] = counts ? shares.back() - (j == targets.back() ? 1 : 0) : 0;
                dnormed[k] = rstd * (seed(j) * weight(j) - mean_g - hat(j) * mean_gx);
            }
        }
        const double counted = static_cast<double>(R - std::count(targets.begin(), targets.end(), -100));
        for (double& d : dx) d /= counted;
        check_close(softmax(x, 1), shares, tolerance);
        check_close(log_softmax(x, 1), logarithms, tolerance);
        const Tensor found = cross_entropy(x, from_vector(targets, {R}));
        check_close(found, {loss / counted}, tolerance * 10);
        check_close(grad({found}, {x})[0], dx, tolerance);
        check_close(rms_norm(x, w, 1e-5), scaled, tolerance * 10);
        const Tensor y = layer_norm(x, w, b);
        check_close(y, normed, tolerance * 10);
        std::vector<double> seeds;
        for (std::int64_t i = 0; i < R * C; ++i) seeds.push_back(small_integer(i + 1));
        const auto g = grad({y}, {x, w, b}, {from_vector(seeds, {R, C}).to(dtype)});
        // A row of nearly equal numbers is divided by little: errors grow with rstd.
        check_close(g[0], dnormed, tolerance * 1e4);
        check_close(g[1], dw, tolerance * 1e3);
        check_close(g[2], db, tolerance * 10);
    };
    for (const DType dtype : floats) {
        for (const std::int64_t C : neighbours(vector_ends()))
            if (C > 1) check(3, C, dtype);
        for (const std::int64_t R : neighbours({norm_group, 2 * norm_group})) check(R, 5, dtype);
        for (const std::int64_t R : neighbours({row_grain / 16, row_grain / 16 + 1})) check(R, 16, dtype);
        for (const std::int64_t C : neighbours({row_grain})) check(2, C, dtype);
    }
}
