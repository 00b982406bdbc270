// Every Weft expression of docs/dictionary.md and docs/dictionary_jax.md with its result. The exit code is 1 if
// a result differs.
#include <weft/weft.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iostream>
#include <sstream>
#include <type_traits>

using namespace weft;

namespace {

int compared = 0, wrong = 0;

void holds(bool right, const std::string& what) {
    ++compared;
    if (!right) std::cout << "not so, number " << compared << ": " << what << "\n", ++wrong;
}

// The same shape, and the same values to six digits.
void same(const Tensor& found, const Nested& expected) {
    const NoGrad off;
    const Tensor a = found.detach().to(float64), b = tensor(expected, float64);
    const bool fits = a.shape() == b.shape();
    holds(fits && all(abs(a - b) <= 1e-5), "found " + a.str() + ", expected " + b.str());
}
void same(const Tensor& found, const Tensor& expected) {
    holds(allclose(found, expected, 1e-5, 1e-5), "found " + found.str() + ", expected " + expected.str());
}
void shaped(const Tensor& found, const Shape& expected) {
    holds(found.shape() == expected, "found " + found.shape().str() + ", expected " + expected.str());
}

// What the tables call x, y, v, t, at, ids and seen.
const Tensor x = tensor({{1.0, 2, 3}, {4, 5, 6}});  // (2, 3)
const Tensor y = tensor({{6.0, 5, 4}, {3, 2, 1}});  // (2, 3)
const Tensor v = tensor({1.0, 2, 3});               // (3,)
const Tensor t = arange(0, 24).reshape(2, 3, 4);    // (2, 3, 4)
const Tensor ids = tensor({1, 0});                  // (2,)
const Tensor at = tensor({{2, 0}, {1, 1}});         // (2, 2)
const Tensor seen = tril(ones({3, 3})) == 1;        // (3, 3), bool
const std::vector<float> numbers = {1, 2, 3, 4, 5, 6};

void making() {
    same(zeros({2, 3}), {{0, 0, 0}, {0, 0, 0}});
    same(zeros(5), {0, 0, 0, 0, 0});
    same(ones({2, 3}), {{1, 1, 1}, {1, 1, 1}});
    same(full({2, 3}, 7), {{7, 7, 7}, {7, 7, 7}});
    same(zeros_like(x), {{0, 0, 0}, {0, 0, 0}});
    same(eye(2), {{1, 0}, {0, 1}});
    same(eye(2, 3), {{1, 0, 0}, {0, 1, 0}});
    same(tensor({{1.0, 2}, {3, 4}}), {{1, 2}, {3, 4}});
    same(tensor(3.0), 3.0);
    same(tensor({1, 0}), {1, 0});
    same(tensor(numbers), {1, 2, 3, 4, 5, 6});
    same(from_vector(numbers, {2, 3}), {{1, 2, 3}, {4, 5, 6}});
    same(arange(4), {0, 1, 2, 3});
    same(arange(0, 1, 0.25), {0, 0.25, 0.5, 0.75});
    same(x.to(float64), {{1, 2, 3}, {4, 5, 6}});
    same(x.to(int64), {{1, 2, 3}, {4, 5, 6}});
    same(x.clone(), {{1, 2, 3}, {4, 5, 6}});
}

void looking() {
    holds(x.shape() == Shape{2, 3}, "shape");
    holds(x.size(0) == 2, "size");
    holds(x.shape()[-2] == 2, "negative axis");
    holds(x.dim() == 2, "dim");
    holds(x.numel() == 6, "numel");
    holds(x.dtype() == float32, "dtype");
    holds(x.strides() == Strides{3, 1}, "strides");
    holds(x.T().is_contiguous() == false, "is_contiguous");
    holds(x.shares_storage(x.T()), "shares_storage");
    holds(x.sum().item() == 21, "item");
    holds(x.at(1, 2) == 6, "at");
    holds(x.to_vector<float>() == numbers, "to_vector");
    std::ostringstream out;
    out << x.shape();
    holds(out.str() == "(2, 3)", "shape printed");
    out.str("");
    out << x;
    holds(out.str() == x.str() && x.str() == "[[1. 2. 3.]\n [4. 5. 6.]]", "str");
}

void shapes() {
    same(x.reshape(3, 2), {{1, 2}, {3, 4}, {5, 6}});
    same(x.reshape(-1), {1, 2, 3, 4, 5, 6});
    same(x.reshape(y.shape()), {{1, 2, 3}, {4, 5, 6}});
    same(x.view(3, 2), {{1, 2}, {3, 4}, {5, 6}});
    same(x.T(), {{1, 4}, {2, 5}, {3, 6}});
    shaped(t.transpose(1, 2), {2, 4, 3});
    shaped(t.permute(2, 0, 1), {4, 2, 3});
    shaped(x.unsqueeze(0), {1, 2, 3});
    shaped(x.unsqueeze(-1), {2, 3, 1});
    same(x.slice(0, 0, 1).squeeze(0), {1, 2, 3});
    same(v.expand(2, 3), {{1, 2, 3}, {1, 2, 3}});
    same(x.T().contiguous(), {{1, 4}, {2, 5}, {3, 6}});
    same(cat({x, y}, 0), {{1, 2, 3}, {4, 5, 6}, {6, 5, 4}, {3, 2, 1}});
    shaped(stack({x, y}, 0), {2, 2, 3});
    same(vstack({v, x}), {{1, 2, 3}, {1, 2, 3}, {4, 5, 6}});
    same(hstack({v, v}), {1, 2, 3, 1, 2, 3});
    same(split(v, 2)[0], {1, 2});          // parts of size 2: sizes 2 and 1
    same(split(v, {1, 2}, 0)[1], {2, 3});  // sizes 1 and 2
    same(chunk(v, 3)[1], {2});             // 3 parts
    same(flip(x, 1), {{3, 2, 1}, {6, 5, 4}});
}

void indexing() {
    same(x[1], {4, 5, 6});
    same(x[-1], {4, 5, 6});
    same(x.select(1, 0), {1, 4});
    same(x.slice(1, 1, 3), {{2, 3}, {5, 6}});
    same(x.slice(1, 0, 3, 2), {{1, 3}, {4, 6}});
    double total = 0;
    for (const Tensor& row : x) total += row.sum().item();
    holds(total == 21, "rows");
    same(x[ids], {{4, 5, 6}, {1, 2, 3}});
    same(index_select(x, 1, ids), {{2, 1}, {5, 4}});
    same(x[x > 4], {5, 6});
    same(embedding(x, ids), {{4, 5, 6}, {1, 2, 3}});
    same(x.gather(1, at), {{3, 1}, {5, 5}});
    same(scatter_add({2, 3}, 1, at, ones({2, 2})), {{1, 0, 1}, {0, 2, 0}});
    same(scatter(x, 1, at.slice(1, 0, 1), 7), {{1, 2, 7}, {4, 7, 6}});
    same(scatter(x, 1, at, -ones({2, 2}))[0], {-1, 2, -1});
    same(where(x > y, x, y), {{6, 5, 4}, {4, 5, 6}});
    same(where(x > 3, -1e9, x), {{1, 2, 3}, {-1e9, -1e9, -1e9}});
    same(x.masked_fill(x > 3, 0), {{1, 2, 3}, {0, 0, 0}});
    same(triu(x, 1), {{0, 2, 3}, {0, 0, 6}});
    same(tril(x), {{1, 0, 0}, {4, 5, 0}});
}

void arithmetic() {
    same(x + y, {{7, 7, 7}, {7, 7, 7}});
    same(2 * x - v, {{1, 2, 3}, {7, 8, 9}});
    same(x / 2, {{0.5, 1, 1.5}, {2, 2.5, 3}});
    same(pow(x, 2), {{1, 4, 9}, {16, 25, 36}});
    same(exp(v), {2.718282, 7.389056, 20.085537});
    same(exp2(v), {2.0, 4.0, 8.0});
    same(log(v), {0, 0.693147, 1.098612});
    same(log2(v), {0.0, 1.0, 1.584963});
    same(log10(v), {0.0, 0.30103, 0.477121});
    same(sqrt(v), {1, 1.414214, 1.732051});
    same(tanh(v), {0.761594, 0.964028, 0.995055});
    same(sin(v), {0.841471, 0.909297, 0.141120});
    same(cos(v), {0.540302, -0.416147, -0.989992});
    same(tan(v), {1.557408, -2.18504, -0.142547});
    same(sinh(v), {1.175201, 3.62686, 10.017875});
    same(cosh(v), {1.543081, 3.762196, 10.067662});
    same(abs(-v), {1, 2, 3});
    same(sign(v - 2), {-1, 0, 1});
    same(sigmoid(v), {0.731059, 0.880797, 0.952574});
    same(relu(v - 2), {0, 0, 1});
    same(erf(v), {0.842701, 0.995322, 0.999978});
    same(gelu(v), {0.841345, 1.954500, 2.995950});
    same(gelu(v, Gelu::tanh), {0.841192, 1.954598, 2.996363});
    same(x.clamp(2, 5), {{2, 2, 3}, {4, 5, 5}});
    same(maximum(x, y), {{6, 5, 4}, {4, 5, 6}});
    same(maximum(x, 4.0), {{4, 4, 4}, {4, 5, 6}});
    same(x == y, {{0, 0, 0}, {0, 0, 0}});
    same(x > 1 && x < 4, {{0, 1, 1}, {0, 0, 0}});
    same(x < 2 || x > 5, {{1, 0, 0}, {0, 0, 1}});
    same(!(x > 1), {{1, 0, 0}, {0, 0, 0}});
    same(isfinite(log(v - 1)), {0, 1, 1});
    Tensor z = x.clone();
    z += y;
    same(z, {{7, 7, 7}, {7, 7, 7}});
    z *= 2;
    z.add_(y, 0.5);
    same(z, {{17, 16.5, 16}, {15.5, 15, 14.5}});
    z.fill_(0);
    z.copy_(y);
    same(z, {{6, 5, 4}, {3, 2, 1}});
    z[0].copy_(v);
    z[0] += v;
    z.select(1, 0).fill_(5);
    z[1][2].fill_(7);
    same(z, {{5, 4, 6}, {5, 2, 7}});
}

void reductions() {
    same(x.sum(), 21.0);
    same(x.sum(1), {6, 15});
    same(x.sum(1, keepdim), {{6}, {15}});
    same(x.sum({0, 1}), 21.0);
    same(x.mean(-1), {2, 5});
    same(x.var(1), {1, 1});
    same(x.var(1, false, 0), {0.666667, 0.666667});
    same(x.max(), 6.0);
    same(x.max(1).values, {3, 6});
    same(x.max(1).indices, {2, 2});
    same(x.argmax(1), {2, 2});
    holds(all(x > 0), "all");
    holds(any(x > 5), "any");
    same(x.cumsum(1), {{1, 3, 6}, {4, 9, 15}});
    same(v.softmax(0), {0.090031, 0.244728, 0.665241});
    same(v.log_softmax(-1), {-2.407606, -1.407606, -0.407606});
    same(logsumexp(x, 1), {3.407606, 6.407606});
    same(logaddexp(x, y)[0], {6.006715, 5.048587, 4.313262});
}

void products() {
    same(x.matmul(y.T()), {{28, 10}, {73, 28}});
    same(matmul(v, v), 14.0);
    same(matmul(x, v), {14, 32});
    shaped(t.matmul(t.transpose(-2, -1)), {2, 3, 3});
    same(linear(x, y, tensor({1.0, 2})), {{29, 12}, {74, 30}});
    same(layer_norm(x, v), {{-1.224736, 0, 3.674207}, {-1.224736, 0, 3.674207}});
}

Tensor square(const Tensor& x) {
    Tensor y;
    {
        NoGrad off;
        y = x * x;
    }
    return record("square", y, {x}, {x},
                  [](const Saved& saved, const Tensor& dy) { return Grads{2 * saved[0] * dy}; });
}

void composed() {
    same(rsqrt(v), {1, 0.707107, 0.57735});
    same(log1p(v), {0.693147, 1.098612, 1.386294});
    same(expm1(v), {1.718282, 6.389056, 19.085537});
    same(floor(x / 2), {{0, 1, 1}, {2, 2, 3}});
    same(round(x / 2), {{0, 1, 2}, {2, 2, 3}});
    same(isnan(log(v - 2)).to(int64), {1, 0, 0});
    same(isinf(log(v - 1)).to(int64), {1, 0, 0});
    same(silu(v), {0.731059, 1.761594, 2.857723});
    same(softplus(v), {1.313262, 2.126928, 3.048587});
    same(logsigmoid(v), {-0.313262, -0.126928, -0.048587});
    same(leaky_relu(v - 2, 0.1), {-0.1, 0, 1});
    same(elu(v - 2), {-0.632121, 0, 1});
    holds(allclose(x, x + 1e-7), "all close");
    same(isclose(v, tensor({1.0, 2, 4})).to(int64), {1, 1, 0});
    same(all(x > 1, 1).to(int64), {0, 1});
    same(any(x > 5, 1).to(int64), {0, 1});
    same(x.std(1), {1, 1});
    same(x.norm(), 9.539392);
    same(x.norm(1, 1), {6, 15});
    same(x.prod(), 720.0);
    same(x.prod(1), {6, 120});
    same(cumprod(x, 1), {{1, 2, 6}, {4, 20, 120}});
    same(y.argmin(1), {2, 2});
    same(y.argmax(), 0.0);
    same(y.argmin(), 5.0);
    same(y.sort(1).values, {{4, 5, 6}, {1, 2, 3}});
    same(argsort(y, 1), {{2, 1, 0}, {2, 1, 0}});
    same(x.topk(2).values, {{3, 2}, {6, 5}});
    same(unique(at).values, {0, 1, 2});
    same(unique(at).counts, {1, 2, 1});
    same(full_like(x, 7), {{7, 7, 7}, {7, 7, 7}});
    same(linspace(0, 1, 5), {0, 0.25, 0.5, 0.75, 1});
    same(one_hot(ids, 3), {{0, 1, 0}, {1, 0, 0}});
    same(repeat_interleave(v, 2), {1, 1, 2, 2, 3, 3});
    same(repeat_interleave(x, at[0], 0), {{1, 2, 3}, {1, 2, 3}});
    same(t.flatten(1),
         {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}});
    same(movedim(repeat(v, {2, 1}), 0, 1), {{1, 1}, {2, 2}, {3, 3}});
    same(pad(x, {1, 0}, 7), {{7, 1, 2, 3}, {7, 4, 5, 6}});
    same(roll(x, 1, 1), {{3, 1, 2}, {6, 4, 5}});
    same(diag(v), {{1, 0, 0}, {0, 2, 0}, {0, 0, 3}});
    same(diagonal(t, 0, 1, 2), {{0, 5, 10}, {12, 17, 22}});
    same(trace(x), 6.0);
    same(outer(v, v), {{1, 2, 3}, {2, 4, 6}, {3, 6, 9}});
    same(dot(v, v), 14.0);
    same(tensordot(x, y), 56.0);
    same(tensordot(x, y, {{1}, {1}}), {{28, 10}, {73, 28}});
    same(einsum("ij,kj->ik", {x, y}), {{28, 10}, {73, 28}});
    same(einsum("...ij,...kj->...ik", {t, x.matmul(t)}), t.matmul(x.matmul(t).transpose(-2, -1)));
    same(nonzero(x > 4), {{1, 1}, {1, 2}});
    same(masked_select(x, v > 2), {3, 6});
    same(nll_loss(x, at.select(1, 0)), -4.0);
    same(cross_entropy(x, ids, {.weight = v, .label_smoothing = 0.1}), 1.710082);
    same(binary_cross_entropy_with_logits(x, ones({2, 3})), 0.08602);
    same(binary_cross_entropy(x / 10, y / 10), 0.872823);
    same(kl_div(log(v), v[tensor({1, 0, 2})], Reduction::sum), 0.693147);
    same(l1_loss(x, y), 3.0);
    same(huber_loss(x, y), 2.5);
    same(smooth_l1_loss(x, y, 2), 2.083333);
    same(mse_loss(x, y, Reduction::none), {{25, 9, 1}, {1, 9, 25}});
    same(unfold(t.unsqueeze(0), {.kernel_height = 2, .kernel_width = 2})[0][0], {0, 1, 2, 4, 5, 6});
    same(fold(ones({1, 4, 6}), 3, 4, {.kernel_height = 2, .kernel_width = 2})[0][0],
         {{1, 2, 2, 1}, {2, 4, 4, 2}, {1, 2, 2, 1}});
    same(conv2d(t.unsqueeze(0), ones({1, 2, 2, 2}))[0][0], {{68, 76, 84}, {100, 108, 116}});
    same(max_pool2d(t.unsqueeze(0), {.kernel_height = 2, .kernel_width = 2})[0][0], {{5, 7}});
    same(avg_pool2d(t.unsqueeze(0), {.kernel_height = 2, .kernel_width = 2})[0][0], {{2.5, 4.5}});
    same(batch_norm(x, {}, {}, {}, {.training = true}),
         {{-0.999998, -0.999998, -0.999998}, {0.999998, 0.999998, 0.999998}});
}

void gradients() {
    Tensor w = tensor({1, 2, 3}, float64).requires_grad_();
    Tensor loss = sum(w * w);
    loss.backward();
    same(w.grad(), {2, 4, 6});
    w.zero_grad();
    holds(!w.grad().defined(), "zero_grad");
    {
        NoGrad off;
        holds(!(w * 2).requires_grad(), "NoGrad");
    }
    holds(!w.detach().requires_grad(), "detach");
    holds(w.is_leaf(), "is_leaf");
    loss = sum(w * w * w);
    const Tensor g = grad({loss}, {w}, {}, {.create_graph = true})[0];
    same(g, {3, 12, 27});
    same(grad({sum(g * g)}, {w})[0], {36, 288, 972});
    const auto number = w.register_hook([](const Tensor& g) { return 2 * g; });
    sum(w).backward();
    same(w.grad(), {2, 2, 2});
    w.remove_hook(number);
    const check::Function f = [](const std::vector<Tensor>& inputs) { return square(inputs[0]); };
    holds(check::gradcheck("square", f, {w}).passed, "gradcheck");
    holds(check::gradgradcheck("square", f, {w}).passed, "gradgradcheck");
}

struct Scale : nn::Module {
    nn::Parameter weight = register_parameter("weight", ones({3}));
    nn::Buffer seen = register_buffer("seen", zeros({3}));
    Tensor operator()(const Tensor& x) const { return x * weight; }
};

void modules() {
    manual_seed(1);
    nn::Sequential model{nn::Linear(3, 4), relu, nn::Dropout(0.1), nn::Linear(4, 2)};
    shaped(model(x), {2, 2});
    holds(model.parameters().size() == 4, "parameters");
    holds(model.named_parameters()[0].first == "0.weight", "named_parameters");
    holds(model.num_parameters() == 26, "num_parameters");
    holds(model.state_dict().size() == 4, "state_dict");
    model.load_state_dict(model.state_dict());
    model.eval();
    model.train();
    model.to(float64);
    model.to(float32);
    holds(Scale().named_buffers().size() == 1, "buffer");
    shaped(nn::Linear(3, 4, false)(x), {2, 4});
    shaped(nn::Embedding(10, 4)(ids), {2, 4});
    shaped(nn::LayerNorm(3)(x), {2, 3});
    shaped(nn::Conv2d(1, 6, 5, {.padding = 2})(zeros({2, 1, 4, 4})), {2, 6, 4, 4});
    shaped(nn::BatchNorm(6)(zeros({2, 6, 4, 4})), {2, 6, 4, 4});
    shaped(nn::MultiHeadAttention(8, 2, {.bias = true})(zeros({1, 3, 8})), {1, 3, 8});
    shaped(nn::EncoderBlock(8, 2, {.bias = true})(zeros({1, 3, 8})), {1, 3, 8});

    shaped(nn::init::kaiming_normal_(nn::Linear(3, 4).weight, {.nonlinearity = nn::init::Nonlinearity::relu}),
           {4, 3});
    shaped(nn::init::xavier_uniform_(nn::Linear(3, 4).weight), {4, 3});
    shaped(nn::init::orthogonal_(nn::Linear(3, 4).weight), {4, 3});
    same(nn::init::zeros_(nn::Linear(3, 4).bias), {0, 0, 0, 0});

    const training::TensorDataset data(x, tensor({2, 0}));
    for (const auto& [a, b] : training::DataLoader(data, {.batch_size = 2, .shuffle = true}))
        same(sum(a), 21.0), same(sum(b), 2);
    same(training::pad_sequence({v, v.slice(0, 0, 2)}).values, {{1, 2, 3}, {1, 2, 0}});

    const Tensor logits = x, targets = tensor({2, 0});
    same(mse_loss(x, y), 11.666667);
    same(cross_entropy(logits, targets), 1.407606);
    optim::SGD sgd(model, {.lr = 0.1, .momentum = 0.9});
    optim::Adam adam(model, {.lr = 1e-3});
    optim::AdamW optimizer(model, {.lr = 1e-3, .weight_decay = 0.1});
    optim::AdamW groups({{nn::Linear(3, 4), {.lr = 1e-5}}, {nn::Linear(4, 2), {.lr = 1e-3}}});
    optim::Muon muon({ones({3, 2}).requires_grad_()}, {.lr = 0.02});
    groups.set_lr(1, 1e-4);
    holds(groups.lr(0) == 1e-5 && groups.lr(1) == 1e-4, "groups");
    optimizer.zero_grad();
    const Tensor loss = cross_entropy(model(x), tensor({1, 0}));
    loss.backward();
    optim::clip_grad_norm(model, 1.0);
    optimizer.step();
    optimizer.set_lr(1e-4);
    holds(optimizer.steps() == 1, "steps");
    const std::int64_t step = 20;
    same(tensor(optim::step_lr(step, {.lr = 0.1, .step_size = 30})), 0.1);
    same(tensor(optim::linear_lr(step, {.lr = 0.1, .start_factor = 0.1, .total_iters = 10})), 0.1);
    same(tensor(optim::one_cycle_lr(step, {.max_lr = 0.1, .total_steps = 100})), 0.078937);
    io::save(model, "model.safetensors");
    io::load(model, "model.safetensors");
    io::save_safetensors("model.safetensors", model.state_dict());
    model.load_state_dict(io::load_safetensors("model.safetensors").tensors);
}

void files() {
    io::save_npy("x.npy", x);
    same(io::load_npy("x.npy"), {{1, 2, 3}, {4, 5, 6}});
    io::save_npz("all.npz", {{"x", x}, {"y", y}});
    same(io::load_npz("all.npz")[1].second, {{6, 5, 4}, {3, 2, 1}});
}

void draws() {
    manual_seed(1);
    const Tensor first = randn({2, 3});
    Rng rng(1);
    same(randn({2, 3}, rng) - first, {{0, 0, 0}, {0, 0, 0}});
    shaped(rand({2, 3}, rng), {2, 3});
    shaped(randint(0, 10, {2, 3}, rng), {2, 3});
    shaped(dropout(x, 0.5), {2, 3});
    set_num_threads(2);
    holds(get_num_threads() == 2, "threads");
    set_float32_matmul_precision("medium");
    holds(get_float32_matmul_precision() == "medium", "precision");
    set_float32_matmul_precision("highest");
}

void processes() {
    dist::Group group;
    holds(group.rank() == 0, "rank");
    holds(group.size() == 1, "size");
    same(group.all_reduce(x), {{1, 2, 3}, {4, 5, 6}});
    same(group.all_gather(x)[0], {{1, 2, 3}, {4, 5, 6}});
    Tensor z = x.clone();
    group.broadcast(z, 0);
    same(z, x);
    group.barrier();
    const nn::Linear model(3, 2);
    dist::DataParallel parallel(model, group, {.grains = 2});
    const auto loss_of = [&](std::int64_t grain) { return sum(model(x.slice(0, grain, grain + 1))); };
    holds(std::abs(parallel.backward(loss_of) - sum(model(x)).item() / 2) < 1e-5, "the mean over grains");
    same(model.weight.grad(), {{2.5, 3.5, 4.5}, {2.5, 3.5, 4.5}});
}

void attention() {
    const Tensor q = t.slice(2, 0, 2) / 10, k = t.slice(2, 1, 3) / 10, v = t.slice(2, 2, 4);  // (2, 3, 2)
    Rng rng(1);
    same(scaled_dot_product_attention(q, k, v),
         {{{6.075414, 7.075415}, {6.671593, 7.671593}, {7.235165, 8.235165}},
          {{19.743784, 20.743784}, {20.184654, 21.184654}, {20.55439, 21.55439}}});
    same(scaled_dot_product_attention(q, k, v, {.mask = Mask::causal()}),
         {{{2, 3}, {4.253192, 5.253192}, {7.235165, 8.235165}},
          {{14, 15}, {16.871042, 17.871042}, {20.55439, 21.55439}}});
    same(scaled_dot_product_attention(q, k, v, {.mask = Mask::allowed(seen)}),
         {{{2, 3}, {4.253192, 5.253192}, {7.235165, 8.235165}},
          {{14, 15}, {16.871042, 17.871042}, {20.55439, 21.55439}}});
    same(scaled_dot_product_attention(q, k, v, {.mask = Mask::blocked(!seen)}),
         {{{2, 3}, {4.253192, 5.253192}, {7.235165, 8.235165}},
          {{14, 15}, {16.871042, 17.871042}, {20.55439, 21.55439}}});
    const Tensor ids = tensor({0, 0, 1}, int64);
    same(scaled_dot_product_attention(q, k, v, {.mask = Mask::documents(ids)}),
         {{{4.028283, 5.028283}, {4.253192, 5.253192}, {10, 11}},
          {{16.679047, 17.679047}, {16.871042, 17.871042}, {22, 23}}});
    same(scaled_dot_product_attention(q, k, v, {.bias = zeros({3, 3})}),
         {{{6.075414, 7.075415}, {6.671593, 7.671593}, {7.235165, 8.235165}},
          {{19.743784, 20.743784}, {20.184654, 21.184654}, {20.55439, 21.55439}}});
    same(scaled_dot_product_attention(q, k, v, {.scale = 0.5}),
         {{{6.05333, 7.05333}, {6.477426, 7.477426}, {6.889625, 7.889624}},
          {{19.280628, 20.280628}, {19.643208, 20.643208}, {19.972622, 20.972624}}});
    shaped(scaled_dot_product_attention(q, k, v, {.dropout = 0.1, .rng = &rng}), {2, 3, 2});
    same(sum(scaled_dot_product_attention_with_weights(q, k, v).weights, -1), {{1, 1, 1}, {1, 1, 1}});

    const nn::MultiHeadAttention attend(8, 2, {.bias = true});
    const Tensor tokens = randn({2, 3, 8}, rng);  // (B, T, d_model)
    shaped(attend(tokens), {2, 3, 8});
    shaped(attend(tokens, Mask::blocked(!seen)), {2, 3, 8});
    shaped(attend(tokens, Mask::padding({3, 2})), {2, 3, 8});
    const Tensor padded = tensor({{0, 0, 0}, {0, 0, 1}}, boolean);
    shaped(attend(tokens, Mask::keys(!padded)), {2, 3, 8});
    shaped(attend(tokens, Mask::padding({3, 2}) | Mask::causal()), {2, 3, 8});
    shaped(attend.with_weights(tokens).weights, {2, 2, 3, 3});
}

template <class Error>
void refused(const char* what, const std::function<Tensor()>& f) {
    try {
        (void)f();
        holds(false, what);
    } catch (const Error&) {
        holds(true, what);
    }
}

// x[0] = y does not compile.
static_assert(!std::is_assignable_v<decltype(x[0]), const Tensor&>);
// Neither does if (x == y).
static_assert(!std::is_constructible_v<bool, Tensor>);
static_assert(std::is_same_v<decltype(all(x == y)), bool> && std::is_same_v<decltype(all(x == y, 1)), Tensor>);

void traps() {
    holds(split(arange(7), 3).size() == 3 && chunk(arange(7), 3)[0].numel() == 3, "split, chunk");
    const Tensor none = zeros({2, 3}) == 0, two = ones({2, 2}), three = ones({3, 2});
    same(Mask::causal().materialize(1, 1, 2, 3)[0][0], {{0, 0, 1}, {0, 0, 0}});
    same(scaled_dot_product_attention(two, three, three, {.mask = Mask::blocked(none)}), {{0, 0}, {0, 0}});
    Tensor bad = three.clone();
    bad[2].fill_(std::nan(""));
    same(scaled_dot_product_attention(two, bad, bad, {.mask = Mask::causal()})[0], {1, 1});
    refused<ShapeError>("view of x.T()", [] { return x.T().view(6); });

    holds(tensor({1, 2}).dtype() == int64 && tensor({1.0, 2}).dtype() == float32, "types of braces");
    holds(tensor({1, 2.5}).dtype() == float32 && tensor({true, false}).dtype() == boolean, "types of braces");
    holds(zeros(2).dtype() == float32 && arange(4).dtype() == int64 && arange(0, 4).dtype() == float32,
          "types");
    holds(tensor(std::vector<double>{1}).dtype() == float64, "a vector of doubles");
    holds(tensor(std::vector<int>{1}).dtype() == int64, "a vector of int");
    holds((ids * 2).dtype() == int64, "int64 times a whole number");
    refused<DTypeError>("ids * 0.5", [] { return ids * 0.5; });
    refused<DTypeError>("ids / 2", [] { return ids / 2; });
    refused<DTypeError>("softmax of integers", [] { return ids.softmax(0); });
    refused<DTypeError>("mean of integers", [] { return ids.mean(); });
    same(ids.to(float32) * 0.5, {0.5, 0});
    refused<DTypeError>("float32 + float64", [] { return x + x.to(float64); });
    holds((x + at.select(0, 0).sum()).dtype() == float32, "int64 + float32");
    holds(!any(ids == 0.5), "ids == 0.5");
    holds((x.to(bfloat16) + x.to(bfloat16)).dtype() == float32, "bfloat16 + bfloat16");
    refused<DTypeError>("exp of bfloat16", [] { return exp(x.to(bfloat16)); });
    refused<DTypeError>("sum of float16", [] { return sum(x.to(float16)); });
    refused<DTypeError>("a gradient of bfloat16", [] { return x.to(bfloat16).requires_grad_(); });
    refused<ValueError>("70000 as float16", [] { return tensor(70000.0).to(float16); });

    Tensor z = x.clone(), row = z[0];
    row = v * 10;
    same(z, {{1, 2, 3}, {4, 5, 6}});
    z[0] += v;
    z[0][1].fill_(5);
    z.slice(1, 0, 2)[1].fill_(0);
    same(z, {{2, 5, 6}, {0, 0, 6}});
    z.copy_(z.masked_fill(z > 4, 0));
    same(z, {{2, 0, 0}, {0, 0, 0}});
    Tensor chosen = x[x > 4];
    holds(!chosen.shares_storage(x) && !x[ids].shares_storage(x), "x[mask] and x[ids] are copies");
    refused<GraphError>("in place on a leaf", [] { return zeros(2).requires_grad_() += 1; });

    const auto written = [](bool bumped) {
        Tensor w = tensor({1.0, 2}).requires_grad_();
        const Tensor loss = sum(w * w);
        w.data<float>()[0] = 10;
        if (bumped) w.bump_version();
        loss.backward();
        return w.grad();
    };
    same(written(false), {20, 4});
    refused<GraphError>("backward after bump_version", [&] { return written(true); });

    holds(x.shape()[-2] == 2 && x.size(-1) == 3, "negative axes");
    refused<IndexError>("shape()[-3]", [] { return full({1}, static_cast<double>(x.shape()[-3])); });
    refused<IndexError>("x[2]", [] { return x[2]; });
    holds(!ones(2).requires_grad_().grad().defined(), "grad before backward");
    same(layer_norm(x, ones(3))[0], (v - 2) / sqrt(v.var(0, false, 0) + 1e-5));
    refused<ShapeError>("T of rank 3", [] { return t.T(); });
    refused<ValueError>("a negative step", [] { return x.slice(1, 0, 3, -1); });
    refused<IndexError>("a negative id", [] { return embedding(x, tensor({-1})); });
    same(cross_entropy(zeros({2, 3, 5}), zeros({2, 3}).to(int64)), std::log(5));
    holds(!nn::MultiHeadAttention(8, 2).W_out.bias.defined(), "no biases");
    static_assert(std::is_same_v<decltype(ids.item()), double>);
}

// What docs/dictionary_jax.md has and docs/dictionary.md has not.
void of_jax() {
    same(x[x < 3], {1, 2});
    same(x.masked_fill(x < 3, 0), {{0, 0, 3}, {4, 5, 6}});
    same(x < 3, {{1, 1, 0}, {0, 0, 0}});
    same(x.mean(1, keepdim), {{2}, {5}});
    same(x.softmax(-1), stack({v.softmax(0), v.softmax(0)}));
    same(repeat(v, {2, 1}), {{1, 2, 3}, {1, 2, 3}});
    Rng rng(1);
    shaped(randperm(6), {6});
    shaped(multinomial(x, 4, rng, true), {2, 4});

    const Tensor v64 = v.to(float64);
    Tensor w = tensor({1, 2, 3}, float64).requires_grad_();
    Tensor loss = sum(w * w);
    holds(loss.item() == 14, "value");
    same(grad({sum(v64 * w)}, {w})[0], {1, 2, 3});
    const auto squared = [](const Tensor& w) { return w * w; };
    const auto back = [&](const Tensor& u) { return vjp(squared, w, u).second; };
    same(back(v64), {2, 8, 18});
    same(vjp(squared, w, v64).second, {2, 8, 18});
    same(jvp(squared, w, v64).second, {2, 8, 18});
    same(jacobian(squared, w), {{2, 0, 0}, {0, 4, 0}, {0, 0, 6}});
    same(jacobian(squared, w, {.strategy = Strategy::forward_mode}), {{2, 0, 0}, {0, 4, 0}, {0, 0, 6}});
    loss = sum(w * w * w);
    const Tensor g = grad({loss}, {w}, {}, {.create_graph = true})[0];
    const auto cubed = [](const Tensor& w) { return sum(w * w * w); };
    same(hvp(cubed, w, v64).second, {6, 24, 54});
    same(hessian(cubed, w), {{6, 0, 0}, {0, 12, 0}, {0, 0, 18}});
    const auto doubled = [](const Saved&, const Tensor& dy) { return Grads{dy + dy}; };
    same(record_symmetric("doubled", v64 + v64, {w}, {}, doubled), {2, 4, 6});
    same(grad({sum(record("doubled", v64 + v64, {w}, {}, once_differentiable(doubled)))}, {w})[0], {2, 2, 2});

    nn::Linear layer(3, 4);
    shaped(layer(x), {2, 4});
    holds(layer.parameters().size() == 2 && layer.num_parameters() == 16, "parameters");
    shaped(layer.weight.T(), {3, 4});
    holds(layer.named_parameters()[1].first == "bias", "named_parameters");
    holds(layer.summary().find("weight") != std::string::npos, "summary");
    same(rms_norm(x, v, 1e-5), x * v / sqrt(mean(x * x, -1, keepdim) + 1e-5));
    nn::Sequential model{nn::Linear(3, 4), relu, nn::Linear(4, 2)};
    const Tensor w0 = randn({3, 4}, rng), w2 = randn({4, 2}, rng), b0 = randn(4, rng), b2 = randn(2, rng);
    io::save_npz(
        "model.npz",
        {{"layers_0/kernel", w0}, {"layers_0/bias", b0}, {"layers_2/kernel", w2}, {"layers_2/bias", b2}});
    model.load_state_dict(nn::from_flax(io::load_npz("model.npz"), {{"layers_0", "0"}, {"layers_2", "2"}}));
    same(model(x), relu(x.matmul(w0) + b0).matmul(w2) + b2);
    nn::Dropout drop(0.1);
    drop.eval();
    same(drop(x), x);
    io::save(layer, "layer.safetensors");
    io::load(layer, "layer.safetensors");

    const Tensor targets = tensor({2, 0});
    same(nll_loss(x, targets), -3.5);
    optim::SGD plain(layer, {.lr = 0.1});
    optim::Adam adam(layer, {.lr = 1e-3});
    adam.zero_grad();
    mean(pow(layer(x), 2)).backward();
    optim::clip_grad_norm(layer, 1.0);
    const Tensor before = layer.weight.detach().clone();
    adam.step();
    same(abs(layer.weight - before), full({4, 3}, 1e-3));
    holds(adam.state_dict().size() >= 4, "state of Adam");
    same(tensor(optim::cosine_lr(50, {.lr = 0.1, .steps = 100})), 0.05);

    const Tensor qkv = arange(0, 72).reshape(2, 3, 12);  // (B, T, 3C)
    const Tensor tokens = arange(0, 48).reshape(2, 3, 8) / 10, memory = ones({2, 5, 8});
    same(qkv.chunk(3, -1)[0][0][1], {12, 13, 14, 15});
    const Tensor heads = nn::split_heads(tokens, 2);  // (B, H, T, d_k)
    same(heads[0][1][0], {0.4, 0.5, 0.6, 0.7});
    same(nn::merge_heads(heads), tokens);
    const nn::MultiHeadAttention attend(8, 2, {.bias = true});
    holds(attend.parameters().size() == 4, "parameters of attention");
    shaped(attend(tokens, memory, memory), {2, 3, 8});
    same(attend(tokens, Mask::causal())[0][0], attend(tokens.slice(1, 0, 1))[0][0]);
    holds(nn::MultiHeadAttention(8, 2, {.dropout = 0.1}).dropout == 0.1, "dropout of attention");
    nn::KeyValueCache cache;
    holds(cache.length() == 0, "an empty cache");
}

void names_of_the_sources() {
    Rng rng(1);
    const Tensor x = randn({2, 4, 12}), memory = randn({2, 5, 12});  // (B, T, C), (B, S, C)
    const nn::MultiHeadAttention attention(12, 3);
    const nn::Attention separate(12, 3, {.bias = true, .fused = false});
    const nn::CausalMultiHeadAttention causal(12, 3, {.max_seq_len = 4});
    holds(attention.d_model == 12 && attention.num_heads == 3, "d_model, num_heads");
    holds(attention.d_k == 4 && separate.d_v == 4 && causal.max_seq_len == 4, "d_k, d_v, max_seq_len");
    holds(x.size(0) == 2 && x.size(-2) == 4 && x.shape()[-2] == 4, "B, T");
    shaped(attention(x, memory, memory), {2, 4, 12});
    const auto [Y, weights] = causal.with_weights(x);
    same(causal(x), Y);
    const Tensor Q = x.matmul(separate.W_in[0].weight.T()) + separate.W_in[0].bias;  // (B, T, C)
    same(separate.W_in[0](x), Q);
    for (int i = 0; i < 3; ++i) {
        const Tensor W_i = separate.W_in[0].weight.T().slice(1, 4 * i, 4 * (i + 1));  // (C, d_k)
        const Tensor b_i = separate.W_in[0].bias.slice(0, 4 * i, 4 * (i + 1));        // (d_k,)
        same(x.matmul(W_i) + b_i, separate.project(x, x, x)[0].select(1, i));
    }
    const Tensor qkv = attention.W_qkv(x);  // (B, T, 3C)
    const Tensor q_full = qkv.chunk(3, -1)[0];
    const std::array<Tensor, 3> projected = attention.project(x, x, x);
    const Tensor q = projected[0], k = projected[1], v = projected[2];  // (B, H, T, d_k)
    same(nn::split_heads(q_full, 3), q);
    same(q_full.reshape(2, 4, 3, 4).permute(0, 2, 1, 3), q);
    shaped(nn::split_heads(x, 3), {2, 3, 4, 4});
    same(x.view(2, 4, 3, 4).permute(0, 2, 1, 3), nn::split_heads(x, 3));

    const Tensor C = q.matmul(k.transpose(-2, -1));  // (B, H, T, T)
    const double divisor = std::sqrt(attention.d_k);
    const Tensor scores = C / divisor;
    same(C * std::pow(attention.d_k, -0.5), scores);
    const Tensor blocked = triu(ones({4, 4}), 1) == 1;  // (T, T)
    same(causal.mask(), blocked);
    const Tensor C_masked = scores.masked_fill(blocked, -INFINITY);
    const Tensor expected = C_masked.softmax(-1).matmul(v);
    same((scores + causal.mask().to(float32) * -1e9).softmax(-1).matmul(v), expected);
    same(where(blocked, -1e9, scores).softmax(-1).matmul(v), expected);
    same(where(blocked.unsqueeze(0).unsqueeze(0), -1e9, scores).softmax(-1).matmul(v), expected);
    same(scaled_dot_product_attention(q, k, v, {.mask = Mask::blocked(blocked.expand(2, 4, 4))}), expected);
    same(scaled_dot_product_attention(q, k, v, {.mask = Mask::causal()}), expected);
    same(attention.with_weights(x).weights, scores.softmax(-1));
    same(sum(causal.with_weights(x).weights, -1), ones({2, 3, 4}));
    for (int i = 0; i < 3; ++i) {
        const Tensor heads = scaled_dot_product_attention(q, k, v);
        same(scores.select(1, i).softmax(-1).matmul(v.select(1, i)), heads.select(1, i));
        shaped(q.select(1, i), {2, 4, 4});
        const Tensor merged = nn::merge_heads(heads);
        same(merged.slice(2, 4 * i, 4 * (i + 1)), heads.select(1, i));
        same(attention.W_out(merged), attention(x));
        same(merged.matmul(attention.W_out.weight.T()), attention(x));
    }
    holds(separate.W_out.bias.defined(), "w_o with a bias");
    holds(nn::MultiHeadAttention(12, 3, {.bias = true}).W_qkv.bias.defined(), "W_qkv with a bias");
    const nn::EvalMode eval;
    holds(!attention.training() && attention.dropout == 0, "deterministic");
    holds(nn::AttentionConfig{.max_seq_len = 4}.max_seq_len == 4, "options");
    holds(!viz::tensor_story(attention, x).str().empty(), "story");
}

void false_friends() {
    manual_seed(1);
    refused<ValueError>("10 and 4 heads", [] { return nn::MultiHeadAttention(10, 4).W_out.weight; });
    holds(nn::head_dim(12, 3, "Name") == 4, "head_dim");
    const Tensor x = randn({2, 4, 12});  // (B, T, C)
    const nn::MultiHeadAttention attention(12, 3);
    refused<ShapeError>("T of four axes", [] { return zeros({2, 3, 4, 4}).T(); });
    const Tensor heads = nn::split_heads(x, 3);  // (B, H, T, d_k)
    holds(!allclose(heads.reshape(2, 4, 12), x), "reshape without permute");
    holds(allclose(heads.permute(0, 2, 1, 3).reshape(2, 4, 12), x), "reshape after permute");
    holds(!allclose(nn::Linear(attention.W_out.weight.detach().T())(x), attention.W_out(x)), "W_O transposed");
    const Tensor swapped =
        scaled_dot_product_attention(x.view(2, 4, 4, 3), x.view(2, 4, 4, 3), x.view(2, 4, 4, 3));
    shaped(swapped, {2, 4, 4, 3});  // no error: T = H
    const Tensor future = triu(ones({4, 4}), 1) == 1;
    const Tensor right = attention.with_weights(x, Mask::blocked(future)).weights[0][0];
    const Tensor wrong_way = attention.with_weights(x, Mask::allowed(future)).weights[0][0];
    holds(allclose(triu(right, 1), zeros({4, 4})) && allclose(tril(wrong_way), zeros({4, 4})), "polarity");
    const Tensor samples = cat({zeros({1, 4, 4}), ones({1, 4, 4}), zeros({1, 4, 4})}) == 1;  // (B, T, T), B = H
    const Tensor of_samples = Mask::blocked(samples).materialize(3, 3, 4, 4);                // (B, 1, T, T)
    same(broadcast_to(of_samples, {3, 3, 4, 4})[1], ones({3, 4, 4}) == 1);
    const Tensor of_all = Mask::blocked(future).materialize(2, 4, 4, 4);  // (1, 1, T, T), T = H
    same(broadcast_to(of_all, {2, 4, 4, 4})[1][3], future);
    const nn::CausalMultiHeadAttention causal(12, 3, {.max_seq_len = 3});
    refused<ShapeError>("T above max_seq_len", [&] { return causal(x); });
    refused<IndexError>("ids out of range", [&] { return index_select(x, 1, tensor({4})); });

    Tensor z = ones({2, 3}), same_memory = z;
    z[0].copy_(zeros(3));
    same(same_memory, {{0, 0, 0}, {1, 1, 1}});
    z += 1;
    same(same_memory, {{1, 1, 1}, {2, 2, 2}});
    Rng rng(1);
    const Rng::State state = rng.state();
    const Tensor first = randn(5, rng), second = randn(5, rng);
    rng.set_state(state);
    holds(!allclose(first, second) && allclose(first, randn(5, rng)), "the generator moves on");
    holds(ones(2).to(float64).dtype() == float64 && tensor({1, 2}).dtype() == int64, "64 bits");
    holds(nn::LayerNorm(3).eps == 1e-5 && nn::LayerNorm(3, {.eps = 1e-6}).eps == 1e-6, "eps");
    shaped(nn::Conv2d(1, 6, 5).weight, {6, 1, 5, 5});
    shaped(nn::Conv2d(1, 6, 5)(zeros({2, 1, 8, 8})), {2, 6, 4, 4});
    holds(nn::BatchNorm(6).momentum == 0.1, "momentum");
    holds(optim::AdamWOptions().weight_decay == 0.01, "weight decay");
    same(nn::LayerNorm(3).weight, {1, 1, 1});

    Tensor w = ones(2).requires_grad_();
    for (int i = 0; i < 2; ++i) sum(w * w).backward();
    same(w.grad(), {4, 4});
    refused<GraphError>("backward without a gradient", [&] { return (w * w).backward(), w; });
    {
        const NoGrad off;
        holds(!(w * 2).requires_grad(), "NoGrad");
    }
    struct Model : nn::Module {
        nn::Dropout drop = register_module("drop", nn::Dropout(0.5));
        nn::ModuleList<nn::Linear> layers = register_module("layers", nn::ModuleList<nn::Linear>());
        Model() { layers.append(nn::Linear(2, 2)); }
    } model;
    model.eval();
    holds(!model.drop.training() && model.parameters().size() == 2, "children");
    refused<ShapeError>("embedding, ids first", [] { return embedding(ids, weft::ones({2, 3})); });
    refused<IndexError>("target -1", [] { return cross_entropy(zeros({2, 3}), tensor({-1, 0})); });
}

}  // namespace

int main() {
    const auto folder = std::filesystem::temp_directory_path() / "weft-dictionary";
    std::filesystem::create_directories(folder);
    std::filesystem::current_path(folder);
    making();
    looking();
    shapes();
    indexing();
    arithmetic();
    reductions();
    products();
    composed();
    gradients();
    modules();
    files();
    draws();
    attention();
    processes();
    traps();
    of_jax();
    names_of_the_sources();
    false_friends();
    std::cout << compared - wrong << " of " << compared << " give what the dictionaries say\n";
    return wrong == 0 ? 0 : 1;
}
