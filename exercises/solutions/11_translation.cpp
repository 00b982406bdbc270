// Exercise of chapter 11: cross-attention, teacher forcing and greedy decoding.
//
//     make exercise N=11
//
// Write each function in place of its blank. B samples, T words written, S words read, C = d_model, V words in
// all.
#include <functional>

#include "exercise.h"

// What the writer x (B, T, C) finds in the memory (B, S, C) of the reader, of which lengths[b] words are real
// in sample b and the rest is padding → (B, T, C). Call cross(query, key, value, mask).
Tensor look_back(const nn::MultiHeadAttention& cross, const Tensor& x, const Tensor& memory,
                 const std::vector<std::int64_t>& lengths) {
    return cross(x, memory, memory, Mask::padding(lengths));
}

// Teacher forcing. words: a sentence, without begin and end. given: begin and the words. says: the words and
// end.
struct Teacher {
    std::vector<std::int64_t> given, says;
};
Teacher teacher(const std::vector<std::int64_t>& words, std::int64_t begin, std::int64_t end) {
    Teacher t{words, words};
    t.given.insert(t.given.begin(), begin);
    t.says.push_back(end);
    return t;
}

// Greedy decoding. logits_of takes ids (1, T) int64, begin first, and gives logits (1, T, V), at each place
// those of the word that comes next. Returns the words between begin and end, at most `longest` of them.
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
