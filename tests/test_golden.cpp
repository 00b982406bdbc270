// What golden/golden.h declares, and tests of the comparison itself: a comparison that cannot fail proves
// nothing.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "catch.h"
#include "golden/golden.h"
#include "weft/core/ops.h"
#include "weft/models/io.h"

using namespace weft;

Golden::Golden(const std::string& file) {
    for (auto& [name, tensor] : io::load_safetensors(WEFT_GOLDEN_DIR "/" + file).tensors)
        tensors_[name] = tensor;
}

bool Golden::has(const std::string& name) const { return tensors_.count(name) != 0; }

Tensor Golden::operator()(const std::string& name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) throw Error("no golden array named " + name);
    return found->second;
}

std::vector<std::string> Golden::names() const {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : tensors_) names.push_back(name);
    return names;
}

double distance(const Tensor& found, const Tensor& expected, double floor) {
    if (!(found.shape() == expected.shape())) return std::numeric_limits<double>::infinity();
    const NoGrad off;
    const auto a = found.to(float64).to_vector<double>(), b = expected.to(float64).to_vector<double>();
    double largest = 0, scale = floor;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (std::isfinite(b[i])) scale = std::max(scale, std::abs(b[i]));
        if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
        if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return std::numeric_limits<double>::infinity();
        largest = std::max(largest, std::abs(a[i] - b[i]));
    }
    return largest / scale;
}

Tensor strided_copy(const Tensor& x) {
    const NoGrad off;
    Shape larger = x.shape();
    for (auto& size : larger) size = 2 * size + 1;
    Tensor memory = full(larger,
                         is_floating_point(x.dtype()) ? NAN
                         : x.dtype() == boolean       ? 1
                                                      : -12345,
                         x.dtype());
    for (int axis = 0; axis < x.rank(); ++axis) memory = memory.slice(axis, 1, 2 * x.size(axis) + 1, 2);
    return memory.copy_(x);
}

bool same_bits(const Tensor& a, const Tensor& b) {
    if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
    const NoGrad off;
    const Tensor left = a.contiguous(), right = b.contiguous();
    const auto bytes = static_cast<std::size_t>(a.numel()) * itemsize(a.dtype());
    const auto address = [](const Tensor& x) -> const void* {
        switch (x.dtype()) {
            case float32:
                return x.data<float>();
            case float64:
                return x.data<double>();
            case int64:
                return x.data<std::int64_t>();
            default:
                return x.data<bool>();
        }
    };
    return bytes == 0 || std::memcmp(address(left), address(right), bytes) == 0;
}

TEST_CASE("distance sees a single wrong element, a wrong shape, and a NaN") {
    const Tensor expected = tensor({1, 2, -4}, float64);
    CHECK(distance(tensor({1, 2, -4}, float64), expected) == 0);
    CHECK(distance(tensor({1, 2 + 4e-9, -4}, float64), expected) == Approx(1e-9).epsilon(1e-6));
    CHECK(std::isinf(distance(tensor({{1, 2, -4}}, float64), expected)));
    CHECK(std::isinf(distance(tensor({1, 2, NAN}, float64), expected)));
    CHECK(std::isinf(distance(expected, tensor({1, INFINITY, -4}, float64))));
    CHECK(distance(tensor({NAN, INFINITY}), tensor({NAN, INFINITY})) == 0);
    CHECK(std::isinf(distance(tensor({-INFINITY}), tensor({INFINITY}))));
}

TEST_CASE("with_gaps keeps the values and changes every stride") {
    const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}}, float64), y = strided_copy(x);
    CHECK(same_bits(x, y));
    CHECK_FALSE(y.is_contiguous());
    CHECK(y.strides() == Strides{14, 2});
    CHECK_FALSE(same_bits(x, x.to(float32)));
    CHECK_FALSE(same_bits(tensor({0.0}), tensor({-0.0})));
}
