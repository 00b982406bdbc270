// Module::summary: the table of a module.
#include <algorithm>
#include <map>

#include "nn/registry.h"

namespace weft::nn {

namespace {

struct Row {
    std::string name, what, count;
};

// 1234567 as "1,234,567".
std::string grouped(std::int64_t number) {
    std::string digits = std::to_string(number);
    for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
    return digits;
}

// How wide a text is on a terminal, whose characters may be several bytes.
std::size_t width(const std::string& text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t to) {
    return text + std::string(to - width(text), ' ');
}

}  // namespace

std::string Module::summary() const {
    std::vector<Row> rows{{"", kind(), ""}};
    std::map<const TensorImpl*, std::string> first;  // where a tensor was met first
    std::int64_t bytes = 0;

    const auto describe = [](const Tensor& x) { return x.shape().str() + " " + weft::name(x.dtype()); };
    const auto visit = [&](const auto& self, const Registry& registry, const std::string& prefix,
                           int depth) -> void {
        const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
        for (const auto& [name, value] : registry.parameters) {
            const auto [met, is_new] = first.emplace(value.handle().get(), prefix + name);
            rows.push_back(
                {indent + name, describe(value), is_new ? grouped(value.numel()) : "= " + met->second});
            if (is_new) bytes += value.numel() * static_cast<std::int64_t>(size_of(value.dtype()));
        }
        for (const auto& buffer : registry.buffers)
            rows.push_back({indent + buffer.name, describe(buffer.value), "buffer"});
        for (const auto& [name, child] : registry.children) {
            rows.push_back({indent + name, child->kind, ""});
            self(self, *child, prefix + name + ".", depth + 1);
        }
    };
    visit(visit, *registry_, "", 1);
    rows.front().name = "(this)";

    std::size_t name_width = 0, what_width = 0;
    for (const Row& row : rows) {
        name_width = std::max(name_width, width(row.name));
        what_width = std::max(what_width, width(row.what));
    }
    std::string text;
    for (const Row& row : rows) {
        std::string line =
            padded(row.name, name_width) + "  " + padded(row.what, what_width) + "  " + row.count;
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text + "parameters: " + grouped(parameter_count()) + " (" + grouped(bytes) + " bytes)\n";
}

}  // namespace weft::nn
