"""The model that a report carries: the page computes what Weft computes with the same weights, and bad input is told."""
import copy
import json
import pathlib
import statistics
import subprocess

import numpy as np

from case import DESKTOP, HEADS, LAYERS, PHONE, ReportCase, number
import checkpoint
import pages

MODEL_JS = pathlib.Path(__file__).resolve().parents[2] / "src/report/page/model.js"
TAG = '<script type="application/json" id="model">'
TEXTS = ["The quiet weaver counts seven knots.\n"[:32], "A", "aa", "One tired loom", "  \n\n  ", "Every thread remembers its own c",
         "No shuttle follows the red", "knots.\nThe patient loom crosses", "sss...TTT", "mornings mornings mornings morni"]


class ModelTest(ReportCase):
    # ---- helpers

    def weft(self, page, texts):
        """What Weft computes of each text with the weights of a page."""
        return json.loads(subprocess.run([self.build / "tests/page_model", page], input=json.dumps(texts), text=True, check=True,
                                         stdout=subprocess.PIPE).stdout)

    def computed(self, texts, expression):
        """What model.js computes of each text with the weights of the page that is open."""
        return self.browser.run(MODEL_JS.read_text(encoding="utf-8") + f"""
            const model = readModel(document.getElementById("model").textContent), B = reachOf(model);
            return arguments[0].map((text) => {{
              const {{ ids }} = readText(model, text, B), T = ids.length, V = model.config.vocab_size;
              {expression}
            }});""", texts)

    def agree(self, page, texts):
        self.browser.open(page)
        found = self.computed(texts, """
            const pass = forward(model, emptyPass(model), ids), heads = model.config.num_heads;
            const row = (array, width, t, n) => Array.from(array.subarray(t * width, t * width + n));
            const square = (head) => ids.map((_, q) => row(pass.attention[head], B, q, T));
            return { ids, losses: lossesOf(model, pass), log_probabilities: ids.map((_, t) => row(pass.logProbabilities, V, t, V)),
              attention: Array.from({ length: model.config.num_layers }, (_, l) =>
                Array.from({ length: heads }, (_, h) => square(l * heads + h))) };""")
        worst = 0
        for text, page_says, weft_says in zip(texts, found, self.weft(page, texts)):
            self.assertEqual(page_says["ids"], weft_says["ids"], text)
            for what in ["log_probabilities", "attention", "losses"]:
                ours, theirs = np.array(weft_says[what]), np.array(page_says[what])
                self.assertEqual(ours.shape, theirs.shape)
                np.testing.assert_allclose(theirs, ours, atol=1e-4, rtol=0, err_msg=f"{what} of {text!r}")
                worst = max(worst, np.abs(ours - theirs).max(initial=0))
        print(f"largest difference {worst:.1e}", end=" ", flush=True)

    def type(self, text):
        """Replaces the text, as pasting does."""
        self.browser.run("const area = document.getElementById('try-text'); area.value = arguments[0];"
                         "area.dispatchEvent(new Event('input'))", text)
        self.browser.settle()

    def generate(self):
        self.browser.click("#try-go")
        self.browser.wait("return /^(Wrote|Stopped)/.test(document.getElementById('try-wrote').textContent)", 60)
        return self.browser.text("#try-out span:last-child")

    def changed(self, name, change):
        """The page with other weights: `change` gets their JSON and changes it, or returns a text to replace it."""
        page = self.page.read_text(encoding="utf-8")
        start = page.index(TAG) + len(TAG)
        end = page.index("</script>", start)
        model = json.loads(page[start:end])
        text = change(model)
        to = self.folder / name
        text = json.dumps(model) if text is None else text
        to.write_text(page[:start] + text.replace("<", "\\u003c") + page[end:], encoding="utf-8")
        return to

    # ---- the numbers are Weft's

    def test_ten_texts_agree_with_weft(self):
        self.agree(self.page, TEXTS)

    def test_a_model_of_other_sizes_with_biases_agrees_with_weft(self):
        page = self.folder / "made.html"
        subprocess.run([self.build / "tests/page_model", "--make", page], check=True)
        self.agree(page, ["abc <&> h", "🧵 漢 é\tλ\n", "h" * 24, "a", "fade & cafe\n" * 2])

    def test_decoders_of_drawn_options_agree_with_weft(self):
        for number in range(20):
            with self.subTest(number):
                page = self.folder / "made.html"
                subprocess.run([self.build / "tests/page_model", "--make", page, str(number)], check=True)
                self.agree(page, ["abc <&> h", "h" * 24, "fade & cafe\n" * 2])

    def test_the_page_shows_what_weft_computes(self):
        self.browser.open(self.page, **DESKTOP)
        text = TEXTS[3]
        self.type(text)
        [weft] = self.weft(self.page, [text])
        self.assertAlmostEqual(number(self.browser.text("#try-loss b")), np.mean(weft["losses"]), delta=1.1e-4)
        for place in [1, 5, len(text) - 1]:
            self.browser.hover(f"#try-token-{place}")
            loss, probability = self.browser.texts("#tooltip b")
            self.assertAlmostEqual(number(loss), weft["losses"][place - 1], delta=1.1e-4)
            self.assertAlmostEqual(number(probability), np.exp(-weft["losses"][place - 1]), delta=6e-4)
            shade = self.browser.run("return Number(arguments[0].style.getPropertyValue('--loss'))",
                                     self.browser.find(f"#try-token-{place}"))
            self.assertAlmostEqual(shade, min(1, weft["losses"][place - 1] / 6), delta=1e-4)
        self.browser.focus("#try-token-13")
        self.browser.press("Left", "Left")
        self.assertEqual(self.browser.run("return document.activeElement.id"), "try-token-11")
        self.assertEqual(self.browser.text("#tooltip b"), f"{weft['losses'][10]:.4f}")
        self.assertEqual(self.browser.text("#try .after h3"), "After ‘o’ 12")
        shares = [number(share) for share in self.browser.texts("#try-next b")]
        row = np.exp(weft["log_probabilities"][11])
        np.testing.assert_allclose(shares[:9], sorted(row, reverse=True)[:9], atol=6e-4)
        letters = self.browser.texts("#try-next .name")
        vocabulary = self.metadata["vocabulary"]
        self.assertEqual(letters[0], {"\n": "↵", " ": "␣"}.get(vocabulary[row.argmax()], vocabulary[row.argmax()]))
        self.assertEqual(self.browser.texts("#try-next .followed .name"), ["o"])  # of "loom"
        self.browser.click("[data-try-head='3'] button")
        self.assertEqual(self.browser.text("#try .large h3"), "Layer 2, head 2")
        self.browser.focus("#try .matrix")
        self.browser.press("Home", "Right", "Right")
        self.assertEqual(self.browser.text("#try-readout span"), f"‘o’ 12 → ‘e’ 3 {round(weft['attention'][1][1][11][2], 4)}")

    # ---- heads

    def test_heads_that_are_off_change_the_loss(self):
        self.browser.open(self.page, **DESKTOP)
        self.type(TEXTS[0])
        before = self.browser.text("#try-switched b")
        self.browser.click("[data-try-head='1'] input")
        self.browser.focus("[data-try-head='2'] input")
        self.browser.press("Space")
        loss, all_on, difference = (number(text.lstrip("+")) for text in self.browser.texts("#try-switched b"))
        self.assertEqual(all_on, number(before))
        self.assertNotEqual(loss, all_on)
        self.assertAlmostEqual(difference, loss - all_on, delta=6e-4)
        self.assertAlmostEqual(loss, np.mean(self.without(TEXTS[0], {1, 2})), delta=1.1e-4)
        self.browser.click("#try-on")
        self.assertEqual(self.browser.texts("#try-switched b"), [before])
        self.browser.click("#try-measure")
        self.browser.wait("return document.getElementById('announcer').textContent === 'Measured every head.'")
        for head in range(LAYERS * HEADS):
            told = number(self.browser.text(f"[data-try-head='{head}'] small").lstrip("+"))
            self.assertAlmostEqual(told, np.mean(self.without(TEXTS[0], {head})) - number(before), delta=7e-4)

    def without(self, text, off):
        """The losses of a text computed with NumPy, where the heads `off` add nothing."""
        tensors = {name: value.copy() for name, value in self.tensors.items()}
        width = tensors["token_embedding.weight"].shape[1] // HEADS
        for head in off:  # no column of W_out reads what the head returns
            layer, h = divmod(head, HEADS)
            tensors[f"blocks.{layer}.attn.W_out.weight"][:, h * width:(h + 1) * width] = 0
        ids = [self.metadata["vocabulary"].index(letter) for letter in text]
        return checkpoint.losses(tensors, LAYERS, HEADS, ids)

    def test_what_was_typed_and_switched_stays_when_the_page_is_loaded_again(self):
        self.browser.open(self.page)
        self.type("The red loom")
        self.browser.click("[data-try-head='1'] input")
        self.browser.focus("#try-text")
        before = self.browser.texts("#try-switched b")
        self.browser.driver.refresh()
        self.browser.settle()
        self.browser.settle()
        self.assertEqual(self.browser.run("return document.getElementById('try-text').value"), "The red loom")
        self.assertEqual(self.browser.texts("#try-switched b"), before)
        self.assertEqual(len(before), 3)
        self.assertEqual(self.browser.run("return document.activeElement.id"), "try-text")
        self.browser.click("#try-reset")
        self.assertNotEqual(self.browser.run("return document.getElementById('try-text').value"), "The red loom")
        self.assertEqual(len(self.browser.texts("#try-switched b")), 1)

    # ---- writing

    def test_the_same_seed_and_settings_write_the_same(self):
        self.browser.open(self.page, **DESKTOP)
        self.type("The quiet ")
        first = self.generate()
        self.assertEqual(len(first), 200)  # beyond block_size
        self.assertEqual(self.generate(), first)
        self.browser.run("document.getElementById('try-seed').value = 2")
        second = self.generate()
        self.assertNotEqual(second, first)
        self.browser.run("document.getElementById('try-seed').value = 1")
        self.browser.run("document.getElementById('try-temperature').value = 2")
        self.assertNotEqual(self.generate(), first)
        self.browser.focus("#try-temperature")
        self.browser.press("Home")
        self.assertEqual(self.browser.text("#try output"), "0.00")
        greedy = self.generate()
        [weft] = self.weft(self.page, [("The quiet " + greedy)[:32]])
        best = [self.metadata["vocabulary"][np.argmax(row)] for row in weft["log_probabilities"][9:31]]
        self.assertEqual("".join(best), greedy[:22])
        self.browser.click("#try-reset")
        self.assertEqual(self.browser.text("#try output"), "0.80")
        self.type("The quiet ")
        self.assertEqual(self.generate(), first)

    def test_writing_can_be_stopped_and_does_not_block(self):
        self.browser.open(self.page, **DESKTOP)
        self.browser.run("document.getElementById('try-length').value = 2000")
        self.browser.click("#try-go")
        self.browser.wait("return document.querySelector('#try-out span:last-child').textContent.length > 20")
        self.browser.click("#try-go")
        told = self.browser.text("#try-wrote")
        self.assertTrue(told.startswith("Stopped after "), told)
        written = self.browser.text("#try-out span:last-child")
        self.assertEqual(told, f"Stopped after {len(written)} characters.")
        self.browser.settle()
        self.assertEqual(self.browser.text("#try-out span:last-child"), written)

    def test_the_beginning_of_a_long_text_is_left_out_in_halves(self):
        self.browser.open(self.page)
        for most in [1, 2, 5, 32]:
            half = most - most // 2
            ends = self.browser.run(MODEL_JS.read_text(encoding="utf-8") + """
                const [most] = arguments, model = { ids: new Map([..."abc"].map((c, id) => [c, id])) };
                return Array.from({ length: 100 }, (_, n) => readText(model, "abcab".repeat(20).slice(0, n).replace(/b/g, "b🧵"), most))
                  .map(({ pieces, ids, cut }) => [ids, cut, pieces.filter((p) => !p.unknown).map((p) => p.text).join("")]);""", most)
            for n, (ids, cut, text) in enumerate(ends):
                whole, left_out = ("abcab" * 20)[:n], -(-max(0, n - most) // half) * half
                self.assertEqual([text, cut], [whole[left_out:], left_out > 0])
                self.assertEqual(ids, ["abc".index(c) for c in text])

    def test_milliseconds_of_a_keystroke(self):
        self.browser.open(self.page, **DESKTOP)
        self.print_milliseconds("The loom counts its own knots. " * 20, 40)

    def print_milliseconds(self, text, count=20):
        """From a letter after a text to what it changes on the page, with the layout; printed, because machines differ."""
        times = self.browser.driver.execute_async_script("""
            const [text, count, done] = arguments, area = document.getElementById("try-text"), times = [];
            area.value = text;
            const next = () => {
              if (times.length > count) { done(times.slice(1)); return; }
              area.value += "abcdefghijklmnopqrstuvwxyz"[times.length % 26];
              const start = performance.now();
              area.dispatchEvent(new Event("input"));
              requestAnimationFrame(() => {
                document.body.offsetHeight; // lays the page out
                times.push(performance.now() - start);
                setTimeout(next);
              });
            };
            next();""", text, count)
        print(f"median {statistics.median(times):.0f} ms, longest {max(times):.0f} ms", end="; ", flush=True)

    # ---- bad input

    def test_characters_that_the_model_does_not_know_are_named_and_left_out(self):
        self.browser.open(self.page, **PHONE)
        self.type("The é漢🧵 lo\u202eom")
        self.assertIn("‘é’ U+00E9, ‘漢’ U+6F22, ‘🧵’ U+1F9F5, ‘\\u202e’ U+202E.", self.browser.text("#try-notes"))
        self.assertEqual(self.browser.texts("#try-strip .unknown"), ["é漢🧵", "\\u202e"])
        self.assertEqual("".join(self.browser.texts("#try-strip .letter")), "The  loom")
        [weft] = self.weft(self.page, ["The  loom"])
        self.assertAlmostEqual(number(self.browser.text("#try-loss b")), np.mean(weft["losses"]), delta=1.1e-4)
        self.type("漢" * 50)
        self.assertIn("Type a character that the model knows.", self.browser.text("#try-notes"))
        self.assertFalse(self.browser.find("#try-go").is_enabled())
        self.type("")
        self.assertEqual(self.browser.text("#try-notes"), "Type a character that the model knows.")
        self.type("T")
        self.assertIn("second character", self.browser.text("#try-loss"))
        self.assertEqual(self.browser.run("return document.documentElement.scrollWidth"), 360)

    def test_a_megabyte_of_text_stays_responsive(self):
        self.browser.open(self.page, **DESKTOP)
        for text, kept, end in [("The loom. " * 100_000, 5000, 24), ("漢" * 1_000_000 + "loom", 4504, 4), ("🧵" * 500_000, 2500, 0),
                                ("x" + "🧵" * 5000, 2250, 0)]:
            self.browser.run("const data = new DataTransfer(); data.setData('text', arguments[0]); document.getElementById('try-text')"
                             ".dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, cancelable: true}))", text)
            for _ in range(2):  # pasted, then dropped
                self.browser.settle()
                self.assertEqual(self.browser.run("return document.getElementById('try-text').value"), text[-kept:])
                self.assertEqual(len(self.browser.all("#try-strip .letter")), end)
                self.assertIn("The field keeps the end of a text, at most 5\u202f000 characters", self.browser.text("#try-notes"))
                self.type(text)
            self.print_milliseconds(text, 3)
        self.type("The loom")
        self.assertEqual(self.browser.text("#try-notes"), "")

    def test_hostile_text_stays_text(self):
        self.browser.open(self.page)
        hostile = "</script><img src=x onerror='window.hurt=1'><b>bold</b>"
        self.type(hostile)
        self.generate()
        self.assertEqual(self.browser.all("#try b img, #try img, #try script"), [])
        self.type("The <U>X</U>")  # a run of characters that the model does not know
        self.assertEqual(self.browser.texts("#try-strip .unknown"), ["<U>X</U>"])
        self.assertIsNone(self.browser.run("return window.hurt ?? null"))
        vocabulary = "</script><img src=x onerror='hurt=1'>"

        def rename(model):  # the model's own characters are markup
            model["vocabulary"] = "".join(sorted(set(vocabulary))) + "".join(chr(0x4e00 + i) for i in range(200))
            model["vocabulary"] = model["vocabulary"][:model["config"]["vocab_size"]]
            model["config"]["extra"] = vocabulary
        self.browser.open(self.changed("markup.html", rename))
        self.type(vocabulary)
        self.assertEqual("".join(self.browser.texts("#try-strip bdi")), vocabulary[-21:])
        self.assertIsNone(self.browser.run("return window.hurt ?? null"))

    def test_weights_that_cannot_be_used_are_told_and_the_rest_works(self):
        def version(model):
            model["format"] = "weft model 2<b>"

        def short(model):
            model["tensors"][0]["values"] = model["tensors"][0]["values"][:1000]

        def missing(model):
            del model["tensors"][-1]

        def no_base64(model):
            model["tensors"][0]["values"] = "*" * 40

        def infinite(model):
            model["tensors"][0]["values"] = "AHwA" + model["tensors"][0]["values"][4:]

        def sizes(model):
            model["config"]["num_layers"] = 2 ** 40

        def vocabulary(model):
            model["vocabulary"] = model["vocabulary"][1:]

        cases = [(version, "another version: their format is ‘weft model 2<b>’"), (short, "has 375 of"),
                 (missing, "norm.weight is missing"),
                 (no_base64, "embed_tokens.weight is not base64"), (infinite, "not finite: the training diverged"),
                 (sizes, "tensors are missing"), (vocabulary, "the vocabulary does not fit"),
                 (lambda model: "", "they end too early"), (lambda model: '{"format":', "they end too early"),
                 (lambda model: "null", "another version"), (lambda model: '{"format":"weft model 2"}', "vocab_size is undefined")]
        for change, message in cases:
            self.browser.open(self.changed("wrong.html", change))
            with self.subTest(message):
                self.assertIn(message, self.browser.text("#try .warning"))
                self.assert_rest_works()

    def assert_rest_works(self):
        self.assertTrue(self.browser.find("#undrawn").get_attribute("hidden"))
        self.browser.hover("#token-7")
        self.assertGreater(len(self.browser.all("#looks-at li")), 0)
        self.assertEqual(len(self.browser.all("#settings, #parameters")), 2)

    def test_a_page_that_is_cut_short_says_so(self):
        page = self.page.read_text(encoding="utf-8")
        weights = page.index(TAG)
        for end, message in [(weights + 9000, "they end too early"), (weights - 1, "they end too early")]:
            cut = self.folder / "cut.html"
            cut.write_text(page[:end], encoding="utf-8")
            self.browser.open(cut)
            self.assertIn(message, self.browser.text("#try .warning"))
            self.assert_rest_works()
        cut.write_text(page[:page.index('id="data"') + 5000], encoding="utf-8")
        self.browser.open(cut)
        self.assertTrue(self.browser.find("#undrawn").is_displayed())

    def test_weights_that_were_left_out_tell_how_to_get_them_in(self):
        def leave_out(model):
            model.update(tensors=[], parameters=12345678, max_parameters=4000000)
        self.browser.open(self.changed("left_out.html", leave_out))
        told = self.browser.text("#try")
        self.assertIn("12\u202f345\u202f678 parameters and this page takes at most 4\u202f000\u202f000", told)
        self.assertIn("--page_weights 12345678", told)
        self.assert_rest_works()

    def test_an_old_browser_and_one_without_javascript_are_told(self):
        page = self.page.read_text(encoding="utf-8")
        self.browser.open(self.page)
        self.assertFalse(self.browser.find("#undrawn").is_displayed())
        old = self.folder / "old.html"
        old.write_text(page.replace('"use strict";', '"use strict"; let syntax |> of tomorrow;', 1), encoding="utf-8")
        self.browser.open(old)
        self.assertIn("too old", self.browser.find("#undrawn").text)
        self.assertTrue(any("SyntaxError" in error for error in self.browser.errors()))
        try:
            self.browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
            self.browser.driver.get(self.page.as_uri())
            self.assertIn("This page needs JavaScript, which is switched off.", self.browser.find("main").text)
        finally:
            self.browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})

    def test_a_printed_page_shows_the_results(self):
        self.browser.open(self.page, width=720, dark=True)
        self.browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        try:
            for hidden in ["nav", "#theme", "#try-text", "#try-go", "#try-measure", "[data-try-head] label"]:
                self.assertFalse(self.browser.find(hidden).is_displayed(), hidden)
            for shown in ["#try-strip", "#try-loss", "#try-next", "#try-heads canvas"]:
                self.assertTrue(self.browser.find(shown).is_displayed(), shown)
            self.assertEqual(self.browser.run("return getComputedStyle(document.querySelector('#try-token-3')).printColorAdjust"), "exact")
            self.assertEqual(self.browser.run("return getComputedStyle(document.documentElement).colorScheme"), "light")
            self.assertLessEqual(self.browser.run("return document.documentElement.scrollWidth"), 720)
        finally:
            self.browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})

    # ---- pictures

    def test_photographs(self):
        if not self.pictures:
            self.skipTest("no --pictures")
        for size in [DESKTOP, PHONE]:
            for dark in [False, True]:
                self.browser.open(self.page, **size, dark=dark)
                self.generate()
                self.browser.photograph(self.pictures / f"model_{size['width']}_{'dark' if dark else 'light'}.png", "#try")
