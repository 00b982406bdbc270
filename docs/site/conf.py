"""Sphinx, told how the book becomes a site. build.py calls it."""
project = "Weft"
author = "the authors of Weft"
html_title = "Weft"
language = "en"

extensions = ["myst_parser", "weft_site"]
root_doc = "index"
source_suffix = {".md": "markdown"}

myst_enable_extensions = ["dollarmath"]
myst_dmath_double_inline = True
myst_heading_anchors = 4
html_math_renderer = "katex"

highlight_language = "text"
pygments_style = "xcode"
pygments_dark_style = "github-dark"

html_theme = "furo"
html_theme_options = {"top_of_page_button": None}
html_static_path = ["static"]
templates_path = ["templates"]
html_css_files = ["weft.css", "figures.css"]
html_js_files = ["weft.js", "search.js"]
html_logo = "static/weft.svg"
html_favicon = "static/weft.svg"
html_copy_source = False
html_show_sourcelink = False
html_use_index = False
