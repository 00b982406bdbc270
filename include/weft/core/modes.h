// Internal: What is switched on or off on this thread.
#pragma once

namespace weft {

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

}  // namespace weft
