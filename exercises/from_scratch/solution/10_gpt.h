// Step 10: a GPT. B batch, T tokens, C channels, V size of the vocabulary.
#pragma once

#include "09_attention.h"

// Each row to mean 0 and variance 1, then times weight plus bias: (…, C) → (…, C).
struct LayerNorm : Module {
    Tensor weight, bias;  // (C)
    explicit LayerNorm(Index C)
        : weight(register_parameter("weight", Array::full({C}, 1))),
          bias(register_parameter("bias", Array::full({C}, 0))) {}
    Tensor operator()(const Tensor& x) const {
        const Tensor centred = x - mean_last(x);                 // (…, C)
        const Tensor variance = mean_last(centred * centred);    // (…, 1)
        return centred / sqrt(variance + 1e-5) * weight + bias;  // (…, C)
    }
};

inline Tensor gelu(const Tensor& x) {  // ½x (1 + tanh(√(2/π) (x + 0.044715 x³))), as in GPT-2
    const Tensor inner = std::sqrt(2 / pi) * (x + 0.044715 * x * x * x);
    return 0.5 * x * (1 + tanh(inner));
}

struct Block : Module {
    LayerNorm norm1;
    CausalMultiHeadAttention attn;
    LayerNorm norm2;
    Linear W_in, W_out;  // C → 4C → C: the MLP
    Block(Index C, Index H, Random& random)
        : norm1(register_module("norm1", LayerNorm(C))),
          attn(register_module("attn", CausalMultiHeadAttention(C, H, random))),
          norm2(register_module("norm2", LayerNorm(C))),
          W_in(register_module("mlp.W_in", Linear(C, 4 * C, random))),
          W_out(register_module("mlp.W_out", Linear(4 * C, C, random))) {}
    Tensor operator()(const Tensor& x) const {   // (B, T, C)
        const Tensor h = x + attn(norm1(x));     // (B, T, C): attention moves information between tokens
        return h + W_out(gelu(W_in(norm2(h))));  // (B, T, C): the MLP works on each token alone
    }
};

struct GPTConfig {
    Index vocab_size, block_size = 32, num_layers = 2, num_heads = 4, d_model = 32;
};

struct GPT : Module {
    GPTConfig config;
    Tensor token_embedding;     // (V, C); the head multiplies by it too
    Tensor position_embedding;  // (block_size, C)
    std::vector<Block> blocks;
    LayerNorm norm;
    GPT(const GPTConfig& c, Random& random)
        : config(c),
          token_embedding(
              register_parameter("token_embedding.weight", normal({c.vocab_size, c.d_model}, 0.02, random))),
          position_embedding(
              register_parameter("position_embedding.weight", normal({c.block_size, c.d_model}, 0.02, random))),
          norm(c.d_model) {
        for (Index l = 0; l < c.num_layers; ++l)
            blocks.push_back(
                register_module("blocks." + std::to_string(l), Block(c.d_model, c.num_heads, random)));
        register_module("norm", norm);
    }
    Tensor operator()(const std::vector<Index>& ids, Index B) const {  // B rows of T ids, one after the other
        const Index T = static_cast<Index>(ids.size()) / B, C = config.d_model;
        const Tensor tokens = reshape(index_select(token_embedding, ids), {B, T, C});  // (B, T, C)
        Tensor x = tokens + slice(position_embedding, 0, 0, T);                        // (B, T, C)
        for (const Block& block : blocks) x = block(x);                                // (B, T, C)
        return matmul(norm(x), transpose(token_embedding, 0, 1));                      // (B, T, V)
    }
};
