// What a run is told: every setting of the training program, with its default.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "weft/core/text.h"
#include "weft/models/io.h"

struct Options {
    // the text and the run
    std::string text;  // empty: the project's own README and docs
    std::filesystem::path out = "out";
    std::int64_t steps = 2000, eval_interval = 250, save_interval = 250, seed = 1, threads = 0;
    std::int64_t stop_at = 0;  // 0: only when all steps are done
    bool resume = false, sample_only = false, best = false;
    // the model
    std::int64_t layers = 4, heads = 4, d_model = 128, block_size = 64;
    double dropout = 0;
    bool bias = false;
    // its training
    std::int64_t batch = 12, warmup = 100;
    double lr = 1e-3, min_lr = 1e-4, weight_decay = 0.1, beta2 = 0.99, clip = 1;
    // the sample
    std::string prompt;  // empty: a line break
    std::int64_t length = 500, top_k = 0;
    double temperature = 0.8;

    std::set<std::string> given;  // names of the settings that the command line gave
};

// Wrong usage: the program prints it and ends with 2.
struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Reads the command line; numbers are read alike under every locale. False when it asked for help, which was
// printed. UsageError on an unknown flag (with the nearest known one), on a value that is no number or outside
// its range.
bool parse(int argc, char** argv, Options& options);

// The files to learn from: the one given, or the project's own README and chapters.
std::vector<std::filesystem::path> text_files(const Options& options);

// The settings that make the model and its training what they are, as a checkpoint keeps them; and back, but
// for those that the command line gave. UsageError, listing every difference, where it gave another model than
// the checkpoint's; weft::IoError where the checkpoint lacks a setting or holds one that is none.
weft::io::Metadata to_metadata(const Options& options);
void complete_from(const weft::io::Metadata& metadata, Options& options);
