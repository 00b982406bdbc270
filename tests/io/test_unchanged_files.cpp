// Rows of the table of what changes something: writers of files, reports and pictures.
#include <cmath>
#include <cstdlib>

#include "unchanged.h"

namespace unchanged {

namespace {

// A writer: it makes the file `name`, and on a full disk leaves the old one and nothing beside it.
void writes(Check& c, const std::function<void(const std::filesystem::path&)>& write, const Action& also = {}) {
    const Scratch scratch;
    io::save_text(scratch / "old", "something else");
    std::filesystem::create_directory(scratch / "folder");
    for (const rlim_t bytes : {0, 1, 20})
        for (const char* name : {"old", "new"})
            c.refuses(watch(scratch), [&] {
                const SmallDisk disk(bytes);
                write(scratch / name);
            });
    c.refuses(watch(scratch), [&] { write(scratch / "folder"); });
    c.refuses(watch(scratch), [&] { write(scratch / "missing" / "new"); });
    c.refuses(watch(scratch), [&] { write(scratch / "old" / "new"); });
    if (also) also();
    c.changes(watch(scratch), [&] { write(scratch / "old"); });
}

// Values that the writers of named tensors refuse.
void names(Check& c, const std::function<void(const std::filesystem::path&, const io::NamedTensors&)>& write,
           const std::vector<std::string>& wrong) {
    const Scratch scratch;
    io::save_text(scratch / "old", "something else");
    for (const std::string& name : wrong)
        c.refuses(watch(scratch), [&] { write(scratch / "old", {{"x", ones({2})}, {name, ones({2})}}); });
    c.refuses(watch(scratch), [&] { write(scratch / "old", {{"x", ones({2})}, {"y", Tensor()}}); });
}

lm::GPT small_gpt() {
    Rng rng(1);
    return lm::GPT({.vocab_size = 3, .block_size = 4, .num_layers = 1, .num_heads = 2, .d_model = 4}, rng);
}

}  // namespace

std::vector<Row> file_rows() {
    return {
        {"save_text",
         [](Check& c) { writes(c, [](const auto& path) { io::save_text(path, std::string(100, 'x')); }); }},
        {"save_npy", [](Check& c) { writes(c, [](const auto& path) { io::save_npy(path, ones({100})); }); }},
        {"save_npz",
         [](Check& c) {
             for (const bool compressed : {false, true})
                 writes(c, [&](const auto& path) { io::save_npz(path, {{"x", ones({100})}}, compressed); });
             names(c, [](const auto& path, const auto& t) { io::save_npz(path, t); },
                   {"x", std::string("a\0b", 3), "\xff"});
         }},
        {"save_safetensors",
         [](Check& c) {
             writes(c, [](const auto& path) {
                 io::save_safetensors(path, {{"x", ones({100})}}, {{"step", "1"}});
             });
             names(c, [](const auto& path, const auto& t) { io::save_safetensors(path, t); },
                   {"x", "__metadata__", "\xff"});
         }},
        {"save",
         [](Check& c) {
             const lm::GPT model = small_gpt();
             writes(c, [&](const auto& path) { io::save(model, path); });
         }},
        {"save_pretrained",
         [](Check& c) {
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
             packed.pack(BlockFormat::Q8_0);
             for (const char* folder : {"old", "new"}) {
                 c.refuses(watch(scratch), [&] { lm::save_pretrained(scratch / folder, odd); });
                 c.refuses(watch(scratch), [&] { lm::save_pretrained(scratch / folder, packed); });
             }
             c.refuses(watch(scratch), [&] { lm::save_pretrained(scratch / "file", model); });
             c.refuses(watch(scratch), [&] { lm::save_pretrained(scratch / "file/within", model); });
             c.refuses(watch(scratch), [&] { lm::save_pretrained(scratch / "folders", model); });
             c.changes(watch(scratch), [&] { lm::save_pretrained(scratch / "new", model); });
         }},
        {"Checkpoint::save",
         [](Check& c) {
             const lm::GPT model = small_gpt();
             writes(c, [&](const auto& path) { training::Checkpoint(model, 3).save(path); });
         }},
        {"History::save",
         [](Check& c) {
             const training::History history{{{.step = 0, .learning_rate = 0.1, .loss = 2.5}}};
             writes(c, [&](const auto& path) { history.save(path); });
         }},
        {"Report::save",
         [](Check& c) {
             report::Report report("title");
             report.loss(0, {.training = 1.0});
             const std::string before = report.html();
             writes(c, [&](const auto& path) { report.save(path); });
             CHECK(report.html() == before);
         }},
        {"BytePairs::save",
         [](Check& c) {
             const auto tokenizer = text::BytePairs::train("aaaa bbbb aaaa bbbb", 260);
             const Scratch scratch;
             tokenizer.save(scratch / "folder");
             io::save_text(scratch / "file", "");
             const auto other = text::BytePairs::train("xyxyxy", 259);
             const auto sizes = [&](const char* name) {
                 return std::filesystem::file_size(scratch / "folder" / name);
             };
             // Room for merges.txt but not for vocab.json, and for neither.
             REQUIRE(sizes("merges.txt") < sizes("vocab.json"));
             for (const rlim_t bytes : {rlim_t{1}, static_cast<rlim_t>(sizes("merges.txt"))})
                 c.refuses(watch(scratch), [&] {
                     const SmallDisk disk(bytes);
                     other.save(scratch / "folder");
                 });
             c.refuses(watch(scratch), [&] { other.save(scratch / "file"); });
             std::filesystem::create_directories(scratch / "half" / "merges.txt");
             c.refuses(watch(scratch), [&] { other.save(scratch / "half"); });
             c.changes(watch(scratch), [&] { other.save(scratch / "folder"); });
         }},
        {"save_svg",
         [](Check& c) {
             const Scratch scratch;
             io::save_text(scratch / "old.svg", "something else");
             c.refuses(watch(scratch), [&] { viz::save_svg(scratch / "old.svg", "no graph"); });
             c.refuses(watch(scratch), [&] { viz::save_svg(scratch / "missing" / "x.svg", "digraph { a }"); });
             if (std::system("command -v dot > /dev/null") == 0)
                 c.changes(watch(scratch), [&] { viz::save_svg(scratch / "old.svg", "digraph { a }"); });
             else
                 ++c.accepted;  // without Graphviz every call is refused
         }},
        {"OutputFolder::OutputFolder",
         [](Check& c) {
             const Scratch scratch;
             io::save_text(scratch / "file", "x");
             std::filesystem::create_directories(scratch / "run" / "loss.csv");
             c.refuses(watch(scratch), [&] { training::OutputFolder(scratch / "file"); });
             c.refuses(watch(scratch), [&] { training::OutputFolder(scratch / "file" / "run"); });
             c.refuses(watch(scratch), [&] { training::OutputFolder(scratch / "run", {"loss.csv"}); });
             std::filesystem::remove(scratch / "run" / "train.lock");
             {
                 const training::OutputFolder lock(scratch / "held");
                 c.refuses(watch(scratch), [&] { training::OutputFolder(scratch / "held"); });
             }
             c.changes(watch(scratch), [&] { io::save_text(scratch / "new", ""); });
         }},
    };
}

std::vector<Row> picture_rows() {
    return {
        {"Report::loss Report::run Report::sample Report::truncate Report::setting Report::fact",
         [](Check& c) {
             report::Report report("title");
             report.loss(3, {.training = 1.0, .learning_rate = 0.1});
             report.sample(3, "text");
             const State all = watch(report);
             for (const std::int64_t step : {std::int64_t{-1}, std::int64_t{2}, INT64_MAX}) {
                 c.refuses(all, [&] { report.loss(step, {.training = 1.0}); });
                 c.refuses(all, [&] { report.loss(step, {.validation = 1.0, .learning_rate = 1.0}); });
                 c.refuses(all, [&] { report.sample(step, "later"); });
             }
             c.refuses(all, [&] { report.loss(3, {.validation = 1.0, .learning_rate = 1.0}); });
             c.refuses(all, [&] { report.run({.steps = -1}); });
             c.refuses(all, [&] { report.run({.steps = 1, .seconds = NAN}); });
             c.changes(all, [&] { report.setting("a", "b"); });
             c.changes(all, [&] { report.truncate(3); });
         }},
        {"Report::gradients Report::parameters",
         [](Check& c) {
             report::Report report("title");
             lm::GPT model = small_gpt();
             nn::LayerNorm other(4);
             const State all = watch(report);
             c.refuses(all, [&] { report.gradients(-1, model); });
             c.changes(all, [&] { report.gradients(3, model); });
             c.refuses(all, [&] { report.gradients(3, model); });
             c.refuses(all, [&] { report.gradients(4, other); });
             c.changes(all, [&] { report.parameters(model); });
             Tensor bias = other.bias;
             bias.requires_grad_(false).set_data(zeros({4}, int64));
             c.refuses(all, [&] { report.parameters(other); });
         }},
        {"Report::attention",
         [](Check& c) {
             report::Report report("title", 20);
             const std::vector<std::string> tokens = {"a", "b"};
             const Tensor right = tensor({{{1.0, 0}, {0.5, 0.5}}});  // (1, 2, 2)
             const State all = watch(report);
             c.refuses(all, [&] { report.attention(-1, tokens, {right}); });
             c.changes(all, [&] { report.attention(3, tokens, {right}); });
             c.refuses(all, [&] { report.attention(2, tokens, {right}); });
             c.refuses(all, [&] { report.attention(3, tokens, {right}); });
             c.refuses(all, [&] { report.attention(4, tokens, {right, right}); });
             c.refuses(all, [&] { report.attention(4, {"a"}, {right}); });
             c.refuses(all, [&] { report.attention(4, tokens, {}); });
             c.refuses(all, [&] { report.attention(4, {}, {zeros({1, 0, 0})}); });
             c.refuses(all, [&] { report.attention(4, tokens, {right.to(int64)}); });
             c.refuses(all, [&] { report.attention(4, tokens, {right * 3}); });
             c.refuses(all, [&] { report.attention(4, tokens, {right * NAN}); });
             c.refuses(all, [&] { report.attention(4, tokens, {right * -1}); });
             const std::vector<std::string> many = {"1", "2", "3", "4", "5", "6", "7", "8"};
             c.refuses(all, [&] { report.attention(4, many, {full({1, 8, 8}, 0.125)}); });
         }},
        {"Report::compare Report::model Report::operator=",
         [](Check& c) {
             const Scratch scratch;
             report::Report report("title");
             report.save(scratch / "report.html");
             io::save_text(scratch / "other", "no report");
             const lm::GPT model = small_gpt();
             const State all = watch(report);
             c.refuses(all, [&] { report.compare(scratch / "missing"); });
             c.refuses(all, [&] { report.compare(scratch / "other"); });
             c.refuses(all, [&] { report.model(model, text::Characters("abcd")); });
             c.changes(all, [&] { report.model(model, text::Characters("abc")); });
             for (int i = 0; i < 8; ++i) {
                 const auto folder = scratch / std::to_string(i);
                 std::filesystem::create_directory(folder);
                 report::Report("run").save(folder / "report.html");
                 report.compare(folder);
             }
             c.refuses(all, [&] { report.compare(scratch / "report.html"); });
         }},
        {"RunReport::measured RunReport::gradients RunReport::evaluated RunReport::resume RunReport::save",
         [](Check& c) {
             const Scratch scratch;
             const text::Characters tokenizer("abc");
             const training::ReportOptions options{.title = "t", .steps = 4, .prompt = "a"};
             training::RunReport report(scratch / "report.html", options, small_gpt(), tokenizer,
                                        tokenizer.encode("abcabcabc"));
             const State all = [&] { return report.page.html() + std::to_string(report.history.rows.size()); };
             c.changes(all, [&] { report.measured({.step = 2, .learning_rate = 0.1, .loss = 1.0}); });
             c.refuses(all, [&] { report.measured({.step = 1, .learning_rate = 0.1, .loss = 1.0}); });
             c.refuses(all, [&] { report.measured({.step = -1, .learning_rate = 0.1, .loss = 1.0}); });
             report.gradients(2);
             c.refuses(all, [&] { report.gradients(1); });
             report.evaluated(2);
             c.refuses(all, [&] { report.evaluated(1); });
             c.refuses(watch(scratch), [&] {
                 const SmallDisk disk;
                 report.save();
             });
         }},
        {"Drawing::text Drawing::line Drawing::arrow Drawing::bend Drawing::path Drawing::circle Drawing::box "
         "Drawing::cells",
         [](Check& c) {
             viz::Drawing d(100, 100, "title");
             const State all = watch(d);
             const viz::Label wrong{.anchor = "left"};
             c.refuses(all, [&] { d.text(NAN, 0, "x"); });
             c.refuses(all, [&] { d.text(0, 0, "x", wrong); });
             c.refuses(all, [&] { d.line(0, 0, INFINITY, 1); });
             c.refuses(all, [&] { d.arrow(0, 0, 0, 0); });
             c.refuses(all, [&] { d.bend(0, 0, 0, 0); });
             c.refuses(all, [&] { d.path({{0, 0}}); });
             c.refuses(all, [&] { d.path({{0, 0}, {NAN, 0}}); });
             c.refuses(all, [&] { d.circle(0, 0, 0); });
             c.refuses(all, [&] { d.box(0, 0, 0, 1, "x"); });
             c.refuses(all, [&] { d.box(0, 0, 1, 1, "x\ny", {.label = wrong}); });
             c.refuses(all, [&] { d.cells(0, 0, 1, 1, ones({2}), {.digits = 0}); });
             c.refuses(all, [&] { d.cells(0, 0, 1, 1, ones({2}), {.texts = {"x"}}); });
             c.refuses(all, [&] { d.cells(0, 0, 1, 1, ones({2, 2, 2})); });
             c.refuses(all, [&] { d.cells(0, 0, 0, 1, ones({2})); });
             c.changes(all, [&] { d.text(0, 0, "x"); });
         }},
        {"Plot::line Plot::points Plot::bars Plot::field Plot::text Plot::vertical Plot::horizontal",
         [](Check& c) {
             viz::Plot plot({.title = "t"});
             plot.bars({"a", "b"}, {1, 2}, "first");
             const State all = watch(plot);
             c.refuses(all, [&] { plot.line({1}, {1, 2}); });
             c.refuses(all, [&] { plot.points({1}, {1, 2}); });
             c.refuses(all, [&] { plot.bars({"a", "c"}, {1, 2}); });
             c.refuses(all, [&] { plot.bars({}, {1}); });
             c.refuses(all, [&] { plot.field(ones({2}), {0, 1}, {0, 1}); });
             c.refuses(all, [&] { plot.field(ones({2, 2}), {1, 0}, {0, 1}); });
             c.refuses(all, [&] { plot.field(ones({2, 2}), {0, 1}, {0, 1}, -1); });
             c.refuses(all, [&] { plot.text(NAN, 0, "x"); });
             c.changes(all, [&] { plot.text(0.5, 0.5, "x"); });
             viz::Plot fresh({.title = "t", .log_y = true});
             c.refuses(watch(plot), [&] { fresh.bars({"a"}, {1}); });
             c.refuses(watch(plot), [&] { fresh.field(ones({2, 2}), {0, 1}, {0, 1}); });
         }},
        {"StorageMovie::show StorageMovie::attempt",
         [](Check& c) {
             viz::StorageMovie movie;
             const Tensor x = ones({2, 3}), large = ones({100});
             movie.show("x", x[0]);
             const State all = watch(movie);
             c.refuses(all, [&] { movie.show("empty", ones({0})); });
             c.refuses(all, [&] { movie.show("large", large); });
             c.refuses(all, [&] { movie.show("more", x); });
             c.refuses(all, [&] { movie.attempt("large", [&] { return large; }); });
             c.changes(all, [&] { movie.attempt("view", [&] { return x.T().view({6}); }); });
         }},
    };
}

}  // namespace unchanged
