#!/usr/bin/env python3
"""Changes programs of version 0.2 whose attention has options that nn::Attention has since: python3 tools/attention_options.py FILE…

MultiHeadAttention and CausalMultiHeadAttention with fused, num_kv_heads, d_k, d_v, kdim, vdim or rotary_base become Attention, the causal
one with causal = true, and so does one that is called with a cache or has a mask of its own. W_qkv is no optional, and W_q, W_k
and W_v are W_in[0] to W_in[2]."""
import pathlib
import re
import sys

MOVED = re.compile(r"\.(fused|num_kv_heads|d_k|d_v|kdim|vdim|rotary_base) =")
CLASS = re.compile(r"\b((?:nn::)?)(Causal)?MultiHeadAttention( \w+)?\(")


def arguments(text, begin):
    """Where the bracket that opens before `begin` closes."""
    depth = 1
    for i in range(begin, len(text)):
        depth += text[i] in "({[" and 1 or text[i] in ")}]" and -1 or 0
        if depth == 0:
            return i
    return len(text)


def changed(text):
    at = 0
    while match := CLASS.search(text, at):
        space, causal, name = match.group(1), match.group(2), match.group(3) or ""
        end = arguments(text, match.end())
        inside, at = text[match.end():end], match.end()
        used = name and re.search(rf"\b{name.strip()}(\.set_mask\(|\([^()]*\bcache\b)", text)
        if not MOVED.search(inside) and not (causal and used):
            continue
        if causal:
            inside = inside.replace("{", "{.causal = true, ", 1) if "{" in inside else inside + ", {.causal = true}"
        text = text[:match.start()] + f"{space}Attention{name}(" + inside + text[end:]
    text = re.sub(r"\(\*(\w+)\.W_qkv\)", r"\1.W_qkv", text)
    for i, part in enumerate(["W_q", "W_k", "W_v"]):
        text = re.sub(rf"\(\*(\w+)\.{part}\)|\*(\w+)\.{part}\b", lambda m: f"{m[1] or m[2]}.W_in[{i}]", text).replace(f".{part}->", f".W_in[{i}].")
    return text.replace("W_qkv->", "W_qkv.")


for path in map(pathlib.Path, sys.argv[1:]):
    before = path.read_text(encoding="utf-8")
    after = changed(before)
    if after != before:
        path.write_text(after, encoding="utf-8")
        print(path)
