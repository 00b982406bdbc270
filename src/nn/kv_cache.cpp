// B batch, G key-value heads, T new tokens, S tokens so far.
#include "weft/nn/kv_cache.h"

#include <algorithm>

#include "weft/core/creation.h"
#include "weft/core/grad_mode.h"
#include "weft/derive/functional.h"

namespace weft::nn {

namespace {

// x's shape with another size of an axis, −1 for the width and −2 for the tokens.
Shape with_size(const Tensor& x, int axis, std::int64_t size) {
    Shape shape = x.shape();
    shape[axis] = size;
    return shape;
}

bool differ_in_tokens_alone(const Tensor& a, const Tensor& b) {
    return with_size(a, -2, 0) == with_size(b, -2, 0);
}

}  // namespace

KeyValueCache::KeyValueCache(std::int64_t capacity, std::optional<DType> stored_as)
    : capacity_(capacity), stored_as_(stored_as) {
    if (stored_as && computed_in(*stored_as) == *stored_as)
        throw DTypeError("KeyValueCache: stored_as is ", name(*stored_as),
                         "; use bfloat16 or float16, or leave it out for the type of the keys and values");
    if (capacity < 1)
        throw ValueError("KeyValueCache: capacity must be at least 1, not ", capacity,
                         "; leave it out for a cache that grows");
}

KeyValueCache& KeyValueCache::operator=(KeyValueCache&& other) noexcept {
    capacity_ = other.capacity_;
    stored_as_ = other.stored_as_;
    length_ = std::exchange(other.length_, 0);
    longest_ = std::exchange(other.longest_, 0);
    keys_ = std::exchange(other.keys_, {});
    values_ = std::exchange(other.values_, {});
    return *this;
}

void KeyValueCache::check(const Tensor& k, const Tensor& v) const {
    const auto offered = [&] { return "keys " + k.shape().str() + " and values " + v.shape().str(); };
    if (k.rank() < 3 || k.rank() != v.rank() || k.shape() != with_size(v, -1, k.size(-1)))
        throw ShapeError("KeyValueCache: ", offered(),
                         " must be (B, G, T, d_k) and (B, G, T, d_v), or both without B");
    if (!takes_gradient(k.dtype()) || k.dtype() != v.dtype())
        throw DTypeError("KeyValueCache: keys of ", name(k.dtype()), " and values of ", name(v.dtype()),
                         "; both must be float32, or both float64");
    if (is_grad_enabled() && (k.requires_grad() || v.requires_grad() || jvp_mode()))
        throw GraphError(
            "KeyValueCache: keys or values require a gradient, or a jvp runs, but the cache holds values only; "
            "decode under "
            "NoGrad, or attend without a cache");
    if (length_ > 0 && !(differ_in_tokens_alone(k, keys_) && differ_in_tokens_alone(v, values_)))
        throw ShapeError("KeyValueCache: ", offered(), " do not fit the ", length_, " cached tokens, keys ",
                         with_size(keys_, -2, length_), " and values ", with_size(values_, -2, length_),
                         "; only the number of tokens may differ: clear() before another sequence");
    if (stored_as_ ? k.dtype() != float32 : length_ > 0 && k.dtype() != keys_.dtype())
        throw DTypeError(
            "KeyValueCache: holds ", name(stored_as_.value_or(keys_.defined() ? keys_.dtype() : float32)),
            stored_as_ ? " of float32" : "", ", not ", name(k.dtype()), "; clear() it, or convert with to()");
    if (capacity_ > 0 && length_ + k.size(-2) > capacity_)
        throw ShapeError("KeyValueCache: ", k.size(-2), " more tokens after ", length_, " are ",
                         length_ + k.size(-2), ", but its capacity is ", capacity_,
                         "; make it with a larger one, or clear() it");
}

// Returns all tokens, x's after the cached ones, and in `cached` the storage that holds them: the same if it
// has room, and otherwise larger storage with a copy.
Tensor KeyValueCache::appended(Tensor& cached, const Tensor& x) const {
    const std::int64_t wanted = length_ + x.size(-2);
    const Tensor stored = stored_as_ ? x.to(*stored_as_) : x;
    const bool is_alike =
        cached.defined() && cached.dtype() == stored.dtype() && differ_in_tokens_alone(cached, x);
    if (!is_alike || cached.size(-2) < wanted) {
        const std::int64_t double_size = std::max<std::int64_t>({wanted, 2 * length_, 16}),
                           room = capacity_ > 0 ? std::min(capacity_, double_size) : double_size;
        // (B, room, G, ·), token after token: those to come take no memory yet, or less than a huge page.
        const Tensor larger = empty(with_size(x.transpose(-3, -2), -3, room), stored.dtype()).transpose(-3, -2);
        if (length_ > 0) larger.slice(-2, 0, length_).copy_(cached.slice(-2, 0, length_));
        cached = larger;
    }
    cached.slice(-2, length_, wanted).copy_(stored);
    return cached.slice(-2, 0, wanted).to(x.dtype());
}

std::array<Tensor, 2> KeyValueCache::append(const Tensor& k, const Tensor& v) {
    check(k, v);
    const NoGrad off;
    Tensor keys = keys_, values = values_;
    const std::array<Tensor, 2> all{appended(keys, k), appended(values, v)};
    keys_ = keys, values_ = values, length_ += k.size(-2), longest_ = std::max(longest_, length_);
    return all;
}

void KeyValueCache::truncate(std::int64_t length) {
    if (length < 0 || length > length_)
        throw ValueError("KeyValueCache: cannot truncate to ", length, " tokens; it holds ", length_);
    length_ = length;
    if (length == 0) longest_ = 0;
}

}  // namespace weft::nn
