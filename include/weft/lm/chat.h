// Chats: how messages become the tokens that a model for conversations was trained on.
#pragma once

#include <string>
#include <vector>

#include "weft/text/tokenizer.h"

namespace weft::lm {

// One message of a chat.
//
//     const std::vector<lm::ChatMessage> chat{{"system", "Be brief."}, {"user", "Hello"}};
struct ChatMessage {
    std::string role, content;  // "system", "user" or "assistant", and what it says
    text::Ids ids = {};         // of an answer: its ids as they were generated, used in place of its content
};

// One of the forms that published models were trained on, by its name in llama.cpp. `chatml` (SmolLM2, Qwen) is
// "<|im_start|>user\n…<|im_end|>\n" for each message and "<|im_start|>assistant\n" before an answer. The others
// leave out the spaces around a text: `llama3` has "<|start_header_id|>user<|end_header_id|>\n\n…<|eot_id|>",
// `gemma` "<start_of_turn>user\n…<end_of_turn>\n" with the system's message before the first user's, and
// `mistral` (7B Instruct), likewise, "[INST] … [/INST]".
//
//     const lm::ChatTemplate form = lm::ChatTemplate::named("chatml");
//     const text::Ids ids = form.encode(tokenizer, {{"user", "What is 1 + 1?"}});
class ChatTemplate {
public:
    // ValueError for another name.
    static ChatTemplate named(const std::string& name);
    // The form that a template in Jinja (transformers' chat_template) describes, told by its special tokens,
    // and its default message of the system. ValueError, which says to name one, if it is none of them or has
    // parts that they lack, such as tools.
    static ChatTemplate of(const std::string& jinja);

    const std::string& name() const { return name_; }  // "chatml", …
    std::string system = {};                           // the message of the system where there is none

    // The ids of a chat, up to where an assistant's answer begins. Texts of messages are ordinary text: a
    // special token's name in them is no special token. ValueError if the tokeniser lacks a special token of
    // the form, or for another role.
    text::Ids encode(const text::PreTrainedTokenizer& tokenizer, const std::vector<ChatMessage>& chat) const;
    // The same as text, for a look at it.
    std::string render(const std::vector<ChatMessage>& chat) const;

private:
    struct Part;  // of a rendered chat (src/lm/chat.cpp)
    std::string name_;
    explicit ChatTemplate(std::string name) : name_(std::move(name)) {}
    std::vector<Part> parts(const std::vector<ChatMessage>& chat) const;
};

}  // namespace weft::lm
