// A mask that the reader edits, on the chapter's module of multi-head attention, and what the edits of tokens and the
// checks of weft::check say about it. T tokens, C = d_model, H heads.
import { button, choice, element, frame, gridKeys, statusLine } from "./common.js";
import { normalAt, plainSoftmax, softmax, sum, uniformAt } from "./numbers.js";

export const TOKENS = ["this", "is", "a", "sample", "sequence", "<pad>", "<pad>"];
const T = TOKENS.length, C = 8, H = 2, d_k = C / H, REAL = 5, LOW = -1e9;

const grid = (rows, columns, value) => Array.from({ length: rows }, (_, i) => Array.from({ length: columns }, (_, j) => value(i, j)));
const dot = (a, b) => a.reduce((total, x, c) => total + x * b[c], 0);

// Whether query i may not attend to key j. Masks are joined: what one of them blocks is blocked.
export const MASKS = {
    "causal": (i, j) => j > i,
    "padding": (i, j) => j >= REAL,
    "window of 3": (i, j) => j > i || j < i - 2,
    "prefix of 3": (i, j) => j > i && j >= 3,
    "no padded queries": (i) => i >= REAL,
};
export const joined = (names) => grid(T, T, (i, j) => names.some((name) => MASKS[name](i, j)));

// How a mask is applied to the scores of a row: what softmax gets, softmax itself, and what becomes of the weights.
const infinite = (scores, blocked) => scores.map((s, j) => (blocked[j] ? -Infinity : s));
const single = (numbers) => numbers.map(Math.fround);
export const RULES = {
    "-inf, safe softmax": (s, blocked) => softmax(infinite(s, blocked)),
    "-inf, plain softmax": (s, blocked) => plainSoftmax(infinite(s, blocked)),
    "add -1e9, float64": (s, blocked) => softmax(s.map((x, j) => x + (blocked[j] ? LOW : 0))),
    "add -1e9, float32": (s, blocked) => single(softmax(single(s.map((x, j) => x + (blocked[j] ? LOW : 0))))),
    "replace by -1e9": (s, blocked) => softmax(s.map((x, j) => (blocked[j] ? LOW : x))),
    "replace by 0": (s, blocked) => softmax(s.map((x, j) => (blocked[j] ? 0 : x))),
    "0 after softmax": (s, blocked) => softmax(s).map((w, j) => (blocked[j] ? 0 : w)),
};

// The chapter's small_attention() and some_tokens(1).
export function chapterModule() {
    const bound = Math.fround(1 / Math.sqrt(C)), width = Math.fround(2 / Math.sqrt(C));
    const weight = (first, rows) => grid(rows, C, (r, c) =>
        Math.fround(Math.fround(Math.fround(uniformAt(1, first + r * C + c)) * width) - bound));
    return { W_qkv: weight(0, 3 * C), W_out: weight(3 * C * C, C), x: grid(T, C, (t, c) => normalAt(2, t * C + c)) };
}

// x (n, C) → weights (H, n, n), heads (n, C) side by side, and y (n, C). With `equal`, all scores are 0.
export function attend({ W_qkv, W_out }, x, blocked, rule, equal = false) {
    const [q, k, v] = [0, C, 2 * C].map((first) => x.map((token) => W_qkv.slice(first, first + C).map((row) => dot(row, token))));
    const scores = Array.from({ length: H }, (_, h) => {
        const of = (token) => token.slice(h * d_k, (h + 1) * d_k);
        return q.map((query) => k.map((key) => (equal ? 0 : dot(of(query), of(key)) / Math.sqrt(d_k))));
    });
    const weights = scores.map((rows) => rows.map((row, i) => RULES[rule](row, blocked[i])));
    const heads = x.map((_, i) => grid(1, C, (_, c) => sum(weights[Math.floor(c / d_k)][i].map((w, j) => w * v[j][c])))[0]);
    return { scores, weights, heads, y: heads.map((token) => W_out.map((row) => dot(row, token))) };
}

// What the mask oracle says of a query.
export function verdictOfRow(weights, unmasked, blocked) {
    if (!weights.every(Number.isFinite)) return "NaN";
    if (!blocked.includes(true)) return "nothing is blocked";
    const leaked = Math.max(...weights.map((w, j) => (blocked[j] ? w : 0)));
    if (weights.every((w) => w === 0)) return "sees nothing, gives 0";
    if (leaked === 0) return "blocked keys get 0";
    if (weights.every((w, j) => Math.abs(w - unmasked[j]) < 1e-6)) return "the mask has no effect";
    return `blocked keys get up to ${leaked.toFixed(4)}`;
}

// Edits one token after another and compares outputs: changed[j][i] says whether output i changed with token j. NaN
// differs from everything, as in check::attention.
export function influence(run, x, edit = (token) => token.map((value) => -3 * value + 1)) {
    const y = run(x).y, same = (a, b) => a.every((value, c) => value === b[c]);
    return x.map((_, j) => run(x.map((token, t) => (t === j ? edit(token) : token))).y.map((row, i) => !same(row, y[i])));
}

const name = (t) => `${t + 1} (${TOKENS[t]})`;
const PASSED = "passed", FAILED = "FAILED", NONE = "n/a";
const outcome = (title, good, evidence) => [good === null ? NONE : good ? PASSED : FAILED, title, evidence];

// Whether no output changed in the pairs (edited token, output).
function unchanged(title, changed, pairs, edited = T) {
    const found = pairs.find(([j, i]) => changed[j][i]);
    if (!pairs.length) return outcome(title, null, "every token may see every token, and there is one sample");
    return outcome(title, !found, found ? `editing token ${name(found[0])} changed the output of token ${name(found[1])}` :
        `${edited} tokens edited, ${pairs.length} outputs that may not see them unchanged to the last bit`);
}

// Whether the numbers of every row sum to 1.
function summed(title, rows) {
    const sums = rows.map(sum), off = sums.map((total) => Math.abs(total - 1)), most = Math.max(...off);
    const worst = rows.length === 0 ? 1 : Number.isNaN(most) ? NaN : Number(sums[off.indexOf(most)].toPrecision(8));
    return outcome(title, rows.length === 0 || most <= 1e-6, `${rows.length} rows; the farthest from 1 is ${worst}`);
}

// Whether each output is what it would be if the text ended there.
function prefixes(title, run, x, blocked, y) {
    const apart = x.findIndex((_, n) => {
        const end = run(x.slice(0, n + 1), blocked.map((row) => row.slice(0, n + 1))).y[n];
        return !end.every((value, c) => Math.abs(value - y[n][c]) < 1e-13);
    });
    return outcome(title, apart < 0, apart < 0 ? `${T} prefixes` : `output ${name(apart)} is another when the text ends there`);
}

// The chapter's experiments, then those checks of check::attention that concern a mask: [verdict, name, evidence] each.
export function report(module, blocked, rule, equal = false) {
    const x = module.x, run = (tokens, mask = blocked) => attend(module, tokens, mask, rule, equal);
    const { weights, y } = run(x), changed = influence(run, x), padding = influence(run, x, (token) => token.map(() => 1000));
    const pairs = grid(T, T, (j, i) => [j, i]).flat(), nan = y.filter((row) => row.some(Number.isNaN)).length;

    // The rows of both heads that are not fully masked, with what is blocked in them.
    const rows = weights.flatMap((head) => head.map((row, i) => [row, blocked[i]])).filter(([, mask]) => mask.includes(false));
    const count = H * blocked.flat().filter(Boolean).length;
    const leaked = rows.flatMap(([row, mask]) => row.filter((w, j) => mask[j] && w !== 0));
    const ifBlocked = (title, check) => (count ? check(title) : outcome(title, null, "nothing is blocked"));

    const blinded = blocked.map((row, i) => (i === T - 1 ? row.map(() => true) : row));
    const left = Math.max(...run(x, blinded).weights.flatMap((head) => head[T - 1].map(Math.abs)));
    return [
        unchanged("no output depends on a later token", changed, pairs.filter(([j, i]) => j > i)),
        prefixes("one pass gives what passes over the prefixes give", run, x, blocked, y),
        unchanged("padding changes no real token", padding, pairs.filter(([j, i]) => j >= REAL && i < REAL), T - REAL),
        outcome("no output is NaN", nan === 0, `${nan} of ${T} outputs`),
        summed("weights sum to 1", rows.map(([row]) => row)),
        ifBlocked("blocked weights are 0", (title) => outcome(title, !leaked.length,
            leaked.length ? `a blocked key gets ${leaked[0].toPrecision(4)}` : `${count} blocked weights, all exactly 0`)),
        ifBlocked("visible weights sum to 1", (title) => summed(title, rows.map(([row, mask]) => row.map((w, j) => (mask[j] ? 0 : w))))),
        unchanged("blocked tokens have no influence", changed, pairs.filter(([j, i]) => i !== j && blocked[i][j])),
        outcome("a fully masked row is 0", left === 0, left === 0 ? `token ${name(T - 1)} blinded: its weights are 0` :
            `weights of a token that sees nothing: ${Number.isNaN(left) ? "NaN" : `up to ${left.toPrecision(4)}`}, not 0`),
    ];
}

// "queries 1 to 5: blocked keys get 0", for each run of queries with the same verdict.
export function grouped(verdicts) {
    const groups = [];
    verdicts.forEach((verdict, i) => {
        if (i > 0 && verdict === verdicts[i - 1]) groups.at(-1).last = i + 1;
        else groups.push({ verdict, first: i + 1, last: i + 1 });
    });
    return groups.map(({ verdict, first, last }) => `${first === last ? `query ${first}` : `queries ${first} to ${last}`}: ${verdict}`);
}

// A table with the tokens' names at both sides; cell(i, j) fills it.
function tokenTable(attributes, caption, cell) {
    const columns = TOKENS.map((token) => element("th", { scope: "col" }, element("span", {}, token)));
    const rows = TOKENS.map((token, i) => element("tr", {}, element("th", { scope: "row" }, token), TOKENS.map((_, j) => cell(i, j))));
    return element("table", attributes, caption, element("thead", {}, element("tr", {}, element("td"), columns)),
                   element("tbody", {}, rows));
}

export function mount(node) {
    const module = chapterModule(), ticked = new Set(["causal"]);
    let blocked = joined([...ticked]), rule = Object.keys(RULES)[0], head = 0;

    const toggles = Object.keys(MASKS).map((name) => button(name, () => {
        if (!ticked.delete(name)) ticked.add(name);
        blocked = joined([...ticked]);
        draw();
    }));
    const rules = element("select", { onchange: () => { rule = rules.value; draw(); } },
                          Object.keys(RULES).map((name) => element("option", {}, name)));
    const scores = choice("Scores", ["of head 1", "of head 2", "all equal"], 0, (index) => { head = index; draw(); });

    const cells = grid(T, T, (i, j) => button("", () => { blocked[i][j] = !blocked[i][j]; draw(); }));
    const caption = element("caption"), marks = grid(T, T, () => element("td"));
    const masks = tokenTable({ class: "masks-grid", role: "grid" }, caption, (i, j) => element("td", { role: "gridcell" }, cells[i][j]));
    const outputs = element("caption", {}, "Edited token (row), outputs that change (column)");
    const edits = tokenTable({ class: "masks-edits" }, outputs, (j, i) => marks[j][i]);
    const headers = [...masks.querySelectorAll("tbody th")];
    const oracle = element("p"), list = element("ul", { class: "masks-report" }), status = statusLine();

    function draw() {
        const equal = head === 2, run = (x) => attend(module, x, blocked, rule, equal);
        const found = run(module.x), h = equal ? 0 : head, weights = found.weights[h], changed = influence(run, module.x);
        const names = Object.keys(MASKS).filter((name) => ticked.has(name)), drawn = joined(names);
        const edited = blocked.flat().filter((b, at) => b !== drawn.flat()[at]).length;
        toggles.forEach((toggle) => toggle.setAttribute("aria-pressed", String(ticked.has(toggle.textContent))));
        caption.textContent = `Weights of queries (rows) over keys (columns): ${names.join(" | ") || "no mask"}` +
            (edited ? `, ${edited} ${edited === 1 ? "cell" : "cells"} changed by hand` : "");
        cells.forEach((row, i) => row.forEach((cell, j) => {
            const weight = weights[i][j], text = Number.isNaN(weight) ? "NaN" : weight === 0 ? "0" : weight.toFixed(2);
            cell.textContent = text;
            cell.setAttribute("aria-pressed", String(blocked[i][j]));
            cell.setAttribute("aria-label", `query ${name(i)}, key ${name(j)}: ${blocked[i][j] ? "blocked" : "allowed"}, weight ${text}`);
            cell.className = blocked[i][j] && weight !== 0 ? "masks-leak" : "";
            cell.style.setProperty("--weight", Number.isNaN(weight) ? 0 : weight);
            marks[j][i].textContent = changed[j][i] ? "x" : "·";
            marks[j][i].className = changed[j][i] && i !== j && blocked[i][j] ? "masks-leak" : "";
        }));
        headers.forEach((header, i) => {
            const masked = blocked[i].every(Boolean);
            header.replaceChildren(TOKENS[i], ...(masked ? [element("small", {}, "fully masked")] : []));
        });
        const verdicts = weights.map((row, i) => verdictOfRow(row, softmax(found.scores[h][i]), blocked[i]));
        oracle.textContent = `The mask oracle: ${grouped(verdicts).join("; ")}.`;
        const lines = report(module, blocked, rule, equal), count = (verdict) => lines.filter(([v]) => v === verdict).length;
        list.replaceChildren(...lines.map(([verdict, title, evidence]) => element("li", { "data-verdict": verdict },
            element("strong", {}, verdict), element("div", {}, title, element("small", {}, evidence)))));
        const decided = lines.length - count(NONE);
        status.textContent = (count(FAILED) ? `${count(FAILED)} of ${decided} checks failed` : `all ${decided} checks passed`) +
            (count(NONE) ? `, ${count(NONE)} not applicable` : "");
    }

    gridKeys(masks, () => cells);
    frame(node, "A mask to edit",
          element("div", { class: "widget-row", role: "group", "aria-label": "Masks, joined with |" }, toggles),
          element("div", { class: "widget-row" }, element("label", { class: "widget-field" }, "Blocked by", rules), scores),
          element("p", {}, "Click a cell, or use the arrow keys and Space, to block or allow a key. Blocked cells are hatched."),
          element("div", { class: "masks-tables" }, masks, edits), oracle, status, list);
    draw();
}
