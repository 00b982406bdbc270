// What is switched on or off on this thread.
#pragma once

namespace weft {

// Internal: What is switched on or off on this thread.

// Sets bits, or clears them, until it goes out of scope. Others stay as they are, whenever they change.
class [[nodiscard]] Modes {
public:
    // Bits of a thread's modes, of which none is set at first.
    enum Bits : unsigned {
        plain_primitives = 1,  // Plain(Plain::primitives)
        plain_operations = 2,  // Plain(Plain::operations)
        no_grad = 4,           // NoGrad
        medium_products = 8,   // Float32MatmulPrecision("medium")
        evaluating = 16        // nn::EvalMode
    };
    Modes(unsigned bits, bool on) : bits_(bits), before_(now_ & bits) { set(bits, on); }
    ~Modes() { now_ = (now_ & ~bits_) | before_; }
    Modes(const Modes&) = delete;
    Modes& operator=(const Modes&) = delete;

    static void set(unsigned bits, bool on) { now_ = on ? now_ | bits : now_ & ~bits; }  // from now on
    static bool all(unsigned bits) { return (now_ & bits) == bits; }                     // whether all are set

private:
    static constinit inline thread_local unsigned now_ = 0;
    const unsigned bits_, before_;
};

// Which of two readings runs: what a thing means, or what does the same faster.

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
    // What is plain: of the primitives (products, sums, exp …) the loops of src/core/plain_loops.cpp instead of
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

// Which operations are recorded.

// Whether this thread records operations; true at first.
//
//     const Tensor w = ones({2}).requires_grad_();
//     const NoGrad off;
//     const bool recorded = is_grad_enabled();  // false
//     const EnableGrad on;
//     const std::string last = operation_of(w * 2);  // "multiply"
//     const GradMode mode(false);                    // as NoGrad, from a value
//     const std::string none = operation_of(w * 2);  // "": not recorded
inline bool is_grad_enabled() { return !Modes::all(Modes::no_grad); }

// Turns recording off (NoGrad) or on (EnableGrad) in this thread until the guard goes out of scope, which
// restores the previous mode. Guards nest.
//
//     const Tensor w = ones({2}).requires_grad_();
//     Tensor y;
//     {
//         const NoGrad off;
//         y = w * 2;  // not recorded: y.requires_grad() is false
//     }
//     const Tensor z = w * 2;  // recorded: z.requires_grad() is true
class [[nodiscard]] GradMode {
public:
    explicit GradMode(bool enabled) : mode_(Modes::no_grad, !enabled) {}  // is_grad_enabled() becomes `enabled`

private:
    Modes mode_;
};
// Stops recording.
struct [[nodiscard]] NoGrad : GradMode {
    NoGrad() : GradMode(false) {}  // until it goes out of scope
};
// Resumes recording inside a NoGrad.
struct [[nodiscard]] EnableGrad : GradMode {
    EnableGrad() : GradMode(true) {}  // until it goes out of scope
};

}  // namespace weft
