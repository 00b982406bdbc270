// What hangs on a module: copies, conversions, hooks, whose it is, its table, and what Python does with
// attributes.
#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <sstream>
#include <tuple>

#include "nn/registry.h"
#include "weft/base/text.h"
#include "weft/core/modes.h"
#include "weft/core/record.h"
#include "weft/packed/packed.h"

namespace weft::nn {

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

// Registering again, and no longer: the attributes of Python's modules.

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
