// The guard that chooses the reference kernels. That they compute what the fast ones do is tested where the
// operations are: over the table (test_ops.cpp), the modules (test_golden_modules.cpp) and random programs
// (random/routes.cpp).
// An OpenBLAS that takes the processor for one of 2004.
#include <array>
#include <cstring>
#include <string>
#include <thread>

#include "catch.h"
#include "environment.h"
#include "kernels/fast/blas/openblas_kernels.h"
#include "kernels/interface.h"
#include "weft/core.h"

using namespace weft;

namespace {

// The addresses of all kernels.
std::array<void*, sizeof(kernels::Kernels) / sizeof(void*)> addresses() {
    std::array<void*, sizeof(kernels::Kernels) / sizeof(void*)> found;
    std::memcpy(found.data(), &kernels::active(), sizeof(kernels::Kernels));
    return found;
}

// OpenBLAS with the kernels of a name, as if the environment had named them before it started.
void run_kernels(const std::string& name) {
    const Environment chosen("OPENBLAS_CORETYPE", name);
    gotoblas_dynamic_quit();
    gotoblas_dynamic_init();
}

std::string running() { return openblas_get_corename(); }

}  // namespace

TEST_CASE("every kernel is there twice, and ReferenceKernels chooses all of them", "[kernels]") {
    const auto fast = addresses();
    const ReferenceKernels plain;
    const auto reference = addresses();
    for (std::size_t i = 0; i < fast.size(); ++i) {
        INFO("kernel " << i << " of kernels/interface.h");
        CHECK(fast[i] != nullptr);
        CHECK(reference[i] != nullptr);
        CHECK(fast[i] != reference[i]);
    }
}

TEST_CASE("ReferenceKernels nests, ends with its scope and belongs to one thread", "[kernels]") {
    CHECK_FALSE(reference_kernels());
    {
        const ReferenceKernels plain;
        CHECK(reference_kernels());
        {
            const ReferenceKernels fast(false);
            CHECK_FALSE(reference_kernels());
        }
        CHECK(reference_kernels());
        bool elsewhere = true;
        std::thread([&] { elsewhere = reference_kernels(); }).join();
        CHECK_FALSE(elsewhere);
    }
    CHECK_FALSE(reference_kernels());
}

TEST_CASE("reference products count their multiply-adds", "[kernels]") {
    const Tensor a = ones({3, 4}), b = ones({4, 5});
    const ReferenceKernels plain;
    const CountMultiplyAdds counter;
    (void)matmul(a, b);
    CHECK(counter.count() == 60);
}

TEST_CASE("cumprod's second derivative, which scans in both directions, is the same by plain loops",
          "[kernels]") {
    const Tensor x =
        from_vector(std::vector<double>{2, 0.5, -1, 3, 0, 4, 1, -2, 5, 0.25, 1.5, 7}, {3, 4}).requires_grad_();
    for (const int axis : {0, 1}) {
        const auto second = [&] {
            const Tensor dx = grad({sum(cumprod(x, axis))}, {x}, {}, {.create_graph = true})[0];
            return grad({sum(dx * dx)}, {x})[0];
        };
        const Tensor fast = second();
        const ReferenceKernels plain;
        INFO(fast << " / " << second());
        CHECK(allclose(second(), fast, 1e-12, 1e-12));
    }
}

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
