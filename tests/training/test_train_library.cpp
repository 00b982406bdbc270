// weft::training without a program around it: batches, checkpoints, history, folders, signals, loops.
#include <cerrno>
#include <cmath>
#include <csignal>
#include <set>

#include "environment.h"
#include "refusal.h"
#include "weft/weft.h"

using namespace weft;
namespace fs = std::filesystem;

namespace {

text::Ids counted(std::int64_t n) { return arange(n).to_vector<std::int64_t>(); }

// Dropout, so that a checkpoint has a generator to keep.
lm::GPT small_gpt() {
    Rng rng(1);
    return {{.vocab_size = 8, .block_size = 4, .num_layers = 1, .num_heads = 2, .d_model = 8, .dropout = 0.1},
            rng};
}

Tensor loss_of(const lm::GPT& model, const training::Batch& batch) {
    return cross_entropy(model(batch.inputs), batch.targets);
}

text::Ids cycle(std::int64_t n) {
    text::Ids ids = counted(n);
    for (std::int64_t& id : ids) id = id * id % 8;
    return ids;
}

// The loop of docs/15_own_text.md: from the checkpoint, if there is one, to `until`.
double train_in(const fs::path& folder, std::int64_t until) {
    training::Corpus corpus(cycle(400), {.block_size = 4, .batch_size = 3, .seed = 2});
    lm::GPT model = small_gpt();
    optim::AdamW optimizer(model, {.lr = 1e-2});
    std::int64_t step = 0;
    const fs::path path = folder / "model.safetensors";
    if (fs::exists(path)) step = training::Checkpoint::load(path).restore(model, optimizer);
    double last = 0;
    for (; step < until; ++step) {
        optimizer.zero_grad();
        Tensor loss = loss_of(model, corpus.training_batch(step));
        loss.backward();
        optimizer.step();
        last = loss.item();
    }
    training::Checkpoint(model, optimizer, step, {{"note", "mine"}}).save(path);
    return last;
}

}  // namespace

TEST_CASE("a corpus reads all of its training part once in each pass, and targets follow inputs", "[train]") {
    training::Corpus corpus(counted(100), {.block_size = 4, .batch_size = 3, .seed = 1});
    CHECK(corpus.training().size() == 90);
    CHECK(corpus.validation() == text::Ids{90, 91, 92, 93, 94, 95, 96, 97, 98, 99});
    std::set<std::int64_t> seen;
    for (std::int64_t step = 0; step < 7; ++step) {  // 21 blocks are a pass
        const training::Batch batch = corpus.training_batch(step);
        REQUIRE(batch.inputs.shape() == Shape{3, 4});
        CHECK(sum((batch.targets - batch.inputs != 1).to(float32)).item() == 0);
        for (const std::int64_t id : batch.inputs.to_vector<std::int64_t>()) CHECK(seen.insert(id).second);
    }
    CHECK(seen.size() == 84);
    CHECK(*seen.rbegin() < 90);
    // A function of the step: asked again, and by another corpus.
    const auto ids = [&](training::Corpus& from, std::int64_t step) {
        return from.training_batch(step).inputs.to_vector<std::int64_t>();
    };
    const auto third = ids(corpus, 3);
    ids(corpus, 20);
    CHECK(ids(corpus, 3) == third);
    training::Corpus other(counted(100), {.block_size = 4, .batch_size = 3, .seed = 2});
    CHECK(ids(other, 3) != third);

    const auto batches =
        training::Corpus(counted(1000), {.block_size = 4, .batch_size = 10}).validation_batches();
    CHECK(batches.size() == 3);  // 24 blocks
    CHECK(batches[2].inputs.shape() == Shape{4, 4});
    CHECK(batches[2].inputs.at({3, 3}) == 995);
    const auto two = training::Corpus(counted(1000), {.block_size = 4, .batch_size = 1}).validation_batches(2);
    CHECK(two.size() == 2);
    CHECK(two[1].inputs.at({0, 0}) == 948);
}

TEST_CASE("a corpus says how long its text has to be", "[train]") {
    CHECK_NOTHROW(training::Corpus(counted(41), {.block_size = 4, .batch_size = 1}));
    refuses<ValueError>("the text has 40 tokens; a block_size of 4 needs at least 41",
                        [] { training::Corpus(counted(40), {.block_size = 4, .batch_size = 1}); });
    refuses<ValueError>("block_size is 0 and batch_size 1",
                        [] { training::Corpus(counted(40), {.block_size = 0, .batch_size = 1}); });
    CHECK_THROWS_AS(training::Corpus(counted(40), {.block_size = 2, .batch_size = 0}), ValueError);
}

TEST_CASE("texts are read without a byte-order mark, with LF", "[train]") {
    const Scratch scratch;
    io::save_text(scratch / "a",
                  "\xEF\xBB\xBF"
                  "a\r\nb\r");
    io::save_text(scratch / "b", "\xC3\xA9");
    CHECK(training::read_text({scratch / "a", scratch / "b"}) == "a\nb\r\xC3\xA9");
    io::save_text(scratch / "c", "ab\xFF");
    refuses<IoError>("byte 0xFF at offset 2", [&] { training::read_text({scratch / "c"}); });
    io::save_text(scratch / "d", "\xEF\xBB\xBF");
    refuses<IoError>("it is empty", [&] { training::read_text({scratch / "d"}); });
}

TEST_CASE("a loop that goes on from its checkpoint ends with the bytes of one that never stopped", "[train]") {
    const Scratch whole, parts;
    const double last = train_in(whole.folder(), 9);
    train_in(parts.folder(), 4);
    CHECK(train_in(parts.folder(), 9) == last);
    CHECK((io::load_text(whole / "model.safetensors") == io::load_text(parts / "model.safetensors")));
    const auto saved = training::Checkpoint::load(whole / "model.safetensors");
    CHECK(saved.meta("note") == "mine");
    CHECK(saved.number<std::int64_t>("step") == 9);
    CHECK(message_of<IoError>([&] { saved.meta("lr"); }) == "it does not say its lr");
    CHECK(message_of<IoError>([&] { saved.number<double>("note"); }) == "its note: \"mine\" is not a number");
    // Weights alone.
    lm::GPT model = small_gpt();
    training::Checkpoint(model, 3).save(whole / "best.safetensors");
    CHECK_FALSE(io::load_safetensors(whole / "best.safetensors").has("optimizer.step"));
    CHECK(training::Checkpoint::load(whole / "best.safetensors").restore(model) == 3);
}

TEST_CASE("a checkpoint of a module with a child named optimizer comes back", "[train]") {
    struct Learner : nn::Module {
        nn::Linear optimizer, _optimizer;
        explicit Learner(Rng rng)
            : Module("Learner"),
              optimizer(register_module("optimizer", nn::Linear(3, 2, rng))),
              _optimizer(register_module("_optimizer", nn::Linear(2, 1, rng))) {}
    };
    const Scratch scratch;
    const auto path = scratch / "model.safetensors";
    const auto step = [](Learner& learner, optim::AdamW& optimizer) {
        optimizer.zero_grad();
        mean(learner._optimizer(learner.optimizer(ones({1, 3})))).backward();
        optimizer.step();
    };
    Learner saved(Rng(1)), loaded(Rng(2));
    optim::AdamW first(saved, {.lr = 0.1}), second(loaded, {.lr = 0.1});
    step(saved, first);
    training::Checkpoint(saved, first, 7, {{"note", "mine"}}).save(path);
    const auto checkpoint = training::Checkpoint::load(path);
    CHECK(checkpoint.metadata == training::Checkpoint(saved, 7, {{"note", "mine"}}).metadata);
    CHECK(checkpoint.restore(loaded, second) == 7);
    step(saved, first);
    step(loaded, second);
    for (std::size_t i = 0; i < saved.parameters().size(); ++i)
        CHECK(all(saved.parameters()[i] == loaded.parameters()[i]));
    // The weights alone.
    training::Checkpoint(saved, 8).save(path);
    CHECK(training::Checkpoint::load(path).restore(loaded) == 8);
}

TEST_CASE("a history comes back as it was saved, up to a step", "[train]") {
    const Scratch scratch;
    const double nan = std::nan("");
    training::History history{
        {{0, 0.1, 2.5, 3.5}, {1, 1e-4, 1.0}, {2, 1e-4, nan, INFINITY}, {3, 1e-4, {}, 1e300}}};
    history.save(scratch / "loss.csv");
    CHECK(io::load_text(scratch / "loss.csv") ==
          "step,learning_rate,loss,validation_loss\n0,0.1,2.5,3.5\n1,1e-04,1,\n2,1e-04,nan,inf\n3,1e-04,,1e+"
          "300\n");
    const auto read = training::History::load(scratch / "loss.csv", 3);
    REQUIRE(read.rows.size() == 3);
    CHECK(std::isnan(*read.rows[2].loss));
    CHECK(std::isinf(*read.rows[2].validation_loss));
    CHECK_FALSE(read.rows[1].validation_loss);
    CHECK(training::History::load(scratch / "none.csv", 3).rows.empty());
    history.rows.resize(2);
    CHECK(history.mean_since_evaluation() == 1.75);
    history.rows.push_back({2, 0.1, 5.0, 2.0});
    CHECK(history.mean_since_evaluation() == 5.0);
    CHECK_FALSE(training::History().mean_since_evaluation());
    io::save_text(scratch / "loss.csv",
                  "step,learning_rate,loss,held_out_loss\n0,0.1,2.5,3.5\n");  // first edition
    CHECK(training::History::load(scratch / "loss.csv", 9).rows.size() == 1);
    for (const char* wrong : {"step,loss\n", "step,learning_rate,loss,validation_loss\n0,0.1,x,\n",
                              "step,learning_rate,loss,validation_loss\n0,-1,2,\n",
                              "step,learning_rate,loss,validation_loss\n0,1,2\n"}) {
        io::save_text(scratch / "loss.csv", wrong);
        CHECK_THROWS_AS(training::History::load(scratch / "loss.csv", 9), IoError);
    }
}

TEST_CASE("numbers are read whole, in their range, or named", "[train]") {
    const auto whole = [](const std::string& text) {
        return training::number_of<std::int64_t>("n", text, 1, 9);
    };
    CHECK(whole("9") == 9);
    const auto why = [&](const std::string& text) { return message_of<IoError>([&] { whole(text); }); };
    CHECK(why("x") == "n: \"x\" is not a whole number");
    CHECK(why("") == "n: \"\" is not a whole number");
    CHECK(why("1.5") == "n: \"1.5\" is not a whole number");
    CHECK(why("10") == "n: 10 is out of range; use at least 1 and at most 9");
    CHECK(why("99999999999999999999") ==
          "n: 99999999999999999999 is out of range; use at least 1 and at most 9");
    CHECK(training::number_of<double>("x", "2.5e-3") == 0.0025);
    CHECK(message_of<IoError>([] { training::number_of<double>("x", "nan"); }) ==
          "x: nan is out of range; use at least 0");
    CHECK(training::number_of<std::uint64_t>("x", "18446744073709551615") == ~std::uint64_t{0});
}

TEST_CASE("an interrupt is seen once, and what was there before comes back", "[train]") {
    const auto before = std::signal(SIGHUP, SIG_IGN);
    {
        const training::Interrupt interrupt;
        CHECK_FALSE(interrupt.requested());
        std::raise(SIGHUP);  // ignored before, ignored now
        CHECK_FALSE(interrupt.requested());
        std::raise(SIGTERM);
        CHECK(interrupt.requested());
        CHECK(interrupt.signal() == SIGTERM);
    }
    CHECK(std::signal(SIGHUP, before) == SIG_IGN);
    const training::Interrupt again;
    CHECK_FALSE(again.requested());
}

TEST_CASE("evaluate is the mean per token, without dropout, and gives up when it is told to", "[train]") {
    const lm::GPT model = small_gpt();
    const auto batches = training::Corpus(cycle(400), {.block_size = 4, .batch_size = 4}).validation_batches();
    REQUIRE(batches.size() == 3);  // 4, 4 and 1 sequences
    const auto loss = [&](const training::Batch& batch) { return loss_of(model, batch); };
    double expected = 0;
    {
        const nn::EvalMode eval_mode;
        for (const auto& batch : batches)
            expected += loss(batch).item() * static_cast<double>(batch.targets.numel());
    }
    CHECK(training::evaluate(batches, loss) == Approx(expected / 36));
    CHECK(model.training());
    int asked = 0;
    CHECK(std::isnan(training::evaluate(batches, loss, [&] { return ++asked == 2; })));
    CHECK(message_of<ValueError>([&] { training::evaluate({}, loss); }) ==
          "evaluate: there is no batch; give at least one");
}

TEST_CASE("minimise makes the steps of the loop written out", "[train]") {
    const Tensor target = tensor({1.0, -2.0}, float64);
    const auto trained = [&](auto loop) {
        Tensor x = zeros({2}, float64).requires_grad_();
        optim::SGD optimizer(std::vector<Tensor>{x}, {.lr = 0.1});
        loop(optimizer, [&] { return mse_loss(x, target); });
        return x;
    };
    const optim::CosineOptions schedule{.lr = 0.2, .steps = 5};
    double last = 0;
    const Tensor a = trained([&](auto& optimizer, auto loss_of) {
        last = training::minimise(optimizer, 5, loss_of, {.schedule = schedule, .print_every = 0});
    });
    double expected = 0;
    const Tensor b = trained([&](auto& optimizer, auto loss_of) {
        for (int step = 0; step < 5; ++step) {
            optimizer.set_lr(optim::cosine_lr(step, schedule));
            optimizer.zero_grad();
            const Tensor loss = loss_of();
            loss.backward();
            optimizer.step();
            expected = loss.item();
        }
    });
    CHECK(last == expected);
    CHECK(a.to_vector<double>() == b.to_vector<double>());
}

TEST_CASE("an output folder is held by one, and leaves nothing behind", "[train]") {
    const Scratch scratch;
    const fs::path folder = scratch / "a" / "b";
    {
        const training::OutputFolder first(folder, {"model.safetensors"});
        std::string refusal;
        const auto taken = [&](double patience) {
            return written_to(STDERR_FILENO, [&] {
                refusal = message_of<IoError>([&] { training::OutputFolder second(folder, {}, patience); });
            });
        };
        CHECK(taken(0).empty());  // no word of waiting
        CHECK(contains(refusal, "another run trains in"));
        CHECK(contains(taken(0.1), "waiting 0.1 s for its end"));
        CHECK(contains(refusal, "another run trains in"));
        CHECK(fs::exists(folder / "train.lock"));
    }
    CHECK_FALSE(fs::exists(scratch / "a"));
    fs::create_directories(folder);
    errno = EWOULDBLOCK;  // of some earlier call
    CHECK_NOTHROW(training::OutputFolder(folder, {}, 0));
    fs::create_directories(folder / "model.safetensors");
    refuses<IoError>("its model.safetensors is a folder, not a file",
                     [&] { training::OutputFolder taken(folder, {"model.safetensors"}); });
}
