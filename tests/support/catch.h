// Catch2, whichever of its versions is installed (2 is one header, 3 is many), and what every test of an error
// needs.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

#include <set>
#include <string>
#include <typeinfo>

// The message of the exception of exactly type E that `action` throws; the test fails where it throws nothing
// or another type.
template <class E, class Action>
std::string message_of(Action&& action) {
    try {
        (void)action();
    } catch (const E& error) {
        if (typeid(error) == typeid(E)) return error.what();
        FAIL_CHECK("threw " << typeid(error).name() << " instead: " << error.what());
        return {};
    } catch (const std::exception& error) {
        FAIL_CHECK("threw " << typeid(error).name() << " instead: " << error.what());
        return {};
    }
    FAIL_CHECK("did not throw");
    return {};
}

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// Checks that a run cannot make where it runs: main.cpp names them in the run's last lines.
inline std::set<std::string>& skipped_checks() {
    static std::set<std::string> checks;
    return checks;
}

// Says that a check is left out, and why: "graphviz is not installed: its reading of our DOT text".
inline void skip(const std::string& why_and_what) {
    SUCCEED("skipped: " << why_and_what);
    skipped_checks().insert(why_and_what);
}
