// ---- the losses as CSV, and pictures as PNG

// Hands the reader a file.
function download(name, blob) {
  const address = URL.createObjectURL(blob), link = html("a", { href: address, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
const fileName = (ending) => (data.title.replace(/\.[a-z]{1,4}$/, "").replace(/[^\p{L}\p{N}_-]+/gu, "-") || "report") + ending;

// The lines of loss.csv. Where the page has joined steps, a line is the mean of several, with their extremes.
function lossesAsCsv({ training, validation, rate }) {
  const text = (x) => x === undefined ? "" : Number.isNaN(x) ? "nan" : String(x).replace("Infinity", "inf");
  const joined = training.size > 1;
  const columns = [["learning_rate", rate, rate.mean], ["loss", training, training.mean],
    ...(joined ? [["lowest_loss", training, training.low], ["highest_loss", training, training.high]] : []),
    ["validation_loss", validation, validation.mean]];
  const at = columns.map(([, series, values]) => new Map(series.steps.map((step, i) => [step, values[i]])));
  const steps = [...new Set(at.flatMap((column) => [...column.keys()]))].sort((a, b) => a - b);
  return [["step", ...columns.map(([name]) => name)].join(","),
    ...steps.map((step) => [step, ...at.map((column) => text(column.get(step)))].join(","))].join("\n") + "\n";
}

// An SVG as it looks here, as a file of its own: the styles of the page are written into its elements.
function standalone(picture) {
  const copy = picture.cloneNode(true), from = [picture, ...picture.querySelectorAll("*")];
  const parts = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "stroke-linecap", "opacity",
    "visibility", "font-family", "font-size", "shape-rendering"];
  [copy, ...copy.querySelectorAll("*")].forEach((node, i) => {
    const style = getComputedStyle(from[i]);
    node.setAttribute("style", parts.map((part) => part + ":" + style.getPropertyValue(part)).join(";"));
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return "data:image/svg+xml;charset=utf-8," + encodeURIComponent(new XMLSerializer().serializeToString(copy));
}
const loaded = (address) => new Promise((done, failed) => {
  const image = new Image();
  image.onload = () => done(image);
  image.onerror = () => failed(new Error("the picture could not be drawn"));
  image.src = address;
});

// An element's canvases and SVGs as a PNG in the page's colours, twice as large, below the run's title and lines of
// [text, class of its colour].
async function asPng(node, lines) {
  const box = node.getBoundingClientRect(), factor = 2, margin = 16, style = getComputedStyle(document.body);
  const head = 30 + 20 * lines.length, canvas = html("canvas", {}), context = canvas.getContext("2d");
  const pictures = [...node.querySelectorAll("canvas, svg")].map((part) => ({ part, box: part.getBoundingClientRect() }));
  const edge = (side) => Math.max(box[side], ...pictures.map((picture) => picture.box[side]));
  canvas.width = factor * (edge("right") - box.left + 2 * margin);
  canvas.height = factor * (edge("bottom") - box.top + head + 2 * margin);
  context.scale(factor, factor);
  context.fillStyle = style.backgroundColor;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.textBaseline = "top";
  context.fillStyle = style.color;
  context.font = "600 16px " + style.fontFamily;
  const write = (text, x, y) => context.fillText(text, x, y, canvas.width / factor - x - margin); // narrower if need be
  write(visible(data.title), margin, margin);
  context.font = "13px " + style.fontFamily;
  lines.forEach(([text, hue], i) => {
    const y = margin + 26 + 20 * i;
    if (!hue) { write(text, margin, y); return; }
    const swatch = node.appendChild(html("i", { class: "swatch " + hue }));
    context.fillStyle = getComputedStyle(swatch).backgroundColor;
    swatch.remove();
    context.fillRect(margin, y + 2, 10, 10);
    context.fillStyle = style.color;
    write(text, margin + 18, y);
  });
  context.imageSmoothingEnabled = false;
  for (const { part, box: place } of pictures)
    context.drawImage(part.localName === "canvas" ? part : await loaded(standalone(part)),
      place.left - box.left + margin, place.top - box.top + margin + head, place.width, place.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}
const pngButton = (name, node, describe) => html("button", { type: "button", class: "small", title: "Save as a PNG picture",
  "aria-label": "Save " + name + " as PNG", onclick: async () =>
    download(fileName("-" + name.replaceAll(" ", "-") + ".png"), await asPng(node, ...describe())) }, "PNG");
