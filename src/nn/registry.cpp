// Checks of names and states.
#include "nn/registry.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "weft/base/text.h"
#include "weft/core/modes.h"

namespace weft::nn {

void Module::Registry::check_name(const std::string& name, const char* what) const {
    const std::string it = kind + ": " + what + " '" + name + "'";
    if (name.empty() || name.find('.') != std::string::npos)
        throw ValueError(it, ": a name must not be empty or contain a dot, which separates modules");
    if (const auto taken = names.find(name); taken != names.end())
        throw ValueError(it, ": there is a ", taken->second, " of that name already");
}

void check_state(const std::string& kind, const std::vector<ExpectedTensor>& expected,
                 const NamedTensors& state, bool strict) {
    std::map<std::string, Tensor> given;
    ErrorList names, shapes, types;
    const auto shown = [](const std::string& name) { return excerpt(name, 200); };
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
        else if (value.dtype() != dtype && !(only_stores(value.dtype()) && takes_gradient(dtype)))
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

bool is_expanded(const Tensor& x) {
    if (x.numel() == 0) return false;
    for (int axis = 0; axis < x.rank(); ++axis)
        if (x.size(axis) > 1 && x.strides()[axis] == 0) return true;
    return false;
}

namespace {
bool same_values(const Tensor& a, const Tensor& b) {
    const NoGrad off;
    return a.handle() == b.handle() || all(a == b || (a != a && b != b));  // NaN equals NaN
}
}  // namespace

void check_load(const Module& module, const NamedTensors& state, bool strict) {
    const NamedTensors own = module.state_dict();
    std::vector<ExpectedTensor> expected;
    const std::map<std::string, Tensor> given(state.begin(), state.end());
    for (const auto& [name, value] : own)
        if (!is_quantized(value.dtype()) || given.contains(name))
            expected.push_back({name, value.shape(), is_quantized(value.dtype()) ? float32 : value.dtype()});
    check_state(module.kind(), expected, state, strict);
    for (const auto& [name, value] : own) {
        if (!given.contains(name)) continue;
        if (is_quantized(value.dtype()))
            throw DTypeError("load_state_dict: ", name, " of this ", module.kind(), " is held in blocks of ",
                             weft::name(value.dtype()),
                             ", which never change; make it whole first: to(float32)");
        if (const DType given_as = given.at(name).dtype(); is_quantized(given_as))
            throw DTypeError("load_state_dict: ", name, " of the state is held in blocks of ",
                             weft::name(given_as), "; convert it with to(float32)");
    }
    std::map<const TensorImpl*, std::string> first;  // the first name of each tensor
    ErrorList wrong;
    for (const auto& [name, value] : own) {
        if (!given.contains(name)) continue;
        const auto [met, is_new] = first.emplace(value.handle().get(), name);
        if (!is_new && !same_values(given.at(met->second), given.at(name)))
            wrong.add("tied: " + met->second + " and " + name +
                      " are one tensor of the module, but their values differ");
        if (is_new && is_expanded(value))
            wrong.add("expanded: the elements of " + name + " share memory; register its clone()");
    }
    if (!wrong.empty())
        throw ValueError("load_state_dict: the state does not fit this ", module.kind(), ":", wrong);
}

void Module::load_state_dict(const NamedTensors& state, bool strict) {
    check_load(*this, state, strict);  // every refusal comes before the first change
    const std::map<std::string, Tensor> given(state.begin(), state.end());
    const NoGrad off;
    std::vector<std::pair<Tensor, Tensor>> loads;  // tensors of the module, and what they load
    std::set<const void*> changes;                 // their memory
    for (const auto& [name, value] : state_dict())
        if (const auto found = given.find(name); found != given.end()) {
            loads.emplace_back(value, found->second);
            changes.insert(storage_of(value));
        }
    for (auto& [value, x] : loads)  // which may be the module's own tensors under other names
        if (x.handle() != value.handle() && changes.contains(storage_of(x))) x = x.clone();
    for (auto& [value, x] : loads) value.copy_(x);
}

}  // namespace weft::nn
