// ---- gradient norms: a row for each layer or parameter, a column for each step

// "blocks.3" of "blocks.3.norm_1.weight": a child, and its number where it is one of several.
function layerOf(name) {
  const parts = name.split(".");
  return parts.slice(0, /^\d+$/.test(parts[1]) && parts.length > 2 ? 2 : 1).join(".");
}

// The rows joined by layer: the norm of all their gradients together. Below 0: no gradient; NaN: not finite.
function byLayer(table) {
  const names = [...new Set(table.rows.map(layerOf))];
  const of = table.rows.map((name) => names.indexOf(layerOf(name)));
  const values = names.map(() => new Float64Array(table.columns).fill(-1));
  table.values.forEach((row, r) => row.forEach((norm, c) => {
    if (norm < 0) return;
    const sum = values[of[r]];
    sum[c] = Math.hypot(Math.max(0, sum[c]), norm);
    if (Number.isNaN(norm)) sum[c] = NaN;
  }));
  return { ...table, rows: names, values };
}

const told = (norm) => norm < 0 ? "none" : Number.isNaN(norm) ? "not finite" : exact(norm);

function drawGradients() {
  const { rows, steps, size, end } = data.gradients;
  if (steps.length === 0) {
    section("gradients", "Gradients", html("p", { class: "muted" }, "No gradient was measured."));
    return;
  }
  const norms = floats(data.gradients.norms);
  const parameters = {
    rows, columns: steps.length,
    values: rows.map((_, r) => Float32Array.from(steps, (_, c) => norms[c * rows.length + r])),
  };
  const views = { layers: byLayer(parameters), parameters };
  let table = views.layers, row = 0, column = steps.length - 1, cursor = null, box = null;

  const radio = (name, checked) => html("label", {}, html("input", {
    type: "radio", name: "gradient-rows", value: name, checked,
    onchange: () => { table = views[name]; row = 0; draw(plot.clientWidth); point(row, column, false); },
  }), " " + name);
  const plot = html("div", {
    class: "plot", tabindex: 0, role: "application", "aria-roledescription": "heat map",
    "aria-label": "Gradient norms by layer and step; the arrow keys read the values",
  });
  const legend = html("div", {});
  const readout = html("p", { class: "readout", id: "gradients-readout" });
  section("gradients", "Gradients",
    html("p", { class: "muted" }, "The norm of each layer's gradient (before any clipping), step by step."),
    html("div", { class: "controls" }, readout, html("span", { class: "right", role: "group", "aria-label": "Rows" },
      radio("layers", true), radio("parameters", false))),
    plot, legend);

  const series = { steps, size, end };
  const name = () => table.rows[row];
  function point(r, c, shown) {
    row = clamp(r, 0, table.rows.length - 1);
    column = clamp(c, 0, steps.length - 1);
    const value = told(table.values[row][column]);
    readout.replaceChildren(html("span", { class: "muted" }, "step " + stepsOf(series, column)),
      html("span", {}, name() + " ", html("b", {}, value)));
    if (!cursor) return value;
    cursor.setAttribute("x", box.left + column * box.w);
    cursor.setAttribute("y", box.top + row * box.h);
    cursor.setAttribute("visibility", shown ? "visible" : "hidden");
    return value;
  }

  function draw(width) {
    const longest = Math.max(...table.rows.map((text) => text.length)) * 7.3 + 14;
    const left = Math.min(longest, Math.max(92, width * 0.36)), top = 4;
    const h = Math.max(14, Math.min(26, 220 / table.rows.length)), w = (width - left - 12) / steps.length;
    const height = h * table.rows.length;
    box = { left, top, w, h };
    const range = extent(table.values, (v) => v > 0) || [1e-3, 1];
    const [low, high] = range[1] > range[0] ? range : [range[0] / 2, range[1] * 2];
    const share = (v) => (Math.log(v) - Math.log(low)) / (Math.log(high) - Math.log(low));
    const paths = new Map(); // the cells of a colour are one path
    table.values.forEach((line, r) => line.forEach((v, c) => {
      const hue = v > 0 && Number.isFinite(v) ? colour(Math.round(share(v) * 63) / 63)
        : v === 0 ? colour(0) : v < 0 ? "var(--hairline)" : "var(--bad)";
      const x = (left + c * w).toFixed(2), y = (top + r * h).toFixed(2);
      paths.set(hue, (paths.get(hue) || "") + `M${x} ${y}h${(w + 0.15).toFixed(2)}v${(h - 1).toFixed(2)}H${x}z`);
    }));
    const fit = Math.floor((left - 14) / 7.3);
    const x = scale(0, 1, left, left + w), axis = scale(steps[0], steps[steps.length - 1],
      left + w / 2, left + w * (steps.length - 0.5));
    const marks = ticks(steps[0], Math.max(end, steps[0] + 1), width / 110).filter((t) => place(steps, t) >= 0);
    const picture = svg("svg", { width, height: top + height + 24, "aria-hidden": "true" },
      [...paths].map(([fill, d]) => svg("path", { class: "cells", fill, d })),
      svg("g", { class: "axis" }, table.rows.map((text, r) => svg("text", {
        class: "row", x: left - 8, y: top + (r + 0.5) * h, "text-anchor": "end", "dominant-baseline": "central",
      }, text.length > fit ? "…" + text.slice(text.length - fit + 1) : text))),
      svg("g", { class: "axis" }, steps.length > 1 && marks.map((t) => {
        const px = x(place(steps, t)) + w / 2;
        return px < width - 8 ? svg("text", { x: px, y: top + height + 16, "text-anchor": "middle" }, whole(t)) : "";
      }) || svg("text", { x: axis(steps[0]), y: top + height + 16, "text-anchor": "middle" }, whole(steps[0]))));
    cursor = picture.appendChild(svg("rect", { class: "cell", width: Math.max(2, w), height: h - 1, visibility: "hidden" }));
    plot.replaceChildren(picture);
    const numbers = logTicks(low, high).map((t) => [share(t), brief(t)]);
    legend.replaceChildren(colourBar(numbers.filter((_, i) => i % Math.ceil(numbers.length / 6) === 0), "norm"));
  }

  plot.addEventListener("pointermove", (event) => {
    const at = plot.getBoundingClientRect();
    const c = Math.floor((event.clientX - at.left - box.left) / box.w);
    const r = Math.floor((event.clientY - at.top - box.top) / box.h);
    if (c < 0 || c >= steps.length || r < 0 || r >= table.rows.length) { hush(); return; }
    const value = point(r, c, true);
    tell(event.clientX, event.clientY, [name(), ["step", stepsOf(series, column)], ["‖gradient‖", value]]);
  });
  plot.addEventListener("pointerleave", () => { hush(); point(row, column, false); });
  plot.addEventListener("focus", () => point(row, column, true));
  plot.addEventListener("blur", () => point(row, column, false));
  plot.addEventListener("keydown", (event) => {
    const far = Math.max(1, Math.round(steps.length / 10));
    const to = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], PageUp: [0, far],
      PageDown: [0, -far], Home: [0, -column], End: [0, steps.length] }[event.key];
    if (!to) return;
    event.preventDefault();
    const value = point(row + to[0], column + to[1], true);
    announce(name() + ", step " + stepsOf(series, column) + ": " + value);
  });
  point(0, column, false);
  onWidth(plot, draw);
}
