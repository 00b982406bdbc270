// What a run leaves to be looked at: the tensors that it named on its way, and the graph behind its result.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/tensor.h"

namespace weft {

// A tensor that a run has named.
struct TraceEntry {
    std::string name;  // as the run called it
    Tensor tensor;     // the tensor itself
};

// While one of these lives, traced() writes down what it is given on this thread. They nest: the innermost gets
// it all. Attention computed by its fused kernel has no scores and no weights to name: see Composed.
class [[nodiscard]] Trace {
public:
    Trace();
    ~Trace();
    Trace(const Trace&) = delete;
    Trace& operator=(const Trace&) = delete;

    const std::vector<TraceEntry>& entries() const { return entries_; }  // in the order of the run
    void add(const char* name, const Tensor& x);                         // what traced() calls

    static Trace* current() { return current_; }  // of this thread; null when none lives

private:
    friend class NoTrace;
    static constinit thread_local Trace* current_;
    Trace* before_;
    std::vector<TraceEntry> entries_;
};

// While one of these lives, no Trace of this thread writes anything down. Backward holds one while it calls the
// gradient rule of an operation.
class NoTrace {
public:
    NoTrace() : before_(Trace::current_) { Trace::current_ = nullptr; }
    ~NoTrace() { Trace::current_ = before_; }
    NoTrace(const NoTrace&) = delete;
    NoTrace& operator=(const NoTrace&) = delete;

private:
    Trace* before_;
};

// x itself, any shape; written down under `name` while a Trace lives. An undefined x is not.
inline const Tensor& traced(const char* name, const Tensor& x) {
    if (Trace::current() != nullptr) [[unlikely]]
        Trace::current()->add(name, x);
    return x;
}
inline Tensor traced(const char* name, Tensor&& x) {
    traced(name, x);
    return std::move(x);
}

// A node of the graph as it can be told to a reader.
struct GraphNode {
    std::uint64_t number = 0;         // larger than those of its inputs
    std::string operation;            // "leaf" for a leaf
    Shape shape;                      // of its output
    DType dtype = float32;            // of its output
    std::vector<std::size_t> inputs;  // positions in the list, in the operation's order; without those outside
                                      // the graph
};

// Every node that x was made from, each once, inputs before what uses them, x's own last; empty when x is
// outside the graph. Tensors that need no gradient (data, masks) are not in the graph, and so not here.
std::vector<GraphNode> graph_nodes(const Tensor& x);
// The same of several tensors together, in the order of their numbers.
std::vector<GraphNode> graph_nodes(const std::vector<Tensor>& outputs);

// The number of x's node; 0 outside the graph.
std::uint64_t graph_number(const Tensor& x);

// What stands for the memory that x's values are in: equal where shares_storage() says so.
const void* storage_of(const Tensor& x);

}  // namespace weft
