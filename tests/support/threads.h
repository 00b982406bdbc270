// The number of threads, for as long as a test needs another.
#pragma once

#include "weft/kernels/threads.h"

struct Threads {  // puts the number back
    explicit Threads(int n) : before(weft::get_num_threads()) { weft::set_num_threads(n); }
    ~Threads() { weft::set_num_threads(before); }
    const int before;
};
