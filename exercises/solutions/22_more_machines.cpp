// Exercises of chapter 22: messages between processes, an all-reduce in a tree, and what it gains.
//
//     make exercise N=22          tries what you wrote; make hint N=22 helps
//
// Our solutions. The tasks are numbered as on the page.
#include <cmath>

#include "../../examples/chapters/22_world.h"
#include "exercise.h"

// 1. Predict. In float32, 16777216 = 2²⁴ and three ones are added. One process adds them one after the other.
// Of two processes each adds up its half, and then the halves are added. How much larger is the sum of two?
inline double difference_of_orders() {
    const float large = 16777216, one = 1;
    const float by_one = ((large + one) + one) + one, by_two = (large + one) + (one + one);
    return by_two - by_one;
}
double prediction_of_order() { return 2; }

// 2. Predict. Four processes make an all-reduce of 1200 numbers in a ring. How many numbers does each send?
inline double sent_in_a_ring() {
    World world(4);
    world.run([](Process& me) {
        const int P = me.size(), next = (me.rank() + 1) % P, before = (me.rank() + P - 1) % P;
        const Values piece(1200 / 4);
        for (int step = 0; step < P - 1; ++step) (void)me.exchange(next, piece, before);  // reduce-scatter
        for (int step = 0; step < P - 1; ++step) (void)me.exchange(next, piece, before);  // all-gather
    });
    return static_cast<double>(world.sent(0));
}
double prediction_of_sent() { return 1800; }

// 3. Mend. Every process of a ring of at least two gives `values` to the next one, and returns what the one
// before it gives.
Values shifted(Process& me, const Values& values) {
    const int P = me.size(), next = (me.rank() + 1) % P, before = (me.rank() + P - 1) % P;
    return me.exchange(next, values, before);
}

// 4. Write. The sum of the values of all processes, on every process, in place of its own. Neighbours are added
// first, as (x₀ + x₁) + (x₂ + x₃) for four processes and ((x₀ + x₁) + (x₂ + x₃)) + x₄ for five, so all get the
// same bits. It takes no longer than 2⌈log₂ P⌉ messages one after the other.
//     me.rank(), me.size(), me.send(to, values), me.receive(from), me.exchange(to, values, from)
void all_reduce(Process& me, Values& values) {
    const int P = me.size(), rank = me.rank();
    int distance = 1;
    for (; distance < P && rank % (2 * distance) == 0; distance *= 2) {
        if (rank + distance >= P) continue;
        const Values right = me.receive(rank + distance);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] += right[i];
    }
    if (rank > 0) {
        me.send(rank - distance, values);
        values = me.receive(rank - distance);
    }
    for (distance /= 2; distance > 0; distance /= 2)
        if (rank + distance < P) me.send(rank + distance, values);
}

// 5. Write. Bucket i of the gradients is complete at ready[i] seconds, ascending. The buckets travel in this
// order, one at a time, `transfer` seconds each. Returns when the last has arrived; 0 without buckets.
double all_arrived(const std::vector<double>& ready, double transfer) {
    double arrived = 0;
    for (const double complete : ready) arrived = std::max(arrived, complete) + transfer;
    return arrived;
}

// 6. Paper. A step takes 8 s on one host, of which 0.2 s are the optimiser, which every host runs in full. All
// gradients have 400 MB, in 100 buckets; the network moves 1000 MB/s, and each message takes 0.5 ms besides.
// For an all-reduce in a ring on 4 hosts enter the seconds that the bytes take; those of the latency of all
// messages of a process; the speed-up of a step on 4 hosts if nothing overlaps; the speed-up if all but 0.1 s
// of the communication is hidden; and the speed-up that no number of hosts can exceed, to two decimals each.
std::vector<double> speedup_on_paper() { return {0.6, 0.3, 2.62, 3.56, 40}; }
