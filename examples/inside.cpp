// Looks inside a published model: see --help. Exit codes: 0; 1 on a failure, 2 on wrong usage. L layers, H
// heads, T tokens, V vocabulary. Layers, heads and positions are counted from 0, as in the paths of modules.
#include <weft/weft.h>

#include <cmath>
#include <cstdio>

#include "command_line.h"

using namespace weft;

namespace {

struct Settings {
    std::string config, model, prompt = "The capital of France is", other = "The capital of Italy is", picture;
    std::int64_t layer = -1, head = -1, threads = 0;
    std::vector<std::string> ignore_keys;
};

bool parse_settings(int argc, char** argv, Settings& s) {
    const auto app =
        make_app("inside",
                 "Look inside a published language model: what each layer would predict, which heads the\n"
                 "prediction needs, and where the model holds what tells two prompts apart.",
                 "Example:\n  inside --model build/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf");
    add_required_file(*app, "--model", s.model,
                      "a .gguf file, or a folder with config.json, model.safetensors and\ntokenizer.json");
    add_text(*app, "--prompt", s.prompt, "what the model continues");
    add_text(*app, "--other", s.other, "a prompt of as many tokens that it continues otherwise");
    add_number(*app, "--layer", s.layer, 0, 1'000'000,
               "with --head: show what comes next without this head alone");
    add_number(*app, "--head", s.head, 0, 1'000'000, "the head in this layer, from 0");
    add_text(*app, "--picture", s.picture, "draw heads and positions into this SVG file", true);
    add_number(*app, "--threads", s.threads, 0, 1024,
               "number of threads, which does not affect results; 0: all");
    add_ignore_keys(*app, s.ignore_keys);
    add_common(*app, s.config, "prompt = 'The loom'");
    if (!parse_command_line(*app, s.config, argc, argv)) return false;
    if ((s.layer < 0) != (s.head < 0)) throw UsageError("--layer and --head belong together; give both");
    return true;
}

std::string printed(const char* format, auto... values) {
    char text[128];
    std::snprintf(text, sizeof text, format, values...);
    return text;
}

// Two decimals, and no sign before zeros.
std::string decimals(double x) { return printed("%.2f", std::abs(x) < 0.005 ? 0.0 : x); }

// A text in quotes, cut or filled up with spaces to so many columns.
std::string cell(const std::string& text, std::size_t columns) {
    const std::string shown = "\"" + excerpt(text, columns - 3) + "\"";
    const auto continues = [](char c) { return (c & 0xC0) == 0x80; };
    const auto width = shown.size() - static_cast<std::size_t>(std::ranges::count_if(shown, continues));
    return shown + std::string(columns - std::min(columns, width), ' ');
}

struct Prompt {
    std::string text;
    text::Ids ids;
    std::vector<std::string> pieces;  // T
    Tensor logits;                    // of the next token, (V,), float64
    std::int64_t answer;              // the most likely one
};

class Inside {
public:
    Inside(const Settings& settings, lm::Pretrained published)
        : s_(settings),
          model_(std::move(published.model)),
          tokenizer_(std::move(published.tokenizer)),
          prompt_(read("--prompt", s_.prompt)),
          other_(read("--other", s_.other)) {
        if (s_.layer < 0 && (other_.ids.size() != prompt_.ids.size() || other_.answer == prompt_.answer))
            throw UsageError("--prompt has ", prompt_.ids.size(), " tokens and is continued by ",
                             quoted(prompt_.answer), ", --other ", other_.ids.size(), " and ",
                             quoted(other_.answer), "; give two of one length with different continuations");
    }

    // What each block would predict if it were the last.
    void show_lens() const {
        std::printf("After %s each layer would predict:\n\n", shown(prompt_).c_str());
        const Tensor lens = lm::logit_lens(model_, prompt_.ids);  // (L, V)
        for (std::int64_t l = 0; l < lens.size(0); ++l)
            std::printf("%5lld  %s\n", static_cast<long long>(l), most_likely(lens[l]).c_str());
    }

    // The heads that the answer needs, and those that stand in its way.
    Tensor show_heads() const {
        const Tensor effects = lm::head_effects(model_, prompt_.ids, prompt_.answer);  // (L, H)
        const double p = softmax(prompt_.logits, 0)[prompt_.answer].item();
        const std::int64_t H = effects.size(1), n = std::min<std::int64_t>(10, effects.numel());
        std::printf("\n%s has the probability %.3f.\n", quoted(prompt_.answer).c_str(), p);
        std::printf("Of the %lld heads, these change it most when switched off:\n\n",
                    static_cast<long long>(effects.numel()));
        std::printf("layer  head  change of ln p  probability\n");
        const Tensor largest = topk(abs(effects).reshape({effects.numel()}), n).indices;  // (n,)
        for (const std::int64_t i : largest.to_vector<std::int64_t>()) {
            const double effect = effects.at({i / H, i % H});
            std::printf("%5lld  %4lld  %14s  %11.3f\n", static_cast<long long>(i / H),
                        static_cast<long long>(i % H), decimals(effect).c_str(), p * std::exp(effect));
        }
        return effects;
    }

    // The next tokens without one head.
    void show_one_head() const {
        const auto& layers = model_.layers;
        if (s_.layer >= std::ssize(layers) || s_.head >= model_.config.num_heads)
            throw UsageError("--layer ", s_.layer, " --head ", s_.head, ": the model has the layers 0 to ",
                             layers.size() - 1, " with the heads 0 to ", model_.config.num_heads - 1);
        const auto D = layers[static_cast<std::size_t>(s_.layer)].self_attn.head_dim;
        const nn::ForwardHook off =
            model_.hook("layers[" + std::to_string(s_.layer) + "].self_attn.heads", [&](const Tensor& y) {
                Tensor without = y.clone();  // (1, T, H D)
                without.slice(2, s_.head * D, (s_.head + 1) * D).fill_(0);
                return without;
            });
        std::printf("After %s, as it is, and without head %lld of layer %lld:\n\n", shown(prompt_).c_str(),
                    static_cast<long long>(s_.head), static_cast<long long>(s_.layer));
        std::printf("%s\n%s\n", most_likely(prompt_.logits).c_str(),
                    most_likely(next_logits(prompt_.ids)).c_str());
    }

    // How far a block's output at one position of the other prompt moves the prediction towards its answer.
    Tensor show_positions() const {
        const Tensor effects =
            lm::patch_effects(model_, prompt_.ids, other_.ids, prompt_.answer, other_.answer);
        std::printf("\nWith a layer's output at one position as after %s,\n", shown(other_).c_str());
        std::printf("the lead of %s over %s (0: as before, 1: as there):\n", quoted(other_.answer).c_str(),
                    quoted(prompt_.answer).c_str());
        const auto T = std::ssize(prompt_.ids);
        const auto begin = std::ranges::mismatch(prompt_.ids, other_.ids).in1 - prompt_.ids.begin();
        constexpr std::int64_t columns = 6;  // of a band of the table; before `begin` there is nothing to see
        for (std::int64_t from = begin; from < T; from += columns) {
            const std::int64_t to = std::min(T, from + columns);
            std::printf("\nlayer");
            for (std::int64_t t = from; t < to; ++t)
                std::printf("  %s", cell(other_.pieces[static_cast<std::size_t>(t)], 10).c_str());
            std::printf("\n");
            for (std::int64_t l = 0; l < effects.size(0); ++l) {
                std::printf("%5lld", static_cast<long long>(l));
                for (std::int64_t t = from; t < to; ++t)
                    std::printf("  %10s", decimals(effects.at({l, t})).c_str());
                std::printf("\n");
            }
        }
        return effects;
    }

    // Both tables as one picture: of heads (L, H), and of positions (L, T).
    void draw(const Tensor& heads, const Tensor& positions) const {
        constexpr double left = 60, top = 90, width = 40, height = 18, gap = 60;
        const auto L = static_cast<double>(heads.size(0)), H = static_cast<double>(heads.size(1)),
                   T = static_cast<double>(positions.size(1));
        const double second = left + H * width + gap;
        viz::Drawing picture(second + std::max(T * width + 60, 340.0), top + L * height + 20,
                             "Heads and positions of " + s_.prompt);
        const viz::Label small{.size = 10}, start{.anchor = "start"};
        picture.text(left, 20, "without a head: change of ln p(" + quoted(prompt_.answer) + ")", start);
        picture.text(second, 40, "with the other prompt's output: lead of " + quoted(other_.answer), start);
        picture.text(left - 24, top - 10, "layer", small);
        for (std::int64_t l = 0; l < heads.size(0); ++l)
            picture.text(left - 18, top + height * (static_cast<double>(l) + 0.5), std::to_string(l), small);
        for (std::int64_t h = 0; h < heads.size(1); ++h)
            picture.text(left + width * (static_cast<double>(h) + 0.5), top - 10, std::to_string(h), small);
        for (std::size_t t = 0; t < prompt_.pieces.size(); ++t)
            picture.text(second + width * (static_cast<double>(t) + 0.5), top - 6, cell(prompt_.pieces[t], 10),
                         {.size = 10, .anchor = "start", .rotate = -25});
        picture.cells(left, top, width, height, heads, style(heads));
        picture.cells(second, top, width, height, positions, style(positions));
        io::save_text(s_.picture, picture.svg());
    }

private:
    Settings s_;
    lm::Decoder model_;
    text::PreTrainedTokenizer tokenizer_;
    Prompt prompt_, other_;

    Tensor next_logits(const text::Ids& ids) const {
        const NoGrad off;
        const auto T = static_cast<std::int64_t>(ids.size());
        return model_(from_vector(ids, {1, T}), {.last_only = true})[0][0].to(float64);  // (V,)
    }

    Prompt read(const char* flag, const std::string& text) const {
        Prompt prompt{text, tokenizer_.encode(text), {}, {}, 0};
        if (prompt.ids.empty()) throw UsageError(flag, ": the prompt has no tokens");
        for (const std::int64_t id : prompt.ids) prompt.pieces.push_back(tokenizer_.piece(id));
        prompt.logits = next_logits(prompt.ids);
        prompt.answer = static_cast<std::int64_t>(argmax(prompt.logits, 0).item());
        return prompt;
    }

    static std::string shown(const Prompt& prompt) { return "\"" + excerpt(prompt.text, 40) + "\""; }
    std::string quoted(std::int64_t id) const { return "\"" + excerpt(tokenizer_.piece(id), 12) + "\""; }

    // The three most likely tokens of logits (V,), with their probabilities.
    std::string most_likely(const Tensor& logits) const {
        const Tensor p = softmax(logits.to(float64), 0);
        const auto best = topk(p, std::min<std::int64_t>(3, p.size(0)));
        std::string line;
        for (std::int64_t i = 0; i < best.values.size(0); ++i)
            line += (line.empty() ? "" : "   ") +
                    cell(tokenizer_.piece(static_cast<std::int64_t>(best.indices[i].item())), 14) +
                    printed("  %.3f", best.values[i].item());
        return line;
    }

    // Colours from vermilion for what is most below 0, by white, to blue.
    static viz::CellsStyle style(const Tensor& values) {
        viz::CellsStyle style{.text_size = 9};
        const double top = std::max(max(abs(values)).item(), 1e-9);
        for (const double x : values.contiguous().to_vector<double>()) {
            const int light = static_cast<int>(std::lround(255 * (1 - std::abs(x) / top)));
            const int middle = std::max(light, 114);
            style.fills.push_back(x < 0 ? printed("#ff%02x%02x", middle, light)
                                        : printed("#%02x%02xff", light, middle));
            style.texts.push_back(decimals(x));
        }
        return style;
    }
};

int inside(int argc, char** argv) {
    Settings s;
    if (!parse_settings(argc, argv, s)) return 0;
    if (s.threads > 0) set_num_threads(static_cast<int>(s.threads));
    const Inside model(s, lm::load_language(s.model, {.ignore_keys = s.ignore_keys}));
    if (s.layer >= 0) {
        model.show_one_head();
        return 0;
    }
    model.show_lens();
    const Tensor heads = model.show_heads(), positions = model.show_positions();
    if (!s.picture.empty()) model.draw(heads, positions);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    return run_program("inside", "use a smaller model or a shorter prompt", [&] { return inside(argc, argv); });
}
