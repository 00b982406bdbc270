// Looking on: what operations, the graph, backward and modules tell those who watch their thread. Trace,
// Profile, GradientLedger and BackwardWatch are such; nothing that is watched knows them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/core/modes.h"

namespace weft {

class Tensor;

// Derive a class from it and override what it shall be told; until an object goes out of scope it hears what
// its thread does. Observers nest. Each class is told, the innermost first, and of several objects of one class
// the innermost alone. None hears what it does itself. What it throws is an error of what it was told of, and
// those who heard that begin hear it end. An observer that is destroyed before one that was made later throws
// GraphError.
//
//     struct Counter : Observer {
//         int operations = 0;
//         void begins(const Part&) override { ++operations; }
//     };
//     const Tensor x = ones({2});
//     const Counter counter;
//     const Tensor y = exp(x) * x;
//     const int count = counter.operations;  // 2
class Observer {
public:
    // A part of a run that begins and ends.
    struct Part {
        // What it is.
        enum Kind {
            operation,  // of the library's, or of an Op
            rule,       // the gradient rule of an operation
            module,     // the call of one
            backward    // of backward or grad, not from inside another
        };
        Kind kind;               // which
        const char* name;        // of the operation, or the module's path
        std::uint64_t node = 0;  // of a rule: the number of its node
    };

    // An operation as the graph has recorded it. Inputs and saved tensors are there also if they are outside.
    struct Recorded {
        const char* operation;              // its name
        const Tensor& y;                    // the result
        const std::vector<Tensor>& inputs;  // as record was given them
        const std::vector<Tensor>& saved;   // for backward
    };

    // What backward passes along an edge of the graph: the gradient that the rule of `from` returned for its
    // input `input`.
    struct Passed {
        std::uint64_t from;      // the number of a node; 0 for the seed
        const char* operation;   // "seed" for the seed
        std::size_t input;       // which input of that operation
        std::uint64_t to;        // the number of the node that receives it
        const Tensor& gradient;  // what it receives
    };

    // A node whose gradient is complete.
    struct Visited {
        std::uint64_t number;    // the node's
        const char* operation;   // "leaf" for a leaf
        const Tensor& gradient;  // of its output
        bool hooked;             // a hook replaced the gradient
    };

    Observer(const Observer&) = delete;
    Observer& operator=(const Observer&) = delete;

    // What may be blocked for those outside: see Unwatched.
    enum Event : unsigned {
        none = 0,       // nothing
        parts = 1,      // begins, ends
        recording = 2,  // computes, records, moves
        naming = 4,     // names
        passing = 8,    // starts, passes, visits
        memory = 16     // allocates
    };
    // How many watch this thread.
    static int watching() { return innermost_ == nullptr ? 0 : innermost_->depth_; }
    // Calls f with each of the outermost `depth` that hears such an event.
    template <class F>
    static void tell(int depth, Event event, const F& f) {
        for (Observer* one = innermost_; one != nullptr; one = one->outer_) {
            if (one->depth_ > depth || one->is_told_) continue;
            if (one->blocks_ & event) return;
            if (one->is_replaced(depth)) continue;
            const Scoped<bool> telling(one->is_told_, true);
            f(*one);
        }
    }

    virtual void begins(const Part&) {}                                 // is told that a part begins
    virtual void ends(const Part&, bool well) noexcept { (void)well; }  // or with an error
    // An operation has made its result, in the graph or not.
    virtual void computes(const char* operation) { (void)operation; }
    virtual void records(const Recorded&) {}  // a node of the graph is made
    virtual void names(const char* name, const Tensor& x) { (void)name, (void)x; }  // by traced()
    virtual void allocates(std::int64_t bytes) { (void)bytes; }  // for an array that this thread makes
    // A jvp computes the tangent of a result: by the operation's "own rule", its "gradient rule", or that as a
    // "linear" function, or "transposed".
    virtual void moves(const char* operation, const char* how) { (void)operation, (void)how; }
    virtual void starts(const Tensor& root) { (void)root; }  // backward or grad has this root
    virtual void passes(const Passed&) {}                    // along an edge, in the order of backward
    virtual void visits(const Visited&) {}                   // a node, after all that use it

protected:
    // Watches this thread from now on, and keeps the events of `blocks` from those outside. Unless `refuses`,
    // it may go before one that was made later.
    explicit Observer(unsigned blocks = none, bool refuses = true);
    virtual ~Observer() noexcept(false);

private:
    bool is_replaced(int depth) const;

    static constinit inline thread_local Observer* innermost_ = nullptr;
    Observer* outer_;
    const int depth_;
    const unsigned blocks_;
    const bool refuses_;
    bool is_told_ = false;
};

// While it is active, this part of the run is watched.
//
//     const Watched reading({Observer::Part::module, "reader"});
class [[nodiscard]] Watched {
public:
    // The part begins, unless it is not `told`; it ends where this goes out of scope.
    explicit Watched(const Observer::Part& part, bool told = true)
        : part_(part), by_(told ? Observer::watching() : 0) {
        if (by_ > 0) [[unlikely]]
            begin();
    }
    ~Watched() {
        if (by_ > 0) [[unlikely]]
            end();
    }
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;

private:
    void begin();
    void end() const noexcept;
    const Observer::Part part_;
    const int by_;        // the observers that there were
    int exceptions_ = 0;  // and the errors on their way
};

// While it is active, observers that were there before do not hear such events: Unwatched(Observer::naming).
//
//     const Trace trace;
//     const Unwatched names(Observer::naming);
//     const Tensor y = traced("y", ones({2}));
//     const std::size_t noted = trace.entries().size();  // 0
class [[nodiscard]] Unwatched {
public:
    // Until it goes out of scope.
    explicit Unwatched(unsigned events) {
        if (Observer::watching() > 0) [[unlikely]]
            blocker_.emplace(events);
    }
    ~Unwatched() noexcept {}
    Unwatched(const Unwatched&) = delete;
    Unwatched& operator=(const Unwatched&) = delete;

private:
    struct Blocker : Observer {
        explicit Blocker(unsigned events) : Observer(events, false) {}
    };
    std::optional<Blocker> blocker_;
};

}  // namespace weft
