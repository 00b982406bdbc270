// One thread for a library that would start a team of OpenMP's.
#pragma once

#include <dlfcn.h>

namespace weft::kernels::fast {

// The functions of OpenMP that a loaded library uses, or any of the process (RTLD_DEFAULT); null without
// OpenMP.
struct OpenMP {
    int (*get)();
    void (*set)(int);
    explicit OpenMP(void* library)
        : get(reinterpret_cast<int (*)()>(::dlsym(library, "omp_get_max_threads"))),
          set(reinterpret_cast<void (*)(int)>(::dlsym(library, "omp_set_num_threads"))) {}
};

// OpenMP's number of threads belongs to the calling thread. While this is in scope it is 1; then it is the
// caller's again.
class OneThread {
public:
    explicit OneThread(const OpenMP& openmp)
        : set_(openmp.set), before_(openmp.get != nullptr ? openmp.get() : 1) {
        if (before_ != 1) set_(1);
    }
    ~OneThread() {
        if (before_ != 1) set_(before_);
    }
    OneThread(const OneThread&) = delete;
    OneThread& operator=(const OneThread&) = delete;

private:
    void (*const set_)(int);
    const int before_;
};

}  // namespace weft::kernels::fast
