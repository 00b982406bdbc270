#include "weft/core/mask.h"

#include "core/common.h"

namespace weft {

namespace {

const char* const meaning =
    "(T, S) for all, (B, T|1, S) per sample, or (B|1, H|1, T|1, S) per head; keys alone, (B, S), are "
    "Mask::keys";

void check_mask(const Tensor& mask) {
    check_dtype("the mask", mask, boolean);
    if (mask.rank() < 2 || mask.rank() > 4)
        throw ShapeError(Op::name(), ": a mask of shape ", mask.shape(), " has the wrong rank; use ", meaning);
}

// x with size 1 on the axes that expand() stretched.
Tensor unexpanded(Tensor x) {
    for (int axis = 0; axis < x.rank(); ++axis)
        if (x.strides()[axis] == 0 && x.size(axis) > 1) x = x.slice(axis, 0, 1);
    return x;
}

// A part as (B|1, H|1, T|1, S|1).
Tensor placed(const Tensor& part, const Shape& scores, const char* caller) {
    Tensor m = part;
    if (m.rank() == 2) m = m.unsqueeze(0);
    if (m.rank() == 3) m = m.unsqueeze(1);
    const auto fits = [&](int axis) { return m.size(axis) == scores[axis]; };
    const bool fits_samples = fits(0) || (m.size(0) == 1 && part.rank() != 3);
    const bool fits_queries = fits(2) || (m.size(2) == 1 && part.rank() != 2);
    if (!fits_samples || !(fits(1) || m.size(1) == 1) || !fits_queries || !fits(3))
        throw ShapeError(caller, ": a mask of shape ", part.shape(), " does not fit attention scores of ",
                         scores, " (B, H, T, S); a mask is ", meaning);
    return unexpanded(m);
}

void check_tokens(const Tensor& x) {
    if (x.rank() != 1 && x.rank() != 2)
        throw ShapeError(Op::name(), ": takes (B, S), or (S,) for all samples, not ", x.shape(),
                         "; for pairs of a query and a key use Mask::blocked or Mask::allowed");
}

// What S tokens have, (B, S) or (S,), as (B|1, S).
Tensor of_tokens(const Tensor& x, const char* made_by, std::int64_t B, std::int64_t S, const char* caller) {
    if (x.size(-1) != S || (x.rank() == 2 && x.size(0) != B))
        throw ShapeError(caller, ": ", made_by, ": ", x.shape(), " for ", B, " samples of ", S,
                         " keys; give one for each key, those in a cache included, as (B, S) or (S,)");
    return x.rank() == 1 ? x.unsqueeze(0) : x;
}

}  // namespace

Mask Mask::causal() {
    Mask mask;
    mask.causal_ = true;
    return mask;
}

Mask Mask::window(std::int64_t width) {
    if (width < 1)
        throw ValueError("Mask::window: a width of ", width,
                         "; a query sees itself at least, so use 1 or more");
    Mask mask;
    mask.width_ = width;
    return mask;
}

Mask Mask::padding(const std::vector<std::int64_t>& lengths) {
    for (std::size_t b = 0; b < lengths.size(); ++b)
        if (lengths[b] < 0)
            throw ValueError("Mask::padding: length ", lengths[b], " of sample ", b,
                             " is negative; lengths are 0 or more");
    Mask mask;
    mask.paddings_.push_back(lengths);
    return mask;
}

Mask Mask::blocked(const Tensor& blocked) {
    const Op op("Mask::blocked", Op::of_others);
    check_mask(blocked);
    Mask mask;
    mask.parts_.push_back(blocked);
    return mask;
}

Mask Mask::allowed(const Tensor& allowed) {
    const Op op("Mask::allowed", Op::of_others);
    check_mask(allowed);
    return blocked((!unexpanded(allowed)).expand(allowed.shape()));
}

Mask Mask::keys(const Tensor& allowed) {
    const Op op("Mask::keys", Op::of_others);
    check_dtype("the mask", allowed, boolean);
    check_tokens(allowed);
    Mask mask;
    mask.keys_.push_back(!allowed);
    return mask;
}

Mask Mask::documents(const Tensor& ids) {
    const Op op("Mask::documents", Op::of_others);
    check_dtype("ids", ids, int64);
    check_tokens(ids);
    Mask mask;
    mask.documents_.push_back(ids.clone());
    return mask;
}

Mask Mask::first_keys(std::int64_t S) const {
    Mask mask = *this;
    for (std::vector<Tensor>* tokens : {&mask.keys_, &mask.documents_})
        for (Tensor& x : *tokens)
            if (x.size(-1) > S) x = x.slice(-1, 0, S);
    return mask;
}

Mask operator|(const Mask& a, const Mask& b) {
    Mask mask = a;
    const auto append = [](auto& to, const auto& more) { to.insert(to.end(), more.begin(), more.end()); };
    mask.causal_ = a.causal_ || b.causal_;
    if (b.width_) mask.width_ = std::min(*b.width_, a.width_.value_or(*b.width_));
    append(mask.paddings_, b.paddings_);
    append(mask.parts_, b.parts_);
    append(mask.keys_, b.keys_);
    append(mask.documents_, b.documents_);
    return mask;
}

std::vector<Tensor> Mask::rest(std::int64_t B, std::int64_t H, std::int64_t T, std::int64_t S,
                               const char* caller) const {
    std::vector<Tensor> all;
    Tensor of_keys;  // (B|1, H|1, 1, S|1)
    const auto add = [&](const Tensor& part) {
        if (part.size(2) > 1)
            all.push_back(part);
        else
            of_keys = of_keys.defined() ? of_keys || part : part;
    };
    for (const Tensor& part : parts_) add(placed(part, {B, H, T, S}, caller));
    for (const auto& lengths : paddings_) {
        if (static_cast<std::int64_t>(lengths.size()) != B)
            throw ShapeError(caller, ": Mask::padding: ", lengths.size(), " lengths for ", B,
                             " samples; give one for each");
        for (std::size_t b = 0; b < lengths.size(); ++b)
            if (lengths[b] > S)
                throw ShapeError(caller, ": Mask::padding: length ", lengths[b], " of sample ", b,
                                 " is more than the ", S, " keys");
        add(arange(S) >= from_vector(lengths, {B, 1, 1, 1}));  // (B, 1, 1, S)
    }
    for (const Tensor& blocked : keys_)
        add(of_tokens(blocked, "Mask::keys", B, S, caller).unsqueeze(1).unsqueeze(1));  // (B|1, 1, 1, S)
    if (of_keys.defined()) all.push_back(of_keys);
    return all;
}

std::vector<Tensor> Mask::document_ids(std::int64_t B, std::int64_t T, std::int64_t S,
                                       const char* caller) const {
    std::vector<Tensor> all;
    for (const Tensor& ids : documents_) {
        all.push_back(of_tokens(ids, "Mask::documents", B, S, caller));
        if (T > S)
            throw ShapeError(caller, ": Mask::documents: ", T, " queries for ", S,
                             " keys; the queries are the last tokens with an id, so give at most that many");
    }
    return all;
}

Tensor Mask::materialize(std::int64_t B, std::int64_t H, std::int64_t T, std::int64_t S,
                         const char* caller) const {
    std::vector<Tensor> parts = rest(B, H, T, S, caller);
    const Tensor own = arange(T).unsqueeze(1) + integer(S - T);  // (T, 1)
    if (causal_) parts.push_back((arange(S) > own).reshape({1, 1, T, S}));
    if (width_) parts.push_back((arange(S) <= own - integer(std::min(*width_, S + T))).reshape({1, 1, T, S}));
    for (const Tensor& ids : document_ids(B, T, S, caller)) {
        const Tensor of_queries = ids.slice(1, S - T, S).unsqueeze(-1);  // (B|1, T, 1)
        parts.push_back((of_queries != ids.unsqueeze(1)).unsqueeze(1));  // (B|1, 1, T, S)
    }
    if (parts.empty()) return zeros({1, 1, T, S}, boolean);
    Tensor all = parts[0];
    for (std::size_t i = 1; i < parts.size(); ++i) all = all || parts[i];
    return all.size(2) == T && all.size(3) == S ? all : all.expand({-1, -1, T, S});
}

}  // namespace weft
