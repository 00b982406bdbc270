// ---- shared by all parts: the data, elements, numbers, colours, the tooltip

const data = JSON.parse(document.getElementById("data").textContent);

// An element with attributes and children. No data is ever parsed as HTML.
function build(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity));
  return node;
}
const html = (tag, attributes, ...children) => build(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  build(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

const muted = (...children) => html("p", { class: "muted" }, ...children);
// A dot in the colour of a class, and a text, as in a legend.
const keyed = (name, ...children) => html("span", {}, name ? html("i", { class: name }) : "", ...children);

function section(id, title, ...children) {
  const node = html("section", { id, "aria-labelledby": id + "-title" },
    html("h2", { id: id + "-title" }, title), ...children);
  document.getElementById("main").append(node);
  document.querySelector("nav").append(html("a", { href: "#" + id }, title));
  return node;
}

// ---- numbers

const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const doubles = (text) => new Float64Array(bytes(text).buffer);
const floats = (text) => new Float32Array(bytes(text).buffer);

const whole = (n) => n.toLocaleString("en").replace(/,/g, "\u202f"); // narrow spaces between thousands
function exact(x) {
  if (x === null || Number.isNaN(x)) return "NaN";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  return String(Number(x.toPrecision(6))).replace("-", "−");
}
// A few digits, for tables and axes.
function brief(x) {
  if (x === null || !Number.isFinite(x)) return exact(x);
  const size = Math.abs(x);
  if (size !== 0 && (size < 1e-4 || size >= 1e5))
    return Number(x.toPrecision(2)).toExponential().replace("e+", "e").replace(/-/g, "−");
  return String(Number(x.toPrecision(3))).replace("-", "−");
}
const percent = (share) => (share * 100).toFixed(1) + "\u202f%";
const sum = (list) => list.reduce((total, x) => total + x, 0);
const clamp = (x, low, high) => Math.min(high, Math.max(low, x));
// "8 seconds", "12 min 5 s", "3 h 20 min".
function duration(seconds) {
  const s = Math.round(seconds), m = Math.floor(s / 60), h = Math.floor(m / 60);
  return s < 100 ? plural(s, "second") : h > 0 ? whole(h) + " h " + m % 60 + " min" : m + " min " + s % 60 + " s";
}
const plural = (n, what) => whole(n) + " " + what + (n === 1 ? "" : "s");

// The last index in an ascending list whose value is at most x, or −1.
const lastAtMost = (list, x) => list.findLastIndex((value) => value <= x);

// ---- text

// Makes visible: control characters, and characters that change the writing direction or have no width.
const hidden = /[\u0000-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff]/g;
const escaped = (code) => code < 256 ? "\\x" + code.toString(16).padStart(2, "0") : "\\u" + code.toString(16);
const visible = (text) => text.replace(hidden, (c) => ({ "\n": "↵", "\t": "⇥" })[c] || escaped(c.charCodeAt(0)));
// The same, except that newlines stay.
const paragraphs = (text) => text.split("\n").map(visible).join("\n");

// ---- colours: viridis (van der Walt and Smith, 2015), interpolated linearly between every 17th of its 256

const viridis = (() => {
  const points = ["440154", "481a6c", "472f7d", "414487", "39568c", "31688e", "2a788e", "23888e",
    "1f988b", "22a884", "35b779", "54c568", "7ad151", "a5db36", "d2e21b", "fde725"]
    .map((hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  return Array.from({ length: 256 }, (_, i) => {
    const at = i / 17, low = Math.min(14, Math.floor(at));
    return points[low].map((from, part) => Math.round(from + (at - low) * (points[low + 1][part] - from)));
  });
})();
const colour = (share) => "rgb(" + viridis[clamp(Math.round(share * 255), 0, 255)].join(" ") + ")";

// ---- values next to the pointer, and for a screen reader

const tooltip = document.getElementById("tooltip");
// Shows lines next to a point of the window; each is a text or [name, value, class of its colour].
function showTooltip(x, y, lines) {
  tooltip.replaceChildren(...lines.map((line) => typeof line === "string"
    ? html("div", { class: "heading" }, line)
    : html("div", { class: "entry" }, keyed(line[2], line[0]), html("b", {}, line[1]))));
  tooltip.hidden = false;
  const { width, height } = tooltip.getBoundingClientRect();
  const room = document.documentElement.clientWidth - width - 8;
  tooltip.style.left = clamp(x + 14 > room ? x - width - 14 : x + 14, 8, Math.max(8, room)) + "px";
  tooltip.style.top = Math.max(8, y - height - 12) + "px";
}
const hideTooltip = () => { tooltip.hidden = true; };
addEventListener("scroll", hideTooltip, { passive: true });
addEventListener("keydown", (event) => { if (event.key === "Escape") hideTooltip(); });

const announce = (text) => { document.getElementById("announcer").textContent = text; };

// Where keys lead from column c of row r of a grid.
const aroundCell = (r, c) => ({ ArrowLeft: [r, c - 1], ArrowRight: [r, c + 1], ArrowUp: [r - 1, c], ArrowDown: [r + 1, c],
  Home: [r, 0], End: [r, Infinity] });
// `moves()` maps names of keys to targets; pressing such a key calls `go(target)`.
function onKeys(node, moves, go) {
  node.addEventListener("keydown", (event) => {
    const to = moves()[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return; // the browser's own keys
    event.preventDefault();
    go(to);
  });
}

// Reads the values of a picture with the pointer and the keyboard. `find(x, y)` returns the value at a point of the
// node, or null; `point(value)` marks it, and `point()` the last one; `lines()` describes it; `rest()` unmarks it.
function readable(node, { find, point, lines, rest, moves, spoken }) {
  const leave = () => { hideTooltip(); rest(); };
  node.addEventListener("pointermove", (event) => {
    const box = node.getBoundingClientRect(), value = find(event.clientX - box.left, event.clientY - box.top);
    if (value === null) { leave(); return; }
    point(value);
    showTooltip(event.clientX, event.clientY, lines());
  });
  node.addEventListener("pointerleave", leave);
  node.addEventListener("focus", () => point());
  node.addEventListener("blur", rest);
  onKeys(node, moves, (value) => { point(value); if (spoken) announce(spoken()); });
}

// Draws now and whenever the element's width changes.
function onWidth(element, draw) {
  let drawn = 0;
  new ResizeObserver(() => {
    const width = Math.floor(element.clientWidth);
    if (width > 0 && width !== drawn) draw(drawn = width);
  }).observe(element);
}

// ---- what was typed, chosen and scrolled to is kept when the page is loaded again

const busy = new Set(); // names of what a reload would disturb
const controls = new Map();
let canKeep = true, kept = null; // from before the reload
try {
  const text = sessionStorage.getItem("weft-kept");
  sessionStorage.removeItem("weft-kept");
  const again = performance.getEntriesByType("navigation")[0]?.type === "reload";
  const state = again && text ? JSON.parse(text) : null;
  if (state?.title === data.title && state.path === location.pathname) kept = state;
} catch { canKeep = false; }

// Keeps a control's value, or whether it is checked or open, and restores it now if the page was loaded again; its
// listeners then hear of it. `control` is an element, or an object with a property `value`. Returns whether it was restored.
function remember(id, control) {
  controls.set(id, control);
  if (!kept || !Object.hasOwn(kept.values, id)) return false;
  control[partKept(control)] = kept.values[id];
  if (control.dispatchEvent)
    for (const kind of ["input", "change"]) control.dispatchEvent(new Event(kind, { bubbles: true }));
  return true;
}
const partKept = ({ type, localName }) =>
  type === "checkbox" || type === "radio" ? "checked" : localName === "details" ? "open" : "value";
addEventListener("pagehide", () => {
  const { activeElement: element } = document;
  const state = { title: data.title, path: location.pathname, focus: element?.id || "",
    selection: [element?.selectionStart, element?.selectionEnd],
    values: Object.fromEntries([...controls].map(([id, control]) => [id, control[partKept(control)]])) };
  try { // the other runs may be more than the storage takes
    sessionStorage.setItem("weft-kept", JSON.stringify(state));
  } catch {
    delete state.values.runs;
    try { sessionStorage.setItem("weft-kept", JSON.stringify(state)); } catch { /* storage is off */ }
  }
});
// Focuses as before the reload; to be called when everything is built. The browser itself scrolls.
function restoreView() {
  if (!kept) return;
  const element = kept.focus && document.getElementById(kept.focus);
  if (element) element.focus({ preventScroll: true });
  if (element && typeof kept.selection[0] === "number") try {
    element.setSelectionRange(...kept.selection);
  } catch { /* not a field for text */ }
}

// ---- the theme: the system's, or a chosen one

const themes = { automatic: ["◐", "light"], light: ["☀", "dark"], dark: ["☾", "automatic"] }; // sign, and the next one
function setTheme(theme) {
  const button = document.getElementById("theme"), [sign, next] = themes[theme];
  document.documentElement.dataset.theme = theme;
  button.textContent = sign + "\ufe0e " + theme;
  button.setAttribute("aria-label", "Colours: " + theme + ". Change to " + next);
  button.onclick = () => {
    setTheme(next);
    try { localStorage.setItem("weft-theme", next); } catch { /* storage may be off */ }
  };
}
let remembered = null;
try { remembered = localStorage.getItem("weft-theme"); } catch { /* see above */ }
setTheme(Object.hasOwn(themes, remembered) ? remembered : "automatic");
