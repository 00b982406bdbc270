"""Writes decoder.safetensors: what transformers computes for small random models of each family that lm::Decoder reads.

    pip install torch==2.13.0 transformers==5.24.0 safetensors numpy
    python tests/golden/make_decoder_golden.py

For each family, configurations in which every pair of values of two switches occurs. Weights and ids are uniform numbers
of Philox, which Weft draws, too, so that the file holds results alone: logits, the loss, and of each parameter's gradient
the norm and eight elements. transformers computes norms, angles and softmax in float32 whatever the type of the model; for
the float64 results float32 means float64 in its sources (float32_means_float64). The logits of float32 are those of
transformers as it is.
"""

import itertools
import json
import os
import random

import numpy as np
import torch
import transformers
from safetensors.numpy import save_file

LAYERS, HEADS, HIDDEN, VOCABULARY, BATCH, TOKENS = 3, 4, 16, 13, 2, 10


def uniform(seed, n):
    """n numbers in [0, 1): the first two words of Philox4x32-10 with key `seed` at the counters 0 … n − 1."""
    low = np.uint64(0xFFFFFFFF)
    counter = np.arange(n, dtype=np.uint64)
    c = [counter & low, counter >> np.uint64(32), np.zeros_like(counter), np.zeros_like(counter)]
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), p1 & low, (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), p0 & low]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return ((c[0] << np.uint64(32) | c[1]) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def rotaries(width):
    """Each kind of scaling, by its name in rope_parameters."""
    pairs = width // 2
    return {
        "default": {},
        "linear": {"factor": 2.5},
        "dynamic": {"factor": 2.0},
        "yarn": {"factor": 4.0, "original_max_position_embeddings": 6, "beta_fast": 4.0, "beta_slow": 0.5},
        "longrope": {"factor": 3.0, "original_max_position_embeddings": 7,
                     "short_factor": [1 + 0.1 * i for i in range(pairs)], "long_factor": [2 + 0.5 * i for i in range(pairs)]},
        "llama3": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 20},
    }


TYPES = ["default", "linear", "dynamic", "yarn", "longrope", "llama3"]
COMMON = {"tie_word_embeddings": [False, True], "num_key_value_heads": [4, 2, 1], "hidden_act": ["silu", "gelu", "gelu_pytorch_tanh"],
          "rope_type": TYPES, "rope_theta": [10000.0, 500.0], "rms_norm_eps": [1e-6, 1e-2], "max_position_embeddings": [64, 8],
          "old_keys": [False, True]}
FAMILIES = {
    "llama": COMMON | {"attention_bias": [False, True], "mlp_bias": [False, True], "head_dim": [4, 6]},
    "mistral": COMMON | {"head_dim": [4, 6], "sliding_window": [None, 4]},
    "qwen2": COMMON | {"windows": ["none", "by max_window_layers", "by layer_types"]},
    "qwen3": COMMON | {"attention_bias": [False, True], "head_dim": [4, 6], "windows": ["none", "by max_window_layers", "by layer_types"]},
    "gemma3_text": {"tie_word_embeddings": [True, False], "num_key_value_heads": [4, 2, 1], "head_dim": [4, 6],
                    "hidden_activation": ["gelu_pytorch_tanh", "silu"], "rms_norm_eps": [1e-6, 1e-2], "attention_bias": [False, True],
                    "query_pre_attn_scalar": [256, 9], "final_logit_softcapping": [None, 1.5],
                    "rope_type": ["default", "linear"], "rope_theta": [1e6, 300.0], "rope_local_base_freq": [10000.0, 50.0],
                    "sliding_window": [4, 6], "pattern": [2, 3], "old_keys": [False, True]},
    "gpt2": {"n_inner": [None, 24], "activation_function": ["gelu_new", "gelu"], "scale_attn_weights": [True, False],
             "scale_attn_by_inverse_layer_idx": [False, True], "tie_word_embeddings": [True, False],
             "layer_norm_epsilon": [1e-5, 1e-2]},
}


def covering(switches, least=8):
    """Rows in which every pair of values of two switches occurs, found greedily."""
    names, generator = list(switches), random.Random(1)
    left = {(a, x, b, y) for a, b in itertools.combinations(range(len(names)), 2)
            for x in range(len(switches[names[a]])) for y in range(len(switches[names[b]]))}
    rows = []
    while left or len(rows) < least:
        best, most = None, -1
        for _ in range(300):
            row = [generator.randrange(len(switches[name])) for name in names]
            if left:  # one of the pairs that are left is in it
                a, x, b, y = generator.choice(sorted(left))
                row[a], row[b] = x, y
            covers = sum((a, row[a], b, row[b]) in left for a, b in itertools.combinations(range(len(names)), 2))
            if covers > most:
                best, most = row, covers
        rows.append({name: switches[name][i] for name, i in zip(names, best)})
        left -= {(a, best[a], b, best[b]) for a, b in itertools.combinations(range(len(names)), 2)}
    return rows


def config_of(family, row):
    """The config.json of a row, with the keys of transformers 5 or, where it says so, the older ones."""
    row = dict(row)
    if family == "gpt2":
        return {"model_type": family, "vocab_size": VOCABULARY, "n_positions": 16, "n_layer": LAYERS, "n_head": HEADS,
                "n_embd": HIDDEN} | row
    config = {"model_type": family, "vocab_size": VOCABULARY, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
              "hidden_size": HIDDEN, "intermediate_size": 20, "max_position_embeddings": 64}
    old, kind, theta = row.pop("old_keys"), row.pop("rope_type"), row.pop("rope_theta")
    windows, pattern = row.pop("windows", None), row.pop("pattern", None)
    scaling = {"rope_type": kind} | rotaries(row.get("head_dim", HIDDEN // HEADS))[kind]
    if family == "gemma3_text":
        local = row.pop("rope_local_base_freq")
        if old:
            config |= {"rope_theta": theta, "rope_local_base_freq": local, "sliding_window_pattern": pattern}
            if kind != "default":
                config["rope_scaling"] = scaling
        else:
            config["rope_parameters"] = {"full_attention": {"rope_theta": theta} | scaling,
                                         "sliding_attention": {"rope_theta": local, "rope_type": "default"}}
            config["layer_types"] = ["full_attention" if (i + 1) % pattern == 0 else "sliding_attention" for i in range(LAYERS)]
    elif old:
        config["rope_theta"] = theta
        if kind != "default":
            config["rope_scaling"] = {("type" if key == "rope_type" else key): value for key, value in scaling.items()}
    else:
        config["rope_parameters"] = {"rope_theta": theta} | scaling
    if windows == "by max_window_layers":
        config |= {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1}
    if windows == "by layer_types":
        config |= {"use_sliding_window": True, "sliding_window": 3, "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}
    return config | row


def weights(model, seed):
    """Sets the parameters, in the order of their names; their tensors by name."""
    tensors = dict(sorted(model.named_parameters()))
    for i, (name, p) in enumerate(tensors.items()):
        u = torch.tensor(2 * uniform(1000 * seed + i, p.numel()) - 1).reshape(p.shape)
        if p.dim() == 2:
            inputs = p.shape[0] if isinstance(model, transformers.GPT2LMHeadModel) and "h." in name else p.shape[1]
            u = u * (1 if "embed" in name or "wte" in name or "wpe" in name else (6 / inputs) ** 0.5)
        else:
            u = u * 0.4 + (0 if name.endswith("bias") or model.config.model_type == "gemma3_text" else 1)
        with torch.no_grad():
            p.copy_(u.to(p.dtype))
    return tensors


def build(config, dtype):
    config = json.loads(json.dumps(config))  # transformers adds to what it is given
    kind = config.pop("model_type")
    made = transformers.AutoConfig.for_model(kind, **config)
    made.pad_token_id = None  # Gemma's is 0, and PyTorch gives the embedding of a padding token no gradient
    made._attn_implementation = "eager"
    return transformers.AutoModelForCausalLM.from_config(made, attn_implementation="eager").to(dtype).eval()


def float32_means_float64():
    """The patch: what transformers asks to be float32 is float64 from here on."""
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    torch.set_default_dtype(torch.float64)


def main():
    cases = [(f"{family}.{i}", config_of(family, row)) for family, switches in FAMILIES.items() for i, row in enumerate(covering(switches))]
    tensors, metadata = {}, {"versions": f"torch {torch.__version__}, transformers {transformers.__version__}"}
    single = torch.float32
    ids = [torch.tensor((uniform(77 + 1000 * n, BATCH * TOKENS) * VOCABULARY).astype(np.int64)).reshape(BATCH, TOKENS) for n in range(len(cases))]
    for n, (name, config) in enumerate(cases):
        model = build(config, single)
        weights(model, n + 1)
        with torch.no_grad():
            tensors[name + ".logits32"] = model(ids[n]).logits.numpy()
    float32_means_float64()
    largest = 0
    for n, (name, config) in enumerate(cases):
        model = build(config, torch.float64)
        parameters = weights(model, n + 1)
        logits = model(ids[n]).logits
        loss = torch.nn.functional.cross_entropy(logits[:, :-1].reshape(-1, VOCABULARY), ids[n][:, 1:].reshape(-1))
        loss.backward()
        assert logits.dtype == torch.float64
        error = np.abs(logits.detach().numpy() - tensors[name + ".logits32"]).max() / logits.abs().max().item()
        largest = max(largest, error)
        gradients = [p.grad for p in parameters.values()]
        picks = [torch.linspace(0, g.numel() - 1, 8, dtype=torch.float64).round().long() for g in gradients]
        tensors[name + ".logits"] = logits.detach().numpy()
        tensors[name + ".loss"] = loss.detach().numpy().reshape(1)
        tensors[name + ".norms"] = np.array([g.norm().item() for g in gradients])
        tensors[name + ".entries"] = np.stack([g.flatten()[at].numpy() for g, at in zip(gradients, picks)])
        metadata[name] = json.dumps(config)
        metadata[name + ".parameters"] = "\n".join(parameters)
    path = os.path.join(os.path.dirname(__file__), "decoder.safetensors")
    save_file({name: np.ascontiguousarray(x) for name, x in tensors.items()}, path, metadata)
    print(f"{len(cases)} configurations, {os.path.getsize(path)} bytes; float32 differs by at most {largest:.1e} of the largest logit")
    for family in FAMILIES:
        print(family, sum(name.startswith(family + ".") for name, _ in cases))


main()
