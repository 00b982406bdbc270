// Pictures of a computation: the story of a run's tensors, attention maps, the graph, masks as grids. All are
// text or SVG, and the same values give the same bytes in every locale. B samples, H heads, T queries, S keys.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "weft/core/mask.h"
#include "weft/nn/module.h"

namespace weft::viz {

// Anything that takes a tensor and returns one: a module or a function.
using Run = std::function<Tensor(const Tensor&)>;

// ---- the tensor story

// Whose memory holds the values of a tensor.
enum class Memory {
    given,  // from outside the run, or not recorded: the input, ids, masks
    own,    // new values in its own storage
    view,   // the storage of an earlier tensor
    copy    // an earlier tensor's values, only rearranged, in its own storage
};
// One tensor of a run.
struct StoryRow {
    std::string name;        // as the run called it (see weft/core/trace.h); the second of a name is "name #2"
    Shape shape;             // of the tensor
    Strides strides;         // in elements
    DType dtype = float32;   // of its elements
    bool contiguous = true;  // row-major without gaps
    std::vector<std::string> made_by;  // the operations since earlier named tensors, in order
    Memory memory = Memory::given;     // whose memory holds the values
    std::string of;                    // the earlier tensor that this is a view or a copy of
    Tensor values;                     // a copy if there are few, or undefined
};
// The tensors of a run, in order.
struct Story {
    std::vector<StoryRow> rows;  // one for each tensor
    std::string str() const;     // a table with a row for each tensor, then the values of the small ones
    void print() const;          // str() to standard output
};
// Options of a story.
struct StoryOptions {
    std::int64_t values_up_to = 64;  // elements of a tensor whose values are shown
};
// Runs `run` on `input` under a Composed guard and lists every tensor that it names, the input first and the
// output last. A tensor with two names is listed once, as "Y = X". The module runs in its current mode (dropout
// draws in training); the gradients of the input and of the parameters are left alone.
//
//     viz::tensor_story(attention, x).print();
Story tensor_story(const Run& run, const Tensor& input, StoryOptions options = {});

// ---- attention maps

// The weights of every attention in the run before dropout, in order, each (B, H, T, S): for a GPT, layer by
// layer. Empty if the run calls no attention.
std::vector<Tensor> attention_weights(const Run& run, const Tensor& input);

// Options of an attention map.
struct MapOptions {
    // T and S labels. Without labels of the keys, those of the queries if T = S; without any, positions from 1.
    // Spaces at the ends, newlines and control characters are made visible.
    std::vector<std::string> queries = {}, keys = {};
    Mask mask = {};          // the mask of the weights: its blocked cells are marked
    double top = 0;          // the weight drawn strongest; 0: the largest weight
    std::string title = {};  // above the map
    bool wide = false;       // in text: columns as wide as their labels
};
// The three maps refuse with a ShapeError weights of another rank, another number of labels and a mask that
// does not fit; with a DTypeError weights that are not floating; with a ValueError a weight that is negative or
// not finite, and a `top` below 0.

// weights (T, S), (H, T, S) or (1, H, T, S) → a line per query, a shade per key, and a legend of the shades:
//     The [▓··]
// ░ is below a third of `top`, ▒ below two thirds, ▓ from there on, · is blocked, ! is blocked but above 0.
std::string attention_text(const Tensor& weights, const MapOptions& options = {});

// weights (T, S) → an SVG picture of one head: cells in the colours of viridis (van der Walt and Smith, 2015),
// their numbers if there is room, tooltips up to 20,000 cells, blocked cells hatched (in red if their weight is
// above 0), and a colour bar.
std::string attention_svg(const Tensor& weights, const MapOptions& options = {});

// layers of weights (H, T, S) or (1, H, T, S), of one T and S → an SVG picture with a row of heads for each
// layer and one colour bar. ValueError without a layer.
std::string attention_grid_svg(const std::vector<Tensor>& layers, const MapOptions& options = {});

// ---- the graph

// x's graph in Graphviz's DOT language: a node with its shape for each operation and leaf, and an edge from
// each input to what uses it. Tensors listed in `names` (a module's named_parameters()) have their name. Data
// and masks need no gradient, so they are not in the graph. GraphError if x is outside the graph.
std::string graph(const Tensor& x, const nn::NamedTensors& names = {});

// Draws a DOT text as SVG with the program `dot`. IoError if it is not installed (Debian: graphviz), refuses
// the text, or the file cannot be written.
void save_svg(const std::filesystem::path& path, const std::string& dot);

// ---- masks

// Options of mask_grid.
struct MaskGridOptions {
    std::vector<std::string> queries = {}, keys = {};  // as in MapOptions
    std::string visible = "1", blocked = "−∞";         // the text of the cells
    std::string corner = "Q ↓ / K →";                  // above the queries' labels
};
// The mask as a table with a line per query and a column per key; if samples or heads differ, a table for each.
// ShapeError if the mask or the labels do not fit.
std::string mask_grid(const Mask& mask, std::int64_t B, std::int64_t H, std::int64_t T, std::int64_t S,
                      const MaskGridOptions& options = {});

}  // namespace weft::viz
