// Module: a registry of names, shared by all copies.
#include "weft/nn/module.h"

#include <algorithm>
#include <limits>
#include <map>
#include <ostream>
#include <set>
#include <sstream>
#include <tuple>

#include "nn/registry.h"
#include "weft/base/text.h"
#include "weft/core/modes.h"
#include "weft/core/record.h"
#include "weft/core/scoped.h"
#include "weft/packed/packed.h"
#include "weft/watch/trace.h"

namespace weft::nn {

namespace {

// Calls visit(prefix, registry) for a registry and its descendants: "", "child.", "child.grandchild.", … Node
// is Module::Registry, which is private, or const.
template <class Node, class Visit>
void for_each_module(const std::string& prefix, Node& registry, const Visit& visit) {
    visit(prefix, registry);
    for (const auto& [name, child] : registry.children) for_each_module(prefix + name + ".", *child, visit);
}

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

// 1234567 as "1,234,567".
std::string grouped(std::int64_t number) {
    std::string digits = std::to_string(number);
    for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
    return digits;
}

}  // namespace

Module::Module(std::string kind) : registry_(std::make_shared<Registry>()) {
    registry_->kind = std::move(kind);
}

namespace {

Tensor cloned(const Tensor& x) {
    return Tensor(Cloning::copied(x.handle(), [&](const TensorImpl&) {
        return x.detach().clone().requires_grad_(x.requires_grad()).handle();
    }));
}

}  // namespace

Parameter::Parameter(const Parameter& other) : Tensor(cloned(other)) {}

std::shared_ptr<Module::Registry> Module::Registry::copied(const std::shared_ptr<Registry>& registry) {
    return Cloning::copied(registry, [](const Registry& from) {
        auto to = std::make_shared<Registry>(from);
        to->parent.reset();
        to->name.clear();
        to->hooks.clear();
        for (Entry& entry : to->tensors) {
            entry.value = cloned(entry.value);
            if (entry.role == parameter && entry.value.requires_grad()) set_owner(entry.value, to);
        }
        for (auto& [name, rng] : to->generators)
            rng = Cloning::copied(rng, [](const Rng& r) { return std::make_shared<Rng>(r); });
        for (auto& [name, child] : to->children) {
            child = copied(child);
            if (!child->parent.lock()) child->parent = to, child->name = name;
        }
        return to;
    });
}

Module::Module(const Module& other) : registry_(Registry::copied(other.registry_)) {}

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

namespace {

// visit(name, entry) for every tensor of a registry and its descendants; is_weight tells whether only linear
// and embedding read it, also where it is tied.
template <class Registry, class Visit>
void for_each_tensor(Registry& root, const Visit& visit) {
    std::set<const TensorImpl*> others;
    for_each_module("", root, [&](const std::string&, Registry& registry) {
        for (const auto& entry : registry.tensors)
            if (!entry.is_weight) others.insert(entry.value.handle().get());
    });
    for_each_module("", root, [&](const std::string& prefix, Registry& registry) {
        for (auto& entry : registry.tensors)
            visit(prefix + entry.name, entry, !others.contains(entry.value.handle().get()));
    });
}

}  // namespace

void Module::to(DType dtype) {
    if (!is_floating_point(dtype)) throw DTypeError("Module::to: takes a floating type, not ", name(dtype));
    if (is_quantized(dtype)) return pack(dtype);
    const NoGrad off;
    const auto for_each_that_changes = [&](const auto& use) {
        for_each_tensor(*registry_, [&](const std::string& name, Registry::Entry& entry, bool is_weight) {
            const DType wanted = is_weight ? dtype : computed_in(dtype);
            const Tensor& x = entry.value;
            if (is_floating_point(x.dtype()) && x.dtype() != wanted) use(name, entry, wanted);
        });
    };
    for_each_that_changes([&](const std::string& name, const Registry::Entry& entry, DType wanted) {
        if (!takes_gradient(wanted)) (void)entry.value.to(wanted);  // refuses what would be infinite
        if (!entry.value.is_leaf())
            throw GraphError("Module::to: '", name, "' of this ", kind(), " was made by ",
                             operation_of(entry.value), " in the graph; register its detach()");
    });
    for_each_that_changes(
        [](const std::string&, Registry::Entry& entry, DType wanted) { entry.become(entry.value.to(wanted)); });
}

void Module::pack(BlockFormat format) {
    ErrorList wrong;
    std::map<const TensorImpl*, Tensor> packed;
    for_each_tensor(*registry_, [&](const std::string& name, Registry::Entry& entry, bool is_weight) {
        const Tensor& x = entry.value;
        if (is_weight && !packed.contains(x.handle().get())) try {
                packed.emplace(x.handle().get(), weft::pack(x, format));
            } catch (const Error& error) {
                wrong.add(name + " " + x.shape().str() + ": " + error.what());
            }
    });
    if (!wrong.empty())
        throw ValueError("Module::pack: weights of this ", kind(), " cannot be ", weft::name(format), ":",
                         wrong);
    for_each_tensor(*registry_, [&](const std::string&, Registry::Entry& entry, bool) {
        if (const auto found = packed.extract(entry.value.handle().get())) entry.become(found.mapped());
    });
}

void Module::zero_grad() {
    for (auto& parameter : parameters()) parameter.zero_grad();
}

std::int64_t Module::num_parameters() const {
    std::int64_t count = 0;
    for (const auto& parameter : parameters()) count += parameter.numel();
    return count;
}

const std::string& Module::kind() const { return registry_->kind; }

void Module::Registry::Entry::become(const Tensor& x) {
    const bool trains = takes_gradient(x.dtype());
    if (value.requires_grad() && !trains) {
        was_trained = true;
        value.requires_grad_(false);
    }
    value.set_data(x);
    if (was_trained && trains) value.requires_grad_();
    was_trained &= !trains;
}

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

ForwardHook Module::hook(const std::string& path, std::function<Tensor(const Tensor&)> f) const {
    std::shared_ptr<Registry> at = registry_;
    std::string names = path;  // "blocks[3].attn" as "blocks.3.attn"
    std::erase(names, ']');
    std::ranges::replace(names, '[', '.');
    std::istringstream parts(names.substr(names.starts_with('.')));
    for (std::string part; std::getline(parts, part, '.');) {
        const auto found = std::ranges::find(at->children, part, [](const auto& child) { return child.first; });
        if (found == at->children.end()) {
            std::string known;
            for (const auto& [name, child] : at->children) known += (known.empty() ? "" : ", ") + name;
            if (known.empty()) known = "none";
            throw IndexError("Module::hook: ", Module(at).path(), " has no part \"", excerpt(part),
                             "\"; its parts are ", known);
        }
        at = found->second;
    }
    if (at->kind == "ModuleList")
        throw ValueError("Module::hook: ", Module(at).path(),
                         " is a list, which is never called itself; hook its parts");
    std::erase_if(at->hooks, [](const auto& hook) { return hook.expired(); });
    const auto function = std::make_shared<const ForwardHook::Function>(std::move(f));
    at->hooks.push_back(function);
    return ForwardHook(function);
}

Tensor Module::hooked(Tensor y) const {
    for (const auto& added : registry_->hooks) {  // a list: a hook may add others, and remove expired ones
        const auto hook = added.lock();
        if (!hook || Underway::is(hook.get())) continue;
        const Underway here(hook.get());
        const std::string mine = path();
        const Lent lent("a hook of ", {&y, 1}, mine);
        const Tensor result = (*hook)(y);
        if (result.shape() != y.shape())
            throw ShapeError("hook: the result has the shape ", result.shape(), ", and what it replaces ",
                             y.shape());
        if (result.dtype() != y.dtype())
            throw DTypeError("hook: the result is ", name(result.dtype()), ", and what it replaces ",
                             name(y.dtype()));
        y = result;
    }
    return y;
}

std::optional<Module> Ownership::owner_of(const GraphNode& leaf) {
    const auto registry = std::dynamic_pointer_cast<const Module::Registry>(leaf.owner.lock());
    if (!registry) return {};
    return Module(std::const_pointer_cast<Module::Registry>(registry));
}

Module Ownership::outermost(const Module& module) {
    const auto parent = module.registry_->parent.lock();
    return parent ? outermost(Module(parent)) : module;
}

bool Ownership::is_hooked(const Module& module) {
    return std::ranges::any_of(module.registry_->hooks, [](const auto& hook) { return !hook.expired(); });
}

std::string Module::summary() const {
    std::vector<std::vector<std::string>> rows{{"(this)", kind(), ""}};  // name, kind or shape, elements
    std::map<const TensorImpl*, std::string> first;                      // the first name of each tensor
    std::int64_t bytes = 0;

    const auto visit = [&](const auto& self, const Registry& registry, const std::string& prefix,
                           int depth) -> void {
        const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
        for (const Registry::Entry& entry : registry.tensors) {
            const auto& [name, value, role] = std::tie(entry.name, entry.value, entry.role);
            rows.push_back({indent + name, value.shape().str() + " " + weft::name(value.dtype()), "buffer"});
            if (role != Registry::parameter) continue;
            const auto [met, is_new] = first.emplace(value.handle().get(), prefix + name);
            rows.back().back() = is_new ? grouped(value.numel()) : "= " + met->second;
            if (is_new) bytes += bytes_of(value.dtype(), value.numel());
        }
        for (const auto& [name, child] : registry.children) {
            rows.push_back({indent + name, child->kind, ""});
            self(self, *child, prefix + name + ".", depth + 1);
        }
    };
    visit(visit, *registry_, "", 1);
    return format_table(rows) + "parameters: " + grouped(num_parameters()) + " (" + grouped(bytes) +
           " bytes)\n";
}

std::ostream& operator<<(std::ostream& out, const Module& module) { return out << module.summary(); }

}  // namespace weft::nn
