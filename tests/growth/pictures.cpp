#include "growth.h"

namespace {

using namespace growth;

std::vector<double> numbers(std::int64_t n) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < n; ++i) values.push_back(static_cast<double>(i));
    return values;
}

std::vector<std::string> labels(std::int64_t n) {
    std::vector<std::string> all;
    for (std::int64_t i = 0; i < n; ++i) all.push_back("a" + std::to_string(i));
    return all;
}

// The side of a square of n cells.
std::int64_t side(std::int64_t n) { return static_cast<std::int64_t>(std::sqrt(static_cast<double>(n))); }

}  // namespace

std::vector<growth::Case> growth::pictures() {
    return {
        {"Drawing: elements", 100,
         [](auto n) {
             return [n] {
                 viz::Drawing drawing(100, 100, "title");
                 for (std::int64_t i = 0; i < n; ++i)
                     drawing.line(0, 0, 1, 1).text(1, 1, "text").box(1, 1, 20, 20, "box");
                 (void)drawing.svg();
             };
         }},
        {"Drawing: points of a path", 1000,
         [](auto n) {
             const std::vector points(static_cast<std::size_t>(n), std::pair(1.0, 2.0));
             return [points] { (void)viz::Drawing(100, 100, "title").path(points).svg(); };
         }},
        {"Plot: points", 400,
         [](auto n) {
             return [x = numbers(n)] {
                 (void)viz::Plot({.title = "title"}).line(x, x, "line").points(x, x).svg();
             };
         }},
        {"Plot: series", 30,
         [](auto n) {
             return [n] {
                 viz::Plot plot({.title = "title"});
                 for (std::int64_t i = 0; i < n; ++i) plot.line({0, 1}, {0, 1}).horizontal(0.5);
                 (void)plot.svg();
             };
         }},
        {"Plot: bars", 40,
         [](auto n) {
             return
                 [n] { (void)viz::Plot({.title = "title", .width = 1e5}).bars(labels(n), numbers(n)).svg(); };
         }},
        {"Plot: cells of a field", 400,
         [](auto n) {
             return [x = rand({side(n), side(n)})] {
                 (void)viz::Plot({.title = "title"}).field(x, {0, 1}, {0, 1}, 5).svg();
             };
         }},
        {"graph: nodes", 200,
         [](auto n) {
             Tensor x = ones({2}).requires_grad_();
             nn::NamedTensors names{{"x", x}};
             for (std::int64_t i = 0; i < n; ++i) names.emplace_back("x" + std::to_string(i), x = x * 2);
             return [x, names] { (void)viz::graph(x, names); };
         }},
        {"ledger_table: nodes", 200,
         [](auto n) {
             return [n] {
                 const GradientLedger ledger;
                 Tensor x = ones({2}).requires_grad_();
                 nn::NamedTensors names{{"x", x}};
                 for (std::int64_t i = 0; i < n; ++i) names.emplace_back("x" + std::to_string(i), x = x * 2);
                 sum(x).backward();
                 (void)viz::ledger_table(ledger, names);
             };
         }},
        {"tensor_story: rows", 200,
         [](auto n) {
             return [n] {
                 const auto run = [n](const Tensor& x) {
                     Tensor y = x;
                     for (std::int64_t i = 0; i < n; ++i) y = traced("y", y * 2);
                     return y;
                 };
                 (void)viz::tensor_story(run, ones({2})).str();
             };
         }},
        {"StorageMovie: frames", 16,
         [](auto n) {
             return [n, x = ones({2, 3})] {
                 viz::StorageMovie movie;
                 for (std::int64_t i = 0; i < n; ++i) movie.show("step", x);
                 (void)movie.str();
                 (void)movie.svg();
             };
         }},
        {"attention maps: cells", 400,
         [](auto n) {
             return [T = side(n)] {
                 const Tensor weights = full({T, T}, 0.1);
                 const viz::MapOptions options{.queries = labels(T), .mask = Mask::causal()};
                 (void)viz::attention_text(weights, options);
                 (void)viz::attention_svg(weights, options);
             };
         }},
        {"attention_grid_svg: layers", 5,
         [](auto n) {
             return [all = std::vector(static_cast<std::size_t>(n), full({2, 6, 6}, 0.1))] {
                 (void)viz::attention_grid_svg(all);
             };
         }},
        {"mask_grid: cells", 400,
         [](auto n) { return [T = side(n)] { (void)viz::mask_grid(Mask::causal(), 1, 1, T, T); }; }},
        {"Report: steps", 2500,
         [](auto n) {
             return [n] {
                 report::Report report("title");
                 for (std::int64_t i = 0; i < n; ++i) report.loss(i, {.training = 1.5, .validation = 2.5});
                 report.truncate(n / 2);
                 (void)report.html();
             };
         }},
        {"Report: samples", 500,
         [](auto n) {
             return [n] {
                 report::Report report("title");
                 for (std::int64_t i = 0; i < n; ++i) report.sample(i, "a sample", "a");
                 (void)report.html();
             };
         }},
        {"Report: attention", 100,
         [](auto n) {
             return [n, layers = std::vector{full({1, 1, 2, 2}, 0.5)}] {
                 report::Report report("title", 100);
                 for (std::int64_t i = 0; i < n; ++i) report.attention(i, {"a", "b"}, layers);
                 (void)report.html();
             };
         }},
        {"Report: settings", 500,
         [](auto n) {
             const auto report = std::make_shared<report::Report>("title");
             for (const std::string& name : labels(n)) report->setting(name, "1");
             return [report] { (void)report->html(); };
         }},
        {"Report: parameters", 50,
         [](auto n) {
             const Many module(n);
             sum(stack(module.all)).backward();
             return [module] {
                 report::Report report("title");
                 for (std::int64_t step = 0; step < 4; ++step) {
                     report.gradients(step, module);
                     report.parameters(module);
                 }
                 report.save(scratch("report.html"));
                 (void)report::Report::load(scratch("report.html"));
             };
         }},
    };
}
