// Internal: Undoes appends to caches when a forward pass throws.
#pragma once

#include <exception>
#include <span>
#include <tuple>
#include <vector>

#include "weft/nn/kv_cache.h"

namespace weft::nn {

// If an exception destroys it, the caches have the lengths that they had at its construction.
class CacheGuard {
public:
    explicit CacheGuard(std::span<KeyValueCache> caches)
        : caches_(caches), exceptions_(std::uncaught_exceptions()) {
        for (const KeyValueCache& cache : caches) lengths_.emplace_back(cache.length_, cache.longest_);
    }
    ~CacheGuard() {
        if (std::uncaught_exceptions() == exceptions_) return;
        for (std::size_t i = 0; i < caches_.size(); ++i)
            std::tie(caches_[i].length_, caches_[i].longest_) = lengths_[i];
    }
    CacheGuard(const CacheGuard&) = delete;
    CacheGuard& operator=(const CacheGuard&) = delete;

private:
    std::span<KeyValueCache> caches_;
    int exceptions_;
    std::vector<std::pair<std::int64_t, std::int64_t>> lengths_;  // and the longest
};

}  // namespace weft::nn
