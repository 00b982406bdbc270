// Chapter 2: a tensor is a block of memory and a description of how to read it.
#include "chapter.h"

#include <cstdint>
#include <iostream>

#include "weft/weft.h"

using namespace weft;

namespace {

// The position of the element at `index`, counted from the tensor's first element.
std::int64_t position(const Shape& index, const Strides& strides) {
    std::int64_t at = 0;
    for (int axis = 0; axis < index.rank(); ++axis) at += index[axis] * strides[axis];
    return at;
}

void shape_and_strides() {
    const Tensor m = tensor({{11, 12, 13}, {21, 22, 23}});  // (2, 3)
    std::cout << m << "\n";
    std::cout << "shape " << m.shape().str() << ", strides " << m.strides().str() << "\n";

    const std::int64_t* memory = m.data<std::int64_t>();
    std::cout << "in memory:";
    for (int i = 0; i < 6; ++i) std::cout << " " << memory[i];
    std::cout << "\n";

    const std::int64_t at = position({1, 2}, m.strides());  // 1 · 3 + 2 · 1
    std::cout << "m[1, 2] is at position " << at << ": " << memory[at] << "\n";
    std::cout << "a (2, 3, 4) tensor has strides " << contiguous_strides({2, 3, 4}).str() << "\n";
}

viz::StorageMovie movie() {
    viz::StorageMovie movie;
    const Tensor m = tensor({{11, 12, 13}, {21, 22, 23}});  // (2, 3)
    movie.show("m = tensor({{11, 12, 13}, {21, 22, 23}})", m);
    movie.show("r = m.reshape({3, 2})", m.reshape({3, 2}));
    const Tensor p = m.permute({1, 0});  // (3, 2)
    movie.show("p = m.permute({1, 0})", p);
    movie.attempt("p.view({6})", [&] { return p.view({6}); });
    const Tensor c = p.contiguous();  // (3, 2)
    movie.show("c = p.contiguous()", c);
    movie.show("c.view({6})", c.view({6}));
    movie.show("p.reshape({6})", p.reshape({6}));
    return movie;
}

viz::StorageMovie other_views() {
    viz::StorageMovie movie;
    const Tensor m = tensor({{11, 12, 13}, {21, 22, 23}});  // (2, 3)
    movie.show("m", m);
    movie.show("m.slice(1, 1, 3)", m.slice(1, 1, 3));        // (2, 2): columns 1 and 2
    movie.show("m[1]", m[1]);                                // (3,): row 1
    movie.show("m[1].expand({2, 3})", m[1].expand({2, 3}));  // (2, 3): that row, twice
    return movie;
}

void one_storage_many_names() {
    const Tensor m = tensor({{11, 12, 13}, {21, 22, 23}});  // (2, 3)
    Tensor row = m[1];                                      // (3,), a view
    const Tensor copy = m.clone();                          // (2, 3), storage of its own
    std::cout << "version " << m.version() << "\n";
    row.fill_(0);
    std::cout << m << "\n"
              << "version " << m.version() << "\n"
              << copy << "\n";
}

// The readings of three days (rows); columns 0 and 1 are those of sensor 0, columns 2 and 3 those of sensor 1.
Tensor readings() {  // (N, C) = (3, 4): 23 is the third reading of day 2
    return tensor({{11, 12, 13, 14}, {21, 22, 23, 24}, {31, 32, 33, 34}}, int64);
}

// x (N, C) → (G, N, C / G): the columns in G groups, each a matrix of its own.
Tensor split_columns(const Tensor& x, std::int64_t groups) {
    const std::int64_t rows = x.size(0), columns = x.size(1) / groups;
    return x
        .view({rows, groups, columns})  // (N, G, C / G)
        .permute({1, 0, 2});            // (G, N, C / G)
}

void split() {
    const Tensor x = readings();                   // (N, C)
    const Tensor by_sensor = split_columns(x, 2);  // (G, N, C / G)
    std::cout << by_sensor << "\n"
              << "shape " << by_sensor.shape().str() << ", strides " << by_sensor.strides().str()
              << (by_sensor.shares_storage(x) ? ", the storage of x" : ", a copy") << "\n";
}

void merge() {
    const Tensor by_sensor = split_columns(readings(), 2) * 10;  // (G, N, C / G), a new tensor
    const Tensor by_day = by_sensor.permute({1, 0, 2});          // (N, G, C / G)
    const Tensor merged = by_day.reshape({3, 4});                // (N, C)
    std::cout << merged << "\n" << (merged.shares_storage(by_sensor) ? "a view" : "a copy") << "\n";
}

void reshape_is_not_permute() {
    const Tensor x = readings();
    const Tensor wrong = x.reshape({2, 3, 2});  // the shape (G, N, C / G), without permute
    std::cout << wrong << "\n"
              << "sensor 0 should be\n"
              << split_columns(x, 2)[0] << "\n";
}

// ---- figures

std::string strides_figure() {
    viz::Drawing drawing(640, 250, "A matrix of two rows in memory: one row after the other");
    const Tensor m = tensor({{11, 12, 13}, {21, 22, 23}});
    const std::string row0 = "#c9e0f2", row1 = "#fbdfb5";
    drawing.text(215, 22, "the matrix", {13, "middle", "#222", true});
    drawing.cells(140, 50, 50, 30, m, {.fills = {row0, row0, row0, row1, row1, row1}, .text_size = 14});
    for (int j = 0; j < 3; ++j)
        drawing.text(165 + 50 * j, 41, "j = " + std::to_string(j), {.size = 11, .colour = "#555"});
    for (int i = 0; i < 2; ++i)
        drawing.text(118, 65 + 30 * i, "i = " + std::to_string(i), {.size = 11, .colour = "#555"});
    drawing.text(320, 65, "one step to the right: 1 position further", {.anchor = "start"});
    drawing.text(320, 95, "one step down: 3 positions further", {.anchor = "start"});

    drawing.bend(215, 112, 395, 166, {viz::palette(1), 1.5, true});
    drawing.text(118, 185, "memory", {13, "end", "#222", true});
    drawing.cells(170, 170, 50, 30, m.reshape({1, 6}),
                  {.fills = {row0, row0, row0, row1, row1, row1}, .text_size = 14});
    for (int at = 0; at < 6; ++at)
        drawing.text(195 + 50 * at, 213, std::to_string(at), {.size = 11, .colour = "#555"});
    drawing.text(320, 238, "position = 3 · i + 1 · j, so 22 is at 3 · 1 + 1 · 1 = 4", {.size = 14});
    return drawing.svg();
}

// The two sensors' matrices, split by view and permute and by reshape alone, with a colour for each day.
std::string sensors_figure() {
    viz::Drawing drawing(640, 300, "Columns split by view and permute, and by reshape alone");
    const Tensor x = readings();
    const auto colours = [](const Tensor& values) {
        const std::vector<std::string> of_day = {"#c9e0f2", "#fbdfb5", "#cdebd8"};
        std::vector<std::string> fills;
        for (const std::int64_t value : values.to_vector<std::int64_t>())
            fills.push_back(of_day.at(static_cast<std::size_t>(value / 10 - 1)));
        return viz::CellsStyle{.fills = fills, .text_size = 13};
    };
    const auto sensors = [&](double y, const std::string& title, const Tensor& made) {
        drawing.text(290, y, title, {13, "start", "#222", true});
        for (int g = 0; g < 2; ++g) {
            drawing.text(282 + 178 * g, y + 60, "sensor " + std::to_string(g), {.size = 12, .anchor = "start"});
            drawing.cells(345 + 178 * g, y + 18, 42, 28, made[g].to(float64), colours(made[g]));
        }
    };
    drawing.text(109, 88, "x: one row per day", {13, "middle", "#222", true});
    drawing.cells(25, 106, 42, 28, x.to(float64), colours(x));
    drawing.arrow(205, 130, 270, 85);
    drawing.arrow(205, 166, 270, 220);
    sensors(25, "view({3, 2, 2}).permute({1, 0, 2})", split_columns(x, 2));
    sensors(170, "reshape({2, 3, 2}): no error, but wrong", x.reshape({2, 3, 2}));
    return drawing.svg();
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    chapter.section("Shape and strides");
    shape_and_strides();
    chapter.section("The storage movie");
    movie().print();
    chapter.section("Slice, select, expand");
    other_views().print();
    chapter.section("One storage, many names");
    one_storage_many_names();
    chapter.section("Split and merge");
    split();
    std::cout << "\ntimes ten, and merged again:\n";
    merge();
    chapter.section("Break it: reshape instead of permute");
    reshape_is_not_permute();

    chapter.figure("02_strides", strides_figure());
    chapter.figure("02_movie", movie().svg("The storage movie: seven steps and what each does to memory"));
    chapter.figure("02_views",
                   other_views().svg("A slice, a row and an expanded row in the memory of one matrix"));
    chapter.figure("02_sensors", sensors_figure());
}
