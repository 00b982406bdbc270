// Property P8: what attention takes of memory grows with T, not with T².
#include <sys/resource.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "catch.h"
#include "sanitized.h"
#include "weft/weft.h"

using namespace weft;

namespace {

// How many bytes causal attention of T tokens adds to the largest resident set, forward and backward, in a
// process of its own.
double bytes_of(std::int64_t T) {
    const std::string command = "WEFT_TEST_TOKENS=" + std::to_string(T) + " '" +
                                std::filesystem::read_symlink("/proc/self/exe").string() +
                                "' 'the memory of attention is linear in T' 2>&1 >/dev/null";
    FILE* pipe = popen(command.c_str(), "r");
    double bytes = NAN;
    CHECK(std::fscanf(pipe, "%lf", &bytes) == 1);
    CHECK(pclose(pipe) == 0);
    return bytes;
}

void run_attention(std::int64_t T) {
    rusage before{}, after{};
    getrusage(RUSAGE_SELF, &before);
    Rng rng(1);
    std::vector<Tensor> qkv;
    for (int i = 0; i < 3; ++i) qkv.push_back(randn({1, 2, T, 16}, rng).requires_grad_());
    sum(scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], {.mask = Mask::causal()})).backward();
    getrusage(RUSAGE_SELF, &after);
    std::fprintf(stderr, "%.0f", 1024.0 * static_cast<double>(after.ru_maxrss - before.ru_maxrss));
}

}  // namespace

TEST_CASE("the memory of attention is linear in T", "[attention]") {
    if (sanitized) return;  // whose memory is its own
    if (const char* tokens = std::getenv("WEFT_TEST_TOKENS")) return run_attention(std::atol(tokens));
    const double quarter = bytes_of(2048), half = bytes_of(4096), whole = bytes_of(8192);
    INFO("2048: " << quarter << " bytes, 4096: " << half << ", 8192: " << whole);
    CHECK(whole < 2.5 * half);
    CHECK(half < 2.5 * quarter);
    CHECK(whole < 0.2 * 2 * 8192.0 * 8192 * sizeof(float));  // a fifth of the scores alone
}
