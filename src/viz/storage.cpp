// The storage movie: frames, their text, and their picture.
#include "weft/viz/pictures.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <sstream>

#include "viz/axis.h"
#include "weft/base/text.h"
#include "weft/core/creation.h"
#include "weft/core/dtype.h"
#include "weft/core/error.h"

namespace weft::viz {
namespace {

constexpr std::int64_t max_elements = 64, max_storages = 26;

// Calls f with the address of x's first element.
template <class F>
auto at_data(const Tensor& x, const F& f) {
    return visit_any(x.dtype(), [&]<class T>(T) { return f(x.data<T>()); });
}

// The position in memory of each element of x, relative to the first.
std::vector<std::size_t> positions(const Tensor& x) {
    std::vector<std::size_t> found{0};
    for (int axis = 0; axis < x.rank(); ++axis) {
        std::vector<std::size_t> next;
        for (const std::size_t start : found)
            for (std::int64_t i = 0; i < x.shape()[axis]; ++i)
                next.push_back(start + static_cast<std::size_t>(i * x.strides()[axis]));
        found = std::move(next);
    }
    return found;
}

std::int64_t row_of(const Tensor& x) { return x.rank() == 0 ? 1 : x.shape().back(); }  // values in a row

std::string storage_text(const StorageFrame& frame) {
    return (frame.is_new ? "new storage " : "a view of storage ") + std::string(1, frame.storage);
}

std::string layout(const Tensor& x) {
    return "shape " + x.shape().str() + ", strides " + x.strides().str() +
           (x.is_contiguous() ? ", contiguous" : ", not contiguous");
}

// ---- the picture

constexpr double picture_width = 680, picture_margin = 16, memory_x = 34, cell_height = 28, text_line = 17;
constexpr double picture_gap = 72;  // between memory and tensor

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
    double cell = 0;                     // width, in memory
    std::int64_t size = 0;               // length of the memory in cells
    std::int64_t rows = 0, columns = 0;  // size of the tensor in cells
    double arc = 0;                      // height of the jumps above and below the memory
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
    l.size = static_cast<std::int64_t>(frame.memory.size());
    l.columns = row_of(frame.tensor);
    l.rows = frame.tensor.numel() / l.columns;
    const double room = picture_width - memory_x - picture_margin - picture_gap;
    l.cell = std::min(42.0, room / (static_cast<double>(l.size) + 0.9 * static_cast<double>(l.columns)));
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
    const double inset = to > from ? 4 : -4;  // keeps jumps that meet in a cell apart
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
    if (!frame.tensor.defined()) {
        for (std::size_t i = 0; i < l.refusal.size(); ++i)
            drawing.text(memory_x, y + 34 + text_line * static_cast<double>(i), l.refusal[i],
                         {12, "start", "#b00020", false, 0});
        return;
    }
    drawing.text(memory_x, y + 33, layout(frame.tensor) + "; " + storage_text(frame),
                 {12, "start", "#444", false, 0});
    const double middle = y + 48 + (l.height - 60) / 2, top = middle - cell_height / 2;
    const auto cell_of = [&](std::size_t position) {
        return memory_x + l.cell * (static_cast<double>(position) + 0.5);
    };
    CellsStyle memory, tensor;
    for (const double value : frame.memory) {
        memory.texts.push_back(format_number(value, 4));
        memory.fills.push_back(colours.at(value));
    }
    for (const std::size_t position : frame.at) {
        tensor.texts.push_back(memory.texts[position]);
        tensor.fills.push_back(memory.fills[position]);
    }
    drawing.cells(memory_x, top, l.cell, cell_height, zeros({1, l.size}), memory);
    for (std::size_t i = 1; i < frame.at.size(); ++i)
        if (frame.at[i] != frame.at[i - 1])
            draw_jump(drawing, cell_of(frame.at[i - 1]), cell_of(frame.at[i]), top, l.arc - 4);
    drawing.circle(cell_of(frame.at[0]), top - 5, 3.5, "#d55e00");
    drawing.text(memory_x - 10, middle, std::string(1, frame.storage), {14, "middle", "#222", true, 0});
    const double end = memory_x + l.cell * static_cast<double>(l.size), tensor_x = end + picture_gap;
    drawing.arrow(end + 12, middle, tensor_x - 12, middle, {"#888", 1.2, false});
    drawing.cells(tensor_x, middle - 12 * static_cast<double>(l.rows), 0.9 * l.cell, 24,
                  zeros({l.rows, l.columns}), tensor);
}

}  // namespace

StorageMovie& StorageMovie::show(const std::string& step, const Tensor& x) {
    if (x.numel() == 0 || x.numel() > max_elements)
        throw ValueError("StorageMovie: ", step, " has shape ", x.shape(), ", but a frame shows 1 to ",
                         max_elements, " elements; take a smaller tensor");
    StorageFrame frame;
    frame.step = step;
    frame.tensor = x.detach();  // the caller may reassign x
    frame.at = positions(x);
    const auto owner = std::ranges::find_if(frames_, [&](const StorageFrame& before) {
        return before.tensor.defined() && before.tensor.shares_storage(x);
    });
    frame.is_new = owner == frames_.end();
    const auto storages = std::ranges::count(frames_, true, &StorageFrame::is_new);
    frame.storage = frame.is_new ? static_cast<char>('A' + storages) : owner->storage;
    auto size = 1 + static_cast<std::int64_t>(std::ranges::max(frame.at));
    if (frame.is_new && (size > max_elements || storages >= max_storages))
        throw ValueError("StorageMovie: ", step, " spans ", size, " elements of memory as storage number ",
                         storages + 1, "; a movie has at most ", max_elements, " in each of ", max_storages);
    const Tensor& base = frame.is_new ? frame.tensor : owner->tensor;
    if (!frame.is_new) {
        const std::int64_t offset = at_data(x, [&](auto* first) -> std::int64_t {
            return first - base.data<std::remove_pointer_t<decltype(first)>>();
        });
        const auto shown = static_cast<std::int64_t>(owner->memory.size());
        if (offset < 0 || offset + size > shown)
            throw ValueError("StorageMovie: ", step, " reaches beyond what the first frame of its storage, ",
                             owner->step, ", shows; show the tensor that owns the memory first");
        for (std::size_t& position : frame.at) position += static_cast<std::size_t>(offset);
        size = shown;
    }
    frame.memory = at_data(base, [&](const auto* data) { return std::vector<double>(data, data + size); });
    frames_.push_back(std::move(frame));
    return *this;
}

StorageMovie& StorageMovie::attempt(const std::string& step, const std::function<Tensor()>& make) {
    Tensor made;
    try {
        made = make();
    } catch (const Error& error) {
        StorageFrame& frame = frames_.emplace_back();
        frame.step = step;
        frame.refused = error.what();
        return *this;
    }
    return show(step, made);
}

std::string StorageMovie::str() const {
    std::string text;
    for (std::size_t f = 0; f < frames_.size(); ++f) {
        const StorageFrame& frame = frames_[f];
        text += (f > 0 ? "\n" : "") + std::to_string(f + 1) + ". " + frame.step + "\n";
        if (!frame.tensor.defined()) {
            text += "   refused: " + frame.refused + "\n";
            continue;
        }
        std::string memory, at, reads;
        for (const double value : frame.memory) memory += " " + format_number(value);
        for (std::size_t i = 0; i < frame.at.size(); ++i) {
            const char* const between =
                i > 0 && static_cast<std::int64_t>(i) % row_of(frame.tensor) == 0 ? " | " : " ";
            at += between + std::to_string(frame.at[i]);
            reads += between + format_number(frame.memory[frame.at[i]]);
        }
        text += "   " + layout(frame.tensor) + "; " + storage_text(frame) + "\n   memory" + memory +
                "\n   at    " + at + "\n   reads " + reads + "\n";
    }
    return text;
}

std::string StorageMovie::svg(const std::string& title) const {
    const std::map<double, std::string> colours = colours_of(frames_);
    double height = picture_margin;
    for (const StorageFrame& frame : frames_) height += layout_of(frame).height;
    Drawing drawing(picture_width, height, title);
    double y = picture_margin / 2;
    for (std::size_t f = 0; f < frames_.size(); ++f) {
        const Layout l = layout_of(frames_[f]);
        if (f > 0) drawing.line(picture_margin, y, picture_width - picture_margin, y, {"#ddd", 1, false});
        drawing.text(picture_margin, y + 15, std::to_string(f + 1) + "  " + frames_[f].step,
                     {13, "start", "#222", true, 0});
        draw_frame(drawing, frames_[f], l, y, colours);
        y += l.height;
    }
    return drawing.svg();
}

void StorageMovie::print() const { std::cout << str() << std::flush; }

}  // namespace weft::viz
