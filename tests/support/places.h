// Where things are: folders of this project, and programs that the build made. tests/CMakeLists.txt writes the
// source.
#pragma once

#include <string>

namespace places {

std::string source();        // the project
std::string golden();        // tests/golden
std::string programs();      // where the examples' programs are
std::string from_scratch();  // where those of the second track are
std::string processes();     // the program that mpirun starts
std::string mpirun();

}  // namespace places
