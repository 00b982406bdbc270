"""Products, losses, attention and operations on images over Variables; goes on from hostile_definitions.py."""
import mpmath
import numpy as np
from mpmath import mpf

from exact import Number, Variable, function
from hostile_definitions import *  # so that the rows import one module


# ---- products

def matmul(a, b):
    """Dot products, over axes that broadcast."""
    if a.ndim == 1:
        return matmul(a[None], b)[..., 0, :] if b.ndim > 1 else reduced(total, a * b)
    if b.ndim == 1:
        return matmul(a, b[:, None])[..., 0]
    return reduced(total, a[..., :, :, None] * b[..., None, :, :], -2)


def linear(x, w, b=None):
    y = matmul(x, w.T)
    return y if b is None else y + b


def rotary(halves):
    def turned(x, cos, sin):
        half = cos.shape[-1]
        a, b = (x[..., :half], x[..., half:2 * half]) if halves else (x[..., 0:2 * half:2], x[..., 1:2 * half:2])
        pairs = np.stack([a * cos - b * sin, a * sin + b * cos], -2 if halves else -1)
        return np.concatenate([pairs.reshape(*x.shape[:-1], 2 * half), x[..., 2 * half:]], -1)
    return turned


def einsum(formula):
    def f(*xs):
        left, right = formula.split("->")
        names = left.split(",")
        letters = sorted(set(left) - {","})
        grown = []
        for x, name in zip(xs, names):
            order = sorted(range(len(name)), key=lambda i: name[i])
            grown.append(x.transpose(order)[tuple(slice(None) if c in name else None for c in letters)])
        y = grown[0]
        for x in grown[1:]:
            y = y * x
        sizes = {c: x.shape[name.index(c)] for x, name in zip(xs, names) for c in name}
        y = np.broadcast_to(y, [sizes[c] for c in letters])
        gone = tuple(i for i, c in enumerate(letters) if c not in right)
        kept = [c for c in letters if c in right]
        y = reduced(total, y, gone) if gone else y
        return y.transpose([kept.index(c) for c in right])
    return f


def attention(q, k, v, visible=lambda i, j: True, scale=None, bias=None):
    """Row by row: only the visible keys take part."""
    lead, T, S = q.shape[:-2], q.shape[-2], k.shape[-2]
    scale = Number(1) / function(Number(q.shape[-1]), mpmath.sqrt(q.shape[-1]), mpf(0)) if scale is None else Number(scale)
    scores = matmul(q, np.swapaxes(k, -1, -2)) * Variable(scale)
    scores = scores if bias is None else scores + bias
    weights = np.empty(scores.shape, object)
    weights[...] = Variable(0)
    for at in np.ndindex(*lead, T):
        seen = [j for j in range(S) if visible(at[-1], j)]
        for j, w in zip(seen, softmax([scores[at][j] for j in seen])):
            weights[at][j] = w
    return reduced(total, weights[..., :, :, None] * v[..., None, :, :], -2), weights


# ---- losses

def cross_entropy(targets, ignored=-100, smoothing=0, each=False):
    def f(x, w=None):
        logp = along(log_softmax, x, -1)
        return nll(targets, ignored, smoothing, each)(logp, w)
    return f


def nll(targets, ignored=-100, smoothing=0, each=False):
    def f(logp, w=None):
        rows, ts = logp.reshape(-1, logp.shape[-1]), targets.reshape(-1)
        C = rows.shape[1]
        weight = [ONE_] * C if w is None else list(w)
        kept = [i for i, t in enumerate(ts) if t != ignored]
        if each:
            losses = np.array([Variable(0)] * len(ts) + [None], object)[:-1]
            for i in kept:
                losses[i] = weight[ts[i]] * rows[i, ts[i]] * mpf(smoothing - 1)
                if smoothing:
                    losses[i] = losses[i] - total([weight[c] * rows[i, c] for c in range(C)]) * (mpf(smoothing) / C)
            return losses.reshape(targets.shape)
        sum_of_weights = total([weight[ts[i]] for i in kept])
        loss = -(total([weight[ts[i]] * rows[i, ts[i]] for i in kept]) / sum_of_weights)
        if not smoothing:
            return loss
        uniform = -(total([weight[c] * rows[i, c] for i in kept for c in range(C)]) / sum_of_weights)
        return loss * (1 - mpf(smoothing)) + uniform * (mpf(smoothing) / C)
    return f


def averaged(f):
    return lambda *operands: reduced(mean, f(*operands))


def bce_each(x, t):
    """max(x, 0) − x·t + ln(1 + e^−|x|), which does not cancel."""
    def f(x, t):
        value = max(x.v, mpf(0)) - x.v * t.v + mpmath.log1p(grown(-abs(x.v)))
        e = 2 * abs(max(x.v, mpf(0)) - x.v * t.v) + 4 * abs(mpmath.log1p(grown(-abs(x.v)))) + abs(x.v * t.v) * (t.v != 1)
        slope = logistic(x.v) - t.v
        if t.v == 1:
            dx = Number(slope, 4 * abs(slope))
        else:
            dx = Number(slope, 4 * max(logistic(x.v), abs(t.v)))
        return Variable(Number(value, e), [(x, dx), (t, Number(-x.v))])
    return np.frompyfunc(f, 2, 1)(x, t)


def squares(a, b):
    return (a - b) * (a - b)


def distances(a, b):
    return absolute(a - b)


bce, mse, l1 = averaged(bce_each), averaged(squares), averaged(distances)


def binary_cross_entropy(p, t):
    """No logarithm is below −100."""
    bounded = lambda x: log(x) if x.v > mpmath.exp(-100) else Variable(-100)
    return averaged(np.frompyfunc(lambda p, t: -(t * bounded(p) + (1 - t) * bounded(1 - p)), 2, 1))(p, t)


def kl_div(x, t):
    """t · (ln t − x), 0 where t is 0."""
    return averaged(np.frompyfunc(lambda x, t: t * (log(t) - x) if t.v else Variable(0), 2, 1))(x, t)


def kl_div_log(x, t):
    return averaged(lambda x, t: exp(t) * (t - x))(x, t)


def smooth_l1(beta):
    def f(a, b):
        d = a - b
        with wide():
            return d * d * (mpf("0.5") / beta) if abs(d.v) < beta else absolute(d) - beta / 2
    return np.frompyfunc(f, 2, 1)


def huber_each(delta):
    def f(a, b):
        d = a - b
        with wide():
            small = abs(d.v) < delta
            return d * d * mpf("0.5") if small else absolute(d) * delta - mpf(delta) ** 2 / 2
    return np.frompyfunc(f, 2, 1)


huber = lambda delta: averaged(huber_each(delta))


# ---- images

def windows(x, kh, kw, stride, padding, dilation=1):
    """(N, C, H, W) → (N, C, kh, kw, H', W')"""
    N, C, H, W = x.shape
    padded = np.empty((N, C, H + 2 * padding, W + 2 * padding), object)
    padded[...] = Variable(0)
    padded[:, :, padding:padding + H, padding:padding + W] = x
    out = [(size + 2 * padding - dilation * (k - 1) - 1) // stride + 1 for size, k in ((H, kh), (W, kw))]
    y = np.empty((N, C, kh, kw, *out), object)
    for i, j, a, b in np.ndindex(kh, kw, *out):
        y[:, :, i, j, a, b] = padded[:, :, a * stride + i * dilation, b * stride + j * dilation]
    return y


def conv2d(x, w, bias=None, stride=1, padding=0, dilation=1, groups=1):
    kh, kw = w.shape[2:]
    cols = windows(x, kh, kw, stride, padding, dilation)
    N, C, out = x.shape[0], x.shape[1] // groups, cols.shape[4:]
    parts = []
    for g in range(groups):
        part = cols[:, g * C:(g + 1) * C].reshape(N, 1, C * kh * kw, *out)
        own = w.reshape(groups, -1, C * kh * kw)[g][None, :, :, None, None]
        parts.append(reduced(total, part * own, 2))
    y = np.concatenate(parts, 1)
    return y if bias is None else y + bias[:, None, None]


def avg_pool2d(x, kh, kw, stride, padding):
    return reduced(mean, windows(x, kh, kw, stride, padding), (2, 3))


def fold(x, height, width, kh, kw, stride, padding):
    N, L = x.shape[0], x.shape[2]
    C = x.shape[1] // (kh * kw)
    out = [(size + 2 * padding - k) // stride + 1 for size, k in ((height, kh), (width, kw))]
    into = {}
    cols = x.reshape(N, C, kh, kw, *out)
    for n, c, i, j, a, b in np.ndindex(cols.shape):
        into.setdefault((n, c, a * stride + i - padding, b * stride + j - padding), []).append(cols[n, c, i, j, a, b])
    y = np.empty((N, C, height, width), object)
    for at in np.ndindex(y.shape):
        y[at] = total(into.get(at, []))
    return y
