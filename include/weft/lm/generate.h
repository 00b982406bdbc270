// Generation: a language model continues a prompt, token by token. V vocabulary.
#pragma once

#include <functional>
#include <optional>

#include "weft/lm/gpt.h"
#include "weft/lm/language_model.h"
#include "weft/text/tokenizer.h"

namespace weft::lm {

// Keys and values of tokens that a model has read, kept between calls of generate: of the next prompt only what
// differs from them is computed: here, one token the second time. ids are those tokens. It belongs to one
// model.
//
//     lm::PromptCache kept;
//     text::Ids ids = lm::generate(model, {1, 2, 3}, {.max_new_tokens = 2, .kept = &kept});
//     ids.insert(ids.begin(), {1, 2, 3});
//     const text::Ids more = lm::generate(model, ids, {.max_new_tokens = 2, .kept = &kept});
//     // more.size() is 2, kept.ids.size() is 6
struct PromptCache {
    std::vector<nn::KeyValueCache> caches = {};  // one for each block; none before the first call
    text::Ids ids = {};                          // whose keys and values they hold
};

// Options of generate.
struct GenerateOptions {
    std::int64_t max_new_tokens = 200;  // ValueError if negative
    SampleOptions sampling = {};        // how each token is drawn
    // Cache keys and values, so that a new token costs a pass over one token instead of all. The sums are
    // added in another order. Beyond block_size tokens the model sees the last block_size of them, all at new
    // positions: nothing cached applies, and each new token costs a pass over block_size. A model without
    // caches computes all tokens.
    bool use_cache = true;  // logits with and without agree to 1e-5 of the largest in float32, 1e-12 in float64
    std::optional<DType> cache_dtype = {};   // bfloat16 or float16: half the memory, keys and values rounded
    PromptCache* kept = nullptr;             // for one prompt: used, and filled for the next call
    std::vector<std::int64_t> end_ids = {};  // ids that end a sequence, which they are the last of
    // Above 1: logits of ids that a sequence has are divided by it where positive, else multiplied (Keskar et
    // al., "CTRL", 2019, §4.1). ValueError unless above 0 and finite.
    double repetition_penalty = 1;
    // Called with the logits (V,) before each id is drawn, and the ids so far; returns the logits to draw from.
    std::function<Tensor(const Tensor&, const text::Ids&)> logits = {};
};

// The ids that follow a prompt, without the prompt. Each is sampled from the model's logits for the ids before
// it, at most the last block_size. `on_token` gets every new id and ends generation by returning false.
//
//     const text::Characters tokenizer("hello");
//     Rng rng(1);
//     const lm::GPT model({.vocab_size = tokenizer.vocab_size(), .block_size = 16}, rng);
//     const lm::GenerateOptions options = {.max_new_tokens = 8, .sampling = {.rng = &rng}};
//     const text::Ids ids = lm::generate(model, tokenizer.encode("he"), options);  // ids.size() is 8
//
// Runs in evaluation mode and under NoGrad, and restores both modes. ValueError for an empty prompt; IndexError
// for an id that is not in 0 … V − 1; and what `sample` refuses.
text::Ids generate(const LanguageModel& model, const text::Ids& prompt, const GenerateOptions& options,
                   const std::function<bool(std::int64_t)>& on_token = {});

// The same for several prompts at once: their ids, each up to its own end. Prompts of several lengths are
// padded on the left, for a model that has_masks(), else computed one after the other. Each is what it is
// alone, to rounding.
//
//     const std::vector<text::Ids> both = lm::generate_batch(model, {{1, 2, 3}, {4}}, {.max_new_tokens = 5});
//     // both[0].size() is 5, both[1].size() is 5
//
// ValueError if there are no prompts or one is empty, or for a PromptCache; and what generate refuses.
std::vector<text::Ids> generate_batch(const LanguageModel& model, const std::vector<text::Ids>& prompts,
                                      const GenerateOptions& options);

// Options of generate_text.
struct GenerateTextOptions {
    GenerateOptions generate = {};  // how its ids are generated
    std::string stop = {};          // ends the text at its first occurrence, which is not part of the text
    bool stop_at_eos = true;        // whether <|endoftext|> ends the text, if the tokeniser has it
    // Called for each new token with the whole characters that are certain by then, maybe none, and at the end
    // if any are left. Bytes that are not UTF-8 arrive as U+FFFD. Ends the text by returning false.
    std::function<bool(const std::string&)> write = {};
};

// The result of generate_text.
struct GeneratedText {
    // Why the text ends.
    enum FinishReason {
        length,       // it has max_new_tokens tokens
        stop,         // GenerateTextOptions::stop occurred
        end_of_text,  // <|endoftext|> was sampled
        cancelled     // `write` returned false
    };
    std::string text;  // the bytes of the tokens after the prompt; with Bytes they need not be UTF-8
    text::Ids ids;     // every id that was sampled, including those of the stop
    FinishReason finish_reason = length;  // why it ends
};

// Continues a text: encodes the prompt, generates ids and decodes them.
//
//     const std::string prompt = "he";
//     const lm::GeneratedText result =
//         lm::generate_text(model, tokenizer, prompt, {.generate = options, .stop = "o"});
//     const std::string text = prompt + result.text;  // without the "o"
//
// Refuses what generate and the tokeniser refuse; ValueError if tokeniser and model differ in V, except for a
// PreTrainedTokenizer with fewer tokens.
GeneratedText generate_text(const LanguageModel& model, const text::Tokenizer& tokenizer,
                            const std::string& prompt, const GenerateTextOptions& options);
// Continues ids.
GeneratedText generate_text(const LanguageModel& model, const text::Tokenizer& tokenizer,
                            const text::Ids& prompt, const GenerateTextOptions& options);

}  // namespace weft::lm
