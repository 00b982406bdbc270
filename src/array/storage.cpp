#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

#include "array/array.h"

namespace weft {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool recycle = false;  // so that AddressSanitizer sees every use after free
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool recycle = false;
#else
constexpr bool recycle = true;
#endif
#else
constexpr bool recycle = true;
#endif

// Sizes are rounded up to an eighth of their power of two, so that blocks of similar size serve each other.
std::size_t size_class(std::size_t bytes) {
    if (bytes <= 64) return 64;
    const std::size_t step = std::max<std::size_t>(64, std::bit_floor(bytes) / 8);
    return (bytes + step - 1) / step * step;
}

class Pool {
public:
    void* take(std::size_t bytes) {
        {
            std::lock_guard lock(mutex_);
            auto it = free_.find(bytes);
            if (it != free_.end() && !it->second.empty()) {
                void* block = it->second.back();
                it->second.pop_back();
                return block;
            }
        }
        void* block = std::aligned_alloc(64, bytes);
        if (block == nullptr) {
            clear();
            block = std::aligned_alloc(64, bytes);
        }
        if (block == nullptr) throw std::bad_alloc();
        return block;
    }
    void give(void* block, std::size_t bytes) noexcept {
        if (recycle) {
            std::lock_guard lock(mutex_);
            try {
                free_[bytes].push_back(block);
                return;
            } catch (const std::bad_alloc&) {  // no room to remember it: let it go
            }
        }
        std::free(block);
    }

private:
    void clear() {
        std::lock_guard lock(mutex_);
        for (auto& [bytes, blocks] : free_)
            for (void* block : blocks) std::free(block);
        free_.clear();
    }
    std::mutex mutex_;
    std::unordered_map<std::size_t, std::vector<void*>> free_;
};

// Never destroyed: tensors of static storage duration may outlive it otherwise.
Pool& pool() {
    static Pool* const instance = new Pool;
    return *instance;
}

}  // namespace

Storage::Storage(std::size_t size) : bytes(size_class(size)) {
    if (bytes < size) throw std::bad_alloc();
    data = pool().take(bytes);
}

Storage::~Storage() { pool().give(data, bytes); }

}  // namespace weft
