// The matrix product of a BLAS. Each BLAS has its own file here, and a build uses one of them:
// -DWEFT_BLAS=openblas.
#pragma once

#include <dlfcn.h>
#include <sys/mman.h>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <string_view>

#include "weft/base/half.h"

namespace weft::kernels::fast {

// c (m, n) = alpha · a b + beta · c for float and double. a is stored as (m, k), or as (k, m) if
// `a_transposed`, and b as (k, n) or (n, k); rows start lda, ldb and ldc elements apart. m, n and k are
// positive. beta = 0 overwrites c, whatever it held. Runs on the calling thread alone, because Weft has its own
// team (docs/architecture.md).
template <class T>
void blas_gemm(bool a_transposed, bool b_transposed, int m, int n, int k, T alpha, const T* a, int lda,
               const T* b, int ldb, T beta, T* c, int ldc);

// The matrix product of operands in bfloat16, summed in float32. A build uses one of the files here:
// onednn.cpp, or none.cpp where oneDNN is not found or -DWEFT_ONEDNN=OFF.

struct HalfProduct {
    int m, n, k;
    bool a_transposed, b_transposed;  // stored as (k, m), as (n, k)
    bool adds;                        // c + a b, else a b
    int lda, ldb, ldc;                // elements from row to row, as they are stored
    bool operator==(const HalfProduct&) const = default;
};

// Whether half_gemm has instructions for bfloat16 to use: those of this processor, and a library that knows
// them.
bool has_half_gemm();

// c = a b, or c + a b, on the calling thread; false where the library cannot, and c is as it was.
bool half_gemm(const HalfProduct& product, const BFloat16* a, const BFloat16* b, float* c);

// One thread for a library that would start a team of OpenMP's.

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

// Memory for libraries that do not survive it when the system refuses them some.

// bad_alloc unless the process may have so many bytes more.
inline void check_room(std::size_t bytes) {
    void* const room = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED || ::munmap(room, bytes) != 0) throw std::bad_alloc();
}

}  // namespace weft::kernels::fast

// Which of its kernels OpenBLAS runs.
// No header of OpenBLAS declares the last two, which choose the kernels anew; a build for one processor alone
// lacks them.
extern "C" {
[[gnu::weak]] char* openblas_get_corename();
[[gnu::weak]] void gotoblas_dynamic_quit();
[[gnu::weak]] void gotoblas_dynamic_init();
}

namespace weft::kernels::fast {

// The kernels that OpenBLAS is to run on this processor where it does not know it; null: those it has chosen.
inline const char* kernels_of_this_processor() {
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return "SkylakeX";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
    return nullptr;
}

// OpenBLAS before 0.3.25 takes an Intel processor that it does not know, such as those of 2023, for a Prescott
// of 2004, whose kernels take up to five times as long. This has it choose again, unless OPENBLAS_CORETYPE
// names its choice. To be called before anything else uses OpenBLAS.
inline void choose_openblas_kernels() {
    const char* const name = "OPENBLAS_CORETYPE";
    const char* const kernels = kernels_of_this_processor();
    if (kernels == nullptr || gotoblas_dynamic_init == nullptr || std::getenv(name) != nullptr ||
        openblas_get_corename() != std::string_view("Prescott"))
        return;
    ::setenv(name, kernels, 1);
    gotoblas_dynamic_quit();
    gotoblas_dynamic_init();
    ::unsetenv(name);
}

}  // namespace weft::kernels::fast
