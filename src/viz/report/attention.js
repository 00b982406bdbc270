// ---- attention weights: how they are stored, and what a head attends to

// The weights of one sentence at one step. A weight w is stored as the byte round(255 √w).
class Weights {
  constructor(sentence, snapshot) {
    this.tokens = sentence.tokens.length;
    this.heads = sentence.heads;
    this.causal = snapshot.causal;
    this.bytes = bytes(snapshot.weights);
    this.each = this.causal ? this.tokens * (this.tokens + 1) / 2 : this.tokens * this.tokens;
  }
  // The byte of query q on key k; heads are numbered through all layers. 0 if k is masked.
  byte(head, q, k) {
    if (!this.causal) return this.bytes[head * this.each + q * this.tokens + k];
    return k > q ? 0 : this.bytes[head * this.each + q * (q + 1) / 2 + k];
  }
  weight(head, q, k) {
    const root = this.byte(head, q, k) / 255;
    return root * root;
  }
  // Every head's number, layer by layer: [[0, 1], [2, 3]].
  numbered() {
    let next = 0;
    return this.heads.map((count) => Array.from({ length: count }, () => next++));
  }
}

// How a head shares its attention: on the token itself, the one before it, and the first, averaged over the queries
// for which these are three different tokens (from the third on).
function habits(weights, head) {
  const T = weights.tokens, sums = { itself: 0, previous: 0, first: 0 };
  let spread = 0;
  for (let q = 0; q < T; ++q) {
    let total = 0, entropy = 0;
    for (let k = 0; k < T; ++k) {
      const w = weights.weight(head, q, k);
      total += w;
      if (w > 0) entropy -= w * Math.log(w);
    }
    // the bytes of a row do not sum to exactly 1
    spread += total > 0 ? Math.exp(entropy / total + Math.log(total)) : 0;
    if (q < 2) continue;
    sums.itself += weights.weight(head, q, q);
    sums.previous += weights.weight(head, q, q - 1);
    sums.first += weights.weight(head, q, 0);
  }
  const queries = Math.max(1, T - 2);
  for (const name of Object.keys(sums)) sums[name] = T > 2 ? Math.min(1, sums[name] / queries) : NaN;
  return { ...sums, spread: spread / T };
}
// The habit that takes at least half of the attention, if any.
function habit(weights, head) {
  const { spread, ...shares } = habits(weights, head);
  const [name, share] = Object.entries(shares).reduce((a, b) => b[1] > a[1] ? b : a);
  return share >= 0.5 ? name + " " + percent(share) : "";
}
const habitNames = { itself: "the token itself", previous: "the token before", first: "the first token" };

const quoted = (token) => "‘" + token + "’";
const positioned = (tokens, i) => quoted(tokens[i]) + " " + (i + 1);

// A head's weights as a picture of T × T pixels, transparent where masked.
function paint(canvas, weights, head) {
  const T = weights.tokens;
  canvas.width = canvas.height = T;
  const context = canvas.getContext("2d"), image = context.createImageData(T, T);
  for (let q = 0; q < T; ++q)
    for (let k = 0; k < (weights.causal ? q + 1 : T); ++k)
      image.data.set([...viridis[weights.byte(head, q, k)], 255], 4 * (q * T + k));
  context.putImageData(image, 0, 0);
}
