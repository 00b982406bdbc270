// ---- losses of this run and of others, with the learning rate below

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
// the next. A value that is not finite splits the line. At the beginning of a line, where a loss falls steeply, both
// sides reach equally far, so it begins at the first value.
function smoothed(values, amount) {
  const result = Array.from(values), n = result.length;
  for (let start = 0; start < n; ++start) {
    if (!Number.isFinite(values[start])) continue;
    let end = start;
    while (end < n && Number.isFinite(values[end])) ++end;
    const after = new Float64Array(end - start + 1), weight = after.slice(); // sums over the value and all after it
    for (let i = end - 1; i >= start; --i) {
      after[i - start] = values[i] + amount * after[i - start + 1];
      weight[i - start] = 1 + amount * weight[i - start + 1];
    }
    for (let i = 0, before = 0, total = 0; i < end - start; ++i) { // i values before this one
      const beyond = Math.min(2 * i + 1, end - start), factor = amount ** (i + 1);
      result[start + i] = (before + after[i] - factor * after[beyond]) / (total + weight[i] - factor * weight[beyond]);
      before = amount * (before + values[start + i]);
      total = amount * (total + 1);
    }
    start = end;
  }
  return result;
}

// The steps of a bin: "250", or "248 – 255".
function stepsOf(series, i) {
  const last = i + 1 < series.steps.length ? series.steps[i + 1] - 1 : series.end;
  const first = series.steps[i];
  return series.size > 1 && last > first ? whole(first) + " – " + whole(last) : whole(first);
}

function drawLosses() {
  const { training, validation, rate } = losses;
  const input = (id, type, more) => html("input", { type, id, ...more });
  const smoothing = input("smoothing", "range", { min: 0, max: 0.99, step: 0.01, value: 0.8 });
  const logarithmic = input("logarithmic", "checkbox");
  const limits = ["from", "to"].map((end) => input("loss-" + end, "number", { step: "any", placeholder: "auto",
    "aria-label": end === "from" ? "Lower limit of the loss axis" : "Upper limit of the loss axis" }));
  const wrong = html("p", { class: "warning", id: "limits-message", role: "status" });
  const plot = html("div", { class: "plot", tabindex: 0, role: "slider", "aria-valuemin": 0,
    "aria-label": "Loss by step; the arrow keys read the values, plus and minus zoom, 0 shows all steps" });
  const readout = html("p", { class: "readout", id: "loss-readout" });
  const button = (id, text, label, onclick) => html("button", { type: "button", class: "small", id, "aria-label": label,
    title: label, onclick }, text);
  const zoomed = (factor) => () => zoom(factor);
  let stops = [], at = 0, end = 0, view = null, x = null, right = 0, mark = () => {}, all = [0, 1];
  const left = 46, none = training.steps.length + validation.steps.length === 0;

  const others = comparedRuns(() => { measure(); draw(plot.clientWidth); });
  const zoomOut = button("zoom-out", "−", "Zoom out", zoomed(2)), reset = button("zoom-reset", "All steps",
    "Show all steps", zoomed(0));
  section("loss", "Loss",
    html("div", { class: "controls" }, readout, html("span", { class: "right" },
      html("label", {}, "Smoothing ", smoothing), html("label", {}, logarithmic, " Logarithmic"),
      html("span", { role: "group", "aria-label": "Limits of the loss axis" }, "Loss ", limits[0], " – ", limits[1]))),
    html("div", { class: "controls" }, others.legend, html("span", { class: "right" },
      html("span", { role: "group", "aria-label": "Zoom" }, button("zoom-in", "+", "Zoom in", zoomed(0.5)), zoomOut, reset),
      others.button,
      button("csv", "CSV", "Save the losses as CSV", () => download(fileName("-loss.csv"),
        new Blob([lossesAsCsv(losses)], { type: "text/csv" }))),
      pngButton("losses", plot, () => [[["training", "training"], ["validation", "validation"],
        ...others.list.map((run) => [visible(run.name), run.hue])]]))),
    others.message, wrong, plot,
    muted("Drag across the plot to zoom in; double-click to see all."));
  if (none) plot.before(muted("No loss was recorded."));

  const bad = training.steps.filter((_, i) => !Number.isFinite(training.mean[i]));
  if (bad.length > 0)
    plot.after(html("p", { class: "warning" },
      "The loss is not finite at " + plural(bad.length, "point") + ", first at step " + whole(bad[0]) + "."));

  // ---- the steps whose values can be read: this run's, then what any run measured after them
  function measure() {
    const series = [training, validation, ...others.list.flatMap((run) => [run.training, run.validation])];
    stops = [...training.steps];
    for (const { steps } of series) {
      const known = stops.length > 0 ? Math.max(stops[stops.length - 1], training.end) : -1;
      stops.push(...steps.filter((step) => step > known));
    }
    end = stops.findLastIndex((step) => step <= Math.max(training.end, validation.end)); // of this run
    at = clamp(end, 0, stops.length - 1);
    all = [stops[0] ?? 0, Math.max(...series.map(({ end: last }) => last), 0)];
    plot.setAttribute("aria-valuemax", Math.max(0, stops.length - 1));
  }
  const nameOf = (step) => {
    const i = training.steps.indexOf(step);
    return i >= 0 ? stepsOf(training, i) : whole(step);
  };
  // The place of the last value up to a step, and its step if that is another.
  const lastOf = (series, step) => {
    const i = lastAtMost(series.steps, step), ends = i + 1 < series.steps.length ? series.steps[i + 1] - 1 : series.end;
    const same = i < 0 || series.steps[i] === step || (series.size > 1 && step <= ends);
    return [i, same ? "" : " (step " + stepsOf(series, i) + ")"];
  };
  function entries(step) {
    const [t, t_when] = lastOf(training, step), [v, v_when] = lastOf(validation, step), [r, r_when] = lastOf(rate, step);
    const list = [];
    if (t >= 0) list.push(["training" + t_when, exact(training.mean[t]), "training"]);
    if (t >= 0 && training.size > 1)
      list.push(["lowest – highest", exact(training.low[t]) + " – " + exact(training.high[t])]);
    if (v >= 0) list.push(["validation" + v_when, exact(validation.mean[v]), "validation"],
      ["perplexity", exact(Math.exp(validation.mean[v]))]);
    if (r >= 0) list.push(["learning rate" + r_when, exact(rate.mean[r]), "rate"]);
    for (const run of others.list)
      for (const [series, what] of [[run.training, ""], [run.validation, " validation"]]) {
        const [i, when] = lastOf(series, step);
        if (i >= 0) list.push([visible(run.name) + what + when, exact(series.mean[i]), run.hue]);
      }
    return list;
  }
  function point(i = at, shown = true) {
    if (stops.length === 0) return;
    at = clamp(i, 0, stops.length - 1);
    const list = entries(stops[at]), step = "step " + nameOf(stops[at]);
    plot.setAttribute("aria-valuenow", at);
    plot.setAttribute("aria-valuetext", step + ": " + list.map(([name, number]) => name + " " + number).join(", "));
    readout.replaceChildren(html("span", { class: "muted" }, step),
      ...list.map(([name, number, hue]) => keyed(hue, name + " ", html("b", {}, number))));
    readout.style.minHeight = readout.offsetHeight + "px"; // what is below does not jump
    mark(shown);
  }

  // ---- what is seen
  const lastSeen = () => view ? Math.min(end, Math.max(0, lastAtMost(stops, view[1]))) : end;
  function show(from, to) {
    const width = clamp(to - from, Math.min(2, all[1] - all[0]), all[1] - all[0]);
    const first = clamp(from, all[0], all[1] - width);
    view = width < all[1] - all[0] ? [first, first + width] : null;
    if (view && (stops[at] < first || stops[at] > first + width)) at = lastSeen();
    draw(plot.clientWidth);
    announce(view ? "Steps " + whole(Math.ceil(view[0])) + " – " + whole(Math.floor(view[1])) : "All steps");
  }
  function zoom(factor) { // around the step that is read; 0 shows all
    if (factor === 0) { limits.forEach((field) => { field.value = ""; }); return show(...all); }
    const [from, to] = view || all, middle = clamp(stops[at], from, to);
    show(middle - (middle - from) * factor, middle + (to - middle) * factor);
  }
  function limitsOf(auto, log) { // the chosen limits where there are some
    const chosen = limits.map((field) => field.value === "" ? null : Number(field.value));
    const [from, to] = chosen;
    const problem = log && chosen.some((limit) => limit !== null && limit <= 0)
      ? "A logarithmic axis has no limit of 0 or below; give larger numbers, or leave the field empty."
      : from !== null && to !== null && from >= to
        ? "The lower limit is not below the upper one; change one of them, or leave it empty." : "";
    wrong.textContent = problem;
    limits.forEach((field) => field.setAttribute("aria-invalid", String(problem !== "")));
    if (problem) return auto;
    const low = from ?? auto[0], high = to ?? auto[1];
    if (low < high) return [low, high];
    return from !== null ? [low, log ? low * 2 : low + 1] : [log ? high / 2 : high - 1, high];
  }

  function draw(width) {
    if (stops.length === 0 || width <= 0) { plot.replaceChildren(); return; }
    const log = logarithmic.checked, amount = Number(smoothing.value), [from, to] = view || all;
    right = width - 12;
    readout.style.minHeight = "";
    x = scale(from, to, left, right);
    const drawn = lossPicture({ x, left, right, width, log, amount, from, to, slack: view ? 0 : 4, runs: others.list, limitsOf });
    mark = (shown) => drawn.mark(stops[at], shown && stops[at] >= x.low && stops[at] <= x.high);
    plot.replaceChildren(drawn.picture);
    zoomOut.disabled = view === null;
    reset.disabled = view === null && limits.every((field) => field.value === "");
    point(at, document.activeElement === plot);
  }

  // ---- the pointer and the keyboard
  const nearest = (step) => {
    const i = lastAtMost(stops, step);
    return i < 0 || (i + 1 < stops.length && stops[i + 1] - step < step - stops[i]) ? i + 1 : i;
  };
  const far = () => Math.max(1, Math.round(stops.length / 10));
  readable(plot, {
    find: (px) => stops.length === 0 ? null : nearest(x.invert(clamp(px, left, right))),
    point,
    lines: () => ["step " + nameOf(stops[at]), ...entries(stops[at])],
    rest: () => point(lastSeen(), false),
    moves: () => ({ ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1, Home: 0,
      PageDown: at - far(), PageUp: at + far(), End: stops.length - 1 }),
  });
  plot.addEventListener("keydown", () => { // the view follows the step that is read
    const [from, to] = view || all, step = stops[at];
    if (step < from || step > to) show(step - (to - from) / 2, step + (to - from) / 2);
  });
  onKeys(plot, () => ({ "+": 0.5, "=": 0.5, "-": 2, "−": 2, "0": 0, Escape: 0 }), zoom);
  dragged(plot, (a, b) => [a, b].map((px) => clamp(px, left, right)), (a, b) => show(x.invert(a), x.invert(b)));
  plot.addEventListener("dblclick", () => zoom(0));

  for (const control of [smoothing, ...limits]) control.addEventListener("input", () => draw(plot.clientWidth));
  logarithmic.addEventListener("change", () => draw(plot.clientWidth));
  measure();
  for (const control of [smoothing, logarithmic, ...limits]) remember(control.id, control);
  remember("steps shown", { get value() { return view; }, set value(steps) { view = steps; } });
  point(at, false);
  onWidth(plot, draw);
}
