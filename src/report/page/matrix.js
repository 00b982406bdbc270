// ---- one head, enlarged: its weights as a matrix, what it attends to, and how it formed

// Shows the choice in `now`; calls `pick(q)` with the query under the pointer. `id` is that of the readout.
function largeHead(now, pick, id = "matrix-readout") {
  const canvas = html("canvas", {});
  const frame = html("div", {
    class: "matrix", tabindex: 0, role: "application", "aria-roledescription": "attention matrix",
    "aria-label": "Weights of the head: rows are queries, columns are keys; the arrow keys read the values",
  }, canvas);
  const title = html("h3", {}), heading = html("div", { class: "controls" }, title,
    pngButton("the head", frame, () => {
      const { step } = now.sentence.snapshots[now.step]; // none where the page computed the weights
      return [[[title.textContent + (step === undefined ? "" : ", step " + whole(step))]]];
    }));
  const readout = html("p", { class: "readout", id });
  const facts = html("dl", { class: "facts" });
  const forming = html("div", { class: "forming" });
  const node = html("div", { class: "large" }, heading, frame, readout,
    colourBar([[0, "0"], [0.25, ".06"], [0.5, ".25"], [0.75, ".56"], [1, "1"]], "weight"), facts, forming);

  let shown = null, overlay = null, cell = 0, left = 0, top = 0, at = { q: 0, k: 0 };

  const tokens = () => now.sentence.tokens, weights = () => now.weights[now.step];
  const query = () => positioned(tokens(), at.q), key = () => positioned(tokens(), at.k);
  const value = () => weights().causal && at.k > at.q ? "masked"
    : exact(Number(weights().weight(now.head, at.q, at.k).toFixed(4)));
  function point([q, k] = [at.q, at.k], marked = true) {
    const last = tokens().length - 1;
    at = { q: clamp(q, 0, last), k: clamp(k, 0, last) };
    readout.replaceChildren(html("span", {}, query() + " → " + key() + " ", html("b", {}, value())));
    highlight(marked);
  }

  function highlight(marked = document.activeElement === frame) {
    if (!overlay) return;
    overlay.querySelectorAll(".mark").forEach((mark) => mark.remove());
    const { token } = now, { causal } = weights(), T = tokens().length;
    const add = (x, y, w, h, name) => overlay.append(svg("rect", { class: "mark " + name, x: left + x * cell,
      y: top + y * cell, width: w * cell, height: h * cell }));
    add(0, token, causal ? token + 1 : T, 1, "looks");
    add(token, causal ? token : 0, 1, causal ? T - token : T, "looked");
    if (marked) add(at.k, at.q, 1, 1, "one");
  }

  function follow() { // a token chosen elsewhere: the readout tells its largest weight
    if (!shown || at.q === now.token) { highlight(); return; }
    const row = tokens().map((_, k) => weights().weight(now.head, now.token, k));
    point([now.token, row.indexOf(Math.max(...row))], document.activeElement === frame);
  }

  function draw(width) {
    if (!shown) return;
    const T = tokens().length, longest = Math.min(9, Math.max(...tokens().map((t) => [...t].length)));
    const fits = (width - 8) / T >= 7; // letters of 6 pixels at least
    left = fits ? Math.ceil(longest * 7) + 8 : 2;
    top = left;
    cell = Math.min(46, (width - left - 2) / T);
    const size = cell * T;
    Object.assign(canvas.style, { left: left + "px", top: top + "px", width: size + "px", height: size + "px" });
    overlay = svg("svg", { width: left + size + 2, height: top + size + 2, "aria-hidden": "true" });
    if (fits) {
      const font = clamp(cell * 0.8, 6, 13), cut = (t) => [...t].length > 9 ? [...t].slice(0, 8).join("") + "…" : t;
      tokens().forEach((token, i) => {
        const middle = (i + 0.5) * cell;
        overlay.append(
          beside(left - 5, top + middle, cut(token), { style: `font-size:${font}px` }),
          svg("text", { style: `font-size:${font}px`, "dominant-baseline": "central", "text-anchor": longest > 1 ? "start" : "middle",
            transform: `translate(${left + middle} ${top - (longest > 1 ? 5 : 9)})` + (longest > 1 ? "rotate(-90)" : "") }, cut(token)));
      });
    }
    frame.style.height = top + size + 4 + "px";
    frame.replaceChildren(canvas, overlay);
    highlight();
  }

  function describe() {
    const { head, sentence, weights: history, step } = now, does = habits(weights(), head);
    facts.replaceChildren(...Object.entries(habitNames).flatMap(([key, name]) =>
      [html("dt", {}, name), html("dd", { class: key }, Number.isNaN(does[key]) ? "–" : percent(does[key]))]),
      html("dt", {}, "tokens attended to, on average"), html("dd", {}, does.spread.toFixed(1)));
    if (history.length < 2 || sentence.tokens.length < 3) { forming.replaceChildren(); return; }
    const width = 320, height = 96, left = 46, low = height - 20;
    const all = history.map((w) => habits(w, head));
    const x = scale(sentence.snapshots[0].step, sentence.snapshots[history.length - 1].step, left, width - 16);
    const y = scale(0, 1, low, 6), xs = sentence.snapshots.map((s) => x(s.step));
    forming.replaceChildren(muted("How the head formed, through the checkpoints"),
      svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img",
        "aria-label": "Shares of the head's attention at each checkpoint: " + Object.keys(habitNames).map((key) =>
          habitNames[key] + " " + all.map((a) => percent(a[key])).join(", ")).join("; ") },
        yAxis(y, [0, 0.5, 1], left, width - 16, (share) => share * 100 + "%"),
        [0, history.length - 1].map((i) => beneath(xs[i], height - 4, whole(sentence.snapshots[i].step))),
        line("cursor", xs[step], 0, xs[step], low),
        Object.keys(habitNames).map((key) =>
          svg("path", { class: "line " + key, d: linePath(xs, all.map((a) => y(a[key]))) }))));
  }

  readable(frame, {
    find(x, y) {
      const q = Math.floor((y - top) / cell), k = Math.floor((x - left) / cell), T = tokens().length;
      return q < 0 || k < 0 || q >= T || k >= T ? null : [q, k];
    },
    point(to) {
      if (to) pick(clamp(to[0], 0, tokens().length - 1));
      point(to);
    },
    lines: () => [[query() + " → " + key(), value()]],
    rest: () => highlight(false),
    moves: () => aroundCell(at.q, at.k),
    spoken: () => query() + " looks at " + key() + ": " + value(),
  });
  onWidth(frame, draw);

  function show(name) {
    const same = shown === now.sentence;
    shown = now.sentence;
    if (!same) at = { q: now.token, k: now.token };
    title.textContent = name;
    paint(canvas, weights(), now.head);
    if (!same || !overlay) draw(frame.clientWidth);
    point([at.q, at.k], document.activeElement === frame);
    describe();
  }
  return { node, show, follow };
}
