// The templates in Jinja whose form was proved. Written by tests/golden/make_chat_golden.py, which says how.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::lm {

// A template: its form, its bytes without a line break at the end, which Jinja drops, and their CRC-32. zlib,
// which Weft links anyway, has no better digest. This one tells apart what people write, and to forge it gains
// nothing: the form is all that a template decides.
struct KnownTemplate {
    const char* form;
    std::size_t bytes;
    std::uint32_t crc32;
};

inline constexpr KnownTemplate known_templates[] = {
    // chatml
    {"chatml", 178, 0x32734d73},
    // Nous-Hermes-2-Mistral-7B-DPO.Q4_0
    {"chatml", 196, 0xd47d59ef},
    // teknium/OpenHermes-2.5-Mistral-7B
    {"chatml", 199, 0xd29c6fb3},
    // cognitivecomputations/dolphin-2.5-mixtral-8x7b
    {"chatml", 291, 0xe8052473},
    // unsloth/chatml
    {"chatml", 398, 0xcb7ff9ff},
    // ollama/chatml-4
    {"chatml", 450, 0xef4771f6},
    // trl/qwen3_instruct_2507
    {"chatml", 2630, 0x40e97656},
    // trl/qwen3_vl
    {"chatml", 5291, 0x778d74da},
    // Qwen3-Coder
    {"chatml", 6147, 0x0689da30},
    // NousResearch/Hermes-3-Llama-3.1-8B
    {"hermes", 209, 0xad96d7e6},
    // ollama/chatml-5
    {"hermes", 306, 0x61bb53c7},
    // HuggingFaceH4/zephyr-7b-gemma-v0.1
    {"hermes", 358, 0x93506502},
    // HuggingFaceTB/SmolLM2-135M-Instruct
    {"smollm2", 368, 0xbccc7195},
    // ollama/chatml-3
    {"qwen1.5", 327, 0x9f66baca},
    // Qwen/Qwen1.5-72B-Chat
    {"qwen1.5", 443, 0x5d2f679b},
    // Qwen/Qwen2-1.5B-Instruct
    {"qwen2", 328, 0x4f7179e5},
    // ollama/chatml-6
    {"qwen2", 629, 0x669e0e4b},
    // Qwen/Qwen2.5-VL-7B-Instruct
    {"qwen2", 1017, 0xce374da5},
    // MadeAgents/Hammer2.1
    {"qwen2", 2339, 0x49cf21e4},
    // Qwen/Qwen2.5-7B-Instruct
    {"qwen2.5", 2506, 0xec332e36},
    // unsloth/qwen3-instruct
    {"qwen3", 4007, 0x5dabb665},
    // Qwen/Qwen3-0.6B
    {"qwen3", 4116, 0xf44b0207},
    // trl/qwen3
    {"qwen3", 4168, 0x2819f267},
    // unsloth/qwen3
    {"qwen3", 4717, 0x90ea5687},
    // unsloth/qwen3-thinking
    {"qwen3-thinking", 4047, 0xb9d9ab34},
    // ollama/llama2-chat-2
    {"llama2", 813, 0xc32b3eca},
    // meta-llama/Llama-2-7b-chat-hf
    {"llama2", 815, 0x3d6cf1b4},
    // llama
    {"llama2", 1072, 0xcf396f58},
    // Llama-3
    {"llama3", 348, 0xe574abe0},
    // meta-llama/Meta-Llama-3-8B-Instruct
    {"llama3", 389, 0x9de0a238},
    // unsloth/llama3
    {"llama3", 551, 0x20be11a8},
    // meta-llama/Llama-3.1-8B-Instruct
    {"llama3.1", 4613, 0x138bbca5},
    // meta-llama/Llama-3.2-3B-Instruct
    {"llama3.2", 3826, 0xc85933d0},
    // mistralai/Mistral-7B-Instruct-v0.1
    {"mistral-v0.1", 477, 0xc77de5b0},
    // mistralai/Mixtral-8x7B-Instruct-v0.1
    {"mistral-v0.2", 470, 0xf5755655},
    // mistralai/Mistral-7B-Instruct-v0.2
    {"mistral-v1", 1057, 0xc8c307d9},
    // Mistral-Large-Instruct-2407
    {"mistral-v3", 3958, 0xc5c3ec92},
    // mistral.rs/mistral_nemo_tool_call
    {"mistral-v3-tekken", 2837, 0xddc80fd4},
    // mistralai/Mistral-Nemo-Instruct-2407-2
    {"mistral-v3-tekken", 3777, 0x68dd7f91},
    // mistralai/Mistral-Nemo-Instruct-2407
    {"mistral-v3-tekken", 3944, 0x8e7c7178},
    // mistralai/Mistral-Large-Instruct-2411
    {"mistral-v7", 423, 0x80467bee},
    // google/gemma-3-1b-it
    {"gemma", 1531, 0xb0f836fd},
    // unsloth/gemma3
    {"gemma", 1533, 0x2d466ec0},
    // unsloth/gemma3n
    {"gemma", 1625, 0xa1703cfa},
    // unsloth/zephyr
    {"zephyr", 375, 0x691024ec},
    // HuggingFaceH4/zephyr-7b-beta
    {"zephyr", 410, 0xeb91d895},
    // openchat/openchat-3.5-0106
    {"openchat", 222, 0x9e998084},
    // unsloth/starling
    {"openchat", 243, 0xc97f8d61},
    // deepseek-ai/deepseek-llm-7b-chat
    {"deepseek", 459, 0x2cd0d888},
    // deepseek-ai/DeepSeek-R1-Distill-Llama-8B
    {"deepseek-r1", 2478, 0x2120ce93},
    // trl/deepseekv3
    {"deepseek-r1", 2765, 0xc31a04f9},
    // DeepSeek-R1-Distill-Qwen-7B-Q4_0
    {"deepseek-r1-2025-01", 2237, 0x5ab0554e},
    // deepseek-ai/DeepSeek-R1
    {"deepseek-r1-2025-01", 2756, 0x34d293e8},
};

// The forms of chats as rows of data.

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
