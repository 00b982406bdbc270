#!/usr/bin/env python3
"""Writes what stands beside this script for GPT-2 and its tokeniser, made by the classes of transformers and tokenizers:

    python3 make_gpt2_golden.py      needs torch, numpy, safetensors, transformers 4.46.3, tokenizers 0.20.3, Python 3.11

gpt2/                   a checkpoint folder as save_pretrained leaves it: a small GPT-2 with random weights, and a byte-level
                        BPE trained on tokenizer_text.txt
gpt2_inner/             another, with n_inner, layer_norm_epsilon and the activation set, and without a tokeniser
gpt2.safetensors        of both: ids, logits in float64 and float32, the loss and all its gradients, greedy continuations
tokenizer_cases.json    hard texts, each with its ids by GPT2TokenizerFast and by GPT2Tokenizer, which are asserted equal where
                        the slow one's Unicode tables say the same; and digests of the classes of all code points
"""
import copy
import json
import os
import pathlib
import random
import shutil
import unicodedata

import numpy as np
import tokenizers
import torch
import transformers
from safetensors.numpy import save_file
from tokenizers import ByteLevelBPETokenizer, Regex
from tokenizers.pre_tokenizers import Split
from transformers import GPT2Config, GPT2LMHeadModel, GPT2Tokenizer, GPT2TokenizerFast

here = pathlib.Path(__file__).parent
text = (here / "tokenizer_text.txt").read_bytes().decode()
end = "<|endoftext|>"
golden = {}


# ---- the tokeniser
def write_tokenizer(folder):
    """The merges that tokenizers learns, with ids in GPT-2's order: bytes, merges, the end of a text."""
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator([text], vocab_size=383, min_frequency=2, show_progress=False)
    trained.save_model(str(folder))
    vocabulary = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    assert sorted(vocabulary.values()) == list(range(383))
    vocabulary[end] = 383
    (folder / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


def pieces():
    """Characters that the pattern tells apart, and some that look as if it did."""
    assigned = [chr(c) for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
    of = lambda *kinds: [c for c in assigned if unicodedata.category(c) in kinds]
    return [["a", "B", "s", "t", "re", "ve", "ll", "d", "m"], ["'", "’", "'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S"],
            [" "], [" "], ["  ", "   "], ["\n", "\r\n", "\t", "\x0b", "\x0c", "\x1c", "\x1f", "\x85", "\xa0", "\u1680", "\u180e"],
            ["\u2003", "\u200b", "\u2028", "\u202f", "\u205f", "\u2060", "\u3000", "\ufeff", "\0", "\x7f"],
            list("0123456789"), of("Nd", "Nl", "No"), of("Ll", "Lu", "Lt"), of("Lo", "Lm"), of("Mn", "Mc", "Me"),
            of("So", "Sm", "Sc", "Sk"), of("Po", "Ps", "Pe", "Pd"), list(".,:;!?-_#/()"), ["\U000f0000", "\u0378", "\U0010ffff"],
            ["🧵", "👩🏽‍💻", "🇫🇷", "❤️"], ["the", " the", " loom", " weft"], [end, end[:-1], " " + end + " "]]


def cases():
    yield from ["", " ", "  ", "   ", "\n", "\n\n", " \n", "\n ", "a", " a", "  a", "a ", "a  ", "a  b", "a \n b", "\t\ta", "a\t\tb", "a\r\nb",
                "'s", " 's", "it's", "IT'S", "it''s", "'sa", "'llama", "'lx", "l'l'll", "1's", "a1b2", " 12 34", "12,345.67", "½x²", "٣a",
                "e\u0301", "\u0301", " \u0301x", "n\u0303o", "x\u200by", "\u3000a", "a\u3000\u3000b", "\xa0a", " \xa0a", "a\x85b",
                "\x1c a", "\u180ea", "\ufeffa", "\0", "a\0b", "日本語", "カ゚", "👩🏽‍💻👨‍👩‍👧‍👦", "🇫🇷🇩🇪", "! !", "!!!???", "-- --", "<|endoftext", end, end + end,
                "a" + end, end + "a", "a " + end + " b", "a  " + end + "  b", "<|" + end + "|>", "a" * 40, " " * 40, "ab" * 30,
                "the loom and the weft " * 3, "\U0010ffff\U000e0001\u0378"]
    rng = random.Random(20)
    kinds = pieces()
    for _ in range(150):
        yield "".join(rng.choice(rng.choice(kinds)) for _ in range(rng.randint(2, 24)))
    yield text


def digest(data):
    """FNV-1a, 64 bits."""
    h = 0xCBF29CE484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{h:016x}"


def unassigned():
    """The code points that are in no Unicode version of this Python's, [first, last, first, last, …]: a later version may give them a class."""
    is_unassigned = [False] + [unicodedata.category(chr(c)) == "Cn" for c in range(0x110000)] + [False]
    return [c - before for c in range(0x110001) for before in [is_unassigned[c]] if is_unassigned[c] != is_unassigned[c + 1]]


def classes():
    """The digest of the class of every other code point (L, N, S or O; surrogates O), as the pattern of tokenizers sees it."""
    all_classes = bytearray(b"O" * 0x110000)
    for letter, pattern in ((b"L", r"\p{L}+"), (b"N", r"\p{N}+"), (b"S", r"\s+")):
        keep = Split(Regex(pattern), "removed", invert=True)
        for start in range(0, 0x110000, 2048):
            if start == 0xD800:
                continue
            for found, _ in keep.pre_tokenize_str("".join(map(chr, range(start, start + 2048)))):
                for c in found:
                    all_classes[ord(c)] = letter[0]
    gaps = unassigned()
    for first, last in reversed(list(zip(gaps[::2], gaps[1::2]))):
        del all_classes[first:last + 1]
    return digest(all_classes)


def write_cases(folder):
    fast = GPT2TokenizerFast.from_pretrained(folder)
    slow = GPT2Tokenizer.from_pretrained(folder)
    plain = GPT2TokenizerFast.from_pretrained(folder, split_special_tokens=True)
    result, slow_differs = [], 0
    for case in cases():
        ids = fast.encode(case)
        assert fast.decode(ids, clean_up_tokenization_spaces=False) == case
        if slow.encode(case) != ids:  # `regex` knows later Unicode versions
            slow_differs += 1
            assert any(unicodedata.category(c) == "Cn" for c in case), case
        result.append({"text": case, "ids": ids})
        if end in case:
            result[-1]["as_text"] = plain.encode(case)
    print(f"{len(result)} texts, {slow_differs} of them otherwise by the slow tokeniser, for characters that are not in "
          f"Unicode {unicodedata.unidata_version}")
    made_by = (f"make_gpt2_golden.py with transformers {transformers.__version__}, tokenizers {tokenizers.__version__}, "
               f"Unicode {unicodedata.unidata_version}")
    lines = ",\n".join(json.dumps(case) for case in result)
    (here / "tokenizer_cases.json").write_text(
        f'{{"made_by": {json.dumps(made_by)},\n"classes": "{classes()}",\n"unassigned": {unassigned()},\n"cases": [\n{lines}\n]}}\n', encoding="utf-8")
    return fast


# ---- the model
def write_model(folder, config, ids):
    torch.manual_seed(3)
    model = GPT2LMHeadModel(config).eval()
    with torch.no_grad():  # biases and norms too: as they are made, many mistakes would not show
        for name, p in model.named_parameters():
            p.copy_((1 + 0.2 * torch.randn_like(p)) if ".ln_" in name and name.endswith("weight") else 0.25 * torch.randn_like(p))
    model.save_pretrained(folder, safe_serialization=True)
    (folder / "generation_config.json").unlink()
    name = folder.name
    ids = torch.tensor(ids)
    golden[f"{name}/ids"] = ids.numpy()
    golden[f"{name}/logits32"] = model(ids).logits.detach().numpy()
    exact = copy.deepcopy(model).double()
    result = exact(ids, labels=ids)
    result.loss.backward()
    golden[f"{name}/logits"] = result.logits.detach().numpy()
    golden[f"{name}/loss"] = result.loss.detach().numpy()
    for key, p in exact.named_parameters():
        golden[f"{name}/grad/{key}"] = p.grad.numpy()
    prompt = ids[:1, :5]
    with torch.no_grad():
        golden[f"{name}/greedy"] = exact.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False, pad_token_id=0,
                                                  eos_token_id=None, max_new_tokens=config.n_positions - 5)[0].numpy()


def fresh(name):
    shutil.rmtree(here / name, ignore_errors=True)
    (here / name).mkdir()
    return here / name


folder = fresh("gpt2")
write_tokenizer(folder)
write_model(folder, GPT2Config(vocab_size=384, n_positions=24, n_embd=24, n_layer=2, n_head=3, bos_token_id=383, eos_token_id=383,
                               attn_implementation="eager"), np.random.default_rng(1).integers(0, 384, (2, 12)))
write_cases(folder)
write_model(fresh("gpt2_inner"), GPT2Config(vocab_size=20, n_positions=7, n_embd=8, n_layer=1, n_head=1, n_inner=10,
                                            layer_norm_epsilon=0.01, activation_function="gelu_pytorch_tanh", bos_token_id=0,
                                            eos_token_id=0, attn_implementation="eager"),
            np.random.default_rng(2).integers(0, 20, (1, 7)))
save_file({k: np.ascontiguousarray(v) if v.ndim else v for k, v in golden.items()}, here / "gpt2.safetensors",
          metadata={"made_by": f"make_gpt2_golden.py with transformers {transformers.__version__}, PyTorch {torch.__version__}"})
for path in (here / "gpt2.safetensors", *here.glob("gpt2*/*")):
    os.chmod(path, 0o644)
