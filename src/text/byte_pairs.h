// Regular expressions that cut a text into pieces.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weft/text/tokenizer.h"

namespace weft::text {

// Whitespace as Hugging Face's tokenizers see it, inside brackets: Unicode's White_Space, to which PCRE2's \s
// would add U+180E.
inline constexpr char white_space[] = R"(\t-\r\x{85}\p{Z})";

class Pattern {
public:
    // Of a pattern in PCRE2's syntax; ValueError if it is not one.
    explicit Pattern(const std::string& pcre2);
    // Of a pattern in Oniguruma's syntax, with which tokenizer.json is written. ValueError for what means
    // something else to PCRE2, or could leave the text: \w, \b, \K, back references, brackets in brackets.
    static Pattern of_oniguruma(const std::string& pattern);
    static Pattern of_words(const std::string& literal);  // matches just this text

    // Visits the parts that make up a UTF-8 text, in order, with whether they match; none is empty. An empty
    // match cuts. ValueError if a match takes ten million steps.
    void split(std::string_view text, const std::function<void(std::string_view, bool)>& visit) const;

    struct Compiled;

private:
    std::shared_ptr<const Compiled> compiled_;
};

// GPT-2's pattern (openai/gpt-2, encoder.py), which matches at every position.
const Pattern& gpt2_pattern();

// Unicode's composed form.

// Normalization Form C of a UTF-8 text (Unicode Standard Annex #15): é, whether written as one character or as
// e with an accent, as one. By Unicode 9, as in the tokenizers crate: marks since then are letters.
std::string nfc(std::string_view text);

// Byte pair merging, as every tokeniser of the library does it.

// A hash table that only grows, with its entries in one block of memory.
template <class Key, class Value, class Hash = std::hash<Key>>
class FlatMap {
public:
    // The value of a key, null if there is none; and with is_new that of a new one.
    const Value* find(const Key& key) const {
        if (slots_.empty()) return nullptr;
        const Slot& slot = slots_[index_of(key)];
        return slot.is_used ? &slot.value : nullptr;
    }
    std::pair<Value*, bool> try_emplace(const Key& key, const Value& value) {
        if (2 * size_ >= slots_.size()) grow();
        Slot& slot = slots_[index_of(key)];
        const bool is_new = !slot.is_used;
        if (is_new) slot = {key, value, true}, ++size_;
        return {&slot.value, is_new};
    }

private:
    struct Slot {
        Key key{};
        Value value{};
        bool is_used = false;
    };
    std::vector<Slot> slots_;  // a power of two, at most half of them used
    std::size_t size_ = 0;

    // Where the key is, or the free slot where it would be.
    std::size_t index_of(const Key& key) const {
        std::size_t i = Hash()(key) & (slots_.size() - 1);
        while (slots_[i].is_used && slots_[i].key != key) i = (i + 1) & (slots_.size() - 1);
        return i;
    }
    void grow() {
        std::vector<Slot> old(std::max<std::size_t>(16, 2 * slots_.size()));
        old.swap(slots_);
        for (const Slot& slot : old)
            if (slot.is_used) slots_[index_of(slot.key)] = slot;
    }
};

// What two neighbours become, and which are merged first: those of the lowest rank.
struct Merge {
    std::int32_t rank, result;
};
struct PairHash {  // the end of SplitMix64
    std::size_t operator()(std::uint64_t key) const {
        key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9;
        key = (key ^ (key >> 27)) * 0x94D049BB133111EB;
        return key ^ (key >> 31);
    }
};
using Merges = FlatMap<std::uint64_t, Merge, PairHash>;  // by pair_key

inline std::uint64_t pair_key(std::int64_t left, std::int64_t right) {
    return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint64_t>(right);
}

// Merges the neighbours of the lowest rank, the leftmost of equals, until no pair has a rank: n symbols in
// n log n steps.
class Merger {
public:
    struct Symbol {
        std::int64_t id;
        std::size_t begin, length;     // its bytes; length 0: merged into its left neighbour
        std::int64_t left, right = 0;  // positions of its neighbours, −1 if there is none
    };

    void clear() { symbols_.clear(); }
    void add(std::int64_t id, std::size_t begin, std::size_t length) {
        const auto n = static_cast<std::int64_t>(symbols_.size());
        symbols_.push_back({id, begin, length, n - 1, n + 1});
    }

    // find(left, right) is a const Merge* for two neighbours, null if there is none; visit(symbol) gets what is
    // left.
    template <class Find, class Visit>
    void run(const Find& find, const Visit& visit) {
        if (symbols_.empty()) return;
        symbols_.back().right = -1;
        const auto push = [&](std::int64_t at) {
            if (at < 0 || symbol(at).right < 0) return;
            const Symbol &left = symbol(at), &right = symbol(left.right);
            if (const Merge* merge = find(left, right))
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
        std::int32_t rank, result;
        std::int64_t at;
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
            known->count = ids_.size() - known->begin;
        } else {
            const IdRange seen = *known;
            for (std::size_t i = 0; i < seen.count; ++i) ids_.push_back(ids_[seen.begin + i]);
        }
    }

private:
    struct IdRange {
        std::size_t begin, count;
    };
    Ids& ids_;
    FlatMap<std::string_view, IdRange> seen_;
};

// The data of a byte pair encoding, how GPT-2 cuts a text into pieces, and how its files write bytes.

struct BytePairs::Model {
    struct Merge {
        std::int64_t left, right, result;  // ids
    };
    std::vector<std::string> pieces;                    // the bytes of each token, by id
    std::unordered_map<std::string, std::int64_t> ids;  // id of each piece
    std::array<std::int64_t, 256> byte_ids;             // ids of the tokens that are one byte
    std::vector<Merge> merges;                          // in the order in which they were learned
    Merges ranks;                                       // the rank is the index in merges
    std::vector<std::string> special;

    bool is_special(const std::string& piece) const;
    void add_piece(const std::string& piece);  // gives the piece the next id
    void add_merge(const Merge& merge);
};

// Visits the pieces of a text, one after the other, by GPT-2's pattern (openai/gpt-2, encoder.py), which
// matches at every position. Bytes that are not UTF-8 count as neither letter, number nor space.
void for_each_piece(std::string_view text, const std::function<void(std::string_view)>& visit);

// GPT-2 writes a printable byte (! … ~, ¡ … ¬, ® … ÿ) as itself and the others, in order, as U+0100 and up.
std::string to_printable(const std::string& bytes);
// The inverse; empty if one of the characters is of no byte.
std::optional<std::string> from_printable(const std::string& name);
// Each byte as a string, in the order of those characters, with which trained vocabularies begin.
const std::vector<std::string>& single_bytes();

}  // namespace weft::text
