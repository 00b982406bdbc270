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

// Trains a model; `seed` decides on its initial values and its training data.
Reverser train_reverser(std::uint64_t seed) { return blank(); }
