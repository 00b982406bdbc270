// Refusals of writers of files, of reports and pictures, after which nothing has changed.
#include <cmath>
#include <cstdlib>

#include "unchanged.h"

using namespace unchanged;

namespace {

// A writer: it makes the file, and on a full disk leaves the old one and nothing beside it.
void writes(Unchanged& c, const std::function<void(const std::filesystem::path&)>& write) {
    const Scratch scratch;
    io::save_text(scratch / "old", "something else");
    std::filesystem::create_directory(scratch / "folder");
    const State all = watch(scratch);
    for (const rlim_t bytes : {0, 1, 20})
        for (const char* name : {"old", "new"})
            c.refuses<IoError>(std::string(name) + ": could not write: File too large", all, [&] {
                const SmallDisk disk(bytes);
                write(scratch / name);
            });
    c.refuses<IoError>("folder: it is a directory", all, [&] { write(scratch / "folder"); });
    c.refuses<IoError>("No such file or directory", all, [&] { write(scratch / "missing" / "new"); });
    c.refuses<IoError>("Not a directory", all, [&] { write(scratch / "old" / "new"); });
    c.changes(all, [&] { write(scratch / "old"); });
}

// Names that the writers of named tensors refuse, and words of the messages.
void names(Unchanged& c,
           const std::function<void(const std::filesystem::path&, const io::NamedTensors&)>& write,
           const std::vector<std::pair<std::string, std::string>>& wrong) {
    const Scratch scratch;
    io::save_text(scratch / "old", "something else");
    const auto write_beside_x = [&](const std::string& name, const Tensor& value) {
        write(scratch / "old", {{"x", ones({2})}, {name, value}});
    };
    for (const auto& [name, words] : wrong)
        c.refuses<ValueError>(words, watch(scratch), [&, &name = name] { write_beside_x(name, ones({2})); });
    c.refuses<GraphError>("undefined", watch(scratch), [&] { write_beside_x("y", Tensor()); });
}

lm::GPT small_gpt() {
    Rng rng(1);
    return lm::GPT({.vocab_size = 3, .block_size = 4, .num_layers = 1, .num_heads = 2, .d_model = 4}, rng);
}

}  // namespace

TEST_CASE_METHOD(Unchanged,
                 "refused without a change: save_text save_npy save_npz save_safetensors save Checkpoint::save "
                 "History::save Report::save",
                 "[fault][unchanged]") {
    writes(*this, [](const auto& path) { io::save_text(path, std::string(100, 'x')); });
    writes(*this, [](const auto& path) { io::save_npy(path, ones({100})); });
    for (const bool compressed : {false, true})
        writes(*this, [&](const auto& path) { io::save_npz(path, {{"x", ones({100})}}, compressed); });
    names(*this, [](const auto& path, const auto& t) { io::save_npz(path, t); },
          {{"x", "the name \"x\" is taken"},
           {"\xff", "not UTF-8"},
           {std::string("a\0b", 3), "zero byte"},
           {std::string(70'000, 'n'), "65535"}});
    writes(*this, [](const auto& path) { io::save_safetensors(path, {{"x", ones({100})}}, {{"step", "1"}}); });
    names(*this, [](const auto& path, const auto& t) { io::save_safetensors(path, t); },
          {{"x", "\"x\" is taken"}, {"__metadata__", "is taken"}, {"\xff", "not UTF-8"}});
    const Scratch scratch;
    refuses<DTypeError>("x is in blocks of Q8_0, which such a file does not hold", watch(scratch), [&] {
        io::save_safetensors(scratch / "a", {{"x", pack(ones({2, 32}), DType::Q8_0)}});
    });
    refuses<ValueError>("not UTF-8", watch(scratch), [&] {
        io::save_safetensors(scratch / "a", {{"x", zeros({1})}}, {{"k", "\xff"}});
    });
    const lm::GPT model = small_gpt();
    writes(*this, [&](const auto& path) { io::save(model, path); });
    writes(*this, [&](const auto& path) { training::Checkpoint(model, 3).save(path); });
    const training::History history{{{.step = 0, .learning_rate = 0.1, .loss = 2.5}}};
    writes(*this, [&](const auto& path) { history.save(path); });
    report::Report report("title");
    report.loss(0, {.training = 1.0});
    const std::string before = report.html();
    writes(*this, [&](const auto& path) { report.save(path); });
    CHECK(report.html() == before);
}

TEST_CASE_METHOD(Unchanged, "refused without a change: save_pretrained", "[fault][unchanged]") {
    const lm::Decoder model({.vocab_size = 3, .num_layers = 1, .num_heads = 2, .d_model = 4}),
        odd({.vocab_size = 3,
             .num_layers = 1,
             .num_heads = 2,
             .d_model = 4,
             .norm_place = lm::NormPlace::after});
    const Scratch scratch;
    io::save_text(scratch / "file", "a file");
    lm::save_pretrained(scratch / "old", model);
    std::filesystem::create_directories(scratch / "folders/model.safetensors");
    lm::Decoder packed({.vocab_size = 3, .num_layers = 1, .num_heads = 1, .d_model = 32});
    packed.pack(DType::Q8_0);
    const State all = watch(scratch);
    for (const char* folder : {"old", "new"}) {
        refuses<ValueError>("no family of transformers that Weft knows has all the options of this Decoder",
                            all, [&] { lm::save_pretrained(scratch / folder, odd); });
        refuses<ValueError>("is in blocks of Q8_0, which safetensors does not hold", all,
                            [&] { lm::save_pretrained(scratch / folder, packed); });
    }
    refuses<IoError>("", all, [&] { lm::save_pretrained(scratch / "file", model); });
    refuses<IoError>("cannot make the folder", all,
                     [&] { lm::save_pretrained(scratch / "file/within", model); });
    refuses<IoError>("", all, [&] { lm::save_pretrained(scratch / "folders", model); });
    changes(watch(scratch), [&] { lm::save_pretrained(scratch / "new", model); });
}

TEST_CASE_METHOD(Unchanged, "refused without a change: BytePairs::save", "[fault][unchanged]") {
    const auto tokenizer = text::BytePairs::train("aaaa bbbb aaaa bbbb", 260);
    const Scratch scratch;
    tokenizer.save(scratch / "folder");
    io::save_text(scratch / "file", "");
    const auto other = text::BytePairs::train("xyxyxy", 259);
    const auto sizes = [&](const char* name) { return std::filesystem::file_size(scratch / "folder" / name); };
    // Room for merges.txt but not for vocab.json, and for neither.
    REQUIRE(sizes("merges.txt") < sizes("vocab.json"));
    for (const rlim_t bytes : {rlim_t{1}, static_cast<rlim_t>(sizes("merges.txt"))})
        refuses(watch(scratch), [&] {
            const SmallDisk disk(bytes);
            other.save(scratch / "folder");
        });
    refuses(watch(scratch), [&] { other.save(scratch / "file"); });
    std::filesystem::create_directories(scratch / "half" / "merges.txt");
    refuses(watch(scratch), [&] { other.save(scratch / "half"); });
    changes(watch(scratch), [&] { other.save(scratch / "folder"); });
}

TEST_CASE_METHOD(Unchanged, "refused without a change: save_svg", "[fault][unchanged]") {
    const Scratch scratch;
    io::save_text(scratch / "old.svg", "something else");
    refuses(watch(scratch), [&] { viz::save_svg(scratch / "old.svg", "no graph"); });
    refuses(watch(scratch), [&] { viz::save_svg(scratch / "missing" / "x.svg", "digraph { a }"); });
    if (std::system("command -v dot > /dev/null") == 0)
        changes(watch(scratch), [&] { viz::save_svg(scratch / "old.svg", "digraph { a }"); });
    else
        ++accepted;  // without Graphviz every call is refused
}

TEST_CASE_METHOD(Unchanged, "refused without a change: OutputFolder::OutputFolder", "[fault][unchanged]") {
    const Scratch scratch;
    io::save_text(scratch / "file", "x");
    std::filesystem::create_directories(scratch / "run" / "loss.csv");
    refuses(watch(scratch), [&] { training::OutputFolder(scratch / "file"); });
    refuses(watch(scratch), [&] { training::OutputFolder(scratch / "file" / "run"); });
    refuses(watch(scratch), [&] { training::OutputFolder(scratch / "run", {"loss.csv"}); });
    std::filesystem::remove(scratch / "run" / "train.lock");
    {
        const training::OutputFolder lock(scratch / "held");
        refuses(watch(scratch), [&] { training::OutputFolder(scratch / "held"); });
    }
    changes(watch(scratch), [&] { io::save_text(scratch / "new", ""); });
}

TEST_CASE_METHOD(Unchanged,
                 "refused without a change: Report::loss Report::run Report::sample "
                 "Report::truncate Report::setting Report::fact",
                 "[fault][unchanged]") {
    report::Report report("title");
    report.loss(3, {.training = 1.0, .learning_rate = 0.1});
    report.sample(3, "text");
    const State all = watch(report);
    const auto refused = [&](const std::string& words, const std::function<void()>& record) {
        refuses<ValueError>("report: " + words, all, record);
    };
    for (const std::int64_t step : {std::int64_t{-1}, INT64_MAX}) {
        const std::string beyond = " of step " + std::to_string(step) + "; count steps from 0 to 2^53";
        refused("training loss" + beyond, [&] { report.loss(step, {.training = 1.0}); });
        refused("…" + beyond, [&] { report.loss(step, {.validation = 1.0, .learning_rate = 1.0}); });
        refused("sample" + beyond, [&] { report.sample(step, "later"); });
    }
    const std::string order = " after that of step 3; record steps in ascending order";
    refused("training loss of step 2" + order, [&] { report.loss(2, {.training = 1.0}); });
    refused("training loss of step 3" + order, [&] { report.loss(3, {.training = 1.0}); });
    refused("sample of step 2" + order, [&] { report.sample(2, "later"); });
    report.loss(3, {.validation = 1.0});
    // The learning rate alone would have been right.
    refused("validation loss of step 2" + order,
            [&] { report.loss(2, {.validation = 1.0, .learning_rate = 1.0}); });
    refused("…step 3", [&] { report.loss(3, {.validation = 1.0, .learning_rate = 1.0}); });
    refuses(all, [&] { report.run({.steps = -1}); });
    refuses(all, [&] { report.run({.steps = 1, .seconds = NAN}); });
    changes(all, [&] { report.setting("a", "b"); });
    changes(all, [&] { report.truncate(3); });
}

TEST_CASE_METHOD(Unchanged, "refused without a change: Report::gradients Report::parameters",
                 "[fault][unchanged]") {
    report::Report report("title");
    lm::GPT model = small_gpt();
    nn::LayerNorm other(4);
    const State all = watch(report);
    refuses<ValueError>("gradients of step -1; count steps from 0", all, [&] { report.gradients(-1, model); });
    changes(all, [&] { report.gradients(3, model); });
    refuses<ValueError>("gradients of step 3", all, [&] { report.gradients(3, model); });
    refuses<ValueError>("start a report for each model", all, [&] { report.gradients(4, other); });
    changes(all, [&] { report.parameters(model); });
    Tensor bias = other.bias;
    bias.requires_grad_(false).set_data(zeros({4}, int64));
    refuses(all, [&] { report.parameters(other); });
}

TEST_CASE_METHOD(Unchanged, "refused without a change: Report::attention", "[fault][unchanged]") {
    report::Report report("title", 20);
    const std::vector<std::string> tokens = {"a", "b"};
    const Tensor right = tensor({{{1.0, 0}, {0.5, 0.5}}});  // (1, 2, 2)
    const State all = watch(report);
    const auto refused = [&]<class E>(const E&, const std::string& words, std::int64_t step,
                                      const std::vector<std::string>& labels,
                                      const std::vector<Tensor>& layers) {
        refuses<E>(words, all, [&] { report.attention(step, labels, layers); });
    };
    const ShapeError shape("");
    const ValueError value("");
    refused(value, "attention of step -1; count steps from 0", -1, tokens, {right});
    changes(all, [&] { report.attention(3, tokens, {right}); });
    refused(value, "attention of step 2 after that of step 3", 2, tokens, {right});
    refused(value, "already recorded at step 3", 3, tokens, {right});
    refused(shape, "start a report for each model", 4, tokens, {right, right});
    refused(shape, "1 labels for 2 queries", 4, {"a"}, {right});
    refused(shape, "2 labels for 3 keys", 4, tokens, {ones({1, 2, 3})});
    refused(value, "no layers", 4, tokens, {});
    refused(shape, "one token or more", 4, {}, {zeros({1, 0, 0})});
    refused(DTypeError(""), "", 4, tokens, {right.to(int64)});
    refused(value, "at most 1", 4, tokens, {right * 3});
    refused(value, "finite and at least 0", 4, tokens, {right * NAN});
    refused(value, "finite and at least 0", 4, tokens, {right * -1});
    const std::vector<std::string> many = {"1", "2", "3", "4", "5", "6", "7", "8"};
    refused(value, "the attention of step 4 takes 64 bytes, but attention_bytes is 20", 4, many,
            {full({1, 8, 8}, 0.125)});
}

TEST_CASE_METHOD(Unchanged, "refused without a change: Report::compare Report::model Report::operator=",
                 "[fault][unchanged]") {
    const Scratch scratch;
    report::Report report("title");
    report.save(scratch / "report.html");
    io::save_text(scratch / "other", "no report");
    const lm::GPT model = small_gpt();
    const State all = watch(report);
    refuses<IoError>("no such file", all, [&] { report.compare(scratch / "missing"); });
    refuses<IoError>("other as a report: it contains no report data", all,
                     [&] { report.compare(scratch / "other"); });
    refuses<ValueError>("report: the tokenizer has 4 characters, but the model's vocab_size is 3", all,
                        [&] { report.model(model, text::Characters("abcd")); });
    changes(all, [&] { report.model(model, text::Characters("abc")); });
    for (int i = 0; i < 8; ++i) {
        const auto folder = scratch / std::to_string(i);
        std::filesystem::create_directory(folder);
        report::Report("run").save(folder / "report.html");
        report.compare(folder);
    }
    refuses<ValueError>(" is one run too many; compare with at most 8", all,
                        [&] { report.compare(scratch / "report.html"); });
}

TEST_CASE_METHOD(Unchanged,
                 "refused without a change: RunReport::measured RunReport::gradients "
                 "RunReport::evaluated RunReport::resume RunReport::save",
                 "[fault][unchanged]") {
    const Scratch scratch;
    const text::Characters tokenizer("abc");
    const training::ReportOptions options{.title = "t", .steps = 4, .prompt = "a"};
    training::RunReport report(scratch / "report.html", options, small_gpt(), tokenizer,
                               tokenizer.encode("abcabcabc"));
    const State all = [&] { return report.page.html() + std::to_string(report.history.rows.size()); };
    changes(all, [&] { report.measured({.step = 2, .learning_rate = 0.1, .loss = 1.0}); });
    refuses(all, [&] { report.measured({.step = 1, .learning_rate = 0.1, .loss = 1.0}); });
    refuses(all, [&] { report.measured({.step = -1, .learning_rate = 0.1, .loss = 1.0}); });
    report.gradients(2);
    refuses(all, [&] { report.gradients(1); });
    report.evaluated(2);
    refuses(all, [&] { report.evaluated(1); });
    refuses(watch(scratch), [&] {
        const SmallDisk disk;
        report.save();
    });
}
