// A checkpoint holds what a resumed run needs for the same bits, the default generator too.
#include "catch.h"
#include "environment.h"
#include "weft/weft.h"

using namespace weft;

namespace {

// A network whose own dropout draws from its generator, and a loss whose dropout draws from default_rng().
struct Run {
    Rng rng{1};
    nn::Sequential net{nn::Linear(4, 8, rng), nn::Dropout(0.2, rng), nn::Linear(8, 1, rng)};
    optim::AdamW optimizer{net, {.lr = 0.05}};
    Tensor x = randn({16, 4}, rng);

    double step() {
        optimizer.zero_grad();
        const Tensor loss = mean(pow(net(dropout(x, 0.3, default_rng())) - 1, 2));
        loss.backward();
        optimizer.step();
        return loss.item();
    }
};

// The loss of step 10 of a run that was resumed after step 5 from a file whose entries `change` may edit.
double resumed(const std::filesystem::path& path, const std::function<void(io::Metadata&)>& change = {}) {
    manual_seed(7);
    {
        Run run;
        for (int i = 0; i < 5; ++i) run.step();
        training::Checkpoint(run.net, run.optimizer, 5).save(path);
    }
    io::SafeTensors file = io::load_safetensors(path);
    if (change) change(file.metadata);
    io::save_safetensors(path, file.tensors, file.metadata);
    manual_seed(0);  // another process
    Run run;
    CHECK(training::Checkpoint::load(path).restore(run.net, run.optimizer) == 5);
    for (int i = 5; i < 9; ++i) run.step();
    return run.step();
}

}  // namespace

TEST_CASE("a run that draws from default_rng() resumes with the bits of one that never stopped", "[train]") {
    const Scratch scratch;
    manual_seed(7);
    Run whole;
    for (int i = 0; i < 9; ++i) whole.step();
    const double uninterrupted = whole.step();
    CHECK(resumed(scratch / "file") == uninterrupted);
    // A file of an earlier version, which does not say where default_rng() was, still loads.
    const double old = resumed(scratch / "file", [](io::Metadata& entries) { entries.erase("default_rng"); });
    CHECK(old != uninterrupted);
}

TEST_CASE("an index beyond the modules of a list, or beyond what a rule saved, is an IndexError", "[fault]") {
    Rng rng(1);
    nn::ModuleList<nn::Linear> layers;
    layers.append(nn::Linear(2, 2, rng));
    CHECK(message_of<IndexError>([&] { layers[1]; }) == "ModuleList: no module 1; it holds 1");
    const Saved saved({ones({2})}, {true});
    CHECK(message_of<IndexError>([&] { saved[1]; }) == "Saved: no tensor 1 of 1; name it in save_for_backward");
    CHECK(message_of<IndexError>([&] { saved.needs_input_grad(1); }) ==
          "Saved: no input 1 of 1; pass it to record");
}
