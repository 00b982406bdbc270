// Attention gives each token a mean of what other tokens say. Each has three rows of numbers: a query, what it
// looks for; a key, what it offers; a value, what it says. A query's products with all keys become, by softmax,
// weights that sum to 1, and the result is the mean of the values with these weights: the query attends to
// keys.
//
// Mask: which keys a query may not attend to. The name of the function that makes it states its polarity, and
// its rank states its meaning: (T, S) for all samples and heads, (B, T|1, S) per sample, (B|1, H|1, T|1, S) per
// sample and head. That is (B or 1, H or 1, T or 1, S), where an axis of size 1 serves all samples, heads or
// queries. Masks that tokens have, whatever attends to them, are (B, S).
// B samples, H heads, T queries, S keys.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/core/tensor.h"

namespace weft {

// Make masks with the named functions and combine them with |: what either blocks is blocked.
//
//     const Mask mask = Mask::causal() | Mask::padding({3, 2});   // two samples, of 3 and 2 tokens
//     const Tensor blocked = mask.materialize(2, 1, 3, 3)[1][0];  // [[0, 1, 1], [0, 0, 1], [0, 0, 1]]
class [[nodiscard]] Mask {
public:
    Mask() = default;  // blocks nothing

    // Blocks key j for query i if j > i + (S − T): the last query attends to every key, so queries that
    // follow cached keys attend to all of those. If S < T, the first T − S rows are fully masked.
    static Mask causal();

    // Blocks key j for query i if j ≤ i + (S − T) − width: a query attends to the last `width` tokens, itself
    // included, and to what follows unless causal() blocks it (Beltagy et al., "Longformer", 2020, §3.1; Jiang
    // et al., "Mistral 7B", 2023, §2). ValueError unless width ≥ 1.
    //
    //     const Mask last_two = Mask::causal() | Mask::window(2);
    //     const Tensor blocked = last_two.materialize(1, 1, 3, 3)[0][0];  // [[0, 1, 1], [0, 0, 1], [1, 0, 0]]
    static Mask window(std::int64_t width);

    // `lengths` has one entry per sample: keys j ≥ lengths[b] of sample b are padding and blocked. ValueError
    // for a negative length; ShapeError when used unless there are B lengths, none above S.
    static Mask padding(const std::vector<std::int64_t>& lengths);

    // allowed (B, S), or (S,) for all samples, bool: blocks the keys where it is false, for any number of
    // queries, so that one mask serves an encoder, cross-attention and decoding. In PyTorch's key_padding_mask
    // true means BLOCKED: write Mask::keys(!key_padding_mask). DTypeError unless bool; ShapeError for any other
    // rank and, when used, for any other sizes.
    //
    //     const Mask real = Mask::keys(tensor({{0, 1, 1}, {1, 1, 1}}, boolean));  // padded on the left
    //     const Tensor y = attention(x, memory, memory, real);                    // memory (2, 3, 64)
    static Mask keys(const Tensor& allowed);

    // ids (B, S), or (S,) for all samples, int64: a token attends to the tokens that have its id, so one row
    // holds several documents; give padding an id of its own. The queries are the last T of the S tokens, as
    // for causal(). Attention compares ids and makes no T × S matrix; it skips tiles in which the ids of the
    // queries lie below those of the keys, or above. The ids are copied. DTypeError unless int64; ShapeError
    // for any other rank and, when used, for any other sizes and for T > S.
    //
    //     const Mask packed = Mask::causal() | Mask::documents(tensor({0, 0, 1, 1, 1}, int64));
    //     const Tensor y = attention(x, packed);  // x (1, 5, 64): what each of the two documents gives alone
    static Mask documents(const Tensor& ids);

    // mask (T, S), (B, T|1, S) or (B|1, H|1, T|1, S), true = blocked, as in masked_fill. DTypeError unless
    // bool, ShapeError for any other rank.
    static Mask blocked(const Tensor& mask);
    // The same with true = allowed, as in PyTorch's scaled_dot_product_attention.
    static Mask allowed(const Tensor& mask);

    // Blocks what either blocks.
    friend Mask operator|(const Mask& a, const Mask& b);

    bool blocks_nothing() const { return !causal_ && has_no_parts(); }  // it is Mask()
    bool is_causal() const { return causal_; }                          // Mask::causal() is part of it
    std::optional<std::int64_t> width() const { return width_; }        // of the narrowest window() in it
    // Whether it is Mask::causal() and nothing else.
    bool only_causal() const { return causal_ && has_no_parts(); }

    // The same with keys() and documents() cut to the first S tokens where they have more, so that a mask of a
    // whole sequence serves each step of decoding it. Attention with a KeyValueCache does this by itself.
    //
    //     const Mask whole = Mask::keys(tensor({0, 1, 1, 1}, boolean));
    //     const Tensor blocked = whole.first_keys(3).materialize(1, 1, 1, 3)[0][0];  // [[1, 0, 0]]
    Mask first_keys(std::int64_t S) const;

    // Its tensors of pairs, bool, true = blocked: those passed to blocked(), and the negations of those to
    // allowed().
    const std::vector<Tensor>& parts() const { return parts_; }

    // bool (B|1, H|1, T, S), true = blocked. ShapeError, beginning with `caller`, if a part does not fit.
    Tensor materialize(std::int64_t B, std::int64_t H, std::int64_t T, std::int64_t S,
                       const char* caller = "Mask::materialize") const;
    // The same without causal(), window() and documents(), which the attention kernel handles itself, as bool
    // tensors (B|1, H|1, T|1, S|1): what is blocked is what any of them blocks. Masks that block a key for
    // every query, such as padding, are joined; the others are views of the tensors passed. So nothing new has
    // an axis of T queries.
    std::vector<Tensor> rest(std::int64_t B, std::int64_t H, std::int64_t T, std::int64_t S,
                             const char* caller = "Mask::rest") const;
    // The ids of each documents() in it, int64 (B|1, S) with a last stride of 1. ShapeError, beginning with
    // `caller`, if they do not fit.
    std::vector<Tensor> document_ids(std::int64_t B, std::int64_t T, std::int64_t S,
                                     const char* caller = "Mask::document_ids") const;

private:
    bool causal_ = false;
    std::optional<std::int64_t> width_;
    std::vector<std::vector<std::int64_t>> paddings_;
    std::vector<Tensor> parts_;      // bool, true = blocked
    std::vector<Tensor> keys_;       // bool (B, S) or (S,), true = blocked
    std::vector<Tensor> documents_;  // int64 (B, S) or (S,)
    bool has_no_parts() const {      // Mask() or Mask::causal()
        return !width_ && parts_.empty() && paddings_.empty() && keys_.empty() && documents_.empty();
    }
};

}  // namespace weft
