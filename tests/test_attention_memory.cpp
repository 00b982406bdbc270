// Property P8: what attention takes of memory grows with T, not with T².
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catch.h"
#include "sanitized.h"
#include "weft/weft.h"

using namespace weft;

namespace {

// How many bytes the largest resident set of a child of fork exceeds this one's by, in which causal attention
// of T tokens runs forward and backward.
double bytes_of(std::int64_t T) {
    int result[2];
    REQUIRE(pipe(result) == 0);
    const pid_t child = fork();
    if (child == 0) {
        rusage before{}, after{};
        getrusage(RUSAGE_SELF, &before);
        Rng rng(1);
        const Tensor q = randn({1, 2, T, 16}, rng).requires_grad_(),
                     k = randn({1, 2, T, 16}, rng).requires_grad_(),
                     v = randn({1, 2, T, 16}, rng).requires_grad_();
        sum(scaled_dot_product_attention(q, k, v, {.mask = Mask::causal()})).backward();
        getrusage(RUSAGE_SELF, &after);
        const double bytes = 1024.0 * static_cast<double>(after.ru_maxrss - before.ru_maxrss);
        _exit(write(result[1], &bytes, sizeof bytes) == sizeof bytes ? 0 : 1);
    }
    double bytes = 0;
    CHECK(read(result[0], &bytes, sizeof bytes) == sizeof bytes);
    close(result[0]), close(result[1]);
    waitpid(child, nullptr, 0);
    return bytes;
}

}  // namespace

TEST_CASE("the memory of attention is linear in T", "[attention]") {
    if (sanitized) return;  // whose memory is its own
    const double quarter = bytes_of(2048), half = bytes_of(4096), whole = bytes_of(8192);
    INFO("2048: " << quarter << " bytes, 4096: " << half << ", 8192: " << whole);
    CHECK(whole < 2.5 * half);
    CHECK(half < 2.5 * quarter);
    CHECK(whole < 0.2 * 2 * 8192.0 * 8192 * sizeof(float));  // a fifth of the scores alone
}
