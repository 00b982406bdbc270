// Caches of keys and values of a model's blocks.
#pragma once

#include <vector>

#include "weft/core/error.h"
#include "weft/nn/kv_cache.h"

namespace weft::lm {

// ValueError, beginning with the model's name, unless there is one for each block, all of one length.
inline void check_caches(const char* model, const std::vector<nn::KeyValueCache>& caches, std::size_t blocks) {
    if (caches.size() != blocks)
        throw ValueError(model, ": ", caches.size(), " caches for ", blocks,
                         " blocks; make_caches() makes one for each");
    const std::int64_t past = caches[0].length();
    for (const nn::KeyValueCache& cache : caches)
        if (cache.length() != past)
            throw ValueError(model, ": caches of ", past, " and of ", cache.length(),
                             " tokens; all must hold the same ones: clear() them");
}

}  // namespace weft::lm
