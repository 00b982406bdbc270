// KeyValueCache: the keys and values of all tokens so far, for decoding token by token.
// B batch, G heads of keys and values, S tokens so far, d_k and d_v their widths.
#pragma once

#include <array>
#include <utility>

#include "weft/core/tensor.h"

namespace weft::nn {

// The keys and values that one attention layer has computed so far. For a new token only its own key and value
// are computed, and its query attends to all of them (Shazeer, "Fast transformer decoding", 2019, §2.4). Each
// layer needs a cache of its own. It holds values, outside the graph.
class KeyValueCache {
public:
    KeyValueCache() = default;                      // as many tokens as memory holds; its storage doubles
    explicit KeyValueCache(std::int64_t capacity);  // at most so many, in storage made once; ValueError below 1
    // Takes over the other's tokens; the other is then empty. Caches are not copied, because two would write to
    // the same storage.
    KeyValueCache(KeyValueCache&& other) noexcept { *this = std::move(other); }
    KeyValueCache& operator=(KeyValueCache&& other) noexcept;  // likewise

    // k (B, G, T, d_k) and v (B, G, T, d_v), or (G, T, ·) without B, of the next T tokens → the keys (B, G, S,
    // d_k) and values (B, G, S, d_v) of all tokens so far, S = length(): views of the storage, which is copied
    // only when it doubles. ShapeError unless k and v differ only in width, and differ from what is held only
    // in the number of tokens; ShapeError beyond the capacity; DTypeError where types differ; GraphError where
    // gradients are on and k or v takes part in the graph: append under NoGrad.
    std::array<Tensor, 2> append(const Tensor& k, const Tensor& v);

    std::int64_t length() const { return length_; }      // S; 0 at first
    std::int64_t capacity() const { return capacity_; }  // 0 when there is none
    // Drops the tokens from `length` on, so that others can follow; views of the dropped ones then see the new
    // ones. ValueError unless 0 ≤ length ≤ length().
    void truncate(std::int64_t length);
    // Drops all tokens: those that follow may have other shapes. Storage that fits is reused.
    void clear() { length_ = 0; }

private:
    std::int64_t capacity_ = 0, length_ = 0;
    Tensor keys_, values_;  // (B, G, at least length_, ·)

    void check(const Tensor& k, const Tensor& v) const;
    Tensor grown(const Tensor& cached, const Tensor& x) const;
};

}  // namespace weft::nn
