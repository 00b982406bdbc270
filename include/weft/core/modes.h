// What holds for a while: values, and what a thread has switched on; and the number of threads.
#pragma once

#include <cstdint>
#include <functional>

#if __cplusplus < 202002L  // not #error, after which the compiler would go on to some 75 other errors
#include "Weft needs C++20: add -std=c++20"
#endif

#include <utility>

namespace weft {

// Guards are made of this: a variable has another value until the object goes out of scope.
//
//     int depth = 1;
//     {
//         const Scoped<int> deeper(depth, 2);  // depth is 2
//     }
//     // depth is 1
template <class T>
class Scoped {
public:
    // From now on the variable has this value; the destructor restores the previous one.
    Scoped(T& variable, T value) : variable_(variable), before_(std::exchange(variable, value)) {}
    ~Scoped() { variable_ = before_; }
    Scoped(const Scoped&) = delete;
    Scoped& operator=(const Scoped&) = delete;

private:
    T& variable_;
    const T before_;
};

// Internal: What runs on this thread, to notice that it is called again from inside.

// While it is alive, `what` runs on this thread.
class [[nodiscard]] Underway {
public:
    explicit Underway(const void* what) : what_(what), outer_(innermost_), here_(innermost_, this) {}
    // Whether it does.
    static bool is(const void* what) {
        const Underway* at = innermost_;
        while (at != nullptr && at->what_ != what) at = at->outer_;
        return at != nullptr;
    }

private:
    static constinit inline thread_local const Underway* innermost_ = nullptr;
    const void* const what_;
    const Underway* const outer_;
    const Scoped<const Underway*> here_;
};

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

// Threads: results have the same bits at every number of threads.

// The number of threads from now on. ValueError unless 1 ≤ n ≤ 1024.
//
//     set_num_threads(1);
//     const int threads = get_num_threads();  // 1
void set_num_threads(int n);
// The current number. By default WEFT_NUM_THREADS, else OMP_NUM_THREADS, else the processors on which the
// process may run, and no more than its container's quota (cgroup v2, cpu.max), rounded up.
int get_num_threads();
// Calls f(begin, end) for the blocks of `grain` elements of 0 … n − 1, the last one shorter, on all threads; as
// at::parallel_for. The blocks depend on n and grain alone, so a result that is put together block by block has
// the same bits at every number of threads. Rethrows the first exception; ValueError unless n ≥ 0 and grain
// ≥ 1.
//
//     parallel_for(n, 4096, [&](std::int64_t begin, std::int64_t end) {
//         for (std::int64_t i = begin; i < end; ++i) y[i] = 2 * x[i];
//     });
void parallel_for(std::int64_t n, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& f);

}  // namespace weft
