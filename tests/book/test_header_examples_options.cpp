// The examples in the headers of what has none beside its relatives: options, results, and small functions.
#include <cmath>
#include <functional>
#include <map>

#include "catch.h"
#include "weft/weft.h"
#include "written.h"

using namespace weft;

namespace {

using Values = std::vector<double>;

Values values_of(const Tensor& x) { return x.to(float64).to_vector<double>(); }

double distance(const Tensor& a, const Tensor& b) { return max(abs(a.detach() - b.detach())).item(); }

}  // namespace

// ---- core/autograd.h

TEST_CASE("example: recording off and on", "[header-examples]") {
    const Tensor w = ones({2}).requires_grad_();
    const NoGrad off;
    const bool recorded = is_grad_enabled();  // false
    const EnableGrad on;
    const std::string last = operation_of(w * 2);  // "multiply"
    const GradMode mode(false);                    // as NoGrad, from a value
    const std::string none = operation_of(w * 2);  // "": not recorded
    CHECK_FALSE(recorded);
    CHECK(last == "multiply");
    CHECK(none.empty());
}

TEST_CASE("example: composed_mode", "[header-examples]") {
    const Composed readable;
    const bool composed = composed_mode();  // true
    CHECK(composed);
}

// ---- core/dtype.h

TEST_CASE("example: visit", "[header-examples]") {
    const auto size = []<class S, class C>(Element<S, C>) { return sizeof(S); };
    const std::size_t bytes = visit(float64, size);  // 8
    CHECK(bytes == 8);
}

TEST_CASE("example: types", "[header-examples]") {
    const std::size_t bytes = itemsize(float64);   // 8
    const bool trains = takes_gradient(bfloat16);  // false
    const DType wider = computed_in(bfloat16);     // float32
    const DType same = dtype_of<double>();         // float64
    CHECK(wider == float32);
    CHECK(bytes == 8);
    CHECK_FALSE(trains);
    CHECK(same == float64);

    const bool is_real = is_floating_point(float16);  // true
    CHECK(is_real);
}

TEST_CASE("example: BFloat16", "[header-examples]") {
    const BFloat16 tenth(0.1);
    const float value = static_cast<float>(tenth);  // 0.100097656
    CHECK(std::abs(value - 0.100097656F) < 1e-9F);
}

TEST_CASE("example: Float16", "[header-examples]") {
    const Float16 tenth(0.1);
    const float value = static_cast<float>(tenth);  // 0.0999755859
    CHECK(std::abs(value - 0.0999755859F) < 1e-9F);
}

// ---- core/error.h

TEST_CASE("example: kinds of errors", "[header-examples]") {
    std::string kinds;
    const auto attempt = [&](const std::function<void()>& action) {
        try {
            action();
        } catch (const DTypeError&) {
            kinds += "type ";
        } catch (const IndexError&) {
            kinds += "index ";
        } catch (const ValueError&) {
            kinds += "value ";
        } catch (const GraphError&) {
            kinds += "graph ";
        } catch (const IoError&) {
            kinds += "file ";
        } catch (const Error& error) {  // any other kind
            kinds += error.what();
        }
    };
    attempt([] { (void)exp(arange(3)); });
    attempt([] { (void)ones({3}).select(0, 3); });
    attempt([] { (void)dropout(ones({3}), 2); });
    attempt([] { ones({3}).backward(); });
    attempt([] { (void)io::load_safetensors("no such file"); });
    CHECK(kinds == "type index value graph file ");
}

// ---- core/ledger.h

TEST_CASE("example: LedgerTerm", "[header-examples]") {
    const Tensor x = tensor(3.0).requires_grad_();
    const GradientLedger ledger;
    (x * x).backward();
    double total = 0;
    for (const LedgerTerm& term : ledger.entries().back().terms) total += term.gradient.item();  // 3 + 3
    CHECK(total == 6);
}

// ---- the composed operations

TEST_CASE("example: minimum of a tensor and a number", "[header-examples]") {
    const Tensor y = minimum(tensor({1.0, 5}), 3.0);  // [1, 3]
    CHECK(values_of(y) == Values{1, 3});
}

TEST_CASE("example: draws like a tensor", "[header-examples]") {
    Rng rng(1);
    const Tensor x = ones({2, 3});
    const Tensor noisy = x + 0.1 * randn_like(x, rng);
    const Tensor half = rand_like(x, rng) < 0.5;  // bool, each true with probability ½
    CHECK(noisy.shape() == x.shape());
    CHECK(half.dtype() == boolean);
}

TEST_CASE("example: flatten", "[header-examples]") {
    const Tensor y = flatten(ones({2, 3, 4}), 1);  // (2, 12)
    CHECK(y.shape() == Shape{2, 12});
}

TEST_CASE("example: fold", "[header-examples]") {
    const Tensor x = arange(0, 16, 1, float32).reshape({1, 1, 4, 4});
    const WindowOptions window{.kernel_height = 2, .kernel_width = 2, .stride = 2};
    const Tensor columns = unfold(x, window);         // (1, 1, 4, 4) → (1, 4, 4)
    const Tensor same = fold(columns, 4, 4, window);  // x: these windows do not overlap
    CHECK(distance(same, x) == 0);
}

TEST_CASE("example: conv2d", "[header-examples]") {
    const ConvOptions options{.stride = 2, .padding = 1};
    const Tensor y = conv2d(ones({1, 3, 8, 8}), ones({4, 3, 3, 3}), {}, options);  // (1, 4, 4, 4)
    CHECK(y.shape() == Shape{1, 4, 4, 4});
}

TEST_CASE("example: batch_norm", "[header-examples]") {
    Rng rng(1);
    const Tensor x = randn({8, 3}, rng);
    const BatchNormStats running{zeros({3}), ones({3})};
    const BatchNormOptions options{.training = true};
    const Tensor y = batch_norm(x, running, {}, {}, options);  // (8, 3): columns of mean 0
    CHECK(distance(mean(y, 0), zeros({3})) < 1e-6);
    CHECK(max(abs(running.mean)).item() > 0);
}

// ---- core/ops.h

TEST_CASE("example: cos", "[header-examples]") {
    const Tensor y = cos(tensor({0.0}));  // [1]
    CHECK(values_of(y) == Values{1});
}

TEST_CASE("example: minimum", "[header-examples]") {
    const Tensor y = minimum(tensor({1.0, 5}), tensor({4.0, 2}));  // [1, 2]
    CHECK(values_of(y) == Values{1, 2});
}

TEST_CASE("example: min", "[header-examples]") {
    const auto [values, indices] = min(tensor({{3.0, 1}, {2, 5}}), 1);  // [1, 2] and [1, 0]
    CHECK(values_of(values) == Values{1, 2});
    CHECK(values_of(indices) == Values{1, 0});
}

TEST_CASE("example: multi_head_attention", "[header-examples]") {
    const Tensor y = multi_head_attention(randn({2, 8, 192}), 4, {.mask = Mask::causal()});  // (2, 8, 64)
    CHECK(y.shape() == Shape{2, 8, 64});
}

// ---- core/random.h

TEST_CASE("example: philox", "[header-examples]") {
    const std::uint32_t bits = philox(0, 0)[0];  // 0x6627e8d5
    CHECK(bits == 0x6627e8d5);
}

TEST_CASE("example: draws at a position", "[header-examples]") {
    Rng rng(42);
    const double drawn = rng.uniform();
    const double again = uniform_at(42, 0);  // equals drawn
    const double bell = normal_at(42, 1);    // position 1, as rng.normal() would be now
    const std::int64_t die = randint_at(42, 2, 1, 7);
    default_rng() = Rng(42);
    const double first = default_rng().uniform();  // equals drawn
    CHECK(drawn == again);
    CHECK(bell == rng.normal());
    CHECK(die == rng.randint(1, 7));
    CHECK(first == drawn);
    manual_seed(0);
}

// ---- core/shape.h

TEST_CASE("example: axes and strides", "[header-examples]") {
    const int last = normalize_axis(-1, 3, "sum");          // 2
    const Strides strides = contiguous_strides({2, 3, 4});  // (12, 4, 1)
    CHECK(last == 2);
    CHECK(strides == Strides{12, 4, 1});
}

TEST_CASE("example: Axes", "[header-examples]") {
    const Axes outer{0, -1};
    const Tensor y = sum(ones({2, 3, 4}), outer);  // (3,), each 8
    CHECK(values_of(y) == Values{8, 8, 8});
}

TEST_CASE("example: KeepDim", "[header-examples]") {
    const Tensor y = sum(ones({2, 3, 4}), {0, -1}, KeepDim(true));  // (1, 3, 1)
    CHECK(y.shape() == Shape{1, 3, 1});
    CHECK(values_of(y) == Values{8, 8, 8});
}

TEST_CASE("example: clamp", "[header-examples]") {
    const Tensor x = tensor({-1.0, 2, 7});
    const Tensor both = clamp(x, 0, 5), below = clamp(x, 0), above = clamp(x, {}, 5);  // above: [-1, 2, 5]
    CHECK(values_of(both) == Values{0, 2, 5});
    CHECK(values_of(below) == Values{0, 2, 7});
    CHECK(values_of(above) == Values{-1, 2, 5});
}

// ---- core/tensor.h

TEST_CASE("example: empty and ones_like", "[header-examples]") {
    Tensor x = empty({2, 3});
    x.copy_(ones_like(x));
    CHECK(values_of(x) == Values(6, 1.0));
}

TEST_CASE("example: Nested", "[header-examples]") {
    const Nested rows = {{1.0, 2}, {3, 4}};
    const Tensor x = tensor(rows, float64);  // (2, 2)
    CHECK(values_of(x) == Values{1, 2, 3, 4});
}

// ---- core/text.h

TEST_CASE("example: UTF-8", "[header-examples]") {
    std::string word = "α";
    append_utf8(word, U'β');                   // "αβ"
    const Decoded first = decode_at(word, 0);  // U'α', 2 bytes
    const bool whole = is_utf8(word);          // true
    CHECK(word == "αβ");
    CHECK(first.value == U'α');
    CHECK(first.length == 2);
    CHECK(whole);
}

TEST_CASE("example: displayed", "[header-examples]") {
    std::size_t at = 0;
    const std::string shown = displayed("\x1b[0m", at);  // "\\x1b"; at is 1
    const bool hidden = is_hidden(0x1b);                 // true
    CHECK(shown == "\\x1b");
    CHECK(at == 1);
    CHECK(hidden);
}

// ---- core/threads.h

TEST_CASE("example: threads", "[header-examples]") {
    const int before = get_num_threads();
    set_num_threads(1);
    const int threads = get_num_threads();  // 1
    CHECK(threads == 1);
    set_num_threads(before);
}

// ---- core/matmul_precision.h

TEST_CASE("example: products in bfloat16", "[header-examples]") {
    {
        set_float32_matmul_precision("medium");
        const Tensor y = matmul(full({1, 1}, 1.01), ones({1, 1}));  // 1.0078125: 1.01 with 8 bits
        set_float32_matmul_precision("highest");
        CHECK(y.sum().item() == 1.0078125);
    }
    {
        const std::string precision = get_float32_matmul_precision();  // "highest"
        CHECK(precision == "highest");
    }
    {
        const Float32MatmulPrecision medium("medium");
        const std::string precision = get_float32_matmul_precision();  // "medium"
        CHECK(precision == "medium");
    }
    const bool fast = has_bfloat16_products();
    CHECK(fast == has_bfloat16_products());
}

// ---- core/trace.h

TEST_CASE("example: NoTrace", "[header-examples]") {
    const Trace trace;
    const NoTrace quiet;
    const Tensor y = traced("y", ones({2}));
    const std::size_t noted = trace.entries().size();  // 0
    CHECK(noted == 0);
}

TEST_CASE("example: what a tensor is made of", "[header-examples]") {
    const Tensor x = ones({2, 3}).requires_grad_();
    const Tensor y = x.reshape({3, 2});
    const bool later = graph_number(y) > graph_number(x);  // true
    const bool view = storage_of(y) == storage_of(x);      // true
    CHECK(later);
    CHECK(view);
}

// ---- models/gpt.h

TEST_CASE("example: check_state_dict", "[header-examples]") {
    const lm::GPTConfig config{.vocab_size = 5, .block_size = 8, .num_layers = 1};
    lm::check_state_dict(config, lm::GPT(config).state_dict());  // throws nothing
}

// ---- nn/attention.h

TEST_CASE("example: split_qkv", "[header-examples]") {
    const std::int64_t d_k = nn::head_dim(64, 4, "Attention");       // 16
    const auto [q, k, v] = nn::split_qkv(randn({2, 8, 3 * 64}), 4);  // each (2, 4, 8, 16)
    CHECK(d_k == 16);
    CHECK(q.shape() == Shape{2, 4, 8, 16});
    CHECK(k.shape() == v.shape());
}

TEST_CASE("example: AttentionConfig", "[header-examples]") {
    const nn::AttentionConfig config{.num_kv_heads = 2, .rotary_base = 10000};
    const nn::MultiHeadAttention grouped(64, 8, config);  // eight heads of queries, two of keys and values
    const nn::TransformerBlock block(64, 8, {.dropout = 0.1, .attention = config});
    CHECK(grouped(randn({1, 3, 64})).shape() == Shape{1, 3, 64});
    CHECK(block.attn.num_kv_heads == 2);
}

TEST_CASE("example: CausalMultiHeadAttention::set_mask", "[header-examples]") {
    nn::CausalMultiHeadAttention attention(64, 8, {.max_seq_len = 128});
    Tensor blocked = attention.mask();  // (128, 128)
    blocked.slice(1, 0, 4).fill_(0);    // the first four tokens see one another: a prefix
    attention.set_mask(blocked);
    const Tensor weights = attention.with_weights(randn({1, 6, 64})).weights;  // (1, 8, 6, 6)
    CHECK(min(weights.slice(-1, 0, 4)).item() > 0);
    CHECK(max(weights.slice(-1, 4, 6).slice(-2, 0, 4)).item() == 0);
}

// ---- nn/attention_weights.h

TEST_CASE("example: from_torch_multihead_attention", "[header-examples]") {
    nn::MultiHeadAttention attention(8, 2);
    attention.load_state_dict(nn::from_torch_multihead_attention(
        {{"self_attn.in_proj_weight", ones({24, 8})}, {"self_attn.out_proj.weight", ones({8, 8})}},
        "self_attn."));
    CHECK(attention(ones({1, 2, 8})).shape() == Shape{1, 2, 8});
}

// ---- check/

TEST_CASE("example: gradgradcheck", "[header-examples]") {
    const Tensor x = tensor({0.3, -0.7}, float64).requires_grad_();
    const auto f = [](const std::vector<Tensor>& in) { return tanh(in[0]); };
    const bool fine = check::gradgradcheck("tanh", f, {x}).passed;  // true
    CHECK(fine);
}

TEST_CASE("example: FlowRow", "[header-examples]") {
    std::map<std::string, double> norms;
    nn::Linear layer(3, 2);
    sum(layer(ones({1, 3}))).backward();
    for (const check::FlowRow& row : check::gradient_flow(layer).rows)
        norms[row.name] = row.norm;  // weight and bias
    CHECK(norms.count("bias") == 1);
}

// ---- check/mask_oracle.h

TEST_CASE("example: name of a mask rule", "[header-examples]") {
    const std::string rule = name(check::MaskRule::add);  // "add -1e9"
    CHECK(rule == "add -1e9");
}

// ---- nn/dropout.h

TEST_CASE("example: checked_probability", "[header-examples]") {
    const double p = nn::checked_probability(0.1, "Dropout");  // 0.1
    CHECK(p == 0.1);
}

// ---- nn/encoder_decoder.h

TEST_CASE("example: EncoderBlockOptions", "[header-examples]") {
    const nn::EncoderBlockOptions options{.dropout = 0.1, .dim_feedforward = 128};
    const nn::EncoderBlock block(64, 8, options);
    CHECK(block.mlp.W_in.weight.shape() == Shape{128, 64});
}

// ---- nn/transformer.h and its parts

TEST_CASE("example: TransformerBlockOptions", "[header-examples]") {
    const nn::TransformerBlockOptions options{.dropout = 0.1, .attention = {.num_kv_heads = 2}};
    const nn::TransformerBlock block(64, 8, options);
    CHECK(block.attn.num_kv_heads == 2);
}

TEST_CASE("example: PreNormBlock, RMSNorm, GatedMLP", "[header-examples]") {
    Rng rng(1);
    const Tensor x = randn({2, 3, 64}, rng);
    const nn::AttentionConfig config{.num_kv_heads = 2, .rotary_base = 10000};
    nn::PreNormBlock block{"LlamaBlock", nn::RMSNorm(64), nn::CausalMultiHeadAttention(64, 8, rng, config),
                           nn::RMSNorm(64), nn::GatedMLP(64, rng)};
    const Tensor y = block(x);  // (B, T, 64) → (B, T, 64)
    CHECK(y.shape() == Shape{2, 3, 64});
    {
        nn::RMSNorm norm(64, 1e-6);
        const Tensor y = norm(x);  // (B, T, 64) → (B, T, 64), the squares of each token with mean 1
        CHECK(max(abs(mean(pow(y, 2), -1) - 1)).item() < 1e-4);
    }
    {
        nn::GatedMLP mlp(64, rng, {.dim_feedforward = 176});
        const Tensor y = mlp(x);  // (B, T, 64) → (B, T, 64), with 176 hidden units
        CHECK(y.shape() == Shape{2, 3, 64});
        CHECK(mlp.up_proj.weight.shape() == Shape{176, 64});
    }
}

TEST_CASE("example: MixtureOfExperts", "[header-examples]") {
    Rng rng(1);
    const Tensor x = randn({2, 3, 64}, rng);
    nn::MixtureOfExperts moe(64, rng, {.num_experts = 4, .top_k = 2});
    const nn::RoutingResult y = moe.with_routing(x);  // (B, T, 64) → (B, T, 64), (), (4,)
    (mean(pow(y.output, 2)) + 0.01 * y.load_balancing_loss).backward();
    nn::Mixture<nn::MLP> plain(64, rng, {.top_k = 1, .norm_topk_prob = false});  // as Switch Transformers
    CHECK(y.output.shape() == x.shape());
    CHECK(sum(y.tokens_per_expert).item() == Approx(1));
    CHECK(max(abs(moe.gate.weight.grad())).item() > 0);
    CHECK(plain(x).shape() == x.shape());
    {
        const nn::PreNormBlock block{"MoEBlock", nn::RMSNorm(64), nn::CausalMultiHeadAttention(64, 8, rng),
                                     nn::RMSNorm(64), nn::MixtureOfExperts(64, rng)};
        const Trace trace;
        Tensor loss = mean(pow(block(x), 2));
        for (const TraceEntry& entry : trace.entries())
            if (entry.name == "load_balancing_loss") loss = loss + 0.01 * entry.tensor;
        const Tensor before = mean(pow(block(x), 2));
        const Tensor normed = block.norm2(x + block.attn(block.norm1(x)));
        CHECK((loss - before).item() ==
              Approx(0.01 * block.mlp.with_routing(normed).load_balancing_loss.item()));
    }
}

// ---- nn/layer_norm.h

TEST_CASE("example: LayerNormOptions", "[header-examples]") {
    const nn::LayerNormOptions options{.eps = 1e-6, .bias = false};
    const nn::LayerNorm norm(64, options);
    CHECK_FALSE(norm.bias.defined());
}

// ---- nn/mlp.h

TEST_CASE("example: MLPOptions", "[header-examples]") {
    const nn::MLPOptions options{.dim_feedforward = 128};
    const nn::MLP narrow(64, options);  // 64 → 128 → 64
    CHECK(narrow.W_in.weight.shape() == Shape{128, 64});
}

// ---- optim/

TEST_CASE("example: numbered", "[header-examples]") {
    const nn::NamedTensors named = optim::numbered({ones({2}), ones({3})});
    const std::string second = named[1].first;  // "1"
    CHECK(second == "1");
}

// ---- train/data.h

TEST_CASE("example: shared_size", "[header-examples]") {
    const std::array<Tensor, 2> columns{ones({5, 4}), ones({5})};
    const std::int64_t samples = training::shared_size(columns);  // 5
    CHECK(samples == 5);
}

TEST_CASE("example: DefaultCollate", "[header-examples]") {
    const auto [values, lengths] = training::DefaultCollate()({ones({3}), ones({2})});  // (2, 3)
    CHECK(values.shape() == Shape{2, 3});
    CHECK(lengths == std::vector<std::int64_t>{3, 2});
}

TEST_CASE("example: BatchSampler", "[header-examples]") {
    Rng rng(1);
    const training::BatchSampler sampler(5, {.batch_size = 2}, rng);
    const auto batches = sampler.batches(0);  // {0, 1}, {2, 3}, {4}
    CHECK(batches == std::vector<std::vector<std::size_t>>{{0, 1}, {2, 3}, {4}});
}

// ---- train/history.h

TEST_CASE("example: Measured", "[header-examples]") {
    const training::Measured measured{.step = 0, .learning_rate = 1e-3, .loss = 2.3};
    const training::History history{{measured}};
    CHECK(history.mean_since_evaluation() == 2.3);
}

// ---- train/loop.h

TEST_CASE("example: MinimiseOptions", "[header-examples]") {
    const training::MinimiseOptions options{.print_every = 0};
    const Tensor w = ones({1}).requires_grad_();
    optim::SGD optimizer({w}, {.lr = 0.1});
    const auto square = [&] { return sum(w * w); };
    const double last = training::minimise(optimizer, 30, square, options);  // near 0
    CHECK(last < 1e-4);
}

// ---- viz/figure.h

TEST_CASE("example: palette", "[header-examples]") {
    const std::string vermilion = viz::palette(1);  // "#d55e00"
    CHECK(vermilion == "#d55e00");
}

TEST_CASE("example: styles", "[header-examples]") {
    const viz::Stroke dashed{.colour = viz::palette(2), .dashed = true};
    const viz::Label small{.size = 11, .anchor = "start"};
    const viz::BoxStyle round{.radius = 20, .label = small};
    const viz::CellsStyle coloured{.viridis = true, .digits = 2};
    viz::Drawing drawing(300, 100, "Styles");
    drawing.line(10, 10, 290, 10, dashed).box(10, 20, 100, 40, "round", round);
    drawing.cells(120, 20, 40, 40, tensor({0.1, 0.5, 0.9}), coloured);
    CHECK(drawing.svg().find("#fde725") != std::string::npos);
}

TEST_CASE("example: LineStyle", "[header-examples]") {
    const viz::LineStyle thin{.width = 1, .dashed = true, .markers = true};
    viz::Plot plot({.title = "A thin line"});
    plot.line({0, 1, 2}, {1, 4, 9}, "squares", thin);
    CHECK(plot.svg().find("stroke-dasharray") != std::string::npos);
}

// ---- viz/pictures.h

TEST_CASE("example: StoryRow", "[header-examples]") {
    std::vector<Shape> shapes;
    const nn::Linear layer(3, 2);
    const viz::StoryOptions small{.values_up_to = 10};
    const viz::Story story = viz::tensor_story(layer, ones({1, 3}), small);
    for (const viz::StoryRow& row : story.rows) shapes.push_back(row.shape);
    CHECK(shapes.front() == Shape{1, 3});
    CHECK(shapes.back() == Shape{1, 2});
}

// ---- viz/storage.h

TEST_CASE("example: StorageFrame", "[header-examples]") {
    viz::StorageMovie movie;
    movie.show("m", tensor({{1.0, 2}, {3, 4}}));
    const viz::StorageFrame& frame = movie.frames()[0];  // frame.memory is 1, 2, 3, 4
    CHECK(frame.memory == std::vector<double>{1, 2, 3, 4});
}

// ---- weft/lm/gpt2.h

TEST_CASE("example: GPT2Options", "[header-examples]") {
    const lm::GPT2Options exact{.dtype = float64};  // for load_gpt2(folder, exact)
    CHECK(exact.dropout == 0);
}

// ---- weft/training/progress.h

TEST_CASE("example: warn", "[header-examples]") {
    const std::string written = written_to(STDERR_FILENO, [] {
        // As the header shows it.
        training::warn("the text has 40 characters; give at least 100");
    });
    CHECK(written.find("warning: the text has 40 characters") != std::string::npos);
}
