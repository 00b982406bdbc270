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
// Powers of ten, and where they are few also 2 and 5 of each.
function logTicks(low, high) {
  const found = [];
  const parts = Math.log10(high / low) > 3 ? [1] : [1, 2, 5];
  for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); ++p)
    for (const part of parts) {
      const tick = Number((part * 10 ** p).toPrecision(12));
      if (tick >= low * 0.999 && tick <= high * 1.001) found.push(tick);
    }
  return found;
}

// From values to pixels.
function scale(low, high, from, to, log) {
  if (!(high > low)) { // one value, or none: in the middle
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

function extent(lists, keep) {
  let low = Infinity, high = -Infinity;
  for (const list of lists)
    for (const x of list)
      if (Number.isFinite(x) && keep(x)) { low = Math.min(low, x); high = Math.max(high, x); }
  return low <= high ? [low, high] : null;
}

// The path of a line with a gap wherever a value cannot be drawn.
function linePath(xs, ys) {
  let path = "", pen = false;
  for (let i = 0; i < xs.length; ++i) {
    if (!Number.isFinite(ys[i])) { pen = false; continue; }
    path += (pen ? "L" : "M") + xs[i].toFixed(1) + " " + ys[i].toFixed(1);
    // a point with gaps on both sides is seen as a dot, thanks to round ends
    if (!pen && !Number.isFinite(ys[i + 1])) path += "h0";
    pen = true;
  }
  return path;
}

function xAxis(x, y, height, width) {
  const list = ticks(x.low, x.high, width / 90).filter(Number.isInteger);
  return svg("g", { class: "axis" }, list.map((tick) => [
    svg("line", { class: "grid", x1: x(tick), x2: x(tick), y1: y, y2: y + height }),
    svg("text", { x: x(tick), y: y + height + 16, "text-anchor": "middle" }, whole(tick))]));
}
function yAxis(y, list, left, right) {
  return svg("g", { class: "axis" }, list.map((tick) => [
    svg("line", { class: "grid", x1: left, x2: right, y1: y(tick), y2: y(tick) }),
    svg("text", { x: left - 8, y: y(tick), "text-anchor": "end", "dominant-baseline": "central" }, brief(tick))]));
}

// A bar of viridis with numbers beneath, for `shares` of its length.
function colourBar(labels, title) {
  const stops = Array.from({ length: 16 }, (_, i) => colour(i / 15)).join(",");
  return html("div", { class: "colourbar" },
    html("span", { class: "muted" }, title),
    html("div", {},
      html("div", { class: "bar", style: "background:linear-gradient(90deg," + stops + ")" }),
      html("div", { class: "numbers" }, labels.map(([share, text]) =>
        html("span", { style: "left:" + share * 100 + "%" }, text)))));
}
