"""The widgets of chapters 2, 3 and 4, and what holds for every widget: without scripts, or if one throws, its figure stays."""
import contextlib
import re

from widget_case import FOLDER, PHONE, SITE, WidgetCase, outputs

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
        """(its place is shown, it is filled, its figure is shown, that is in a box that closes) of each widget on the page."""
        return {name: tuple(rest) for name, *rest in self.browser.run("""
            return [...document.querySelectorAll("[data-widget]")].map((w) => {
                const next = w.nextElementSibling, image = next.querySelector("img, svg");
                return [w.dataset.widget, w.checkVisibility(), w.childNodes.length > 0, image.checkVisibility(), next.matches("details")];
            })""")}

    def test_every_widget_is_mounted_and_puts_its_figure_away(self):
        found = pages()
        self.assertEqual(sorted(found), WIDGETS)
        for path in sorted(set(found.values())):
            self.browser.open(path)
            for name, state in self.figures().items():
                self.assertEqual(state, (True, True, False, True), name)
                self.browser.run("""document.querySelector(`[data-widget="${arguments[0]}"] + details`).open = true""", name)
                self.assertTrue(self.figures()[name][2], name)

    def test_without_scripts_the_figure_is_there(self):
        command = self.browser.driver.execute_cdp_cmd
        for path in sorted(set(pages().values())):
            command("Emulation.setScriptExecutionDisabled", {"value": True})
            try:
                self.browser.driver.get(path.as_uri())
            finally:
                command("Emulation.setScriptExecutionDisabled", {"value": False})
            for name, state in self.figures().items():
                self.assertEqual(state, (False, False, True, False), name)

    def test_a_widget_that_throws_leaves_its_figure(self):
        for name, path in pages().items():
            start = f'"{name}": () => ('
            broken_mount = f'"{name}": () => ({{ mount(node) {{ node.append("half"); throw new Error("broken"); }} }})'
            broken = lambda text: text.replace(start, broken_mount + f', "_{name}": () => (')
            with self.page_with(path, broken) as copy:
                self.browser.open(copy)
                states = self.figures()
                self.assertEqual(states.pop(name), (False, False, True, False), name)
                self.assertTrue(all(state == (True, True, False, True) for state in states.values()), states)
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


class GraphTest(WidgetCase):
    """Chapter 4."""

    def setUp(self):
        self.open("04_backward", "04_graph")

    def boxes(self):
        """name → the lines in its box."""
        lines = self.browser.run("""return [...document.querySelectorAll(arguments[0])].map((g) =>
            [...g.querySelectorAll("text")].map((t) => t.textContent))""", self.at + ".graph-node")
        return {name.split(" ")[0]: rest for name, *rest in lines}

    def ledger(self):
        return self.browser.run("""return [...document.querySelectorAll(arguments[0])].map((r) =>
            [...r.cells].map((c) => c.textContent))""", self.at + "tbody tr")

    def test_values_and_then_gradients_appear_one_node_at_a_time(self):
        self.assertEqual(self.boxes(), {"a": ["2"], "b": ["5"], "w": ["3"], "x": [], "h": [], "y": []})
        self.press_button("Next")
        self.assertEqual(self.boxes()["x"], ["10"])
        self.assertEqual(self.browser.text(self.at + "[role=status]"), "x = a · b = 2 · 5 = 10")
        self.browser.press("Right", "Right")
        self.assertEqual([self.boxes()[name] for name in "xhy"], [["10"], ["30"], ["40"]])
        self.assertFalse(self.browser.find(self.at + "table").is_displayed())
        self.browser.press("Right", "Right")
        self.assertEqual((self.boxes()["x"], self.boxes()["a"]), (["10", "dx = 1"], ["2"]))
        self.browser.press("Right")
        self.assertEqual(self.browser.text(self.at + "[role=status]"),
                         "Visit h. It gives 10 to w and 3 to x, whose gradient is now 1 + 3 = 4.")
        self.assertEqual(self.boxes()["x"], ["10", "dx = 4"])
        self.browser.press("End")
        self.assertEqual([self.boxes()[name][1] for name in "abw"], ["da = 20", "db = 8", "dw = 10"])
        printed = next(block for block in outputs("04_backward") if block.startswith("node"))
        self.assertEqual(self.ledger(), [re.split(r"  +", line) for line in printed.splitlines()[1:]])
        self.assertEqual(self.browser.attribute(self.at + "[type=range]", "aria-valuetext"), "7 of 7")
        self.browser.press("Left")
        self.assertEqual(self.boxes()["a"], ["2"])
        self.browser.press("Home")
        self.assertEqual(self.boxes()["x"], [])

    def test_changed_leaves_change_everything_at_the_step_that_is_shown(self):
        self.browser.focus(self.at + "[type=range]")
        self.browser.press("End")
        self.type("label:nth-of-type(3) input", "-0.5")
        self.assertEqual(self.boxes()["y"], ["5", "dy = 1"])  # 10 + −0.5 · 10
        self.assertEqual([self.boxes()[name][1] for name in "abw"], ["da = 2.5", "db = 1", "dw = 10"])

    def test_what_is_no_number_is_refused_and_the_last_values_stay(self):
        expected = self.boxes()
        for bad in ["abc", "NaN", "1e9", " ", "<b>", "9" * 1000]:
            self.type("label:nth-of-type(1) input", bad)
            problem = self.browser.text(self.at + "[role=alert]")
            self.assertTrue(problem.startswith("a: ") and "Write a number from" in problem, problem)
            self.assertEqual(self.browser.attribute(self.at + "label:nth-of-type(1) input", "aria-invalid"), "true")
            self.assertEqual(self.boxes(), expected)
        self.type("label:nth-of-type(2) input", "6")  # the other field is still wrong
        self.assertNotEqual(self.browser.text(self.at + "[role=alert]"), "")
        self.type("label:nth-of-type(1) input", "1")
        self.assertEqual(self.browser.text(self.at + "[role=alert]"), "")
        self.assertEqual((self.boxes()["a"], self.boxes()["b"]), (["1"], ["6"]))

    def test_breadth_first_loses_the_path_through_h(self):
        self.press_button("breadth first (wrong)")
        self.browser.focus(self.at + "[type=range]")
        self.browser.press("End")
        self.assertEqual([self.boxes()[name][1] for name in "abw"], ["da = 5", "db = 2", "dw = 10"])
        self.assertIn("3 to x, which has been visited already", self.browser.text(self.at + "[role=status]"))
        self.press_button("y = h + x")
        self.assertEqual([self.boxes()[name][1] for name in "abw"], ["da = 20", "db = 8", "dw = 10"])

    def test_play_goes_on_by_itself_until_it_is_paused(self):
        self.press_button("Play")
        self.browser.wait(f"return document.querySelector('{self.at} [type=range]').value !== '0'")
        self.press_button("Pause")
        self.assertEqual(self.boxes()["x"][0], "10")
        self.assertIn("Play", self.browser.texts(self.at + "button"))
        self.photograph("widget-graph")


class StridesTest(WidgetCase):
    """Chapter 2."""

    def setUp(self):
        self.open("02_tensors", "02_strides")

    def apply(self, name, typed):
        self.browser.run("""const s = document.querySelector(arguments[0]); s.value = arguments[1];
            s.dispatchEvent(new Event("change"))""", self.at + "select", name)
        self.type("form input", typed)
        self.browser.press("Enter")
        return self.browser.text(self.at + ".strides-code + p")

    def elements(self):
        return self.browser.texts(self.at + ".cells-table .cell")

    def problem(self):
        return self.browser.text(self.at + "[role=alert]")

    def lit(self):
        """(of the view, positions in memory) that are lit."""
        return tuple(self.browser.run("""return [...document.querySelectorAll(arguments[0])].flatMap((e, i) =>
            e.classList.contains("lit") ? [i] : [])""", self.at + part) for part in [".cells-table .cell", ".strip .cell"])

    def test_an_element_lights_its_cell_and_shows_the_sum(self):
        self.apply("transpose", "0, 1")
        self.assertEqual(self.elements(), ["11", "21", "12", "22", "13", "23"])
        self.browser.focus(self.at + ".cells-table .cell")
        self.browser.press("Down", "Right")
        self.assertEqual(self.browser.text(self.at + ".widget-status"), "[1, 1]: position 0 + 1 · 1 + 1 · 3 = 4, value 22")
        self.assertEqual(self.lit(), ([3], [4]))
        self.browser.press("Home", "Down", "Down")  # the last Down is beyond the end
        self.assertEqual(self.lit(), ([4], [2]))
        self.browser.hover(self.at + ".cells-table .cell:nth-child(2)")
        self.assertEqual(self.lit(), ([1], [3]))
        self.photograph("widget-strides")

    def test_a_position_lights_all_elements_that_read_it(self):
        self.apply("select", "0, 1")
        said = self.apply("expand", "2, 3")
        self.assertEqual(said, "shape (2, 3), strides (0, 1), offset 3, not contiguous; a view of storage A")
        self.browser.hover(self.at + ".strip .cell:nth-child(5)")
        self.assertEqual(self.lit(), ([1, 4], [4]))
        self.assertEqual(self.browser.text(self.at + ".widget-status"), "position 4: value 22, read as [0, 1] and [1, 1]")
        self.browser.hover(self.at + ".strip .cell:nth-child(1)")
        self.assertEqual(self.browser.text(self.at + ".widget-status"), "position 0: value 11, not read by this view")

    def test_a_view_that_needs_a_copy_is_refused_and_reshape_says_that_it_copies(self):
        self.apply("transpose", "0, 1")
        said = self.apply("view", "6")
        self.assertIn(f"   refused: {self.problem()}\n", "".join(outputs("02_tensors")))
        self.assertIn("shape (3, 2)", said)
        said = self.apply("reshape", "6")
        self.assertEqual(said, "shape (6,), strides (1,), offset 0, contiguous; the values were copied to a new storage B, because "
                               "no strides over the old storage give this shape")
        self.assertEqual(self.browser.text(self.at + ".strip-letter"), "B")
        self.assertEqual(self.browser.text(self.at + "code"), "m.transpose(0, 1).reshape({6})")
        self.press_button("Undo")
        self.assertEqual((self.browser.text(self.at + "code"), self.browser.text(self.at + ".strip-letter")),
                         ("m.transpose(0, 1)", "A"))
        self.press_button("Start again")
        self.assertEqual((self.elements(), self.problem()), (["11", "12", "13", "21", "22", "23"], ""))

    def test_the_columns_split_as_in_the_chapter(self):
        self.press_button("x (3, 4)")
        self.apply("view", "3, 2, 2")
        said = self.apply("transpose", "0, 1")
        self.assertIn("shape (2, 3, 2), strides (2, 4, 1)", said)
        self.assertEqual(self.elements(), "11 12 21 22 31 32 13 14 23 24 33 34".split())

    def test_bad_input_gets_a_message_and_changes_nothing(self):
        before = self.browser.text(self.at + "code")
        for name, typed, why in [("reshape", "abc", "not a list of whole numbers"), ("reshape", "NaN", "not a list"),
                                 ("reshape", "0", "6 elements do not fit 0"), ("reshape", "1000000000", "6 elements do not fit"),
                                 ("expand", "1000000000, 2, 3", "draws at most 64"), ("expand", "1e9", "not a list"),
                                 ("slice", "1, 2", "it takes axis, start and end"), ("select", "0, 7", "out of range"),
                                 ("transpose", "0, 5", "use -2 to 1"), ("reshape", "<img>", "not a list")]:
            self.apply(name, typed)
            self.assertIn(why, self.problem())
            self.assertEqual(self.browser.text(self.at + "code"), before)
        self.assertIn("shape (2, 0)", self.apply("slice", "1, 2, 2"))
        self.assertIn("This view has no elements.", self.browser.text(self.at))


class MovieTest(WidgetCase):
    """Chapter 2's storage movie."""

    def test_a_frame_is_a_step_where_motion_is_not_wanted(self):
        self.open("02_tensors", "02_movie")
        self.browser.focus(self.at + "[type=range]")
        printed = "".join(outputs("02_tensors"))
        for n in range(7):
            if n == 3:
                self.assertIn(self.browser.text(self.at + ".movie .widget-problem"), printed)
            else:
                layout = self.browser.text(self.at + ".movie p:nth-child(2)")
                cells = self.browser.texts(self.at + ".cells-table .cell")
                frame = re.search(rf"^{n + 1}\. .*\n   (.*)\n.*\n.*\n   reads (.*)$", printed, re.MULTILINE)
                self.assertEqual((layout, cells), (frame[1], re.findall(r"\d+", frame[2])))
                self.assertEqual(self.browser.all(self.at + ".dim"), [])
            self.browser.press("Right")
        self.press_button("3")
        self.assertEqual(self.browser.text(self.at + ".movie code"), "p = m.permute({1, 0})")
        self.assertEqual(len(self.browser.all(self.at + ".jump")), 5)
        self.photograph("widget-movie")

    def test_it_plays_element_by_element_and_pauses(self):
        page = SITE / "02_tensors.html"
        self.browser.open(page)
        self.browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-reduced-motion", "value": "no-preference"}]})
        self.browser.driver.refresh()
        self.browser.run("document.documentElement.style.scrollBehavior = 'auto'")
        self.at = '[data-widget="02_movie"] '
        self.press_button("3")
        self.assertEqual(len(self.browser.all(self.at + ".dim")), 6)
        self.press_button("Play")
        self.browser.wait(f"return document.querySelectorAll('{self.at} .dim').length < 6")
        self.press_button("Pause")
        self.press_button("3")
        for read, (position, value) in enumerate([(0, 11), (3, 21), (1, 12)], start=1):
            self.press_button("Next")
            self.assertEqual(self.browser.text(self.at + "[role=status]"), f"Element {read} of 6 is at position {position}: {value}")
            self.assertEqual(self.browser.texts(self.at + ".strip .lit small"), [str(position)])
            self.assertEqual(len(self.browser.all(self.at + ".dim")), 6 - read)
            self.assertEqual(len(self.browser.all(self.at + ".jump")), read - 1)


class BroadcastTest(WidgetCase):
    """Chapter 3."""

    def setUp(self):
        self.open("03_broadcasting", "03_broadcast")

    def shapes(self, a, b):
        for n, text in enumerate([a, b]):
            self.type(f"label:nth-of-type({n + 1}) input", text)

    def grid(self, n):
        return self.browser.texts(self.at + f"figure:nth-of-type({n}) .cell")

    def test_the_table_is_the_chapters_and_points_at_what_is_read(self):
        self.assertEqual(" ".join(self.grid(3)), "11 12 13 14 21 22 23 24 31 32 33 34")
        self.browser.focus(self.at + "figure:nth-of-type(3) .cell")
        self.browser.press("Down", "Right", "Right")
        self.assertEqual(self.browser.text(self.at + ".widget-status"), "result[1, 2] = A[1, 0] + B[2] = 20 + 3 = 23")
        self.assertEqual(self.browser.texts(self.at + ".lit"), ["20", "3", "23"])
        self.browser.hover(self.at + "figure:nth-of-type(1) .cell:nth-child(2)")
        self.assertEqual(self.browser.texts(self.at + ".lit"), ["20", "21", "22", "23", "24"])
        self.assertEqual(self.browser.text(self.at + ".widget-status"), "A[1, 0] = 20 is read 4 times")
        self.photograph("widget-broadcast")

    def test_shapes_that_do_not_fit_get_wefts_message_and_the_axis_is_marked(self):
        self.press_button("refused")
        problem = self.browser.text(self.at + "[role=alert]")
        self.assertIn(f"refused: {problem}\n", "".join(outputs("03_broadcasting")))
        self.assertEqual(self.browser.texts(self.at + "td.refused"), ["5", "3", "refused", "✗"])
        self.assertEqual(self.browser.all(self.at + ".cell"), [])
        self.shapes("8, 3, 4, 5", "3, 1, 1")
        self.assertEqual(self.browser.text(self.at + "[role=alert]"), "")
        self.assertIn("(8, 3, 4, 5) and (3, 1, 1) give (8, 3, 4, 5). Its 480 elements are too many to draw",
                      self.browser.text(self.at + ".broadcast-result"))
        self.assertEqual(self.browser.all(self.at + ".cell"), [])

    def test_the_silent_trap_and_its_way_out(self):
        printed = "".join(outputs("03_broadcasting"))
        for name, title in [("t − mean(t, 1)", "without"), ("with keepdim", "with")]:
            self.press_button(name)
            table, means = re.search(rf"^{title} keepdim\n(.*?\]\])\nmeans of the towns \[(.*?)\]", printed,
                                     re.DOTALL | re.MULTILINE).groups()
            self.assertEqual([float(c.replace("−", "-")) for c in self.grid(3)], [float(n) for n in re.findall(r"-?\d+", table)])
            said = self.browser.text(self.at + ".broadcast-result").replace("−", "-")
            self.assertEqual([float(n) for n in re.findall(r"-?\d+\.?\d*", said.partition("rows: ")[2].strip("."))],
                             [float(n) for n in means.split()])
        self.shapes("4, 3", "4")  # three seasons
        self.assertIn(f"refused: {self.browser.text(self.at + '[role=alert]')}\n", printed)

    def test_bad_shapes_get_a_message_and_odd_ones_a_result(self):
        for bad, why in [("abc", "not a list of whole numbers"), ("NaN", "not a list"), ("1e9", "not a list"), ("-1, 3", "negative"),
                         ("1.5", "not a list"), ("1,1,1,1,1,1,1,1,1", "at most 8"), ("<b>", "not a list"),
                         ("999999999, 999999999, 999999999", "63 bits")]:
            self.shapes(bad, "4")
            self.assertIn(why, self.browser.text(self.at + "[role=alert]"), bad)
        for a, b, said in [("0, 4", "1", "give (0, 4). It has no elements."), ("1000000000, 1", "4", "too many to draw"),
                           ("()", "()", "() and () give ().")]:
            self.shapes(a, b)
            self.assertEqual(self.browser.text(self.at + "[role=alert]"), "")
            self.assertIn(said, self.browser.text(self.at + ".broadcast-result"))
        self.assertEqual(self.grid(3), ["11"])
