// One thread for a library that would start a team of OpenMP's.
#pragma once

#include <dlfcn.h>

namespace weft::kernels::fast {

// OpenMP's number of threads belongs to the calling thread. While this is in scope it is 1; then it is the
// caller's again. Where no library of the process uses OpenMP, nothing happens.
struct OneThread {
    using Get = int (*)();
    using Set = void (*)(int);
    static inline const Get get = reinterpret_cast<Get>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
    static inline const Set set = reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    const int before = set != nullptr ? get() : 1;
    OneThread() {
        if (before != 1) set(1);
    }
    ~OneThread() {
        if (before != 1) set(before);
    }
    OneThread(const OneThread&) = delete;
    OneThread& operator=(const OneThread&) = delete;
};

}  // namespace weft::kernels::fast
