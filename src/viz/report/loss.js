// ---- losses, and the learning rate beneath them

function curve(packed) {
  const mean = doubles(packed.mean);
  return {
    size: packed.size, end: packed.end, steps: packed.steps, mean,
    low: packed.low ? doubles(packed.low) : mean, high: packed.high ? doubles(packed.high) : mean,
  };
}
const losses = {
  training: curve(data.loss.training),
  validation: curve(data.loss.validation),
  rate: curve(data.loss.learning_rate),
};

// A mean of the neighbours on both sides, whose weights fall by `amount` from each to the next: it does not lag
// behind. What is not finite cuts the line in two.
function smoothed(values, amount) {
  const n = values.length, sums = new Float64Array(n), weights = new Float64Array(n);
  const sweep = (i, before) => {
    before.sum = Number.isFinite(values[i]) ? amount * before.sum + values[i] : 0;
    before.weight = Number.isFinite(values[i]) ? amount * before.weight + 1 : 0;
    sums[i] += before.sum;
    weights[i] += before.weight;
  };
  for (let i = 0, before = { sum: 0, weight: 0 }; i < n; ++i) sweep(i, before);
  for (let i = n - 1, before = { sum: 0, weight: 0 }; i >= 0; --i) sweep(i, before);
  // the value itself was counted twice
  return Array.from(values, (x, i) => Number.isFinite(x) ? (sums[i] - x) / (weights[i] - 1) : x);
}

// The steps of a bin: "250", or "248 – 255".
function stepsOf(series, i) {
  const last = i + 1 < series.steps.length ? series.steps[i + 1] - 1 : series.end;
  const first = series.steps[i];
  return series.size > 1 && last > first ? whole(first) + " – " + whole(last) : whole(first);
}

function drawLosses() {
  const { training, validation, rate } = losses;
  if (training.steps.length + validation.steps.length === 0) {
    section("loss", "Loss", html("p", { class: "muted" }, "No loss was measured."));
    return;
  }
  const main = training.steps.length > 0 ? training : validation; // the steps that the arrow keys visit
  const smoothing = html("input", { type: "range", id: "smoothing", min: 0, max: 0.99, step: 0.01, value: 0.8 });
  const logarithmic = html("input", { type: "checkbox", id: "logarithmic" });
  const plot = html("div", {
    class: "plot", tabindex: 0, role: "slider", "aria-label": "Loss by step; the arrow keys read the values",
    "aria-valuemin": 0, "aria-valuemax": main.steps.length - 1, "aria-valuenow": main.steps.length - 1,
  });
  const readout = html("p", { class: "readout", id: "loss-readout" });
  section("loss", "Loss",
    html("div", { class: "controls" }, readout, html("span", { class: "right" },
      html("label", {}, "Smoothing ", smoothing), html("label", {}, logarithmic, " Logarithmic"))),
    plot);

  const bad = main.steps.filter((_, i) => !Number.isFinite(main.mean[i]));
  if (bad.length > 0)
    plot.after(html("p", { class: "warning" },
      "The loss is not finite at " + plural(bad.length, "point") + ", first at step " + whole(bad[0]) + "."));

  let at = main.steps.length - 1, cursor = null, x = null, box = null, marks = [];

  const entries = (i) => {
    const step = main.steps[i], v = place(validation.steps, step), r = place(rate.steps, step);
    const list = [];
    if (main === training) list.push(["training", exact(training.mean[i]), "var(--training)"]);
    if (main === training && training.size > 1)
      list.push(["lowest – highest", exact(training.low[i]) + " – " + exact(training.high[i])]);
    if (v >= 0)
      list.push(["validation" + (validation.steps[v] === step ? "" : " (step " + stepsOf(validation, v) + ")"),
        exact(validation.mean[v]), "var(--validation)"]);
    if (r >= 0) list.push(["learning rate", exact(rate.mean[r]), "var(--rate)"]);
    return list;
  };

  function point(i, announced) {
    at = clamp(i, 0, main.steps.length - 1);
    const list = entries(at);
    plot.setAttribute("aria-valuenow", at);
    plot.setAttribute("aria-valuetext", "step " + stepsOf(main, at) + ": " +
      list.map(([name, value]) => name + " " + value).join(", "));
    readout.replaceChildren(html("span", { class: "muted" }, "step " + stepsOf(main, at)),
      ...list.map(([name, value, hue]) => html("span", {},
        hue ? html("i", { style: "background:" + hue }) : "", name + " ", html("b", {}, value))));
    if (!cursor) return;
    const px = x(main.steps[at]);
    cursor.setAttribute("x1", px);
    cursor.setAttribute("x2", px);
    cursor.style.visibility = announced ? "visible" : "hidden";
    for (const mark of marks) mark(announced ? at : -1);
  }

  function draw(width) {
    const amount = Number(smoothing.value), log = logarithmic.checked;
    const left = 46, right = width - 12, top = 10, height = 290, second = top + height + 40, low = 56;
    const finite = extent([training.mean, validation.mean], (v) => !log || v > 0) || [0, 1];
    const steps = extent([training.steps, validation.steps], () => true);
    x = scale(steps[0], steps[1], left, right);
    const pad = log ? 1 : (finite[1] - finite[0]) * 0.04;
    const y = scale(log ? finite[0] : finite[0] - pad, log ? finite[1] : finite[1] + pad, top + height, top, log);
    box = { left, right, top, bottom: second + low };
    const xs = training.steps.map(x), soft = smoothed(training.mean, amount);
    const vx = validation.steps.map(x), vy = Array.from(validation.mean, y);
    const picture = svg("svg", { width, height: second + low + 24, "aria-hidden": "true" });
    picture.append(xAxis(x, top, height, right - left), yAxis(y, log ? logTicks(y.low, y.high)
      : ticks(y.low, y.high, 6), left, right));
    if (training.size > 1) {
      const there = xs.map((px, i) => px.toFixed(1) + " " + y(training.high[i]).toFixed(1));
      const back = xs.map((px, i) => px.toFixed(1) + " " + y(training.low[i]).toFixed(1)).reverse();
      if (![...training.high, ...training.low].some((v) => !Number.isFinite(y(v))))
        picture.append(svg("path", { class: "band", d: "M" + [...there, ...back].join("L") + "Z" }));
    }
    picture.append(
      svg("path", { class: "line raw", d: linePath(xs, Array.from(training.mean, y)) }),
      svg("path", { class: "line training", d: linePath(xs, soft.map(y)) }),
      svg("path", { class: "line validation", d: linePath(vx, vy) }));
    vx.forEach((px, i) => {
      if (Number.isFinite(vy[i])) picture.append(svg("circle", { class: "dot validation", cx: px, cy: vy[i], r: 3.5 }));
    });
    let rateScale = null;
    if (rate.steps.length > 0) {
      const range = extent([rate.mean], () => true) || [0, 1];
      rateScale = scale(Math.min(0, range[0]), range[1], second + low, second);
      picture.append(xAxis(x, second, low, right - left),
        yAxis(rateScale, [rateScale.low, rateScale.high], left, right),
        svg("text", { class: "title", x: right - 6, y: second + 14, "text-anchor": "end" }, "learning rate"),
        svg("path", { class: "line rate", d: linePath(rate.steps.map(x), Array.from(rate.mean, rateScale)) }));
    }
    const dot = (name) => picture.appendChild(svg("circle", { class: "dot " + name, r: 4.5, visibility: "hidden" }));
    const move = (node, px, py, shown) => {
      node.setAttribute("visibility", shown && Number.isFinite(py) ? "visible" : "hidden");
      if (!Number.isFinite(py)) return;
      node.setAttribute("cx", px);
      node.setAttribute("cy", py);
    };
    cursor = picture.appendChild(svg("line", { class: "cursor", y1: top, y2: second + low }));
    const training_dot = dot("training"), rate_dot = dot("rate");
    marks = [(i) => {
      const shown = i >= 0, r = shown ? place(rate.steps, main.steps[i]) : -1;
      if (main === training) move(training_dot, xs[i], shown ? y(training.mean[i]) : NaN, shown);
      if (rateScale) move(rate_dot, r >= 0 ? x(rate.steps[r]) : 0, r >= 0 ? rateScale(rate.mean[r]) : NaN, r >= 0);
    }];
    plot.replaceChildren(picture);
    point(at, document.activeElement === plot);
  }

  const nearest = (step) => {
    const i = place(main.steps, step);
    return i < 0 || (i + 1 < main.steps.length && main.steps[i + 1] - step < step - main.steps[i]) ? i + 1 : i;
  };
  plot.addEventListener("pointermove", (event) => {
    const px = event.clientX - plot.getBoundingClientRect().left;
    point(nearest(x.invert(clamp(px, box.left, box.right))), true);
    tell(event.clientX, event.clientY, ["step " + stepsOf(main, at), ...entries(at)]);
  });
  plot.addEventListener("pointerleave", () => { hush(); point(main.steps.length - 1, false); });
  plot.addEventListener("focus", () => point(at, true));
  plot.addEventListener("blur", () => point(main.steps.length - 1, false));
  plot.addEventListener("keydown", (event) => {
    const far = Math.max(1, Math.round(main.steps.length / 10));
    const to = { ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1, Home: 0,
      PageDown: at - far, PageUp: at + far, End: main.steps.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    point(to, true);
  });
  smoothing.addEventListener("input", () => draw(plot.clientWidth));
  logarithmic.addEventListener("change", () => draw(plot.clientWidth));
  point(at, false);
  onWidth(plot, draw);
}
