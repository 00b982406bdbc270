// Weights in half and in blocks: the fast kernels against the plain ones, gradients, and what is refused.
#include <cmath>
#include <cstring>
#include <set>

#include "catch.h"
#include "environment.h"
#include "op_table.h"
#include "refusal.h"
#include "source.h"
#include "weft/packed/packed.h"

using namespace weft;
using source::random;

namespace {

constexpr DType formats[] = {DType::Q8_0, DType::Q4_0, DType::Q4_1, DType::Q5_0,
                             DType::Q5_1, DType::Q4_K, DType::Q5_K, DType::Q6_K};
constexpr DType written[] = {DType::Q8_0, DType::Q4_0, DType::Q4_1};

// Where the halves of a block are.
std::vector<std::int64_t> halves_of(DType format) {
    switch (format) {
        case DType::Q8_0:
        case DType::Q4_0:
        case DType::Q5_0:
            return {0};
        case DType::Q6_K:
            return {208};
        default:
            return {0, 2};
    }
}

// Blocks of random bits, with scales of either sign about 1/100; or any halves at all.
Tensor random_blocks(DType format, std::int64_t rows, std::int64_t columns, std::uint64_t seed,
                     bool any_scale = false) {
    Rng rng(seed);
    const Tensor w = empty({rows, columns}, format);
    const std::span<std::byte> bytes(bytes_at(w), byte_count(w));
    for (std::byte& b : bytes) b = static_cast<std::byte>(rng.randint(0, 256));
    if (any_scale) return w;
    for (std::int64_t at = 0; at < std::ssize(bytes); at += blocks_of(format).bytes)
        for (const std::int64_t half : halves_of(format)) {
            const Float16 scale(rng.uniform() * 0.02 - 0.01);
            std::memcpy(&bytes[static_cast<std::size_t>(at + half)], &scale, 2);
        }
    return w;
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
    for (const DType format : formats) {
        INFO(name(format));
        for (const bool any_scale : {false, true}) {
            const Tensor w = random_blocks(format, 67, 1024, 3, any_scale);
            CHECK(std::ssize(bytes_of(w)) == 67 * 1024 / blocks_of(format).length * blocks_of(format).bytes);
            const Tensor fast = dequantize(w);
            const Plain plain(Plain::primitives);
            CHECK(same_or_nan(fast, dequantize(w)));
            CHECK(same_or_nan(fast.slice(0, 5, 9), w.slice(0, 5, 9).to(float32)));
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
    for (const DType format : formats) weights.emplace_back(name(format), random_blocks(format, 37, 768, 5));
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
                const Tensor wide = w.to(float32);
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
    for (const DType format : formats) weights.emplace_back(random_blocks(format, 3000, 1024, 4));
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
        const Tensor wide = w.to(float32);
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
    const auto within = [&](DType format, const Tensor& bound) {
        const Tensor error = abs(dequantize(pack(w, format)).reshape({50, 3, 32}) - blocks);
        INFO(name(format) << " errs by " << max(error / bound).item() << " of its bound");
        CHECK(all(error <= bound));
        CHECK(max(error / bound).item() > 0.9);  // the bound is not loose
    };
    // A scale d is rounded to float16, by d / 2048 at most, which each of the q steps repeats.
    within(DType::Q8_0, reach / 127 * (0.5 + 127.0 / 2048));
    within(DType::Q4_0, reach / 8 * (1 + 7.0 / 2048));  // on the side that ends at 7
    within(DType::Q4_1, range / 15 * (0.5 + 15.0 / 2048) + reach / 2048);
    const Tensor ids = tensor({3, 49, 3});
    for (const DType format : written) {
        const Tensor packed = pack(w, format);
        CHECK(same_bits(embedding(packed, ids), embedding(dequantize(packed), ids)));
        const Tensor same = dequantize(pack(dequantize(packed), DType::Q8_0));
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
            inputs[i] = random_blocks(DType::Q8_0, 2, 32, 1);
            INFO(op.declaration << " " << op.golden);
            try {
                for (const Tensor& y : op.function(inputs))
                    CHECK((reads || !y.defined() || is_quantized(y.dtype())));
            } catch (const Error&) {  // by its type, or its shape
                ++refused;
            }
        }
    }
    CHECK(refused > 200);
}

TEST_CASE("what a weight in fewer bits does not do is refused", "[packed][fault]") {
    const Tensor w = random_blocks(DType::Q4_0, 4, 64, 1), x = ones({2, 64});
    CHECK(w.repr() == "tensor(blocks of Q4_0, shape=(4, 64), dtype=Q4_0)");
    CHECK(bytes_at(w.clone()) == bytes_at(w));
    const NoGrad off;
    refuses<DTypeError>("requires_grad_: a weight in blocks of Q4_0 takes no gradient; train an adapter",
                        [&] { Tensor(w).requires_grad_(); });
    const std::vector<std::function<void()>> reads = {[&] { Tensor(w).fill_(0); },
                                                      [&] { Tensor(w).copy_(w.clone()); },
                                                      [&] {
                                                          (void)cat(std::vector{w, w}, 0);
                                                      },
                                                      [&] { (void)isfinite(w); },
                                                      [&] { (void)-w; },
                                                      [&] { (void)w.at(0, 0); },
                                                      [&] { (void)ones_like(w); }};
    for (const auto& read : reads)
        refuses<DTypeError>("blocks of Q4_0, which only linear and embedding read; convert it with to(float32)",
                            read);
    refuses<DTypeError>("copy_: a tensor of Q4_0 does not take float32", [&] {
        Tensor(w).copy_(ones({4, 64}));
    });
    refuses<DTypeError>("add_: a tensor of float32 does not take Q4_0", [&] { ones({4, 64}).add_(w); });
    refuses<DTypeError>("add: float32 and Q4_0 do not mix; convert the Q4_0 one", [&] { ones({4, 64}) + w; });
    refuses<DTypeError>("matmul: float32 and Q4_0 do not mix", [&] { matmul(x, w.T()); });
    const Tensor cuts[] = {w.slice(1, 0, 48),   w.slice(1, 16, 48),  w.slice(0, 1, 2).slice(1, 16, 48), w.T(),
                           w.slice(0, 0, 4, 2), w.reshape({16, 16}), w[0].slice(0, 16, 48).unsqueeze(0)};
    for (const Tensor& cut : cuts) {
        const char* const message = "of blocks of Q4_0, which does not have whole rows";
        refuses<DTypeError>(message, [&] { linear(ones({2, cut.size(1)}), cut); });
        refuses<DTypeError>(message, [&] { embedding(cut, tensor({0})); });
        refuses<DTypeError>(message, [&] { (void)cut.to(float32); });
    }
    refuses<DTypeError>("data: the tensor is Q4_0, not float32", [&] { (void)w.to_vector<float>(); });
    refuses<DTypeError>("whole rows", [&] { (void)w[0][3].to(float32); });
    CHECK(same_bits(w[2].to(float32), w.to(float32)[2]));
    CHECK(same_bits(w.reshape({2, 2, 64}).to(float64), w.to(float64).reshape({2, 2, 64})));
    CHECK(same_bits(linear(x, w.slice(0, 1, 3)), linear(x, w).slice(1, 1, 3)));
    refuses<DTypeError>("linear: a weight in half or in blocks is computed in float32, and x is float64",
                        [&] { linear(x.to(float64), w); });
    refuses<DTypeError>("linear: a weight in half or in blocks is computed in float32, and x is float64", [&] {
        linear(x.to(float64), ones({4, 64}).to(bfloat16));
    });
    refuses<DTypeError>("to: Q8_0 is made by pack(x, DType::Q8_0)", [&] { (void)x.to(DType::Q8_0); });
    refuses<DTypeError>("pack: takes a floating type, not int64", [] {
        pack(zeros({2, 32}, int64), DType::Q8_0);
    });
    refuses<DTypeError>("set_data: a tensor that requires a gradient cannot become Q4_0", [&] {
        ones({4, 64}).requires_grad_().set_data(w);
    });
    refuses<ShapeError>("pack: rows of 48 weights do not divide into blocks of 32, which Q8_0 has", [] {
        pack(ones({3, 48}), DType::Q8_0);
    });
    refuses<ShapeError>("empty: rows of 48 weights do not divide into blocks of 32, which Q8_0 has", [] {
        (void)empty({2, 48}, DType::Q8_0);
    });
    refuses<ShapeError>("pack: a weight of shape (64,); it must be a matrix",
                        [] { pack(ones({64}), DType::Q8_0); });
    refuses<ShapeError>("linear: x (2, 32), weight (4, 64)", [&] { linear(ones({2, 32}), w); });
    refuses<ShapeError>("bias (3,): the bias must be (4,)", [&] { linear(x, w, ones({3})); });
    Tensor bad = ones({2, 64});
    bad[1][40].fill_(NAN);
    Tensor large = ones({2, 64});
    large[0][63].fill_(1e8);
    refuses<ValueError>("pack: Q4_K is read from files and not written; use Q8_0, Q4_0 or Q4_1", [] {
        pack(ones({2, 256}), DType::Q4_K);
    });
    refuses<ValueError>(
        "pack: the 32 weights from (1, 32) on have a NaN, an infinity or a scale that float16 does not hold",
        [&] { pack(bad, DType::Q8_0); });
    refuses<ValueError>("pack: the 32 weights from (0, 32) on", [&] { pack(large, DType::Q4_1); });
    refuses<IndexError>("embedding: token id 4 at position (1,) is outside the vocabulary of 4", [&] {
        embedding(w, tensor({0, 4}));
    });
}

TEST_CASE("a weight of half size that changes before backward is noticed", "[packed][fault]") {
    const Tensor x = random({2, 64}, 1, float32).requires_grad_();
    Tensor w = random({4, 64}, 2, float32).to(bfloat16);
    const Tensor y = linear(x, w);
    w.fill_(1);
    refuses<GraphError>("in place", [&] { sum(y).backward(); });
}
