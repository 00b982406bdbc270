// Chats.
#include "weft/lm/chat.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "lm/chat_templates.h"
#include "weft/base/text.h"

namespace weft::lm {

// Text, one token by its name, or the ids of an answer.
struct ChatTemplate::Part {
    enum Kind { text, token, answer } kind;
    std::string content;
    text::Ids ids = {};
};

namespace {

// What Python's strip() takes away.
bool is_python_space(char32_t c) {
    return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
           c == 0x3000;
}

std::string trimmed(const std::string& text) {
    std::size_t begin = text.size(), end = 0;
    for (std::size_t at = 0; at < text.size();) {
        const Decoded c = decode_at(text, at);
        const std::size_t next = at + c.length;
        if (c.kind != Decoded::character || !is_python_space(c.value)) begin = std::min(begin, at), end = next;
        at = next;
    }
    return begin < end ? text.substr(begin, end - begin) : "";
}

std::string without_thoughts(const std::string& answer, ChatForm::Thoughts thoughts) {
    const std::string end = "</think>";
    const std::size_t found = thoughts == ChatForm::kept ? answer.npos : answer.rfind(end);
    if (found == answer.npos) return answer;
    std::size_t begin = found + end.size();
    while (thoughts == ChatForm::dropped_with_breaks && answer[begin] == '\n') ++begin;
    return answer.substr(begin);
}

std::string today() {
    const std::time_t now = std::time(nullptr);
    std::tm day{};
    ::localtime_r(&now, &day);
    const char* const months = "Jan\0Feb\0Mar\0Apr\0May\0Jun\0Jul\0Aug\0Sep\0Oct\0Nov\0Dec";
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%02d %s %d", day.tm_mday, months + 4 * day.tm_mon,
                  1900 + day.tm_year);
    return text.data();
}

}  // namespace

ChatTemplate::ChatTemplate(const ChatForm& form) : system(form.default_system), date(today()), form_(&form) {}

std::string ChatTemplate::names() {
    std::string all;
    for (const ChatForm& form : chat_forms) all += (all.empty() ? "" : ", ") + std::string(form.name);
    return all;
}

ChatTemplate ChatTemplate::named(const std::string& name) {
    const auto* const form = std::ranges::find(chat_forms, name, &ChatForm::name);
    if (form == std::ranges::end(chat_forms))
        throw ValueError("ChatTemplate: \"", excerpt(name), "\" is none of ", names());
    return ChatTemplate(*form);
}

ChatTemplate ChatTemplate::of(const std::string& jinja) {
    const std::size_t bytes = jinja.size() - (jinja.ends_with('\n') ? 1 : 0);
    const uLong crc = ::crc32_z(0, reinterpret_cast<const Bytef*>(jinja.data()), bytes);
    for (const KnownTemplate& known : known_templates)
        if (known.bytes == bytes && known.crc32 == crc) return named(known.form);
    throw ValueError("ChatTemplate: the model's template (", bytes,
                     " bytes) is none of those whose form is known; name the form that the model was trained "
                     "on (ChatTemplate::named, or --form NAME): ",
                     names());
}

std::string ChatTemplate::name() const { return form_->name; }

std::vector<ChatTemplate::Part> ChatTemplate::parts(const std::vector<ChatMessage>& chat) const {
    const bool has_system = !chat.empty() && chat[0].role == "system";
    const std::size_t first = has_system ? 1 : 0;
    for (const ChatMessage& message : chat)
        if (message.role != "system" && message.role != "user" && message.role != "assistant")
            throw ValueError("ChatTemplate: a role \"", excerpt(message.role),
                             "\"; roles are system, user and assistant");
    for (std::size_t i = first; i < chat.size() || (chat.size() - first) % 2 == 0; ++i) {
        const std::string is = i < chat.size() ? "is of the " + chat[i].role : "is missing";
        if (i >= chat.size() || chat[i].role != ((i - first) % 2 == 0 ? "user" : "assistant"))
            throw ValueError("ChatTemplate: message ", i, " ", is,
                             "; after the system's, if there is one, user and assistant take turns, and the "
                             "user's is the last");
    }
    std::vector<Part> all;
    // A text of the form, in which each name of a token is that token, with a message in it.
    const auto append = [&](std::string_view text, const Part& message = {Part::text, ""}) {
        const auto add = [&](Part part) {
            if (part.kind != Part::text || !part.content.empty()) all.push_back(std::move(part));
        };
        std::vector<std::pair<std::string_view, Part>> marks{{"{}", message}, {"{date}", {Part::text, date}}};
        for (const std::string_view name : {"{bos}", "{eos}"})
            marks.push_back({name, {Part::token, std::string(name)}});
        for (const std::string_view name : form_->tokens)
            if (!name.empty()) marks.push_back({name, {Part::token, std::string(name)}});
        std::size_t done = 0;
        for (std::size_t at = 0; at < text.size();) {
            const auto is_here = [&](const auto& mark) { return text.substr(at).starts_with(mark.first); };
            const auto mark = std::ranges::find_if(marks, is_here);
            if (mark == marks.end()) {
                ++at;
                continue;
            }
            add({Part::text, std::string(text.substr(done, at - done))});
            add(mark->second);
            done = at += mark->first.size();
        }
        add({Part::text, std::string(text.substr(done))});
    };

    append(form_->begin);
    const bool is_own = form_->place == ChatForm::own_turn;
    std::string before;  // the first or last user's text
    if (has_system || !system.empty() || form_->always_system) {
        std::string content = has_system ? chat[0].content : system;
        if (form_->place == ChatForm::nowhere)
            throw ValueError("ChatTemplate: ", name(),
                             " has no place for a message of the system; begin the first user's with it");
        if (is_own && form_->trim == ChatForm::each) content = trimmed(content);
        if (is_own)
            append(form_->system, {Part::text, content});
        else
            before = std::string(form_->system).replace(std::string_view(form_->system).find("{}"), 2, content);
    }
    const std::size_t with_system = form_->place == ChatForm::last_user ? chat.size() - 1 : first;
    for (std::size_t i = first; i < chat.size(); ++i) {
        const bool is_answer = chat[i].role == "assistant";
        std::string content = chat[i].content;
        if (is_answer) content = without_thoughts(content, form_->thoughts);
        const bool is_whole = content.size() == chat[i].content.size();
        const std::string prefix = i == with_system ? before : "";
        if (form_->trim == ChatForm::joined) content = trimmed(prefix + content);
        if (form_->trim == ChatForm::each || (form_->trim == ChatForm::answers && is_answer))
            content = trimmed(content);
        if (form_->trim != ChatForm::joined) content = prefix + content;
        if (is_answer && is_whole && !chat[i].ids.empty())
            append(form_->assistant, {Part::answer, content, chat[i].ids});
        else
            append(is_answer ? form_->assistant : form_->user, {Part::text, content});
    }
    append(form_->answer);
    return all;
}

text::Ids ChatTemplate::encode(const text::PreTrainedTokenizer& tokenizer,
                               const std::vector<ChatMessage>& chat) const {
    text::Ids ids;
    std::string text;  // neighbouring texts are encoded as one
    const auto append_text = [&] {
        const text::Ids more = tokenizer.encode(text, {.add_special_tokens = false, .continues = !ids.empty()});
        ids.insert(ids.end(), more.begin(), more.end());
        text.clear();
    };
    for (const Part& part : parts(chat)) {
        const bool is_bos = part.content == "{bos}", is_edge = is_bos || part.content == "{eos}";
        const std::optional<std::int64_t> id = part.kind != Part::token ? std::nullopt
                                               : is_bos                 ? tokenizer.bos_token_id()
                                               : is_edge                ? tokenizer.eos_token_id()
                                                                        : tokenizer.id_of(part.content);
        if (part.kind == Part::token && !id && !is_edge && !form_->tokens_optional)
            throw ValueError("ChatTemplate: the tokeniser has no token ", part.content, ", which ", name(),
                             " needs; use the form that the model was trained with");
        if (id || part.kind == Part::answer) append_text();
        if (id)
            ids.push_back(*id);
        else if (part.kind == Part::answer)
            ids.insert(ids.end(), part.ids.begin(), part.ids.end());
        else if (!is_edge || part.kind == Part::text)
            text += part.content;
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
