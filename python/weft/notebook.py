"""What a notebook shows: tensors, modules, attention maps, plots and reports draw themselves."""
from . import _weft as w
from ._weft import Tensor, viz


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


class AttentionMap:
    """The weights of one head (T, S), of heads (H, T, S), or of a list of layers, with the tokens beside them."""

    def __init__(self, weights, queries=(), keys=(), mask=w.Mask(), title=""):
        layers = [weights] if isinstance(weights, Tensor) else weights
        self.svg = viz._attention_svg([x.detach() for x in layers], list(queries), list(keys), mask, title)

    _repr_svg_ = lambda self: self.svg


def tensor_html(x):
    """A title, and the values: as coloured cells up to 1,000 of a matrix or vector, else as text."""
    title, values = f"{tuple(x.shape)} {x.dtype}{', requires a gradient' * x.requires_grad}", x.detach().to(w.float64)
    drawn = x.ndim in (1, 2) and 0 < x.numel() <= 1000 and bool(w.isfinite(values).all())
    return f"<div><code>{title}</code><br>{viz._cells_svg(values, title) if drawn else f'<pre>{escaped(str(x.detach()))}</pre>'}</div>"


Tensor._repr_html_, viz.Plot._repr_svg_, viz.AttentionMap = tensor_html, viz.Plot.svg, AttentionMap
w.nn.Module._repr_html_ = lambda self: f"<pre>{escaped(repr(self))}</pre>"
w.Report._repr_html_ = lambda self: f'<iframe srcdoc="{escaped(self.html())}" width="100%" height="600"></iframe>'
