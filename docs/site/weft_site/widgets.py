"""Figures that respond: widgets/NAME.js is mounted before figures/NAME.svg on the pages that show it.

A page that was opened as a file may not import modules, so the code of a page's widgets is put into the page, and each
file into a function of its own, which returns what the file exports."""
import pathlib
import re

from docutils import nodes

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "widgets"
IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./(\w+)\.js";$', re.MULTILINE)


def source(name):
    return (FOLDER / f"{name}.js").read_text(encoding="utf-8")


def code(name):
    """The file as an expression: an object with its exports."""
    text = IMPORT.sub(r"const \1 = $\2;", source(name))
    exported = re.findall(r"^export (?:async )?(?:function\*?|const|class) (\w+)", text, re.MULTILINE)
    text = re.sub(r"^export (?=async |function|const|class)", "", text, flags=re.MULTILINE)
    for wrong in [r"^\s*(?:import|export)\b.*", r"</script.*", r"<!--.*"]:
        if found := re.search(wrong, text, re.MULTILINE):
            raise ValueError(f"widgets/{name}.js: a page cannot hold “{found.group(0)}”")
    return f"(() => {{\n{text}return {{ {', '.join(exported)} }};\n}})()"


def shared(names, found=()):
    """The files that these import, each after what it imports itself; common.js is always there."""
    for name in names:
        found = shared([file for _, file in IMPORT.findall(source(name))], found)
        if name not in found:
            found += (name,)
    return found


def script(names):
    """What a page with these widgets runs. A widget that throws leaves its figure as it is."""
    modules = "".join(f"const ${name} = {code(name)};\n" for name in shared(["common", *names]) if name not in names)
    widgets = ",\n".join(f'"{name}": () => {code(name)}' for name in names)
    return f"{modules}$common.start({{\n{widgets}\n}});\n"


def style(names):
    files = [FOLDER / f"{name}.css" for name in shared(["common", *names])]
    return "".join(file.read_text(encoding="utf-8") for file in files if file.exists())


def add(app, doctree, docname):
    """An empty element before each figure that has a widget, and at the end the code."""
    names = []
    for image in list(doctree.findall(nodes.image)):
        uri = pathlib.PurePosixPath(image["uri"])
        if uri.parent.name != "figures" or not (FOLDER / f"{uri.stem}.js").exists():
            continue
        names.append(uri.stem)
        place = nodes.raw("", f'<div class="widget" data-widget="{uri.stem}" hidden></div>', format="html")
        image.parent.parent.insert(image.parent.parent.index(image.parent), place)
    if names:
        whole = f'<style>\n{style(names)}</style>\n<script type="module">\n{script(names)}</script>\n'
        doctree += nodes.raw("", whole, format="html")


def setup(app):
    app.connect("doctree-resolved", add)
