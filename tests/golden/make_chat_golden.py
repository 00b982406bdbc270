"""Writes chats.json, what templates in Jinja make of 40 chats, and src/lm/chat_templates.h, which forms the templates have.

    pip install jinja2==3.1.6
    python tests/golden/make_chat_golden.py FOLDER...

Each .jinja file in the folders is the template of a published model, named by its file; "Qwen--Qwen2.5-7B-Instruct" stands for
Qwen/Qwen2.5-7B-Instruct. (llama.cpp has many in models/templates; others are "chat_template" of a tokenizer_config.json.) The
texts are not ours, so they are not in this repository, except chatml.jinja, which is for the tests.

A template has a form if it makes the same of all chats as the one that FORMS names. It is rendered as transformers does. The
chats are a message of the system or none, then user and assistant in turn, up to a user's: those that ChatTemplate takes.
"""

import json
import pathlib
import sys
import zlib

import jinja2
import jinja2.ext
import jinja2.sandbox

FORMS = {
    "chatml": "cognitivecomputations--dolphin-2.5-mixtral-8x7b",
    "hermes": "NousResearch--Hermes-3-Llama-3.1-8B",
    "smollm2": "HuggingFaceTB--SmolLM2-135M-Instruct",
    "qwen1.5": "Qwen--Qwen1.5-72B-Chat",
    "qwen2": "Qwen--Qwen2-1.5B-Instruct",
    "qwen2.5": "Qwen--Qwen2.5-7B-Instruct",
    "qwen3": "Qwen--Qwen3-0.6B",
    "qwen3-thinking": "unsloth--qwen3-thinking",
    "llama2": "meta-llama--Llama-2-7b-chat-hf",
    "llama3": "meta-llama--Meta-Llama-3-8B-Instruct",
    "llama3.1": "meta-llama--Llama-3.1-8B-Instruct",
    "llama3.2": "meta-llama--Llama-3.2-3B-Instruct",
    "mistral-v0.1": "mistralai--Mistral-7B-Instruct-v0.1",
    "mistral-v0.2": "mistralai--Mixtral-8x7B-Instruct-v0.1",
    "mistral-v1": "mistralai--Mistral-7B-Instruct-v0.2",
    "mistral-v3": "Mistral-Large-Instruct-2407",
    "mistral-v3-tekken": "mistralai--Mistral-Nemo-Instruct-2407",
    "mistral-v7": "mistralai--Mistral-Large-Instruct-2411",
    "mistral-v7-tekken": "unsloth-mistral-Devstral-Small-2507",
    "gemma": "google--gemma-3-1b-it",
    "zephyr": "HuggingFaceH4--zephyr-7b-beta",
    "openchat": "openchat--openchat-3.5-0106",
    "deepseek": "deepseek-ai--deepseek-llm-7b-chat",
    "deepseek-r1": "deepseek-ai--DeepSeek-R1-Distill-Llama-8B",
    "deepseek-r1-2025-01": "deepseek-ai--DeepSeek-R1",
}

# Forms whose templates write pages of their own where a chat has no message of the system, which the forms leave out: they are
# compared where it has one, and no template is taken for them.
SILENT = ["mistral-v7-tekken"]

TEXTS = ["Hi", "", "  ", "\n", " Hi\n", "a\n\nb\n", "\u3000x\u00a0", "\u0085y\u2028", "\x1cz\x1f", "\tTab\v\f", "\u200bw\ufeff",
         "\"quotes\" {{ x }} {% y %}", "caf\u00e9 \U0001f9f6", "<|im_end|>", "[/INST]", "<<SYS>>\nx\n<</SYS>>\n\ny",
         "<tool_response>\n1\n</tool_response>", "/no_think", "<think>\n\n</think>\n\nx"]
SYSTEMS = ["Be brief.", "", " \n", "\nOne\nTwo \n", "\u3000S\u0085", "/no_think Be brief"]
ANSWERS = ["Hello!", "", " ", "\n Hi there \n", "\u3000a\u2028", "<think>\nhm\n</think>\n\nYes", "a</think>b</think>\nc ",
           "<think>no end", "</s>x"]
# "-" stands for the system's message, where there is none.
CHATS = ([["-", text] for text in TEXTS] + [[text, "Hi"] for text in SYSTEMS] + [["-", "Hi", text, "Bye"] for text in ANSWERS] + [
    ["Be brief.", "Hi", "Hello!", "Bye"],
    [" s ", " u\n", " a ", "\tv "],
    ["", "", "", ""],
    ["-", "1", "2", "3", "4", "5"],
    ["0", "1", "2", "3", "<think>x</think>4", "5", "6", "7"],
    ["a", "<tool_response>b</tool_response>", "<think>\nx</think>c", "<tool_response>d</tool_response>"]])


def refuse(message):
    raise jinja2.exceptions.TemplateError(message)


def strftime_now(form):
    return "{date}" if form == "%d %b %Y" else refuse(form)  # other forms are none of ours


def rendered(template, chat):
    """As transformers' apply_chat_template(add_generation_prompt=True); None if the template refuses the chat."""
    roles = ["system"] + ["user", "assistant"] * len(chat)
    messages = [{"role": role, "content": text} for role, text in zip(roles, chat) if (role, text) != ("system", "-")]
    try:
        return template.render(messages=messages, tools=None, documents=None, add_generation_prompt=True, bos_token="{bos}",
                               eos_token="{eos}")
    except (jinja2.exceptions.TemplateError, TypeError):
        return None


def renderings(text):
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                                               extensions=[jinja2.ext.loopcontrols])
    environment.filters["tojson"] = lambda x, indent=None: json.dumps(x, ensure_ascii=False, indent=indent)
    environment.globals.update(raise_exception=refuse, strftime_now=strftime_now)
    try:
        template = environment.from_string(text)
    except jinja2.exceptions.TemplateError:  # with tags of transformers' own, or no template
        return None
    return [rendered(template, chat) for chat in CHATS]


def main():
    here = pathlib.Path(__file__).parent
    paths = [path for folder in [here, *sys.argv[1:]] for path in sorted(pathlib.Path(folder).glob("*.jinja"))]
    texts = {path.stem: path.read_bytes().decode() for path in paths}
    made = {name: renderings(text) for name, text in texts.items()}
    golden = {form: made[name] for form, name in FORMS.items()}
    for form in SILENT:
        golden[form] = [text if chat[0] != "-" else False for chat, text in zip(CHATS, golden[form])]
    found = {}  # (form, bytes, CRC-32): names
    for name, text in texts.items():
        data = text.encode().removesuffix(b"\n")  # Jinja drops it
        for form, all_of_it in golden.items():
            if made[name] == all_of_it:
                found.setdefault((form, len(data), zlib.crc32(data)), []).append(name.replace("--", "/"))
    known = sorted(found.items(), key=lambda row: (list(FORMS).index(row[0][0]), row[0]))

    result = {"versions": f"jinja2 {jinja2.__version__}", "chats": CHATS, "forms": golden}
    (here / "chats.json").write_text(json.dumps(result, indent=0) + "\n")
    rows = "".join(f"    // {names[0]}\n    {{\"{form}\", {size}, 0x{crc:08x}}},\n" for (form, size, crc), names in known)
    (here / "../../src/lm/chat_templates.h").write_text(f"""\
// The templates in Jinja whose form was proved. Written by tests/golden/make_chat_golden.py, which says how.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::lm {{

// A template: its form, its bytes without a line break at the end, which Jinja drops, and their CRC-32. zlib,
// which Weft links anyway, has no better digest. This one tells apart what people write, and to forge it gains
// nothing: the form is all that a template decides.
struct KnownTemplate {{
    const char* form;
    std::size_t bytes;
    std::uint32_t crc32;
}};

inline constexpr KnownTemplate known_templates[] = {{
{rows}}};

}}  // namespace weft::lm
""")
    print(f"{len(texts)} templates, of which {len(known)} are one of {len(FORMS)} forms")


main()
