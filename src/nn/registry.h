// What a module registers; shared by its copies.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>

#include "weft/nn/module.h"
#include "weft/nn/states.h"
#include "weft/watch/trace.h"

namespace weft::nn {

struct Module::Registry : LeafOwner {
    enum Role { parameter, buffer, transient_buffer };  // a transient one is not in the state_dict
    struct Entry {
        std::string name;
        Tensor value;
        Role role;
        bool is_weight = false;        // may be half or in blocks
        bool was_trained = false;      // before it was
        void become(const Tensor& x);  // takes its values and their form
    };
    std::string kind;
    bool training = true;
    std::vector<Entry> tensors;  // parameters, then buffers
    NamedGenerators generators;
    std::vector<std::pair<std::string, std::shared_ptr<Registry>>> children;
    std::list<std::weak_ptr<const std::function<Tensor(const Tensor&)>>> hooks;  // of the module's results
    std::weak_ptr<Registry> parent;  // the first that it was registered with, under this name
    std::string name;
    std::map<std::string, const char*> names;  // all names, and what each one names: "parameter", "child", …

    // The registry of a module's copy: the same, and under nn::clone one of clones.
    static std::shared_ptr<Registry> copied(const std::shared_ptr<Registry>& registry);
    // ValueError unless `name` is valid and free for a new `what` ("parameter", "child", …).
    void check_name(const std::string& name, const char* what) const;
};

// Calls visit(prefix, registry) for a registry and its descendants: "", "child.", "child.grandchild.", … Node
// is Module::Registry, which is private, or const.
template <class Node, class Visit>
void for_each_module(const std::string& prefix, Node& registry, const Visit& visit) {
    visit(prefix, registry);
    for (const auto& [name, child] : registry.children) for_each_module(prefix + name + ".", *child, visit);
}

// Which module is whose.
struct Ownership {
    // The module that registered a leaf of the graph, if it still exists.
    static std::optional<Module> owner_of(const GraphNode& leaf);
    // The module that `module` is a part of and that is itself a part of none.
    static Module outermost(const Module& module);
    // Whether it has hooks.
    static bool is_hooked(const Module& module);
};

// Whether elements share memory, so that nothing can be written to x.
bool is_expanded(const Tensor& x);

// What Python does with a module's attributes: a name can be given another value, or deleted. In C++, what is
// registered stays.

// Each set function registers a value in the place of what has that name, or at the end if none has; as the
// register functions do, it throws before anything has changed.
struct Attributes {
    // What is registered under a name: "parameter", "buffer", "generator" or "child"; "" if nothing is.
    static std::string kind(const Module& module, const std::string& name);
    // A frozen parameter stays frozen. Returns it, contiguous.
    static Tensor set_parameter(Module& module, const std::string& name, Tensor value);
    // Without `persistent`, a buffer that is replaced passes its own on, and a new one is persistent.
    static void set_buffer(Module& module, const std::string& name, const Tensor& value,
                           std::optional<bool> persistent);
    static void set_child(Module& module, const std::string& name, const Module& child);
    static void remove(Module& module, const std::string& name);

private:
    static void set(Module& module, const std::string& name, const std::function<void()>& register_new);
};

}  // namespace weft::nn
