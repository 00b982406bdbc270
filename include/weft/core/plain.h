// Which of two readings runs: what a thing means, or what does the same faster.
#pragma once

#include "weft/core/modes.h"

namespace weft {

// While such a guard is active, its thread computes what the library's definitions say, step by step, and
// nothing stands in for them: every value is the same up to rounding, and a debugger can step through it.
//
//     const Tensor x = randn({4, 8}, rng);
//     const Tensor fast = gelu(x);
//     const Plain readable;
//     const Tensor slow = gelu(x);  // the same values up to rounding
//
// A backward pass is computed as the guards say that are active when it runs. jvp runs the plain operations.
class [[nodiscard]] Plain {
public:
    // What is plain: of the primitives (products, sums, exp …) the loops of src/core/plain_*.cpp instead of
    // vectors, blocks and threads; of the operations that are computed at once (linear, layer_norm, rms_norm,
    // gelu, cross_entropy, rotary, attention) their definition in small operations, which are recorded instead.
    enum Readings : unsigned {
        primitives = Modes::plain_primitives,  // the loops
        operations = Modes::plain_operations,  // the definitions
        both = primitives | operations         // the loops and the definitions
    };
    // Until it goes out of scope; `on` = false inside another guard: fast again. What `readings` does not name
    // stays as it is. Guards nest.
    explicit Plain(Readings readings = both, bool on = true) : mode_(readings, on) {}

private:
    Modes mode_;
};
// Whether this thread runs all that is named as it is defined.
//
//     const Plain readable(Plain::operations);
//     const bool composed = is_plain(Plain::operations);  // true
inline bool is_plain(Plain::Readings readings) { return Modes::all(readings); }

}  // namespace weft
