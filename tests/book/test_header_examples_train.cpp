// The examples in the headers of weft::training, word for word, and what they claim.
#include "catch.h"
#include "programs.h"
#include "scratch.h"
#include "weft/training.h"

using namespace weft;

namespace {

lm::GPT small_gpt(std::int64_t vocab_size) {
    Rng rng(1);
    return {{.vocab_size = vocab_size, .block_size = 64, .num_layers = 1, .num_heads = 1, .d_model = 8}, rng};
}

}  // namespace

TEST_CASE("checkpoint.h: a run is resumed from its checkpoint", "[header-examples]") {
    const Scratch scratch;
    const std::filesystem::path path = scratch / "model.safetensors";
    Rng rng(1);
    nn::Linear model(2, 3, rng);
    optim::AdamW optimizer(model, {.lr = 1e-2});
    const auto run = [&] {
        std::int64_t step = 0;
        if (std::filesystem::exists(path)) step = training::Checkpoint::load(path).restore(model, optimizer);
        // train
        training::Checkpoint(model, optimizer, step).save(path);
        return step;
    };
    CHECK(run() == 0);
    for (const std::int64_t step : {1, 2}) {
        training::Checkpoint(model, optimizer, step).save(path);
        CHECK(run() == step);
    }
    CHECK(training::Checkpoint::load(path).meta("step") == "2");
}

TEST_CASE("interrupt.h: a loop ends at a signal and saves", "[header-examples]") {
    const Scratch scratch;
    const std::filesystem::path path = scratch / "model.safetensors";
    Rng rng(1);
    nn::Linear model(2, 3, rng);
    optim::AdamW optimizer(model, {.lr = 1e-2});
    std::int64_t step = 0;
    const std::int64_t steps = 10;
    const auto train = [](std::int64_t at) {
        if (at == 2) std::raise(SIGINT);
    };
    const training::Interrupt interrupt;
    for (; step < steps && !interrupt.requested(); ++step) train(step);
    training::Checkpoint(model, optimizer, step).save(path);
    CHECK(interrupt.signal() == SIGINT);
    CHECK(training::Checkpoint::load(path).meta("step") == "3");
}

TEST_CASE("corpus.h, loop.h: batches of a text, and the mean loss of the validation part",
          "[header-examples]") {
    const Scratch scratch;
    const std::filesystem::path folder = scratch.folder();
    io::save_text(folder / "one.txt", pangrams());
    io::save_text(folder / "two.txt", "\xEF\xBB\xBFtwo\r\n");
    const std::string text = training::read_text({folder / "one.txt", folder / "two.txt"});
    CHECK(text == pangrams() + "two\n");

    const std::int64_t step = 3;
    const lm::GPT model = small_gpt(text::Characters(text).vocab_size());
    const text::Characters tokenizer(text);
    training::Corpus corpus(tokenizer.encode(text), {.block_size = 64, .batch_size = 12, .seed = 1});
    const training::Batch batch = corpus.training_batch(step);              // each (12, 64)
    const Tensor loss = cross_entropy(model(batch.inputs), batch.targets);  // ()
    CHECK(batch.inputs.shape() == Shape{12, 64});
    CHECK(batch.targets.shape() == Shape{12, 64});
    CHECK(loss.rank() == 0);
    {
        const double loss = training::evaluate(corpus.validation_batches(), [&](const training::Batch& batch) {
            return cross_entropy(model(batch.inputs), batch.targets);
        });
        CHECK(loss > 0);
    }
}

TEST_CASE("data.h: batches of tensors, and of sequences that are padded", "[header-examples]") {
    Rng rng(1);
    {
        const Tensor features = randn({64, 4}, rng), targets = randint(0, 3, {64}, rng);
        const nn::Linear net(4, 3, rng);
        Tensor loss = zeros({});
        const training::TensorDataset data(features, targets);  // (N, 4) and (N,)
        training::DataLoader same(features, targets, {.batch_size = 32, .shuffle = true});
        training::DataLoader loader(data, {.batch_size = 32, .shuffle = true});
        for (const auto& [x, t] : loader)  // (32, 4) and (32,)
            loss = loss + cross_entropy(net(x), t);
        CHECK(same.size() == 2);
        CHECK((*same.begin())[0].shape() == Shape{32, 4});
        CHECK(loss.item() / 2 == Approx(cross_entropy(net(features), targets).item()).epsilon(1e-5));
    }
    {
        const nn::Embedding embed(5, 8, rng);
        const nn::MultiHeadAttention attend(8, 2, rng);
        Tensor y;
        const std::vector<Tensor> sentences{arange(3), arange(5), arange(2)};
        for (const auto& [ids, lengths] : training::DataLoader(sentences, {.batch_size = 2}))
            y = attend(embed(ids), Mask::padding(lengths));  // ids (2, 5), then (1, 2)
        training::DataLoader last(sentences, {}, [](const std::vector<Tensor>& batch) { return batch[0][-1]; });
        CHECK(y.shape() == Shape{1, 2, 8});
        double total = 0;
        for (const Tensor& id : last) total += id.item();
        CHECK(total == 2 + 4 + 1);
    }
    const auto [x, lengths] = training::pad_sequence({ones({3}), ones({2})});  // x (2, 3), lengths 3 and 2
    const Mask mask = Mask::padding(lengths);
    CHECK(x.shape() == Shape{2, 3});
    CHECK(all(mask.materialize(2, 1, 1, 3)[1][0][0] == tensor({false, false, true})));
}

TEST_CASE("loop.h: minimise lowers a loss", "[header-examples]") {
    Rng rng(1);
    nn::Linear model(2, 3, rng);
    const Tensor x = randn({4, 2}, rng), target = tensor({0, 1, 2, 0}, int64);
    const double before = cross_entropy(model(x), target).item();
    optim::AdamW optimizer(model, {.lr = 1e-2});
    training::minimise(optimizer, 200, [&] { return cross_entropy(model(x), target); });
    CHECK(cross_entropy(model(x), target).item() < before);
}

TEST_CASE("folder.h: a folder is locked until the end of the scope", "[header-examples]") {
    const Scratch scratch;
    const std::filesystem::path folder = scratch / "out";
    {
        const training::OutputFolder lock(folder, {"model.safetensors"});  // until the end of the scope
        CHECK(contains(message_of<IoError>([&] { training::OutputFolder second(folder, {}, 0); }),
                       "another run"));
    }
    CHECK_FALSE(std::filesystem::exists(folder));  // created here, and empty
}

TEST_CASE("history.h: a resumed run's rows, and one more", "[header-examples]") {
    const Scratch scratch;
    const std::filesystem::path path = scratch / "loss.csv";
    const Tensor loss = tensor(1.5);
    Rng rng(1);
    nn::Linear model(2, 3, rng);
    optim::AdamW optimizer(model, {.lr = 1e-2});
    for (const std::int64_t step : {0, 1}) {
        training::History history = training::History::load(path, step);  // history of a resumed run
        history.rows.push_back({step, optimizer.lr(), loss.item()});
        history.save(path);
        CHECK(std::ssize(history.rows) == step + 1);
    }
}

TEST_CASE("numbers.h: numbers are read, or what is wrong is said", "[header-examples]") {
    int threads = 0;
    const std::string problem = read_number("8", 1, 64, threads);  // "", and threads is 8
    CHECK(problem.empty());
    CHECK(threads == 8);
    const auto step = number_of<std::int64_t>("its step", "12");  // 12
    CHECK(step == 12);
}

TEST_CASE("progress.h: the memory of this process", "[header-examples]") {
    const double before = training::peak_memory();
    const std::vector<char> touched(std::size_t{1} << 28, 1);
    const double peak = training::peak_memory();
    CHECK(peak >= 256);
    CHECK(peak >= before);
    CHECK(peak < 1 << 20);
    CHECK(touched.back() == 1);
}

TEST_CASE("progress.h: a loop reports each step", "[header-examples]") {
    const std::int64_t steps = 3, batch_size = 2, block_size = 4;
    std::vector<std::int64_t> trained;
    const auto train = [&](std::int64_t step) {
        trained.push_back(step);
        return 1.0;
    };
    int validations = 0;
    const auto validate = [&] { return ++validations + 1.0; };
    training::Progress progress(0, steps, batch_size * block_size);
    for (std::int64_t step = 0; step < steps; ++step) {
        const double loss = train(step);
        progress.step(step + 1, loss);
        if (step % 100 == 0) progress.evaluated(step + 1, loss, validate());
    }
    CHECK(trained == std::vector<std::int64_t>{0, 1, 2});
    CHECK(validations == 1);
    const training::ProgressOptions silent{.eval_interval = 100, .quiet = true};
    training::Progress unseen(0, steps, batch_size * block_size, silent);
    unseen.print("nothing");
}

TEST_CASE("terminal.h: a line fits the terminal", "[header-examples]") {
    const training::Terminal terminal;
    std::puts(terminal.folded({"a", "line", "of", "words"}).c_str());
    CHECK(terminal.columns() > 0);
}

TEST_CASE("report.h: a run's page is continued and saved", "[header-examples]") {
    const Scratch scratch;
    const std::filesystem::path path = scratch / "report.html";
    const text::Characters tokenizer(pangrams());
    const lm::GPT model = small_gpt(tokenizer.vocab_size());
    training::Corpus corpus(tokenizer.encode(pangrams()), {.block_size = 64});
    const std::int64_t step = 0, steps = 2;
    const training::History history;
    const training::Measured row{step, 1e-3, 3.0, 3.1};
    const training::Batch batch = corpus.training_batch(step);
    cross_entropy(model(batch.inputs), batch.targets).backward();
    Rng rng(1);
    {
        const training::ReportOptions options = {.title = "My text", .steps = steps, .prompt = "The"};
        training::RunReport report(path, options, model, tokenizer, corpus.validation());
        report.resume(step, history);  // in a resumed run
        report.gradients(step);        // after backward
        report.measured(row);          // after each step
        report.evaluated(step);        // after each evaluation
        if (report.due()) report.save(/*running=*/true);
        report.save();  // at the end
        CHECK(report.history.rows.size() == 1);
    }
    CHECK(contains(io::load_text(path), "My text"));
}

TEST_CASE("run.h: a run goes to its end, and is done", "[header-examples]") {
    const Scratch scratch;
    const std::filesystem::path folder = scratch.folder();
    const text::Characters tokenizer(pangrams());
    const auto go = [&](bool resumes) {
        lm::GPT model = small_gpt(tokenizer.vocab_size());
        optim::AdamW optimizer(model, {});
        training::Corpus corpus(tokenizer.encode(pangrams()), {.block_size = 64});
        const text::Ids validation = corpus.validation();
        const auto loss_of = [&](const training::Batch& batch) {
            return cross_entropy(model(batch.inputs), batch.targets);
        };
        const optim::CosineOptions rate{.lr = 1e-2, .steps = 6};
        const training::RunOptions options{.folder = folder, .rate = rate, .eval_interval = 2};
        training::RunState state;
        if (resumes) {
            const auto last = training::Checkpoint::load(folder / "model.safetensors");
            state = {last.restore(model, optimizer), training::best_of(last)};
        }
        if (training::is_done(state, options)) return;
        training::RunReport report(folder / "report.html", {.prompt = "a"}, model, tokenizer, validation);
        training::Run run(model, optimizer, report, state, options);
        const auto backward = [&](std::int64_t step) {
            const Tensor loss = loss_of(corpus.training_batch(step));
            loss.backward();
            return loss.item();
        };
        run.train(backward, [&] { return training::evaluate(corpus.validation_batches(), loss_of); });
        CHECK(state.step == 6);
        CHECK(state.best->second == 6);
    };
    go(false);
    const std::string before = io::load_text(folder / "model.safetensors");
    std::filesystem::remove(folder / "report.html");
    go(true);  // which is the file that is_done misses
    go(true);
    CHECK(io::load_text(folder / "model.safetensors") == before);
    CHECK(std::filesystem::exists(folder / "report.html"));
}
