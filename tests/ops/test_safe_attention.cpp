// Safe attention, by properties: 2,000 random cases, in `make check-all` 10,000 (see attention_cases.h), fused,
// composed and, where the sizes allow it, from a packed projection; some with weights, with dropout, and to
// second order.
#include <cstring>
#include <utility>

#include "attention_cases.h"
#include "catch.h"
#include "environment.h"

using namespace source;

namespace {

const std::int64_t cases = sanitized ? 1'000 : long_run() ? 10'000 : 2'000;

// What the cases held, so that no property is true for want of cases.
struct Counts {
    std::int64_t rows = 0, fully_masked = 0, keys = 0, unseen = 0, untouched_rows = 0, untouched_keys = 0,
                 empty = 0, packed = 0;
};

// Fails with the number of the case, which makes it again.
void fail(const AttentionCase& c, std::uint64_t seed, Path path, const std::string& what) {
    FAIL("case " << seed << ", " << name(path) << ", " << name(c.dtype) << ", B " << c.B << " H " << c.H
                 << " G " << c.G << " T " << c.T << " S " << c.S << " d_k " << c.d_k << " d_v " << c.d_v
                 << ", logits to " << c.largest << ": " << what);
}

bool finite(const std::vector<double>& x) {
    return std::all_of(x.begin(), x.end(), [](double value) { return std::isfinite(value); });
}
bool finite(const AttentionRun& r) { return finite(r.y) && finite(r.dq) && finite(r.dk) && finite(r.dv); }

bool zero(const std::vector<double>& x, std::int64_t row, std::int64_t width) {
    if (x.empty()) return true;  // was not computed
    const auto first = x.begin() + row * width;
    return std::all_of(first, first + width, [](double value) { return value == 0; });
}

// Every eighth case to second order.
AttentionRun run(const AttentionCase& c, std::uint64_t seed, const Tensor& q, const Tensor& k, const Tensor& v,
                 const Tensor& dy, Path path) {
    return run_attention(c, q, k, v, dy, path, seed % 8 == 0);
}

bool same_row(const std::vector<double>& a, const std::vector<double>& b, std::int64_t row,
              std::int64_t width) {
    const auto at = static_cast<std::size_t>(row * width);
    if (a.empty()) return true;  // was not computed
    return std::memcmp(a.data() + at, b.data() + at, static_cast<std::size_t>(width) * sizeof(double)) == 0;
}

// Calls f(b, h, i, row) for every query, row counting them all.
template <class F>
void for_queries(const AttentionCase& c, F f) {
    for (std::int64_t row = 0; row < c.B * c.H * c.T; ++row)
        f(row / (c.H * c.T), row / c.T % c.H, row % c.T, row);
}
template <class F>
void for_keys(const AttentionCase& c, F f) {  // f(b, g, j, row)
    for (std::int64_t row = 0; row < c.B * c.G * c.S; ++row)
        f(row / (c.G * c.S), row / c.S % c.G, row % c.S, row);
}
// True where some query of key head g sees key j and makes good(h, i) true.
template <class F>
bool some_query(const AttentionCase& c, std::int64_t b, std::int64_t g, std::int64_t j, F good) {
    for (std::int64_t h = g * (c.H / c.G); h < (g + 1) * (c.H / c.G); ++h)
        for (std::int64_t i = 0; i < c.T; ++i)
            if (c.is_visible(b, h, i, j) && good(h, i)) return true;
    return false;
}

// Rows of a flat (n, width) tensor changed to other values: up to the largest of the type, with which scores
// and their gradients overflow, or NaN, ∞, −∞, or all of these. `which` says which.
Tensor edited(const Tensor& x, const std::vector<bool>& which, Rng& rng) {
    const double bounds[]{1, 1e3, x.dtype() == float32 ? 3.4e38 : 8e307}, poisons[]{NAN, INFINITY, -INFINITY};
    Tensor other = uniform(x.shape(), bounds[rng.randint(0, 3)], rng, x.dtype());
    const std::int64_t kind = rng.randint(0, 6);
    if (kind < 3) other = full(x.shape(), poisons[kind], x.dtype());
    if (kind == 3)
        for (const double poison : poisons) other = masked_fill(other, bools(x.shape(), 0.2, rng), poison);
    Shape rows = x.shape();
    rows[3] = 1;
    return where(from_vector(which, rows), other, x);
}

std::vector<bool> some(std::int64_t n, Rng& rng) {
    const double share = rng.uniform();
    std::vector<bool> which;
    for (std::int64_t i = 0; i < n; ++i) which.push_back(rng.uniform() < share);
    return which;
}

// Queries and keys that no edit reaches have the same bits before and after it, to second order where that was
// run.
template <class Query, class Key>
void check_unreached(const AttentionCase& c, std::uint64_t seed, Path path, Counts& n,
                     const AttentionRun& before, const AttentionRun& after, Query query_is_reached,
                     Key key_is_reached) {
    for_queries(c, [&](auto b, auto h, auto i, auto row) {
        if (query_is_reached(b, h, i)) return;
        ++n.untouched_rows;
        if (!same_row(before.y, after.y, row, c.d_v)) fail(c, seed, path, "an output saw what it may not");
        if (!same_row(before.dq, after.dq, row, c.d_k)) fail(c, seed, path, "a query's gradient did");
        if (!same_row(before.ddq, after.ddq, row, c.d_k) || !same_row(before.ddy, after.ddy, row, c.d_v))
            fail(c, seed, path, "a query's gradient of second order did");
    });
    for_keys(c, [&](auto b, auto g, auto j, auto row) {
        if (key_is_reached(b, g, j)) return;
        ++n.untouched_keys;
        if (!same_row(before.dv, after.dv, row, c.d_v)) fail(c, seed, path, "a value's gradient did");
        if (!same_row(before.dk, after.dk, row, c.d_k)) fail(c, seed, path, "a key's gradient did");
        if (!same_row(before.ddk, after.ddk, row, c.d_k) || !same_row(before.ddv, after.ddv, row, c.d_v))
            fail(c, seed, path, "a key's or value's gradient of second order did");
    });
}

// In every form, or in the fused, the composed and the packed one; every third case with products in bfloat16.
template <class Property>
Counts over_cases(Property property, bool every_form) {
    const int threads = get_num_threads();
    set_num_threads(1);  // the cases are far too small to share out
    Counts counts;
    for (std::uint64_t seed = 1; std::cmp_less_equal(seed, cases); ++seed) {
        const AttentionCase c = attention_case(seed);
        const Float32MatmulPrecision precision(seed % 3 == 0 ? "medium" : "highest");
        for (const Path path : {Path::fused, Path::composed, Path::packed, Path::weighted, Path::dropped}) {
            if (path == Path::packed && !c.packs()) continue;
            if (path > Path::packed && (!every_form || seed % 8 != 0)) continue;  // all of small operations
            property(c, seed, path, counts);
            counts.packed += path == Path::packed;
        }
        counts.empty += c.B * c.T * c.S == 0;
    }
    set_num_threads(threads);
    return counts;
}

}  // namespace

TEST_CASE("random cases: nothing is ever non-finite, the blind give 0, weights sum to 1", "[safe attention]") {
    const Counts counts = over_cases(
        [](const AttentionCase& c, std::uint64_t seed, Path path, Counts& n) {
            const AttentionRun r = run_attention(c, c.q, c.k, c.v, c.dy, path);
            if (!finite(r)) fail(c, seed, path, "a value or gradient is not finite");
            const bool medium = get_float32_matmul_precision() == "medium";
            const double close = c.dtype == float64 ? 1e-12 : medium ? 0x1p-8 : 1e-6;
            for_queries(c, [&](auto b, auto h, auto i, auto row) {
                ++n.rows;
                if (c.fully_masked(b, h, i)) {
                    ++n.fully_masked;
                    if (!zero(r.y, row, c.d_v) || !zero(r.dq, row, c.d_k))
                        fail(c, seed, path, "a query that sees nothing gives or learns something");
                } else if (std::abs(r.y[static_cast<std::size_t>((row + 1) * c.d_v - 1)] - 1) > close)
                    fail(c, seed, path, "weights do not sum to 1");
            });
            for_keys(c, [&](auto b, auto g, auto j, auto row) {
                ++n.keys;
                if (some_query(c, b, g, j, [](auto, auto) { return true; })) return;
                ++n.unseen;
                if (!zero(r.dk, row, c.d_k) || !zero(r.dv, row, c.d_v))
                    fail(c, seed, path, "a key that nothing sees has a gradient");
            });
        },
        false);
    CHECK(counts.rows > 30 * cases);
    CHECK(counts.fully_masked > 5 * cases);
    CHECK(counts.unseen > 3 * cases);
    CHECK(counts.empty > cases / 50);
    CHECK(counts.packed > cases / 5);
    SUCCEED(counts.rows << " queries (" << counts.fully_masked << " blind), " << counts.keys << " keys ("
                        << counts.unseen << " unseen), " << counts.empty << " empty cases, " << counts.packed
                        << " packed");
}

TEST_CASE("random cases: editing keys and values changes no bit of what cannot see them", "[safe attention]") {
    const Counts counts = over_cases(
        [](const AttentionCase& c, std::uint64_t seed, Path path, Counts& n) {
            Rng rng(seed + cases);
            const std::vector<bool> edit = some(c.B * c.G * c.S, rng);
            const auto is_edited = [&](auto b, auto g, auto j) {
                return static_cast<bool>(edit[static_cast<std::size_t>((b * c.G + g) * c.S + j)]);
            };
            const auto touched = [&](auto b, auto h, auto i) {  // this query sees an edited key
                for (std::int64_t j = 0; j < c.S; ++j)
                    if (is_edited(b, c.key_head(h), j) && c.is_visible(b, h, i, j)) return true;
                return false;
            };
            const AttentionRun before = run(c, seed, c.q, c.k, c.v, c.dy, path);
            const Tensor v = edited(c.v, edit, rng), k = edited(c.k, edit, rng);
            const AttentionRun after = run(c, seed, c.q, k, v, c.dy, path);
            check_unreached(c, seed, path, n, before, after, touched, [&](auto b, auto g, auto j) {
                return some_query(c, b, g, j, [&](auto h, auto i) { return touched(b, h, i); });
            });
        },
        true);
    CHECK(counts.untouched_rows > 10 * cases);
    CHECK(counts.untouched_keys > 10 * cases);
    SUCCEED(counts.untouched_rows << " queries and " << counts.untouched_keys << " keys that saw no edit");
}

TEST_CASE("random cases: editing queries changes no bit of other queries or of keys they do not see",
          "[safe attention]") {
    const Counts counts = over_cases(
        [](const AttentionCase& c, std::uint64_t seed, Path path, Counts& n) {
            Rng rng(seed + cases);
            const std::vector<bool> edit = some(c.B * c.H * c.T, rng);
            const auto is_edited = [&](auto b, auto h, auto i) {
                return static_cast<bool>(edit[static_cast<std::size_t>((b * c.H + h) * c.T + i)]);
            };
            const AttentionRun before = run(c, seed, c.q, c.k, c.v, c.dy, path);
            const Tensor dy = edited(c.dy, edit, rng), q = edited(c.q, edit, rng);
            const AttentionRun after = run(c, seed, q, c.k, c.v, dy, path);
            for_queries(c, [&](auto b, auto h, auto i, auto row) {
                if (c.fully_masked(b, h, i) && (!zero(after.y, row, c.d_v) || !zero(after.dq, row, c.d_k) ||
                                                !zero(after.ddq, row, c.d_k) || !zero(after.ddy, row, c.d_v)))
                    fail(c, seed, path, "a query that sees nothing gives or learns something");
            });
            check_unreached(c, seed, path, n, before, after, is_edited, [&](auto b, auto g, auto j) {
                return some_query(c, b, g, j, [&](auto h, auto i) { return is_edited(b, h, i); });
            });
        },
        true);
    CHECK(counts.untouched_rows > 10 * cases);
    CHECK(counts.untouched_keys > 10 * cases);
    SUCCEED(counts.untouched_rows << " queries and " << counts.untouched_keys << " keys that saw no edit");
}
