// Byte pair encoding: text to ids and back.
#include "text/byte_pairs.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "text/pretrained.h"
#include "weft/base/text.h"
#include "weft/io/files.h"
#include "weft/io/json.h"
#include "weft/io/safetensors.h"

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

// vocab.json and merges.txt.

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Model = BytePairs::Model;
using io::refuse;

constexpr bool is_printable(unsigned byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr auto printable = [] {  // the character of each byte
    std::array<char32_t, 256> all{};
    char32_t next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) all[byte] = is_printable(byte) ? byte : next++;
    return all;
}();

// Up to five names, and how many more there are.
std::string first_of(const std::vector<std::string>& names) {
    std::string text;
    for (std::size_t i = 0; i < names.size() && i < 5; ++i) text += (i > 0 ? ", " : "") + names[i];
    return text + (names.size() > 5 ? " and " + std::to_string(names.size() - 5) + " more" : "");
}

void read_vocabulary(const fs::path& path, const std::vector<std::string>& special, Model& model) {
    const json vocabulary = io::load_json(path);
    std::map<std::uint64_t, std::string> names;  // names by id
    for (const auto& [name, id] : vocabulary.items()) {
        if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= vocabulary.size())
            refuse(path, "the id of \"" + excerpt(name) + "\" is " + excerpt(id.dump()) + "; the ids of " +
                             std::to_string(vocabulary.size()) + " tokens must count from 0, each once");
        const auto [known, is_new] = names.try_emplace(id.get<std::uint64_t>(), name);
        if (!is_new)
            refuse(path, "\"" + excerpt(known->second) + "\" and \"" + excerpt(name) + "\" both have the id " +
                             std::to_string(known->first));
    }
    std::set<std::string> seen;
    for (const auto& [id, name] : names) {
        const bool is_special = std::find(special.begin(), special.end(), name) != special.end();
        const std::optional<std::string> bytes = is_special ? name : from_printable(name);
        if (!bytes || bytes->empty())
            refuse(path, "the token \"" + excerpt(name) +
                             "\" is empty or has a character that stands for no byte in GPT-2's files");
        if (!seen.insert(*bytes).second) refuse(path, "two tokens are \"" + excerpt(name) + "\"");
        model.add_piece(*bytes);
        if (is_special) model.special.push_back(name);
    }
    std::vector<std::string> missing;
    for (const std::string& byte : single_bytes())
        if (!seen.contains(byte)) missing.push_back("\"" + to_printable(byte) + "\"");
    if (!missing.empty())
        refuse(path,
               "tokens of single bytes are missing, so not every text can be encoded: " + first_of(missing));
}

void read_merges(const fs::path& path, Model& model) {
    // The pieces that exist so far.
    std::set<std::string> made(single_bytes().begin(), single_bytes().end());
    std::string text = io::load_text(path);
    if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
    std::istringstream lines(text);
    std::string line;
    for (std::size_t line_number = 1; std::getline(lines, line); ++line_number) {
        if (line.ends_with('\r')) line.pop_back();
        if (line_number == 1 && line.starts_with("#version")) continue;

        const auto refuse_line = [&](const std::string& reason) {
            refuse(path, "line " + std::to_string(line_number) + ", \"" + excerpt(line) + "\": " + reason);
        };
        const std::size_t space = line.find(' ');
        if (space == 0 || space == std::string::npos || space + 1 == line.size() || space != line.rfind(' '))
            refuse_line("a merge is two tokens with one space between them");
        const auto id_of = [&](const std::string& name, bool is_made) {
            const auto bytes = from_printable(name);
            const auto found = bytes ? model.ids.find(*bytes) : model.ids.end();
            if (found == model.ids.end())
                refuse_line("\"" + excerpt(name) + "\" is not in vocab.json; are both files of one tokeniser?");
            if (is_made && !made.contains(*bytes))
                refuse_line("\"" + excerpt(name) + "\" is neither a byte nor made by an earlier line");
            return found->second;
        };
        const std::string left = line.substr(0, space), right = line.substr(space + 1);
        const Model::Merge merge{id_of(left, true), id_of(right, true), id_of(left + right, false)};
        if (model.ranks.find(pair_key(merge.left, merge.right)) != nullptr)
            refuse_line("the merge is repeated");
        made.insert(model.pieces[static_cast<std::size_t>(merge.result)]);
        model.add_merge(merge);
    }
    std::vector<std::string> unmade;
    for (const std::string& piece : model.pieces)
        if (!made.contains(piece) && !model.is_special(piece))
            unmade.push_back("\"" + excerpt(to_printable(piece)) + "\"");
    if (!unmade.empty())
        refuse(path, "tokens of vocab.json are neither bytes nor special nor made by a merge: " +
                         first_of(unmade) + "; does the file end too early?");
}

}  // namespace

const std::vector<std::string>& single_bytes() {
    static const std::vector<std::string> bytes = [] {
        std::vector<std::string> all;
        for (const bool as_itself : {true, false})
            for (unsigned byte = 0; byte < 256; ++byte)
                if (is_printable(byte) == as_itself) all.emplace_back(1, static_cast<char>(byte));
        return all;
    }();
    return bytes;
}

std::string to_printable(const std::string& bytes) {
    std::string name;
    for (const char c : bytes) append_utf8(name, printable[static_cast<unsigned char>(c)]);
    return name;
}

std::optional<std::string> from_printable(const std::string& name) {
    static const auto byte_of = [] {  // the byte of each character, −1: none
        std::array<int, 0x144> bytes{};
        bytes.fill(-1);
        for (unsigned byte = 0; byte < 256; ++byte) bytes[printable[byte]] = static_cast<int>(byte);
        return bytes;
    }();
    std::string bytes;
    for (std::size_t at = 0; at < name.size();) {
        const Decoded c = decode_at(name, at);
        if (c.kind != Decoded::character || c.value >= byte_of.size() || byte_of[c.value] < 0)
            return std::nullopt;
        bytes.push_back(static_cast<char>(byte_of[c.value]));
        at += c.length;
    }
    return bytes;
}

BytePairs BytePairs::load(const fs::path& folder, const std::vector<std::string>& special) {
    auto model = std::make_shared<Model>();
    read_vocabulary(folder / "vocab.json", special, *model);
    read_merges(folder / "merges.txt", *model);
    return BytePairs(std::move(model));
}

void BytePairs::save(const fs::path& folder) const {
    std::string vocabulary = "{";  // by hand, as nlohmann's ordered objects take quadratic time
    for (std::size_t id = 0; id < model_->pieces.size(); ++id) {
        const std::string& piece = model_->pieces[id];
        const std::string name = json(model_->is_special(piece) ? piece : to_printable(piece)).dump();
        vocabulary += (id > 0 ? "," : "") + name + ":" + std::to_string(id);
    }
    std::string merges = "#version: 0.2\n";
    for (const Model::Merge& merge : model_->merges)
        merges += to_printable(piece(merge.left)) + " " + to_printable(piece(merge.right)) + "\n";
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) throw IoError("cannot make the folder ", io::display_path(folder), ": ", error.message());
    io::AtomicFile vocabulary_file(folder / "vocab.json"), merges_file(folder / "merges.txt");
    vocabulary_file.write(vocabulary + "}");
    merges_file.write(merges);  // both are written before either is there
    vocabulary_file.commit();
    merges_file.commit();
}

}  // namespace weft::text
