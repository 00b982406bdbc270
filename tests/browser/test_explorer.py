"""The attention explorer: every weight that it tells is the model's, by mouse, by touch and by keyboard."""
import numpy as np

from case import DESKTOP, HEADS, LAYERS, PHONE, ReportCase, number
import checkpoint


class ExplorerTest(ReportCase):
    def setUp(self):
        self.sentences = [s["text"] for s in self.data["sentences"]]

    def weights(self, sentence):
        """(T, T) of each head, through all layers, computed from the checkpoint."""
        ids = [self.metadata["vocabulary"].index(letter) for letter in self.sentences[sentence]]
        return np.concatenate(checkpoint.attention(self.tensors, LAYERS, HEADS, ids))

    def choose(self, sentence):
        self.browser.click("#sentence")
        self.browser.press(self.sentences[sentence][:20], "Enter")
        self.assertEqual(self.browser.run("return document.getElementById('sentence').value"), self.sentences[sentence])

    def relations(self, which):
        """What the page lists: {token's place: share}, in its order."""
        items = self.browser.run(
            "return [...document.querySelectorAll(`#${arguments[0]} li`)].map(e =>"
            "[e.querySelector('sub').textContent, e.querySelector('b').textContent])", which)
        return {int(place) - 1: number(share) for place, share in items}

    def check_relations(self, which, expected):
        """That the list holds the largest of `expected`, each right to a byte of its root."""
        told = self.relations(which)
        for place, share in told.items():
            self.assertAlmostEqual(share, expected[place], delta=np.sqrt(expected[place]) / 255 + 6e-4)
        slack = np.sqrt(np.max(expected)) / 255 * 2
        for share, best in zip(told.values(), sorted(expected, reverse=True)):
            self.assertAlmostEqual(share, best, delta=slack + 6e-4)
        return told

    def test_where_a_token_looks_is_where_the_model_looks(self):
        self.browser.open(self.page, **DESKTOP)
        for sentence, head, token in [(0, 0, 5), (2, 1, 9), (3, 2, 2), (1, 3, 12)]:
            self.choose(sentence)
            self.browser.click(f"[data-head='{head}']")
            self.assertEqual(self.browser.text(".large h3"), f"Layer {head // 2 + 1}, head {head % 2 + 1}")
            self.browser.hover(f"#token-{token}")
            weights = self.weights(sentence)[head]
            letter = self.browser.text(f"#token-{token}")
            self.assertEqual(self.browser.text(".looks h4"), f"‘{letter}’ {token + 1} looks at")
            self.assertTrue(self.browser.text("#matrix-readout").startswith(f"‘{letter}’ {token + 1} → "))
            self.assertAlmostEqual(number(self.browser.text("#matrix-readout b")), weights[token].max(), delta=0.005)
            looks = self.check_relations("looks-at", weights[token])
            looked = self.check_relations("looked-at", weights[:, token])
            self.assertEqual(len(looks), min(5, token + 1))  # not into the future
            self.assertTrue(all(place <= token for place in looks) and all(place >= token for place in looked))

    def test_the_strip_is_shaded_by_the_weights(self):
        self.browser.open(self.page, **DESKTOP)
        self.browser.hover("#token-7")
        shades = self.browser.run("return [...document.querySelectorAll('.token')].map(e =>"
                                  "['--looks', '--looked'].map(n => Number(e.style.getPropertyValue(n))))")
        weights = self.weights(0)[0]
        np.testing.assert_allclose([s[0] for s in shades], np.sqrt(weights[7]), atol=0.0026)
        np.testing.assert_allclose([s[1] for s in shades], np.sqrt(weights[:, 7]), atol=0.0026)

    def test_the_matrix_tells_each_weight(self):
        self.browser.open(self.page, **DESKTOP)
        self.browser.click("[data-head='2']")
        canvas = self.browser.run("const c = document.querySelector('.matrix canvas').style;"
                                  "return [c.left, c.top, c.width].map(parseFloat)")
        T, weights = len(self.sentences[0]), self.weights(0)[2]
        cell = canvas[2] / T
        for q, k in [(0, 0), (9, 4), (T - 1, 0), (T - 1, T - 1)]:
            self.browser.hover(".matrix", canvas[0] + (k + 0.5) * cell, canvas[1] + (q + 0.5) * cell)
            told = self.browser.text("#tooltip b")
            self.assertAlmostEqual(number(told), weights[q, k], delta=np.sqrt(weights[q, k]) / 255 + 1e-4)
            self.assertEqual(self.browser.text("#matrix-readout b"), told)
        self.browser.hover(".matrix", canvas[0] + 5.5 * cell, canvas[1] + 2.5 * cell)
        self.assertEqual(self.browser.text("#tooltip b"), "masked")

    def test_the_pictures_have_the_weights_colours(self):
        self.browser.open(self.page, **DESKTOP)
        for selector, head in [("[data-head='3'] canvas", 3), (".matrix canvas", 0)]:
            pixels = np.array(self.browser.run(
                "const c = document.querySelector(arguments[0]);"
                "return [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]", selector))
            T = len(self.sentences[0])
            pixels, weights = pixels.reshape(T, T, 4), self.weights(0)[head]
            self.assertTrue((pixels[~np.tri(T, dtype=bool)][:, 3] == 0).all())  # clear where none may look
            self.assertTrue((pixels[np.tri(T, dtype=bool)][:, 3] == 255).all())
            self.assertEqual(list(pixels[0, 0]), [253, 231, 37, 255])  # the first token sees itself only: yellow
            lightness = pixels[..., :3] @ [0.2126, 0.7152, 0.0722]
            lower = np.tri(T, dtype=bool)
            self.assertGreater(np.corrcoef(lightness[lower], np.sqrt(weights[lower]))[0, 1], 0.97)

    def test_the_slider_moves_through_the_checkpoints(self):
        self.browser.open(self.page, **DESKTOP)
        self.browser.click("#token-6")  # held
        self.browser.hover("#token-2")
        self.assertIn(" 7 looks at", self.browser.text(".looks h4"))
        self.browser.focus("#checkpoint")
        seen = []
        for key in ["Left", "Left", "Left", "Left", "Left", "Right", "End", "Home"]:
            self.browser.press(key)
            seen.append(self.browser.attribute("#checkpoint", "aria-valuetext"))
            self.assertEqual(self.browser.text("output"), seen[-1])
        self.assertEqual(seen, ["step " + s for s in ["45", "30", "15", "0", "0", "15", "60", "0"]])
        first = self.relations("looks-at")
        self.browser.press("End")
        self.assertNotEqual(first, self.relations("looks-at"))
        self.check_relations("looks-at", self.weights(0)[0][6])

    def test_every_head_says_what_it_does(self):
        for size in [DESKTOP, PHONE]:
            self.browser.open(self.page, **size)
            for head, text in enumerate(self.browser.texts("[role=radiogroup] small")):
                weights = self.weights(0)[head]
                spread = np.exp(-(weights * np.log(np.where(weights > 0, weights, 1))).sum(-1)).mean()
                if text.endswith(" tokens"):
                    self.assertAlmostEqual(float(text.split()[0]), spread, delta=0.15)
                else:
                    self.assertRegex(text, "^(itself|previous|first) [0-9.]+\u202f%$")

    def test_play_goes_through_all_checkpoints_and_stops(self):
        self.browser.open(self.page, **DESKTOP)
        seen = self.browser.driver.execute_async_script("""
            const done = arguments[0], output = document.querySelector('output'), seen = [];
            new MutationObserver(() => {
              seen.push(output.textContent);
              if (output.textContent === 'step 60') setTimeout(() => done(seen), 50);
            }).observe(output, { childList: true });
            document.getElementById('play').click();""")
        self.assertEqual(seen, ["step 0", "step 15", "step 30", "step 45", "step 60"])
        self.assertIn("Play", self.browser.text("#play"))

    def test_typing_finds_sentences(self):
        self.browser.open(self.page, **DESKTOP)
        self.browser.click("#sentence")
        self.assertEqual(len(self.browser.all("#sentences [role=option]")), len(self.sentences))
        wanted = self.sentences[4][3:11].upper()
        self.browser.press(wanted)
        found = self.browser.texts("#sentences [role=option]")
        self.assertEqual(found, [s for s in self.sentences if wanted.lower() in s.lower()])
        self.assertEqual(self.browser.text("#sentences mark").lower(), wanted.lower())
        self.assertEqual(self.browser.attribute("#sentence", "aria-expanded"), "true")
        active = self.browser.attribute("#sentence", "aria-activedescendant")
        self.assertEqual(self.browser.text("#" + active), found[0])
        self.browser.press("Escape")
        self.assertEqual(self.browser.run("return document.getElementById('sentence').value"), self.sentences[0])
        self.browser.press("no such sentence")
        self.assertEqual(self.browser.text("#sentences"), "No sentence contains this.")
        self.browser.press("Enter")
        self.browser.press("Escape", "Down", "Down", "Down", "Enter")
        self.assertEqual(self.browser.run("return document.getElementById('sentence').value"), self.sentences[2])
        self.assertEqual(len(self.browser.all(".token")), len(self.sentences[2]))
        self.assertEqual(self.browser.attribute("#sentence", "aria-expanded"), "false")

    def test_the_keyboard_reaches_every_token_head_and_weight(self):
        self.browser.open(self.page, **DESKTOP)
        self.browser.focus(".token.here")
        self.browser.press("Home")
        for token in range(1, len(self.sentences[0])):
            self.browser.press("Right")
            self.assertEqual(self.browser.run("return document.activeElement.id"), f"token-{token}")
        last = len(self.sentences[0]) - 1
        told = self.browser.text("#announcer")
        self.assertIn(f" {last + 1} looks at ‘", told)
        best = int(np.argmax(self.weights(0)[0][last]))
        self.assertAlmostEqual(number(told.split(" looks at ")[1].split(", ")[0].split(" ")[2]),
                               self.weights(0)[0][last][best], delta=0.006)
        self.browser.focus("[role=radio][aria-checked=true]")
        self.browser.press("Down", "Right")
        self.assertEqual(self.browser.run("return document.activeElement.dataset.head"), "3")
        self.assertEqual(self.browser.text(".large h3"), "Layer 2, head 2")
        self.assertEqual(self.browser.attribute("[data-head='3']", "aria-checked"), "true")
        self.browser.focus(".matrix")
        self.browser.press("End", "Home", "Up")
        self.assertIn("looks at ‘" + self.browser.text("#token-0") + "’ 1: ", self.browser.text("#announcer"))

    def test_a_finger_chooses_tokens_and_heads(self):
        self.browser.open(self.page, **PHONE)
        self.browser.tap("#token-8")
        self.assertIn(" 9 looks at", self.browser.text(".looks h4"))
        self.check_relations("looks-at", self.weights(0)[0][8])
        self.browser.tap("[data-head='2']")
        self.assertEqual(self.browser.text(".large h3"), "Layer 2, head 1")
        self.check_relations("looks-at", self.weights(0)[2][8])
