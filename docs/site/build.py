"""Builds the site in build/site, from docs/*.md, README.md, CONTRIBUTING.md and the headers' comments. `make docs`
installs what this needs, and calls it.

The Markdown is written for a forge and stays as it is: a copy of it in build/docs/source gets what Sphinx wants. Where
examples/train_gpt is built, the front page links the report of a short training, made at the same time. WEFT_SITE_URL
may say where the site will stand: others that show a link to one of its pages want whole addresses."""
import os
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys
import textwrap
import time

from doxygen_filter import is_internal

SITE = pathlib.Path(__file__).resolve().parent
ROOT = SITE.parents[1]
SOURCE = ROOT / "build/docs/source"
OUT = ROOT / "build/site"
TRAIN_GPT = ROOT / "build/release/examples/train_gpt"
TRAINED = ROOT / "build/docs/training"
# A model of two layers, which takes half a minute on one core: less than the pages take.
TRAINING = ["--num_layers", "2", "--d_model", "64", "--steps", "1500", "--lr", "0.003", "--eval_interval", "250", "--threads", "1"]

APPENDICES = ["faults", "errata", "beside_pytorch", "dictionary", "dictionary_jax", "errors", "glossary", "machines", "sources"]
# What follows a chapter.
AFTER = {"first_run": "microgpt", "broadcasting": "recap_1", "deep_networks": "recap_2", "translation": "recap_3", "inside": "recap_4",
         "today": "recap_5"}
LIBRARY = ["readme", "features", "training", "installing", "architecture", "rooms", "rules", "performance", "python", "comparison", "contributing"]


def outside_of_code(text, change):
    """The text with `change` done to what stands in no fence."""
    parts = re.split(r"(^```.*?^```[^\n]*$)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(part if part.startswith("```") else change(part) for part in parts)


def from_docs(text):
    """A page of the root, as if it stood in docs: its links lead from there, its picture is a Markdown one."""
    def link(match):
        target = match.group(2)
        if re.match(r"[a-z]+:|#|/", target):
            return match.group(0)
        return match.group(1) + posixpath.relpath(target, "docs")
    def on_a_page(part):
        part = re.sub(r'<img src="([^"]*)"[^>]* alt="([^"]*)">', r"![\2](\1)", part)
        return re.sub(r"(\]\()([^)\s]+)", link, part)
    return outside_of_code(text, on_a_page)


def moved(name, text):
    """Links to the pages that get other names."""
    names = {"../README.md": "readme.md", "../CONTRIBUTING.md": "contributing.md", "README.md": "index.md",
             "from_scratch/README.md": "from_scratch/index.md"}
    folder = posixpath.dirname(name)
    def link(match):
        target = names.get(posixpath.normpath(posixpath.join(folder, match.group(1))))
        return match.group(0) if target is None else "](" + posixpath.relpath(target, folder or ".")
    return outside_of_code(text, lambda part: re.sub(r"\]\(([^)#\s]+)(?=[)#])", link, part))


def at_the_left(text):
    """Blocks of code that were cut out of a function, without what they are indented by; and over what a companion types into main, where."""
    text = text.replace("```cpp main\n", "```{code-block} cpp\n:caption: at the end of main\n\n")
    return re.sub(r"^```cpp\n(.*?)^```$", lambda m: "```cpp\n" + textwrap.dedent(m.group(1)) + "```", text,
                  flags=re.DOTALL | re.MULTILINE)


def toctree(pages, caption, options=""):
    return f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n{options}\n" + "\n".join(pages) + "\n```\n"


def front(found):
    """What the front page shows before its text: ten lines and what they print, a figure, a report."""
    def part(page, pattern):
        match = re.search(pattern, found[page], re.MULTILINE)
        if match is None:
            sys.exit(f"the front page shows a part of {page}.md that is no longer there: {pattern}")
        return match.group(1)
    code = part("readme", r"^## In ten lines\n\n(```cpp\n[^`]*```)\n")
    printed = part("readme", r"^## In ten lines\n\n```cpp\n[^`]*```\n\n((?:    [^\n]*\n)+)")
    figure = part("10_heads", r"(!\[[^\]]*\]\(figures/10_roles\.svg\))")
    report = part("readme", r"(!\[[^\]]*\]\(try\.png\))")
    live = TRAIN_GPT.exists()
    parts = ['<div class="show">', '<p class="show-title">Attention in ten lines</p>', code, "It prints",
             "```text\n" + textwrap.dedent(printed) + "```",
             '<p class="show-title">What two heads have learned</p>', figure,
             "Each row is a token, each column a token that it may attend to. [Chapter 10](10_heads.md) trains this model and "
             "explains its two heads.",
             '<p class="show-title">A report of every training run</p>', report,
             '<p><a class="live-report" href="report.html">Open a live report</a>: a small GPT, trained while this site was '
             "built.</p>" if live else "Every training run leaves a report of what its model has learned.",
             "`make train` trains a larger one in minutes, [on a text of yours](training.md) if you like.",
             "</div>"]
    return "\n\n".join(f"```{{raw}} html\n{part}\n```" if part.startswith("<") else part for part in parts) + "\n\n"


def pages():
    """The name of each page and its Markdown."""
    found = {path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))}
    companions, steps = ({f"{folder}/{path.stem}": path.read_text(encoding="utf-8")
                          for path in sorted((ROOT / "docs" / folder).glob("*.md"))} for folder in ["sources", "from_scratch"])
    chapters = [page for name in found if re.match(r"\d\d_", name)
                for page in (name, AFTER.get(name[3:])) if page]
    for name in ["README", "CONTRIBUTING"]:
        found[name.lower()] = from_docs((ROOT / f"{name}.md").read_text(encoding="utf-8"))
    contents = found.pop("README")
    library = LIBRARY + sorted(set(found) - set(chapters) - set(APPENDICES) - set(LIBRARY))
    steps["from_scratch/index"] = steps.pop("from_scratch/README") + toctree(
        [posixpath.basename(name) for name in steps if "/step_" in name] + ["beside_the_core"], "The steps")
    contents += toctree(chapters, "The book") + toctree(["from_scratch/index"], "Build your own")
    contents += toctree(APPENDICES, "Appendices")
    library = ["Weft, the library <readme>" if name == "readme" else name for name in library]
    contents += toctree(library, "The library") + toctree(["api/index"], "Reference", ":maxdepth: 1\n")
    found["index"] = front(found) + contents
    found["sources"] += toctree(companions, "The companions")
    found |= companions | steps
    return {name: at_the_left(moved(name, text)) for name, text in found.items()}


def reference_pages():
    """A page for each header; weft_site/reference.py fills them."""
    headers = sorted(path.relative_to(ROOT / "include/weft").with_suffix("").as_posix()
                     for path in (ROOT / "include/weft").rglob("*.h") if not is_internal(path))
    found = {f"api/{name}": f"# weft/{name}.h\n\n```{{weft-header}} weft/{name}.h\n```\n" for name in headers}
    found["api/index"] = ("# Reference\n\n```{weft-headers}\n```\n"
                          "\n```{toctree}\n:hidden:\n\n" + "\n".join(headers) + "\n```\n")
    return found


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def stage():
    wanted = {f"{name}.md": text for name, text in {**pages(), **reference_pages()}.items()}
    for path in SOURCE.rglob("*.md"):
        if path.relative_to(SOURCE).as_posix() not in wanted:
            path.unlink()
    for name, text in wanted.items():
        write(SOURCE / name, text)
    for path in (ROOT / "docs").rglob("*"):
        if path.suffix in [".svg", ".png"] and SITE not in path.parents:
            copy = SOURCE / path.relative_to(ROOT / "docs")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)


def train():
    """Begins the training of the front page's report, where it can be had and is older than the program."""
    if not TRAIN_GPT.exists() or (TRAINED / "report.html").exists() and \
            (TRAINED / "report.html").stat().st_mtime > TRAIN_GPT.stat().st_mtime:
        return None
    shutil.rmtree(TRAINED, ignore_errors=True)
    TRAINED.parent.mkdir(parents=True, exist_ok=True)
    return subprocess.Popen([str(TRAIN_GPT), "--out", str(TRAINED), *TRAINING], cwd=ROOT, stdout=subprocess.DEVNULL)


def main():
    begun = time.time()
    training = train()
    try:
        return build(begun, training)
    finally:
        if training is not None and training.poll() is None:
            training.kill()


def build(begun, training):
    shutil.rmtree(ROOT / "build/docs/doxygen", ignore_errors=True)
    SOURCE.mkdir(parents=True, exist_ok=True)
    left_out = " ".join(str(path) for path in (ROOT / "include/weft").rglob("*.h") if is_internal(path))
    doxygen = subprocess.run(["doxygen", "-"], cwd=ROOT, check=False, text=True,
                             input=(SITE / "Doxyfile").read_text(encoding="utf-8") + f"\nEXCLUDE = {left_out}\n")
    if doxygen.returncode != 0:
        return "the headers above are not documented as they should be"
    stage()
    shutil.rmtree(OUT, ignore_errors=True)
    environment = {**os.environ, "PYTHONPATH": str(SITE), "PYTHONDONTWRITEBYTECODE": "1"}
    sphinx = subprocess.run(["/usr/bin/python3", "-m", "sphinx", "-b", "html", "-n", "-W", "--keep-going", "-q", "-E",
                             "-c", str(SITE), "-d", str(ROOT / "build/docs/doctrees"), str(SOURCE), str(OUT)],
                            cwd=ROOT, env=environment, check=False)
    if sphinx.returncode != 0:
        return "the site is not whole: see above"
    if training is not None and training.wait() != 0:
        return "the training of the front page's report has failed: see above"
    if TRAIN_GPT.exists():
        shutil.copy2(TRAINED / "report.html", OUT / "report.html")
    print(f"{sum(1 for _ in OUT.rglob('*.html'))} pages in {time.time() - begun:.0f} s: {OUT.relative_to(ROOT)}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
