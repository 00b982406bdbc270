// Tensors of bfloat16 and float16: what keeps them, what widens them, and what refuses them.
#include <set>

#include "golden/golden.h"
#include "op_table.h"
#include "refusal.h"
#include "source.h"
#include "weft/core.h"
#include "weft/core/dtype.h"
#include "weft/core/modes.h"

using namespace weft;

namespace {

constexpr DType halves[] = {bfloat16, float16};
constexpr const char* stores = " stores, and arithmetic is in float32; convert it with to(float32)";

// Every pattern of 16 bits as (256, 256) of a type, and the numbers of the patterns.
Tensor all_patterns(DType dtype) {
    const Tensor x = empty({256, 256}, dtype);
    visit_any(dtype, [&]<class T>(T) {
        if constexpr (sizeof(T) == 2)
            for (std::size_t i = 0; i < 65536; ++i) x.data<T>()[i].bits = static_cast<std::uint16_t>(i);
    });
    return x;
}
Tensor numbers_of(const Tensor& x) {
    std::vector<std::int64_t> bits;
    visit_any(x.dtype(), [&]<class T>(T) {
        if constexpr (sizeof(T) == 2)
            for (const T e : x.to_vector<T>()) bits.push_back(e.bits);
    });
    return from_vector(bits, x.shape());
}

// The sample with its floating inputs as small numbers of another type, which bfloat16 holds.
Inputs inputs_as(const OpEntry& op, DType dtype) {
    Inputs inputs = inputs_of(op);
    for (Tensor& x : inputs)
        if (is_floating_point(x.dtype())) x = clamp(masked_fill(x, x != x, 2), -3, 3).to(bfloat16).to(dtype);
    return inputs;
}

bool is_half(const Tensor& x) { return x.dtype() == bfloat16 || x.dtype() == float16; }

using Binary = Tensor (*)(const Tensor&, const Tensor&);
const std::pair<const char*, Binary> binaries[] = {
    {"add", operator+ },
     {"subtract", operator- },
      {"multiply", operator* },
       {"divide", operator/ }, {"pow", pow}, {"maximum", maximum}, {"minimum", minimum}, {"matmul", matmul},
        {"logaddexp", logaddexp},
        {"==", operator== },
         {"!=", operator!= },
          {"<", operator<},
           {"<=", operator<= },
            {">", operator> },
             {
                 ">=",
                 operator>= },
                 {"where", [](const Tensor& a, const Tensor& b) { return where(a == 0.5, a, b); }},
            };

}  // namespace

TEST_CASE("every operation keeps a half-size tensor as it is, widens it, or refuses it by name",
          "[ops][half]") {
    std::set<std::string> keeping, widening;
    int refused = 0;
    for (const OpEntry& op : op_table()) {
        if (!op.compared) continue;
        for (const DType dtype : halves) {
            INFO(op.declaration << " of " << name(dtype) << ", sample " << op.golden);
            const Inputs inputs = inputs_as(op, dtype);
            if (std::ranges::none_of(inputs, is_half)) continue;
            const std::string who = op.declaration.substr(0, op.declaration.find('('));
            Outputs found(std::vector<Tensor>{});
            try {
                found = op.function(inputs);
            } catch (const DTypeError& error) {
                const std::string message = error.what();
                INFO(message);
                CHECK((message.ends_with(": " + std::string(name(dtype)) + stores) ||
                       contains(message, " do not mix; convert the ") ||
                       contains(message, " would be infinite in float16, ") ||
                       contains(message, "linspace: makes float32 or float64, not ")));
                ++refused;
                continue;
            }
            const Outputs wanted = op.function(inputs_as(op, float32));
            REQUIRE(found.size() == wanted.size());
            for (std::size_t i = 0; i < found.size(); ++i) {
                INFO("output " << i << "\nfound " << found[i] << "\nwanted " << wanted[i]);
                CHECK(same_bits(found[i], is_half(found[i]) ? wanted[i].to(dtype) : wanted[i]));
                if (is_floating_point(found[i].dtype())) (is_half(found[i]) ? keeping : widening).insert(who);
            }
        }
    }
    std::string kept, widened;
    for (const std::string& who : keeping) kept += who + " ";
    for (const std::string& who : widening) widened += who + " ";
    CHECK(kept ==
          "Tensor::T Tensor::clone Tensor::contiguous Tensor::expand Tensor::operator[] Tensor::permute "
          "Tensor::reshape Tensor::select Tensor::slice Tensor::squeeze Tensor::to Tensor::transpose "
          "Tensor::unsqueeze Tensor::view broadcast_to cat chunk diag diagonal flatten flip full_like "
          "gather hstack index_select masked_fill masked_select movedim pad repeat repeat_interleave roll "
          "scatter "
          "split stack tril triu unfold vstack where ");
    CHECK(widened ==
          "dot embedding huber_loss l1_loss logaddexp matmul maximum minimum mse_loss operator* operator+ "
          "operator- "
          "operator/ "
          "outer pow smooth_l1_loss tensordot ");
    CHECK(refused > 100);
}

TEST_CASE("what moves elements moves the bits of every pattern, NaN and −0 too", "[ops][half]") {
    Rng rng(5);
    const Tensor ids = tensor({7, -1, 130, 7}), mask = rand({256}, rng) < 0.4;
    const Tensor index = randint(0, 256, {256, 256}, rng);
    const std::pair<const char*, std::function<Tensor(const Tensor&)>> moves[] = {
        {"clone", [](const Tensor& x) { return x.clone(); }},
        {"contiguous", [](const Tensor& x) { return x.T().contiguous(); }},
        {"reshape",
         [](const Tensor& x) {
             return x.T().reshape({128, 512});
         }},
        {"slice", [](const Tensor& x) { return x.slice(1, 3, 250, 7); }},
        {"expand",
         [](const Tensor& x) {
             return x.unsqueeze(1).expand({256, 2, 256}).contiguous();
         }},
        {"select", [](const Tensor& x) { return x[-3]; }},
        {"cat",
         [](const Tensor& x) {
             return cat({x, x.T()}, 1);
         }},
        {"stack",
         [](const Tensor& x) {
             return stack({x, x.T()}, 2);
         }},
        {"split", [](const Tensor& x) { return split(x, 100, 1)[2]; }},
        {"where", [&](const Tensor& x) { return where(mask, x, x.T()); }},
        {"masked_fill", [&](const Tensor& x) { return masked_fill(x, mask, 0); }},
        {"masked_select", [&](const Tensor& x) { return masked_select(x, mask); }},
        {"index_select", [&](const Tensor& x) { return index_select(x, 1, ids); }},
        {"gather", [&](const Tensor& x) { return gather(x, 0, index); }},
        {"scatter", [&](const Tensor& x) { return scatter(x, 1, index, x.T()); }},
        {"[mask]", [&](const Tensor& x) { return x[mask]; }},
        {"[ids]", [&](const Tensor& x) { return x[ids]; }},
        {"pad",
         [](const Tensor& x) {
             return pad(x, {1, -2, 3, 0});
         }},
        {"flip", [](const Tensor& x) { return flip(x, 1); }},
        {"roll", [](const Tensor& x) { return roll(x, 5, 0); }},
        {"triu", [](const Tensor& x) { return triu(x, -1); }},
        {"diagonal", [](const Tensor& x) { return diagonal(x, 2); }},
        {"repeat",
         [](const Tensor& x) {
             return repeat(x, {2, 1});
         }},
    };
    for (const bool reference : {false, true}) {
        const Plain kernels(Plain::primitives, reference);
        for (const DType dtype : halves)
            for (const auto& [what, f] : moves) {
                INFO(what << " of " << name(dtype));
                const Tensor x = all_patterns(dtype), y = f(x);
                CHECK(y.dtype() == dtype);
                CHECK(same_bits(numbers_of(y), f(numbers_of(x))));
            }
    }
}

TEST_CASE("arithmetic widens a half-size operand exactly", "[ops][half]") {
    Rng rng(3);
    const Tensor values = randn({3, 3}, rng);
    const Tensor others[] = {randn({3, 3}, rng),
                             randn({3, 3}, rng, float64),
                             randn({3, 3}, rng).to(bfloat16),
                             randn({3, 3}, rng).to(float16),
                             tensor({{1, 0, 2}, {3, 4, 5}, {6, 7, 8}}),
                             tensor({{true, false, true}, {true, true, true}, {false, false, true}})};
    for (const auto& [what, f] : binaries)
        for (const DType dtype : halves)
            for (const Tensor& other : others) {
                INFO(what << " of " << name(dtype) << " and " << name(other.dtype()));
                if (std::string(what) == "matmul" && !is_floating_point(other.dtype())) continue;
                if (std::string(what) == "logaddexp" && !is_floating_point(other.dtype())) continue;
                const DType type = other.dtype() == float64 ? float64 : float32;
                const Tensor x = values.to(dtype), a = x.to(type), b = other.to(type);
                const bool keeps = std::string(what) == "where" && other.dtype() == dtype;
                const Tensor y = f(x, other);
                CHECK(y.dtype() == (keeps ? dtype : f(a, b).dtype()));
                CHECK(same_bits(keeps ? y.to(float32) : y, f(a, b)));
                CHECK(same_bits(keeps ? f(other, x).to(float32) : f(other, x), f(b, a)));
            }
    for (const DType dtype : halves) {
        const Tensor x = values.to(dtype), wide = x.to(float32);
        CHECK(same_bits(x * 0.1, wide * 0.1));  // the number is rounded to float32, not to 16 bits
        CHECK(same_bits(1e6 - x, 1e6 - wide));
        CHECK(same_bits(x / 3, wide / 3));
        CHECK(same_bits(-x, -wide));
        CHECK(same_bits(maximum(x, 0.1), maximum(wide, 0.1)));
        CHECK(same_bits(pow(x, 2), pow(wide, 2)));
        CHECK(same_bits(x < 0.1, wide < 0.1));
        CHECK(same_bits(full({1}, 0.1, dtype) == 0.1, tensor({false})));
        CHECK(same_bits(isnan(all_patterns(dtype)), isnan(all_patterns(dtype).to(float32))));
        CHECK(same_bits(isfinite(all_patterns(dtype)), isfinite(all_patterns(dtype).to(float32))));
        CHECK(same_bits(isinf(all_patterns(dtype)), isinf(all_patterns(dtype).to(float32))));
        CHECK(allclose(x, x));
        CHECK_FALSE(allclose(x, (x * 1.1).to(dtype)));
    }
    refuses<DTypeError>("add: float32 does not hold the int64 16777217", [&] {
        full({2}, 1, bfloat16) + tensor({1, 16777217});
    });
    CHECK_THROWS_AS(ones({2}, bfloat16) + ones({2}) + ones({2}, float64), DTypeError);  // float32 and float64
}

TEST_CASE("types of half size do not mix where elements are moved", "[ops][half]") {
    const Tensor b = ones({2}, bfloat16), h = ones({2}, float16);
    CHECK(message_of<DTypeError>([&] {
              cat({b, h});
          }) == "cat: bfloat16 and float16 do not mix; convert both with to(float32)");
    CHECK(message_of<DTypeError>([&] {
              cat({b, ones({2})});
          }) ==
          "cat: bfloat16 and float32 do not mix; convert the bfloat16 one, of shape (2,), with to(float32)");
    CHECK(message_of<DTypeError>([&] { matmul(b, ones({2}, int64)); }) ==
          "matmul: bfloat16 and int64 do not mix; convert the int64 one, of shape (2,), with to(bfloat16)");
}

TEST_CASE("what needs arithmetic refuses half-size tensors and says how to widen them", "[ops][half]") {
    const Tensor x = ones({2, 2}, bfloat16);
    CHECK(message_of<DTypeError>([&] { exp(x); }) ==
          "exp: bfloat16 stores, and arithmetic is in float32; convert it with to(float32)");
    for (const auto& f : std::vector<std::function<Tensor()>>{
             [&] { return sum(x); }, [&] { return mean(x); }, [&] { return max(x); }, [&] { return argmin(x); },
             [&] { return cumsum(x, 0); }, [&] { return cumprod(x, 0); }, [&] { return prod(x); },
             [&] { return argsort(x); }, [&] { return sort(x).values; }, [&] { return unique(x).values; },
             [&] { return softmax(x, 0); }, [&] { return einsum("ij->i", {x}); },
             [&] {
                 return scatter_add({2, 2}, 0, zeros({2, 2}, int64), x);
             },
             [&] { return relu(x); }, [&] { return dropout(x, 0.5); }, [&] { return linear(x, x); }})
        refuses<DTypeError>(": bfloat16 stores, and arithmetic is in float32; ", f);
    CHECK(message_of<DTypeError>([&] { arange(0, 3, 1, float16); }) ==
          "arange: counts in float32, float64 or int64, not float16; convert the result with to()");
    CHECK(
        message_of<DTypeError>([&] { linspace(0, 3, 2, float16); }) ==
        "linspace: makes float32 or float64, not float16; use arange for integers, or convert the result with "
        "to()");
    CHECK(message_of<DTypeError>([&] { randn({2}, default_rng(), bfloat16); }) ==
          "randn: draws float32 or float64, not bfloat16; use randint for integers, or convert the result with "
          "to()");
}

TEST_CASE("a number that would become infinite in a half-size type is refused, with its place", "[ops][half]") {
    CHECK(message_of<ValueError>([] {
              tensor({{1.0, 2}, {-65520, 3}}).to(float16);
          }) ==
          "to: -65520.0 at position (1, 0) would be infinite in float16, which ends at 65504; use bfloat16, or "
          "scale it");
    CHECK(
        message_of<ValueError>([] {
            tensor({1, 70000}).to(float16);
        }) ==
        "to: 70000 at position (1,) would be infinite in float16, which ends at 65504; use bfloat16, or scale "
        "it");
    CHECK(message_of<ValueError>([] { tensor({3.4e38}).to(bfloat16); }) ==
          "to: 3.4e+38 at position (0,) would be infinite in bfloat16, which ends at 3.39e38; use float32");
    CHECK_THROWS_AS(tensor({1e5}, bfloat16).to(float16), ValueError);
    CHECK_THROWS_AS(tensor({1e300}, float64).to(bfloat16), ValueError);
    CHECK_THROWS_AS(tensor({1e5, 1}, float16), DTypeError);
    CHECK(message_of<DTypeError>([] { full({2}, -1e9, float16); }) ==
          "full: -1e+09 would be infinite in float16, which ends at 65504; use bfloat16, or scale it");
    Tensor x = ones({2}, float16);
    const Tensor mask = tensor({true, false});
    CHECK_THROWS_AS(x.fill_(65520), DTypeError);
    CHECK_THROWS_AS(masked_fill(x, mask, -1e9), DTypeError);
    CHECK_THROWS_AS(where(mask, x, 1e9), DTypeError);
    CHECK(same_bits(x, ones({2}, float16)));
    CHECK(same_bits(tensor({65519.0, -65519, INFINITY, -INFINITY, NAN}).to(float16).to(float64),
                    tensor({65504.0, -65504, INFINITY, -INFINITY, NAN}, float64)));
    CHECK(tensor({3.389e38}).to(bfloat16)[0].item() < 3.39e38);
    CHECK(masked_fill(x, mask, -INFINITY).at({0}) == -INFINITY);
    CHECK(x.fill_(65519).at({1}) == 65504);
    CHECK(tensor({true, false}).to(float16).at({0}) == 1);
    CHECK(tensor({2.75, -2.75}, bfloat16).to(int64).to_vector<std::int64_t>() ==
          std::vector<std::int64_t>{2, -2});
    CHECK_THROWS_AS(tensor({NAN}, bfloat16).to(int64), ValueError);
    CHECK_THROWS_AS(tensor({1e30}, bfloat16).to(int64), ValueError);
    CHECK(all(tensor({NAN, 1e-20, -1}, bfloat16).to(boolean)));
    CHECK_FALSE(any(tensor({-0.0, 0.0}, float16).to(boolean)));
}

TEST_CASE("half-size tensors are made, read and written as others are", "[ops][half]") {
    for (const DType dtype : halves) {
        CHECK(zeros({2, 3}, dtype).dtype() == dtype);
        CHECK(same_bits(eye(3, dtype).to(float32), eye(3)));
        CHECK(same_bits(ones_like(zeros({2}, dtype)), full({2}, 1, dtype)));
        CHECK(tensor({0.1}, dtype).item() == (dtype == float16 ? 0.0999755859375 : 0.10009765625));
        CHECK(tensor({{1.0, 2.5}}, dtype).at({0, 1}) == 2.5);
        CHECK(tensor({1, 3}, dtype).at({1}) == 3);
        CHECK_THROWS_AS(zeros({2}, dtype).data<float>(), DTypeError);
    }
    const std::vector<BFloat16> values = {BFloat16(1.5), BFloat16(-2)};
    CHECK(from_vector(values, {2}).to_vector<BFloat16>() == values);
    std::uint16_t memory[] = {0x3C00, 0, 0xC000};
    CHECK(from_blob(memory, {2}, {2}, {}, float16).to_vector<Float16>() ==
          std::vector<Float16>{Float16(1), Float16(-2)});
}

TEST_CASE("in place a half-size tensor is filled and copied, and refuses the rest", "[ops][half]") {
    for (const DType dtype : halves) {
        Tensor x = empty({2, 3}, dtype);
        const auto version = x.version();
        x.fill_(0.1);
        CHECK(same_bits(x, full({2, 3}, 0.1, dtype)));
        x.zero_();
        x[1].copy_(tensor({1.0, -0.0, NAN}, dtype));
        CHECK(same_bits(x, tensor({{0.0, 0, 0}, {1, -0.0, NAN}}, dtype)));
        x.copy_(tensor({true, false, true}));
        x.copy_(tensor({1, -7, 256}));
        CHECK(same_bits(x[0].to(int64), tensor({1, -7, 256})));
        CHECK(x.version() == version + 5);
        const Tensor before = x.clone();
        CHECK(message_of<DTypeError>([&] {
                  x.copy_(ones({2, 3}));
              }) == std::string("copy_: a tensor of ") + name(dtype) +
                        " does not take float32; convert the operand with to(" + name(dtype) + ")");
        CHECK_THROWS_AS(x.copy_(ones({2, 3}, dtype == float16 ? bfloat16 : float16)), DTypeError);
        refuses<DTypeError>(std::string("copy_: ") + name(dtype) + " does not hold the int64 6161", [&] {
            x.copy_(tensor({1, 2, 2049 + 16 * 257}));
        });
        const Tensor same = ones({2, 3}, dtype);
        const std::string refusal = ": " + std::string(name(dtype)) + stores;
        refuses<DTypeError>("add_" + refusal, [&] { x += same; });
        refuses<DTypeError>("add_" + refusal, [&] { x += 1; });
        refuses<DTypeError>("subtract" + refusal, [&] { x -= same; });
        refuses<DTypeError>("subtract" + refusal, [&] { x -= 1; });
        refuses<DTypeError>("mul_" + refusal, [&] { x *= same; });
        refuses<DTypeError>("mul_" + refusal, [&] { x *= 2; });
        refuses<DTypeError>("divide" + refusal, [&] { x /= same; });
        refuses<DTypeError>("divide" + refusal, [&] { x /= 2; });
        CHECK(same_bits(x, before));
        Tensor wide = ones({2, 3});
        wide += x;
        wide *= same;
        CHECK(same_bits(wide, x.to(float32) + 1));
        wide.copy_(x);
        CHECK(same_bits(wide, x.to(float32)));
    }
}

TEST_CASE("a half-size tensor takes no gradient, and none is lost on the way to one", "[ops][half]") {
    Tensor h = tensor({0.5, 3}, bfloat16);
    CHECK(message_of<DTypeError>([&] { h.requires_grad_(); }) ==
          "requires_grad_: only float32 and float64 take a gradient, not bfloat16; write 1.0 for 1, or convert "
          "it "
          "with to()");
    const Tensor x = tensor({1.0, 2}).requires_grad_(), y = x * 2;
    CHECK(message_of<GraphError>([&] { y.to(float16); }) ==
          "to: float16 takes no gradient, so the graph would end at this tensor of shape (2,); detach() it "
          "first, "
          "or convert it under NoGrad");
    CHECK_THROWS_AS(x.to(bfloat16), GraphError);
    CHECK_THROWS_AS(jvp([](const Tensor& v) { return v.to(bfloat16).to(float32); }, ones({2}), ones({2})),
                    GraphError);
    CHECK(same_bits(y.detach().to(bfloat16), tensor({2, 4}, bfloat16)));
    {
        const NoGrad off;
        CHECK(same_bits(y.to(bfloat16), tensor({2, 4}, bfloat16)));
    }
    sum(x * h + matmul(h, x) + where(x > 1, x, h) + h / x).backward();
    const Tensor leaf = tensor({1.0, 2}).requires_grad_(), wide = h.to(float32);
    sum(leaf * wide + matmul(wide, leaf) + where(leaf > 1, leaf, wide) + wide / leaf).backward();
    CHECK(same_bits(x.grad(), leaf.grad()));
    CHECK(same_bits(jvp([&](const Tensor& v) { return v * h; }, ones({2}), ones({2})).second, wide));
    Tensor own = tensor({1.0}).requires_grad_();
    CHECK(
        message_of<DTypeError>([&] { own.set_data(ones({1}, float16)); }) ==
        "set_data: a tensor that requires a gradient cannot become float16; only float32 and float64 take one");
    Tensor other = tensor({1.0});
    CHECK(other.set_data(ones({1}, float16)).dtype() == float16);
    refuses<DTypeError>("which has no derivative", [&] { vjp([](const Tensor& v) { return v; }, h, h); });
}
