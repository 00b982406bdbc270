// A report's content as the JSON of its page, and back. The page may have been changed by hand, so reading
// checks everything that later calls rely on.
#include <limits>
#include <numeric>

#include "report/fields.h"
#include "weft/viz/text.h"

namespace weft::report {
namespace {

// Bins start at ascending steps and hold `size` values each, the last one `last` values up to the step `end`.
template <class Value>
void bins(Fields f, Bins<Value>& b, std::size_t max_bins) {
    f.whole("size", b.size, 1);
    f.whole("last", b.last, 0, b.size);
    f.whole("end", b.end, -1);
    f.whole("steps", b.steps);
    const auto too_close = [&](std::int64_t step, std::int64_t next) { return next - step < b.size; };
    // The length of the last bin, in steps.
    const std::int64_t length = b.steps.empty() ? 0 : b.end - b.steps.back() + 1;
    const bool ends = b.steps.empty() ? b.last == 0 && b.end == -1
                                      : b.last > 0 && length >= b.last && (b.size > 1 || length == 1);
    if (!ends || b.steps.size() > max_bins || std::ranges::adjacent_find(b.steps, too_close) != b.steps.end())
        refuse("steps that do not fit their bins");
    b.values.resize(b.steps.size());
}

void series(Fields f, Series& s) {
    bins(f, s, Series::max_bins);
    const auto column = [&](const char* name, double Spread::*member) {
        std::vector<double> numbers;
        for (const Spread& value : s.values) numbers.push_back(value.*member);
        f.of(name).packed(numbers, s.steps.size());
        for (std::size_t i = 0; i < numbers.size(); ++i) s.values[i].*member = numbers[i];
    };
    column("mean", &Spread::mean);
    if (s.size > 1)
        column("low", &Spread::low), column("high", &Spread::high);
    else
        for (Spread& value : s.values) value.low = value.high = value.mean;
}

void gradients(Fields f, GradientColumns& g) {
    f.plain("rows", g.rows);
    bins(f, g, g.max_bins());
    std::vector<float> norms;  // column by column
    for (const std::vector<float>& column : g.values) norms.insert(norms.end(), column.begin(), column.end());
    f.of("norms").packed(norms, g.steps.size() * g.rows.size());
    for (const float norm : norms)
        if (norm < 0 && norm != GradientColumns::absent) refuse("a norm below 0");
    const float* next = norms.data();
    for (std::vector<float>& column : g.values) {
        column.assign(next, next + g.rows.size());
        next += g.rows.size();
    }
}

void timeline(Fields f, Timeline& t) {
    f.whole("stride", t.stride, 1);
    f.of("kept").list(t.kept, [](Fields entry, Timeline::Entry& e) {
        entry.whole(0u, e.step);
        entry.whole(1u, e.ordinal);
    });
    for (std::size_t i = 0; i < t.kept.size(); ++i) {
        const Timeline::Entry &next = t.kept[i], &before = t.kept[i > 0 ? i - 1 : 0];
        const bool after = i == 0 || (next.step > before.step && next.ordinal > before.ordinal &&
                                      before.ordinal % t.stride == 0);
        if (!after || next.ordinal > next.step) refuse("steps that do not fit their stride");
    }
}

void sentence(Fields f, Sentence& s) {
    if (!f.reading) {  // written for the page
        std::string all;
        for (const std::string& token : s.tokens) all += token;
        f.json["text"] = all, f.json["tokens"] = Json::array();
        for (const std::string& token : s.tokens) f.json["tokens"].push_back(viz::visible(token));
    }
    // A token may be part of a character, which JSON cannot represent, so its bytes are stored too.
    f.of("bytes").list(s.tokens, [](Fields item, std::string& token) { item.base64(token); });
    f.whole("heads", s.heads, 1, INT32_MAX);
    f.of("snapshots").list(s.snapshots, [](Fields item, Snapshot& snapshot) {
        item.whole("step", snapshot.step);
        item.plain("causal", snapshot.causal);
        item.of("weights").base64(snapshot.bytes);
    });
}

void check(const Sentence& s, const Timeline& attended) {
    if (s.snapshots.empty()) refuse("a sentence without weights");
    const std::size_t heads = std::accumulate(s.heads.begin(), s.heads.end(), std::size_t{0});
    std::int64_t before = -1;
    for (const Snapshot& snapshot : s.snapshots) {
        const std::size_t of_head = num_weights(s.tokens.size(), snapshot.causal);
        if (heads == 0 || of_head == 0 || snapshot.bytes.size() % of_head != 0 ||
            snapshot.bytes.size() / of_head != heads)
            refuse("the number of weights does not fit the sentence");
        if (!attended.has(snapshot.step) || snapshot.step <= before)
            refuse("weights of a step that is not listed");
        before = snapshot.step;
    }
}

void losses(Fields f, auto& run) {
    series(f.of("loss").of("training"), run.training);
    series(f.of("loss").of("validation"), run.validation);
}

void norm(Fields f, double& value) {
    if (!f.reading)
        f.json = value;  // written as null if it is not finite
    else if (!f.json.is_null() && !f.json.is_number())
        refuse("it has " + excerpt(f.json.dump()) + " instead of a number");
    else
        value = f.json.is_null() ? std::numeric_limits<double>::quiet_NaN() : f.json.get<double>();
}

void run(Fields f, ReportRun& r) {
    f.whole("steps", r.steps);
    f.whole("tokens", r.tokens);
    f.whole("saved", r.saved);
    f.plain("seconds", r.seconds);
    f.plain("next", r.next);
    if (std::min(r.seconds, r.next) < 0 || std::max(r.seconds, r.next) > static_cast<double>(last_step))
        refuse("a time that is not in 0 … 2^53");
}

void content(Fields f, auto& c) {
    f.plain("title", c.title);
    f.plain("settings", c.settings);
    losses(f, c);
    series(f.of("loss").of("learning_rate"), c.learning_rate);
    gradients(f.of("gradients"), c.gradients);
    f.of("parameters").list(c.parameters, [](Fields item, ParameterRow& row) {
        item.plain("name", row.name);
        item.whole("shape", row.shape);
        item.whole("count", row.count, 0, INT64_MAX);
        norm(item.of("norm"), row.norm);
        norm(item.of("first_norm"), row.first_norm);
    });
    timeline(f.of("sampled"), c.sampled);
    f.of("samples").list(c.samples, [](Fields item, Sample& sample) {
        item.whole("step", sample.step);
        item.plain("prompt", sample.prompt);
        item.plain("text", sample.text);
    });
    f.whole("attention_bytes", c.attention_bytes);
    timeline(f.of("attended"), c.attended);
    f.of("sentences").list(c.sentences, sentence);
    if (f.has("facts")) f.plain("facts", c.facts);
    if (f.has("run")) run(f.of("run"), c.run);
    if (f.has("compared"))
        f.of("compared").list(c.compared, [](Fields item, ComparedRun& other) {
            item.plain("name", other.name);
            item.plain("settings", other.settings);
            losses(item, other);
        });
}

void check(const auto& c) {
    if (c.compared.size() > c.max_compared) refuse("too many runs to compare");
    if (c.sampled.kept.size() > c.max_samples) refuse("too many samples");
    for (const Sample& sample : c.samples)
        if (!c.sampled.has(sample.step)) refuse("a sample of a step that is not listed");
    for (const Sentence& s : c.sentences) check(s, c.attended);
    if (c.stored_bytes() > c.attention_bytes) refuse("more weights than its attention_bytes allows");
}

}  // namespace

std::string ReportFile::json(Report::Content& c) {
    Json json = {{"format", report_format}};
    report::content({json, /*reading=*/false}, c);
    json["has_model"] = c.model.has_value();
    return script_text(json.dump(-1, ' ', true, Json::error_handler_t::replace));
}

Report::Content ReportFile::content(const std::string& text, const std::string& where) {
    return read_json(text, where, "its data", [](Json& json) {
        if (json.at("format") != report_format && json.at("format") != first_format)
            refuse("its format is " + excerpt(json.at("format").dump()) + ", not \"" + report_format + "\"");
        Report::Content c;
        report::content({json, /*reading=*/true}, c);
        check(c);
        return c;
    });
}

}  // namespace weft::report
