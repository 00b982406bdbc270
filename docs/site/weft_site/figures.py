"""Figures as part of their page, so that they follow its colours.

A figure is drawn on white, and that is how it stands in docs/figures, where a forge shows it on any page. In the site
it has no background; its ink is the page's, and every other colour is a variable that _static/figures.css gives a value
on dark pages."""
import html
import pathlib
import re

from . import colours
from .maths import SUBSCRIPT

INK = {"#222": "currentColor", "#fff": "var(--color-background-primary)"}
TAG = re.compile(r"<(rect|circle|path|text|svg|g|stop)\b([^>]*?)(/?)>")
used = set()  # (role, colour): what figures.css defines


def attributes(text):
    return dict(re.findall(r'([\w:-]+)="([^"]*)"', text))


def number(found, name):
    return float(found.get(name, 0))


def area(tag, found):
    """Left, top, right, bottom of what text can stand on, or None."""
    if tag in ["rect", "svg"] and "width" in found:
        x, y = number(found, "x"), number(found, "y")
        return x, y, x + number(found, "width"), y + number(found, "height")
    if tag == "circle":
        x, y, r = (number(found, name) for name in ["cx", "cy", "r"])
        return x - r, y - r, x + r, y + r
    return None


def middle(found):
    """A point inside of a text or a circle."""
    aside = {"start": 4, "end": -4}.get(found.get("text-anchor"), 0)
    return (number(found, "cx") or number(found, "x")) + aside, number(found, "cy") or number(found, "y")


def within(point, box):
    return box[0] <= point[0] <= box[2] and box[1] <= point[1] <= box[3]


def is_colour(text):
    return re.fullmatch("#([0-9a-fA-F]{3}){1,2}", text) is not None


def keeps(fill):
    """Surfaces whose colours mean values stay as they are, and so does what is drawn in white on purpose."""
    return is_colour(fill) and (fill == "#ffffff" or colours.is_viridis(fill))


def is_strong(fill):
    lightness, chroma, _ = colours.to_oklch(fill)
    return chroma > 0.05 and lightness < 0.78


def coloured(role, colour):
    """The colour as the page's: itself on a light page."""
    if not is_colour(colour):
        return colour
    if colour in INK:
        return INK[colour]
    used.add((role, colour))
    return f"var(--{role}-{colour[1:]}, {colour})"


def subscripts(text):
    """d_k with a small k below the line; names of code, such as W_qkv.weight, stay."""
    def lowered(match):
        root, name, below = match.groups()
        return (f'{root}<tspan font-style="italic">{name}</tspan><tspan dy="0.3em" font-size="75%">{below}</tspan>'
                '<tspan dy="-0.225em">\u200b</tspan>')
    return re.sub(SUBSCRIPT, lowered, text)


def styled(svg):
    """The content of an SVG with the page's colours. What stands on a surface that keeps its colour keeps its own."""
    tags = [(m, attributes(m.group(2))) for m in TAG.finditer(svg)]
    texts = [middle(found) for m, found in tags if m.group(1) == "text"]
    surfaces, pieces, end = [], [], 0  # surfaces as (box, whether it keeps its colour), later ones cover earlier ones
    for m, found in tags:
        tag, box, fill = m.group(1), area(m.group(1), found), found.get("fill", "none")
        solid = is_colour(fill) and (number(found, "fill-opacity") or 1.0) > 0.6
        stands = tag in ["text", "circle"] and next(
            (kept for under, kept in reversed(surfaces) if within(middle(found), under)), False)
        kept = stands or keeps(fill) or bool(solid and box and is_strong(fill) and any(within(p, box) for p in texts))
        if box and (solid or (tag == "svg" and m.start() > 0)):  # an SVG within is a field of values
            surfaces.append((box, kept or tag == "svg"))
        if not kept and "fill" in found:
            found["fill"] = coloured("fill" if tag == "rect" else "ink", fill)
        if "stroke" in found and not stands and not (kept and found["stroke"] == "#fff"):
            found["stroke"] = coloured("ink", found["stroke"])
        elif tag == "circle" and kept and not stands and "stroke" not in found:  # a legend's dark spot on a dark page
            found["stroke"] = "var(--color-foreground-muted)"
        pieces += [svg[end:m.start()], f"<{tag}", *(f' {name}="{value}"' for name, value in found.items()), m.group(3), ">"]
        end = m.end()
    return "".join(pieces) + svg[end:]


def inline(path, alt):
    """The figure as an element of a page. Names within it begin with its own, for a page may hold several."""
    svg = path.read_text(encoding="utf-8")
    head = attributes(re.match(r"\s*<svg\b([^>]*)>", svg).group(1))
    size = f'width="{head["width"]}" height="{head["height"]}"'
    svg = re.sub(rf'<rect {size} fill="#fff"/>\n?', "", svg, count=1)  # the paper
    svg = re.sub(r"<title>[^<]*</title>\n?", "", svg, count=1)         # the page's own description says more
    svg = re.sub(r' xml:space="preserve"(?=>(?! )(?:[^< ]| (?! ))*(?<! )</text>)', "", svg)  # where it changes nothing
    svg = styled(svg)
    svg = re.sub(r"(?<=>)([^<>]+)(?=</text>)", lambda m: subscripts(m.group(1)), svg)
    svg = re.sub(r'\bid="', f'id="{path.stem}-', svg).replace("url(#", f"url(#{path.stem}-")
    label = html.escape(alt, quote=True)
    return re.sub(r"<svg\b", f'<svg class="figure" data-figure="{path.stem}" aria-label="{label}"', svg.strip(), count=1)


def style_sheet():
    """What the figures' variables are on dark pages, by the reader's choice or the system's."""
    dark = {"ink": colours.dark_ink, "fill": colours.dark_fill}
    values = " ".join(f"--{role}-{colour[1:]}: {dark[role](colour)};" for role, colour in sorted(used))
    return (f'@media not print {{ body[data-theme="dark"] {{ {values} }} }}\n'
            f'@media screen and (prefers-color-scheme: dark) {{ body[data-theme="auto"] {{ {values} }} }}\n')
