// Module::summary.
#include <map>

#include "nn/registry.h"
#include "nn/table.h"

namespace weft::nn {

namespace {

// 1234567 as "1,234,567".
std::string grouped(std::int64_t number) {
    std::string digits = std::to_string(number);
    for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
    return digits;
}

}  // namespace

std::string Module::summary() const {
    std::vector<std::vector<std::string>> rows{{"(this)", kind(), ""}};  // name, kind or shape, elements
    std::map<const TensorImpl*, std::string> first;                      // the first name of each tensor
    std::int64_t bytes = 0;

    const auto visit = [&](const auto& self, const Registry& registry, const std::string& prefix,
                           int depth) -> void {
        const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
        for (const auto& [name, value, role] : registry.tensors) {
            rows.push_back({indent + name, value.shape().str() + " " + weft::name(value.dtype()), "buffer"});
            if (role != Registry::parameter) continue;
            const auto [met, is_new] = first.emplace(value.handle().get(), prefix + name);
            rows.back().back() = is_new ? grouped(value.numel()) : "= " + met->second;
            if (is_new) bytes += value.numel() * static_cast<std::int64_t>(itemsize(value.dtype()));
        }
        for (const auto& [name, child] : registry.children) {
            rows.push_back({indent + name, child->kind, ""});
            self(self, *child, prefix + name + ".", depth + 1);
        }
    };
    visit(visit, *registry_, "", 1);
    return text::table(rows) + "parameters: " + grouped(num_parameters()) + " (" + grouped(bytes) + " bytes)\n";
}

}  // namespace weft::nn
