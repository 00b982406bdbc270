// Learns a byte pair encoding (Sennrich et al., 2016, algorithm 1), updating the pairs' counts with each merge.
#include <queue>

#include "text/byte_pairs.h"

namespace weft::text {

namespace {

using Model = BytePairs::Model;

struct Word {  // a distinct piece of the text
    Ids tokens;
    std::int64_t count;
};

struct Pair {
    std::int64_t count = 0;
    std::vector<std::size_t> words;  // that contain it, or did
};

struct Candidate {
    std::int64_t count;
    std::uint64_t key;
    // The top of the queue has the largest count, of equals the smallest ids.
    bool operator<(const Candidate& other) const {
        return count != other.count ? count < other.count : key > other.key;
    }
};

class Trainer {
public:
    Trainer(const std::string& text, Model& model) : model_(model) {
        std::unordered_map<std::string_view, std::size_t> index;
        for_each_piece(text, [&](std::string_view piece) {
            const auto [known, is_new] = index.try_emplace(piece, words_.size());
            if (is_new) words_.push_back({tokens_of(piece), 0});
            ++words_[known->second].count;
        });
        for (std::size_t w = 0; w < words_.size(); ++w)
            for (std::size_t i = 0; i + 1 < words_[w].tokens.size(); ++i)
                change(words_[w].tokens[i], words_[w].tokens[i + 1], words_[w].count, w);
        for (const auto& [key, pair] : pairs_) queue_.push({pair.count, key});
    }

    // Merges the most frequent pair; false if none occurs min_frequency times.
    bool merge_next(std::int64_t min_frequency) {
        while (!queue_.empty()) {
            const Candidate best = queue_.top();
            queue_.pop();
            const std::int64_t count = pairs_[best.key].count;
            if (count < min_frequency) continue;
            if (count == best.count) return merge(best.key), true;
            if (count < best.count) queue_.push({count, best.key});  // else a newer candidate is queued
        }
        return false;
    }

private:
    Model& model_;
    std::vector<Word> words_;
    std::unordered_map<std::uint64_t, Pair> pairs_;
    std::priority_queue<Candidate> queue_;
    std::vector<std::uint64_t> grown_;

    Ids tokens_of(std::string_view piece) const {
        Ids tokens;
        for (const char c : piece) tokens.push_back(model_.byte_ids[static_cast<unsigned char>(c)]);
        return tokens;
    }

    void change(std::int64_t left, std::int64_t right, std::int64_t by, std::size_t word) {
        const std::uint64_t key = pair_key(left, right);
        Pair& pair = pairs_[key];
        pair.count += by;
        if (by < 0) return;
        if (pair.words.empty() || pair.words.back() != word) pair.words.push_back(word);
        grown_.push_back(key);
    }

    void merge(std::uint64_t key) {
        const std::uint64_t left_id = key >> 32, right_id = key & 0xFFFFFFFF;
        const std::string piece = model_.pieces[left_id] + model_.pieces[right_id];
        if (!model_.ids.contains(piece)) model_.add_piece(piece);  // two pairs can make the same token
        const auto left = static_cast<std::int64_t>(left_id), right = static_cast<std::int64_t>(right_id);
        const std::int64_t result = model_.ids.at(piece);
        model_.add_merge({left, right, result});

        grown_.clear();
        const std::vector<std::size_t> words = std::move(pairs_[key].words);
        pairs_.erase(key);
        for (const std::size_t w : words) merge_in(w, left, right, result);
        pairs_.erase(key);
        for (const std::uint64_t other : grown_)
            if (const auto found = pairs_.find(other); found != pairs_.end())
                queue_.push({found->second.count, other});
    }

    void merge_in(std::size_t w, std::int64_t left, std::int64_t right, std::int64_t result) {
        Word& word = words_[w];
        Ids& old = word.tokens;
        std::size_t end = 0;  // one past the tokens that are final
        for (std::size_t i = 0; i < old.size(); ++i) {
            if (i + 1 == old.size() || old[i] != left || old[i + 1] != right) {
                old[end++] = old[i];
                continue;
            }
            if (end > 0) {
                change(old[end - 1], left, -word.count, w);
                change(old[end - 1], result, word.count, w);
            }
            if (i + 2 < old.size()) {
                change(right, old[i + 2], -word.count, w);
                change(result, old[i + 2], word.count, w);
            }
            old[end++] = result;
            ++i;
        }
        old.resize(end);
    }
};

}  // namespace

BytePairs BytePairs::train(const std::string& text, std::int64_t vocab_size, std::int64_t min_frequency) {
    if (vocab_size < 257)
        throw ValueError("BytePairs::train: vocab_size must be at least 257, the bytes and ", eos_token,
                         ", not ", vocab_size);
    if (min_frequency < 1)
        throw ValueError("BytePairs::train: min_frequency must be at least 1, not ", min_frequency);
    auto model = std::make_shared<Model>();
    for (const std::string& byte : single_bytes()) model->add_piece(byte);
    Trainer trainer(text, *model);
    while (static_cast<std::int64_t>(model->pieces.size()) < vocab_size - 1 &&
           trainer.merge_next(min_frequency)) {
    }
    model->add_piece(eos_token);
    model->special.push_back(eos_token);
    return BytePairs(std::move(model));
}

}  // namespace weft::text
