// Command line of the examples that train: how many steps, and where to draw.
#pragma once

#include <charconv>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

struct Settings {
    int steps;             // of training
    std::string svg = {};  // file for the picture; empty: none
};

// `defaults` changed by "--steps N", N up to a billion, and, if the program draws, "--svg FILE". Anything else
// prints the usage and returns nothing: exit with 2.
inline std::optional<Settings> read_settings(int argc, char** argv, const char* program, Settings defaults,
                                             bool draws = false) {
    for (int i = 1; i < argc; i += 2) {
        const std::string_view flag = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
        const char* end = value.data() + value.size();
        const auto number = std::from_chars(value.data(), end, defaults.steps);
        if (flag == "--steps" && number.ec == std::errc() && number.ptr == end && defaults.steps >= 0 &&
            defaults.steps <= 1'000'000'000)
            continue;
        if (draws && flag == "--svg" && !value.empty()) {
            defaults.svg = value;
            continue;
        }
        std::fprintf(stderr, "%s: cannot make sense of \"%s\"\nusage: %s [--steps N]%s\n", program, argv[i],
                     program, draws ? " [--svg FILE]" : "");
        return std::nullopt;
    }
    return defaults;
}
