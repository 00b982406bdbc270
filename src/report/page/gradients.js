// ---- gradient norms: a row for each layer or parameter, a column for each step

// "blocks.3" of "blocks.3.norm_1.weight": a submodule, with its number if it is one of several.
function layerOf(name) {
  const parts = name.split(".");
  return parts.slice(0, /^\d+$/.test(parts[1]) && parts.length > 2 ? 2 : 1).join(".");
}

// One row per layer: the norm of all its gradients. Below 0: no gradient; NaN: not finite.
function byLayer(table) {
  const names = [...new Set(table.rows.map(layerOf))];
  const of = table.rows.map((name) => names.indexOf(layerOf(name)));
  const values = names.map(() => new Float64Array(table.values[0].length).fill(-1));
  table.values.forEach((row, r) => row.forEach((norm, c) => {
    if (norm < 0) return;
    const total = values[of[r]];
    total[c] = Math.hypot(Math.max(0, total[c]), norm);
    if (Number.isNaN(norm)) total[c] = NaN;
  }));
  return { rows: names, values };
}

// The table with a first row for the norm of all gradients together.
function withTotal(table) {
  const add = (total, norm) => norm < 0 ? total : Math.hypot(Math.max(0, total), norm);
  const total = table.values[0].map((_, c) => table.values.reduce((so_far, row) => add(so_far, row[c]), -1));
  return { rows: ["all parameters", ...table.rows], values: [total, ...table.values] };
}

const normText = (norm) => norm < 0 ? "none" : Number.isNaN(norm) ? "not finite" : exact(norm);

function drawGradients() {
  const { rows, steps, end } = data.gradients;
  if (steps.length === 0) return section("gradients", "Gradients", muted("No gradient was recorded."));
  const norms = floats(data.gradients.norms);
  const parameters = { rows, values: rows.map((_, r) => steps.map((_, c) => norms[c * rows.length + r])) };
  const views = { layers: withTotal(byLayer(parameters)), parameters: withTotal(parameters) };
  let table = views.layers, row = 0, column = steps.length - 1, cursor = null, box = null;

  const radio = (name, checked) => {
    const input = html("input", { type: "radio", name: "gradient-rows", value: name, checked, onchange: () => {
      if (!input.checked) return;
      table = views[name];
      row = 0;
      draw(plot.clientWidth);
      rest();
    } });
    return html("label", {}, input, " " + name);
  };
  const plot = html("div", {
    class: "plot", tabindex: 0, role: "application", "aria-roledescription": "heat map",
    "aria-label": "Gradient norms by layer and step; the arrow keys read the values",
  });
  const legend = html("div", {});
  const readout = html("p", { class: "readout", id: "gradients-readout" });
  section("gradients", "Gradients",
    muted("The norm of each layer's gradient (before any clipping), step by step."),
    html("div", { class: "controls" }, readout, html("span", { class: "right", role: "group", "aria-label": "Rows" },
      radio("layers", true), radio("parameters", false),
      pngButton("gradients", plot, () => [[["norms of gradients"]]]))),
    plot, legend);

  const name = () => table.rows[row], step = () => stepsOf(data.gradients, column);
  const value = () => normText(table.values[row][column]);
  function point([r, c] = [row, column], shown = true) {
    row = clamp(r, 0, table.rows.length - 1);
    column = clamp(c, 0, steps.length - 1);
    readout.replaceChildren(html("span", { class: "muted" }, "step " + step()),
      html("span", {}, name() + " ", html("b", {}, value())));
    if (cursor)
      build(cursor, { x: box.left + column * box.w, y: box.top + row * box.h, visibility: shown ? "visible" : "hidden" }, []);
  }
  const rest = () => point([row, column], false);

  function draw(width) {
    const longest = Math.max(...table.rows.map((text) => text.length)) * 7.3 + 14;
    const left = Math.min(longest, Math.max(92, width * 0.36)), top = 4;
    const h = Math.max(14, Math.min(26, 220 / table.rows.length)), w = (width - left - 12) / steps.length;
    const height = h * table.rows.length;
    box = { left, top, w, h };
    const range = extent(table.values, (v) => v > 0) || [1e-3, 1];
    const [low, high] = range[1] > range[0] ? range : [range[0] / 2, range[1] * 2];
    const share = (v) => (Math.log(v) - Math.log(low)) / (Math.log(high) - Math.log(low));
    const paths = new Map(); // cells of one colour are one path
    table.values.forEach((line, r) => line.forEach((v, c) => {
      const hue = v > 0 && Number.isFinite(v) ? colour(Math.round(share(v) * 63) / 63)
        : v === 0 ? colour(0) : v < 0 ? "var(--hairline)" : "var(--bad)";
      const x = (left + c * w).toFixed(2), y = (top + r * h).toFixed(2);
      paths.set(hue, (paths.get(hue) || "") + `M${x} ${y}h${(w + 0.15).toFixed(2)}v${(h - 1).toFixed(2)}H${x}z`);
    }));
    const fit = Math.floor((left - 14) / 7.3);
    const middle = (c) => left + (c + 0.5) * w;
    const marks = ticks(steps[0], Math.max(end, steps[0] + 1), width / 110).filter((t) => lastAtMost(steps, t) >= 0);
    const picture = svg("svg", { width, height: top + height + 24, "aria-hidden": "true" },
      [...paths].map(([fill, d]) => svg("path", { class: "cells", fill, d })),
      svg("g", { class: "axis" }, table.rows.map((text, r) => beside(left - 8, top + (r + 0.5) * h,
        text.length > fit ? "…" + text.slice(text.length - fit + 1) : text, { class: "row" }))),
      svg("g", { class: "axis" }, steps.length === 1 ? beneath(middle(0), top + height + 16, whole(steps[0]))
        : marks.map((t) => [middle(lastAtMost(steps, t)), t]).filter(([px]) => px < width - 8)
          .map(([px, t]) => beneath(px, top + height + 16, whole(t)))));
    cursor = picture.appendChild(svg("rect", { class: "cell", width: Math.max(2, w), height: h - 1, visibility: "hidden" }));
    plot.replaceChildren(picture);
    const numbers = logTicks(low, high).map((t) => [share(t), brief(t)]);
    legend.replaceChildren(colourBar(numbers.filter((_, i) => i % Math.ceil(numbers.length / 6) === 0), "norm"));
  }

  const far = Math.max(1, Math.round(steps.length / 10));
  readable(plot, {
    find(x, y) {
      const c = Math.floor((x - box.left) / box.w), r = Math.floor((y - box.top) / box.h);
      return c < 0 || c >= steps.length || r < 0 || r >= table.rows.length ? null : [r, c];
    },
    point,
    lines: () => [name(), ["step", step()], ["‖gradient‖", value()]],
    rest,
    moves: () => ({ ...aroundCell(row, column), PageUp: [row, column + far], PageDown: [row, column - far] }),
    spoken: () => name() + ", step " + step() + ": " + value(),
  });
  rest();
  for (const name of Object.keys(views)) remember("rows " + name, document.querySelector(`#gradients [value=${name}]`));
  onWidth(plot, draw);
}
