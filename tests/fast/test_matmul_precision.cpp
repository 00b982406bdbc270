// set_float32_matmul_precision("medium"): products of float32 whose operands are rounded to bfloat16. What they
// mean does not depend on what multiplies them: oneDNN with instructions for bfloat16, or BLAS with the rounded
// operands.
#include <cstring>
#include <thread>

#include "attention_forms.h"
#include "catch.h"
#include "core/array.h"
#include "environment.h"
#include "weft/packed/packed.h"
#include "weft/weft.h"

using namespace weft;

namespace {

Tensor rounded(const Tensor& x) { return x.detach().to(bfloat16).to(float32); }

// Whole numbers of −8 … 8, which bfloat16 holds, and whose products float32 sums exactly.
Tensor whole(const Shape& shape, Rng& rng) { return randint(-8, 9, shape, rng).to(float32); }

double largest(const Tensor& x) { return abs(x.detach()).max().item(); }
double gap(const Tensor& a, const Tensor& b) { return largest(a - b); }

// y and the gradients of sum(y · dy) in the tensors of `in`.
std::vector<Tensor> run(const std::function<Tensor(const std::vector<Tensor>&)>& f,
                        const std::vector<Tensor>& in, Rng rng) {
    std::vector<Tensor> leaves;
    for (const Tensor& x : in) leaves.push_back(x.clone().requires_grad_());
    const Tensor y = f(leaves), dy = whole(y.shape(), rng);
    (y * dy).sum().backward();
    std::vector<Tensor> all{y.detach()};
    for (const Tensor& x : leaves) all.push_back(x.grad());
    return all;
}

}  // namespace

TEST_CASE("under medium, products of whole numbers have the bits of float32, forward and backward",
          "[medium]") {
    Rng rng(1);
    const std::int64_t sizes[] = {1, 3, 4, 5, 8, 17, 64, 100, 300};
    for (const std::int64_t m : sizes)
        for (const std::int64_t n : {1, 7, 48, 130})
            for (const std::int64_t k : {1, 5, 32, 257}) {
                CAPTURE(m, n, k);
                const Tensor a = whole({m, k}, rng), b = whole({k, n}, rng), w = whole({n, k}, rng),
                             bias = whole({n}, rng), at = whole({k, m}, rng), batched = whole({2, m, k}, rng);
                const auto check = [&](const auto& f, const std::vector<Tensor>& in) {
                    const std::vector<Tensor> exact = run(f, in, Rng(2));
                    for (const bool plain : {false, true}) {
                        if (plain && m * n * k > 20000) continue;
                        const Plain kernels(Plain::primitives, plain);
                        const Float32MatmulPrecision medium("medium");
                        const std::vector<Tensor> found = run(f, in, Rng(2));
                        for (std::size_t i = 0; i < exact.size(); ++i) CHECK(same_bits(found[i], exact[i]));
                    }
                };
                using In = std::vector<Tensor>;
                check([](const In& in) { return matmul(in[0], in[1]); }, {a, b});
                check([](const In& in) { return matmul(in[0].T(), in[1]); }, {at, b});
                check([](const In& in) { return matmul(in[0], in[1]); }, {batched, b});
                check([](const In& in) { return linear(in[0], in[1], in[2]); }, {a, w, bias});
                check([](const In& in) { return einsum("bmk,kn->bnm", {in[0], in[1]}); }, {batched, b});
            }
}

TEST_CASE("under medium, a product is that of the rounded operands", "[medium]") {
    Rng rng(3);
    const Tensor x = randn({130, 257}, rng), w = randn({90, 257}, rng), dy = randn({130, 90}, rng);
    const auto gradients = [&](const Tensor& x, const Tensor& w, const Tensor& dy) {
        const Tensor a = x.clone().requires_grad_(), b = w.clone().requires_grad_();
        const Tensor y = linear(a, b);
        y.backward(dy);
        return std::vector{y.detach(), a.grad(), b.grad()};
    };
    const auto full = gradients(x, w, dy), expected = gradients(rounded(x), rounded(w), rounded(dy));
    const CountMultiplyAdds counter;
    const Float32MatmulPrecision medium("medium");
    const auto found = gradients(x, w, dy);
    for (std::size_t i = 0; i < found.size(); ++i) {
        CHECK(gap(found[i], expected[i]) < 1e-6 * 257 * largest(expected[i]));
        CHECK(gap(full[i], expected[i]) > 1e-3 * largest(expected[i]));  // and not that of the others
        CHECK(found[i].dtype() == float32);
    }
    CHECK(counter.count() == 3 * 130 * 90 * 257);
    CHECK(counter.count_bfloat16() == counter.count());
}

TEST_CASE("under medium, prompts and single rows agree, and so do transposed and expanded operands",
          "[medium]") {
    Rng rng(4);
    const Tensor x = randn({9, 80}, rng), w = randn({70, 80}, rng);
    const Float32MatmulPrecision medium("medium");
    const Tensor all = linear(x, w);
    for (std::int64_t i = 0; i < 9; ++i)
        CHECK(gap(linear(x.slice(0, i, i + 1), w), all.slice(0, i, i + 1)) < 1e-5 * largest(all));
    CHECK(gap(matmul(x, w.T()), all) < 1e-5 * largest(all));
    CHECK(gap(matmul(x.T().contiguous().T(), w.T().contiguous()), all) < 1e-5 * largest(all));
    const Tensor wide = randn({18, 160}, rng), gaps = wide.slice(1, 0, 80);
    CHECK(gap(linear(gaps, w), linear(gaps.contiguous(), w)) == 0);
    CHECK(gap(matmul(x.slice(0, 0, 1).expand({5, 80}), w.T()), all.slice(0, 0, 1).expand({5, 70})) <
          1e-5 * largest(all));
}

TEST_CASE(
    "under medium, attention is that of rounded operands, and its bits are those of any number of threads",
    "[medium][threads]") {
    Rng rng(5);
    const std::int64_t T = 200;
    std::vector<Tensor> in;
    for (int i = 0; i < 4; ++i) in.push_back(randn({2, i == 1 || i == 2 ? 2 : 4, T, 32}, rng));
    const auto all = [&] {
        std::vector<Tensor> leaves;
        for (int i = 0; i < 3; ++i) leaves.push_back(in[static_cast<std::size_t>(i)].clone().requires_grad_());
        const Tensor y =
            scaled_dot_product_attention(leaves[0], leaves[1], leaves[2], {.mask = Mask::causal()});
        y.backward(in[3]);
        return std::vector{y.detach(), leaves[0].grad(), leaves[1].grad(), leaves[2].grad()};
    };
    const auto exact = all();
    const Float32MatmulPrecision medium("medium");
    std::vector<Tensor> first;
    for (const int n : {1, 2, 3}) {
        const Threads threads(n);
        const auto found = all();
        for (std::size_t i = 0; i < found.size(); ++i) {
            const double error = gap(found[i], exact[i]) / largest(exact[i]);
            CHECK(error < 0.02);
            CHECK(error > 1e-4);
            if (!first.empty()) CHECK(same_bits(found[i], first[i]));
        }
        if (first.empty()) first = found;
    }
    for (const bool plain : {false, true}) {
        const Plain kernels(Plain::primitives, plain);
        const Plain composed(Plain::operations, !plain);
        const auto found = all();
        for (std::size_t i = 0; i < found.size(); ++i)
            CHECK(gap(found[i], first[i]) < 0.02 * largest(first[i]));
    }
}

TEST_CASE("under medium, a large product has the same bits at every number of threads", "[medium][threads]") {
    Rng rng(6);
    const Tensor x = randn({515, 700}, rng), w = randn({650, 700}, rng);
    const Float32MatmulPrecision medium("medium");
    std::vector<Tensor> first;
    for (const int n : {1, 2, 3}) {
        const Threads threads(n);
        const auto found = run([](const auto& in) { return linear(in[0], in[1]); }, {x, w}, Rng(7));
        for (std::size_t i = 0; i < first.size(); ++i) CHECK(same_bits(found[i], first[i]));
        first = found;
    }
}

TEST_CASE("a finite operand that bfloat16 rounds to infinity reaches what sees it alone", "[medium][poison]") {
    const Float32MatmulPrecision medium("medium");
    Tensor a = ones({16, 32});
    a[3][5].fill_(3.4e38);
    const Tensor y = matmul(a, ones({32, 16}));
    for (std::int64_t i = 0; i < 16; ++i) CHECK(std::isinf(y.at({i, 0})) == (i == 3));
    // A blocked key and value.
    Rng rng(8);
    Tensor k = randn({1, 1, 80, 16}, rng), v = randn({1, 1, 80, 16}, rng);
    const Tensor q = randn({1, 1, 80, 16}, rng);
    const auto all = [&](bool composed) {
        const Plain path(Plain::operations, composed);
        std::vector<Tensor> leaves{q.clone().requires_grad_(), k.clone().requires_grad_(),
                                   v.clone().requires_grad_()};
        const Tensor y = scaled_dot_product_attention(leaves[0], leaves[1], leaves[2],
                                                      {.mask = Mask::causal() | Mask::padding({70})});
        y.backward(ones({1, 1, 80, 16}));
        return std::vector{y.detach(), leaves[0].grad()};
    };
    const auto expected = all(false), composed = all(true);
    for (const Tensor& x : {k, v}) x[0][0][75].fill_(3.4e38);
    const auto found = all(false), found_composed = all(true);
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(same_bits(found[i], expected[i]));
        CHECK(same_bits(found_composed[i], composed[i]));
    }
}

TEST_CASE("a weight's rounded copy is made once, and again when the weight has changed", "[medium]") {
    Rng rng(9);
    const Tensor x = randn({64, 64}, rng);
    Tensor w = randn({64, 64}, rng);
    const Float32MatmulPrecision medium("medium");
    const auto bytes_of = [&](const auto& f) {
        struct : Observer {
            std::int64_t total = 0;
            void allocates(std::int64_t bytes) override { total += bytes; }
        } made;
        f();
        return made.total;
    };
    const auto product = [&] { (void)linear(x, w); };
    const std::int64_t first = bytes_of(product), second = bytes_of(product);
    CHECK(first - second == 64 * 64 * 2);
    const Tensor before = linear(x, w);
    w.fill_(0.5);
    CHECK(gap(linear(x, w), before) > 0.1);
    CHECK(same_bits(linear(x, w), linear(x, w.clone())));
    CHECK(same_bits(linear(x, w.slice(0, 0, 32)), linear(x, w).slice(1, 0, 32)));
    std::vector<float> outside(64 * 64, 1.0F);  // memory that changes behind Weft's back
    const Tensor theirs = from_blob(outside.data(), {64, 64}, float32);
    const Tensor ones = linear(x, theirs);
    outside.assign(outside.size(), 2.0F);
    CHECK(same_bits(linear(x, theirs), ones * 2));
}

TEST_CASE("medium belongs to a thread, leaves float64 alone, and only two words are known", "[medium]") {
    Rng rng(10);
    const Tensor x = randn({20, 30}, rng, float64), y = randn({30, 20}, rng, float64), exact = matmul(x, y);
    CHECK(get_float32_matmul_precision() == "highest");
    {
        const Float32MatmulPrecision medium("medium");
        CHECK(get_float32_matmul_precision() == "medium");
        CHECK((matmul(x, y) == exact).to(int64).sum().item() == 400);
        std::string elsewhere;
        std::thread([&] { elsewhere = get_float32_matmul_precision(); }).join();
        CHECK(elsewhere == "highest");
        {
            const Float32MatmulPrecision highest("highest");
            CHECK(get_float32_matmul_precision() == "highest");
        }
        CHECK_THROWS_AS(set_float32_matmul_precision("high"), ValueError);
        CHECK(get_float32_matmul_precision() == "medium");
    }
    CHECK(get_float32_matmul_precision() == "highest");
}

TEST_CASE("under medium, a weight that is stored in bfloat16 is an operand as it is", "[medium]") {
    Rng rng(11);
    const Tensor w = randn({48, 40}, rng).to(bfloat16), bias = randn({48}, rng);
    for (const std::int64_t rows : {1, 3, 64}) {
        Tensor x = randn({rows, 40}, rng).requires_grad_();
        const Tensor dy = randn({rows, 48}, rng);
        const auto run = [&] {
            x.zero_grad();
            const Tensor y = linear(x, w, bias);
            y.backward(dy);
            return std::pair{y.detach(), x.grad()};
        };
        const auto [y, dx] = run();
        const CountMultiplyAdds counter;
        const Float32MatmulPrecision medium("medium");
        const auto [near_y, near_dx] = run();
        CHECK(counter.count_bfloat16() == 2 * rows * 48 * 40);
        CHECK(gap(near_y, y) < 0.01 * largest(y));
        CHECK(gap(near_dx, dx) < 0.01 * largest(dx));
        const Plain composed(Plain::operations);
        const auto [slow_y, slow_dx] = run();
        CHECK(gap(near_y, slow_y) < 1e-5 * largest(y));
        CHECK(gap(near_dx, slow_dx) < 1e-5 * largest(dx));
    }
}

TEST_CASE("forward and backward may run in different precisions, each in its own", "[medium]") {
    Rng rng(12);
    const Tensor x = randn({2, 32, 40}, rng), w = randn({40, 40}, rng), half = w.to(bfloat16);
    const Tensor blocks = pack(randn({40, 64}, rng), DType::Q8_0);
    const Tensor wide = randn({32, 64}, rng);
    const Tensor qkv = randn({2, 32, 120}, rng);
    using In = const std::vector<Tensor>&;
    const std::vector<std::pair<std::vector<Tensor>, std::function<Tensor(In)>>> forms{
        {{x, w}, [](In in) { return matmul(in[0], in[1]); }},
        {{x, w}, [](In in) { return linear(in[0], in[1]); }},
        {{x}, [&](In in) { return linear(in[0], half); }},
        {{wide}, [&](In in) { return linear(in[0], blocks); }},
        {{x, w},
         [](In in) {
             return einsum("btc,cd->bdt", {in[0], in[1]});
         }},
        {{qkv}, [](In in) { return multi_head_attention(in[0], 4, {.mask = Mask::causal()}); }},
    };
    for (std::size_t form = 0; form < forms.size(); ++form)
        for (const bool composed : {false, true})
            for (const bool medium_first : {false, true}) {
                CAPTURE(form, composed, medium_first);
                const Plain path(Plain::operations, composed);
                const auto& [in, f] = forms[form];
                const std::vector<Tensor> expected = run(f, in, Rng(13));
                std::vector<Tensor> leaves;
                for (const Tensor& t : in) leaves.push_back(t.clone().requires_grad_());
                const char* const precisions[] = {"highest", "medium"};
                Tensor y;
                {
                    const Float32MatmulPrecision forward(precisions[medium_first]);
                    y = f(leaves);
                }
                Rng draws(13);
                const Float32MatmulPrecision backward(precisions[!medium_first]);
                (y * whole(y.shape(), draws)).sum().backward();
                CHECK(gap(y, expected[0]) < 0.02 * largest(expected[0]));
                for (std::size_t i = 0; i < leaves.size(); ++i)
                    CHECK(gap(leaves[i].grad(), expected[i + 1]) < 0.02 * largest(expected[i + 1]));
            }
}
