// What the command lines of the programs have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

// Reads the command line into the options of `app`, which takes "--block-size" and "--block_size" for one flag.
// A flag without a value may be written "--bias", "--bias=true" or "--bias=false". False when it asked for
// help, which was printed. UsageError on what is no flag (with the nearest known one), lacks its value, or is
// given one that it cannot have.
bool parse_flags(CLI::App& app, int argc, char** argv);

// UsageError where the value of a flag that names a file or a folder is empty.
void refuse_empty(const std::string& flag, const std::string& value);
