// An OpenBLAS that takes the processor for one of 2004.
#include <string>

#include "catch.h"
#include "environment.h"
#include "kernels/fast/blas/openblas_kernels.h"
#include "skipped.h"
#include "weft/core.h"

using namespace weft;

namespace {

// OpenBLAS with the kernels of a name, as if the environment had named them before it started.
void run_kernels(const std::string& name) {
    const Environment chosen("OPENBLAS_CORETYPE", name);
    gotoblas_dynamic_quit();
    gotoblas_dynamic_init();
}

std::string running() { return openblas_get_corename(); }

}  // namespace

TEST_CASE("where OpenBLAS takes the processor for a Prescott, it is given kernels that use it", "[kernels]") {
    const char* const kernels = kernels::fast::kernels_of_this_processor();
    if (kernels == nullptr || gotoblas_dynamic_init == nullptr)
        return skip("OpenBLAS has kernels for one processor, or this one has no AVX2: a choice of kernels");
    const Environment put_back("OPENBLAS_CORETYPE", "");
    ::unsetenv("OPENBLAS_CORETYPE");
    const std::string before = running();
    Rng rng(1);
    const Tensor a = rand({70, 130}, rng), b = rand({130, 90}, rng), y = matmul(a, b);

    run_kernels("Prescott");
    REQUIRE(running() == "Prescott");
    {
        const Environment chosen("OPENBLAS_CORETYPE", "Prescott");
        kernels::fast::choose_openblas_kernels();
        CHECK(running() == "Prescott");  // the user's choice
    }
    kernels::fast::choose_openblas_kernels();
    CHECK(running() == kernels);
    CHECK(std::getenv("OPENBLAS_CORETYPE") == nullptr);
    CHECK(all(abs(matmul(a, b) - y) < 1e-4));

    run_kernels("Nehalem");  // another choice of its own
    kernels::fast::choose_openblas_kernels();
    CHECK(running() == "Nehalem");

    run_kernels(before);
    CHECK(running() == before);
}
