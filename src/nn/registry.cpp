// Names that are free, states that fit.
#include "registry.h"

#include <map>
#include <set>

namespace weft::nn {

void Module::Registry::claim(const std::string& name, const char* what) const {
    const std::string it = kind + ": " + what + " '" + name + "'";
    if (name.empty() || name.find('.') != std::string::npos)
        throw ValueError(it + ": a name is not empty and holds no dot, which separates modules");
    const auto refuse = [&](const std::string& taken, const char* by) {
        if (taken == name) throw ValueError(it + ": there is a " + by + " of that name already");
    };
    for (const auto& [taken, value] : parameters) refuse(taken, "parameter");
    for (const auto& buffer : buffers) refuse(buffer.name, "buffer");
    for (const auto& [taken, rng] : generators) refuse(taken, "generator");
    for (const auto& [taken, child] : children) refuse(taken, "child");
}

void Module::load_state_dict(const NamedTensors& state, bool strict) {
    std::map<std::string, Tensor> given;
    std::string names, shapes, types;  // what is wrong with each
    for (const auto& [name, value] : state)
        if (!given.emplace(name, value).second) names += "\n  repeated: " + name;

    std::vector<std::pair<Tensor, Tensor>> copies;  // to, from
    std::set<std::string> met;
    for (const auto& [name, own] : state_dict()) {
        const auto found = given.find(name);
        if (found == given.end()) {
            if (strict) names += "\n  missing: " + name + " " + own.shape().str();
            continue;
        }
        met.insert(name);
        const Tensor& value = found->second;
        if (!(value.shape() == own.shape()))
            shapes +=
                "\n  " + name + ": shape " + value.shape().str() + ", but the module's is " + own.shape().str();
        else if (value.dtype() != own.dtype())
            types += "\n  " + name + ": " + weft::name(value.dtype()) + ", but the module's is " +
                     weft::name(own.dtype()) + " (Module::to converts it)";
        else
            copies.emplace_back(own, value);
    }
    if (strict)
        for (const auto& [name, value] : given)
            if (!met.contains(name)) names += "\n  unexpected: " + name + " " + value.shape().str();

    const std::string message =
        "load_state_dict: the state does not fit this " + kind() + ":" + names + shapes + types;
    if (!names.empty()) throw ValueError(message);
    if (!shapes.empty()) throw ShapeError(message);
    if (!types.empty()) throw DTypeError(message);
    NoGrad off;
    for (auto& [own, value] : copies) own.copy_(value);
}

}  // namespace weft::nn
