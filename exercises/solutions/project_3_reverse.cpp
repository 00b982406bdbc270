// Project 3, after chapters 9 to 13: a model of attention that reads digits and writes them in reverse.
//
//     make exercise PROJECT=3          runs the acceptance tests; make hint PROJECT=3 helps
//
//     reads   3 1 4 1 5 · · ·        writes   5 1 4 1 3 at the first five positions
//
// The sentences of a batch have 2 to 8 digits, and are padded to 8. The model gets the ids (B, 8) and the
// lengths, and returns logits (B, 8, 10): at position t, those of the digit at position length − 1 − t. What
// it returns from position `length` on does not matter. You draw your own training data: random digits of
// random lengths.
//
// Attention is all it takes; one layer with one head can do it. But attention by itself knows nothing about
// positions: to it a sentence is a bag of digits. Think before you train: query t has to find the key at
// position length − 1 − t. What must the vector of a token say about its position so that this pair has a
// large score, for every length? A table for the position from the start is not enough for a single layer; you
// may add what you like to the embeddings.
//
// The model must
//
//   - be right for at least 99 of 100 digits of new sentences, of every length from 2 to 8;
//   - not depend on the digits in the padding;
//   - treat each sentence of a batch as if it were alone;
//   - train in less than a minute.
//
// When the tests pass, look at the weights of the head: each query should attend to one key. Then let it sort
// the digits instead. What has to change?
#include "exercise.h"

// ids int64 (B, 8), lengths of the B sentences → logits (B, 8, 10), not in the graph.
using Reverser = std::function<Tensor(const Tensor& ids, const std::vector<std::int64_t>& lengths)>;

namespace {

constexpr std::int64_t longest = 8, C = 48;

struct Attender : nn::Module {
    nn::Embedding digit = register_module("digit", nn::Embedding(10, C));
    nn::Embedding first = register_module("first", nn::Embedding(longest, C));  // the position from the start
    nn::Embedding last = register_module("last", nn::Embedding(longest, C));    // and from the end
    nn::MultiHeadAttention attention = register_module("attention", nn::MultiHeadAttention(C, 1));
    nn::Linear head = register_module("head", nn::Linear(C, 10));

    Tensor operator()(const Tensor& ids, const std::vector<std::int64_t>& lengths) const {
        const Tensor t = arange(longest);                                                       // (T,)
        const Tensor length = from_vector(lengths, {std::ssize(lengths), 1});                   // (B, 1)
        const Tensor from_end = length - 1 - t;                                                 // (B, T)
        const Tensor x = digit(ids) + first(t) + last(masked_fill(from_end, from_end < 0, 0));  // (B, T, C)
        return head(attention(x, x, x, Mask::padding(lengths)));                                // (B, T, 10)
    }
};

}  // namespace

// Trains a model; `seed` decides on its initial values and its training data.
Reverser train_reverser(std::uint64_t seed) {
    manual_seed(seed);
    auto model = std::make_shared<Attender>();
    optim::Adam optimizer(*model, {.lr = 0.003});
    constexpr std::int64_t B = 64;
    for (int step = 0; step < 1000; ++step) {
        const Tensor ids = randint(0, 10, {B, longest});
        const std::vector<std::int64_t> lengths = randint(2, longest + 1, {B}).to_vector<std::int64_t>();
        std::vector<std::int64_t> targets;  // −100 after the length
        for (std::int64_t b = 0; b < B; ++b)
            for (std::int64_t t = 0; t < longest; ++t) {
                const std::int64_t from = lengths[static_cast<std::size_t>(b)] - 1 - t;
                targets.push_back(from < 0 ? -100 : static_cast<std::int64_t>(ids.at(b, from)));
            }
        optimizer.zero_grad();
        cross_entropy((*model)(ids, lengths), from_vector(targets, {B, longest})).backward();
        optimizer.step();
    }
    return [model](const Tensor& ids, const std::vector<std::int64_t>& lengths) {
        const NoGrad off;
        return (*model)(ids, lengths);
    };
}
