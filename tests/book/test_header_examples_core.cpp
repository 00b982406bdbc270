// The examples in the headers of weft/core and in weft/xtensor.h, word for word, with what they say in comments
// checked.
#include <cmath>

#include "catch.h"
#include "weft/core.h"
#include "weft/xtensor.h"
#include "xtensor_headers.h"

using namespace weft;

namespace {

using Values = std::vector<double>;

Values values_of(const Tensor& x) { return x.to(float64).to_vector<double>(); }

double distance(const Tensor& a, const Tensor& b) {
    REQUIRE(a.shape() == b.shape());
    return max(abs(a.detach() - b.detach())).item();
}

// ---- autograd.h

Tensor square(const Tensor& x) {
    Tensor y;
    {
        const NoGrad off;
        y = x * x;
    }
    return record("square", y, {x}, {x}, [](const Saved& saved, const Tensor& dy) {
        const Tensor& x = saved[0];  // y = x²:  dx = 2x · dy
        return Grads{2 * x * dy};
    });
}

}  // namespace

TEST_CASE("example: an operation of your own", "[header-examples]") {
    const Tensor x = tensor({2.0, 3}).requires_grad_();
    const Tensor y = square(x);
    CHECK(values_of(y.detach()) == Values{4, 9});
    CHECK(std::string(operation_of(y)) == "square");
    const Tensor dx = grad({sum(y)}, {x}, {}, {.create_graph = true})[0];
    CHECK(values_of(dx.detach()) == Values{4, 6});
    CHECK(values_of(grad({sum(dx)}, {x})[0]) == Values{2, 2});
}

TEST_CASE("example: Scoped", "[header-examples]") {
    int depth = 1;
    const Scoped<int> deeper(depth, 2);  // depth is 2
    CHECK(depth == 2);
    {
        const Scoped<int> deepest(depth, 3);
        CHECK(depth == 3);
    }
    CHECK(depth == 2);
}

TEST_CASE("example: NoGrad", "[header-examples]") {
    const Tensor w = ones({2}).requires_grad_();
    Tensor y;
    {
        const NoGrad off;
        y = w * 2;  // not recorded: y.requires_grad() is false
    }
    const Tensor z = w * 2;  // recorded
    CHECK_FALSE(y.requires_grad());
    CHECK(z.requires_grad());
}

TEST_CASE("example: Composed", "[header-examples]") {
    Rng rng(1);
    const Tensor x = randn({4, 8}, rng);
    const Tensor fast = gelu(x);
    const Composed readable;
    const Tensor slow = gelu(x);  // the same values up to rounding
    CHECK(composed_mode());
    CHECK(distance(fast, slow) < 1e-5);
}

namespace fused_example {
Tensor square_sum(const Tensor& x) {
    const auto definition = [](const std::vector<Tensor>& in) { return sum(in[0] * in[0]); };
    const auto kernel = [&] { return FusedResult{dot(x, x)}; };  // the same at once
    return fused("square_sum", {x}, definition, kernel,
                 [](const Saved& saved, const Tensor& dy) { return Grads{2 * dy * saved[0]}; });
}
}  // namespace fused_example

TEST_CASE("example: fused", "[header-examples]") {
    const Tensor x = tensor({1.0, 2, 3}).requires_grad_();
    const Tensor y = fused_example::square_sum(x);
    CHECK(operation_of(y) == std::string("square_sum"));
    CHECK(y.item() == 14);
    CHECK(values_of(grad({y}, {x})[0]) == Values{2, 4, 6});
    const Tensor dx = grad({fused_example::square_sum(x)}, {x}, {}, {.create_graph = true})[0];
    CHECK(values_of(grad({sum(dx)}, {x})[0]) == Values{2, 2, 2});
    const Composed readable;
    CHECK(operation_of(fused_example::square_sum(x)) == std::string("sum"));
}

TEST_CASE("example: checkpoint", "[header-examples]") {
    Rng rng(1);
    const Tensor x = randn({2, 3}, rng).requires_grad_(), w = randn({3, 3}, rng).requires_grad_();
    const auto block = [&](const std::vector<Tensor>& in) { return tanh(matmul(in[0], w)); };
    const Tensor y = checkpoint(block, {x}, {w});  // as block({x})
    CHECK(values_of(y.detach()) == values_of(block({x}).detach()));
    CHECK(values_of(grad({sum(y)}, {w})[0]) == values_of(grad({sum(block({x}))}, {w})[0]));
}

TEST_CASE("example: Error::locate", "[header-examples]") {
    ShapeError error("linear: x (2, 3) does not fit");
    error.locate("GPT.head");
    error.locate("GPT");
    const std::string message = error.what();  // "GPT.head: linear: x (2, 3) does not fit"
    CHECK(message == "GPT.head: linear: x (2, 3) does not fit");
}

TEST_CASE("example: ReferenceKernels", "[header-examples]") {
    Rng rng(1);
    const Tensor x = randn({4, 8}, rng);
    const Tensor fast = softmax(x, -1);
    const ReferenceKernels plain;
    const Tensor slow = softmax(x, -1);  // the same values up to rounding
    CHECK(distance(fast, slow) < 1e-6);
}

TEST_CASE("example: reference_kernels", "[header-examples]") {
    const ReferenceKernels plain;
    const bool reference = reference_kernels();  // true
    CHECK(reference);
}

TEST_CASE("example: gradients of gradients", "[header-examples]") {
    const Tensor x = tensor({2.0, 3}).requires_grad_();
    const Tensor y = sum(x * x * x);
    const Tensor dx = grad({y}, {x}, {}, {.create_graph = true})[0];  // 3x² = [12, 27]
    const Tensor ddx = grad({sum(dx)}, {x})[0];                       // 6x = [12, 18]
    CHECK(values_of(dx.detach()) == Values{12, 27});
    CHECK(values_of(ddx) == Values{12, 18});
    CHECK_FALSE(x.grad().defined());
}

// ---- dtype.h, error.h

TEST_CASE("example: element types", "[header-examples]") {
    const Tensor ids = arange(3);  // int64, as indices are
    const Tensor x = ids.to(float64);
    const std::string type = name(x.dtype());  // "float64"
    CHECK(ids.dtype() == int64);
    CHECK(type == "float64");
}

TEST_CASE("example: catching an error", "[header-examples]") {
    std::string message;
    try {
        (void)matmul(ones({2, 3}), ones({4, 5}));
    } catch (const ShapeError& error) {
        message = error.what();  // "matmul: inner dimensions differ: (2, 3) @ (4, 5): …"
    }
    CHECK(message.starts_with("matmul: inner dimensions differ: (2, 3) @ (4, 5): "));
}

TEST_CASE("example: throwing an error", "[header-examples]") {
    const auto check = [](const Tensor& a, const Tensor& b) {
        if (a.size(-1) != b.size(0))
            throw ShapeError("dot: ", a.shape(), " and ", b.shape(), " differ in length; use equal sizes");
    };
    CHECK_NOTHROW(check(ones({3}), ones({3})));
    CHECK(message_of<ShapeError>([&] { check(ones({2}), ones({3})); }) ==
          "dot: (2,) and (3,) differ in length; use equal sizes");
}

// ---- functional.h

TEST_CASE("example: derivatives of functions", "[header-examples]") {
    {
        const TensorFunction square = [](const Tensor& x) { return x * x; };
        const TensorFunction both = [](const std::vector<Tensor>& in) { return in[0] * in[1]; };
        const Tensor y = both({ones({2}), ones({2})})[0];
        CHECK(values_of(y) == Values{1, 1});
        CHECK(values_of(square({2 * ones({2})})[0]) == Values{4, 4});
    }
    {
        const auto [y, dy] = jvp([](const Tensor& x) { return x * x; }, tensor({1.0, 2}), tensor({1.0, 10}));
        // y = [1, 4], dy = 2x · v = [2, 40]
        CHECK(values_of(y) == Values{1, 4});
        CHECK(values_of(dy) == Values{2, 40});
    }
    {
        const auto f = [](const Tensor& x) { return jvp_mode() ? x : -x; };
        const Tensor y = jvp(f, ones({}), ones({})).first;  // 1
        CHECK(y.item() == 1);
    }
    {
        const auto [y, dx] = vjp([](const Tensor& x) { return x * x; }, tensor({1.0, 2}), tensor({1.0, 10}));
        // dx = v · 2x = [2, 40]
        CHECK(values_of(dx) == Values{2, 40});
    }
    {
        const auto f = [](const Tensor& x) { return x * x; };
        const Tensor rows = jacobian(f, tensor({1.0, 2}));  // (2, 2): [[2, 0], [0, 4]]
        const Tensor columns = jacobian(f, tensor({1.0, 2}), {.strategy = Strategy::forward_mode});
        CHECK(values_of(rows) == Values{2, 0, 0, 4});
        CHECK(values_of(columns) == Values{2, 0, 0, 4});
    }
    {
        const auto f = [](const Tensor& x) { return sum(x * x * x); };
        const Tensor H = hessian(f, tensor({1.0, 2}));  // (2, 2): [[6, 0], [0, 12]]
        CHECK(values_of(H) == Values{6, 0, 0, 12});
    }
    {
        const auto f = [](const Tensor& x) { return sum(x * x * x); };
        const auto [y, Hv] = hvp(f, tensor({1.0, 2}), tensor({1.0, 1}));  // y = 9, Hv = [6, 12]
        CHECK(y.item() == 9);
        CHECK(values_of(Hv) == Values{6, 12});
    }
}

// ---- heads.h, ledger.h, mask.h

TEST_CASE("example: Heads", "[header-examples]") {
    constexpr std::int64_t B = 2, T = 3, C = 8;
    Rng rng(1);
    const Tensor qkv = randn({B, T, 3 * C}, rng, float64);
    const auto [q, k, v] = Heads::packed(qkv, 4).qkv();
    const Heads heads = Heads::packed(qkv, 4);                           // qkv (B, T, 3C)
    const Tensor y = scaled_dot_product_attention(heads);                // (B, 4, T, C/4)
    const Tensor merged = Heads::merge(y);                               // (B, T, C)
    const Tensor same = scaled_dot_product_attention(Heads{{q, k, v}});  // takes the three tensors as one
    const Heads wide(PackedHeads{randn({2, 5, 28}), 2, 1, 8});           // d_v is 28 − (2 + 1) · 8 = 4
    CHECK(wide.qkv()[2].shape() == Shape{2, 1, 5, 4});
    CHECK(y.shape() == Shape{B, 4, T, C / 4});
    CHECK(merged.shape() == Shape{B, T, C});
    CHECK(distance(merged, multi_head_attention(qkv, 4)) < 1e-12);
    CHECK(distance(same, y) < 1e-12);
}

TEST_CASE("example: GradientLedger", "[header-examples]") {
    const Tensor x = tensor(3.0).requires_grad_();
    const GradientLedger ledger;
    (x * x).backward();
    const LedgerEntry& last = ledger.entries().back();  // x: two terms of 3, gradient 6
    CHECK(last.number == graph_number(x));
    REQUIRE(last.terms.size() == 2);
    CHECK(last.terms[0].gradient.item() == 3);
    CHECK(last.terms[1].gradient.item() == 3);
    CHECK(last.terms[0].operation == "multiply");
    CHECK(last.gradient.item() == 6);
}

TEST_CASE("example: Mask", "[header-examples]") {
    const Mask mask = Mask::causal() | Mask::padding({3, 2});   // two samples, of 3 and 2 tokens
    const Tensor blocked = mask.materialize(2, 1, 3, 3)[1][0];  // [[0, 1, 1], [0, 0, 1], [0, 0, 1]]
    CHECK(values_of(blocked) == Values{0, 1, 1, 0, 0, 1, 0, 0, 1});
    CHECK(values_of(mask.materialize(2, 1, 3, 3)[0][0]) == Values{0, 1, 1, 0, 0, 1, 0, 0, 0});
}

// ---- ops.h

TEST_CASE("example: arithmetic broadcasts", "[header-examples]") {
    const Tensor x = tensor({{1.0, 3}, {2, 6}});
    const Tensor total = sum(x, 1, keepdim);  // (2, 1): [[4], [8]]
    const Tensor share = x / total;           // (2, 2) / (2, 1) → (2, 2): [[0.25, 0.75], [0.25, 0.75]]
    CHECK(total.shape() == Shape{2, 1});
    CHECK(values_of(total) == Values{4, 8});
    CHECK(share.shape() == Shape{2, 2});
    CHECK(values_of(share) == Values{0.25, 0.75, 0.25, 0.75});
}

TEST_CASE("example: reductions", "[header-examples]") {
    const Tensor x = tensor({{1.0, 2, 3}, {4, 5, 6}});
    const Tensor total = sum(x);              // (): 21
    const Tensor columns = sum(x, 0);         // (3,): [5, 7, 9]
    const Tensor rows = mean(x, 1, keepdim);  // (2, 1): [[2], [5]]
    CHECK(total.shape() == Shape{});
    CHECK(total.item() == 21);
    CHECK(columns.shape() == Shape{3});
    CHECK(values_of(columns) == Values{5, 7, 9});
    CHECK(rows.shape() == Shape{2, 1});
    CHECK(values_of(rows) == Values{2, 5});
}

TEST_CASE("example: max along an axis", "[header-examples]") {
    const auto [values, indices] = max(tensor({{3.0, 1}, {2, 5}}), 1);  // [3, 5] and [0, 1]
    CHECK(values_of(values) == Values{3, 5});
    CHECK(values_of(indices) == Values{0, 1});
}

TEST_CASE("example: softmax", "[header-examples]") {
    const Tensor p = softmax(tensor({0.0, std::log(3)}), -1);  // [0.25, 0.75]
    CHECK(p.at({0}) == Approx(0.25));
    CHECK(p.at({1}) == Approx(0.75));
}

TEST_CASE("example: matmul", "[header-examples]") {
    constexpr std::int64_t B = 2, T = 3, S = 4, d = 5;
    Rng rng(1);
    const Tensor q = randn({B, T, d}, rng), k = randn({B, S, d}, rng);
    const Tensor scores = matmul(q, k.transpose(-2, -1));  // (B, T, d) @ (B, d, S) → (B, T, S)
    CHECK(scores.shape() == Shape{B, T, S});
    CHECK(scores.at({1, 2, 3}) == Approx(sum(q[1][2] * k[1][3]).item()).margin(1e-5));
}

TEST_CASE("example: sum_to", "[header-examples]") {
    const Tensor dy = ones({4, 3});
    const Tensor db = sum_to(dy, {3});  // (4, 3) → (3,): [4, 4, 4]
    CHECK(db.shape() == Shape{3});
    CHECK(values_of(db) == Values{4, 4, 4});
}

TEST_CASE("example: cat and stack", "[header-examples]") {
    const Tensor a = ones({2, 3}), b = zeros({2, 3});
    const Tensor rows = cat({a, b});         // (4, 3)
    const Tensor columns = cat({a, b}, -1);  // (2, 6)
    const Tensor pair = stack({a, b});       // (2, 2, 3)
    CHECK(rows.shape() == Shape{4, 3});
    CHECK(columns.shape() == Shape{2, 6});
    CHECK(pair.shape() == Shape{2, 2, 3});
    CHECK(distance(pair[0], a) == 0);
    CHECK(distance(pair[1], b) == 0);
}

TEST_CASE("example: split and chunk", "[header-examples]") {
    const std::vector<Tensor> by_size = split(arange(10), 3);   // parts of size 3: 3, 3, 3, 1
    const std::vector<Tensor> by_count = chunk(arange(10), 3);  // 3 parts: 4, 4, 2
    const auto sizes_of = [](const std::vector<Tensor>& parts) {
        std::vector<std::int64_t> sizes;
        for (const Tensor& part : parts) sizes.push_back(part.numel());
        return sizes;
    };
    CHECK(sizes_of(by_size) == std::vector<std::int64_t>{3, 3, 3, 1});
    CHECK(sizes_of(by_count) == std::vector<std::int64_t>{4, 4, 2});
}

TEST_CASE("example: gather", "[header-examples]") {
    const Tensor x = tensor({{1.0, 2, 3}, {4, 5, 6}});
    const Tensor index = tensor({{2}, {0}}, int64);
    const Tensor y = gather(x, 1, index);  // (2, 1): [[3], [4]]
    CHECK(y.shape() == Shape{2, 1});
    CHECK(values_of(y) == Values{3, 4});
}

TEST_CASE("example: cross_entropy", "[header-examples]") {
    const Tensor logits = zeros({2, 3, 5});                           // 2 texts, 3 tokens, 5 classes
    const Tensor targets = tensor({{0, 1, 2}, {3, 4, -100}}, int64);  // the last one is ignored
    const Tensor loss = cross_entropy(logits, targets);               // ln 5
    CHECK(loss.shape() == Shape{});
    CHECK(loss.item() == Approx(std::log(5.0)));
}

TEST_CASE("example: attention with a mask", "[header-examples]") {
    constexpr std::int64_t B = 2, H = 3, T = 4, d_k = 5, d_v = 6;
    Rng rng(1);
    const Tensor q = randn({B, H, T, d_k}, rng), k = randn({B, H, T, d_k}, rng), v = randn({B, H, T, d_v}, rng);
    const AttentionOptions options = {.mask = Mask::causal()};
    const Tensor y = scaled_dot_product_attention(q, k, v, options);  // (B, H, T, d_v)
    CHECK(y.shape() == Shape{B, H, T, d_v});
    CHECK(distance(y.select(2, 0), v.select(2, 0)) < 1e-6);  // the first query attends to the first key only
}

// ---- random.h, shape.h

TEST_CASE("example: Rng", "[header-examples]") {
    Rng rng(42);
    const Tensor w = randn({2, 3}, rng);   // takes six positions
    const Rng::State saved = rng.state();  // seed 42, position 6
    const double a = rng.uniform();
    rng.set_state(saved);
    const double b = rng.uniform();  // equals a
    CHECK(w.shape() == Shape{2, 3});
    CHECK(saved.seed == 42);
    CHECK(saved.position == 6);
    CHECK(a == b);
}

TEST_CASE("example: Shape", "[header-examples]") {
    Shape shape{2, 3};
    shape.push_back(4);
    const std::int64_t last = shape[-1];          // 4
    const std::int64_t elements = shape.numel();  // 24
    const std::string text = shape.str();         // "(2, 3, 4)"
    CHECK(last == 4);
    CHECK(elements == 24);
    CHECK(text == "(2, 3, 4)");
}

TEST_CASE("example: broadcast_shapes", "[header-examples]") {
    const Shape shape = broadcast_shapes({4, 1}, {3}, "add");  // (4, 3)
    CHECK(shape == Shape{4, 3});
}

// ---- tensor.h

TEST_CASE("example: Tensor", "[header-examples]") {
    const Tensor x = tensor({{1.0, 2}, {3, 4}}).requires_grad_();
    const Tensor y = sum(x * x);
    y.backward();
    const Tensor dx = x.grad();  // 2x = [[2, 4], [6, 8]]
    CHECK(dx.shape() == Shape{2, 2});
    CHECK(values_of(dx) == Values{2, 4, 6, 8});
}

TEST_CASE("example: views", "[header-examples]") {
    const Tensor x = arange(6).reshape({2, 3});  // [[0, 1, 2], [3, 4, 5]]
    const Tensor column = x.select(1, 0);        // (2,): [0, 3]
    const Tensor last_two = x.slice(1, 1, 3);    // (2, 2): [[1, 2], [4, 5]]
    const Tensor row = x[1].unsqueeze(0);        // (1, 3): [[3, 4, 5]]
    const Tensor same = x.T().reshape({2, -1});  // (2, 3), copied: [[0, 3, 1], [4, 2, 5]]
    CHECK(column.shape() == Shape{2});
    CHECK(values_of(column) == Values{0, 3});
    CHECK(last_two.shape() == Shape{2, 2});
    CHECK(values_of(last_two) == Values{1, 2, 4, 5});
    CHECK(row.shape() == Shape{1, 3});
    CHECK(values_of(row) == Values{3, 4, 5});
    CHECK(same.shape() == Shape{2, 3});
    CHECK(values_of(same) == Values{0, 3, 1, 4, 2, 5});
    CHECK((column.shares_storage(x) && last_two.shares_storage(x) && row.shares_storage(x)));
    CHECK_FALSE(same.shares_storage(x));
}

TEST_CASE("example: an in-place operation", "[header-examples]") {
    Tensor w = tensor({1.0, 2}).requires_grad_();
    sum(w * w).backward();
    const NoGrad off;
    w.add_(w.grad(), -0.1);  // a step of gradient descent
    CHECK(w.at({0}) == Approx(0.8));
    CHECK(w.at({1}) == Approx(1.6));
}

TEST_CASE("example: a hook", "[header-examples]") {
    Tensor x = ones({2}).requires_grad_();
    const std::uint64_t number = x.register_hook([](const Tensor& dx) { return 10 * dx; });
    sum(x).backward();  // x.grad() is [10, 10]
    x.remove_hook(number);
    CHECK(values_of(x.grad()) == Values{10, 10});
    sum(x).backward();
    CHECK(values_of(x.grad()) == Values{11, 11});
}

TEST_CASE("example: backward with a gradient", "[header-examples]") {
    const Tensor x = tensor({1.0, 2, 3}).requires_grad_();
    const Tensor y = x * x;
    y.backward(tensor({1.0, 10, 100}));  // x.grad() is 2x · gradient = [2, 40, 600]
    CHECK(values_of(x.grad()) == Values{2, 40, 600});
}

TEST_CASE("example: making tensors", "[header-examples]") {
    Rng rng(1);
    const Tensor a = zeros({2, 3});
    const Tensor b = randn({2, 3}, rng, float64);
    const Tensor c = arange(0, 1, 0.25);          // [0, 0.25, 0.5, 0.75]
    const Tensor d = tensor({{1.0, 2}, {3, 4}});  // (2, 2)
    const Tensor ids = tensor({4, 0, 7}, int64);  // (3,)
    CHECK(values_of(a) == Values(6, 0));
    CHECK(b.shape() == Shape{2, 3});
    CHECK(b.dtype() == float64);
    CHECK(values_of(c) == Values{0, 0.25, 0.5, 0.75});
    CHECK(d.shape() == Shape{2, 2});
    CHECK(values_of(d) == Values{1, 2, 3, 4});
    CHECK(ids.to_vector<std::int64_t>() == std::vector<std::int64_t>{4, 0, 7});
}

TEST_CASE("example: from_blob", "[header-examples]") {
    bool released = false;
    std::vector<float> theirs = {1, 2, 3, 4, 5, 6};
    const Tensor x = from_blob(theirs.data(), {2, 3});          // [[1, 2, 3], [4, 5, 6]]
    const Tensor y = from_blob(theirs.data(), {3, 2}, {1, 3});  // its transpose, of the same memory
    Tensor z = from_blob(theirs.data(), {6}, {1}, [&](void*) { released = true; });
    z.mul_(10);
    z = Tensor();  // calls the deleter
    CHECK(released);
    CHECK(values_of(x) == Values{10, 20, 30, 40, 50, 60});
    CHECK(values_of(y) == Values{10, 40, 20, 50, 30, 60});
}

// ---- text.h, trace.h

TEST_CASE("example: numbers and texts in messages", "[header-examples]") {
    const std::string shortest = to_chars(0.1);                            // "0.1"
    const std::string fixed = to_chars(2.0, std::chars_format::fixed, 2);  // "2.00"
    const std::string rounded = format_number(1.0 / 3, 3);                 // "0.333"
    CHECK(shortest == "0.1");
    CHECK(fixed == "2.00");
    CHECK(rounded == "0.333");
    double rate = 0;
    const auto read = from_chars("1e-3,", rate);  // rate is 0.001, read.ptr at the comma
    CHECK(rate == 0.001);
    CHECK(*read.ptr == ',');
}

TEST_CASE("example: excerpt, format_index and operation_of", "[header-examples]") {
    const std::string harmless = excerpt("one\ntwo three", 8);  // "one\x0atwo …"
    CHECK(harmless == "one\\x0atwo …");
    const std::string position = format_index(2, {2, 2});  // "(1, 0)"
    CHECK(position == "(1, 0)");
    const Tensor x = ones({2}).requires_grad_();
    const std::string made_by = operation_of(exp(x));  // "exp"
    CHECK(made_by == "exp");
}

TEST_CASE("example: Trace", "[header-examples]") {
    Rng rng(1);
    const Tensor q = randn({2, 3, 4}, rng), k = randn({2, 3, 4}, rng), v = randn({2, 3, 4}, rng);
    const Composed readable;
    const Trace trace;
    const Tensor y = scaled_dot_product_attention(q, k, v);
    std::vector<std::string> names;  // q, k, v, scores, weights, heads
    for (const TraceEntry& entry : trace.entries()) names.push_back(entry.name);
    CHECK(names == std::vector<std::string>{"q", "k", "v", "scores", "weights", "heads"});
    CHECK(y.shape() == Shape{2, 3, 4});
}

TEST_CASE("example: naming a tensor", "[header-examples]") {
    const Tensor x = tensor({-1.0, 2});
    const Trace trace;
    const Tensor hidden = traced("hidden", relu(x));
    REQUIRE(trace.entries().size() == 1);
    CHECK(trace.entries()[0].name == "hidden");
    CHECK(trace.entries()[0].tensor.handle() == hidden.handle());
}

TEST_CASE("example: CountMultiplyAdds", "[header-examples]") {
    const Tensor a = ones({2, 3}), b = ones({3, 4});
    const CountMultiplyAdds counter;
    const Tensor c = matmul(a, b);
    const std::int64_t ran = counter.count();  // 2 · 4 · 3 = 24
    CHECK(ran == 24);
    CHECK(c.shape() == Shape{2, 4});
}

TEST_CASE("example: graph_nodes", "[header-examples]") {
    const Tensor x = ones({2}).requires_grad_();
    const std::vector<GraphNode> nodes = graph_nodes(sum(x * x));  // leaf, multiply, sum
    REQUIRE(nodes.size() == 3);
    CHECK(nodes[0].operation == "leaf");
    CHECK(nodes[1].operation == "multiply");
    CHECK(nodes[2].operation == "sum");
    CHECK(nodes[1].inputs == std::vector<std::size_t>{0, 0});
}

TEST_CASE("example: BackwardWatch", "[header-examples]") {
    const Tensor x = ones({2}).requires_grad_();
    std::size_t nodes = 0;
    const BackwardWatch watch([&](const Tensor& root) { nodes = graph_nodes(root).size(); });
    sum(x * x).backward();  // nodes is 3
    CHECK(nodes == 3);
}

TEST_CASE("example: set_owner", "[header-examples]") {
    const auto model = std::make_shared<LeafOwner>();
    const Tensor x = ones({2}).requires_grad_();
    set_owner(x, model);
    const bool owned = graph_nodes(sum(x))[0].owner.lock() == model;  // true
    CHECK(owned);
}

// ---- xtensor.h

TEST_CASE("example: from xtensor and back", "[header-examples]") {
    const xt::xarray<double> a = {{1, 2, 3}, {4, 5, 6}};
    const Tensor x = from_xtensor(xt::transpose(a) * 2.0);  // (3, 2)
    auto adaptor = as_xtensor<double>(x);
    adaptor(0, 1) = 7;  // x.at({0, 1}) is 7
    CHECK(x.shape() == Shape{3, 2});
    CHECK(values_of(x) == Values{2, 7, 4, 10, 6, 12});
}

TEST_CASE("header example: sort, pad and einsum", "[header-examples]") {
    {
        const auto [values, indices] = sort(tensor({3.0, 1, 2}));  // [1, 2, 3] and [1, 2, 0]
        CHECK(values.to_vector<float>() == std::vector<float>{1, 2, 3});
        CHECK(indices.to_vector<std::int64_t>() == std::vector<std::int64_t>{1, 2, 0});
    }
    {
        const Tensor y = pad(ones({2, 3}), {1, 0, 0, 2});  // (4, 4): a column on the left, two rows below
        CHECK(all(y == tensor({{0.0, 1, 1, 1}, {0, 1, 1, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}})));
    }
    Rng rng(1);
    const Tensor q = randn({2, 3, 4, 5}, rng), k = randn({2, 3, 6, 5}, rng);
    const Tensor scores = einsum("bhtd,bhsd->bhts", {q, k});   // q kᵀ of each head
    const Tensor same = einsum("...td,...sd->...ts", {q, k});  // and of (T, d) or (H, T, d) too
    CHECK(allclose(same, scores, 0, 0));
    CHECK(allclose(scores, matmul(q, k.transpose(-2, -1)), 1e-5, 1e-6));
}
