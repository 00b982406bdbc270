// Short words for the tables of rows.
#pragma once

#include "program.h"

namespace random_programs {

using Rows = std::vector<Row>;
Rows elementwise_rows();
Rows shape_rows();
Rows network_rows();
Rows special_rows();
Rows state_rows();
Rows more_rows();
Rows loss_rows();
Rows rows_of_the_table(const Rows& written);  // of the operations that have none

// ---- common choices
inline bool one(ProgramBuilder& d, Statement& s) {
    s.in = {d.floating()};
    return s.in[0] >= 0;
}
inline bool ranked(ProgramBuilder& d, Statement& s, int least) {
    s.in = {d.ranked(least)};
    return s.in[0] >= 0;
}
inline bool two(ProgramBuilder& d, Statement& s) {
    if (!one(d, s)) return false;
    s.in.push_back(d.fits(d.at(s.in[0]).shape()));
    return s.in[1] >= 0;
}
inline bool two_of_one_shape(ProgramBuilder& d, Statement& s) {
    if (!one(d, s)) return false;
    s.in.push_back(d.shaped(d.at(s.in[0]).shape()));
    return true;
}
inline bool with_number(ProgramBuilder& d, Statement& s) {
    s.numbers = {d.one_of({-1.25, -0.5, 0.25, 0.5, 1.5, 2.0})};
    return one(d, s);
}
inline bool with_axis(ProgramBuilder& d, Statement& s) {
    if (!ranked(d, s, 1)) return false;
    s.numbers = {double(d.axis(d.at(s.in[0])))};
    return true;
}
// Numbers: keepdim, correction, axes.
inline bool with_axes(ProgramBuilder& d, Statement& s) {
    if (!ranked(d, s, 1)) return false;
    const int rank = d.at(s.in[0]).rank();
    s.numbers = {double(d.coin(0.5)), double(d.coin(0.5))};
    if (d.coin(0.2)) return true;  // every axis
    for (int axis = 0; axis < rank; ++axis)
        if (d.coin(0.4)) s.numbers.push_back(d.coin(0.5) ? axis : axis - rank);
    return true;
}
inline void append(Numbers& numbers, const Shape& shape) {
    for (const auto size : shape) numbers.push_back(double(size));
}
inline Tensor positive(const Tensor& x) { return x * x + 0.5; }

}  // namespace random_programs
