// Shared by the programs that read a command line with CLI11, which only command_line.cpp and
// train_gpt_options.cpp include, because it takes long to compile; and exit codes.
#pragma once

#include <weft/training.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

// A wrong command line: the program prints the message and exits with 2.
struct UsageError : std::runtime_error {
    explicit UsageError(const auto&... parts) : std::runtime_error(weft::Error::text(parts...)) {}
};

// What a model wrote, for standard output: printable() if that is a terminal.
std::string for_terminal(const std::string& text);

// A checkpoint of train_gpt. Five settings had other names in the first edition; they get their present names,
// and micro_batch, which it did not have, its default.
weft::training::Checkpoint load_checkpoint(const std::filesystem::path& path);

// A program without flags yet; --help prints the description first and the footer last.
std::shared_ptr<CLI::App> make_app(const std::string& name, const std::string& description,
                                   const std::string& footer);

// An option that takes a number, a double or std::int64_t, from `low` to `high`; the last one given counts. Its
// text becomes the shortest for that number. If `value` is below `low`, the help shows no default.
template <class Number>
CLI::Option* add_number(CLI::App& app, const std::string& flag, Number& value, std::type_identity_t<Number> low,
                        std::type_identity_t<Number> high, const std::string& help);

// An option that takes a text or, with `file`, the name of a file or folder, which must not be empty.
CLI::Option* add_text(CLI::App& app, const std::string& flag, std::string& value, const std::string& help,
                      bool file = false);

// An option that takes the name of a file or folder, and that must be given.
void add_required_file(CLI::App& app, const std::string& flag, std::string& value, const std::string& help);

// The keys of a published model's files that count as absent.
void add_ignore_keys(CLI::App& app, std::vector<std::string>& keys);

// How products round their operands, which check_precision looks at.
void add_precision(CLI::App& app, std::string& value);
void check_precision(const std::string& value);

// A switch: true if given alone or with =true, false with =false.
CLI::Option* add_switch(CLI::App& app, const std::string& flag, bool& value, const std::string& help);

// What is wrong with the value of a switch; empty if nothing is.
std::string problem_of_switch(const std::string& flag, const std::string& value);

// --config, whose help shows a setting as an `example`, and --version.
void add_common(CLI::App& app, std::string& config, const std::string& example);

// Reads the command line, and the file that it names as `config`, into the options of `app`. "--block-size" is
// the same as "--block_size". Returns false if the user asked for help or the version, which has then been
// printed. UsageError for an unknown flag (with the nearest known one) and for a missing or invalid value, in
// the file of --config with its line.
bool parse_command_line(CLI::App& app, const std::string& config, int argc, char** argv);

// Warns of each tensor that contains NaN or an infinity, naming `source`, the tensor and the index.
void warn_of_nonfinite(const std::string& source, const weft::nn::NamedTensors& tensors);

// The prompt if none is given: the token that begins a text, or else the one that ends it, a line break, the
// first token.
weft::text::Ids default_prompt(const weft::text::Tokenizer& tokenizer);

// Runs the program and returns its exit code. An exception becomes a line on standard error and the exit code 2
// for a UsageError, otherwise 1. `remedy` says what to do if memory runs out.
int run_program(const char* name, const std::string& remedy, const std::function<int()>& program);
