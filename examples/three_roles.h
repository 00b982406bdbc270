// One attention layer with three heads must answer three questions about each token: which letter does the
// previous token have, which the first token, and which the earlier token with the same role?
// For specialised_heads.
//
// n sequences, T tokens, V letters, R roles, H heads, C = d_model = V + R + T: the one-hot vectors of a token's
// letter, its role and its position.
#pragma once

#include <weft/weft.h>

namespace three_roles {

using namespace weft;

constexpr std::int64_t T = 10, V = 6, R = 5, C = V + R + T, questions = 3;
constexpr std::int64_t nothing = -100;  // cross_entropy's ignore_index: a question without an answer
constexpr const char* question_names[questions] = {"previous", "first", "match"};

struct Sequences {
    Tensor letters, roles;  // (n, T); each role occurs twice, so five tokens of ten have a match
    Tensor keys;            // (n, T, 3): the token that each question asks for; 0 if there is none
    Tensor targets;         // (n, T, 3): the letter of that token, or `nothing`
    std::int64_t size() const { return letters.size(0); }
};

inline Sequences sequences(std::int64_t n, Rng& rng) {
    const Tensor letters = randint(0, V, {n, T}, rng);
    const Tensor order = rand({n, T}, rng).sort(1).indices;   // (n, T): each row a permutation of 0 … 9
    const Tensor roles = where(order < R, order, order - R);  // (n, T)
    const Tensor t = arange(T).expand({n, T});
    // earlier[b, t, s]: s < t, and both have the same role
    const Tensor earlier = tril((roles.unsqueeze(2) == roles.unsqueeze(1)).to(int64), -1);  // (n, T, T)
    const Tensor keys = stack({where(t > 0, t - 1, t), zeros({n, T}, int64), earlier.argmax(2)}, 2);
    const Tensor asked = stack({t > 0, t > 0, earlier.sum(2) > 0}, 2);  // (n, T, 3)
    const Tensor found = letters.gather(1, keys.reshape(n, T * questions)).reshape(n, T, questions);
    return {letters, roles, keys, where(asked, found, full({n, T, questions}, nothing, int64))};
}

struct ThreeQuestions : nn::Module {
    std::int64_t num_heads;
    nn::CausalMultiHeadAttention attention =
        register_module("attention", nn::CausalMultiHeadAttention(C, num_heads, {.max_seq_len = T}));
    nn::Linear answers =
        register_module("answers", nn::Linear(C, questions* V));  // C → 3V: three letters' logits

    explicit ThreeQuestions(std::int64_t num_heads) : num_heads(num_heads) { to(float64); }

    Tensor operator()(const Sequences& batch) const {
        const std::int64_t n = batch.size();
        const Tensor positions = eye(T, float64).expand({n, T, T});
        const Tensor x =
            cat({one_hot(batch.letters, V).to(float64), one_hot(batch.roles, R).to(float64), positions}, -1);
        return answers(attention(x)).reshape(n, T, questions, V);  // (n, T, C) → (n, T, 3V) → (n, T, 3, V)
    }
};

inline ThreeQuestions trained(std::int64_t num_heads, std::uint64_t seed) {
    manual_seed(seed);
    ThreeQuestions model(num_heads);
    optim::AdamW optimizer(model, {.lr = 1e-2, .weight_decay = 0});
    const auto loss_of_a_batch = [&] {
        const Sequences batch = sequences(32, default_rng());
        return cross_entropy(model(batch), batch.targets);
    };
    training::minimise(optimizer, 1000, loss_of_a_batch, {.print_every = 0});
    return model;
}

struct Findings {
    Tensor accuracy;  // (3,): of each question
    Tensor weights;   // (n, H, T, T)
    // (H, 3): the mean weight of a head on the token that a question asks for, over the tokens for which the
    // three questions ask for three different tokens
    Tensor shares;
};

inline Findings examine(const ThreeQuestions& model, const Sequences& batch) {
    const NoGrad off;
    const std::int64_t n = batch.size();
    Tensor logits;  // (n, T, 3, V)
    const Tensor weights =
        viz::attention_weights([&](const Tensor&) { return logits = model(batch); }, batch.letters)[0];
    const Tensor asked = batch.targets != nothing, right = logits.argmax(-1) == batch.targets;  // (n, T, 3)

    const Tensor previous = batch.keys.select(2, 0), first = batch.keys.select(2, 1),
                 match = batch.keys.select(2, 2);  // (n, T)
    const Tensor apart = asked.select(2, 2) && previous != first && previous != match && first != match;
    std::vector<Tensor> shares;
    for (const Tensor& keys : {previous, first, match}) {
        const std::int64_t H = weights.size(1);
        const Tensor index = keys.reshape(n, 1, T, 1).expand(n, H, T, 1);
        const Tensor given = weights.gather(3, index).squeeze(3).transpose(1, 2);  // (n, T, H)
        shares.push_back(given[apart].mean(0));                                    // (H,)
    }
    return {right.to(float32).sum({0, 1}) / asked.to(float32).sum({0, 1}), weights, stack(shares, 1)};
}

// Whether each of three heads gives more than half of its weight to one question, and each to another.
inline bool one_each(const Findings& found) {
    const Tensor most = found.shares > 0.5;  // (3, 3)
    return all(most.to(int64).sum(0) == 1) && all(most.to(int64).sum(1) == 1);
}

// One sequence's tokens as letter and role: "a1".
inline std::vector<std::string> labels(const Sequences& batch, std::int64_t sample) {
    std::vector<std::string> tokens;
    for (std::int64_t t = 0; t < T; ++t)
        tokens.push_back(
            std::string(1, static_cast<char>('a' + static_cast<int>(batch.letters.at(sample, t)))) +
            std::to_string(1 + static_cast<int>(batch.roles.at(sample, t))));
    return tokens;
}

}  // namespace three_roles
