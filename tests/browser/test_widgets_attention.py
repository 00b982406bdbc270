"""The widgets of softmax and its scale (chapter 9), masks (chapter 11) and the cache of keys and values (chapter 16)."""
import math
import re

from widget_case import PHONE, ROOT, WidgetCase, in_node, outputs


def block(chapter, words):
    """The lines of the output that has these words."""
    return next(text for text in outputs(chapter) if words in text).splitlines()


def numbers(line):
    return [float(word) for word in line.split() if re.fullmatch(r"[\d.]+|NaN", word)]


class SoftmaxTest(WidgetCase):
    """09_keys: scores of random queries and keys, as they are and divided by √d_k."""
    NAME = "09_keys"
    # The measurements of one seed, on both sides of the chapter's table.
    MEASURED = """((d, seed) => {
        const samples = [...Array(w.N).keys()], dots = samples.flatMap((n) => w.dotsOf(n, d, seed));
        const dw = samples.flatMap((n) => w.weightGradientsOf(n, d, seed));
        return [1, 1 / Math.sqrt(d)].flatMap((factor) => Object.values(w.measure(dots, dw, factor)));
    })"""

    def table(self):
        return {int(row[0]): row[1:] for row in map(numbers, block("09_attention", "q·k as it is")[2:-1])}

    def test_the_generator_is_weft_s(self):
        expected = [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
        self.assertIn("{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}",
                      (ROOT / "tests/golden/test_reproducible.cpp").read_text(encoding="utf-8"))
        self.assertEqual(in_node("numbers", "w.philox(0, 0)"), expected)

    def test_the_medians_of_ten_seeds_are_the_chapter_s(self):
        table = self.table()
        widths = [1, 4, 16, 64]  # the wider ones take seconds
        found = in_node(self.NAME, f"x.map((d) => [...Array(10).keys()].map((i) => {self.MEASURED}(d, i + 1)))", widths)
        for d_k, seeds in zip(widths, found):
            medians = [sum(sorted(values)[4:6]) / 2 for values in zip(*seeds)]
            digits = [1, 2, 1, 3, 2, 2, 1, 3]
            self.assertEqual([float(f"{value:.{d}f}") for value, d in zip(medians, digits)], table[d_k], d_k)

    def test_softmax_of_the_chapter_s_scores(self):
        lines = block("09_attention", "by root 768")
        rows = in_node("numbers", "x.map((root) => w.softmax([16, 0, 0, 0].map((dot) => dot / root)))", [1, 8, math.sqrt(768)])
        for line, row in zip(lines, rows):
            self.assertTrue(line.endswith(" ".join(f"{weight:.3f}" for weight in row)), (line, row))
        for line in block("09_attention", "q·k            scores")[1:]:
            found = numbers(line)
            weights = in_node("numbers", "w.softmax(x)", found[3:6])
            self.assertEqual([round(weight, 3) for weight in weights], found[6:9])

    def cells(self):
        """The eight numbers of the table, when all queries are measured."""
        self.browser.wait(f"return !document.querySelector('{self.at}[aria-busy]')")
        return [float(text) for text in self.browser.texts(self.at + "td")]

    def slide(self, index, *keys):
        self.browser.run("document.querySelectorAll(arguments[0])[arguments[1]].focus()", self.at + "input", index)
        self.browser.press(*keys)
        return self.browser.run("return document.activeElement.getAttribute('aria-valuetext')")

    def test_the_page_measures_what_the_program_measures(self):
        self.open("09_attention", self.NAME)
        digits = [1, 2, 1, 3, 2, 2, 1, 3]
        expected = in_node(self.NAME, self.MEASURED + "(64, 1)")
        self.assertEqual(self.cells(), [float(f"{value:.{d}f}") for value, d in zip(expected, digits)])
        at_64 = self.cells()
        self.assertEqual(self.slide(1, "Right", *["Right"] * 2), "8")  # the temperature √64 is the division by √d_k
        self.assertEqual(self.cells()[:4], at_64[4:])
        self.assertEqual(self.slide(1, "Left", "Left", "Left"), "1")
        self.assertEqual(self.slide(0, "End"), "1024")
        farthest = float(re.search(r"farther than ([\d.]+) %", block("09_attention", "q·k as it is")[-1])[1]) / 100
        for found, median in zip(self.cells(), self.table()[1024]):
            self.assertLessEqual(abs(found / median - 1), farthest + 0.01, (found, median))
        self.photograph(self.NAME)

    def test_the_bars_are_the_weights_of_the_chosen_query(self):
        self.open("09_attention", self.NAME, **PHONE)
        self.assertEqual(self.slide(0, "Home", "Right", "Right"), "4")
        self.assertEqual(self.slide(2, "Right", "Right"), "3 of 16")
        for panel, factor in enumerate([1, 0.5]):
            weights = in_node(self.NAME, "w.measureQuery(w.dotsOf(0, 4)[2], w.weightGradientsOf(0, 4)[2], x).weights", factor)
            heights = self.browser.run("""return [...document.querySelectorAll(arguments[0])[arguments[1]].querySelectorAll("rect")]
                .map((bar) => Number(bar.getAttribute("height")))""", self.at + "svg", panel)
            for height, weight in zip(heights, weights):
                self.assertAlmostEqual(height, max(90 * weight, 0.5))
            top = max(weights)
            label = self.browser.run("return document.querySelectorAll(arguments[0])[arguments[1]].ariaLabel", self.at + "svg", panel)
            self.assertIn(f"the largest {top:.2f} for key {weights.index(top) + 1}", label)


class MasksTest(WidgetCase):
    """11_masks: a grid of queries and keys, the weights, and what the checks say."""
    NAME = "11_masks"
    SAFE = "'-inf, safe softmax'"

    def test_the_masks_and_weights_are_the_chapter_s(self):
        grid = [["-∞" not in word for word in line.split()[-7:]] for line in block("11_masks", "sample  sequence")[1:8]]
        blocked = in_node(self.NAME, "w.joined(['causal', 'padding', 'no padded queries'])")
        self.assertEqual([[not cell for cell in row] for row in blocked], grid)
        scores = [[2.0, 1.5, 0.8, 0.3], [1.2, 1.8, 0.9, 0.4], [0.5, 1.1, 2.1, 0.7], [0.3, 0.6, 1.3, 1.9]]
        weights = in_node(self.NAME, f"x.map((row, i) => w.RULES[{self.SAFE}](row, row.map((_, j) => j > i)))", scores)
        for line, row in zip(block("11_masks", "0.3543"), weights):
            self.assertTrue(line.endswith(" ".join(f"{weight:.4f}" for weight in row)), (line, row))
        late = in_node(self.NAME, "x.map((row, i) => w.RULES['0 after softmax'](row, row.map((_, j) => j > i)))", scores)
        self.assertEqual([f"{sum(row):.3f}" for row in late], block("11_masks", "masked after softmax")[0].split()[-4:])

    def test_the_module_is_the_chapter_s(self):
        # The first output of small_attention()(some_tokens(1), Mask::causal() | Mask::padding({5})), and one with five keys.
        first = [-0.410295979331743, 0.110122922688951, -0.415766736232622, -0.0386316820409436, 0.315840434631614, 0.237014315736502,
                 -0.0904073392603044, -0.00112184963309566]
        last = [-0.149275076618525, 0.0236397077936109, -0.0466777298124781, -0.107675267977285, 0.0243120964693478,
                -0.0163376602304422, 0.0454994291614319, -0.149681908530548]
        y = in_node(self.NAME, f"((m) => w.attend(m, m.x, w.joined(['causal', 'padding']), {self.SAFE}).y)(w.chapterModule())")
        for found, expected in [(y[0], first), (y[6], last)]:
            for a, b in zip(found, expected):
                self.assertAlmostEqual(a, b, places=14)

    def test_the_rules_do_what_the_oracle_s_do(self):
        lines = block("11_masks", "two keys allowed")[1:]
        self.assertEqual(len(lines), 5)
        words = (ROOT / "src/check/attention_steps.cpp").read_text(encoding="utf-8")
        for line in lines:
            rule, kind = re.match(r"(.*?) +(float\d\d) ", line).groups()
            name = f"{rule}, {kind}" if rule == "add -1e9" else rule
            found = in_node(self.NAME, """[[0, 0, 1, 1], [1, 1, 1, 1]].map((row) => {
                const scores = [2, 1.5, 0.8, 0.3], blocked = row.map(Boolean), weights = w.RULES[x](scores, blocked);
                const all = w.RULES['-inf, safe softmax'](scores, [false, false, false, false]);
                return [weights.map((v) => Number.isNaN(v) ? 'NaN' : v.toFixed(3)), w.verdictOfRow(weights, all, blocked)];
            })""", name)
            self.assertEqual([text for weights, _ in found for text in weights], line.split()[-8:], name)
            for _, verdict in found:
                self.assertIn(f'"{re.sub(r"[0-9.]+$", "", verdict) if "up to" in verdict else verdict}"', words)
            self.assertEqual(found[0][1], "blocked keys get 0")
            self.assertEqual(found[1][1], {"add -1e9, float64": "the mask has no effect", "-inf, plain softmax": "NaN",
                                           "-inf, safe softmax": "sees nothing, gives 0"}.get(name, "blocked keys get up to 0.2500"))

    def test_edits_change_the_outputs_that_the_chapter_says(self):
        five = in_node(self.NAME, f"""(() => {{
            const m = w.chapterModule(), x = m.x.slice(0, 5), blocked = w.joined(['causal']).slice(0, 5).map((row) => row.slice(0, 5));
            return w.influence((tokens) => w.attend(m, tokens, blocked, {self.SAFE}), x, (token) => token.map(() => 3));
        }})()""")
        lines = block("11_masks", "outputs 1 to 5 that change")
        self.assertEqual([["x" if changed else "." for changed in row] for row in five], [line.split()[1:] for line in lines[1:6]])
        found = in_node(self.NAME, f"w.report(w.chapterModule(), w.joined(['causal']), {self.SAFE})")
        self.assertIn(["passed", "one pass gives what passes over the prefixes give", "7 prefixes"], found)
        self.assertEqual(lines[6], "one pass gives what five passes over the prefixes give: yes")

    def test_padding_and_fully_masked_rows_are_as_in_the_chapter(self):
        changed, alone, without = (line.split()[-1] for line in block("11_masks", "other padding changes"))
        found = in_node(self.NAME, f"""(() => {{
            const m = w.chapterModule(), run = (x, mask) => w.attend(m, x, mask, {self.SAFE}).y.slice(0, 5);
            const other = m.x.map((token, t) => (t < 5 ? token : token.map(() => 1000))), mask = w.joined(['padding']), none = w.joined([]);
            const near = (a, b, d) => a.flat().every((v, i) => Math.abs(v - b.flat()[i]) <= d);
            const alone = run(m.x.slice(0, 5), none), real = run(m.x, mask);
            return [!near(run(other, mask), real, 0), near(alone, real, 1e-13), near(alone, run(m.x, none), 1e-13)];
        }})()""")
        self.assertEqual(["yes" if answer else "no" for answer in found], [changed, alone, without])
        for line, rule in zip(block("11_masks", "rows NaN"), ["-inf, plain softmax", "-inf, safe softmax"]):
            nan, zero = re.search(r"rows NaN: (\d), rows 0: (\d)", line).groups()
            rows = in_node(self.NAME, """(() => {
                const m = w.chapterModule(), y = w.attend(m, m.x, w.joined(['causal', 'padding', 'no padded queries']), x).y;
                return [y.filter((row) => row.some(Number.isNaN)).length, y.filter((row) => row.every((v) => v === 0)).length];
            })()""", rule)
            self.assertEqual(rows, [int(nan), int(zero)], rule)

    def test_the_checks_are_those_of_the_header(self):
        header = (ROOT / "include/weft/check/attention.h").read_text(encoding="utf-8")
        for names, count in [([], 2), (["causal"], 5)]:  # how many of the header's checks are decided
            lines = in_node(self.NAME, f"w.report(w.chapterModule(), w.joined(x), {self.SAFE})", names)
            checks = [line for line in lines if f'"{line[1]}"' in header]
            self.assertEqual(len(checks), 5)
            self.assertEqual([verdict for verdict, *_ in checks].count("passed"), count)
            self.assertEqual([verdict for verdict, *_ in checks].count("n/a"), 5 - count)

    def verdicts(self):
        return dict(self.browser.run("""return [...document.querySelectorAll(arguments[0])].map((line) =>
            [line.querySelector("div").firstChild.data, line.dataset.verdict])""", self.at + ".masks-report li"))

    def oracle(self):
        return self.browser.text(self.at + ".masks-tables + p")

    def cell(self, i, j):
        return f"{self.at}tbody tr:nth-child({i}) td:nth-child({j + 1}) button"

    def test_a_cell_is_switched_by_a_click_and_by_the_keyboard(self):
        self.open("11_masks", self.NAME)
        self.assertEqual(set(self.verdicts().values()), {"passed"})
        self.assertEqual(self.browser.text(self.at + ".widget-status"), "all 9 checks passed")
        self.assertEqual(self.browser.text(self.cell(3, 5)), "0")
        self.browser.click(self.cell(3, 5))
        self.assertEqual(self.browser.attribute(self.cell(3, 5), "aria-pressed"), "false")
        self.assertIn("query 3 (a), key 5 (sequence): allowed, weight 0.", self.browser.attribute(self.cell(3, 5), "aria-label"))
        self.assertEqual(self.verdicts()["no output depends on a later token"], "FAILED")
        self.assertIn("editing token 5 (sequence) changed the output of token 3 (a)", self.browser.text(self.at + ".masks-report"))
        self.assertEqual(self.verdicts()["blocked tokens have no influence"], "passed")
        self.assertIn("causal, 1 cell changed by hand", self.browser.text(self.at + "caption"))
        self.browser.press("Left", "Up", "Space")  # from the cell that has the focus
        self.assertEqual(self.browser.attribute(self.cell(2, 4), "aria-pressed"), "false")
        self.assertIn("2 cells changed", self.browser.text(self.at + "caption"))
        self.assertEqual(len(self.browser.all(self.at + "td button[tabindex='0']")), 1)
        changed = self.browser.texts(self.at + ".masks-edits tbody tr:nth-child(5) td")
        self.assertEqual(changed, ["·", "·", "x", "·", "x", "x", "x"])
        self.photograph(self.NAME)

    def test_masks_are_joined_and_rules_judged(self):
        self.open("11_masks", self.NAME)
        self.press_button("padding")
        self.press_button("no padded queries")
        masked = self.browser.texts(self.at + ".masks-grid th small")
        self.assertEqual(masked, ["fully masked"] * 2)
        self.assertIn("queries 1 to 5: blocked keys get 0; queries 6 to 7: sees nothing, gives 0", self.oracle())
        later = {"no output depends on a later token", "one pass gives what passes over the prefixes give",
                 "blocked tokens have no influence"}
        for rule, verdict, failing in [
                ("-inf, plain softmax", "queries 6 to 7: NaN", later | {"no output is NaN", "a fully masked row is 0"}),
                ("replace by -1e9", "queries 6 to 7: blocked keys get up to 0.1429", later | {"a fully masked row is 0"}),
                ("replace by 0", "queries 6 to 7: blocked keys get up to 0.1429",
                 later | {"blocked weights are 0", "visible weights sum to 1", "a fully masked row is 0", "padding changes no real token"}),
                ("0 after softmax", "queries 1 to 5: blocked keys get 0",
                 later | {"weights sum to 1", "visible weights sum to 1", "padding changes no real token"})]:
            self.browser.focus(self.at + "select")
            self.browser.run("const s = arguments[0]; s.value = arguments[1]; s.dispatchEvent(new Event('change'))",
                             self.browser.find(self.at + "select"), rule)
            self.assertIn(verdict, self.oracle(), rule)
            found = {name for name, verdict in self.verdicts().items() if verdict == "FAILED"}
            self.assertEqual(found, failing, rule)
            self.assertEqual(self.browser.text(self.at + ".widget-status"), f"{len(failing)} of 9 checks failed")
        for name in ["causal", "padding", "no padded queries", "all equal"]:
            self.press_button(name)
        self.assertEqual(set(self.browser.texts(self.at + ".masks-grid button")), {"0.14"})  # no mask and equal scores: 1/7
        self.assertIn("3 not applicable", self.browser.text(self.at + ".widget-status"))


class CacheTest(WidgetCase):
    """16_cache: what each step of writing computes, reads and stores."""
    NAME = "16_cache"

    def totals(self, **model):
        return in_node(self.NAME, "[false, true].map((cached) => w.total(w.steps(x, cached)))",
                       {"prompt": 3, "added": 6, "layers": 2, "width": 64, "block": 48, **model})

    def test_the_counts_are_the_chapter_s(self):
        lines = block("16_writing", "tokens through each layer")[1:3]
        for line, found in zip(lines, self.totals(prompt=16, added=32)):
            self.assertEqual([int(word) for word in line.split()[-2:]], [found["tokens"], found["scores"]])
        figure = re.search(r"!\[([^]]*)\]\(figures/16_cache", (ROOT / "docs/16_writing.md").read_text(encoding="utf-8"))[1]
        self.assertEqual([int(n) for n in re.findall(r"(\d+) in all", figure)], [found["tokens"] for found in self.totals()])

    def test_the_multiply_adds_are_those_of_chapter_10_and_the_mlp(self):
        for line in block("10_heads", "multiply-adds, T = 1024")[1:3]:  # heads that share d_model: 4 T C² + 2 T² C
            words = line.split()
            C, T = int(words[0]), 1024
            found = in_node(self.NAME, f"w.multiplyAdds({T}, {T * T}, 1, {C}) - w.multiplyAdds({T}, 0, 1, {C}) * 8 / 12")
            self.assertEqual(f"{found / 1e6:.1f}", words[-2])
        without, cached = self.totals()
        self.assertEqual(without["multiplyAdds"], 2 * (12 * 64 ** 2 * without["tokens"] + 2 * 64 * without["scores"]))
        self.assertEqual(cached["multiplyAdds"], 2 * (12 * 64 ** 2 * 8 + 2 * 64 * 36))

    def test_beyond_block_size_the_cache_is_of_no_use(self):
        without, cached = in_node(self.NAME, "[false, true].map((c) => w.steps({prompt: 3, added: 6, layers: 1, width: 8, block: 5}, c))")
        self.assertEqual([step["tokens"] for step in cached], [3, 1, 1, 5, 5, 5])
        self.assertEqual([step["tokens"] for step in without], [3, 4, 5, 5, 5, 5])
        self.assertEqual([step["stored"] for step in cached], [2 * 8 * 3, 2 * 8 * 4, 2 * 8 * 5, 0, 0, 0])
        self.assertEqual([step["first"] for step in cached], [0, 0, 0, 1, 2, 3])

    def signs(self, lane):
        return [text or "-" for text in self.browser.run(
            "return [...document.querySelectorAll(arguments[0])[arguments[1]].children].map((c) => c.textContent)",
            self.at + ".cache-cells", lane)]

    def table(self):
        return {row[0]: row[1:] for row in self.browser.run("""return [...document.querySelectorAll(arguments[0])]
            .map((row) => [...row.children].map((cell) => cell.textContent))""", self.at + "tbody:last-child tr")}

    def test_a_step_shows_what_is_computed_read_and_stored(self):
        self.open("16_writing", self.NAME)
        self.assertEqual([self.signs(0), self.signs(1)], [list("cccc----"), ["r", "r", "r", "c+", *"----"]])
        self.press_button("Next")
        self.assertEqual([self.signs(0), self.signs(1)], [list("ccccc---"), [*"rrrr", "c+", *"---"]])
        self.assertIn("Step 3 of 6: token 6 is written", self.browser.text(self.at + ".widget-status"))
        self.browser.focus(self.at + "input[type=range]")
        self.browser.press("End")
        self.assertEqual(self.table()["tokens through each layer"], ["33", "8"])
        self.browser.press("Home")
        self.assertEqual(self.signs(1), ["c+"] * 3 + ["-"] * 5)
        self.photograph(self.NAME)

    def test_the_chapter_s_run_and_wrong_sizes(self):
        self.open("16_writing", self.NAME, **PHONE)
        field = ".cache-fields label:nth-child({}) input".format
        self.type(field(1), "16")
        self.type(field(2), "32")
        self.browser.focus(self.at + "input[type=range]")
        self.browser.press("End")
        table = self.table()
        lines = block("16_writing", "tokens through each layer")[1:3]
        for name, column in [("tokens through each layer", -2), ("scores in each head", -1)]:
            self.assertEqual([cell.replace(",", "") for cell in table[name]], [line.split()[column] for line in lines])
        self.assertEqual(table["numbers in the cache"], ["0", f"{2 * 2 * 47 * 64:,}"])
        for wrong, message in [("0", "new tokens: 0 is out of range. Write a whole number from 1 to 64."),
                               (".5", "“.5” is not a whole number"), ("<b>", "new tokens: “<b>” is not a whole number"),
                               ("", "is not a whole number")]:
            self.type(field(2), wrong or "\b")
            self.assertIn(message, self.browser.text(self.at + ".widget-problem"))
            self.assertEqual(self.browser.attribute(self.at + field(2), "aria-invalid"), "true")
            self.assertEqual(self.table(), table)  # the last run stays
        self.type(field(2), "2")
        self.assertEqual(self.browser.text(self.at + ".widget-problem"), "")
        self.assertIn("Step 2 of 2", self.browser.text(self.at + ".widget-status"))
        self.type(field(5), "8")
        self.assertIn("nothing in the cache is valid", self.browser.text(self.at + ".widget-status"))
        self.assertEqual(self.signs(1), ["-"] * 9 + ["c"] * 8)
