// Exercises of chapter 13: cross-attention, batches of sentences, teacher forcing and greedy decoding.
//
//     make exercise N=13          tries what you wrote; make hint N=13 helps
//
// Our solutions. The tasks are numbered as on the page. B samples, T tokens written, S tokens read,
// C = d_model, V tokens in the vocabulary.
#include <functional>

#include "exercise.h"

// 1. Predict. The shape of the weights of cross-attention with 2 heads, as {…}.
inline Shape shape_of_cross_weights() {
    Rng rng(11);
    const nn::MultiHeadAttention cross(8, 2, rng);
    const Tensor x = zeros({4, 3, 8}), memory = zeros({4, 5, 8});  // (B, T, C), (B, S, C)
    return cross.with_weights(x, memory, memory).weights.shape();
}
Shape prediction_of_weights() { return {4, 2, 3, 5}; }

// 2. Predict. Four targets, three of which are padding; the logits of all 8 classes are equal. The loss, to two
// decimals.
inline double loss_with_padding() {
    return cross_entropy(zeros({4, 8}, float64), tensor({5, -100, -100, -100}, int64)).item();
}
double prediction_of_loss() { return 2.08; }

// 3. Mend. The decoder's x (B, T, C) attends to memory (B, S, C), of which lengths[b] tokens are real in sample
// b and the rest is padding → (B, T, C). It is right while all sentences are equally long.
Tensor look_back(const nn::MultiHeadAttention& cross, const Tensor& x, const Tensor& memory,
                 const std::vector<std::int64_t>& lengths) {
    return cross(x, memory, memory, Mask::padding(lengths));
}

struct Padded {
    Tensor ids;                         // int64 (B, S)
    std::vector<std::int64_t> lengths;  // of the B sentences
};

// 4. Write. A batch of sentences of different lengths: S is the length of the longest, and `filler` follows the
// shorter ones. ValueError if there is no sentence at all.
//     {{7, 5, 9}, {8}}, filler 0 → ids {{7, 5, 9}, {8, 0, 0}}, lengths {3, 1}
Padded pad_sentences(const std::vector<std::vector<std::int64_t>>& sentences, std::int64_t filler) {
    if (sentences.empty()) throw ValueError("pad_sentences: there is no sentence");
    std::size_t S = 0;
    Padded result;
    for (const auto& sentence : sentences) {
        S = std::max(S, sentence.size());
        result.lengths.push_back(std::ssize(sentence));
    }
    std::vector<std::int64_t> ids;
    for (std::vector<std::int64_t> row : sentences) {
        row.resize(S, filler);
        ids.insert(ids.end(), row.begin(), row.end());
    }
    result.ids = from_vector(ids, {std::ssize(sentences), static_cast<std::int64_t>(S)});
    return result;
}

struct Teacher {
    std::vector<std::int64_t> given, says;  // of equal length
};

// 5. Write. Teacher forcing: what the decoder is given and what it must say at each position, for a sentence
// whose words do not include `begin` and `end`.
Teacher teacher(const std::vector<std::int64_t>& words, std::int64_t begin, std::int64_t end) {
    Teacher t{words, words};
    t.given.insert(t.given.begin(), begin);
    t.says.push_back(end);
    return t;
}

// 6. Write. Greedy decoding. logits_of takes ids int64 (1, T), which start with `begin`, and returns logits
// (1, T, V): those at position t are of the token after ids[t]. Returns the words between begin and end, at
// most `longest` of them.
std::vector<std::int64_t> greedy(const std::function<Tensor(const Tensor&)>& logits_of, std::int64_t begin,
                                 std::int64_t end, std::int64_t longest) {
    std::vector<std::int64_t> ids{begin};
    while (std::ssize(ids) <= longest) {
        const Tensor logits = logits_of(from_vector(ids, {1, std::ssize(ids)}));  // (1, T, V)
        const Tensor last = logits.select(1, -1);                                 // (1, V)
        const auto next = static_cast<std::int64_t>(argmax(last, -1).item());
        if (next == end) break;
        ids.push_back(next);
    }
    return {ids.begin() + 1, ids.end()};
}

// 7. Paper. A decoder starts a sentence of two words with A (probability 0.6) or with B (0.4). After A it says
// C or D, with 0.5 each; after B it says C with 0.9 and D with 0.1. Enter the probability of the sentence that
// greedy decoding writes, and that of the likeliest sentence.
std::vector<double> probabilities_on_paper() { return {0.3, 0.36}; }
