#include "weft/training/report.h"

#include <sys/utsname.h>
#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <sstream>

#include "weft/base/text.h"
#include "weft/core/creation.h"
#include "weft/core/modes.h"
#include "weft/io/files.h"
#include "weft/io/safetensors.h"
#include "weft/training/checkpoint.h"
#include "weft/training/progress.h"
#include "weft/viz/pictures.h"

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

namespace fs = std::filesystem;

namespace {

// The number of heads, of all layers, whose weights are (H, T, T) or (1, H, T, T); 0 if any others are not, or
// if a token can attend to itself alone.
std::int64_t heads_of(const lm::LanguageModel& model) {
    if (model.context_length() < 2) return 0;
    const nn::EvalMode eval_mode;
    std::int64_t heads = 0;
    for (const Tensor& w : viz::attention_weights(model, zeros({2}, int64))) {  // T = 2
        if (w.rank() < 3 || w.size(-1) != 2 || w.numel() != w.size(-3) * 4) return 0;
        heads += w.size(-3);
    }
    return heads;
}

// Distinct pieces of a text, evenly spread, so many and so long that a report of a megabyte has room for about
// nine evaluations. Each begins after a line break or space, if one is near, and ends before a line break.
std::vector<text::Ids> pieces_of(const text::Ids& ids, const text::Tokenizer& tokenizer,
                                 const lm::LanguageModel& model) {
    const auto heads = static_cast<double>(heads_of(model));
    if (heads == 0) return {};
    constexpr double bytes = 100'000;  // per evaluation
    const double T = std::max(2.0, std::floor(std::min({std::sqrt(2 * bytes / 12 / heads), 32.0,
                                                        static_cast<double>(model.context_length())})));
    const auto length = static_cast<std::size_t>(T),
               count = static_cast<std::size_t>(std::min(12.0, std::floor(bytes / (heads * T * (T + 1) / 2))));
    std::string text;  // a byte for each token: white space as itself, any other as x
    for (const std::int64_t id : ids) {
        const std::string piece = tokenizer.piece(id);
        text += piece == "\n" || piece == " " || piece == "\t" ? piece : "x";
    }
    std::vector<text::Ids> found;
    for (std::size_t i = 0; i < count && text.size() > length; ++i) {
        const std::size_t at = i * (text.size() - length) / count;
        const std::string near = text.substr(at, 200);
        std::size_t start = near.find('\n');
        if (start == near.npos) start = near.find(' ');
        start = std::min(text.find('x', start == near.npos ? at : at + start), text.size());
        std::size_t end = std::min(start + length, text.size());
        if (const std::size_t next = text.find('\n', start); next < end && next >= start + length / 3)
            end = next;
        const text::Ids piece(ids.begin() + static_cast<std::ptrdiff_t>(start),
                              ids.begin() + static_cast<std::ptrdiff_t>(end));
        if (piece.size() >= 2 && std::find(found.begin(), found.end(), piece) == found.end())
            found.push_back(piece);
    }
    return found;
}

constexpr double between_saves = 10;  // seconds

double seconds_since(std::chrono::steady_clock::time_point then) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

// The value of a line "name : value" or name="value" of a file.
std::optional<std::string> line_of(const char* path, const std::string& name) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with(name)) continue;
        const std::size_t first = line.find_first_not_of("\t :=\"", name.size());
        if (first != std::string::npos) return line.substr(first, line.find_last_not_of("\" ") + 1 - first);
    }
    return {};
}

}  // namespace

RunReport::RunReport(std::filesystem::path path, ReportOptions options, const lm::LanguageModel& model,
                     const text::Tokenizer& tokenizer, const text::Ids& validation)
    : page(options.title),
      path_(std::move(path)),
      options_(std::move(options)),
      model_(model),
      tokenizer_(tokenizer),
      pieces_(pieces_of(validation, tokenizer, model)) {
    page.parameters(model_);
}

void RunReport::resume(std::int64_t step, const History& before) {
    if (std::filesystem::exists(path_)) try {
            page = report::Report::load(path_);
            page.truncate(step);
            page.parameters(model_);
            earlier_ = page.run();
            history = before;
            return;
        } catch (const IoError& error) {
            warn(std::string(error.what()) + "; it begins anew");
        }
    for (const Measured& row : before.rows) measured(row);
    trained_ = 0;
}

void RunReport::gradients(std::int64_t step) {
    if (step % ((options_.steps + 255) / 256) == 0) page.gradients(step, model_);  // the page has 256 columns
}

void RunReport::measured(const Measured& row) {
    page.loss(row.step, {row.loss, row.validation_loss, row.learning_rate});  // first, because it may refuse
    history.rows.push_back(row);
    if (row.loss) ++trained_;
}

void RunReport::evaluated(std::int64_t step) {
    const std::int64_t interval = options_.eval_interval;
    const std::int64_t every = interval * std::max<std::int64_t>(1, options_.steps / 32 / interval);
    if (step % every != 0 && step != options_.steps) return;
    Rng rng(options_.seed);
    lm::SampleOptions sampling = options_.sample;
    sampling.rng = &rng;
    const auto sample =
        lm::generate_text(model_, tokenizer_, options_.prompt,
                          {.generate = {.max_new_tokens = 100, .sampling = sampling}, .stop_at_eos = false});
    page.sample(step, sample.text, options_.prompt);

    const nn::EvalMode eval_mode;  // no dropout, and no draws for it
    for (const text::Ids& piece : pieces_) {
        std::vector<std::string> tokens;
        for (const std::int64_t id : piece) tokens.push_back(tokenizer_.piece(id));
        const Tensor ids = from_vector(piece, {std::ssize(piece)});  // (T,)
        page.attention(step, tokens, viz::attention_weights(model_, ids));
    }
}

bool RunReport::due() const { return seconds_since(saved_) >= between_saves; }

void RunReport::save(bool running) {
    const double next = running ? std::max(between_saves, seconds_since(saved_)) : 0;
    page.run({.steps = options_.steps,
              .tokens = earlier_.tokens + trained_ * options_.tokens_per_step,
              .seconds = earlier_.seconds + seconds_since(start_),
              .saved = std::time(nullptr),
              .next = next});
    utsname system{};
    uname(&system);
    page.fact("folder", fs::absolute(path_).parent_path().filename().string());
    page.fact("processor", line_of("/proc/cpuinfo", "model name").value_or("unknown"));
    page.fact("threads", std::to_string(get_num_threads()));
    page.fact("system",
              line_of("/etc/os-release", "PRETTY_NAME").value_or(system.sysname) + ", " + system.machine);
    page.parameters(model_);
    const text::Characters* characters = tokenizer_.characters();
    const lm::GPT* gpt = model_.target<lm::GPT>();
    const bool is_decoder =
        gpt != nullptr ? gpt->config.attention.d_v == 0 : model_.target<lm::Decoder>() != nullptr;
    if (characters != nullptr && is_decoder) page.model(model_, *characters, options_.max_parameters);
    saved_ = Clock::now();
    page.save(path_);
}

}  // namespace weft::training
