// Exercises of chapter 20: weights in GPT-2's layout, byte pairs, and how fast a model can write.
//
//     make exercise N=20          tries what you wrote; make hint N=20 helps
//
// Our solutions. The tasks are numbered as on the page. C = d_model, L layers, T tokens.
#include <map>

#include "exercise.h"

// 1. Predict. Byte pairs are learned from "aaaa", with a single merge. How many tokens has "aaaaa" then?
inline double tokens_of_five() {
    const text::BytePairs learned =
        text::BytePairs::train("aaaa", 256 + 1 + 1, 1);  // bytes, a merge, end of text
    return static_cast<double>(learned.encode("aaaaa").size());
}
double prediction_of_tokens() { return 3; }

// 2. Predict. In "cabcab" the pairs ca and ab are equally frequent. Which is merged first: "ca" or "ab"?
inline std::string first_merge() { return text::BytePairs::train("cabcab", 256 + 1 + 1, 1).piece(256); }
std::string prediction_of_merge() { return "ab"; }

struct Projections {
    Tensor W_q, W_k, W_v, W_out;  // (C, C) each, as linear(x, W) takes them: x Wᵀ
};

// 3. Mend. The weights of one attention layer, from GPT-2's: c_attn (C, 3C) has those of q, k and v side by
// side, in this order, and c_proj (C, C) those of the output. GPT-2's layers compute x W. Every shape is right.
Projections attention_weights(const Tensor& c_attn, const Tensor& c_proj) {
    const std::int64_t C = c_attn.size(0);
    const Tensor W = c_attn.T();  // (3C, C)
    return {W.slice(0, 0, C), W.slice(0, C, 2 * C), W.slice(0, 2 * C, 3 * C), c_proj.T()};
}

// 4. Write. One step of learning byte pairs, on the ids of one piece of text: the most frequent pair of
// neighbours becomes new_id wherever it occurs, from the left, and no id is used twice. Of equally frequent
// pairs it is the one with the smaller left id, and of those the one with the smaller right id, as in the
// library. Fewer than two ids stay as they are.
//     (7 5 7 5 9), new_id 256 → (256 256 9);  (3 3 3) → (256 3)
std::vector<std::int64_t> merge_step(const std::vector<std::int64_t>& ids, std::int64_t new_id) {
    std::map<std::pair<std::int64_t, std::int64_t>, int> counts;  // in the order of left, then right
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) ++counts[{ids[i], ids[i + 1]}];
    std::pair<std::int64_t, std::int64_t> best;
    int most = 0;
    for (const auto& [pair, count] : counts)
        if (count > most) most = count, best = pair;
    std::vector<std::int64_t> merged;
    for (std::size_t i = 0; i < ids.size(); ++i)
        if (i + 1 < ids.size() && ids[i] == best.first && ids[i + 1] == best.second)
            merged.push_back(new_id), ++i;
        else
            merged.push_back(ids[i]);
    return merged;
}

struct Merge {
    std::int64_t left, right, result;  // ids
};

// 5. Write. The ids of one piece of text after all merges, which are in the order in which they were learned:
// as long as some learned pair occurs, the one that was learned first is merged wherever it occurs, from the
// left.
std::vector<std::int64_t> encode(std::vector<std::int64_t> ids, const std::vector<Merge>& merges) {
    while (true) {
        const Merge* next = nullptr;
        for (const Merge& merge : merges) {
            for (std::size_t i = 0; i + 1 < ids.size() && next == nullptr; ++i)
                if (ids[i] == merge.left && ids[i + 1] == merge.right) next = &merge;
            if (next != nullptr) break;
        }
        if (next == nullptr) return ids;
        std::vector<std::int64_t> merged;
        for (std::size_t i = 0; i < ids.size(); ++i)
            if (i + 1 < ids.size() && ids[i] == next->left && ids[i + 1] == next->right)
                merged.push_back(next->result), ++i;
            else
                merged.push_back(ids[i]);
        ids = merged;
    }
}

struct Sizes {
    std::int64_t parameters, layers, d_model;
};

// 6. Write. The most tokens that a model can write in a second, where memory gives `bytes_per_second` and
// nothing else takes time: for each token it reads all its parameters and, in each layer, the keys and the
// values of the T earlier tokens. All of these numbers take `bytes_per_number`.
//     {124439808, 12, 768}, T = 0, 4, 30e9 → 60.27
double most_tokens_per_second(const Sizes& model, std::int64_t T, double bytes_per_number,
                              double bytes_per_second) {
    const std::int64_t numbers = model.parameters + 2 * model.layers * T * model.d_model;
    return bytes_per_second / (bytes_per_number * static_cast<double>(numbers));
}

// 7. Paper. GPT-2 small has 124,439,808 parameters, 12 layers and C = 768. Enter, in MiB (2²⁰ bytes) and to one
// decimal, the memory of its parameters in float32, and that of its cache of keys and values for 1024 tokens in
// float32.
std::vector<double> memory_on_paper() { return {474.7, 72}; }
