// Products and the functions of neural networks, which have fused kernels.
#include "op_table.h"

using namespace weft;
using enum Gradient;

namespace {

Tensor attend(In x, const Mask& mask = {}, const Tensor& bias = {}) {
    AttentionOptions options;
    options.mask = mask;
    options.bias = bias;
    return scaled_dot_product_attention(x[0], x[1], x[2], options);
}

AttentionResult attend_with_weights(In x, const Mask& mask = {}) {
    AttentionOptions options;
    options.mask = mask;
    return scaled_dot_product_attention_with_weights(x[0], x[1], x[2], options);
}

// Attention from q, k and v (B, H, T, d) packed into one (B, T, 3·H·d), and its result taken apart again.
Tensor attend_packed(In x, const Mask& mask) {
    const std::int64_t B = x[0].size(0), H = x[0].size(1), T = x[0].size(2), d = x[0].size(3);
    const auto merged = [&](const Tensor& t) { return t.permute({0, 2, 1, 3}).reshape({B, T, H * d}); };
    const Tensor qkv = cat({merged(x[0]), merged(x[1]), merged(x[2])}, -1);
    return multi_head_attention(qkv, H, {.mask = mask}).reshape({B, T, H, d}).permute({0, 2, 1, 3});
}

}  // namespace

std::vector<OpEntry> function_ops() {
    const auto product = [](In x) { return matmul(x[0], x[1]); };
    std::vector<OpEntry> rows;
    for (const std::string sample :
         {"matrices", "vectors", "matrix_vector", "vector_matrix", "batched", "broadcast", "shared_right",
          "shared_left", "batched_vector", "vector_batched"})
        rows.push_back({"matmul(Tensor, Tensor)", "matmul." + sample, twice, product});
    const std::string sdpa = "scaled_dot_product_attention(Tensor, Tensor, Tensor, AttentionOptions)";
    const std::string weights =
        "scaled_dot_product_attention_with_weights(Tensor, Tensor, Tensor, AttentionOptions)";
    const std::vector<OpEntry> others = {
        {"matmul(Tensor, Tensor)", "matmul.transposed", twice,
         [](In x) { return matmul(x[0].transpose(-2, -1), x[1]); }},

        {"linear(Tensor, Tensor, Tensor)", "linear.batched", twice,
         [](In x) { return linear(x[0], x[1], x[2]); }},
        {"linear(Tensor, Tensor, Tensor)", "linear.no_bias", twice, [](In x) { return linear(x[0], x[1]); }},
        {"linear(Tensor, Tensor, Tensor)", "linear.vector", twice,
         [](In x) { return linear(x[0], x[1], x[2]); }},
        {"layer_norm(Tensor, Tensor, Tensor, double)", "layer_norm.full", twice,
         [](In x) { return layer_norm(x[0], x[1], x[2]); }},
        {"layer_norm(Tensor, Tensor, Tensor, double)", "layer_norm.weight", twice,
         [](In x) { return layer_norm(x[0], x[1]); }},
        {"layer_norm(Tensor, Tensor, Tensor, double)", "layer_norm.plain", twice,
         [](In x) { return layer_norm(x[0], {}, {}, 1e-3); }},
        {"rms_norm(Tensor, Tensor, optional<double>)", "rms_norm.weight", twice,
         [](In x) { return rms_norm(x[0], x[1]); }},
        {"rms_norm(Tensor, Tensor, optional<double>)", "rms_norm.plain", twice,
         [](In x) { return rms_norm(x[0], {}, 1e-3); }},
        {"rotary(Tensor, RotaryTable)", "rotary.neighbours", twice,
         [](In x) {
             return rotary(x[0], {x[1], x[2], RotaryPairs::neighbours});
         }},
        {"rotary(Tensor, RotaryTable)", "rotary.halves", twice,
         [](In x) {
             return rotary(x[0], {x[1], x[2], RotaryPairs::halves});
         }},
        {"dropout(Tensor, double, bool)", "dropout.evaluation", twice,
         [](In x) { return dropout(x[0], 0.5, false); }},
        {"dropout(Tensor, double, Rng, bool)", "dropout.evaluation", twice,
         [](In x) {
             Rng rng(1);
             return dropout(x[0], 0.5, rng, false);
         }},
        {"dropout(Tensor, double, Rng, bool)", "dropout.evaluation", twice,
         [](In x) {
             Rng rng(1);  // the same draw at every call, so that differences apply
             return dropout(x[0], 0.5, rng);
         },
         false},

        {sdpa, "attention.plain", twice, [](In x) { return attend(x); }},
        {sdpa, "attention.causal", twice, [](In x) { return attend(x, Mask::causal()); }},
        {sdpa, "attention.cross", twice, [](In x) { return attend(x); }},
        {sdpa, "attention.scale", twice,
         [](In x) {
             AttentionOptions options;
             options.scale = 0.3;
             return scaled_dot_product_attention(x[0], x[1], x[2], options);
         }},
        {sdpa, "attention.rank2", twice, [](In x) { return attend(x); }},
        {sdpa, "attention.rank3", twice, [](In x) { return attend(x); }},
        {sdpa, "attention.cached", twice, [](In x) { return attend(x, Mask::causal()); }},
        {sdpa, "attention.few_keys", twice, [](In x) { return attend(x, Mask::causal()); }},
        {sdpa, "attention.blocked", twice, [](In x) { return attend(x, Mask::blocked(x[3])); }},
        {sdpa, "attention.allowed", twice, [](In x) { return attend(x, Mask::allowed(x[3])); }},
        {sdpa, "attention.per_sample", twice, [](In x) { return attend(x, Mask::blocked(x[3])); }},
        {sdpa, "attention.padding_causal", twice,
         [](In x) {
             return attend(x, Mask::padding({5, 2}) | Mask::causal());
         }},
        {sdpa, "attention.padding_causal", twice,
         [](In x) {
             return attend(x, Mask::keys(arange(5) < tensor({{5}, {2}}, int64)) | Mask::causal());
         }},
        {sdpa, "attention.no_keys_left", twice,
         [](In x) {
             const std::int64_t T = x[0].rank() < 2 ? 5 : x[0].size(-2);  // attention names what is no query
             return attend(x, Mask::documents(arange(T)) | Mask::blocked(eye(T) == 1));
         }},
        {sdpa, "attention.no_keys_left", twice,
         [](In x) {
             return attend(x, Mask::padding({0, 0}));
         }},
        {sdpa, "attention.bias", twice, [](In x) { return attend(x, {}, x[3]); }},
        {sdpa, "attention.bias_causal", twice, [](In x) { return attend(x, Mask::causal(), x[3]); }},
        {sdpa, "attention.plain", twice,
         [](In x) {
             Rng rng(3);
             AttentionOptions options;
             options.dropout = 0.4;
             options.rng = &rng;
             return scaled_dot_product_attention(x[0], x[1], x[2], options);
         },
         false},
        {"multi_head_attention(Tensor, HeadSizes, AttentionOptions)", "attention.causal", twice,
         [](In x) { return attend_packed(x, Mask::causal()); }},
        {"multi_head_attention(Tensor, HeadSizes, AttentionOptions)", "attention.plain", twice,
         [](In x) { return attend_packed(x, {}); }},
        {weights, "attention_weights.plain", twice, [](In x) { return attend_with_weights(x); }},
        {weights, "attention_weights.causal", twice,
         [](In x) { return attend_with_weights(x, Mask::causal()); }},
        {weights, "attention_weights.blocked", twice,
         [](In x) { return attend_with_weights(x, Mask::blocked(x[3])); }},
    };
    rows.insert(rows.end(), others.begin(), others.end());
    return rows;
}
