// ---- the model: its weights as the page carries them, and its forward pass; pure functions of them
// A model is an lm::Decoder, and its config and tensors have the names that they have there. T tokens, C = d_model, H heads
// and G heads of keys and values, each of D = head_dim, F = dim_feedforward, V characters. A matrix is an array of its rows.

const modelFormat = "weft model 2";

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

// Every tensor of a Decoder with its shape.
function expectedTensors(config) {
  const { vocab_size: V, block_size, num_layers, num_heads: H, num_kv_heads: G, d_model: C, head_dim: D, dim_feedforward: F,
    norm_bias, norm_place, qk_norm, fused_qkv, qkv_bias, output_bias, mlp_bias, gated, tied_head } = config;
  const layer = (name, bias, ...shape) => [[name + ".weight", shape], ...bias ? [[name + ".bias", shape.slice(0, 1)]] : []];
  const norm = (name, size = C) => layer(name, norm_bias, size);
  const block = (_, i) => [
    ...norm_place !== "after" ? norm("input_layernorm") : [],
    ...fused_qkv ? layer("self_attn.qkv_proj", qkv_bias, (H + 2 * G) * D, C)
      : ["q", "k", "v"].flatMap((part) => layer(`self_attn.${part}_proj`, qkv_bias, (part === "q" ? H : G) * D, C)),
    ...qk_norm ? [...norm("self_attn.q_norm", D), ...norm("self_attn.k_norm", D)] : [],
    ...layer("self_attn.o_proj", output_bias, C, H * D),
    ...norm("post_attention_layernorm"),
    ...norm_place === "around" ? norm("pre_feedforward_layernorm") : [],
    ...norm_place !== "before" ? norm("post_feedforward_layernorm") : [],
    ...gated ? layer("mlp.gate_proj", mlp_bias, F, C) : [],
    ...layer("mlp.up_proj", mlp_bias, F, C), ...layer("mlp.down_proj", mlp_bias, C, F)]
    .map(([name, shape]) => [`layers.${i}.${name}`, shape]);
  return [["embed_tokens.weight", [V, C]], ...config.learned_positions ? [["embed_positions.weight", [block_size, C]]] : [],
    ...Array.from({ length: num_layers }, block).flat(), ...norm("norm"), ...tied_head ? [] : layer("lm_head", false, V, C)];
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
  for (const name of ["vocab_size", "block_size", "num_layers", "num_heads", "num_kv_heads", "d_model", "head_dim",
    "dim_feedforward"])
    if (!(Number.isSafeInteger(config?.[name]) && config[name] >= 1)) damaged(name + " is " + config?.[name]);
  if (config.num_heads % config.num_kv_heads !== 0 || !(config.norm_eps > 0)) damaged("the sizes do not fit");
  if (![1, config.num_layers].includes(config.layers?.length)) damaged("the layers' options are missing");
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

// What a Decoder's norms do to each row of x, whose width is the weight's.
function normed(x, [weight, bias], { norm, norm_eps }) {
  const C = weight.length, y = new Float64Array(x.length), one = norm === "rms_plus_one" ? 1 : 0;
  for (let row = 0; row < x.length; row += C) {
    let mean = 0, square = 0;
    if (norm === "layer") for (let i = 0; i < C; ++i) mean += x[row + i] / C;
    for (let i = 0; i < C; ++i) square += (x[row + i] - mean) ** 2 / C;
    const scale = 1 / Math.sqrt(square + norm_eps);
    for (let i = 0; i < C; ++i) y[row + i] = (x[row + i] - mean) * scale * (weight[i] + one) + (bias ? bias[i] : 0);
  }
  return y;
}

// Turns each pair of each head of width D in x, whose rows begin at position `first`: rotary positions, in place.
function turn(x, D, first, { rates, size, pairs }, heads) {
  const half = rates.length, [step, gap] = pairs === "halves" ? [1, half] : [2, 1];
  for (let at = 0, head = 0; at < x.length; at += D, ++head)
    for (let i = 0; i < half; ++i) {
      const angle = (first + Math.floor(head / heads)) * rates[i], c = Math.cos(angle) * size, s = Math.sin(angle) * size;
      const j = at + i * step, a = x[j], b = x[j + gap];
      x[j] = a * c - b * s;
      x[j + gap] = a * s + b * c;
    }
}

// Φ(x), the share of a normal distribution below x: ½ + φ(x) · (x + x³/3 + x⁵/(3 · 5) + …)
function normalShare(x) {
  if (Math.abs(x) > 8) return x > 0 ? 1 : 0;
  let term = x, all = x;
  for (let n = 3; Math.abs(term) > 1e-17; n += 2) all += term *= x * x / n;
  return 0.5 + all * Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);
}

const activations = {
  silu: (x) => x / (1 + Math.exp(-x)),
  gelu: (x) => x * normalShare(x),
  gelu_tanh: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x))),
  relu_squared: (x) => Math.max(x, 0) ** 2,
};
const softcapped = (x, cap) => cap === null ? x : cap * Math.tanh(x / cap);

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

// What the model computed of a text of at most B = reachOf(model) tokens: keys and values of each layer (B, G D), attention
// of each head (B, B), heads numbered through all layers, and log-probabilities of the character after each (B, V).
function emptyPass(model) {
  const { num_layers, num_heads, num_kv_heads, head_dim, vocab_size: V } = model.config, B = reachOf(model);
  const arrays = (count, size) => Array.from({ length: count }, () => new Float64Array(size));
  const width = num_kv_heads * head_dim;
  return { ids: [], off: "", keys: arrays(num_layers, B * width), values: arrays(num_layers, B * width),
    attention: arrays(num_layers * num_heads, B * B), logProbabilities: new Float64Array(B * V) };
}

// Runs the model on at most B ids. A head in the set `off` adds 0 to its block. What `pass` holds of the same first ids
// remains, because a token does not depend on later ones; so a letter at the end of a text costs one token.
function forward(model, pass, ids, off = new Set()) {
  const { config, weights } = model;
  const { num_layers, num_heads: H, num_kv_heads: G, d_model: C, head_dim: D, dim_feedforward: F, vocab_size: V } = config;
  const switches = [...off].sort((a, b) => a - b).join(), T = ids.length, B = reachOf(model);
  let old = 0; // tokens that remain
  if (pass.off === switches) while (old < T && pass.ids[old] === ids[old]) ++old;
  pass.ids = Array.from(ids);
  pass.off = switches;
  const n = T - old;
  const of = (name) => [weights[name + ".weight"], weights[name + ".bias"]];
  const [tokens] = of("embed_tokens"), [places] = of("embed_positions");
  let x = new Float64Array(n * C);
  for (let t = 0; t < n; ++t)
    for (let i = 0; i < C; ++i)
      x[t * C + i] = tokens[ids[old + t] * C + i] * config.embedding_scale + (places ? places[(old + t) * C + i] : 0);

  for (let layer = 0; layer < num_layers; ++layer) {
    const part = (name) => of(`layers.${layer}.${name}`);
    const norm = (name, y) => normed(y, part(name), config);
    const add = (y) => { for (let i = 0; i < y.length; ++i) x[i] += y[i]; };
    const { rotary, window } = config.layers[config.layers.length === 1 ? 0 : layer];

    const first = config.norm_place === "after" ? x : norm("input_layernorm", x);
    const projected = (name, from, rows) => { // rows of the projection that has the queries', keys' and values'
      const [weight, bias] = part(`self_attn.${config.fused_qkv ? "qkv" : name}_proj`), start = config.fused_qkv ? from : 0;
      return linear(first, n, weight.subarray(start * C), bias?.subarray(start), C, rows);
    };
    let q = projected("q", 0, H * D), k = projected("k", H * D, G * D);
    if (config.qk_norm) q = norm("self_attn.q_norm", q), k = norm("self_attn.k_norm", k);
    if (rotary) turn(q, D, old, rotary, H), turn(k, D, old, rotary, G);
    const keys = pass.keys[layer], values = pass.values[layer];
    keys.set(k, old * G * D);
    values.set(projected("v", (H + G) * D, G * D), old * G * D);

    const z = new Float64Array(n * H * D); // the heads' outputs, side by side
    const scale = (config.attention_scale ?? 1 / Math.sqrt(D)) / (config.scale_by_layer ? layer + 1 : 1);
    for (let h = 0; h < H; ++h) {
      const head = layer * H + h, attention = pass.attention[head], group = Math.floor(h * G / H) * D;
      for (let t = 0; t < n; ++t) {
        const row = (old + t) * B, to = (t * H + h) * D, end = old + t + 1, begin = Math.max(0, end - (window ?? end));
        for (let p = begin; p < end; ++p) {
          let score = 0;
          for (let i = 0, at = p * G * D + group; i < D; ++i) score += q[to + i] * keys[at + i];
          attention[row + p] = softcapped(score * scale, config.attention_softcap);
        }
        softmax(attention, row + begin, end - begin);
        if (off.has(head)) continue;
        for (let p = begin; p < end; ++p) {
          const weight = attention[row + p];
          for (let i = 0, at = p * G * D + group; i < D; ++i) z[to + i] += weight * values[at + i];
        }
      }
    }
    const attended = linear(z, n, ...part("self_attn.o_proj"), H * D, C), isBefore = config.norm_place === "before";
    add(isBefore ? attended : norm("post_attention_layernorm", attended));

    const middle = config.norm_place === "after" ? x
      : norm(isBefore ? "post_attention_layernorm" : "pre_feedforward_layernorm", x);
    const up = linear(middle, n, ...part("mlp.up_proj"), C, F), activation = activations[config.activation];
    const gate = config.gated ? linear(middle, n, ...part("mlp.gate_proj"), C, F) : null;
    for (let i = 0; i < up.length; ++i) up[i] = gate ? activation(gate[i]) * up[i] : activation(up[i]);
    const down = linear(up, n, ...part("mlp.down_proj"), F, C);
    add(isBefore ? down : norm("post_feedforward_layernorm", down));
  }

  const logits = linear(normed(x, of("norm"), config), n, config.tied_head ? tokens : of("lm_head")[0], undefined, C, V);
  for (let i = 0; i < logits.length; ++i) logits[i] = softcapped(logits[i], config.logits_softcap);
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
