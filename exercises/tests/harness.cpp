// An exercise about nothing, with a part of every kind in a state that HARNESS tells: each letter is a part's.
//   b blank   w wrong   r right   e ends with an error   i an index out of range   f a function that never ends
#include "exercise.h"

namespace {

char state_of(std::size_t part) { return std::string(std::getenv("HARNESS")).at(part); }

double without_end(double x) { return x < 0 ? x : without_end(x + 1) + 1; }

// The number 5 if it is right, 3 if it is wrong.
double attempt(std::size_t part) {
    switch (state_of(part)) {
        case 'b':
            return blank();
        case 'w':
            return 3;
        case 'e':
            return tensor({1, 2}, float64).item();
        case 'i':
            return std::vector<double>(2)[part + 2];
        case 'f':
            return without_end(1);
        default:
            return 5;
    }
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "3. The harness");
    exercise.predict(
        "guess", [] { return attempt(0); }, [] { return 5; }, "Two and three are five.", {"Add.", "2 + 3."});
    exercise.mend("repair", "the sum is 3", {"Look."}, [] { expect_equal("the sum", attempt(1), 5); });
    exercise.write("compute", {"First.", "Second.", "Third."}, [] { expect_equal("the sum", attempt(2), 5); });
    exercise.paper("by_hand", [] { return std::vector<double>{attempt(3)}; }, {{"the sum", 5}}, {"Add."});
    return exercise.finish();
}
