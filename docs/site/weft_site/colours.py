"""Colours of the figures on a dark page. The figures are drawn for a white one.

The lightness turns around and the hue stays, in Oklab (B. Ottosson, 2020), where equal steps of L look equal. A map of
values keeps its colours in both."""
import functools
import math

# The same 16 points as in src/viz/svg.cpp.
VIRIDIS = [(0x44, 0x01, 0x54), (0x48, 0x1a, 0x6c), (0x47, 0x2f, 0x7d), (0x41, 0x44, 0x87), (0x39, 0x56, 0x8c), (0x31, 0x68, 0x8e),
           (0x2a, 0x78, 0x8e), (0x23, 0x88, 0x8e), (0x1f, 0x98, 0x8b), (0x22, 0xa8, 0x84), (0x35, 0xb7, 0x79), (0x54, 0xc5, 0x68),
           (0x7a, 0xd1, 0x51), (0xa5, 0xdb, 0x36), (0xd2, 0xe2, 0x1b), (0xfd, 0xe7, 0x25)]


def rgb(text):
    """Of #rgb or #rrggbb."""
    digits = text[1:] if len(text) == 7 else "".join(2 * digit for digit in text[1:])
    return tuple(int(digits[i:i + 2], 16) for i in (0, 2, 4))


def linear(c):
    c /= 255
    return c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4


def luminance(text):
    r, g, b = map(linear, rgb(text))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a, b):
    """As WCAG defines it: 1 to 21."""
    low, high = sorted([luminance(a), luminance(b)])
    return (high + 0.05) / (low + 0.05)


def to_oklch(text):
    """Lightness 0 … 1, chroma, hue."""
    r, g, b = map(linear, rgb(text))
    l = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) ** (1 / 3)
    m = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) ** (1 / 3)
    s = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b) ** (1 / 3)
    a = 1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s
    b = 0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s
    return 0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s, math.hypot(a, b), math.atan2(b, a)


def from_oklch(lightness, chroma, hue):
    """With as much of the chroma as a screen can show."""
    a, b = chroma * math.cos(hue), chroma * math.sin(hue)
    l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    s = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    channels = [4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s, -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
                -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s]
    if chroma > 0.001 and not all(-0.001 <= c <= 1.001 for c in channels):
        return from_oklch(lightness, chroma * 0.97, hue)
    codes = [12.92 * c if c <= 0.0031308 else 1.055 * c ** (1 / 2.4) - 0.055 for c in (min(max(c, 0), 1) for c in channels)]
    return "#" + "".join(f"{round(255 * c):02x}" for c in codes)


@functools.cache
def is_viridis(text):
    """Whether the colour map has it, or one that rounds to it."""
    def distance(a, b):
        steps = [i / 20 for i in range(21)]
        return min(max(abs(p + t * (q - p) - c) for p, q, c in zip(a, b, rgb(text))) for t in steps)
    return any(distance(a, b) <= 2 for a, b in zip(VIRIDIS, VIRIDIS[1:]))


@functools.cache
def dark_ink(text):
    """Of lines, text and markers: greys are turned around, colours become light enough to be read."""
    lightness, chroma, hue = to_oklch(text)
    if chroma < 0.02:
        return from_oklch(min(1.22 - lightness, 0.95), chroma, hue)
    return from_oklch(lightness if lightness > 0.72 else 0.72 - 0.35 * (0.72 - lightness), chroma, hue)


@functools.cache
def dark_fill(text):
    """Of surfaces: what is pale becomes dim, stronger in colour, so that its name still fits; the rest is as for ink."""
    lightness, chroma, hue = to_oklch(text)
    return from_oklch(0.29 + 0.9 * (1 - lightness), 1.5 * chroma, hue) if lightness > 0.78 else dark_ink(text)
