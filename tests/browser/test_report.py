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
        order = ["skip", "theme", "smoothing", "logarithmic", "loss-from", "zoom-in", "compare", "csv", "plot", "sentence", "checkpoint", "play", "token", "radio",
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
            told = self.browser.attribute("#loss .plot", "aria-valuetext")
            step, _, values = told.partition(": ")
            self.assertEqual(step, "step " + row["step"])
            values = dict(part.rsplit(" ", 1) for part in values.split(", "))
            if row["loss"]:
                self.assertEqual(number(values["training"]), float(f"{float(row['loss']):.6g}"))
            self.assertEqual(number(values["learning rate"]), float(f"{float(row['learning_rate']):.6g}"))
            if row["validation_loss"]:
                self.assertEqual(number(values["validation"]), float(f"{float(row['validation_loss']):.6g}"))
                self.assertEqual(number(values["perplexity"]), float(f"{math.exp(float(row['validation_loss'])):.6g}"))
            self.browser.press("Right")
        self.assertEqual(self.losses[-1]["step"], "60")  # where only the validation loss is known
        self.assertIn("step 60: training (step 59) ", self.browser.attribute("#loss .plot", "aria-valuetext"))

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

    def points(self, selector):
        """The pixels of a path."""
        numbers = self.browser.attribute(selector, "d").replace("M", " ").replace("L", " ").split()
        return list(zip(map(float, numbers[::2]), map(float, numbers[1::2])))

    def labels(self):
        """The numbers on the axis of losses, from below."""
        return [number(text) for text in self.browser.run(
            "return [...document.querySelectorAll('#loss svg > .axis')[1].querySelectorAll('text')].map(e => e.textContent)")]

    def test_dragging_and_keys_zoom(self):
        self.browser.open(self.page)
        width = self.browser.run("return document.querySelector('#loss .plot').clientWidth")
        at = lambda step, first=0, last=60: 46 + (width - 12 - 46) * (step - first) / (last - first)
        def seen():  # the steps at both ends
            found = []
            for x in [at(0), at(60)]:
                self.browser.hover("#loss .plot", x, 100)
                found.append(self.browser.text("#tooltip .heading"))
            return found
        everything = ["step 0", "step 60"]
        self.assertEqual(seen(), everything)
        self.browser.drag("#loss .plot", at(45), at(15))  # backwards is the same
        self.assertEqual((seen(), self.browser.text("#announcer")), (["step 15", "step 45"], "Steps 15 – 45"))
        losses = [float(row["loss"]) for row in self.losses[15:46]]
        self.assertTrue(all(min(losses) - 0.3 < label < max(losses) + 0.3 for label in self.labels()), self.labels())
        self.browser.double_click("#loss .plot")
        self.assertEqual(seen(), everything)
        self.browser.drag("#loss .plot", at(20), at(20) + 3)  # a click
        self.assertEqual(seen(), everything)
        self.browser.focus("#loss .plot")
        self.browser.press("Home", *["Right"] * 10, "+")
        self.assertEqual(self.browser.text("#announcer"), "Steps 5 – 35")
        self.browser.press(*["Right"] * 26)  # the view follows
        self.assertTrue(self.browser.attribute("#loss .plot", "aria-valuetext").startswith("step 36"))
        self.assertEqual(self.browser.text("#announcer"), "Steps 21 – 51")
        self.browser.press("-")
        self.assertEqual(seen(), everything)
        for key in ["0", "Escape"]:
            self.browser.click("#zoom-in")
            self.assertNotEqual(seen(), everything)
            self.browser.focus("#loss .plot")
            self.browser.press(key)
            self.assertEqual(seen(), everything)

    def test_the_axis_of_losses_takes_limits(self):
        self.browser.open(self.page)
        automatic = self.labels()
        self.browser.focus("#loss-from")
        self.browser.press("2.5", "Tab", "3")
        self.assertEqual((self.labels()[0], self.labels()[-1]), (2.5, 3))
        self.browser.focus("#loss-from")
        self.browser.run("document.getElementById('loss-from').select()")
        self.browser.press("9")
        self.assertIn("The lower limit is not below the upper one", self.browser.text("#limits-message"))
        self.assertEqual(self.labels(), automatic)
        self.browser.click("#zoom-reset")
        self.assertEqual((self.browser.text("#limits-message"), self.labels()), ("", automatic))
        self.browser.focus("#loss-from")
        self.browser.press("0")
        self.browser.click("#logarithmic")
        self.assertIn("A logarithmic axis has no limit of 0 or below", self.browser.text("#limits-message"))

    def test_a_logarithmic_axis_has_labels(self):
        for low, high in [(1.43, 4.93), (2.31, 2.62), (0.9, 12), (1e-6, 5)]:
            def change(data):
                data["loss"]["training"].update(steps=[0, 1], end=1, last=1, mean=pages.packed([high, low]))
                data["loss"]["validation"].update(steps=[], end=-1, last=0, mean="")
            self.browser.open(self.with_data("log.html", change))
            self.browser.click("#logarithmic")
            labels = self.labels()
            self.assertGreaterEqual(len(labels), 3, labels)
            self.assertTrue(all(low * 0.99 <= label <= high * 1.01 for label in labels), labels)

    def test_a_smoothed_curve_begins_at_the_first_loss(self):
        self.browser.open(self.page)
        self.browser.focus("#smoothing")
        self.browser.press("End")
        raw, soft = self.points("#loss .line.raw"), self.points("#loss .line.training:not(.raw)")
        self.assertEqual((raw[0], len(raw)), (soft[0], len(soft)))
        change = lambda points: sum(abs(a[1] - b[1]) for a, b in zip(points[30:], points[31:]))
        self.assertLess(change(soft), 0.3 * change(raw))
        self.browser.press("Home")
        self.assertEqual(self.points("#loss .line.training:not(.raw)"), self.points("#loss .line.raw"))

    def test_the_learning_rate_is_named_above_its_curve(self):
        for width in [360, 1280]:
            self.browser.open(self.page, width=width)
            text, curve = self.browser.run("return ['.name', '.line.rate'].map(s =>"
                                           "document.querySelector('#loss svg ' + s).getBoundingClientRect()).map(b => b.toJSON())")
            self.assertLessEqual(text["bottom"], curve["top"])

    def test_gradients_of_a_layer_are_those_of_its_parameters(self):
        self.browser.open(self.page)
        rows, norms = self.data["gradients"]["rows"], pages.floats(self.data["gradients"]["norms"])
        self.browser.focus("#gradients .plot")
        self.browser.press("Home", "Down", "Down", "Down", "Right")  # all, token_embedding, position_embedding, blocks.0; step 1
        expected = math.hypot(*(norms[len(rows) + r] for r, name in enumerate(rows) if name.startswith("blocks.0.")))
        told = self.browser.text("#announcer")
        self.assertTrue(told.startswith("blocks.0, step 1: "), told)
        self.assertAlmostEqual(number(told.rsplit(" ", 1)[1]), expected, delta=1e-5 * expected)
        self.browser.press("Up", "Up", "Up")
        told = self.browser.text("#announcer")
        self.assertTrue(told.startswith("all parameters, step 1: "), told)
        self.assertAlmostEqual(number(told.rsplit(" ", 1)[1]), math.hypot(*norms[len(rows):2 * len(rows)]), delta=1e-4)
        self.browser.click("#gradients [value=parameters]")
        self.browser.focus("#gradients .plot")
        self.browser.press("Home", "Down", "Down")
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

