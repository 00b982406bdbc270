#include "command_line.h"

#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <new>
#include <sstream>
#include <vector>

namespace {

// The number of letters to insert, delete or change to turn a into b (Levenshtein).
std::size_t distance(const std::string& a, const std::string& b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0]++;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
        }
    }
    return row.back();
}

[[noreturn]] void refuse_unknown(const CLI::App& app, const std::string& argument) {
    if (!argument.starts_with("-"))
        throw UsageError("unexpected argument ", argument, "; every setting has a flag, see --help");
    const std::string name = argument.substr(std::min(argument.find_first_not_of('-'), argument.size()));
    std::string nearest;
    for (const CLI::Option* option : app.get_options())
        if (const std::string known = option->get_single_name();
            option != app.get_help_ptr() && option != app.get_version_ptr() &&
            (nearest.empty() || distance(name, known) < distance(name, nearest)))
            nearest = known;
    throw UsageError("unknown flag ", argument, "; did you mean --", nearest, "?");
}

// "  --steps N    number of training steps [2000]"
struct HelpFormatter : CLI::Formatter {
    HelpFormatter() { column_width(26); }
    std::string make_option_opts(const CLI::Option* option) const override {
        return option->get_type_name().empty() ? "" : " " + option->get_type_name();
    }
    std::string make_option_desc(const CLI::Option* option) const override {
        const std::string value = option->get_default_str();
        const bool is_switch = option->get_expected_max() == 0;
        return option->get_description() + (is_switch || value.empty() ? "" : " [" + value + "]");
    }
};

// {value, "--name"}, the reverse order that CLI11 expects, for a line of a file of settings, `name = value`,
// where a value may be in quotes and # begins a comment; {"--name=value"} for a switch; {} for a line without
// any.
std::vector<std::string> arguments_of_line(const CLI::App& app, const std::string& line) {
    const auto trimmed = [](const std::string& text) {
        const std::size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
        return begin == std::string::npos ? "" : text.substr(begin, end + 1 - begin);
    };
    const auto is_comment = [](const std::string& text) { return text.empty() || text[0] == '#'; };
    if (is_comment(trimmed(line))) return {};
    const std::size_t equals = std::min(line.find('='), line.size());
    std::string name = trimmed(line.substr(0, equals));
    std::string value = trimmed(line.substr(std::min(equals + 1, line.size())));
    bool is_setting = equals < line.size() && !name.empty();
    const bool is_quoted = !value.empty() && (value[0] == '"' || value[0] == '\'');
    if (is_quoted) {
        const std::size_t end = std::min(value.find(value[0], 1), value.size());
        is_setting = is_setting && end < value.size() && is_comment(trimmed(value.substr(end + 1)));
        value = value.substr(1, end - 1);
    } else {
        value = trimmed(value.substr(0, value.find('#')));
    }
    if (!is_setting || (value.empty() && !is_quoted))
        throw UsageError("\"", weft::excerpt(line), "\" is not a setting; write name = value");
    std::replace(name.begin(), name.end(), '-', '_');
    const CLI::Option* option = app.get_option_no_throw("--" + name);
    if (option == nullptr) refuse_unknown(app, "--" + weft::excerpt(name));
    if (name == "config" || name == "help" || name == "version")
        throw UsageError("--", name, " belongs on the command line; remove the line");
    const std::string flag = "--" + name;
    if (option->get_expected_max() > 0) return {value, flag};
    if (const std::string problem = problem_of_switch(flag, value); !problem.empty())
        throw UsageError(flag, ": ", problem);
    return {flag + "=" + value};
}

// The settings in a file, the last first, as CLI11 expects them. Each is tried alone, so that a refusal names
// its line.
std::vector<std::string> arguments_of(CLI::App& app, const std::string& path) {
    const std::string text = weft::io::load_text(path);
    std::istringstream lines(text.substr(text.starts_with("\xEF\xBB\xBF") ? 3 : 0));
    std::vector<std::string> arguments;
    int number = 0;
    for (std::string line; std::getline(lines, line);) try {
            ++number;
            if (line.ends_with('\r')) line.pop_back();
            const std::vector<std::string> setting = arguments_of_line(app, line);
            if (setting.empty()) continue;
            try {
                app.parse(std::vector(setting));
            } catch (const CLI::RequiredError&) {  // a flag that another line may have
            }
            arguments.insert(arguments.begin(), setting.begin(), setting.end());
        } catch (const std::exception& error) {
            throw UsageError(path, ", line ", number, ": ", error.what());
        }
    return arguments;
}

}  // namespace

std::string for_terminal(const std::string& text) {
    return ::isatty(STDOUT_FILENO) != 0 ? weft::printable(text) : text;
}

weft::training::Checkpoint load_checkpoint(const std::filesystem::path& path) {
    auto checkpoint = weft::training::Checkpoint::load(path);
    const std::pair<const char*, const char*> renamed[] = {{"layers", "num_layers"},
                                                           {"heads", "num_heads"},
                                                           {"batch", "batch_size"},
                                                           {"warmup", "warmup_steps"},
                                                           {"clip", "grad_clip"}};
    for (const auto& [former, name] : renamed)
        if (auto entry = checkpoint.metadata.extract(former)) {
            entry.key() = name;
            checkpoint.metadata.insert(std::move(entry));
        }
    if (checkpoint.metadata.contains("batch_size")) checkpoint.metadata.emplace("micro_batch", "0");
    return checkpoint;
}

std::shared_ptr<CLI::App> make_app(const std::string& name, const std::string& description,
                                   const std::string& footer) {
    const auto app = std::make_shared<CLI::App>(description, name);
    app->footer(footer);
    return app;
}

template <class Number>
CLI::Option* add_number(CLI::App& app, const std::string& flag, Number& value, std::type_identity_t<Number> low,
                        std::type_identity_t<Number> high, const std::string& help) {
    const auto check = [=](std::string& text) {
        Number number{};
        const std::string problem = weft::read_number(text, low, high, number);
        if (problem.empty()) text = weft::to_chars(number);
        return problem;
    };
    const auto set = [=, &value](const std::string& text) { weft::read_number(text, low, high, value); };
    return app.add_option_function<std::string>(flag, set, help)
        ->type_name(std::is_integral_v<Number> ? "N" : "X")
        ->take_last()
        ->transform(CLI::Validator(check, ""))
        ->default_str(low <= value ? weft::to_chars(value) : "");
}
template CLI::Option* add_number(CLI::App&, const std::string&, std::int64_t&, std::int64_t, std::int64_t,
                                 const std::string&);
template CLI::Option* add_number(CLI::App&, const std::string&, double&, double, double, const std::string&);

CLI::Option* add_text(CLI::App& app, const std::string& flag, std::string& value, const std::string& help,
                      bool file) {
    const auto check = [flag, file](const std::string& text) {
        std::string message;
        if (file && text.empty())
            message = "the name is empty; give one, or leave out " + flag + " for its default";
        return message;
    };
    return app.add_option(flag, value, help)
        ->type_name(file ? "PATH" : "TEXT")
        ->take_last()
        ->check(CLI::Validator(check, ""))
        ->capture_default_str();
}

void add_required_file(CLI::App& app, const std::string& flag, std::string& value, const std::string& help) {
    add_text(app, flag, value, help, true)->required();
}

void add_ignore_keys(CLI::App& app, std::vector<std::string>& keys) {
    app.add_option(
           "--ignore_keys", keys,
           "pass over these keys of the model's files, at your own risk: what they say is\nnot computed; "
           "commas between them")
        ->type_name("TEXT")
        ->delimiter(',')
        ->allow_extra_args(false);
}

void add_precision(CLI::App& app, std::string& value) {
    add_text(app, "--precision", value,
             "highest, or medium: products in bfloat16, twice as fast on processors that have it");
}
void check_precision(const std::string& value) {
    if (value != "highest" && value != "medium")
        throw UsageError("--precision: \"", value, "\" is neither highest nor medium");
}

std::string problem_of_switch(const std::string& flag, const std::string& value) {
    std::string message;
    if (value != "true" && value != "false")
        message = "\"" + weft::excerpt(value) + "\" is neither true nor false; write " + flag + " or " + flag +
                  "=false";
    return message;
}

CLI::Option* add_switch(CLI::App& app, const std::string& flag, bool& value, const std::string& help) {
    const auto check = [flag](const std::string& text) { return problem_of_switch(flag, text); };
    return app.add_flag(flag, value, help)->check(CLI::Validator(check, ""))->default_str("false");
}

void add_common(CLI::App& app, std::string& config, const std::string& example) {
    add_text(app, "--config", config,
             "file of settings, a line for each: " + example +
                 "; text in quotes, comments after #;\n"
                 "flags on the command line take precedence",
             true);
    app.set_version_flag("--version", app.get_name() + " " + WEFT_VERSION, "print the version");
}

bool parse_command_line(CLI::App& app, const std::string& config, int argc, char** argv) {
    app.formatter(std::make_shared<HelpFormatter>());
    app.allow_extras();                  // refused below with a suggestion
    std::vector<std::string> arguments;  // in reverse order, as CLI11 expects
    for (int i = argc - 1; i > 0; --i) {
        std::string argument = argv[i];
        const std::size_t end = std::min(argument.find('='), argument.size());
        if (argument.starts_with("--")) {
            std::replace(argument.begin() + 2, argument.begin() + static_cast<std::ptrdiff_t>(end), '-', '_');
            const std::string flag = argument.substr(0, end);
            const CLI::Option* option = app.get_option_no_throw(flag);
            if (end + 1 == argument.size() && option != nullptr) {  // "--name=": CLI11 would take the next one
                if (option->get_expected_max() == 0) throw UsageError(flag, ": ", problem_of_switch(flag, ""));
                arguments.emplace_back();
                argument = flag;
            }
        }
        arguments.push_back(argument);
    }
    try {
        try {
            app.parse(std::vector(arguments));
        } catch (const CLI::RequiredError&) {
            if (config.empty()) throw;
        }
        if (!config.empty()) {
            const std::vector<std::string> settings = arguments_of(app, std::string(config));
            arguments.insert(arguments.end(), settings.begin(), settings.end());  // read first, so flags win
            app.parse(arguments);
        }
    } catch (const CLI::CallForHelp&) {
        std::cout << app.help();
        return false;
    } catch (const CLI::CallForVersion& version) {
        std::cout << version.what() << "\n";
        return false;
    } catch (const CLI::ArgumentMismatch& error) {  // "--steps: 1 required  missing"
        const std::string text = error.what(), flag = text.substr(0, text.find(':'));
        throw UsageError(flag, " needs a value; write ", flag, " VALUE");
    } catch (const CLI::ParseError& error) {
        throw UsageError(error.what());
    }
    for (const std::string& argument : app.remaining())
        refuse_unknown(app, argument.substr(0, argument.find('=')));
    return true;
}

void warn_of_nonfinite(const std::string& source, const weft::nn::NamedTensors& tensors) {
    for (const auto& [name, tensor] : tensors) try {
            if (!is_quantized(tensor.dtype())) weft::check::check_finite(tensor, name);
        } catch (const weft::ValueError& error) {
            weft::training::warn(source + ": " + error.what());
        }
}

weft::text::Ids default_prompt(const weft::text::Tokenizer& tokenizer) {
    const auto* published = tokenizer.pre_trained();
    if (published != nullptr && published->bos_token_id()) return {*published->bos_token_id()};
    if (tokenizer.eos_token_id()) return {*tokenizer.eos_token_id()};
    try {
        return tokenizer.encode("\n");
    } catch (const weft::ValueError&) {
        return {0};
    }
}

int run_program(const char* name, const std::string& remedy, const std::function<int()>& program) {
    std::signal(SIGPIPE, SIG_IGN);  // a closed pipe and a limit on the size of files
    std::signal(SIGXFSZ, SIG_IGN);  // make a write fail
    const auto failed = [&](int code, const std::string& message) {
        std::fprintf(stderr, "%s: %s\n", name, weft::printable(message).c_str());
        return code;
    };
    try {
        return program();
    } catch (const UsageError& error) {
        return failed(2, error.what());
    } catch (const std::bad_alloc&) {
        rlimit space{};
        const bool limited = ::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY;
        return failed(1, "out of memory: " + remedy + (limited ? ", or raise the limit (ulimit -v)" : ""));
    } catch (const std::exception& error) {
        return failed(1, error.what());
    }
}
