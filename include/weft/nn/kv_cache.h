// KeyValueCache: the keys and values of all tokens so far, for decoding token by token.
// B batch, G key-value heads, S tokens so far, d_k and d_v the widths of keys and values.
#pragma once

#include <array>
#include <exception>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/ops/norms.h"

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

// Internal: Undoes appends to caches when a forward pass throws.

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

// Rotary positions (Su et al., "RoFormer: enhanced transformer with rotary position embedding", 2021, §3.2).
// T tokens, d the width of a head, r ≤ d the columns that are rotated, i = 0 … r/2 − 1 the number of a pair.

using weft::RotaryPairs, weft::RotaryTable, weft::rotary;

// How the rates θᵢ = base^(−2i/r) are changed for sequences longer than those of the first training, with the
// names of Hugging Face's configs ("rope_scaling", transformers' modeling_rope_utils.py). L is original_length,
// which `none` and `linear` do without.
//
//     nn::RotaryOptions longer;
//     longer.scaling = {.kind = nn::RotaryScaling::dynamic, .factor = 2, .original_length = 64};
struct RotaryScaling {
    // Which formula.
    enum Kind {
        none,    // θᵢ
        linear,  // θᵢ / factor (Chen et al., "Extending context window", 2023, §2.3)
        dynamic,  // θᵢ of base · (factor · S/L − factor + 1)^(r/(r−2)), if the sequence has S > L tokens
        yarn,  // between θᵢ and θᵢ / factor by the turns in L tokens (Peng et al., "YaRN", 2023, §3.2, 3.4)
        longrope,  // θᵢ / long_factor[i] if S > L, else / short_factor[i] (Ding et al., "LongRoPE", 2024)
        llama3     // between the two by the wavelength (Grattafiori et al., "The Llama 3 herd", 2024, §3.2)
    };
    Kind kind = none;                       // the formula
    double factor = 1;                      // how much longer sequences become
    std::int64_t original_length = 0;       // L
    double low_freq_factor = 1;             // llama3: wavelengths above L / low_freq_factor are scaled,
    double high_freq_factor = 4;            // and those below L / high_freq_factor are not
    double beta_fast = 32, beta_slow = 1;   // yarn: the turns at which scaling begins and is whole
    bool truncate = true;                   // yarn: the pairs of these turns are rounded outwards
    std::vector<double> short_factor = {};  // longrope: r/2 of them
    std::vector<double> long_factor = {};   // longrope: r/2 of them
    std::optional<double> attention_factor =
        {};  // multiplies cos and sin [yarn, longrope: the paper's; else 1]
    bool operator==(const RotaryScaling&) const = default;  // equal in everything
};

// Options of rotary positions.
//
//     const nn::RotaryOptions llama{.base = 500000, .pairs = nn::RotaryPairs::halves};
//     const Tensor y = nn::rotary(q, 0, llama);  // (B, H, T, d_k)
struct RotaryOptions {
    double base = 10000;                                    // of the rates
    RotaryPairs pairs = RotaryPairs::neighbours;            // the columns of a pair
    std::int64_t width = 0;                                 // r, the first columns, which are rotated [d]
    RotaryScaling scaling = {};                             // for longer sequences
    bool operator==(const RotaryOptions&) const = default;  // equal in everything
};

// The cosines and sines of positions first_position … first_position + T − 1 of a sequence of `length` tokens,
// by default those up to the last of these. ValueError for first_position < 0, a base or factor that is not
// finite and above 0, an odd width or one outside 2 … d, and what a scaling lacks; DTypeError unless float32 or
// float64. Angles are computed in float64: float32 would lose the fractions of large ones.
//
//     const Tensor cosines = nn::rotary_table(0, 8, 16, {}, float32).cos;  // (8, 8)
RotaryTable rotary_table(std::int64_t first_position, std::int64_t T, std::int64_t d,
                         const RotaryOptions& options, DType dtype, std::optional<std::int64_t> length = {});

// A number that is equal for two lengths of a sequence exactly if the angles are: 0 where they do not depend on
// it.
//
//     const std::int64_t at_64 = nn::rotary_length(longer, 64);  // 0
//     const std::int64_t at_65 = nn::rotary_length(longer, 65);  // 65: other angles
std::int64_t rotary_length(const RotaryOptions& options, std::int64_t length);

// rotary(x, table); the first token is at first_position. ShapeError unless d is even and at least 2; and what
// rotary_table refuses.
//
//     const Tensor y = nn::rotary(q);        // q (B, H, T, d_k), positions 0 … T − 1
//     const Tensor next = nn::rotary(q, T);  // positions T … 2T − 1
Tensor rotary(const Tensor& x, std::int64_t first_position, const RotaryOptions& options);
// The same with this base.
Tensor rotary(const Tensor& x, std::int64_t first_position = 0, double base = 10000);

}  // namespace weft::nn
