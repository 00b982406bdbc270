// ---- the overview, samples, parameters, settings and facts

function drawOverview() {
  const { training, validation } = losses;
  const best = extent([validation.mean]);
  const count = sum(data.parameters.map((row) => row.count));
  const { run } = data, steps = Math.max(training.end + 1, validation.end); // done: the last evaluation is after the last step
  const tiles = [
    steps + run.steps > 0 && ["steps", whole(steps) + (steps < run.steps ? " of " + whole(run.steps) : "")],
    count > 0 && ["parameters", whole(count)],
    training.steps.length > 0 && ["last training loss", training.mean[training.mean.length - 1].toFixed(4)],
    best && ["best validation loss", best[0].toFixed(4)],
    best && ["its perplexity", brief(Math.exp(best[0]))],
    run.seconds > 0 && ["duration", duration(run.seconds)],
    run.seconds > 0 && run.tokens > 0 && ["tokens per second", whole(Math.round(run.tokens / run.seconds))],
  ].filter(Boolean);
  document.getElementById("overview").append(html("dl", { class: "tiles" },
    tiles.map(([name, value]) => html("div", {}, html("dt", {}, name), html("dd", {}, value)))));
}

function drawSamples() {
  if (data.samples.length === 0) return;
  section("samples", "Samples", muted("What the model wrote in the course of training."),
    html("div", { class: "samples" }, data.samples.map((sample) => html("figure", {},
      html("figcaption", {}, "step " + whole(sample.step)),
      html("blockquote", { dir: "auto" },
        sample.prompt ? html("span", { class: "prompt", title: "the prompt" }, visible(sample.prompt)) : "",
        paragraphs(sample.text))))));
}

function drawParameters() {
  if (data.parameters.length === 0) return;
  const rows = data.parameters.map((row, place) => ({ ...row, place }));
  const most = Math.max(1e-300, ...rows.map((row) => row.norm || 0));
  const body = html("tbody", {});
  const columns = [
    ["name", "Parameter", (r) => r.place], ["shape", "Shape", (r) => r.shape.length],
    ["count", "Elements", (r) => r.count], ["first", "First norm", (r) => r.first_norm],
    ["norm", "Norm", (r) => r.norm],
  ];
  const draw = (key, down) => {
    const by = columns.find(([name]) => name === key)[2];
    rows.sort((a, b) => (by(a) - by(b)) * (down ? -1 : 1) || a.place - b.place);
    heads.forEach((th, i) => th.setAttribute("aria-sort",
      columns[i][0] !== key ? "none" : down ? "descending" : "ascending"));
    body.replaceChildren(...rows.map((row) => html("tr", {},
      html("th", { scope: "row" }, row.name.split(".").flatMap((part, i) => i ? [".", html("wbr", {}), part] : [part])),
      html("td", {}, row.shape.length ? row.shape.join(" × ") : "scalar"),
      html("td", { class: "number" }, whole(row.count)),
      html("td", { class: "number first" }, exact(row.first_norm)),
      html("td", { class: "number norm", style: "--share:" + (row.norm || 0) / most }, exact(row.norm)))));
  };
  const heads = columns.map(([key, title]) => html("th", { scope: "col", class: key }, html("button", { type: "button",
    onclick: ({ target }) => {
      const sorted = target.parentNode.getAttribute("aria-sort");
      draw(key, key === "name" ? sorted === "ascending" : sorted !== "descending");
    } }, title)));
  section("parameters", "Parameters", html("table", {}, html("thead", {}, html("tr", {}, heads)), body,
    html("tfoot", {}, html("tr", {}, html("th", { scope: "row" }, plural(rows.length, "tensor")), html("td", {}),
      html("td", { class: "number" }, whole(sum(rows.map((row) => row.count)))),
      html("td", { class: "first" }), html("td", {})))));
  draw("name", false);
}

function drawSettings() {
  const { run, facts, settings } = data;
  const table = (rows, name) => rows.length === 0 ? [] : html("dl", { class: name }, rows.map(([key, value]) =>
    html("div", {}, html("dt", {}, visible(key)), html("dd", {}, html("bdi", {}, visible(value) || "–")))));
  const more = [
    run.seconds > 0 && ["duration", duration(run.seconds) + ", with evaluations and saving"],
    run.saved > 0 && ["saved", new Date(run.saved * 1000).toLocaleString("en-GB", { dateStyle: "long", timeStyle: "medium" })],
  ].filter(Boolean);
  if (settings.length > 0) section("settings", "Settings", table(settings, "settings"));
  if (facts.length + more.length > 0) section("run", "Run", table([...facts, ...more], "settings run"));
}

