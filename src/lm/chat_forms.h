// The forms of chats as rows of data.
#pragma once

#include <string_view>

namespace weft::lm {

// How a chat is written. In texts "{}" is a message, "{bos}" and "{eos}" are the tokens of the tokeniser that
// begin and end a text, if it has them, and "{date}" is ChatTemplate::date.
struct ChatForm {
    enum Place { own_turn, first_user, last_user, nowhere };  // of the system's message
    enum Trim { none, answers, each, joined };  // white space around texts; joined: with the system's before it
    enum Thoughts { kept, dropped, dropped_with_breaks };  // an answer up to "</think>", and line breaks after

    const char* name;
    const char *begin, *system, *user, *assistant;
    const char* answer;               // where the model goes on
    std::string_view tokens[4];       // parts of the texts above that are one token each
    bool tokens_optional = false;     // text where the tokeniser does not have them
    const char* default_system = "";  // where a chat has none
    bool always_system = false;       // the turn of the system is written without a message, too
    Place place = own_turn;
    Trim trim = none;
    Thoughts thoughts = kept;
};

inline constexpr ChatForm chatml_form(const char* name, const char* begin = "", const char* system = "") {
    return {.name = name,
            .begin = begin,
            .system = "<|im_start|>system\n{}<|im_end|>\n",
            .user = "<|im_start|>user\n{}<|im_end|>\n",
            .assistant = "<|im_start|>assistant\n{}<|im_end|>\n",
            .answer = "<|im_start|>assistant\n",
            .tokens = {"<|im_start|>", "<|im_end|>"},
            .default_system = system};
}

inline constexpr ChatForm qwen3_form(const char* name, const char* answer) {
    ChatForm form = chatml_form(name);
    form.answer = answer;
    form.thoughts = ChatForm::dropped_with_breaks;
    return form;
}

inline constexpr ChatForm llama3_form(const char* name, const char* system, bool always_system) {
    return {.name = name,
            .begin = "{bos}",
            .system = system,
            .user = "<|start_header_id|>user<|end_header_id|>\n\n{}<|eot_id|>",
            .assistant = "<|start_header_id|>assistant<|end_header_id|>\n\n{}<|eot_id|>",
            .answer = "<|start_header_id|>assistant<|end_header_id|>\n\n",
            .tokens = {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"},
            .always_system = always_system,
            .trim = ChatForm::each};
}

inline constexpr ChatForm mistral_form(const char* name, const char* user, const char* assistant,
                                       bool tokens_optional, ChatForm::Place place,
                                       const char* system = "{}\n\n") {
    return {.name = name,
            .begin = "{bos}",
            .system = system,
            .user = user,
            .assistant = assistant,
            .answer = "",
            .tokens = {"[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"},
            .tokens_optional = tokens_optional,
            .place = place};
}

inline constexpr ChatForm mistral_v3_form() {
    ChatForm form = mistral_form("mistral-v3", "[INST] {}[/INST]", " {}{eos}", false, ChatForm::last_user);
    form.trim = ChatForm::answers;
    return form;
}

inline constexpr ChatForm deepseek_r1_form(const char* name, const char* answer) {
    return {.name = name,
            .begin = "{bos}",
            .system = "{}",
            .user = "<｜User｜>{}",
            .assistant = "<｜Assistant｜>{}<｜end▁of▁sentence｜>",
            .answer = answer,
            .tokens = {"<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>"},
            .thoughts = ChatForm::dropped};
}

inline constexpr ChatForm chat_forms[] = {
    chatml_form("chatml"),
    chatml_form("hermes", "{bos}"),
    chatml_form("smollm2", "", "You are a helpful AI assistant named SmolLM, trained by Hugging Face"),
    chatml_form("qwen1.5", "", "You are a helpful assistant"),
    chatml_form("qwen2", "", "You are a helpful assistant."),
    chatml_form("qwen2.5", "", "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."),
    qwen3_form("qwen3", "<|im_start|>assistant\n"),
    qwen3_form("qwen3-thinking", "<|im_start|>assistant\n<think>\n"),
    {.name = "llama2",
     .begin = "",
     .system = "<<SYS>>\n{}\n<</SYS>>\n\n",
     .user = "{bos}[INST] {} [/INST]",
     .assistant = " {} {eos}",
     .answer = "",
     .tokens = {},
     .place = ChatForm::first_user,
     .trim = ChatForm::joined},
    llama3_form("llama3", "<|start_header_id|>system<|end_header_id|>\n\n{}<|eot_id|>", false),
    llama3_form("llama3.1",
                "<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\n"
                "Today Date: 26 Jul 2024\n\n{}<|eot_id|>",
                true),
    llama3_form("llama3.2",
                "<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\n"
                "Today Date: {date}\n\n{}<|eot_id|>",
                true),
    mistral_form("mistral-v0.1", "[INST] {} [/INST]", "{}{eos} ", true, ChatForm::nowhere),
    mistral_form("mistral-v0.2", "[INST] {} [/INST]", "{}{eos}", true, ChatForm::nowhere),
    mistral_form("mistral-v1", " [INST] {} [/INST]", " {}{eos}", true, ChatForm::first_user),
    mistral_v3_form(),
    mistral_form("mistral-v3-tekken", "[INST]{}[/INST]", "{}{eos}", false, ChatForm::last_user),
    mistral_form("mistral-v7", "[INST] {}[/INST]", " {}{eos}", false, ChatForm::own_turn,
                 "[SYSTEM_PROMPT] {}[/SYSTEM_PROMPT]"),
    mistral_form("mistral-v7-tekken", "[INST]{}[/INST]", "{}{eos}", false, ChatForm::own_turn,
                 "[SYSTEM_PROMPT]{}[/SYSTEM_PROMPT]"),
    {.name = "gemma",
     .begin = "{bos}",
     .system = "{}\n\n",
     .user = "<start_of_turn>user\n{}<end_of_turn>\n",
     .assistant = "<start_of_turn>model\n{}<end_of_turn>\n",
     .answer = "<start_of_turn>model\n",
     .tokens = {"<start_of_turn>", "<end_of_turn>"},
     .place = ChatForm::first_user,
     .trim = ChatForm::each},
    {.name = "zephyr",
     .begin = "",
     .system = "<|system|>\n{}{eos}\n",
     .user = "<|user|>\n{}{eos}\n",
     .assistant = "<|assistant|>\n{}{eos}\n",
     .answer = "<|assistant|>\n",
     .tokens = {}},
    {.name = "openchat",
     .begin = "{bos}",
     .system = "GPT4 Correct System: {}<|end_of_turn|>",
     .user = "GPT4 Correct User: {}<|end_of_turn|>",
     .assistant = "GPT4 Correct Assistant: {}<|end_of_turn|>",
     .answer = "GPT4 Correct Assistant:",
     .tokens = {"<|end_of_turn|>"}},
    {.name = "deepseek",
     .begin = "{bos}",
     .system = "{}\n\n",
     .user = "User: {}\n\n",
     .assistant = "Assistant: {}{eos}",
     .answer = "Assistant:",
     .tokens = {}},
    deepseek_r1_form("deepseek-r1", "<｜Assistant｜><think>\n"),
    deepseek_r1_form("deepseek-r1-2025-01", "<｜Assistant｜>"),
};

}  // namespace weft::lm
