#include "viz/contours.h"

#include <array>
#include <cmath>
#include <map>
#include <set>

namespace weft::viz {
namespace {

// An edge of the grid by number: from (row, column) to the right, 2 · cell, or downwards, 2 · cell + 1. A line
// crosses an edge at most once, and so meets at most two others there: one in each of the cells beside it.
struct Crossings {
    std::map<std::size_t, std::vector<std::size_t>> neighbours;
    void join(std::size_t a, std::size_t b) {
        neighbours[a].push_back(b);
        neighbours[b].push_back(a);
    }
};

}  // namespace

std::vector<Points> contour_lines(const std::vector<double>& values, std::size_t rows, std::size_t columns,
                                  double level) {
    const auto value = [&](std::size_t r, std::size_t c) { return values[r * columns + c]; };
    Crossings crossings;
    for (std::size_t r = 0; r + 1 < rows; ++r)
        for (std::size_t c = 0; c + 1 < columns; ++c) {
            const std::array<double, 4> corner = {value(r, c), value(r, c + 1), value(r + 1, c + 1),
                                                  value(r + 1, c)};  // round the cell
            const double mean = (corner[0] + corner[1] + corner[2] + corner[3]) / 4;
            if (!std::isfinite(mean)) continue;
            const std::array<std::size_t, 4> edge = {2 * (r * columns + c), 2 * (r * columns + c + 1) + 1,
                                                     2 * ((r + 1) * columns + c), 2 * (r * columns + c) + 1};
            const auto above = [&](std::size_t i) { return corner[i % 4] >= level; };
            std::vector<std::size_t> crossed;  // edge i lies between corners i and i + 1
            for (std::size_t i = 0; i < 4; ++i)
                if (above(i) != above(i + 1)) crossed.push_back(edge[i]);
            if (crossed.size() == 2) crossings.join(crossed[0], crossed[1]);
            if (crossed.size() != 4) continue;
            // A saddle: the corners unlike the middle are cut off, 1 and 3 or 0 and 2.
            const std::size_t odd = above(0) == (mean >= level) ? 0 : 1;
            crossings.join(crossed[odd], crossed[odd + 1]);
            crossings.join(crossed[odd + 2], crossed[(odd + 3) % 4]);
        }

    const auto point = [&](std::size_t edge) -> std::pair<double, double> {
        const std::size_t r = edge / 2 / columns, c = edge / 2 % columns, down = edge % 2;
        const double from = value(r, c), to = value(r + down, c + 1 - down),
                     share = (level - from) / (to - from);
        return {static_cast<double>(c) + (down != 0 ? 0 : share),
                static_cast<double>(r) + (down != 0 ? share : 0)};
    };
    std::vector<Points> lines;
    std::set<std::size_t> seen;
    const auto follow = [&](std::size_t edge) {
        Points line;
        for (bool more = true; more;) {
            seen.insert(edge);
            line.push_back(point(edge));
            more = false;
            for (const std::size_t next : crossings.neighbours.at(edge))
                if (!more && seen.count(next) == 0) edge = next, more = true;
        }
        return line;
    };
    for (const auto& [edge, others] : crossings.neighbours)  // lines that end at the border
        if (others.size() == 1 && seen.count(edge) == 0) lines.push_back(follow(edge));
    for (const auto& [edge, others] : crossings.neighbours)  // and those that come back
        if (seen.count(edge) == 0) {
            lines.push_back(follow(edge));
            lines.back().push_back(lines.back().front());
        }
    return lines;
}

}  // namespace weft::viz
