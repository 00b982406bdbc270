// Chats.
#include "weft/lm/chat.h"

#include <algorithm>

#include "weft/base/utf8.h"

namespace weft::lm {

// A special token, a text, or the ids of an answer.
struct ChatTemplate::Part {
    enum Kind { text, special, answer } kind;
    std::string content;
    text::Ids ids = {};
};

namespace {

std::string trimmed(const std::string& text) {
    const char* const spaces = " \t\n\r\v\f";
    const std::size_t first = text.find_first_not_of(spaces);
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(spaces) - first + 1);
}

// What each form's templates have, and others lack.
const std::pair<const char*, const char*> marks[] = {{"chatml", "<|im_start|>"},
                                                     {"llama3", "<|start_header_id|>"},
                                                     {"gemma", "<start_of_turn>"},
                                                     {"mistral", "[INST]"}};
const char* const known = "chatml, llama3, gemma or mistral";

}  // namespace

ChatTemplate ChatTemplate::named(const std::string& name) {
    if (std::ranges::none_of(marks, [&](const auto& mark) { return name == mark.first; }))
        throw ValueError("ChatTemplate: \"", excerpt(name), "\" is none of ", known);
    return ChatTemplate(name);
}

ChatTemplate ChatTemplate::of(const std::string& jinja) {
    const auto has = [&](const char* text) { return jinja.find(text) != std::string::npos; };
    std::vector<std::string> found;
    for (const auto& [name, mark] : marks)
        if (has(mark)) found.emplace_back(name);
    if (found.size() != 1)
        throw ValueError("ChatTemplate: the model's template is none that Weft knows; name the one to use: ",
                         known);
    ChatTemplate form(found[0]);
    // chatml's templates write a message of their own where a chat has none:
    // '<|im_start|>system\n…<|im_end|>\n'.
    std::string text = jinja;  // a line break stands in it as one or as \n
    for (std::size_t at = 0; (at = text.find("\\n", at)) != std::string::npos;) text.replace(at, 2, "\n");
    const std::string begin = "<|im_start|>system\n";
    const std::size_t at = text.find(begin);
    const std::size_t end = at == std::string::npos ? at : text.find("<|im_end|>", at);
    if (form.name_ == "chatml" && end != std::string::npos) {
        const std::string message = text.substr(at + begin.size(), end - at - begin.size());
        if (message.find('\'') == std::string::npos) form.system = message;  // not made of pieces
    }
    return form;
}

std::vector<ChatTemplate::Part> ChatTemplate::parts(const std::vector<ChatMessage>& given) const {
    std::vector<ChatMessage> chat = given;
    for (const ChatMessage& message : chat)
        if (message.role != "system" && message.role != "user" && message.role != "assistant")
            throw ValueError("ChatTemplate: a role \"", excerpt(message.role),
                             "\"; roles are system, user and assistant");
    if (!system.empty() && (chat.empty() || chat[0].role != "system"))
        chat.insert(chat.begin(), {"system", system});
    const bool has_system = name_ == "chatml" || name_ == "llama3";
    if (!has_system && chat.size() > 1 && chat[0].role == "system") {  // it stands before the first user's
        chat[1].content = trimmed(chat[0].content) + "\n\n" + chat[1].content;
        chat.erase(chat.begin());
    }
    std::vector<Part> all;
    const auto special = [&](const std::string& token) { all.push_back({Part::special, token}); };
    const auto text = [&](const std::string& content) { all.push_back({Part::text, content}); };
    const auto content = [&](const ChatMessage& message) {
        if (!message.ids.empty())
            all.push_back({Part::answer, message.content, message.ids});
        else
            text(name_ == "chatml" ? message.content : trimmed(message.content));
    };
    // A message, or where an answer begins.
    const auto turn = [&](const std::string& role, const ChatMessage* message) {
        if (name_ == "chatml") {
            special("<|im_start|>"), text(role + "\n");
            if (message != nullptr) content(*message), special("<|im_end|>"), text("\n");
        } else if (name_ == "llama3") {
            special("<|start_header_id|>"), text(role), special("<|end_header_id|>"), text("\n\n");
            if (message != nullptr) content(*message), special("<|eot_id|>");
        } else if (name_ == "gemma") {
            special("<start_of_turn>"), text(role == "assistant" ? "model\n" : role + "\n");
            if (message != nullptr) content(*message), special("<end_of_turn>"), text("\n");
        } else if (message != nullptr && role != "assistant") {
            text("[INST] "), content(*message), text(" [/INST]");
        } else if (message != nullptr) {
            content(*message), special("</s>");
        }
    };
    if (name_ == "llama3") special("<|begin_of_text|>");
    if (name_ == "gemma") special("<bos>");
    if (name_ == "mistral") special("<s>");
    for (const ChatMessage& message : chat) turn(message.role, &message);
    turn("assistant", nullptr);
    return all;
}

text::Ids ChatTemplate::encode(const text::PreTrainedTokenizer& tokenizer,
                               const std::vector<ChatMessage>& chat) const {
    text::Ids ids;
    std::string text;  // neighbouring texts are encoded as one
    const auto append_text = [&] {
        const text::Ids more = tokenizer.encode(text, {.add_special_tokens = false});
        ids.insert(ids.end(), more.begin(), more.end());
        text.clear();
    };
    for (const Part& part : parts(chat)) {
        if (part.kind == Part::text) {
            text += part.content;
            continue;
        }
        append_text();
        if (part.kind == Part::answer) {
            ids.insert(ids.end(), part.ids.begin(), part.ids.end());
            continue;
        }
        const std::optional<std::int64_t> id = tokenizer.id_of(part.content);
        if (!id)
            throw ValueError("ChatTemplate: the tokeniser has no token ", part.content, ", which ", name_,
                             " needs; use the template that the model was trained with");
        ids.push_back(*id);
    }
    append_text();
    return ids;
}

std::string ChatTemplate::render(const std::vector<ChatMessage>& chat) const {
    std::string text;
    for (const Part& part : parts(chat)) text += part.content;
    return text;
}

}  // namespace weft::lm
