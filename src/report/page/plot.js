// ---- axes

// About `count` round numbers from low to high.
function ticks(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((n) => n * power >= rough * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i)
    found.push(Number((i * step).toPrecision(12)));
  return found;
}
// Powers of ten; 2 and 5 times each, all multiples, or evenly spaced numbers if there are too few.
function logTicks(low, high) {
  const multiples = (parts) => {
    const found = [];
    for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); ++p)
      for (const part of parts) {
        const tick = Number((part * 10 ** p).toPrecision(12));
        if (tick >= low * 0.999 && tick <= high * 1.001) found.push(tick);
      }
    return found;
  };
  return [[1], [1, 2, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9]].map(multiples).find((found) => found.length >= 4) || ticks(low, high, 5);
}

// From values to pixels.
function scale(low, high, from, to, log) {
  if (!(high > low)) { // a single value is drawn in the middle
    const pad = Math.abs(low) * 0.1 || 1;
    [low, high] = log ? [low / 2, high * 2] : [low - pad, high + pad];
  }
  const map = log ? Math.log : (x) => x, back = log ? Math.exp : (x) => x;
  const a = map(low), b = map(high);
  const pixel = (x) => from + (map(x) - a) / (b - a) * (to - from);
  pixel.invert = (p) => back(a + (p - from) / (to - from) * (b - a));
  pixel.low = low;
  pixel.high = high;
  return pixel;
}

// The smallest and the largest of the finite values to keep.
function extent(lists, keep = () => true) {
  const kept = lists.flatMap((list) => Array.from(list)).filter((x) => Number.isFinite(x) && keep(x)).sort((a, b) => a - b);
  return kept.length > 0 ? [kept[0], kept[kept.length - 1]] : null;
}

// The path of a line, with a gap where a value cannot be drawn. Line ends are round, so a point between gaps is a dot.
function linePath(xs, ys) {
  const there = (i) => Number.isFinite(ys[i]);
  return xs.map((x, i) => !there(i) ? "" : (there(i - 1) ? "L" : "M") + x.toFixed(1) + " " + ys[i].toFixed(1) +
    (there(i - 1) || there(i + 1) ? "" : "h0")).join("");
}

const line = (name, x1, y1, x2, y2) => svg("line", { class: name, x1, y1, x2, y2 });
const beneath = (x, y, text) => svg("text", { x, y, "text-anchor": "middle" }, text);
const beside = (x, y, text, more) =>
  svg("text", { x, y, "text-anchor": "end", "dominant-baseline": "central", ...more }, text);

function xAxis(x, y, height, width) {
  const list = ticks(x.low, x.high, width / 90).filter(Number.isInteger);
  return svg("g", { class: "axis" }, list.map((tick) =>
    [line("grid", x(tick), y, x(tick), y + height), beneath(x(tick), y + height + 16, whole(tick))]));
}
function yAxis(y, list, left, right, text = brief) {
  return svg("g", { class: "axis" }, list.map((tick) =>
    [line("grid", left, y(tick), right, y(tick)), beside(left - 8, y(tick), text(tick))]));
}

// A bar of viridis with numbers beneath; each label is [share of its length, text].
function colourBar(labels, title) {
  const stops = Array.from({ length: 16 }, (_, i) => colour(i / 15)).join(",");
  return html("div", { class: "colourbar" },
    html("span", { class: "muted" }, title),
    html("div", {},
      html("div", { class: "bar", style: "background:linear-gradient(90deg," + stops + ")" }),
      html("div", { class: "numbers" }, labels.map(([share, text]) =>
        html("span", { style: "left:" + share * 100 + "%" }, text)))));
}
