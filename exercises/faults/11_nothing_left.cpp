// Fault 11. Nothing left: it has learned to answer. It has not learned to say that it was not told.
//
//     make fault N=11            runs this file and judges it; HINT=1 helps, CHECK=1 asks check::
//
// B questions in a batch, S facts in the longest list, C width, V words.
#include "fault.h"

constexpr std::int64_t B = 4, S = 4, C = 16, V = 8;

// eˣ / Σ eˣ along the last axis, without overflow.
Tensor probabilities(const Tensor& x) {
    const Tensor powers = exp(x - max(x, -1, true).values);
    return powers / powers.sum(-1, true);
}

// Attention of a question to its facts: q (B, 1, C), k and v (B, S, C), blocked (B, 1, S) → (B, 1, C).
Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& blocked) {
    const Tensor scores = matmul(q, k.transpose(-2, -1)) / std::sqrt(C);            // (B, 1, S)
    const Tensor weights = probabilities(masked_fill(scores, blocked, -infinity));  // (B, 1, S)
    return matmul(weights, v);                                                      // (B, 1, C)
}

// Facts are pairs of a word and its answer. The last answer, V − 1, is "I was not told".
struct Reader : nn::Module {
    nn::Embedding words = register_module("words", nn::Embedding(V, C));
    nn::Embedding answers = register_module("answers", nn::Embedding(V, C));
    nn::Linear head = register_module("head", nn::Linear(C, V));
    Reader() { to(float64); }
    Tensor operator()(const Tensor& asked, const Tensor& told, const Tensor& answer,
                      const Tensor& blocked) const {
        return head(attend(words(asked), words(told), answers(answer), blocked)).squeeze(1);  // (B, V)
    }
};

// Questions, with the list of facts of each; the first fact answers the question, if there is one.
struct Questions {
    Tensor told, answers, blocked, targets;  // (B, S), (B, S), (B, 1, S), (B,)
    explicit Questions(Rng& rng, int longest = 20) {
        told = argsort(rand({B, V}, rng), 1).slice(1, 0, S);      // no word twice
        answers = randint(0, V - 1, {B, S}, rng);                 // never V − 1
        const Tensor lengths = randint(0, longest, {B, 1}, rng);  // those above S count as S
        blocked = (arange(S) >= lengths).unsqueeze(1);
        targets = where(lengths.squeeze(1) == 0, V - 1, answers.select(1, 0));
    }
};

void program(std::uint64_t seed) {
    manual_seed(seed);
    Rng& rng = default_rng();
    const Reader model;
    const std::vector<double> losses = train(model.parameters(), 600, 1e-2, [&](int) {
        const Questions all(rng);
        return cross_entropy(model(all.told.slice(1, 0, 1), all.told, all.answers, all.blocked), all.targets);
    });
    draw({{'o', "loss", losses}});
    const Questions empty(rng, 1);
    const NoGrad off;
    const Tensor p = softmax(model(empty.told.slice(1, 0, 1), empty.told, empty.answers, empty.blocked)[0], -1);
    std::printf("\nwithout a fact, \"I was not told\" has the probability %.3f\n", std::abs(p.at(V - 1)));
}
