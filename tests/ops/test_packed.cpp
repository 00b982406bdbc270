// Weights in half and in blocks: the fast kernels against the plain ones, gradients, and what is refused.
#include <cmath>
#include <cstring>
#include <set>

#include "catch.h"
#include "environment.h"
#include "op_table.h"
#include "refusal.h"
#include "source.h"

using namespace weft;
using source::random;

namespace {

constexpr BlockFormat formats[] = {BlockFormat::Q8_0, BlockFormat::Q4_0, BlockFormat::Q4_1, BlockFormat::Q5_0,
                                   BlockFormat::Q5_1, BlockFormat::Q4_K, BlockFormat::Q5_K, BlockFormat::Q6_K};
constexpr BlockFormat written[] = {BlockFormat::Q8_0, BlockFormat::Q4_0, BlockFormat::Q4_1};

// Where the halves of a block are.
std::vector<std::int64_t> halves_of(BlockFormat format) {
    switch (format) {
        case BlockFormat::Q8_0:
        case BlockFormat::Q4_0:
        case BlockFormat::Q5_0:
            return {0};
        case BlockFormat::Q6_K:
            return {208};
        default:
            return {0, 2};
    }
}

// Blocks of random bits, with scales of either sign about 1/100; or any halves at all.
PackedMatrix random_blocks(BlockFormat format, std::int64_t rows, std::int64_t columns, std::uint64_t seed,
                           bool any_scale = false) {
    Rng rng(seed);
    return PackedMatrix(format, rows, columns, [&](std::span<std::byte> bytes) {
        for (std::byte& b : bytes) b = static_cast<std::byte>(rng.randint(0, 256));
        if (any_scale) return;
        for (std::int64_t at = 0; at < std::ssize(bytes); at += block_bytes(format))
            for (const std::int64_t half : halves_of(format)) {
                const Float16 scale(rng.uniform() * 0.02 - 0.01);
                std::memcpy(&bytes[static_cast<std::size_t>(at + half)], &scale, 2);
            }
    });
}

bool same_or_nan(const Tensor& a, const Tensor& b) {
    const std::vector<float> x = a.to_vector<float>(), y = b.to_vector<float>();
    for (std::size_t i = 0; i < x.size(); ++i)
        if (std::memcmp(&x[i], &y[i], 4) != 0 && !(std::isnan(x[i]) && std::isnan(y[i]))) return false;
    return x.size() == y.size();
}

// How far a and b are apart, beside the largest sum of the products' sizes.
double relative(const Tensor& a, const Tensor& b, const Tensor& x, const Tensor& w) {
    return source::difference(a, b) / max(matmul(abs(x.detach()), abs(w.T()))).item();
}

struct Gradients {
    Tensor y, dx, dbias;
};
Gradients gradients(const Tensor& x, const Tensor& bias, const std::function<Tensor()>& layer,
                    const Tensor& dy) {
    const Tensor y = layer();
    const auto found = grad({y}, {x, bias}, {dy});
    return {y, found[0], found[1]};
}

}  // namespace

TEST_CASE("the fast kernels widen blocks to the bits of the plain ones", "[packed]") {
    for (const BlockFormat format : formats) {
        INFO(name(format));
        for (const bool any_scale : {false, true}) {
            const PackedMatrix w = random_blocks(format, 67, 1024, 3, any_scale);
            CHECK(std::ssize(w.bytes()) == 67 * 1024 / block_length(format) * block_bytes(format));
            const Tensor fast = dequantize(w);
            const Plain plain(Plain::primitives);
            CHECK(same_or_nan(fast, dequantize(w)));
            CHECK(same_or_nan(fast.slice(0, 5, 9), dequantize(w.slice(5, 9))));
        }
    }
    for (const DType half : {bfloat16, float16})
        for (const std::int64_t k : {1, 31, 32, 33, 100}) {  // every half, in rows that end within a vector
            const std::int64_t rows = 65536 / k;
            const Tensor w = empty({rows, k}, half);
            auto* bits = static_cast<std::uint16_t*>(half == bfloat16 ? static_cast<void*>(w.data<BFloat16>())
                                                                      : static_cast<void*>(w.data<Float16>()));
            for (std::int64_t i = 0; i < w.numel(); ++i) bits[i] = static_cast<std::uint16_t>(i);
            const Tensor fast = embedding(w, arange(rows));
            CHECK(same_or_nan(fast, w.to(float32)));
            const Plain plain(Plain::primitives);
            CHECK(same_or_nan(fast, embedding(w, arange(rows))));
        }
}

TEST_CASE("linear of a weight in fewer bits is linear of what it widens to, in value and gradient",
          "[packed]") {
    std::vector<std::pair<std::string, Tensor>> weights;
    for (const BlockFormat format : formats)
        weights.emplace_back(name(format), Tensor(random_blocks(format, 37, 768, 5)));
    for (const std::int64_t k : {1, 31, 64, 100, 768})
        for (const DType half : {bfloat16, float16})
            weights.emplace_back(name(half), (random({37, k}, 2, float32) * 0.1).to(half));
    weights.emplace_back("columns of bfloat16", (random({768, 37}, 2, float32) * 0.1).to(bfloat16).T());
    for (const auto& entry : weights)
        for (const bool medium : {false, true})
            for (const std::int64_t rows : {1, 3, 5, 70}) {
                const std::string& title = entry.first;
                const Tensor& w = entry.second;
                INFO(title << " " << w.shape().str() << ", " << rows << (medium ? " rows, medium" : " rows"));
                const Float32MatmulPrecision precision(medium ? "medium" : "highest");
                const Tensor wide = w.packed() ? dequantize(*w.packed()) : w.to(float32);
                const Tensor x = random({rows, w.size(1)}, 7, float32).requires_grad_(),
                             bias = random({37}, 8, float32).requires_grad_(),
                             dy = random({rows, 37}, 9, float32);
                const auto of = [&](const Tensor& weight) {
                    return gradients(
                        x, bias, [&] { return linear(x, weight, bias); }, dy);
                };
                const Gradients got = of(w), expected = of(wide);
                CHECK(relative(got.y, expected.y, x, wide) < 1e-6);
                CHECK(relative(got.dx, expected.dx, dy, wide.T()) < 1e-6);
                CHECK(source::difference(got.dbias, expected.dbias) < 1e-5);
                CHECK(relative(linear(x, w), linear(x, wide), x, wide) < 1e-6);
                {
                    const Plain plain(Plain::primitives);
                    const Gradients by_loops = of(w);
                    CHECK(relative(got.y, by_loops.y, x, wide) < 1e-6);
                    CHECK(relative(got.dx, by_loops.dx, dy, wide.T()) < 1e-6);
                }
                {
                    const Plain steps(Plain::operations);
                    const Gradients by_steps = of(w);
                    CHECK(relative(got.y, by_steps.y, x, wide) < 1e-6);
                    CHECK(relative(got.dx, by_steps.dx, dy, wide.T()) < 1e-6);
                }
                const CountMultiplyAdds counter;
                (void)linear(x, w);
                CHECK(counter.count() == rows * w.numel());
                CHECK(counter.count_bfloat16() == (medium ? counter.count() : 0));
                const auto twice = [&](const Tensor& weight) {  // through the gradient of a square
                    const Tensor y = linear(x, weight, bias);
                    const Tensor dx = grad({sum(y * y)}, {x}, {}, {.create_graph = true})[0];
                    return grad({sum(dx * dx)}, {x})[0];
                };
                const Tensor second = twice(wide);
                // What is rounded on the way may differ in the last of its 8 bits.
                CHECK(source::difference(twice(w), second) < (medium ? 0.01 : 1e-4) * max(abs(second)).item());
            }
}

TEST_CASE("linear of a half matrix without columns is its bias", "[packed]") {
    const Tensor w = zeros({3, 0}, bfloat16), bias = tensor({1.0, 2.0, 3.0}, float32);
    for (const bool reference : {false, true})
        for (const std::int64_t rows : {1, 70}) {
            const Plain kernels(Plain::primitives, reference);
            CHECK(same_or_nan(linear(zeros({rows, 0}), w, bias), bias.expand({rows, 3})));
        }
}

TEST_CASE("one row and many agree, at every number of threads to the bit", "[packed][threads]") {
    const Tensor x = random({64, 1024}, 1, float32);
    std::vector<Tensor> weights{(random({3000, 1024}, 2, float32) * 0.05).to(bfloat16)};
    for (const BlockFormat format : formats) weights.emplace_back(random_blocks(format, 3000, 1024, 4));
    for (std::size_t i = 0; i < 2 * weights.size(); ++i) {
        const Tensor w = weights[i / 2], dy = random({64, 3000}, 3, float32);
        const Float32MatmulPrecision precision(i % 2 == 0 ? "highest" : "medium");
        const auto results = [&] {
            const Tensor leaf = x.clone().requires_grad_();
            const Tensor y = linear(leaf, w);
            return std::vector{y.detach(), linear(x[0], w), linear(x.slice(0, 0, 4), w),
                               grad({y}, {leaf}, {dy})[0]};
        };
        const Threads before(1);
        const std::vector<Tensor> alone = results();
        const Tensor wide = w.packed() ? dequantize(*w.packed()) : w.to(float32);
        CHECK(relative(alone[0][0], alone[1], x, wide) < 1e-6);
        CHECK(relative(alone[0].slice(0, 0, 4), alone[2], x, wide) < 1e-6);
        for (const int threads : {2, 3, 4}) {
            set_num_threads(threads);
            const std::vector<Tensor> together = results();
            for (std::size_t j = 0; j < alone.size(); ++j) CHECK(same_bits(alone[j], together[j]));
        }
    }
}

TEST_CASE("pack rounds within its formats' bounds, and rows of a table are those of the blocks", "[packed]") {
    const Tensor w = random({50, 96}, 11, float32);
    const Tensor blocks = w.reshape({50, 3, 32});
    const Tensor reach = max(abs(blocks), 2, true).values,
                 range = max(blocks, 2, true).values - min(blocks, 2, true).values;
    const auto within = [&](BlockFormat format, const Tensor& bound) {
        const Tensor error = abs(dequantize(pack(w, format)).reshape({50, 3, 32}) - blocks);
        INFO(name(format) << " errs by " << max(error / bound).item() << " of its bound");
        CHECK(all(error <= bound));
        CHECK(max(error / bound).item() > 0.9);  // the bound is not loose
    };
    // A scale d is rounded to float16, by d / 2048 at most, which each of the q steps repeats.
    within(BlockFormat::Q8_0, reach / 127 * (0.5 + 127.0 / 2048));
    within(BlockFormat::Q4_0, reach / 8 * (1 + 7.0 / 2048));  // on the side that ends at 7
    within(BlockFormat::Q4_1, range / 15 * (0.5 + 15.0 / 2048) + reach / 2048);
    const Tensor ids = tensor({3, 49, 3});
    for (const BlockFormat format : written) {
        const PackedMatrix packed = pack(w, format);
        CHECK(same_bits(embedding(packed, ids), embedding(dequantize(packed), ids)));
        const Tensor same = dequantize(pack(dequantize(packed), BlockFormat::Q8_0));
        CHECK(source::difference(same, dequantize(packed)) <= max(reach).item() / 127);
    }
}

TEST_CASE("no operation but linear and embedding reads a weight in blocks", "[packed][fault]") {
    // Each row of the table gets blocks for one of its inputs at a time. Some read no values of theirs.
    const std::set<std::string> shape_alone = {"full_like", "randn_like", "rand_like", "linspace"};
    int refused = 0;
    for (const OpEntry& op : op_table()) {
        const bool reads = op.declaration.starts_with("linear(") || op.declaration.starts_with("embedding(") ||
                           shape_alone.contains(op.golden);
        for (std::size_t i = 0; i < inputs_of(op).size(); ++i) {
            Inputs inputs = inputs_of(op);
            if (!inputs[i].defined() || !takes_gradient(inputs[i].dtype())) continue;
            inputs[i] = Tensor(random_blocks(BlockFormat::Q8_0, 2, 32, 1));
            INFO(op.declaration << " " << op.golden);
            try {
                for (const Tensor& y : op.function(inputs))
                    CHECK((reads || !y.defined() || y.packed() != nullptr));
            } catch (const Error&) {  // by its type, or its shape
                ++refused;
            }
        }
    }
    CHECK(refused > 200);
}

TEST_CASE("what a weight in fewer bits does not do is refused", "[packed][fault]") {
    const PackedMatrix w = random_blocks(BlockFormat::Q4_0, 4, 64, 1);
    const Tensor blocks(w), x = ones({2, 64});
    CHECK(blocks.shape() == Shape{4, 64});
    CHECK(blocks.dtype() == float32);
    CHECK(blocks.repr() == "tensor(blocks of Q4_0, shape=(4, 64), dtype=float32)");
    CHECK(blocks.clone().packed()->bytes().data() == w.bytes().data());
    const NoGrad off;
    refuses<DTypeError>("requires_grad_: a weight in blocks of Q4_0 takes no gradient; train an adapter",
                        [&] { Tensor(w).requires_grad_(); });
    refuses<DTypeError>("held in blocks of Q4_0, which only linear and embedding read",
                        [&] { Tensor(w).fill_(0); });
    refuses<DTypeError>("held in blocks of Q4_0", [&] { Tensor(w).copy_(ones({4, 64})); });
    refuses<DTypeError>("held in blocks of Q4_0", [&] { ones({4, 64}).add_(blocks); });
    refuses<DTypeError>("held in blocks of Q4_0", [&] { (void)blocks.to_vector<float>(); });
    refuses<DTypeError>("linear: a weight in half or in blocks is computed in float32, and x is float64",
                        [&] { linear(x.to(float64), w); });
    refuses<DTypeError>("linear: a weight in half or in blocks is computed in float32, and x is float64", [&] {
        linear(x.to(float64), ones({4, 64}).to(bfloat16));
    });
    refuses<DTypeError>("pack: takes a floating type, not int64", [] {
        pack(zeros({2, 32}, int64), BlockFormat::Q8_0);
    });
    refuses<DTypeError>("set_data: a tensor that requires a gradient cannot become blocks of Q4_0", [&] {
        ones({4, 64}).requires_grad_().set_data(blocks);
    });
    refuses<ShapeError>("pack: rows of 48 weights do not divide into blocks of 32, which Q8_0 has", [] {
        pack(ones({3, 48}), BlockFormat::Q8_0);
    });
    refuses<ShapeError>("PackedMatrix: rows of 48 weights do not divide into blocks of 32, which Q8_0 has",
                        [] { PackedMatrix(BlockFormat::Q8_0, 2, 48, [](auto) {}); });
    refuses<ShapeError>("pack: a weight of shape (64,); it must be a matrix",
                        [] { pack(ones({64}), BlockFormat::Q8_0); });
    refuses<ShapeError>("linear: x (2, 32), weight (4, 64)", [&] { linear(ones({2, 32}), w); });
    refuses<ShapeError>("bias (3,): the bias must be (4,)", [&] { linear(x, w, ones({3})); });
    Tensor bad = ones({2, 64});
    bad[1][40].fill_(NAN);
    Tensor large = ones({2, 64});
    large[0][63].fill_(1e8);
    refuses<ValueError>("pack: Q4_K is read from files and not written; use Q8_0, Q4_0 or Q4_1", [] {
        pack(ones({2, 256}), BlockFormat::Q4_K);
    });
    refuses<ValueError>(
        "pack: the 32 weights from (1, 32) on have a NaN, an infinity or a scale that float16 does not hold",
        [&] { pack(bad, BlockFormat::Q8_0); });
    refuses<ValueError>("pack: the 32 weights from (0, 32) on", [&] { pack(large, BlockFormat::Q4_1); });
    refuses<ValueError>("negative size", [] { PackedMatrix(BlockFormat::Q8_0, -1, 32, [](auto) {}); });
    refuses<IndexError>("embedding: token id 4 at position (1,) is outside the vocabulary of 4", [&] {
        embedding(w, tensor({0, 4}));
    });
    refuses<IndexError>("PackedMatrix: rows 2 … 5 of 4", [&] { (void)w.slice(2, 5); });
}

TEST_CASE("a weight of half size that changes before backward is noticed", "[packed][fault]") {
    const Tensor x = random({2, 64}, 1, float32).requires_grad_();
    Tensor w = random({4, 64}, 2, float32).to(bfloat16);
    const Tensor y = linear(x, w);
    w.fill_(1);
    refuses<GraphError>("in place", [&] { sum(y).backward(); });
}
