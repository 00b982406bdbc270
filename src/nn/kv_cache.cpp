// B batch, G key-value heads, T new tokens, S tokens so far.
#include "weft/nn/kv_cache.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "weft/core/creation.h"
#include "weft/core/modes.h"
#include "weft/derive/functional.h"
#include "weft/ops.h"

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
    if (stored_as && !only_stores(*stored_as))
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

// Rotary positions. T tokens, d width of a head, r columns that are rotated.

namespace {

void check(bool is_right, const char* what, double value, const char* needed) {
    if (!is_right) throw ValueError("rotary: ", what, " is ", value, "; it must be ", needed);
}

void check(const RotaryOptions& o, std::int64_t r, std::int64_t d) {
    const RotaryScaling& s = o.scaling;
    const auto is_positive = [](double x) { return x > 0 && std::isfinite(x); };
    const char* const positive = "finite and above 0";
    check(is_positive(o.base), "the base", o.base, positive);
    if (r < 2 || r > d || r % 2 != 0)
        throw ValueError("rotary: a width of ", r, " of ", d,
                         " columns; pairs need an even number of at least 2");
    if (s.kind == RotaryScaling::none) return;
    check(is_positive(s.factor), "the factor", s.factor, positive);
    if (s.attention_factor)
        check(is_positive(*s.attention_factor), "attention_factor", *s.attention_factor, positive);
    if (s.kind == RotaryScaling::linear) return;
    check(s.original_length > 0, "original_length", static_cast<double>(s.original_length), "above 0");
    if (s.kind == RotaryScaling::dynamic)
        check(r > 2, "the width", static_cast<double>(r), "above 2 for dynamic");
    if (s.kind == RotaryScaling::llama3)
        check(s.low_freq_factor > 0 && s.high_freq_factor > s.low_freq_factor &&
                  std::isfinite(s.high_freq_factor),
              "high_freq_factor", s.high_freq_factor, "finite and above low_freq_factor, which is above 0");
    if (s.kind == RotaryScaling::yarn)
        check(s.beta_slow > 0 && s.beta_fast >= s.beta_slow && std::isfinite(s.beta_fast) && o.base != 1,
              "beta_fast", s.beta_fast, "finite and at least beta_slow, which is above 0, and the base not 1");
    if (s.kind == RotaryScaling::longrope)
        for (const auto& factors : {s.short_factor, s.long_factor})
            if (static_cast<std::int64_t>(factors.size()) != r / 2 ||
                !std::ranges::all_of(factors, is_positive))
                throw ValueError("rotary: longrope needs ", r / 2,
                                 " numbers above 0, one for each pair, in short_factor and in long_factor");
}

// θ for each pair, in a sequence of `length` tokens.
std::vector<double> rates(const RotaryOptions& o, std::int64_t r, std::int64_t length) {
    const RotaryScaling& s = o.scaling;
    const double L = static_cast<double>(s.original_length), width = static_cast<double>(r);
    double base = o.base;
    if (s.kind == RotaryScaling::dynamic && length > s.original_length)
        base *= std::pow(s.factor * static_cast<double>(length) / L - (s.factor - 1), width / (width - 2));
    // The pair that turns so often in L tokens; a fraction.
    const auto pair_of = [&](double turns) {
        return width * std::log(L / (turns * 2 * std::numbers::pi)) / (2 * std::log(base));
    };
    double first = 0, last = 0;  // yarn: unscaled up to the first of these pairs, scaled from the last on
    if (s.kind == RotaryScaling::yarn) {
        first = pair_of(s.beta_fast), last = pair_of(s.beta_slow);
        if (s.truncate) first = std::floor(first), last = std::ceil(last);
        first = std::max(first, 0.0), last = std::min(last, width - 1);
        if (first == last) last += 0.001;
    }
    std::vector<double> all;
    for (std::int64_t i = 0; i < r / 2; ++i) {
        const double rate = std::pow(base, -static_cast<double>(2 * i) / width), scaled = rate / s.factor;
        const auto mixed = [&](double share) {
            return share * rate + (1 - share) * scaled;
        };  // share in [0, 1]
        switch (s.kind) {
            case RotaryScaling::none:
            case RotaryScaling::dynamic:
                all.push_back(rate);
                break;
            case RotaryScaling::linear:
                all.push_back(scaled);
                break;
            case RotaryScaling::longrope:
                all.push_back(rate / (length > s.original_length
                                          ? s.long_factor
                                          : s.short_factor)[static_cast<std::size_t>(i)]);
                break;
            case RotaryScaling::yarn:
                all.push_back(
                    mixed(1 - std::clamp((static_cast<double>(i) - first) / (last - first), 0.0, 1.0)));
                break;
            case RotaryScaling::llama3: {
                const double turns = L * rate / (2 * std::numbers::pi);  // in L tokens
                all.push_back(mixed(std::clamp(
                    (turns - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor), 0.0, 1.0)));
            }
        }
    }
    return all;
}

double attention_factor(const RotaryScaling& s) {
    if (s.attention_factor) return *s.attention_factor;
    if (s.factor <= 1) return 1;
    if (s.kind == RotaryScaling::yarn) return 0.1 * std::log(s.factor) + 1;
    if (s.kind == RotaryScaling::longrope)
        return std::sqrt(1 + std::log(s.factor) / std::log(static_cast<double>(s.original_length)));
    return 1;
}

}  // namespace

std::int64_t rotary_length(const RotaryOptions& options, std::int64_t length) {
    const RotaryScaling& s = options.scaling;
    if (length <= s.original_length) return 0;
    if (s.kind == RotaryScaling::longrope) return s.short_factor != s.long_factor;
    return s.kind == RotaryScaling::dynamic ? length : 0;
}

RotaryTable rotary_table(std::int64_t first_position, std::int64_t T, std::int64_t d,
                         const RotaryOptions& options, DType dtype, std::optional<std::int64_t> length) {
    if (!takes_gradient(dtype)) throw DTypeError("rotary: takes float32 or float64, not ", name(dtype));
    if (first_position < 0) throw ValueError("rotary: first_position must be at least 0, not ", first_position);
    const std::int64_t r = options.width == 0 ? d : options.width;
    check(options, r, d);
    const NoGrad off;
    const Tensor positions = (arange(T) + static_cast<double>(first_position)).to(float64);  // (T,)
    const std::vector<double> of_pairs = rates(options, r, length.value_or(first_position + T));
    const Tensor angle = positions.unsqueeze(1) * from_vector(of_pairs, {r / 2});  // (T, r/2)
    Tensor c = cos(angle), s = sin(angle);                                         // (T, r/2)
    if (const double factor = attention_factor(options.scaling); factor != 1) c = c * factor, s = s * factor;
    return {c.to(dtype), s.to(dtype), options.pairs};
}

Tensor rotary(const Tensor& x, std::int64_t first_position, const RotaryOptions& options) {
    const int rank = x.rank();
    if (rank < 2 || rank >= Shape::max_rank || x.size(-1) < 2 || x.size(-1) % 2 != 0)
        throw ShapeError("rotary: takes (…, T, d) with d even, not ", x.shape());
    return rotary(x, rotary_table(first_position, x.size(-2), x.size(-1), options, x.dtype()));
}

Tensor rotary(const Tensor& x, std::int64_t first_position, double base) {
    return rotary(x, first_position, RotaryOptions{.base = base});
}

}  // namespace weft::nn
