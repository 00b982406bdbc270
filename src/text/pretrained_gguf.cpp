// Reads a tokenizer from a GGUF file's metadata, as llama.cpp does (src/llama-vocab.cpp).
#include <cmath>
#include <map>
#include <set>

#include "text/byte_pairs.h"
#include "text/pretrained.h"
#include "weft/base/text.h"
#include "weft/io/files.h"
#include "weft/io/gguf.h"
#include "weft/io/json.h"

namespace weft::text {

namespace {

enum TokenType { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

// What llama.cpp passes over for models "gpt2" and "llama", or uses elsewhere than in making ids.
const std::vector<std::string> harmless_in_gguf = {"chat_template",
                                                   "chat_templates",
                                                   "huggingface.json",
                                                   "rwkv.world",
                                                   "ggml.unknown_token_id",
                                                   "ggml.padding_token_id",
                                                   "ggml.seperator_token_id",
                                                   "ggml.separator_token_id",
                                                   "ggml.cls_token_id",
                                                   "ggml.mask_token_id",
                                                   "ggml.fim_pre_token_id",
                                                   "ggml.fim_suf_token_id",
                                                   "ggml.fim_mid_token_id",
                                                   "ggml.fim_pad_token_id",
                                                   "ggml.fim_rep_token_id",
                                                   "ggml.fim_sep_token_id",
                                                   "ggml.prefix_token_id",
                                                   "ggml.suffix_token_id",
                                                   "ggml.middle_token_id",
                                                   "ggml.token_type_count",
                                                   "ggml.added_tokens",
                                                   "ggml.add_sep_token",
                                                   "ggml.remove_extra_whitespaces",
                                                   "ggml.precompiled_charsmap"};

// What a name in tokenizer.ggml.pre stands for.
struct Pre {
    std::set<std::string> names;
    std::vector<std::string> patterns;  // each cuts the pieces of the one before
    bool adds_bos = false, ignore_merges = false;
};

const std::vector<Pre>& pres() {
    static const std::string gpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))";
    static const std::string any_case = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|";
    static const std::string rest = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
    static const std::string letters = R"([^\r\n\p{L}\p{N}]?\p{L}+|)";
    static const std::vector<Pre> all = {
        {{"default"}, {R"([\p{P}\$\+<=>\^~\|]+)", gpt2, R"(\p{N}+)", "[0-9][0-9][0-9]"}},
        {{"gpt-2", "phi-2", "olmo"}, {gpt2}},
        {{"smollm", "starcoder", "refact", "command-r", "codeshell"}, {R"(\p{N})", gpt2}},
        {{"qwen2", "deepseek-r1-qwen", "stablelm2"}, {any_case + letters + R"(\p{N})" + rest}},
        {{"llama-bpe", "llama3", "llama-v3", "falcon3"},
         {any_case + letters + R"(\p{N}{1,3})" + rest},
         true,
         true}};
    return all;
}

class GgufReader {
public:
    explicit GgufReader(const io::GgufMetadata& metadata)
        : metadata_(metadata), tokens_(metadata.strings(key("tokens"))), types_(tokens_.size(), normal) {}

    std::shared_ptr<const TokenizerModel> read() {
        const std::string kind = metadata_.text(key("model"));
        if (kind != "gpt2" && kind != "llama")
            refuse("its tokenizer is of the model \"" + excerpt(kind) +
                   "\"; \"gpt2\" and \"llama\" are supported");
        if (metadata_.has(key("token_type"))) types_ = metadata_.integers(key("token_type"));
        if (types_.size() != tokens_.size()) refuse_size("token_type", types_.size());
        const bool by_score = kind == "llama";
        model_->byte_level = !by_score;
        read_tokens();
        if (by_score)
            read_scores();
        else
            read_merges();
        read_special(by_score);
        model_->finish();
        return model_;
    }

private:
    const io::GgufMetadata& metadata_;
    const std::vector<std::string>& tokens_;
    std::vector<std::int64_t> types_;
    std::shared_ptr<TokenizerModel> model_ = std::make_shared<TokenizerModel>();
    bool adds_bos_ = false;

    static std::string key(const char* name) { return std::string("tokenizer.ggml.") + name; }
    [[noreturn]] void refuse(const std::string& reason) const { io::refuse(metadata_.file(), reason); }
    [[noreturn]] void refuse_size(const char* name, std::size_t size) const {
        refuse(key(name) + " has " + std::to_string(size) + " values for " + std::to_string(tokens_.size()) +
               " tokens");
    }

    void read_tokens() {
        std::vector<AddedToken> added;
        for (std::size_t i = 0; i < tokens_.size(); ++i) {
            const std::string& token = tokens_[i];
            const auto id = static_cast<std::int64_t>(i);
            const std::int64_t type = types_[i];
            const bool is_special = type == control || type == unknown,
                       is_added = is_special || type == user_defined;
            if (type < normal || type > byte)
                refuse("the token \"" + excerpt(token) + "\" has the type " + std::to_string(type) +
                       "; there are 1 … 6");
            if (is_added && token.size() > AddedTokens::longest)
                refuse("the token \"" + excerpt(token) + "\" is longer than " +
                       std::to_string(AddedTokens::longest) + " bytes");
            if (is_added && !token.empty()) added.push_back({token, id, is_special});
            if (type == unknown && !model_->byte_level) model_->unknown = id;
            if (model_->byte_level) {
                const auto bytes = from_printable(token);
                model_->add(id, is_added ? token : bytes.value_or(token), is_added);
                if (is_special || !bytes) continue;
                model_->ids[*bytes] = id;
                if (bytes->size() == 1) model_->byte_ids[static_cast<unsigned char>(bytes->front())] = id;
            } else if (const int value = type == byte ? byte_of(token) : -1; value >= 0) {
                model_->add(id, std::string(1, static_cast<char>(value)), false);
                model_->byte_ids[static_cast<unsigned char>(value)] = id;
            } else {
                model_->add(id, is_added ? token : replaced(token, "\u2581", " "), is_added);
                if (is_special || type == byte) continue;
                model_->ids[token] = id;
                model_->longest = std::max(model_->longest, token.size());
            }
        }
        model_->added = AddedTokens(std::move(added));
    }

    void read_merges() {
        const std::string name = metadata_.has(key("pre")) ? metadata_.text(key("pre")) : "default";
        const auto pre =
            std::find_if(pres().begin(), pres().end(), [&](const Pre& p) { return p.names.contains(name); });
        if (pre == pres().end()) refuse(key("pre") + " is \"" + excerpt(name) + "\", which is not supported");
        for (const std::string& pattern : pre->patterns)
            model_->pre_tokenizers.emplace_back().pattern = Pattern::of_oniguruma(pattern);
        model_->ignore_merges = pre->ignore_merges;
        model_->merges_past_unknown = false;
        adds_bos_ = pre->adds_bos;
        std::unordered_map<std::string, std::int64_t> ids;
        for (std::size_t i = 0; i < tokens_.size(); ++i) ids[tokens_[i]] = static_cast<std::int64_t>(i);
        const std::vector<std::string>& merges = metadata_.strings(key("merges"));
        for (std::size_t rank = 0; rank < merges.size(); ++rank) {
            const std::string& merge = merges[rank];
            const std::size_t space = std::min(merge.find(' ', 1), merge.size());
            const std::string left = merge.substr(0, space),
                              right = merge.substr(std::min(space + 1, merge.size()));
            const auto a = ids.find(left), b = ids.find(right), ab = ids.find(left + right);
            if (right.empty() || a == ids.end() || b == ids.end() || ab == ids.end())
                refuse("merge " + std::to_string(rank) + ", \"" + excerpt(merge) +
                       "\", is not of two tokens that make a third");
            model_->merges.try_emplace(pair_key(a->second, b->second), {static_cast<std::int32_t>(rank),
                                                                        static_cast<std::int32_t>(ab->second)});
        }
    }

    void read_scores() {
        const std::vector<double>& scores = metadata_.numbers(key("scores"));
        if (scores.size() != tokens_.size()) refuse_size("scores", scores.size());
        std::map<double, std::int32_t, std::greater<>> ranks;
        for (const double score : scores) {
            if (std::isnan(score)) refuse(key("scores") + " has a NaN");
            ranks.emplace(score, 0);
        }
        std::int32_t next = 0, id = 0;
        for (auto& [score, rank] : ranks) rank = next++;
        for (const double score : scores) model_->by_score.push_back({ranks.at(score), id++});
        for (const auto& [token, whole] : model_->ids)
            for (std::size_t n = 1; n < token.size(); ++n) {
                const auto left = model_->ids.find(std::string_view(token).substr(0, n)),
                           right = model_->ids.find(std::string_view(token).substr(n));
                if (left == model_->ids.end() || right == model_->ids.end()) continue;
                model_->merges.try_emplace(pair_key(left->second, right->second),
                                           model_->by_score[static_cast<std::size_t>(whole)]);
            }
        const std::size_t missing = model_->missing_bytes();
        if ((missing > 0 && missing < 256) || (missing > 0 && !model_->unknown))
            refuse("its tokenizer has neither a token for every byte nor one of the type unknown instead");
        adds_bos_ = true;
        if (metadata_.boolean(key("add_space_prefix"), true)) {
            model_->normalizers.push_back({TokenizerModel::Normalizer::prepend, {}, "\u2581"});
            model_->strip_left = " ";
        }
        model_->normalizers.push_back({TokenizerModel::Normalizer::replace, " ", "\u2581"});
    }

    std::optional<std::int64_t> id_of(const char* name, std::optional<std::int64_t> otherwise = {}) const {
        if (!metadata_.has(key(name)) && !otherwise) return std::nullopt;
        const std::int64_t id = metadata_.integer(key(name), otherwise);
        if (id >= 0 && id < static_cast<std::int64_t>(tokens_.size())) return id;
        if (!metadata_.has(key(name))) return std::nullopt;
        refuse(key(name) + " is " + std::to_string(id) + ", but there are " + std::to_string(tokens_.size()) +
               " tokens");
    }

    void read_special(bool by_score) {
        using Id = std::optional<std::int64_t>;
        model_->bos = id_of("bos_token_id", by_score ? Id(1) : Id());
        model_->eos = id_of("eos_token_id", by_score ? Id(2) : Id());
        for (const char* name : {"eot_token_id", "eom_token_id"})
            if (const Id id = id_of(name)) model_->ends.push_back(*id);
        const auto around = [&](const char* name, bool otherwise, const Id& id, Ids& ids) {
            if (!metadata_.boolean(key(name), otherwise)) return;
            if (!id) refuse(key(name) + " is true, but the file does not say which token that is");
            ids.push_back(*id);
        };
        around("add_bos_token", adds_bos_, model_->bos, model_->before);
        around("add_eos_token", false, model_->eos, model_->after);
    }
};

// Refuses a key that GgufReader does not read and that does not belong to other tokenizers or uses.
void check_keys(const io::GgufMetadata& metadata, const std::vector<std::string>& ignore_keys) {
    ErrorList errors;
    const nlohmann::json object = io::keys_of(metadata, "tokenizer.");
    io::KeyReader keys(object, errors, "PreTrainedTokenizer", ignore_keys, "tokenizer.");
    keys.ignore({"ggml.model", "ggml.pre", "ggml.tokens", "ggml.token_type", "ggml.merges", "ggml.scores",
                 "ggml.add_space_prefix", "ggml.bos_token_id", "ggml.eos_token_id", "ggml.eot_token_id",
                 "ggml.eom_token_id", "ggml.add_bos_token", "ggml.add_eos_token"});
    keys.ignore(harmless_in_gguf);
    for (const auto& [key, value] : object.items())
        if (key.starts_with("chat_template.")) keys.ignore({key});  // one of several
    keys.finish();
    if (!errors.empty())
        io::refuse(metadata.file(), "its metadata has keys that may change ids:" + errors.str());
}

}  // namespace

PreTrainedTokenizer PreTrainedTokenizer::load(const io::GgufMetadata& metadata,
                                              const std::vector<std::string>& ignore_keys) {
    check_keys(metadata, ignore_keys);
    return PreTrainedTokenizer(GgufReader(metadata).read());
}

}  // namespace weft::text
