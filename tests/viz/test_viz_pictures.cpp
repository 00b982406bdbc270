// Every kind of picture, compared byte for byte with the one in tests/golden/pictures that somebody has looked
// at. Where a change is intended, draw them anew, and open each of them before you commit it:
//     WEFT_DRAW=1 build/release/tests/weft_tests "[pictures]"
#include <cmath>
#include <cstdlib>

#include "catch.h"
#include "places.h"
#include "weft/viz/figure.h"
#include "weft/viz/pictures.h"
#include "weft/weft.h"

using namespace weft;
using viz::Drawing;
using viz::Plot;

namespace {

void same_picture(const std::string& name, const std::string& svg) {
    const std::string path = places::golden() + "/pictures/" + name + ".svg";
    if (std::getenv("WEFT_DRAW") != nullptr) io::save_text(path, svg);
    INFO(path);
    CHECK(svg == io::load_text(path));
}

std::vector<double> along(double from, double to, int n, double (*f)(double)) {
    std::vector<double> values;
    for (int i = 0; i < n; ++i) values.push_back(f(from + (to - from) * i / (n - 1)));
    return values;
}
double same(double x) { return x; }

// A valley, deepest at (1, −1).
Tensor valley(std::int64_t rows, std::int64_t columns) {
    const auto steps = [](std::int64_t n) {
        return arange(n).to(float64) * (4.0 / static_cast<double>(n - 1));
    };
    const Tensor x = steps(columns) - 3, y = steps(rows).unsqueeze(1) - 1;
    return x * x + 3 * y * y;
}

Tensor weights(std::int64_t num_heads, std::int64_t n) {
    Rng rng(5);
    return softmax(randn({num_heads, n, n}, rng, float64) * 2, -1);
}

}  // namespace

TEST_CASE("a drawing of every shape matches its golden picture", "[viz][pictures]") {
    Drawing drawing(420, 300, "Every shape");
    drawing.text(210, 20, "Every <shape> & \"sign\"", {16, "middle", "#222", true});
    drawing.text(14, 150, "upright", {12, "start", "#0072b2", false, -90});
    drawing.line(30, 40, 120, 60).line(30, 60, 120, 40, {"#d55e00", 3, true});
    drawing.arrow(140, 40, 200, 70).arrow(200, 40, 140, 70, {"#009e73", 2.5, true});
    drawing.arrow(230, 70, 230, 40).arrow(250, 40, 250, 70).arrow(300, 55, 270, 55);
    drawing.bend(320, 40, 380, 90).bend(380, 40, 330, 90, {"#cc79a7", 2, false});
    drawing.path({{30, 90}, {60, 110}, {90, 85}, {120, 115}}, {"#56b4e9", 2, false});
    drawing.path({{140, 90}, {200, 90}, {170, 120}}, {"#e69f00", 1, true}, true);
    drawing.circle(240, 105, 12).circle(280, 105, 6.5, "#d55e00");
    drawing.box(30, 140, 110, 50, "Linear\n(64 → 256)")
        .box(160, 140, 90, 24, "gelu", {"#fff", {"#222", 1, true}, 0});
    drawing.cells(270, 140, 40, 22, tensor({{0.125, -3.5, 1e6}, {2e-7, 0, 123456}}, float64), {.digits = 2});
    drawing.cells(30, 220, 30, 20, arange(6).reshape({2, 3}), {.viridis = true, .text_size = 10});
    drawing.cells(150, 220, 34, 20, tensor({1.0, 2, 3}),
                  {.texts = {"a", "<b>", ""}, .fills = {"#eee", "#fff", "#cde"}});
    same_picture("drawing", drawing.svg());
}

TEST_CASE("plots of every kind match their golden pictures", "[viz][pictures]") {
    const auto x = along(-3, 3, 25, same);
    const auto curves = [&](viz::PlotOptions options) {
        Plot plot(std::move(options));
        plot.line(x, along(-3, 3, 25, std::sin), "sin")
            .line(x, along(-3, 3, 25, std::tanh), "", {"#222", 1, true});
        plot.points(x, along(-3, 3, 25, std::cos), "cos")
            .vertical(0.5, "half")
            .horizontal(-0.25, "", {"", 1, true});
        plot.line({-2, -1, NAN, 1, 2}, {0.9, 0.8, 0.7, NAN, 0.5}, "gaps", {.markers = true})
            .text(1.5, -0.8, "here");
        return plot.svg();
    };
    same_picture("curves", curves({.title = "Curves", .x = "x", .y = "y"}));
    for (const char* legend : {"top-right", "top-left", "bottom-right", "bottom-left"})
        same_picture(std::string("curves_") + legend, curves({.width = 320,
                                                              .height = 240,
                                                              .x_range = {-2, 2.5},
                                                              .y_range = {-1.5, 1.25},
                                                              .legend = legend}));

    const auto powers = [](viz::PlotOptions options) {
        Plot plot(std::move(options));
        plot.line({1, 10, 100, 1000}, {0.5, 4, 700, 30000}, "steps", {.markers = true});
        plot.points({2, 0, 500}, {5, 7, 0.08}, "others");
        return plot.svg();
    };
    same_picture("log_log", powers({.title = "Powers", .x = "n", .log_x = true, .log_y = true}));
    same_picture("log_x", powers({.y = "loss", .log_x = true, .width = 400, .height = 260}));
    same_picture("log_y", powers({.log_y = true, .width = 400, .height = 260, .y_range = {1e-9, 1e9}}));
    same_picture("log_few", powers({.log_x = true, .log_y = true, .x_range = {2, 9}, .y_range = {20, 80}}));
    same_picture("log_tiny",
                 powers({.log_x = true, .log_y = true, .x_range = {4, 4.5}, .y_range = {0.6, 0.9}}));

    Plot bars({.title = "Bars", .y = "ms", .height = 280});
    bars.bars({"forward", "backward", "step"}, {3.5, 7.25, -1}, "Weft").bars({}, {4, 6, NAN}, "other", "#888");
    bars.horizontal(5, "goal").text(2, 3, "none");
    same_picture("bars", bars.svg());

    Plot leaning({.width = 300, .height = 260, .legend = "top-right"});
    leaning.bars({"cross_entropy", "layer_norm", "gelu", "add"}, {30, 12, 4, 1}, "ms");
    same_picture("bars_leaning", leaning.svg());
    Plot small({.width = 300, .height = 300});
    same_picture("bars_small", small.bars({"a", "b", "c"}, {-0.4, 0.3, 0.1}).svg());
    const viz::PlotOptions ten{.width = 300, .height = 200, .x_range = {0, 10}, .y_range = {0, 10}};
    same_picture("edges_right",
                 Plot(ten).line({0, 10}, {0, 10}).vertical(9.5, "at the right").vertical(5, "middle").svg());
    same_picture("edges_top",
                 Plot(ten).line({0, 10}, {0, 10}).horizontal(9.9, "at the top").horizontal(4, "lower").svg());

    Plot field({.title = "A field", .x = "w", .y = "b", .width = 420, .height = 320});
    field.field(valley(9, 12), {-2, 2}, {-2, 2}).line({-1.5, 0, 1}, {1.5, 0.2, -1}, "way", {.markers = true});
    same_picture("field", field.svg());
    Tensor holed = valley(9, 12);
    holed[2][3].fill_(NAN);
    same_picture("contours", Plot({.width = 420, .height = 320, .legend = "top-left"})
                                 .field(holed, {-2, 2}, {-2, 2}, 7)
                                 .points({1}, {-1}, "least")
                                 .svg());
    same_picture("even", Plot({.width = 300, .height = 200}).field(ones({3, 3}), {0, 1}, {0, 1}).svg());
    same_picture("one_value", Plot({.width = 300, .height = 200}).line({2}, {3}, "", {.markers = true}).svg());
}

TEST_CASE("attention maps of every kind match their golden pictures", "[viz][pictures]") {
    const Mask causal = Mask::causal();
    const Tensor w = weights(1, 4)[0], four = weights(4, 6);
    const std::vector<std::string> words = {"The", " cat", "s\nat", "<&>"};
    same_picture("map", viz::attention_svg(w, {.queries = words, .title = "A head"}));
    same_picture("map_leaks", viz::attention_svg(w, {.queries = words, .mask = causal}));
    same_picture("map_causal", viz::attention_svg(tril(w), {.mask = causal, .top = 1}));
    same_picture("map_long", viz::attention_svg(weights(1, 10)[0], {.title = "Ten"}));
    same_picture("map_flat", viz::attention_svg(full({1, 9}, 1.0 / 9), {}));
    same_picture("grid", viz::attention_grid_svg({four, weights(3, 6)}, {.title = "Two layers"}));
    same_picture("grid_causal", viz::attention_grid_svg({tril(four)}, {.mask = causal}));
    same_picture("grid_leaks", viz::attention_grid_svg({four}, {.mask = causal, .top = 0.5}));
}

TEST_CASE("a storage movie matches its golden picture", "[viz][pictures]") {
    const Tensor m = tensor({{11, 12, 13}, {21, 22, 23}}, int64), p = m.permute({1, 0});
    viz::StorageMovie movie;
    movie.show("m", m).show("permute", p).show("slice", m.slice(1, 1, 3)).show("one", m[1][2]);
    movie.show("expand", m[1].expand({2, 3})).attempt("view", [&] { return p.view({6}); });
    movie.show("contiguous", p.contiguous()).show("flat", p.reshape({6}));
    same_picture("movie", movie.svg("What <each> step does"));
    same_picture("movie_one", viz::StorageMovie().show("a", tensor({0.5, -2})).svg());
}
