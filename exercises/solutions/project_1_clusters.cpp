// Project 1, after chapters 1 to 3: sort points into groups, with tensors alone.
//
//     make exercise PROJECT=1          runs the acceptance tests; make hint PROJECT=1 helps
//
// Given N points of D coordinates each, k-means finds K centres, each in the middle of a group of points:
//
//   1. Every point joins the group of its nearest centre (of equally near ones, the first).
//   2. Every centre moves to the mean of its points. A centre without points stays where it is.
//   3. Both steps are repeated until no point changes its group.
//
// The distance is the square of the Euclidean one: ‖p − c‖² = ‖p‖² − 2 p · c + ‖c‖². Computed as on the left,
// for all points and centres at once, it needs an array of N × K × D numbers. Computed as on the right, it
// needs a matrix product and two sums, whose results broadcast to (N, K). The tests have 100,000 points and
// do not accept the former.
//
// The means can be computed without a loop over the points, too. What is the product of a matrix of zeros and
// ones (K, N), which says which point belongs to which group, with the points (N, D)?
//
// No gradients are needed here. Write any further functions that help you; the tests call the three below. When
// they pass, try them on data of your own: a photograph reduced to K = 8 colours makes a fine poster.
#include "exercise.h"

// ‖p − c‖² for every point and every centre: points (N, D), centres (K, D), float64 → (N, K). Never negative,
// whatever rounding does. ShapeError unless both are matrices with the same D.
Tensor squared_distances(const Tensor& points, const Tensor& centres) {
    if (points.rank() != 2 || centres.rank() != 2 || points.size(1) != centres.size(1))
        throw ShapeError("squared_distances: " + points.shape().str() + " and " + centres.shape().str() +
                         " are not matrices of the same width");
    const Tensor of_points = sum(points * points, 1, keepdim);                  // (N, 1)
    const Tensor of_centres = sum(centres * centres, 1);                        // (K,)
    const Tensor d = of_points - 2 * matmul(points, centres.T()) + of_centres;  // (N, K)
    return masked_fill(d, d < 0, 0);
}

// The group of each point: points (N, D), centres (K, D) → int64 (N,), each 0 … K − 1.
Tensor nearest(const Tensor& points, const Tensor& centres) {
    return argmin(squared_distances(points, centres), 1);
}

struct Clusters {
    Tensor centres;                 // (K, D)
    Tensor groups;                  // int64 (N,)
    std::vector<double> distances;  // after each step 1: the mean squared distance of a point from its centre
};

// k-means from these first centres, until no point changes its group, or for max_rounds rounds of both steps.
// A result with r distances has made r rounds. The last of them changed no group, unless r = max_rounds.
Clusters k_means(const Tensor& points, const Tensor& first_centres, int max_rounds) {
    Clusters result{first_centres, {}, {}};
    const std::int64_t K = first_centres.size(0);
    for (int round = 0; round < max_rounds; ++round) {
        const Tensor distances = squared_distances(points, result.centres);  // (N, K)
        const auto [closest, groups] = min(distances, 1);                    // (N,), (N,)
        result.distances.push_back(mean(closest).item());
        const bool same = result.groups.defined() && all(groups == result.groups);
        result.groups = groups;
        if (same) break;
        const Tensor member = (arange(K).reshape({K, 1}) == groups).to(points.dtype());  // (K, N)
        const Tensor size = sum(member, 1, keepdim);                                     // (K, 1)
        const Tensor means = matmul(member, points) / masked_fill(size, size == 0, 1);   // (K, D)
        result.centres = where(size == 0, result.centres, means);
    }
    return result;
}
