// The storage movie as SVG.
#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "viz/storage.h"
#include "viz/svg.h"

namespace weft::viz {
namespace {

constexpr double picture_width = 680, margin = 16, memory_x = 34, cell_height = 28, text_line = 17;

// From blue through white to orange, light enough for black text.
Colour light(double share) {
    const Colour blue = {150, 196, 232}, white = {240, 240, 232}, orange = {252, 186, 118};
    return share < 0.5 ? mixed(blue, white, 2 * share) : mixed(white, orange, 2 * share - 1);
}

// A colour for each value of the movie, by rank.
std::map<double, std::string> colours_of(const std::vector<StorageFrame>& frames) {
    std::map<double, std::string> colours;
    for (const StorageFrame& frame : frames)
        for (const double value : frame.memory) colours[value];
    double i = 0;
    for (auto& [value, colour] : colours)
        colour = light(i++ / std::max<double>(1, static_cast<double>(colours.size()) - 1)).hex();
    return colours;
}

// Wraps a text into lines of at most `width` columns.
std::vector<std::string> lines_of(const std::string& text, std::size_t width) {
    std::vector<std::string> lines(1);
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        if (!lines.back().empty() && display_width(lines.back()) + 1 + display_width(word) > width)
            lines.emplace_back();
        lines.back() += (lines.back().empty() ? "" : " ") + word;
    }
    return lines;
}

// The sizes of a frame that depend on its tensor.
struct Layout {
    double cell = 40;  // width, in memory
    double tensor_x = 0, tensor_cell = 36;
    std::size_t rows = 0, columns = 0;  // of the tensor
    double arc = 0;                     // height of the jumps above and below the memory
    double height = 0;
    std::vector<std::string> refusal;
};

Layout layout_of(const StorageFrame& frame) {
    Layout l;
    if (!frame.tensor.defined()) {
        l.refusal = lines_of("refused: " + frame.refused, 92);
        l.height = 30 + text_line * static_cast<double>(l.refusal.size()) + 12;
        return l;
    }
    l.columns = row_of(frame.tensor);
    l.rows = frame.at.size() / l.columns;
    const double room = picture_width - memory_x - margin - 72;
    const double shares = static_cast<double>(frame.memory.size()) + 0.9 * static_cast<double>(l.columns);
    l.cell = std::min(42.0, room / shares);
    l.tensor_cell = 0.9 * l.cell;
    l.tensor_x = memory_x + l.cell * static_cast<double>(frame.memory.size()) + 72;
    std::int64_t jump = 1;
    for (std::size_t i = 1; i < frame.at.size(); ++i)
        jump = std::max(jump, std::abs(static_cast<std::int64_t>(frame.at[i] - frame.at[i - 1])));
    l.arc = std::min(30.0, 8 + 5 * static_cast<double>(jump));
    l.height = 52 + std::max(2 * l.arc + cell_height, 24.0 * static_cast<double>(l.rows)) + 12;
    return l;
}

// An arc from the middle of one cell to that of another: forwards above the cells, backwards below them.
void draw_jump(Drawing& drawing, double from, double to, double y, double height) {
    const Stroke stroke{"#d55e00", 1.5, false};
    const double up = to > from ? -1 : 1, edge = to > from ? y - 1 : y + cell_height + 1;
    const double inset = to > from ? 4 : -4;  // so that jumps that meet in a cell do not touch
    Points points;
    const double pi = std::acos(-1.0);
    for (int i = 0; i <= 12; ++i) {
        const double angle = pi * i / 14;  // the arrowhead covers the rest
        points.emplace_back((from + to) / 2 - std::cos(angle) * ((to - from) / 2 - inset),
                            edge + up * height * std::sin(angle));
    }
    const auto [x, last] = points.back();
    drawing.path(points, stroke).arrow(x, last, to - inset, edge, stroke);
}

void draw_frame(Drawing& drawing, const StorageFrame& frame, const Layout& l, double y,
                const std::map<double, std::string>& colours) {
    const Label meta{12, "start", "#444", false, 0};
    if (!frame.tensor.defined()) {
        for (std::size_t i = 0; i < l.refusal.size(); ++i)
            drawing.text(memory_x, y + 34 + text_line * static_cast<double>(i), l.refusal[i],
                         {12, "start", "#b00020", false, 0});
        return;
    }
    drawing.text(memory_x, y + 33, layout(frame.tensor) + "; " + storage_text(frame), meta);
    const double middle = y + 48 + (l.height - 60) / 2, top = middle - cell_height / 2;
    const auto cell_of = [&](std::size_t position) {
        return memory_x + l.cell * (static_cast<double>(position) + 0.5);
    };
    CellsStyle memory, tensor;
    for (const double value : frame.memory) {
        memory.texts.push_back(number(value, 4));
        memory.fills.push_back(colours.at(value));
    }
    for (const std::size_t position : frame.at) {
        tensor.texts.push_back(memory.texts[position]);
        tensor.fills.push_back(memory.fills[position]);
    }
    const auto blank = [](std::size_t rows, std::size_t columns) {
        return zeros({static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)}, float64);
    };
    drawing.cells(memory_x, top, l.cell, cell_height, blank(1, frame.memory.size()), memory);
    for (std::size_t i = 1; i < frame.at.size(); ++i)
        if (frame.at[i] != frame.at[i - 1])
            draw_jump(drawing, cell_of(frame.at[i - 1]), cell_of(frame.at[i]), top, l.arc - 4);
    drawing.circle(cell_of(frame.at[0]), top - 5, 3.5, "#d55e00");
    drawing.text(memory_x - 10, middle, std::string(1, frame.storage), {14, "middle", "#222", true, 0});
    const double from = memory_x + l.cell * static_cast<double>(frame.memory.size());
    drawing.arrow(from + 12, middle, l.tensor_x - 12, middle, {"#888", 1.2, false});
    drawing.cells(l.tensor_x, middle - 12 * static_cast<double>(l.rows), l.tensor_cell, 24,
                  blank(l.rows, l.columns), tensor);
}

}  // namespace

std::string StorageMovie::svg(const std::string& title) const {
    const std::map<double, std::string> colours = colours_of(frames_);
    double height = margin;
    for (const StorageFrame& frame : frames_) height += layout_of(frame).height;
    Drawing drawing(picture_width, height, title);
    double y = margin / 2;
    for (std::size_t f = 0; f < frames_.size(); ++f) {
        const Layout l = layout_of(frames_[f]);
        if (f > 0) drawing.line(margin, y, picture_width - margin, y, {"#ddd", 1, false});
        drawing.text(margin, y + 15, std::to_string(f + 1) + "  " + frames_[f].step,
                     {13, "start", "#222", true, 0});
        draw_frame(drawing, frames_[f], l, y, colours);
        y += l.height;
    }
    return drawing.svg();
}

}  // namespace weft::viz
