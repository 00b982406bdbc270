// ---- the overview, samples, parameters and settings; then the whole page

function drawOverview() {
  const { training, validation } = losses;
  const best = extent([validation.mean]);
  const count = sum(data.parameters.map((row) => row.count));
  const last = Math.max(training.end, validation.end);
  const tiles = [
    last >= 0 && ["steps", whole(last)],
    count > 0 && ["parameters", whole(count)],
    training.steps.length > 0 && ["last training loss", training.mean[training.mean.length - 1].toFixed(4)],
    best && ["best validation loss", best[0].toFixed(4)],
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
  if (data.settings.length === 0) return;
  section("settings", "Settings", html("dl", { class: "settings" }, data.settings.map(([name, value]) =>
    html("div", {}, html("dt", {}, name), html("dd", {}, html("bdi", {}, visible(value) || "–"))))));
}

document.title = visible(data.title);
document.getElementById("title").textContent = visible(data.title);
drawOverview();
drawLosses();
drawAttention();
drawPlayground();
drawGradients();
drawSamples();
drawParameters();
drawSettings();
