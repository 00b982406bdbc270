// What a companion's program calls besides what its page types (follow.sh).
#include <cstdio>
#include <cstdlib>

static int step = 1;  // that runs

// At the beginning of a function that step `typed` defines and an earlier one declares.
void needs_step(int typed) {
    if (typed <= step) return;
    std::printf("step %d calls what step %d defines\n", step, typed);
    std::exit(1);
}

// At the end of each step, where a test asks for a mark.
void step_ends() {
    ++step;
    if (std::getenv("WEFT_STEP_ENDS") != nullptr) std::puts("\x1e");
}
