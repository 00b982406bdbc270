#!/usr/bin/env python3
"""Writes config_keys.json: what each key of config.json does in transformers, for small models of each family that
lm::Decoder reads.

    pip install torch==2.13.0 transformers==5.24.0
    python tests/golden/make_config_keys_golden.py

Every key that transformers' configuration of the family has, those that other versions and other people's files have
(OTHERS), and those of the rotary scalings are added to the config of a small model with values of each type; after them,
random mutations of two to four keys. "same" lists the keys with which no value changed anything, "cases" has for the others
eight logits after the last of the ids, and null where transformers refuses the config. The weights follow from the tensors'
names (`values`), so that the golden file holds none, and tests/lm/test_pretrained_config.cpp has the same.
"""
import json
import pathlib
import random

import numpy as np
import torch
import transformers

IDS = [1, 5, 3, 2, 9, 12, 7, 0, 4, 4, 6, 8]
COMMON = {"vocab_size": 13, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 16,
          "intermediate_size": 20, "max_position_embeddings": 64}
FAMILIES = {
    "llama": COMMON | {"head_dim": 4},
    "mistral": COMMON | {"head_dim": 4, "sliding_window": 5},
    "qwen2": COMMON,
    "qwen3": COMMON | {"head_dim": 4},
    "gemma3_text": COMMON | {"head_dim": 4, "num_hidden_layers": 7, "sliding_window": 5},
    "gpt2": {"vocab_size": 13, "n_positions": 64, "n_layer": 3, "n_head": 4, "n_embd": 16},
}
ROPES = {
    "default": {},
    "linear": {"factor": 2.5},
    "dynamic": {"factor": 2.0},
    "yarn": {"factor": 4.0, "original_max_position_embeddings": 6},
    "longrope": {"factor": 3.0, "original_max_position_embeddings": 7, "short_factor": [1.0, 1.5], "long_factor": [2.0, 3.0]},
    "llama3": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 20},
}
# Keys of a scaling, with values.
SCALING = {"factor": [3.0], "original_max_position_embeddings": [9], "beta_fast": [4.0], "beta_slow": [0.5], "truncate": [False, True],
           "attention_factor": [0.75], "mscale": [0.0, 1.5], "mscale_all_dim": [0, 1.2], "finetuned": [True], "low_freq_factor": [1.5],
           "high_freq_factor": [3.0], "short_factor": [[2.0, 1.0]], "long_factor": [[4.0, 1.0]], "partial_rotary_factor": [1.0, 0.5],
           "rope_theta": [300.0], "type": ["linear"], "unknown": [2.0]}
# Keys that published files have, or had, and that no configuration of this version names; and whatever they have as values.
OTHERS = {
    "architectures": [["X"]], "torch_dtype": ["bfloat16"], "dtype": ["bfloat16"], "id2label": [{"0": "a", "1": "b"}],
    "label2id": [{"a": 0, "b": 1}], "auto_map": [{"AutoConfig": "c.C"}], "task_specific_params": [{"a": {}}],
    "cache_implementation": ["hybrid"], "transformers.js_config": [{}], "tokenizer_class": ["T"], "summary_activation": ["tanh"],
    "summary_type": ["first"], "prefix": ["x"], "_attn_implementation": ["eager"], "attn_implementation": ["eager"],
    "problem_type": ["regression"], "bos_token_id": [1], "eos_token_id": [1, [1, 2]], "pad_token_id": [3], "sep_token_id": [3],
    "model_max_length": [7], "max_length": [7], "min_length": [2], "_num_labels": [3], "unsloth_version": ["1"],
    "transformers_version": ["4.0"], "_name_or_path": ["x"], "finetuning_task": ["x"], "layer_types": [["full_attention"] * 3,
    ["sliding_attention", "full_attention", "sliding_attention"], ["sliding_attention"] * 7], "sliding_window": [4, None],
    "hidden_act": ["silu", "gelu", "gelu_pytorch_tanh", "swish", "relu", "relu2"], "hidden_activation": ["silu", "gelu_pytorch_tanh"],
    "activation_function": ["gelu", "gelu_new", "relu", "silu"], "rope_theta": [300.0], "rope_local_base_freq": [50.0],
    "partial_rotary_factor": [0.5, 1.0], "max_window_layers": [0, 1], "head_dim": [8], "n_inner": [24], "query_pre_attn_scalar": [9],
    "final_logit_softcapping": [1.5], "attn_logit_softcapping": [1.5], "sliding_window_pattern": [2], "_sliding_window_pattern": [2],
    "rms_norm_eps": [0.1], "layer_norm_epsilon": [0.1], "num_key_value_heads": [4, 1], "tie_word_embeddings": [True, False],
} | {key: [True, False] for key in (
    "use_mrope is_llama_config use_bfloat16 torchscript gradient_checkpointing _attn_implementation_autoset unsloth_fixed is_decoder "
    "_flash_attn_2_enabled do_sample early_stopping output_scores return_dict_in_generate remove_invalid_values "
    "summary_proj_to_labels summary_use_proj use_sliding_window rope_interleaved is_encoder_decoder "
    "add_cross_attention use_bidirectional_attention attention_bias mlp_bias scale_attn_weights scale_attn_by_inverse_layer_idx "
    "reorder_and_upcast_attn use_cache output_attentions output_hidden_states return_dict").split()
} | {key: [3, 0.5] for key in (
    "summary_first_dropout num_logits_to_keep num_beams num_beam_groups diversity_penalty temperature top_k top_p typical_p "
    "repetition_penalty length_penalty no_repeat_ngram_size num_return_sequences initializer_range attention_dropout attn_pdrop embd_pdrop resid_pdrop pretraining_tp "
    "chunk_size_feed_forward n_ctx logit_scale embedding_multiplier residual_multiplier").split()}


def values(name, shape):
    """The weights of a tensor: the same formula as in the test."""
    i, seed = np.arange(int(np.prod(shape)), dtype=np.int64), sum(name.encode())
    u = ((i * i * 31 + i * 17 + i // 7 * 53 + seed * 101) % 997) / 498.5 - 1
    if len(shape) == 2:
        u = u * (0.5 if "embed" in name or "wte" in name or "wpe" in name else (6 / shape[1]) ** 0.5)
    else:
        u = u * 0.4 + (0 if name.endswith("bias") else 1)
    return u.reshape(shape).astype("f4")


def run(family, config):
    """The shapes of the tensors and the logits after the last of the ids; or nothing and None where it refuses."""
    try:
        made = transformers.AutoConfig.for_model(family, **json.loads(json.dumps(config)))
        made.pad_token_id = None
        model = transformers.AutoModelForCausalLM.from_config(made, attn_implementation="eager").float().eval()
        tensors = dict(model.named_parameters())
        with torch.no_grad():
            for name, p in tensors.items():
                p.copy_(torch.tensor(values(name, tuple(p.shape))))
            logits = model(torch.tensor([IDS]), return_dict=True).logits[0, -1]
        return {name: list(p.shape) for name, p in tensors.items()}, logits.tolist()
    except Exception:
        return {}, None


def keys_of(family):
    """The keys that are tried in this family, each with values; those of a scaling begin with its place."""
    found = {key: [3, 0.5, True, False, "relu"] for key in transformers.AutoConfig.for_model(family).to_dict()}
    found |= OTHERS
    for key in list(FAMILIES[family]) + ["model_type", "rope_parameters"]:
        if key not in OTHERS:
            found.pop(key, None)
    return found


def with_scaling(family, place, kind, scaling):
    """The config with this scaling in its new place (rope_parameters) or its old one (rope_scaling, or rope_scaling.type)."""
    place, name = (place.split(".") + ["rope_type"])[:2]
    whole = {name: kind} | scaling
    if place == "rope_parameters":
        whole = {"rope_theta": 500.0} | whole
        if family == "gemma3_text":
            whole = {"full_attention": whole, "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}}
    return {place: whole} | ({} if place == "rope_parameters" else {"rope_theta": 500.0})


def main():
    transformers.logging.set_verbosity_error()
    models, cases = {}, []
    for family, base in FAMILIES.items():
        tensors, logits = run(family, base)
        assert logits, family

        def differs(found, base=logits):
            return max(abs(a - b) for a, b in zip(found, base)) > 1e-4

        def add(changes, found):
            of, result = found
            changed = {} if result is None else {name: shape for name, shape in of.items() if tensors.get(name) != shape}
            changed |= {} if result is None else {name: None for name in tensors if name not in of}
            cases.append({"family": family, "keys": changes, "tensors": changed, "logits": result and [round(x, 3) for x in result[:8]]})

        add({}, (tensors, logits))
        same, mutations = [], []
        for key, tried in sorted(keys_of(family).items()):
            found = [({key: x}, run(family, base | {key: x})) for x in tried]
            changed = [(change, result) for change, result in found if result[1] and differs(result[1])]
            mutations += [change for change, result in found if result[1]]
            for change, result in changed:
                add(change, result)
            if not changed and any(result for _, (_, result) in found):
                same.append(key)
        if family != "gpt2":
            for place in ("rope_parameters", "rope_scaling", "rope_scaling.type"):
                for kind, scaling in ROPES.items():
                    scaled = run(family, base | with_scaling(family, place, kind, scaling))
                    add(with_scaling(family, place, kind, scaling), scaled)
                    if family not in ("llama", "gemma3_text"):  # the others have llama's scalings
                        continue
                    for key, tried in SCALING.items() if place != "rope_scaling.type" else ():
                        for x in tried:
                            change = with_scaling(family, place, kind, scaling | {key: x})
                            found = run(family, base | change)
                            if found[1] is None:
                                continue
                            mutations.append(change)
                            if place == "rope_parameters" and (scaled[1] is None or differs(found[1], scaled[1])):
                                add(change, found)
        generator = random.Random(family)
        for _ in range(40):
            change = {}
            for one in generator.sample(mutations, generator.randint(2, 4)):
                change |= one
            add(change, run(family, base | change))
        models[family] = {"keys": base, "tensors": tensors, "same": same}
        print(family, len(same), "same,", sum(case["family"] == family for case in cases), "cases", flush=True)
    path = pathlib.Path(__file__).parent / "config_keys.json"
    head = {"versions": f"torch {torch.__version__}, transformers {transformers.__version__}", "ids": IDS, "models": models}
    path.write_text(json.dumps(head)[:-1] + ',\n"cases": [\n' + ",\n".join(map(json.dumps, cases)) + "\n]}\n")
    print(len(cases), "cases,", path.stat().st_size, "bytes")


main()
