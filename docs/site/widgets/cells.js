// Tensors and memory as rows of cells.
import { element, gridKeys, svg } from "./common.js";
import { indices } from "./tensors.js";

const ARC = 30;

// From blue through white to orange, for the i-th of n values; black text can be read on each.
export function shade(i, n) {
    const share = n > 1 ? i / (n - 1) : 0;
    const [from, to, t] = share < 0.5 ? [[150, 196, 232], [240, 240, 232], 2 * share] : [[240, 240, 232], [252, 186, 118], 2 * share - 1];
    return `rgb(${from.map((v, k) => Math.round(v + (to[k] - v) * t)).join(", ")})`;
}

// A cell with a text. With `point` it is a button with a name, and point(true or false) tells whether the reader is at it.
export function cell(content, { fill, label, point, small } = {}) {
    const inner = small === undefined ? [content] : [content, element("small", {}, small)];
    const style = fill ? `background: ${fill}; color: #222` : false;
    if (!point) return element("span", { class: "cell", style }, inner);
    const at = () => point(true), away = () => point(false);
    return element("button", { type: "button", class: "cell", style, "aria-label": label,
                               onmouseenter: at, onmouseleave: away, onfocus: at, onblur: away, onclick: at }, inner);
}

// The cells of a shape, in its row-major order: the last two axes as tables, one for each index of the axes before them.
export function table(shape, cells, name) {
    const columns = shape.at(-1) ?? 1, rows = shape.at(-2) ?? 1;
    const tables = indices(shape.slice(0, -2)).map((index, t) => element("div", { class: "cells-table" },
        index.length ? element("span", { class: "cells-index" }, `[${index.join(", ")}]`) : "",
        element("div", { class: "cells", style: `grid-template-columns: repeat(${Math.max(columns, 1)}, auto)` },
            cells.slice(t * rows * columns, (t + 1) * rows * columns))));
    const whole = element("div", { class: "cells-tables widget-scroll", role: "group", "aria-label": name }, tables);
    gridKeys(whole, () => Array.from({ length: columns > 0 ? cells.length / columns : 0 },
        (_, r) => cells.slice(r * columns, (r + 1) * columns)));
    return whole;
}

// Memory in one row, with the jumps of a reader who goes through the positions `read`: forwards above, backwards below.
export function strip(letter, cells, read, width = 44) {
    const length = cells.length * width, middle = (at) => width * (at + 0.5), jumps = [svg("g", {}), svg("g", {})];
    let farthest = 1;
    for (let i = 1; i < read.length; ++i) farthest = Math.max(farthest, Math.abs(read[i] - read[i - 1]));
    const height = Math.min(ARC, 8 + 5 * farthest);
    if (read.length) jumps[0].append(svg("circle", { cx: middle(read[0]), cy: height - 4, r: 3.5 }));
    for (let i = 1; i < read.length; ++i) {
        if (read[i] === read[i - 1]) continue;
        const back = read[i] < read[i - 1], inset = back ? -4 : 4, [from, to] = [middle(read[i - 1]) + inset, middle(read[i]) - inset];
        const y = (v) => (back ? v : height - v), tip = 2;
        jumps[back ? 1 : 0].append(
            svg("path", { d: `M${from} ${y(tip)}Q${(from + to) / 2} ${y(2 * height - 6)} ${to} ${y(tip + 4)}`, class: "jump" }),
            svg("path", { d: `M${to} ${y(tip)}l-3.5 ${back ? 6 : -6}h7Z` }));
    }
    const drawn = (g) => svg("svg", { viewBox: `0 0 ${length} ${height}`, width: length, height, "aria-hidden": "true" }, g);
    const row = element("div", { class: "cells", style: `grid-template-columns: repeat(${cells.length}, ${width}px)` }, cells);
    gridKeys(row, () => [cells]);
    return element("div", { class: "strip widget-scroll" }, element("b", { class: "strip-letter" }, letter),
        element("div", { style: `width: ${length}px; flex: none`, role: "group", "aria-label": `storage ${letter}` },
            drawn(jumps[0]), row, drawn(jumps[1])));
}
