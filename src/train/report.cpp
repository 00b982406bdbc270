#include "report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace weft;

namespace {

std::filesystem::path path_of(const Run& run) { return run.options.out / "report.html"; }

viz::Report begun(const Run& run, const History& history) {
    if (run.step > 0 && std::filesystem::exists(path_of(run))) try {
            viz::Report report = viz::Report::load(path_of(run));
            report.cut(run.step);
            return report;
        } catch (const IoError& error) {
            std::fprintf(stderr, "train_gpt: warning: %s; it begins anew\n", error.what());
        }
    const std::filesystem::path text = run.options.text;
    viz::Report report(text.empty() ? "Weft's own documents" : text.filename().string());
    for (const Measured& row : history.rows)
        report.loss(row.step, {row.loss, row.held_out_loss, row.learning_rate});
    return report;
}

// Pieces of a text, spread over all of it, no two the same; each begins behind a space or a line break where
// there is one near, and ends before the next line break.
std::vector<std::u32string> pieces(const std::u32string& text, std::size_t count, std::size_t length) {
    std::vector<std::u32string> found;
    const auto is_space = [](char32_t c) { return c == U' ' || c == U'\n' || c == U'\t'; };
    for (std::size_t i = 0; i < count && text.size() > length; ++i) {
        const std::size_t at = i * (text.size() - length) / count;
        std::size_t start = at;
        const std::size_t line = text.find(U'\n', at), word = text.find(U' ', at);
        if (line < at + 200)
            start = line;
        else if (word < at + 200)
            start = word;
        while (start < text.size() && is_space(text[start])) ++start;
        std::u32string piece = text.substr(start, length);
        if (const std::size_t end = piece.find(U'\n'); end != std::u32string::npos && end >= length / 3)
            piece.resize(end);
        if (piece.size() >= 2 && std::find(found.begin(), found.end(), piece) == found.end())
            found.push_back(piece);
    }
    return found;
}

// So many and so long that about nine looks at them fit into a report's megabyte.
std::vector<std::u32string> sentences_of(const Options& o, const std::u32string& held_out) {
    constexpr double bytes = 100'000;  // a look
    const double heads = static_cast<double>(o.layers * o.heads);
    const double length =
        std::min({std::sqrt(2 * bytes / 12 / heads), 32.0, static_cast<double>(o.block_size)});
    const double T = std::max(2.0, std::floor(length));
    const double count = std::min(12.0, std::floor(bytes / (heads * T * (T + 1) / 2)));
    return pieces(held_out, static_cast<std::size_t>(count), static_cast<std::size_t>(T));
}

std::u32string prompt_of(const Run& run) {
    const std::u32string& known = run.vocabulary.characters();
    if (!run.options.prompt.empty()) return decode(run.options.prompt, "--prompt");
    return {known.find(U'\n') != std::u32string::npos ? U'\n' : known.front()};
}

}  // namespace

RunReport::RunReport(const Run& run, const History& history, const std::u32string& text, const Corpus& corpus)
    : report_(begun(run, history)),
      sentences_(sentences_of(run.options, text.substr(static_cast<std::size_t>(corpus.training_size())))),
      gradients_every_((run.options.steps + 255) / 256),  // a column of the report for each
      // a multiple of eval_interval; about 32 looks, however often there is an evaluation
      look_every_(run.options.eval_interval *
                  std::max<std::int64_t>(1, run.options.steps / 32 / run.options.eval_interval)) {
    for (const auto& [name, value] : to_metadata(run.options)) report_.setting(name, value);
    report_.setting("characters to learn from", std::to_string(corpus.training_size()));
    report_.setting("characters held out", std::to_string(corpus.held_out_size()));
    report_.setting("different characters", std::to_string(run.vocabulary.size()));
    report_.parameters(run.model);
}

void RunReport::gradients(const Run& run) {
    if (run.step % gradients_every_ == 0) report_.gradients(run.step, run.model);
}

void RunReport::measured(const Measured& row) {
    report_.loss(row.step, {row.loss, row.held_out_loss, row.learning_rate});
}

void RunReport::evaluated(Run& run) {
    if (run.step % look_every_ != 0 && run.step != run.options.steps) return;
    run.model.eval();  // no dropout, and none of its draws
    look(run);
    run.model.train();
}

void RunReport::look(Run& run) {
    constexpr std::int64_t characters = 100;
    Rng rng(static_cast<std::uint64_t>(run.options.seed));
    const std::u32string prompt = prompt_of(run);
    const auto ids = [&](const std::u32string& text) {
        const std::vector<std::int64_t> list = run.vocabulary.ids_of(text, "the report");
        return from_vector(list, {static_cast<std::int64_t>(list.size())});  // (T,)
    };
    const Tensor written = run.model.generate(
        ids(prompt), characters,
        {.temperature = run.options.temperature, .top_k = run.options.top_k, .rng = &rng});  // (prompt + n,)
    const Tensor after =
        written.slice(0, static_cast<std::int64_t>(prompt.size()), written.size(0)).contiguous();
    report_.sample(run.step, run.vocabulary.text_of(after.to_vector<std::int64_t>()), encode(prompt));

    for (const std::u32string& sentence : sentences_) {
        std::vector<std::string> tokens;
        for (const char32_t character : sentence) tokens.push_back(encode({character}));
        const viz::Run model = [&](const Tensor& x) { return run.model(x); };
        report_.attention(run.step, tokens, viz::attention_weights(model, ids(sentence)));
    }
}

void RunReport::save(const Run& run) {
    report_.parameters(run.model);
    report_.save(path_of(run));
}
