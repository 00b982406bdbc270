// What test_dist_mpi.cpp runs under mpirun: processes SCENARIO [RANK]. Process 0 prints what the test compares.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include "weft/training.h"

using namespace weft;

namespace {

struct Net : nn::Module {
    nn::Linear first, second;
    nn::Dropout drop;
    explicit Net(Rng rng, std::int64_t hidden = 33)
        : Module("Net"),
          first(register_module("first", nn::Linear(5, hidden, rng))),
          second(register_module("second", nn::Linear(hidden, 1, rng))),
          drop(register_module("drop", nn::Dropout(0.2, rng))) {}
    Tensor operator()(const Tensor& x) const { return second(drop(gelu(first(x)))); }
};

struct Wider : Net {
    nn::Parameter extra = register_parameter("extra", ones({1}));
    explicit Wider(Rng rng) : Net(rng) {}
};

void require(bool condition, const char* what) {
    if (!condition) throw Error("processes: ", what, " is wrong");
}

void collectives(dist::Group& group) {
    const int P = group.size(), r = group.rank();
    const auto all = group.all_gather(full({2, 3}, r, float64));
    require(static_cast<int>(all.size()) == P, "the number of gathered tensors");
    for (int other = 0; other < P; ++other)
        require(all[static_cast<std::size_t>(other)].at({1, 2}) == other, "all_gather");
    const Tensor ids = group.all_gather(full({1}, r + 7, int64))[static_cast<std::size_t>(P - 1)];
    require(ids.item() == P + 6, "all_gather of int64");
    const Tensor sum = group.all_reduce(full({}, 0.1F * static_cast<float>(r + 1)));
    Tensor x = full({4}, r, float64).transpose(0, 0);
    group.broadcast(x, P - 1);
    require(x.at({3}) == P - 1, "broadcast");
    require(group.broadcast(r == 0 ? std::string("a\0b", 3) : "other") == std::string("a\0b", 3),
            "broadcast of text");
    require(group.all_gather(zeros({0, 2})).size() == static_cast<std::size_t>(P), "all_gather of nothing");
    group.agree("nothing", "");
    group.barrier();
    // Every process has the sum with the same bits.
    group.agree("the sum", to_chars(sum.item()));
    if (r == 0) std::printf("sum %s\n", to_chars(sum.item()).c_str());
}

// Trains on 12 rows, with dropout, an optimiser and buckets smaller than a parameter; prints a hash of all
// bits, because mpirun may write another stream's lines into a long one.
void train(dist::Group& group, std::int64_t grains) {
    Rng rng(5);
    const Tensor x = randn({12, 5}, rng), y = randn({12, 1}, rng);
    const Net net(Rng(3));
    Net in_double(Rng(3));
    in_double.to(float64);
    optim::AdamW optimizer(net, {.lr = 0.01});
    dist::DataParallel parallel(net, group, {.grains = grains, .bucket_elements = 20});
    dist::DataParallel wide(in_double, group, {.grains = grains});
    std::string bits;
    for (int step = 0; step < 3; ++step) {
        group.at_step(step);
        optimizer.zero_grad();
        const auto loss_of = [&](const Net& model, DType dtype, std::int64_t grain) {
            const std::int64_t rows = 12 / grains;
            const Tensor error = model(x.slice(0, grain * rows, (grain + 1) * rows).to(dtype)) -
                                 y.slice(0, grain * rows, (grain + 1) * rows).to(dtype);
            return mean(error * error);
        };
        bits += to_chars(parallel.backward([&](std::int64_t g) { return loss_of(net, float32, g); })) + " ";
        bits += to_chars(wide.backward([&](std::int64_t g) { return loss_of(in_double, float64, g); })) + " ";
        optimizer.step();
    }
    for (const nn::Module& module : {nn::Module(net), nn::Module(in_double)})
        for (const Tensor& p : module.parameters())
            for (const Tensor& t : {p, p.grad()})
                for (const double value : t.to(float64).to_vector<double>()) bits += to_chars(value) + " ";
    group.agree("what was trained", bits);
    require(group.size() == 1 || parallel.bytes_sent() > 0, "the count of bytes");
    if (group.rank() == 0) std::printf("bits %zx of %zu digits\n", std::hash<std::string>()(bits), bits.size());
}

void evaluate(dist::Group& group) {
    std::vector<training::Batch> batches;
    for (int i = 0; i < 7; ++i) batches.push_back({full({2, i + 1}, i, int64), full({2, i + 1}, 0, int64)});
    const auto loss_of = [](const training::Batch& batch) {
        return mean(exp(batch.inputs.to(float64) / 10)) / static_cast<double>(batch.inputs.size(1));
    };
    const double loss = training::evaluate(batches, loss_of, group);
    require(loss == training::evaluate(batches, loss_of), "evaluate");
    if (group.rank() == 0) std::printf("loss %s\n", to_chars(loss).c_str());
}

}  // namespace

int main(int argc, char** argv) try {
    const std::string scenario = argc > 1 ? argv[1] : "";
    const int odd = argc > 2 ? std::atoi(argv[2]) : -1;  // the process that does something else
    dist::Group group;
    const bool is_odd = group.rank() == odd;
    const auto step = [&](const nn::Module& module, std::int64_t grains, const Tensor& loss) {
        dist::DataParallel(module, group, {.grains = grains}).backward([&](std::int64_t) { return loss; });
    };
    if (scenario == "collectives") collectives(group);
    if (scenario == "train") train(group, 6);
    if (scenario == "train3") train(group, 3);
    if (scenario == "evaluate") evaluate(group);
    if (scenario == "seed") step(Net(Rng(is_odd ? 4 : 3)), 8, {});
    if (scenario == "sizes") step(Net(Rng(3), is_odd ? 34 : 33), 8, {});
    if (scenario == "parameter") step(is_odd ? nn::Module(Wider(Rng(3))) : nn::Module(Net(Rng(3))), 8, {});
    if (scenario == "grains") step(Net(Rng(3)), is_odd ? 6 : 8, {});
    if (scenario == "few") step(Net(Rng(3)), group.size() - 1, {});
    if (scenario == "shape") (void)group.all_gather(ones({is_odd ? 3 : 2}));
    if (scenario == "dtype") (void)group.all_reduce(ones({2}, is_odd ? float64 : float32));
    if (scenario == "call") is_odd ? group.barrier() : (void)group.all_reduce(ones({2}));
    if (scenario == "text") group.agree("the text", is_odd ? "Emma" : "Persuasion");
    group.at_step(7);
    if (scenario == "throw") {
        group.barrier();  // so that the others have come to this step
        if (is_odd) throw ValueError("what a program throws");
        group.barrier();
    }
    if (scenario == "return" && !is_odd) group.barrier();
    if (scenario == "exit" || scenario == "stop" || scenario == "kill") {
        group.barrier();
        if (is_odd && scenario == "exit") std::_Exit(0);
        if (is_odd) std::raise(scenario == "stop" ? SIGSTOP : SIGKILL);
        group.barrier();
    }
    if (scenario == "slow") {  // computes for longer than the patience of the others
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
        while (is_odd && std::chrono::steady_clock::now() < end) (void)matmul(ones({64, 64}), ones({64, 64}));
        group.barrier();
        if (group.rank() == 0) std::printf("patient\n");
    }
    if (scenario == "twice") {
        dist::Group second;
    }
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "processes: %s\n", error.what());
    return 1;
}
