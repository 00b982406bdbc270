// Looking at what was computed: the story of a run's tensors, attention maps, the graph, masks as grids. All of
// it is text or SVG, the same bytes for the same values whatever the locale. B samples, H heads, T queries, S
// keys.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "weft/core/mask.h"
#include "weft/nn/module.h"

namespace weft::viz {

// Anything that takes a tensor and returns one: a module, or a function.
using Run = std::function<Tensor(const Tensor&)>;

// ---- the tensor story

// Whose memory a tensor of a run stands in.
enum class Memory {
    given,  // from outside the run, or not recorded: the input, ids, masks
    own,    // new values in storage of its own
    view,   // the storage of an earlier tensor
    copy    // an earlier tensor's values, only rearranged, in storage of its own
};
// One tensor of a run.
struct StoryRow {
    std::string name;  // as the run called it (see weft/core/trace.h); a name that comes again is "name #2"
    Shape shape;       // its own
    Strides strides;   // in elements
    DType dtype = float32;             // of its elements
    bool contiguous = true;            // row-major without gaps
    std::vector<std::string> made_by;  // the operations since the tensors named before, in their order
    Memory memory = Memory::given;     // whose
    std::string of;                    // the name of the earlier tensor that this is a view or a copy of
    Tensor values;                     // a copy, when there are few; else undefined
};
// The tensors of a run, in their order.
struct Story {
    std::vector<StoryRow> rows;  // a tensor each
    std::string str() const;     // a table, a row per tensor, then the values of the small ones
    void print() const;          // str() to standard output
};
// How much of a story is told.
struct StoryOptions {
    std::int64_t values_up_to = 64;  // elements of a tensor whose values are told
};
// Runs `run` on `input` with fused operations replaced by their definitions, and tells every tensor that it
// named on the way, the input first and the output last. A tensor with two names is told once, as "Y = X". The
// module runs in the mode it is in (dropout draws in training); the input's and the parameters' gradients stay
// as they are.
Story tensor_story(const Run& run, const Tensor& input, StoryOptions options = {});

// ---- attention maps

// The weights of every attention in the run, in order, each (B, H, T, S): of a GPT, layer by layer. Before
// dropout. Empty when the run calls no attention.
std::vector<Tensor> attention_weights(const Run& run, const Tensor& input);

// How attention maps are drawn.
struct MapOptions {
    // Labels, T and S of them; keys like queries when left out and T = S; positions from 1 when both are.
    // Spaces at the ends, newlines and control characters are shown.
    std::vector<std::string> queries = {}, keys = {};
    Mask mask = {};          // what the weights were made with: blocked cells are drawn as such
    double top = 0;          // the weight drawn strongest; 0: the largest of all
    std::string title = {};  // above the map
    bool wide = false;       // in text: columns as wide as their labels
};
// All three refuse: ShapeError, weights of another rank, labels of another number, a mask that does not fit;
// DTypeError, weights that are not floating; ValueError, a weight that is negative or not finite, or a top
// below 0.

// weights (T, S), (H, T, S) or (1, H, T, S) → a line per query, a shade per key, and what the shades mean:
//     The [▓··]
// ░ is below a third of `top`, ▒ below two thirds, ▓ from there on, · is blocked, ! is blocked and yet above 0.
std::string attention_text(const Tensor& weights, const MapOptions& options = {});

// weights (T, S) → an SVG picture of one head: cells in the colours of viridis (van der Walt and Smith, 2015),
// with their numbers where there is room and (up to 20,000 cells) in tooltips, blocked cells hatched (in red
// where a weight is above 0 all the same), and a colour bar.
std::string attention_svg(const Tensor& weights, const MapOptions& options = {});

// layers of weights (H, T, S) or (1, H, T, S), of one T and S → an SVG picture: a row of heads for each layer,
// with one colour bar for all. ValueError without a layer.
std::string attention_grid_svg(const std::vector<Tensor>& layers, const MapOptions& options = {});

// ---- the graph

// x's graph in Graphviz's DOT language: a node for each operation and leaf with its shape, edges from inputs to
// what uses them. Tensors listed in `names` (a module's named_parameters()) carry their name. GraphError when x
// is outside the graph. What needs no gradient (data, masks) is no part of the graph, and is not drawn.
std::string graph(const Tensor& x, const nn::NamedTensors& names = {});

// Draws a DOT text as SVG with the program `dot`. IoError when it is not installed (Debian: graphviz), when it
// refuses the text, or when the file cannot be written.
void save_svg(const std::filesystem::path& path, const std::string& dot);

// ---- masks

// How mask_grid writes a mask.
struct MaskGridOptions {
    std::vector<std::string> queries = {}, keys = {};  // as in MapOptions
    std::string visible = "1", blocked = "−∞";         // what stands in the cells
    std::string corner = "Q ↓ / K →";                  // above the queries' labels
};
// The mask as a table, a line per query and a column per key; one for each sample or head where these differ.
// ShapeError where the mask or the labels do not fit.
std::string mask_grid(const Mask& mask, std::int64_t B, std::int64_t H, std::int64_t T, std::int64_t S,
                      const MaskGridOptions& options = {});

}  // namespace weft::viz
