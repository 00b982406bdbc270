// Chapter 2: a tensor as storage and description. The reader applies operations; pointing at an element shows its position.
import { attempt, button, choice, element, form, frame, mark } from "./common.js";
import { cell, shade, strip, table } from "./cells.js";
import { indices, isContiguous, numel, operations, position, readList, tensor, text } from "./tensors.js";

const LIMIT = 64;  // elements that are drawn
const STARTS = [
    { name: "m", x: tensor([2, 3], [11, 12, 13, 21, 22, 23]) },
    { name: "x", x: tensor([3, 4], [11, 12, 13, 14, 21, 22, 23, 24, 31, 32, 33, 34]) },
];
// What each operation takes, and what stands in the field at first. A number of words is a number of numbers.
const TAKES = {
    transpose: { label: "axes", words: "two axes", count: 2, example: "0, 1" },
    reshape: { label: "shape", example: "3, 2" },
    view: { label: "shape", example: "6" },
    slice: { label: "axis, start, end", words: "axis, start and end", count: 3, example: "1, 1, 3" },
    select: { label: "axis, index", words: "axis and index", count: 2, example: "0, 1" },
    expand: { label: "shape", example: "2, 2, 3" },
    contiguous: { label: "", words: "nothing", count: 0, example: "" },
};

// The operation with what was typed: { name, code, x, copied }, or an error. `copied` if the result has memory of its own.
export function apply(name, x, typed) {
    const { count, words, example } = TAKES[name];
    const list = count === 0 ? [] : readList(name, typed, example);
    if (count !== undefined && list.length !== count)
        throw new Error(`${name}: it takes ${words}, not ${list.length} numbers. Write for example ${example}.`);
    const y = operations[name](x, list);
    if (numel(y.shape) > LIMIT)
        throw new Error(`${name}: ${text(y.shape)} has ${numel(y.shape)} elements, but this page draws at most ${LIMIT}. ` +
            "Choose smaller sizes.");
    const inner = list.join(", ");
    return { name, code: `.${name}(${count === undefined ? `{${inner}}` : inner})`, x: y, copied: y.memory !== x.memory };
}

// The description of a tensor, and where its values are.
export function describe({ name, x, copied }, letter) {
    const layout = `shape ${text(x.shape)}, strides ${text(x.strides)}, offset ${x.offset}, ${isContiguous(x) ? "" : "not "}contiguous`;
    if (!copied) return `${layout}; ${name ? "a view of " : ""}storage ${letter}`;
    const why = name === "reshape" ? "because no strides over the old storage give this shape" : "in the order in which they are read";
    return `${layout}; the values were copied to a new storage ${letter}, ${why}`;
}

// How the position of an element follows from its index.
export function sum(x, index) {
    const terms = index.map((i, k) => ` + ${i} · ${x.strides[k]}`).join("");
    return `[${index.join(", ")}]: position ${x.offset}${terms} = ${position(x, index)}`.replace(/-/g, "−");
}

export function mount(node) {
    let steps = [], start = 0;
    const code = element("p", { class: "strides-code" }), described = element("p"), said = element("p", { class: "widget-status" });
    const views = element("div"), memory = element("div"), problem = element("p", { class: "widget-problem", role: "alert" });
    const select = element("select", { "aria-label": "Operation", onchange: chosen },
        Object.keys(TAKES).map((name) => element("option", { value: name }, name)));
    const typed = element("input", { type: "text", autocomplete: "off", spellcheck: "false" });
    const label = element("span"), field = element("label", { class: "widget-field strides-field" }, label, typed);
    const starts = choice("Start with", STARTS.map(({ name, x }) => `${name} ${text(x.shape)}`), 0, begin);
    const undo = button("Undo", () => {
        if (steps.length > 1) steps.pop();
        draw();
    });

    function chosen() {
        const { label: name, example } = TAKES[select.value];
        label.textContent = name;
        typed.value = example;
        field.hidden = !name;
        attempt(() => {}, problem, typed);
    }
    function go(event) {
        event.preventDefault();
        const { x } = steps.at(-1);
        if (attempt(() => steps.push(apply(select.value, x, typed.value)), problem, typed)) draw();
    }
    function begin(index) {
        start = index;
        steps = [{ code: STARTS[index].name, x: STARTS[index].x }];
        draw();
    }
    function draw() {
        const { x } = steps.at(-1), copies = steps.filter((step) => step.copied).length;
        const letter = String.fromCharCode(65 + copies), all = indices(x.shape), at = all.map((index) => position(x, index));
        const ranks = [...new Set(STARTS[start].x.memory)], fill = (value) => shade(ranks.indexOf(value), ranks.length);
        code.replaceChildren(element("code", {}, steps.map((step) => step.code).join("")));
        described.textContent = describe(steps.at(-1), letter);
        undo.setAttribute("aria-disabled", String(steps.length === 1));
        const elements = all.map((index, i) => cell(x.memory[at[i]], {
            fill: fill(x.memory[at[i]]), label: `${sum(x, index)}, value ${x.memory[at[i]]}`,
            point: (here) => light(here, [i], at[i], `${sum(x, index)}, value ${x.memory[at[i]]}`) }));
        const places = x.memory.map((value, p) => {
            const readers = all.flatMap((_, i) => (at[i] === p ? [i] : []));
            const by = readers.length ? `read as ${readers.map((i) => `[${all[i].join(", ")}]`).join(" and ")}` : "not read by this view";
            return cell(value, { fill: fill(value), small: p, label: `position ${p}, value ${value}, ${by}`,
                                 point: (here) => light(here, readers, p, `position ${p}: value ${value}, ${by}`) });
        });
        function light(here, which, place, sentence) {
            elements.forEach((e, i) => e.classList.toggle("lit", here && which.includes(i)));
            places.forEach((e, p) => e.classList.toggle("lit", here && p === place));
            said.textContent = here ? sentence : "";
        }
        const nothing = element("p", {}, "This view has no elements.");
        views.replaceChildren(all.length ? table(x.shape, elements, "the elements of the view") : nothing);
        memory.replaceChildren(strip(letter, places, at, x.memory.length > 6 ? 38 : 44));
        said.textContent = "";
    }

    frame(node, "Strides and views: apply operations, then point at an element",
        starts,
        element("form", { class: "widget-row", onsubmit: go }, select, field,
            element("button", {}, "Apply"), undo, button("Start again", () => begin(start))),
        problem, code, described, element("div", { class: "storage-sides" }, memory, views), said);
    chosen();
    begin(0);
}
