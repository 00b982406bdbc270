// What nn::clone copies.
#pragma once

#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <utility>

#include "weft/core/modes.h"
#include "weft/core/random.h"

namespace weft::nn {

// While one is active on this thread, a copy of a module, of a registered tensor or of a Shared is no handle
// but a clone, the same one for each copy of the same thing. For nn::clone, and for what a module shares with
// its copies: see Shared.
//
//     const nn::Cloning copies;
//     const nn::Linear copy = layer;  // has tensors of its own, as nn::clone(layer)
class [[nodiscard]] Cloning {
public:
    // Until it goes out of scope.
    Cloning() : here_(current_, this) {}

    // x itself; while a Cloning is active what make(*x) returned when x was first copied. A clone is its own.
    template <class T, class Make>
    static std::shared_ptr<T> copied(const std::shared_ptr<T>& x, const Make& make) {
        if (!current_ || !x) return x;
        auto& copies = current_->copies_;
        if (const auto found = copies.find(x.get()); found != copies.end())
            return std::static_pointer_cast<T>(found->second);
        const std::shared_ptr<T> made = make(*x);
        return copies[x.get()] = copies[made.get()] = made, made;
    }

private:
    static constinit inline thread_local Cloning* current_ = nullptr;
    Scoped<Cloning*> here_;
    std::map<const void*, std::shared_ptr<void>> copies_;
};

// What a module shares with its copies besides what it registers, as ModuleList its items: a pointer, whose
// copy under nn::clone points to a copy of its own.
//
//     struct Counted : nn::Module {
//         nn::Shared<int> calls{std::make_shared<int>(0)};
//     };
//     const Counted a, b = a, c = nn::clone(a);
//     ++*a.calls;  // *b.calls is 1, *c.calls is 0
template <class T>
class Shared {
public:
    Shared(std::nullptr_t = nullptr) {}                                // points to nothing
    Shared(std::shared_ptr<T> object) : object_(std::move(object)) {}  // to what others may hold, too
    // To the same object; under nn::clone to a copy.
    Shared(const Shared& other)
        : object_(Cloning::copied(other.object_, [](const T& x) { return std::make_shared<T>(x); })) {}
    Shared& operator=(const Shared&) = delete;  // a module's parts stay what they are

    T& operator*() const { return *object_; }                // the object
    T* operator->() const { return object_.get(); }          // its members
    T* get() const { return object_.get(); }                 // its address, or null
    explicit operator bool() const { return get(); }         // whether it points to one
    operator std::shared_ptr<T>() const { return object_; }  // another owner of it

private:
    std::shared_ptr<T> object_;
};

// Internal: Undoes the draws of a constructor that throws.

// If an exception destroys it, puts the generator back to where it was. A constructor that draws more than once
// delegates to one that takes a guard: the guard lives until that one has returned or thrown.
class RngGuard {
public:
    explicit RngGuard(Rng& rng) : rng_(rng), before_(rng.state()), exceptions_(std::uncaught_exceptions()) {}
    ~RngGuard() {
        if (std::uncaught_exceptions() > exceptions_) rng_.set_state(before_);
    }
    RngGuard(const RngGuard&) = delete;
    RngGuard& operator=(const RngGuard&) = delete;
    operator Rng&() const { return rng_; }

private:
    Rng& rng_;
    Rng::State before_;
    int exceptions_;
};

}  // namespace weft::nn
