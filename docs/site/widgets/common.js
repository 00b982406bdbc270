// What the widgets share. A widget's file, NAME.js, belongs to figures/NAME.svg. It exports its pure functions, for the
// tests, and mount(node), which fills an empty element before the figure.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
        if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
        else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.flat());
    return node;
}

// An element with attributes and children; text stays text. `onclick: f` listens, `hidden: false` is left out.
export function element(tag, attributes = {}, ...children) {
    return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
    return fill(document.createElementNS(SVG, tag), attributes, children);
}

// Fills the widget: a title, which also names it for screen readers, and what follows.
export function frame(node, title, ...children) {
    node.setAttribute("aria-label", title);
    node.append(element("p", { class: "widget-title", "aria-hidden": "true" }, title), ...children);
}

// A number as a person reads it: at most so many significant digits, a true minus, ∞.
export function show(value, digits = 4) {
    if (Number.isNaN(value)) return "NaN";
    if (!Number.isFinite(value)) return value < 0 ? "−∞" : "∞";
    const rounded = Number(value.toPrecision(digits));
    const tiny = rounded !== 0 && (Math.abs(rounded) < 1e-4 || Math.abs(rounded) >= 1e7);
    return String(tiny ? rounded.toExponential().replace("e+", "e") : rounded).replace(/-/g, "−");
}

// The number in a text, or an error that names the field and says what to write.
export function readNumber(name, text, { low = -1e6, high = 1e6, whole = false } = {}) {
    const plain = text.trim().replace("−", "-").replace(/^([^,]*),([^,]*)$/, "$1.$2");
    const value = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) ? Number(plain) : NaN;
    const kind = whole ? "whole number" : "number";
    const fix = `Write a ${kind} from ${show(low, 9)} to ${show(high, 9)}.`;
    if (Number.isNaN(value) || (whole && !Number.isInteger(value)))
        throw new Error(`${name}: “${brief(text)}” is not a ${kind}. ${fix}`);
    if (value < low || value > high) throw new Error(`${name}: ${brief(text)} is out of range. ${fix}`);
    return value;
}

// What a reader typed, short enough to be quoted.
export function brief(text) {
    const one = text.trim().replace(/\s+/g, " ");
    return one.length > 24 ? one.slice(0, 23) + "…" : one;
}

// A text field with its label. change(text) takes what was typed, or throws an Error, whose message `problem` shows.
export function field(label, text, change, problem, attributes = {}) {
    const input = element("input", { type: "text", value: text, autocomplete: "off", spellcheck: "false", ...attributes });
    input.addEventListener("input", () => attempt(() => change(input.value), problem, input));
    return element("label", { class: "widget-field" }, label, input);
}

// Runs the action; the message of its error appears in `problem`, and the field it came from is marked.
export function attempt(action, problem, input = null) {
    let message = "";
    try {
        action();
    } catch (error) {
        message = error.message;
    }
    problem.textContent = message;
    if (input && message) input.setAttribute("aria-invalid", "true");
    else if (input) input.removeAttribute("aria-invalid");
    return message === "";
}

// Text fields that are read together, { label, value, read(text) } each. use(...values) is called when every field can be
// read, and the first message that reading or using throws appears in `problem`. set(...texts) writes into the fields.
export function form(fields, use) {
    const problem = problemLine();
    const inputs = fields.map(({ label, value, read, ...more }) => element("input", {
        type: "text", value, autocomplete: "off", spellcheck: "false", ...more, oninput: update }));
    function update() {
        let first = "";
        const values = fields.map(({ read }, i) => {
            let value;
            if (!attempt(() => { value = read(inputs[i].value); }, problem, inputs[i])) first ||= problem.textContent;
            return value;
        });
        if (first) problem.textContent = first;
        else attempt(() => use(...values), problem);
    }
    function set(...texts) {
        texts.forEach((text, i) => { inputs[i].value = text; });
        update();
    }
    const labels = fields.map(({ label }, i) => element("label", { class: "widget-field" }, label, inputs[i]));
    return { labels, inputs, problem, set, update };
}

// Where `attempt` writes: spoken at once.
export function problemLine() {
    return element("p", { class: "widget-problem", role: "alert" });
}

// A line that is spoken when its text changes.
export function statusLine() {
    return element("p", { class: "widget-status", role: "status" });
}

export function button(label, action, attributes = {}) {
    return element("button", { type: "button", onclick: action, ...attributes }, label);
}

// One of several, as a row of buttons after its label: change(index).
export function choice(label, names, chosen, change) {
    const row = element("div", { class: "widget-row", role: "group", "aria-label": label },
        element("span", { "aria-hidden": "true" }, label),
        names.map((name, i) => button(name, () => { mark(row, i); change(i); })));
    mark(row, chosen);
    return row;
}

// Shows which button of a choice is chosen.
export function mark(row, index) {
    row.querySelectorAll("button").forEach((b, i) => b.setAttribute("aria-pressed", String(i === index)));
}

// Back, a slider, Next and Play over the steps 0 to count() − 1. draw(step) shows a step and returns what to say of it.
// The arrow keys, Home and End work on all of them. Nothing moves before the reader asks for it.
export function player(count, draw, seconds = 1.5) {
    let step = 0, timer = 0;
    const slider = element("input", { type: "range", min: 0, "aria-label": "Step", oninput: () => by(Number(slider.value) - step) });
    const back = button("Back", () => by(-1)), next = button("Next", () => by(1));
    const play = button("Play", () => (timer ? stop() : start()));
    const status = statusLine();

    function go(to) {
        const last = count() - 1;
        step = Math.max(0, Math.min(last, to));
        status.textContent = draw(step);
        slider.max = last;
        slider.value = step;
        slider.setAttribute("aria-valuetext", `${step} of ${last}`);
        for (const [which, end] of [[back, step === 0], [next, step === last]]) which.setAttribute("aria-disabled", String(end));
    }
    function by(steps) {
        stop();
        go(step + steps);
    }
    function start() {
        if (step === count() - 1) go(0);
        play.textContent = "Pause";
        timer = setInterval(() => {
            go(step + 1);
            if (step === count() - 1) stop();
        }, seconds * 1000);
    }
    function stop() {
        clearInterval(timer);
        timer = 0;
        play.textContent = "Play";
    }
    const bar = element("div", { class: "widget-row widget-player", role: "group", "aria-label": "Steps" }, back, next, play, slider);
    const keys = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, Home: -Infinity, End: Infinity };
    bar.addEventListener("keydown", (event) => {
        if (!(event.key in keys) || event.ctrlKey || event.altKey || event.metaKey) return;
        event.preventDefault();
        by(keys[event.key]);
    });
    go(0);
    return { bar, status, go, stop, step: () => step };
}

// One tab stop for a grid of elements: the arrow keys, Home and End move between them. rows() returns them, row by row.
export function gridKeys(container, rows) {
    container.addEventListener("keydown", (event) => {
        const all = rows();
        const r = all.findIndex((row) => row.includes(event.target)), c = r < 0 ? -1 : all[r].indexOf(event.target);
        if (r < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
        const to = { ArrowLeft: [r, c - 1], ArrowRight: [r, c + 1], ArrowUp: [r - 1, c], ArrowDown: [r + 1, c],
                     Home: [r, 0], End: [r, all[r].length - 1] }[event.key];
        if (!to) return;
        event.preventDefault();
        const found = all[to[0]] && all[to[0]][to[1]];
        if (!found) return;
        for (const cell of all.flat()) cell.tabIndex = cell === found ? 0 : -1;
        found.focus();
    });
    rows().flat().forEach((cell, i) => { cell.tabIndex = i === 0 ? 0 : -1; });
}

// Mounts each widget before its figure, which is put away only when that has worked.
export function start(widgets) {
    for (const node of document.querySelectorAll(".widget[data-widget]")) {
        const figure = node.nextElementSibling;
        node.hidden = false;
        try {
            node.setAttribute("role", "group");
            widgets[node.dataset.widget]().mount(node);
        } catch (error) {
            node.hidden = true;
            node.replaceChildren();
            console.error(`the widget ${node.dataset.widget} could not start; its figure stays: ${error.stack}`);
            continue;
        }
        const closed = element("details", { class: "widget-static" }, element("summary", {}, "Static figure"));
        figure.before(closed);
        closed.append(figure);
        window.addEventListener("beforeprint", () => { closed.open = true; });
        window.addEventListener("afterprint", () => { closed.open = false; });
    }
}
