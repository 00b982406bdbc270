"""Golden values of modules: parameters under the names of Weft's state_dict, inputs, outputs and gradients; and a training run.

The references are written with torch.nn.functional from the papers' formulas, and multi-head attention is asserted equal to
torch.nn.MultiheadAttention. B batch, T queries, S keys, C = d_model, H heads, d_k = C / H, V vocabulary.
"""
import numpy as np
import torch
import torch.nn.functional as F

from golden import Draw, Golden
from golden_ops import causal, safe_attention


class Parameters(dict):
    """Named leaves; `sub` gives those of a child."""

    def sub(self, prefix):
        return Parameters({k[len(prefix) + 1:]: v for k, v in self.items() if k.startswith(prefix + ".")})


def leaves(shapes, draw, scale=0.5):
    p = Parameters()
    for name, shape in shapes.items():
        value = scale * draw.normal(*shape) + (1.0 if "norm" in name and name.endswith("weight") else 0.0)
        p[name] = torch.tensor(np.asarray(value, np.float32).astype(np.float64), requires_grad=True)
    return p


def linear_shapes(name, i, o, bias):
    shapes = {f"{name}.weight": (o, i)}
    return shapes | {f"{name}.bias": (o,)} if bias else shapes


def attention_shapes(C, bias, fused=True, prefix=""):
    layers = {"W_qkv": 3 * C} if fused else {"W_q": C, "W_k": C, "W_v": C}
    shapes = {}
    for layer, o in (layers | {"W_out": C}).items():
        shapes |= linear_shapes(prefix + layer, C, o, bias)
    return shapes


def norm_shapes(name, C, bias):
    return {f"{name}.weight": (C,)} | ({f"{name}.bias": (C,)} if bias else {})


def block_shapes(C, bias, prefix=""):
    return (norm_shapes(prefix + "norm1", C, bias) | attention_shapes(C, bias, prefix=prefix + "attn.") |
            norm_shapes(prefix + "norm2", C, bias) | linear_shapes(prefix + "mlp.W_in", C, 4 * C, bias) |
            linear_shapes(prefix + "mlp.W_out", 4 * C, C, bias))


def gpt_shapes(V, T, C, layers, bias):
    shapes = {"token_embedding.weight": (V, C), "position_embedding.weight": (T, C)}
    for i in range(layers):
        shapes |= block_shapes(C, bias, f"blocks.{i}.")
    return shapes | norm_shapes("norm", C, bias)


def linear(p, x):
    return F.linear(x, p["weight"], p.get("bias"))


def norm(p, x):
    return F.layer_norm(x, x.shape[-1:], p["weight"], p.get("bias"), eps=1e-5)


def mlp(p, x):
    return linear(p.sub("W_out"), F.gelu(linear(p.sub("W_in"), x), approximate="tanh"))


def attention(p, heads, query, key=None, value=None, blocked=None):
    """Multi-head attention; returns output and weights per head."""
    key, value = (query if key is None else key), (query if value is None else value)
    if "W_qkv.weight" in p:
        weights, biases = p["W_qkv.weight"].chunk(3), p["W_qkv.bias"].chunk(3) if "W_qkv.bias" in p else [None] * 3
    else:
        weights, biases = [p[f"W_{n}.weight"] for n in "qkv"], [p.get(f"W_{n}.bias") for n in "qkv"]
    q, k, v = [F.linear(x, w, b).unflatten(-1, (heads, -1)).transpose(-2, -3)  # (B, H, T, d_k)
               for x, w, b in zip((query, key, value), weights, biases)]
    y, a = safe_attention(q, k, v, blocked)
    return linear(p.sub("W_out"), y.transpose(-2, -3).flatten(-2)), a


def block(p, heads, x, blocked=None):
    T = x.shape[-2]
    blocked = causal(T, T) if blocked is None else blocked | causal(T, T)
    h = x + attention(p.sub("attn"), heads, norm(p.sub("norm1"), x), blocked=blocked)[0]
    return h + mlp(p.sub("mlp"), norm(p.sub("norm2"), h))


def gpt(p, heads, layers, ids):
    x = p["token_embedding.weight"][ids] + p["position_embedding.weight"][:ids.shape[-1]]
    for i in range(layers):
        x = block(p.sub(f"blocks.{i}"), heads, x)
    return F.linear(norm(p.sub("norm"), x), p["token_embedding.weight"])


def assert_like_torch(p, heads, query, key, output, weights):
    C = query.shape[-1]
    peer = torch.nn.MultiheadAttention(C, heads, bias="W_qkv.bias" in p, batch_first=True)
    with torch.no_grad():
        peer.in_proj_weight.copy_(p["W_qkv.weight"])
        peer.out_proj.weight.copy_(p["W_out.weight"])
        if "W_qkv.bias" in p:
            peer.in_proj_bias.copy_(p["W_qkv.bias"])
            peer.out_proj.bias.copy_(p["W_out.bias"])
        y, a = peer(query, key, key, average_attn_weights=False)
    assert torch.allclose(y, output, rtol=1e-12, atol=1e-12) and torch.allclose(a, weights, rtol=1e-12, atol=1e-12)


def write_modules(path):
    golden = Golden()

    def case(name, shapes, inputs, function):
        """function(parameters, *inputs) → outputs; gradients of Σ(dy·output) over them all."""
        draw = Draw(name)
        p, values = leaves(shapes, draw), inputs(draw)
        tensors = [torch.tensor(x, requires_grad=x.dtype == np.float64) for x in values]
        for key, value in p.items():
            golden.put(f"{name}/param/{key}", value)
        for i, x in enumerate(values):
            golden.put(f"{name}/in{i}", x)
        outputs = function(p, *tensors)
        total = 0
        for i, y in enumerate(outputs if isinstance(outputs, tuple) else (outputs,)):
            dy = draw.normal(*y.shape)
            golden.put(f"{name}/out{i}", y)
            golden.put(f"{name}/dy{i}", dy)
            total = total + (torch.tensor(dy) * y).sum()
        total.backward()
        for key, value in p.items():
            golden.put(f"{name}/grad/{key}", value.grad)
        for i, x in enumerate(tensors):
            if x.requires_grad:
                golden.put(f"{name}/grad_in{i}", x.grad)

    C, H = 8, 2
    one = lambda *shape: lambda d: [d.normal(*shape)]
    for name, bias in [("bias", True), ("plain", False)]:
        case(f"linear.{name}", {"weight": (5, 4)} | ({"bias": (5,)} if bias else {}), one(2, 3, 4), linear)
        case(f"layer_norm.{name}", {"weight": (6,)} | ({"bias": (6,)} if bias else {}), one(2, 3, 6), norm)
        case(f"mlp.{name}", linear_shapes("W_in", C, 4 * C, bias) | linear_shapes("W_out", 4 * C, C, bias), one(2, 3, C), mlp)
        case(f"block.{name}", block_shapes(C, bias), one(2, 5, C), lambda p, x: block(p, H, x))

        def checked(p, query, key=None):
            y, a = attention(p, H, query, key, key)
            assert_like_torch(p, H, query, query if key is None else key, y, a)
            return y, a
        case(f"attention.self_{name}", attention_shapes(C, bias), one(2, 5, C), checked)
        case(f"attention.cross_{name}", attention_shapes(C, bias), lambda d: [d.normal(2, 3, C), d.normal(2, 6, C)], checked)
        case(f"attention.separate_{name}", attention_shapes(C, bias, fused=False),
             lambda d: [d.normal(2, 3, C), d.normal(2, 6, C), d.normal(2, 6, C)],
             lambda p, q, k, v: attention(p, H, q, k, v))
        case(f"causal.{name}", attention_shapes(C, bias), one(2, 5, C),
             lambda p, x: attention(p, H, x, blocked=causal(5, 5)))
        padding = (torch.arange(5) >= torch.tensor([[5], [0]]))[:, None, None, :]  # sample 1 is all padding
        case(f"causal.padded_{name}", attention_shapes(C, bias), one(2, 5, C),
             lambda p, x: attention(p, H, x, blocked=padding | causal(5, 5)))
        case(f"attention.masked_{name}", attention_shapes(C, bias),
             lambda d: [d.normal(2, 5, C), np.concatenate([d.boolean(2, 4, 5), np.ones((2, 1, 5), bool)], 1)],
             lambda p, x, m: attention(p, H, x, blocked=m[:, None]))
        case(f"gpt.{name}", gpt_shapes(11, 6, C, 2, bias), lambda d: [d.integers(0, 11, 2, 6)],
             lambda p, ids: gpt(p, H, 2, ids))
    case("embedding", {"weight": (7, 3)}, lambda d: [d.integers(0, 7, 2, 5)], lambda p, ids: p["weight"][ids])
    case("attention.unbatched", attention_shapes(C, False), one(5, C), lambda p, x: attention(p, H, x))
    case("conv2d.bias", {"weight": (4, 3, 3, 3), "bias": (4,)}, one(2, 3, 5, 6), lambda p, x: F.conv2d(x, **p, padding=1))
    case("conv2d.plain", {"weight": (4, 1, 2, 2)}, one(2, 2, 7, 7),
         lambda p, x: F.conv2d(x, p["weight"], stride=2, dilation=2, groups=2))
    write_batch_norm(golden)
    golden.save(path)


def write_batch_norm(golden):
    """Three batches in training, then one in evaluation, and what torch.nn.BatchNorm2d holds at the end."""
    layer, draw = torch.nn.BatchNorm2d(3, eps=1e-3, momentum=0.2), Draw("batch_norm")
    for name, parameter in layer.named_parameters():
        parameter.data = torch.tensor(draw.normal(3))
    for i in range(4):
        layer.train(i < 3)
        x = draw.normal(4, 3, 2, 2)
        golden.put(f"batch_norm/x{i}", x)
        golden.put(f"batch_norm/y{i}", layer(torch.tensor(x)))
    for name, value in layer.state_dict().items():
        golden.put(f"batch_norm/state/{name}", value)


def write_training(path):
    """Ten AdamW steps, gradients clipped to norm 1, weight decay on matrices only, a rate that changes at every step."""
    V, T, C, H, layers, B, steps = 13, 8, 16, 4, 2, 4, 10
    golden, draw = Golden(), Draw("training")
    p = leaves(gpt_shapes(V, T, C, layers, False), draw, scale=0.2)
    for key, value in p.items():
        golden.put(f"start/{key}", value)
    groups = [{"params": [v for v in p.values() if v.ndim >= 2], "weight_decay": 0.1},
              {"params": [v for v in p.values() if v.ndim < 2], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=0.01, betas=(0.9, 0.99), eps=1e-8)
    text = draw.integers(0, V, steps, B, T + 1)
    golden.put("text", text)
    losses, norms, rates = [], [], 0.01 * draw.positive(steps)
    for step in range(steps):
        ids = torch.tensor(text[step])
        for group in optimizer.param_groups:
            group["lr"] = rates[step]
        optimizer.zero_grad()
        loss = F.cross_entropy(gpt(p, H, layers, ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        if step == 0:
            for key, value in p.items():
                golden.put(f"gradient/{key}", value.grad)
        norms.append(torch.nn.utils.clip_grad_norm_(p.values(), 1.0).item())
        optimizer.step()
        losses.append(loss.item())
    assert max(norms) > 1 > min(norms), norms  # some steps are clipped, some are not
    for name, values in [("losses", losses), ("norms", norms), ("rates", rates)]:
        golden.put(name, np.array(values))
    for key, value in p.items():
        golden.put(f"end/{key}", value)
    golden.save(path)


def write(modules_path, training_path):
    write_modules(modules_path)
    write_training(training_path)
