// The settings of train_gpt: on its command line, and in the metadata of its checkpoints.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "command_line.h"

using namespace weft;
namespace fs = std::filesystem;

struct Options {
    // this run
    std::string out = "out", config, profile;
    std::int64_t stop_at = 0, threads = 0, page_weights = 4'000'000;
    bool resume = false, sample_only = false, best = false, quiet = false;
    std::vector<std::string> compare;  // folders or reports of other runs
    std::string command;               // that started this process, as a shell would take it
    bool first = true;                 // of the processes: prints and writes
    // the model and its training
    lm::GPTConfig model = {.block_size = 64, .num_layers = 4, .num_heads = 4, .d_model = 128};
    std::string text;  // empty: the Jargon File, or else the project's own pages
    std::string precision = "highest";
    optim::CosineOptions rate = {.lr = 1e-3, .min_lr = 1e-4, .warmup_steps = 100, .steps = 2000};
    std::int64_t eval_interval = 250, save_interval = 250, seed = 1, batch_size = 12, micro_batch = 0;
    double weight_decay = 0.1, beta2 = 0.99, grad_clip = 1;
    // the sample
    std::string prompt;  // empty: a line break
    std::int64_t max_new_tokens = 500;
    lm::SampleOptions sampling = {.temperature = 0.8};
};

// Reads the command line; null if the user asked for help, which has then been printed.
std::shared_ptr<CLI::App> parse(Options& o, int argc, char** argv);

// An argument as a shell takes it.
std::string quoted(const std::string& argument);

// What to type to continue the run: what its checkpoint does not contain is given again.
std::vector<std::string> resume_command(const std::string& program, CLI::App& app);

// The options that a checkpoint stores, by name, with their values.
io::Metadata settings_of(CLI::App& app);

// Takes the settings that the command line does not give from a checkpoint. IoError if one is missing or
// invalid, or if they do not fit together; UsageError, listing every difference, if the command line gives
// another model, and UsageError if what it gives does not fit the rest.
void complete_from(training::Checkpoint& checkpoint, CLI::App& app, const Options& o);
