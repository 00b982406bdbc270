"""The report's page as a whole: losses, gradients and tables, the network, the width, colours, the keyboard."""
import math

from case import DESKTOP, PHONE, ReportCase, number
import pages


class ReportTest(ReportCase):
    # ---- what is asked of the network, and of the reader's screen

    def test_nothing_is_asked_of_a_network(self):
        self.browser.open(self.page)
        asked = self.browser.requests()
        self.assertIn(self.page.as_uri(), asked)  # so they are seen at all
        self.assertEqual(set(asked) - {"data:,"}, {self.page.as_uri()})  # the icon is the empty one

    def test_a_phone_does_not_scroll_sideways(self):
        for width in [320, 360, 768]:
            self.browser.open(self.page, width=width, height=740)
            beyond = self.browser.run(
                "return [...document.querySelectorAll('main *')].filter(e => !e.closest('#sentences, .matrix svg') &&"
                "e.getBoundingClientRect().right > arguments[0] + 0.5).map(e => e.tagName + '.' + e.className)", width)
            self.assertEqual((self.browser.run("return document.documentElement.scrollWidth"), beyond), (width, []))

    def test_colours_follow_the_system_and_the_button(self):
        background = "return getComputedStyle(document.body).backgroundColor"
        light, dark = "rgb(251, 251, 249)", "rgb(20, 22, 26)"
        for system, expected in [(False, light), (True, dark)]:
            self.browser.open(self.page, dark=system)
            self.assertEqual(self.browser.run(background), expected)
            seen = []
            for _ in range(3):
                self.browser.click("#theme")
                seen.append((self.browser.text("#theme").split()[-1], self.browser.run(background)))
            self.assertEqual(seen, [("light", light), ("dark", dark), ("automatic", expected)])

    def test_everything_that_takes_the_keyboard_has_a_name_and_shows_where_it_is(self):
        self.browser.open(self.page)
        self.browser.press("Tab")
        seen = []
        while True:
            stop = self.browser.run(
                "const e = document.activeElement, s = getComputedStyle(e);"
                "if (e === document.body) return null;"
                "const label = e.labels && e.labels.length ? e.labels[0].innerText : '';"
                "return [(e.getAttribute('aria-label') || label || e.innerText).trim(), s.outlineStyle,"
                "parseFloat(s.outlineWidth), e.id.replace(/-[0-9]+$/, '') || e.className || e.getAttribute('role') || e.tagName]")
            if stop is None or len(seen) > 60:
                break
            self.assertTrue(stop[0], stop)
            self.assertEqual((stop[1], stop[2] >= 2), ("solid", True), stop)
            seen.append(stop[3])
            self.browser.press("Tab")
        order = ["skip", "theme", "smoothing", "logarithmic", "plot", "sentence", "checkpoint", "play", "token", "radio",
                 "matrix", "plot"]
        for name in order:  # in this order, others between them
            self.assertIn(name, seen)
            seen = seen[seen.index(name) + 1:]

    # ---- losses and gradients

    def test_losses_are_those_of_loss_csv(self):
        self.browser.open(self.page)
        self.browser.focus("#loss .plot")
        self.browser.press("Home")
        for row in self.losses:
            if not row["loss"]:
                continue
            told = self.browser.attribute("#loss .plot", "aria-valuetext")
            step, _, values = told.partition(": ")
            self.assertEqual(step, "step " + row["step"])
            values = dict(part.rsplit(" ", 1) for part in values.split(", "))
            self.assertEqual(number(values["training"]), float(f"{float(row['loss']):.6g}"))
            self.assertEqual(number(values["learning rate"]), float(f"{float(row['learning_rate']):.6g}"))
            if row["validation_loss"]:
                self.assertEqual(number(values["validation"]), float(f"{float(row['validation_loss']):.6g}"))
            self.browser.press("Right")

    def test_pointing_at_the_losses_tells_them(self):
        self.browser.open(self.page)
        box = self.browser.run("const b = document.querySelector('#loss .plot').getBoundingClientRect();"
                               "return [b.width, b.height]")
        left, right = 46, box[0] - 12  # of the axes, in loss.js
        self.browser.hover("#loss .plot", left + (right - left) * 30 / 60, 100)
        self.assertEqual(self.browser.text("#tooltip .heading"), "step 30")
        lines = self.browser.texts("#tooltip b")
        self.assertIn(f"{float(self.losses[30]['loss']):.6g}", lines)
        self.assertIn(f"{float(self.losses[30]['validation_loss']):.6g}", lines)
        self.browser.hover("h1")
        self.assertFalse(self.browser.find("#tooltip").is_displayed())

    def test_gradients_of_a_layer_are_those_of_its_parameters(self):
        self.browser.open(self.page)
        rows, norms = self.data["gradients"]["rows"], pages.floats(self.data["gradients"]["norms"])
        self.browser.focus("#gradients .plot")
        self.browser.press("Home", "Down", "Down", "Right")  # token_embedding, position_embedding, blocks.0; step 1
        expected = math.hypot(*(norms[len(rows) + r] for r, name in enumerate(rows) if name.startswith("blocks.0.")))
        told = self.browser.text("#announcer")
        self.assertTrue(told.startswith("blocks.0, step 1: "), told)
        self.assertAlmostEqual(number(told.rsplit(" ", 1)[1]), expected, delta=1e-5 * expected)
        self.browser.click("#gradients [value=parameters]")
        self.browser.focus("#gradients .plot")
        self.browser.press("Home", "Down")
        self.assertEqual(self.browser.text("#gradients-readout b"), f"{norms[1]:.6g}")

    # ---- tables

    def test_parameters_are_the_checkpoints(self):
        self.browser.open(self.page)
        rows = self.browser.run("return [...document.querySelectorAll('#parameters tbody tr')].map(r =>"
                                "[...r.children].map(c => c.textContent))")
        self.assertGreater(len(rows), 10)
        for name, shape, count, _, norm in rows:
            tensor = self.tensors[name].astype("float64")
            self.assertEqual(shape, " × ".join(map(str, tensor.shape)))
            self.assertEqual(number(count), tensor.size)
            self.assertAlmostEqual(number(norm), math.sqrt((tensor ** 2).sum()), delta=1e-4)
        self.browser.click("#parameters th.count button")
        self.assertEqual(self.browser.attribute("#parameters th.count", "aria-sort"), "descending")
        counts = [number(text) for text in self.browser.texts("#parameters tbody td:nth-child(3)")]
        self.assertEqual(counts, sorted(counts, reverse=True))

    def test_settings_and_samples_are_the_runs(self):
        self.browser.open(self.page)
        settings = dict(zip(self.browser.texts("#settings dt"), self.browser.texts("#settings dd")))
        self.assertEqual((settings["steps"], settings["d_model"], settings["lr"]), ("60", "32", "0.001"))
        samples = self.browser.run("return [...document.querySelectorAll('#samples blockquote')].map(e => e.textContent)")
        self.assertEqual(samples, ["↵" + s["text"] for s in self.data["samples"]])
        self.assertEqual(self.browser.texts("#samples figcaption"), [f"step {s}" for s in [0, 15, 30, 45, 60]])

    def test_pictures(self):
        if self.pictures is None:
            self.skipTest("no folder for them")
        for name, size in [("desktop", DESKTOP), ("phone", PHONE)]:
            for dark in [False, True]:
                self.browser.open(self.page, dark=dark, **size)
                self.browser.photograph(self.pictures / f"{name}-{'dark' if dark else 'light'}.png")

