"""The site that `make docs` builds: every page of it, at a desk's width and at a phone's."""
import functools
import html.parser
import http.server
import pathlib
import threading
import unittest
import urllib.parse

from browser import Browser

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
    pictureCount: all("article img").length,
    signs: all("use").filter((u) => !document.querySelector(u.getAttribute("href"))).map((u) => u.outerHTML),
    nameless: all("article img:not([alt])").map((i) => i.src),
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


class Names(html.parser.HTMLParser):
    """The anchors of a page."""

    def __init__(self, path):
        super().__init__()
        self.found = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        self.found.update(value for name, value in attributes if name == "id" or (tag == "a" and name == "name"))


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


class SiteTest(unittest.TestCase):
    """Pages are opened as files, as a reader does who has built the site; the search also from a server."""
    browser = site = pictures = None

    @classmethod
    def begin(cls, browser, site, pictures):
        cls.browser, cls.site, cls.pictures = browser or Browser(), site, pictures

    @classmethod
    @functools.cache
    def names(cls, path):
        return Names(path).found

    def resize(self, width, height):
        self.browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
        self.browser.settle()

    def fault_of(self, link):
        """What is wrong with a link to a page of the site, or None."""
        parts = urllib.parse.urlsplit(link)
        path = pathlib.Path(urllib.parse.unquote(parts.path))
        if not path.is_file() or self.site not in path.parents:
            return f"{link}: no such page"
        anchor = urllib.parse.unquote(parts.fragment)
        if anchor and path.suffix == ".html" and anchor not in self.names(path):
            return f"{link}: no such anchor"
        return None

    def test_every_page(self):
        pages = sorted(self.site.rglob("*.html"))
        reached, outside, faults = {self.site / "index.html", self.site / "search.html"}, set(), []
        links = pictures = formulas = 0
        for page in pages:
            here = page.relative_to(self.site)
            self.browser.open(page, **DESKTOP)
            seen = self.browser.run(LOOK)
            wrong = self.browser.errors()
            wrong += [f"asked for {address}" for address in self.browser.requests()
                      if not address.startswith((self.site.as_uri() + "/", "data:"))]
            for link in sorted(set(seen["links"])):
                if link.startswith("file:"):
                    wrong += filter(None, [self.fault_of(link)])
                    reached.add(pathlib.Path(urllib.parse.unquote(urllib.parse.urlsplit(link).path)))
                else:
                    outside.add(link)
            for what in ["pictures", "signs", "nameless", "unfinished", "raw"]:
                wrong += [f"{what}: {item}" for item in seen[what]]
            if seen["headings"] != 1 or not seen["title"]:
                wrong.append(f"{seen['headings']} headings of the first rank, title {seen['title']!r}")
            for size in [DESKTOP, PHONE]:
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
        print(f"\n{len(pages)} pages visited at two widths: {links} links, {pictures} pictures, {formulas} formulas; "
              f"{len(outside)} addresses outside, not visited:", *sorted(outside), sep="\n    ", flush=True)
        self.assertEqual(faults, [], "\n" + "\n".join(faults))
        self.assertGreater(len(pages), 40)
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

    def search(self, address, word):
        self.browser.open(address, **DESKTOP)
        self.browser.focus(".sidebar-search")
        self.browser.press(*word, "Enter")
        summary = "document.querySelector('#search-results p.search-summary')"
        self.browser.wait(f"return {summary} && /[0-9]+ page/.test({summary}.textContent)")
        self.assertEqual(self.browser.run("return document.querySelector('#search-again').value"), word)
        found = self.browser.run("return [...document.querySelectorAll('#search-results ul.search > li')]"
                                 ".map(item => [item.querySelector('a').href, item.textContent])")
        self.assertEqual(self.browser.errors(), [])
        return found

    def test_the_search_finds_a_word(self):
        for word, page in [("softmax", "api/core/ops.html"), ("residual", "glossary.html"),
                           ("GradientLedger", "api/core/ledger.html")]:
            found = self.search(self.site / "index.html", word)
            addresses = [address.split("?")[0].split("#")[0] for address, _ in found]
            self.assertIn((self.site / page).as_uri(), addresses, word)

    def test_the_search_tells_more_from_a_server(self):
        handler = functools.partial(QuietHandler, directory=self.site)
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            found = self.search(f"http://127.0.0.1:{server.server_port}/index.html", "residual")
            self.browser.wait("return document.querySelector('#search-results p.context')")
            server.shutdown()
        self.assertTrue(found)

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
        for name in ["index", "04_backward", "08_attention", "glossary", "readme", "api/index", "api/core/ops", "api/models/gpt"]:
            for size in [DESKTOP, PHONE]:
                for dark in [False, True]:
                    self.browser.open(self.site / f"{name}.html", dark=dark, **size)
                    label = f"site-{name.replace('/', '-')}-{size['width']}-{'dark' if dark else 'light'}.png"
                    self.browser.photograph(self.pictures / label)
