// Byte pair merging, as every tokeniser of the library does it.
#pragma once

#include <optional>
#include <queue>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/text/tokenizer.h"

namespace weft::text {

// Merges the neighbours of the lowest rank, the leftmost of equals, until no pair has a rank: n symbols in
// n log n steps.
class Merger {
public:
    struct Symbol {
        std::int64_t id;
        std::size_t begin, length;     // its bytes; length 0: merged into its left neighbour
        std::int64_t left, right = 0;  // positions of its neighbours, −1 if there is none
    };
    struct Merge {
        std::int64_t rank, result;  // result: the id of the new symbol
    };

    void clear() { symbols_.clear(); }
    void add(std::int64_t id, std::size_t begin, std::size_t length) {
        const auto n = static_cast<std::int64_t>(symbols_.size());
        symbols_.push_back({id, begin, length, n - 1, n + 1});
    }

    // find(left, right) is the std::optional<Merge> of two neighbours; visit(symbol) gets what is left.
    template <class Find, class Visit>
    void run(const Find& find, const Visit& visit) {
        if (symbols_.empty()) return;
        symbols_.back().right = -1;
        const auto push = [&](std::int64_t at) {
            if (at < 0 || symbol(at).right < 0) return;
            const Symbol &left = symbol(at), &right = symbol(left.right);
            if (const std::optional<Merge> merge = find(left, right))
                queue_.push({merge->rank, merge->result, at, left.length + right.length});
        };
        for (std::size_t i = 0; i + 1 < symbols_.size(); ++i) push(static_cast<std::int64_t>(i));
        while (!queue_.empty()) {
            const Candidate best = queue_.top();
            queue_.pop();
            Symbol& left = symbol(best.at);
            if (left.length == 0 || left.right < 0) continue;
            Symbol& right = symbol(left.right);
            if (left.length + right.length != best.length) continue;  // merged since it was pushed
            left.id = best.result;
            left.length = best.length;
            left.right = right.right;
            right.length = 0;
            if (left.right >= 0) symbol(left.right).left = best.at;
            push(left.left);
            push(best.at);
        }
        for (std::int64_t i = 0; i >= 0; i = symbol(i).right) visit(symbol(i));
    }

private:
    struct Candidate {
        std::int64_t rank, result, at;
        std::size_t length;                             // of both symbols when it was pushed
        bool operator<(const Candidate& other) const {  // the top of the queue has the lowest rank
            return rank != other.rank ? rank > other.rank : at > other.at;
        }
    };

    std::vector<Symbol> symbols_;
    std::priority_queue<Candidate> queue_;

    Symbol& symbol(std::int64_t at) { return symbols_[static_cast<std::size_t>(at)]; }
};

// Remembers the ids of each distinct piece of a text: where in `ids` they are. The pieces must outlive it.
class PieceCache {
public:
    explicit PieceCache(Ids& ids) : ids_(ids) {}

    template <class Encode>
    void append(std::string_view piece, const Encode& encode) {
        const auto [known, is_new] = seen_.try_emplace(piece, IdRange{ids_.size(), 0});
        if (is_new) {
            encode(piece);
            known->second.count = ids_.size() - known->second.begin;
        } else {
            const IdRange seen = known->second;
            for (std::size_t i = 0; i < seen.count; ++i) ids_.push_back(ids_[seen.begin + i]);
        }
    }

private:
    struct IdRange {
        std::size_t begin, count;
    };
    Ids& ids_;
    std::unordered_map<std::string_view, IdRange> seen_;
};

}  // namespace weft::text
