#include "exercise.h"
#include EXERCISE

namespace {

std::string on(int P) { return "on " + std::to_string(P) + " processes"; }

// Neighbours first: the left part has the largest power of two below n.
Values added(const std::vector<Values>& x, std::size_t begin, std::size_t end) {
    if (end - begin == 1) return x[begin];
    std::size_t left = 1;
    while (2 * left < end - begin) left *= 2;
    Values sum = added(x, begin, begin + left);
    const Values right = added(x, begin + left, end);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += right[i];
    return sum;
}

// What every process has after the reader's all_reduce of x, in a world where a message takes a second.
std::vector<Values> reduced(const std::vector<Values>& x, double& seconds) {
    World world(static_cast<int>(x.size()), {.latency = 1});
    std::vector<Values> results = x;
    world.run([&](Process& me) { all_reduce(me, results[static_cast<std::size_t>(me.rank())]); });
    seconds = world.seconds();
    return results;
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "22. More than one machine");
    exercise.predict("prediction_of_order", prediction_of_order, difference_of_orders,
                     "2²⁴ + 1 is no float32 and becomes 2²⁴ each time, but 2²⁴ + 2 is one.",
                     {"How many binary digits has a float32, and what becomes of 2²⁴ + 1?",
                      "The second process adds 1 + 1 first."});
    exercise.predict("prediction_of_sent", prediction_of_sent, sent_in_a_ring,
                     "2 · 3 messages of 1200 / 4 numbers: 2 n (P - 1) / P.",
                     {"Into how many pieces are the numbers cut?",
                      "In each of the two phases a process sends P - 1 pieces."});
    exercise.mend("shifted", "deadlock: process 0 waits to send to 1",
                  {"Every process does the same. Which of them is the first to receive?",
                   "send returns when the other process has received. Someone has to receive at that time.",
                   "exchange(to, values, from) sends and receives at once."},
                  [] {
                      for (const int P : {2, 3, 4, 7}) {
                          World world(P);
                          std::vector<Values> got(static_cast<std::size_t>(P));
                          world.run([&](Process& me) {
                              got[static_cast<std::size_t>(me.rank())] = shifted(me, {10.0 * me.rank(), 1});
                          });
                          for (int rank = 0; rank < P; ++rank) {
                              const Values want = {10.0 * ((rank + P - 1) % P), 1};
                              expect(got[static_cast<std::size_t>(rank)] == want,
                                     on(P) + " process " + std::to_string(rank) +
                                         " should return the values of the one before it");
                          }
                      }
                  });
    exercise.write(
        "all_reduce",
        {"First the sums go up a tree to process 0, then the result comes down the same tree.",
         "At distance 1, 2, 4, …: a process whose rank is a multiple of twice the distance receives from "
         "rank + distance, if there is such a process, and adds; another one sends to rank - distance, and "
         "has nothing more to add.",
         "Afterwards each but process 0 receives the result from where it sent its sum, and passes it on to "
         "those from whom it received, the furthest first."},
        [] {
            double seconds = 0;
            for (std::size_t P = 1; P <= 9; ++P) {
                std::vector<Values> x;
                for (std::size_t r = 0; r < P; ++r) x.push_back({static_cast<double>(r + 1), 0.5});
                const std::vector<Values> got = reduced(x, seconds);
                const Values want = added(x, 0, P);
                for (std::size_t r = 0; r < P; ++r) {
                    const std::string who = on(static_cast<int>(P)) + " process " + std::to_string(r);
                    expect(got[r].size() == 2, who + " should have as many values as before");
                    for (std::size_t i = 0; i < 2; ++i)
                        expect_equal(who + ", value " + std::to_string(i), got[r][i], want[i]);
                }
                const double most = 2 * std::ceil(std::log2(static_cast<double>(P)));
                expect(seconds <= most, on(static_cast<int>(P)) + " the result takes " +
                                            std::to_string(static_cast<int>(seconds)) +
                                            " messages one after the other; a tree needs " +
                                            std::to_string(static_cast<int>(most)));
            }
            Rng rng(18);
            for (std::size_t P = 2; P <= 9; ++P) {
                std::vector<Values> x;
                for (std::size_t r = 0; r < P; ++r) x.push_back(rand({100}, rng, float64).to_vector<double>());
                const Values want = added(x, 0, P);
                for (const Values& values : reduced(x, seconds))
                    expect(values == want, on(static_cast<int>(P)) +
                                               " the bits differ from those of the tree in which "
                                               "neighbours are added first");
            }
        });
    exercise.write(
        "all_arrived",
        {"When can a bucket leave? Two things must have happened.",
         "It must be complete, and the bucket before it must have arrived."},
        [] {
            expect_equal("buckets at 1, 2 and 3 s, half a second each,", all_arrived({1, 2, 3}, 0.5), 3.5);
            expect_equal("buckets at 1, 2 and 3 s, two seconds each,", all_arrived({1, 2, 3}, 2), 7);
            expect_equal("buckets at 1, 1 and 9 s, two seconds each,", all_arrived({1, 1, 9}, 2), 11);
            expect_equal("no bucket", all_arrived({}, 1), 0.0);
        });
    const double P = 4, bytes = 2 * (P - 1) / P * 400 / 1000, latency = 2 * (P - 1) * 100 * 0.5e-3;
    const double compute = 7.8 / P + 0.2;
    exercise.paper("speedup_on_paper", speedup_on_paper,
                   {{"the seconds of the bytes", bytes},
                    {"the seconds of the latency", latency},
                    {"the speed-up without overlap", 8 / (compute + bytes + latency)},
                    {"the speed-up with overlap", 8 / (compute + 0.1)},
                    {"the largest speed-up", 8 / 0.2}},
                   {"In a ring each process sends 2 n (P - 1) / P, in 2 (P - 1) messages for each bucket.",
                    "7.8 s are shared out to the hosts, and 0.2 s are not.",
                    "With ever more hosts, the 7.8 s shrink towards nothing."},
                   0.003);
    return exercise.finish();
}
