// ---- one head, large: its weights as a matrix, what it does, and how that came about

// `pick(q)` is told of the query that is looked at. Gives what the explorer calls.
function largeHead(pick) {
  const canvas = html("canvas", {});
  const frame = html("div", {
    class: "matrix", tabindex: 0, role: "application", "aria-roledescription": "attention matrix",
    "aria-label": "Weights of the head: rows are tokens that look, columns tokens looked at; the arrow keys read them",
  }, canvas);
  const title = html("h3", {});
  const readout = html("p", { class: "readout", id: "matrix-readout" });
  const facts = html("dl", { class: "facts" });
  const forming = html("div", { class: "forming" });
  const node = html("div", { class: "large" }, title, frame, readout,
    colourBar([[0, "0"], [0.25, ".06"], [0.5, ".25"], [0.75, ".56"], [1, "1"]], "weight"), facts, forming);

  let state = null, overlay = null, cell = 0, left = 0, top = 0, at = { q: 0, k: 0 };

  function point(q, k, told) {
    const T = state.weights.tokens;
    at = { q: clamp(q, 0, T - 1), k: clamp(k, 0, T - 1) };
    const hidden = state.weights.causal && at.k > at.q;
    const value = hidden ? "may not look" : exact(Number(state.weights.weight(state.head, at.q, at.k).toFixed(4)));
    readout.replaceChildren(html("span", {}, positioned(state.tokens, at.q) + " → " +
      positioned(state.tokens, at.k) + " ", html("b", {}, value)));
    highlight(told);
    return value;
  }

  function highlight(shown) {
    if (!overlay) return;
    overlay.querySelectorAll(".mark").forEach((mark) => mark.remove());
    const T = state.weights.tokens, add = (x, y, w, h, name) =>
      overlay.append(svg("rect", { class: "mark " + name, x: left + x * cell, y: top + y * cell, width: w * cell, height: h * cell }));
    if (state.token >= 0) {
      const { token } = state, { causal } = state.weights;
      add(0, token, causal ? token + 1 : T, 1, "looks");
      add(token, causal ? token : 0, 1, causal ? T - token : T, "looked");
    }
    if (shown) add(at.k, at.q, 1, 1, "one");
  }

  function draw(width) {
    if (!state) return;
    const { tokens } = state, T = tokens.length;
    const longest = Math.min(9, Math.max(...tokens.map((t) => [...t].length)));
    const fits = (width - 8) / T >= 7; // letters of 6 pixels at least
    left = fits ? Math.ceil(longest * 7) + 8 : 2;
    top = left;
    cell = Math.min(46, (width - left - 2) / T);
    const size = cell * T;
    Object.assign(canvas.style, { left: left + "px", top: top + "px", width: size + "px", height: size + "px" });
    overlay = svg("svg", { width: left + size + 2, height: top + size + 2, "aria-hidden": "true" });
    if (fits) {
      const font = clamp(cell * 0.8, 6, 13), cut = (t) => [...t].length > 9 ? [...t].slice(0, 8).join("") + "…" : t;
      tokens.forEach((token, i) => {
        const middle = (i + 0.5) * cell;
        overlay.append(
          svg("text", { x: left - 5, y: top + middle, style: `font-size:${font}px`, "text-anchor": "end", "dominant-baseline": "central" }, cut(token)),
          svg("text", { style: `font-size:${font}px`, "dominant-baseline": "central", "text-anchor": longest > 1 ? "start" : "middle",
            transform: `translate(${left + middle} ${top - (longest > 1 ? 5 : 9)})` + (longest > 1 ? "rotate(-90)" : "") }, cut(token)));
      });
    }
    frame.style.height = top + size + 4 + "px";
    frame.replaceChildren(canvas, overlay);
    highlight(document.activeElement === frame);
  }

  function describe() {
    const { weights, head, sentence, history, step } = state;
    const now = habits(weights, head);
    facts.replaceChildren(...Object.entries(habitNames).flatMap(([key, name]) =>
      [html("dt", {}, name), html("dd", { class: key }, Number.isNaN(now[key]) ? "–" : percent(now[key]))]),
      html("dt", {}, "tokens it spreads over, on average"), html("dd", {}, now.spread.toFixed(1)));
    if (history.length < 2 || sentence.tokens.length < 3) { forming.replaceChildren(); return; }
    const width = 320, height = 96, left = 46, low = height - 20;
    const all = history.map((w) => habits(w, head));
    const x = scale(sentence.snapshots[0].step, sentence.snapshots[history.length - 1].step, left, width - 16);
    const y = scale(0, 1, low, 6), xs = sentence.snapshots.map((s) => x(s.step));
    forming.replaceChildren(html("p", { class: "muted" }, "How the head formed, through the checkpoints"),
      svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img",
        "aria-label": "Shares of the head's attention at each checkpoint: " + Object.keys(habitNames).map((key) =>
          habitNames[key] + " " + all.map((a) => percent(a[key])).join(", ")).join("; ") },
        [0, 0.5, 1].map((share) => [
          svg("line", { class: "grid", x1: left, x2: width - 16, y1: y(share), y2: y(share) }),
          svg("text", { x: left - 6, y: y(share), "text-anchor": "end", "dominant-baseline": "central" }, share * 100 + "%")]),
        [0, history.length - 1].map((i) => svg("text", { x: xs[i], y: height - 4, "text-anchor": "middle" },
          whole(sentence.snapshots[i].step))),
        svg("line", { class: "cursor", x1: xs[step], x2: xs[step], y1: 0, y2: low }),
        Object.keys(habitNames).map((key) =>
          svg("path", { class: "line " + key, d: linePath(xs, all.map((a) => y(a[key]))) }))));
  }

  frame.addEventListener("pointermove", (event) => {
    const box = frame.getBoundingClientRect();
    const k = Math.floor((event.clientX - box.left - left) / cell), q = Math.floor((event.clientY - box.top - top) / cell);
    const T = state.weights.tokens;
    if (q < 0 || k < 0 || q >= T || k >= T) { hush(); highlight(false); return; }
    pick(q);
    const value = point(q, k, true);
    tell(event.clientX, event.clientY, [[positioned(state.tokens, q) + " → " + positioned(state.tokens, k), value]]);
  });
  frame.addEventListener("pointerleave", () => { hush(); highlight(false); });
  frame.addEventListener("focus", () => point(at.q, at.k, true));
  frame.addEventListener("blur", () => highlight(false));
  frame.addEventListener("keydown", (event) => {
    const to = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0],
      Home: [0, -at.k], End: [0, state.weights.tokens] }[event.key];
    if (!to) return;
    event.preventDefault();
    pick(clamp(at.q + to[0], 0, state.weights.tokens - 1));
    const value = point(at.q + to[0], at.k + to[1], true);
    announce(positioned(state.tokens, at.q) + " looks at " + positioned(state.tokens, at.k) + ": " + value);
  });
  onWidth(frame, draw);

  return {
    node,
    // state: { sentence, tokens, weights, history, step, head, token, name }
    show(next) {
      const same = state && state.sentence === next.sentence;
      state = next;
      if (!same) at = { q: next.token, k: Math.max(0, next.token) };
      title.textContent = next.name;
      paint(canvas, next.weights, next.head);
      if (!same || !overlay) draw(frame.clientWidth);
      point(at.q, at.k, document.activeElement === frame);
      describe();
    },
    token(token) { state.token = token; highlight(document.activeElement === frame); },
  };
}
