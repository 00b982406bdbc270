// Registering again, and no longer: the attributes of Python's modules.
#include "nn/attributes.h"

#include <algorithm>
#include <tuple>

#include "nn/registry.h"

namespace weft::nn {

namespace {

template <class Entry>
const std::string& name_of(const Entry& entry) {
    if constexpr (requires { entry.first; })
        return entry.first;
    else
        return entry.name;
}

template <class List>
auto find(List& list, const std::string& name) {
    return std::find_if(list.begin(), list.end(), [&](const auto& entry) { return name_of(entry) == name; });
}

// Removes the entry of that name, if there is one, and returns where it was.
template <class List>
auto take_out(List& list, const std::string& name) {
    const auto at = find(list, name);
    const auto place = at - list.begin();
    if (at != list.end()) list.erase(at);
    return place;
}

// Moves the entry of that name forward to a place.
template <class List>
void move_to(List& list, const std::string& name, std::ptrdiff_t place) {
    if (const auto at = find(list, name); at != list.end() && place < at - list.begin())
        std::rotate(list.begin() + place, at, at + 1);
}

}  // namespace

std::string Attributes::kind(const Module& module, const std::string& name) {
    const auto found = module.registry_->names.find(name);
    return found == module.registry_->names.end() ? "" : found->second;
}

void Attributes::set(Module& module, const std::string& name, const std::function<void()>& register_new) {
    Module::Registry& registry = *module.registry_;
    const std::string before = kind(module, name);
    const auto old = std::tuple(registry.tensors, registry.children, registry.names);
    const auto child = find(registry.children, name);
    const auto old_child = child == registry.children.end() ? nullptr : child->second;
    const auto tensors = take_out(registry.tensors, name), children = take_out(registry.children, name);
    registry.names.erase(name);
    try {
        register_new();
    } catch (...) {
        std::tie(registry.tensors, registry.children, registry.names) = old;
        throw;
    }
    if (kind(module, name) == before)
        move_to(registry.tensors, name, tensors), move_to(registry.children, name, children);
    const auto now = find(registry.children, name);
    const bool is_same = now != registry.children.end() && now->second == old_child;
    if (old_child && !is_same && old_child->parent.lock() == module.registry_ && old_child->name == name)
        old_child->parent.reset();
}

Tensor Attributes::set_parameter(Module& module, const std::string& name, Tensor value) {
    const bool is_trained = value.requires_grad();
    set(module, name, [&] { value = module.register_parameter(name, value); });
    return value.requires_grad_(is_trained);
}

void Attributes::set_buffer(Module& module, const std::string& name, const Tensor& value,
                            std::optional<bool> persistent) {
    const auto& tensors = module.registry_->tensors;
    const auto old = find(tensors, name);
    const bool was_transient = old != tensors.end() && old->role == Module::Registry::transient_buffer;
    const bool stays = persistent.value_or(!was_transient);
    set(module, name, [&] { (void)module.register_buffer(name, value, stays); });
}

void Attributes::set_child(Module& module, const std::string& name, const Module& child) {
    set(module, name, [&] { module.add_child(name, child); });
}

void Attributes::remove(Module& module, const std::string& name) {
    set(module, name, [] {});
}

}  // namespace weft::nn
