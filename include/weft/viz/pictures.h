// Pictures of a computation: the story of its tensors, attention maps, the graph, and masks as grids, as text
// or SVG. The same values give the same bytes in every locale. B samples, H heads, T queries, S keys.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "weft/core/mask.h"
#include "weft/core/tensor.h"
#include "weft/nn/module.h"
#include "weft/watch/trace.h"

namespace weft::viz {

// A module or a function from tensor to tensor.
using Run = std::function<Tensor(const Tensor&)>;

// ---- the tensor story

// Where the values of a tensor are stored.
enum class Memory {
    given,  // not computed in the run, or not recorded: the input, ids, masks
    own,    // new values in their own storage
    view,   // in the storage of an earlier tensor
    copy    // an earlier tensor's values, rearranged, in their own storage
};
// One tensor of a run.
//
//     const nn::Linear layer(3, 2);
//     const viz::StoryOptions small{.values_up_to = 10};
//     const viz::Story story = viz::tensor_story(layer, ones({1, 3}), small);
//     for (const viz::StoryRow& row : story.rows) shapes.push_back(row.shape);
struct StoryRow {
    std::string name;        // traced name (weft/watch/trace.h); the second tensor of a name is "name #2"
    Shape shape;             // the tensor's shape
    Strides strides;         // in elements
    DType dtype = float32;   // the type of its elements
    bool contiguous = true;  // row-major without gaps
    std::vector<std::string> made_by;  // the operations since earlier named tensors, in order
    Memory memory = Memory::given;     // where the values are stored
    std::string of;                    // the earlier tensor that this is a view or copy of
    Tensor values;                     // a copy; undefined if there are more than values_up_to
};
// The tensors of a run, in order.
struct Story {
    std::vector<StoryRow> rows;  // one per tensor
    std::string str() const;     // a table with a row for each tensor, then the values of the small ones
    void print() const;          // writes str() to standard output
};
// Options of a story.
struct StoryOptions {
    std::int64_t values_up_to = 64;  // values are shown for tensors of at most so many elements
};
// Calls `run(input)` under Plain(Plain::operations) and lists every traced tensor, the input first and the
// output last. A tensor with two names is listed once, as "Y = X". A module runs in its current mode, so
// dropout draws in training mode. The gradients of the input and the parameters do not change.
//
//     Rng rng(1);
//     const nn::CausalMultiHeadAttention attention(12, 3, rng);
//     viz::tensor_story(attention, randn({1, 3, 12}, rng)).print();
Story tensor_story(const Run& run, const Tensor& input, StoryOptions options = {});

// ---- attention maps

// The weights of every attention that `run(input)` computes, before dropout and in order (for a GPT, layer by
// layer), each (B, H, T, S). Empty if there is no attention.
//
//     const std::vector<Tensor> layers = viz::attention_weights(model, ids);  // for each (1, H, T, T)
//     io::save_text("heads.svg", viz::attention_grid_svg(layers, {.mask = Mask::causal()}));
//     io::save_text("head.svg", viz::attention_svg(layers[0][0][0], {.queries = {"The", "cat", "sat"}}));
std::vector<Tensor> attention_weights(const Run& run, const Tensor& input);

// Options of an attention map.
struct MapOptions {
    // T and S labels. If there are none for the keys and T = S, those of the queries; if there are none at all,
    // positions from 1. Spaces at either end, newlines and control characters are made visible.
    std::vector<std::string> queries = {}, keys = {};
    Mask mask = {};          // blocked cells are marked
    double top = 0;          // the weight drawn strongest; 0: the largest, in text of each row
    std::string title = {};  // above the map
    bool wide = false;       // in text: columns as wide as their labels
};
// All three maps throw a ShapeError if the weights' rank, the number of labels or the mask does not fit, a
// DTypeError if the weights are not floating, and a ValueError if a weight or `top` is negative or not finite.

// weights (T, S), (H, T, S) or (1, H, T, S) → a line per query, a bar of eight heights per key, and a legend. A
// bar shows the weight's share of the largest of its row, or of `top`, from ▁ below an eighth to █ from seven
// eighths on; · is blocked, and ! is blocked but above 0.
//
//     const Tensor weights = tensor({{1.0, 0.0}, {0.25, 0.75}});  // (T, S)
//     const viz::MapOptions options{.queries = {"The", "cat"}, .mask = Mask::causal()};
//     std::cout << viz::attention_text(weights, options);
//     //     The cat
//     // The [█·]
//     // cat [▃█]
//     // ▁▂▃▄▅▆▇█ eighths of the row's largest weight   · blocked
std::string attention_text(const Tensor& weights, const MapOptions& options = {});

// weights (T, S) → an SVG picture of one head in viridis (van der Walt and Smith, 2015), with numbers if there
// is room, tooltips on up to 20,000 cells, blocked cells hatched (red if above 0), and a colour bar.
std::string attention_svg(const Tensor& weights, const MapOptions& options = {});

// One tensor of weights per layer, (H, T, S) or (1, H, T, S) with the same T and S → an SVG picture with a row
// of heads for each layer, and a colour bar. ValueError if there is no layer, ShapeError if T or S differ.
std::string attention_grid_svg(const std::vector<Tensor>& layers, const MapOptions& options = {});

// ---- the graph

// The graph of x in Graphviz's DOT language: a node with its shape for each operation and leaf, and an edge
// from each input to what uses it. Tensors in `names`, such as a module's named_parameters(), are shown by
// name. Data and masks require no gradient, so they are not in the graph. GraphError if x is outside the graph.
//
//     const nn::Linear layer(3, 1, rng);
//     const Tensor loss = mean(tanh(layer(ones({2, 3}))));
//     const std::string dot = viz::graph(loss, layer.named_parameters());
//     viz::save_svg("graph.svg", dot);
std::string graph(const Tensor& x, const nn::NamedTensors& names = {});

// Writes a DOT text as an SVG file, drawn by the program `dot`. IoError if `dot` is not installed (Debian:
// graphviz) or refuses the text, or if the file cannot be written.
void save_svg(const std::filesystem::path& path, const std::string& dot);

// ---- masks

// Options of mask_grid.
struct MaskGridOptions {
    std::vector<std::string> queries = {}, keys = {};  // labels as in MapOptions
    std::string visible = "1", blocked = "-∞";         // texts of the cells
    std::string corner = "Q ↓ / K →";                  // above the queries' labels
};
// The mask as a table with a line per query and a column per key, one table for each sample or head if they
// differ. ShapeError if the mask or the labels do not fit.
//
//     std::cout << viz::mask_grid(Mask::causal(), 1, 1, 2, 2);
//     // Q ↓ / K →   1   2
//     // 1           1  -∞
//     // 2           1   1
std::string mask_grid(const Mask& mask, std::int64_t B, std::int64_t H, std::int64_t T, std::int64_t S,
                      const MaskGridOptions& options = {});

// The gradient ledger as a table.

// A table of the gradients in the order of the backward pass: a line for each term, and one for the sum if
// there are several. Empty for an empty ledger.
//
//     const Tensor x = tensor(3.0).requires_grad_(), y = x * x;
//     const GradientLedger ledger;
//     y.backward();
//     std::cout << viz::ledger_table(ledger, {{"x", x}, {"y", y}});
//     // node          gets from   gradient
//     // y = multiply  seed        1
//     // x             y, input 0  3
//     //               y, input 1  3
//     //               sum         6
//
// Tensors in `names` are shown by name; other operations and leaves are numbered if there are several of a
// kind. Gradients of up to 12 elements are printed in full, larger ones as shape and norm. "hook" is the
// gradient that a hook put in place of the sum. Each backward pass after the first has a heading.
std::string ledger_table(const GradientLedger& ledger, const nn::NamedTensors& names = {});

// The storage movie: what views and copies do to memory, frame by frame.

// One step of a movie.
//
//     viz::StorageMovie movie;
//     movie.show("m", tensor({{1.0, 2}, {3, 4}}));
//     const viz::StorageFrame& frame = movie.frames()[0];  // frame.memory is {1, 2, 3, 4}
struct StorageFrame {
    std::string step;             // the caller's description
    Tensor tensor;                // undefined if the step threw an Error
    std::string refused;          // the message of that Error
    char storage = 'A';           // A for the first storage shown, B for the second, …
    bool is_new = false;          // whether this is the first frame of its storage
    std::vector<double> memory;   // the values in the storage at this moment, by address
    std::vector<std::size_t> at;  // the position in `memory` of each element, in row-major order
};

// A movie of up to 26 storages of up to 64 elements each. The first frame of a storage determines which part of
// it is shown, so show the tensor that owns the memory first.
//
//     viz::StorageMovie movie;
//     const Tensor m = tensor({{1.0, 2, 3}, {4, 5, 6}});
//     movie.show("m", m).show("m.T()", m.T()).attempt("view", [&] { return m.T().view({6}); });
//     movie.print();
//     io::save_text("movie.svg", movie.svg());
class StorageMovie {
public:
    // Adds a frame with the present values of x and its memory. ValueError if x is empty, too large, or reaches
    // beyond the part of its storage that the first frame showed.
    StorageMovie& show(const std::string& step, const Tensor& x);
    // Adds a frame with what `make` returns, or with the message of the Error that it throws.
    StorageMovie& attempt(const std::string& step, const std::function<Tensor()>& make);

    const std::vector<StorageFrame>& frames() const { return frames_; }  // in order
    std::string str() const;  // for each frame shape, strides, memory, and what is read from it
    void print() const;       // writes str() to standard output
    // An SVG picture: for each frame the memory with the path that the tensor takes through it, and the tensor
    // beside it. A value has the same colour in every frame.
    std::string svg(const std::string& title = "What each step does to memory") const;

private:
    std::vector<StorageFrame> frames_;
};

}  // namespace weft::viz
