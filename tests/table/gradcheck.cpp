// Compares the gradient of every operation and module with finite differences: the first derivative, and the
// second where there is one. The operands of an operation have gaps in memory where it takes such.
//
//     gradcheck    prints a line each, and exits with 1 if a gradient is wrong
#include <algorithm>
#include <cstdio>
#include <map>

#include "op_table.h"
#include "weft/weft.h"

using namespace weft;

namespace {

struct Line {
    std::size_t elements = 0;        // number of derivatives compared
    double first = -1, second = -1;  // largest errors; negative: not compared
    std::string message;

    void check(const std::string& name, const check::Function& f, const std::vector<Tensor>& inputs, bool twice,
               const check::GradcheckOptions& options = {}) {
        const auto add = [&](const check::GradcheckReport& report, double& largest) {
            elements += report.elements;
            largest = std::max(largest, report.largest_error);
            if (!report) message += report.message + "\n";
        };
        add(check::gradcheck(name, f, inputs, options), first);
        if (twice && message.empty()) add(check::gradgradcheck(name, f, inputs, options), second);
    }
};

std::string error(double value) { return value < 0 ? "–" : format_number(value, 2); }

void print(const std::string& name, const Line& line) {
    // A dash takes three bytes and one column.
    const int first = line.first < 0 ? 10 : 8, second = line.second < 0 ? 10 : 8;
    std::printf("%-41s %6zu %*s %*s %s\n", name.c_str(), line.elements, first, error(line.first).c_str(),
                second, error(line.second).c_str(),
                line.elements == 0     ? "no derivative"
                : line.message.empty() ? "ok"
                                       : "WRONG");
    std::printf("%s", line.message.c_str());
}

// A module with its parameters in float64, applied to `inputs` by `f`.
template <class M, class F>
Line of_module(M module, F f, std::vector<Tensor> inputs) {
    module.to(float64);
    const check::Function function = [&](const std::vector<Tensor>& x) { return f(module, x); };
    Line line;
    // Embeddings begin near 0, and a LayerNorm after them bends within a step of 1e-3.
    line.check("the module", function, inputs, true, {.eps = 1e-4, .parameters = module.parameters()});
    return line;
}

// (1, 3, 4): a sample of 3 tokens of width 4
Tensor sample(std::uint64_t seed) {
    Rng rng(seed);
    return randn({1, 3, 4}, rng, float64).requires_grad_();
}

}  // namespace

int main() {
    std::map<std::string, Line> operations;  // by name: the samples of all its overloads
    for (const OpEntry& op : op_table()) {
        const std::string& d = op.declaration;
        Line& line = operations[d.substr(0, d.find('(', d.starts_with("operator()") ? 10 : 0))];
        if (op.gradient == Gradient::none || op.gradient == Gradient::kink) continue;
        const check::Function f = [&](const Inputs& x) { return flat(op.function(x)); };
        Inputs inputs = inputs_of(op);
        if (op.takes_strided)
            for (Tensor& x : inputs) x = strided_copy(x);
        line.check(op.golden, f, as_leaves(inputs), op.gradient == Gradient::twice);
    }
    std::map<std::string, Line> modules;
    manual_seed(1);
    const auto on_x = [](const auto& module, const auto& x) { return module(x[0]); };
    const Tensor x = sample(1), ids = tensor({{2, 0, 1}});
    modules["nn::Linear"] = of_module(nn::Linear(4, 3), on_x, {x});
    modules["nn::LayerNorm"] = of_module(nn::LayerNorm(4), on_x, {x});
    modules["nn::RMSNorm"] = of_module(nn::RMSNorm(4), on_x, {x});
    modules["nn::GatedMLP"] = of_module(nn::GatedMLP(4), on_x, {x});
    const auto routed = [](const auto& module, const auto& in) {
        const nn::RoutingResult y = module.with_routing(in[0]);
        return y.output + y.load_balancing_loss;
    };
    modules["nn::MixtureOfExperts"] = of_module(nn::MixtureOfExperts(4, {.num_experts = 3}), routed, {x});
    modules["nn::Mixture<nn::MLP>"] = of_module(
        nn::Mixture<nn::MLP>(4, {.num_experts = 3, .top_k = 1, .norm_topk_prob = false}), routed, {x});
    modules["nn::PreNormBlock"] = of_module(
        nn::PreNormBlock{"Block", nn::RMSNorm(4), nn::Attention(4, 2, {.causal = true, .rotary_base = 100}),
                         nn::RMSNorm(4), nn::GatedMLP(4)},
        on_x, {x});
    const Tensor image = sample(3).reshape({1, 3, 2, 2}).detach().requires_grad_();
    modules["nn::Conv2d"] = of_module(nn::Conv2d(3, 2, 3, {.padding = 1}), on_x, {image});
    modules["nn::BatchNorm"] = of_module(nn::BatchNorm(3), on_x, {image});
    modules["nn::Embedding"] = of_module(nn::Embedding(5, 4), on_x, {ids});
    modules["nn::MLP"] = of_module(nn::MLP(4), on_x, {x});
    modules["nn::ReLU"] = of_module(nn::ReLU(), on_x, {x});
    modules["nn::Tanh"] = of_module(nn::Tanh(), on_x, {x});
    modules["nn::GELU"] = of_module(nn::GELU(), on_x, {x});
    modules["nn::SiLU"] = of_module(nn::SiLU(), on_x, {x});
    modules["nn::Flatten"] = of_module(nn::Flatten(), on_x, {x});
    modules["nn::Identity"] = of_module(nn::Identity(), on_x, {x});
    modules["nn::Sequential"] = of_module(nn::Sequential{nn::Linear(4, 3), gelu, nn::Linear(3, 2)}, on_x, {x});
    modules["nn::MultiHeadAttention"] = of_module(nn::MultiHeadAttention(4, 2, {.bias = true}), on_x, {x});
    modules["nn::Attention"] = of_module(
        nn::Attention(4, 2,
                      {.causal = true, .bias = true, .fused = false, .num_kv_heads = 1, .rotary_base = 100}),
        on_x, {x});
    modules["nn::CausalMultiHeadAttention"] =
        of_module(nn::CausalMultiHeadAttention(4, 2, {.bias = true}), on_x, {x});
    modules["nn::TransformerBlock"] = of_module(nn::TransformerBlock(4, 2), on_x, {x});
    modules["nn::EncoderBlock"] = of_module(nn::EncoderBlock(4, 2), on_x, {x});
    modules["nn::DecoderBlock"] =
        of_module(nn::DecoderBlock(4, 2),
                  [](const auto& module, const auto& in) { return module(in[0], in[1]); }, {x, sample(2)});
    modules["lm::GPT"] =
        of_module(lm::GPT({.vocab_size = 5, .block_size = 4, .num_layers = 1, .num_heads = 2, .d_model = 4}),
                  on_x, {ids});
    // Each option of a Decoder is in one of these.
    const nn::RotaryOptions halves{.base = 50, .pairs = nn::RotaryPairs::halves};
    lm::DecoderConfig small{.vocab_size = 5,
                            .num_layers = 1,
                            .num_heads = 2,
                            .num_kv_heads = 1,
                            .d_model = 4,
                            .dim_feedforward = 5,
                            .norm_eps = 0.01};
    const auto decoder = [&](const char* name, const std::function<void(lm::DecoderConfig&)>& change) {
        lm::DecoderConfig config = small;
        change(config);
        lm::Decoder model(config);
        const NoGrad off;
        for (auto [parameter, p] : model.named_parameters())
            p.copy_(0.5 * randn(p.shape()));  // norms of 1 hide much
        modules[name] = of_module(model, on_x, {ids});
    };
    decoder("lm::Decoder", [](auto&) {});
    decoder("lm::Decoder: as Qwen 3", [&](auto& c) {
        c.qk_norm = c.qkv_bias = c.output_bias = c.mlp_bias = true;
        c.tied_head = false, c.head_dim = 4;
        c.layers = {{.rotary = halves, .window = 2}};
    });
    decoder("lm::Decoder: as Gemma 3", [&](auto& c) {
        c.norm = lm::NormKind::rms_plus_one, c.norm_place = lm::NormPlace::around, c.qk_norm = true;
        c.activation = lm::Activation::gelu_tanh, c.embedding_scale = 2, c.attention_scale = 0.3;
        c.attention_softcap = 1.5, c.logits_softcap = 2;
    });
    decoder("lm::Decoder: as GPT-2", [&](auto& c) {
        c.norm = lm::NormKind::layer, c.norm_bias = c.learned_positions = c.fused_qkv = c.scale_by_layer = true;
        c.activation = lm::Activation::gelu, c.gated = false, c.layers = {{.rotary = std::nullopt}};
    });
    decoder("lm::Decoder: squared ReLU, no gate",
            [&](auto& c) { c.activation = lm::Activation::relu_squared, c.gated = false; });
    decoder("lm::Decoder: norms after", [&](auto& c) {
        c.norm_place = lm::NormPlace::after;
        nn::RotaryOptions yarn = halves;
        yarn.width = 2;
        yarn.scaling = {.kind = nn::RotaryScaling::yarn, .factor = 4, .original_length = 2};
        c.head_dim = 4, c.layers = {{.rotary = yarn}};
    });

    Line all;
    std::size_t checked = 0;
    const auto print_all = [&](const char* kind, const std::map<std::string, Line>& lines) {
        std::printf("%-41s %6s %8s %8s\n", kind, "values", "first", "second");
        for (const auto& [name, line] : lines) {
            print(name, line);
            checked += line.elements > 0;
            all.elements += line.elements;
            all.first = std::max(all.first, line.first);
            all.second = std::max(all.second, line.second);
            all.message += line.message;
        }
        std::printf("\n");
    };
    print_all("operation", operations);
    print_all("module", modules);
    std::printf(
        "%zu derivatives of %zu operations and modules %s.\nThe largest error is %s of the first order, %s of "
        "the second.\n",
        all.elements, checked,
        all.message.empty() ? "agree with finite differences" : "compared: SOME ARE WRONG",
        error(all.first).c_str(), error(all.second).c_str());
    return all.message.empty() ? 0 : 1;
}
