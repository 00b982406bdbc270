// Drawings and plots: read back, and measured.
#include <algorithm>
#include <cmath>
#include <locale>
#include <sstream>

#include "svg_reader.h"
#include "unchanged.h"
#include "viz/axis.h"
#include "weft/viz/figure.h"
#include "weft/weft.h"

using namespace weft;
using viz::CellsStyle;
using viz::Drawing;
using viz::Plot;

namespace {

using Point = std::pair<double, double>;

// The points of path data made of M, L, H, V, h and v.
std::vector<Point> points_of(const SvgTag& path) {
    std::istringstream data(path.attributes.at("d"));
    std::vector<Point> points;
    for (char letter; data >> letter;) {
        Point at = points.empty() ? Point{} : points.back();
        double length = 0;
        if (letter == 'M' || letter == 'L')
            data >> at.first >> at.second;
        else if (letter == 'H')
            data >> at.first;
        else if (letter == 'V')
            data >> at.second;
        else if (letter == 'h' || letter == 'v')
            data >> length, (letter == 'h' ? at.first : at.second) += length;
        else if (letter != 'Z')
            FAIL("unknown in path data: " << letter);
        if (letter != 'Z') points.push_back(at);
    }
    return points;
}

// The plotting area: the only rectangle that is not filled.
struct Area {
    double left = 0, top = 0, width = 0, height = 0;
    explicit Area(const SvgTag& svg) {
        for (const SvgTag* rect : svg.all("rect"))
            if (rect->has("fill", "none") && rect->has("stroke", "#444"))
                left = rect->number("x"), top = rect->number("y"), width = rect->number("width"),
                height = rect->number("height");
        REQUIRE(width > 0);
    }
    double x(double share) const { return left + share * width; }
    double y(double share) const { return top + (1 - share) * height; }
};

std::vector<const SvgTag*> paths(const SvgTag& svg, const std::string& stroke) {
    std::vector<const SvgTag*> found;
    for (const SvgTag* path : svg.all("path"))
        if (path->has("stroke", stroke)) found.push_back(path);
    return found;
}
const SvgTag& text_of(const SvgTag& svg, const std::string& wanted) {
    for (const SvgTag* tag : svg.all("text"))
        if (tag->text == wanted) return *tag;
    FAIL("no text \"" << wanted << "\"");
    return svg;
}
bool has_text(const SvgTag& svg, const std::string& wanted) {
    const auto all = svg.all("text");
    return std::any_of(all.begin(), all.end(), [&](const SvgTag* tag) { return tag->text == wanted; });
}

const std::string blue = viz::palette(0), red = viz::palette(1);
constexpr double pixel = 0.02;  // coordinates are written with two digits

// A label of an axis as the number that it says.
double value_of(std::string label) {
    static const std::vector<std::string> digits = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    const auto replace = [&](const std::string& from, const std::string& to) {
        for (std::size_t at = 0; (at = label.find(from)) != std::string::npos;)
            label.replace(at, from.size(), to);
    };
    replace("−", "-");
    const std::size_t dot = label.find("·10");
    if (dot != std::string::npos) label.replace(dot, std::string("·10").size(), "e");
    replace("⁻", "-");
    for (std::size_t i = 0; i < digits.size(); ++i) replace(digits[i], std::to_string(i));
    std::size_t used = 0;
    const double value = std::stod(label, &used);
    REQUIRE(used == label.size());
    return value;
}

Tensor bowl(std::int64_t rows, std::int64_t columns) {  // x² + y² on −2 … 2
    Tensor f = zeros({rows, columns}, float64);
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c) {
            const double x = -2 + 4.0 * static_cast<double>(c) / static_cast<double>(columns - 1);
            const double y = -2 + 4.0 * static_cast<double>(r) / static_cast<double>(rows - 1);
            f.data<double>()[r * columns + c] = x * x + y * y;
        }
    return f;
}

// One of everything, with texts that would break a page.
std::vector<std::string> everything(const std::string& word) {
    const std::string name = "<b id=\"x\">&'" + word;
    Drawing drawing(300, 200, name);
    drawing.text(10, 10, name, {.anchor = "start"})
        .line(0, 0, 12.5, 20, {.colour = name})
        .arrow(0.25, 0, 50, 50)
        .bend(0, 0, 50, 70)
        .path({{1, 2}, {3.5, 4}, {5, 6}}, {}, true)
        .circle(5, 5, 2.5, name)
        .box(1, 2, 100, 40, name + "\n" + name, {.fill = name})
        .cells(0, 50, 30, 20, tensor({0.25, -1.5}, float64), {.texts = {name, name}, .fills = {name, name}});
    const viz::PlotOptions options = {.title = name, .x = name, .y = name};
    Plot plot(options);
    plot.line({0.5, 1.25, 2}, {1.5, 1e-7, 0.3}, name, {.colour = name, .markers = true})
        .points({1}, {1}, name)
        .vertical(1.5, name)
        .horizontal(0.5, name)
        .text(1.25, 0.5, name)
        .field(bowl(9, 8), {0, 3}, {0, 2});
    Plot bars(options);
    bars.bars({name, "b"}, {1.5, 2}, name, name).bars({}, {2.5, 1}, name);
    Plot contours({.log_y = false, .legend = "top-left"});
    contours.field(bowl(9, 8), {0, 3}, {0, 2}, 4).line({0, 1}, {0, 1}, "line");
    Plot logarithmic({.log_x = true, .log_y = true});
    logarithmic.line({0.01, 1, 1000}, {1e-5, 1e5, 2}, name);
    return {drawing.svg(), plot.svg(), bars.svg(), contours.svg(), logarithmic.svg()};
}

}  // namespace

// Those that have one.
static std::vector<std::string> labels_of(const std::vector<viz::Tick>& ticks) {
    std::vector<std::string> labels;
    for (const viz::Tick& tick : ticks)
        if (!tick.label.empty()) labels.push_back(tick.label);
    return labels;
}

TEST_CASE("ticks are round, within the range, evenly spaced, and say what they are", "[viz][figure]") {
    Rng rng(3);
    for (int trial = 0; trial < 500; ++trial) {
        const auto draw = [&] { return rand({1}, rng, float64).item() * 2 - 1; };
        const double scale = std::pow(10, 12 * draw()), low = scale * draw(),
                     high = low + scale * (1.001 + draw());
        const auto ticks = viz::linear_ticks(low, high, 7);
        INFO(low << " … " << high);
        REQUIRE(ticks.size() >= 2);
        REQUIRE(ticks.size() <= 8);
        const double step = ticks[1].value - ticks[0].value;
        const double factor = step / std::pow(10, std::floor(std::log10(step) + 1e-9));
        CHECK((std::abs(factor - 1) < 1e-6 || std::abs(factor - 2) < 1e-6 || std::abs(factor - 5) < 1e-6));
        for (std::size_t i = 0; i < ticks.size(); ++i) {
            CHECK(ticks[i].value >= low - 1e-6 * step);
            CHECK(ticks[i].value <= high + 1e-6 * step);
            CHECK(ticks[i].value ==
                  Approx(ticks[0].value + static_cast<double>(i) * step).margin(1e-9 * scale));
            CHECK(value_of(ticks[i].label) == Approx(ticks[i].value).margin(1e-6 * step));
        }
    }
    CHECK(labels_of(viz::linear_ticks(-0.5, 1, 4)) == std::vector<std::string>{"−0.5", "0.0", "0.5", "1.0"});
    // The larger end says how the labels are written.
    CHECK(labels_of(viz::linear_ticks(1, 2e6, 2)) == std::vector<std::string>{"1·10⁶", "2·10⁶"});
    CHECK(labels_of(viz::linear_ticks(-2e6, 1, 2)) == std::vector<std::string>{"−2·10⁶", "0"});
}

TEST_CASE("a line along the edge of its frame is seen", "[viz][figure]") {
    const viz::Frame frame{.left = 0, .top = 0, .right = 10, .bottom = 10};
    for (const double at : {0.0, 10.0}) {
        CHECK(viz::clipped_data(frame, {{at, 2}, {at, 8}}) != "");
        CHECK(viz::clipped_data(frame, {{2, at}, {8, at}}) != "");
    }
    for (const double at : {-0.5, 10.5}) {
        CHECK(viz::clipped_data(frame, {{at, 2}, {at, 8}}) == "");
        CHECK(viz::clipped_data(frame, {{2, at}, {8, at}}) == "");
    }
}

TEST_CASE("a short logarithmic axis has 1, 2 and 5 between its powers", "[viz][figure]") {
    std::vector<double> values;
    for (const viz::Tick& tick : viz::logarithmic_ticks(0.15, 2.1, 8)) {
        CHECK(value_of(tick.label) == Approx(tick.value));
        values.push_back(tick.value);
    }
    CHECK(values == std::vector<double>{0.2, 0.5, 1, 2});
    CHECK(viz::logarithmic_ticks(3, 4, 8).size() >= 2);  // none of 1, 2, 5 within
    CHECK(labels_of(viz::logarithmic_ticks(1e-20, 1, 6)) ==
          std::vector<std::string>{"10⁻²⁰", "10⁻¹⁶", "10⁻¹²", "10⁻⁸", "10⁻⁴", "1"});
    CHECK(labels_of(viz::logarithmic_ticks(1e-6, 1, 1)) == std::vector<std::string>{"1"});
}

TEST_CASE("values that cannot be drawn leave a gap, and one alone is a dot", "[viz][figure]") {
    const SvgTag svg = read_svg(
        Plot({.log_y = true}).line({0, 1, 2, 3, 4, 5, 6, 7}, {1, 2, NAN, 3, -1, 4, 5, INFINITY}).svg());
    const std::string data = paths(svg, blue).at(0)->attributes.at("d");
    CHECK(std::count(data.begin(), data.end(), 'M') == 3);
    CHECK(std::count(data.begin(), data.end(), 'L') == 2);
    CHECK(std::count(data.begin(), data.end(), 'h') == 1);
}

TEST_CASE("a horizontal line's label lies above the line, and below it where 18 pixels are not above",
          "[viz][figure]") {
    const auto drawn = [](double y) {
        return read_svg(Plot({.y_range = {0, 1}}).line({0, 1}, {0, 1}).horizontal(y, "here").svg());
    };
    const Area area(drawn(0.5));
    for (const double from_top : {17.5, 18.5}) {
        const double label = text_of(drawn(1 - from_top / area.height), "here").number("y");
        CHECK(label - area.top == Approx(from_top < 18 ? from_top + 11 : from_top - 10).margin(pixel));
    }
}

TEST_CASE("an axis on which no value is shown goes from 0 to 1, or from 0.1 to 1", "[viz][figure]") {
    for (const bool log_y : {false, true}) {
        const SvgTag svg = read_svg(Plot({.log_y = log_y, .x_range = {5, 6}}).line({0, 1}, {20, 30}).svg());
        const Area area(svg);
        CHECK(text_of(svg, log_y ? "0.1" : "0.0").number("y") == Approx(area.y(0)).margin(pixel));
        CHECK(text_of(svg, log_y ? "1" : "1.0").number("y") == Approx(area.y(1)).margin(pixel));
    }
}

TEST_CASE("nothing is drawn out of the plotting area", "[viz][figure]") {
    const SvgTag svg =
        read_svg(Plot({.x_range = {0, 1}, .y_range = {0, 1}})
                     .line({-1, 0.5, 2, 0.5, 0.5}, {-3, 0.5, 1.2, 0.5, 1e9}, "", {.markers = true})
                     .points({-1, 0.25, 0.5}, {0.5, 0.25, 7})
                     .vertical(2, "away")
                     .horizontal(0.5, "here")
                     .text(0.25, 0.75, "a word")
                     .text(0.5, 1.5, "too high")
                     .svg());
    const Area area(svg);
    const auto inside = [&](double x, double y) {
        return x >= area.left - pixel && x <= area.left + area.width + pixel && y >= area.top - pixel &&
               y <= area.top + area.height + pixel;
    };
    std::size_t points = 0;
    for (const SvgTag* path : paths(svg, blue))
        for (const auto& [x, y] : points_of(*path)) {
            CHECK(inside(x, y));
            ++points;
        }
    CHECK(points == 6);  // in, middle, out; in again, middle, and upwards
    for (const SvgTag* circle : svg.all("circle")) CHECK(inside(circle->number("cx"), circle->number("cy")));
    CHECK(svg.all("circle").size() == 2 + 1);
    CHECK_FALSE(has_text(svg, "away"));
    CHECK(has_text(svg, "here"));
    CHECK(text_of(svg, "a word").number("x") == Approx(area.x(0.25)).margin(pixel));
    CHECK(text_of(svg, "a word").number("y") == Approx(area.y(0.75)).margin(pixel));
    CHECK_FALSE(has_text(svg, "too high"));
    // A line that is cut keeps its direction: from (−1, −3) to (0.5, 0.5) it enters at y = 0.
    const auto first = points_of(*paths(svg, blue).at(0)).at(0);
    CHECK(first.second == Approx(area.y(0)).margin(pixel));
    CHECK(first.first == Approx(area.x(0.5 - 0.5 / 3.5 * 1.5)).margin(pixel));
}

TEST_CASE("a range that is left free takes all values, even a single one", "[viz][figure]") {
    for (const std::vector<double>& values :
         {std::vector<double>{5}, {0, 0}, {-1e-12, 1e-12}, {1e9, 1e9 + 1}, {3e200, -3e200}, {1e-310, 0}})
        for (const bool logarithmic : {false, true}) {
            Plot plot({.log_y = logarithmic});
            std::vector<double> x(values.size());
            for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
            plot.points(x, values);
            const std::size_t drawable = static_cast<std::size_t>(std::count_if(
                values.begin(), values.end(), [&](double v) { return !logarithmic || v >= 1e-300; }));
            INFO(values[0] << " logarithmic " << logarithmic);
            if (drawable == 0) {
                refuses<ValueError>("no value to draw", [&] { plot.svg(); });
                continue;
            }
            const SvgTag svg = read_svg(plot.svg());
            CHECK(svg.all("circle").size() == drawable);
            const Area area(svg);
            std::size_t labels = 0;
            for (const SvgTag* tag : svg.all("text")) labels += tag->number("x") < area.left;
            CHECK(labels >= 1);
        }
}

TEST_CASE("the contours of x² + y² are circles of the right radius", "[viz][figure]") {
    const SvgTag svg =
        read_svg(Plot({.width = 500, .height = 500}).field(bowl(81, 81), {-2, 2}, {-2, 2}, 7).svg());
    const Area area(svg);
    int level = 0;
    for (const SvgTag* path : svg.all("path")) {
        if (!path->has("stroke-width", "1.2")) continue;
        const double radius = std::sqrt(8.0 * ++level / 8);  // between 0 and 8
        for (const auto& [x, y] : points_of(*path)) {
            const double u = 4 * (x - area.left) / area.width - 2, v = 2 - 4 * (y - area.top) / area.height;
            CHECK(std::hypot(u, v) == Approx(radius).margin(0.002));
        }
        const auto around = points_of(*path);
        if (radius < 1.9) CHECK(around.front() == around.back());  // closed
    }
    CHECK(level == 7);
}

TEST_CASE("a contour cuts a saddle by its mean, and leaves out what is not finite", "[viz][figure]") {
    // Corners in reading order; the two above the level are opposite.
    const auto cut = [](std::vector<double> corners) { return viz::contour_lines(corners, 2, 2, 0.5); };
    const auto low = cut({1, 0, 0, 1});  // mean 0.5: joined through the middle
    REQUIRE(low.size() == 2);
    for (const viz::Points& line : low) {
        const double sum = line[0].first + line[0].second + line[1].first + line[1].second;
        CHECK(line.size() == 2);
        CHECK(std::abs(line[0].first - line[0].second) == Approx(0.5));  // round the corners of 0
        CHECK(sum == Approx(2));
    }
    const auto high = cut({0.9, 0, 0, 0.9});  // mean 0.45: the corners of 0.9 are cut off
    REQUIRE(high.size() == 2);
    for (const viz::Points& line : high)
        CHECK(std::abs(line[0].first + line[0].second - line[1].first - line[1].second) ==
              Approx(0).margin(1e-12));
    CHECK(viz::contour_lines({1, 0, NAN, 1, 0, 0}, 2, 3, 0.5).size() == 1);
    CHECK(viz::contour_lines({1, NAN, 0, 0}, 2, 2, 0.5).empty());
    CHECK(viz::contour_lines({2, 2, 2, 2}, 2, 2, 0.5).empty());
}

TEST_CASE("a field's colours are its values', the first row below", "[viz][figure]") {
    const Tensor values = tensor({{0, 0.5, 1}, {1, NAN, 0}}, float64);
    const SvgTag svg = read_svg(Plot({}).field(values, {0, 2}, {0, 1}).svg());
    const auto inner = svg.all("svg");
    REQUIRE(inner.size() == 1);
    CHECK(inner[0]->attributes.at("viewBox") == "0 0 4 2");  // in half cells
    const Area area(svg);
    CHECK(inner[0]->number("x") == Approx(area.left));
    CHECK(inner[0]->number("height") == Approx(area.height));
    std::vector<std::string> seen;
    for (const SvgTag* path : inner[0]->all("path"))
        seen.push_back(path->attributes.at("d") + " " + path->attributes.at("fill"));
    CHECK(contains(seen.front(), "M0 1h1v1h-1z"));  // the first value: left, below
    CHECK(contains(seen.front(), viz::viridis(0).hex()));
    CHECK(contains(seen.front(), "M3 0h1v1h-1z"));
    CHECK(contains(seen.back(), viz::viridis(1).hex()));
    CHECK(contains(seen.back(), "M3 1h1v1h-1z"));
    CHECK(contains(seen.back(), "M0 0h1v1h-1z"));
    CHECK(seen.size() == 3);  // nothing where there is no value
    // A part of it, as the ranges of the plot say.
    const SvgTag part =
        read_svg(Plot({.x_range = {0, 1}, .y_range = {0.5, 1}}).field(values, {0, 2}, {0, 1}).svg());
    CHECK(part.all("svg")[0]->attributes.at("viewBox") == "0 0 2 1");
}

TEST_CASE("cells show their values, in ink that reads on their colour", "[viz][figure]") {
    const Tensor values = tensor({{0, 1, 0.51234}, {-2e-7, NAN, 1}}, float64);
    const SvgTag svg =
        read_svg(Drawing(200, 100, "cells").cells(10, 20, 50, 30, values, {.viridis = true}).svg());
    const auto cells = svg.all("rect");
    const auto words = svg.all("text");
    REQUIRE(cells.size() == 7);  // and the white behind
    REQUIRE(words.size() == 6);
    CHECK(cells[6]->number("x") == 110);
    CHECK(cells[6]->number("y") == 50);
    CHECK(words[5]->number("x") == 135);
    CHECK(words[5]->number("y") == 65);
    CHECK(words[2]->text == "0.512");
    CHECK(words[3]->text == "−2·10⁻⁷");
    CHECK(words[4]->text == "nan");
    CHECK(cells[5]->has("fill", "#fff"));  // no value, no colour
    CHECK(cells[2]->has("fill", viz::viridis(1).hex()));
    CHECK(words[1]->has("fill", "#222"));
    CHECK(words[3]->has("fill", "#fff"));
    // Whole numbers and truths are values, too.
    const SvgTag others = read_svg(Drawing(200, 100, "others")
                                       .cells(0, 0, 20, 20, arange(3))
                                       .cells(0, 30, 20, 20, arange(2) == arange(2).slice(0, 1, 2))
                                       .svg());
    CHECK(has_text(others, "2"));
    CHECK(others.all("text").size() == 5);
}

TEST_CASE("figures keep within a page: no ids, hostile text escaped, a title, on white", "[viz][figure]") {
    for (const std::string& figure : everything("\x1b[2J\xff\xe2\x80\xae</svg>")) {
        const SvgTag svg = read_svg(figure);  // strict: throws on what is not well-formed
        CHECK_FALSE(contains(figure, " id=\""));
        CHECK_FALSE(contains(figure, "url("));
        CHECK_FALSE(contains(figure, "\x1b"));
        CHECK_FALSE(contains(figure, "\xe2\x80\xae"));
        CHECK(svg.children.at(0).name == "title");
        CHECK(svg.has("role", "img"));
        const SvgTag& white = svg.children.at(1);
        CHECK(white.has("fill", "#fff"));
        CHECK(white.number("width") == svg.number("width"));
        CHECK(white.number("height") == svg.number("height"));
    }
    CHECK(contains(everything("")[0], "&lt;b id=&quot;x&quot;&gt;&amp;&apos;"));
}

TEST_CASE("figures are the same bytes in every locale", "[viz][figure]") {
    struct Comma : std::numpunct<char> {
        char do_decimal_point() const override { return ','; }
        std::string do_grouping() const override { return "\1"; }
    };
    const auto before = everything("a");
    const std::locale old = std::locale::global(std::locale(std::locale::classic(), new Comma));
    const auto after = everything("a");
    std::locale::global(old);
    CHECK(before == after);
}

TEST_CASE_METHOD(
    unchanged::Unchanged,
    "refused without a change: Drawing::text Drawing::line Drawing::arrow Drawing::bend Drawing::path "
    "Drawing::circle Drawing::box Drawing::cells Plot::line Plot::points Plot::bars Plot::field "
    "Plot::text Plot::vertical Plot::horizontal",
    "[viz][figure][fault][unchanged]") {
    Drawing d(100, 100, "refusals");
    Plot shown({.title = "t"}), p({});
    shown.bars({"a", "b"}, {1, 2}, "first");
    const State all = unchanged::watch(d, shown);
    // The message begins with these words.
    const auto refused = [&](const std::function<void()>& action, const std::string& words) {
        refuses<ValueError>(words, all, action);
        CHECK(message_of<ValueError>(action).starts_with(words));
    };
    const auto misshapen = [&](const std::function<void()>& action, const std::string& words) {
        refuses<ShapeError>(words, all, action);
        CHECK(message_of<ShapeError>(action).starts_with(words));
    };
    refused([] { Drawing(0, 10, ""); }, "Drawing: the width is 0");
    refused([] { Drawing(10, NAN, ""); }, "Drawing: the height is nan");
    refused([&] { d.text(NAN, 0, "a"); }, "Drawing::text: a length is nan");
    refused([&] { d.text(0, 0, "a", {.size = 0}); }, "Drawing::text: the text's size is 0");
    refused([&] { d.text(0, 0, "a", {.anchor = "left"}); }, "Drawing::text: anchor \"left\"");
    refused([&] { d.text(0, 0, "a", {.rotate = INFINITY}); }, "Drawing::text: a length is inf");
    refused([&] { d.line(0, 0, INFINITY, 0); }, "Drawing::line: a length is inf");
    refused([&] { d.line(0, 0, 1, 0, {.width = -1}); }, "Drawing::line: the stroke's width is -1");
    refused([&] { d.arrow(5, 5, 5, 5); }, "Drawing::arrow: the length is 0");
    refused([&] { d.bend(5, 5, 5, 5); }, "Drawing::bend: the length is 0");
    refused([&] { d.bend(5, NAN, 5, 5); }, "Drawing::bend: a length is nan");
    refused([&] { d.bend(0, 0, 1, 0, {.width = -1}); }, "Drawing::bend: the stroke's width is -1");
    refused([&] { d.path({}); }, "Drawing::path: 0 points; give two or more");
    refused([&] { d.path({{1, 1}}); }, "Drawing::path: 1 points; give two or more");
    refused([&] { d.path({{1, 1}, {NAN, 1}}); }, "Drawing::path: a length is nan");
    refused([&] { d.circle(1, 1, -2); }, "Drawing::circle: the radius is -2");
    refused([&] { d.box(0, 0, 0, 1, "a"); }, "Drawing::box: the width is 0");
    refused([&] { d.box(0, 0, 1, -1, "a"); }, "Drawing::box: the height is -1");
    refused([&] { d.circle(1, NAN, 1); }, "Drawing::circle: a length is nan");
    refused([&] { d.box(0, 0, 1, 1, "a", {.radius = NAN}); }, "Drawing::box: a length is nan");
    refused([&] { d.cells(0, 0, 0, 1, arange(3)); }, "Drawing::cells: a cell's width is 0");
    refused([&] { d.cells(0, 0, 1, 0, arange(3)); }, "Drawing::cells: a cell's height is 0");
    refused([&] { d.cells(0, 0, 1, 1, arange(3), {.text_size = 0}); }, "Drawing::cells: the text's size is 0");
    refused([&] { d.cells(0, 0, 1, 1, arange(3), {.digits = 0}); }, "Drawing::cells: 0 digits; give 1 to 17");
    refused([&] { d.cells(0, 0, 1, 1, arange(3), {.digits = 18}); }, "Drawing::cells: 18 digits; give 1 to 17");
    refused([&] { d.box(0, 0, 1, 1, "x\ny", {.label = {.anchor = "left"}}); }, "Drawing::box: anchor \"left\"");
    misshapen([&] { d.cells(0, 0, 1, 1, zeros({1, 2, 3})); }, "Drawing::cells: values of shape (1, 2, 3)");
    misshapen([&] { d.cells(0, 0, 1, 1, arange(3), CellsStyle{.texts = {"a"}}); },
              "Drawing::cells: 1 texts for 3 cells");
    misshapen(
        [&] {
            d.cells(0, 0, 1, 1, arange(3), CellsStyle{.fills = {"a", "b"}});
        },
        "Drawing::cells: 2 fills for 3 cells");
    changes(all, [&] { d.cells(0, 0, 9, 9, zeros({2}), {.digits = 17}); });
    refused([] { Plot({.width = 20}); }, "Plot: a width of 20 leaves no room");
    refused([] { Plot({.height = NAN}); }, "Plot: a height of nan leaves no room");
    refused([] { Plot({.x_range = {1, 1}}); }, "Plot: x_range 1 … 1 is empty");
    refused([] { Plot({.y_range = {2, 1}}); }, "Plot: y_range 2 … 1 is empty");
    refused([] { Plot({.y_range = {0, INFINITY}}); }, "Plot: y_range 0 … inf is empty");
    refused([] { Plot({.log_y = true, .y_range = {0, 1}}); }, "Plot: y_range 0 … 1 on a logarithmic axis");
    refused([] { Plot({.legend = "left"}); }, "Plot: legend \"left\"");
    refused([&] { shown.line({1, 2, 3}, {1, 2, 3, 4}); }, "Plot::line: x has 3 values, and y 4");
    refused([&] { shown.points({1, 2, 3}, {1}); }, "Plot::points: x has 3 values, and y 1");
    refused([&] { shown.line({1}, {1}, "", {.width = 0}); }, "Plot::line: the width is 0");
    refused([&] { shown.vertical(NAN); }, "Plot::vertical: a length is nan");
    refused([&] { shown.horizontal(INFINITY); }, "Plot::horizontal: a length is inf");
    refused([&] { shown.field(bowl(3, 3), {1, 0}, {0, 1}); }, "Plot::field: x_range 1 … 0 is empty");
    refused([&] { shown.field(bowl(3, 3), {0, 1}, {0, 1}, -1); }, "Plot::field: -1 contours");
    misshapen([&] { shown.field(arange(3), {0, 1}, {0, 1}); }, "Plot::field: values of shape (3,)");
    misshapen([&] { shown.field(zeros({0, 3}), {0, 1}, {0, 1}); }, "Plot::field: values of shape (0, 3)");
    misshapen([&] { shown.field(zeros({1, 3}), {0, 1}, {0, 1}, 2); }, "Plot::field: values of shape (1, 3)");
    refused(
        [&] {
            shown.field(bowl(3, 3), {1, 1}, {0, 1});
        },
        "Plot::field: x_range 1 … 1 is empty; give the smaller end first");
    refused([&] { shown.field(bowl(3, 3), {0, 1}, {0, 1}, 101); }, "Plot::field: 101 contours; give 0 to 100");
    refused([&] { shown.text(NAN, 0, "x"); }, "Plot::text: a length is nan");
    refused([&] { shown.text(0, INFINITY, "x"); }, "Plot::text: a length is inf");
    refused([&] { shown.bars({"a", "c"}, {1, 2}); }, "Plot::bars: the names differ");
    refused([&] { shown.bars({}, {1, 2, 3}); }, "Plot::bars: 2 names and 3 values");
    CHECK_NOTHROW(Plot({}).field(zeros({2, 2}), {0, 1}, {0, 1}, 100));
    changes(all, [&] { shown.text(0.5, 0.5, "x"); });
    refused([&] { p.svg(); }, "Plot::svg: \"\" has no value to draw");
    p.horizontal(1, "alone");
    refused([&] { p.svg(); }, "Plot::svg: \"\" has no value to draw");
    p.line({NAN, 1}, {1, INFINITY});
    refused([&] { p.svg(); }, "Plot::svg: \"\" has no value to draw");
    p.bars({"a", "b"}, {1, 2});
    refused([] { Plot({.log_y = true}).bars({"a"}, {1}); }, "Plot::bars: a bar has no length");
    refused(
        [] {
            Plot({.log_x = true}).field(bowl(3, 3), {1, 2}, {1, 2});
        },
        "Plot::field: the points are evenly spaced, but an axis is logarithmic");
    refused(
        [] {
            Plot({}).field(bowl(3, 3), {1, 2}, {1, 2}).field(bowl(3, 3), {1, 2}, {1, 2});
        },
        "Plot::field: the plot already has a field");
    refused([] { Plot({}).field(full({3, 3}, NAN), {1, 2}, {1, 2}).svg(); }, "Plot::svg: \"\" has no value");
    refused([] { Plot({}).line({0, 1}, {-1e308, 1e308}).svg(); }, "Plot::svg: values from -1e+308");
    refused(
        [] {
            Plot({.width = 120}).line({0, 1}, {0, 1}, "a label that is far too long to fit").svg();
        },
        "Plot::svg: 120 × 400 leaves no room");
    CHECK_NOTHROW(p.svg());
}
