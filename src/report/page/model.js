// ---- the model: its weights as the page carries them, and its forward pass; pure functions of them
// T tokens, C = d_model, H heads of d = C / H, V characters. A matrix is an array of its rows.

const modelFormat = "weft model 1";

function damaged(what) {
  throw new Error("The weights in this page are cut short or damaged: " + what
    + ". Copy the page again, or write it again with train_gpt.");
}

// ---- reading

// Little-endian IEEE halves or float32 values in base64.
function decodeWeights(text, type) {
  const packed = atob(text), raw = new Uint8Array(packed.length);
  for (let i = 0; i < raw.length; ++i) raw[i] = packed.charCodeAt(i);
  if (type === "float32") return new Float32Array(raw.buffer, 0, raw.length >> 2);
  const unit = Array.from({ length: 32 }, (_, exponent) => 2 ** (Math.max(exponent, 1) - 25)); // of the fraction
  return Float32Array.from(new Uint16Array(raw.buffer, 0, raw.length >> 1), (bits) => {
    const exponent = bits >> 10 & 31, size = unit[exponent] * ((exponent && 1024) + (bits & 1023));
    return exponent === 31 ? NaN : bits >> 15 ? -size : size;
  });
}

// Every tensor of a GPT with its shape, as lm::GPT names them; the head's weight is the token embedding.
function expectedTensors({ vocab_size, block_size, num_layers, d_model, dim_feedforward, bias }) {
  const hidden = dim_feedforward || 4 * d_model;
  const withBias = (name, ...shape) => [[name + ".weight", shape], ...bias ? [[name + ".bias", [shape[0]]]] : []];
  const block = (_, i) => [["norm1", d_model], ["attn.W_qkv", 3 * d_model, d_model], ["attn.W_out", d_model, d_model],
    ["norm2", d_model], ["mlp.W_in", hidden, d_model], ["mlp.W_out", d_model, hidden]]
    .flatMap(([name, ...shape]) => withBias(`blocks.${i}.${name}`, ...shape));
  return [["token_embedding.weight", [vocab_size, d_model]], ["position_embedding.weight", [block_size, d_model]],
    ...Array.from({ length: num_layers }, block).flat(), ...withBias("norm", d_model)];
}

// The model in the page's JSON; a page whose weights were left out has no tensors. Throws an Error that says what is
// wrong and how to mend it.
function readModel(text) {
  let json;
  try { json = JSON.parse(text); } catch { damaged("they end too early"); }
  if (json?.format !== modelFormat)
    throw new Error("The weights in this page are of another version: their format is ‘" + json?.format + "’, and the page "
      + "reads ‘" + modelFormat + "’. Write the page again with the train_gpt that trained the model.");
  const { config, vocabulary, tensors, parameters, max_parameters } = json;
  for (const name of ["vocab_size", "block_size", "num_layers", "num_heads", "d_model", "dim_feedforward"])
    if (!(Number.isSafeInteger(config?.[name]) && config[name] >= (name === "dim_feedforward" ? 0 : 1)))
      damaged(name + " is " + config?.[name]);
  if (config.d_model % config.num_heads !== 0 || !(config.layer_norm_eps > 0)) damaged("the sizes do not fit");
  const characters = Array.from(String(vocabulary));
  if (characters.length !== config.vocab_size || !Array.isArray(tensors)) damaged("the vocabulary does not fit");
  const model = { config, parameters, max_parameters, characters, weights: {},
    ids: new Map(characters.map((character, id) => [character, id])) };
  if (tensors.length === 0) return model;
  if (tensors.length < config.num_layers) damaged("tensors are missing");
  for (const [name, shape] of expectedTensors(config)) {
    const tensor = tensors.find((one) => one?.name === name), count = shape.reduce((all, size) => all * size, 1);
    if (!tensor) damaged(name + " is missing");
    let values;
    try { values = decodeWeights(tensor.values, tensor.type); } catch { damaged(name + " is not base64"); }
    if (values.length !== count) damaged(`${name} has ${values.length} of ${count} values`);
    if (!values.every(Number.isFinite))
      throw new Error("The model cannot be run, because " + name + " has values that are not finite: the training diverged. "
        + "Train again with a lower --lr.");
    model.weights[name] = values;
  }
  return model;
}

// ---- layers: x holds n rows

// y = x Wᵀ + b, in tiles of four rows and two outputs, so that a number that is read serves several products. At the
// edges a tile repeats its last row or output.
function linear(x, n, weight, bias, inputs, outputs) {
  const y = new Float64Array(n * outputs);
  for (let t = 0; t < n; t += 4) {
    const [r0, r1, r2, r3] = [0, 1, 2, 3].map((i) => Math.min(t + i, n - 1));
    const x0 = r0 * inputs, x1 = r1 * inputs, x2 = r2 * inputs, x3 = r3 * inputs;
    for (let o = 0; o < outputs; o += 2) {
      const next = Math.min(o + 1, outputs - 1), w = o * inputs, v = next * inputs;
      let a0 = bias ? bias[o] : 0, a1 = a0, a2 = a0, a3 = a0, b0 = bias ? bias[next] : 0, b1 = b0, b2 = b0, b3 = b0;
      for (let i = 0; i < inputs; ++i) {
        const a = weight[w + i], b = weight[v + i], p = x[x0 + i], q = x[x1 + i], r = x[x2 + i], s = x[x3 + i];
        a0 += a * p, a1 += a * q, a2 += a * r, a3 += a * s;
        b0 += b * p, b1 += b * q, b2 += b * r, b3 += b * s;
      }
      y[r0 * outputs + o] = a0, y[r1 * outputs + o] = a1, y[r2 * outputs + o] = a2, y[r3 * outputs + o] = a3;
      y[r0 * outputs + next] = b0, y[r1 * outputs + next] = b1, y[r2 * outputs + next] = b2, y[r3 * outputs + next] = b3;
    }
  }
  return y;
}

// (x − mean) / √(variance + ε) · weight + bias
function layerNorm(x, n, weight, bias, eps) {
  const C = weight.length, y = new Float64Array(x.length);
  for (let row = 0; row < n * C; row += C) {
    let mean = 0, variance = 0;
    for (let i = 0; i < C; ++i) mean += x[row + i] / C;
    for (let i = 0; i < C; ++i) variance += (x[row + i] - mean) ** 2 / C;
    const scale = 1 / Math.sqrt(variance + eps);
    for (let i = 0; i < C; ++i) y[row + i] = (x[row + i] - mean) * scale * weight[i] + (bias ? bias[i] : 0);
  }
  return y;
}

// GELU in its tanh form, as nn::MLP has it.
const gelu = (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x)));

// Replaces count values from `start` by their softmax.
function softmax(x, start, count) {
  let top = -Infinity, total = 0;
  for (let i = start; i < start + count; ++i) top = Math.max(top, x[i]);
  for (let i = start; i < start + count; ++i) total += x[i] = Math.exp(x[i] - top);
  for (let i = start; i < start + count; ++i) x[i] /= total;
}

// ---- the forward pass

// How many tokens of a text are computed: all that the model can see, but no more than a page can draw.
const reachOf = ({ config: { block_size } }) => Math.min(block_size, 256);

// What the model computed of a text of at most B = reachOf(model) tokens: keys and values of each layer (B, C), attention
// of each head (B, B), heads numbered through all layers, and log-probabilities of the character after each (B, V).
function emptyPass(model) {
  const { num_layers, num_heads, d_model: C, vocab_size: V } = model.config, B = reachOf(model);
  const arrays = (count, size) => Array.from({ length: count }, () => new Float64Array(size));
  return { ids: [], off: "", keys: arrays(num_layers, B * C), values: arrays(num_layers, B * C),
    attention: arrays(num_layers * num_heads, B * B), logProbabilities: new Float64Array(B * V) };
}

// Runs the model on at most B ids. A head in the set `off` adds 0 to its block. What `pass` holds of the same first ids
// remains, because a token does not depend on later ones; so a letter at the end of a text costs one token.
function forward(model, pass, ids, off = new Set()) {
  const { config: { num_layers, num_heads: H, d_model: C, vocab_size: V, layer_norm_eps: eps }, weights } = model;
  const switches = [...off].sort((a, b) => a - b).join(), d = C / H, T = ids.length, B = reachOf(model);
  let old = 0; // tokens that remain
  if (pass.off === switches) while (old < T && pass.ids[old] === ids[old]) ++old;
  pass.ids = Array.from(ids);
  pass.off = switches;
  const n = T - old;
  const of = (name) => [weights[name + ".weight"], weights[name + ".bias"]];
  const tokens = weights["token_embedding.weight"], places = weights["position_embedding.weight"];
  let x = new Float64Array(n * C);
  for (let t = 0; t < n; ++t)
    for (let i = 0; i < C; ++i) x[t * C + i] = tokens[ids[old + t] * C + i] + places[(old + t) * C + i];

  for (let layer = 0; layer < num_layers; ++layer) {
    const part = (name) => of(`blocks.${layer}.${name}`), keys = pass.keys[layer], values = pass.values[layer];
    const qkv = linear(layerNorm(x, n, ...part("norm1"), eps), n, ...part("attn.W_qkv"), C, 3 * C);
    for (let t = 0; t < n; ++t) {
      keys.set(qkv.subarray(t * 3 * C + C, t * 3 * C + 2 * C), (old + t) * C);
      values.set(qkv.subarray(t * 3 * C + 2 * C, t * 3 * C + 3 * C), (old + t) * C);
    }
    const z = new Float64Array(n * C); // the heads' outputs, side by side
    for (let h = 0; h < H; ++h) {
      const head = layer * H + h, attention = pass.attention[head], scale = 1 / Math.sqrt(d);
      for (let t = 0; t < n; ++t) {
        const row = (old + t) * B, count = old + t + 1, q = t * 3 * C + h * d, to = t * C + h * d;
        for (let k = 0; k < count; ++k) {
          let score = 0;
          for (let i = 0, at = k * C + h * d; i < d; ++i) score += qkv[q + i] * keys[at + i];
          attention[row + k] = score * scale;
        }
        softmax(attention, row, count);
        if (off.has(head)) continue;
        for (let k = 0; k < count; ++k) {
          const weight = attention[row + k];
          for (let i = 0, at = k * C + h * d; i < d; ++i) z[to + i] += weight * values[at + i];
        }
      }
    }
    const add = (y) => { for (let i = 0; i < y.length; ++i) x[i] += y[i]; };
    add(linear(z, n, ...part("attn.W_out"), C, C));
    const [wide, wideBias] = part("mlp.W_in"), F = wide.length / C;
    const hidden = linear(layerNorm(x, n, ...part("norm2"), eps), n, wide, wideBias, C, F);
    for (let i = 0; i < hidden.length; ++i) hidden[i] = gelu(hidden[i]);
    add(linear(hidden, n, ...part("mlp.W_out"), F, C));
  }

  const logits = linear(layerNorm(x, n, ...of("norm"), eps), n, tokens, undefined, C, V);
  for (let row = 0; row < n * V; row += V) {
    let top = -Infinity, total = 0;
    for (let i = 0; i < V; ++i) top = Math.max(top, logits[row + i]);
    for (let i = 0; i < V; ++i) total += Math.exp(logits[row + i] - top);
    const shift = top + Math.log(total);
    for (let i = 0; i < V; ++i) pass.logProbabilities[old * V + row + i] = logits[row + i] - shift;
  }
  return pass;
}

// The loss −ln p of each character but the first, which nothing precedes.
const lossesOf = ({ config: { vocab_size: V } }, { ids, logProbabilities }) =>
  ids.slice(1).map((id, i) => -logProbabilities[i * V + id]);

// ---- text and chance

// The end of a text: the characters that the model knows, at most `most`, as ids, in `pieces`, with the runs of characters
// between them that it does not know: { text, id } and { text, unknown: count }. Of a longer text (`cut`) the beginning is
// left out in halves of `most`: were it left out letter by letter, each letter would change what all the others see.
function readText(model, text, most) {
  let pieces = [], count = 0, cut = false;
  for (const character of text) {
    const id = model.ids.get(character), last = pieces[pieces.length - 1];
    if (id === undefined) {
      if (!last?.unknown) pieces.push({ text: character, unknown: 1 });
      else if (++last.unknown <= 100) last.text += character;
      continue;
    }
    pieces.push({ text: character, id });
    if (++count <= most) continue;
    const half = Math.ceil(most / 2);
    let known = 0;
    pieces = pieces.slice(pieces.findIndex((piece) => !piece.unknown && known++ === half));
    count -= half;
    cut = true;
  }
  return { pieces, ids: pieces.filter((p) => !p.unknown).map((p) => p.id), cut };
}

// Numbers in [0, 1) that depend on the seed alone: a counter, mixed by two multiplications (a variant of splitmix32).
function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = state + 0x9e3779b9 >>> 0;
    let z = Math.imul(state ^ state >>> 16, 0x21f0aaad);
    z = Math.imul(z ^ z >>> 15, 0x735a2d97);
    return ((z ^ z >>> 15) >>> 0) / 2 ** 32;
  };
}

// Draws an id from the row of log-probabilities that begins at `start`; at temperature 0 the most likely one.
function drawId(logProbabilities, start, count, temperature, random) {
  const row = Array.from(logProbabilities.subarray(start, start + count)), top = Math.max(...row);
  if (temperature === 0) return row.indexOf(top);
  const shares = row.map((x) => Math.exp((x - top) / temperature));
  let left = random() * shares.reduce((total, share) => total + share, 0);
  const found = shares.findIndex((share) => (left -= share) < 0);
  return found < 0 ? row.indexOf(top) : found; // where rounding leaves something after the last
}
