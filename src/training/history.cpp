#include "weft/training/history.h"

#include <sstream>

#include "weft/base/numbers.h"
#include "weft/base/utf8.h"
#include "weft/io/files.h"
#include "weft/io/safetensors.h"
#include "weft/training/checkpoint.h"

namespace weft::training {

namespace {

const std::string columns = "step,learning_rate,loss,validation_loss";
const std::string old_columns = "step,learning_rate,loss,held_out_loss";

std::string field(const std::optional<double>& number) { return number ? to_chars(*number) : ""; }

std::optional<double> measured(const std::string& name, const std::string& text) {
    if (text.empty()) return {};
    if (text == "nan" || text == "-nan") return NAN;  // written by a run that diverged
    return number_of<double>(name, text, -INFINITY, INFINITY);
}

Measured row_of(const std::string& line) {
    std::vector<std::string> fields;
    std::istringstream rest(line + ",");
    for (std::string text; std::getline(rest, text, ',');) fields.push_back(text);
    if (fields.size() != 4) throw IoError("it has ", fields.size(), " fields");
    return {number_of<std::int64_t>("its step", fields[0], 0, 1'000'000'000'000'000),
            number_of<double>("its learning rate", fields[1]), measured("its loss", fields[2]),
            measured("its validation loss", fields[3])};
}

}  // namespace

std::optional<double> History::mean_since_evaluation() const {
    double sum = 0, count = 0;
    for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
        if (row->loss) sum += *row->loss, ++count;
        if (row->validation_loss) break;
    }
    return count == 0 ? std::nullopt : std::optional(sum / count);
}

void History::save(const std::filesystem::path& path) const {
    std::string text = columns + "\n";
    for (const Measured& row : rows)
        text += std::to_string(row.step) + "," + to_chars(row.learning_rate) + "," + field(row.loss) + "," +
                field(row.validation_loss) + "\n";
    io::save_text(path, text);
}

History History::load(const std::filesystem::path& path, std::int64_t first_step) {
    History history;
    if (!std::filesystem::exists(path)) return history;
    std::istringstream lines(io::load_text(path));
    std::string line;
    for (std::int64_t number = 1; std::getline(lines, line); ++number) try {
            if (number > 1)
                history.rows.push_back(row_of(line));
            else if (line != columns && line != old_columns)
                throw IoError("it does not name the columns");
        } catch (const IoError& error) {
            throw IoError("cannot go on with ", path.string(), ": line ", number, " is \"", excerpt(line),
                          "\", not ", columns, ": ", error.what(), "; remove the file to begin a new one");
        }
    std::erase_if(history.rows, [&](const Measured& row) { return row.step >= first_step; });
    return history;
}

}  // namespace weft::training
