// What Python does with a module's attributes: a name can be given another value, or deleted. In C++, what is
// registered stays.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "weft/nn/module.h"

namespace weft::nn {

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
