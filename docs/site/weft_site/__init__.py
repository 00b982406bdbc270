"""What the site needs beside Sphinx, MyST and furo: formulas, figures, widgets, the reference, and pages of the
sources that chapters link."""
from . import maths, names, pages, reference, sources, widgets


def setup(app):
    for part in [maths, names, pages, reference, sources, widgets]:
        part.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
