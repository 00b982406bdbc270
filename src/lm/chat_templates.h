// The templates in Jinja whose form was proved. Written by tests/golden/make_chat_golden.py, which says how.
#pragma once

#include <cstddef>
#include <cstdint>

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

}  // namespace weft::lm
