// Writing with and without a cache of keys and values: what each step computes, reads and stores.
import { element, form, frame, player, readNumber } from "./common.js";

// What passes through a model at each step that writes one token. The step with n tokens so far computes all of them
// without a cache, and with one only those that are not in it. A query attends to itself and to all tokens before it.
// Beyond block_size the window slides: its positions change, and nothing in the cache is valid.
export function steps({ prompt, added, layers, width, block }, cached) {
    return Array.from({ length: added }, (_, step) => {
        const n = Math.min(prompt + step, block), slides = prompt + step > block;
        const read = cached && step > 0 && !slides ? n - 1 : 0, tokens = n - read;
        const scores = tokens * read + tokens * (tokens + 1) / 2;
        return { first: prompt + step - n, read, tokens, scores, multiplyAdds: multiplyAdds(tokens, scores, layers, width),
                 stored: cached && !slides ? 2 * layers * n * width : 0, slides };
    });
}

// Of all layers. A token takes 4 C² in the projections and 8 C² in the MLP, a score C in each of q·k and the average.
export const multiplyAdds = (tokens, scores, layers, C) => layers * (12 * C * C * tokens + 2 * C * scores);

export function total(some) {
    const all = (name) => some.reduce((sum, step) => sum + step[name], 0);
    return { tokens: all("tokens"), scores: all("scores"), multiplyAdds: all("multiplyAdds") };
}

const whole = (value) => value.toLocaleString("en-GB");
const plural = (count, word) => `${whole(count)} ${word}${count === 1 ? "" : "s"}`;
const FIELDS = [["prompt", "prompt", 3, 64], ["added", "new tokens", 6, 64], ["layers", "layers", 2, 200],
                ["width", "d_model", 64, 20000], ["block", "block_size", 48, 1000000]];
const ROWS = [["tokens", "tokens through each layer"], ["scores", "scores in each head"], ["multiplyAdds", "multiply-adds"]];

export function mount(node) {
    const model = Object.fromEntries(FIELDS.map(([key, , value]) => [key, value]));
    const sizes = form(FIELDS.map(([, label, value, high]) => ({
        label, value, inputmode: "numeric", read: (text) => readNumber(label, text, { low: 1, high, whole: true }) })),
        (...values) => {
            FIELDS.forEach(([key], i) => { model[key] = values[i]; });
            walk.go(walk.step());
        });

    const lanes = ["without a cache", "with a cache"].map((title, i) => {
        const cells = element("div", { class: "cache-cells", role: "img" }), name = element("p", {}, element("strong", {}, title), ": ");
        const said = element("span");
        name.append(said);
        return { cached: i === 1, title, cells, said, box: element("div", {}, name, cells) };
    });
    const legend = [["computed", "c", "computed"], ["stored", "c+", "computed and stored"], ["read", "r", "read from the cache"],
                    ["out", "", "not there yet, or left behind by the window"]].map(([kind, sign, text]) =>
        element("span", {}, element("span", { class: `cache-cell cache-${kind}`, "aria-hidden": "true" }, sign), text));

    const rows = [];
    const row = (label) => {
        const cells = [element("td"), element("td")];
        rows.push(cells);
        return element("tr", {}, element("th", { scope: "row" }, label), cells);
    };
    const group = (label) => element("tbody", {}, element("tr", {}, element("th", { scope: "rowgroup", colspan: 3 }, label)),
                                     ROWS.map(([, text]) => row(text)));
    const now = group(""), sofar = group("so far");
    const head = ["", "without cache", "with cache"].map((text) => element("th", { scope: "col" }, text));
    const table = element("table", { class: "cache-table" }, element("thead", {}, element("tr", {}, head)), now, sofar);
    sofar.append(row("numbers in the cache"));

    function draw(step) {
        const count = model.prompt + model.added - 1;
        const both = lanes.map((lane) => steps(model, lane.cached)), at = both.map((all) => all[step]);
        lanes.forEach((lane, i) => {
            const { first, read, tokens } = at[i], kept = lane.cached && !at[i].slides;
            lane.cells.replaceChildren(...Array.from({ length: count }, (_, t) => {
                const kind = t < first || t >= first + read + tokens ? "out" : t < first + read ? "read" : kept ? "stored" : "computed";
                return element("span", { class: `cache-cell cache-${kind}` }, { out: "", read: "r", stored: "c+", computed: "c" }[kind]);
            }));
            lane.said.textContent = `keys and values of ${plural(tokens, "token")} computed` +
                (lane.cached ? `, ${kept ? tokens : 0} stored, ${read} read` : "");
            lane.cells.setAttribute("aria-label", `${lane.title}, ${lane.said.textContent}`);
        });
        const done = both.map((all) => total(all.slice(0, step + 1)));
        const values = [...ROWS.map(([key]) => at.map((one) => one[key])), ...ROWS.map(([key]) => done.map((one) => one[key])),
                        at.map((one) => one.stored)];
        rows.forEach((cells, r) => cells.forEach((cell, i) => { cell.textContent = whole(values[r][i]); }));
        now.querySelector("th").textContent = `step ${step + 1}`;
        const slides = at[1].slides ? " The text is longer than block_size: the window slides, and nothing in the cache is valid." : "";
        return `Step ${step + 1} of ${model.added}: token ${model.prompt + step + 1} is written. So far ` +
            `${plural(done[0].tokens, "token")} through each layer without a cache, ${whole(done[1].tokens)} with it.${slides}`;
    }

    const walk = player(() => model.added, draw);
    walk.go(1);  // the first step with something in the cache
    frame(node, "Writing with and without a cache",
          element("div", { class: "widget-row cache-fields" }, sizes.labels), sizes.problem, walk.bar, walk.status,
          ...lanes.map((lane) => lane.box), element("p", { class: "cache-legend" }, legend),
          element("div", { class: "widget-scroll" }, table),
          element("p", { class: "cache-note" }, "With C for d_model, each layer takes 12 C² multiply-adds for a token (4 C² in the " +
              "projections, 8 C² in the MLP) and 2 C for a score. The output layer and blocked scores are not counted."));
}
