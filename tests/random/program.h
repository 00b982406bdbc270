// Random programs of Weft's operations, to look for one whose gradients differ from route to route. A program
// is a list of statements, each of which makes one tensor from earlier ones; a seed makes it. It can be run in
// several ways (Run), compared (routes.cpp), made smaller, and written as C++ or as Python for PyTorch.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "weft/core.h"
#include "weft/nn/module.h"

namespace random_programs {

using namespace weft;
using Numbers = std::vector<double>;

struct Statement {
    std::size_t row = 0;   // index into rows()
    std::vector<int> in;   // the statements whose tensors it takes
    Numbers numbers;       // axes, sizes, seeds, …: what they mean the row knows
    double hook = 0;       // a hook on its tensor multiplies the gradient by this; 0 for no hook
    bool no_grad = false;  // run under NoGrad
    bool island = false;   // run under EnableGrad inside a NoGrad
};

struct Program {
    std::uint64_t seed = 0;
    DType dtype = float64;
    std::vector<Statement> statements;
    std::vector<int> outputs;  // statements whose tensors, contracted with random seeds, are differentiated …
    std::vector<int> targets;  // … with respect to these
};

// A module that a program has made: what it does to its operands (in training mode with a seed for dropout, or
// in evaluation mode with 0), and its parameters.
struct ModuleInstance {
    std::function<Tensor(const std::vector<Tensor>&, std::uint64_t seed)> call;
    std::vector<Tensor> parameters;
};

// How a program is run.
struct RunOptions {
    DType dtype = float64;
    bool composed = false;  // under Plain(Plain::operations)
    bool copies = false;    // every result is copied, so that no statement sees a view
    bool notes = false;     // Run::values and changes are written
};

// What a program computes around the values of another run, as a function that finite differences may
// differentiate: what that run held constant (NoGrad, detach) is constant, a hook's factor is a factor, and
// what a statement changes in place it changes by the same amount.
struct Perturbation {
    const std::vector<Tensor>* values = nullptr;   // value of each statement when it was made
    const std::vector<Tensor>* changes = nullptr;  // change by each in-place statement; undefined elsewhere
    std::map<int, Tensor> shift;                   // added to these statements' tensors
    bool graph = false;                            // whether the graph is recorded
    bool held = true;  // whether indices, and what is outside the graph, are those of `values`
    double uses = 0;   // each operand is multiplied by 1 + as much, at random, and so is its gradient
};

struct Run {
    std::vector<Tensor> tensors;          // tensor of each statement
    std::vector<Tensor> points;           // the same, before a hook's factor: what is a target
    std::vector<Tensor> values, changes;  // as Perturbation takes them
    std::map<int, std::shared_ptr<ModuleInstance>> modules;  // by the statement that made them
};

// A row's function sees the tensors of its operands, its numbers, and the run for what is no tensor.
struct Call {
    const std::vector<Tensor>& x;
    const Numbers& n;
    const Statement& statement;
    DType dtype;
    Run& run;
    int self;

    std::int64_t integer(std::size_t i) const { return static_cast<std::int64_t>(n.at(i)); }
    int axis(std::size_t i) const { return static_cast<int>(n.at(i)); }
    Shape shape(std::size_t from) const {
        Shape s;
        for (std::size_t i = from; i < n.size(); ++i) s.push_back(integer(i));
        return s;
    }
    Axes axes(std::size_t from) const {
        Axes a;
        for (std::size_t i = from; i < n.size(); ++i) a.axes.push_back(axis(i));
        return a;
    }
    ModuleInstance& module(std::size_t i) const { return *run.modules.at(statement.in.at(i)); }
};

class ProgramBuilder;

enum Flag : unsigned {
    fused = 1,      // its gradient is computed otherwise with create_graph
    rounds = 2,     // finite differences do not apply
    constant = 4,   // its result is outside the graph
    stored = 8,     // PyTorch gets its values: a leaf, or a random draw
    in_place = 16,  // changes its first operand
    rare = 32,
    nested = 64,  // calls grad
    state = 128,  // changes what a leaf is or holds: in_place too, and no function that differences could check
};

// One way to use an operation.
struct Row {
    std::string declaration;  // as in the table of operations; "" for what is not there
    std::string cpp, python;  // $0 … are operands, #0 … numbers, #1* the numbers from there on, $1* likewise;
                              // empty python: as cpp
    std::function<bool(ProgramBuilder&, Statement&)> choose;  // operands and numbers; false where nothing fits
    std::function<Tensor(const Call&)> run;
    unsigned flags = 0;
    std::function<std::string(const Statement&, bool python)> text = {};  // in place of the two patterns
    // What PyTorch gets in place of the values, such as the factors of dropout; undefined: nothing.
    std::function<Tensor(const Statement&, const std::vector<Tensor>& values)> drawn = {};
};
std::vector<Row>& rows();                          // a test puts a wrong one in, to see it found
std::size_t row_called(const std::string& begin);  // the first whose C++ begins so
inline const Row& row_of(const Statement& s) { return rows()[s.row]; }

// A program that is being made, run as it grows.
class ProgramBuilder {
public:
    explicit ProgramBuilder(std::uint64_t seed);
    Program make();

    // ---- what rows choose with
    Rng rng;
    bool coin(double p) { return rng.uniform() < p; }
    int number(int low, int high) { return static_cast<int>(rng.randint(low, high + 1)); }  // both included
    template <class T>
    T one_of(std::initializer_list<T> list) {
        return list.begin()[rng.randint(0, static_cast<std::int64_t>(list.size()))];
    }
    const Tensor& at(int i) const { return run_.tensors[static_cast<std::size_t>(i)]; }
    // A statement whose tensor passes, later ones more often; −1 where none does.
    int any(const std::function<bool(const Tensor&)>& passes);
    int floating();                       // a floating tensor of the program's type
    int ranked(int least, int most = 8);  // floating, of such a rank
    int shaped(const Shape& shape);       // floating of this shape: one that is there, or a new leaf
    int fits(const Shape& shape);         // floating that broadcasts with it
    int ids(const Shape& shape, std::int64_t high, std::int64_t low = 0);  // int64 in [low, high)
    int bools(const Shape& shape);                                         // bool of this shape
    int module(const std::string& what, const Numbers& numbers);           // a new one, with its parameters
    int leaf(bool in_graph);  // a statement that made a leaf, of the program's type; −1 where there is none
    std::vector<int> parameters_of(int module) const;
    std::int64_t size() { return sizes_[static_cast<std::size_t>(number(0, 2))]; }
    int axis(const Tensor& x) { return number(-x.rank(), x.rank() - 1); }
    Run& run() { return run_; }

private:
    bool add(Statement statement);  // runs it; false, and nothing is changed, where it does not suit
    int add_row(const std::string& cpp, const std::vector<int>& in, const Numbers& numbers);
    int add_leaf(const std::string& cpp, Numbers numbers, const Shape& shape);
    void choose_ends();
    Program program_;
    Run run_;
    std::vector<std::int64_t> sizes_;
    bool large_ = false;  // sizes beyond the tiles and strips of the kernels
};

// Runs one statement more; the tensors of the earlier ones are in `run`.
void step(const Program& program, std::size_t i, const RunOptions& run_options,
          const Perturbation* perturbation, Run& run);
Run run(const Program& program, const RunOptions& run_options, const Perturbation* perturbation = nullptr);

// The difference between two routes; empty where all agree.
struct Verdict {
    std::string route;  // which one, e.g. "create_graph"; empty: none
    std::string what;   // numbers
    explicit operator bool() const { return route.empty(); }
};
// How many times each route was compared, and how often differences were not conclusive.
using Counts = std::map<std::string, std::int64_t>;
Verdict compare(const Program& program, Counts& counts);
// For PyTorch: a line of JSON with the program, the values it starts from, and its gradients of both orders;
// empty where there is nothing to compare (a run that is refused, or one on a kink).
std::string json(const Program& program);

// A smaller program that fails by the same route.
Program minimised(const Program& program, const std::string& route);
// As the texts write a number and a statement's tensor.
std::string number(double value);
std::string r(int statement);

std::string as_cpp(const Program& program);
std::vector<std::string> as_python(const Program& program);

}  // namespace random_programs
