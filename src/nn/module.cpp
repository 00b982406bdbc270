// Module: a registry of names, shared by all copies.
#include "weft/nn/module.h"

#include <algorithm>
#include <limits>
#include <set>

#include "nn/registry.h"
#include "weft/core/modes.h"
#include "weft/core/record.h"

namespace weft::nn {

namespace {

// The tensors of a registry and its descendants whose role `is_wanted`.
template <class Node, class Wanted>
NamedTensors tensors_of(const Node& root, const Wanted& is_wanted) {
    NamedTensors result;
    for_each_module("", root, [&](const std::string& prefix, const Node& registry) {
        for (const auto& entry : registry.tensors)
            if (is_wanted(entry.role)) result.emplace_back(prefix + entry.name, entry.value);
    });
    return result;
}

// Each tensor once, under its first name.
NamedTensors distinct(const NamedTensors& all) {
    NamedTensors result;
    std::set<const TensorImpl*> seen;
    for (const auto& [name, value] : all)
        if (seen.insert(value.handle().get()).second) result.emplace_back(name, value);
    return result;
}

}  // namespace

Module::Module(std::string kind) : registry_(std::make_shared<Registry>()) {
    registry_->kind = std::move(kind);
}

NamedTensors Module::named_parameters() const {
    return distinct(tensors_of(*registry_, [](auto role) { return role == Registry::parameter; }));
}

std::vector<Tensor> Module::parameters() const {
    std::vector<Tensor> result;
    for (const auto& [name, value] : named_parameters()) result.push_back(value);
    return result;
}

NamedTensors Module::named_buffers() const {
    return distinct(tensors_of(*registry_, [](auto role) { return role != Registry::parameter; }));
}

NamedGenerators Module::named_generators() const {
    NamedGenerators result;
    for_each_module("", *registry_, [&](const std::string& prefix, const Registry& registry) {
        for (const auto& [name, rng] : registry.generators) result.emplace_back(prefix + name, rng);
    });
    return result;
}

std::vector<std::pair<std::string, Module>> Module::named_children() const {
    std::vector<std::pair<std::string, Module>> result;
    for (const auto& [name, child] : registry_->children) result.emplace_back(name, Module(child));
    return result;
}

NamedTensors Module::state_dict() const {
    return tensors_of(*registry_, [](auto role) { return role != Registry::transient_buffer; });
}

void Module::train(bool training) {
    for_each_module("", *registry_,
                    [&](const std::string&, Registry& registry) { registry.training = training; });
}

bool Module::training() const { return registry_->training && !Modes::all(Modes::evaluating); }

void Module::zero_grad() {
    for (auto& parameter : parameters()) parameter.zero_grad();
}

std::int64_t Module::num_parameters() const {
    std::int64_t count = 0;
    for (const auto& parameter : parameters()) count += parameter.numel();
    return count;
}

const std::string& Module::kind() const { return registry_->kind; }

Parameter Module::register_weight(const std::string& name, Tensor value) {
    const Parameter weight = register_parameter(name, std::move(value));
    std::ranges::find(registry_->tensors, name, &Registry::Entry::name)->is_weight = true;
    return weight;
}

Parameter Module::register_parameter(const std::string& name, Tensor value) {
    registry_->check_name(name, "parameter");
    if (!value.is_leaf())
        throw GraphError(kind(), ": parameter '", name, "' was made by ", operation_of(value),
                         " in the graph; only a leaf can be trained: detach() it");
    if (!value.is_contiguous()) value = value.contiguous();
    if (!only_stores(value.dtype())) {
        value.requires_grad_();
        set_owner(value, registry_);
    }
    auto& tensors = registry_->tensors;
    const auto is_parameter = [](const auto& entry) { return entry.role == Registry::parameter; };
    tensors.insert(std::partition_point(tensors.begin(), tensors.end(), is_parameter),
                   {name, value, Registry::parameter});
    registry_->names.emplace(name, "parameter");
    return Parameter(std::move(value));
}

Buffer Module::register_buffer(const std::string& name, Tensor value, bool persistent) {
    registry_->check_name(name, "buffer");
    (void)value.shape();  // throws if undefined
    registry_->tensors.push_back({name, value, persistent ? Registry::buffer : Registry::transient_buffer});
    registry_->names.emplace(name, "buffer");
    return Buffer(std::move(value));
}

Tensor Module::find_buffer(const std::string& name) const {
    for (const auto& entry : registry_->tensors)
        if (entry.name == name && entry.role != Registry::parameter) return entry.value;
    return {};
}

Shared<Rng> Module::register_generator(const std::string& name, Rng& rng) {
    registry_->check_name(name, "generator");
    const auto seed = rng.randint(0, std::numeric_limits<std::int64_t>::max());
    auto own = std::make_shared<Rng>(static_cast<std::uint64_t>(seed));
    registry_->generators.emplace_back(name, own);
    registry_->names.emplace(name, "generator");
    return own;
}

void Module::add_child(const std::string& name, const Module& module) {
    registry_->check_name(name, "child");
    for_each_module("", *module.registry_, [&](const std::string&, const Registry& registry) {
        if (&registry == registry_.get())
            throw ValueError("Module: '", name, "' holds the ", kind(),
                             " that would be its parent; a module cannot contain itself");
    });
    registry_->children.emplace_back(name, module.registry_);
    registry_->names.emplace(name, "child");
    if (module.registry_->parent.lock()) return;
    module.registry_->parent = registry_;
    module.registry_->name = name;
}

std::string Module::path() const {
    const auto parent = registry_->parent.lock();
    if (!parent) return kind();
    const std::string& name = registry_->name;
    const bool is_number = name.find_first_not_of("0123456789") == std::string::npos;
    return Module(parent).path() + (is_number ? "[" + name + "]" : "." + name);
}

}  // namespace weft::nn
