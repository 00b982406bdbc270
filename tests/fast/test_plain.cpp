// The slots and Plain. That both readings compute the same is tested where the operations are: over the table
// (test_ops.cpp), the modules (test_golden_modules.cpp) and random programs (random/routes.cpp).
// An OpenBLAS that takes the processor for one of 2004.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <thread>

#include "catch.h"
#include "core/kernels.h"
#include "environment.h"
#include "fast/blas/blas.h"
#include "weft/core.h"

using namespace weft;

namespace {

const bool fast_at_start = !kernels::matmul.is_plain();  // before main

// OpenBLAS with the kernels of a name, as if the environment had named them before it started.
void run_kernels(const std::string& name) {
    const Environment chosen("OPENBLAS_CORETYPE", name);
    gotoblas_dynamic_quit();
    gotoblas_dynamic_init();
}

std::string running() { return openblas_get_corename(); }

}  // namespace

TEST_CASE("something stands in every slot, before main and in every thread", "[kernels]") {
    std::array<void*, sizeof(kernels::Installed) / sizeof(void*)> found;
    std::memcpy(found.data(), &kernels::installed, sizeof(found));
    CHECK(std::count(found.begin(), found.end(), nullptr) == 0);
    CHECK(fast_at_start);
    CHECK_FALSE(kernels::matmul.is_plain());
    bool elsewhere = true;
    std::thread([&] { elsewhere = kernels::matmul.is_plain(); }).join();
    CHECK_FALSE(elsewhere);
    const Plain guard(Plain::primitives);
    CHECK(kernels::matmul.is_plain());
}

TEST_CASE("Plain nests, leaves what it does not name, ends with its scope and belongs to one thread",
          "[kernels]") {
    const auto mode = [] {
        return std::string(is_plain(Plain::primitives) ? "primitives " : "") +
               (is_plain(Plain::operations) ? "operations " : "") + (is_plain(Plain::both) ? "both" : "");
    };
    CHECK(mode().empty());
    {
        const Plain loops(Plain::primitives);
        CHECK(mode() == "primitives ");
        {
            const Plain all;
            CHECK(mode() == "primitives operations both");
            const Plain fast(Plain::primitives, false);
            CHECK(mode() == "operations ");
        }
        CHECK(mode() == "primitives ");
        std::string elsewhere;
        std::thread([&] { elsewhere = mode(); }).join();
        CHECK(elsewhere.empty());
    }
    CHECK(mode().empty());
}

TEST_CASE("in a jvp operations are plain, whatever a guard inside says", "[kernels]") {
    const Tensor x = from_vector(std::vector<double>{0.5, -1, 2}, {3});
    const auto f = [](const Tensor& in) {
        CHECK(is_plain(Plain::operations));
        const Plain fused(Plain::operations, false);
        return gelu(in);
    };
    const double h = 1e-6;
    const Tensor slope = jvp(f, x, ones({3}, float64)).second;
    CHECK(max(abs(slope - (gelu(x + h) - gelu(x - h)) / (2 * h))).item() < 1e-8);
}

TEST_CASE("reference products count their multiply-adds", "[kernels]") {
    const Tensor a = ones({3, 4}), b = ones({4, 5});
    const Plain plain(Plain::primitives);
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
        const Plain plain(Plain::primitives);
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
