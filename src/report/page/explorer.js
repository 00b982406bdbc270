// ---- the attention explorer: you choose a sentence, a checkpoint, a head and a token

function drawAttention() {
  const { sentences } = data;
  if (sentences.length === 0) return section("attention", "Attention", muted("No attention was recorded."));
  const several = sentences.length > 1 || sentences[0].snapshots.length > 1;
  const now = { sentence: sentences[0], weights: [], step: 0, head: 0, token: 0, pinned: false };

  const slider = html("input", { type: "range", id: "checkpoint", min: 0, step: 1 });
  const sliderText = html("output", { for: "checkpoint" });
  const play = html("button", { type: "button", id: "play" }, "▶\ufe0e Play");
  const strip = html("div", { class: "strip", role: "listbox", "aria-label": "Tokens", "aria-orientation": "horizontal" });
  const looks = html("div", { class: "looks" }), looked = html("div", { class: "looked" });
  const grid = html("div", { class: "heads", role: "radiogroup", "aria-label": "Heads, a row for each layer" });
  const picker = sentencePicker(sentences.map((s) => s.text), (i) => chooseSentence(sentences[i]));
  const large = largeHead(now, (q) => { if (!now.pinned) chooseToken(q); });

  section("attention", "Attention",
    muted(several ? "Choose a sentence and a head; point at a token to see what it looks at. "
      + "Click a token to keep it while you move through the checkpoints."
      : "Choose a head; point at a token to see what it looks at. Click a token to keep it."),
    html("div", { class: "choices" },
      picker.node,
      html("div", { class: "steps", hidden: !several }, html("label", { for: "checkpoint" }, "Checkpoint ", sliderText),
        html("div", { class: "field" }, slider, play))),
    strip,
    html("div", { class: "relations" }, looks, looked),
    html("div", { class: "panels" }, html("div", { class: "overview" },
      html("h3", {}, "All heads"), grid), large.node));

  function nameOfHead(head) {
    const [layer, h] = positions(now.sentence)[head];
    return "Layer " + (layer + 1) + ", head " + (h + 1);
  }

  // ---- the sentence
  function chooseSentence(sentence) {
    const before = now.weights.length > 0 ? now.sentence.snapshots[now.step].step : Infinity;
    now.sentence = sentence;
    now.weights = sentence.snapshots.map((snapshot) => weightsOf(sentence, snapshot));
    now.step = Math.max(0, lastAtMost(sentence.snapshots.map((s) => s.step), before));
    now.head = Math.min(now.head, sum(sentence.heads) - 1);
    now.token = Math.min(sentence.tokens.length - 1, Math.floor(sentence.tokens.length * 0.6));
    now.pinned = false;
    slider.max = sentence.snapshots.length - 1;
    slider.disabled = play.disabled = sentence.snapshots.length < 2;
    strip.replaceChildren(...sentence.tokens.map((token, i) => html("span", {
      class: "token", role: "option", id: "token-" + i, "aria-label": token + ", token " + (i + 1),
      onpointerenter: (event) => { if (event.pointerType !== "touch" && !now.pinned) chooseToken(i); },
      onclick: () => {
        now.pinned = !(now.pinned && now.token === i);
        chooseToken(i);
        strip.children[i].focus();
      },
      onfocus: () => { if (now.token !== i) { now.pinned = false; chooseToken(i); } },
    }, html("bdi", {}, token))));
    drawGrid();
    chooseStep(now.step);
  }

  // ---- the checkpoint
  function chooseStep(step) {
    now.step = step;
    slider.value = step;
    const text = "step " + whole(now.sentence.snapshots[step].step);
    slider.setAttribute("aria-valuetext", text);
    sliderText.textContent = text;
    const weights = now.weights[step];
    buttons().forEach((button, head) => {
      const does = habit(weights, head);
      paint(button.querySelector("canvas"), weights, head);
      button.querySelector("small").textContent = does;
      button.setAttribute("aria-label", nameOfHead(head) + ": " + does);
    });
    chooseHead(now.head);
  }
  slider.addEventListener("input", () => { stop(); chooseStep(Number(slider.value)); });
  let timer = 0;
  function stop() {
    clearInterval(timer);
    busy.delete("play");
    timer = 0;
    play.textContent = "▶\ufe0e Play";
  }
  play.addEventListener("click", () => {
    if (timer) { stop(); return; }
    busy.add("play");
    play.textContent = "⏸\ufe0e Pause";
    if (now.step === now.weights.length - 1) chooseStep(0);
    timer = setInterval(() => {
      chooseStep(now.step + 1);
      if (now.step === now.weights.length - 1) stop();
    }, 700);
  });

  // ---- the heads
  const buttons = () => [...grid.querySelectorAll("[role=radio]")]; // in the order of the heads' numbers
  function drawGrid() {
    const { heads } = now.sentence, most = Math.max(...heads);
    grid.style.gridTemplateColumns = "auto repeat(" + most + ", minmax(0, 1fr))";
    grid.classList.toggle("dense", most > 6);
    const label = (row, column, text) =>
      html("span", { class: "label", "aria-hidden": "true", style: `grid-area:${row}/${column}` }, text);
    grid.replaceChildren(...Array.from({ length: most }, (_, h) => label(1, h + 2, "H" + (h + 1))),
      ...heads.map((_, layer) => label(layer + 2, 1, "L" + (layer + 1))),
      ...positions(now.sentence).map(([layer, h], head) => html("button", { type: "button", role: "radio",
        "data-head": head, style: `grid-area:${layer + 2}/${h + 2}`, onclick: () => focusHead(head) },
        html("canvas", { "aria-hidden": "true" }), html("small", { "aria-hidden": "true" }))));
  }
  function chooseHead(head) {
    now.head = head;
    buttons().forEach((button, i) => build(button, { "aria-checked": String(i === head), tabindex: i === head ? 0 : -1 }, []));
    large.show(nameOfHead(head));
    chooseToken(now.token);
  }
  function focusHead(head) {
    chooseHead(head);
    buttons()[head].focus();
  }
  onKeys(grid, () => aroundCell(...positions(now.sentence)[now.head]), ([l, h]) => {
    const { heads } = now.sentence, layer = clamp(l, 0, heads.length - 1);
    focusHead(sum(heads.slice(0, layer)) + clamp(h, 0, heads[layer] - 1));
  });

  // ---- the token
  function relation(node, id, heading, weight) {
    const pairs = now.sentence.tokens.map((_, i) => [i, weight(i)]);
    const best = pairs.sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, 5).filter(([, w]) => w > 0);
    node.replaceChildren(html("h4", {}, heading), html("ol", { id }, best.map(([i, w]) => html("li", {},
      html("span", { class: "name" }, html("bdi", {}, now.sentence.tokens[i]), html("sub", {}, i + 1)),
      html("span", { class: "length" }, html("i", { style: "width:" + w * 100 + "%" })),
      html("b", {}, percent(w))))));
    return best.slice(0, 3).map(([i, w]) => positioned(now.sentence.tokens, i) + " " + percent(w)).join(", ");
  }
  function chooseToken(token) {
    now.token = token;
    const weights = now.weights[now.step], name = positioned(now.sentence.tokens, token);
    const on = (k) => weights.weight(now.head, token, k), by = (q) => weights.weight(now.head, q, token);
    [...strip.children].forEach((span, i) => {
      span.style.setProperty("--looks", Math.sqrt(on(i)).toFixed(3));
      span.style.setProperty("--looked", Math.sqrt(by(i)).toFixed(3));
      span.classList.toggle("here", i === token);
      span.classList.toggle("pinned", i === token && now.pinned);
      span.setAttribute("aria-selected", String(i === token));
      span.tabIndex = i === token ? 0 : -1;
    });
    const first = relation(looks, "looks-at", name + " looks at", on);
    relation(looked, "looked-at", name + " is looked at from", by);
    large.follow();
    return name + " looks at " + first;
  }
  onKeys(strip, () => {
    const t = now.token;
    return { ArrowLeft: t - 1, ArrowUp: t - 1, ArrowRight: t + 1, ArrowDown: t + 1, Home: 0, End: Infinity, Enter: "hold",
      " ": "hold" };
  }, (to) => {
    now.pinned = to === "hold" && !now.pinned;
    const token = to === "hold" ? now.token : clamp(to, 0, now.sentence.tokens.length - 1);
    announce(chooseToken(token) + (now.pinned ? "; held" : ""));
    strip.children[now.token].focus();
  });

  chooseSentence(sentences[0]);
  remember("attention", { // the last checkpoint stays the last one
    get value() {
      const { sentence, step, head, token, pinned } = now, { snapshots } = sentence;
      return { text: sentence.text, step: step < snapshots.length - 1 ? snapshots[step].step : null, head, token, pinned };
    },
    set value({ text, step, head, token, pinned }) {
      const i = sentences.findIndex((sentence) => sentence.text === text);
      if (i < 0) return;
      picker.take(i);
      Object.assign(now, { head: clamp(head, 0, sum(sentences[i].heads) - 1), pinned,
        token: clamp(token, 0, sentences[i].tokens.length - 1) });
      const steps = sentences[i].snapshots.map((snapshot) => snapshot.step);
      chooseStep(step === null ? steps.length - 1 : Math.max(0, lastAtMost(steps, step)));
    },
  });
}
