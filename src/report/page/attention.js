// ---- attention weights: how they are stored, and what a head attends to

// The weights of one sentence at one step. A weight w is stored as the byte round(255 √w); heads are numbered through
// all layers, and a query q has weight 0 on a masked key k.
function weightsOf(sentence, snapshot) {
  const T = sentence.tokens.length, { causal } = snapshot, all = bytes(snapshot.weights);
  const byte = (head, q, k) => !causal ? all[(head * T + q) * T + k]
    : k > q ? 0 : all[head * T * (T + 1) / 2 + q * (q + 1) / 2 + k];
  return { tokens: T, causal, byte, weight: (head, q, k) => (byte(head, q, k) / 255) ** 2 };
}

// Every head's layer and its number there, in the order of the heads' numbers: [[0, 0], [0, 1], [1, 0], [1, 1]].
const positions = (sentence) => sentence.heads.flatMap((count, l) => Array.from({ length: count }, (_, h) => [l, h]));

// How a head shares its attention: on the token itself, the one before it, and the first, averaged over the queries
// for which these are three different tokens (from the third on); and over how many tokens it spreads, e^entropy.
function habits(weights, head) {
  const T = weights.tokens, all = Array.from({ length: T }, (_, i) => i);
  const share = (key) => T > 2
    ? Math.min(1, sum(all.slice(2).map((q) => weights.weight(head, q, key(q)))) / (T - 2)) : NaN;
  const spread = (q) => {
    const row = all.map((k) => weights.weight(head, q, k)).filter((w) => w > 0);
    const total = sum(row); // of bytes, so not exactly 1
    return total > 0 ? Math.exp(-sum(row.map((w) => w * Math.log(w))) / total + Math.log(total)) : 0;
  };
  return { itself: share((q) => q), previous: share((q) => q - 1), first: share(() => 0), spread: sum(all.map(spread)) / T };
}
// The habit that takes at least half of the attention; if there is none, over how many tokens it spreads.
function habit(weights, head) {
  const { spread, ...shares } = habits(weights, head);
  const [name, share] = Object.entries(shares).reduce((a, b) => b[1] > a[1] ? b : a);
  return share >= 0.5 ? name + " " + percent(share) : spread.toFixed(1) + " tokens";
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
