// Property P8: what attention takes of memory grows with T, not with T², whatever the mask.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "catch.h"
#include "environment.h"
#include "sanitized.h"
#include "skipped.h"
#include "weft/weft.h"

using namespace weft;

namespace {

constexpr std::int64_t B = 4;

// Masks of T queries and T keys that hold no T × T array, except the last, to which it belongs already.
Mask mask_of(const std::string& name, std::int64_t T) {
    const Mask padding = Mask::padding({T, T - 1, T / 2, 1});
    const Tensor keys = ones({B, 1, T}, boolean);  // those that may be attended to
    if (name == "padding") return padding | Mask::causal();
    if (name == "two paddings") return padding | Mask::causal() | Mask::padding({T - 2, T, T, T});
    if (name == "keys") return padding | Mask::keys(keys.reshape({B, T})) | Mask::allowed(keys);
    if (name == "documents") return Mask::causal() | Mask::documents((arange(T).to(float64) / 100).to(int64));
    if (name == "mixed documents") return padding | Mask::documents((rand({B, T}) * 5).to(int64));
    if (name == "expanded") return padding | Mask::allowed(keys.expand({B, T, T}));
    if (name == "explicit") return padding | Mask::blocked(zeros({T, T}, boolean));
    return Mask::causal();
}

// By how many bytes attention, forward and backward, raises the largest resident set of a process of its own.
double bytes_of(const std::string& mask, std::int64_t T) {
    const std::string command = "WEFT_TEST_MASK='" + mask + "' WEFT_TEST_TOKENS=" + std::to_string(T) + " '" +
                                test_program + "' 'the memory of attention is linear in T' 2>&1 >/dev/null";
    FILE* pipe = popen(command.c_str(), "r");
    double bytes = NAN;
    CHECK(std::fscanf(pipe, "%lf", &bytes) == 1);
    CHECK(pclose(pipe) == 0);
    return bytes;
}

void run_attention(const std::string& name, std::int64_t T) {
    Rng rng(1);
    std::vector<Tensor> qkv;
    for (int i = 0; i < 3; ++i) qkv.push_back(randn({B, 1, T, 16}, rng).requires_grad_());
    const Mask mask = mask_of(name, T);
    const double before = training::peak_memory();
    const AttentionOptions options{.mask = mask, .dropout = name == "dropout" ? 0.1 : 0, .rng = &rng};
    sum(scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], options)).backward();
    std::fprintf(stderr, "%.0f", (training::peak_memory() - before) * (1 << 20));
}

}  // namespace

TEST_CASE("the memory of attention is linear in T", "[attention]") {
    if (sanitized) return skip("AddressSanitizer has memory of its own: that of attention is linear in T");
    if (const char* tokens = std::getenv("WEFT_TEST_TOKENS"))
        return run_attention(std::getenv("WEFT_TEST_MASK"), std::atol(tokens));
    for (const char* mask : {"causal", "padding", "two paddings", "expanded", "explicit", "dropout", "keys",
                             "documents", "mixed documents"}) {
        std::vector<double> bytes;
        for (const std::int64_t T : {1024, 2048, 4096, 8192}) bytes.push_back(bytes_of(mask, T));
        INFO(mask << ", T 1024 to 8192: " << bytes[0] << ", " << bytes[1] << ", " << bytes[2] << ", "
                  << bytes[3]);
        CHECK(bytes[3] < 0.5 * 8192 * 8192);  // half of one mask, an eighth of one head's scores
        CHECK(bytes[3] < 2.5 * bytes[2]);
        CHECK(bytes[2] < 2.5 * bytes[1]);
        CHECK(bytes[1] < 4 * bytes[0]);  // from 2048 keys on, tiles are larger
    }
}
