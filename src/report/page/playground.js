// ---- Try the model: the reader's own text, run through the weights that the page carries

function drawPlayground() {
  if (!data.has_model) return;
  const place = html("div", {}, muted("Reading the weights."));
  section("try", "Try the model", place);
  // The weights are at the end of the page, so that everything else is drawn first, also if they are cut short.
  document.addEventListener("DOMContentLoaded", () => {
    try {
      const model = readModel(document.getElementById("model")?.textContent ?? "");
      place.replaceChildren(...Object.keys(model.weights).length > 0 ? playground(model) : [muted(
        `The weights are not in this page, because the model has ${whole(model.parameters)} parameters and this page takes `
        + `at most ${whole(model.max_parameters)}. To try the model here, train with `,
        html("code", {}, "--page_weights " + model.parameters), " (an interrupted run continues with ",
        html("code", {}, "--resume"), "); a parameter adds 2.7 bytes to the page.")]);
    } catch (error) {
      place.replaceChildren(html("p", { class: "warning", role: "alert" }, visible(error.message)));
    }
  });
}

const lossScale = 6; // the loss of the strongest colour
const mostTyped = 5000; // characters in the text field, which is cut by a tenth of that at a time
const codePoint = (c) => "U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
const named = (character) => character === " " ? "␣" : visible(character);
const signed = (x) => (x < 0 ? "−" : "+") + Math.abs(x).toFixed(3);

function playground(model) {
  const { vocab_size: V, num_layers, num_heads, block_size } = model.config, B = reachOf(model);
  const start = Array.from(data.sentences[0]?.text || data.samples[data.samples.length - 1]?.text || model.characters)
    .slice(0, B).join("");
  const heads = Array(num_layers).fill(num_heads), off = new Set();
  const pass = emptyPass(model), allOn = emptyPass(model); // with the heads that are off, and without
  const now = { sentence: { tokens: [], heads, snapshots: [{}] }, step: 0, head: 0, token: 0,
    weights: [] };
  let losses = [], atEnd = true, cut = false;

  const area = html("textarea", { id: "try-text", rows: 3, spellcheck: "false", autocapitalize: "off", autocomplete: "off",
    dir: "auto", oninput: () => { typed(area.value); }, onpaste: (event) => { // not laid out first, which takes seconds for a megabyte
      const text = event.clipboardData.getData("text");
      if (text.length <= mostTyped) return;
      event.preventDefault();
      typed(text);
    } });
  area.value = start;
  const notes = html("div", { id: "try-notes", class: "warning", role: "status" });
  const told = html("p", { class: "readout", id: "try-loss" });
  const switched = html("p", { class: "readout", id: "try-switched" });
  const strip = html("div", { class: "strip", id: "try-strip", role: "listbox", "aria-orientation": "horizontal",
    "aria-label": "Characters, coloured by loss" });
  const next = html("ol", { id: "try-next" }), nextTitle = html("h3", {});
  const grid = html("div", { class: "heads", id: "try-heads", role: "group", "aria-label": "Heads, a row for each layer" });
  const large = largeHead(now, (q) => chooseToken(q), "try-readout");
  const results = html("div", {});

  // ---- the text
  // A longer text is cut to its end, because browsers lay out a text field slowly.
  function typed(text) {
    const tenth = mostTyped / 10;
    cut = text.length > mostTyped;
    if (cut) // not within a character of two code units
      text = text.slice(Math.ceil((text.length - mostTyped) / tenth) * tenth).replace(/^[\udc00-\udfff]/, "");
    if (area.value !== text) area.value = text;
    atEnd = true;
    soon();
  }
  let waiting = false;
  function soon() { // once before the next frame, however fast the keys come
    stopMeasuring();
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; show(); });
  }

  const mean = (list) => sum(list) / list.length;
  function show() {
    const { pieces, ids, cut: isLong } = readText(model, area.value, B);
    forward(model, pass, ids, off);
    losses = lossesOf(model, pass);
    const tokens = ids.map((id) => visible(model.characters[id]));
    now.sentence = { ...now.sentence, tokens };
    now.weights = [{ tokens: ids.length, causal: true, weight: (head, q, k) => pass.attention[head][q * B + k],
      byte: (head, q, k) => k > q ? 0 : Math.round(255 * Math.sqrt(pass.attention[head][q * B + k])) }];
    showNotes(pieces, isLong);
    results.hidden = go.disabled = ids.length === 0;
    if (ids.length === 0) { strip.replaceChildren(); told.replaceChildren(); return; }
    showLoss();
    let i = -1;
    strip.replaceChildren(...pieces.map((piece) => piece.unknown ? unknownSpan(piece) : characterSpan(++i)));
    cells.forEach(({ button, small }, head) => {
      const does = habit(now.weights[0], head);
      paint(button.querySelector("canvas"), now.weights[0], head);
      small.textContent = does;
      button.setAttribute("aria-label", nameOf(head) + (does ? ": " + does : ""));
    });
    if (atEnd || now.token >= ids.length) now.token = ids.length - 1;
    chooseHead(now.head);
  }

  function showNotes(pieces, isLong) {
    const unknown = [...new Set(pieces.flatMap((p) => p.unknown ? [...p.text] : []))], lines = [];
    if (unknown.length > 0)
      lines.push("Left out, because the model knows only the " + V + " characters of its training text: "
        + unknown.slice(0, 5).map((c) => quoted(visible(c)) + " " + codePoint(c)).join(", ")
        + (unknown.length > 5 ? " and " + (unknown.length - 5) + " more" : "") + ".");
    if (cut) lines.push(`The field keeps the end of a text, at most ${whole(mostTyped)} characters.`);
    if (isLong) lines.push((B === block_size ? `The model sees at most ${B} characters (its block_size)`
      : `The page computes at most ${B} characters of the ${whole(block_size)} that the model can see`)
      + ", so only the end of the text is computed.");
    if (pieces.length === unknown.length && pieces.every((p) => p.unknown)) lines.push("Type a character that the model knows.");
    const text = lines.join(" ");
    if (notes.textContent !== text) notes.textContent = text; // so a screen reader reads it once
  }

  function showLoss() {
    if (losses.length === 0) {
      told.replaceChildren("Type a second character to see its loss.");
      switched.replaceChildren();
      return;
    }
    const loss = mean(losses), value = (name, text) => html("span", {}, name + " ", html("b", {}, text));
    told.replaceChildren(value("mean loss", loss.toFixed(4)), value("perplexity", Math.exp(loss).toFixed(2)));
    switched.replaceChildren(value("mean loss", loss.toFixed(4)));
    if (off.size === 0) return;
    const all = mean(lossesOf(model, forward(model, allOn, pass.ids)));
    switched.append(value("with all heads on", all.toFixed(4)), value("difference", signed(loss - all)));
  }

  function unknownSpan({ text, unknown }) {
    const shown = visible([...text].slice(0, 8).join("")) + (unknown > 8 ? "… × " + unknown : "");
    return html("span", { class: "unknown", role: "option", "aria-disabled": "true", "aria-label": shown + ", left out" },
      html("bdi", {}, shown));
  }
  const describe = (i) => i === 0 ? ["nothing before it, so no loss"]
    : [["loss", losses[i - 1].toFixed(4)], ["probability", percent(Math.exp(-losses[i - 1]))]];
  function characterSpan(i) {
    const where = (event) => { // the pointer, or the middle of the character
      const box = event.currentTarget.getBoundingClientRect();
      const [x, y] = [event.clientX ?? box.left + box.width / 2, event.clientY ?? box.top];
      showTooltip(x, y, [positioned(now.sentence.tokens, i), ...describe(i)]);
    };
    return html("span", { class: "letter", role: "option", tabindex: -1, id: "try-token-" + i,
      style: "--loss:" + (i === 0 ? 0 : Math.min(1, losses[i - 1] / lossScale)),
      "aria-label": [positioned(now.sentence.tokens, i), ...describe(i).map((line) => [line].flat().join(" "))].join(", "),
      onpointerenter: where, onpointerleave: hideTooltip, onblur: hideTooltip,
      onclick: (event) => { event.currentTarget.focus(); },
      onfocus: (event) => { atEnd = false; chooseToken(i); where(event); } }, html("bdi", {}, now.sentence.tokens[i]));
  }
  const spans = () => [...strip.querySelectorAll(".letter")];
  onKeys(strip, () => {
    const t = now.token;
    return { ArrowLeft: t - 1, ArrowUp: t - 1, ArrowRight: t + 1, ArrowDown: t + 1, Home: 0, End: Infinity };
  }, (to) => spans()[clamp(to, 0, spans().length - 1)].focus());

  // ---- a character: what may follow it
  function chooseToken(token) {
    now.token = token;
    spans().forEach((span, i) => {
      span.classList.toggle("here", i === token);
      build(span, { "aria-selected": String(i === token), tabindex: i === token ? 0 : -1 }, []);
    });
    const row = Array.from(pass.logProbabilities.subarray(token * V, (token + 1) * V));
    const best = row.map((_, id) => id).sort((a, b) => row[b] - row[a] || a - b).slice(0, 10);
    const followed = pass.ids[token + 1];
    if (followed !== undefined && !best.includes(followed)) best[9] = followed;
    nextTitle.textContent = "After " + positioned(now.sentence.tokens, token);
    next.replaceChildren(...best.map((id) => html("li", { class: id === followed ? "followed" : "" },
      html("span", { class: "name" }, html("bdi", {}, named(model.characters[id]))),
      html("span", { class: "length" }, html("i", { style: "width:" + Math.exp(row[id]) * 100 + "%" })),
      html("b", { title: "log-probability " + row[id].toFixed(5) }, percent(Math.exp(row[id]))))));
    large.follow();
  }

  // ---- the heads, each with a switch
  const nameOf = (head) => `Layer ${Math.floor(head / num_heads) + 1}, head ${head % num_heads + 1}`;
  const cells = positions(now.sentence).map(([layer, h], head) => {
    const small = html("small", { "aria-hidden": "true" });
    const button = html("button", { type: "button", "aria-pressed": "false", tabindex: -1, onclick: () => focusHead(head) },
      html("canvas", { "aria-hidden": "true" }), small);
    const box = html("input", { type: "checkbox", checked: true, id: "try-head-" + head, "aria-label": nameOf(head) + " is on" });
    box.addEventListener("change", () => {
      if (box.checked) off.delete(head); else off.add(head);
      soon();
      requestAnimationFrame(() => announce([...switched.children].map((part) => part.textContent).join(", ")));
    });
    const node = html("div", { class: "head", "data-try-head": head, style: `grid-area:${layer + 2}/${h + 2}` },
      button, html("label", {}, box, "on"));
    return { node, button, small, box };
  });
  grid.style.gridTemplateColumns = `auto repeat(${num_heads}, minmax(0, 1fr))`;
  grid.classList.toggle("dense", num_heads > 6);
  const label = (row, column, text) =>
    html("span", { class: "label", "aria-hidden": "true", style: `grid-area:${row}/${column}` }, text);
  grid.append(...Array.from({ length: num_heads }, (_, h) => label(1, h + 2, "H" + (h + 1))),
    ...heads.map((_, layer) => label(layer + 2, 1, "L" + (layer + 1))), ...cells.map((cell) => cell.node));
  function chooseHead(head) {
    now.head = head;
    cells.forEach(({ button, node }, i) => {
      build(button, { "aria-pressed": String(i === head), tabindex: i === head ? 0 : -1 }, []);
      node.classList.toggle("off", off.has(i));
    });
    large.show(nameOf(head) + (off.has(head) ? " (off)" : ""));
    chooseToken(now.token);
  }
  function focusHead(head) {
    chooseHead(head);
    cells[head].button.focus();
  }
  onKeys(grid, () => document.activeElement.type === "checkbox" ? {}
    : aroundCell(Math.floor(now.head / num_heads), now.head % num_heads),
  ([l, h]) => focusHead(clamp(l, 0, num_layers - 1) * num_heads + clamp(h, 0, num_heads - 1)));

  // What each head is worth: the loss without it, one head between two frames.
  let measuring = 0;
  const measure = html("button", { type: "button", id: "try-measure", onclick: () => {
    stopMeasuring();
    const all = [...off], ids = pass.ids, base = mean(losses), spare = emptyPass(model);
    const step = (head) => {
      if (head === cells.length) { announce("Measured every head."); return; }
      if (!off.has(head)) {
        forward(model, spare, ids, new Set([...all, head]));
        cells[head].small.textContent = signed(mean(lossesOf(model, spare)) - base);
      }
      measuring = setTimeout(step, 0, head + 1);
    };
    if (losses.length > 0) step(0);
  } }, "Measure each head");
  const stopMeasuring = () => clearTimeout(measuring);
  const allButton = html("button", { type: "button", id: "try-on", onclick: () => switchAllOn() }, "All on");
  function switchAllOn() {
    off.clear();
    cells.forEach(({ box }) => { box.checked = true; });
    soon();
  }

  // ---- writing on
  const temperature = html("input", { type: "range", id: "try-temperature", min: 0, max: 2, step: 0.05, value: 0.8,
    oninput: () => showTemperature() });
  const temperatureText = html("output", { for: "try-temperature" });
  const showTemperature = () => { temperatureText.textContent = Number(temperature.value).toFixed(2); };
  const seed = html("input", { type: "number", id: "try-seed", min: 0, max: 4294967295, step: 1, value: 1 });
  const length = html("input", { type: "number", id: "try-length", min: 1, max: 2000, step: 1, value: 200 });
  const go = html("button", { type: "button", id: "try-go", onclick: () => { if (timer) finish("Stopped after"); else generate(); } },
    "Generate");
  const out = html("blockquote", { id: "try-out", dir: "auto", hidden: true });
  const wrote = html("p", { class: "muted", id: "try-wrote", role: "status" });
  let timer = 0, written = "";
  const count = () => clamp(Math.floor(Number(length.value)) || 1, 1, 2000);
  function generate() {
    const random = randomNumbers(clamp(Math.floor(Number(seed.value)) || 0, 0, 4294967295));
    const heat = Number(temperature.value), most = count(), spare = emptyPass(model), switches = new Set(off);
    const ids = [...pass.ids], began = ids.length, target = html("span", {});
    written = "";
    out.hidden = false;
    out.replaceChildren(html("span", { class: "prompt" }, paragraphs(ids.map((id) => model.characters[id]).join(""))), target);
    go.textContent = "Stop";
    busy.add("writing");
    wrote.textContent = "";
    const work = () => { // about 12 ms at a time, so the page stays at hand
      const until = performance.now() + 12;
      do {
        const seen = ids.slice(-B);
        forward(model, spare, seen, switches);
        ids.push(drawId(spare.logProbabilities, (seen.length - 1) * V, V, heat, random));
      } while (ids.length < began + most && performance.now() < until);
      written = ids.slice(began).map((id) => model.characters[id]).join("");
      target.textContent = paragraphs(written);
      if (ids.length < began + most) timer = setTimeout(work, 0); else finish("Wrote");
    };
    timer = setTimeout(work, 0);
  }
  function finish(how) {
    clearTimeout(timer);
    timer = 0;
    busy.delete("writing");
    go.textContent = "Generate";
    wrote.textContent = how + " " + plural([...written].length, "character") + ".";
  }

  const reset = html("button", { type: "button", id: "try-reset", onclick: () => {
    if (timer) finish("Stopped after");
    typed(start);
    [temperature.value, seed.value, length.value, atEnd, now.head] = [0.8, 1, 200, true, 0];
    out.hidden = true;
    wrote.textContent = "";
    showTemperature();
    switchAllOn();
  } }, "Reset");

  results.append(html("div", { class: "after" },
    html("div", { class: "looks relations" }, nextTitle, next),
    html("div", { class: "writing" }, html("h3", {}, "Let it write"),
      html("div", { class: "field" }, html("label", { for: "try-temperature" }, "Temperature ", temperatureText), temperature),
      html("div", { class: "field" }, html("label", {}, "Seed ", seed),
        html("label", {}, "Characters ", length), go),
      muted("It continues your text; the same seed and settings write the same."), out, wrote)),
  html("div", { class: "panels" }, html("div", { class: "overview" },
    html("h3", {}, "All heads"),
    muted("Switch a head off, and its layer goes without what it adds."), switched,
    html("div", { class: "buttons" }, measure, allButton), grid), large.node));
  showTemperature();
  for (const input of [area, temperature, seed, length, ...cells.map((cell) => cell.box)]) remember(input.id, input);
  requestAnimationFrame(show);
  return [
    muted("This page carries the trained model (", whole(model.parameters), " parameters, at 16 bits) and runs it here. "
      + "Nothing that you type leaves the page."),
    html("label", { for: "try-text" }, "Your text"), area,
    html("div", { class: "buttons" }, reset), notes, told, strip,
    html("div", { class: "lossbar", "aria-hidden": "true" }, html("span", {}, "loss 0"), html("i", {}),
      html("span", {}, lossScale + " or more")),
    results];
}
