// KeyValueCache: the keys and values of the tokens so far, for decoding one token after another.
// B batch, G heads of keys and values, S tokens so far, d_k and d_v their widths.
#pragma once

#include <array>
#include <utility>

#include "weft/core/tensor.h"

namespace weft::nn {

// What one attention layer keeps of the tokens it has seen: of a new token only its own key and value are
// computed, and its query attends to them all (Shazeer, "Fast transformer decoding", 2019, §2.4). One cache for
// each layer. It holds values, outside the graph.
class KeyValueCache {
public:
    KeyValueCache() = default;                      // as many tokens as memory holds; its storage doubles
    explicit KeyValueCache(std::int64_t capacity);  // at most so many, in storage made once; ValueError below 1
    // Takes over what the other holds, which is then empty. Not copied: two would write in the same storage.
    KeyValueCache(KeyValueCache&& other) noexcept { *this = std::move(other); }
    KeyValueCache& operator=(KeyValueCache&& other) noexcept;  // likewise

    // k (B, G, T, d_k) and v (B, G, T, d_v), or (G, T, ·) without B, of the T tokens that follow → the keys (B,
    // G, S, d_k) and values (B, G, S, d_v) of all tokens so far, S = length(): views of the storage, in which
    // the past is not moved (but where it doubles). ShapeError unless k and v differ in width alone, and from
    // what is held in their number of tokens alone; ShapeError beyond the capacity; DTypeError where types
    // differ; GraphError where gradients are on and k or v takes part in the graph: append under NoGrad.
    std::array<Tensor, 2> append(const Tensor& k, const Tensor& v);

    std::int64_t length() const { return length_; }      // S; 0 at first
    std::int64_t capacity() const { return capacity_; }  // 0 when there is none
    // Forgets the tokens from `length` on, so that others may follow; views of them see those. ValueError
    // unless 0 ≤ length ≤ length().
    void truncate(std::int64_t length);
    // Forgets them all: what follows may have other shapes. Storage that fits is used again.
    void clear() { length_ = 0; }

private:
    std::int64_t capacity_ = 0, length_ = 0;
    Tensor keys_, values_;  // (B, G, at least length_, ·)

    void check(const Tensor& k, const Tensor& v) const;
    Tensor with_room(const Tensor& held, const Tensor& x) const;
};

}  // namespace weft::nn
