// Weft's random numbers and its softmax, for widgets that repeat what a chapter's program computes.
const WORD = 2 ** 32;

// The four words of 32 bits that Philox4x32-10 gives for a key and a counter, both below 2⁵³ (weft/core/random.h).
export function philox(key, counter) {
    let c0 = counter >>> 0, c1 = Math.floor(counter / WORD), c2 = 0, c3 = 0;
    let k0 = key >>> 0, k1 = Math.floor(key / WORD);
    for (let round = 0; round < 10; ++round) {
        const low0 = Math.imul(0xD2511F53, c0) >>> 0, low1 = Math.imul(0xCD9E8D57, c2) >>> 0;
        // A product in float64 is off by less than 2¹¹, so rounding gives its upper word exactly.
        const high0 = Math.round((0xD2511F53 * c0 - low0) / WORD), high1 = Math.round((0xCD9E8D57 * c2 - low1) / WORD);
        c0 = (high1 ^ c1 ^ k0) >>> 0;
        c1 = low1;
        c2 = (high0 ^ c3 ^ k1) >>> 0;
        c3 = low0;
        k0 = (k0 + 0x9E3779B9) >>> 0;
        k1 = (k1 + 0xBB67AE85) >>> 0;
    }
    return [c0, c1, c2, c3];
}

const toUnit = (high, low) => (high * 2 ** 21 + (low >>> 11)) / 2 ** 53;  // 53 bits in [0, 1)

// The draw of Rng(seed) at one position: uniform in [0, 1).
export function uniformAt(seed, position) {
    const [high, low] = philox(seed, position);
    return toUnit(high, low);
}

// The same, normal: mean 0, standard deviation 1.
export function normalAt(seed, position) {
    const [a, b, c, d] = philox(seed, position);
    return Math.sqrt(-2 * Math.log(1 - toUnit(a, b))) * Math.cos(2 * Math.PI * toUnit(c, d));
}

export const sum = (values) => values.reduce((total, value) => total + value, 0);

// Softmax of a row as it is usually written: a row of −∞ gives NaN.
export function plainSoftmax(row) {
    const highest = Math.max(...row), powers = row.map((s) => Math.exp(s - highest)), total = sum(powers);
    return powers.map((power) => power / total);
}

// Weft's: a row of −∞ gives 0.
export const softmax = (row) => (row.every((s) => s === -Infinity) ? row.map(() => 0) : plainSoftmax(row));
