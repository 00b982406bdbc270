// Chapter 4: the graph that a computation leaves, and the pass back through it.
#include <cmath>
#include <map>

#include "chapter.h"

// From here on the page shows the program.
#include <algorithm>
#include <functional>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "weft/weft.h"

using namespace weft;

namespace {

Tensor leaf(double value) { return tensor(value, float64).requires_grad_(); }

// y = x + h with x = a · b and h = w · x, so x is used twice.
struct Residual {
    Tensor a = leaf(2), b = leaf(5), w = leaf(3);
    Tensor x = a * b;  // 10
    Tensor h = w * x;  // 30
    Tensor y = x + h;  // 40
};

void the_graph(Chapter& chapter) {
    chapter.section("The graph");
    const Residual r;
    const std::vector<GraphNode> nodes = graph_nodes(r.y);
    for (std::size_t n = 0; n < nodes.size(); ++n) {
        std::cout << n << " " << nodes[n].operation;
        for (const std::size_t input : nodes[n].inputs) std::cout << " " << input;
        std::cout << "\n";
    }

    chapter.section("The order");
    std::set<std::size_t, std::greater<>> waiting = {nodes.size() - 1};  // the root
    while (!waiting.empty()) {
        const std::size_t n = *waiting.begin();  // the highest number
        waiting.erase(n);
        waiting.insert(nodes[n].inputs.begin(), nodes[n].inputs.end());
        std::cout << "visit " << n << " " << nodes[n].operation << ", then waiting:";
        for (const std::size_t m : waiting) std::cout << " " << m;
        std::cout << "\n";
    }
}

void backward() {
    const Residual r;
    r.y.backward();
    std::cout << "dy/da = " << r.a.grad() << ", dy/db = " << r.b.grad() << ", dy/dw = " << r.w.grad() << "\n";
}

void ledger() {
    const Residual r;
    const GradientLedger ledger;
    r.y.backward();
    std::cout << viz::ledger_table(ledger,
                                   {{"a", r.a}, {"b", r.b}, {"w", r.w}, {"x", r.x}, {"h", r.h}, {"y", r.y}});
}

void ledger_of_tensors() {
    const Tensor X = tensor({{1, 2}, {3, 4}}, float64).requires_grad_();  // (2, 2)
    const Tensor b = tensor({10, 20}, float64).requires_grad_();          // (2,)
    const Tensor S = X + b;                                               // (2, 2)
    const Tensor L = sum(S * X);                                          // ()
    const GradientLedger ledger;
    L.backward();
    std::cout << viz::ledger_table(ledger, {{"X", X}, {"b", b}, {"S", S}, {"L", L}});
}

void accumulation() {
    Tensor a = leaf(2), b = leaf(3);
    const Tensor y = (a + b) + a;
    y.backward({}, true);  // the default seed; retain_graph
    std::cout << "a " << a.grad() << ", b " << b.grad() << "\n";
    y.backward();
    std::cout << "a " << a.grad() << ", b " << b.grad() << "\n";
    a.zero_grad();
    std::cout << "a has " << (a.grad().defined() ? "a gradient" : "no gradient") << "\n";
}

void twice() {
    const Residual r;
    r.y.backward();
    try {
        r.y.backward();
    } catch (const Error& error) {
        std::cout << "refused: " << error.what() << "\n";
    }
}

void outside() {
    Tensor x = leaf(3);
    (x.detach() * x).backward();  // the left factor is the number 3
    std::cout << "with detach: " << x.grad();
    x.zero_grad();
    (x * x).backward();
    std::cout << ", without: " << x.grad() << "\n";
    {
        const NoGrad off;
        const bool recorded = (x * x).requires_grad();
        std::cout << "under NoGrad, x * x is " << (recorded ? "recorded" : "not recorded") << "\n";
        x.add_(x.grad(), -0.1);  // a step of gradient descent: 3 − 0.1 · 6
    }
    std::cout << "x = " << x << "\n";
}

// ---- Break it

struct Edge {
    std::size_t input;  // position of the input in the graph
    double derivative;  // of this value with respect to that input
};
struct Value {
    std::string name;
    std::vector<Edge> edges = {};
    double gradient = 0;
};
using Graph = std::vector<Value>;  // inputs first, the root last
using Order = std::vector<std::size_t> (*)(const Graph&);

// Passes gradients on in the order given.
void walk(Graph& graph, const std::vector<std::size_t>& order) {
    graph.back().gradient = 1;
    for (const std::size_t n : order)
        for (const Edge& edge : graph[n].edges)
            graph[edge.input].gradient += edge.derivative * graph[n].gradient;
}

std::vector<std::size_t> by_number(const Graph& graph) {
    std::vector<std::size_t> order;
    for (std::size_t n = graph.size(); n-- > 0;) order.push_back(n);
    return order;
}

// Wrong: a node, then each of its inputs with all that is below it, as often as it is reached.
std::vector<std::size_t> recursive(const Graph& graph, std::size_t n) {
    std::vector<std::size_t> order = {n};
    for (const Edge& edge : graph[n].edges)
        for (const std::size_t below : recursive(graph, edge.input)) order.push_back(below);
    return order;
}
std::vector<std::size_t> recursive(const Graph& graph) { return recursive(graph, graph.size() - 1); }

// Wrong: the root, then its inputs, then theirs, each once.
std::vector<std::size_t> breadth_first(const Graph& graph) {
    std::vector<std::size_t> order = {graph.size() - 1};
    for (std::size_t i = 0; i < order.size(); ++i)
        for (const Edge& edge : graph[order[i]].edges)
            if (std::find(order.begin(), order.end(), edge.input) == order.end()) order.push_back(edge.input);
    return order;
}

// The graph of the figures, where y lists its inputs as given.
Graph residual(const std::vector<Edge>& inputs_of_y) {
    return {{"a"},
            {"b"},
            {"w"},
            {"x", {{0, 5}, {1, 2}}},   // x = a · b: derivatives b and a
            {"h", {{2, 10}, {3, 3}}},  // h = w · x: derivatives x and w
            {"y", inputs_of_y}};
}
const Graph x_plus_h = residual({{3, 1}, {4, 1}}), h_plus_x = residual({{4, 1}, {3, 1}});

void compare_walks() {
    const auto show = [](const char* title, Graph graph, const std::vector<std::size_t>& order) {
        walk(graph, order);
        std::string names;
        for (const std::size_t n : order) names += graph[n].name + " ";
        std::printf("%-20s  %-18s  da %g, db %g, dw %g\n", title, names.c_str(), graph[0].gradient,
                    graph[1].gradient, graph[2].gradient);
    };
    for (const auto& [name, order] : {std::pair<const char*, Order>{"by number", by_number},
                                      {"recursive", recursive},
                                      {"breadth first", breadth_first}}) {
        show((std::string("x + h, ") + name).c_str(), x_plus_h, order(x_plus_h));
        show((std::string("h + x, ") + name).c_str(), h_plus_x, order(h_plus_x));
    }
}

// x ← x + x/2, `blocks` times: the gradient of the first x is 1.5 to that power.
double gradient_through(int blocks, Order order) {
    Graph graph = {{"x"}};
    for (int i = 0; i < blocks; ++i) {
        const std::size_t x = graph.size() - 1;
        graph.push_back({"h", {{x, 0.5}}});
        graph.push_back({"x", {{x, 1}, {x + 1, 1}}});
    }
    walk(graph, order(graph));
    return graph[0].gradient;
}

void compare_depths() {
    std::printf("blocks  by number  recursive  breadth first\n");
    for (const int blocks : {1, 2, 4, 8, 12})
        std::printf("%6d  %9.4g  %9.4g  %13.4g\n", blocks, gradient_through(blocks, by_number),
                    gradient_through(blocks, recursive), gradient_through(blocks, breadth_first));
}

// ---- figures

struct Spot {
    double x, y;
};
nn::NamedTensors names(const Residual& r) {
    return {{"a", r.a}, {"b", r.b}, {"w", r.w}, {"x", r.x}, {"h", r.h}, {"y", r.y}};
}
const std::map<std::string, Spot> spots = {{"a", {70, 75}},   {"b", {70, 170}},  {"w", {70, 280}},
                                           {"x", {265, 122}}, {"h", {430, 250}}, {"y", {565, 122}}};
constexpr double box_width = 104, box_height = 48;

// From the edge of one box to that of another, both on the straight line between their middles.
void connect(viz::Drawing& drawing, const std::string& from, const std::string& to, const std::string& text,
             const viz::Stroke& stroke) {
    const Spot p = spots.at(from), q = spots.at(to);
    const double dx = q.x - p.x, dy = q.y - p.y;
    const double out = std::min((box_width / 2 + 3) / std::max(std::abs(dx), 1e-9),
                                (box_height / 2 + 3) / std::max(std::abs(dy), 1e-9));
    drawing.arrow(p.x + out * dx, p.y + out * dy, q.x - out * dx, q.y - out * dy, stroke);
    if (text.empty()) return;
    const double length = std::hypot(dx, dy), above = dx > 0 ? 15 : -15;
    drawing.text((p.x + q.x) / 2 + above * dy / length, (p.y + q.y) / 2 - above * dx / length, text,
                 {15, "middle", stroke.colour, true});
}

void node(viz::Drawing& drawing, const std::string& name, const std::string& text, bool is_leaf,
          const std::string& colour) {
    const Spot at = spots.at(name);
    drawing.box(at.x - box_width / 2, at.y - box_height / 2, box_width, box_height, text,
                {.fill = is_leaf ? "#fdeeba" : "#f4f6f9", .stroke = {colour, 1.5}, .label = {.size = 14}});
}

std::string whole(const Tensor& t) { return std::to_string(static_cast<int>(t.item())); }

std::string graph_figure() {
    const Residual r;
    const std::string blue = viz::palette(0);
    viz::Drawing drawing(640, 325, "The graph of y = x + h with x = a b and h = w x");
    drawing.text(320, 24, "forward: the values", {.size = 14, .colour = blue, .bold = true});
    const std::map<std::string, std::string> formulas = {
        {"x", "x = a · b"}, {"h", "h = w · x"}, {"y", "y = x + h"}};
    for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
             {"a", "x"}, {"b", "x"}, {"w", "h"}, {"x", "h"}, {"x", "y"}, {"h", "y"}})
        connect(drawing, from, to, "", {blue, 1.8});
    for (const auto& [name, tensor] : names(r))
        node(drawing, name, (tensor.is_leaf() ? name : formulas.at(name)) + "\n" + whole(tensor),
             tensor.is_leaf(), blue);
    return drawing.svg();
}

std::string ledger_figure() {
    const Residual r;
    const GradientLedger ledger;
    r.y.backward();
    const std::string red = viz::palette(1);
    viz::Drawing drawing(640, 325, "The same graph backward, with what each edge contributes");
    drawing.text(320, 24, "backward: what each edge contributes, and the sums",
                 {.size = 14, .colour = red, .bold = true});
    std::map<std::uint64_t, std::string> name_of;
    for (const auto& [name, tensor] : names(r)) name_of[graph_number(tensor)] = name;
    for (const LedgerEntry& entry : ledger.entries()) {
        const std::string& name = name_of.at(entry.number);
        std::string sum;
        for (const LedgerTerm& term : entry.terms) {
            sum += (sum.empty() ? "" : " + ") + whole(term.gradient);
            if (term.from != 0) connect(drawing, name_of.at(term.from), name, whole(term.gradient), {red, 1.8});
        }
        if (entry.terms.size() > 1) sum += " = " + whole(entry.gradient);
        node(drawing, name, "d" + name + "\n" + sum, entry.operation == "leaf", red);
    }
    return drawing.svg();
}

std::string depth_figure() {
    std::vector<double> blocks, right, recursion, breadth;
    for (int n = 1; n <= 12; ++n) {
        blocks.push_back(n);
        right.push_back(gradient_through(n, by_number));
        recursion.push_back(gradient_through(n, recursive));
        breadth.push_back(gradient_through(n, breadth_first));
    }
    viz::Plot plot({.title = "Gradient of the first x through residual blocks",
                    .x = "blocks",
                    .y = "gradient",
                    .log_y = true,
                    .height = 320,
                    .legend = "top-left"});
    plot.line(blocks, right, "each node after all its consumers", {.markers = true});
    plot.line(blocks, recursion, "recursive", {.markers = true});
    plot.line(blocks, breadth, "breadth first", {.markers = true});
    return plot.svg();
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    the_graph(chapter);
    chapter.section("Backward");
    backward();
    chapter.section("The ledger");
    ledger();
    chapter.section("The ledger of tensors");
    ledger_of_tensors();
    chapter.section("Accumulation");
    accumulation();
    chapter.section("Twice");
    twice();
    chapter.section("Outside the graph");
    outside();
    chapter.section("Break it: three orders");
    compare_walks();
    std::cout << "\n";
    compare_depths();

    chapter.figure("04_graph", graph_figure());
    chapter.figure("04_ledger", ledger_figure());
    chapter.figure("04_depth", depth_figure());
}
