// weft::dist on one process: grains are gradient accumulation in a tree. With several: test_dist_mpi.cpp.
#include <sys/utsname.h>

#include <set>

#include "agree.h"
#include "catch.h"
#include "dist/transport.h"
#include "environment.h"
#include "programs.h"
#include "refusal.h"
#include "weft/training.h"

using namespace weft;

namespace {

// A net with dropout, and the loss of some rows of a batch.
struct Net : nn::Module {
    nn::Linear first, second;
    nn::Dropout drop;
    explicit Net(double p, Rng rng = Rng(3))
        : Module("Net"),
          first(register_module("first", nn::Linear(5, 16, rng))),
          second(register_module("second", nn::Linear(16, 1, rng))),
          drop(register_module("drop", nn::Dropout(p, rng))) {}
    Tensor operator()(const Tensor& x) const { return second(drop(gelu(first(x)))); }
};

struct Task {
    Rng rng{5};
    Tensor x = randn({12, 5}, rng), y = randn({12, 1}, rng);
    Tensor loss(const Net& net, std::int64_t grain, std::int64_t grains) const {
        const std::int64_t rows = 12 / grains;
        const Tensor error =
            net(x.slice(0, grain * rows, (grain + 1) * rows)) - y.slice(0, grain * rows, (grain + 1) * rows);
        return mean(error * error);
    }
};

std::vector<float> gradients_of(const nn::Module& module) {
    std::vector<float> all;
    for (const Tensor& p : module.parameters()) {
        const auto g = p.grad().to_vector<float>();
        all.insert(all.end(), g.begin(), g.end());
    }
    return all;
}

}  // namespace

TEST_CASE("grad tells of a leaf's gradient while backward goes on", "[autograd][dist]") {
    const Tensor a = tensor({2.0}).requires_grad_(), b = tensor({3.0}).requires_grad_();
    const Tensor inner = a * a;  // its gradient passes after that of b is complete
    std::vector<std::string> order;
    const_cast<Tensor&>(inner).register_hook([&](const Tensor& g) {
        order.push_back("inner " + to_chars(g.item()));
        return Tensor();
    });
    const Tensor y = sum(inner * b + b);
    const std::vector<Tensor> gradients = grad({y}, {a, b, b}, {}, {.ready = [&](std::size_t i, Tensor g) {
                                                   order.push_back(to_chars(i) + " " + to_chars(g.item()));
                                                   g.mul_(100);  // it is the callee's own
                                               }});
    CHECK(order == std::vector<std::string>{"1 5", "2 5", "inner 3", "0 12"});
    CHECK(gradients.empty());
}

TEST_CASE("grad tells of every input once, also of those that are not leaves", "[autograd][dist]") {
    Rng rng(1);
    const Net net(0);
    const Tensor x = randn({4, 5}, rng).requires_grad_(), hidden = net.first(x);
    const Tensor unused = ones({2}).requires_grad_();
    const Tensor loss = sum(net.second(gelu(hidden)) * sum(hidden) + sum(x));  // some gradients are views
    std::vector<Tensor> inputs = net.parameters();
    inputs.insert(inputs.end(), {hidden, x, hidden, x, unused});
    for (const bool create_graph : {false, true}) {
        INFO("create_graph " << create_graph);
        const auto plain = grad({loss}, inputs, {},
                                {.create_graph = create_graph, .retain_graph = true, .allow_unused = true});
        std::vector<Tensor> told(inputs.size());
        int calls = 0;
        const GradOptions options{.create_graph = create_graph,
                                  .retain_graph = true,
                                  .allow_unused = true,
                                  .ready = [&](std::size_t i, Tensor g) {
                                      told[i] = g;
                                      if (!create_graph) g.mul_(128);
                                      ++calls;
                                  }};
        CHECK(grad({loss}, inputs, {}, options).empty());
        CHECK(calls == static_cast<int>(inputs.size()) - 1);
        CHECK_FALSE(told.back().defined());
        for (std::size_t i = 0; i + 1 < inputs.size(); ++i) {
            INFO(i);
            CHECK((told[i] / (create_graph ? 1 : 128)).to_vector<float>() == plain[i].to_vector<float>());
        }
        REQUIRE_THROWS_AS(grad({loss}, {unused}, {}, {.retain_graph = true, .ready = options.ready}),
                          GraphError);
    }
}

TEST_CASE("with one grain DataParallel has the bits of a plain backward, dropout included", "[dist]") {
    const Task task;
    const Net plain(0.5), net(0.5);
    dist::Group group;
    dist::DataParallel parallel(net, group, {.grains = 1});
    for (int step = 0; step < 3; ++step) {
        const Tensor loss = task.loss(plain, 0, 1);
        loss.backward();
        CHECK(parallel.backward([&](std::int64_t) { return task.loss(net, 0, 1); }) == loss.item());
        CHECK(gradients_of(net) == gradients_of(plain));  // sums over all the steps so far
    }
    CHECK(group.size() == 1);
    CHECK(parallel.bytes_sent() == 0);
}

TEST_CASE("the gradients of grains are added in the tree", "[dist]") {
    const Task task;
    const Net net(0);
    dist::Group group;
    for (const std::int64_t G : {2, 3, 4, 6}) {
        INFO(G << " grains");
        std::vector<std::vector<Tensor>> grains;
        std::vector<double> losses;
        for (std::int64_t g = 0; g < G; ++g) {
            const Tensor loss = task.loss(net, g, G);
            losses.push_back(loss.item());
            grains.push_back(grad({loss}, net.parameters(), {full({}, 1 / static_cast<double>(G))}));
        }
        const auto tree = [&](const auto& at) {
            if (G == 2) return at(0) + at(1);
            if (G == 3) return (at(0) + at(1)) + at(2);
            if (G == 4) return (at(0) + at(1)) + (at(2) + at(3));
            return ((at(0) + at(1)) + (at(2) + at(3))) + (at(4) + at(5));
        };
        dist::DataParallel parallel(net, group, {.grains = G});
        std::vector<std::int64_t> called;
        const double loss = parallel.backward([&](std::int64_t grain) {
            called.push_back(grain);
            return task.loss(net, grain, G);
        });
        CHECK(called == parallel.own_grains());
        CHECK(static_cast<std::int64_t>(called.size()) == G);
        CHECK(loss == tree([&](std::size_t g) { return losses[g]; }) / static_cast<double>(G));
        const std::vector<Tensor> parameters = net.parameters();
        for (std::size_t i = 0; i < parameters.size(); ++i)
            CHECK(parameters[i].grad().to_vector<float>() ==
                  tree([&](std::size_t g) { return grains[g][i]; }).template to_vector<float>());
        for (Tensor p : parameters) p.zero_grad();
    }
}

TEST_CASE("each grain of each step draws its dropout from a stream of its own", "[dist]") {
    Net net(0.5);
    const std::shared_ptr<Rng> rng = net.drop.rng;
    const Rng::State before = rng->state();
    const Tensor x = ones({1, 16});
    dist::Group group;
    dist::DataParallel parallel(net, group, {.grains = 4});
    std::vector<std::vector<float>> drawn;
    for (int step = 0; step < 2; ++step)
        (void)parallel.backward([&](std::int64_t) {
            drawn.push_back(net.drop(x).to_vector<float>());
            return sum(net(ones({1, 5})));
        });
    CHECK(std::set(drawn.begin(), drawn.end()).size() == 8);
    CHECK(rng->state().seed == before.seed);
    CHECK(rng->state().position == before.position + 8);
    // The second step again, as after a checkpoint.
    rng->set_state({before.seed, before.position + 4});
    (void)parallel.backward([&](std::int64_t grain) {
        CHECK(net.drop(x).to_vector<float>() == drawn[4 + static_cast<std::size_t>(grain)]);
        return sum(net(ones({1, 5})));
    });
}

TEST_CASE("DataParallel refuses what would not give one result", "[dist][refusals]") {
    dist::Group group;
    const Net net(0);
    refuses<ValueError>("20100 elements in buckets of 1 make 20100 buckets; use larger ones, at most 16384",
                        [&] {
                            Rng rng(1);
                            dist::DataParallel(nn::Linear(200, 100, rng), group, {.bucket_elements = 1});
                        });
    dist::DataParallel parallel(net, group, {.grains = 2});
    refuses<GraphError>("the loss of grain 0 does not depend on second.", [&] {
        parallel.backward([&](std::int64_t) { return sum(net.first(ones({1, 5}))); });
    });
    refuses<ShapeError>("not one", [&] {
        parallel.backward([&](std::int64_t) { return net.first(ones({1, 5})); });
    });
    for (const Tensor& p : net.parameters()) CHECK_FALSE(p.grad().defined());
    refuses<IndexError>("broadcast: there is no process 1; use 0 to 0", [&] { group.broadcast("text", 1); });
    refuses<IndexError>("Group: there is no process -1; use 0 to 0", [&] { group.host(-1); });
    refuses<DTypeError>(
        "all_reduce: bfloat16 stores, and arithmetic is in float32; convert it with to(float32)",
        [&] { group.all_reduce(ones({2}, bfloat16)); });
    CHECK_NOTHROW(parallel.backward([&](std::int64_t) { return sum(net(ones({1, 5}))); }));
}

#ifndef WEFT_PROCESSES
TEST_CASE("without MPI a process that mpirun has started is refused", "[dist][refusals]") {
    const Environment launched("OMPI_COMM_WORLD_SIZE", "2");
    refuses<Error>(
        "Group: mpirun started this program (OMPI_COMM_WORLD_SIZE is set), but Weft was "
        "built without MPI; configure it with -DWEFT_MPI=ON",
        [] { const dist::Group group; });
}
#endif

TEST_CASE("a group of one process", "[dist]") {
    dist::Group group;
    CHECK(group.rank() == 0);
    utsname machine{};
    REQUIRE(::uname(&machine) == 0);
    CHECK(group.host() == machine.nodename);
    Tensor x = tensor({1.0, 2});
    CHECK(group.all_gather(x).size() == 1);
    CHECK(group.all_reduce(x).to_vector<float>() == std::vector<float>{1, 2});
    group.broadcast(x);
    CHECK(group.broadcast("text") == "text");
    CHECK_NOTHROW(group.agree("the seed", "1"));
    group.barrier();
}

TEST_CASE("evaluate refuses no batches", "[dist]") {
    dist::Group group;
    const auto loss_of = [](const training::Batch& batch) { return batch.inputs; };
    refuses<ValueError>("evaluate: there is no batch; give at least one",
                        [&] { (void)training::evaluate({}, loss_of, group); });
}

TEST_CASE("how a process computes is the same on any number of threads, and another with other kernels",
          "[dist]") {
    const Threads one(1);
    const std::string alone = dist::arithmetic();
    {
        const Threads three(3);
        CHECK(dist::arithmetic() == alone);
    }
    const Plain plain(Plain::primitives);
    CHECK(dist::arithmetic() != alone);
}
