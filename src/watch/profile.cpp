#include "weft/watch/profile.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <new>
#include <ostream>

#include "core/array.h"
#include "weft/base/text.h"
#include "weft/core/error.h"

namespace weft {
namespace {

const char* const outside = "outside operations";

std::int64_t clock_ns() {
    using namespace std::chrono;
    return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

double milliseconds(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

// Whether `path` is that of a module within `of`.
bool is_within(const std::string& path, const std::string& of) {
    return path.starts_with(of) && path.size() > of.size() &&
           (path[of.size()] == '.' || path[of.size()] == '[');
}

std::string fixed(double value, int digits) { return to_chars(value, std::chars_format::fixed, digits); }

// The last `width` columns of a name that is longer, after an ellipsis.
std::string fitted(std::string name, std::size_t width) {
    if (display_width(name) <= width) return name;
    while (!name.empty() && (display_width(name) >= width || (name[0] & 0xC0) == 0x80)) name.erase(0, 1);
    return "…" + name;
}

// The name, and cells that end in the columns `ends`.
std::string line(const std::string& name, const std::vector<std::size_t>& ends,
                 const std::vector<std::string>& cells) {
    std::string text = fitted(name, ends[0] - display_width(cells[0]) - 1);
    for (std::size_t i = 0; i < cells.size(); ++i)
        if (!cells[i].empty()) text = pad_right(text, ends[i] - display_width(cells[i])) + cells[i];
    return text + "\n";
}

// With two digits after the point, unless the number is large.
std::string with_two_digits(double value) { return fixed(value, value < 1000 ? 2 : 0); }
std::string mebibytes(std::int64_t bytes) {
    return with_two_digits(static_cast<double>(bytes) / (1024 * 1024));
}
std::string millions(std::int64_t count) { return with_two_digits(static_cast<double>(count) / 1e6); }

std::string in_json(const std::string& text) {
    std::string json = "\"";
    for (std::size_t at = 0; at < text.size();) {
        const std::string character = displayed(text, at);
        for (const char c : character) json += (c == '"' || c == '\\' ? "\\" : "") + std::string(1, c);
    }
    return json + "\"";
}

}  // namespace

Profile::Profile() : start_(clock_ns()) {}

std::int64_t Profile::now() const { return clock_ns() - start_; }

void Profile::begin(const char* name) {
    if (depth_++ > 0) return;  // part of the one that is open
    open_ = {name, module_, false, false, 0, 0, bytes_, products_.count()};
    open_.began = now();
}

void Profile::end() noexcept {
    if (--depth_ > 0) return;
    open_.ns = now() - open_.began;
    open_.bytes = bytes_ - open_.bytes;
    open_.multiply_adds = products_.count() - open_.multiply_adds;
    add(open_);
}

void Profile::add(const Event& event) noexcept try {
    events_.push_back(event);
} catch (const std::bad_alloc&) {  // a profile with a gap is better than a program that ends
}

// What a user records outside every Op took the time of the operations inside, which have rows of their own.
void Profile::computes(const char* operation) {
    if (depth_ == 0) add({operation, module_, false, false, now(), 0, 0, 0});
}

void Profile::records(const Recorded& node) { nodes_.emplace_back(graph_number(node.y), module_); }

int Profile::module_of(std::uint64_t node) const {
    const auto found = std::lower_bound(nodes_.begin(), nodes_.end(), std::pair(node, 0));
    return found != nodes_.end() && found->first == node ? found->second : 0;
}

// The call of a module in an operation is part of that, and changes nothing.
void Profile::begins(const Part& part) {
    if (part.kind == Part::operation) return begin(part.name);
    if (part.kind != Part::rule && part.kind != Part::module) return;
    callers_.push_back({module_, now()});
    if (part.kind == Part::rule) {
        module_ = module_of(part.node);
        begin(part.name);
        if (depth_ == 1) open_.backward = true;
    } else if (depth_ == 0) {
        const auto [found, is_new] = numbers_.try_emplace(part.name, static_cast<int>(paths_.size()));
        if (is_new) paths_.push_back(part.name);
        module_ = found->second;
    }
}

void Profile::ends(const Part& part, bool) noexcept {
    if (part.kind == Part::operation) return end();
    if (part.kind != Part::rule && part.kind != Part::module) return;
    const Caller caller = callers_.back();
    callers_.pop_back();
    if (part.kind == Part::rule)
        end();
    else if (depth_ == 0)
        add({"", module_, false, true, caller.began, now() - caller.began, 0, 0});
    module_ = caller.module;
}

std::vector<ProfileRow> Profile::operations() const {
    const std::int64_t all = now();
    std::map<std::pair<std::string, bool>, ProfileRow> by_name;
    ProfileRow rest{outside, false, 0, milliseconds(all), bytes_, products_.count()};
    for (const Event& event : events_) {
        if (event.is_module) continue;
        ProfileRow& row = by_name[{event.name, event.backward}];
        row.name = event.name, row.backward = event.backward;
        row.calls += 1, row.ms += milliseconds(event.ns), row.bytes += event.bytes;
        row.multiply_adds += event.multiply_adds;
        rest.ms -= milliseconds(event.ns), rest.bytes -= event.bytes;
        rest.multiply_adds -= event.multiply_adds;
    }
    std::vector<ProfileRow> rows;
    for (auto& [name, row] : by_name) rows.push_back(std::move(row));
    std::ranges::stable_sort(rows, std::ranges::greater(), &ProfileRow::ms);
    rows.push_back(rest);
    return rows;
}

std::vector<ProfileModule> Profile::modules() const {
    std::vector<ProfileModule> own(paths_.size());
    for (std::size_t i = 0; i < own.size(); ++i) own[i].path = paths_[i];
    for (const Event& event : events_) {
        if (event.is_module) continue;
        ProfileModule& module = own[static_cast<std::size_t>(event.module)];
        (event.backward ? module.backward_ms : module.forward_ms) += milliseconds(event.ns);
        module.bytes += event.bytes, module.multiply_adds += event.multiply_adds;
    }
    std::vector<ProfileModule> modules = own;
    for (ProfileModule& module : modules) {
        module.total_ms = module.forward_ms + module.backward_ms;
        for (const ProfileModule& inner : own) {
            if (module.path.empty() || !is_within(inner.path, module.path)) continue;
            module.total_ms += inner.forward_ms + inner.backward_ms;
            module.bytes += inner.bytes, module.multiply_adds += inner.multiply_adds;
        }
    }
    std::rotate(modules.begin(), modules.begin() + 1, modules.end());
    return modules;
}

std::string Profile::str() const {
    const std::vector<ProfileRow> rows = operations();
    ProfileRow all{"all"}, small{""};
    int left_out = 0;
    const auto add = [](ProfileRow& sum, const ProfileRow& row) {
        sum.calls += row.calls, sum.ms += row.ms, sum.bytes += row.bytes,
            sum.multiply_adds += row.multiply_adds;
    };
    for (const ProfileRow& row : rows) add(all, row);
    const double least = (all.ms - rows.back().ms) / 100;
    const auto percent = [&](double ms) { return fixed(100 * ms / all.ms, 1); };
    const std::vector<std::size_t> ends = {45, 55, 61, 69, 80};
    const auto row_line = [&](const ProfileRow& row) {
        return line(row.name + (row.backward ? ", backward" : ""), ends,
                    {row.calls > 0 ? to_chars(row.calls) : " ", fixed(row.ms, 3), percent(row.ms),
                     mebibytes(row.bytes), millions(row.multiply_adds)});
    };
    std::string text = line("operation", ends, {"calls", "ms", "%", "MiB", "M mul-adds"});
    for (const ProfileRow& row : rows) {
        if (row.name == outside && left_out > 0) {
            small.name = to_chars(left_out) + " others, each below 1 %";
            text += row_line(small);
        }
        if (row.ms < least && row.name != outside)
            add(small, row), ++left_out;
        else
            text += row_line(row);
    }
    text += row_line(all);

    const std::vector<std::size_t> columns = {34, 44, 54, 60, 69, 80};
    text += "\n" + line("module", columns, {"forward", "backward", "total ms", "%", "MiB", "M mul-adds"});
    ProfileModule others;
    left_out = 0;
    for (const ProfileModule& module : modules()) {
        if (module.path.empty() && left_out > 0)
            text += line(to_chars(left_out) + " others below 1 %", columns,
                         {fixed(others.forward_ms, 3), fixed(others.backward_ms, 3)});
        if (module.total_ms < least && !module.path.empty())
            ++left_out, others.forward_ms += module.forward_ms, others.backward_ms += module.backward_ms;
        else
            text += line(module.path.empty() ? "in no module" : module.path, columns,
                         {fixed(module.forward_ms, 3), fixed(module.backward_ms, 3), fixed(module.total_ms, 3),
                          percent(module.total_ms), mebibytes(module.bytes), millions(module.multiply_adds)});
    }
    return text;
}

std::ostream& operator<<(std::ostream& out, const Profile& profile) { return out << profile.str(); }

void Profile::save_trace(const std::string& path) const {
    std::ofstream file(path);
    file << R"({"displayTimeUnit": "ms", "traceEvents": [)"
         << "\n"
         << R"({"ph": "M", "name": "process_name", "pid": 1, "tid": 1, "args": {"name": "Weft"}})";
    for (const Event& event : events_) {
        const std::string &module = paths_[static_cast<std::size_t>(event.module)],
                          kind = event.is_module  ? "module"
                                 : event.backward ? "backward"
                                                  : "forward";
        const std::string name =
            event.is_module ? module : event.name + std::string(event.backward ? ", backward" : "");
        file << ",\n{\"ph\": \"X\", \"name\": " << in_json(name) << ", \"cat\": \"" << kind
             << "\", \"ts\": " << fixed(static_cast<double>(event.began) / 1e3, 3)
             << ", \"dur\": " << fixed(static_cast<double>(event.ns) / 1e3, 3) << ", \"pid\": 1, \"tid\": 1";
        if (!event.is_module)
            file << ", \"args\": {\"module\": " << in_json(module) << ", \"bytes\": " << to_chars(event.bytes)
                 << ", \"multiply_adds\": " << to_chars(event.multiply_adds) << "}";
        file << "}";
    }
    file << "\n]}\n";
    file.close();
    if (!file) throw IoError("Profile::save_trace: cannot write ", path);
}

}  // namespace weft
