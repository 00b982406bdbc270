// Report: checks and packs what it records.
#include "weft/report/report.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/content.h"
#include "weft/base/text.h"
#include "weft/io/files.h"
#include "weft/io/safetensors.h"
#include "weft/optim/clipping.h"
#include "weft/viz/attention_map.h"

namespace weft::report {
namespace {

void check_step(std::int64_t step, std::int64_t before, const char* what, bool again) {
    if (step < 0 || step > last_step)
        throw ValueError("report: ", what, " of step ", step, "; count steps from 0 to 2^53");
    if (step < before || (step == before && !again))
        throw ValueError("report: ", what, " of step ", step, " after that of step ", before,
                         "; record steps in ascending order");
}

float norm_of(const Tensor& gradient) {
    if (!gradient.defined()) return GradientColumns::absent;
    const double squares = optim::sum_of_squares(gradient);
    return std::isfinite(squares) ? static_cast<float>(std::sqrt(squares))
                                  : std::numeric_limits<float>::quiet_NaN();
}

// Cuts a text to at most so many bytes, not inside a character.
std::string truncate_utf8(const std::string& text, std::size_t bytes) {
    if (text.size() <= bytes) return text;
    std::size_t end = bytes;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    return text.substr(0, end) + "…";
}

// Replaces the value of `name`, or appends the pair.
void set(Pairs& pairs, const std::string& name, const std::string& value) {
    const auto same = std::ranges::find(pairs, name, &Pairs::value_type::first);
    if (same == pairs.end())
        pairs.emplace_back(name, value);
    else
        same->second = value;
}

Snapshot snapshot_of(const viz::AttentionMap& map, std::int64_t step) {
    bool causal = true;
    std::string all, up_to_query;
    for (const std::vector<viz::HeadMap>& heads : map.layers)
        for (const viz::HeadMap& head : heads)
            for (std::size_t i = 0, T = map.labels.keys.size(); i < head.weights.size(); ++i) {
                all += static_cast<char>(std::lround(255 * std::sqrt(std::min(1.0, head.weights[i]))));
                if (i % T <= i / T)
                    up_to_query += all.back();
                else
                    causal = causal && head.weights[i] == 0;
            }
    return {step, causal, causal ? up_to_query : all};
}

}  // namespace

Report::Report(std::string title, std::size_t attention_bytes) : content_(std::make_unique<Content>()) {
    content_->title = std::move(title);
    content_->attention_bytes = static_cast<std::int64_t>(std::min<std::size_t>(attention_bytes, last_step));
}
Report::~Report() = default;
Report::Report(Report&&) noexcept = default;
Report& Report::operator=(Report&&) noexcept = default;

void Report::truncate(std::int64_t step) {
    for (Series* series : {&content_->training, &content_->validation, &content_->learning_rate})
        series->truncate(step);
    content_->gradients.truncate(step);
    content_->sampled.truncate(step);
    content_->attended.truncate(step);
    content_->drop_thinned();
}

void Report::setting(const std::string& name, const std::string& value) {
    set(content_->settings, name, value);
}
void Report::fact(const std::string& name, const std::string& value) {
    set(content_->facts, name, truncate_utf8(value, Content::sample_bytes));
}

std::string Report::compare(const std::filesystem::path& path) {
    namespace fs = std::filesystem;
    const Report other = load(fs::is_directory(path) ? path / "report.html" : path);
    fs::path name = path.filename() == "report.html" ? path.parent_path() : path;
    name = (name / "").lexically_normal().parent_path();  // without a slash at its end
    if (name.empty() || name.filename() == ".") name = fs::current_path().filename();
    const ComparedRun run{name.string(), other.content_->settings, other.content_->training,
                          other.content_->validation};
    auto& all = content_->compared;
    const auto same = std::ranges::find(all, run.name, &ComparedRun::name);
    if (same != all.end()) {
        *same = run;
    } else {
        if (all.size() == Content::max_compared)
            throw ValueError("report: ", path.string(), " is one run too many; compare with at most ",
                             Content::max_compared);
        all.push_back(run);
    }
    return run.name;
}

void Report::run(const ReportRun& run) {
    const auto within = [](auto... x) { return ((x >= 0 && x <= static_cast<decltype(x)>(last_step)) && ...); };
    if (!within(run.steps, run.tokens, run.saved, run.seconds, run.next))
        throw ValueError("report: a run of ", run.steps, " steps and ", run.tokens, " tokens in ",
                         format_number(run.seconds), " s, saved at ", run.saved, " and in ",
                         format_number(run.next), " s; give numbers in 0 … 2^53");
    content_->run = run;
}
const ReportRun& Report::run() const { return content_->run; }

void Report::loss(std::int64_t step, const ReportLoss& measured) {
    const std::tuple<Series&, const std::optional<double>&, const char*> all[] = {
        {content_->training, measured.training, "training loss"},
        {content_->validation, measured.validation, "validation loss"},
        {content_->learning_rate, measured.learning_rate, "learning rate"}};
    for (const auto& [series, value, what] : all)
        if (value) check_step(step, series.end, what, false);
    for (const auto& [series, value, what] : all)
        if (value) series.add(step, *value);
}

void Report::gradients(std::int64_t step, const nn::Module& module) {
    GradientColumns& columns = content_->gradients;
    check_step(step, columns.end, "gradients", false);
    std::vector<std::string> names;
    std::vector<float> norms;
    for (const auto& [name, parameter] : module.named_parameters()) {
        names.push_back(name);
        norms.push_back(norm_of(parameter.grad()));
    }
    if (columns.steps.empty()) columns.rows = names;
    if (columns.rows != names)
        throw ValueError("report: gradients of ", names.size(), " parameters, whose names differ from the ",
                         columns.rows.size(), " of the first step; start a report for each model");
    columns.add(step, norms);
}

void Report::parameters(const nn::Module& module) {
    std::vector<ParameterRow> rows;
    for (const auto& [name, parameter] : module.named_parameters()) {
        const double norm = std::sqrt(optim::sum_of_squares(parameter));
        const Shape& shape = parameter.shape();
        ParameterRow row{name, {shape.begin(), shape.end()}, parameter.numel(), norm, norm};
        for (const ParameterRow& old : content_->parameters)
            if (old.name == name) row.first_norm = old.first_norm;
        rows.push_back(std::move(row));
    }
    content_->parameters = std::move(rows);
}

void Report::sample(std::int64_t step, const std::string& text, const std::string& prompt) {
    Timeline& sampled = content_->sampled;
    check_step(step, sampled.last(), "sample", true);
    sampled.add(step);
    content_->samples.push_back(
        {step, truncate_utf8(prompt, Content::sample_bytes), truncate_utf8(text, Content::sample_bytes)});
    while (sampled.kept.size() > Content::max_samples) sampled.coarsen();
    content_->drop_thinned();
}

void Report::attention(std::int64_t step, const std::vector<std::string>& tokens,
                       const std::vector<Tensor>& layers) {
    Content& c = *content_;
    check_step(step, c.attended.last(), "attention", true);
    const viz::AttentionMap map =
        viz::make_attention_map("report", layers, {.queries = tokens, .keys = tokens});
    if (map.top > 1 + 1e-3)  // a softmax in float32 may exceed 1 by rounding
        throw ValueError("report: an attention weight of ", format_number(map.top),
                         "; weights are at most 1 (apply softmax to scores first)");
    if (map.T != map.S || tokens.empty())
        throw ShapeError("report: attention of ", map.T, " queries over ", map.S,
                         " keys; give self-attention over one token or more");

    Sentence sentence{tokens, {}, {}};
    for (const std::vector<viz::HeadMap>& heads : map.layers)
        sentence.heads.push_back(static_cast<std::int64_t>(heads.size()));
    const auto old = std::ranges::find(c.sentences, tokens, &Sentence::tokens);
    if (old != c.sentences.end() && old->heads != sentence.heads)
        throw ShapeError("report: the sentence had different layers or heads at step ",
                         old->snapshots.back().step, "; start a report for each model");
    if (old != c.sentences.end() && old->snapshots.back().step == step)
        throw ValueError("report: the sentence was already recorded at step ", step, "; record it once");

    Snapshot snapshot = snapshot_of(map, step);
    std::size_t bytes = snapshot.bytes.size();  // bytes of all sentences at this step
    for (const Sentence& other : c.sentences)
        if (other.snapshots.back().step == step) bytes += other.snapshots.back().bytes.size();
    if (static_cast<std::int64_t>(bytes) > c.attention_bytes)
        throw ValueError("report: the attention of step ", step, " takes ", bytes,
                         " bytes, but attention_bytes is ", c.attention_bytes,
                         "; give fewer or shorter sentences, or a larger attention_bytes");

    c.attended.add(step);
    Sentence& stored = old != c.sentences.end() ? *old : c.sentences.emplace_back(std::move(sentence));
    stored.snapshots.push_back(std::move(snapshot));
    c.drop_thinned();
    while (c.stored_bytes() > c.attention_bytes) {
        if (c.attended.kept.size() == 2)
            c.attended.kept.erase(c.attended.kept.begin());
        else
            c.attended.coarsen();
        c.drop_thinned();
    }
}

void Report::model(const lm::LanguageModel& model, const text::Characters& tokenizer,
                   std::int64_t max_parameters) {
    content_->model = pack(model, tokenizer, max_parameters);
}

PageModel Report::model() const {
    if (!content_->model || content_->model->tensors.empty())
        throw ValueError(
            "report: the page carries no weights; add them with model(model, tokenizer, max_parameters)");
    return unpack(*content_->model);
}

std::string Report::html() const {
    std::string page(page_before_data);
    page += ReportFile::json(*content_);
    page += page_before_model;
    page += ReportFile::model_json(*content_);
    page += page_after_model;
    return page;
}

void Report::save(const std::filesystem::path& path) const { io::save_text(path, html()); }

Report Report::load(const std::filesystem::path& path) {
    const std::string page = io::load_text(path);
    const std::string where = "cannot read " + path.string() + " as a report: ";
    // The text of the script element that the last tag of `before` opens, if the page has it.
    const auto element = [&](std::string_view before) -> std::optional<std::string> {
        const std::string_view tag = before.substr(before.rfind('<'));
        const std::size_t start = page.find(tag);
        const std::size_t end = start == std::string::npos ? start : page.find("</script>", start);
        if (end == std::string::npos) return {};
        return page.substr(start + tag.size(), end - start - tag.size());
    };
    const std::optional<std::string> data = element(page_before_data), model = element(page_before_model);
    if (!data) throw IoError(where, "it contains no report data");
    Report report("");
    *report.content_ = ReportFile::content(*data, where);
    if (model) report.content_->model = ReportFile::model(*model, where);
    return report;
}

}  // namespace weft::report
