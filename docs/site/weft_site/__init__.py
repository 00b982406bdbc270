"""What the site needs beside Sphinx, MyST and furo: formulas, figures, widgets, the reference, pages of the
sources that chapters link, and what helps to find one's way."""
from . import listings, maths, names, pages, reference, sources, summaries, widgets


def setup(app):
    for part in [listings, maths, names, pages, reference, sources, summaries, widgets]:
        part.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
