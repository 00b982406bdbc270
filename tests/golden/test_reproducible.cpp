// The same numbers everywhere: streams, threads, serial and concurrent runs.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>

#include "catch.h"
#include "environment.h"
#include "fast/parallel.h"
#include "golden/golden.h"
#include "weft/weft.h"

using namespace weft;

namespace {

const lm::GPTConfig small{.vocab_size = 17,
                          .block_size = 24,
                          .num_layers = 2,
                          .num_heads = 2,
                          .d_model = 32,
                          .dropout = 0.1,
                          .bias = true};

// Everything that a few training steps of a GPT leave: losses and parameters.
std::vector<Tensor> train(std::uint64_t seed, int steps, const lm::GPTConfig& config = small,
                          std::int64_t B = 6) {
    Rng rng(seed);
    const std::int64_t T = config.block_size;
    lm::GPT model(config, rng);
    optim::AdamW optimizer(optim::decay_groups(model, optim::AdamWOptions{.lr = 1e-2, .weight_decay = 0.1}));
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

// Different numbers, without a random stream.
Tensor fill_pattern(const Shape& shape) {
    return sin(arange(0, static_cast<double>(shape.numel())).reshape(shape));
}

bool equal(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (!same_bits(a[i], b[i])) return false;
    return true;
}

// While it lives, the threads that take part in a region of this thread's wait for each other in their first
// task, so as many take part as there are threads, or tasks.
class Everyone {
public:
    explicit Everyone(std::string_view function) : function_(function) {
        current = this;
        kernels::loop_observer = run;
    }
    ~Everyone() { kernels::loop_observer = nullptr; }
    std::int64_t tasks = 0;  // number of tasks of the largest region that this function started

private:
    static void run(const kernels::Loop& loop) {
        const std::int64_t n = loop.tasks;
        if (contains(loop.body.name(), current->function_)) current->tasks = std::max(current->tasks, n);
        kernels::loop_observer = nullptr;
        const auto wanted = static_cast<std::size_t>(std::min<std::int64_t>(n, get_num_threads()));
        std::mutex mutex;
        std::condition_variable arrived;
        std::set<std::thread::id> seen;
        kernels::parallel_blocks(n, 1, [&](std::int64_t i, std::int64_t) {
            if (std::unique_lock lock(mutex); seen.insert(std::this_thread::get_id()).second) {
                arrived.notify_all();
                arrived.wait_for(lock, std::chrono::seconds(60), [&] { return seen.size() == wanted; });
            }
            loop.task(loop.context, i);
        });
        kernels::loop_observer = run;
        if (seen.size() != wanted) FAIL(seen.size() << " of " << wanted << " threads took part");
    }

    static inline Everyone* current = nullptr;
    const std::string function_;
};

struct Case {
    std::string name;
    std::int64_t tasks;  // at least so many in the largest region that this function starts
    std::string_view function;
    std::function<std::vector<Tensor>()> results;
};

// The kernels, on tensors that have enough tasks for 64 threads; values and gradients.
std::vector<Case> large_operations() {
    auto rng = std::make_shared<Rng>(3);
    const auto leaf = [&](const Shape& shape) { return randn(shape, *rng).requires_grad_(); };
    std::vector<Case> cases;
    using Function = std::function<Tensor(const std::vector<Tensor>&)>;
    const auto add = [&](const char* name, std::int64_t tasks, const char* function, const Function& f,
                         const std::vector<Tensor>& x) {
        cases.push_back({name, tasks, function, [=] {
                             Tensor y = f(x);
                             const Tensor dy = fill_pattern(y.shape());
                             std::vector<Tensor> results = grad({y}, x, {dy});
                             results.push_back(y.detach());
                             return results;
                         }});
    };
    const Tensor a = leaf({2100, 1021}), b = leaf({2100, 1021}), row = leaf({1021}), bias = leaf({1021});
    add("a·row + eᵃ/(row² + 1)", 64, "for_runs",
        [](const auto& x) { return x[0] * x[1] + exp(x[0]) / (x[1] * x[1] + 1); }, {a, row});
    add("2a, clamped", 64, "for_runs", [](const auto& x) { return clamp(2.0 * x[0], -1, 1); }, {a});
    add("gelu", 64, "for_runs", [](const auto& x) { return gelu(x[0]); }, {a});
    add("where", 64, "for_runs", [](const auto& x) { return where(x[0] > 0, x[0], x[1]); }, {a, b});
    add("sum over rows", 64, "sum_parts", [](const auto& x) { return sum(x[0], 0); }, {a});
    add("sum over columns", 64, "sum_parts", [](const auto& x) { return sum(x[0], 1); }, {a});
    add("sum", 64, "sum_parts", [](const auto& x) { return sum(x[0]); }, {a});
    add("var", 64, "sum_parts", [](const auto& x) { return var(x[0], 0); }, {a});
    add("max", 64, "min_max", [](const auto& x) { return max(x[0], 0).values; }, {a});
    add("cumsum", 64, "cumsum", [](const auto& x) { return cumsum(x[0], 0) + cumsum(x[0], 1); }, {a});
    add("cumprod", 64, "cumprod", [](const auto& x) { return cumprod(x[0], 0) + cumprod(x[0], 1); }, {a});
    add("softmax over columns", 64, "softmax", [](const auto& x) { return softmax(x[0], -1); }, {a});
    add("softmax over rows", 64, "softmax", [](const auto& x) { return softmax(x[0], 0); }, {a});
    add("log_softmax", 64, "log_softmax", [](const auto& x) { return log_softmax(x[0], 1); }, {a});
    add("logsumexp", 64, "for_runs", [](const auto& x) { return logsumexp(x[0], 0); }, {a});
    add("layer_norm", 64, "layer_norm", [](const auto& x) { return layer_norm(x[0], x[1], x[2]); },
        {a, row, bias});
    add("rms_norm", 64, "for_runs", [](const auto& x) { return rms_norm(x[0], x[1]); }, {a, row});
    add("transposed copy", 64, "for_runs", [](const auto& x) { return x[0].T().reshape({-1}); }, {a});
    add("cat", 64, "for_runs", [](const auto& x) { return cat({x[0], x[1]}, 1); }, {a, b});
    const Tensor classes = randint(0, 1021, {2100}, *rng);
    add("cross_entropy", 64, "cross_entropy", [=](const auto& x) { return cross_entropy(x[0], classes); }, {a});
    const Tensor each = randint(0, 1021, {2100, 900}, *rng), along = randint(0, 2100, {700, 1021}, *rng);
    add("gather", 64, "gather", [=](const auto& x) { return gather(x[0], 1, each); }, {a});
    add("gather along rows", 64, "gather", [=](const auto& x) { return gather(x[0], 0, along); }, {a});
    const Tensor ids = randint(0, 50, {6, 100}, *rng);
    add("embedding", 64, "index_select", [=](const auto& x) { return embedding(x[0], ids); },
        {leaf({50, 4100})});
    add("dropout", 64, "generate",
        [](const auto& x) {
            Rng draws(5);
            return dropout(x[0], 0.3, draws);
        },
        {a});
    add("wide product", 64, "gemm", [](const auto& x) { return matmul(x[0], x[1]); },
        {leaf({33, 110}), leaf({110, 60'001})});
    add("long sum of a product", 32, "gemm", [](const auto& x) { return matmul(x[0], x[1]); },
        {leaf({70, 60'001}), leaf({60'001, 50})});
    add("tall product", 32, "gemm", [](const auto& x) { return matmul(x[0].T(), x[1]); },
        {leaf({257, 5003}), leaf({257, 301})});
    add("linear", 32, "gemm", [](const auto& x) { return linear(x[0], x[1], x[2]); },
        {leaf({2, 131, 300}), leaf({2305, 300}), leaf({2305})});
    add("a batch of large products", 16, "gemm",
        [](const auto& x) { return matmul(x[0], x[1].transpose(-2, -1)); },
        {leaf({4, 400, 130}), leaf({4, 391, 130})});
    add("a batch of small products", 64, "matmul", [](const auto& x) { return matmul(x[0], x[1]); },
        {leaf({128, 70, 64}), leaf({128, 64, 61})});
    AttentionOptions causal;
    causal.mask = Mask::causal();
    add("attention", 64, "9attention",
        [=](const auto& x) { return scaled_dot_product_attention(x[0], x[1], x[2], causal); },
        {leaf({8, 8, 130, 16}), leaf({8, 8, 130, 16}), leaf({8, 8, 130, 16})});
    const std::int64_t n = 64 * 16384 + 11;
    cases.push_back({"draws", 64, "generate", [=] {
                         Rng draws(9);
                         return std::vector<Tensor>{randn({n}, draws), rand({n}, draws, float64),
                                                    randint(-5, 1000, {n}, draws)};
                     }});
    const Tensor gradient = randn({n}, *rng);
    const auto optimised = [&]<class Optimizer>(const char* name, std::type_identity<Optimizer>, auto options) {
        cases.push_back({name, 64, "function", [=] {
                             Tensor p = fill_pattern({n}).requires_grad_();
                             Optimizer optimizer({{"p", p}}, options);
                             std::vector<Tensor> results;
                             for (int step = 0; step < 2; ++step) {
                                 p.zero_grad();
                                 sum(p * gradient).backward();
                                 results.push_back(
                                     full({}, optim::clip_grad_norm(std::vector<Tensor>{p}, 0.5), float64));
                                 optimizer.step();
                             }
                             results.push_back(p.detach());
                             return results;
                         }});
    };
    optimised("AdamW", std::type_identity<optim::AdamW>(), optim::AdamWOptions{.lr = 0.1});
    optimised("Adam", std::type_identity<optim::Adam>(), optim::AdamOptions{.lr = 0.1});
    optimised("SGD", std::type_identity<optim::SGD>(), optim::SGDOptions{.lr = 0.1, .momentum = 0.9});
    return cases;
}

}  // namespace

TEST_CASE("every kernel gives the same bytes at 1, 2, 7 and 64 threads, which all take part",
          "[fault][threads]") {
    for (const Case& operation : large_operations()) {
        INFO(operation.name);
        std::vector<Tensor> expected;
        for (const int n : sanitized ? std::vector{1, 7} : std::vector{1, 2, 7, 64}) {
            INFO(n << " threads");
            const Threads threads(n);
            const Everyone waits(operation.function);
            const auto found = operation.results();
            CHECK(waits.tasks >= operation.tasks);
            if (expected.empty()) expected = found;
            CHECK(equal(found, expected));
        }
    }
}

TEST_CASE("training gives the same bytes at 1, 2 and 4 threads, and in every run", "[fault][threads]") {
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

TEST_CASE("one thread's graph may be walked, and die, on another", "[fault][threads]") {
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
    for (const auto& [asked, used] :
         {std::pair("OMP_NUM_THREADS=1", "1"), std::pair("OMP_NUM_THREADS=3", "3"),
          std::pair("OMP_NUM_THREADS=10000", "1024"), std::pair("WEFT_NUM_THREADS=5", "5"),
          std::pair("OMP_NUM_THREADS=2 WEFT_NUM_THREADS=7", "7"),
          std::pair("OMP_NUM_THREADS=2 WEFT_NUM_THREADS=none", "2")}) {
        const std::string command =
            std::string("unset OMP_NUM_THREADS WEFT_NUM_THREADS; ") + asked + " WEFT_TEST_THREADS=" + used +
            " '" + test_program +
            "' 'WEFT_NUM_THREADS and OMP_NUM_THREADS are respected up to 1024' > /dev/null";
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
    if (std::system("command -v taskset > /dev/null") != 0)
        return skip("taskset, which Linux alone has, is missing: the number of threads under an affinity mask");
    CHECK(std::system(("unset OMP_NUM_THREADS WEFT_NUM_THREADS; WEFT_TEST_AFFINITY=1 taskset -c 0 '" +
                       test_program + "' 'an affinity mask limits the threads' > /dev/null")
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

TEST_CASE("the streams are these numbers, with every compiler", "[fault][rng]") {
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
