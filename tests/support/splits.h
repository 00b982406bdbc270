// Ways to give a sequence in parts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

using Steps = std::vector<std::int64_t>;  // how many tokens each part has

// Every way to write n as a sum of positive numbers in order: 2ⁿ⁻¹ of them.
inline std::vector<Steps> all_splits(std::int64_t n) {
    std::vector<Steps> all;
    for (unsigned cuts = 0; cuts < 1U << (n - 1); ++cuts) {
        Steps steps{1};
        for (std::int64_t t = 0; t + 1 < n; ++t)
            if (cuts >> t & 1U)
                steps.push_back(1);
            else
                ++steps.back();
        all.push_back(steps);
    }
    return all;
}

inline std::string name_of(const Steps& steps) {
    std::string name;
    for (const std::int64_t n : steps) name += std::to_string(n) + " ";
    return name;
}
