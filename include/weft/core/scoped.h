// A variable that has another value for a while.
#pragma once

#if __cplusplus < 202002L  // not #error, after which the compiler would go on to some 75 other errors
#include "Weft needs C++20: add -std=c++20"
#endif

#include <utility>

namespace weft {

// Guards are made of this: a variable has another value until the object goes out of scope.
//
//     int depth = 1;
//     {
//         const Scoped<int> deeper(depth, 2);  // depth is 2
//     }
//     // depth is 1
template <class T>
class Scoped {
public:
    // From now on the variable has this value; the destructor restores the previous one.
    Scoped(T& variable, T value) : variable_(variable), before_(std::exchange(variable, value)) {}
    ~Scoped() { variable_ = before_; }
    Scoped(const Scoped&) = delete;
    Scoped& operator=(const Scoped&) = delete;

private:
    T& variable_;
    const T before_;
};

// Internal: What runs on this thread, to notice that it is called again from inside.

// While it is alive, `what` runs on this thread.
class [[nodiscard]] Underway {
public:
    explicit Underway(const void* what) : what_(what), outer_(innermost_), here_(innermost_, this) {}
    // Whether it does.
    static bool is(const void* what) {
        const Underway* at = innermost_;
        while (at != nullptr && at->what_ != what) at = at->outer_;
        return at != nullptr;
    }

private:
    static constinit inline thread_local const Underway* innermost_ = nullptr;
    const void* const what_;
    const Underway* const outer_;
    const Scoped<const Underway*> here_;
};

}  // namespace weft
