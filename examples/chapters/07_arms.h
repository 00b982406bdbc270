// The points of chapters 7 and 8, which lie in three arms. N points, D = 2 coordinates, K = 3 classes.
#pragma once

#include <cmath>
#include <vector>

#include "weft/weft.h"

using namespace weft;  // the chapters' programs are small, and read better so

constexpr std::int64_t K = 3, D = 2;  // classes, coordinates

struct Points {
    Tensor x, kind;  // (N, D) float64, (N) int64
};

// n points in K arms that wind around the origin.
inline Points draw_points(std::int64_t n, Rng& rng) {
    std::vector<double> x;
    std::vector<std::int64_t> kind;
    for (std::int64_t i = 0; i < n; ++i) {
        const double along = 0.1 + 0.9 * rng.uniform();
        const double angle = 2 * M_PI * static_cast<double>(i % K) / K + 3.5 * along + 0.5 * rng.normal();
        x.push_back(along * std::cos(angle)), x.push_back(along * std::sin(angle));
        kind.push_back(i % K);
    }
    return {from_vector(x, {n, D}), from_vector(kind, {n})};
}
