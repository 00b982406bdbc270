// Chapter 3: two shapes that the reader writes, aligned from the right; the shape of the result, or the error; and which
// element of each is read.
import { choice, element, form, frame, show } from "./common.js";
import { cell, shade, table } from "./cells.js";
import { broadcastShapes, checked, contiguousStrides, indices, numel, position, readList, text } from "./tensors.js";

const LIMIT = 64;  // elements that are drawn
const COMPUTE = { add: (a, b) => a + b, multiply: (a, b) => a * b, subtract: (a, b) => a - b };
const SIGN = { add: "+", multiply: "·", subtract: "−" };
const TEMPERATURES = [-2, 6, 12, 4, 3, 11, 19, 7, 10, 16, 22, 12, 16, 20, 25, 19];  // four towns, four seasons
const TRAP = { op: "subtract", A: "t", B: "mean", a: TEMPERATURES, b: [5, 10, 15, 20] };
export const EXAMPLES = [
    { title: "column + row", op: "add", shapes: ["3, 1", "4"], say: "The column is read again for each column, the row for each row." },
    { title: "images · factors", op: "multiply", shapes: ["8, 3, 4, 5", "3, 1, 1"],
      say: "Eight images with three colours: with the shape (3, 1, 1) the factors meet the colours." },
    { title: "refused", op: "multiply", shapes: ["8, 3, 4, 5", "3"], say: "With the shape (3,) the factors meet the columns of pixels." },
    { title: "t − mean(t, 1)", shapes: ["4, 4", "4"], ...TRAP,
      say: "The silent trap: t holds a row for each town. There is no error, but the mean of town 1 is subtracted from season 1 of " +
          "every town, and the towns' means are not 0." },
    { title: "with keepdim", shapes: ["4, 4", "4, 1"], ...TRAP, say: "With keepdim the means are a column: each town less its own mean." },
];

// The two rules, axis by axis from the right: { axis, m, n, verdict }.
export function walk(a, b) {
    return Array.from({ length: Math.max(a.length, b.length) }, (_, i) => {
        const m = a.at(-i - 1) ?? 1, n = b.at(-i - 1) ?? 1;
        return { axis: -i - 1, m, n, verdict: m === n ? "equal" : m === 1 || n === 1 ? "the 1 stretches" : "refused" };
    });
}

// A shape that was typed.
export function readShape(name, typed) {
    const shape = checked(readList(name, typed, "3, 1"));
    if (shape.some((size) => size < 0)) throw new Error(`${name}: negative size in shape ${text(shape)}; use sizes of 0 or more`);
    if (numel(shape) >= 2 ** 63) throw new Error(`shape: the product of ${text(shape)} does not fit in 63 bits; use smaller sizes`);
    return shape;
}

// Which element of an operand (its place in row-major order) each element of the result reads.
export function reads(own, shape) {
    const strides = contiguousStrides(own), added = shape.length - own.length;
    const stretched = { offset: 0, strides: shape.map((_, k) => (k < added || own[k - added] === 1 ? 0 : strides[k - added])) };
    return indices(shape).map((index) => position(stretched, index));
}

// The values of the operands: the example's where they fit, and otherwise 10, 20, 30, … and 1, 2, 3, …
export function values(shape, given, factor) {
    return given?.length === numel(shape) ? given : Array.from({ length: numel(shape) }, (_, i) => factor * (i + 1));
}

export function compute(op, a, b, fromA, fromB) {
    return fromA.map((i, k) => COMPUTE[op](a[i], b[fromB[k]]));
}

export function rowMeans(y, n) {
    return Array.from({ length: y.length / n }, (_, r) => y.slice(r * n, (r + 1) * n).reduce((sum, v) => sum + v, 0) / n);
}

export function mount(node) {
    let example = EXAMPLES[0];
    const said = element("p", { class: "broadcast-say" }), result = element("p", { class: "broadcast-result", role: "status" });
    const aligned = element("div", { class: "widget-scroll" }), grids = element("div", { class: "broadcast-grids" });
    const pointed = element("p", { class: "widget-status" });
    const fields = form(["A", "B"].map((name, i) => ({
        label: `Shape of ${name}`, value: example.shapes[i], read: (typed) => readShape(name, typed) })), draw);

    function align(a, b, axes) {
        const missing = () => element("i", { title: "missing: counts as 1" }, "1");
        const padded = (shape) => axes.map(({ axis }) => (axis < -shape.length ? missing() : String(shape.at(axis))));
        const row = (name, list) => element("tr", {}, element("th", { scope: "row" }, name),
            list.map((value, k) => element("td", { class: axes[k].verdict === "refused" && "refused" }, value)));
        const verdicts = axes.map(({ verdict }) => verdict);
        const out = axes.map(({ m, n, verdict }) => (verdict === "refused" ? "✗" : String(m === 1 ? n : m)));
        aligned.replaceChildren(element("table", { class: "broadcast-axes" },
            element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "axis"),
                axes.map(({ axis }) => element("th", { scope: "col" }, String(axis).replace("-", "−"))))),
            element("tbody", {}, row("A", padded(a)), row("B", padded(b)), row("", verdicts), row("result", out))));
        aligned.scrollLeft = aligned.scrollWidth;  // the last axes count
    }
    function draw(a, b) {
        const axes = walk(a, b).reverse(), op = example.op;
        align(a, b, axes);
        grids.replaceChildren();
        pointed.textContent = result.textContent = "";
        said.textContent = fields.inputs.every((input, i) => input.value === example.shapes[i]) ? example.say : "";
        const shape = broadcastShapes(a, b, op), count = numel(shape);
        const undrawn = count > LIMIT ? ` Its ${count} elements are too many to draw; at most ${LIMIT} are drawn.` : "";
        result.textContent = `${text(a)} and ${text(b)} give ${text(shape)}.${count === 0 ? " It has no elements." : undrawn}`;
        if (count > 0 && count <= LIMIT) elements(a, b, shape, op);
    }
    function elements(a, b, shape, op) {
        const from = [reads(a, shape), reads(b, shape)], x = [values(a, example.a, 10), values(b, example.b, 1)];
        const y = compute(op, ...x, ...from), names = [example.A ?? "A", example.B ?? "B"], all = indices(shape);
        const colour = (i) => shade(i, x[1].length), bracket = (index) => `[${index.join(", ")}]`;
        const own = [indices(a), indices(b)];
        const operand = (which) => x[which].map((value, i) => cell(show(value), {
            fill: which === 1 && colour(i), label: `${names[which]}${bracket(own[which][i])} = ${show(value)}`,
            point: (here) => {
                const readers = all.flatMap((_, k) => (from[which][k] === i ? [k] : []));
                light(here, which === 0 ? [i] : [], which === 1 ? [i] : [], readers,
                    `${names[which]}${bracket(own[which][i])} = ${show(value)} is read ` +
                    (readers.length === 1 ? "once" : `${readers.length} times`));
            } }));
        const sentence = (k) => {
            const [i, j] = [from[0][k], from[1][k]];
            const [p, q] = [x[0][i], x[1][j]].map((v) => (v < 0 ? `(${show(v)})` : show(v)));
            return `result${bracket(all[k])} = ${names[0]}${bracket(own[0][i])} ${SIGN[op]} ${names[1]}${bracket(own[1][j])} = ` +
                `${p} ${SIGN[op]} ${q} = ${show(y[k], 6)}`;
        };
        const sets = [operand(0), operand(1), y.map((value, k) => cell(show(value, 6), {
            fill: colour(from[1][k]), label: sentence(k),
            point: (here) => light(here, [from[0][k]], [from[1][k]], [k], sentence(k)) }))];
        function light(here, ofA, ofB, ofResult, sentence) {
            [ofA, ofB, ofResult].forEach((lit, s) => sets[s].forEach((e, i) => e.classList.toggle("lit", here && lit.includes(i))));
            pointed.textContent = here ? sentence : "";
        }
        const grid = (name, of, s) =>
            element("figure", {}, element("figcaption", {}, `${name} ${text(of)}`), table(of, sets[s], name));
        const sign = (of) => element("b", {}, of);
        grids.append(grid(names[0], a, 0), sign(SIGN[op]), grid(names[1], b, 1), sign("="), grid("result", shape, 2));
        if (example.a === x[0] && shape.length === 2) {
            const means = rowMeans(y, shape[1]);
            result.textContent += ` Means of the rows: ${means.map((v) => show(v)).join(", ")}.`;
        }
    }

    frame(node, "Broadcasting: write two shapes, then point at an element",
        choice("Example", EXAMPLES.map(({ title }) => title), 0, (index) => {
            example = EXAMPLES[index];
            fields.set(...example.shapes);
        }),
        element("div", { class: "widget-row" }, fields.labels), fields.problem, said, aligned, result, grids, pointed);
    fields.update();
}
