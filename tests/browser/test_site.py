"""The site that `make docs` builds: its pages at a desk's width and at a phone's, and of those that are made alike some."""
import functools
import html.parser
import os
import pathlib
import sys
import unittest
import urllib.parse

from browser import Browser

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "docs/site"))
from weft_site import entities, names, reference  # noqa: E402

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 740}

# What a page shows, as one object. Raw TeX is looked for in what is neither code nor a formula.
LOOK = r"""
const all = (selector) => [...document.querySelectorAll(selector)];
const words = document.createTreeWalker(document.querySelector("article"), NodeFilter.SHOW_TEXT);
const raw = [];
for (let node = words.nextNode(); node; node = words.nextNode())
    if (!node.parentElement.closest("pre, code, .math, script") && /\$\$|\$[^$]*[\\_^{][^$]*\$|\\[a-z]{2,}/.test(node.data))
        raw.push(node.data.trim());
return {
    title: document.title,
    headings: all("article h1").length,
    links: all("a[href]").map((a) => a.href),
    pictures: all("img").filter((i) => !(i.complete && i.naturalWidth)).map((i) => i.src),
    pictureCount: all("article img, article svg.figure").length,
    signs: all("use").filter((u) => !document.querySelector(u.getAttribute("href"))).map((u) => u.outerHTML),
    nameless: all("article img:not([alt]), article svg.figure:not([aria-label])").map((i) => i.src || i.dataset.figure),
    description: document.querySelector("meta[name=description]")?.content || "",
    preview: document.querySelector("meta[property='og:image']")?.content || "",
    formulas: all(".math").length,
    unfinished: all(".math").filter((m) => !m.querySelector(".katex-html") || m.querySelector(".katex-error") ||
        m.querySelector(".katex-html").getBoundingClientRect().width < 1).map((m) => m.textContent),
    raw: raw,
};"""

# What reaches beyond the screen without standing in a box of its own that scrolls.
BEYOND = """
const scrolls = (e) => e && e.tagName !== "ARTICLE" &&
    (/auto|scroll/.test(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
const beyond = [...document.querySelectorAll("article *")].filter((e) =>
    e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".katex-mathml") && !scrolls(e));
return [document.scrollingElement.scrollWidth,
    beyond.map((e) => e.tagName + "." + e.className + ": " + e.textContent.slice(0, 60))];
"""


class Read(html.parser.HTMLParser):
    """A page as it is written: its anchors, and where its links lead."""

    def __init__(self, path):
        super().__init__()
        self.found, self.links, self.base = set(), set(), path.as_uri()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        self.found.update(value for name, value in attributes if name == "id" or (tag == "a" and name == "name"))
        self.links.update(urllib.parse.urljoin(self.base, value) for name, value in attributes if tag == "a" and name == "href")


class SiteTest(unittest.TestCase):
    """Pages are opened as files, as a reader does who has built the site."""
    browser = site = pictures = None

    @classmethod
    def begin(cls, browser, site, pictures):
        cls.browser, cls.site, cls.pictures = browser or Browser(), site, pictures

    @classmethod
    @functools.cache
    def read(cls, path):
        return Read(path)

    def is_one_of_many(self, number, here):
        """Of the sources and of the reference, whose pages are all made alike, every tenth is looked at at both widths, and a
        source besides only where WEFT_LONG is set."""
        return here.parts[0] in ["api", "source"] and number % 10 != 0

    def resize(self, width, height):
        self.browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
        self.browser.settle()

    @staticmethod
    def path_of(link):
        return pathlib.Path(urllib.parse.unquote(urllib.parse.urlsplit(link).path))

    @functools.cache
    def fault_of(self, link):
        """What is wrong with a link to a page of the site, or None."""
        parts, path = urllib.parse.urlsplit(link), self.path_of(link)
        if not path.is_file() or self.site not in path.parents:
            return f"{link}: no such page"
        anchor = urllib.parse.unquote(parts.fragment)
        if anchor and path.suffix == ".html" and anchor not in self.read(path).found:
            return f"{link}: no such anchor"
        return None

    def test_every_page(self):
        pages = sorted(set(self.site.rglob("*.html")) - {self.site / "report.html"})  # which has tests of its own
        reached, outside, faults = {self.site / "index.html", self.site / "search.html"}, set(), []
        links = pictures = formulas = 0
        sizes, once, twice = [], 0, 0
        for number, page in enumerate(pages):
            here = page.relative_to(self.site)
            if here.parts[0] == "source" and self.is_one_of_many(number, here) and "WEFT_LONG" not in os.environ:
                inside = [link for link in sorted(self.read(page).links) if link.startswith("file:")]
                faults += [f"{here}: {fault}" for fault in filter(None, map(self.fault_of, inside))]
                reached.update(map(self.path_of, inside))
                links += len(inside)
                continue
            if sizes != [DESKTOP]:
                self.browser.emulate(**DESKTOP)
            self.browser.visit(page)
            seen = self.browser.run(LOOK)
            wrong = self.browser.errors()
            wrong += [f"asked for {address}" for address in self.browser.requests()
                      if not address.startswith((self.site.as_uri() + "/", "data:"))]
            for link in sorted(set(seen["links"])):
                if link.startswith("file:"):
                    wrong += filter(None, [self.fault_of(link)])
                    reached.add(self.path_of(link))
                else:
                    outside.add(link)
            for what in ["pictures", "signs", "nameless", "unfinished", "raw"]:
                wrong += [f"{what}: {item}" for item in seen[what]]
            if not 20 < len(seen["description"]) < 260 or not (page.parent / seen["preview"]).is_file():
                wrong.append(f"described as {seen['description']!r}, with the picture {seen['preview']!r}")
            if seen["headings"] != 1 or not seen["title"]:
                wrong.append(f"{seen['headings']} headings of the first rank, title {seen['title']!r}")
            sizes = [DESKTOP] if self.is_one_of_many(number, here) else [DESKTOP, PHONE]
            once, twice = once + 1, twice + len(sizes) - 1
            for size in sizes:
                if size is not DESKTOP:
                    self.resize(**size)
                width, beyond = self.browser.run(BEYOND)
                if width > size["width"] or beyond:
                    wrong.append(f"at {size['width']} pixels it takes {width}: {beyond[:3]}")
            faults += [f"{here}: {fault}" for fault in wrong]
            links += len(seen["links"])
            pictures += seen["pictureCount"]
            formulas += seen["formulas"]
        faults += [f"{page.relative_to(self.site)}: no page leads there" for page in pages if page not in reached]
        print(f"\n{len(pages)} pages, {once} of them looked at, {twice} at two widths: {links} links, {pictures} pictures, {formulas} formulas; "
              f"{len(outside)} addresses outside, not visited:", *sorted(outside), sep="\n    ", flush=True)
        self.assertEqual(faults, [], "\n" + "\n".join(faults))
        self.assertGreater(pictures, 60)
        self.assertGreater(len(pages), 40)
        self.assertGreater(twice, 40)
        self.assertGreater(formulas, 0)

    def background(self):
        return self.browser.run("return getComputedStyle(document.body).backgroundColor")

    def test_colours_follow_the_system_and_the_button(self):
        page, light, dark = self.site / "index.html", "rgb(255, 255, 255)", "rgb(19, 20, 22)"
        button = ".theme-toggle-content .theme-toggle"
        try:
            for system, expected in [(False, light), (True, dark)]:
                self.browser.open(page, dark=system, **DESKTOP)
                seen = [self.background()]
                for _ in range(3):
                    self.browser.click(button)
                    seen.append(self.background())
                other = dark if expected == light else light
                self.assertEqual(seen, [expected, other, expected, expected])
            self.browser.open(page, dark=True, **DESKTOP)
            self.browser.click(button)
            self.browser.open(self.site / "glossary.html", dark=True, **DESKTOP)
            self.assertEqual(self.background(), light)  # the other pages keep to it
        finally:
            self.browser.run("localStorage.clear()")
        self.assertEqual(self.browser.errors(), [])

    SHOWN = "return [...document.querySelectorAll(arguments[0] + ' li')].map(item => " \
            "[item.querySelector('a').getAttribute('href').split('/build/site/').pop(), item.querySelector('a').textContent])"

    def search(self, word, where="index.html", **size):
        """Types a word into the sidebar's field: (address, title) of what appears."""
        self.browser.open(self.site / where, **(size or DESKTOP))
        self.browser.focus(".sidebar-search")
        self.browser.press(*word)
        self.browser.wait("return /[0-9] result|Nothing/.test(document.querySelector('.sidebar-results').textContent)")
        self.assertEqual(self.browser.errors(), [])
        return self.browser.run(self.SHOWN, ".sidebar-results")

    def test_the_search_answers_while_a_word_is_typed(self):
        self.assertIn("glossary.html", [address for address, _ in self.search("residual")])
        self.assertEqual(self.browser.run("return document.querySelector('.sidebar-tree').hidden"), True)
        self.browser.press("Down")
        self.assertEqual(self.browser.run("return document.activeElement.closest('.sidebar-results') !== null"), True)
        self.browser.press("Escape")
        self.assertEqual(self.browser.run("return [document.querySelector('.sidebar-tree').hidden,"
                                          "document.activeElement.className, document.activeElement.value]"),
                         [False, "sidebar-search", ""])
        # From a page in a folder, too; text stays text.
        self.assertIn("api/watch/trace.html#GradientLedger", [a for a, _ in self.search("GradientLed", "api/core/reductions.html")])
        self.assertEqual(self.search("<b>zzz"), [])
        self.assertIn("Nothing found for “<b>zzz”", self.browser.text(".sidebar-results"))

    def test_the_search_ranks_titles_first(self):
        for word, first in [("masks", "11_masks.html"), ("glossary", "glossary.html"), ("tensors", "02_tensors.html"),
                            ("attention", "09_attention.html"), ("clip_grad_n", "api/optim/clipping.html"),
                            ("conv2d", "api/ops/convolution.html")]:
            self.assertEqual(self.search(word)[0][0].split("#")[0], first.split("#")[0], word)
        in_text = self.search("backprop")  # words of the text come after titles and names
        self.browser.focus(".sidebar-search")
        self.browser.press("Enter")
        self.browser.wait("return document.querySelector('#search-results li')")
        self.assertEqual(self.browser.run("return document.querySelector('#search-again').value"), "backprop")
        kinds = self.browser.texts("#search-results .search-where")
        self.assertEqual(kinds, sorted(kinds, key=lambda kind: kind == "in the text"))
        self.assertLessEqual(len(in_text), len(kinds))
        self.assertTrue(self.browser.all("#search-results p.context"))

    def test_figures_follow_the_colours_of_the_page(self):
        """Every text of a figure can be read on what is under it, light and dark."""
        look = r"""
        const channels = (colour) => (colour.match(/[\d.]+/g) || []).map(Number);
        const over = (a, b) => a.slice(0, 3).map((c, i) => c * (a[3] ?? 1) + b[i] * (1 - (a[3] ?? 1)));
        const light = (c) => { const [r, g, b] = c.map((x) => (x /= 255) <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
                               return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
        const paper = channels(getComputedStyle(document.body).backgroundColor), wrong = [];
        let texts = 0;
        for (const details of document.querySelectorAll("details")) details.open = true;
        for (const figure of document.querySelectorAll("article svg.figure")) {
            const under = [];
            for (const e of figure.querySelectorAll("rect, circle, svg, text")) {
                const box = e.getBoundingClientRect(), style = getComputedStyle(e);
                if (e.tagName !== "text") {
                    if (e.closest("defs") || (style.fill === "none" && e.tagName !== "svg")) continue;
                    under.push([box, e.tagName === "svg" || style.fill.startsWith("url") ? null :
                        [...channels(style.fill).slice(0, 3), Number(style.fillOpacity)]]);
                    continue;
                }
                const x = box.x + box.width / 2, y = box.y + box.height / 2;
                const hit = under.filter(([b]) => b.left <= x && x <= b.right && b.top <= y && y <= b.bottom).map(([, c]) => c);
                if (hit.includes(null) || !e.textContent.trim()) continue;
                const ground = hit.reduce((below, c) => over(c, below), paper), ink = over(channels(style.fill), ground);
                const [low, high] = [light(ground), light(ink)].sort((a, b) => a - b);
                texts += 1;
                if ((high + 0.05) / (low + 0.05) < 3)
                    wrong.push(`${figure.dataset.figure}: ${e.textContent} in ${style.fill} on ${ground}`);
            }
        }
        return [texts, wrong, document.querySelectorAll("article svg.figure").length];"""
        seen = 0
        for page in ["00_mathematics", "02_tensors", "07_classification", "09_attention", "11_masks", "14_gpt", "20_gpt2",
                     "architecture"]:
            for dark in [False, True]:
                self.browser.open(self.site / f"{page}.html", dark=dark, **DESKTOP)
                texts, wrong, figures = self.browser.run(look)
                self.assertEqual(wrong, [], (page, dark))
                self.assertGreater(figures, 0)
                seen += texts
        self.assertGreater(seen, 800)
        # The reader's own choice counts, not only the system's.
        self.browser.open(self.site / "14_gpt.html", **DESKTOP)
        ink = "return getComputedStyle(document.querySelector('svg.figure text')).fill"
        before = self.browser.run(ink)
        try:
            self.browser.click(".theme-toggle-content .theme-toggle")
            self.assertNotEqual(self.browser.run(ink), before)
        finally:
            self.browser.run("localStorage.clear()")

    def test_formulas_in_headings_and_figures(self):
        self.browser.open(self.site / "09_attention.html", **DESKTOP)
        self.assertEqual(self.browser.run("return document.querySelectorAll('h3 .math .katex-html').length"), 1)
        self.assertEqual(self.browser.run("return document.querySelectorAll('.toc-tree .math .katex-html').length"), 1)
        texts = self.browser.texts("article svg.figure text")
        self.assertEqual([text for text in texts if "d_" in text], [])
        self.assertTrue(any("√dk" in text for text in texts))

    def test_listings_can_be_copied(self):
        self.browser.open(self.site / "09_attention.html", **DESKTOP)
        self.browser.run("window.copied = []; navigator.clipboard.writeText = async (text) => { copied.push(text); };")
        self.browser.click("div.highlight-cpp button.copy")
        listing = self.browser.text("div.highlight-cpp pre")
        self.assertEqual(self.browser.run("return copied"), [listing])
        self.assertEqual(self.browser.text("div.highlight-cpp button.copy"), "Copied")
        self.browser.run("navigator.clipboard.writeText = async () => { throw new Error('not allowed'); };")
        self.browser.click("div.highlight-cpp button.copy")
        self.browser.wait("return document.querySelector('div.highlight-cpp button.copy').textContent === 'Selected'")
        self.assertEqual(self.browser.run("return getSelection().toString().trim()"), listing.strip())
        self.browser.open(self.site / "source/examples/first_steps.cpp.html", **DESKTOP)  # without the numbers of lines
        self.browser.run("navigator.clipboard.writeText = async (text) => { window.copied = text; };")
        self.browser.click("button.copy")
        self.assertEqual(self.browser.run("return copied").strip(), (ROOT / "examples/first_steps.cpp").read_text().strip())

    def test_listings_link_the_file_where_they_stand(self):
        """Each at the line where it begins; every listing of a chapter has a link."""
        for page in ["04_backward", "17_inside", "from_scratch/step_05_tensor", "api/core/reductions"]:
            self.browser.open(self.site / f"{page}.html", **DESKTOP)
            found = self.browser.run("""return [...document.querySelectorAll("div.highlight-cpp")].map((block) => [
                block.querySelector("pre").textContent, block.nextElementSibling?.matches(".listing-source")
                    ? block.nextElementSibling.querySelector("a").href : ""]);""")
            self.assertGreater(len(found), 5)
            for text, link in found:
                if page.startswith("api") and text.startswith("#include"):
                    continue
                self.assertTrue(link, (page, text))
                self.assertIsNone(self.fault_of(link))
                path, line = link.split("/build/site/source/")[1].split(".html#L")
                there = (ROOT / path).read_text(encoding="utf-8").splitlines()[int(line) - 1].strip()
                lines = [each.strip() for each in text.splitlines() if each.strip()]
                if path == "examples/dictionary.cpp":
                    self.assertIn(lines[-1].split(";  //")[0], there)
                else:
                    self.assertEqual(lines[0].removeprefix("//").strip(), there.removeprefix("//").strip())

    def test_the_front_page_shows_what_there_is(self):
        self.browser.open(self.site / "index.html", **DESKTOP)
        code, printed = self.browser.texts(".show pre")
        self.assertIn("CausalMultiHeadAttention attention(64, 4, rng);", code)
        self.assertIn("every one of 2 parameters has a gradient", printed)
        self.assertEqual(self.browser.attribute(".show svg.figure", "data-figure"), "10_roles")
        if (ROOT / "build/release/examples/train_gpt").exists():
            self.assertEqual(self.browser.attribute(".show .live-report", "href"), "report.html")
            self.browser.open(self.site / "report.html", **DESKTOP)
            self.assertTrue(self.browser.text("h1").strip())
            self.assertEqual(self.browser.errors(), [])

    def test_a_phone_shows_the_dictionary_row_by_row(self):
        self.browser.open(self.site / "dictionary.html", **PHONE)
        cells = self.browser.run("""return [...document.querySelectorAll("table.stacked td")].filter((cell) => cell.offsetParent)
            .map((cell) => [getComputedStyle(cell).display, cell.getBoundingClientRect().width, cell.dataset.label,
                            getComputedStyle(cell, "::before").content]);""")
        self.assertGreater(len(cells), 500)
        self.assertEqual({display for display, *_ in cells}, {"block"})
        self.assertGreater(min(width for _, width, *_ in cells), 250)
        self.assertTrue(all(shown in ["none", f'"{label}"', f'attr(data-label)'] for _, _, label, shown in cells))
        self.assertIn("NumPy", {label for _, _, label, _ in cells})
        self.browser.open(self.site / "dictionary.html", **DESKTOP)
        self.assertEqual(self.browser.run("return getComputedStyle(document.querySelector('table.stacked td')).display"), "table-cell")

    def test_what_is_wider_than_the_screen_says_so(self):
        self.browser.open(self.site / "14_gpt.html", **PHONE)
        hints = "return [...document.querySelectorAll('.scroll-hint')].filter((hint) => hint.offsetParent).length"
        self.assertGreater(self.browser.run(hints), 0)
        box = "document.querySelector('.figure-box[role=region]')"
        self.assertEqual(self.browser.run(f"return [{box}.tabIndex, {box}.classList.contains('more-to-the-right')]"), [0, True])
        self.browser.run(f"{box}.scrollLeft = 10000")
        self.browser.wait(f"return !{box}.classList.contains('more-to-the-right')")
        self.browser.open(self.site / "14_gpt.html", **DESKTOP)
        self.assertEqual(self.browser.run(hints), 0)

    def test_a_class_or_function_without_an_example_is_noticed(self):
        """The build fails for what `without_example` returns."""
        found = names.Names(entities.read(ROOT / "build/docs/doxygen"))
        header = "weft/nn/layers.h"
        self.assertEqual(reference.Page(found, None, header).without_example(), [])
        gated = next(entity for entity in found.headers[header] if entity.short == "GatedMLP")
        gated.text = gated.text.split("\n\n")[0]
        page = reference.Page(found, None, header)
        self.assertEqual([entity.short for entity in page.without_example()], ["GatedMLP"])

    def test_the_keyboard_shows_where_it_is(self):
        for size in [DESKTOP, PHONE]:
            self.browser.open(self.site / "glossary.html", **size)
            stops = []
            for _ in range(40):
                self.browser.press("Tab")
                stops.append(self.browser.run(
                    "const e = document.activeElement, s = getComputedStyle(e);"
                    "return [e.getAttribute('aria-label') || e.innerText || e.getAttribute('href') || '', s.outlineStyle,"
                    "parseFloat(s.outlineWidth), e.className, e.tagName]"))
            for name, style, width, kind, tag in stops:
                self.assertTrue(name.strip(), (kind, tag))
                self.assertEqual((style, width >= 2), ("solid", True), (name, kind, tag))
            self.assertGreater(len({name for name, *_ in stops}), 20)

    def test_pictures(self):
        if self.pictures is None:
            self.skipTest("no --pictures")
        for name in ["index", "search", "dictionary", "04_backward", "09_attention", "glossary", "readme",
                     "api/index", "api/core/reductions", "api/lm/gpt"]:
            for size in [DESKTOP, PHONE]:
                for dark in [False, True]:
                    self.browser.open(self.site / f"{name}.html", dark=dark, **size)
                    label = f"site-{name.replace('/', '-')}-{size['width']}-{'dark' if dark else 'light'}.png"
                    self.browser.photograph(self.pictures / label)
