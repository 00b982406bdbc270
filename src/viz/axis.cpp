#include "viz/axis.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "weft/base/text.h"

namespace weft::viz {
namespace {

// value · 10^exponent, rounded once like a literal.
double times_ten_to(double value, int exponent) {
    return exponent < 0 ? value / std::pow(10.0, -exponent) : value * std::pow(10.0, exponent);
}

// The part of a … b within the frame (Y. Liang and B. Barsky, 1984); false if there is none.
bool clip(const Frame& frame, Point& a, Point& b) {
    const double dx = b.first - a.first, dy = b.second - a.second;
    const std::array<double, 4> towards = {-dx, dx, -dy, dy};
    const std::array<double, 4> room = {a.first - frame.left, frame.right - a.first, a.second - frame.top,
                                        frame.bottom - a.second};
    double enter = 0, leave = 1;
    for (std::size_t i = 0; i < 4; ++i) {
        if (towards[i] == 0 && room[i] < 0) return false;
        if (towards[i] < 0) enter = std::max(enter, room[i] / towards[i]);
        if (towards[i] > 0) leave = std::min(leave, room[i] / towards[i]);
    }
    if (enter > leave) return false;
    const auto start = a;
    if (enter > 0) a = {start.first + enter * dx, start.second + enter * dy};
    if (leave < 1) b = {start.first + leave * dx, start.second + leave * dy};
    return true;
}

}  // namespace

std::vector<Tick> linear_ticks(double low, double high, double max_ticks) {
    const double min_step = (high - low) / std::max(max_ticks, 1.0);
    int exponent = static_cast<int>(std::floor(std::log10(min_step)));
    int factor = 1;
    for (const int next : {2, 5, 10})
        if (times_ten_to(factor, exponent) < min_step * (1 - 1e-9)) factor = next;
    if (factor == 10) factor = 1, ++exponent;

    const double step = times_ten_to(factor, exponent), slack = 1e-9 * (high - low);
    const double first = std::ceil((low - slack) / step), last = std::floor((high + slack) / step);
    const double largest = std::max(std::abs(low), std::abs(high));
    const int shared = static_cast<int>(std::floor(std::log10(largest)));  // the 6 of 2·10⁶
    const bool plain = largest < 1e6 && exponent >= -4;
    const int decimals = plain ? std::max(0, -exponent) : std::clamp(shared - exponent, 0, 15);

    std::vector<Tick> ticks;
    for (double i = first; i <= last && ticks.size() < 1000; ++i) {
        const double value = times_ten_to(i * factor, exponent);
        std::string label = "0";
        if (plain)
            label = fixed_number(value, decimals);
        else if (i != 0)
            label = fixed_number(times_ten_to(value, -shared), decimals) + "·" + power_of_ten(shared);
        ticks.push_back({value, label});
    }
    return ticks;
}

std::vector<Tick> logarithmic_ticks(double low, double high, double max_ticks) {
    const int first = static_cast<int>(std::floor(std::log10(low) + 1e-9));
    const int last = static_cast<int>(std::ceil(std::log10(high) - 1e-9));
    const auto within = [&](double value) {
        return value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9) && std::isfinite(value);
    };
    int decades = 0;
    for (int e = first; e <= last; ++e) decades += within(times_ten_to(1, e));
    const int stride = std::max(1, static_cast<int>(std::ceil(decades / std::max(max_ticks, 1.0))));
    std::vector<Tick> ticks;
    for (int e = first; e <= last; ++e)
        for (int factor = 1; factor <= 9; ++factor) {
            const double value = times_ten_to(factor, e);
            if (!within(value)) continue;
            if (decades < 3 && (factor == 1 || factor == 2 || factor == 5))
                ticks.push_back({value, figure_number(value, 6)});
            else if (decades >= 3 && factor == 1 && e % stride == 0)
                ticks.push_back({value, e == 0 ? "1" : e == 1 ? "10" : power_of_ten(e)});
            else if (decades >= 3 && (factor == 1 || stride == 1))
                ticks.push_back({value, ""});
        }
    return decades >= 3 || ticks.size() >= 2 ? ticks : linear_ticks(low, high, max_ticks);
}

std::string range_text(const Range& range) {
    return format_number(range.first) + " … " + format_number(range.second);
}

void Axis::widen(double below, double above) {
    if (!std::isfinite(high - low))
        throw ValueError("Plot::svg: values from ", range_text({low, high}),
                         " are too far apart to draw; set a range");
    if (logarithmic) {
        if (high < low * (1 + 1e-9)) low /= 2, high *= 2;
        const double extent = std::log(high / low);
        low = std::max(low * std::exp(-below * extent), min_positive);
        high = std::min(high * std::exp(above * extent), 1e300);
    } else {
        const double middle = low + (high - low) / 2;
        const double smallest = std::max(1e-9 * std::abs(middle), 1e-290);
        if (high - low < smallest) {
            const double half = middle == 0 ? 1 : std::max(std::abs(middle) / 10, smallest);
            low = middle - half, high = middle + half;
        }
        const double extent = high - low;
        low -= below * extent, high += above * extent;
    }
}

std::vector<Tick> Axis::ticks(double pixels_each) const {
    const double max_ticks = std::abs(to - from) / pixels_each;
    return logarithmic ? logarithmic_ticks(low, high, max_ticks) : linear_ticks(low, high, max_ticks);
}

std::string clipped_data(const Frame& frame, const Points& points) {
    const auto is_point = [&](std::size_t i) {
        return i < points.size() && std::isfinite(points[i].first) && std::isfinite(points[i].second);
    };
    constexpr Point nowhere = {NAN, NAN};
    std::string data;
    Point last = nowhere;  // the end of the line so far
    for (std::size_t i = 0; i < points.size(); ++i) {
        auto a = points[i];
        if (is_point(i) && is_point(i + 1)) {
            auto b = points[i + 1];
            const bool is_seen = clip(frame, a, b);
            if (is_seen) data += (a != last ? "M" + point_data(a) : "") + "L" + point_data(b);
            last = is_seen ? b : nowhere;
        } else {
            const bool is_alone = is_point(i) && (i == 0 || !is_point(i - 1));
            if (is_alone && frame.has(a.first, a.second)) data += "M" + point_data(a) + "h0.01";
            last = nowhere;
        }
    }
    return data;
}

std::vector<Points> contour_lines(const std::vector<double>& values, std::size_t rows, std::size_t columns,
                                  double level) {
    const auto value = [&](std::size_t r, std::size_t c) { return values[r * columns + c]; };
    // The edges of the grid have numbers: from (row, column) to the right 2 · cell, downwards 2 · cell + 1. A
    // line crosses an edge at most once, so a crossing has at most two neighbours, one in each adjacent cell.
    std::map<std::size_t, std::vector<std::size_t>> neighbours;
    const auto join = [&](std::size_t a, std::size_t b) {
        neighbours[a].push_back(b);
        neighbours[b].push_back(a);
    };
    for (std::size_t r = 0; r + 1 < rows; ++r)
        for (std::size_t c = 0; c + 1 < columns; ++c) {
            const std::array<double, 4> corner = {value(r, c), value(r, c + 1), value(r + 1, c + 1),
                                                  value(r + 1, c)};  // clockwise
            const double mean = (corner[0] + corner[1] + corner[2] + corner[3]) / 4;
            if (!std::isfinite(mean)) continue;
            const std::array<std::size_t, 4> edge = {2 * (r * columns + c), 2 * (r * columns + c + 1) + 1,
                                                     2 * ((r + 1) * columns + c), 2 * (r * columns + c) + 1};
            const auto above = [&](std::size_t i) { return corner[i % 4] >= level; };
            std::vector<std::size_t> crossed;  // edge i lies between corners i and i + 1
            for (std::size_t i = 0; i < 4; ++i)
                if (above(i) != above(i + 1)) crossed.push_back(edge[i]);
            if (crossed.size() == 2) join(crossed[0], crossed[1]);
            if (crossed.size() != 4) continue;
            // A saddle: the lines cut off the two corners whose side of the level is not the mean's.
            const std::size_t odd = above(0) == (mean >= level) ? 0 : 1;
            join(crossed[odd], crossed[odd + 1]);
            join(crossed[odd + 2], crossed[(odd + 3) % 4]);
        }

    const auto point = [&](std::size_t edge) -> Point {
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
            for (const std::size_t next : neighbours.at(edge))
                if (!more && seen.count(next) == 0) edge = next, more = true;
        }
        return line;
    };
    for (const bool closed : {false, true})  // first the lines that end at the border
        for (const auto& [edge, others] : neighbours) {
            if (seen.count(edge) > 0 || others.size() != (closed ? 2u : 1u)) continue;
            lines.push_back(follow(edge));
            if (closed) lines.back().push_back(lines.back().front());
        }
    return lines;
}

}  // namespace weft::viz
