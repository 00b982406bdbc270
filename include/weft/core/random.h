// Random numbers that are the same everywhere: a counter-based generator (Philox4x32-10, Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011), so that element i of a draw is a function of (seed,
// position) alone, whatever the number of threads, the compiler or the standard library.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace weft {

// The 128 bits that Philox4x32-10 gives for a key and a counter.
std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter);

// Draws numbers one after another. Neither seed nor position says anything of the machine.
class Rng {
public:
    // Where a generator stands: all that it remembers.
    struct State {
        std::uint64_t seed = 0, position = 0;  // the numbers drawn so far
    };

    explicit Rng(std::uint64_t seed = 0) : state_{seed, 0} {}  // at position 0
    // One from which tensors of rand and randn are zeros, for modules whose values are loaded next: drawing
    // them takes longer than loading. All else is drawn as from Rng(seed), the seeds of dropout's generators
    // among it.
    static Rng skip_init(std::uint64_t seed = 0);
    bool skips_init() const { return zeros_; }  // made by skip_init

    double uniform();                                           // in [0, 1), 53 bits
    double normal();                                            // mean 0, standard deviation 1 (Box–Muller)
    std::int64_t randint(std::int64_t low, std::int64_t high);  // low ≤ i < high; ValueError when low ≥ high
    std::int64_t categorical(
        const std::vector<double>& weights);  // i with probability w_i / Σw; ValueError when none > 0

    // Takes the next `count` positions for a tensor's draw and returns the first of them.
    std::uint64_t reserve(std::uint64_t count);

    std::uint64_t seed() const { return state_.seed; }  // what it was made with
    State state() const { return state_; }              // what a checkpoint keeps
    void set_state(State state) { state_ = state; }     // goes on from there

private:
    State state_;
    bool zeros_ = false;
};

// The draw at one position, which tensors and Rng share: in [0, 1).
double uniform_at(std::uint64_t seed, std::uint64_t position);
// Mean 0, standard deviation 1.
double normal_at(std::uint64_t seed, std::uint64_t position);
// low ≤ i < high.
std::int64_t randint_at(std::uint64_t seed, std::uint64_t position, std::int64_t low, std::int64_t high);

}  // namespace weft
