// Chapter 4: the graph of y = x + h, forward and backward one node at a time, with the ledger of what each edge gives.
import { choice, element, form, frame, player, readNumber, show, svg } from "./common.js";

// The nodes in the order in which they are made, as name → operation and inputs.
export function graph(swapped = false) {
    return {
        a: {}, b: {}, w: {},
        x: { op: "multiply", inputs: ["a", "b"] },
        h: { op: "multiply", inputs: ["w", "x"] },
        y: { op: "add", inputs: swapped ? ["h", "x"] : ["x", "h"] },
    };
}

// The value of every node, from those of the leaves.
export function forward(nodes, leaves) {
    const v = { ...leaves };
    for (const [name, { op, inputs }] of Object.entries(nodes)) {
        if (op === "add") v[name] = v[inputs[0]] + v[inputs[1]];
        if (op === "multiply") v[name] = v[inputs[0]] * v[inputs[1]];
    }
    return v;
}

// The order of backward's visits: by descending number, or breadth first, which is wrong.
export function visits(nodes, breadthFirst = false) {
    if (!breadthFirst) return Object.keys(nodes).reverse();
    const order = ["y"];
    for (const name of order)  // grows as it is read
        for (const input of nodes[name].inputs ?? []) if (!order.includes(input)) order.push(input);
    return order;
}

// What passes along each edge, in the order in which it does: { to, from, input, value }. The first is the seed.
export function terms(nodes, v, order) {
    const found = [{ to: "y", from: "seed", value: 1 }], gradient = { y: 1 };
    for (const name of order)
        for (const [input, to] of (nodes[name].inputs ?? []).entries()) {
            const derivative = nodes[name].op === "add" ? 1 : v[nodes[name].inputs[1 - input]];
            const value = derivative * gradient[name];
            gradient[to] = (gradient[to] ?? 0) + value;
            found.push({ to, from: name, input, value });
        }
    return found;
}

const sum = (values) => values.reduce((total, value) => total + value, 0);

// The rows of the ledger: the node, where it gets a gradient from, the gradient.
export function ledger(nodes, passed, order) {
    const rows = [];
    for (const name of order) {
        const own = passed.filter((term) => term.to === name);
        own.forEach((term, i) => rows.push([
            i > 0 ? "" : nodes[name].op ? `${name} = ${nodes[name].op}` : name,
            term.from === "seed" ? "seed" : `${term.from}, input ${term.input}`, term.value]));
        if (own.length > 1) rows.push(["", "sum", sum(own.map((term) => term.value))]);
    }
    return rows;
}

const FORWARD = 4, COUNT = 8;  // steps 0 to 3 compute, 4 is the seed, 5 to 7 visit y, h and x

// What a step does, in a sentence.
export function sentence(nodes, v, order, passed, step) {
    const text = (value) => (value < 0 ? `(${show(value, 6)})` : show(value, 6));
    if (step === 0) return "The leaves have values. Press Next, or an arrow key on the buttons.";
    if (step < FORWARD) {
        const name = ["x", "h", "y"][step - 1], { op, inputs } = nodes[name], sign = op === "add" ? " + " : " · ";
        return `${name} = ${inputs.join(sign)} = ${inputs.map((i) => text(v[i])).join(sign)} = ${show(v[name], 6)}`;
    }
    if (step === FORWARD) return "Backward starts at the root with the seed: dy = 1.";
    const name = order[step - FORWARD - 1], now = passed.slice(-2), before = passed.slice(0, -2);
    const visited = order.slice(0, step - FORWARD - 1);
    return `Visit ${name}. It gives ` + now.map(({ to, value }) => {
        const all = [...before.filter((term) => term.to === to).map((term) => term.value), value];
        const given = `${show(value, 6)} to ${to}`;
        if (visited.includes(to)) return `${given}, which has been visited already and does not pass it on`;
        return all.length === 1 ? given : `${given}, whose gradient is now ${all.map(text).join(" + ")} = ${show(sum(all), 6)}`;
    }).join(" and ") + ".";
}

// ---- drawing

const WIDTH = 96, HEIGHT = 58;
const SPOTS = { a: [54, 42], b: [54, 136], w: [54, 236], x: [196, 89], h: [226, 210], y: [344, 89] };

// An arrow from box to box, and its label at the middle.
function edge(from, to, label, kind) {
    const [px, py] = SPOTS[from], [qx, qy] = SPOTS[to], dx = qx - px, dy = qy - py, length = Math.hypot(dx, dy);
    const out = Math.min((WIDTH / 2 + 3) / Math.abs(dx || 1e-9), (HEIGHT / 2 + 3) / Math.abs(dy || 1e-9));
    const [ex, ey] = [qx - out * dx, qy - out * dy], [ux, uy] = [dx / length, dy / length];
    const head = `M${ex} ${ey}L${ex - 9 * ux + 4 * uy} ${ey - 9 * uy - 4 * ux}L${ex - 9 * ux - 4 * uy} ${ey - 9 * uy + 4 * ux}Z`;
    const side = dx > 0 ? 1 : -1, middle = [(px + qx) / 2 + 13 * side * uy, (py + qy) / 2 - 13 * side * ux + 5];
    return svg("g", { class: `graph-edge ${kind}` },
        svg("path", { d: `M${px + out * dx} ${py + out * dy}L${ex - 6 * ux} ${ey - 6 * uy}`, "stroke-width": 1.8, fill: "none" }),
        svg("path", { d: head, stroke: "none" }),
        label ? svg("text", { x: middle[0], y: middle[1], "text-anchor": "middle" }, label) : "");
}

function box(name, lines, kind) {
    const [x, y] = SPOTS[name];
    return svg("g", { class: `graph-node ${kind}` },
        svg("rect", { x: x - WIDTH / 2, y: y - HEIGHT / 2, width: WIDTH, height: HEIGHT, rx: 5 }),
        lines.map(([text, of], i) => svg("text", {
            x, y: y + 5 + 17 * (i - (lines.length - 1) / 2), "text-anchor": "middle", class: of }, text)));
}

export function mount(node) {
    let leaves = { a: 2, b: 5, w: 3 }, swapped = false, breadthFirst = false;
    const picture = svg("svg", { viewBox: "0 0 398 272", role: "img", "aria-label": "The graph", class: "graph-picture" });
    const body = element("tbody");
    const heads = ["node", "gets from", "gradient"].map((text) => element("th", { scope: "col" }, text));
    const table = element("table", { class: "graph-ledger" },
        element("caption", {}, "The gradient ledger"), element("thead", {}, element("tr", {}, heads)), body);

    function draw(step) {
        const nodes = graph(swapped), v = forward(nodes, leaves), order = visits(nodes, breadthFirst);
        const passed = step < FORWARD ? [] : terms(nodes, v, order).slice(0, 1 + 2 * (step - FORWARD));
        const visited = step < FORWARD ? "" : order[step - FORWARD - 1];
        const current = step < FORWARD ? ["", "x", "h", "y"][step] : visited || "y";
        const known = (name) => !nodes[name].op || step > ["x", "h", "y"].indexOf(name);
        const edges = Object.entries(nodes).flatMap(([name, { inputs = [] }]) => inputs.map((input) => {
            const term = passed.find((t) => t.from === name && t.to === input);
            if (term) return edge(name, input, show(term.value, 6), name === visited ? "backward now" : "backward");
            return edge(input, name, "", known(name) ? (name === current && step < FORWARD ? "forward now" : "forward") : "");
        }));
        const boxes = Object.entries(nodes).map(([name, { op, inputs }]) => {
            const own = passed.filter((t) => t.to === name).map((t) => t.value);
            const lines = [[op ? `${name} = ${inputs.join(op === "add" ? " + " : " · ")}` : name, ""]];
            if (known(name)) lines.push([show(v[name], 6), "value"]);
            if (own.length) lines.push([`d${name} = ${show(sum(own), 5)}`, "gradient"]);
            return box(name, lines, (op ? "" : "leaf") + (name === current ? " now" : ""));
        });
        picture.replaceChildren(...edges, ...boxes);
        picture.setAttribute("aria-label", "The graph. " + Object.keys(nodes).filter(known).map((name) => {
            const own = passed.filter((t) => t.to === name).map((t) => t.value);
            return `${name} = ${show(v[name], 6)}` + (own.length ? `, d${name} = ${show(sum(own), 6)}` : "");
        }).join("; "));
        body.replaceChildren(...ledger(nodes, passed, order).map(([to, from, value]) =>
            element("tr", { class: from === "sum" && "total" }, [to, from, show(value, 6)].map((text) => element("td", {}, text)))));
        table.hidden = step < FORWARD;
        return sentence(nodes, v, order, passed, step);
    }

    const steps = player(() => COUNT, draw);
    const values = form(Object.keys(leaves).map((name) => ({
        label: `${name} =`, value: String(leaves[name]), inputmode: "text", read: (text) => readNumber(name, text) })),
        (a, b, w) => {
            leaves = { a, b, w };
            steps.go(steps.step());
        });
    const option = (label, names, use) => choice(label, names, 0, (index) => {
        use(index === 1);
        steps.go(steps.step());
    });
    frame(node, "The graph, one step at a time: change a leaf, then go forward and backward",
        element("div", { class: "widget-row" }, values.labels), values.problem, steps.bar, steps.status,
        element("div", { class: "graph-sides" }, picture, table),
        element("div", { class: "widget-row" },
            option("Visit nodes", ["by number", "breadth first (wrong)"], (on) => { breadthFirst = on; }),
            option("Write", ["y = x + h", "y = h + x"], (on) => { swapped = on; })));
}
