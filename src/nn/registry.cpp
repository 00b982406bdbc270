// Checks of names and states.
#include "nn/registry.h"

#include <map>

#include "nn/error_list.h"
#include "weft/core/text.h"

namespace weft::nn {

void Module::Registry::check_name(const std::string& name, const char* what) const {
    const std::string it = kind + ": " + what + " '" + name + "'";
    if (name.empty() || name.find('.') != std::string::npos)
        throw ValueError(it, ": a name must not be empty or contain a dot, which separates modules");
    const auto refuse = [&](const std::string& taken, const char* by) {
        if (taken == name) throw ValueError(it, ": there is a ", by, " of that name already");
    };
    for (const auto& [taken, value, role] : tensors) refuse(taken, role == parameter ? "parameter" : "buffer");
    for (const auto& [taken, rng] : generators) refuse(taken, "generator");
    for (const auto& [taken, child] : children) refuse(taken, "child");
}

void check_state(const std::string& kind, const std::vector<ExpectedTensor>& expected,
                 const NamedTensors& state, bool strict) {
    std::map<std::string, Tensor> given;
    ErrorList names, shapes, types;
    const auto shown = [](const std::string& name) { return text::excerpt(name, 200); };
    for (const auto& [name, value] : state)
        if (!given.emplace(name, value).second) names.add("repeated: " + shown(name));

    for (const auto& [name, shape, dtype] : expected) {
        const auto found = given.extract(name);
        if (found.empty()) {
            if (strict) names.add("missing: " + name + " " + shape.str());
            continue;
        }
        const Tensor value = found.mapped();
        if (!(value.shape() == shape))
            shapes.add(name + ": shape " + value.shape().str() + ", but the module's is " + shape.str());
        else if (value.dtype() != dtype)
            types.add(name + ": " + weft::name(value.dtype()) + ", but the module's is " + weft::name(dtype) +
                      " (Module::to converts it)");
    }
    if (strict)
        for (const auto& [name, value] : given)
            names.add("unexpected: " + shown(name) + " " + value.shape().str());

    const std::string message =
        "load_state_dict: the state does not fit this " + kind + ":" + names.str() + shapes.str() + types.str();
    if (!names.empty()) throw ValueError(message);
    if (!shapes.empty()) throw ShapeError(message);
    if (!types.empty()) throw DTypeError(message);
}

namespace {
bool same_values(const Tensor& a, const Tensor& b) {
    const NoGrad off;
    return a.handle() == b.handle() || all(a == b || (a != a && b != b));  // NaN equals NaN
}
}  // namespace

void Module::load_state_dict(const NamedTensors& state, bool strict) {
    NamedTensors own = state_dict();
    std::vector<ExpectedTensor> expected;
    for (const auto& [name, value] : own) expected.push_back({name, value.shape(), value.dtype()});
    check_state(kind(), expected, state, strict);
    const std::map<std::string, Tensor> given(state.begin(), state.end());
    std::map<const TensorImpl*, std::string> first;  // the first name of each tensor
    ErrorList tied;
    for (const auto& [name, value] : own) {
        if (!given.contains(name)) continue;
        const auto [met, is_new] = first.emplace(value.handle().get(), name);
        if (!is_new && !same_values(given.at(met->second), given.at(name)))
            tied.add("tied: " + met->second + " and " + name +
                     " are one tensor of the module, but their values differ");
    }
    if (!tied.empty()) throw ValueError("load_state_dict: the state does not fit this ", kind(), ":", tied);
    NoGrad off;
    for (auto& [name, value] : own)
        if (const auto found = given.find(name); found != given.end()) value.copy_(found->second);
}

}  // namespace weft::nn
