// Random numbers. Element i of a draw is a function of (seed, position), by a counter-based generator
// (Philox4x32-10, Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). Its bits, uniform
// numbers and integers depend on nothing else, the last bits of normal numbers on std::log and std::cos too.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace weft {

// The 128 bits that Philox4x32-10 returns for a key and a counter.
//
//     const std::uint32_t bits = philox(0, 0)[0];  // 0x6627e8d5
std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter);

// A random number generator: each draw takes the next position.
//
//     Rng rng(42);
//     const Tensor w = randn({2, 3}, rng);   // (2, 3), takes six positions
//     const Rng::State saved = rng.state();  // saved.seed is 42, saved.position is 6
//     const double a = rng.uniform();
//     rng.set_state(saved);
//     const double b = rng.uniform();  // b == a
class Rng {
public:
    // All that a generator remembers.
    struct State {
        std::uint64_t seed = 0, position = 0;  // n numbers move the position by n, dropout's by less
    };

    explicit Rng(std::uint64_t seed = 0) : state_{seed, 0} {}  // at position 0
    // A generator for modules whose values are loaded next: rand and randn return zeros, because drawing
    // takes longer than loading. Everything else, including the seeds of dropout, is drawn as from Rng(seed).
    static Rng skip_init(std::uint64_t seed = 0);
    bool skips_init() const { return zeros_; }  // made by skip_init

    double uniform();  // in [0, 1), with 53 random bits
    double normal();   // mean 0, standard deviation 1 (Box–Muller)
    // An integer i, low ≤ i < high, each as likely; ValueError unless low < high.
    std::int64_t randint(std::int64_t low, std::int64_t high);
    // i with probability w_i / Σw; ValueError if a weight is negative or not finite, or none is positive.
    std::int64_t categorical(const std::vector<double>& weights);

    // Takes the next `count` positions for a tensor and returns the first of them.
    std::uint64_t reserve(std::uint64_t count);

    std::uint64_t seed() const { return state_.seed; }  // as passed to the constructor
    State state() const { return state_; }              // for checkpoints
    void set_state(State state) { state_ = state; }     // continues from there

private:
    State state_;
    bool zeros_ = false;
};

// The generator of this thread, for whatever is given none; Rng(0) until manual_seed.
//
//     manual_seed(1);
//     const nn::Linear layer(3, 2);  // draws as from Rng(1)
Rng& default_rng();
void manual_seed(std::uint64_t seed);  // default_rng() = Rng(seed)

// The draw at one position, for Rng and for tensors: uniform in [0, 1).
//
//     Rng rng(42);
//     const double drawn = rng.uniform();
//     const double again = uniform_at(42, 0);  // again == drawn
//     const double bell = normal_at(42, 1);    // position 1, as rng.normal() would be now
//     const std::int64_t die = randint_at(42, 2, 1, 7);
//     default_rng() = Rng(42);
//     const double first = default_rng().uniform();  // first == drawn
double uniform_at(std::uint64_t seed, std::uint64_t position);
// Normal, mean 0, standard deviation 1.
double normal_at(std::uint64_t seed, std::uint64_t position);
// An integer i, low ≤ i < high.
std::int64_t randint_at(std::uint64_t seed, std::uint64_t position, std::int64_t low, std::int64_t high);

}  // namespace weft
