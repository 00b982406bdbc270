// "Multi-Head Causal Self-Attention", of a JAX/Flax project, section by section.
//
// B sequences, T tokens, D = d_model, H = n_heads heads, d_head = D / H.
#include <unistd.h>

#include <cmath>
#include <iostream>

#include "companion.h"

using namespace weft;

namespace {

// ---- Code: the module

struct Config {
    std::int64_t d_model = 128, n_heads = 4;
    double dropout = 0.1;
};

struct MultiHeadAttention : nn::Module {
    Config cfg;
    nn::Linear Dense_0;  // D → 3D, with the name that Flax gives it
    nn::Linear Dense_1;  // D → D

    explicit MultiHeadAttention(const Config& config)
        : Module("MultiHeadAttention"),
          cfg(config),
          Dense_0(register_module("Dense_0", nn::Linear(cfg.d_model, 3 * cfg.d_model))),
          Dense_1(register_module("Dense_1", nn::Linear(cfg.d_model, cfg.d_model))) {}

    // traced(name, x) is x; the tensor story lists it under that name.
    Tensor operator()(const Tensor& x, bool deterministic = false) const {
        const std::int64_t B = x.size(0), T = x.size(1), D = x.size(2), head_dim = D / cfg.n_heads;

        const auto qkv = traced("linear projection", Dense_0(x)).chunk(3, -1);  // three of (B, T, D)
        const auto heads = [&](const Tensor& part) {
            return part.reshape(B, T, cfg.n_heads, head_dim).permute(0, 2, 1, 3);  // (B, H, T, d_head)
        };
        const Tensor q = traced("Q", heads(qkv[0])), k = traced("K", heads(qkv[1])),
                     v = traced("V", heads(qkv[2]));

        const double scale = std::pow(static_cast<double>(head_dim), -0.5);
        Tensor attn =
            traced("Q x K^T / sqrt(d_head)", q.matmul(k.permute(0, 1, 3, 2)) * scale);  // (B, H, T, T)

        const Tensor mask = triu(ones({T, T}), 1).to(boolean);  // true: blocked
        attn = traced("causal mask", where(mask, -1e9, attn));
        attn = traced("softmax", attn.softmax(-1));
        attn = traced("dropout", dropout(attn, cfg.dropout, !deterministic));

        const Tensor weighted = traced("attention x V", attn.matmul(v));  // (B, H, T, d_head)
        const Tensor out = traced("heads reshaped", weighted.permute(0, 2, 1, 3).reshape(B, T, D));
        return Dense_1(out);  // (B, T, D)
    }
};

// ---- what the sections share

constexpr std::int64_t B = 2, T = 5, D = 128, H = 4;

std::string numbers(const Tensor& row) {
    std::string text;
    for (const double x : row.to_vector<float>()) {
        char number[32];
        std::snprintf(number, sizeof number, " %.3f", x);
        text += std::isnan(x) ? " NaN" : number;
    }
    return text;
}

// The tensor that a call names.
Tensor named(const std::string& name, const MultiHeadAttention& attention, const Tensor& x,
             bool deterministic) {
    const Trace trace;
    (void)attention(x, deterministic);
    return step(trace.entries(), name);
}

// ---- the sections

void architecture(Chapter& chapter, const MultiHeadAttention& attention, const Tensor& x) {
    chapter.section("Architecture");
    viz::tensor_story([&](const Tensor& input) { return attention(input); }, x, {.values_up_to = 0}).print();
}

void causal_mask(Chapter& chapter, const MultiHeadAttention& attention, const Tensor& x) {
    chapter.section("The Causal Mask");
    std::vector<std::string> tokens;
    for (int i = 1; i <= T; ++i) tokens.push_back("Token " + std::to_string(i) + ":");
    std::cout << viz::mask_grid(Mask::causal(), 1, 1, T, T,
                                {.queries = tokens,
                                 .keys = {"1", "2", "3", "4", "5"},
                                 .visible = "✅",
                                 .blocked = "❌",
                                 .corner = "Position:"})
              << "\n";

    const Tensor attn = named("softmax", attention, x, true);  // (B, H, T, T)
    std::cout << "token 2 attends with" << numbers(attn[0][0][1]) << "\n";
    const Tensor future = triu(ones({T, T}), 1) != 0;
    std::printf("the largest weight of a later token: %g\n", attn.masked_fill(!future, 0).max().item());

    Tensor other = x.clone();
    other[0][3].fill_(1);  // another fourth token in the first sequence
    const Tensor moved = (attention(x, true) - attention(other, true)).abs().max(-1).values;  // (B, T)
    std::cout << "another token 4 moves tokens 1 to 5 by" << numbers(moved[0]) << "\n";
    held = held && all(moved[0].slice(0, 0, 3) == 0) && all(moved[0].slice(0, 3, 5) > 0);

    std::cout
        << "\nthe masks of prose and code, for token 2 of 4, then for a token that may attend to nothing:\n";
    const Tensor scores = tensor({2.0, 1.5, 0.8, 0.3});
    const Tensor blocked = tensor({{false, false, true, true}, {true, true, true, true}});
    const check::MaskTable table = check::mask_oracle(stack({scores, scores}), Mask::blocked(blocked));
    for (const check::MaskRule rule : {check::MaskRule::replace, check::MaskRule::plain, check::MaskRule::safe})
        std::printf("%-20s %s   %s\n", check::name(rule), numbers(table[rule].weights[0]).c_str(),
                    numbers(table[rule].weights[1]).c_str());
}

void why(Chapter& chapter, const MultiHeadAttention& attention, const Tensor& x) {
    chapter.section("Multi-Head: Why?");
    std::printf("d_model %d, n_heads %d, d_head %d\n", static_cast<int>(D), static_cast<int>(H),
                static_cast<int>(D / H));
    const Tensor attn = named("softmax", attention, x, true),
                 heads = named("attention x V", attention, x, true);
    for (std::int64_t i = 0; i < H; ++i)
        std::printf("head %d (%d-dim): token 5 attends with%s\n", static_cast<int>(i + 1),
                    static_cast<int>(heads.size(-1)), numbers(attn[0][i][4]).c_str());
    const Tensor merged = named("heads reshaped", attention, x, true);  // (B, T, D)
    std::printf("concatenated: %d-dim\n", static_cast<int>(merged.size(-1)));
    bool own = true;
    for (std::int64_t i = 0; i < H; ++i)
        own = own && all(merged.slice(-1, i * D / H, (i + 1) * D / H) == heads.select(1, i));
    claim("columns 1 to 32 are head 1, 33 to 64 head 2, and so on", own);

    std::printf(
        "\nparameters: %d + %d = %d; without biases %d\n", static_cast<int>(attention.Dense_0.num_parameters()),
        static_cast<int>(attention.Dense_1.num_parameters()), static_cast<int>(attention.num_parameters()),
        static_cast<int>(nn::CausalMultiHeadAttention(D, H).num_parameters()));
    for (const std::int64_t n_heads : {1, 4}) {
        const MultiHeadAttention other({.n_heads = n_heads});
        const CountMultiplyAdds counter;
        const Tensor y = other(x, true);
        std::printf("%d head%s: %d parameters, %d multiply-adds\n", static_cast<int>(n_heads),
                    n_heads == 1 ? " " : "s", static_cast<int>(other.num_parameters()),
                    static_cast<int>(counter.count()));
    }
}

// A parameter tree as Flax keeps it: kernels (in, out), scaled by 1/√in as Flax does, here with biases other
// than 0.
nn::NamedTensors flax_tree() {
    return {{"Dense_0/kernel", randn({D, 3 * D}) / std::sqrt(static_cast<double>(D))},
            {"Dense_0/bias", randn({3 * D})},
            {"Dense_1/kernel", randn({D, D}) / std::sqrt(static_cast<double>(D))},
            {"Dense_1/bias", randn({D})}};
}

// The library's module with the weights of ours.
nn::CausalMultiHeadAttention library_module(const MultiHeadAttention& attention) {
    nn::CausalMultiHeadAttention library(D, H,
                                         {.max_seq_len = T, .bias = true, .dropout = attention.cfg.dropout});
    library.load_state_dict({{"W_qkv.weight", attention.Dense_0.weight},
                             {"W_qkv.bias", attention.Dense_0.bias},
                             {"W_out.weight", attention.Dense_1.weight},
                             {"W_out.bias", attention.Dense_1.bias}});
    return library;
}

void compared(const MultiHeadAttention& attention, nn::CausalMultiHeadAttention library, const Tensor& x) {
    library.eval();
    const Tensor mine = attention(x, true), theirs = library(x);
    std::printf("attention(x, true): %s\n", mine.shape().str().c_str());
    std::printf("nn::CausalMultiHeadAttention in evaluation: the largest difference is %.6f\n",
                difference(mine, theirs));
    claim("they are equal", allclose(mine, theirs, 1e-5, 1e-5));
    library.train();
    claim("two calls agree, deterministic", difference(mine, attention(x, true)) == 0);
    claim("two calls differ, otherwise", difference(attention(x), attention(x)) > 0);
}

// What dropout does to the weights: `draw` returns them after dropout.
template <class Draw>
void dropped(const char* name, double p, const Tensor& before, const Draw& draw) {
    double lowest = 2, highest = 0, kept = 0, seen = 0, smallest = 2, largest = 0, total = 0;
    const int calls = 500;
    for (int call = 0; call < calls; ++call) {
        const Tensor after = draw();
        const Tensor ratio = (after / before)[before > 0];  // of the weights that the mask leaves
        const Tensor left = ratio[ratio > 0], sums = after.sum(-1);
        seen += static_cast<double>(ratio.numel()), kept += static_cast<double>(left.numel());
        lowest = std::min(lowest, left.min().item()), highest = std::max(highest, left.max().item());
        smallest = std::min(smallest, sums.min().item()), largest = std::max(largest, sums.max().item());
        total += sums.mean().item() / calls;
    }
    std::printf(
        "%-28s  dropped %.3f, the others times %.4f to %.4f, rows sum to %.3f to %.3f, on average %.3f\n", name,
        1 - kept / seen, lowest, highest, smallest, largest, total);
    held = held && std::abs(1 - kept / seen - p) < 0.01 && std::abs(total - 1) < 0.01 && smallest < 0.5 &&
           std::abs(lowest - 1 / (1 - p)) < 1e-4 && std::abs(highest - 1 / (1 - p)) < 1e-4;
}

void parameters_of_flax(MultiHeadAttention& attention, const Tensor& x) {
    const auto path = std::filesystem::temp_directory_path() / ("weft_" + std::to_string(getpid()) + ".npz");
    const nn::NamedTensors tree = flax_tree();
    io::save_npz(path, tree);

    const io::NamedTensors params = io::load_npz(path);
    for (const auto& [name, value] : params)
        std::printf("%-15s %s\n", name.c_str(), value.shape().str().c_str());
    attention.load_state_dict(nn::from_flax(params, {{"Dense_0", "Dense_0"}, {"Dense_1", "Dense_1"}}));
    nn::CausalMultiHeadAttention library(D, H, {.max_seq_len = T, .bias = true});
    library.load_state_dict(nn::from_flax(params, {{"Dense_0", "W_qkv"}, {"Dense_1", "W_out"}}));
    std::filesystem::remove(path);

    const Tensor qkv = x.matmul(tree[0].second) + tree[1].second;  // x W + b, as Flax computes it
    const auto heads = nn::split_qkv(qkv, H);
    const Tensor out =
        nn::merge_heads(scaled_dot_product_attention(heads[0], heads[1], heads[2], {.mask = Mask::causal()}));
    const Tensor expected = out.matmul(tree[2].second) + tree[3].second;
    claim("the module above gives x W + b of the tree", allclose(attention(x, true), expected, 1e-5, 1e-5));
    claim("and so does nn::CausalMultiHeadAttention", allclose(library(x), expected, 1e-5, 1e-5));
    std::cout << refusal([&] { return nn::from_flax(params, {{"Dense_0", "W_qkv"}}); }) << "\n";
}

void code(Chapter& chapter, MultiHeadAttention& attention, const Tensor& x) {
    chapter.section("Code");
    const nn::CausalMultiHeadAttention library = library_module(attention);
    compared(attention, library, x);

    const Tensor before = named("softmax", attention, x, true);  // (B, H, T, T)
    std::printf("\ndropout %.1f, 1 / (1 - %.1f) = %.4f\n", attention.cfg.dropout, attention.cfg.dropout,
                1 / (1 - attention.cfg.dropout));
    dropped("the module above", attention.cfg.dropout, before,
            [&] { return named("dropout", attention, x, false); });
    dropped("nn::CausalMultiHeadAttention", library.dropout, before,
            [&] { return library.with_weights(x).weights; });
    std::printf("deterministic: rows sum to %.3f to %.3f\n\n", before.sum(-1).min().item(),
                before.sum(-1).max().item());
    parameters_of_flax(attention, x);
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    set_num_threads(1);  // the operations are too small to share among threads
    const NoGrad off;
    manual_seed(1);
    MultiHeadAttention attention(Config{});
    const Tensor x = randn({B, T, D});
    architecture(chapter, attention, x);
    causal_mask(chapter, attention, x);
    why(chapter, attention, x);
    code(chapter, attention, x);
    return held ? 0 : 1;
}
