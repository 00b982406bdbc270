"""The widgets' arithmetic, in node: it gives what the chapters' programs print, and agrees with NumPy."""
import random
import re
import unittest

import numpy as np

from widget_case import ROOT, in_node, outputs


def refused(expression):
    return f"(() => {{ try {{ {expression}; return null; }} catch (e) {{ return e.message; }} }})()"


class GraphNumbers(unittest.TestCase):
    """Chapter 4."""

    def test_the_ledger_is_the_chapters(self):
        rows = in_node("04_graph", """(() => {
            const nodes = w.graph(), v = w.forward(nodes, { a: 2, b: 5, w: 3 }), order = w.visits(nodes);
            return w.ledger(nodes, w.terms(nodes, v, order), order); })()""")
        printed = next(block for block in outputs("04_backward") if block.startswith("node"))
        expected = [re.split(r"  +", line) for line in printed.splitlines()[1:]]
        self.assertEqual([[to, source, f"{value:g}"] for to, source, value in rows], expected)

    def test_both_orders_give_what_the_chapter_prints(self):
        printed = next(block for block in outputs("04_backward") if "x + h, breadth first" in block)
        lines = [line for line in printed.splitlines() if "recursive" not in line]  # the widget has the other two
        self.assertEqual(len(lines), 4)
        for line in lines:
            title, order, da, db, dw = re.match(r"(.*?)  +([a-z](?: [a-z])*)  +da (\S+), db (\S+), dw (\S+)", line).groups()
            found = in_node("04_graph", """(() => {
                const nodes = w.graph(x.swapped), v = w.forward(nodes, { a: 2, b: 5, w: 3 }), order = w.visits(nodes, x.breadth);
                const passed = w.terms(nodes, v, order);
                const total = (name) => passed.filter((t) => t.to === name).reduce((sum, t) => sum + t.value, 0);
                return [order, total("a"), total("b"), total("w")]; })()""",
                            {"swapped": "h + x" in title, "breadth": "breadth" in title})
            self.assertEqual(found, [order.split(), float(da), float(db), float(dw)], title)

    def test_gradients_of_other_values_are_those_of_the_formula(self):
        draw = random.Random(4)
        leaves = [{name: round(draw.uniform(-9, 9), 2) for name in "abw"} for _ in range(20)]
        found = in_node("04_graph", """x.map((leaves) => {
            const nodes = w.graph(), order = w.visits(nodes), passed = w.terms(nodes, w.forward(nodes, leaves), order);
            return ["a", "b", "w"].map((name) => passed.filter((t) => t.to === name).reduce((sum, t) => sum + t.value, 0)); })""",
                        leaves)
        for leaf, gradients in zip(leaves, found):
            a, b, w = leaf["a"], leaf["b"], leaf["w"]  # y = ab + wab
            np.testing.assert_allclose(gradients, [(1 + w) * b, (1 + w) * a, a * b], rtol=1e-12)


class TensorNumbers(unittest.TestCase):
    """Chapter 2."""

    def test_the_movie_is_the_chapters(self):
        movie = in_node("02_movie", "w.print(w.frames())")
        printed = [block for block in outputs("02_tensors") if re.match(r"[15]\. (m|c) =", block)]
        self.assertEqual("\n".join(movie), "\n".join(printed))

    def test_expand_and_the_refused_view_are_the_chapters(self):
        x = in_node("tensors", "w.operations.expand(w.operations.select(w.tensor([2, 3], [0, 0, 0, 0, 0, 0]), [0, 1]), [2, 3])")
        block = next(block for block in outputs("02_tensors") if "4. m[1].expand" in block)
        self.assertIn("shape (2, 3), strides (0, 1), not contiguous", block)
        self.assertEqual((x["shape"], x["strides"], x["offset"]), ([2, 3], [0, 1], 3))
        message = in_node("02_strides", refused(
            'w.apply("view", { memory: [11, 12, 13, 21, 22, 23], shape: [3, 2], strides: [1, 3], offset: 0 }, "6")'))
        self.assertIn("   refused: " + message + "\n", "".join(outputs("02_tensors")))

    def test_chains_of_operations_agree_with_numpy(self):
        draw, chains = random.Random(2), []
        for _ in range(200):
            shape = [draw.choice([1, 2, 3, 4]) for _ in range(draw.randint(1, 3))]
            y = np.arange(np.prod(shape), dtype=np.int64).reshape(shape)
            base, chain = y, []
            for _ in range(6):
                step, z = self.step(draw, y)
                if z.size > 200 or z.size == 0 or z.ndim > 6:
                    continue
                copied = not np.shares_memory(z, base)
                if copied:
                    base = z
                y = z
                offset = (z.__array_interface__["data"][0] - base.__array_interface__["data"][0]) // 8
                # the stride of an axis of size 1 does not matter
                strides = [stride // 8 if size > 1 else None for stride, size in zip(z.strides, z.shape)]
                chain.append([step, list(z.shape), strides, offset, copied, z.ravel().tolist()])
            chains.append([shape, chain])
        found = in_node("tensors", """x.map(([shape, chain]) => {
            let t = w.tensor(shape, Array.from({ length: w.numel(shape) }, (_, i) => i));
            return chain.map(([[name, list]]) => {
                const before = t;
                t = w.operations[name](t, list);
                return [t.shape, t.strides.map((s, i) => (t.shape[i] > 1 ? s : null)), t.offset, t.memory !== before.memory,
                        w.positions(t).map((p) => t.memory[p])];
            }); })""", chains)
        copies = 0
        for (shape, chain), results in zip(chains, found):
            for (step, *expected), result in zip(chain, results):
                self.assertEqual(result, expected, (shape, [s for s, *_ in chain]))
                copies += result[3]
        self.assertGreater(copies, 20)

    def step(self, draw, y):
        """An operation that NumPy has too, and what NumPy makes of it."""
        kind = draw.choice(["transpose", "reshape", "slice", "select", "expand", "transpose", "contiguous"])
        axis = draw.randrange(y.ndim) if y.ndim else None
        if kind == "transpose" and y.ndim:
            other = draw.randrange(-y.ndim, y.ndim)
            return [kind, [axis, other]], np.swapaxes(y, axis, other)
        if kind == "slice" and y.ndim:
            start, end = draw.randint(-5, 5), draw.randint(-5, 5)
            return [kind, [axis, start, end]], y[(slice(None),) * axis + (slice(start, end),)]
        if kind == "select" and y.ndim > 1:
            index = draw.randrange(y.shape[axis])
            return [kind, [axis, index]], y[(slice(None),) * axis + (index,)]
        if kind == "expand":
            shape = [draw.choice([2, 3]) if size == 1 else size for size in y.shape]
            return [kind, shape], np.lib.stride_tricks.as_strided(
                y, shape, [0 if size == 1 else stride for size, stride in zip(y.shape, y.strides)])
        if kind == "contiguous":
            return [kind, []], np.ascontiguousarray(y).reshape(y.shape)
        sizes = [1] * draw.randint(0, 1)
        rest = y.size
        for factor in [2, 2, 3, 3]:
            if rest % factor == 0 and draw.random() < 0.6:
                sizes.append(factor)
                rest //= factor
        sizes.append(rest)
        draw.shuffle(sizes)
        return ["reshape", sizes], y.reshape(sizes)

    def test_refusals_are_messages_of_weft(self):
        page = (ROOT / "docs/errors.md").read_text(encoding="utf-8")
        templates = [re.compile(".*".join(map(re.escape, part.split("…"))) + "$")
                     for line in page.splitlines() if line.startswith("| `")
                     for part in re.findall(r"`([^`]*)`", line.split(" | ")[0])]
        tried = [["reshape", [4, 2]], ["reshape", [0]], ["reshape", [-1, -1]], ["reshape", [-1, 4]], ["reshape", [-2, 3]],
                 ["reshape", [-1, 0]], ["reshape", [10 ** 9, 10 ** 9, 10 ** 9]], ["reshape", [1] * 9], ["view", [5]],
                 ["transpose", [0, 2]], ["slice", [5, 0, 1]], ["select", [0, 2]], ["select", [-3, 0]], ["expand", [3]],
                 ["expand", [4, 3]], ["expand", [-1, 2, 3]], ["expand", [2, -5]]]
        messages = in_node("tensors", "x.map(([name, list]) => " + refused(
            "w.operations[name](w.tensor([2, 3], [1, 2, 3, 4, 5, 6]), list)") + ")", tried)
        for step, message in zip(tried, messages):
            self.assertIsNotNone(message, step)
            self.assertTrue(any(template.search(message) for template in templates), message)
        self.assertEqual(messages[9], "transpose: axis 2 is out of range for rank 2; use -2 to 1")


class BroadcastNumbers(unittest.TestCase):
    """Chapter 3."""

    def test_the_walks_and_refusals_are_the_chapters(self):
        blocks = outputs("03_broadcasting")
        for shapes in [[[8, 3, 4, 5], [3, 1, 1]], [[8, 3, 4, 5], [3]]]:
            walk = in_node("03_broadcast", "w.walk(...x)", shapes)
            text = "".join(f"  axis {s['axis']}: {s['m']} and {s['n']}: {s['verdict']}\n" for s in walk)
            self.assertTrue(any(block.endswith(text) for block in blocks), text)
        for operation, shapes in [("multiply", [[8, 3, 4, 5], [3]]), ("subtract", [[4, 3], [4]])]:
            message = in_node("tensors", refused(f'w.broadcastShapes(...x, "{operation}")'), shapes)
            self.assertTrue(any(f"refused: {message}\n" in block for block in blocks), message)

    def test_the_examples_give_the_chapters_numbers(self):
        blocks = "\n".join(outputs("03_broadcasting"))
        found = in_node("03_broadcast", """w.EXAMPLES.filter((e) => x.includes(e.title)).map((e) => {
            const [a, b] = e.shapes.map((s) => s.split(", ").map(Number)), shape = [a[0], b[b.length - 1] === 1 ? a[1] : b[b.length - 1]];
            const y = w.compute(e.op, w.values(a, e.a, 10), w.values(b, e.b, 1), w.reads(a, shape), w.reads(b, shape));
            return [shape, y, w.rowMeans(y, shape[1])]; })""", ["column + row", "t − mean(t, 1)", "with keepdim"])
        numbers = lambda text: [float(n) for n in re.findall(r"-?\d+\.?\d*", text)]
        table, wrong, right = re.search(r"(\[\[11 12.*?\]\]).*?without keepdim\n(.*?\]\]).*?with keepdim\n(.*?\]\])", blocks,
                                        re.DOTALL).groups()
        for (shape, y, _), printed in zip(found, [table, wrong, right]):
            self.assertEqual(y, numbers(printed))
            self.assertEqual(np.prod(shape), len(y))
        means = [numbers(m) for m in re.findall(r"means of the towns (\[.*?\])", blocks)]
        self.assertEqual([found[1][2], found[2][2]], means)

    def test_shapes_and_what_is_read_agree_with_numpy(self):
        draw = random.Random(3)
        pairs = [[[draw.choice([1, 1, 2, 3, 0]) for _ in range(draw.randint(0, 3))] for _ in range(2)] for _ in range(300)]
        shapes = []
        for a, b in pairs:
            try:
                shapes.append(list(np.broadcast_shapes(tuple(a), tuple(b))))
            except ValueError:
                shapes.append(None)
        self.assertTrue(30 < shapes.count(None) < 250, shapes.count(None))
        self.assertEqual(in_node("tensors", """x.map(([a, b]) => {
            try { return w.broadcastShapes(a, b, "add"); } catch { return null; } })""", pairs), shapes)
        fitting = [(own, shape) for pair, shape in zip(pairs, shapes) if shape is not None for own in pair]
        self.assertEqual(in_node("03_broadcast", "x.map(([own, shape]) => w.reads(own, shape))", fitting),
                         [np.broadcast_to(np.arange(np.prod(own, dtype=int)).reshape(own), shape).ravel().tolist()
                          for own, shape in fitting])


class NumberFields(unittest.TestCase):
    """What a reader types."""

    def test_numbers_are_read_as_a_person_writes_them(self):
        texts = ["2", " -0.5 ", "−3", "1e3", ".5", "2,5", "7."]
        self.assertEqual(in_node("common", 'x.map((t) => w.readNumber("a", t))', texts), [2, -0.5, -3, 1000, 0.5, 2.5, 7])

    def test_what_is_no_number_gets_a_message_with_the_fix(self):
        tried = [("abc", "is not a number"), ("", "is not a number"), ("NaN", "is not a number"), ("Infinity", "is not"),
                 ("1e9", "is out of range"), ("-1e308", "is out of range"), ("1e999", "is out of range"),
                 ("0x10", "is not a number"), ("1 2", "is not a number"), ("9" * 400, "is out of range")]
        messages = in_node("common", "x.map((t) => " + refused('w.readNumber("a", t)') + ")", [text for text, _ in tried])
        for (_, why), message in zip(tried, messages):
            self.assertRegex(message, f"^a: .*{why}.*\\. Write a number from −1000000 to 1000000\\.$")
            self.assertLess(len(message), 120)

    def test_lists_are_read_with_and_without_brackets(self):
        texts = ["3, 2", "(3, 2)", "{3,2}", "[3 2]", "3x2", "(3,)", "()", "", "−1, 2"]
        self.assertEqual(in_node("tensors", 'x.map((t) => w.readList("shape", t, "3, 2"))', texts),
                         [[3, 2]] * 5 + [[3], [], [], [-1, 2]])
        tried = ["abc", "NaN", "3,,2", "1.5", "1e9", "3; 2", "<b>", "9" * 40]
        for message in in_node("tensors", "x.map((t) => " + refused('w.readList("shape", t, "3, 2")') + ")", tried):
            self.assertRegex(message, "^shape: “.*” is not a list of whole numbers. Write them with commas, for example 3, 2.$")

    def test_numbers_are_written_with_few_digits(self):
        found = in_node("common", "x.map((v) => w.show(v)).concat([w.show(NaN), w.show(-Infinity), w.show(1e-9)])",
                        [0, -2.5, 1 / 3, 12345.678, 1e18, -0.00001])
        self.assertEqual(found, ["0", "−2.5", "0.3333", "12350", "1e18", "−1e−5", "NaN", "−∞", "1e−9"])
