"""What a notebook shows: tensors, modules, attention maps, plots and reports draw themselves."""
from . import _weft as w
from ._weft import Tensor, viz

SIGNS = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
escaped = lambda text: text.translate(str.maketrans(SIGNS))


class AttentionMap:
    """The weights of one head (T, S), of heads (H, T, S), or of a list of layers, with the tokens beside them."""
    def __init__(self, weights, queries=(), keys=(), mask=w.Mask(), title=""):
        layers = [x.detach() for x in ([weights] if isinstance(weights, Tensor) else weights)]
        one = len(layers) == 1 and layers[0].ndim == 2
        draw, x = (viz.attention_svg, layers[0]) if one else (viz.attention_grid_svg, layers)
        self.svg = draw(x, list(queries), list(keys), mask, title=title)
    _repr_svg_ = lambda self: self.svg


def tensor_html(x):
    """A title, and the values: as coloured cells up to 1,000 of a matrix or vector, else as text."""
    title, values = f"{x.shape} {x.dtype}{', requires a gradient' * x.requires_grad}", x.detach().dequantize().double()
    shown = f"<pre>{escaped(str(x.detach()))}</pre>"
    if x.ndim in (1, 2) and 0 < x.numel() <= 1000 and w.isfinite(values).all():
        side, texts = (48, ()) if x.numel() <= 100 else (12, [" "] * x.numel())
        drawing = viz.Drawing(x.size(-1) * side + 2, x.numel() // x.size(-1) * side + 2, title)
        shown = drawing.cells(1, 1, side, side, values, texts, viridis=True).svg()
    return f"<div><code>{title}</code><br>{shown}</div>"


Tensor._repr_html_, viz.Plot._repr_svg_, viz.AttentionMap = tensor_html, viz.Plot.svg, AttentionMap
w.nn.Module._repr_html_ = lambda self: f"<pre>{escaped(repr(self))}</pre>"
w.Report._repr_html_ = lambda self: f'<iframe srcdoc="{escaped(self.html())}" width="100%" height="600"></iframe>'
