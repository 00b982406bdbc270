// ---- the losses of other runs, laid over this one's: given to --compare, dropped on the page, or chosen

// A run from {name, settings, loss} as a report contains it. Throws an Error unless its numbers fit.
function runFrom({ name, settings, loss }) {
  const checked = ({ steps, end, size, ...packed }) => {
    const series = curve({ steps, end, size, ...packed });
    const ascend = (step, i) => Number.isSafeInteger(step) && step > (i > 0 ? steps[i - 1] : -1);
    if (!steps.every(ascend) || [series.mean, series.low, series.high].some((list) => list.length !== steps.length))
      throw new Error("its losses are damaged");
    return series;
  };
  const pairs = settings.filter((pair) => pair.length === 2 && pair.every((part) => typeof part === "string"));
  return { name: String(name), settings: new Map(pairs), packed: { name, settings, loss },
    training: checked(loss.training), validation: checked(loss.validation) };
}

// The run of a report's page. Throws an Error that says what is wrong with the file.
async function runOfFile(file) {
  if (file.size > 100e6) throw new Error("it is larger than 100 MB");
  const page = await file.text(), mark = '\x3cscript type="application/json" id="data">';
  const start = page.indexOf(mark), end = page.indexOf("\x3c/script>", start);
  if (start < 0 || end < 0) throw new Error("it contains no report data");
  let other = null;
  try {
    other = JSON.parse(page.slice(start + mark.length, end));
  } catch {
    throw new Error("its data is damaged");
  }
  if (!/^weft report [12]$/.test(other.format)) throw new Error("its format is unknown");
  const folder = new Map(other.facts || []).get("folder"), file_name = file.name.replace(/\.html?$/, "");
  const name = file_name !== "report" ? file_name : folder || other.title || file_name;
  try {
    return runFrom({ name, settings: other.settings, loss: { training: other.loss.training, validation: other.loss.validation } });
  } catch {
    throw new Error("its losses are damaged");
  }
}

// The runs that are shown, and what chooses them: a legend, a field for files, a message. Calls `changed()` when
// the list has changed.
function comparedRuns(changed) {
  const most = 8, mine = new Map(data.settings), list = [];
  const legend = html("ul", { class: "legend", "aria-label": "Curves" });
  const message = html("p", { class: "warning", id: "compare-message", role: "status" });
  const field = html("input", { type: "file", id: "compare", class: "unseen", multiple: true, accept: ".html,text/html" });

  // The settings in which a run differs from this one, such as "lr 0.003, d_model 64".
  const differences = ({ settings }) => [...settings].filter(([name, value]) => name !== "text" && mine.get(name) !== value)
    .map(([name, value]) => name + " " + (value || "–")).join(", ");
  function draw() {
    const item = (hue, ...children) => html("li", {}, keyed(hue, ...children));
    legend.replaceChildren(item("training", "training"), item("validation", "validation"),
      ...list.map((run) => html("li", {}, keyed(run.hue, html("bdi", {}, visible(run.name))),
        html("small", { class: "muted" }, visible(differences(run)).slice(0, 120)),
        html("button", { type: "button", class: "remove", "aria-label": "Remove " + visible(run.name),
          onclick: () => remove(run) }, "✕"))),
      list.length > 0 ? html("li", { class: "muted" }, "other runs: training solid, validation dashed") : "");
  }
  function add(run) {
    if (list.length >= most) throw new Error(most + " other runs are shown already; remove one first");
    const taken = (name) => list.some((other) => other.name === name), plain = run.name;
    for (let i = 2; taken(run.name); ++i) run.name = plain + " (" + i + ")";
    run.hue = Array.from({ length: most }, (_, i) => "run-" + i).find((hue) => list.every((other) => other.hue !== hue));
    list.push(run);
  }
  function remove(run) {
    list.splice(list.indexOf(run), 1);
    draw();
    changed();
    announce(visible(run.name) + " removed");
    (legend.querySelector(".remove") || field).focus();
  }
  async function addFiles(files) {
    const problems = [], added = [];
    for (const file of files) try {
      const run = await runOfFile(file);
      add(run);
      added.push(run.name);
    } catch (error) {
      problems.push(visible(file.name) + " was not added: " + error.message + ".");
    }
    message.replaceChildren(problems.join(" ") +
      (problems.some((text) => text.includes("it contains")) ? " Choose a report.html that a training wrote." : ""));
    if (added.length === 0) return;
    draw();
    changed();
    announce(added.map(visible).join(", ") + " added");
  }

  field.addEventListener("change", async () => { await addFiles([...field.files]); field.value = ""; });
  const files = (event) => event.dataTransfer && [...event.dataTransfer.types].includes("Files");
  const over = (shown) => document.body.classList.toggle("dropping", shown);
  addEventListener("dragover", (event) => { if (files(event)) { event.preventDefault(); over(true); } });
  addEventListener("dragleave", (event) => { if (event.relatedTarget === null) over(false); });
  addEventListener("drop", (event) => {
    over(false);
    if (!files(event)) return;
    event.preventDefault();
    addFiles([...event.dataTransfer.files]);
  });

  for (const other of data.compared) add(runFrom(other));
  remember("runs", {
    get value() { return list.map((run) => ({ ...run.packed, name: run.name })); },
    set value(runs) { list.splice(0, Infinity); for (const run of runs) add(runFrom(run)); },
  });
  draw();
  return { list, legend, message,
    button: html("label", { class: "button", title: "or drop the files on the page" }, "Compare with a report…", field) };
}
