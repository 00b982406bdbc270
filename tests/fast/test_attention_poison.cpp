// NaN and ±∞ in attention: what sees them is what IEEE arithmetic makes of it, and what does not see them does
// not know of them, also from module to module. The random cases are in test_safe_attention.cpp.
#include <functional>

#include "attention_cases.h"
#include "attention_forms.h"

using namespace source;

namespace {

constexpr double NaN = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();

// One query of the case over the keys that it sees, all others left out, in double.
std::vector<double> row_by_row(const AttentionCase& c, const Tensor& q, const Tensor& k, const Tensor& v,
                               std::int64_t b, std::int64_t h, std::int64_t i) {
    const std::int64_t g = c.key_head(h);
    std::vector<double> score, y(static_cast<std::size_t>(c.d_v), 0.0);
    std::vector<std::int64_t> seen;
    double largest = -inf, total = 0;
    for (std::int64_t j = 0; j < c.S; ++j) {
        if (!c.is_visible(b, h, i, j)) continue;
        double s = 0;
        for (std::int64_t x = 0; x < c.d_k; ++x) s += q.at({b, h, i, x}) * k.at({b, g, j, x});
        s = s / static_cast<double>(c.d_k) + (c.bias.defined() ? c.bias.at({0, h, i, j}) : 0.0);
        seen.push_back(j), score.push_back(s), largest = std::max(largest, s);
    }
    for (const double s : score) total += s == -inf ? 0 : std::exp(s - largest);
    for (std::size_t n = 0; n < seen.size(); ++n) {
        const double p = score[n] == -inf ? 0 : std::exp(score[n] - largest) / total;
        for (std::int64_t x = 0; x < c.d_v; ++x) y[static_cast<std::size_t>(x)] += p * v.at({b, g, seen[n], x});
    }
    return y;
}

bool alike(double a, double b, double close) {
    return std::isfinite(b) ? std::abs(a - b) <= close : std::isnan(b) ? std::isnan(a) : a == b;
}

}  // namespace

TEST_CASE("a query that sees NaN or an infinity gets what arithmetic makes of the keys that it sees",
          "[poison]") {
    std::int64_t nans = 0, infinities = 0, numbers = 0;
    for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
        const AttentionCase c = attention_case(seed);
        if (c.largest > 30 || c.T > 8 || c.S > 8) continue;  // float32 and double overflow alike
        Rng rng(seed);
        const auto poisoned = [&](Tensor x) {
            for (const double poison : {NaN, inf, -inf})
                if (rng.uniform() < 0.3) x = masked_fill(x, bools(x.shape(), 0.05, rng), poison);
            return x;
        };
        const Tensor q = poisoned(c.q), k = poisoned(c.k), v = poisoned(c.v);
        for (const Path path : {Path::fused, Path::composed, Path::packed, Path::weighted}) {
            if (path == Path::packed && !c.packs()) continue;
            const Tensor y = attend(c, q, k, v, path);
            for (std::int64_t row = 0; row < c.B * c.H * c.T; ++row) {
                const std::int64_t b = row / (c.H * c.T), h = row / c.T % c.H, i = row % c.T;
                const std::vector<double> expected = row_by_row(c, q, k, v, b, h, i);
                for (std::int64_t x = 0; x < c.d_v; ++x) {
                    const double found = y.at({b, h, i, x}), wanted = expected[static_cast<std::size_t>(x)];
                    nans += std::isnan(wanted), infinities += std::isinf(wanted),
                        numbers += std::isfinite(wanted);
                    if (!alike(found, wanted, c.dtype == float32 ? 1e-4 : 1e-12))
                        FAIL("case " << seed << ", " << name(path) << ", query (" << b << ", " << h << ", " << i
                                     << "), column " << x << ": " << found << " / " << wanted);
                }
            }
        }
    }
    CHECK(nans > 10'000);
    CHECK(infinities > 500);
    CHECK(numbers > 100'000);
}

TEST_CASE("PyTorch's issue 101967: NaN at a key and value that a mask blocks", "[poison]") {
    const Tensor x = random({3, 2});
    Tensor poisoned = x.clone();
    poisoned.slice(0, 2, 3).fill_(NaN);
    const Mask mask = Mask::padding({2});
    const Tensor expected = scaled_dot_product_attention(x, x.slice(0, 0, 2), x.slice(0, 0, 2));
    for (const bool composed : {false, true}) {
        const Plain path(Plain::operations, composed);
        CHECK(distance(scaled_dot_product_attention(x, poisoned, poisoned, {.mask = mask}), expected) < 1e-15);
        const auto bias_gradient = [&](const Tensor& keys) {
            Tensor bias = zeros({3, 3}, float64).requires_grad_();
            sum(scaled_dot_product_attention(x, keys, keys, {.mask = mask, .bias = bias})[1]).backward();
            return bias.grad();
        };
        CHECK(same_bits(bias_gradient(poisoned), bias_gradient(x)));
    }
}

TEST_CASE("NaN times a scale of 0 is NaN, in every form", "[poison]") {
    Rng rng(3);
    for (const auto& [dtype, scale] : {std::pair{float64, 0.0}, {float32, 0.0}, {float32, -1e-60}}) {
        Tensor qkv = randn({1, 4, 12}, rng, dtype);
        qkv[0][2][1].fill_(NaN);  // one query's
        const auto part = [&](int which) {
            return qkv.slice(2, 4 * which, 4 * which + 4).reshape({1, 4, 2, 2}).permute({0, 2, 1, 3});
        };
        const AttentionOptions options{.scale = scale};
        for (const Tensor& y :
             {scaled_dot_product_attention(part(0), part(1), part(2), options).permute({0, 2, 1, 3}),
              multi_head_attention(qkv, 2, options).reshape({1, 4, 2, 2})})
            for (std::int64_t row = 0; row < 4; ++row)
                for (std::int64_t head = 0; head < 2; ++head)
                    CHECK(std::isnan(y.at({0, row, head, 1})) == (row == 2 && head == 0));
    }
}

TEST_CASE("in any tile of keys and of queries NaN stays with the queries that see it", "[poison][tiles]") {
    constexpr std::int64_t T = 150;
    for (const std::int64_t S : {600, 2100})
        for (const std::int64_t at : {std::int64_t{0}, S / 2, S - 1})
            for (const bool composed : {false, true}) {
                CAPTURE(S, at, composed);
                const Plain path(Plain::operations, composed);
                const Tensor row = arange(T).unsqueeze(1), key = arange(S);
                const Tensor hidden = key == static_cast<double>(at), sees = row == 70.0 || row == 149.0;
                const AttentionOptions options{.mask = Mask::causal() | Mask::blocked(hidden && !sees)};
                const Tensor q = random({T, 3}, 1), v = random({S, 2}, 3), k = random({S, 3}, 2),
                             dy = masked_fill(random({T, 2}, 4), sees, 0);
                const auto run = [&](double value) {
                    const std::vector<Tensor> leaves{
                        q.detach().requires_grad_(),
                        masked_fill(k, hidden.unsqueeze(1), value).requires_grad_(),
                        masked_fill(v, hidden.unsqueeze(1), value).requires_grad_()};
                    const Tensor y = scaled_dot_product_attention(leaves[0], leaves[1], leaves[2], options);
                    std::vector<Tensor> all = grad({y}, leaves, {dy});
                    all.push_back(y.detach());
                    return all;
                };
                const std::vector<Tensor> clean = run(1), found = run(NaN);
                for (const std::size_t of_keys : {1, 2})
                    CHECK(same_bits(masked_fill(found[of_keys], hidden.unsqueeze(1), 0),
                                    masked_fill(clean[of_keys], hidden.unsqueeze(1), 0)));
                for (const std::size_t of_queries : {0, 3})
                    CHECK(same_bits(masked_fill(found[of_queries], sees, 0),
                                    masked_fill(clean[of_queries], sees, 0)));
                CHECK(std::isnan(found[3].at({149, 0})));
            }
}

TEST_CASE("a dy of 0 next to NaN keeps its second-order gradient", "[poison]") {
    const Tensor q = random({4, 2}), k = random({4, 2}, 2), v = random({4, 2}, 3);
    for (const bool composed : {false, true}) {
        const Plain path(Plain::operations, composed);
        const auto gradient = [&](double last) {
            Tensor dy = zeros({4, 2}, float64).requires_grad_(), keys = k.clone();
            keys.slice(0, 3, 4).fill_(last);
            std::vector<Tensor> leaves{q.detach(), keys, v.detach()}, seeds;
            for (Tensor& x : leaves) x.requires_grad_(), seeds.push_back(random({4, 2}, 5));
            const Tensor y =
                scaled_dot_product_attention(leaves[0], leaves[1], leaves[2], {.mask = Mask::causal()});
            return grad(grad({y}, leaves, {dy}, {.create_graph = true}), {dy}, seeds)[0].slice(0, 0, 3);
        };
        CHECK(same_bits(gradient(NaN), gradient(1)));
        CHECK(all(gradient(NaN) != 0));
    }
}

namespace {

using attention_forms::Form;

struct Run {
    Tensor y, dx, same_dx, ddx;  // (B, T, C); dx by the kernel and by the definition
};

Run run(const Form& form, const Tensor& x, const Mask& mask, const Tensor& dy) {
    Tensor leaf = x.detach().requires_grad_();
    if (form.is_cached) return {form(leaf, mask), {}, {}, {}};
    const Tensor y = form(leaf, mask);
    const Tensor seed = form.is_unbatched ? dy[0] : dy;
    const Tensor first = grad({y}, {leaf}, {seed}, {.retain_graph = true})[0],
                 dx = grad({y}, {leaf}, {seed}, {.create_graph = true})[0];
    return {y.detach(), first, dx.detach(), grad({dx}, {leaf}, {random(dx.shape(), 5)})[0]};
}

// The rows (of tokens) of a and b that `rows` names are the same to the last bit.
void check_rows(const Tensor& a, const Tensor& b, const std::vector<std::int64_t>& rows) {
    if (!a.defined()) return;
    for (const std::int64_t t : rows) {
        CAPTURE(t);
        CHECK(same_bits(a.select(-2, t), b.select(-2, t)));
        CHECK(all(isfinite(a.select(-2, t))));
    }
}

}  // namespace

TEST_CASE("blocked and future tokens have no influence, in every form of the modules", "[poison]") {
    using attention_forms::B, attention_forms::T, attention_forms::C;
    const Tensor clean = random({B, T, C}, 3);
    attention_forms::for_each_form(
        [&](const Form& form) {
            for (const double poison : {NaN, inf, -inf}) {
                CAPTURE(poison);
                Tensor x = clean.clone();
                x.slice(1, T - 1, T).fill_(poison);  // the last token of each sample
                // The causal forms block it themselves.
                Mask mask;
                if (!form.is_causal) mask = Mask::blocked((arange(T) == T - 1.0).expand({T, T}).contiguous());
                const std::vector<std::int64_t> before{0, 1};
                // Nothing is made of the last token's own output, so that nothing of it comes back to the
                // others.
                Tensor dy = random({B, T, C}, 4);
                dy.slice(1, T - 1, T).fill_(0);
                const Run expected = run(form, clean, mask, dy), found = run(form, x, mask, dy);
                check_rows(found.y, expected.y, before);
                check_rows(found.dx, expected.dx, before);
                check_rows(found.same_dx, expected.same_dx, before);
                check_rows(found.ddx, expected.ddx, before);
                CHECK_FALSE(all(isfinite(found.y.select(-2, T - 1))));  // its own output is made of it
            }
        },
        [](const Form& form) { return !form.is_cross; });
}

TEST_CASE("a blocked token in the cache has no influence, even if it holds NaN", "[poison]") {
    Rng rng(1);
    const auto a = in_double(nn::Attention(8, 4, rng, {.causal = true, .max_seq_len = 8}));
    const Tensor past = random({1, 4, 8}), next = random({1, 2, 8}, 2);
    const Mask mask = Mask::blocked((arange(6) == 1.0).expand({2, 6}).contiguous());
    for (const bool composed : {false, true}) {
        const Plain path(Plain::operations, composed);
        const auto decoded = [&](double value) {
            const NoGrad off;
            Tensor before = past.clone();
            before.slice(1, 1, 2).fill_(value);
            nn::KeyValueCache cache;
            (void)a(before, cache);
            return a(next, cache, mask);
        };
        const Tensor expected = decoded(0.5);
        for (const double poison : {NaN, inf, -inf}) CHECK(same_bits(decoded(poison), expected));
        CHECK(all(isfinite(expected)));
    }
}

TEST_CASE("attention with dropout and no generator draws from the default one", "[attention]") {
    const Tensor x = random({3, 2});
    for (const auto& call : std::vector<std::function<Tensor(const AttentionOptions&)>>{
             [&](const auto& o) { return scaled_dot_product_attention(x, x, x, o); },
             [&](const auto& o) { return scaled_dot_product_attention_with_weights(x, x, x, o).output; },
             [&](const auto& o) {
                 return multi_head_attention(cat({x, x, x}, 1), 1, o);
             }}) {
        manual_seed(7);
        const Tensor found = call({.dropout = 0.5});
        Rng rng(7);
        CHECK(same_bits(found, call({.dropout = 0.5, .rng = &rng})));
    }
}
