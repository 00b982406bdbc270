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

struct ChatForm;  // src/lm/chat_templates.h

// One of the forms that published models were trained on. Each is a row of data (src/lm/chat_templates.h): what
// the text begins with, the default message of the system, what stands before and after a message, which of it
// is one token, and which white space is left out. `chatml` is "<|im_start|>user\n…<|im_end|>\n" for each
// message and "<|im_start|>assistant\n" before an answer; smollm2, qwen1.5, qwen2 and qwen2.5 add their own
// message of the system, hermes the begin token, and qwen3 leaves out what an earlier answer has up to
// "</think>".
//
//     const lm::ChatTemplate form = lm::ChatTemplate::named("chatml");
//     const text::Ids ids = form.encode(tokenizer, {{"user", "What is 1 + 1?"}});
class ChatTemplate {
public:
    // ValueError for another name.
    static ChatTemplate named(const std::string& name);
    // The form of a template in Jinja (transformers' chat_template): of one whose whole text is known and was
    // proved to make the same of 40 chats as the form does (tests/golden/make_chat_golden.py). ValueError, with
    // the names of the forms, for any other.
    static ChatTemplate of(const std::string& jinja);
    static std::string names();  // "chatml, hermes, …"

    std::string name() const;  // "chatml", …
    std::string system;        // the message of the system where there is none
    std::string date;          // what llama3.2 calls today [today in local time, such as 07 Mar 2025]

    // The ids of a chat, up to where an assistant's answer begins. Texts of messages are ordinary text: a
    // special token's name in them is no special token. An answer's ids take the place of its content unless
    // the form leaves out what it thought. ValueError if the tokeniser lacks a token of the form, for another
    // role, if user and assistant do not take turns up to a user's message, or for a message of the system
    // where the form has no place for one.
    text::Ids encode(const text::PreTrainedTokenizer& tokenizer, const std::vector<ChatMessage>& chat) const;
    // The same as text, for a look at it, with {bos} and {eos} for the tokeniser's begin and end tokens.
    std::string render(const std::vector<ChatMessage>& chat) const;

private:
    struct Part;  // of a rendered chat (src/lm/chat.cpp)
    const ChatForm* form_;
    explicit ChatTemplate(const ChatForm& form);
    std::vector<Part> parts(const std::vector<ChatMessage>& chat) const;
};

}  // namespace weft::lm
