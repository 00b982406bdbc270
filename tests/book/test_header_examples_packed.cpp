// The examples in the headers about weights in blocks, word for word, with what they say in comments checked.
#include "catch.h"
#include "weft/weft.h"

using namespace weft;

namespace {

bool same_bits(const Tensor& a, const Tensor& b) { return a.to_vector<float>() == b.to_vector<float>(); }

}  // namespace

TEST_CASE("example of PackedMatrix", "[header-examples]") {
    const double bits = 8.0 * block_bytes(BlockFormat::Q4_0) / block_length(BlockFormat::Q4_0);  // 4.5
    CHECK(bits == 4.5);
    const std::string format = name(BlockFormat::Q4_K);  // "Q4_K"
    CHECK(format == "Q4_K");

    const PackedMatrix w = pack(randn({8, 64}), BlockFormat::Q4_0);  // 8 · 2 blocks of 18 bytes
    const Tensor y = linear(randn({3, 64}), w);                      // (3, 64) → (3, 8)
    CHECK(std::ssize(w.bytes()) == 8 * 2 * 18);
    CHECK(y.shape() == Shape{3, 8});
}

TEST_CASE("examples of pack, dequantize, linear and embedding", "[header-examples]") {
    const Tensor w = randn({6, 64}), x = randn({3, 64}), ids = tensor({5, 0, 5});
    const PackedMatrix blocks = pack(w, BlockFormat::Q8_0);  // (n, k), 34 bytes for each 32 weights
    CHECK(std::ssize(blocks.bytes()) == 6 * 64 / 32 * 34);

    const Tensor rounded = dequantize(pack(w, BlockFormat::Q4_0));  // w with 4.5 bits an element
    CHECK(max(abs(rounded - w)).item() < 0.6);
    CHECK(max(abs(rounded - w)).item() > 0.05);

    const Tensor y = linear(x, pack(w, BlockFormat::Q4_1));  // (T, k) → (T, n)
    CHECK(y.shape() == Shape{3, 6});
    CHECK(max(abs(y - matmul(x, dequantize(pack(w, BlockFormat::Q4_1)).T()))).item() < 1e-4);

    const Tensor rows = embedding(pack(w, BlockFormat::Q8_0), ids);  // (T,) → (T, k)
    CHECK(same_bits(rows, dequantize(blocks)[ids]));
}

TEST_CASE("examples of a model in blocks", "[header-examples]") {
    Rng rng(1);
    nn::Linear layer(64, 6, rng);
    const nn::Linear small(Tensor(pack(layer.weight, BlockFormat::Q8_0)), layer.bias);
    CHECK(small.weight.packed()->format() == BlockFormat::Q8_0);

    lm::GPT model({.d_model = 64}, rng);
    model.pack(BlockFormat::Q8_0);
    CHECK(model.head.weight.packed() != nullptr);

    const lm::GPTMemory memory = lm::memory_of({.d_model = 64}, bfloat16);
    CHECK(memory.weights < lm::memory_of({.d_model = 64}).weights * 0.51);
}
