// Which operations are recorded.
#pragma once

#include "weft/core/modes.h"

namespace weft {

// Whether this thread records operations; true at first.
//
//     const Tensor w = ones({2}).requires_grad_();
//     const NoGrad off;
//     const bool recorded = is_grad_enabled();  // false
//     const EnableGrad on;
//     const std::string last = operation_of(w * 2);  // "multiply"
//     const GradMode mode(false);                    // as NoGrad, from a value
//     const std::string none = operation_of(w * 2);  // "": not recorded
inline bool is_grad_enabled() { return !Modes::all(Modes::no_grad); }

// Turns recording off (NoGrad) or on (EnableGrad) in this thread until the guard goes out of scope, which
// restores the previous mode. Guards nest.
//
//     const Tensor w = ones({2}).requires_grad_();
//     Tensor y;
//     {
//         const NoGrad off;
//         y = w * 2;  // not recorded: y.requires_grad() is false
//     }
//     const Tensor z = w * 2;  // recorded: z.requires_grad() is true
class [[nodiscard]] GradMode {
public:
    explicit GradMode(bool enabled) : mode_(Modes::no_grad, !enabled) {}  // is_grad_enabled() becomes `enabled`

private:
    Modes mode_;
};
// Stops recording.
struct [[nodiscard]] NoGrad : GradMode {
    NoGrad() : GradMode(false) {}  // until it goes out of scope
};
// Resumes recording inside a NoGrad.
struct [[nodiscard]] EnableGrad : GradMode {
    EnableGrad() : GradMode(true) {}  // until it goes out of scope
};

}  // namespace weft
