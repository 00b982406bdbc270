// Byte pair encoding: text to ids and back.
#include "text/byte_pairs.h"

#include <algorithm>

#include "text/ids.h"

namespace weft::text {

namespace {

using Model = BytePairs::Model;

// Encodes piece by piece.
class Encoder {
public:
    Encoder(const Model& model, Ids& ids) : model_(model), ids_(ids), seen_(ids) {}

    void append(std::string_view text) {
        for_each_piece(text, [&](std::string_view piece) {
            seen_.append(piece, [&](std::string_view word) { merge(word); });
        });
    }

private:
    const Model& model_;
    Ids& ids_;
    PieceCache seen_;
    Merger merger_;

    void merge(std::string_view piece) {
        using Symbol = Merger::Symbol;
        merger_.clear();
        for (std::size_t i = 0; i < piece.size(); ++i)
            merger_.add(model_.byte_ids[static_cast<unsigned char>(piece[i])], i, 1);
        const auto find = [&](const Symbol& left, const Symbol& right) {
            return model_.ranks.find(pair_key(left.id, right.id));
        };
        merger_.run(find, [&](const Symbol& symbol) { ids_.push_back(symbol.id); });
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
    ranks.try_emplace(pair_key(merge.left, merge.right),
                      {static_cast<std::int32_t>(merges.size()), static_cast<std::int32_t>(merge.result)});
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
    Encoder(*model_, ids).append(text);
    return ids;
}

Ids BytePairs::encode(const std::string& text) const {
    Ids ids;
    Encoder encoder(*model_, ids);
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
        encoder.append(all.substr(done, at == std::string::npos ? at : at - done));
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
