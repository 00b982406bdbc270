// The examples in the headers of weft/viz, line by line, and what they claim.
#include <iostream>
#include <sstream>

#include "catch.h"
#include "environment.h"
#include "scratch.h"
#include "weft/weft.h"

using namespace weft;

namespace {

// Collects standard output while it exists.
class Printed {
public:
    Printed() : before_(std::cout.rdbuf(text_.rdbuf())) {}
    ~Printed() { std::cout.rdbuf(before_); }
    Printed(const Printed&) = delete;
    Printed& operator=(const Printed&) = delete;
    std::string str() const { return text_.str(); }

private:
    std::ostringstream text_;
    std::streambuf* before_;
};

// Files with a relative name are written to a folder of the test's own.
class InScratch {
public:
    InScratch() : before_(std::filesystem::current_path()) { std::filesystem::current_path(scratch_.folder()); }
    ~InScratch() { std::filesystem::current_path(before_); }
    InScratch(const InScratch&) = delete;
    InScratch& operator=(const InScratch&) = delete;

private:
    Scratch scratch_;
    std::filesystem::path before_;
};

}  // namespace

TEST_CASE("header example: Drawing", "[header-examples]") {
    const InScratch folder;
    viz::Drawing drawing(200, 60, "y = tanh(x)");
    drawing.box(10, 10, 40, 40, "x").arrow(50, 30, 100, 30).box(100, 10, 90, 40, "tanh(x)");
    io::save_text("tanh.svg", drawing.svg());
    const std::string svg = io::load_text("tanh.svg");
    CHECK(contains(svg, "<title>y = tanh(x)</title>"));
    CHECK(contains(svg, ">x</text>"));
    CHECK(contains(svg, ">tanh(x)</text>"));
}

TEST_CASE("header example: Plot", "[header-examples]") {
    const InScratch folder;
    const std::vector<double> steps = {0, 100, 200}, losses = {4, 2, 1.5};
    viz::Plot plot({.title = "Loss", .x = "step", .log_y = true});
    plot.line(steps, losses, "training").horizontal(1.0, "target");
    io::save_text("loss.svg", plot.svg());
    const std::string svg = io::load_text("loss.svg");
    for (const char* text : {">Loss<", ">step<", ">training<", ">target<"}) CHECK(contains(svg, text));
}

TEST_CASE("header example: Plot::bars", "[header-examples]") {
    viz::Plot bars({.title = "Mean weight", .y = "weight"});
    bars.bars({"head 1", "head 2"}, {0.9, 0.2}, "previous").bars({}, {0.1, 0.7}, "first");
    const std::string svg = bars.svg();
    for (const char* text : {">head 1<", ">head 2<", ">previous<", ">first<"}) CHECK(contains(svg, text));
}

TEST_CASE("header example: Plot::field", "[header-examples]") {
    viz::Plot bowl({.title = "x² + y²"});
    const Tensor x = arange(-10, 11, 1, float32) / 10;                    // (21,)
    bowl.field(pow(x.unsqueeze(1), 2) + pow(x, 2), {-1, 1}, {-1, 1}, 5);  // (21, 21)
    CHECK(x.shape() == Shape{21});
    CHECK((pow(x.unsqueeze(1), 2) + pow(x, 2)).shape() == Shape{21, 21});
    CHECK(contains(bowl.svg(), "<title>x² + y²</title>"));
}

TEST_CASE("header example: ledger_table", "[header-examples]") {
    const Printed printed;
    const Tensor x = tensor(3.0).requires_grad_(), y = x * x;
    const GradientLedger ledger;
    y.backward();
    std::cout << viz::ledger_table(ledger, {{"x", x}, {"y", y}});
    // node          gets from   gradient
    // y = multiply  seed        1
    // x             y, input 0  3
    //               y, input 1  3
    //               sum         6
    CHECK(printed.str() ==
          "node          gets from   gradient\n"
          "y = multiply  seed        1\n"
          "x             y, input 0  3\n"
          "              y, input 1  3\n"
          "              sum         6\n");
}

TEST_CASE("header example: tensor_story", "[header-examples]") {
    const Printed printed;
    Rng rng(1);
    const nn::CausalMultiHeadAttention attention(12, 3, rng);
    viz::tensor_story(attention, randn({1, 3, 12}, rng)).print();
    CHECK(printed.str().starts_with("tensor"));
    CHECK(contains(printed.str(), "weights"));
}

TEST_CASE("header example: attention_weights, attention_grid_svg and attention_svg", "[header-examples]") {
    const InScratch folder;
    Rng rng(1);
    const lm::GPT model({.vocab_size = 9, .block_size = 4, .num_layers = 2, .num_heads = 2, .d_model = 8}, rng);
    const Tensor ids = tensor({{1, 2, 3}}, int64);
    const std::vector<Tensor> layers = viz::attention_weights(model, ids);  // ids (1, T) → each (1, H, T, T)
    io::save_text("heads.svg", viz::attention_grid_svg(layers, {.mask = Mask::causal()}));
    io::save_text("head.svg", viz::attention_svg(layers[0][0][0], {.queries = {"The", "cat", "sat"}}));
    REQUIRE(layers.size() == 2);
    for (const Tensor& layer : layers) CHECK(layer.shape() == Shape{1, 2, 3, 3});
    CHECK(contains(io::load_text("heads.svg"), ">head 2<"));
    CHECK(contains(io::load_text("head.svg"), "<title>cat → The: "));
}

TEST_CASE("header example: attention_text", "[header-examples]") {
    const Printed printed;
    const Tensor weights = tensor({{1.0, 0.0}, {0.25, 0.75}});  // (T, S)
    const viz::MapOptions options{.queries = {"The", "cat"}, .mask = Mask::causal()};
    std::cout << viz::attention_text(weights, options);
    //     The cat
    // The [█·]
    // cat [▃█]
    // ▁▂▃▄▅▆▇█ eighths of the row's largest weight   · blocked
    CHECK(printed.str() ==
          "    The cat\n"
          "The [█·]\n"
          "cat [▃█]\n"
          "▁▂▃▄▅▆▇█ eighths of the row's largest weight   · blocked\n");
}

TEST_CASE("header example: graph and save_svg", "[header-examples]") {
    const InScratch folder;
    const Environment program("PATH",
                              path_with(std::filesystem::current_path()));  // Graphviz need not be installed
    write_program("dot", "{ echo '<svg>'; cat \"$4\"; } > \"$3\"\n");       // dot -Tsvg -o OUT IN
    Rng rng(1);
    const nn::Linear layer(3, 1, rng);
    const Tensor loss = mean(tanh(layer(ones({2, 3}))));
    const std::string dot = viz::graph(loss, layer.named_parameters());
    viz::save_svg("graph.svg", dot);
    CHECK(contains(dot, "label=\"weight\\n(1, 3)\""));
    CHECK(io::load_text("graph.svg") == "<svg>\n" + dot);
}

TEST_CASE("header example: mask_grid", "[header-examples]") {
    const Printed printed;
    std::cout << viz::mask_grid(Mask::causal(), 1, 1, 2, 2);
    // Q ↓ / K →   1   2
    // 1           1  -∞
    // 2           1   1
    CHECK(printed.str() ==
          "Q ↓ / K →   1   2\n"
          "1           1  -∞\n"
          "2           1   1\n");
}

TEST_CASE("header example: Report", "[header-examples]") {
    const InScratch folder;
    Rng rng(1);
    const lm::GPT model({.vocab_size = 9, .block_size = 4, .num_layers = 2, .num_heads = 2, .d_model = 8}, rng);
    const Tensor ids = tensor({{1, 2, 3}}, int64), loss = mean(model(ids));
    const std::vector<std::string> tokens = {"The", "cat", "sat"};
    const std::int64_t step = 7;
    const double lr = 1e-3;
    loss.backward();
    std::filesystem::create_directories("out/before");
    report::Report("before").save("out/before/report.html");
    report::Report report("My run");
    report.setting("d_model", "128");
    report.fact("command", "train --d_model 128");
    report.compare("out/before");                                        // the report of another run
    report.loss(step, {.training = loss.item(), .learning_rate = lr});   // every step
    report.gradients(step, model);                                       // after backward
    report.attention(step, tokens, viz::attention_weights(model, ids));  // now and then, after eval()
    report.run({.steps = 100, .seconds = 2.5});
    report.save("report.html");  // as often as you like
    CHECK(io::load_text("report.html") == report.html());
    CHECK(contains(report.html(), "\"title\":\"My run\""));
    CHECK(contains(report.html(), "\"text\":\"Thecatsat\""));
    CHECK(contains(report.html(), "\"name\":\"out/before\""));
    CHECK(report.run().seconds == 2.5);

    report::Report resumed = report::Report::load("report.html");
    resumed.truncate(step);  // the run continues from this step
    CHECK_FALSE(contains(resumed.html(), "Thecatsat"));
    resumed.loss(step, {.training = 1.0});  // the step can be recorded again
}

TEST_CASE("header example: Report::model", "[header-examples]") {
    const InScratch folder;
    Rng rng(1);
    const lm::GPT gpt({.vocab_size = 4, .block_size = 8, .num_layers = 1, .num_heads = 2, .d_model = 8}, rng);
    const text::Characters tokenizer("hello");
    const Tensor ids = from_vector(tokenizer.encode("hole"), {4});
    report::Report report("My run");
    report.model(gpt, tokenizer);
    report.save("report.html");
    const report::PageModel page = report::Report::load("report.html").model();
    const Tensor logits = page.decoder(ids);  // (T, V), as the page computes them
    CHECK(logits.shape() == Shape{4, 4});
    CHECK(page.tokenizer.vocabulary() == "ehlo");
}

TEST_CASE("header example: StorageMovie", "[header-examples]") {
    const InScratch folder;
    const Printed printed;
    viz::StorageMovie movie;
    const Tensor m = tensor({{1.0, 2, 3}, {4, 5, 6}});
    movie.show("m", m).show("m.T()", m.T()).attempt("view", [&] { return m.T().view({6}); });
    movie.print();
    io::save_text("movie.svg", movie.svg());
    CHECK(contains(printed.str(), "   memory 1 2 3 4 5 6\n   at     0 3 | 1 4 | 2 5\n"));
    CHECK(contains(printed.str(), "3. view\n   refused: "));
    CHECK(contains(io::load_text("movie.svg"), "m.T()"));
}
