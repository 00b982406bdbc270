// Refusals of what changes shapes, generators, tensors and gradients, after which nothing has changed.
#include <cmath>

#include "unchanged.h"

using namespace unchanged;

namespace {

// Refusals of each kind that the in-place operations share; `act` takes the target and the operand.
void in_place(Unchanged& c, const std::string& name, const std::function<void(Tensor&, const Tensor&)>& act) {
    const std::string not_recorded = name + ": in-place operations are not recorded, so they do not take ";
    Tensor x = tensor({1.0, 2, 3}), wide = tensor({1.0}).expand({3}), leaf = ones({3}).requires_grad_();
    const Tensor y = ones({3}) * 2, longer = ones({2, 3}), doubles = ones({3}, float64);
    Tensor in_graph = leaf * 2, undefined, truths = zeros({3}, boolean);
    const Tensor numbers = ones({3}, int64);
    const State all = watch(x, wide, leaf, y, longer, doubles, in_graph, truths, numbers);
    c.refuses<ShapeError>(name + ": (2, 3) does not broadcast to (3,)", all, [&] { act(x, longer); });
    c.refuses<DTypeError>(name + ": a tensor of float32 does not take float64", all, [&] { act(x, doubles); });
    c.refuses<GraphError>(not_recorded + "an operand in the graph", all, [&] { act(x, in_graph); });
    c.refuses<GraphError>(not_recorded + "an operand in the graph", all, [&] { act(x, leaf); });
    c.refuses<GraphError>(not_recorded + "a tensor in the graph", all, [&] { act(in_graph, y); });
    c.refuses<GraphError>(not_recorded + "a leaf that requires a gradient…NoGrad", all, [&] { act(leaf, y); });
    c.refuses<GraphError>("share memory; clone() it first", all, [&] { act(wide, y); });
    c.refuses<GraphError>("this tensor is undefined", all, [&] { act(x, undefined); });
    c.refuses<DTypeError>(name + ": a tensor of bool does not take int64", all, [&] { act(truths, numbers); });
    c.changes(all, [&] { act(x, y); });
}

// The same with a number.
void in_place_number(Unchanged& c, const std::string& name, const std::function<void(Tensor&, double)>& act) {
    const std::string not_recorded = name + ": in-place operations are not recorded, so they do not take ";
    Tensor ids = tensor({1, 2, 3}), wide = tensor({1.0}).expand({3}), leaf = ones({3}).requires_grad_();
    Tensor x = ones({3}), in_graph = leaf * 2;
    const State all = watch(ids, wide, leaf, x, in_graph);
    c.refuses<DTypeError>(name + ": ", all, [&] { act(ids, 0.5); });
    c.refuses<GraphError>("share memory; clone() it first", all, [&] { act(wide, 2); });
    c.refuses<GraphError>(not_recorded + "a leaf that requires a gradient…NoGrad", all, [&] { act(leaf, 2); });
    c.refuses<GraphError>(not_recorded + "a tensor in the graph", all, [&] { act(in_graph, 2); });
    c.changes(all, [&] { act(x, 2); });
}

struct Stop : std::runtime_error {
    Stop() : std::runtime_error("a function of the caller's own throws") {}
};

}  // namespace

TEST_CASE_METHOD(Unchanged,
                 "refused without a change: Shape::operator[] Shape::insert Shape::push_back Shape::erase",
                 "[fault][unchanged]") {
    Shape shape = {1, 2, 3, 4, 5, 6, 7, 8};
    const std::string words =
        "cannot add an axis to (1, 2, 3, 4, 5, 6, 7, 8), because a tensor has at most 8; merge some with "
        "reshape";
    refuses<ShapeError>(words, watch(shape), [&] { shape.push_back(9); });
    refuses<ShapeError>(words, watch(shape), [&] { shape.insert(0, 9); });
    changes(watch(shape), [&] { shape.erase(0); });
}

TEST_CASE_METHOD(Unchanged, "refused without a change: Rng::randint Rng::categorical randint randperm",
                 "[fault][unchanged]") {
    Rng rng(1);
    const State all = watch(rng);
    refuses<ValueError>("randint: the range [3, 3) is empty", all, [&] { rng.randint(3, 3); });
    refuses<ValueError>("randint: the range [3, 3) is empty", all, [&] { randint(3, 3, {2}, rng); });
    refuses<ValueError>("randint: …(2, -3)", all, [&] { randint(0, 3, {2, -3}, rng); });
    refuses<ValueError>("randint: …", all, [&] { randint(0, 3, {std::int64_t{1} << 62}, rng); });
    refuses<ValueError>("categorical: no weight is above 0", all, [&] { rng.categorical({}); });
    refuses<ValueError>("categorical: no weight is above 0", all, [&] { rng.categorical({0, 0}); });
    refuses<ValueError>("categorical: a weight is -1", all, [&] { rng.categorical({1, -1}); });
    refuses<ValueError>("categorical: a weight is inf", all, [&] { rng.categorical({1, INFINITY}); });
    refuses<ValueError>("categorical: a weight is nan", all, [&] { rng.categorical({1, NAN}); });
    refuses<ValueError>("randperm: n is -1; use 0 or more", all, [&] { randperm(-1, rng); });
    changes(all, [&] { rng.categorical({1, 2}); });
    changes(all, [&] { randperm(3, rng); });
}

TEST_CASE_METHOD(Unchanged, "refused without a change: randn rand randn_like rand_like", "[fault][unchanged]") {
    Rng rng(1);
    const Tensor ids = zeros({2}, int64);
    const State all = watch(rng);
    refuses<ValueError>("randn: …(2, -3)", all, [&] { randn({2, -3}, rng); });
    refuses<ValueError>("rand: …(2, -3)", all, [&] { rand({2, -3}, rng); });
    refuses<ValueError>("rand: …", all, [&] { rand({std::int64_t{1} << 62}, rng); });
    refuses<DTypeError>("randn: draws float32 or float64, not int64", all, [&] { randn({2}, rng, int64); });
    refuses<DTypeError>("rand: draws float32 or float64, not bool", all, [&] { rand({2}, rng, boolean); });
    refuses<DTypeError>("randn_like: …int64", all, [&] { randn_like(ids, rng); });
    refuses<DTypeError>("rand_like: …int64", all, [&] { rand_like(ids, rng); });
    changes(all, [&] { randn({2}, rng); });
}

TEST_CASE_METHOD(Unchanged, "refused without a change: multinomial", "[fault][unchanged]") {
    Rng rng(1);
    const auto draw = [&](const std::string& words, const Tensor& weights, int samples, bool replacement) {
        refuses<ValueError>("multinomial: " + words, watch(rng),
                            [&] { multinomial(weights, samples, rng, replacement); });
    };
    for (const bool replacement : {false, true}) {
        draw("a weight is -1; use finite weights of 0 or more", tensor({{1.0, 2}, {1, -1}}), 1, replacement);
        draw("a weight is nan", tensor({{1.0, 2}, {NAN, 1}}), 1, replacement);
        draw("a weight is inf", full({2}, INFINITY), 1, replacement);
        draw("0 samples; use 1 or more", ones({2}), 0, replacement);
    }
    draw("no weight of a row is above 0", tensor({{1.0, 2}, {0, 0}}), 1, true);
    draw("1 samples without replacement from 0 weights above 0", tensor({{1.0, 2}, {0, 0}}), 1, false);
    draw("1 samples without replacement from 0 weights above 0", zeros({2, 0}), 1, false);
    draw("2 samples without replacement from 1 weights above 0", tensor({{1.0, 2}, {1, 0}}), 2, false);
    refuses<DTypeError>("multinomial: takes float32 or float64, not int64", watch(rng), [&] {
        multinomial(tensor({1, 2}), 1, rng);
    });
    refuses<ShapeError>("multinomial: weights of shape (); they must be (n,) or (rows, n)", watch(rng),
                        [&] { multinomial(ones({}), 1, rng); });
    refuses<ShapeError>("multinomial: …", watch(rng), [&] { multinomial(ones({2, 2, 2}), 1, rng, true); });
    changes(watch(rng), [&] { multinomial(ones({2, 2}), 1, rng, true); });
}

TEST_CASE_METHOD(Unchanged, "refused without a change: dropout scaled_dot_product_attention",
                 "[fault][unchanged]") {
    Rng rng(1);
    const Tensor x = ones({2, 3});
    const State all = watch(rng);
    for (const double p : {1.0, -0.1, double(NAN)}) {
        refuses<ValueError>("dropout: p is " + to_chars(p), all, [&] { dropout(x, p, rng); });
        refuses<ValueError>(": dropout is " + to_chars(p), all,
                            [&] { scaled_dot_product_attention(x, x, x, {.dropout = p, .rng = &rng}); });
    }
    refuses<DTypeError>("dropout: …int64", all, [&] { dropout(zeros({2}, int64), 0.5, rng); });
    const AttentionOptions drops{.dropout = 0.5, .rng = &rng};
    refuses<ShapeError>("d_k is 3 for queries and 4 for keys", all, [&] {
        scaled_dot_product_attention(x, ones({2, 4}), x, drops);
    });
    refuses<ShapeError>("(5, 5)", all, [&] {
        scaled_dot_product_attention(
            x, x, x, {.mask = Mask::blocked(zeros({5, 5}, boolean)), .dropout = 0.5, .rng = &rng});
    });
    changes(all, [&] { dropout(x, 0.5, rng); });
}

TEST_CASE_METHOD(Unchanged, "refused without a change: Tensor::add_ Tensor::operator+= Tensor::operator-=",
                 "[fault][unchanged]") {
    in_place(*this, "add_", [](Tensor& x, const Tensor& y) { x.add_(y); });
    in_place(*this, "add_", [](Tensor& x, const Tensor& y) { x += y; });
    in_place(*this, "subtract", [](Tensor& x, const Tensor& y) { x -= y; });
    in_place_number(*this, "add_", [](Tensor& x, double y) { x += y; });
    in_place_number(*this, "subtract", [](Tensor& x, double y) { x -= y; });
    Tensor ids = tensor({1, 2}), truths = zeros({2}, boolean);
    refuses<DTypeError>("add_: int64 does not hold 0.5 exactly", watch(ids), [&] { ids.add_(ids, 0.5); });
    refuses<DTypeError>("add_: bool tensors do not add", watch(truths), [&] { truths.add_(truths); });
}

TEST_CASE_METHOD(Unchanged, "refused without a change: Tensor::mul_ Tensor::operator*= Tensor::operator/=",
                 "[fault][unchanged]") {
    in_place(*this, "mul_", [](Tensor& x, const Tensor& y) { x.mul_(y); });
    in_place(*this, "mul_", [](Tensor& x, const Tensor& y) { x *= y; });
    in_place(*this, "divide", [](Tensor& x, const Tensor& y) { x /= y; });
    in_place_number(*this, "mul_", [](Tensor& x, double y) { x.mul_(y); });
    in_place_number(*this, "mul_", [](Tensor& x, double y) { x *= y; });
    in_place_number(*this, "divide", [](Tensor& x, double y) { x /= y; });
    Tensor ids = tensor({1, 2}), truths = zeros({2}, boolean);
    refuses<DTypeError>("divide: takes float32 or float64, not int64", watch(ids), [&] { ids /= 2; });
    refuses<DTypeError>("mul_: bool tensors do not multiply", watch(truths), [&] { truths.mul_(truths); });
    refuses<DTypeError>("mul_: bool tensors do not multiply", watch(truths), [&] { truths.mul_(2); });
}

TEST_CASE_METHOD(Unchanged, "refused without a change: Tensor::copy_ Tensor::fill_ Tensor::zero_",
                 "[fault][unchanged]") {
    in_place(*this, "copy_", [](Tensor& x, const Tensor& y) { x.copy_(y); });
    in_place_number(*this, "fill_", [](Tensor& x, double y) { x.fill_(y); });
    Tensor wide = tensor({1.0}).expand({3}), leaf = ones({3}).requires_grad_();
    refuses<GraphError>("share memory", watch(wide), [&] { wide.zero_(); });
    refuses<GraphError>("a leaf that requires a gradient…NoGrad", watch(leaf), [&] { leaf.zero_(); });
}

TEST_CASE_METHOD(Unchanged, "refused without a change: Tensor::set_data Tensor::requires_grad_",
                 "[fault][unchanged]") {
    Tensor leaf = tensor({1.0, 2}).requires_grad_(), result = leaf * 2, ids = tensor({1, 2});
    Tensor truths = zeros({2}, boolean);
    const Tensor undefined;
    sum(result).backward({}, true);
    const State all = watch(leaf, result, ids, truths);
    refuses<DTypeError>("set_data: a tensor that requires a gradient cannot become int64", all,
                        [&] { leaf.set_data(ids); });
    refuses<GraphError>("undefined", all, [&] { leaf.set_data(undefined); });
    refuses<GraphError>("set_data: a tensor made by multiply cannot take new values", all,
                        [&] { result.set_data(ids); });
    refuses<GraphError>("requires_grad_: a tensor made by multiply requires a gradient…use detach()", all,
                        [&] { result.requires_grad_(false); });
    const std::string only = "requires_grad_: only float32 and float64 take a gradient, not ";
    refuses<DTypeError>(only + "int64; write 1.0 for 1, or convert it with to()", all,
                        [&] { ids.requires_grad_(); });
    refuses<DTypeError>(only + "bool; write 1.0 for 1, or convert it with to()", all,
                        [&] { truths.requires_grad_(); });
    CHECK_NOTHROW(ids.requires_grad_(false));
    changes(all, [&] { leaf.requires_grad_(false); });
    changes(all, [&] { leaf.set_data(ids); });
}

TEST_CASE_METHOD(Unchanged,
                 "refused without a change: Tensor::set_grad Tensor::retain_grad Tensor::register_hook",
                 "[fault][unchanged]") {
    Tensor leaf = tensor({1.0, 2}).requires_grad_(), outside = ones({2});
    leaf.set_grad(ones({2}));
    const State all = watch(leaf, outside);
    refuses<ShapeError>("(3,)", all, [&] { leaf.set_grad(ones({3})); });
    refuses<DTypeError>("is float64, but the tensor is float32", all,
                        [&] { leaf.set_grad(ones({2}, float64)); });
    const std::string none = ": this tensor does not require a gradient";
    refuses<GraphError>("set_grad" + none, all, [&] { outside.set_grad(ones({2})); });
    refuses<GraphError>("retain_grad" + none, all, [&] { outside.retain_grad(); });
    refuses<GraphError>("register_hook" + none, all,
                        [&] { outside.register_hook([](const Tensor&) { return Tensor(); }); });
    changes(all, [&] { leaf.set_grad(full({2}, 3)); });
}

TEST_CASE_METHOD(Unchanged, "refused without a change: Tensor::backward grad GradientLedger",
                 "[fault][unchanged]") {
    Tensor a = tensor({1.0, 2}).requires_grad_(), b = tensor({3.0, 4}).requires_grad_();
    sum(a * b).backward();  // so that there are gradients to keep
    const GradientLedger ledger;
    std::size_t noted = 0;
    const State state = [&] {
        noted = ledger.entries().size();
        return std::to_string(noted) + unchanged::state(a) + unchanged::state(b);
    };
    const Tensor product = a * b, outside = ones({2});
    refuses<GraphError>("a tensor of shape (2,) does not have exactly one element, so backward needs a seed",
                        state, [&] { product.backward(); });
    refuses<ShapeError>("backward: the seed has shape (3,), but the tensor has (2,)", state,
                        [&] { product.backward(ones({3})); });
    refuses<DTypeError>("backward: the seed is float64, but the tensor is float32", state,
                        [&] { product.backward(ones({2}, float64)); });
    refuses<GraphError>("a tensor of shape (2,) is outside the graph…call requires_grad_() on the leaves",
                        state, [&] { outside.backward(ones({2})); });
    refuses<GraphError>("backward: a tensor of shape () is outside the graph", state,
                        [&] { sum(a).detach().backward(); });
    refuses<GraphError>("grad: no output depends on input 0 of shape (2,)", state,
                        [&] { (void)grad({sum(a)}, {b}); });
    refuses<GraphError>("grad: input 0 of shape (2,) does not require a gradient; call requires_grad_()", state,
                        [&] { (void)grad({sum(a)}, {outside}); });
    refuses<ValueError>("grad: 2 grad_outputs for 1 outputs; pass one for each, or none", state, [&] {
        (void)grad({sum(a)}, {a}, {ones({}), ones({})});
    });
    const auto hooked = [&](const Tensor::Hook& hook) {
        Tensor middle = a * b;
        middle.register_hook(hook);
        return sum(middle * a);  // a has part of its gradient before the hook is called
    };
    const std::string returned = "multiply: the gradient that a hook returned ";
    const std::vector<std::function<void(const Tensor&)>> passes = {[](const Tensor& y) { y.backward(); },
                                                                    [&](const Tensor& y) {
                                                                        (void)grad({y}, {a, b});
                                                                    }};
    for (const auto& pass : passes) {
        refuses<Stop>("the caller's own", state,
                      [&] { pass(hooked([](const Tensor&) -> Tensor { throw Stop(); })); });
        refuses<ShapeError>(returned + "has shape (2, 1), but the tensor has (2,)", state, [&] {
            pass(hooked([](const Tensor&) { return ones({2, 1}); }));
        });
        refuses<DTypeError>(returned + "is float64, but the tensor is float32", state,
                            [&] { pass(hooked([](const Tensor&) { return ones({2}, float64); })); });
    }
    Tensor kept;  // backward has its gradient before the rule is called
    const auto ruled = [&](const Vjp& vjp) {
        Tensor y;
        {
            const NoGrad off;
            y = a * b;
        }
        y = record("rule", y, {a, b}, {a}, vjp);
        kept = a * 3;
        kept.retain_grad();
        return sum(y * kept);
    };
    const State with_kept = [&] { return state() + unchanged::state(kept); };
    const auto backward = [&](const Vjp& vjp) { return [loss = ruled(vjp)] { loss.backward(); }; };
    refuses<Stop>("the caller's own", with_kept,
                  backward([](const Saved&, const Tensor&) -> Grads { throw Stop(); }));
    refuses<GraphError>("rule: its gradient rule returned 0 gradients for 2 inputs", with_kept,
                        backward([](const Saved&, const Tensor&) { return Grads{}; }));
    refuses<GraphError>("rule: its gradient rule returned 1 gradients for 2 inputs", with_kept,
                        backward([](const Saved&, const Tensor& dy) { return Grads{dy}; }));
    refuses<ShapeError>("rule: the gradient of input 1 has shape (2, 1), but the tensor has (2,)", with_kept,
                        backward([](const Saved&, const Tensor& dy) {
                            return Grads{dy, ones({2, 1})};
                        }));
    refuses<DTypeError>("rule: the gradient of input 0 is float64, but the tensor is float32", with_kept,
                        backward([](const Saved&, const Tensor& dy) {
                            return Grads{ones({2}, float64), dy};
                        }));
    refuses<IndexError>("Saved: no tensor 1 of 1; name it in save_for_backward", with_kept,
                        backward([](const Saved& saved, const Tensor& dy) {
                            return Grads{saved[1], dy};
                        }));
    refuses<IndexError>("Saved: no input 2 of 2; pass it to record", with_kept,
                        backward([](const Saved& saved, const Tensor& dy) {
                            return Grads{saved.needs_input_grad(2) ? dy : dy, dy};
                        }));
    changes(state, [&] { product.backward(ones({2})); });  // the graph is still whole
    Tensor saved = ones({2});
    const Tensor late = sum(a * saved);
    saved += 1;
    refuses<GraphError>("multiply: a tensor of shape (2,) saved for backward was changed in place…clone()",
                        state, [&] { late.backward(); });
    const Tensor once = sum(a * b);
    changes(state, [&] { once.backward(); });
    refuses<GraphError>("sum: an earlier backward released the saved tensors; pass retain_graph = true", state,
                        [&] { once.backward(); });
    refuses<Stop>("a function of the caller's own throws", state, [&] {
        (void)grad({sum(a * b)}, {a, b}, {}, {.ready = [](std::size_t, const Tensor&) { throw Stop(); }});
    });
}

TEST_CASE_METHOD(Unchanged, "refused without a change: batch_norm", "[fault][unchanged]") {
    Tensor mean = zeros({3}), var = ones({3}), wide = zeros({1}).expand({3}), w = ones({3}), b = zeros({3});
    const Tensor x = randn({4, 3}, default_rng());
    const auto norm = [&](const Tensor& input, Tensor& m, Tensor& v, const BatchNormOptions& o) {
        (void)batch_norm(input, {m, v}, w, b, o);
    };
    const BatchNormOptions training{.training = true};
    const State all = watch(mean, var, wide);
    refuses<ShapeError>("batch_norm: statistics, weight and bias must be (2,), not (3,)", all, [&] {
        norm(ones({4, 2}), mean, var, training);
    });
    refuses<ValueError>("batch_norm: 1 value in each channel of (1, 3); training needs at least 2", all, [&] {
        norm(ones({1, 3}), mean, var, training);
    });
    refuses<DTypeError>("float64", all, [&] { norm(x.to(float64), mean, var, training); });
    refuses<GraphError>("share memory", all, [&] { norm(x, mean, wide, training); });
    refuses<GraphError>("share memory", all, [&] { norm(x, wide, var, training); });
    refuses<ValueError>(
        "the running mean shares memory with the running variance, and training changes it in place; "
        "clone() one of them",
        all, [&] { norm(x, mean, mean, training); });
    refuses<ValueError>("the running mean shares memory with the weight", all,
                        [&] { norm(x, w, var, training); });
    refuses<ValueError>("the running variance shares memory with the bias", all,
                        [&] { norm(x, mean, b, training); });
    Tensor row = x[1];
    refuses<ValueError>("the running mean shares memory with x", all, [&] { norm(x, row, var, training); });
    norm(x, w, b, {});  // nothing is changed
    changes(all, [&] { norm(x, mean, var, training); });
}

TEST_CASE_METHOD(Unchanged, "refused without a change: append_utf8 displayed from_chars",
                 "[fault][unchanged]") {
    std::string text = "a";
    changes(watch(text), [&] { append_utf8(text, U'é'); });
    ++refusals;  // they refuse nothing: read and displayed return what they could not read
}
