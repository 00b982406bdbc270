// The layout of the attention maps: no text leaves the picture or lies on another.
#include <cmath>

#include "catch.h"
#include "svg_reader.h"
#include "weft/base/table.h"
#include "weft/viz/text.h"
#include "weft/weft.h"
#include "weights.h"

using namespace weft;

namespace {

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

const std::vector<std::string> awkward = {
    "<s>",      " the",  "\"quoted\" & 'more'",          "\n",      "日本語",
    "\xff\xfe", "naïve", "antidisestablishmentarianism", "\x1b[2J", ""};

}  // namespace

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
