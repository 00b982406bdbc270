"""The widgets of chapters 2, 3 and 4, and what holds for every widget: without scripts, or if one throws, its figure stays."""
import contextlib
import re

from widget_case import FOLDER, PHONE, SITE, WidgetCase

WIDGETS = sorted(path.stem for path in FOLDER.glob("[0-9]*.js"))


def pages():
    """Each widget's page."""
    found = {}
    for path in sorted(SITE.glob("*.html")):
        for name in re.findall(r'data-widget="(\w+)" hidden', path.read_text(encoding="utf-8")):
            found[name] = path
    return found


class WidgetsTest(WidgetCase):
    """All of them."""

    @contextlib.contextmanager
    def page_with(self, path, change):
        """A copy of the page, changed."""
        copy = path.with_name("changed_" + path.name)
        copy.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
        try:
            yield copy
        finally:
            copy.unlink()

    def figures(self):
        """(the widget's place is shown, its figure is displayed, it is in a closed box) of each widget on the page."""
        return {name: tuple(rest) for name, *rest in self.browser.run("""
            return [...document.querySelectorAll("[data-widget]")].map((w) => {
                const next = w.nextElementSibling, image = next.querySelector("img, svg");
                return [w.dataset.widget, !w.hidden && w.childNodes.length > 0, image.checkVisibility(), next.matches("details")];
            })""")}

    def test_every_widget_is_mounted_and_puts_its_figure_away(self):
        found = pages()
        self.assertEqual(sorted(found), WIDGETS)
        for path in sorted(set(found.values())):
            self.browser.open(path)
            for name, state in self.figures().items():
                self.assertEqual(state, (True, False, True), name)
                self.browser.run("""document.querySelector(`[data-widget="${arguments[0]}"] + details`).open = true""", name)
                self.assertTrue(self.figures()[name][1], name)

    def test_without_scripts_the_figure_is_there(self):
        command = self.browser.driver.execute_cdp_cmd
        for path in sorted(set(pages().values())):
            command("Emulation.setScriptExecutionDisabled", {"value": True})
            try:
                self.browser.driver.get(path.as_uri())
            finally:
                command("Emulation.setScriptExecutionDisabled", {"value": False})
            for name, state in self.figures().items():
                self.assertEqual(state, (False, True, False), name)

    def test_a_widget_that_throws_leaves_its_figure(self):
        for name, path in pages().items():
            start = f'"{name}": () => ('
            broken = lambda text: text.replace(start, f'"{name}": () => {{ throw new Error("broken") }}, "_{name}": () => (')
            with self.page_with(path, broken) as copy:
                self.browser.open(copy)
                states = self.figures()
                self.assertEqual(states.pop(name), (False, True, False), name)
                self.assertTrue(all(state == (True, False, True) for state in states.values()), states)
                errors = self.browser.errors()
                self.assertEqual(len(errors), 1)
                self.assertIn(f"the widget {name} could not start", errors[0])

    def test_everything_in_a_widget_has_a_name_and_fits_a_narrow_phone(self):
        for path in sorted(set(pages().values())):
            self.browser.open(path, **{**PHONE, "width": 320})
            self.assertEqual(self.browser.run("return document.scrollingElement.scrollWidth"), 320, path.name)
            nameless = self.browser.run("""
                return [...document.querySelectorAll(".widget :is(button, input, select, svg, [tabindex])")]
                    .filter((e) => !e.closest("[aria-hidden=true]") && !(e.getAttribute("aria-label") || e.textContent.trim() ||
                        (e.labels && e.labels.length && e.labels[0].textContent.trim()))).map((e) => e.outerHTML)""")
            self.assertEqual(nameless, [], path.name)
