// T tokens, d the width of a head, r the columns that are rotated.
#include "weft/ops/rotary.h"

#include "core/common.h"
#include "ops/slots.h"
#include "weft/ops/shapes.h"

namespace weft {

namespace {

Tensor turned(const Inputs& in, const RotaryPairs& kind) {
    const Tensor &x = in[0], &c = in[1], &s = in[2];
    const std::int64_t half = c.size(-1), d = x.size(-1);
    const bool is_whole = d == 2 * half;
    const Tensor turned = is_whole ? x : x.slice(-1, 0, 2 * half);  // (…, T, r)
    const auto joined = [&](const Tensor& y) { return is_whole ? y : cat({y, x.slice(-1, 2 * half, d)}, -1); };
    if (kind == RotaryPairs::halves) {
        const Tensor a = turned.slice(-1, 0, half), b = turned.slice(-1, half, 2 * half);  // (…, T, r/2)
        return joined(cat({a * c - b * s, a * s + b * c}, -1));                            // (…, T, d)
    }
    Shape in_pairs = turned.shape();
    in_pairs[-1] = half;
    in_pairs.push_back(2);
    const Tensor pairs = turned.reshape(in_pairs);                                     // (…, T, r/2, 2)
    const Tensor a = pairs.select(-1, 0), b = pairs.select(-1, 1);                     // (…, T, r/2)
    return joined(stack({a * c - b * s, a * s + b * c}, -1).reshape(turned.shape()));  // (…, T, d)
}

}  // namespace

Tensor rotary(const Tensor& x, const RotaryTable& table) {
    const Op op("rotary", Op::of_others);
    check_computes(x.dtype());
    const int rank = x.rank();
    if (table.cos.rank() != 2 || table.sin.shape() != table.cos.shape())
        throw ShapeError("rotary: a table of cosines ", table.cos.shape(), " and sines ", table.sin.shape(),
                         "; both must be (T, r/2)");
    const std::int64_t half = table.cos.size(-1), d = rank > 0 ? x.size(-1) : 0;
    if (rank < 2 || rank >= Shape::max_rank || d < 2 * half || x.size(-2) != table.cos.size(0))
        throw ShapeError("rotary: takes (…, ", table.cos.size(0), ", d) with d at least ", 2 * half, ", not ",
                         x.shape());
    if (!takes_gradient(x.dtype()) || table.cos.dtype() != x.dtype() || table.sin.dtype() != x.dtype())
        throw DTypeError("rotary: x is ", name(x.dtype()), ", cosines ", name(table.cos.dtype()), ", sines ",
                         name(table.sin.dtype()), "; all must be float32, or all float64");
    return run("rotary", {x, table.cos, table.sin}, table.pairs, turned, rotary_kernel);
}

}  // namespace weft
