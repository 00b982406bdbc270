"""What the site needs beside Sphinx, MyST and furo: formulas, figures, the reference, and pages of the
sources that chapters link."""
from . import maths, names, pages, reference, sources


def setup(app):
    for part in [maths, names, pages, reference, sources]:
        part.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
