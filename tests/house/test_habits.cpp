// What users of PyTorch write without thinking, as it compiles here.
#include <iterator>
#include <sstream>
#include <thread>

#include "catch.h"
#include "weft/weft.h"

using namespace weft;

namespace {

template <class T>
std::string printed(const T& value) {
    std::ostringstream out;
    out << value;
    return out.str();
}

bool same(const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() && a.dtype() == b.dtype() && allclose(a, b, 0, 0, true);
}

}  // namespace

TEST_CASE("sizes one by one, and a single size", "[habits]") {
    const Tensor x = arange(6);
    CHECK(x.reshape(2, 3).shape() == Shape{2, 3});
    CHECK(x.reshape(2, 3).view(3, 2).shape() == Shape{3, 2});
    CHECK(x.reshape(1, 2, 3).permute(2, 0, 1).shape() == Shape{3, 1, 2});
    CHECK(x.reshape(2, 3, 1).expand(2, -1, 4).shape() == Shape{2, 3, 4});
    CHECK(x.reshape(6).shape() == Shape{6});
    CHECK(x.reshape(2, 3).at(1, -1) == 5);
    CHECK(x.at(2) == 2);
    CHECK(zeros(5).shape() == Shape{5});
    CHECK(ones(2, int64).dtype() == int64);
    CHECK(x.reshape(2, 3).size() == Shape{2, 3});
    CHECK(x.reshape(2, 3).dim() == 2);
}

TEST_CASE("in place, by operators", "[habits]") {
    Tensor x = tensor({1.0, 2, 3}).to(float32);
    const Tensor y = tensor({2.0, 2, 2}).to(float32);
    x += y;
    x *= 2;
    x -= 1;
    x /= y;
    x -= y;
    x *= y;
    x += 1;
    x /= 2;
    CHECK(x.to_vector<float>() == std::vector<float>{1, 2, 3});
    x[0] += 5;
    CHECK(x.at(0) == 6);
    Tensor w = ones(2).requires_grad_();
    const std::string way_out = "call it under NoGrad, or compute a new tensor, as in x = x + y";
    CHECK(contains(message_of<GraphError>([&] { w += 1; }), way_out));
    CHECK(contains(message_of<GraphError>([&] { w /= 2; }), way_out));
    CHECK(w.to_vector<float>() == std::vector<float>{1, 1});
    Tensor ids = arange(3);
    ids += 2;
    CHECK(ids.to_vector<std::int64_t>() == std::vector<std::int64_t>{2, 3, 4});
    CHECK(contains(message_of<DTypeError>([&] { ids += 0.5; }), "int64 does not hold 0.5 exactly"));
    CHECK(contains(message_of<DTypeError>([&] { ids /= 2; }), "divide: takes float32 or float64, not int64"));
}

TEST_CASE("from vectors", "[habits]") {
    CHECK(same(tensor(std::vector<float>{1, 2}), tensor({1.0, 2}).to(float32)));
    CHECK(tensor(std::vector<double>{1, 2}).dtype() == float64);
    CHECK(same(tensor(std::vector{1, 2}), tensor({1, 2}, int64)));
    CHECK(same(from_vector(std::vector<bool>{true, false}), tensor({1, 0}, boolean)));
}

TEST_CASE("plain numbers in where, maximum and minimum", "[habits]") {
    const Tensor scores = tensor({1.0, 2, 3}).to(float64), mask = tensor({0, 1, 0}, boolean);
    CHECK(same(where(mask, -1e9, scores), tensor({1, -1e9, 3}, float64)));
    CHECK(same(where(mask, scores, 0), tensor({0, 2, 0}, float64)));
    CHECK(same(where(mask, 1, 0), tensor({0.0, 1, 0}).to(float32)));
    CHECK(same(maximum(scores, 2.0), tensor({2, 2, 3}, float64)));
    CHECK(same(minimum(scores, 2.0), tensor({1, 2, 2}, float64)));
    CHECK(contains(message_of<DTypeError>([] { where(ones(2, boolean), 0.5, arange(2)); }),
                   "where: int64 does not hold 0.5 exactly"));
    CHECK(
        contains(message_of<DTypeError>([] { maximum(arange(2), 0.5); }), "maximum: int64 does not hold 0.5"));
}

TEST_CASE("iteration over the first axis", "[habits]") {
    const Tensor x = arange(6).reshape(3, 2);
    double total = 0;
    for (const Tensor& row : x) total += row.sum().item();
    CHECK(total == 15);
    std::vector<double> sums;
    for (const Tensor& row : x) sums.push_back(row.sum().item());
    CHECK(sums == std::vector<double>{1, 5, 9});
    for (Tensor row : arange(4).reshape(2, 2)) row += 1;  // the temporary lives as long as the loop
    const Tensor y = zeros({2, 2});
    for (Tensor row : y) row += 1;  // views: y changes
    CHECK(same(y, ones({2, 2})));
    const std::vector<Tensor> rows(x.begin(), x.end());
    CHECK((rows.size() == 3 && same(rows[2], x[2])));
    int count = 0;
    for (const Tensor& row : zeros({0, 3})) count += row.rank();
    CHECK(count == 0);
    CHECK(contains(message_of<ShapeError>([] {
                       for (const Tensor& part : ones({})) static_cast<void>(part.item());
                   }),
                   "begin: a scalar has no axis to iterate over"));
}

TEST_CASE("masks and lists of indices in brackets", "[habits]") {
    const Tensor x = arange(6).reshape(3, 2);
    const Tensor positive = x[x > 0];  // (n,)
    CHECK(same(positive, tensor({1, 2, 3, 4, 5}, int64)));
    CHECK(same(x[tensor({1, 0, 1}, boolean)], tensor({{0, 1}, {4, 5}}, int64)));
    CHECK(same(x[tensor({2, -3}, int64)], tensor({{4, 5}, {0, 1}}, int64)));
    CHECK(x[zeros({2, 2}, int64)].shape() == Shape{2, 2, 2});
    CHECK(x[zeros({}, int64)].shape() == Shape{2});
    CHECK(contains(message_of<ShapeError>([&] { x[ones(2, boolean)]; }),
                   "[]: a mask of shape (2,) does not fit the first axes of (3, 2); the sizes must be equal"));
    CHECK(contains(message_of<ShapeError>([&] { x[ones({}, boolean)]; }), "[]: a mask of shape ()"));
    CHECK(contains(message_of<DTypeError>([&] { x[ones(2)]; }), "[]: the index must be int64, not float32"));
    CHECK(contains(message_of<IndexError>([&] { x[tensor({3}, int64)]; }), "is out of range for size 3"));
    const Tensor w = ones({3, 2}).requires_grad_();
    sum(w[tensor({2, 2}, int64)] * 2).backward();
    CHECK(same(w.grad(), tensor({{0.0, 0}, {0, 0}, {4, 4}}).to(float32)));
}

TEST_CASE("methods give what the functions of the same name give", "[habits]") {
    Rng rng(1);
    const Tensor x = rand({3, 4}, rng, float64) + 0.5, mask = x > 1;
    CHECK(same(x.sum(), sum(x)));
    CHECK(same(x.sum(1, keepdim), sum(x, 1, keepdim)));
    CHECK(same(x.mean(-1), mean(x, -1)));
    CHECK(same(x.var(0, false, 0), var(x, 0, false, 0)));
    CHECK(same(x.std({0, 1}), weft::std(x, {0, 1})));
    CHECK(same(x.norm(1, 0), norm(x, 1, 0)));
    CHECK(same(x.prod(1), prod(x, 1)));
    CHECK(same(x.prod(), prod(x)));
    CHECK(same(x.max(1, keepdim).values, max(x, 1, keepdim).values));
    CHECK(same(x.min(0).indices, min(x, 0).indices));
    CHECK(same(x.max(), max(x)));
    CHECK(same(x.min(), min(x)));
    CHECK(same(x.argmax(1), argmax(x, 1)));
    CHECK(same(x.argmax(), argmax(x)));
    CHECK(same(x.argmin(1, keepdim), argmin(x, 1, keepdim)));
    CHECK(same(x.argmin(), argmin(x)));
    CHECK(same(x.cumsum(1), cumsum(x, 1)));
    CHECK(same(x.sort(0, true).indices, sort(x, 0, true).indices));
    CHECK(same(x.topk(2, 0, false).values, topk(x, 2, 0, false).values));
    CHECK(same(x.softmax(-1), softmax(x, -1)));
    CHECK(same(x.log_softmax(0), log_softmax(x, 0)));
    CHECK(same(x.exp(), exp(x)));
    CHECK(same(x.log(), log(x)));
    CHECK(same(x.sqrt(), sqrt(x)));
    CHECK(same((-x).abs(), x));
    CHECK(same(x.tanh(), tanh(x)));
    CHECK(same(x.sigmoid(), sigmoid(x)));
    CHECK(same((x - 1).relu(), relu(x - 1)));
    CHECK(same(x.pow(1.5), pow(x, 1.5)));
    CHECK(same(x.clamp(0.7, 1.2), clamp(x, 0.7, 1.2)));
    CHECK(same(x.masked_fill(mask, 7), masked_fill(x, mask, 7)));
    CHECK(same(x.matmul(x.T()), matmul(x, x.T())));
    CHECK(same(x.flatten(0, 1), flatten(x, 0, 1)));
    CHECK(same(x.gather(1, zeros({3, 1}, int64)), gather(x, 1, zeros({3, 1}, int64))));
    CHECK(same(x.split(2, 1)[1], split(x, 2, 1)[1]));
    CHECK(same(x.chunk(3)[2], chunk(x, 3)[2]));
}

TEST_CASE("shapes, types and modules print themselves", "[habits]") {
    CHECK(printed(zeros({2, 3}).shape()) == "(2, 3)");
    CHECK(printed(float64) == "float64");
    Rng rng(1);
    const nn::Linear layer(3, 2, rng);
    CHECK(printed(layer) == layer.summary());
    CHECK(contains(printed(layer), "Linear"));
}

TEST_CASE("gelu is a step of a Sequential", "[habits]") {
    Rng rng(1);
    const nn::Linear layer(3, 2, rng);
    const nn::Sequential net{layer, gelu};
    const Tensor x = randn({4, 3}, rng);
    CHECK(same(net(x), gelu(layer(x))));
}

TEST_CASE("without a generator, draws come from the thread's own, which manual_seed sets", "[habits]") {
    manual_seed(7);
    Rng rng(7);
    const Tensor x = randn({2, 3});
    CHECK(same(x, randn({2, 3}, rng)));
    CHECK(same(rand(4, float64), rand(4, rng, float64)));
    CHECK(same(randint(0, 9, {3}), randint(0, 9, {3}, rng)));
    CHECK(same(randn_like(x), randn_like(x, rng)));
    CHECK(same(rand_like(x), rand_like(x, rng)));
    CHECK(same(randperm(9), randperm(9, rng)));
    CHECK(same(multinomial(ones(5), 2), multinomial(ones(5), 2, rng)));
    CHECK(same(dropout(x, 0.5), dropout(x, 0.5, rng)));
    CHECK(same(nn::Linear(3, 2).weight, nn::Linear(3, 2, rng).weight));
    CHECK_FALSE(nn::Linear(3, 2, false).bias.defined());
    static_cast<void>(nn::Linear(3, 2, rng, false));
    CHECK(same(nn::Embedding(5, 2).weight, nn::Embedding(5, 2, rng).weight));
    const auto equal = [](const nn::Module& a, const nn::Module& b) {
        const auto p = a.named_parameters(), q = b.named_parameters();
        CHECK(p.size() == q.size());
        for (std::size_t i = 0; i < p.size(); ++i)
            CHECK((p[i].first == q[i].first && same(p[i].second, q[i].second)));
    };
    equal(nn::MLP(4), nn::MLP(4, rng));
    equal(nn::MultiHeadAttention(4, 2, {.bias = true}), nn::MultiHeadAttention(4, 2, rng, {.bias = true}));
    equal(nn::CausalMultiHeadAttention(4, 2), nn::CausalMultiHeadAttention(4, 2, rng));
    equal(nn::TransformerBlock(4, 2), nn::TransformerBlock(4, 2, rng));
    equal(nn::EncoderBlock(4, 2), nn::EncoderBlock(4, 2, rng));
    equal(nn::DecoderBlock(4, 2), nn::DecoderBlock(4, 2, rng));
    const lm::GPTConfig config{.vocab_size = 5, .block_size = 4, .num_layers = 1, .num_heads = 2, .d_model = 4};
    equal(lm::GPT(config), lm::GPT(config, rng));
    CHECK(default_rng().state().position == rng.state().position);
    std::thread([] { CHECK(default_rng().state().position == 0); }).join();
}

TEST_CASE("a layer that is given no generator draws as from the one that manual_seed makes", "[habits]") {
    manual_seed(1);
    const nn::Linear layer(3, 2);  // draws as from Rng(1)
    Rng rng(1);
    CHECK(same(layer.weight, nn::Linear(3, 2, rng).weight));
}

TEST_CASE("numbers in braces have the type that they are written in", "[habits]") {
    CHECK(tensor({1, 2}).dtype() == int64);
    CHECK(tensor({{1, 2}, {3, 4.0}}).dtype() == float32);
    CHECK(tensor({1, 2}, float64).dtype() == float64);
    CHECK(tensor({true, false}).dtype() == boolean);
    CHECK(tensor({true, 2}).dtype() == int64);
    CHECK(tensor({true, 0.5}).dtype() == float32);
    CHECK(tensor(3).dtype() == int64);
    CHECK(tensor(3.0).dtype() == float32);
    CHECK(tensor({}).dtype() == float32);
    CHECK(tensor({{}, {}}).shape() == Shape{2, 0});
    const std::int64_t odd = (std::int64_t{1} << 53) + 1;
    CHECK(tensor({odd, INT64_MAX, INT64_MIN}).to_vector<std::int64_t>() ==
          std::vector<std::int64_t>{odd, INT64_MAX, INT64_MIN});
    CHECK(contains(message_of<DTypeError>([] { tensor({UINT64_MAX}); }), "tensor: int64 does not hold"));
    CHECK(contains(message_of<DTypeError>([] {
                       tensor({1, 2}, boolean);
                   }),
                   "tensor: bool does not hold 2 exactly"));
    CHECK(contains(message_of<DTypeError>([] { tensor({1, 2}).requires_grad_(); }), "write 1.0 for 1"));
}

TEST_CASE("bool tensors are counted", "[habits]") {
    const Tensor x = tensor({{1, 0, 1}, {1, 1, 1}}, boolean);
    CHECK(same(sum(x), tensor(5)));
    CHECK(same(x.sum(1), tensor({2, 3})));
    CHECK(mean(x).item() == Approx(5.0 / 6));
    CHECK(same(x.mean(0), tensor({1.0, 0.5, 1})));
}
