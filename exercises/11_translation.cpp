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
    return blank("cross with the one who asks first, then those who are asked, and a mask of padding");
}

// Teacher forcing. words: a sentence, without begin and end. given: begin and the words. says: the words and
// end.
struct Teacher {
    std::vector<std::int64_t> given, says;
};
Teacher teacher(const std::vector<std::int64_t>& words, std::int64_t begin, std::int64_t end) {
    return blank("both sentences, each one longer than words");
}

// Greedy decoding. logits_of takes ids (1, T) int64, begin first, and gives logits (1, T, V), at each place
// those of the word that comes next. Returns the words between begin and end, at most `longest` of them.
std::vector<std::int64_t> greedy(const std::function<Tensor(const Tensor&)>& logits_of, std::int64_t begin,
                                 std::int64_t end, std::int64_t longest) {
    return blank(
        "ask for the logits of all ids so far, take the likeliest at the last place, until end or longest");
}
