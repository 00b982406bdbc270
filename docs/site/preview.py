"""Draws static/preview.png, the picture that others show with a link to a page: /usr/bin/python3 docs/site/preview.py"""
import pathlib
import sys
import tempfile

SITE = pathlib.Path(__file__).resolve().parent
ROOT = SITE.parents[1]
sys.path.append(str(ROOT / "tests/browser"))
from browser import Browser  # noqa: E402
from weft_site import figures  # noqa: E402

PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; width: 1200px; height: 630px; overflow: hidden; background: #fff; color: #222;
       --color-background-primary: #fff; font-family: "DejaVu Sans", sans-serif; }}
.top {{ display: flex; gap: 40px; align-items: center; padding: 60px 60px 0; }} .top img {{ width: 150px; }}
h1 {{ font-size: 72px; margin: 0; }} p {{ font-size: 28px; margin: 6px 0 0; line-height: 1.35; }}
.figures {{ display: flex; gap: 30px; padding: 40px 60px; align-items: center; zoom: .82; }}
</style><div class="top"><img src="{logo}" alt=""><div><h1>Weft</h1>
<p>A small autograd library in C++20,<br>and a book that builds a GPT with it</p></div></div>
<div class="figures">{graph}{heads}</div>"""


def main():
    drawn = {name: figures.inline(ROOT / f"docs/figures/{file}.svg", "") for name, file in
             [("graph", "04_graph"), ("heads", "10_roles")]}
    browser = Browser()
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "preview.html"
        page.write_text(PAGE.format(logo=(SITE / "static/weft.svg").as_uri(), **drawn), encoding="utf-8")
        browser.open(page, width=1200, height=630)
        browser.photograph(SITE / "static/preview.png")
    browser.quit()


if __name__ == "__main__":
    main()
