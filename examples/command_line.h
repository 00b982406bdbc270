#include "flags.h"

#include <algorithm>

#include "options.h"

namespace {

// The number of letters to insert, delete or change to get from a to b (Levenshtein).
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

std::string with_underscores(const std::string& argument) {
    if (!argument.starts_with("--")) return argument;
    std::string result = argument;
    std::replace(result.begin() + 2,
                 result.begin() + static_cast<std::ptrdiff_t>(std::min(result.find('='), result.size())), '-',
                 '_');
    return result;
}

void refuse_unknown(const std::string& argument, const std::vector<std::string>& known) {
    if (!argument.starts_with("-"))
        throw UsageError("unexpected argument " + argument + "; every setting has a flag, see --help");
    const std::string name = argument.substr(std::min(argument.find_first_not_of('-'), argument.size()));
    const auto nearer = [&](const std::string& a, const std::string& b) {
        return distance(name, a) < distance(name, b);
    };
    throw UsageError("unknown flag " + argument + "; did you mean --" +
                     *std::min_element(known.begin(), known.end(), nearer) + "?");
}

// CLI11 would take "--bias=" for true, and speak of std::stoll at "--bias=maybe".
void refuse_value_of_switch(const CLI::App& app, const std::string& argument) {
    const auto sign = argument.find('=');
    if (!argument.starts_with("--") || sign == std::string::npos) return;
    const std::string flag = argument.substr(0, sign), value = argument.substr(sign + 1);
    const CLI::Option* option = app.get_option_no_throw(flag);
    if (option == nullptr || option->get_expected_max() > 0 || value == "true" || value == "false") return;
    throw UsageError(flag + ": \"" + value + "\" is neither true nor false; write " + flag + " or " + flag +
                     "=false");
}

}  // namespace

bool parse_flags(CLI::App& app, int argc, char** argv) {
    app.allow_extras();                  // refused below, with a suggestion
    std::vector<std::string> arguments;  // in reverse, as CLI11 takes them
    for (int i = argc - 1; i > 0; --i) arguments.push_back(with_underscores(argv[i]));
    for (const std::string& argument : arguments) refuse_value_of_switch(app, argument);
    try {
        app.parse(arguments);
    } catch (const CLI::CallForHelp&) {
        std::cout << app.help();
        return false;
    } catch (const CLI::ArgumentMismatch& error) {  // "--steps: 1 required  missing"
        const std::string text = error.what(), flag = text.substr(0, text.find(':'));
        throw UsageError(flag + " needs a value; write " + flag + " VALUE");
    } catch (const CLI::ParseError& error) {
        throw UsageError(error.what());
    }
    std::vector<std::string> known;
    for (const CLI::Option* option : app.get_options())
        if (option != app.get_help_ptr()) known.push_back(option->get_single_name());
    for (const std::string& argument : app.remaining())
        refuse_unknown(argument.substr(0, argument.find('=')), known);
    return true;
}

void refuse_empty(const std::string& flag, const std::string& value) {
    if (value.empty())
        throw UsageError(flag + ": the name is empty; give one, or leave out " + flag + " for its default");
}
