// Tensors as chapter 2 describes them: { memory, shape, strides, offset }. The rules and the messages are those of
// src/core/views.cpp and src/core/array.cpp; views of one storage share the array `memory`.
export const numel = (shape) => shape.reduce((n, size) => n * size, 1);

export const text = (shape) => `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`;

export function contiguousStrides(shape) {
    const strides = shape.map(() => 1);
    for (let i = shape.length - 1; i > 0; --i) strides[i - 1] = strides[i] * shape[i];
    return strides;
}

export function tensor(shape, memory) {
    return { memory, shape, strides: contiguousStrides(shape), offset: 0 };
}

// Every index of a shape, in row-major order.
export function indices(shape) {
    return shape.reduce((all, size) => all.flatMap((index) => Array.from({ length: size }, (_, i) => [...index, i])), [[]]);
}

// offset + Σ index · stride
export const position = (x, index) => index.reduce((at, i, k) => at + i * x.strides[k], x.offset);

export const positions = (x) => indices(x.shape).map((index) => position(x, index));

export function isContiguous(x) {
    if (numel(x.shape) === 0) return true;
    const expected = contiguousStrides(x.shape);
    return x.shape.every((size, i) => size === 1 || x.strides[i] === expected[i]);
}

// Whole numbers, as a reader writes a shape: "3, 2", "(3, 2)", "{3, 2}". Nothing between the brackets is ().
export function readList(name, written, example) {
    const inner = written.trim().replace(/−/g, "-").replace(/^[({[]\s*|\s*[)}\]]$/g, "").replace(/,\s*$/, "");
    const parts = inner === "" ? [] : inner.split(/\s*[,×x ]\s*/);
    const one = written.trim().slice(0, 24);
    if (!parts.every((part) => /^[+-]?\d{1,15}$/.test(part)))
        throw new Error(`${name}: “${one}” is not a list of whole numbers. Write them with commas, for example ${example}.`);
    return parts.map(Number);
}

// A shape that a tensor may have.
export function checked(shape) {
    if (shape.length > 8) throw new Error(`shape: ${shape.length} axes, but a tensor has at most 8; merge some with reshape`);
    return shape;
}

const overflows = (shape) => numel(shape.filter((size) => size > 0)) >= 2 ** 63;

function axisOf(operation, axis, rank) {
    const normalized = axis < 0 ? axis + rank : axis;
    if (normalized >= 0 && normalized < rank) return normalized;
    throw new Error(`${operation}: axis ${axis} is out of range for rank ${rank}` +
        (rank === 0 ? " (a scalar has no axes)" : `; use ${-rank} to ${rank - 1}`));
}

// The wanted shape, with the size that is −1 filled in.
function inferred(operation, x, wanted) {
    const refuse = (why) => { throw new Error(`${operation}: ${text(x.shape)} to ${text(wanted)}: ${why}`); };
    checked(wanted);
    if (overflows(wanted)) refuse("the product does not fit in 63 bits; use smaller sizes");
    const size = numel(x.shape);
    let known = 1, unknown = false;
    for (const s of wanted) {
        if (s < -1) refuse(`negative size ${s}; use 0 or more, or one -1`);
        if (s === -1 && unknown) refuse("two sizes are -1, so neither is known; give one of them");
        if (s === -1) unknown = true;
        else known *= s;
    }
    if (!unknown && known !== size) refuse(`${size} elements do not fit ${known}; the products must be equal`);
    if (unknown && known === 0) refuse("-1 is ambiguous beside a size of 0; give every size");
    if (unknown && size % known !== 0) refuse(`${size} elements are not a multiple of ${known}; -1 cannot be inferred`);
    return wanted.map((s) => (s === -1 ? size / known : s));
}

// Strides over the same memory that read x as `shape`, or null where there are none.
export function reshapedStrides(x, shape) {
    const strides = contiguousStrides(shape);
    if (isContiguous(x)) return strides;
    const joined = [];  // x's axes, joined where they are contiguous with each other
    x.shape.forEach((size, i) => {
        if (size === 1) return;
        const last = joined.at(-1);
        if (!last || last.step !== x.strides[i] * size) joined.push({ size, step: x.strides[i] });
        else last.size *= size, last.step = x.strides[i];
    });
    let left = 1, stride = 1;  // from the last axis on, each must fit into what the axes after it have left
    for (let i = shape.length - 1; i >= 0; --i) {
        if (left === 1 && shape[i] !== 1) ({ size: left, step: stride } = joined.pop());
        if (left % shape[i] !== 0) return null;
        strides[i] = stride;
        stride *= shape[i];
        left /= shape[i];
    }
    return strides;
}

// The operations of the chapter. Each returns a tensor, on x's memory unless it has to copy, or throws Weft's message.
export const operations = {
    view(x, wanted) {
        const shape = inferred("view", x, wanted), strides = reshapedStrides(x, shape);
        if (strides) return { ...x, shape, strides };
        throw new Error(`view: a tensor of shape ${text(x.shape)} with strides ${text(x.strides)} cannot be seen as ` +
            `${text(shape)} without copying; call contiguous() first, or use reshape(), which copies where it must`);
    },
    reshape(x, wanted) {
        const shape = inferred("reshape", x, wanted), strides = reshapedStrides(x, shape);
        return strides ? { ...x, shape, strides } : tensor(shape, positions(x).map((at) => x.memory[at]));
    },
    contiguous(x) {
        return isContiguous(x) ? x : tensor(x.shape, positions(x).map((at) => x.memory[at]));
    },
    transpose(x, [a, b]) {
        const [i, j] = [axisOf("transpose", a, x.shape.length), axisOf("transpose", b, x.shape.length)];
        const exchanged = (list) => list.map((value, k) => list[k === i ? j : k === j ? i : k]);
        return { ...x, shape: exchanged(x.shape), strides: exchanged(x.strides) };
    },
    slice(x, [given, from, to]) {
        const axis = axisOf("slice", given, x.shape.length), n = x.shape[axis];
        const clamp = (i, low) => Math.min(Math.max(i < 0 ? i + n : i, low), n);
        const start = clamp(from, 0), size = clamp(to, start) - start;
        return { ...x, shape: x.shape.map((s, k) => (k === axis ? size : s)), offset: x.offset + (size > 0 ? start * x.strides[axis] : 0) };
    },
    select(x, [given, index]) {
        const axis = axisOf("select", given, x.shape.length), n = x.shape[axis], i = index < 0 ? index + n : index;
        if (i < 0 || i >= n)
            throw new Error(`select: index ${index} is out of range for axis ${axis} of ${text(x.shape)}` +
                (n === 0 ? ", which is empty" : `; use ${-n} to ${n - 1}`));
        const others = (list) => list.filter((_, k) => k !== axis);
        return { ...x, shape: others(x.shape), strides: others(x.strides), offset: x.offset + i * x.strides[axis] };
    },
    expand(x, wanted) {
        const refuse = (why) => { throw new Error(`expand: ${text(x.shape)} to ${text(wanted)}: ${why}`); };
        checked(wanted);
        const added = wanted.length - x.shape.length;
        if (added < 0) refuse("fewer axes than the tensor has; expand only adds or stretches axes");
        const shape = [...wanted];
        for (let i = 1; i <= shape.length; ++i) {
            const at = shape.length - i, own = at >= added ? x.shape[at - added] : 1;
            if (shape[at] === -1 && at < added) refuse("-1 keeps a size, but a new axis has none; give its size");
            if (shape[at] === -1) shape[at] = own;
            if (shape[at] < 0) refuse(`negative size ${shape[at]}; use 0 or more, or -1 to keep`);
            if (own !== shape[at] && own !== 1)
                refuse(`axis ${-i} has size ${own} and cannot become ${shape[at]}; only a size of 1 stretches`);
        }
        if (overflows(shape)) refuse("the product does not fit in 63 bits; use smaller sizes");
        return { ...x, shape, strides: shape.map((_, at) => (at < added || x.shape[at - added] === 1 ? 0 : x.strides[at - added])) };
    },
};

// The shape that two broadcast to; `operation` is named where they do not.
export function broadcastShapes(a, b, operation) {
    const rank = Math.max(a.length, b.length), result = [];
    for (let i = 1; i <= rank; ++i) {
        const m = a.at(-i) ?? 1, n = b.at(-i) ?? 1;
        if (m !== n && m !== 1 && n !== 1)
            throw new Error(`${operation}: ${text(a)} and ${text(b)} do not broadcast: axis ${-i} has ${m} against ${n}; ` +
                "sizes must be equal, or one of them 1");
        result.unshift(m === 1 ? n : m);
    }
    return result;
}
