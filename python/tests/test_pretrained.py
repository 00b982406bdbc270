"""Published models: a tiny Llama and its tokenizer, written here, against the same in NumPy and, where it is installed, transformers."""
import copy
import json
import pathlib
import pickle
import shutil
import signal
import tempfile
import unittest

import weft
import weft.nn.functional as F
from common import Refusals, np, same, torch
from weft import nn, optim

try:
    import transformers
except ImportError:
    transformers = None

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (pathlib.Path(__file__).parents[2] / "tests/golden/chatml.jinja").read_text()
H, G, D, C, LAYERS, BLOCK = 4, 2, 6, 16, 2, 96
EPS, BASE = 1e-5, 10000.0


def written_bytes():
    """The characters that stand for the 256 bytes in GPT-2's files."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in plain]
    return [chr(b) if b in plain else chr(256 + others.index(b)) for b in range(256)]


def write_model(folder):
    """config.json, model.safetensors and what the tokenizer needs; returns the tensors."""
    merges = [["Ġ", "t"], ["h", "e"], ["Ġt", "he"]]
    tokens = SPECIAL + written_bytes() + ["".join(pair) for pair in merges]
    tokenizer = {"version": "1.0", "truncation": None, "padding": None, "normalizer": None, "post_processor": None,
                 "added_tokens": [{"id": i, "content": name, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True} for i, name in enumerate(SPECIAL)],
                 "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
                 "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
                 "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False,
                           "byte_fallback": False, "ignore_merges": False, "vocab": {token: i for i, token in enumerate(tokens)}, "merges": merges}}
    V, width = len(tokens), 24
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": V, "hidden_size": C, "intermediate_size": width, "num_hidden_layers": LAYERS,
              "num_attention_heads": H, "num_key_value_heads": G, "head_dim": D, "max_position_embeddings": BLOCK, "rms_norm_eps": EPS, "rope_theta": BASE,
              "hidden_act": "silu", "tie_word_embeddings": True, "attention_bias": False, "mlp_bias": False}
    draw = np.random.default_rng(1)
    tensors = {"model.embed_tokens.weight": draw.normal(0, 1, (V, C)), "model.norm.weight": draw.uniform(0.5, 1.5, C)}
    for i in range(LAYERS):
        for name, rows, columns in [("self_attn.q_proj", H * D, C), ("self_attn.k_proj", G * D, C), ("self_attn.v_proj", G * D, C), ("self_attn.o_proj", C, H * D),
                                    ("mlp.gate_proj", width, C), ("mlp.up_proj", width, C), ("mlp.down_proj", C, width)]:
            tensors[f"model.layers.{i}.{name}.weight"] = draw.normal(0, 1.5 / columns**0.5, (rows, columns))
        for name in ["input_layernorm", "post_attention_layernorm"]:
            tensors[f"model.layers.{i}.{name}.weight"] = draw.uniform(0.5, 1.5, C)
    tensors = {name: x.astype(np.float32) for name, x in tensors.items()}
    weft.save_safetensors(folder / "model.safetensors", {name: weft.tensor(x) for name, x in tensors.items()}, {"format": "pt"})
    for name, content in [("config.json", config), ("tokenizer.json", tokenizer), ("tokenizer_config.json", {"eos_token": "<|im_end|>", "bos_token": "<|im_start|>"})]:
        (folder / name).write_text(json.dumps(content))
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    return tensors


def llama(tensors, ids, without_mlp=None):
    """The logits of ids (T,) in float64 → (T, V)."""
    w, T = {name: x.astype(float) for name, x in tensors.items()}, len(ids)
    norm = lambda x, name: x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS) * w[name + ".weight"]
    angles = np.arange(T)[:, None] * BASE ** (-np.arange(0, D, 2) / D)
    cos, sin = np.cos(angles), np.sin(angles)

    def turned(x):  # (heads, T, D)
        a, b = x[..., : D // 2], x[..., D // 2:]
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)
    x = w["model.embed_tokens.weight"][ids]
    for i in range(LAYERS):
        at = f"model.layers.{i}."
        heads = lambda h, name: (h @ w[at + f"self_attn.{name}_proj.weight"].T).reshape(T, -1, D).swapaxes(0, 1)
        h = norm(x, at + "input_layernorm")
        q, k, v = turned(heads(h, "q")), turned(heads(h, "k")).repeat(H // G, 0), heads(h, "v").repeat(H // G, 0)
        scores = np.where(np.tri(T, dtype=bool), q @ k.swapaxes(1, 2) / D**0.5, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        y = weights / weights.sum(-1, keepdims=True) @ v
        x = x + y.swapaxes(0, 1).reshape(T, H * D) @ w[at + "self_attn.o_proj.weight"].T
        h = norm(x, at + "post_attention_layernorm")
        gate = h @ w[at + "mlp.gate_proj.weight"].T
        if i != without_mlp:
            x = x + (gate / (1 + np.exp(-gate)) * (h @ w[at + "mlp.up_proj.weight"].T)) @ w[at + "mlp.down_proj.weight"].T
    return norm(x, "model.norm") @ w["model.embed_tokens.weight"].T


class Pretrained(Refusals):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.tensors = write_model(cls.folder)
        cls.model, cls.tokenizer = weft.load_pretrained(cls.folder)
        cls.ids = cls.tokenizer.encode("over the loom")

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def greedy(self, ids, n):
        """The n most likely ids, by NumPy, in float64."""
        found = list(ids)
        for _ in range(n):
            found.append(int(llama(self.tensors, found)[-1].argmax()))
        return found[len(ids):]

    def test_the_tokenizer_is_that_of_the_file(self):
        f = self.tokenizer
        bytes_of = {c: i for i, c in enumerate(written_bytes())}
        expected = [3 + bytes_of[c] for c in "over"] + [f.id_of(" the")] + [3 + bytes_of[c] for c in "Ġloom"]
        self.assertEqual(self.ids, expected)
        for text in ["over the loom", "", "a\n  b", "café 🧵", "<|im_end|>"]:
            self.assertEqual(f.decode(f.encode(text)), text)
        self.assertEqual((f.vocab_size, f.bos_token_id, f.eos_token_id, f.id_of("<|im_end|>"), f.id_of("loom")), (262, 1, 2, 2, None))
        self.assertIn(2, f.end_token_ids)
        self.assertEqual((f.piece(f.encode("é")[0]), f.decode(f.encode("é")[:1])), (b"\xc3", "\ufffd"))
        self.assertEqual((f.encode("<|im_end|>", parse_special=True), 2 in f.encode("<|im_end|>")), ([2], False))
        self.assertEqual(f.decode(weft.tensor(self.ids)), "over the loom")
        self.assertEqual((f.chat_template, weft.PreTrainedTokenizer.load(self.folder / "tokenizer.json").encode("the")), (TEMPLATE, f.encode("the")))

    def test_logits_are_those_of_the_formula(self):
        expected = llama(self.tensors, self.ids)
        same(self.model(self.ids), expected, "float32", 2e-4)
        exact, _ = weft.load_pretrained(self.folder, dtype=weft.float64)
        same(exact(self.ids), expected, "float64", 1e-10)
        batch = weft.tensor([self.ids, self.ids[::-1]])
        same(exact(batch), np.stack([expected, llama(self.tensors, self.ids[::-1])]), "a batch", 1e-10)
        padded = exact([[0, 0, *self.ids]], attention_mask=weft.tensor([[False] * 2 + [True] * len(self.ids)]))
        same(padded[0, 2:], expected, "padding", 1e-10)
        self.assertEqual((self.model.training, self.model.config.vocab_size, self.model.config.block_size, self.model.config.num_kv_heads), (False, 262, BLOCK, G))

    def test_parameters_are_those_of_the_file(self):
        state = self.model.state_dict()
        self.assertEqual(set(state) - {"lm_head.weight"}, {name.removeprefix("model.") for name in self.tensors})
        for name, x in self.tensors.items():
            self.assertEqual(state[name.removeprefix("model.")].tolist(), x.tolist())
        self.assertEqual([name for name, _ in self.model.named_parameters()], [name for name in state if name != "lm_head.weight"])

    def test_a_copy_a_file_and_another_type(self):
        other = copy.deepcopy(self.model)
        with weft.no_grad():
            dict(other.named_parameters())["norm.weight"].fill_(0.0)
        self.assertEqual((other(self.ids).abs().sum().item(), self.model(self.ids).abs().sum().item() > 1), (0, True))
        self.refused(TypeError, ["cannot pickle Decoder", "state_dict"], pickle.dumps, self.model)
        with tempfile.TemporaryDirectory() as folder:
            self.model.save_pretrained(folder)
            shutil.copy(self.folder / "tokenizer.json", folder)
            again, tokenizer = weft.load_pretrained(folder)
            self.assertEqual((again(self.ids).tolist(), tokenizer.chat_template), (self.model(self.ids).tolist(), ""))
        half = copy.deepcopy(self.model).to(weft.bfloat16)
        same(half(self.ids), self.model(self.ids), "bfloat16", 0.5)
        self.assertEqual(half.state_dict()["layers.0.mlp.up_proj.weight"].dtype, weft.bfloat16)

    def test_weights_in_blocks_are_read_and_can_become_whole(self):
        model = copy.deepcopy(self.model)
        with weft.no_grad():
            wide = nn.Linear(32, 2)
        before = wide.weight.detach().clone()
        wide.pack("Q8_0")
        same(wide.weight.dequantize(), before, "Q8_0", 0.01)
        self.assertEqual(before.dequantize().tolist(), before.tolist())
        self.assertIn("<svg", wide.weight._repr_html_())
        for read in [np.asarray, memoryview, weft.Tensor.tolist]:
            self.refused((BufferError, weft.DTypeError), ["blocks of Q8_0"], read, wide.weight)
        self.refused(weft.DTypeError, ["Q8_0", "to(float32)"], lambda: wide.weight + 1)
        self.refused(weft.Error, ["blocks of"], model.pack, weft.Q8_0)  # which has rows of 16
        whole = wide.to(weft.float32).requires_grad_()
        whole(weft.ones(1, 32)).sum().backward()
        same(whole.weight.grad, np.ones((2, 32)), "a gradient")

    def test_it_trains(self):
        model, x = copy.deepcopy(self.model).train(), weft.tensor(self.ids)
        optimizer, losses = optim.AdamW(model.parameters(), lr=1e-2), []
        for _ in range(10):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[:-1]), x[1:])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        self.assertLess(losses[-1], losses[0] / 4)
        self.assertTrue(all(p.grad is not None for p in model.parameters()))

    def test_generated_ids_are_the_most_likely_ones(self):
        generate, expected = self.model.generate, self.greedy(self.ids, 12)
        self.assertEqual(generate(self.ids, max_new_tokens=12, temperature=0), expected)
        self.assertEqual(generate(weft.tensor(self.ids), 12, 0), expected)
        self.assertEqual(generate([self.ids, self.ids[2:]], max_new_tokens=5, temperature=0), [expected[:5], self.greedy(self.ids[2:], 5)])
        self.assertEqual(generate(weft.tensor([self.ids] * 2), 5, 0), [expected[:5]] * 2)
        self.assertEqual(generate(np.array(self.ids), 5, 0), expected[:5])
        end = expected[3]
        self.assertEqual(generate(self.ids, 12, 0, eos_token_id=end), expected[: expected.index(end) + 1])
        self.assertEqual(generate(self.ids, 12, 0, eos_token_id=[end, 0]), expected[: expected.index(end) + 1])
        seen = []
        self.assertEqual(generate(self.ids, 12, 0, on_token=lambda id: seen.append(id) or len(seen) < 4), expected[:4])
        self.assertEqual(seen, expected[:4])
        draws = [generate(self.ids, 8, top_k=5, generator=weft.Generator(seed)) for seed in (3, 3, 4)]
        self.assertEqual(draws[0], draws[1])
        self.assertNotEqual(draws[0], draws[2])
        kept = weft.PromptCache()
        self.assertEqual(generate(self.ids, 4, 0, kept=kept), expected[:4])
        self.assertEqual(kept.ids, self.ids + expected[:3])
        self.assertEqual(generate(self.ids + expected[:4], 8, 0, kept=kept), expected[4:])

    def test_an_error_or_ctrl_c_ends_generation_and_nothing_has_changed(self):
        kept = weft.PromptCache(self.model, BLOCK)
        self.assertRaises(ZeroDivisionError, self.model.generate, self.ids, 4, 0, kept=kept, on_token=lambda id: 1 / 0)
        self.assertEqual(self.model.generate(self.ids, 4, 0, kept=kept), self.greedy(self.ids, 4))

        def interrupt(*_):
            raise KeyboardInterrupt
        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            self.assertRaises(KeyboardInterrupt, self.model.generate, self.ids, 10**6)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        self.assertTrue(weft.is_grad_enabled())

    def test_the_likelihood_of_a_text(self):
        logits = llama(self.tensors, self.ids)[:-1]
        log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        expected = -sum(log_p[i, id] for i, id in enumerate(self.ids[1:]))
        exact, _ = weft.load_pretrained(self.folder, dtype=weft.float64)
        found = weft.log_likelihood(exact, self.ids)
        self.assertEqual(found.tokens, len(self.ids) - 1)
        same(found.nats, expected, "nats")
        same(found.mean(), expected / (len(self.ids) - 1), "mean")
        gpt = nn.GPT(vocab_size=262, block_size=16, num_layers=1, num_heads=2, d_model=8).eval()
        same(weft.log_likelihood(gpt, self.ids).nats, F.cross_entropy(gpt(weft.tensor(self.ids))[:-1], weft.tensor(self.ids)[1:]).item() * (len(self.ids) - 1), "a GPT", 1e-5)
        self.assertEqual(weft.log_likelihood(self.model, self.ids * 20, window=16, stride=4).tokens, 20 * len(self.ids) - 1)

    def test_hooks_see_and_change_what_a_module_inside_returns(self):
        seen = []
        with self.model.hook("layers[1].mlp", lambda y: seen.append(y.shape)):
            self.model(self.ids)
        with self.model.hook("layers[1].mlp", lambda y: y * 0):
            same(self.model(self.ids), llama(self.tensors, self.ids, without_mlp=1), "without an MLP", 2e-4)
        same(self.model(self.ids), llama(self.tensors, self.ids), "after the hooks", 2e-4)
        self.assertEqual(seen, [(len(self.ids), C)])
        gpt = nn.GPT(vocab_size=5, block_size=4, num_layers=2, num_heads=2, d_model=8)
        with gpt.hook("blocks[0]", lambda y: seen.append(y.shape)), gpt.hook("", lambda y: y * 0):
            self.assertEqual(gpt(weft.tensor([1, 2])).abs().sum().item(), 0)
        self.assertEqual(seen[1:], [(2, 8)])
        net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        with net.hook("0", lambda y: y - 1):
            self.assertEqual(net(weft.zeros(1, 2)).tolist(), F.relu(net[0].bias - 1).reshape(1, 2).tolist())
        self.refused(weft.ValueError, ["'1'", "ReLU", "register_forward_hook"], net.hook, "1", print)
        for path, f, kind, words in [("layers[9]", print, weft.IndexError, ["Decoder.layers", "9"]), ("norm", lambda y: y[0], weft.ShapeError, ["norm"]),
                                     ("norm", lambda y: 3, weft.DTypeError, ["int", "Tensor"]), ("norm", lambda y: 1 / 0, ZeroDivisionError, [])]:
            def call():
                with self.model.hook(path, f):
                    self.model(self.ids)
            self.refused(kind, words, call)
        same(self.model(self.ids), llama(self.tensors, self.ids), "after errors", 2e-4)

    def test_a_chat_remembers(self):
        written = []
        chat = weft.Chat(self.model, self.tokenizer, system="Be short.", temperature=0, max_new_tokens=6)
        first = chat("the loom?", write=written.append)
        prompt = "<|im_start|>system\nBe short.<|im_end|>\n<|im_start|>user\nthe loom?<|im_end|>\n<|im_start|>assistant\n"
        expected = self.greedy(self.tokenizer.encode(prompt, parse_special=True), 6)
        expected = expected[: next((i for i, id in enumerate(expected) if id in self.tokenizer.end_token_ids), 6)]
        self.assertEqual([message.get("ids") for message in chat.messages], [None, expected])
        self.assertEqual((first, "".join(written), chat.template.name, chat.template.system), (self.tokenizer.decode(expected), first, "chatml", "Be short."))
        self.assertNotIn("", written)
        self.assertEqual(chat.template.render(chat.messages[:1]), prompt)
        read = len(chat.kept.ids)
        chat.max_new_tokens = 1
        chat("a")
        self.assertEqual([message["role"] for message in chat.messages], 2 * ["user", "assistant"])
        self.assertGreater(len(chat.kept.ids), read)
        self.assertEqual(chat.kept.ids, chat.template.encode(self.tokenizer, chat.messages[:3]))
        self.refused(weft.ValueError, ["Chat", str(BLOCK), "chat.messages"], chat, "x" * BLOCK)
        self.assertEqual(len(chat.messages), 4)
        other = weft.Chat(self.model, self.tokenizer, form="chatml", system="Spin.", temperature=0, max_new_tokens=3)
        self.assertTrue(other.template.render([{"role": "user", "content": "a"}]).startswith("<|im_start|>system\nSpin."))
        self.refused(TypeError, ["eos_token_id"], lambda: weft.Chat(self.model, self.tokenizer, eos_token_id=3))
        stopped = []
        other("a", write=lambda text: stopped.append(text) or False)
        self.assertEqual(len(stopped), 1)

    def test_errors_are_wefts(self):
        nowhere = self.folder / "nowhere"
        self.refused(weft.IoError, ["nowhere"], weft.load_pretrained, nowhere)
        self.refused(weft.IndexError, ["-1"], self.tokenizer.decode, [3, -1])
        self.assertEqual(self.tokenizer.decode([3, 262]), self.tokenizer.decode([3]))  # a model may have more ids
        self.refused(weft.IndexError, ["262"], self.model, [3, 262])
        self.refused(weft.IndexError, ["262"], self.model.generate, [3, 262])
        self.refused(weft.ValueError, ["the prompt is empty"], self.model.generate, [])
        self.refused(weft.ValueError, ["temperature"], self.model.generate, [3], temperature=-1)
        self.refused(weft.ValueError, ["on_token"], self.model.generate, [[3], [4]], on_token=print)
        self.refused(weft.ValueError, ["two"], weft.log_likelihood, self.model, [3])
        self.refused(weft.ValueError, ["template"], weft.Chat, self.model, weft.PreTrainedTokenizer.load(self.folder / "tokenizer.json"))
        self.refused(weft.ValueError, ["alpaca", weft.ChatTemplate.names()], weft.ChatTemplate.named, "alpaca")
        self.refused(weft.ValueError, ["--form NAME", weft.ChatTemplate.names()], weft.ChatTemplate.of, TEMPLATE + " ")
        form = weft.ChatTemplate.named("chatml")
        self.refused(weft.ValueError, ["role", "robot"], form.render, [{"role": "robot", "content": "a"}])
        self.refused(weft.ValueError, ["\"content\""], form.render, [{"role": "user", "text": "a"}])
        for call in [lambda: self.tokenizer.encode(3), lambda: self.tokenizer.decode("a"), lambda: self.model.generate("a"), lambda: self.model.generate([1.5]), lambda: form.render(["a"])]:
            self.refused(TypeError, ["incompatible function arguments", "Given: "], call)
        self.assertRaises(TypeError, nn.Decoder)
        for x in [self.tokenizer, form, weft.PromptCache()]:
            self.refused(TypeError, ["cannot pickle"], pickle.dumps, x)
        with tempfile.TemporaryDirectory() as folder:
            for name in ["model.safetensors", "tokenizer.json"]:
                shutil.copy(self.folder / name, folder)
            config = json.loads((self.folder / "config.json").read_text())
            (pathlib.Path(folder) / "config.json").write_text(json.dumps({**config, "loops": 3}))
            self.refused(weft.IoError, ["config.json", "loops"], weft.load_pretrained, folder)
            model, _ = weft.load_pretrained(folder, ignore_keys=["loops"])
            self.assertEqual(model(self.ids).tolist(), self.model(self.ids).tolist())

    @unittest.skipUnless(torch and transformers, "transformers is not installed")
    def test_transformers_reads_the_same(self):
        model = transformers.LlamaForCausalLM.from_pretrained(self.folder, dtype=torch.float64)
        tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(self.folder / "tokenizer.json"), chat_template=TEMPLATE)
        exact, _ = weft.load_pretrained(self.folder, dtype=weft.float64)
        for text in ["over the loom", "the\n\n  weft 'twas", "日本 🧵"]:
            ids = self.tokenizer.encode(text)
            self.assertEqual(tokenizer(text)["input_ids"], ids)
            self.assertEqual(tokenizer.decode(ids), self.tokenizer.decode(ids))
            same(exact(ids), model(torch.tensor([ids])).logits[0], text, 1e-5)  # its rotary table is float32
        generated = model.generate(torch.tensor([self.ids]), attention_mask=torch.ones(1, len(self.ids), dtype=torch.long), max_new_tokens=12, do_sample=False, eos_token_id=None, pad_token_id=0)
        self.assertEqual(exact.generate(self.ids, max_new_tokens=12, temperature=0), generated[0, len(self.ids):].tolist())
        with tempfile.TemporaryDirectory() as folder:
            self.model.save_pretrained(folder)
            again = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64)
            same(again(torch.tensor([self.ids])).logits, model(torch.tensor([self.ids])).logits, "saved", 1e-10)
        messages = [{"role": "user", "content": "the loom?"}, {"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}]
        form = weft.ChatTemplate.of(TEMPLATE)
        self.assertEqual(form.render(messages), tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
        self.assertEqual(form.encode(self.tokenizer, messages), tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False))


if __name__ == "__main__":
    unittest.main()
