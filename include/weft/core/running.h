// Internal: What runs on this thread, to notice that it is called again from inside.
#pragma once

#include "weft/core/scoped.h"

namespace weft {

// While it is alive, `what` runs on this thread.
class [[nodiscard]] Running {
public:
    explicit Running(const void* what) : what_(what), outer_(innermost_), here_(innermost_, this) {}
    // Whether it does.
    static bool is(const void* what) {
        const Running* at = innermost_;
        while (at != nullptr && at->what_ != what) at = at->outer_;
        return at != nullptr;
    }

private:
    static constinit inline thread_local const Running* innermost_ = nullptr;
    const void* const what_;
    const Running* const outer_;
    const Scoped<const Running*> here_;
};

}  // namespace weft
