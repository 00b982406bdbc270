// Which of its kernels OpenBLAS runs.
#pragma once

#include <cstdlib>
#include <string_view>

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
