// Generation: a language model goes on with a text, token after token. T tokens, V vocabulary.
#pragma once

#include <functional>

#include "weft/models/gpt.h"
#include "weft/models/tokenizer.h"

namespace weft::nn {

// How ids are generated.
struct GenerateOptions {
    std::int64_t max_new_tokens = 200;  // new tokens, at most; ValueError when negative
    SampleOptions sampling = {};        // how each is drawn
    // Keys and values of the tokens so far are kept, so that each new token costs the pass of one token and not
    // of all. The same tokens come out without. Once there are more than block_size tokens the model sees the
    // last block_size of them; then each has another position than before, nothing kept holds, and every new
    // token costs a pass of block_size.
    bool use_cache = true;
};

// The ids that follow a prompt (without the prompt), each sampled from what the model says after those before
// it. `on_token` is called with every new id and ends it all by returning false. In evaluation mode and outside
// the graph, whatever the modes were; they come back. Of a prompt longer than block_size the model sees the
// last block_size tokens, as GPT::generate's does. ValueError on an empty prompt; IndexError on an id that the
// model has not; and whatever `sample` refuses.
text::Ids generate(const GPT& model, const text::Ids& prompt, const GenerateOptions& options,
                   const std::function<bool(std::int64_t)>& on_token = {});

// How a text is generated, and where it ends.
struct GenerateTextOptions {
    GenerateOptions generate = {};  // how its ids are
    // Ends the text where it first comes up in it, and is not part of it; empty: nothing does.
    std::string stop = {};
    bool stop_at_eos = true;  // so does <|endoftext|>, where the tokeniser has it
    // Told once for each new token which whole characters are certain by then, maybe none; what is no UTF-8
    // comes as U+FFFD. Once more at the end, where some are left. Ends the text by returning false.
    std::function<bool(const std::string&)> write = {};
};

// What generate_text wrote.
struct GeneratedText {
    // Why a text is no longer.
    enum FinishReason {
        length,       // it has as many tokens as were asked for
        stop,         // GenerateTextOptions::stop came up
        end_of_text,  // <|endoftext|> came
        cancelled     // `write` returned false
    };
    std::string text;  // after the prompt: the tokens' bytes, which a model of bytes may leave as no UTF-8
    text::Ids ids;     // all that were sampled, those of the stop among them
    FinishReason finish_reason = length;  // why it is no longer
};

// The same from text to text. ValueError also where the tokeniser does not fit the model: both have to have the
// same V.
GeneratedText generate_text(const GPT& model, const text::Tokenizer& tokenizer, const std::string& prompt,
                            const GenerateTextOptions& options);

}  // namespace weft::nn
