// The memory of tensors, of which idle blocks are kept for the next.
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace weft::kernels::fast {

namespace {

#ifndef __has_feature
#define __has_feature(feature) 0  // of clang
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
constexpr bool recycle = false;  // AddressSanitizer needs to see memory being freed, and where it ends
#else
constexpr bool recycle = true;
#endif

// Rounds up to an eighth of the power of two below, so blocks can be reused for similar sizes.
std::size_t size_class(std::size_t bytes) {
    if (!recycle) return std::max<std::size_t>(bytes, 1);
    if (bytes <= 64) return 64;
    const std::size_t step = std::max<std::size_t>(64, std::bit_floor(bytes) / 8);
    return (bytes + step - 1) / step * step;
}

// Keeps idle blocks for the next request of their size. Idle and used blocks together stay within 5/4 of the
// highest use so far.
class Pool {
public:
    void* acquire(std::size_t bytes) {
        std::lock_guard lock(mutex_);
        std::vector<void*>& idle = free_blocks_[bytes];
        void* block = nullptr;
        if (!idle.empty()) {
            block = idle.back();
            idle.pop_back();
        } else {
            const std::size_t limit = std::max(peak_allocated_, allocated_ + bytes) / 4 * 5;
            for (std::size_t keep : {limit, std::size_t{0}}) {
                release_down_to(keep, bytes);
                if ((block = allocate(bytes)) != nullptr) break;
            }
            if (block == nullptr) throw std::bad_alloc();
            reserved_ += bytes;
        }
        allocated_ += bytes;
        peak_allocated_ = std::max(peak_allocated_, allocated_);  // only now: a failed request does not count
        return block;
    }
    void release(void* block, std::size_t bytes) noexcept {
        std::lock_guard lock(mutex_);
        allocated_ -= bytes;
        if (recycle) {
            try {
                free_blocks_[bytes].push_back(block);
                return;
            } catch (const std::bad_alloc&) {  // no memory for the list: free the block instead
            }
        }
        reserved_ -= bytes;
        std::free(block);
    }

private:
    std::mutex mutex_;
    std::map<std::size_t, std::vector<void*>> free_blocks_;
    // In bytes; reserved_ counts used and idle blocks.
    std::size_t allocated_ = 0, reserved_ = 0, peak_allocated_ = 0;

    // Frees idle blocks, largest first, until `bytes` more would stay within `limit`.
    void release_down_to(std::size_t limit, std::size_t bytes) {
        for (auto it = free_blocks_.rbegin(); it != free_blocks_.rend(); ++it)
            for (; !it->second.empty() && reserved_ + bytes > limit; it->second.pop_back()) {
                std::free(it->second.back());
                reserved_ -= it->first;
            }
    }
    // Large blocks use huge pages if the system has them, for fewer page faults and TLB misses.
    static void* allocate(std::size_t bytes) {
        constexpr std::size_t large = std::size_t{1} << 21;
        void* block = nullptr;  // posix_memalign, because aligned_alloc needs a multiple of the alignment
        if (posix_memalign(&block, bytes < 2 * large ? 64 : large, bytes) != 0) return nullptr;
#ifdef MADV_HUGEPAGE
        if (bytes >= 2 * large) madvise(block, bytes, MADV_HUGEPAGE);
#endif
        return block;
    }
};

// Never destroyed, because tensors of static storage duration may outlive it.
Pool& pool() {
    static Pool* const instance = new Pool;
    return *instance;
}

}  // namespace

void* acquire(std::size_t& bytes) {
    const std::size_t wanted = std::exchange(bytes, size_class(bytes));
    if (bytes < wanted) throw std::bad_alloc();
    return pool().acquire(bytes);
}

void release(void* block, std::size_t bytes) noexcept { pool().release(block, bytes); }

}  // namespace weft::kernels::fast
