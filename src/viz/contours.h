// Lines of equal value through a field of numbers.
#pragma once

#include <cstddef>
#include <vector>

#include "viz/shapes.h"

namespace weft::viz {

// values (rows, columns), row-major → the lines where the field, straight along each edge of the grid, takes
// `level`; a point (x, y) is (column, row). A closed line ends where it begins. Cells with a value that is not
// finite have none. Marching squares (W. Lorensen and H. Cline, 1987, in two dimensions); a saddle is cut by
// its mean.
std::vector<Points> contour_lines(const std::vector<double>& values, std::size_t rows, std::size_t columns,
                                  double level);

}  // namespace weft::viz
