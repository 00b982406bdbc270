// Byte pair encoding: text to ids and back.
#include "text/byte_pairs.h"

#include <algorithm>
#include <queue>

#include "text/ids.h"

namespace weft::text {

namespace {

using Model = BytePairs::Model;

// Encodes piece by piece, and remembers the ids of each distinct piece.
class Encoder {
public:
    explicit Encoder(const Model& model) : model_(model) {}

    void append(std::string_view text, Ids& ids) {
        for_each_piece(text, [&](std::string_view piece) {
            const auto [known, is_new] = seen_.try_emplace(piece, IdRange{ids.size(), 0});
            if (is_new) {
                merge(piece, ids);
                known->second.count = ids.size() - known->second.begin;
            } else {
                const IdRange seen = known->second;
                for (std::size_t i = 0; i < seen.count; ++i) ids.push_back(ids[seen.begin + i]);
            }
        });
    }

private:
    struct IdRange {
        std::size_t begin, count;
    };
    // A token of a piece and the positions of its neighbours, −1 if there is none. Its id is −1 once it has
    // been merged into its left neighbour.
    struct Symbol {
        std::int64_t id, left, right;
    };
    struct Candidate {
        std::size_t rank;
        std::int64_t at, left, right;  // position of the left symbol, and the ids when it was pushed
        bool operator<(const Candidate& other) const {  // the top of the queue has the lowest rank
            return rank != other.rank ? rank > other.rank : at > other.at;
        }
    };

    const Model& model_;
    std::unordered_map<std::string_view, IdRange> seen_;
    std::vector<Symbol> symbols_;
    std::priority_queue<Candidate> queue_;

    Symbol& symbol(std::int64_t at) { return symbols_[static_cast<std::size_t>(at)]; }

    // Pushes the pair that begins at this position, if it can be merged.
    void push_pair(std::int64_t at) {
        if (at < 0 || symbol(at).right < 0) return;
        const std::int64_t left = symbol(at).id, right = symbol(symbol(at).right).id;
        const auto found = model_.ranks.find(pair_key(left, right));
        if (found != model_.ranks.end()) queue_.push({found->second, at, left, right});
    }

    void merge(std::string_view piece, Ids& ids) {
        symbols_.clear();
        const auto n = static_cast<std::int64_t>(piece.size());
        for (std::int64_t i = 0; i < n; ++i) {
            const auto byte = static_cast<unsigned char>(piece[static_cast<std::size_t>(i)]);
            symbols_.push_back({model_.byte_ids[byte], i - 1, i + 1 < n ? i + 1 : -1});
        }
        for (std::int64_t i = 0; i + 1 < n; ++i) push_pair(i);
        while (!queue_.empty()) {
            const Candidate best = queue_.top();
            queue_.pop();
            Symbol& left = symbol(best.at);
            if (left.id != best.left || left.right < 0) continue;  // merged since it was pushed
            Symbol& right = symbol(left.right);
            if (right.id != best.right) continue;
            left.id = model_.merges[best.rank].result;
            left.right = right.right;
            right.id = -1;
            if (left.right >= 0) symbol(left.right).left = best.at;
            push_pair(left.left);
            push_pair(best.at);
        }
        for (std::int64_t i = n > 0 ? 0 : -1; i >= 0; i = symbol(i).right) ids.push_back(symbol(i).id);
    }
};

}  // namespace

bool BytePairs::Model::is_special(const std::string& piece) const {
    return std::find(special.begin(), special.end(), piece) != special.end();
}

void BytePairs::Model::add_piece(const std::string& piece) {
    const auto id = static_cast<std::int64_t>(pieces.size());
    pieces.push_back(piece);
    ids.emplace(piece, id);
    if (piece.size() == 1) byte_ids[static_cast<unsigned char>(piece[0])] = id;
}

void BytePairs::Model::add_merge(const Merge& merge) {
    ranks.emplace(pair_key(merge.left, merge.right), merges.size());
    merges.push_back(merge);
}

std::int64_t BytePairs::vocab_size() const { return static_cast<std::int64_t>(model_->pieces.size()); }
std::int64_t BytePairs::num_merges() const { return static_cast<std::int64_t>(model_->merges.size()); }

std::optional<std::int64_t> BytePairs::id_of(const std::string& piece) const {
    const auto found = model_->ids.find(piece);
    return found == model_->ids.end() ? std::nullopt : std::optional(found->second);
}

Ids BytePairs::encode_ordinary(const std::string& text) const {
    Ids ids;
    Encoder(*model_).append(text, ids);
    return ids;
}

Ids BytePairs::encode(const std::string& text) const {
    Ids ids;
    Encoder encoder(*model_);
    const std::string_view all = text;
    std::size_t done = 0;
    std::vector<std::size_t> found;  // the next position of each special token
    for (const std::string& special : model_->special) found.push_back(text.find(special));
    while (true) {  // up to the next special token, the longest of those at one position
        std::size_t at = std::string::npos;
        const std::string* next = nullptr;
        for (std::size_t i = 0; i < found.size(); ++i) {
            const std::string& special = model_->special[i];
            if (found[i] < done) found[i] = text.find(special, done);  // each part of the text is searched once
            if (found[i] < at || (found[i] == at && next != nullptr && special.size() > next->size()))
                at = found[i], next = &special;
        }
        encoder.append(all.substr(done, at == std::string::npos ? at : at - done), ids);
        if (next == nullptr) return ids;
        ids.push_back(model_->ids.at(*next));
        done = at + next->size();
    }
}

std::string BytePairs::piece(std::int64_t id) const {
    check_id(id, vocab_size(), "BytePairs: the id");
    return model_->pieces[static_cast<std::size_t>(id)];
}

std::string BytePairs::decode(const Ids& ids) const { return decode_ids(*this, ids, "BytePairs"); }

}  // namespace weft::text
