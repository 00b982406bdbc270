// The storage movie.
#include <map>
#include <regex>
#include <set>

#include "svg_reader.h"
#include "unchanged.h"
#include "weft/viz/pictures.h"
#include "weft/weft.h"

using namespace weft;
using viz::StorageMovie;

namespace {

Tensor matrix() { return tensor({{11, 12, 13}, {21, 22, 23}}, int64); }

using Places = std::vector<std::size_t>;

}  // namespace

TEST_CASE("frames tell whose storage a tensor has, and the places that it reads there", "[viz][storage]") {
    const Tensor m = matrix(), p = m.permute({1, 0}), c = p.contiguous();
    StorageMovie movie;
    movie.show("m", m).show("reshape", m.reshape({3, 2})).show("permute", p).show("contiguous", c);
    movie.show("view", c.view({6})).show("copy", p.reshape({6})).show("slice", m.slice(1, 1, 3));
    movie.show("row", m[1]).show("expand", m[1].expand({2, 3})).show("one", m[1][2]);
    const auto& f = movie.frames();
    REQUIRE(f.size() == 10);
    std::string storages;
    for (const viz::StorageFrame& frame : f)
        storages += std::string(1, frame.storage) + (frame.is_new ? "! " : " ");
    CHECK(storages == "A! A A B! B C! A A A A ");
    CHECK(f[0].at == Places{0, 1, 2, 3, 4, 5});
    CHECK(f[1].at == Places{0, 1, 2, 3, 4, 5});
    CHECK(f[2].at == Places{0, 3, 1, 4, 2, 5});
    CHECK(f[3].at == Places{0, 1, 2, 3, 4, 5});
    CHECK(f[3].memory == std::vector<double>{11, 21, 12, 22, 13, 23});
    CHECK(f[6].at == Places{1, 2, 4, 5});
    CHECK(f[7].at == Places{3, 4, 5});
    CHECK(f[8].at == Places{3, 4, 5, 3, 4, 5});
    CHECK(f[9].at == Places{5});
    for (const viz::StorageFrame& frame : f) {  // what is read at these places is what the tensor holds
        const auto values = frame.tensor.to_vector<std::int64_t>();
        REQUIRE(values.size() == frame.at.size());
        for (std::size_t i = 0; i < values.size(); ++i)
            CHECK(frame.memory[frame.at[i]] == static_cast<double>(values[i]));
    }
}

TEST_CASE("a frame keeps the values of its moment; a later change is in later frames", "[viz][storage]") {
    for (const DType dtype : {float32, float64, int64, boolean, bfloat16, float16}) {
        const Tensor m = tensor({{1, 0}, {1, 1}}, dtype);
        StorageMovie movie;
        movie.show("before", m);
        Tensor row = m[0];
        row.fill_(0);
        movie.show("row", row);
        CHECK(movie.frames()[0].memory == std::vector<double>{1, 0, 1, 1});
        CHECK(movie.frames()[1].memory == std::vector<double>{0, 0, 1, 1});
    }
}

TEST_CASE("what is refused is a frame with the message; other exceptions pass", "[viz][storage]") {
    const Tensor p = matrix().T();
    StorageMovie movie;
    movie.attempt("p.view({6})", [&] { return p.view({6}); });
    movie.attempt("p", [&] { return p; });
    REQUIRE(movie.frames().size() == 2);
    CHECK_FALSE(movie.frames()[0].tensor.defined());
    CHECK(contains(movie.frames()[0].refused, "without copying; call contiguous() first"));
    CHECK(movie.frames()[1].storage == 'A');
    CHECK_THROWS_AS(movie.attempt("x", []() -> Tensor { throw std::runtime_error("out"); }),
                    std::runtime_error);
    CHECK(movie.frames().size() == 2);
}

TEST_CASE("the movie's text has shape, strides, memory, places and values", "[viz][storage]") {
    const Tensor m = matrix();
    StorageMovie movie;
    movie.show("m", m).show("m.T()", m.T());
    CHECK(movie.str() ==
          "1. m\n"
          "   shape (2, 3), strides (3, 1), contiguous; new storage A\n"
          "   memory 11 12 13 21 22 23\n"
          "   at     0 1 2 | 3 4 5\n"
          "   reads  11 12 13 | 21 22 23\n"
          "\n"
          "2. m.T()\n"
          "   shape (3, 2), strides (1, 3), not contiguous; a view of storage A\n"
          "   memory 11 12 13 21 22 23\n"
          "   at     0 3 | 1 4 | 2 5\n"
          "   reads  11 21 | 12 22 | 13 23\n");
    CHECK(StorageMovie().str().empty());
}

TEST_CASE_METHOD(unchanged::Unchanged, "refused without a change: StorageMovie::show StorageMovie::attempt",
                 "[viz][storage][fault][unchanged]") {
    StorageMovie movie;
    const Tensor m = matrix(), large = zeros({65});
    const State all = unchanged::watch(movie);
    changes(all, [&] { movie.show("row", m[1]); });
    refuses<ValueError>("big has shape (65,), but a frame shows 1 to 64 elements", all,
                        [&] { movie.show("big", large); });
    refuses<ValueError>("big has shape (65,)", all, [&] { movie.attempt("big", [&] { return large; }); });
    refuses<ValueError>("take a smaller tensor", all, [&] { movie.show("none", zeros({0})); });
    refuses<ValueError>("spans 118 elements", all, [&] { movie.show("far", zeros({40, 3}).slice(1, 0, 1)); });
    refuses<ValueError>(
        "m reaches beyond what the first frame of its storage, row, shows; show the tensor that owns", all,
        [&] { movie.show("m", m); });
    refuses<ValueError>("reaches beyond", all, [&] { movie.show("before", m[0]); });
    refuses<GraphError>("undefined", all, [&] { movie.show("undefined", Tensor()); });
    std::vector<Tensor> more;
    for (int i = 0; i < 25; ++i) movie.show("x", zeros({1}));
    CHECK(movie.frames().back().storage == 'Z');
    CHECK_THROWS_AS(movie.show("x", zeros({1})), ValueError);
}

TEST_CASE("a value of a movie has the same colour in every frame", "[viz][storage]") {
    const Tensor m = matrix();
    StorageMovie movie;
    movie.show("m", m).show("T", m.T().contiguous()).show("wider", m * 10).show("slice", m.slice(1, 1, 3));
    const std::string svg = movie.svg();
    static const std::regex cell(R"re(<rect [^>]*fill="(#\w+)"[^>]*/>\n<text [^>]*>(\d+)</text>)re");
    std::map<std::string, std::set<std::string>> colours;  // colours by value
    int cells = 0;
    for (std::sregex_iterator found(svg.begin(), svg.end(), cell), end; found != end; ++found, ++cells)
        colours[(*found)[2]].insert((*found)[1]);
    CHECK(cells >= 24);
    CHECK(colours.size() >= 12);
    for (const auto& [value, fills] : colours) {
        INFO(value);
        CHECK(fills.size() == 1);
    }
}

TEST_CASE("memory and tensor of many cells are narrow enough to stand within the picture's margins",
          "[viz][storage]") {
    viz::StorageMovie movie;
    movie.show("x", ones({40}));
    const SvgTag svg = read_svg(movie.svg());
    const double width = svg.number("width"), margin = 16;
    double right = 0;
    for (const SvgTag* cell : svg.all("rect")) {
        if (!cell->attributes.contains("x")) continue;  // the background
        CHECK(cell->number("x") >= margin);
        right = std::max(right, cell->number("x") + cell->number("width"));
    }
    CHECK(std::abs(right - (width - margin)) < 1);
}
