// Every form of multi-head attention, to run one test on them all.
// B samples, T queries, S keys, C = d_model, H heads.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "catch.h"
#include "source.h"

namespace attention_forms {

using namespace weft;
using source::in_double;

inline constexpr std::int64_t B = 2, T = 3, S = 5, C = 8, H = 4, max_seq_len = 6;

// One way to attend. query (B, T, C), key and value (B, S, C); those that do self-attention look at query
// alone.
struct Form {
    std::string name;
    std::function<Tensor(const Tensor& query, const Tensor& key, const Tensor& value, const Mask& mask)> run;
    bool is_cross = false, is_causal = false, is_unbatched = false, is_cached = false;
    std::vector<Tensor> parameters;

    Tensor operator()(const Tensor& x, const Mask& mask = {}) const { return run(x, x, x, mask); }
    std::int64_t keys() const { return is_cross ? S : T; }
    Tensor attend(const Tensor& x, const Tensor& y, const Mask& mask = {}) const {
        return is_cross ? run(x, y, y, mask) : run(x, x, x, mask);
    }
    std::string shape_of_scores() const {  // as the messages name it
        return Shape{is_unbatched ? 1 : B, H, T, keys()}.str();
    }
};

// 58 forms: 3 kinds of projection × 5 ways to call them, 2 kinds × 4 ways of the causal, and 6 of the two
// classes that have fewer options, each computed fused and composed.
inline std::vector<Form> all_forms() {
    std::vector<Form> forms;
    const auto add = [&](const Form& form) {
        forms.push_back(form);
        Form composed = form;
        composed.name += ", composed";
        composed.run = [run = form.run](const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
            const Plain path(Plain::operations);
            return run(q, k, v, mask);
        };
        forms.push_back(composed);
    };
    const auto one = [](const auto& call) {  // calls with the first sample alone, without a batch axis
        return [call](const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
            const Tensor first = q[0];
            return call(first, k.handle() == q.handle() ? first : k[0], v.handle() == q.handle() ? first : v[0],
                        mask);
        };
    };
    Rng rng(1);
    const std::pair<const char*, nn::AttentionConfig> kinds[] = {
        {"fused", {.bias = true}},
        {"separate", {.bias = true, .fused = false}},
        {"grouped", {.bias = true, .num_kv_heads = 2, .d_v = 3}}};
    for (const auto& [kind, options] : kinds) {
        const auto a = in_double(nn::Attention(C, H, rng, options));
        const auto call = [a](const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
            return a(q, k, v, mask);
        };
        const auto weights = [a](const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
            return a.with_weights(q, k, v, mask).output;
        };
        const std::string name = std::string("Attention, ") + kind;
        const std::vector<Tensor> parameters = a.parameters();
        add({.name = name + ", self", .run = call, .parameters = parameters});
        add({.name = name + ", cross", .run = call, .is_cross = true, .parameters = parameters});
        add({.name = name + ", with_weights", .run = weights, .is_cross = true, .parameters = parameters});
        add({.name = name + ", unbatched", .run = one(call), .is_unbatched = true, .parameters = parameters});
        add({.name = name + ", cross, unbatched",
             .run = one(call),
             .is_cross = true,
             .is_unbatched = true,
             .parameters = parameters});
    }
    for (const bool turned : {false, true}) {
        nn::AttentionConfig options{.causal = true, .max_seq_len = max_seq_len, .bias = true};
        if (turned) options.num_kv_heads = 2, options.rotary_base = 100;
        const auto a = in_double(nn::Attention(C, H, rng, options));
        const auto call = [a](const Tensor& x, const Tensor&, const Tensor&, const Mask& mask) {
            return a(x, mask);
        };
        const auto weights = [a](const Tensor& x, const Tensor&, const Tensor&, const Mask& mask) {
            return a.with_weights(x, mask).output;
        };
        const auto cached = [a](const Tensor& x, const Tensor&, const Tensor&, const Mask& mask) {
            const NoGrad off;
            nn::KeyValueCache cache;
            return a(x, cache, mask);
        };
        const std::string name = turned ? "Attention, causal, grouped, rotary" : "Attention, causal";
        const std::vector<Tensor> parameters = a.parameters();
        add({.name = name, .run = call, .is_causal = true, .parameters = parameters});
        add({.name = name + ", with_weights", .run = weights, .is_causal = true, .parameters = parameters});
        add({.name = name + ", unbatched",
             .run = one(call),
             .is_causal = true,
             .is_unbatched = true,
             .parameters = parameters});
        add({.name = name + ", cached",
             .run = cached,
             .is_causal = true,
             .is_cached = true,
             .parameters = parameters});
    }
    const auto whole = in_double(nn::MultiHeadAttention(C, H, rng, {.bias = true}));
    const auto causal =
        in_double(nn::CausalMultiHeadAttention(C, H, rng, {.max_seq_len = max_seq_len, .bias = true}));
    const auto of_whole = [whole](const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
        return whole(q, k, v, mask);
    };
    const auto of_causal = [causal](const Tensor& x, const Tensor&, const Tensor&, const Mask& mask) {
        return causal(x, mask);
    };
    add({.name = "MultiHeadAttention, self", .run = of_whole, .parameters = whole.parameters()});
    add({.name = "MultiHeadAttention, cross",
         .run = of_whole,
         .is_cross = true,
         .parameters = whole.parameters()});
    add({.name = "MultiHeadAttention, with_weights",
         .run = [whole](const Tensor& q, const Tensor& k, const Tensor& v,
                        const Mask& mask) { return whole.with_weights(q, k, v, mask).output; },
         .is_cross = true,
         .parameters = whole.parameters()});
    add({.name = "MultiHeadAttention, unbatched",
         .run = one(of_whole),
         .is_unbatched = true,
         .parameters = whole.parameters()});
    add({.name = "CausalMultiHeadAttention",
         .run = of_causal,
         .is_causal = true,
         .parameters = causal.parameters()});
    add({.name = "CausalMultiHeadAttention, with_weights",
         .run = [causal](const Tensor& x, const Tensor&, const Tensor&,
                         const Mask& mask) { return causal.with_weights(x, mask).output; },
         .is_causal = true,
         .parameters = causal.parameters()});
    return forms;
}

inline const std::vector<Form>& forms() {
    static const std::vector<Form> all = all_forms();
    return all;
}

// Runs `test` on every form, on those of `kind` where given.
inline void for_each_form(const std::function<void(const Form&)>& test,
                          const std::function<bool(const Form&)>& kind = {}) {
    int ran = 0;
    for (const Form& form : forms())
        if (!kind || kind(form)) {
            INFO(form.name);
            test(form);
            ++ran;
        }
    CHECK(ran >= 4);
}

inline Tensor all_false(const Shape& shape) { return zeros(shape, boolean); }

}  // namespace attention_forms
