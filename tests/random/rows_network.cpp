// Products, attention, losses, and modules.
#include <cmath>

#include "rows.h"
#include "weft/lm/gpt.h"
#include "weft/nn/attention.h"
#include "weft/nn/layers.h"
#include "weft/nn/transformer.h"

namespace random_programs {
namespace {

bool product(ProgramBuilder& d, Statement& s) {
    s.in = {d.ranked(1, 4)};
    if (s.in[0] < 0) return false;
    const std::int64_t k = d.at(s.in[0]).size(-1);
    const int other = d.any([&](const Tensor& x) {
        return is_floating_point(x.dtype()) && x.rank() > 0 && x.rank() < 5 &&
               x.size(x.rank() == 1 ? 0 : -2) == k;
    });
    s.in.push_back(other >= 0 && d.coin(0.7) ? other : d.shaped({k, d.size()}));
    return true;
}

bool affine(ProgramBuilder& d, Statement& s) {  // x, weight, and perhaps a bias
    if (!ranked(d, s, 1)) return false;
    const std::int64_t in = d.at(s.in[0]).size(-1);
    const int weight = d.any(
        [&](const Tensor& x) { return is_floating_point(x.dtype()) && x.rank() == 2 && x.size(1) == in; });
    s.in.push_back(weight >= 0 && d.coin(0.8) ? weight : d.shaped({d.size(), in}));
    if (d.coin(0.6)) s.in.push_back(d.shaped({d.at(s.in[1]).size(0)}));
    return true;
}

bool normalised(ProgramBuilder& d, Statement& s) {
    if (!ranked(d, s, 1)) return false;
    const Shape row{d.at(s.in[0]).size(-1)};
    if (d.coin(0.8)) s.in.push_back(d.shaped(row));
    if (s.in.size() == 2 && d.coin(0.7)) s.in.push_back(d.coin(0.2) ? s.in[1] : d.shaped(row));
    return true;
}

// x, cosines and sines, which are any numbers. Number: whether pairs are halves.
bool turned(ProgramBuilder& d, Statement& s) {
    if (!ranked(d, s, 2) || d.at(s.in[0]).rank() == Shape::max_rank || d.at(s.in[0]).size(-1) < 2) return false;
    const Tensor& x = d.at(s.in[0]);
    const Shape table{x.size(-2), d.number(1, x.size(-1) / 2)};
    for (int i = 0; i < 2; ++i) s.in.push_back(d.shaped(table));
    s.numbers = {d.coin(0.5) ? 1.0 : 0.0};
    return true;
}

const Tensor& optional(const Call& c, std::size_t i) {
    static const Tensor none;
    return i < c.x.size() ? c.x[i] : none;
}

// Logits and targets. Numbers: whether ignored rows hold a number that is not finite, and which. Class 0 is
// ignored.
bool classes(ProgramBuilder& d, Statement& s) {
    s.in = {d.ranked(1, 4)};
    if (s.in[0] < 0) return false;
    Shape shape = d.at(s.in[0]).shape();
    const std::int64_t V = shape.back();
    shape.erase(shape.rank() - 1);
    if (V < 1) return false;
    s.in.push_back(d.ids(shape, d.coin(0.1) ? 1 : V));
    s.numbers = {double(d.coin(0.3)), double(d.number(0, 2))};
    return true;
}

double bad(double which) { return which == 0 ? NAN : which == 1 ? INFINITY : -INFINITY; }

Tensor loss(const Call& c) {
    const Tensor logits = c.n[0] == 0 ? c.x[0] : masked_fill(c.x[0], (c.x[1] == 0).unsqueeze(-1), bad(c.n[1]));
    return cross_entropy(logits, c.x[1], 0);
}

std::string loss_text(const Statement& s, bool python) {
    const std::string x = r(s.in[0]), t = r(s.in[1]);
    if (python) return "cross_entropy(" + x + ", " + t + ")";
    const std::string value[] = {"NAN", "INFINITY", "-INFINITY"};
    return "cross_entropy(" +
           (s.numbers[0] == 0 ? x
                              : "masked_fill(" + x + ", (" + t + " == 0).unsqueeze(-1), " +
                                    value[static_cast<int>(s.numbers[1])] + ")") +
           ", " + t + ", 0)";
}

// ---- attention. Operands: q, k, v (or one packed tensor), masks, a bias. Numbers:
enum { form, causal, scale, parts, has_bias, poison, poisoned_key, num_heads, dropout_seed, texts, lengths };
constexpr double dropout_probability = 0.3;
constexpr double plain = 0, output_with_weights = 1, weights = 2, packed = 3;  // forms

void mask_parts(ProgramBuilder& d, Statement& s, std::int64_t B, std::int64_t H, std::int64_t T,
                std::int64_t S) {
    s.numbers[causal] = d.coin(0.4);
    s.numbers[scale] = d.coin(0.3) ? 0.7 : 0;
    s.numbers[dropout_seed] = d.coin(0.2) ? d.number(1, 1000) : 0;
    for (int n = d.coin(0.6) ? d.number(1, 2) : 0; n > 0; --n) {
        const Shape shapes[] = {{T, S},
                                {B, d.coin(0.5) ? T : 1, S},
                                {d.coin(0.5) ? B : 1, d.coin(0.5) ? H : 1, d.coin(0.5) ? T : 1, S}};
        s.in.push_back(d.bools(shapes[d.number(0, 2)]));
        ++s.numbers[parts];
    }
    if (d.coin(0.2)) s.in.push_back(d.shaped({d.coin(0.5) ? H : 1, T, S})), s.numbers[has_bias] = 1;
    s.numbers[texts] = T <= S && d.coin(0.2) ? d.number(1, 3) : 0;  // tokens of each document
    if (d.coin(0.2))
        for (std::int64_t b = 0; b < B; ++b) s.numbers.push_back(d.number(0, static_cast<int>(S)));
}

// z in up to three places, or what fits it.
bool attention(ProgramBuilder& d, Statement& s) {
    s.numbers.assign(lengths, 0);
    s.numbers[form] = d.one_of({plain, plain, output_with_weights, weights});
    s.in = {d.ranked(2, 4)};
    if (s.in[0] < 0) return false;
    const Shape q = d.at(s.in[0]).shape();
    const int rank = q.rank();
    if (q.numel() == 0) return false;
    Shape k = q;
    if (d.coin(0.4)) k[rank - 2] = d.size();
    if (rank > 2 && d.coin(0.2)) k[rank - 3] = 1;  // one head of keys for all
    s.in.push_back(k == q && d.coin(0.4) ? s.in[0] : d.shaped(k));
    Shape v = k;
    if (d.coin(0.3)) v[rank - 1] = d.size();
    s.in.push_back(v == k && d.coin(0.4) ? s.in[1] : d.shaped(v));
    const std::int64_t B = rank == 4 ? q[0] : 1, H = rank > 2 ? q[rank - 3] : 1;
    s.numbers[poison] = d.coin(0.15) ? d.number(1, 3) : 0;
    s.numbers[poisoned_key] = d.number(0, static_cast<int>(k[rank - 2]) - 1);
    mask_parts(d, s, B, H, q[rank - 2], k[rank - 2]);
    return true;
}

bool packed_attention(ProgramBuilder& d, Statement& s) {
    s.numbers.assign(lengths, 0);
    s.numbers[form] = packed;
    const std::int64_t C = d.size();
    const int x = d.any([](const Tensor& x) {
        return is_floating_point(x.dtype()) && (x.rank() == 2 || x.rank() == 3) && x.numel() > 0 &&
               x.size(-1) % 3 == 0;
    });
    s.in = {x >= 0 && d.coin(0.7) ? x : d.shaped({d.size(), d.size(), 3 * C})};
    const Tensor& qkv = d.at(s.in[0]);
    const std::int64_t width = qkv.size(-1) / 3, B = qkv.rank() == 3 ? qkv.size(0) : 1, T = qkv.size(-2);
    s.numbers[num_heads] = width % 2 == 0 && d.coin(0.7) ? 2 : 1;
    mask_parts(d, s, B, static_cast<std::int64_t>(s.numbers[num_heads]), T, T);
    return true;
}

Tensor attend(const Call& c) {
    const bool is_packed = c.n[form] == packed;
    std::size_t next = is_packed ? 1 : 3;
    AttentionOptions options;
    if (c.n[causal] != 0) options.mask = options.mask | Mask::causal();
    for (int i = 0; i < c.n[parts]; ++i) options.mask = options.mask | Mask::blocked(c.x[next++]);
    if (c.n.size() > lengths) {
        std::vector<std::int64_t> list;
        for (std::size_t i = lengths; i < c.n.size(); ++i) list.push_back(c.integer(i));
        options.mask = options.mask | Mask::padding(list);
    }
    if (c.n[texts] != 0)
        options.mask =
            options.mask |
            Mask::documents((arange(c.x[is_packed ? 0 : 1].size(-2)).to(float64) / c.n[texts]).to(int64));
    if (c.n[has_bias] != 0) options.bias = c.x[next];
    if (c.n[scale] != 0) options.scale = c.n[scale];
    Rng rng(static_cast<std::uint64_t>(c.n[dropout_seed]));
    if (c.n[dropout_seed] != 0) options.dropout = dropout_probability, options.rng = &rng;
    if (is_packed) return multi_head_attention(c.x[0], c.integer(num_heads), options);
    Tensor k = c.x[1], v = c.x[2];
    if (c.n[poison] != 0) {  // a key that nobody may see holds what is no number
        const Tensor at = arange(k.size(-2)) == c.n[poisoned_key];
        k = masked_fill(k, at.unsqueeze(1), bad(c.n[poison] - 1));
        v = masked_fill(v, at.unsqueeze(1), bad(c.n[poison] - 1));
        options.mask = options.mask | Mask::blocked(at.unsqueeze(0).expand({c.x[0].size(-2), k.size(-2)}));
    }
    if (c.n[form] == plain) return scaled_dot_product_attention(c.x[0], k, v, options);
    const AttentionResult both = scaled_dot_product_attention_with_weights(c.x[0], k, v, options);
    return c.n[form] == weights ? both.weights : both.output;
}

// The factors of dropout, (B, H, T, S).
Tensor attention_factors(const Statement& s, const std::vector<Tensor>& values) {
    if (s.numbers[dropout_seed] == 0) return {};
    const auto operand = [&](std::size_t i) { return values[static_cast<std::size_t>(s.in[i])].shape(); };
    const bool is_packed = s.numbers[form] == packed;
    const Shape q = operand(0), k = is_packed ? q : operand(1);
    const int full_rank = is_packed ? 3 : 4;
    const std::int64_t B = q.rank() == full_rank ? q[0] : 1,
                       H = is_packed      ? static_cast<std::int64_t>(s.numbers[num_heads])
                           : q.rank() > 2 ? q[q.rank() - 3]
                                          : 1;
    Rng rng(static_cast<std::uint64_t>(s.numbers[dropout_seed]));
    return dropout(ones({B, H, q[q.rank() - 2], k[k.rank() - 2]}, float64), dropout_probability, rng);
}

std::string attention_text(const Statement& s, bool python) {
    const Numbers& n = s.numbers;
    const bool is_packed = n[form] == packed;
    std::size_t next = is_packed ? 1 : 3;
    std::string blocked, mask = n[causal] != 0 ? "Mask::causal()" : "Mask()", list;
    for (int i = 0; i < n[parts]; ++i, ++next) {
        blocked += r(s.in[next]) + ", ";
        mask += " | Mask::blocked(" + r(s.in[next]) + ")";
    }
    for (std::size_t i = lengths; i < n.size(); ++i) list += (i > lengths ? ", " : "") + number(n[i]);
    if (!list.empty()) mask += " | Mask::padding({" + list + "})";
    if (n[texts] != 0)
        mask += " | Mask::documents((arange(" + r(s.in[is_packed ? 0 : 1]) + ".size(-2)).to(float64) / " +
                number(n[texts]) + ").to(int64))";
    const std::string bias = n[has_bias] != 0 ? r(s.in[next]) : "";
    if (python) {
        const std::string key = n[poison] != 0 ? number(n[poisoned_key]) : "None";
        const std::string options = "causal=" + std::string(n[causal] != 0 ? "True" : "False") + ", blocked=[" +
                                    blocked + "], texts=" + number(n[texts]) + ", lengths=[" + list +
                                    "], bias=" + (bias.empty() ? "None" : bias) +
                                    ", scale=" + number(n[scale]) + ", unseen=" + key +
                                    (n[dropout_seed] != 0 ? ", factors=drawn(@)" : "");
        if (is_packed) return "packed(" + r(s.in[0]) + ", " + number(n[num_heads]) + ", " + options + ")";
        return "attend(" + r(s.in[0]) + ", " + r(s.in[1]) + ", " + r(s.in[2]) + ", " + options + ")[" +
               (n[form] == weights ? "1" : "0") + "]";
    }
    std::string k = r(s.in[1]), v = r(s.in[is_packed ? 0 : 2]);
    if (n[poison] != 0) {
        const std::string value[] = {"NAN", "INFINITY", "-INFINITY"};
        const auto at = "arange(" + k + ".size(-2)) == " + number(n[poisoned_key]);
        const auto filled = [&](const std::string& x) {
            return "masked_fill(" + x + ", (" + at + ").unsqueeze(1), " +
                   value[static_cast<int>(n[poison]) - 1] + ")";
        };
        mask += " | Mask::blocked((" + at + ").unsqueeze(0).expand({" + r(s.in[0]) + ".size(-2), " + k +
                ".size(-2)}))";
        k = filled(k), v = filled(v);
    }
    std::string options = "{.mask = " + mask;
    if (!bias.empty()) options += ", .bias = " + bias;
    if (n[scale] != 0) options += ", .scale = " + number(n[scale]);
    if (n[dropout_seed] != 0) options += ", .dropout = 0.3, .rng = &rng";
    options += "}";
    const std::string call =
        is_packed ? "multi_head_attention(" + r(s.in[0]) + ", " + number(n[num_heads]) + ", " + options + ")"
                  : std::string("scaled_dot_product_attention") + (n[form] == plain ? "" : "_with_weights") +
                        "(" + r(s.in[0]) + ", " + k + ", " + v + ", " + options + ")" +
                        (n[form] == plain     ? ""
                         : n[form] == weights ? ".weights"
                                              : ".output");
    return n[dropout_seed] == 0 ? call
                                : "[&] { Rng rng(" + number(n[dropout_seed]) + "); return " + call + "; }()";
}

// ---- modules. Numbers of "module": kind, width, seed.
constexpr double linear_module = 0, norm = 1, mlp = 2, causal_attention = 3, block = 4, gpt = 5,
                 convolution = 6, table = 7, batch = 8, self_attention = 9, encoder = 10, decoder = 11;
constexpr std::int64_t vocab_size = 5, block_size = 4;

template <class M, class F>
std::shared_ptr<ModuleInstance> made(M module, const Call& c, const F& call) {
    module.to(c.dtype);
    const auto seeded = [module, call](const std::vector<Tensor>& x, std::uint64_t seed) mutable {
        module.train(seed != 0);
        for (const auto& [name, generator] : module.named_generators()) *generator = Rng(seed);
        return call(module, x);
    };
    return std::make_shared<ModuleInstance>(ModuleInstance{seeded, module.parameters()});
}
template <class M>
std::shared_ptr<ModuleInstance> made(M module, const Call& c) {
    return made(module, c, [](const M& m, const std::vector<Tensor>& x) { return m(x[0]); });
}

std::shared_ptr<ModuleInstance> make_module(const Call& c) {
    Rng rng(static_cast<std::uint64_t>(c.n[2]));
    const std::int64_t C = c.integer(1);
    const double kind = c.n[0];
    if (kind == linear_module) return made(nn::Linear(C, 3, rng), c);
    if (kind == norm) return made(nn::LayerNorm(C), c);
    if (kind == mlp) return made(nn::MLP(C, rng, {.dim_feedforward = 3}), c);
    if (kind == causal_attention)
        return made(nn::CausalMultiHeadAttention(C, C % 2 == 0 ? 2 : 1, rng,
                                                 {.max_seq_len = 16, .bias = true, .dropout = 0.3}),
                    c);
    if (kind == block)
        return made(nn::TransformerBlock(
                        C, 1, rng, {.max_seq_len = 16, .bias = true, .dropout = 0.3, .dim_feedforward = 3}),
                    c);
    if (kind == table) return made(nn::Embedding(vocab_size, C, rng), c);
    if (kind == batch)  // uses the batch's own statistics
        return made(nn::BatchNorm(C), c, [](nn::BatchNorm norm, const std::vector<Tensor>& x) {
            norm.train();
            return norm(x[0]);
        });
    if (kind == self_attention)
        return made(nn::MultiHeadAttention(C, 1, rng, {.bias = true, .dropout = 0.3}), c);
    if (kind == encoder)
        return made(nn::EncoderBlock(C, 1, rng, {.bias = true, .dropout = 0.3, .dim_feedforward = 3}), c);
    if (kind == decoder)  // takes x and its own memory
        return made(nn::DecoderBlock(C, 1, rng, {.bias = true, .dropout = 0.3, .dim_feedforward = 3}), c,
                    [](const nn::DecoderBlock& m, const std::vector<Tensor>& x) { return m(x[0], x[0]); });
    if (kind == convolution) return made(nn::Conv2d(C, 2, 2, rng, {.padding = 1}), c);
    return made(lm::GPT({.vocab_size = vocab_size,
                         .block_size = block_size,
                         .num_layers = 1,
                         .num_heads = 2,
                         .d_model = 4,
                         .dropout = 0.3,
                         .bias = true,
                         .dim_feedforward = 3},
                        rng),
                c);
}

std::string module_text(const Statement& s, bool) {
    const std::string C = number(s.numbers[1]);
    const std::string kinds[] = {
        "nn::Linear(" + C + ", 3, rng)",
        "nn::LayerNorm(" + C + ")",
        "nn::MLP(" + C + ", rng, {.dim_feedforward = 3})",
        "nn::CausalMultiHeadAttention(" + C + ", " + C +
            " % 2 == 0 ? 2 : 1, rng, {.max_seq_len = 16, .bias = true, .dropout = 0.3})",
        "nn::TransformerBlock(" + C +
            ", 1, rng, {.max_seq_len = 16, .bias = true, .dropout = 0.3, .dim_feedforward = 3})",
        "lm::GPT({.vocab_size = 5, .block_size = 4, .num_layers = 1, .num_heads = 2, .d_model = 4, .dropout = "
        "0.3, .bias = true, .dim_feedforward = 3}, rng)",
        "nn::Conv2d(" + C + ", 2, 2, rng, {.padding = 1})",
        "nn::Embedding(5, " + C + ", rng)",
        "nn::BatchNorm(" + C + ")",
        "nn::MultiHeadAttention(" + C + ", 1, rng, {.bias = true, .dropout = 0.3})",
        "nn::EncoderBlock(" + C + ", 1, rng, {.bias = true, .dropout = 0.3, .dim_feedforward = 3})",
        "nn::DecoderBlock(" + C + ", 1, rng, {.bias = true, .dropout = 0.3, .dim_feedforward = 3})"};
    return "made(" + number(s.numbers[2]) + ", [](Rng& rng) { return " + kinds[static_cast<int>(s.numbers[0])] +
           "; })";
}

// Operands: x, the module, its parameters (which only PyTorch needs to be told). Numbers: kind, and a seed for
// the dropout of training mode or 0.
bool apply(ProgramBuilder& d, Statement& s) {
    const auto kind = d.one_of<double>({linear_module, norm, mlp, mlp, causal_attention, block, gpt, gpt,
                                        convolution, table, batch, self_attention, encoder, decoder});
    const bool drops = kind >= causal_attention && kind != convolution && kind != table && kind != batch;
    s.numbers = {kind, drops && d.coin(0.4) ? double(d.number(1, 1000)) : 0.0};
    if (kind == gpt || kind == table) {
        s.in = {d.ids(d.coin(0.5) ? Shape{d.number(1, 4)} : Shape{2, d.number(1, 4)}, vocab_size)};
    } else {
        s.in = {kind == convolution ? d.ranked(4, 4)
                : kind == batch     ? d.ranked(2, 4)
                : drops             ? d.ranked(2, 3)
                                    : d.ranked(1)};
        if (s.in[0] < 0 || d.at(s.in[0]).numel() == 0) return false;
    }
    const bool by_channel = kind == convolution || kind == batch;
    const double width = kind == gpt     ? 4
                         : kind == table ? double(d.number(1, 4))
                                         : double(d.at(s.in[0]).size(by_channel ? 1 : -1));
    s.in.push_back(d.module("made", {kind, width, double(d.number(1, 1000))}));
    for (const int p : d.parameters_of(s.in[1])) s.in.push_back(p);
    return true;
}

}  // namespace

Rows network_rows() {
    const std::string sdpa = "scaled_dot_product_attention(Tensor, Tensor, Tensor, AttentionOptions)";
    return {
        {"matmul(Tensor, Tensor)", "matmul($0, $1)", "torch.matmul($0, $1)", product,
         [](const Call& c) { return matmul(c.x[0], c.x[1]); }},
        {"linear(Tensor, Tensor, Tensor)", "linear($0*)", "F.linear($0*)", affine,
         [](const Call& c) { return linear(c.x[0], c.x[1], optional(c, 2)); }, fused},
        {"layer_norm(Tensor, Tensor, Tensor, double)", "layer_norm($0*)", "layer_norm($0*)", normalised,
         [](const Call& c) { return layer_norm(c.x[0], optional(c, 1), optional(c, 2)); }, fused},
        {"rotary(Tensor, RotaryTable)", "rotary($0, {$1, $2, RotaryPairs(#0)})", "rotated($0, $1, $2, #0)",
         turned,
         [](const Call& c) {
             return rotary(c.x[0], {c.x[1], c.x[2], static_cast<RotaryPairs>(c.integer(0))});
         },
         fused},
        // eps, because the default is another in float32
        {"rms_norm(Tensor, Tensor, optional<double>)", "rms_norm($0, $1, 1e-5)",
         "F.rms_norm($0, $0.shape[-1:], $1, 1e-5)",
         [](ProgramBuilder& d, Statement& s) {
             if (!ranked(d, s, 1)) return false;
             s.in.push_back(d.shaped({d.at(s.in[0]).size(-1)}));
             return true;
         },
         [](const Call& c) { return rms_norm(c.x[0], c.x[1], 1e-5); }, fused},
        {"dropout(Tensor, double, Rng, bool)",
         "dropped($0, #0)",
         "$0 * drawn(@)",
         [](ProgramBuilder& d, Statement& s) {
             s.numbers = {double(d.number(1, 1000))};
             return one(d, s);
         },
         [](const Call& c) {
             Rng rng(static_cast<std::uint64_t>(c.n[0]));
             return dropout(c.x[0], dropout_probability, rng);
         },
         stored,
         {},
         [](const Statement& s, const std::vector<Tensor>& values) {
             Rng rng(static_cast<std::uint64_t>(s.numbers[0]));
             return dropout(ones_like(values[static_cast<std::size_t>(s.in[0])]), dropout_probability, rng);
         }},
        {"cross_entropy(Tensor, Tensor, int64_t)", "", "", classes, loss, fused, loss_text},
        {sdpa, "", "", attention, attend, fused, attention_text, attention_factors},
        {"scaled_dot_product_attention_with_weights(Tensor, Tensor, Tensor, AttentionOptions)", "", "",
         attention, attend, fused, attention_text, attention_factors},
        {"multi_head_attention(Tensor, HeadSizes, AttentionOptions)", "", "", packed_attention, attend, fused,
         attention_text, attention_factors},
        {"", "$1(#0, $0, #1)", "apply(#0, $0, [$2*], #1)", apply,
         [](const Call& c) { return c.module(1).call(c.x, static_cast<std::uint64_t>(c.n[1])); }, fused},
        {"",
         "made",
         "None",
         {},
         [](const Call& c) {
             c.run.modules[c.self] = make_module(c);
             return zeros({0});
         },
         constant | rare,
         module_text},
    };
}

}  // namespace random_programs
