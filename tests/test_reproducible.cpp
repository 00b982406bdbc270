// The same numbers everywhere: streams, threads, serial and concurrent runs.
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "catch.h"
#include "golden/golden.h"
#include "sanitized.h"
#include "weft/weft.h"

using namespace weft;

namespace {

// Puts the number of threads back.
struct Threads {
    explicit Threads(int n) : before(get_num_threads()) { set_num_threads(n); }
    ~Threads() { set_num_threads(before); }
    const int before;
};

const nn::GPTConfig small{.vocab_size = 17,
                          .block_size = 24,
                          .num_layers = 2,
                          .num_heads = 2,
                          .d_model = 32,
                          .dropout = 0.1,
                          .bias = true};

// Everything that a few training steps of a GPT leave: losses and parameters.
std::vector<Tensor> train(std::uint64_t seed, int steps, const nn::GPTConfig& config = small,
                          std::int64_t B = 6) {
    Rng rng(seed);
    const std::int64_t T = config.block_size;
    nn::GPT model(config, rng);
    optim::AdamW optimizer(optim::decay_groups(model, 0.1), {.lr = 1e-2});
    std::vector<Tensor> results;
    for (int step = 0; step < steps; ++step) {
        const Tensor text = randint(0, config.vocab_size, {B, T + 1}, rng);
        optimizer.zero_grad();
        const Tensor loss = cross_entropy(model(text.slice(1, 0, T)), text.slice(1, 1, T + 1));
        loss.backward();
        optim::clip_grad_norm(model, 1.0);
        optimizer.step();
        results.push_back(loss.detach());
    }
    for (const auto& [name, parameter] : model.named_parameters()) results.push_back(parameter.detach());
    return results;
}

bool equal(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (!same_bits(a[i], b[i])) return false;
    return true;
}

// Values and gradients of operations on tensors large enough to be split over threads.
std::vector<Tensor> large_operations() {
    Rng rng(3);
    std::vector<Tensor> results;
    const auto keep = [&](const Tensor& y, const std::vector<Tensor>& leaves) {
        results.push_back(y.detach());
        const Tensor seed = randn(y.shape(), rng);
        for (const Tensor& g : grad({y}, leaves, {seed})) results.push_back(g);
    };
    const Tensor a = randn({257, 301}, rng).requires_grad_(), b = randn({301, 263}, rng).requires_grad_();
    const Tensor row = randn({301}, rng).requires_grad_(), bias = randn({301}, rng).requires_grad_();
    keep(matmul(a, b), {a, b});
    keep(a * row + exp(a) / (row * row + 1), {a, row});
    keep(sum(a, 0), {a});
    keep(sum(a, 1), {a});
    keep(sum(a), {a});
    keep(mean(a * a), {a});
    keep(var(a, 0), {a});
    keep(softmax(a, -1), {a});
    keep(softmax(a, 0), {a});
    keep(log_softmax(a, 1), {a});
    keep(logsumexp(a, 0), {a});
    keep(cumsum(a, 0), {a});
    keep(max(a, 0).values, {a});
    keep(layer_norm(a, row, bias), {a, row, bias});
    keep(gelu(a), {a});
    keep(a.T().reshape({-1}), {a});
    const Tensor weight = randn({97, 301}, rng).requires_grad_(), out = randn({97}, rng).requires_grad_();
    keep(linear(a, weight, out), {a, weight, out});
    const Tensor table = randn({50, 64}, rng).requires_grad_();
    keep(embedding(table, randint(0, 50, {40, 33}, rng)), {table});
    keep(cross_entropy(a, randint(0, 301, {257}, rng)), {a});
    keep(dropout(a, 0.3, rng), {a});
    const Tensor q = randn({2, 3, 130, 16}, rng).requires_grad_(),
                 k = randn({2, 3, 130, 16}, rng).requires_grad_(),
                 v = randn({2, 3, 130, 16}, rng).requires_grad_();
    AttentionOptions options;
    options.mask = Mask::causal();
    keep(scaled_dot_product_attention(q, k, v, options), {q, k, v});
    keep(matmul(q, k.transpose(-2, -1)), {q, k});
    results.push_back(randn({100'003}, rng));
    results.push_back(rand({100'003}, rng, float64));
    results.push_back(randint(-5, 1000, {50'021}, rng));
    return results;
}

}  // namespace

TEST_CASE("fault 99: every operation gives the same bytes at 1, 2, 3, 4 and 7 threads", "[fault][threads]") {
    std::vector<Tensor> expected;
    {
        const Threads one(1);
        expected = large_operations();
    }
    for (const int n : {2, 3, 4, 7}) {
        const Threads threads(n);
        const auto found = large_operations();
        REQUIRE(found.size() == expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
            INFO(n << " threads, result " << i);
            CHECK(same_bits(found[i], expected[i]));
        }
    }
}

TEST_CASE("fault 99: training gives the same bytes at 1, 2 and 4 threads, and in every run",
          "[fault][threads]") {
    std::vector<Tensor> expected;
    {
        const Threads one(1);
        expected = train(42, 4);
        CHECK(equal(train(42, 4), expected));
        CHECK_FALSE(equal(train(43, 4), expected));
    }
    for (const int n : {2, 4}) {
        const Threads threads(n);
        INFO(n << " threads");
        CHECK(equal(train(42, 4), expected));
    }
}

TEST_CASE("20 steps of the char model give the same bytes at 1, 2 and 4 threads, and twice in one process",
          "[threads]") {
    const nn::GPTConfig config{
        .vocab_size = 65, .block_size = 64, .num_layers = 4, .num_heads = 4, .d_model = 128};
    std::vector<Tensor> expected;
    for (const int n : {1, 1, 2, 4}) {
        const Threads threads(n);
        const auto found = train(7, sanitized ? 2 : 20, config, 12);
        if (expected.empty()) expected = found;
        INFO(n << " threads");
        CHECK(equal(found, expected));
    }
}

TEST_CASE("fault 98: two models trained in two threads equal the same trained one after the other",
          "[fault][threads]") {
    const auto first = train(1, 4), second = train(2, 4);
    for (int trial = 0; trial < 3; ++trial) {
        std::vector<Tensor> a, b;
        std::thread other([&] { a = train(1, 4); });
        b = train(2, 4);
        other.join();
        CHECK(equal(a, first));
        CHECK(equal(b, second));
    }
}

TEST_CASE("fault 98: one thread's graph may be walked, and die, on another", "[fault][threads]") {
    const Tensor x = ones({3}).requires_grad_();
    Tensor y = sum(exp(x) * x);
    std::thread([&] {
        y.backward();
        y = {};
    }).join();
    CHECK(distance(x.grad(), full({3}, 2 * std::exp(1.0))) < 1e-6);
}

TEST_CASE("the number of threads is checked", "[threads]") {
    const int before = get_num_threads();
    CHECK(before >= 1);
    for (const int wrong : {0, -1, 1025})
        CHECK(contains(message_of<ValueError>([&] { set_num_threads(wrong); }), std::to_string(wrong)));
    CHECK(get_num_threads() == before);
}

// Runs itself in processes of their own, which find WEFT_TEST_THREADS set.
TEST_CASE("WEFT_NUM_THREADS and OMP_NUM_THREADS are respected up to 1024", "[threads]") {
    if (const char* expected = std::getenv("WEFT_TEST_THREADS")) {
        CHECK(std::to_string(get_num_threads()) == expected);
        const Tensor x = ones({600, 700});
        CHECK(sum(x * x).item() == 600.0 * 700);
        CHECK(sum(matmul(x, x.T())).item() == 600.0 * 600 * 700);
        return;
    }
    const std::string program = std::filesystem::read_symlink("/proc/self/exe");
    for (const auto& [asked, used] :
         {std::pair("OMP_NUM_THREADS=1", "1"), std::pair("OMP_NUM_THREADS=3", "3"),
          std::pair("OMP_NUM_THREADS=10000", "1024"), std::pair("WEFT_NUM_THREADS=5", "5"),
          std::pair("OMP_NUM_THREADS=2 WEFT_NUM_THREADS=7", "7"),
          std::pair("OMP_NUM_THREADS=2 WEFT_NUM_THREADS=none", "2")}) {
        const std::string command =
            std::string("unset OMP_NUM_THREADS WEFT_NUM_THREADS; ") + asked + " WEFT_TEST_THREADS=" + used +
            " '" + program + "' 'WEFT_NUM_THREADS and OMP_NUM_THREADS are respected up to 1024' > /dev/null";
        INFO(command);
        CHECK(std::system(command.c_str()) == 0);
    }
}

TEST_CASE("a child of fork computes the same bits", "[threads]") {
    const auto bytes = [] {
        Rng rng(1);
        const Tensor x = randn({300, 300}, rng);
        return matmul(x, x.T()).softmax(-1).to_vector<float>();
    };
    const std::vector<float> expected = bytes();  // the parent has used its threads
    const pid_t child = fork();
    if (child == 0) _exit(bytes() == expected ? 0 : 1);
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(bytes() == expected);
}

TEST_CASE("an affinity mask limits the threads", "[threads]") {
    if (std::getenv("WEFT_TEST_AFFINITY") != nullptr) {
        CHECK(get_num_threads() == 1);
        return;
    }
    const std::string program = std::filesystem::read_symlink("/proc/self/exe");
    CHECK(std::system(("unset OMP_NUM_THREADS WEFT_NUM_THREADS; WEFT_TEST_AFFINITY=1 taskset -c 0 '" + program +
                       "' 'an affinity mask limits the threads' > /dev/null")
                          .c_str()) == 0);
}

TEST_CASE("Philox gives the published numbers", "[rng]") {
    // Random123's known answers: all zeros; then two counters from an independent implementation of the paper's
    // figure
    CHECK(philox(0, 0) == std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    CHECK(philox(0x299f31d0a4093822, 0x85a308d3243f6a88) ==
          std::array<std::uint32_t, 4>{0xe69c9c31, 0xb5a3d762, 0xe733bfc1, 0x341a787c});
    CHECK(philox(UINT64_MAX, UINT64_MAX) ==
          std::array<std::uint32_t, 4>{0x4d18d7d2, 0x430ac65a, 0xbd2fa22a, 0x0afae10d});
}

TEST_CASE("fault 101: the streams are these numbers, with every compiler", "[fault][rng]") {
    Rng rng(42);
    CHECK(rng.uniform() == 0.6129598811894158);
    CHECK(rng.uniform() == 0.9877186509145105);
    CHECK(rng.randint(0, 1000) == 825);
    CHECK(rng.normal() == Approx(-1.3847915069807142).epsilon(1e-15));
    CHECK(rand({2}, rng, float64).to_vector<double>() ==
          std::vector<double>{0.32641814575508354, 0.314847471493638});
    CHECK(randint(-3, 3, {8}, rng).to_vector<std::int64_t>() ==
          std::vector<std::int64_t>{-2, -1, 0, -2, 0, -2, -1, -2});
}

TEST_CASE("a draw depends on seed and position alone", "[rng]") {
    Rng one(7), other(7);
    const Tensor whole = rand({10}, one, float64);
    const Tensor start = rand({4}, other, float64), rest = rand({6}, other, float64);
    CHECK(same_bits(cat({start, rest}), whole));
    const auto state = one.state();
    const double next = one.uniform();
    Rng resumed(0);
    resumed.set_state(state);
    CHECK(resumed.uniform() == next);
    CHECK(uniform_at(7, 3) == whole.at({3}));
    CHECK_FALSE(same_bits(rand({10}, one, float64), whole));
}

TEST_CASE("draws have the moments that they say", "[rng]") {
    Rng rng(1);
    const std::int64_t n = 400'000;
    const double tolerance = 5 / std::sqrt(static_cast<double>(n));  // five standard errors
    const Tensor u = rand({n}, rng, float64), z = randn({n}, rng, float64);
    CHECK(min(u).item() >= 0);
    CHECK(max(u).item() < 1);
    CHECK(std::abs(mean(u).item() - 0.5) < tolerance * 0.289);
    CHECK(std::abs(var(u).item() - 1.0 / 12) < tolerance * 0.075);
    CHECK(std::abs(mean(z).item()) < tolerance);
    CHECK(std::abs(var(z).item() - 1) < tolerance * 1.42);
    CHECK(std::abs(mean(pow(z, 4)).item() - 3) < tolerance * 9.8);
    CHECK(std::abs(mean(z.slice(0, 0, n - 1) * z.slice(0, 1, n)).item()) <
          tolerance);  // neighbours are independent
    const Tensor i = randint(-2, 3, {n}, rng);
    for (int value = -2; value < 3; ++value)
        CHECK(std::abs(mean((i == value).to(float64)).item() - 0.2) < tolerance * 0.4);
}

TEST_CASE("Rng refuses what it cannot draw", "[rng]") {
    Rng rng(1);
    CHECK(contains(message_of<ValueError>([&] { rng.randint(3, 3); }), "3"));
    CHECK(contains(message_of<ValueError>([&] { return randint(5, 2, {3}, rng); }), "randint"));
    for (const std::vector<double>& weights :
         std::vector<std::vector<double>>{{}, {0, 0}, {1, -1}, {1, NAN}, {1, INFINITY}})
        CHECK_THROWS_AS(rng.categorical(weights), ValueError);
    CHECK(rng.categorical({0, 3, 0}) == 1);
    CHECK(contains(message_of<DTypeError>([&] { return randn({2}, rng, int64); }), "int64"));
}
