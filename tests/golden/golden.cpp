// What golden.h declares.
#include "golden.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "places.h"
#include "weft/core.h"
#include "weft/io.h"
#include "weft/io/files.h"
#include "weft/io/npy.h"

using namespace weft;

Golden::Golden(const std::string& file) {
    for (auto& [name, tensor] : io::load_safetensors(places::golden() + "/" + file).tensors)
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
