"""What a notebook shows: tensors, modules, attention maps, plots and reports draw themselves."""
from . import _weft as w
from ._weft import Tensor, viz


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


class AttentionMap:
    """The weights of one head (T, S), of heads (H, T, S), or of a list of layers, with the tokens beside them."""

    def __init__(self, weights, queries=(), keys=(), mask=w.Mask(), title=""):
        layers = [weights] if isinstance(weights, Tensor) else list(weights)
        self.svg = viz._attention_svg([x.detach() for x in layers], list(queries), list(keys), mask, title)

    def _repr_svg_(self):
        return self.svg


def tensor_html(x):
    """A title, and the values: as coloured cells up to 1,000 of a matrix or vector, else as text."""
    title = f"{tuple(x.shape)} {x.dtype}{', requires a gradient' * x.requires_grad}"
    values = x.detach().to(w.float64)
    drawn = x.ndim in (1, 2) and 0 < x.numel() <= 1000 and bool(w.isclose(values - values, w.zeros_like(values)).all())
    return f"<div><code>{title}</code><br>{viz._cells_svg(values, title) if drawn else f'<pre>{escaped(str(x.detach()))}</pre>'}</div>"


def framed(report):
    return f'<iframe srcdoc="{escaped(report.html())}" width="100%" height="600"></iframe>'


Tensor._repr_html_ = tensor_html
w.nn.Module._repr_html_ = lambda self: f"<pre>{escaped(repr(self))}</pre>"
viz.Plot._repr_svg_, viz.AttentionMap, w.Report._repr_html_ = viz.Plot.svg, AttentionMap, framed
