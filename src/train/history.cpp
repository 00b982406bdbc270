#include "history.h"

#include <charconv>
#include <sstream>
#include <string>

#include "numbers.h"
#include "options.h"
#include "weft/core/text.h"

namespace {

const std::string columns = "step,learning_rate,loss,held_out_loss";

std::string field(const std::optional<double>& number) { return number ? number_text(*number) : ""; }

std::optional<double> measured(const std::string& text) {
    if (text.empty()) return {};
    double number = 0;  // "nan" and "inf" are what a training that went wrong has measured
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) throw UsageError("it is no number");
    return number;
}

Measured row_of(const std::string& line) {
    std::vector<std::string> fields;
    std::istringstream rest(line + ",");
    for (std::string text; std::getline(rest, text, ',');) fields.push_back(text);
    if (fields.size() != 4) throw UsageError("it has not four fields");
    return {whole_number("", fields[0], 0, 1e15), real_number("", fields[1], 0, 1e300), measured(fields[2]),
            measured(fields[3])};
}

}  // namespace

std::optional<double> History::mean_since_evaluation() const {
    double sum = 0, count = 0;
    for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
        if (row->loss) sum += *row->loss, ++count;
        if (row->held_out_loss) break;
    }
    if (count == 0) return {};
    return sum / count;
}

void save(const History& history, const std::filesystem::path& path) {
    std::string text = columns + "\n";
    for (const Measured& row : history.rows)
        text += std::to_string(row.step) + "," + number_text(row.learning_rate) + "," + field(row.loss) + "," +
                field(row.held_out_loss) + "\n";
    weft::io::save_text(path, text);
}

History load_history(const std::filesystem::path& path, std::int64_t first_step) {
    History history;
    if (!std::filesystem::exists(path)) return history;
    std::istringstream lines(weft::io::load_text(path));
    std::string line;
    for (std::int64_t number = 1; std::getline(lines, line); ++number) {
        bool good = number > 1 || line == columns;
        try {
            if (number > 1) history.rows.push_back(row_of(line));
        } catch (const UsageError&) {
            good = false;
        }
        if (!good)
            throw weft::IoError("cannot go on with " + path.string() + ": line " + std::to_string(number) +
                                " is \"" + weft::text::excerpt(line) + "\", not " + columns +
                                "; without this file --resume goes on and writes a new one");
    }
    std::erase_if(history.rows, [&](const Measured& row) { return row.step >= first_step; });
    return history;
}
