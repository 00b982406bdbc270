// Checks that a run cannot make where it runs: main.cpp names them in the run's last lines.
#pragma once

#include <set>
#include <string>

#include "catch.h"

inline std::set<std::string>& skipped_checks() {
    static std::set<std::string> checks;
    return checks;
}

// Says that a check is left out, and why: "graphviz is not installed: its reading of our DOT text".
inline void skip(const std::string& why_and_what) {
    SUCCEED("skipped: " << why_and_what);
    skipped_checks().insert(why_and_what);
}
