#!/usr/bin/env python3
"""Writes tokenizers/ beside this script: small tokenizers of every kind that text::PreTrainedTokenizer reads, trained on
tokenizer_text.txt, with the ids and texts that Hugging Face's tokenizers and SentencePiece give:

    python3 make_tokenizer_golden.py       needs tokenizers 0.23.3, sentencepiece 0.2.3, Python 3.11 (Unicode 14)
    python3 make_tokenizer_golden.py differences  writes differences.json alone
    python3 make_tokenizer_golden.py FILE  prints the hashes of another tokenizer.json, or those of llama.cpp for a .gguf file (needs
                                           llama-cpp-python 0.3.36 in place of the others)

NAME.json      a tokenizer.json, or for sentencepiece*.json the tokenizer.ggml keys of a GGUF file
differences.json  what the tokenizers crate makes where PCRE2 or a later Unicode might make something else: each mark since
               Unicode 10 beside another, in the order that Unicode 14 exchanges, with its NFC; and patterns, each with a text and its pieces
cases.json     hard texts, each with its ids by each tokenizer (parsed: special tokens in the text are tokens; plain: they are
               text, without those around it) and the decoded text; and for 10,000 drawn texts a hash of each hundred's ids
real.json      such hashes of published tokenizers, which are not here: by tokenizers gpt2.json, the tokenizer.json of
               openai-community/gpt2; by llama.cpp smollm2.gguf, SmolLM2-135M-Instruct, and ggml-vocab-*.gguf, which are in models/ of
               llama.cpp's sources
"""
import ctypes
import json
import pathlib
import sys
import tempfile
import unicodedata

if len(sys.argv) == 1 or not sys.argv[1].endswith(".gguf"):
    import sentencepiece
    from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors,
                            trainers)

here = pathlib.Path(__file__).parent
folder = here / "tokenizers"
text = (here / "tokenizer_text.txt").read_bytes().decode()
byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)]
gaps = json.loads((here / "tokenizer_cases.json").read_text(encoding="utf-8"))["unassigned"]
unassigned = {c for first, last in zip(gaps[::2], gaps[1::2]) for c in range(first, last + 1)}

llama3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
qwen2 = llama3.replace(r"\p{N}{1,3}", r"\p{N}")
gpt4o = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")


# ---- the tokenizers
def trained(name, size, special, parts, added=(), alphabet=(), **model):
    """Trains merges in pieces as the parts cut them; writes NAME.json; returns what reads it."""
    tokenizer = Tokenizer(models.BPE(**{key: value for key, value in model.items() if key in ("unk_token",)}))
    for part, value in parts.items():
        if part in ("normalizer", "pre_tokenizer"):
            setattr(tokenizer, part, value)
    hidden = byte_tokens if model.get("byte_fallback") else []
    trainer = trainers.BpeTrainer(vocab_size=size, min_frequency=2, show_progress=False, special_tokens=special + hidden,
                                  initial_alphabet=list(alphabet),
                                  limit_alphabet=256 if alphabet else 70)
    # A text that is not cut would be one token: lines are.
    tokenizer.train_from_iterator(text.split("\n"), trainer)
    for part, value in parts.items():
        if part == "post_processor":
            value = value(tokenizer)
        setattr(tokenizer, part, value)
    data = json.loads(tokenizer.to_str())
    data["added_tokens"] = [token for token in data["added_tokens"] if token["content"] not in hidden]
    data["model"].update(model)
    if name in ("gpt2", "llama2"):  # the older way to write merges
        data["model"]["merges"] = [" ".join(pair) for pair in data["model"]["merges"]]
    tokenizer = Tokenizer.from_str(json.dumps(data))
    if added:
        tokenizer.add_tokens([token for token in added if not token.special])
        tokenizer.add_special_tokens([token for token in added if token.special])
    data["added_tokens"] = json.loads(tokenizer.to_str())["added_tokens"]
    write(name, data)
    return Tokenizer.from_file(str(folder / f"{name}.json"))


def write(name, data):
    (folder / f"{name}.json").write_text(json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


def template(single, *names):
    return lambda t: processors.TemplateProcessing(single=single, pair=None,
                                                   special_tokens=[(name, t.token_to_id(name)) for name in names])


def byte_level(pattern=None):
    """Cut by a pattern, or by GPT-2's."""
    if pattern is None:
        return pre_tokenizers.ByteLevel(add_prefix_space=False)
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def hugging_face():
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    byte_decoder = decoders.ByteLevel()
    yield "gpt2", trained("gpt2", 400, ["<|endoftext|>"], dict(
        pre_tokenizer=byte_level(), post_processor=lambda t: processors.ByteLevel(trim_offsets=False), decoder=byte_decoder),
        alphabet=alphabet)
    yield "llama3", trained("llama3", 420, ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"], dict(
        pre_tokenizer=byte_level(llama3), decoder=byte_decoder,
        post_processor=lambda t: processors.Sequence([processors.ByteLevel(trim_offsets=False),
                                                      template("<|begin_of_text|> $A", "<|begin_of_text|>")(t)])),
        alphabet=alphabet, ignore_merges=True)
    yield "qwen2", trained("qwen2", 420, ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], dict(
        normalizer=normalizers.NFC(), pre_tokenizer=byte_level(qwen2), decoder=byte_decoder,
        post_processor=lambda t: processors.ByteLevel(trim_offsets=False)),
        added=[AddedToken("<tool_call>", normalized=False), AddedToken("</tool_call>", normalized=False)], alphabet=alphabet)
    yield "smollm", trained("smollm", 410, ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], dict(
        pre_tokenizer=pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level()]),
        decoder=byte_decoder), alphabet=alphabet[:250])
    yield "gpt4o", trained("gpt4o", 400, ["<|endoftext|>", "<|end|>"], dict(
        pre_tokenizer=byte_level(gpt4o), decoder=byte_decoder), alphabet=alphabet)
    yield "gemma", trained("gemma", 500, ["<pad>", "<eos>", "<bos>", "<unk>"], dict(
        normalizer=normalizers.Replace(" ", "▁"), pre_tokenizer=pre_tokenizers.Split(" ", "merged_with_previous"),
        post_processor=template("<bos> $A", "<bos>"),
        decoder=decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])),
        added=[AddedToken("<end_of_turn>", special=True), AddedToken("\n\n", normalized=False), AddedToken("▁▁", normalized=False)],
        unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    yield "llama2", trained("llama2", 500, ["<unk>", "<s>", "</s>"], dict(
        normalizer=normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]),
        post_processor=template("<s> $A", "<s>"),
        decoder=decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                   decoders.Strip(" ", 1, 0)])),
        unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    yield "metaspace", trained("metaspace", 200, ["<unk>", "<s>", "</s>"], dict(
        normalizer=normalizers.NFC(), pre_tokenizer=pre_tokenizers.Metaspace(prepend_scheme="first"),
        post_processor=template("<s> $A </s>", "<s>", "</s>"), decoder=decoders.Metaspace(prepend_scheme="first")),
        added=[AddedToken("<mask>", special=True, lstrip=True), AddedToken("<sep>", special=True, rstrip=True),
               AddedToken("loom", single_word=True, normalized=False), AddedToken("café", normalized=True)], unk_token="<unk>")
    yield "splits", trained("splits", 330, ["<|end|>"], dict(
        pre_tokenizer=pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(r"[\r\n]+"), "contiguous"), pre_tokenizers.Split(Regex(r"\d+"), "merged_with_next"),
            pre_tokenizers.Split("--", "merged_with_previous"), pre_tokenizers.Split(Regex(r"[^_]+"), "removed", invert=True),
            pre_tokenizers.Split(Regex(r"x*"), "isolated"), pre_tokenizers.Digits(),
            pre_tokenizers.ByteLevel(add_prefix_space=True)]),
        decoder=byte_decoder), alphabet=alphabet)


def sentencepieces():
    # After a user-defined symbol llama.cpp puts a space again, SentencePiece does not: only the one without the space has a symbol.
    for name, prefix, fallback in ("sentencepiece", True, True), ("sentencepiece_unknown", False, False):
        with tempfile.TemporaryDirectory() as scratch:
            (pathlib.Path(scratch) / "text").write_text(text, encoding="utf-8")
            sentencepiece.SentencePieceTrainer.train(
                input=f"{scratch}/text", model_prefix=f"{scratch}/model", vocab_size=760 if fallback else 500, model_type="bpe",
                character_coverage=0.98,
                byte_fallback=fallback, normalization_rule_name="identity", add_dummy_prefix=prefix,
                remove_extra_whitespaces=False, allow_whitespace_only_pieces=True, split_digits=True,
                user_defined_symbols=[] if prefix else ["<tool>"], num_threads=1, minloglevel=2)
            model = sentencepiece.SentencePieceProcessor(model_file=f"{scratch}/model.model")
        ids = range(model.vocab_size())
        kind = lambda i: (2 if model.is_unknown(i) else 3 if model.is_control(i) else 6 if model.is_byte(i)
                          else 4 if model.id_to_piece(i) == "<tool>" else 1)
        write(name, {"tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": [model.id_to_piece(i) for i in ids],
                     "tokenizer.ggml.scores": [model.get_score(i) for i in ids],
                     "tokenizer.ggml.token_type": [kind(i) for i in ids], "tokenizer.ggml.add_space_prefix": prefix})
        yield name, model


# ---- the texts
class Draw:
    """Knuth's MMIX generator."""
    def __init__(self, seed):
        self.state = seed

    def __call__(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
        return (self.state >> 33) % n


pieces = ["a", "B", "s", "t", "the", " the", "The", " loom", "loom", " weft", "ing", "x", "xx", "'", "’", "'s", "'t", "'re", "'ve", "'m",
          "'ll", "'d", "'S", "'LL", "'Re", "'ſ", "K", " ", " ", " ", "  ", "   ", "       ", "\n", "\n\n", "\n\n\n", "\r\n", "\t", "\x0b",
          "\x0c", "\x1c", "\x1f", "\x85", "\xa0", "\u1680", "\u180e", "\u2003", "\u200b", "\u200c", "\u200d", "\u2028", "\u202f", "\u2060",
          "\u3000", "\ufeff", "\0", "\x7f", "0", "1", "12", "1234567", "٣", "²", "½", "Ⅷ", "é", "e\u0301", "\u0301", "\u0316\u0301", "n\u0303",
          "ﬁ", "Å", "Å", "한", "\u1112\u1161\u11ab", "日本", "カ゚", "ひ", "ไทย", "हिन्दी", "עברית", "العربية", "Привет", "Ελλάδα", "🧵", "👩🏽‍💻", "👨‍👩‍👧‍👦",
          "🇫🇷", "❤️", ".", ",", ":", "!?", "-", "--", "---", "_", "/", "//", "#", "()", "{", "}", "<", ">", "|", "▁", "▁▁", "Ġ", "café",
          "cafe\u0301", "<|endoftext|>", "<|endoftext", "<|im_start|>", "<|im_end|>", "<|eot_id|>", "<|begin_of_text|>", "<|end|>", "<s>", "</s>",
          "<unk>", "<bos>", "<eos>", "<end_of_turn>", "<mask>", "<sep>", "<tool>", "<tool_call>", "</tool_call>", "<0x41>", "\U000f0000"]


def drawn(draw):
    result = ""
    for _ in range(draw(30)):
        if draw(4):
            result += pieces[draw(len(pieces))]
        else:
            c = draw([0x80, 0x250, 0x3100, 0x20000, 0x110000][draw(5)])
            result += "x" if 0xD800 <= c < 0xE000 or c in unassigned else chr(c)
    return result


def hard():
    yield from ["", " ", "  ", "   ", "\n", " \n", "\n ", "a", " a", "  a", "a ", "a  b", "a \n b", "a\r\nb", "it's IT'S It'Ll 'twas", "12,345.67 ½x² ٣a",
                "e\u0301\u0316 n\u0303o \u0301", "日本語 カ゚ 한국어 ไทย हिन्दी", "👩🏽‍💻👨‍👩‍👧‍👦🇫🇷🇩🇪❤️", "\0a\x1c\x7f\x85", "▁a▁▁b ▁", "<0x41>", " " * 70, "\n" * 9, "a" * 70,
                "-- __ -_- a_b__c 1--2", "the loom and the weft " * 3, "loom looms loom_ (loom) café cafe\u0301 x<mask> y <sep>  z",
                "<|im_start|>user\nHello<|im_end|>\n", "<s>[INST] Hi [/INST]</s>", "<bos><end_of_turn>\n\n\n▁▁▁", "\U0010ffff\U000e0001"]
    for bad in (b"\xff", b"a\xc3", b"\xe2\x80 b\xf0\x9f\xa7x", b"\xed\xa0\x80\xc0\xaf"):
        yield bad
    yield text[:1500]


def digest(data):
    """FNV-1a, 64 bits."""
    h = 0xCBF29CE484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{h:016x}"


class Of:
    """What is asked of each tokenizer."""
    def __init__(self, tokenizer):
        self.t = tokenizer

    def plain(self, s):
        if isinstance(self.t, sentencepiece.SentencePieceProcessor):
            return self.t.encode(s)
        self.t.encode_special_tokens = True
        return self.t.encode(s, add_special_tokens=False).ids

    def parsed(self, s):
        if isinstance(self.t, sentencepiece.SentencePieceProcessor):
            return None
        self.t.encode_special_tokens = False
        return self.t.encode(s).ids

    def decoded(self, ids):
        if isinstance(self.t, sentencepiece.SentencePieceProcessor):
            return None
        return self.t.decode(ids, skip_special_tokens=False)

    def hashes(self, draw):
        """Of the ids of 10,000 texts, every second one parsed, a hash for each hundred."""
        result = []
        for _ in range(100):
            lines = []
            for i in range(100):
                s = drawn(draw)
                ids = self.parsed(s) if i % 2 else self.plain(s)
                if ids is None:
                    ids = self.plain(s)
                lines.append(" ".join(map(str, ids)) + "\n")
            result.append(digest("".join(lines).encode()))
        return result


class OfLlama(Of):
    """The same of a GGUF file, by llama.cpp."""
    def __init__(self, path):
        import llama_cpp as ll
        self.quiet = ll.llama_log_callback(lambda *_: None)
        ll.llama_log_set(self.quiet, None)
        ll.llama_backend_init()
        options = ll.llama_model_default_params()
        options.vocab_only = True
        self.ll, self.model = ll, ll.llama_model_load_from_file(path.encode(), options)

    def ids(self, s, parse):
        data = s.encode()
        array = (ctypes.c_int32 * (2 * len(data) + 8))()
        return array[:self.ll.llama_tokenize(self.ll.llama_model_get_vocab(self.model), data, len(data), array, len(array), parse, parse)]

    def plain(self, s):
        return self.ids(s, False)

    def parsed(self, s):
        return self.ids(s, True)


def differences():
    composed, nfc = [], normalizers.NFC()
    for c in map(chr, range(0x110000)):
        mark = unicodedata.combining(c)
        beside = "\u0316" if mark != 220 else "\u0345"
        s = "a" + (c + beside if mark > unicodedata.combining(beside) else beside + c) if mark else unicodedata.normalize("NFD", c)
        if not "\ud800" <= c <= "\udfff" and nfc.normalize_str(s) != unicodedata.normalize("NFC", s):
            composed.append([s, nfc.normalize_str(s)])
    pieces = []
    for pattern, s in [(r"\p{Han}+", "漢字、ー々〆 한글 カナ・"), (r"[\p{Hiragana}\p{Katakana}]+", "ひらがなーカタカナ、゛・漢"), (r"\P{Han}+", "漢、字ー〱a"),
                       (r"\p{^Han}+", "漢、字ー〱a"), (r"[^\p{Latin}\p{Greek}]+", "aα̂b\u0300-µ·͂ͅ"), (r"\p{Devanagari}+", "क।ख॥\u1cd0\u200c५"),
                       (r"\p{Arabic}+", "عَ،ب؟ـ١٢"), (r"\p{Lu}\p{Alphabetic}*|\p{L}+", "漢、Abc defⅠⓐ"),
                       (r"'(?i:[sdmt]|ll|ve|re)", "'S 'ſ 'LL 're")]:
        pieces.append([pattern, s, [piece for piece, _ in pre_tokenizers.Split(Regex(pattern), "isolated").pre_tokenize_str(s)]])
    (folder / "differences.json").write_text(json.dumps({"nfc": composed, "patterns": pieces}, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


def main():
    if sys.argv[1:] == ["differences"]:
        return differences()
    if len(sys.argv) > 1:
        of = OfLlama(sys.argv[1]) if sys.argv[1].endswith(".gguf") else Of(Tokenizer.from_file(sys.argv[1]))
        print(json.dumps(of.hashes(Draw(1))))
        return
    assert unicodedata.unidata_version == "14.0.0"
    folder.mkdir(exist_ok=True)
    differences()
    texts = list(hard())
    shown = [list(s) if isinstance(s, bytes) else s for s in texts]  # bytes that are not UTF-8 as numbers
    read = [s.decode(errors="replace") if isinstance(s, bytes) else s for s in texts]
    cases = {"pieces": pieces, "texts": shown, "tokenizers": {}}
    for name, tokenizer in [*hugging_face(), *sentencepieces()]:
        of = Of(tokenizer)
        plain = [of.plain(s) for s in read]
        cases["tokenizers"][name] = {"plain": plain, "parsed": [of.parsed(s) for s in read],
                                     "decoded": [of.decoded(ids) for ids in plain], "hashes": of.hashes(Draw(1))}
    (folder / "cases.json").write_text(json.dumps(cases, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
