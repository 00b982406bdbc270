// Our solution: the functions of exercises/project_1_clusters.cpp that change.

Tensor squared_distances(const Tensor& points, const Tensor& centres) {
    if (points.rank() != 2 || centres.rank() != 2 || points.size(1) != centres.size(1))
        throw ShapeError("squared_distances: " + points.shape().str() + " and " + centres.shape().str() +
                         " are not matrices of the same width");
    const Tensor of_points = sum(points * points, 1, keepdim);                  // (N, 1)
    const Tensor of_centres = sum(centres * centres, 1);                        // (K,)
    const Tensor d = of_points - 2 * matmul(points, centres.T()) + of_centres;  // (N, K)
    return masked_fill(d, d < 0, 0);
}

Tensor nearest(const Tensor& points, const Tensor& centres) {
    return argmin(squared_distances(points, centres), 1);
}

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
