// Chapter 2: the storage movie, read element by element.
import { choice, element, frame, mark, player } from "./common.js";
import { cell, shade, strip, table } from "./cells.js";
import { isContiguous, operations, positions, tensor, text } from "./tensors.js";

// The frames of the chapter: { step, x, at, letter, isNew }, or { step, refused }.
export function frames() {
    const { reshape, view, contiguous, transpose } = operations, found = [], storages = [];
    const show = (step, x) => {
        const isNew = !storages.includes(x.memory);
        if (isNew) storages.push(x.memory);
        found.push({ step, x, at: positions(x), letter: String.fromCharCode(65 + storages.indexOf(x.memory)), isNew });
        return x;
    };
    const m = show("m = tensor({{11, 12, 13}, {21, 22, 23}})", tensor([2, 3], [11, 12, 13, 21, 22, 23]));
    show("r = m.reshape({3, 2})", reshape(m, [3, 2]));
    const p = show("p = m.permute({1, 0})", transpose(m, [0, 1]));
    try {
        show("p.view({6})", view(p, [6]));
    } catch (error) {
        found.push({ step: "p.view({6})", refused: error.message });
    }
    const c = show("c = p.contiguous()", contiguous(p));
    show("c.view({6})", view(c, [6]));
    show("p.reshape({6})", reshape(p, [6]));
    return found;
}

export function layout({ x, letter, isNew }) {
    return `shape ${text(x.shape)}, strides ${text(x.strides)}, ${isContiguous(x) ? "" : "not "}contiguous; ` +
        `${isNew ? "new storage" : "a view of storage"} ${letter}`;
}

// The movie as viz::StorageMovie prints it.
export function print(movie) {
    return movie.map((f, n) => {
        const title = `${n + 1}. ${f.step}\n`;
        if (f.refused) return `${title}   refused: ${f.refused}\n`;
        const rows = (list) => list.map((v, i) => (i > 0 && i % f.x.shape.at(-1) === 0 ? " | " : " ") + v).join("");
        return `${title}   ${layout(f)}\n   memory ${f.x.memory.join(" ")}\n   at    ${rows(f.at)}\n` +
            `   reads ${rows(f.at.map((p) => f.x.memory[p]))}\n`;
    });
}

export function mount(node) {
    const movie = frames(), still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    // A step shows a frame and how many elements have been read in it. Where motion is not wanted, all of them have.
    const steps = movie.flatMap((f, n) => (f.refused || still ? [[n, f.at?.length ?? 0]]
        : Array.from({ length: f.at.length + 1 }, (_, read) => [n, read])));
    const picture = element("div", { class: "movie" });
    const chooser = choice("Frame", movie.map((_, n) => String(n + 1)), 0, (n) => {
        play.stop();
        play.go(steps.findIndex(([of]) => of === n));
    });
    function draw(step) {
        const [n, read] = steps[step], f = movie[n], title = element("p", {}, element("code", {}, f.step));
        mark(chooser, n);
        if (f.refused) {
            picture.replaceChildren(title, element("p", { class: "widget-problem" }, `refused: ${f.refused}`));
            return `Frame ${n + 1} is refused.`;
        }
        const memory = movie[0].x.memory, fill = (value) => shade(memory.indexOf(value), memory.length);
        const places = f.x.memory.map((value, p) => cell(value, { fill: fill(value), small: p }));
        const elements = f.at.map((p, i) => cell(f.x.memory[p], { fill: fill(f.x.memory[p]) }));
        elements.forEach((e, i) => e.classList.toggle("dim", i >= read));
        if (read > 0 && read < f.at.length) places[f.at[read - 1]].classList.add("lit"), elements[read - 1].classList.add("lit");
        picture.replaceChildren(title, element("p", {}, layout(f)), element("div", { class: "storage-sides", "aria-hidden": "true" },
            strip(f.letter, places, f.at.slice(0, read)), table(f.x.shape, elements, "the tensor")));
        if (read === 0) return `Frame ${n + 1}: ${f.step}`;
        if (read < f.at.length) return `Element ${read} of ${f.at.length} is at position ${f.at[read - 1]}: ${f.x.memory[f.at[read - 1]]}`;
        return `Frame ${n + 1} reads positions ${f.at.join(" ")}: ${f.at.map((p) => f.x.memory[p]).join(" ")}`;
    }
    const play = player(() => steps.length, draw, still ? 3 : 0.6);
    frame(node, "The storage movie", play.bar, chooser, play.status, picture);
}
