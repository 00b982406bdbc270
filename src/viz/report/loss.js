// ---- losses, with the learning rate below

function curve(packed) {
  const mean = doubles(packed.mean);
  return { ...packed, mean,
    low: packed.low ? doubles(packed.low) : mean, high: packed.high ? doubles(packed.high) : mean };
}
const losses = {
  training: curve(data.loss.training),
  validation: curve(data.loss.validation),
  rate: curve(data.loss.learning_rate),
};

// The mean of the neighbours on both sides, so that it does not lag; weights fall by the factor `amount` from one to
// the next. A value that is not finite splits the line.
function smoothed(values, amount) {
  const forwards = [...values.keys()], sums = values.map(() => 0), weights = values.map(() => 0);
  for (const order of [forwards, forwards.toReversed()]) {
    let before = 0, weight = 0;
    for (const i of order) {
      before = Number.isFinite(values[i]) ? amount * before + values[i] : 0;
      weight = Number.isFinite(values[i]) ? amount * weight + 1 : 0;
      sums[i] += before;
      weights[i] += weight;
    }
  }
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
  if (training.steps.length + validation.steps.length === 0)
    return section("loss", "Loss", muted("No loss was recorded."));
  const main = training.steps.length > 0 ? training : validation; // the arrow keys step through it
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

  const last = main.steps.length - 1;
  const left = 46;
  let at = last, x = null, right = 0, mark = () => {};

  const entries = (i) => {
    const step = main.steps[i], v = lastAtMost(validation.steps, step), r = lastAtMost(rate.steps, step);
    const list = [];
    if (main === training) list.push(["training", exact(training.mean[i]), "training"]);
    if (main === training && training.size > 1)
      list.push(["lowest – highest", exact(training.low[i]) + " – " + exact(training.high[i])]);
    if (v >= 0)
      list.push(["validation" + (validation.steps[v] === step ? "" : " (step " + stepsOf(validation, v) + ")"),
        exact(validation.mean[v]), "validation"]);
    if (r >= 0) list.push(["learning rate", exact(rate.mean[r]), "rate"]);
    return list;
  };

  function point(i = at, shown = true) {
    at = clamp(i, 0, last);
    const list = entries(at);
    plot.setAttribute("aria-valuenow", at);
    plot.setAttribute("aria-valuetext", "step " + stepsOf(main, at) + ": " +
      list.map(([name, value]) => name + " " + value).join(", "));
    readout.replaceChildren(html("span", { class: "muted" }, "step " + stepsOf(main, at)),
      ...list.map(([name, value, hue]) => keyed(hue, name + " ", html("b", {}, value))));
    mark(shown);
  }

  function draw(width) {
    const amount = Number(smoothing.value), log = logarithmic.checked;
    right = width - 12;
    const top = 10, height = 290, second = top + height + 40, low = 56;
    const finite = extent([training.mean, validation.mean], (v) => !log || v > 0) || [0, 1];
    const steps = extent([training.steps, validation.steps]);
    x = scale(steps[0], steps[1], left, right);
    const pad = log ? 1 : (finite[1] - finite[0]) * 0.04;
    const y = scale(log ? finite[0] : finite[0] - pad, log ? finite[1] : finite[1] + pad, top + height, top, log);
    const xs = training.steps.map(x), soft = smoothed(training.mean, amount);
    const vx = validation.steps.map(x), vy = Array.from(validation.mean, y);
    const picture = svg("svg", { width, height: second + low + 24, "aria-hidden": "true" });
    picture.append(xAxis(x, top, height, right - left), yAxis(y, log ? logTicks(y.low, y.high)
      : ticks(y.low, y.high, 6), left, right));
    if (training.size > 1) {
      const there = xs.map((px, i) => px.toFixed(1) + " " + y(training.high[i]).toFixed(1));
      const back = xs.map((px, i) => px.toFixed(1) + " " + y(training.low[i]).toFixed(1)).reverse();
      if (![...training.high, ...training.low].some((v) => !Number.isFinite(y(v))))
        picture.append(svg("path", { class: "band training", d: "M" + [...there, ...back].join("L") + "Z" }));
    }
    picture.append(
      svg("path", { class: "line raw training", d: linePath(xs, Array.from(training.mean, y)) }),
      svg("path", { class: "line training", d: linePath(xs, soft.map(y)) }),
      svg("path", { class: "line validation", d: linePath(vx, vy) }));
    vx.forEach((px, i) => {
      if (Number.isFinite(vy[i])) picture.append(svg("circle", { class: "dot validation", cx: px, cy: vy[i], r: 3.5 }));
    });
    let rateScale = null;
    if (rate.steps.length > 0) {
      const range = extent([rate.mean]) || [0, 1];
      rateScale = scale(Math.min(0, range[0]), range[1], second + low, second);
      picture.append(xAxis(x, second, low, right - left),
        yAxis(rateScale, [rateScale.low, rateScale.high], left, right),
        svg("text", { x: right - 6, y: second + 14, "text-anchor": "end" }, "learning rate"),
        svg("path", { class: "line rate", d: linePath(rate.steps.map(x), Array.from(rate.mean, rateScale)) }));
    }
    const cursor = picture.appendChild(line("cursor", 0, top, 0, second + low));
    const dots = ["training", "rate"].map((name) => picture.appendChild(svg("circle", { class: "dot " + name, r: 4.5 })));
    const move = (dot, cx, cy, shown) =>
      build(dot, shown && Number.isFinite(cy) ? { cx, cy, visibility: "visible" } : { visibility: "hidden" }, []);
    mark = (shown) => {
      const step = main.steps[at], r = lastAtMost(rate.steps, step);
      build(cursor, { x1: x(step), x2: x(step), visibility: shown ? "visible" : "hidden" }, []);
      move(dots[0], x(step), main === training ? y(training.mean[at]) : NaN, shown);
      move(dots[1], x(rate.steps[r]), r >= 0 && rateScale ? rateScale(rate.mean[r]) : NaN, shown);
    };
    plot.replaceChildren(picture);
    point(at, document.activeElement === plot);
  }

  const nearest = (step) => {
    const i = lastAtMost(main.steps, step);
    return i < 0 || (i + 1 < main.steps.length && main.steps[i + 1] - step < step - main.steps[i]) ? i + 1 : i;
  };
  const far = Math.max(1, Math.round(main.steps.length / 10));
  readable(plot, {
    find: (px) => nearest(x.invert(clamp(px, left, right))),
    point,
    lines: () => ["step " + stepsOf(main, at), ...entries(at)],
    rest: () => point(last, false),
    moves: () => ({ ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1, Home: 0,
      PageDown: at - far, PageUp: at + far, End: last }),
  });
  smoothing.addEventListener("input", () => draw(plot.clientWidth));
  logarithmic.addEventListener("change", () => draw(plot.clientWidth));
  point(at, false);
  onWidth(plot, draw);
}
