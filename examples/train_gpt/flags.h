// What the command lines of the programs have in common.
#pragma once

#include <CLI/CLI.hpp>

// Reads the command line into the options of `app`, which takes "--block-size" and "--block_size" for one flag.
// False when it asked for help, which was printed. UsageError on what is no flag (with the nearest known one)
// or lacks its value.
bool parse_flags(CLI::App& app, int argc, char** argv);
