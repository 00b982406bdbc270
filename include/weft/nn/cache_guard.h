// Internal: Undoes appends to caches when a forward pass throws.
#pragma once

#include <exception>
#include <span>
#include <vector>

#include "weft/nn/kv_cache.h"

namespace weft::nn {

// If an exception destroys it, truncates the caches to their lengths at its construction.
class CacheGuard {
public:
    explicit CacheGuard(std::span<KeyValueCache> caches)
        : caches_(caches), exceptions_(std::uncaught_exceptions()) {
        for (const KeyValueCache& cache : caches) lengths_.push_back(cache.length());
    }
    ~CacheGuard() {
        if (std::uncaught_exceptions() == exceptions_) return;
        for (std::size_t i = 0; i < caches_.size(); ++i) caches_[i].truncate(lengths_[i]);
    }
    CacheGuard(const CacheGuard&) = delete;
    CacheGuard& operator=(const CacheGuard&) = delete;

private:
    std::span<KeyValueCache> caches_;
    int exceptions_;
    std::vector<std::int64_t> lengths_;
};

}  // namespace weft::nn
