// ---- the picture of the losses: curves, the learning rate below, the cursor

// Draws the steps from … to; `limitsOf(auto, log)` returns the limits of the loss axis. Returns the picture, and
// mark(step, shown), which moves the cursor. `slack` pixels beside the axes belong to it.
function lossPicture({ x, left, right, width, log, amount, from, to, slack, runs, limitsOf }) {
  const { training, validation, rate } = losses, top = 10, height = 290, second = top + height + 50, low = 56;
  const everything = [{ training, validation, hue: "" }, ...runs];
  const seen = (series) => {
    const kept = Array.from(series.mean).filter((_, i) => series.steps[i] >= from && series.steps[i] <= to);
    return kept.length > 0 ? kept : series.mean;
  };
  const finite = extent(everything.flatMap((run) => [seen(run.training), seen(run.validation)]), (v) => !log || v > 0) || [0, 1];
  const pad = log ? 0 : (finite[1] - finite[0]) * 0.04;
  const y = scale(...limitsOf([finite[0] - pad, finite[1] + pad], log), top + height, top, log);
  const clip = (id, at, tall) => svg("clipPath", { id }, svg("rect", { x: left - slack, y: at - 4,
    width: right - left + 2 * slack, height: tall + 8 }));
  const picture = svg("svg", { width, height: second + low + 24, "aria-hidden": "true" },
    svg("defs", {}, clip("loss-clip", top, height), clip("rate-clip", second, low)),
    xAxis(x, top, height, right - left), yAxis(y, log ? logTicks(y.low, y.high) : ticks(y.low, y.high, 6), left, right));

  const curves = picture.appendChild(svg("g", { "clip-path": "url(#loss-clip)" }));
  const path = (name, series, values) => svg("path", { class: "line " + name,
    d: linePath(series.steps.map(x), Array.from(values, y)) });
  if (training.size > 1) {
    const edge = (values) => training.steps.map((step, i) => x(step).toFixed(1) + " " + y(values[i]).toFixed(1));
    if (![...training.high, ...training.low].some((v) => !Number.isFinite(y(v))))
      curves.append(svg("path", { class: "band training",
        d: "M" + [...edge(training.high), ...edge(training.low).reverse()].join("L") + "Z" }));
  }
  for (const run of runs)
    curves.append(path("other " + run.hue, run.training, smoothed(run.training.mean, amount)),
      path("other dashed " + run.hue, run.validation, run.validation.mean));
  curves.append(path("raw training", training, training.mean),
    path("training", training, smoothed(training.mean, amount)), path("validation", validation, validation.mean));
  validation.steps.forEach((step, i) => {
    const cy = y(validation.mean[i]);
    if (Number.isFinite(cy)) curves.append(svg("circle", { class: "dot validation", cx: x(step), cy, r: 3.5 }));
  });

  let rateScale = null;
  if (rate.steps.length > 0) {
    const range = extent([rate.mean]) || [0, 1];
    rateScale = scale(Math.min(0, range[0]), range[1], second + low, second);
    picture.append(xAxis(x, second, low, right - left),
      yAxis(rateScale, [rateScale.low, rateScale.high], left, right),
      svg("text", { class: "name", x: left, y: second - 9 }, "learning rate"),
      svg("g", { "clip-path": "url(#rate-clip)" }, svg("path", { class: "line rate",
        d: linePath(rate.steps.map(x), Array.from(rate.mean, rateScale)) })));
  }
  const cursor = picture.appendChild(line("cursor", 0, top, 0, second + low));
  const dots = ["training", "rate"].map((name) => picture.appendChild(svg("circle", { class: "dot " + name, r: 4.5 })));
  function mark(step, shown) {
    const put = (dot, series, axis) => {
      const i = lastAtMost(series.steps, step), cy = i >= 0 && axis && step <= series.end ? axis(series.mean[i]) : NaN;
      const inside = shown && axis && cy >= axis(axis.high) - 1 && cy <= axis(axis.low) + 1;
      build(dot, inside ? { cx: x(series.steps[i]), cy, visibility: "visible" } : { visibility: "hidden" }, []);
    };
    build(cursor, { x1: x(step), x2: x(step), visibility: shown ? "visible" : "hidden" }, []);
    put(dots[0], training, y);
    put(dots[1], rate, rateScale);
  }
  return { picture, mark };
}

// Calls choose(a, b) when a mouse or pen was dragged from a to b across the node; `within(a, b)` limits them. Escape
// cancels. A finger scrolls the page and reads values.
function dragged(node, within, choose) {
  let start = null, box = null;
  const end = () => { start = null; box?.remove(); box = null; busy.delete("drag"); };
  const here = (event) => event.clientX - node.getBoundingClientRect().left;
  node.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "touch" || event.button !== 0) return;
    start = here(event);
    busy.add("drag");
    node.setPointerCapture(event.pointerId);
  });
  node.addEventListener("pointermove", (event) => {
    if (start === null || Math.abs(here(event) - start) < 5) return;
    const [a, b] = within(start, here(event)).sort((p, q) => p - q);
    box ||= node.appendChild(html("div", { class: "drag" }));
    Object.assign(box.style, { left: a + "px", width: b - a + "px" });
  });
  node.addEventListener("pointerup", (event) => {
    if (start === null) return;
    const [a, b] = within(start, here(event)).sort((p, q) => p - q), drawn = box !== null;
    end();
    if (drawn && b - a >= 5) choose(a, b);
  });
  node.addEventListener("pointercancel", end);
  addEventListener("keydown", (event) => { if (event.key === "Escape") end(); });
}
