// Rows of the table of what changes something: shapes, generators, tensors, gradients.
#include <cmath>

#include "unchanged.h"

namespace unchanged {

namespace {

// A refusal of each kind that the in-place operations share; `act` takes the target and the operand.
void in_place(Check& c, const std::function<void(Tensor&, const Tensor&)>& act) {
    Tensor x = tensor({1.0, 2, 3}), wide = tensor({1.0}).expand({3}), leaf = ones({3}).requires_grad_();
    const Tensor y = ones({3}) * 2, longer = ones({2, 3}), doubles = ones({3}, float64);
    const Tensor in_graph = leaf * 2;
    c.refuses(watch(x, longer), [&] { act(x, longer); });
    c.refuses(watch(x, doubles), [&] { act(x, doubles); });
    c.refuses(watch(x, leaf), [&] { act(x, in_graph); });
    c.refuses(watch(leaf, y), [&] { act(leaf, y); });
    c.refuses(watch(wide, y), [&] { act(wide, y); });
    Tensor undefined;
    c.refuses(watch(x), [&] { act(x, undefined); });
    Tensor truths = zeros({3}, boolean);
    const Tensor numbers = ones({3}, int64);
    c.refuses(watch(truths, numbers), [&] { act(truths, numbers); });
    c.changes(watch(x), [&] { act(x, y); });
}

// The same with a number.
void in_place_number(Check& c, const std::function<void(Tensor&, double)>& act) {
    Tensor ids = tensor({1, 2, 3}), wide = tensor({1.0}).expand({3}), leaf = ones({3}).requires_grad_();
    c.refuses(watch(ids), [&] { act(ids, 0.5); });
    c.refuses(watch(wide), [&] { act(wide, 2); });
    c.refuses(watch(leaf), [&] { act(leaf, 2); });
    Tensor x = ones({3});
    c.changes(watch(x), [&] { act(x, 2); });
}

struct Stop : std::runtime_error {
    Stop() : std::runtime_error("a function of the caller's own throws") {}
};

}  // namespace

std::vector<Row> tensor_rows() {
    return {
        {"Shape::operator[] Shape::insert Shape::push_back Shape::erase",
         [](Check& c) {
             Shape shape = {1, 2, 3, 4, 5, 6, 7, 8};
             c.refuses(watch(shape), [&] { shape.push_back(9); });
             c.refuses(watch(shape), [&] { shape.insert(0, 9); });
             c.changes(watch(shape), [&] { shape.erase(0); });
         }},
        {"Rng::randint Rng::categorical randint randperm",
         [](Check& c) {
             Rng rng(1);
             c.refuses(watch(rng), [&] { rng.randint(3, 3); });
             c.refuses(watch(rng), [&] { rng.categorical({}); });
             c.refuses(watch(rng), [&] { rng.categorical({1, -1}); });
             c.refuses(watch(rng), [&] { rng.categorical({1, NAN}); });
             c.refuses(watch(rng), [&] { rng.categorical({0, 0}); });
             c.refuses(watch(rng), [&] { randint(3, 3, {2}, rng); });
             c.refuses(watch(rng), [&] { randint(0, 3, {-2}, rng); });
             c.refuses(watch(rng), [&] { randint(0, 3, {std::int64_t{1} << 62}, rng); });
             c.refuses(watch(rng), [&] { randperm(-1, rng); });
             c.changes(watch(rng), [&] { rng.categorical({1, 2}); });
             c.changes(watch(rng), [&] { randperm(3, rng); });
         }},
        {"randn rand randn_like rand_like",
         [](Check& c) {
             Rng rng(1);
             const Tensor ids = zeros({2}, int64);
             c.refuses(watch(rng), [&] { randn({-1}, rng); });
             c.refuses(watch(rng), [&] { rand({std::int64_t{1} << 62}, rng); });
             c.refuses(watch(rng), [&] { randn({2}, rng, int64); });
             c.refuses(watch(rng), [&] { rand({2}, rng, boolean); });
             c.refuses(watch(rng), [&] { randn_like(ids, rng); });
             c.refuses(watch(rng), [&] { rand_like(ids, rng); });
             c.changes(watch(rng), [&] { randn({2}, rng); });
         }},
        {"multinomial",
         [](Check& c) {
             Rng rng(1);
             for (const Tensor& second : {tensor({{1.0, 2}, {0.0, 0.0}}), tensor({{1.0, 2}, {-1.0, 1.0}}),
                                          tensor({{1.0, 2}, {NAN, 1.0}})})
                 for (const bool replacement : {false, true})
                     c.refuses(watch(rng), [&] { multinomial(second, 1, rng, replacement); });
             c.refuses(watch(rng), [&] { multinomial(tensor({{1.0, 2}, {1.0, 0}}), 2, rng, false); });
             c.refuses(watch(rng), [&] { multinomial(tensor({1, 2}), 1, rng, false); });
             c.refuses(watch(rng), [&] { multinomial(ones({2}), 0, rng, true); });
             c.refuses(watch(rng), [&] { multinomial(ones({2, 2, 2}), 1, rng, true); });
             c.changes(watch(rng), [&] { multinomial(ones({2, 2}), 1, rng, true); });
         }},
        {"dropout scaled_dot_product_attention",
         [](Check& c) {
             Rng rng(1);
             const Tensor x = ones({2, 3}), ids = zeros({2}, int64);
             c.refuses(watch(rng), [&] { dropout(x, 1, rng); });
             c.refuses(watch(rng), [&] { dropout(ids, 0.5, rng); });
             const AttentionOptions drops{.dropout = 0.5, .rng = &rng};
             c.refuses(watch(rng), [&] { scaled_dot_product_attention(x, ones({2, 4}), x, drops); });
             c.refuses(watch(rng), [&] {
                 scaled_dot_product_attention(
                     x, x, x, {.mask = Mask::blocked(zeros({5, 5}, boolean)), .dropout = 0.5, .rng = &rng});
             });
             c.refuses(watch(rng), [&] { scaled_dot_product_attention(x, x, x, {.dropout = 1, .rng = &rng}); });
             c.changes(watch(rng), [&] { dropout(x, 0.5, rng); });
         }},
        {"Tensor::add_ Tensor::operator+= Tensor::operator-=",
         [](Check& c) {
             in_place(c, [](Tensor& x, const Tensor& y) { x.add_(y); });
             in_place(c, [](Tensor& x, const Tensor& y) { x += y; });
             in_place(c, [](Tensor& x, const Tensor& y) { x -= y; });
             in_place_number(c, [](Tensor& x, double y) { x += y; });
             in_place_number(c, [](Tensor& x, double y) { x -= y; });
             Tensor ids = tensor({1, 2});
             c.refuses(watch(ids), [&] { ids.add_(ids, 0.5); });
         }},
        {"Tensor::mul_ Tensor::operator*= Tensor::operator/=",
         [](Check& c) {
             in_place(c, [](Tensor& x, const Tensor& y) { x.mul_(y); });
             in_place(c, [](Tensor& x, const Tensor& y) { x *= y; });
             in_place(c, [](Tensor& x, const Tensor& y) { x /= y; });
             in_place_number(c, [](Tensor& x, double y) { x.mul_(y); });
             in_place_number(c, [](Tensor& x, double y) { x *= y; });
             in_place_number(c, [](Tensor& x, double y) { x /= y; });
         }},
        {"Tensor::copy_", [](Check& c) { in_place(c, [](Tensor& x, const Tensor& y) { x.copy_(y); }); }},
        {"Tensor::fill_ Tensor::zero_",
         [](Check& c) {
             in_place_number(c, [](Tensor& x, double y) { x.fill_(y); });
             Tensor wide = tensor({1.0}).expand({3});
             c.refuses(watch(wide), [&] { wide.zero_(); });
         }},
        {"Tensor::set_data Tensor::requires_grad_",
         [](Check& c) {
             Tensor leaf = tensor({1.0, 2}).requires_grad_(), result = leaf * 2, ids = tensor({1, 2});
             const Tensor undefined;
             sum(result).backward({}, true);
             c.refuses(watch(leaf), [&] { leaf.set_data(ids); });
             c.refuses(watch(leaf), [&] { leaf.set_data(undefined); });
             c.refuses(watch(result, leaf), [&] { result.set_data(ids); });
             c.refuses(watch(result, leaf), [&] { result.requires_grad_(false); });
             c.refuses(watch(ids), [&] { ids.requires_grad_(); });
             c.changes(watch(leaf), [&] { leaf.requires_grad_(false); });
             c.changes(watch(leaf), [&] { leaf.set_data(ids); });
         }},
        {"Tensor::set_grad Tensor::retain_grad Tensor::register_hook",
         [](Check& c) {
             Tensor leaf = tensor({1.0, 2}).requires_grad_(), outside = ones({2});
             leaf.set_grad(ones({2}));
             c.refuses(watch(leaf), [&] { leaf.set_grad(ones({3})); });
             c.refuses(watch(leaf), [&] { leaf.set_grad(ones({2}, float64)); });
             c.refuses(watch(outside), [&] { outside.set_grad(ones({2})); });
             c.refuses(watch(outside), [&] { outside.retain_grad(); });
             c.refuses(watch(outside), [&] { outside.register_hook([](const Tensor&) { return Tensor(); }); });
             c.changes(watch(leaf), [&] { leaf.set_grad(full({2}, 3)); });
         }},
        {"Tensor::backward grad GradientLedger",
         [](Check& c) {
             Tensor a = tensor({1.0, 2}).requires_grad_(), b = tensor({3.0, 4}).requires_grad_();
             sum(a * b).backward();  // so that there are gradients to keep
             const GradientLedger ledger;
             std::size_t noted = 0;
             const State state = [&] {
                 noted = ledger.entries().size();
                 return std::to_string(noted) + unchanged::state(a) + unchanged::state(b);
             };
             const Tensor product = a * b, outside = ones({2});
             c.refuses(state, [&] { product.backward(); });
             c.refuses(state, [&] { product.backward(ones({3})); });
             c.refuses(state, [&] { product.backward(ones({2}, float64)); });
             c.refuses(state, [&] { outside.backward(ones({2})); });
             c.refuses(state, [&] { (void)grad({sum(a)}, {b}); });
             c.refuses(state, [&] { (void)grad({sum(a)}, {outside}); });
             c.refuses(state, [&] { (void)grad({sum(a)}, {a}, {ones({}), ones({})}); });
             const auto hooked = [&](const Tensor::Hook& hook) {
                 Tensor middle = a * b;
                 middle.register_hook(hook);
                 return sum(middle * a);  // a has part of its gradient before the hook is called
             };
             const std::vector<Tensor::Hook> hooks = {[](const Tensor&) -> Tensor { throw Stop(); },
                                                      [](const Tensor&) { return ones({5}); },
                                                      [](const Tensor&) { return ones({2}, float64); }};
             for (const Tensor::Hook& hook : hooks) {
                 c.refuses(state, [&] { hooked(hook).backward(); });
                 c.refuses(state, [&] { (void)grad({hooked(hook)}, {a, b}); });
             }
             const auto rule = [&](const Vjp& vjp) {
                 Tensor y;
                 {
                     const NoGrad off;
                     y = a * b;
                 }
                 return sum(record("rule", y, {a, b}, {a}, vjp) * a);
             };
             const std::vector<Vjp> rules = {[](const Saved&, const Tensor&) -> Grads { throw Stop(); },
                                             [](const Saved&, const Tensor&) { return Grads{}; },
                                             [](const Saved&, const Tensor& dy) {
                                                 return Grads{dy, ones({5})};
                                             },
                                             [](const Saved& saved, const Tensor& dy) {
                                                 return Grads{saved[1], dy};
                                             },
                                             [](const Saved& saved, const Tensor& dy) {
                                                 return Grads{saved.needs_input_grad(2) ? dy : dy, dy};
                                             }};
             for (const Vjp& vjp : rules) c.refuses(state, [&] { rule(vjp).backward(); });
             Tensor saved = ones({2});
             const Tensor late = sum(a * saved);
             saved += 1;
             c.refuses(state, [&] { late.backward(); });
             const Tensor once = sum(a * b);
             c.changes(state, [&] { once.backward(); });
             c.refuses(state, [&] { once.backward(); });
             c.refuses(state, [&] {
                 (void)grad({sum(a * b)}, {a, b}, {},
                            {.ready = [](std::size_t, const Tensor&) { throw Stop(); }});
             });
         }},
        {"batch_norm",
         [](Check& c) {
             Tensor mean = zeros({3}), var = ones({3}), wide = zeros({1}).expand({3}), w = ones({3}),
                    b = zeros({3});
             const Tensor x = randn({4, 3}, default_rng());
             const auto norm = [&](const Tensor& input, Tensor& m, Tensor& v, const BatchNormOptions& o) {
                 (void)batch_norm(input, {m, v}, w, b, o);
             };
             const BatchNormOptions training{.training = true};
             c.refuses(watch(mean, var), [&] { norm(ones({4, 2}), mean, var, training); });
             c.refuses(watch(mean, var), [&] { norm(ones({1, 3}), mean, var, training); });
             c.refuses(watch(mean, var), [&] { norm(x.to(float64), mean, var, training); });
             c.refuses(watch(mean, wide), [&] { norm(x, mean, wide, training); });
             c.refuses(watch(wide, var), [&] { norm(x, wide, var, training); });
             c.changes(watch(mean, var), [&] { norm(x, mean, var, training); });
         }},
        {"append_utf8 displayed from_chars",
         [](Check& c) {
             std::string text = "a";
             c.changes(watch(text), [&] { append_utf8(text, U'é'); });
             ++c.refusals;  // they refuse nothing: read and displayed return what they could not read
         }},
    };
}

}  // namespace unchanged
