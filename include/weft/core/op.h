// The name of the operation that runs.
#pragma once

#include <algorithm>
#include <string>

#include "weft/core/observer.h"

namespace weft {

// The operation that this thread runs, until the object goes out of scope. They nest. The graph gives a result
// the name of the innermost, and a Profile measures the outermost. An error has the name of the innermost; one
// that is made of others leaves graph and profile to those, and its name is that of all errors inside. `name`
// must outlive the graph: pass a string literal. So mean, which is made of sum and a quotient, is an Op of
// others: the graph has "sum" and "divide", and whatever fails inside says "mean: …".
//
//     const Op here("reading the batch");
class [[nodiscard]] Op {
public:
    // Who computes it.
    enum Made {
        by_itself,  // the operation
        of_others   // operations inside
    };
    // Until it goes out of scope.
    explicit Op(const char* name, Made made = by_itself)
        : name_(name),
          outer_(innermost_),
          speaker_(speaker(outer_, made == of_others ? name : nullptr)),
          part_({Observer::Part::operation, name}, made == by_itself) {
        innermost_ = this;
    }
    ~Op() { innermost_ = outer_; }
    Op(const Op&) = delete;
    Op& operator=(const Op&) = delete;

    // Of the innermost; "" outside all.
    static const char* name() { return innermost_ == nullptr ? "" : innermost_->name_; }
    // A message that begins with an operation's name and ": ", with that of who speaks.
    static std::string spoken(std::string message);

    // While it is active, operations are inside none of those before: gradient rules, hooks, modules.
    class [[nodiscard]] Apart {
    public:
        Apart() : none_(innermost_, nullptr) {}  // until it goes out of scope

    private:
        const Scoped<const Op*> none_;
    };

private:
    static const char* speaker(const Op* outer, const char* otherwise) {
        return outer == nullptr || outer->speaker_ == nullptr ? otherwise : outer->speaker_;
    }
    static constinit inline thread_local const Op* innermost_ = nullptr;
    const char* const name_;
    const Op* const outer_;
    const char* const speaker_;
    const Watched part_;
};

inline std::string Op::spoken(std::string message) {
    const char* const by = speaker(innermost_, nullptr);
    if (by == nullptr) return message;
    const std::size_t at = message.find(": ");
    if (at == std::string::npos) return std::string(by) + ": " + message;
    message.replace(0, at, by);
    return message;
}

}  // namespace weft
