// Softmax with and without the factor 1/√d_k, on the draws of the chapter's program: N samples of T queries and T keys.
import { element, frame, show, statusLine, svg } from "./common.js";
import { normalAt, softmax, sum } from "./numbers.js";

export const N = 64, T = 16;
const WIDTHS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024], ROOTS = "¼ ½ 1 2 4 8 16 32".split(" ");

// q·k of one sample, T × T. The program draws q (N, T, d_k) first, then k, both standard normal.
export function dotsOf(sample, d_k, seed = 1) {
    const block = (first) => Array.from({ length: T }, (_, t) =>
        Array.from({ length: d_k }, (_, c) => normalAt(seed, first + (sample * T + t) * d_k + c)));
    const q = block(0), k = block(N * T * d_k);
    return q.map((query) => k.map((key) => query.reduce((total, x, c) => total + x * key[c], 0)));
}

// The gradient of the loss with respect to the weights, of one sample: T × T, drawn after q and k.
export function weightGradientsOf(sample, d_k, seed = 1) {
    const first = 2 * N * T * d_k + sample * T * T;
    return Array.from({ length: T }, (_, i) => Array.from({ length: T }, (_, j) => normalAt(seed, first + i * T + j)));
}

// How many keys a query uses: e to the entropy of its weights.
export const keysUsed = (weights) => Math.exp(-sum(weights.map((w) => (w > 0 ? w * Math.log(w) : 0))));

// The gradient at the scores, ds = w (dw − Σ w dw).
export function throughSoftmax(weights, dw) {
    const mean = sum(weights.map((w, j) => w * dw[j]));
    return weights.map((w, j) => w * (dw[j] - mean));
}

// One query, whose scores are q·k · factor.
export function measureQuery(dots, dw, factor) {
    const weights = softmax(dots.map((dot) => dot * factor));
    return { weights, top: Math.max(...weights), keys: keysUsed(weights), gradient: Math.hypot(...throughSoftmax(weights, dw)) };
}

// All queries: the variance of the scores, and the means of the rest.
export function measure(dots, dw, factor) {
    const queries = dots.map((row, i) => measureQuery(row, dw[i], factor)), scores = dots.flat().map((dot) => dot * factor);
    const mean = sum(scores) / scores.length, average = (name) => sum(queries.map((query) => query[name])) / queries.length;
    return { variance: sum(scores.map((s) => (s - mean) ** 2)) / (scores.length - 1), top: average("top"), keys: average("keys"),
             gradient: average("gradient") };
}

const PANELS = [["q·k as it is", () => 1], ["q·k / √d_k", (d_k) => 1 / Math.sqrt(d_k)]];

// The weights of a query as T bars.
function bars(title) {
    const rects = Array.from({ length: T }, (_, j) => svg("rect", { x: 26 + 15 * j, width: 12 }));
    const lines = [[0, 100], [0.5, 55], [1, 10]].flatMap(([value, y]) => [
        svg("line", { x1: 24, x2: 266, y1: y, y2: y }), svg("text", { x: 20, y: y + 4, "text-anchor": "end" }, String(value))]);
    const keys = [1, 4, 8, 12, 16].map((j) => svg("text", { x: 17 + 15 * j, y: 114, "text-anchor": "middle" }, String(j)));
    const picture = svg("svg", { viewBox: "0 0 270 118", role: "img", "aria-label": title }, lines, rects, keys);
    const draw = (weights) => {
        rects.forEach((rect, j) => {
            const height = Math.max(90 * weights[j], 0.5);
            rect.setAttribute("y", 100 - height);
            rect.setAttribute("height", height);
        });
        const top = weights.indexOf(Math.max(...weights));
        picture.setAttribute("aria-label", `${title}: weights of 16 keys, the largest ${weights[top].toFixed(2)} for key ${top + 1}`);
    };
    return { picture, draw };
}

function slider(label, max, value, change) {
    const shown = element("output"), input = element("input", { type: "range", min: 0, max, value, oninput: change });
    const say = (text) => {
        shown.textContent = text;
        input.setAttribute("aria-valuetext", text);
    };
    const whole = element("label", { class: "keys-slider" }, element("span", {}, label), input, shown);
    return { label: whole, at: () => Number(input.value), say };
}

export function mount(node) {
    const width = slider("d_k", WIDTHS.length - 1, 6, draw), temperature = slider("temperature", ROOTS.length - 1, 2, draw);
    const query = slider("query", T - 1, 0, draw), status = statusLine();
    const panels = PANELS.map(([name, factor]) => {
        const shown = bars(name), text = element("p"), cells = Array.from({ length: 4 }, () => element("td"));
        const row = element("tr", {}, element("th", { scope: "row" }, name), cells);
        const box = element("div", {}, element("p", { class: "keys-name" }, name), shown.picture, text);
        return { factor, shown, text, cells, row, box };
    });
    const caption = element("caption");
    const head = ["", "variance", "top", "keys", "gradient"].map((name) => element("th", { scope: "col" }, name));
    const table = element("table", { class: "keys-table" }, caption, element("thead", {}, element("tr", {}, head)),
                          element("tbody", {}, panels.map((panel) => panel.row)));
    const drawn = new Map();  // d_k → { dots, dw }, rows of the samples so far

    // The next samples of this width; the rest follows when the page has been drawn.
    function more(d_k) {
        if (!drawn.has(d_k)) drawn.set(d_k, { dots: [], dw: [] });
        const rows = drawn.get(d_k), first = rows.dots.length / T, end = Math.min(N, first + Math.max(1, 512 / d_k));
        for (let sample = first; sample < end; ++sample) {
            rows.dots.push(...dotsOf(sample, d_k));
            rows.dw.push(...weightGradientsOf(sample, d_k));
        }
        return rows;
    }

    function draw() {
        const d_k = WIDTHS[width.at()], tau = 2 ** (temperature.at() - 2), i = query.at();
        width.say(String(d_k));
        temperature.say(ROOTS[temperature.at()]);
        query.say(`${i + 1} of ${T}`);
        const { dots, dw } = drawn.has(d_k) ? drawn.get(d_k) : more(d_k);
        for (const panel of panels) {
            const found = measureQuery(dots[i], dw[i], panel.factor(d_k) / tau);
            panel.shown.draw(found.weights);
            panel.text.textContent = `It uses ${found.keys.toFixed(1)} of ${T} keys; the largest weight is ${found.top.toFixed(2)}, ` +
                `the gradient ${found.gradient.toFixed(3)}.`;
        }
        table.setAttribute("aria-busy", "true");
        caption.textContent = `All ${N * T} queries at d_k = ${d_k}, temperature ${ROOTS[temperature.at()]}: …`;
        requestAnimationFrame(() => complete(d_k, tau));
    }

    function complete(d_k, tau) {
        if (d_k !== WIDTHS[width.at()] || tau !== 2 ** (temperature.at() - 2)) return;
        const rows = more(d_k);
        if (rows.dots.length < N * T) {
            setTimeout(() => complete(d_k, tau));
            return;
        }
        const found = panels.map((panel) => measure(rows.dots, rows.dw, panel.factor(d_k) / tau));
        found.forEach(({ variance, top, keys, gradient }, p) =>
            [show(variance, 3), top.toFixed(2), keys.toFixed(1), gradient.toFixed(3)].forEach((text, c) => {
                panels[p].cells[c].textContent = text;
            }));
        caption.textContent = `All ${N * T} queries at d_k = ${d_k}, temperature ${ROOTS[temperature.at()]}`;
        table.removeAttribute("aria-busy");
        status.textContent = `On average a query uses ${found[0].keys.toFixed(1)} of ${T} keys as it is, and ${found[1].keys.toFixed(1)} ` +
            "after the division by √d_k.";
    }

    frame(node, "Softmax at different widths",
          element("div", { class: "widget-row" }, width.label, temperature.label, query.label),
          element("div", { class: "keys-panels" }, panels.map((panel) => panel.box)),
          element("div", { class: "widget-scroll" }, table), status,
          element("p", { class: "keys-note" }, "The draws are those of the chapter's program with seed 1; its table gives the " +
              "medians of ten seeds. The scores are divided by the temperature before softmax."));
    draw();
}
