// Generation from text to text: where it stops, and what of it can be shown already.
#include <algorithm>

#include "weft/models/generate.h"

namespace weft::nn {

namespace {

// Text that grows until `stop` comes up in it.
class StopMatcher {
public:
    explicit StopMatcher(std::string stop) : stop_(std::move(stop)) {}

    // True where the text has come to its end, which is before `stop`.
    bool add(const std::string& piece) {
        const std::size_t before = text_.size();
        text_ += piece;
        if (stop_.empty()) return false;
        const std::size_t found = text_.find(stop_, before < stop_.size() ? 0 : before - stop_.size() + 1);
        if (found == std::string::npos) return false;
        text_.resize(found);
        return true;
    }
    // What has not been taken, and cannot be the beginning of `stop`; at the end all of it.
    std::string take(bool ended) {
        std::size_t withheld = ended ? 0 : std::min(stop_.size(), text_.size() - taken_);
        while (withheld > 0 && text_.compare(text_.size() - withheld, withheld, stop_, 0, withheld) != 0)
            --withheld;
        const std::string fresh = text_.substr(taken_, text_.size() - withheld - taken_);
        taken_ += fresh.size();
        return fresh;
    }
    const std::string& text() const { return text_; }

private:
    std::string stop_, text_;
    std::size_t taken_ = 0;
};

}  // namespace

GeneratedText generate_text(const GPT& model, const text::Tokenizer& tokenizer, const std::string& prompt,
                            const GenerateTextOptions& options) {
    if (tokenizer.vocab_size() != model.config.vocab_size)
        throw ValueError("generate_text: the tokeniser has ", tokenizer.vocab_size(), " tokens and the model ",
                         model.config.vocab_size, "; take the tokeniser that the model was trained with");
    GeneratedText result;
    StopMatcher output(options.stop);
    text::Utf8Stream characters;
    const std::optional<std::int64_t> end = options.stop_at_eos ? tokenizer.eos_token_id() : std::nullopt;
    const auto each = [&](std::int64_t id) {
        result.ids.push_back(id);
        bool ended = true;
        if (id == end)
            result.finish_reason = GeneratedText::end_of_text;
        else if (output.add(tokenizer.piece(id)))
            result.finish_reason = GeneratedText::stop;
        else
            ended = false;
        if (options.write && !options.write(characters.push(output.take(ended))) && !ended) {
            result.finish_reason = GeneratedText::cancelled;
            return false;
        }
        return !ended;
    };
    generate(model, tokenizer.encode(prompt), options.generate, each);
    if (options.write) {
        const std::string rest = characters.push(output.take(true)) + characters.finish();
        if (!rest.empty() && result.finish_reason != GeneratedText::cancelled) options.write(rest);
    }
    result.text = output.text();
    return result;
}

}  // namespace weft::nn
