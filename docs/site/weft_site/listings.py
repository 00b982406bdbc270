"""Under each listing a link to the file and line where it stands."""
import functools
import pathlib
import re

from docutils import nodes

from . import sources

# Where a listing is looked for, in this order.
PLACES = ["examples/*.cpp", "examples/*.h", "examples/*/*.cpp", "examples/*/*.h", "exercises/from_scratch/**/*.h", "exercises/from_scratch/**/*.cpp",
          "exercises/**/*.cpp", "exercises/**/*.h", "src/**/*.cpp", "src/**/*.h", "include/**/*.h", "tests/**/*.cpp",
          "tests/**/*.h", "tests/**/*.py"]
LANGUAGES = ["cpp", "c++", "python"]


def bare(text):
    """Its lines without indentation and without empty ones, and the number of each."""
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    return [number for number, _ in lines], "\n" + "\n".join(line for _, line in lines) + "\n"


@functools.cache
def files():
    """path → what `bare` makes of it, with the examples of headers as code."""
    found = {}
    for place in PLACES:
        for path in sorted(sources.ROOT.glob(place)):
            name = path.relative_to(sources.ROOT).as_posix()
            if name not in found:
                found[name] = bare(re.sub("^ *//     ", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE))
    return found


def nearest(page):
    """Which files a page means first: its chapter's program, its step's solution, its header."""
    name = pathlib.PurePosixPath(page).name
    if page.startswith("from_scratch/"):
        return lambda path: not path.startswith("exercises/from_scratch/")
    if page.startswith("api/"):
        return lambda path: path != f"include/weft/{page.removeprefix('api/')}.h"
    return lambda path: not pathlib.PurePosixPath(path).name.startswith(name[:3] if re.match(r"\d", name) else name)


def place_of(text, page):
    """(path, line), or None where the text is in no file, or is too short to tell in which."""
    block = bare(text)[1]
    near = nearest(page)  # False sorts first
    found = sorted((path for path, (_, whole) in files().items() if block in whole), key=near)
    if not found or (block.count("\n") < 3 and len(found) > 1 and [near(path) for path in found].count(False) != 1):
        return None
    numbers, whole = files()[found[0]]
    return found[0], numbers[whole[:whole.index(block)].count("\n")]


def add_links(app, doctree, page):
    for block in list(doctree.findall(nodes.literal_block)):
        if block.astext().startswith("#include <weft/") and "\n" not in block.astext():
            continue
        place = block.get("place") or (block.get("language") in LANGUAGES and place_of(block.astext(), page))
        if not place:
            continue
        path, line = place
        uri = app.builder.get_relative_uri(page, sources.want(path)) + f"#L{line}"
        link = nodes.reference("", f"{path}, line {line}", internal=True, refuri=uri)
        block.parent.insert(block.parent.index(block) + 1, nodes.paragraph("", "", link, classes=["listing-source"]))


def setup(app):
    app.connect("doctree-resolved", add_links)
