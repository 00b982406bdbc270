// Reads a tokenizer.json (huggingface/tokenizers, tokenizers/src: the names of its parts are those of the
// classes).
#include <set>

#include "text/byte_pairs.h"
#include "text/pretrained.h"
#include "weft/base/text.h"
#include "weft/io/files.h"
#include "weft/io/json.h"

namespace weft::text {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using PreTokenizer = TokenizerModel::PreTokenizer;
constexpr std::size_t most_steps = 64;  // normalizers, pre-tokenizers or decoders

// Keys of a tokenizer_config.json that change no id.
const std::vector<std::string> harmless_in_config = {
    // names of classes and files
    "tokenizer_class", "processor_class", "image_processor_type", "feature_extractor_type", "model_type",
    "auto_map", "backend", "name_or_path", "tokenizer_file", "vocab_file", "merges_file",
    "special_tokens_map_file", "is_local", "local_files_only", "from_slow", "trust_remote_code", "device_map",
    "transformers_version", "unsloth_version", "_commit_hash", "tokenizer_type", "vocab_size",
    // read by load_language
    "chat_template", "use_default_system_prompt", "response_schema",
    // names of tokens, which tokenizer.json has, and what transformers 5 passes over
    "bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token",
    "additional_special_tokens", "extra_special_tokens", "model_specific_special_tokens", "image_token",
    "boi_token", "eoi_token", "audio_token", "video_token", "image_token_id", "boi_token_id", "eoi_token_id",
    "sp_model_kwargs", "add_prefix_space", "add_bos_token", "add_eos_token", "legacy",
    // of batches, of texts cut to a length, and of what is decoded
    "model_max_length", "max_length", "padding", "padding_side", "pad_to_multiple_of", "pad_token_type_id",
    "truncation", "truncation_side", "truncation_strategy", "stride", "model_input_names", "errors",
    "trim_offsets", "split_special_tokens", "clean_up_tokenization_spaces", "spaces_between_special_tokens"};

class JsonReader {
public:
    JsonReader(const fs::path& path, const std::vector<std::string>& ignore_keys)
        : path_(path), ignore_keys_(ignore_keys) {}

    std::shared_ptr<const TokenizerModel> read() {
        const json file = io::load_json(path_);
        check_keys(file, "the file",
                   {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
                    "post_processor", "decoder", "model"});
        for (const char* name : {"truncation", "padding"})
            if (file.contains(name) && !file[name].is_null())
                refuse(std::string("it sets ") + name + ", which is not supported; set it to null");
        each(member(file, "normalizer"), "normalizer", "normalizers", &JsonReader::read_normalizer);
        each(member(file, "pre_tokenizer"), "pre-tokenizer", "pretokenizers", &JsonReader::read_pre_tokenizer);
        each(member(file, "decoder"), "decoder", "decoders", &JsonReader::read_decoder);
        if (decoder_ != (model_->byte_level ? "ByteLevel" : decoder_) || decoder_.empty() ||
            (decoder_ == "ByteLevel" && !model_->byte_level))
            refuse("its decoder does not belong to its pre-tokenizer; ByteLevel must be both or neither");
        read_model(member(file, "model"), member(file, "added_tokens"));
        read_added(member(file, "added_tokens"));
        each(member(file, "post_processor"), "post-processor", "processors", &JsonReader::read_post_processor);
        read_config(path_.parent_path() / "tokenizer_config.json");
        model_->finish();
        return model_;
    }

private:
    const fs::path& path_;
    const std::vector<std::string>& ignore_keys_;
    std::shared_ptr<TokenizerModel> model_ = std::make_shared<TokenizerModel>();
    std::unordered_map<std::string, std::int64_t> vocabulary_;       // as written
    std::vector<std::pair<std::string, std::string>> replacements_;  // by the decoder, in each token
    std::string decoder_;
    bool has_byte_fallback_ = false, is_fused_ = false, has_template_ = false;

    [[noreturn]] void refuse(const std::string& reason) const { io::refuse(path_, reason); }
    [[noreturn]] void refuse_part(const std::string& what, const std::string& name) const {
        refuse("it has the " + what + " \"" + excerpt(name) + "\", which is not supported");
    }
    [[noreturn]] void refuse_value(const std::string& name, const json& value) const {
        refuse("\"" + name + "\" is " + excerpt(value.dump()) + ", which is not supported");
    }

    // The value of a name; null if there is none. The object must outlive it.
    static const json& member(const json& object, const char* name) {
        static const json null;
        const auto found = object.find(name);
        return found == object.end() ? null : *found;
    }
    std::string text_of(const json& object, const char* name) const {
        const json& value = member(object, name);
        if (!value.is_string()) refuse_value(name, value);
        return value;
    }
    bool flag(const json& object, const char* name, bool otherwise) const {
        const json& value = member(object, name);
        if (value.is_null()) return otherwise;
        if (!value.is_boolean()) refuse_value(name, value);
        return value;
    }
    void check_keys(const json& object, const std::string& what, const std::set<std::string>& names) const {
        for (const auto& [name, value] : object.items())
            if (!names.contains(name))
                refuse("the option \"" + excerpt(name) + "\" of " + what + " is not supported");
    }

    // Reads a part, or those of a Sequence.
    void each(const json& part, const char* what, const char* list,
              void (JsonReader::*read)(const std::string&, const json&)) {
        if (part.is_null()) return;
        if (!part.is_object()) refuse_value(what, part);
        const std::string type = text_of(part, "type");
        if (type != "Sequence") return (this->*read)(type, part);
        check_keys(part, what, {"type", list});
        const json& parts = member(part, list);
        if (!parts.is_array() || parts.size() > most_steps) refuse_value(list, parts);
        for (const json& one : parts) each(one, what, list, read);
        if (model_->normalizers.size() + model_->pre_tokenizers.size() + replacements_.size() > most_steps)
            refuse(std::string("it has too many parts of the kind ") + what);
    }

    // The text of {"String": text}, or with is_regex the pattern of {"Regex": text}.
    std::string literal(const json& part) const {
        const json& pattern = member(part, "pattern");
        if (!pattern.is_object() || pattern.size() != 1 || !pattern.contains("String") ||
            text_of(pattern, "String").empty())
            refuse_value("pattern", pattern);
        return text_of(pattern, "String");
    }
    Pattern pattern(const std::string& text, bool is_regex) const {
        try {
            return is_regex ? Pattern::of_oniguruma(text) : Pattern::of_words(text);
        } catch (const ValueError& error) {
            refuse(error.what());
        }
    }

    void read_normalizer(const std::string& type, const json& part) {
        if (type == "NFC") {
            check_keys(part, type, {"type"});
            model_->normalizers.push_back({TokenizerModel::Normalizer::composed, {}, {}});
        } else if (type == "Prepend") {
            check_keys(part, type, {"type", "prepend"});
            model_->normalizers.push_back({TokenizerModel::Normalizer::prepend, {}, text_of(part, "prepend")});
        } else if (type == "Replace") {
            check_keys(part, type, {"type", "pattern", "content"});
            model_->normalizers.push_back(
                {TokenizerModel::Normalizer::replace, literal(part), text_of(part, "content")});
        } else {
            refuse_part("normalizer", type);
        }
    }

    void read_pre_tokenizer(const std::string& type, const json& part) {
        if (model_->byte_level)
            refuse("its pre-tokenizer ByteLevel is not the last one, which is not supported");
        PreTokenizer step;
        if (type == "Split") {
            check_keys(part, type, {"type", "pattern", "behavior", "invert"});
            const json& by = member(part, "pattern");
            const bool is_regex = by.is_object() && by.size() == 1 && by.contains("Regex");
            step.pattern = pattern(is_regex ? text_of(by, "Regex") : literal(part), is_regex);
            const std::vector<std::string> behaviors = {"Isolated", "Removed", "Contiguous",
                                                        "MergedWithPrevious", "MergedWithNext"};
            const auto found = std::find(behaviors.begin(), behaviors.end(), text_of(part, "behavior"));
            if (found == behaviors.end()) refuse_value("behavior", part["behavior"]);
            step.behavior = static_cast<PreTokenizer::Behavior>(found - behaviors.begin());
            step.invert = flag(part, "invert", false);
        } else if (type == "Digits") {
            check_keys(part, type, {"type", "individual_digits"});
            step.pattern = Pattern(flag(part, "individual_digits", false) ? "\\p{N}" : "\\p{N}+");
        } else if (type == "ByteLevel") {
            check_keys(part, type, {"type", "add_prefix_space", "trim_offsets", "use_regex"});
            if (flag(part, "add_prefix_space", true)) step.prefix = " ";
            if (flag(part, "use_regex", true)) step.pattern = gpt2_pattern();
            model_->byte_level = true;
        } else if (type == "Metaspace") {
            check_keys(part, type,
                       {"type", "replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep"});
            step.space = text_of(part, "replacement");
            const std::string scheme =
                part.contains("prepend_scheme") ? text_of(part, "prepend_scheme") : "always";
            if (step.space.empty() || (scheme != "always" && scheme != "first" && scheme != "never"))
                refuse_value("prepend_scheme", scheme);
            if (scheme != "never" && flag(part, "add_prefix_space", true)) step.prefix = step.space;
            step.first_only = scheme == "first";
            if (flag(part, "split", true)) step.pattern = pattern(step.space, false);
            step.behavior = PreTokenizer::merged_with_next;
        } else {
            refuse_part("pre-tokenizer", type);
        }
        model_->pre_tokenizers.push_back(std::move(step));
    }

    void read_decoder(const std::string& type, const json& part) {
        if (decoder_ == "ByteLevel" || decoder_ == "Metaspace") refuse_part("decoder after another", type);
        if (type == "ByteLevel") {
            check_keys(part, type, {"type", "add_prefix_space", "trim_offsets", "use_regex"});
        } else if (type == "ByteFallback" || type == "Fuse") {
            check_keys(part, type, {"type"});
            (type == "Fuse" ? is_fused_ : has_byte_fallback_) = true;
        } else if (type == "Replace" && !is_fused_ && !has_byte_fallback_) {
            check_keys(part, type, {"type", "pattern", "content"});
            replacements_.emplace_back(literal(part), text_of(part, "content"));
        } else if (type == "Metaspace") {
            check_keys(part, type,
                       {"type", "replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep"});
            replacements_.emplace_back(text_of(part, "replacement"), " ");
            if (replacements_.back().first.empty()) refuse_value("replacement", "");
            const bool never = part.contains("prepend_scheme") && text_of(part, "prepend_scheme") == "never";
            if (!never && flag(part, "add_prefix_space", true)) model_->strip_first = " ";
        } else if (type == "Strip" && is_fused_) {
            check_keys(part, type, {"type", "content", "start", "stop"});
            for (const char* name : {"start", "stop"}) {
                const json& n = member(part, name);
                if (n != 0 && n != 1) refuse_value(name, n);
                if (n == 1)
                    (name[2] == 'a' ? model_->strip_left : model_->strip_right) = text_of(part, "content");
            }
        } else {
            refuse_part("decoder", type + (type == "Strip" || type == "Replace" ? " at this place" : ""));
        }
        decoder_ = type;
    }

    // What a token adds to a decoded text.
    std::string piece_of(const std::string& token, bool is_added) const {
        if (decoder_ == "ByteLevel") return is_added ? token : from_printable(token).value_or(token);
        std::string piece = token;
        for (const auto& [from, to] : replacements_) piece = replaced(piece, from, to);
        const int byte = has_byte_fallback_ ? byte_of(token) : -1;
        return byte < 0 ? piece : std::string(1, static_cast<char>(byte));
    }

    // Checks an id, and gives it to the token.
    void add(const std::string& token, const json& id, std::size_t count, bool is_added) {
        if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= 2 * count)
            refuse("the id of \"" + excerpt(token) + "\" is " + excerpt(id.dump()) + "; the ids of " +
                   std::to_string(count) + " tokens must be whole numbers below " + std::to_string(2 * count));
        if (!model_->add(id, piece_of(token, is_added), is_added))
            refuse("\"" + excerpt(token) + "\" has the id " + id.dump() + ", which another token has");
    }

    void read_model(const json& part, const json& added) {
        if (!part.is_object()) refuse_value("model", part);
        if (part.contains("type") && part["type"] != "BPE") refuse_part("model", text_of(part, "type"));
        check_keys(part, "BPE",
                   {"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                    "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"});
        if (const json& dropout = member(part, "dropout"); !dropout.is_null() && dropout != 0)
            refuse_value("dropout", dropout);
        for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"})
            if (const json& affix = member(part, name); !affix.is_null() && affix != "")
                refuse_value(name, affix);
        const json &vocabulary = member(part, "vocab"), &merges = member(part, "merges");
        if (!vocabulary.is_object() || !merges.is_array()) refuse("it has no \"vocab\" and \"merges\"");
        if (!added.is_null() && !added.is_array()) refuse_value("added_tokens", added);
        for (const auto& [token, id] : vocabulary.items()) {
            add(token, id, vocabulary.size() + added.size(), false);
            vocabulary_.emplace(token, id);
            const auto bytes = model_->byte_level ? from_printable(token) : token;
            if (!bytes || bytes->empty()) continue;
            model_->ids.emplace(*bytes, id);
            const int byte = byte_of(token);
            if (model_->byte_level && bytes->size() == 1)
                model_->byte_ids[static_cast<unsigned char>(bytes->front())] = id;
            if (!model_->byte_level && byte >= 0 && flag(part, "byte_fallback", false))
                model_->byte_ids[static_cast<unsigned char>(byte)] = id;
        }
        const std::size_t missing = model_->missing_bytes();
        if (!model_->byte_level && missing > 0 && missing < 256)
            refuse("byte_fallback needs all of the tokens <0x00> … <0xFF>, but " + std::to_string(missing) +
                   " are missing");
        model_->ignore_merges = flag(part, "ignore_merges", false);
        model_->fuse_unknown = flag(part, "fuse_unk", false);
        if (const json& unknown = member(part, "unk_token"); !unknown.is_null() && missing > 0) {
            const auto found = vocabulary_.find(text_of(part, "unk_token"));
            if (found == vocabulary_.end())
                refuse("unk_token " + excerpt(unknown.dump()) + " is no token of the model");
            model_->unknown = found->second;
        }
        for (std::size_t rank = 0; rank < merges.size(); ++rank)
            read_merge(merges[rank], static_cast<std::int32_t>(rank));
    }

    void read_merge(const json& merge, std::int32_t rank) {
        std::string left, right;
        if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
            left = merge[0], right = merge[1];
        } else if (merge.is_string()) {
            const std::string both = merge;
            const std::size_t space = both.find(' ');
            if (space != both.npos && space == both.rfind(' '))
                left = both.substr(0, space), right = both.substr(space + 1);
        }
        const auto a = vocabulary_.find(left), b = vocabulary_.find(right), ab = vocabulary_.find(left + right);
        if (left.empty() || right.empty() || a == vocabulary_.end() || b == vocabulary_.end() ||
            ab == vocabulary_.end())
            refuse("merge " + std::to_string(rank) + ", " + excerpt(merge.dump()) +
                   ", is not of two tokens that make a third");
        const Merge found = {rank, static_cast<std::int32_t>(ab->second)};
        *model_->merges.try_emplace(pair_key(a->second, b->second), found).first = found;  // the last counts
    }

    void read_added(const json& added) {
        std::vector<AddedToken> as_is, as_normalized;
        std::set<std::string> seen;
        for (const json& part : added) {
            if (!part.is_object()) refuse_value("added_tokens", part);
            check_keys(part, "an added token",
                       {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
            AddedToken token;
            token.content = text_of(part, "content");
            if (token.content.empty() || token.content.size() > AddedTokens::longest ||
                !seen.insert(token.content).second)
                refuse("the added token \"" + excerpt(token.content) + "\" is empty, repeated or longer than " +
                       std::to_string(AddedTokens::longest) + " bytes");
            if (const auto found = vocabulary_.find(token.content); found == vocabulary_.end())
                add(token.content, member(part, "id"), vocabulary_.size() + added.size(), true);
            else if (member(part, "id") == found->second)
                model_->set(found->second, piece_of(token.content, true), true);
            else
                refuse("\"" + excerpt(token.content) +
                       "\" has one id among the added tokens and another in the model");
            token.id = part["id"];
            token.special = flag(part, "special", false);
            token.single_word = flag(part, "single_word", false);
            token.lstrip = flag(part, "lstrip", false);
            token.rstrip = flag(part, "rstrip", false);
            const bool is_normalized = flag(part, "normalized", !token.special);
            if (is_normalized) token.content = normalized(*model_, token.content);
            if (!token.content.empty()) (is_normalized ? as_normalized : as_is).push_back(token);
        }
        model_->added = AddedTokens(std::move(as_is));
        model_->added_normalized = AddedTokens(std::move(as_normalized));
    }

    void read_post_processor(const std::string& type, const json& part) {
        if (type == "ByteLevel")
            return check_keys(part, type, {"type", "add_prefix_space", "trim_offsets", "use_regex"});
        if (type != "TemplateProcessing") refuse_part("post-processor", type);
        if (has_template_) refuse_part("second post-processor", type);  // which the tokenizers crate cannot run
        has_template_ = true;
        check_keys(part, type, {"type", "single", "pair", "special_tokens"});
        const json& single = member(part, "single");
        bool has_text = false;
        for (const json& item : single) {
            const json &sequence = member(item, "Sequence"), &special = member(item, "SpecialToken");
            if (item.size() == 1 && sequence.is_object() && member(sequence, "id") == "A" && !has_text) {
                has_text = true;
                continue;
            }
            const json& tokens = member(part, "special_tokens");
            const std::string name = special.is_object() ? text_of(special, "id") : "";
            const json& ids =
                tokens.is_object() && tokens.contains(name) ? member(tokens[name], "ids") : json();
            if (!ids.is_array()) refuse_value("single", single);
            for (const json& id : ids) {
                if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= model_->pieces.size())
                    refuse_value("ids", ids);
                (has_text ? model_->after : model_->before).push_back(id);
            }
        }
        if (!has_text) refuse_value("single", single);
        if (!model_->before.empty()) model_->bos = model_->before[0];
    }

    // The names of the tokens that begin and end a text, beside the tokenizer's file.
    void read_config(const fs::path& path) {
        if (!fs::exists(path)) return;
        const json config = io::load_json(path);
        ErrorList errors;
        io::KeyReader keys(config, errors, "PreTrainedTokenizer", ignore_keys_);
        keys.ignore(harmless_in_config);
        // The classes of GPT-2 and Qwen2 put a space before a text then, whatever tokenizer.json says.
        const bool puts_space =
            !model_->pre_tokenizers.empty() && !model_->pre_tokenizers.back().prefix.empty();
        const json& kind = keys.take("tokenizer_class");
        const bool makes_anew = kind.is_null() || kind == "GPT2Tokenizer" || kind == "GPT2TokenizerFast" ||
                                kind == "Qwen2Tokenizer" || kind == "Qwen2TokenizerFast";
        if (makes_anew && model_->byte_level && !puts_space)
            (void)keys.choice("add_prefix_space", {false}, 0);
        else
            keys.ignore({"add_prefix_space"});
        for (const json& token : keys.take("added_tokens_decoder"))
            if (const std::string content = token.is_object() ? token.value("content", "") : "";
                !model_->piece_ids.contains(content))
                keys.wrong("added_tokens_decoder has \"" + excerpt(content) +
                           "\", which is no token of tokenizer.json");
        keys.finish();
        if (!errors.empty()) io::refuse(path, "it does not go with tokenizer.json:" + errors.str());
        for (const char* name : {"bos_token", "eos_token"}) {
            const json* token = &keys.take(name);
            if (token->is_object()) token = &member(*token, "content");
            if (token->is_null()) continue;
            const auto found = token->is_string() ? model_->piece_ids.find(token->get<std::string>())
                                                  : model_->piece_ids.end();
            if (found == model_->piece_ids.end())
                io::refuse(path, std::string(name) + " is " + excerpt(token->dump()) +
                                     ", which is no token of tokenizer.json");
            (name[0] == 'b' ? model_->bos : model_->eos) = found->second;
        }
    }
};

}  // namespace

PreTrainedTokenizer PreTrainedTokenizer::load(const std::filesystem::path& path,
                                              const std::vector<std::string>& ignore_keys) {
    return PreTrainedTokenizer(JsonReader(path, ignore_keys).read());
}

}  // namespace weft::text
