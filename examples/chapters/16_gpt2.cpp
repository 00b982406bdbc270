// Chapter 16: GPT-2's checkpoints in this library, and the byte pairs that they read.
// B batch, T tokens, V vocabulary, P = block_size, C = d_model, L layers.
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <tuple>

#include "13_text.h"
#include "chapter.h"

using namespace weft;
namespace fs = std::filesystem;

namespace {

long long whole(std::int64_t n) { return static_cast<long long>(n); }

// A folder that is there until the program ends.
struct Folder {
    fs::path path;

    Folder() {
        std::string name = (fs::temp_directory_path() / "weft-gpt2-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) throw IoError("no folder could be made like ", name);
        path = name;
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
};

// ---- byte pairs

// A token's bytes, a space as Ġ, as GPT-2's files have it; a byte that is no character by itself as its number.
std::string readable(const std::string& piece) {
    std::string shown;
    char number[8];
    for (const char c : piece) {
        const auto byte = static_cast<unsigned char>(c);
        std::snprintf(number, sizeof number, "<%02X>", byte);
        shown += byte == ' ' ? "Ġ" : byte > ' ' && byte < 0x7F ? std::string(1, c) : number;
    }
    return shown;
}

std::string pieces_of(const text::BytePairs& tokenizer, const std::string& said) {
    std::string line;
    for (const std::int64_t id : tokenizer.encode(said))
        line += (line.empty() ? "" : " ") + readable(tokenizer.piece(id));
    return line;
}

struct Neighbours {
    std::string left, right;
    int count;
};

// The pairs of neighbours within the words (a space begins a word), the most frequent first.
std::vector<Neighbours> neighbours_in(const text::BytePairs& tokenizer, const std::string& said) {
    std::vector<Neighbours> found;
    const text::Ids ids = tokenizer.encode(said);
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
        const std::string left = tokenizer.piece(ids[i]), right = tokenizer.piece(ids[i + 1]);
        if (right.starts_with(" ")) continue;
        const auto same = [&](const Neighbours& pair) { return pair.left == left && pair.right == right; };
        const auto known = std::find_if(found.begin(), found.end(), same);
        known == found.end() ? found.push_back({left, right, 1}) : void(++known->count);
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Neighbours& a, const Neighbours& b) { return a.count > b.count; });
    return found;
}

const std::string three_words = "low lower lowest";

void merge_by_merge() {
    for (int merges = 0; merges <= 4; ++merges) {
        const auto learned = text::BytePairs::train(three_words, 257 + merges);  // 256 bytes, the end, merges
        std::printf("%d merges: %s\n          ", merges, pieces_of(learned, three_words).c_str());
        for (const auto& [left, right, count] : neighbours_in(learned, three_words))
            std::printf(" %s+%s %d", readable(left).c_str(), readable(right).c_str(), count);
        std::printf("\n");
    }
}

// Padded to a width in columns, however many bytes its characters have.
std::string padded(std::string shown, std::size_t width) {
    const auto characters =
        std::count_if(shown.begin(), shown.end(), [](char c) { return (c & 0xC0) != 0x80; });
    shown.append(width - std::min(width, static_cast<std::size_t>(characters)), ' ');
    return shown;
}

void files_and_other_words(const fs::path& folder) {
    const auto learned = text::BytePairs::train(three_words, 300);  // ends by itself: no pair is there twice
    std::printf("V = %lld: 256 bytes, %lld merges, the end of a text\n\n", whole(learned.vocab_size()),
                whole(learned.num_merges()));
    learned.save(folder);
    std::printf("%s\n", io::load_text(folder / "merges.txt").c_str());
    for (const std::string said : {"low", " low", "slowly", "flower", "naïve", "🧵"}) {
        const text::Ids ids = learned.encode(said);
        std::printf("%s ids", padded(pieces_of(learned, said), 20).c_str());
        for (const std::int64_t id : ids) std::printf(" %lld", whole(id));
        std::printf("%s\n", learned.decode(ids) == said ? "" : "  lost something");
    }
}

// ---- one layer

// The weights of q, k and v as GPT-2's files hold them, C = 2.
Tensor side_by_side() { return tensor({{11, 12, 13, 14, 15, 16}, {21, 22, 23, 24, 25, 26}}, float64); }

void two_layouts() {
    const Tensor W = side_by_side();             // (C, 3C): q, k, v
    const Tensor x = tensor({{1, 2}}, float64);  // (T, C)
    std::cout << "x W                " << matmul(x, W) << "\n";
    std::cout << "linear, W.T()      " << linear(x, W.T()) << "\n";
    std::cout << "linear, W.reshape  " << linear(x, W.reshape({6, 2})) << "\n";
}

// ---- the names

// What a layer of GPT-2's is called here.
const std::vector<std::pair<std::string, std::string>> layer_names = {
    {"wte", "token_embedding"},    {"wpe", "position_embedding"}, {"ln_1", "norm1"},
    {"attn.c_attn", "attn.W_qkv"}, {"attn.c_proj", "attn.W_out"}, {"ln_2", "norm2"},
    {"mlp.c_fc", "mlp.W_in"},      {"mlp.c_proj", "mlp.W_out"},   {"ln_f", "norm"}};

// "h.3.mlp.c_fc.bias" → "blocks.3.mlp.W_in.bias"
std::string our_name(const std::string& theirs) {
    const std::size_t end = theirs.rfind('.');  // what follows is weight or bias
    std::size_t begin = 0;
    std::string ours;
    if (theirs.starts_with("h.")) {
        begin = theirs.find('.', 2) + 1;
        ours = "blocks." + theirs.substr(2, begin - 2);
    }
    for (const auto& [layer, name] : layer_names)
        if (theirs.substr(begin, end - begin) == layer) return ours + name + theirs.substr(end);
    throw ValueError("no layer of GPT-2's: ", theirs);
}

// Conv1D, GPT-2's linear layer, computes x W + b: its weight is (in, out), and ours is (out, in).
bool transposed(const std::string& theirs) {
    return theirs.find(".c_") != std::string::npos && theirs.ends_with(".weight");
}

nn::NamedTensors by_hand(const nn::NamedTensors& state) {
    nn::NamedTensors ours;
    for (const auto& [name, value] : state)
        ours.emplace_back(our_name(name), transposed(name) ? value.T() : value);
    ours.emplace_back("head.weight", io::SafeTensors{state, {}}.at("wte.weight"));  // tied
    return ours;
}

// The other way: a GPT's state under GPT-2's names.
nn::NamedTensors as_gpt2(const nn::GPT& model) {
    const io::SafeTensors ours{model.state_dict(), {}};
    nn::NamedTensors theirs;
    const auto add = [&](const std::string& name) {
        const Tensor value = ours.at(our_name(name)).detach();
        theirs.emplace_back(name, transposed(name) ? value.T() : value);
    };
    const auto add_both = [&](const std::string& name) { add(name + ".weight"), add(name + ".bias"); };
    add("wte.weight"), add("wpe.weight");
    for (std::int64_t i = 0; i < model.config.num_layers; ++i)
        for (const char* layer : {"ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj"})
            add_both("h." + std::to_string(i) + "." + layer);
    add_both("ln_f");
    return theirs;
}

void table_of_names() {
    Rng zeros = Rng::skip_init();  // values do not matter here, and all 12 blocks are like the first
    const nn::GPT model({.vocab_size = 50257,
                         .block_size = 1024,
                         .num_layers = 1,
                         .num_heads = 12,
                         .d_model = 768,
                         .bias = true},
                        zeros);
    const io::SafeTensors ours{model.state_dict(), {}};
    for (const auto& [name, value] : as_gpt2(model))
        std::printf("%-23s %-13s %-29s %-13s%s\n", name.c_str(), value.shape().str().c_str(),
                    our_name(name).c_str(), ours.at(our_name(name)).shape().str().c_str(),
                    transposed(name) ? " transposed" : "");
}

// ---- a checkpoint of our own

Tensor ids_of(const text::BytePairs& tokenizer, const std::string& said) {  // (N,)
    const text::Ids ids = tokenizer.encode(said);
    return from_vector(ids, {static_cast<std::int64_t>(ids.size())});
}

// The mean of −ln p over the beginning of the tale, as much of it as the model reads at once.
double loss_on_tale(const nn::GPT& model, const text::BytePairs& tokenizer) {
    const NoGrad off;
    const std::int64_t T = model.config.block_size;
    const Tensor ids = ids_of(tokenizer, tale);                                      // (N,)
    return cross_entropy(model(ids.slice(0, 0, T)), ids.slice(0, 1, T + 1)).item();  // (T, V), (T,) → ()
}

nn::GPT train_on_tale(const text::BytePairs& tokenizer) {
    Rng rng(16);
    nn::GPT model({.vocab_size = tokenizer.vocab_size(),
                   .block_size = 48,
                   .num_layers = 2,
                   .num_heads = 4,
                   .d_model = 32,
                   .bias = true},
                  rng);
    model.to(float64);
    const Tensor ids = ids_of(tokenizer, tale);  // (N,)
    optim::AdamW optimizer(model, {.weight_decay = 0});
    const int steps = 500;
    for (int step = 0; step < steps; ++step) {
        std::vector<Tensor> pieces;
        for (int b = 0; b < 8; ++b) {
            const std::int64_t start = rng.randint(0, ids.numel() - 48);
            pieces.push_back(ids.slice(0, start, start + 49));  // (T + 1,)
        }
        const Tensor batch = stack(pieces);  // (B, T + 1)
        optimizer.set_lr(
            optim::cosine_lr(step, {.lr = 4e-3, .min_lr = 4e-4, .warmup_steps = 20, .steps = steps}));
        optimizer.zero_grad();
        cross_entropy(model(batch.slice(1, 0, 48)), batch.slice(1, 1, 49)).backward();
        optim::clip_grad_norm(model, 1.0);
        optimizer.step();
    }
    model.eval();
    return model;
}

void write_checkpoint(const fs::path& folder, const nn::GPT& model, const text::BytePairs& tokenizer) {
    const nn::GPTConfig& c = model.config;
    const auto entry = [](const char* name, std::int64_t value) {
        return std::string(",\n  \"") + name + "\": " + std::to_string(value);
    };
    io::save_text(folder / "config.json", "{\n  \"model_type\": \"gpt2\"" + entry("vocab_size", c.vocab_size) +
                                              entry("n_positions", c.block_size) + entry("n_embd", c.d_model) +
                                              entry("n_layer", c.num_layers) + entry("n_head", c.num_heads) +
                                              "\n}\n");
    io::save_safetensors(folder / "model.safetensors", as_gpt2(model));
    tokenizer.save(folder);  // vocab.json and merges.txt
}

double largest_difference(const nn::GPT& a, const nn::GPT& b, const Tensor& ids) {
    const NoGrad off;
    return max(abs(a(ids).to(float64) - b(ids).to(float64))).item();
}

const std::string prompt = "what do you make, said";

std::string written(const nn::GPT& model, const text::BytePairs& tokenizer,
                    const nn::SampleOptions& how = {.temperature = 0}) {
    return nn::generate_text(model, tokenizer, prompt, {.generate = {.max_new_tokens = 20, .sampling = how}})
        .text;
}

void load_and_compare(const fs::path& folder, const nn::GPT& trained) {
    std::printf("%s", io::load_text(folder / "config.json").c_str());
    const nn::GPT loaded = nn::load_gpt2(folder, {.dtype = float64});

    const nn::NamedTensors state = io::load_safetensors(folder / "model.safetensors").tensors;
    Rng zeros = Rng::skip_init();
    nn::GPT filled(nn::gpt2_config(folder / "config.json"), zeros);
    filled.to(float64);
    filled.load_state_dict(by_hand(state));

    const auto tokenizer = text::BytePairs::load(folder);
    const Tensor ids = ids_of(tokenizer, tale).slice(0, 0, 48);  // (T,)
    std::printf("logits, largest difference: to the trained model %g, to the one filled by hand %g\n",
                largest_difference(loaded, trained, ids), largest_difference(loaded, filled, ids));
    const nn::GPT narrow = nn::load_gpt2(folder);  // float32, as GPT-2 is used
    std::printf("in float32 within 1e-5 × the largest logit: %s\n",
                largest_difference(loaded, narrow, ids) <= 1e-5 * max(abs(loaded(ids))).item() ? "yes" : "no");
    std::printf("the same 20 tokens, greedy, in float32 and float64: %s\n",
                written(loaded, tokenizer) == written(narrow, tokenizer) ? "yes" : "no");
}

void go_on_with_a_text(const fs::path& folder) {
    const nn::GPT model = nn::load_gpt2(folder, {.dtype = float64});
    const auto tokenizer = text::BytePairs::load(folder);
    std::printf("%lld tokens for %zu bytes of the tale\n", whole(ids_of(tokenizer, tale).numel()), tale.size());
    std::printf("%s\n", pieces_of(tokenizer, prompt).c_str());
    std::printf("greedy           ...%s\n", written(model, tokenizer).c_str());
    for (const std::uint64_t seed : {1u, 2u}) {
        Rng rng(seed);
        const nn::SampleOptions how{.temperature = 1, .rng = &rng};
        std::printf("temperature 1    ...%s\n", written(model, tokenizer, how).c_str());
    }
}

// ---- bytes

void count_bytes() {
    std::printf("                L     C   parameters     GB  tokens/s, at most  with 1024 tokens before\n");
    const std::vector<std::tuple<const char*, std::int64_t, std::int64_t>> models = {
        {"gpt2", 12, 768}, {"gpt2-medium", 24, 1024}, {"gpt2-large", 36, 1280}, {"gpt2-xl", 48, 1600}};
    for (const auto& [name, L, C] : models) {
        const std::int64_t parameters = (50257 + 1024) * C + L * (12 * C * C + 13 * C) + 2 * C;
        const std::int64_t cached = 2 * L * 1024 * C;  // keys and values
        const auto bytes = [](std::int64_t numbers) { return 4 * static_cast<double>(numbers); };
        std::printf("%-12s %4lld  %4lld  %11lld  %5.2f  %17.1f  %23.1f\n", name, whole(L), whole(C),
                    whole(parameters), bytes(parameters) / 1e9, 30e9 / bytes(parameters),
                    30e9 / bytes(parameters + cached));
    }
}

// ---- Break it

// What the file says, with one layer's weights as torch.nn.Linear would have them.
nn::NamedTensors other_layout(nn::NamedTensors state, const std::string& layer) {
    for (auto& [name, value] : state)
        if (name.ends_with(layer + ".weight")) value = value.T();
    return state;
}

void break_it(const fs::path& folder) {
    const nn::GPTConfig config = nn::gpt2_config(folder / "config.json");
    const nn::NamedTensors state = io::load_safetensors(folder / "model.safetensors").tensors;
    try {
        nn::from_gpt2(other_layout(state, "mlp.c_fc"), config);
    } catch (const ValueError& error) {
        std::printf("%s\n\n", error.what());
    }
    const Folder broken;
    fs::copy(folder, broken.path);
    io::save_safetensors(broken.path / "model.safetensors", other_layout(state, "attn.c_proj"));
    const nn::GPT right = nn::load_gpt2(folder, {.dtype = float64});
    const nn::GPT wrong = nn::load_gpt2(broken.path, {.dtype = float64});  // nothing is refused
    const auto tokenizer = text::BytePairs::load(folder);
    std::printf("              loss on the tale  goes on with \"what do you make, said\"\n");
    std::printf("right         %16.2f %s\n", loss_on_tale(right, tokenizer), written(right, tokenizer).c_str());
    std::printf("attn.c_proj.T %16.2f %s\n", loss_on_tale(wrong, tokenizer), written(wrong, tokenizer).c_str());
    std::printf("ln %lld        %16.2f\n", whole(config.vocab_size),
                std::log(static_cast<double>(config.vocab_size)));
}

// ---- figures

std::string merges_figure() {
    viz::Drawing d(640, 262, "The text low lower lowest as bytes, and after each of four merges");
    const double cell = 33, left = 100;
    for (int merges = 0; merges <= 4; ++merges) {
        const auto learned = text::BytePairs::train(three_words, 257 + merges);
        const double y = 20 + 48 * merges;
        d.text(left - 14, y + 16, merges == 0 ? "bytes" : "merge " + std::to_string(merges), {13, "end"});
        double x = left;
        for (const std::int64_t id : learned.encode(three_words)) {
            const std::string piece = learned.piece(id);
            const double width = cell * static_cast<double>(piece.size());
            const bool is_new = id == 255 + merges && merges > 0;
            viz::BoxStyle style;
            style.fill = is_new ? "#fdf1e3" : piece.size() > 1 ? "#eef3fa" : "#fff";
            style.stroke = {is_new ? viz::palette(1) : piece.size() > 1 ? viz::palette(0) : "#999", 1.5, false};
            style.label.size = 14;
            d.box(x + 1.5, y, width - 3, 32, readable(piece), style);
            x += width;
        }
    }
    return d.svg();
}

std::string layout_figure() {
    viz::Drawing d(640, 316,
                   "The weights of q, k and v side by side in GPT-2's file, one below the other here");
    const std::string colours[] = {"#d6e6f5", "#fbe0cc", "#d5efe4"};
    const Tensor W = side_by_side();  // (C, 3C)
    viz::CellsStyle wide, tall;
    wide.text_size = tall.text_size = 14;
    for (int i = 0; i < 12; ++i) wide.fills.push_back(colours[i % 6 / 2]);
    for (int i = 0; i < 12; ++i) tall.fills.push_back(colours[i / 4]);
    d.text(190, 24, "c_attn.weight, in the file", {14, "middle", "#222", true});
    d.cells(70, 100, 40, 36, W, wide);
    const char* parts[] = {"q", "k", "v"};
    for (int i = 0; i < 3; ++i) d.text(110 + 80 * i, 84, parts[i], {15, "middle", "#222", true});
    d.text(56, 136, "in", {13, "end", "#555"});
    d.text(190, 192, "out", {13, "middle", "#555"});
    d.text(190, 220, "(C, 3C): x W + b", {13, "middle", "#555"});
    d.arrow(340, 136, 416, 136).text(378, 120, "transpose", {13});
    d.text(520, 24, "W_qkv.weight, here", {14, "middle", "#222", true});
    d.cells(480, 44, 40, 36, W.T(), tall);
    for (int i = 0; i < 3; ++i) d.text(460, 80 + 72 * i, parts[i], {15, "middle", "#222", true});
    d.text(572, 152, "out", {13, "start", "#555"});
    d.text(520, 274, "in", {13, "middle", "#555"});
    d.text(520, 296, "(3C, C): x Aᵀ + b", {13, "middle", "#555"});
    return d.svg();
}

// Each layer's weight, there and here, the layers' at their proportions; the two tables are longer than the
// page.
std::string names_figure() {
    viz::Drawing d(640, 596, "The weights of GPT-2 in the file and here: four in each block are transposed");
    struct Row {
        double height, width;  // in the file
        const char *there, *here;
        bool turned;
    };
    const double c = 22;
    const Row rows[] = {{c, 112, "(V, C)", "(V, C)", false},    {c, 76, "(P, C)", "(P, C)", false},
                        {5, c, "(C,)", "(C,)", false},          {c, 3 * c, "(C, 3C)", "(3C, C)", true},
                        {c, c, "(C, C)", "(C, C)", true},       {5, c, "(C,)", "(C,)", false},
                        {c, 4 * c, "(C, 4C)", "(4C, C)", true}, {4 * c, c, "(4C, C)", "(C, 4C)", true},
                        {5, c, "(C,)", "(C,)", false}};
    d.text(185, 18, "in the file", {15, "middle", "#222", true});
    d.text(485, 18, "here", {15, "middle", "#222", true});
    double y = 38;
    for (std::size_t i = 0; i < layer_names.size(); ++i) {
        const Row& row = rows[i];
        if (i == 2) {
            d.path({{8, y - 6}, {632, y - 6}, {632, y + 410}, {8, y + 410}}, {"#999", 1, true}, true);
            d.text(18, y + 12, "h.0.", {13, "start", "#555"})
                .text(622, y + 12, "blocks.0.", {13, "end", "#555"});
        }
        if (i == 8) y += 14;
        const double tall = std::max(row.height, row.turned ? row.width : 0);
        const double room = std::max(tall, 32.0), middle = y + room / 2;
        viz::BoxStyle style;
        style.radius = 0;
        if (row.turned) style.fill = "#fdf1e3", style.stroke.colour = viz::palette(1);
        const double width = row.turned ? row.height : row.width, height = row.turned ? row.width : row.height;
        d.box(250 - row.width / 2, middle - row.height / 2, row.width, row.height, "", style);
        d.box(420 - width / 2, middle - height / 2, width, height, "", style);
        d.arrow(318, middle, 352, middle, {row.turned ? viz::palette(1) : "#888", 1.5, false});
        if (row.turned) d.text(334, middle - 11, "T", {13, "middle", viz::palette(1), true});
        d.text(178, middle - 8, layer_names[i].first, {13, "end"});
        d.text(178, middle + 8, row.there, {12, "end", "#555"});
        d.text(490, middle - 8, layer_names[i].second, {13, "start"});
        d.text(490, middle + 8, row.here, {12, "start", "#555"});
        y += room + 12;
    }
    return d.svg();
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    set_num_threads(1);  // there is too little to do at a time to share it out
    chapter.section("Byte pairs, merge by merge");
    merge_by_merge();
    chapter.section("Files, and other words");
    files_and_other_words(Folder().path);
    chapter.section("One layer, two layouts");
    two_layouts();
    chapter.section("Names and shapes");
    table_of_names();
    chapter.section("A checkpoint of our own");
    const auto tokenizer = text::BytePairs::train(tale, 320);
    const nn::GPT trained = train_on_tale(tokenizer);
    const Folder folder;
    write_checkpoint(folder.path, trained, tokenizer);
    load_and_compare(folder.path, trained);
    chapter.section("From text to text");
    go_on_with_a_text(folder.path);
    chapter.section("Bytes and tokens per second");
    count_bytes();
    chapter.section("Break it: a weight the other way round");
    break_it(folder.path);

    chapter.figure("16_names", names_figure());
    chapter.figure("16_layout", layout_figure());
    chapter.figure("16_merges", merges_figure());
}
