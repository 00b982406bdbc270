// Where the numbers of an axis stand: at 1, 2 or 5 times a power of ten.
#pragma once

#include <string>
#include <vector>

namespace weft::viz {

struct Tick {
    double value;
    std::string label;  // empty: a short tick between two others
};

// Round numbers in low … high, about `most` of them. low < high, both finite, and positive on a logarithmic
// axis.
std::vector<Tick> linear_ticks(double low, double high, double most);
std::vector<Tick> logarithmic_ticks(double low, double high, double most);

}  // namespace weft::viz
