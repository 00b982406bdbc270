// Every operation of the table for hostile inputs: huge, tiny and denormal numbers, zeros, ties, NaN, ±∞, …, in
// float32 and float64, values and gradients, against golden/hostile.safetensors (golden/hostile_rows.py),
// which also says what a result may be off by: the rounding errors that the operation's definition makes in the
// type.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <sstream>

#include "catch.h"
#include "op_table.h"
#include "weft/optim/clipping.h"
#include "weft/optim/optimizer.h"
#include "weft/optim/schedules.h"

using namespace weft;

namespace {

const Golden& hostile() {
    static const Golden file("hostile.safetensors");
    return file;
}

// Where a result differs from the golden value for a reason that a user would accept.
struct Deliberate {
    std::string row, kind, reason;
};
const std::vector<Deliberate> deliberate = {
    {"div.same", "denormal",
     "db = −(dy/b)·y, as in calculus; where b is denormal, dy/b, the gradient of a, is infinite"},
    {"sign", "nan", "sign(NaN) is NaN, as in NumPy, so that NaN is noticed; PyTorch gives 0"},
    {"l1_loss.each", "nan", "its gradient is sign(prediction − target), which is NaN for NaN"},
};

std::vector<std::string> kinds_of(DType dtype) {  // in the order of the golden arrays
    std::vector<std::string> kinds;
    const std::string prefix = std::string("kind ") + name(dtype) + ' ';
    for (const std::string& array : hostile().names())
        if (array.starts_with(prefix)) kinds.push_back(array.substr(prefix.size()));
    return kinds;
}

// The operands of a row: numbers of the kind, then harmless ones, at the places that the file names.
Inputs operands(const std::string& row, const std::string& kind, DType dtype) {
    const Tensor pool =
        cat({hostile()(std::string("kind ") + name(dtype) + ' ' + kind), hostile()("harmless")}).to(dtype);
    Inputs inputs;
    for (int i = 0;; ++i) {
        const std::string at = row + "/at" + std::to_string(i), in = row + "/in" + std::to_string(i);
        if (hostile().has(in)) {
            inputs.push_back(hostile()(in).clone());
        } else if (hostile().has(at)) {
            const Tensor places = hostile()(at);
            inputs.push_back(
                index_select(pool, 0, places.reshape({-1})).reshape(places.shape()).requires_grad_());
        } else {
            return inputs;
        }
    }
}

constexpr double refused = -12345;

// All results in one list: outputs, then gradients; `refused` alone if an error refuses the operands.
std::vector<double> results_of(const OpEntry& op, const Inputs& inputs) {
    std::vector<Tensor> leaves, roots, seeds;
    std::vector<double> found;
    for (const Tensor& x : inputs)
        if (x.requires_grad()) leaves.push_back(x);
    try {
        const Outputs outputs = op.function(inputs);
        const std::vector<double> pattern = hostile()("seeds").to_vector<double>();
        std::size_t next = 0;
        for (const Tensor& y : outputs) {
            const auto values = y.detach().to(float64).to_vector<double>();
            found.insert(found.end(), values.begin(), values.end());
            if (!y.requires_grad()) continue;
            std::vector<double> seed(values.size());
            for (double& s : seed) s = pattern[next++ % pattern.size()];
            roots.push_back(y);
            seeds.push_back(from_vector(seed, y.shape()).to(y.dtype()));
        }
        if (roots.empty()) return found;
        for (const Tensor& g : grad(roots, leaves, seeds)) {
            const auto values = g.to(float64).to_vector<double>();
            found.insert(found.end(), values.begin(), values.end());
        }
        return found;
    } catch (const ValueError&) {
        return {refused};
    }
}

struct Precision {
    double unit, largest, smallest;
};
template <class T>
constexpr Precision precision{std::numeric_limits<T>::epsilon() / 2, std::numeric_limits<T>::max(),
                              std::numeric_limits<T>::denorm_min()};

bool agrees(double found, double expected, double bound, const Precision& type, double units = 4) {
    if (found == expected || (std::isnan(found) && std::isnan(expected)) || std::isinf(bound)) return true;
    const double tolerance = units * type.unit * bound + type.smallest;
    if (std::isinf(found) || std::isinf(expected))  // at the edge of the range
        return std::copysign(1, found) == std::copysign(1, expected) &&
               std::abs(std::isinf(found) ? expected : found) >= type.largest - tolerance;
    return std::abs(found - expected) <= tolerance;
}

struct Comparison {
    std::vector<std::string> wrong;
    std::set<std::string> met;  // the deliberate differences that occurred
    std::int64_t values = 0, open = 0;
};

// Of operations that the table has no sample of.
const std::vector<OpEntry> extra = {
    {"norm(Tensor, double, Axes, KeepDim)", "norm.half", Gradient::once,
     [](In x) { return norm(x[0], 0.5, 1); }},
    {"optim::clip_grad_norm", "clip_grad_norm", Gradient::none,
     [](In x) {
         Tensor parameter = zeros_like(x[0]).requires_grad_();
         parameter.set_grad(x[0].detach().clone());
         optim::clip_grad_norm({parameter}, 1);
         return parameter.grad();
     }},
};

std::vector<OpEntry> all_operations() {
    std::vector<OpEntry> all = op_table();
    all.insert(all.end(), extra.begin(), extra.end());
    return all;
}

void compare(const OpEntry& op, const std::string& row, DType dtype, Comparison& result) {
    const std::string key = row + '/' + name(dtype);
    const Tensor golden = hostile()(key);
    const auto expected = golden.to(float64).to_vector<double>();
    const auto bounds = hostile().has(key + " bound")
                            ? hostile()(key + " bound").to(float64).to_vector<double>()
                            : std::vector<double>{};
    const Precision& type = dtype == float32 ? precision<float> : precision<double>;
    const auto size = static_cast<std::size_t>(golden.size(1));
    auto kinds = kinds_of(dtype);
    if (golden.size(0) == 1) kinds = {"ordinary"};  // no floating operand
    for (std::size_t k = 0; k < kinds.size(); ++k) {
        // The bounds leave out how the deviations from a large mean are added up, which depends on the
        // compiler.
        const double units = row.starts_with("layer_norm.") && kinds[k] == "offset" ? 8 : 4;
        auto found = results_of(op, operands(row, kinds[k], dtype));
        CHECK(found.size() <= size);
        found.resize(size, refused);
        for (std::size_t i = 0; i < size; ++i) {
            const std::size_t at = k * size + i;
            const double bound = bounds.empty() ? std::abs(expected[at]) : std::exp2(bounds[at]);
            ++result.values, result.open += std::isinf(bound);
            if (agrees(found[i], expected[at], bound, type, units)) continue;
            const auto known = std::find_if(deliberate.begin(), deliberate.end(), [&](const Deliberate& d) {
                return (row + ".").starts_with(d.row + ".") && d.kind == kinds[k];
            });
            if (known != deliberate.end()) {
                result.met.insert(known->reason);
                continue;
            }
            std::ostringstream line;
            line.precision(10);
            line << row << ' ' << name(dtype) << ' ' << kinds[k] << " [" << i << "]: " << found[i] << " / "
                 << expected[at] << ", off by " << std::abs(found[i] - expected[at]) / (type.unit * bound)
                 << " units";
            result.wrong.push_back(line.str());
        }
    }
}

}  // namespace

TEST_CASE("every operation is right for hostile inputs: values and gradients", "[ops][hostile]") {
    std::map<std::string, std::set<std::string>> rows;  // rows by sample
    for (const std::string& array : hostile().names())
        if (const std::string row = array.substr(0, array.find('/')); array.ends_with("/float32"))
            rows[row.substr(0, row.find('+'))].insert(row);
    Comparison result;
    for (const OpEntry& op : all_operations())
        for (const std::string& row : rows[op.golden])
            if (op.compared)
                for (const DType dtype : {float32, float64}) compare(op, row, dtype, result);
    CHECK(result.wrong == std::vector<std::string>{});
    CHECK(result.met.size() == deliberate.size());  // one that is met no longer goes
    CHECK(deliberate.size() <= 20);
    CHECK(kinds_of(float32).size() >= 13);
    INFO(result.values << " values, of which " << result.open << " may be anything");
    CHECK(result.open * 10 < result.values);
}

TEST_CASE("sums, scans and norms of ten million elements are right", "[ops][hostile]") {
    using Function = Tensor (*)(const Tensor&);
    const std::map<std::string, Function> functions = {
        {"sum", [](const Tensor& x) { return sum(x); }},
        {"mean", [](const Tensor& x) { return mean(x); }},
        {"var", [](const Tensor& x) { return var(x); }},
        {"std", [](const Tensor& x) { return weft::std(x); }},
        {"norm", [](const Tensor& x) { return norm(x); }},
        {"logsumexp", [](const Tensor& x) { return logsumexp(x); }},
        {"dot", [](const Tensor& x) { return dot(x, x); }},
        {"cumsum", [](const Tensor& x) { return cumsum(x, 0); }},
        {"softmax", [](const Tensor& x) { return softmax(x, 0); }},
        {"log_softmax", [](const Tensor& x) { return log_softmax(x, 0); }},
        {"prod", [](const Tensor& x) { return prod(x); }},
        {"cumprod", [](const Tensor& x) { return cumprod(x, 0); }},
    };
    for (const DType dtype : {float32, float64}) {
        const Precision& type = dtype == float32 ? precision<float> : precision<double>;
        const std::int64_t n = dtype == float32 ? 10'000'000 : 1'000'000;
        const Tensor at = hostile()(std::string("long ") + name(dtype));
        for (const auto& [operation, function] : functions) {
            const std::string period = operation.ends_with("prod") ? "long products" : "long sums";
            const Tensor x = hostile()(period).to(dtype).expand({n / 4, 4}).reshape({n}).requires_grad_();
            const Tensor y = function(x);
            const Tensor dx = grad({y}, {x}, {y.rank() == 0 ? ones({}, dtype) : x.detach()})[0];
            const Tensor sampled = y.rank() == 0 ? y.reshape({1}) : index_select(y, 0, at);
            const auto found = cat({sampled, index_select(dx, 0, at)}).detach().to(float64).to_vector<double>();
            const Tensor golden = hostile()(std::string("long ") + name(dtype) + ' ' + operation);
            REQUIRE(golden.size(1) == static_cast<std::int64_t>(found.size()));
            for (std::int64_t i = 0; i < golden.size(1); ++i) {
                INFO(operation << " in " << name(dtype) << ", result " << i << ": " << found[i] << " / "
                               << golden.at(0, i));
                CHECK(agrees(found[i], golden.at(0, i), golden.at(1, i), type));
            }
        }
    }
}

TEST_CASE("norms of rows whose squares overflow are those of the rows in another unit, by every route",
          "[ops][hostile]") {
    const auto both = [](const Tensor& x, const Tensor& unit) {  // values and gradients · unit
        const Tensor leaf = (x * unit).detach().requires_grad_(),
                     weight = tensor({1, 2, -1, 0.5}).to(x.dtype());
        const Tensor y = cat({rms_norm(leaf, weight), layer_norm(leaf, weight)}, 0);
        const Tensor dx = grad({sum(y * y * y)}, {leaf})[0];
        return cat({y.detach(), dx * unit}, 0).to(float64);
    };
    for (const DType dtype : {float32, float64})
        for (const double unit : {1e18, 1e20, 1e30, 1e35, 1e38, 1e160, 1e300, 5e307}) {
            if (dtype == float32 && unit > 1e38) continue;
            INFO(name(dtype) << ' ' << unit);
            // The second row stays as it is: it has the same bits beside the first.
            const std::vector<double> rows = {1, -2, 3, 0.5, 1, 2, -1, 0};
            const Tensor x = from_vector(rows, {2, 4}).to(dtype);
            const Tensor large = from_vector(std::vector{unit, 1.0}, {2, 1}).to(dtype);
            const auto agree = [&] {
                const Tensor expected = both(x, ones_like(large)), found = both(x, large);
                for (const std::int64_t row : {0, 2, 4}) {  // of large numbers: eps does not matter
                    INFO("row " << row << ": " << found[row] << " / " << expected[row]);
                    CHECK(allclose(found[row], expected[row], 1e-4, 1e-4));
                }
                const Tensor own = both(tensor({{1, 2, -1, 0}}).to(dtype), tensor({{1}}).to(dtype));
                for (const std::int64_t row : {0, 1, 2})
                    CHECK(allclose(found[2 * row + 1], own[row], 1e-5, 1e-6));
            };
            agree();
            {
                const Plain composed(Plain::operations);
                agree();
            }
            const Plain reference(Plain::primitives);
            agree();
        }
}

TEST_CASE("batch_norm of values whose squares overflow is right, with every variance that float32 holds",
          "[ops][hostile]") {
    const Tensor x = cat({full({1, 1}, 4e19), zeros({7, 1})}), unit = x / 4e19;
    Tensor mean = zeros({1}), var = ones({1});
    const Tensor y = batch_norm(x, {mean, var}, {}, {}, {.training = true});
    CHECK(allclose(y, batch_norm(unit, {}, {}, {}, {.training = true, .eps = 1e-38}), 1e-6, 0));
    CHECK(mean.item() == Approx(5e17));  // a tenth of the mean, and of the variance, 2e38 with n − 1
    CHECK(var.item() == Approx(2e37));
    Tensor far_mean = zeros({1}), far_var = ones({1});
    (void)batch_norm(2 * x, {far_mean, far_var}, {}, {}, {.training = true});
    CHECK(far_var.item() == Approx(8e37));   // of 8e38, which float32 does not hold
    const auto at_1e38 = [&](double size) {  // whose differences overflow
        return batch_norm(tensor({{-3}, {1}, {3}, {3}}).to(float32) * size, {}, {}, {}, {.training = true});
    };
    CHECK(allclose(at_1e38(1.1e38), at_1e38(1e3), 1e-5, 1e-5));
}

TEST_CASE("a constant row becomes 0, with a finite gradient, whatever eps", "[ops][hostile]") {
    for (const DType dtype : {float32, float64})
        for (const double eps : {1e-50, 1e-300, 5e-324}) {
            const auto check = [&] {
                const Tensor x = zeros({2, 3}, dtype).requires_grad_();
                const Tensor y = cat({layer_norm(x + 1.0, {}, {}, eps), rms_norm(x, {}, eps),
                                      batch_norm(x, {}, {}, {}, {.training = true, .eps = eps})});
                CHECK(all(y == 0));
                CHECK(all(isfinite(grad({sum(y * y)}, {x})[0])));
            };
            INFO(name(dtype) << ' ' << eps);
            check();
            {
                const Plain composed(Plain::operations);
                check();
            }
            const Plain reference(Plain::primitives);
            check();
        }
}

TEST_CASE("what is finite in float64, and in float32's range, is finite in float32", "[ops][hostile]") {
    const std::map<std::string, std::string> overflowing = {
        {"attention", "q · k"},
        {"attention_weights", "q · k"},
        {"cross_entropy", "the sum of the weights, or a weight · log p"},
        {"kl_div", "the sum, before it is divided"},
        {"l1_loss", "the sum, before it is divided"},
        {"nll_loss", "a weight · log p"},
        {"norm", "the norm, of whose gradient it is a factor"},
        {"smooth_l1_loss", "the sum, before it is divided"},
    };
    std::set<std::string> rows, met;
    for (const std::string& array : hostile().names())
        if (array.ends_with("/float32")) rows.insert(array.substr(0, array.find('/')));
    for (const OpEntry& op : all_operations())
        for (const std::string& row : rows) {
            if (row.substr(0, row.find('+')) != op.golden) continue;
            const Inputs ordinary = operands(row, "ordinary", float32);
            for (const double scale : {1e33, 1e36, 3e37})
                for (std::size_t one = 0; one <= ordinary.size();
                     ++one) {  // which operand is scaled; at last, all
                    Inputs single, twice;
                    for (std::size_t i = 0; i < ordinary.size(); ++i) {
                        const Tensor& x = ordinary[i];
                        const bool scaled = x.requires_grad() && (one == i || one == ordinary.size());
                        single.push_back((scaled ? x * scale : x).detach().clone());
                        twice.push_back(x.requires_grad() ? single[i].to(float64) : single[i]);
                        for (Tensor copy : {single[i], twice[i]}) copy.requires_grad_(x.requires_grad());
                    }
                    const auto found = results_of(op, single), exact = results_of(op, twice);
                    REQUIRE(found.size() == exact.size());
                    for (std::size_t i = 0; i < found.size(); ++i) {
                        if (std::isfinite(found[i]) || !(std::abs(exact[i]) < 1e38)) continue;
                        const std::string operation = row.substr(0, row.find_first_of(".+"));
                        met.insert(operation);
                        INFO(row << ", operand " << one << " · " << scale << ", result " << i << ": "
                                 << found[i] << " / " << exact[i]);
                        if (!overflowing.contains(operation)) CHECK(false);
                    }
                }
        }
    CHECK(met.size() == overflowing.size());
}

TEST_CASE("layer_norm of a row whose differences overflow is that of the row in another unit",
          "[ops][hostile]") {
    for (const DType dtype : {float32, float64}) {
        const double unit = dtype == float32 ? 1.1e38 : 5.9e307;
        const auto results = [&](double times) {  // value, gradient of x · times, of weight
            const Tensor x = (tensor({{1, -3, 3, 3}}).to(dtype) * times).requires_grad_(),
                         weight = (tensor({1, 2, -1, 0.5}).to(dtype)).requires_grad_();
            const Tensor y = layer_norm(x, weight);
            const auto dy = grad({sum(exp(y))}, {x, weight});
            return cat({y.detach(), dy[0] * times, dy[1].reshape({1, 4})}, 0);
        };
        INFO(results(unit) << " / " << results(1));
        CHECK(allclose(results(unit), results(1), 2e-5, 2e-5));
    }
}

TEST_CASE("of hostile inputs, random operations take shape and type only, or finite weights",
          "[ops][hostile]") {
    for (const DType dtype : {float32, float64})
        for (const std::string& kind : kinds_of(dtype)) {
            INFO(name(dtype) << ' ' << kind);
            const Tensor x = hostile()(std::string("kind ") + name(dtype) + ' ' + kind), weights = abs(x);
            const auto rng = [] { return Rng(32); };
            Rng a = rng(), b = rng();
            CHECK(same_bits(rand_like(x, a), rand_like(zeros_like(x), b)));
            CHECK(same_bits(randn_like(x, a), randn_like(zeros_like(x), b)));
            const Tensor kept = dropout(ones_like(x), 0.25, a) != 0, y = dropout(x, 0.25, b);
            CHECK(allclose(masked_select(y, kept), masked_select(x, kept) / 0.75, 1e-6, 0, true));
            CHECK(all(masked_select(y, !kept && isfinite(x)) == 0));  // 0 · ∞ is NaN
            if (all(isfinite(x)) && any(x != 0))
                CHECK(all(index_select(weights, 0, multinomial(weights, 50, a, true)) > 0));
            else
                CHECK_THROWS_AS(multinomial(weights, 1, a), ValueError);
            CHECK(all(randperm(x.numel(), a) < x.numel()));
        }
}
