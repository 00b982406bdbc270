// KeyValueCache: the keys and values of all tokens so far, for decoding token by token.
// B batch, G key-value heads, S tokens so far, d_k and d_v the widths of keys and values.
#pragma once

#include <array>
#include <optional>
#include <utility>

#include "weft/core/tensor.h"

namespace weft::nn {

// The keys and values that one attention layer has computed so far. For a new token the layer computes only
// that token's key and value, and its query attends to all of them (Shazeer, "Fast transformer decoding", 2019,
// §2.4). Each layer needs its own cache. The cache holds values, outside the graph.
//
//     NoGrad off;
//     nn::KeyValueCache cache;
//     cache.append(k, v);                              // k and v (B, G, 5, d_k)
//     const auto [keys, values] = cache.append(k, v);  // each (B, G, 10, d_k)
//     cache.truncate(5);                               // the first five tokens
class KeyValueCache {
public:
    KeyValueCache() = default;  // has no limit; storage doubles when full
    // Holds at most `capacity` tokens, and its storage is no larger. With bfloat16 or float16 for `stored_as`
    // keys and values of float32 are rounded to it. ValueError below 1; DTypeError for another type.
    explicit KeyValueCache(std::int64_t capacity, std::optional<DType> stored_as = {});
    // Moves the tokens, which leaves the other empty. Not copyable: two caches would write to one storage.
    KeyValueCache(KeyValueCache&& other) noexcept { *this = std::move(other); }
    KeyValueCache& operator=(KeyValueCache&& other) noexcept;  // the same

    // Appends T tokens, k (B, G, T, d_k) and v (B, G, T, d_v), or (G, T, ·) without B, and returns the keys
    // (B, G, S, d_k) and values (B, G, S, d_v) of all S = length() tokens so far. They are views of the
    // storage, which is copied only when it doubles; where it is half, float32 copies. ShapeError unless k and
    // v differ only in width, and from the cached tokens only in number; ShapeError beyond the capacity;
    // DTypeError when types differ; GraphError when k or v requires a gradient: use NoGrad.
    std::array<Tensor, 2> append(const Tensor& k, const Tensor& v);

    std::int64_t length() const { return length_; }      // S, initially 0
    std::int64_t capacity() const { return capacity_; }  // 0 means no limit
    std::int64_t longest() const { return longest_; }    // the largest length since it was empty
    // Drops the tokens from position `length` on. The next tokens overwrite them, also in views returned
    // before. ValueError unless 0 ≤ length ≤ length().
    void truncate(std::int64_t length);
    // Drops all tokens; the next may have other shapes. Storage that fits is reused.
    void clear() { length_ = longest_ = 0; }

private:
    friend class CacheGuard;
    std::int64_t capacity_ = 0, length_ = 0, longest_ = 0;
    std::optional<DType> stored_as_;
    Tensor keys_, values_;  // (B, G, at least length_, ·)

    void check(const Tensor& k, const Tensor& v) const;
    Tensor appended(Tensor& cached, const Tensor& x) const;
};

}  // namespace weft::nn
