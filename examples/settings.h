// What the examples that learn are told on their command line: how long to learn, and where to draw.
#pragma once

#include <charconv>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

struct Settings {
    int steps;             // of training; none are taken when 0
    std::string svg = {};  // the file that takes the picture; none when empty
};

// `defaults` changed by "--steps N" and, where the program draws, "--svg FILE". On anything else it says how
// the program is used and gives none: exit with 2.
inline std::optional<Settings> read_settings(int argc, char** argv, const char* program, Settings defaults,
                                             bool draws = false) {
    for (int i = 1; i < argc; i += 2) {
        const std::string_view flag = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
        const char* end = value.data() + value.size();
        const auto number = std::from_chars(value.data(), end, defaults.steps);
        if (flag == "--steps" && number.ec == std::errc() && number.ptr == end && defaults.steps >= 0) continue;
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
