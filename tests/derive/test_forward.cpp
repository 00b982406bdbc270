// Forward mode and derivatives of functions: against closed forms, against each other, and against the whole
// graph transposed, for every row of the table of operations.
#include <map>
#include <set>

#include "catch.h"
#include "core/node.h"
#include "markdown.h"
#include "op_table.h"
#include "refusal.h"
#include "weft/nn/layers.h"
#include "weft/weft.h"

using namespace weft;

namespace {

using List = std::vector<Tensor>;

Tensor d(const Nested& values) { return tensor(values, float64); }

List random_like(const List& list, std::uint64_t seed) {
    Rng rng(seed);
    List v;
    for (const Tensor& x : list) v.push_back(randn(x.shape(), rng, x.dtype()));
    return v;
}

double inner(const List& a, const List& b) {
    double total = 0;
    for (std::size_t i = 0; i < a.size(); ++i) total += sum((a[i] * b[i]).to(float64)).item();
    return total;
}

// Largest difference, relative to the largest element.
double apart(const List& a, const List& b) {
    double largest = 0, size = 1;
    for (std::size_t i = 0; i < a.size(); ++i) {
        REQUIRE(a[i].shape() == b[i].shape());
        if (a[i].numel() == 0) continue;
        largest = std::max(largest, max(abs(a[i] - b[i])).item());
        size = std::max(size, max(abs(b[i])).item());
    }
    return largest / size;
}

bool close(const Tensor& a, const Tensor& b) { return apart({a}, {b}) < 1e-12; }

// A row of the table as a function of its floating inputs, with its floating outputs.
struct Sample {
    List inputs;  // the floating ones, in float64
    TensorFunction f;
    explicit Sample(const OpEntry& op)
        : f([&op, all = inputs_of(op)](const List& floating) {
              List in;
              std::size_t next = 0;
              for (const Tensor& x : all) in.push_back(is_floating_point(x.dtype()) ? floating[next++] : x);
              List y = op.function(in);
              std::erase_if(y, [](const Tensor& t) { return !is_floating_point(t.dtype()); });
              return y;
          }) {
        for (const Tensor& x : inputs_of(op))
            if (is_floating_point(x.dtype())) inputs.push_back(x.to(float64));
    }
    bool is_differentiable(const OpEntry& op) const { return op.gradient != Gradient::none && !inputs.empty(); }
};

// One number of an operation's results.
TensorFunction contracted(const TensorFunction& f, const List& u) {
    return [=](const List& in) {
        Tensor total = zeros({}, float64);
        const List y = f(in);
        for (std::size_t k = 0; k < y.size(); ++k) total = total + sum(y[k] * u[k]);
        return total;
    };
}

TensorFunction gradient(const TensorFunction& f) {
    return [f](const List& in) { return vjp(f, in, {}, true).second; };
}

}  // namespace

TEST_CASE("forward over forward, forward over reverse and reverse over either, for every operation",
          "[forward]") {
    for (const OpEntry& op : op_table()) {
        const Sample s(op);
        if (op.gradient != Gradient::twice || !s.is_differentiable(op)) continue;
        INFO(op.declaration << " " << op.golden);
        const List v = random_like(s.inputs, 1), w = random_like(s.inputs, 3);
        const TensorFunction f = contracted(s.f, random_like(s.f(s.inputs), 2));
        const List Hv = hvp(f, s.inputs, v).second;  // forward over reverse
        const List twice = vjp(gradient(f), s.inputs, v).second;
        CHECK(apart(Hv, twice) < 1e-8);
        CHECK(inner(w, Hv) == Approx(inner(v, hvp(f, s.inputs, w).second)).epsilon(1e-8).margin(1e-9));
        const TensorFunction along_v = [&](const List& in) { return jvp(f, in, v, true).second; };
        CHECK(apart(vjp(along_v, s.inputs).second, twice) < 1e-8);  // reverse over forward
        CHECK(jvp(along_v, s.inputs, w).second[0].item() ==         // forward over forward
              Approx(inner(w, twice)).epsilon(1e-8).margin(1e-9));
    }
}

TEST_CASE("jvp is the transpose of vjp for every operation, computed as the page on architecture lists",
          "[forward]") {
    std::map<std::string, std::set<std::string>> ways;  // by operation
    struct Ways : Observer {
        explicit Ways(decltype(ways)& all) : all(all) {}
        void moves(const char* operation, const char* how) override { all[operation].insert(how); }
        decltype(ways)& all;
    };
    int compared = 0;
    for (const OpEntry& op : op_table()) {
        const Sample s(op);
        if (!s.is_differentiable(op)) continue;
        INFO(op.declaration << " " << op.golden);
        const List v = random_like(s.inputs, 1);
        const auto [y, Jv] = [&] {
            const Ways noted(ways);
            return jvp(s.f, s.inputs, v);
        }();
        const List u = random_like(y, 2);
        const double forward = inner(u, Jv), reverse = inner(vjp(s.f, s.inputs, u).second, v);
        if (!std::isfinite(reverse)) continue;  // a sample at infinity
        const double size = 1 + inner({abs(u[0])}, {abs(Jv[0])});
        const double tolerance = op.declaration == "Tensor::to(DType)" ? 1e-5 : 1e-9;  // it rounds to float32
        CHECK(forward == Approx(reverse).epsilon(tolerance).margin(0.1 * tolerance * size));
        for (std::size_t k = 0; k < y.size(); ++k) CHECK_FALSE((y[k].requires_grad() || Jv[k].requires_grad()));
        ++compared;
    }
    CHECK(compared > 150);
    std::map<std::string, std::string> lists;
    for (const auto& [operation, found] : ways)
        for (const std::string kind : {"gradient rule", "own rule", "linear", "transposed"})
            if (found.contains(kind)) {  // the first; where it was broadcast, its rule is transposed
                lists[kind] += (lists[kind].empty() ? "`" : ", `") + operation + "`";
                break;
            }
    const std::string page = markdown::read(markdown::root / "docs/architecture.md");
    for (const auto& [kind, list] : lists) {
        INFO(kind << " | " << list);
        CHECK(contains(page, "| " + list + " |"));
    }
    CHECK(lists.size() == 4);
}

TEST_CASE("jvp, vjp, jacobian, hessian and hvp are the closed forms", "[forward]") {
    Rng rng(1);
    const Tensor A = randn({3, 4}, rng, float64), x = randn({4}, rng, float64), v = randn({4}, rng, float64);
    const auto product = [&](const Tensor& x) { return matmul(A, x); };
    const auto forward = JacobianOptions{.strategy = Strategy::forward_mode};
    CHECK(close(jvp(product, x, v).second, matmul(A, v)));
    CHECK(close(vjp(product, x, A.select(1, 0)).second, matmul(A.select(1, 0), A)));
    CHECK(close(jacobian(product, x), A));
    CHECK(close(jacobian(product, x, forward), A));
    const auto wave = [](const Tensor& x) { return sin(x); };
    CHECK(close(jacobian(wave, x), diag(cos(x))));
    CHECK(close(jacobian(wave, x, forward), diag(cos(x))));

    const auto outer_product = [](const List& in) { return List{outer(in[0], in[1]), sum(in[0])}; };
    const List in = {d({1, 2}), d({3, 4, 5})};
    for (const Strategy strategy : {Strategy::reverse_mode, Strategy::forward_mode}) {
        const auto J = jacobian(outer_product, in, {.strategy = strategy});
        REQUIRE((J.size() == 2 && J[0].size() == 2));
        CHECK(J[0][0].shape() == Shape{2, 3, 2});
        CHECK(J[0][1].shape() == Shape{2, 3, 3});
        CHECK(J[0][0].at(1, 2, 1) == 5);
        CHECK(J[0][0].at(1, 2, 0) == 0);
        CHECK(J[0][1].at(1, 2, 2) == 2);
        CHECK(J[1][0].to_vector<double>() == std::vector<double>{1, 1});
        CHECK(J[1][1].to_vector<double>() == std::vector<double>{0, 0, 0});  // sum does not depend on it
    }

    const Tensor Q = randn({4, 4}, rng, float64);
    const auto bowl = [&](const Tensor& x) { return dot(x, matmul(Q, x)); };
    CHECK(close(hessian(bowl, x), Q + Q.T()));
    const auto [y, Hv] = hvp(bowl, x, v);
    CHECK(close(y, bowl(x)));
    CHECK(close(Hv, matmul(Q + Q.T(), v)));
    const auto two = [](const List& in) { return sum(in[0]) * sum(in[1] * in[1]); };
    const auto H = hessian(two, in);
    CHECK(H[0][0].to_vector<double>() == std::vector<double>(4, 0));
    CHECK(close(H[0][1], 2 * outer(ones({2}, float64), in[1])));
    CHECK(close(H[1][0], H[0][1].T()));
    CHECK(close(H[1][1], 6 * eye(3, float64)));
    CHECK(close(hessian([](const Tensor& x) { return sum(x); }, x), zeros({4, 4}, float64)));
    // No element, and one.
    CHECK(jacobian(wave, zeros({0}, float64)).shape() == Shape{0, 0});
    CHECK(jacobian(wave, zeros({0}, float64), forward).shape() == Shape{0, 0});
    CHECK(jacobian(wave, d(0.0)).item() == 1);
}

TEST_CASE("derivatives nest to any order, and each jvp has tangents of its own", "[forward]") {
    const Tensor one = d(1.0), x = d(2.0);
    const auto along = [&](TensorFunction f) -> TensorFunction {
        return [=](const Tensor& x) { return jvp(f, x, one).second; };
    };
    TensorFunction f = [](const Tensor& x) { return x * x * exp(x); };
    // (x²eˣ)⁗ = (x² + 8x + 12) eˣ
    for (int order = 0; order < 4; ++order) f = along(f);
    CHECK(f({x})[0].item() == Approx(32 * std::exp(2.0)).epsilon(1e-13));
    // ∂/∂x of x · (∂/∂y of x + y) is 1, and 2 if the two tangents were mixed up.
    const auto mixed = [&](const Tensor& x) {
        return x * jvp([&](const Tensor& y) { return x + y; }, one, one).second;
    };
    CHECK(jvp(mixed, x, one).second.item() == 1);
    const auto inner = [&](const Tensor& x) {
        return jvp([&](const Tensor& y) { return x * y; }, one, one).second;
    };
    CHECK(jvp(inner, x, one).second.item() == 1);
    // A backward of leaves that f makes, and of a graph from outside, whose seed moves.
    const auto manual = [](const Tensor& x) {
        Tensor leaf = x;
        sum(exp(leaf.requires_grad_() * 2)).backward();
        return leaf.grad();
    };
    CHECK(jvp(manual, x, one).second.item() == Approx(4 * std::exp(4.0)));
    const Tensor z = d({1, 2}).requires_grad_(), rows = layer_norm(z.reshape({1, 2}), ones({2}, float64));
    const auto pulled = [&](const Tensor& u) { return grad({rows}, {z}, {u}, {.retain_graph = true})[0]; };
    const Tensor u = d({{0.5, -3}});
    CHECK(apart({jvp(pulled, zeros({1, 2}, float64), u).second}, {pulled(u)}) < 1e-9);
}

TEST_CASE("with create_graph a product has a gradient, also for what f holds", "[forward]") {
    Rng rng(2);
    Tensor w = randn({3, 3}, rng, float64).requires_grad_(), x = randn({3}, rng, float64).requires_grad_();
    const Tensor v = randn({3}, rng, float64);
    const auto f = [&](const List& in) {
        const Tensor w = in[0];
        return jvp([&](const Tensor& x) { return tanh(matmul(w, exp(x))); }, in[1], v, true).second;
    };
    CHECK(check::gradcheck("jvp", f, {w, x}).message == "");
    CHECK(check::gradgradcheck("jvp", f, {w, x}).message == "");
    const auto H = [&](const List& in) {
        return hessian([&](const Tensor& x) { return sum(tanh(matmul(in[0], x))); }, in[1], true);
    };
    CHECK(check::gradcheck("hessian", H, {w, x}).message == "");
    const auto Hv = [&](const List& in) {
        return hvp([&](const Tensor& x) { return sum(tanh(matmul(in[0], x))); }, in[1], v, true).second;
    };
    CHECK(check::gradcheck("hvp", Hv, {w, x}).message == "");
    const auto J = [&](const List& in) {
        return jacobian([&](const Tensor& x) { return tanh(matmul(in[0], x)); }, in[1],
                        {.create_graph = true, .strategy = Strategy::forward_mode});
    };
    CHECK(check::gradcheck("jacobian", J, {w, x}).message == "");
    CHECK_FALSE(jvp([&](const Tensor& x) { return matmul(w, x); }, x, v).second.requires_grad());
    CHECK_FALSE(x.grad().defined());
}

TEST_CASE("a block with attention and dropout has one derivative forward and backward, also checkpointed",
          "[forward]") {
    manual_seed(1);
    nn::TransformerBlock block(8, 2);  // linear, gelu, layer_norm and attention are fused
    block.to(float64);
    const Tensor x = random_like({zeros({2, 5, 8}, float64)}, 4)[0], dx = random_like({x}, 5)[0];
    for (const bool checkpointed : {false, true}) {
        const auto f = [&](const Tensor& x) {
            Rng rng(3);
            const Tensor y = checkpointed ? nn::checkpoint(block, x) : block(x);
            return dropout(y, 0.5, rng);
        };
        const auto [y, J_dx] = jvp(f, x, dx);
        const Tensor u = random_like({y}, 6)[0];
        CHECK(inner({u}, {J_dx}) == Approx(inner({vjp(f, x, u).second}, {dx})).epsilon(1e-10));
    }
}

TEST_CASE("every column of a Jacobian has the same draws, or is refused", "[forward]") {
    const Tensor x = d({1, 2, 3, 4, 5, 6, 7, 8});
    const auto f = [](const Tensor& x) { return dropout(x * x, 0.5) * randn_like(x); };
    const auto J = [&](Strategy strategy) {
        manual_seed(3);
        const Tensor J = jacobian(f, x, {.strategy = strategy});
        CHECK(default_rng().state().position == 10);  // two for the mask, eight for the normal numbers
        return J;
    };
    CHECK(close(J(Strategy::forward_mode), J(Strategy::reverse_mode)));
    Rng own(3);
    refuses<GraphError>("jacobian: f computed other values in another column; let it draw from default_rng()",
                        [&] {
                            (void)jacobian([&](const Tensor& x) { return dropout(x, 0.5, own); }, x,
                                           {.strategy = Strategy::forward_mode});
                        });
}

TEST_CASE("the Hessian of a polynomial written as a power of exponents is right at 0", "[forward]") {
    const Tensor p = d({0, 1, 2, 3}), c = d({5, 7, 11, 13});
    for (const auto& f :
         std::vector<std::function<Tensor(const Tensor&)>>{[&](const Tensor& x) { return sum(c * pow(x, p)); },
                                                           [&](const Tensor& x) {
                                                               return sum(c * pow(x.reshape({1, 1}), p));
                                                           }}) {
        const Tensor zero = d(0.0);
        CHECK(hessian(f, zero).item() == 22);
        CHECK(hvp(f, zero, d(1.0)).second.item() == 22);
        const auto second = [&](const Tensor& x) { return hessian(f, x, true); };
        CHECK(jacobian(second, zero).item() == 78);
    }
}

TEST_CASE("a jvp retains nothing of the computation, however deep, and its graph is freed", "[forward]") {
    const Tensor w = ones({4}, float64).requires_grad_(), x = ones({4}, float64);
    std::vector<std::weak_ptr<Storage>> seen;
    const auto alive = [&] {
        return std::ranges::count_if(seen, [](const auto& storage) { return !storage.expired(); });
    };
    const auto chain = [&](const Tensor& x) {
        Tensor y = x * w;
        for (int i = 0; i < 200; ++i) {
            y = softmax(exp(tanh(y)), 0) * w;
            seen.push_back(y.array().storage);
            seen.push_back(y.impl().tangents.at(0).value.array().storage);
        }
        CHECK(alive() == 2);
        CHECK_FALSE(y.requires_grad());
        return y;
    };
    (void)jvp(chain, x, x);
    CHECK(seen.size() == 400);
    CHECK(alive() == 0);
    seen.clear();
    {
        const auto recorded = [&](const Tensor& x) {
            const Tensor y = exp(tanh(x * w));  // both save their output
            seen.push_back(y.array().storage);
            seen.push_back(y.impl().tangents.at(0).value.array().storage);
            return y;
        };
        const auto [y, dy] = jvp(recorded, x, x, true);
        CHECK(dy.requires_grad());
        CHECK(alive() == 2);
    }
    CHECK(alive() == 0);
}

TEST_CASE("NoGrad around a derivative changes nothing, and within f makes constants", "[forward]") {
    const Tensor x = d({1, 2}), v = d({1, 10});
    const auto half = [](const Tensor& x) {
        Tensor constant;
        {
            const NoGrad off;
            constant = exp(x).contiguous();
        }
        return x * x * constant + x.detach();
    };
    const NoGrad off;
    CHECK(close(jvp(half, x, v).second, 2 * x * exp(x) * v));
    CHECK(close(vjp(half, x, v).second, 2 * x * exp(x) * v));
    CHECK(jacobian([](const Tensor& x) { return x.contiguous() * 3; }, x).at(1, 1) == 3);
    CHECK(close(hvp([](const Tensor& x) { return sum(x * x * x); }, x, v).second, 6 * x * v));
    // Nothing of the inputs, and part of them.
    CHECK(close(jvp([&](const Tensor&) { return x * 2; }, x, v).second, zeros({2}, float64)));
    CHECK(close(vjp([&](const Tensor&) { return x * 2; }, x, v).second, zeros({2}, float64)));
    const auto first = [](const List& in) { return in[0] * 2; };
    CHECK(close(jvp(first, {x, x}, {Tensor(), v}).second[0], zeros({2}, float64)));
    CHECK(close(vjp(first, {x, x}, {v}).second[1], zeros({2}, float64)));
    CHECK(close(jvp([](const Tensor& x) { return sign(x) + floor(x) + round(x); }, x, v).second, 0 * x));
}

TEST_CASE("a trace and a ledger see nothing of how tangents are computed", "[forward]") {
    const Tensor x = d({1, 2}).requires_grad_();
    const GradientLedger ledger;
    const Trace trace;
    (void)jvp([](const Tensor& x) { return traced("y", logsumexp(x * x)); }, x, x);
    CHECK(ledger.entries().empty());
    CHECK(trace.entries().size() == 1);
}

namespace {

// An operation whose rule is a loop over numbers, which nothing records.
Tensor hidden_double(const Tensor& x, Jvp rule = nullptr) {
    const auto twice = [](const Tensor& x) {
        Tensor y = x.detach().clone();
        for (std::int64_t i = 0; i < y.numel(); ++i) y.data<double>()[i] *= 2;
        return y;
    };
    return record(
        "hidden_double", twice(x), {x}, {},
        [twice](const Saved&, const Tensor& dy) { return Grads{twice(dy)}; }, rule);
}

}  // namespace

TEST_CASE("an operation of a user needs no tangent rule, unless its gradient rule is not recorded",
          "[forward][fault]") {
    const Tensor x = d({1, 2}), v = d({1, 10});
    const auto product = [](const Tensor& a, const Tensor& b) {
        Tensor y;
        {
            const NoGrad off;
            y = a * b * b;
        }
        return record("user_product", y, {a, b}, {a, b}, [](const Saved& saved, const Tensor& dy) {
            const EnableGrad on;
            Tensor a = saved[0], b = saved[1];
            if (!a.requires_grad()) a = a.detach().requires_grad_();
            if (!b.requires_grad()) b = b.detach().requires_grad_();
            return grad({a * b * b}, {a, b}, {dy}, {.create_graph = true});
        });
    };
    const auto f = [&](const Tensor& x) { return product(exp(x), x); };  // eˣx²
    CHECK(close(jvp(f, x, v).second, exp(x) * (x * x + 2 * x) * v));
    const auto slope = [&](const Tensor& x) { return jvp(f, x, ones_like(x)).second; };
    CHECK(close(jvp(slope, x, v).second, exp(x) * (x * x + 4 * x + 2) * v));
    refuses<GraphError>("hidden_double: jvp differentiates the gradient rule, which is not made of recorded",
                        [&] { (void)jvp([](const Tensor& x) { return hidden_double(x); }, x, v); });
    const auto own = [](const Tensor& x) {
        return hidden_double(x, [](const Saved&, const Grads& dx) { return dx[0] + dx[0]; });
    };
    CHECK(close(jvp(own, x, v).second, 2 * v));
    const auto wrong = [](const Tensor& x) {
        return hidden_double(x, [](const Saved&, const Grads& dx) { return sum(dx[0]); });
    };
    refuses<ShapeError>("hidden_double: its tangent rule returned float64 () for a result of float64 (2,)",
                        [&] { (void)jvp(wrong, x, v); });
    const auto few = [](const Tensor& x) {
        return record("few", x.detach().clone(), {x}, {}, [](const Saved&, const Tensor&) { return Grads{}; });
    };
    refuses<GraphError>("returned 0 gradients for 1 inputs", [&] { (void)jvp(few, x, v); });
}

TEST_CASE("refusals of derivatives of functions", "[forward][fault]") {
    const Tensor x = d({1, 2}), v = d({1, 10}), ids = tensor({1, 2});
    const auto f = [](const Tensor& x) { return x * x; };
    const auto twice = [](const Tensor& x) { return List{x, x}; };
    refuses<ValueError>("jvp: 1 tensors v for 2 inputs; give one for each", [&] {
        (void)jvp([](const List& in) { return in[0]; }, {x, x}, List{v});
    });
    refuses<ValueError>("hvp: 2 tensors v for 1 inputs", [&] { (void)hvp(f, List{x}, {v, v}); });
    refuses<ValueError>("jvp: no inputs", [&] { (void)jvp(f, List{}, List{}); });
    refuses<ValueError>("vjp: no outputs", [&] { (void)vjp([](const Tensor&) { return List{}; }, x, v); });
    refuses<ValueError>("f takes one tensor, not 2", [&] { (void)vjp(f, {x, x}, {v}); });
    refuses<ValueError>("jvp: f returns 2 tensors", [&] { (void)jvp(twice, x, v); });
    refuses<ValueError>("vjp: 1 tensors v for 2 outputs", [&] { (void)vjp(twice, x, v); });
    refuses<ValueError>("jacobian: f returns 2 tensors", [&] { (void)jacobian(twice, x); });
    refuses<ShapeError>("jvp: v has shape () for input 0 of (2,)", [&] { (void)jvp(f, x, d(1.0)); });
    refuses<ShapeError>("vjp: v has shape () for output 0 of (2,)", [&] { (void)vjp(f, x, d(1.0)); });
    refuses<ShapeError>("vjp: an output has shape (2,); pass a v", [&] { (void)vjp(f, x); });
    refuses<ShapeError>("hessian: a Hessian is of one number, but f returns a tensor of shape (2,); reduce it",
                        [&] { (void)hessian(f, x); });
    refuses<ShapeError>("hvp: a Hessian is of one number, but f returns a tensor of shape (2,) and others",
                        [&] { (void)hvp(twice, x, v); });
    refuses<DTypeError>("jvp: input 0 is int64, which has no derivative", [&] { (void)jvp(f, ids, ids); });
    refuses<DTypeError>("jacobian: input 0 is int64", [&] { (void)jacobian(f, ids); });
    refuses<DTypeError>("jvp: output 0 is int64",
                        [&] { (void)jvp([](const Tensor& x) { return argmax(x); }, x, v); });
    refuses<DTypeError>("vjp: output 0 is bool",
                        [&] { (void)vjp([](const Tensor& x) { return x > 0; }, x, v); });
    refuses<DTypeError>("jvp: float64 and float32 do not mix", [&] { (void)jvp(f, x, v.to(float32)); });
    const auto changes = [](const Tensor& x) {
        Tensor y = x * 2;
        return y.add_(ones_like(x));
    };
    const auto writes = [](const Tensor& x) {
        Tensor y = zeros_like(x);
        return y.copy_(x);
    };
    refuses<GraphError>(
        "add_: in-place operations are not recorded, so they do not take a tensor that a jvp differentiates",
        [&] { (void)jvp(changes, x, v); });
    refuses<GraphError>(
        "copy_: in-place operations are not recorded, so they do not take an operand that a jvp "
        "differentiates",
        [&] { (void)jvp(writes, x, v); });
    // Under NoGrad a change is seen by the next use, through whichever view it was made.
    for (const auto& change : std::vector<std::function<void(Tensor)>>{[](Tensor y) { y.mul_(3); },
                                                                       [](Tensor y) { y.detach().fill_(1); },
                                                                       [](Tensor y) { y[0].fill_(1); }}) {
        const auto quietly = [&](const Tensor& x) {
            const Tensor y = x * 2;
            const NoGrad off;
            change(y);
            return y;
        };
        refuses<GraphError>(
            "jvp: a tensor of shape (2,) that a jvp differentiates was changed in place (version 1, its "
            "derivative is that of version 0); change a clone() of it, or compute a new tensor",
            [&] { (void)jvp(quietly, x, v); });
        refuses<GraphError>("multiply: a tensor of shape (2,) that a jvp differentiates was changed in place",
                            [&] { (void)jvp([&](const Tensor& x) { return quietly(x) * x; }, x, v); });
    }
    refuses<GraphError>("undefined", [&] { (void)jvp([](const Tensor&) { return Tensor(); }, x, v); });
    refuses<GraphError>("undefined", [&] { (void)jvp(f, Tensor(), v); });
    refuses<GraphError>("KeyValueCache: keys or values require a gradient, or a jvp runs", [&] {
        nn::KeyValueCache cache;
        (void)jvp([&](const Tensor& k) { return cache.append(k, k)[0]; }, ones({1, 1, 2}), ones({1, 1, 2}));
    });
    CHECK(x.to_vector<double>() == std::vector<double>{1, 2});
    CHECK_FALSE(jvp_mode());  // also after what was thrown
    CHECK(close(jvp(f, x, v).second, 2 * x * v));
    // A callable of another arity, or result, does not compile.
    const auto two = [](const Tensor&, const Tensor&) { return Tensor(); };
    const auto nothing = [](const Tensor&) {};
    STATIC_REQUIRE(TensorFunction::takes_tensor<decltype(f)>);
    STATIC_REQUIRE(TensorFunction::takes_tensor<decltype(twice)>);
    STATIC_REQUIRE_FALSE(
        (TensorFunction::takes_tensor<decltype(two)> || TensorFunction::takes_list<decltype(two)>));
    STATIC_REQUIRE_FALSE(
        (TensorFunction::takes_tensor<decltype(nothing)> || TensorFunction::takes_list<decltype(nothing)>));
}
