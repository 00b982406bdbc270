// What the chapters' programs share: headings in the output, figures, and what several seeds give.
//
//     chapter_10                     prints what the chapter shows
//     chapter_10 --figures FOLDER    writes its figures there, too
#pragma once

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "weft/weft.h"

class Chapter {
public:
    Chapter(int argc, char** argv) {
        if (argc == 3 && std::string(argv[1]) == "--figures") {
            folder_ = argv[2];
            if (!std::filesystem::is_directory(folder_)) {
                std::fprintf(stderr, "%s: --figures %s: no such folder; create it first\n", argv[0], argv[2]);
                std::exit(2);
            }
        } else if (argc != 1) {
            std::fprintf(stderr, "usage: %s [--figures FOLDER]\n", argv[0]);
            std::exit(2);
        }
    }

    void section(const char* title) {
        std::printf("%s== %s ==\n\n", first_ ? "" : "\n", title);
        first_ = false;
    }

    // `svg` as FOLDER/name.svg, when a folder was given.
    void figure(const std::string& name, const std::string& svg) const {
        if (!folder_.empty()) weft::io::save_text(folder_ / (name + ".svg"), svg);
    }

private:
    std::filesystem::path folder_;
    bool first_ = true;
};

// Prints the elements of x in one line.
inline void print(const char* name, const weft::Tensor& x) {
    std::printf("%-14s", name);
    for (const double value : x.detach().to(weft::float64).reshape({-1}).to_vector<double>())
        std::printf(" %7.3f", value);
    std::printf("\n");
}

// What several seeds give, in order.
struct Seeds {
    std::vector<double> values;
    double median() const { return (values[values.size() / 2] + values[(values.size() - 1) / 2]) / 2; }
    void add(double value) { values.insert(std::upper_bound(values.begin(), values.end(), value), value); }
};

// The median of `values` and their range, as text.
inline std::string spread(std::vector<double> values, const char* format = "%.2f (%.2f to %.2f)") {
    std::sort(values.begin(), values.end());
    char line[80];
    std::snprintf(line, sizeof line, format, values[values.size() / 2], values.front(), values.back());
    return line;
}
