// Attention maps as SVG: the pictures are read back and compared with the weights.
// The layout of the attention maps: no text leaves the picture or lies on another.
#include <cmath>
#include <locale>
#include <map>
#include <set>
#include <sstream>

#include "catch.h"
#include "refusal.h"
#include "svg_reader.h"
#include "viz/axis.h"
#include "weft/base/text.h"
#include "weft/viz/attention_map.h"
#include "weft/weft.h"

using namespace weft;

namespace {

// Random, causal, (…, T, T): softmax over the keys that each query sees.
Tensor causal_weights(const Shape& shape, std::uint64_t seed) {
    Rng rng(seed);
    const std::int64_t T = shape.back();
    const Tensor future = Mask::causal().materialize(1, 1, T, T).reshape({T, T});
    return softmax(masked_fill(randn(shape, rng) * 2, future, -INFINITY), -1);
}

// The cells of attention_svg: rectangles with a tooltip.
std::vector<const SvgTag*> cells_of(const SvgTag& svg) {
    std::vector<const SvgTag*> cells;
    for (const SvgTag* rect : svg.all("rect"))
        if (rect->children.size() == 1 && rect->children[0].name == "title") cells.push_back(rect);
    return cells;
}

// The colour of each cell of one panel of the grid, "" where nothing is drawn. Path data "M3 4h2v1h-2z": two
// cells of row 4 from column 3 on.
std::vector<std::string> panel_colours(const SvgTag& panel, std::int64_t T, std::int64_t S) {
    std::vector<std::string> colours(static_cast<std::size_t>(T * S));
    for (const SvgTag* path : panel.all("path")) {
        std::istringstream data(path->attributes.at("d"));
        for (char letter; data >> letter;) {
            std::int64_t x = 0, y = 0, n = 0, back = 0;
            char h = 0, v = 0, one = 0, h2 = 0, z = 0;
            data >> x >> y >> h >> n >> v >> one >> h2 >> back >> z;
            REQUIRE(
                (letter == 'M' && h == 'h' && v == 'v' && one == '1' && h2 == 'h' && back == -n && z == 'z'));
            for (std::int64_t i = x; i < x + n; ++i) {
                std::string& colour = colours.at(static_cast<std::size_t>(y * S + i));
                CHECK(colour.empty());  // drawn once
                colour = path->attributes.at("fill");
            }
        }
    }
    return colours;
}

// CIE 1976 lightness of an sRGB colour (IEC 61966-2-1; CIE 15:2004).
double lightness(const viz::Colour& colour) {
    const auto linear = [](double c) {
        c /= 255;
        return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    };
    const double y = 0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) + 0.0722 * linear(colour.blue);
    return y > 216.0 / 24389 ? 116 * std::cbrt(y) - 16 : y * 24389.0 / 27;
}

const std::vector<std::string> awkward = {
    "<s>",      " the",  "\"quoted\" & 'more'",          "\n",      "日本語",
    "\xff\xfe", "naïve", "antidisestablishmentarianism", "\x1b[2J", ""};

// The box of a text, as wide as its characters.
struct Box {
    double left, right, top, bottom;
    bool overlaps(const Box& other) const {
        return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
    }
};
Box box_of(const SvgTag& text) {
    const double size = text.number("font-size"),
                 width = 0.602 * size * static_cast<double>(display_width(text.text));
    const double x = text.number("x"), y = text.number("y");
    const double before = text.has("text-anchor", "end")      ? width
                          : text.has("text-anchor", "middle") ? width / 2
                                                              : 0;
    const double up = size * 0.36;  // half the height of a capital letter
    if (text.attributes.count("transform") == 0) return {x - before, x - before + width, y - up, y + up};
    return {x - up, x + up, y + before - width, y + before};  // turned by −90°
}

// Every text lies in the picture, and on no other.
void check_layout(const std::string& picture) {
    const SvgTag svg = read_svg(picture);
    const auto texts = svg.all("text");
    std::vector<Box> boxes;
    for (const SvgTag* text : texts) boxes.push_back(box_of(*text));
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        INFO(texts[i]->text);
        CHECK(boxes[i].left >= 0);
        CHECK(boxes[i].top >= 0);
        CHECK(boxes[i].right <= svg.number("width"));
        CHECK(boxes[i].bottom <= svg.number("height"));
        for (std::size_t j = 0; j < i; ++j) {
            INFO(texts[j]->text);
            CHECK_FALSE(boxes[i].overlaps(boxes[j]));
        }
    }
    for (const SvgTag* rect : svg.all("rect"))
        if (rect->attributes.count("x") > 0) {
            CHECK(rect->number("x") + rect->number("width") <= svg.number("width"));
            CHECK(rect->number("y") + rect->number("height") <= svg.number("height"));
        }
}

}  // namespace

TEST_CASE("a colour is dark below a luma of 140", "[viz][svg]") {
    CHECK(viz::Colour{139, 139, 139}.is_dark());
    CHECK_FALSE(viz::Colour{140, 140, 140}.is_dark());
    CHECK(viz::Colour{255, 100, 100}.is_dark());        // 132.95
    CHECK_FALSE(viz::Colour{100, 160, 100}.is_dark());  // 142.9
    CHECK(viz::Colour{100, 100, 255}.is_dark());        // 111.2
}

TEST_CASE("the colour map's lightness rises in even steps", "[viz][svg]") {
    CHECK(viz::viridis(0).hex() == "#440154");
    CHECK(viz::viridis(1).hex() == "#fde725");
    CHECK(viz::viridis(-1) == viz::viridis(0));
    CHECK(viz::viridis(2) == viz::viridis(1));
    CHECK(viz::viridis(0.5).hex() == "#21908d");  // half way between the two points in the middle
    constexpr int steps = 32;
    const double even = (lightness(viz::viridis(1)) - lightness(viz::viridis(0))) / steps;
    CHECK(even * steps > 70);  // steps that are even, of 100
    for (int i = 0; i < steps; ++i) {
        const double step =
            lightness(viz::viridis((i + 1.0) / steps)) - lightness(viz::viridis(1.0 * i / steps));
        INFO(i);
        CHECK(step > 0.7 * even);
        CHECK(step < 1.3 * even);
    }
}

TEST_CASE("a zero weight is not drawn as a blocked one", "[viz][svg]") {
    const SvgTag svg = read_svg(viz::attention_svg(eye(2), {.mask = Mask::causal()}));
    const auto cells = cells_of(svg);
    CHECK(cells[1]->has("fill", "url(#blocked)"));
    CHECK(cells[2]->has("fill", "#440154"));
    CHECK(cells[2]->children[0].text == "2 → 1: 0");
    std::set<std::string> said;
    for (const SvgTag* text : svg.all("text")) said.insert(text->text);
    CHECK(said.count("blocked") == 1);
    CHECK(said.count(".00") == 1);  // the number in the cell
    CHECK(said.count("yet > 0") == 0);
    for (const auto& [weight, number] :
         {std::pair(0.094, ">.09<"), {0.1, ">.10<"}, {0.714, ">.71<"}, {1.0, ">1.0<"}})
        CHECK(contains(viz::attention_svg(full({1, 1}, weight)), number));

    const SvgTag bug = read_svg(viz::attention_svg(full({2, 2}, 0.5), {.mask = Mask::causal()}));
    CHECK(cells_of(bug)[1]->children[0].text == "1 → 2: blocked, yet 0.5");
    CHECK(cells_of(bug)[1]->has("stroke", "#d00"));
    CHECK(cells_of(bug)[2]->has("fill", "#fde725"));  // the strongest of the picture, .5, has the last colour
}

TEST_CASE("tokens are escaped and shown, long ones shortened but whole in the tooltip", "[viz][svg]") {
    const auto n = static_cast<std::int64_t>(awkward.size());
    const SvgTag svg = read_svg(viz::attention_svg(causal_weights({n, n}, 1), {.queries = awkward}));
    std::set<std::string> said;
    for (const SvgTag* text : svg.all("text")) said.insert(text->text);
    for (const char* label : {"<s>", "␣the", "\"quoted\" & 'more'", "↵", "日本語", "\\xff\\xfe", "naïve",
                              "antidisestablishmen…", "\\x1b[2J"})
        CHECK(said.count(label) == 1);
    const auto cells = cells_of(svg);
    CHECK(cells[static_cast<std::size_t>(7 * n)]->children[0].text.starts_with(
        "antidisestablishmentarianism → <s>: "));
}

TEST_CASE("a large map is drawn without tooltips, and stays of a size to be opened", "[viz][svg]") {
    const Tensor weights = causal_weights({200, 200}, 1);
    const std::string picture = viz::attention_svg(weights, {.mask = Mask::causal()});
    CHECK(picture.size() < 1000000);
    const SvgTag svg = read_svg(picture);
    CHECK(cells_of(svg).empty());
    const auto colours = panel_colours(*svg.all("g").at(0), 200, 200);
    const double top = max(weights).item();
    for (const std::int64_t t : {0, 1, 77, 199})
        for (std::int64_t s = 0; s <= t; ++s)
            CHECK(colours[static_cast<std::size_t>(t * 200 + s)] ==
                  viz::viridis(std::round(weights.at({t, s}) / top * 255) / 255).hex());
    // The largest map whose cells have tooltips has 20,000 of them.
    const auto tooltips = [](std::int64_t T, std::int64_t S) {
        const std::string drawn = viz::attention_svg(full({T, S}, 1.0 / static_cast<double>(S)));
        return cells_of(read_svg(drawn)).size();
    };
    CHECK(tooltips(100, 200) == 20000);
    CHECK(tooltips(59, 339) == 0);  // 20,001
    CHECK(viz::attention_grid_svg(std::vector<Tensor>(12, causal_weights({12, 64, 64}, 2)),
                                  {.mask = Mask::causal()})
              .size() < 6000000);
}

TEST_CASE("the same weights give the same bytes, also where a comma is the decimal point", "[viz][svg]") {
    struct Comma : std::numpunct<char> {
        char do_decimal_point() const override { return ','; }
        char do_thousands_sep() const override { return '.'; }
        std::string do_grouping() const override { return "\3"; }
    };
    const Tensor weights = causal_weights({2, 6, 6}, 1);
    const auto all = [&] {
        return viz::attention_svg(weights[0]) + viz::attention_grid_svg({weights}) +
               viz::attention_text(weights);
    };
    const std::string before = all();
    const std::locale old = std::locale::global(std::locale(std::locale::classic(), new Comma));
    const std::string after = all();
    std::locale::global(old);
    CHECK(before == after);
    CHECK(all() == before);
}

TEST_CASE("what is no picture is refused", "[viz][svg]") {
    refuses<ShapeError>(
        "attention_svg: weights of shape (2, 3, 3) are 2 heads; draw one with weights[h], or all with "
        "attention_grid_svg",
        [] {
            viz::attention_svg(zeros({2, 3, 3}));
        });
    refuses<ValueError>("attention_grid_svg: no layers", [] { viz::attention_grid_svg({}); });
    refuses<ShapeError>("layers of 3 × 3 and of 4 × 4 weights", [] {
        viz::attention_grid_svg({zeros({1, 3, 3}), zeros({1, 4, 4})});
    });
    refuses<ValueError>("attention_svg", [] { viz::attention_svg(full({1, 1}, -1)); });
}

TEST_CASE("texts stay in the picture and off each other, whatever is drawn", "[viz][svg]") {
    const auto n = static_cast<std::int64_t>(awkward.size());
    const viz::MapOptions odd{.queries = awkward, .mask = Mask::causal(), .title = "<title> & \"more\""};
    check_layout(viz::attention_svg(causal_weights({n, n}, 1), odd));
    check_layout(viz::attention_grid_svg({causal_weights({2, n, n}, 1)}, odd));
    for (const std::int64_t T : {1, 2, 3, 20, 40, 64, 150}) {
        INFO(T);
        const viz::MapOptions plain{.mask = Mask::causal()};
        check_layout(viz::attention_svg(causal_weights({T, T}, 1), plain));
        check_layout(viz::attention_grid_svg({causal_weights({1, T, T}, 1)}, plain));
        check_layout(viz::attention_grid_svg({causal_weights({12, T, T}, 1), causal_weights({3, T, T}, 1)},
                                             {.title = "a title that is longer than a small picture is wide"}));
    }
    check_layout(viz::attention_svg(zeros({0, 0})));
    check_layout(viz::attention_svg(full({2, 30}, 0.1), {.queries = {"few", "queries"}}));
    check_layout(viz::attention_svg(full({30, 2}, 0.5)));
    check_layout(viz::attention_grid_svg({full({4, 2, 30}, 0.1)}));
    check_layout(viz::attention_grid_svg(std::vector<Tensor>(12, causal_weights({12, 24, 24}, 3))));
}
