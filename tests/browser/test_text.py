"""Pages of runs that are not as one would like them: hostile text, nothing measured, nothing finite."""
import math

from case import PHONE, ReportCase
import pages

HOSTILE = ["</script><script>window.hurt = 1</script>", "<img src=x onerror='hurt=1'>", "<!-- <script>", "\"'&lt;`${1}",
           "tab\there \x01\x1b[31m \u2028\u2029", "עברית שלום \u202eedoc", "🧵 👩‍👩‍👧 é 漢字"]


class TextTest(ReportCase):
    def test_hostile_text_is_text(self):
        text = self.folder / "<b>\"evil'.txt"
        text.write_text("\n".join(HOSTILE * 40), encoding="utf-8")
        page = self.train("hostile", text) / "report.html"
        sentences = pages.data(page)["sentences"]
        self.assertGreater(len(sentences), 3)
        for size in [{}, PHONE]:
            self.browser.open(page, **size)
            self.assertEqual(self.browser.text("#title"), text.name)
            self.assertIsNone(self.browser.run("return window.hurt ?? null"))
            self.assertEqual(self.browser.run("return document.scripts.length"), 4)
            self.assertEqual(self.browser.all("main img, main script"), [])
            for i in range(len(sentences)):
                self.browser.click("#sentence")
                self.browser.click(f"#sentence-{i}")
                shown = self.browser.run("return [...document.querySelectorAll('.token')].map(e => e.textContent)")
                self.assertEqual(shown, sentences[i]["tokens"])
            self.assertEqual(self.browser.run("return document.documentElement.scrollWidth"), size.get("width", 1280))
        everything = self.browser.run("return document.body.innerText")
        for hidden in "\x01\x1b\u2028\u2029\u202e":
            self.assertNotIn(hidden, everything)
            self.assertNotIn(hidden, "".join(sum((s["tokens"] for s in sentences), [])))

    def test_a_report_of_nothing_says_so(self):
        def nothing(data):
            for series in data["loss"].values():
                series.update(steps=[], mean="", end=-1, last=0)
            data["gradients"].update(rows=[], steps=[], norms="")
            data.update(settings=[], parameters=[], samples=[], sentences=[], title="")
        self.browser.open(self.with_data("nothing.html", nothing), **PHONE)
        for part in ["No loss was recorded.", "No attention was recorded.", "No gradient was recorded."]:
            self.assertIn(part, self.browser.text("main"))

    def test_a_report_of_attention_alone_has_that_alone(self):
        def talk(data):
            for series in data["loss"].values():
                series.update(steps=[], mean="", end=-1, last=0)
            data["gradients"].update(rows=[], steps=[], norms="")
            for sentence in data["sentences"]:
                del sentence["snapshots"][:-1]
            del data["sentences"][1:]
            data.update(settings=[], parameters=[], samples=[])
        self.browser.open(self.with_data("talk.html", talk), **PHONE)
        self.assertEqual(self.browser.texts("nav a")[:2], ["Attention", "Try the model"])
        self.assertNotIn("Gradients", self.browser.texts("nav a"))
        self.assertNotIn("Checkpoint", self.browser.run("return document.body.innerText"))
        self.assertIn("Choose a head;", self.browser.text("#attention"))

    def test_losses_that_are_not_finite_are_told(self):
        def diverge(data):
            mean = [4.0, 3.0, math.nan, math.inf, 2.5]
            data["loss"]["training"].update(steps=[0, 1, 2, 3, 4], end=4, mean=pages.packed(mean))
            data["loss"]["validation"].update(steps=[4], end=4, mean=pages.packed([math.nan]))
            data["loss"]["learning_rate"].update(steps=[0], end=0, mean=pages.packed([1e-3]))
        self.browser.open(self.with_data("diverged.html", diverge))
        self.assertIn("not finite at 2 points, first at step 2.", self.browser.text("#loss .warning:not([role])"))
        self.browser.focus("#loss .plot")
        self.browser.press("Home", "Right", "Right")
        self.assertIn("training NaN", self.browser.attribute("#loss .plot", "aria-valuetext"))
        self.browser.press("Right")
        self.assertIn("training ∞", self.browser.attribute("#loss .plot", "aria-valuetext"))
        self.browser.click("#logarithmic")
        path = self.browser.attribute("#loss .line.training", "d")
        self.assertEqual((path.count("M"), "NaN" in path), (2, False))  # a gap between two parts

    def test_one_token_one_checkpoint_one_step(self):
        def least(data):
            data["sentences"] = [{"text": "a", "tokens": ["a"], "bytes": ["YQ=="], "heads": [1],
                                  "snapshots": [{"step": 0, "causal": True, "weights": "/w=="}]}]
            for series in data["loss"].values():
                series.update(steps=[0], end=0, last=1, mean=pages.packed([0.0]))
            rows = len(data["gradients"]["rows"])
            data["gradients"].update(steps=[0], end=0, last=1, norms=data["gradients"]["norms"][:rows * 16 // 3 // 4 * 4])
        self.browser.open(self.with_data("least.html", least), **PHONE)
        self.assertEqual(self.browser.texts("#looks-at b"), ["100.0\u202f%"])
        self.assertFalse(self.browser.find("#play").is_enabled())
        self.assertEqual(self.browser.run("return document.documentElement.scrollWidth"), 360)

    def test_long_tokens_and_attention_both_ways(self):
        def encoder(data):
            tokens = ["a" * 60, "Donaudampfschifffahrtsgesellschaft", "b"]
            weights = bytes([255, 0, 0, 128, 128, 180, 0, 0, 255] * 30)
            data["sentences"] = [{"text": "".join(tokens), "tokens": tokens, "bytes": [], "heads": [14, 16],
                                  "snapshots": [{"step": s, "causal": False, "weights": pages.base64.b64encode(weights).decode()}
                                                for s in [0, 5]]}]
        self.browser.open(self.with_data("encoder.html", encoder), **PHONE)
        self.assertEqual(self.browser.run("return document.documentElement.scrollWidth"), 360)
        self.browser.tap("#token-1")
        shares = self.browser.texts("#looks-at b")
        self.assertEqual(shares, ["49.8\u202f%", "25.2\u202f%", "25.2\u202f%"])
        self.assertEqual(self.browser.texts("#looked-at b"), ["25.2\u202f%"])
