// Chapter 20: GPT-2's checkpoints in this library, and the byte pairs that they read.
// B batch, T tokens, V vocabulary, P = block_size, C = d_model, L layers.
#include "chapter.h"

#include <chrono>

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "weft/weft.h"

using namespace weft;
namespace fs = std::filesystem;

namespace {

long long whole(std::int64_t n) { return static_cast<long long>(n); }

// ---- byte pairs

const std::string three_words = "low lower lowest";

// The bytes of a token: a space as Ġ, any other byte that is no character by itself as its number.
std::string readable(const std::string& piece) {
    std::string shown;
    for (const char c : piece) {
        const auto byte = static_cast<unsigned char>(c);
        char number[8];
        std::snprintf(number, sizeof number, "<%02X>", byte);
        shown += byte == ' ' ? "Ġ" : byte > ' ' && byte < 0x7F ? std::string(1, c) : number;
    }
    return shown;
}

// The tokens of a text, separated by spaces.
std::string pieces_of(const text::BytePairs& tokenizer, const std::string& text) {
    std::string line;
    for (const std::int64_t id : tokenizer.encode(text))
        line += (line.empty() ? "" : " ") + readable(tokenizer.piece(id));
    return line;
}

struct Neighbours {
    std::string left, right;
    int count;
};

// The pairs of neighbours within the words (a space begins a word), the most frequent first.
std::vector<Neighbours> neighbours_in(const text::BytePairs& tokenizer, const std::string& text) {
    std::vector<Neighbours> found;
    const text::Ids ids = tokenizer.encode(text);
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

void merge_by_merge() {
    for (int merges = 0; merges <= 4; ++merges) {
        const auto learned = text::BytePairs::train(three_words, 257 + merges);  // 256 bytes, merges, the end
        std::printf("merges %d   %s\n", merges, pieces_of(learned, three_words).c_str());
    }
    std::printf("\n");
    for (int merges = 0; merges <= 4; ++merges) {
        std::printf("before merge %d  ", merges + 1);
        for (const auto& [left, right, count] :
             neighbours_in(text::BytePairs::train(three_words, 257 + merges), three_words))
            std::printf(" %s+%s %d", readable(left).c_str(), readable(right).c_str(), count);
        std::printf("\n");
    }
}

void files_and_other_words(const fs::path& folder) {
    const auto learned = text::BytePairs::train(three_words, 300);  // stops early: no pair occurs twice
    learned.save(folder);                                           // vocab.json and merges.txt
    std::cout << "V = " << learned.vocab_size() << "\n" << io::load_text(folder / "merges.txt") << "\n";
    for (const std::string text : {"low", " low", "slowly", "flower", "naïve", "🧵"}) {
        std::string ids;
        for (const std::int64_t id : learned.encode(text)) ids += std::to_string(id) + " ";
        std::printf("%-24s%s\n", ids.c_str(), pieces_of(learned, text).c_str());
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

// What the parts of a name are called in the file and in Weft. ln_f. is tried before ln_.
enum Side { theirs, ours };
const std::vector<std::array<std::string, 2>> name_parts = {
    {"wte", "token_embedding"},    {"wpe", "position_embedding"}, {"ln_f.", "norm."},
    {"attn.c_attn", "attn.W_qkv"}, {"attn.c_proj", "attn.W_out"}, {"ln_", "norm"},
    {"mlp.c_fc", "mlp.W_in"},      {"mlp.c_proj", "mlp.W_out"},   {"h.", "blocks."}};

// "h.3.mlp.c_fc.bias" to "blocks.3.mlp.W_in.bias", or back.
std::string renamed(std::string name, Side from, Side to) {
    for (const auto& part : name_parts)
        if (const auto at = name.find(part[from]); at != name.npos)
            name.replace(at, part[from].size(), part[to]);
    return name;
}

// A weight of GPT-2's linear layers is (in, out) in the file and (out, in) in Weft.
Tensor other_layout(const std::string& name, const Tensor& value) {  // its name in the file
    const bool linear = name.find(".c_") != name.npos && name.ends_with(".weight");
    return linear ? value.T() : value;
}

nn::NamedTensors from_file(const nn::NamedTensors& file) {
    nn::NamedTensors state;
    for (const auto& [name, value] : file) {
        state.emplace_back(renamed(name, theirs, ours), other_layout(name, value));
        if (name == "wte.weight") state.emplace_back("head.weight", value);  // tied
    }
    return state;
}

nn::NamedTensors to_file(const nn::NamedTensors& state) {
    nn::NamedTensors file;
    for (const auto& [name, value] : state) {
        if (name == "head.weight") continue;
        const std::string there = renamed(name, ours, theirs);
        file.emplace_back(there, other_layout(there, value.detach()));
    }
    return file;
}

// ---- a checkpoint of our own

// "The House That Jack Built": each verse puts one more line in front.
std::string rhyme() {
    std::string all, verse;
    for (const char* line :
         {"the house that Jack built.", "the malt that lay in ", "the rat that ate ", "the cat that killed ",
          "the dog that worried ", "the cow with the crumpled horn that tossed ",
          "the maiden all forlorn that milked ", "the man all tattered and torn that kissed ",
          "the priest all shaven and shorn that married ", "the cock that crowed in the morn that waked ",
          "the farmer sowing his corn that kept "}) {
        verse = line + verse;
        all += "This is " + verse + "\n";
    }
    return all;
}

const std::string config_json = R"({"model_type": "gpt2", "vocab_size": 340, "n_positions": 48,
 "n_embd": 32, "n_layer": 2, "n_head": 4})";

// A GPT trained in float64 until it has memorised the text. ids (N,)
lm::GPT trained_on(const Tensor& ids, const lm::GPTConfig& config, std::uint64_t seed) {
    Rng rng(seed);
    lm::GPT model(config, rng);
    model.to(float64);
    const std::int64_t N = ids.numel(), T = config.block_size;
    const auto loss_of = [&] {
        const Tensor starts = randint(0, N - T, {8, 1}, rng);                        // (B, 1)
        const Tensor batch = gather(ids.expand({8, N}), 1, starts + arange(T + 1));  // (B, T + 1)
        return cross_entropy(model(batch.slice(1, 0, T)), batch.slice(1, 1, T + 1));
    };
    optim::AdamW optimizer(model, {.lr = 4e-3, .weight_decay = 0});
    training::minimise(optimizer, 300, loss_of, {.print_every = 0});
    model.eval();
    return model;
}

Tensor ids_of(const text::BytePairs& tokenizer, const std::string& text) {  // (N,)
    const text::Ids ids = tokenizer.encode(text);
    return from_vector(ids, {static_cast<std::int64_t>(ids.size())});
}

lm::GPT write_checkpoint(const fs::path& folder) {
    io::save_text(folder / "config.json", config_json);
    const auto tokenizer = text::BytePairs::train(rhyme(), 340);
    tokenizer.save(folder);  // vocab.json and merges.txt
    const Tensor ids = ids_of(tokenizer, rhyme());
    lm::GPT trained = trained_on(ids, lm::gpt2_config(folder / "config.json"), 16);
    io::save_safetensors(folder / "model.safetensors", to_file(trained.state_dict()));
    return trained;
}

// What a model writes after a prompt, at most to the end of the line, always taking the likeliest token.
std::string written(const lm::GPT& model, const text::BytePairs& tokenizer, const std::string& prompt) {
    const lm::GenerateOptions greedy = {.max_new_tokens = 30, .sampling = {.temperature = 0}};
    return lm::generate_text(model, tokenizer, prompt, {.generate = greedy, .stop = "\n"}).text;
}

void write_and_load(const fs::path& folder) {
    const lm::GPT trained = write_checkpoint(folder);
    const lm::GPT loaded = lm::load_gpt2(folder, {.dtype = float64});

    const nn::NamedTensors file = io::load_safetensors(folder / "model.safetensors").tensors;
    Rng zeros = Rng::skip_init();  // the initial values are overwritten
    lm::GPT filled(lm::gpt2_config(folder / "config.json"), zeros);
    filled.to(float64);
    filled.load_state_dict(from_file(file));

    const Tensor ids = ids_of(text::BytePairs::load(folder), rhyme()).slice(0, 0, 48);  // (T,)
    const auto difference = [&](const lm::GPT& other) {                                 // to `loaded`
        const NoGrad off;
        return max(abs(loaded(ids) - other(ids))).item();
    };
    std::printf("largest difference of the logits: to the trained model %g, to the one filled by hand %g\n",
                difference(trained), difference(filled));
}

void from_text_to_text(const fs::path& folder) {
    const lm::GPT model = lm::load_gpt2(folder, {.dtype = float64});
    const auto tokenizer = text::BytePairs::load(folder);
    std::cout << ids_of(tokenizer, rhyme()).numel() << " tokens for " << rhyme().size() << " bytes\n";
    std::cout << pieces_of(tokenizer, "This is the cow with the farmer") << "\n";
    std::cout << "This is the cow" << written(model, tokenizer, "This is the cow") << "\n";
}

// ---- bytes

void roofs() {
    std::printf("               L     C  parameters  read for a token   tokens/s   after 1000 tokens\n");
    struct Size {
        const char* name;
        std::int64_t L, C;
    };
    for (const auto& [name, L, C] : {Size{"gpt2", 12, 768}, Size{"gpt2-medium", 24, 1024},
                                     Size{"gpt2-large", 36, 1280}, Size{"gpt2-xl", 48, 1600}}) {
        const std::int64_t parameters = (50257 + 1024) * C + L * (12 * C * C + 13 * C) + 2 * C;
        const std::int64_t read = parameters - 1023 * C, cached = 2 * L * 1000 * C;
        const auto bytes = [](std::int64_t numbers) { return 4 * static_cast<double>(numbers); };
        std::printf("%-12s %3lld  %4lld  %10lld  %12.0f MiB  %9.1f  %18.1f\n", name, whole(L), whole(C),
                    whole(parameters), bytes(read) / (1 << 20), 50e9 / bytes(read),
                    50e9 / bytes(read + cached));
    }
}

// Bytes per second that a product of a matrix and one vector reads, the most of 10 runs.
double bytes_per_second() {
    const NoGrad off;
    const Tensor A = ones({8192, 8192}), x = ones({1, 8192});  // A takes 256 MiB
    double most = 0;
    for (int run = 0; run < 10; ++run) {
        const auto start = std::chrono::steady_clock::now();
        const Tensor y = linear(x, A);  // reads each weight once
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
        most = std::max(most, 4 * static_cast<double>(A.numel()) / time.count());
    }
    return most;
}

void measured_roof() {
    for (const int threads : {1, 2}) {
        set_num_threads(threads);
        const double M = bytes_per_second();
        std::printf("threads %d: %.1f GB/s, at most %.0f tokens of GPT-2 a second\n", threads, M / 1e9,
                    M / (4 * 123654144.0));
    }
    set_num_threads(1);
}

// ---- Break it

// The file's tensors with one layer's weights transposed, the layout of torch.nn.Linear.
nn::NamedTensors mistaken(nn::NamedTensors file, const std::string& layer) {
    for (auto& [name, value] : file)
        if (name.ends_with(layer + ".weight")) value = value.T();
    return file;
}

// The mean of −ln p over the first tokens, as many as the model reads at once.
double loss_of(const lm::GPT& model, const Tensor& ids) {  // (N,)
    const NoGrad off;
    const std::int64_t T = model.config.block_size;
    return cross_entropy(model(ids.slice(0, 0, T)), ids.slice(0, 1, T + 1)).item();  // (T, V), (T,) → ()
}

void break_it(const fs::path& folder) {
    try {
        lm::from_gpt2(mistaken(io::load_safetensors(folder / "model.safetensors").tensors, "mlp.c_fc"),
                      lm::gpt2_config(folder / "config.json"));
    } catch (const ValueError& error) {
        std::cout << error.what() << "\n\n";
    }
    const lm::GPTConfig config = lm::gpt2_config(folder / "config.json");
    const auto tokenizer = text::BytePairs::load(folder);
    const Tensor ids = ids_of(tokenizer, rhyme());
    std::vector<double> right_losses, wrong_losses;
    for (std::uint64_t seed = 16; seed < 21; ++seed) {
        lm::GPT model = trained_on(ids, config, seed);
        right_losses.push_back(loss_of(model, ids));
        const nn::NamedTensors wrong = mistaken(to_file(model.state_dict()), "attn.c_proj");
        model.load_state_dict(lm::from_gpt2(wrong, config));  // no error
        wrong_losses.push_back(loss_of(model, ids));
        if (seed == 16)
            std::cout << "This is the cow" << written(model, tokenizer, "This is the cow") << "\n\n";
    }
    std::printf("as trained              %s\n", spread(right_losses).c_str());
    std::printf("attn.c_proj transposed  %s\n", spread(wrong_losses).c_str());
    std::printf("ln %lld                  %.2f\n", whole(config.vocab_size),
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
                   "The weights of q, k and v: side by side in GPT-2's file, one below the other in Weft");
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
    d.text(520, 24, "W_qkv.weight, in Weft", {14, "middle", "#222", true});
    d.cells(480, 44, 40, 36, W.T(), tall);
    for (int i = 0; i < 3; ++i) d.text(460, 80 + 72 * i, parts[i], {15, "middle", "#222", true});
    d.text(572, 152, "out", {13, "start", "#555"});
    d.text(520, 274, "in", {13, "middle", "#555"});
    d.text(520, 296, "(3C, C): x Aᵀ + b", {13, "middle", "#555"});
    return d.svg();
}

// Each layer's weight in the file and in Weft, to scale except for the two long tables.
std::string names_figure() {
    viz::Drawing d(640, 596, "The weights of GPT-2 in the file and in Weft: four in each block are transposed");
    struct Row {
        const char *name, *ours;
        double height, width;  // in the file
        const char *there, *here;
        bool turned;
    };
    const double c = 22;
    const Row rows[] = {{"wte", "token_embedding", c, 112, "(V, C)", "(V, C)", false},
                        {"wpe", "position_embedding", c, 76, "(P, C)", "(P, C)", false},
                        {"ln_1", "norm1", 5, c, "(C,)", "(C,)", false},
                        {"attn.c_attn", "attn.W_qkv", c, 3 * c, "(C, 3C)", "(3C, C)", true},
                        {"attn.c_proj", "attn.W_out", c, c, "(C, C)", "(C, C)", true},
                        {"ln_2", "norm2", 5, c, "(C,)", "(C,)", false},
                        {"mlp.c_fc", "mlp.W_in", c, 4 * c, "(C, 4C)", "(4C, C)", true},
                        {"mlp.c_proj", "mlp.W_out", 4 * c, c, "(4C, C)", "(C, 4C)", true},
                        {"ln_f", "norm", 5, c, "(C,)", "(C,)", false}};
    d.text(185, 18, "in the file", {15, "middle", "#222", true});
    d.text(485, 18, "in Weft", {15, "middle", "#222", true});
    double y = 38;
    for (std::size_t i = 0; i < std::size(rows); ++i) {
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
        d.text(178, middle - 8, row.name, {13, "end"});
        d.text(178, middle + 8, row.there, {12, "end", "#555"});
        d.text(490, middle - 8, row.ours, {13, "start"});
        d.text(490, middle + 8, row.here, {12, "start", "#555"});
        y += room + 12;
    }
    return d.svg();
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    set_num_threads(1);  // the tensors are too small to be shared out
    std::string name = (fs::temp_directory_path() / "gpt2-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw IoError("cannot make a folder like ", name);
    const fs::path folder = name;  // new and empty
    chapter.section("Byte pairs, merge by merge");
    merge_by_merge();
    chapter.section("Files, and other words");
    files_and_other_words(folder);
    chapter.section("One layer, two layouts");
    two_layouts();
    chapter.section("A checkpoint of our own");
    write_and_load(folder);
    chapter.section("From text to text");
    from_text_to_text(folder);
    chapter.section("Bytes and tokens per second");
    roofs();
    std::printf("\n");
    measured_roof();
    chapter.section("Break it: a transpose that is missing");
    break_it(folder);
    fs::remove_all(folder);

    chapter.figure("20_names", names_figure());
    chapter.figure("20_layout", layout_figure());
    chapter.figure("20_merges", merges_figure());
}
