// Where the sources differ from their own formulas: prints the tables of docs/errata.md, and how long one fused
// projection takes beside three. Every number is computed here by the library.
#include <weft/weft.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>

using namespace weft;

namespace {

std::string fixed(double value, int decimals) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", decimals, value);
    return std::isnan(value) ? "NaN" : text;
}

std::string numbers(const Tensor& row, int decimals) {
    std::string text;
    for (const double value : row.detach().to(float64).to_vector<double>())
        text += (text.empty() ? "" : " ") + fixed(value, decimals);
    return "`" + text + "`";
}

std::string count(double value) { return fixed(value, 0); }

void print(const std::string& place, const std::string& printed, const std::string& is_true,
           const std::string& test) {
    std::cout << "| " << place << " | " << printed << " | " << is_true << " | "
              << (test.empty()
                      ? "`python3 -c \"import os.path as path; os\"`, the same with a module of Python's own"
                      : "`weft_tests \"" + test + "\"`")
              << " |\n";
}

std::string message(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return "nothing is refused";
}

Tensor future(std::int64_t T) { return Mask::causal().materialize(1, 1, T, T).reshape({T, T}); }

// ---- S0: the weights of "The cat sat on"
void weights_of_the_cat() {
    const Tensor scores = tensor(
        {{2.0, 1.5, 0.8, 0.3}, {1.2, 1.8, 0.9, 0.4}, {0.5, 1.1, 2.1, 0.7}, {0.3, 0.6, 1.3, 1.9}}, float64);
    const Tensor weights = softmax(masked_fill(scores, future(4), -INFINITY), -1);
    print("*Transformer Series (6/9)*, “How does causal masking work?”",
          "the last two rows of weights as `0.14 0.26 0.60 0.00` and `0.08 0.11 0.22 0.59`",
          "softmax of the scores printed above them gives " + numbers(weights[2], 4) + " and " +
              numbers(weights[3], 4) + "; the first two rows are right",
          "[S0.07]");
}

// ---- S1
constexpr std::int64_t d_model = 768, tokens = 64;

// x (tokens, d_model) times W (3 · d_model, d_model), at once or in three parts.
struct Projections {
    const Tensor x, W;
    const std::vector<Tensor> parts = chunk(W, 3, 0);
    explicit Projections(Rng rng = Rng(1))
        : x(randn({tokens, d_model}, rng)), W(randn({3 * d_model, d_model}, rng)) {}
    std::vector<Tensor> fused() const { return chunk(linear(x, W), 3, -1); }
    std::vector<Tensor> separate() const {
        return {linear(x, parts[0]), linear(x, parts[1]), linear(x, parts[2])};
    }
};

void one_projection_or_three() {
    const Projections projections;
    const auto multiply_adds = [](const auto& run) {
        const CountMultiplyAdds counter;
        run();
        return static_cast<double>(counter.count());
    };
    print("*28 Multi-Head Attention*, 28.5",
          "“Combining Q, K, V projection is faster”: three projections are slow, one is fast",
          "it is one call instead of three, with the same arithmetic: for " + count(tokens) + " tokens of " +
              count(d_model) + " the one runs " + count(multiply_adds([&] { (void)projections.fused(); })) +
              " multiply-adds and the three run " +
              count(multiply_adds([&] { (void)projections.separate(); })) +
              ". Whether it saves time depends on what a call costs beside them; the times stand "
              "below the tables",
          "[S1.08]");
}

void times_of_projections() {
    const Projections projections;
    const NoGrad off;
    const auto milliseconds = [](const auto& run) {
        const auto begin = std::chrono::steady_clock::now();
        (void)run();
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    };
    for (const int threads : {1, 2}) {
        set_num_threads(threads);
        double one = INFINITY, three = INFINITY;
        for (int i = 0; i < 60; ++i) {  // in turns, so other work on the machine disturbs both
            one = std::min(one, milliseconds([&] { return projections.fused(); }));
            three = std::min(three, milliseconds([&] { return projections.separate(); }));
        }
        std::cout << "threads " << threads << ": one projection " << fixed(one, 2) << " ms, three "
                  << fixed(three, 2) << " ms, one / three " << fixed(one / three, 2) << "\n";
    }
}

void mask_as_an_attribute() {
    Rng rng(1);
    nn::Attention attention(8, 2, rng, {.causal = true, .max_seq_len = 4});
    attention.set_mask(attention.mask());                                    // its buffer
    const Tensor cut = triu(ones({1, 1}), 1).slice(0, 0, 3).slice(1, 0, 3);  // max_seq_len 1, [:3, :3]
    const Tensor weights = softmax(zeros({3, 3}) + cut * -1e9, -1);
    print("*28 Multi-Head Attention*, 28.6",
          "a mask “registered as buffer” that is a plain attribute, cut to `[:seq_len, :seq_len]` with no look "
          "at "
          "`max_seq_len`",
          "an attribute is in no list of buffers, and a longer sequence meets a mask that does not fit; with "
          "`max_seq_len = 1` it even broadcasts, and the first of three tokens gives " +
              fixed(sum(weights[0].slice(0, 1, 3)).item(), 2) +
              " of its attention to the future. Weft's module has " +
              count(static_cast<double>(attention.named_buffers().size())) + " buffer beside " +
              count(static_cast<double>(attention.parameters().size())) + " parameters and says “" +
              message([&] {
                  return attention(zeros({1, 5, 8}));
              }) +
              "”",
          "[S1.05]");
}

void split_or_chunk() {
    const Tensor qkv = zeros({1, 3 * 768});
    const auto by_size = split(qkv, 3, -1), parts = chunk(qkv, 3, -1);
    print("*28 Multi-Head Attention*, 28.5", "`Q, K, V = qkv.split(3, dim=-1)`",
          "in PyTorch, whose names these are, `split(3)` makes parts of size 3: for d_model 768 that is " +
              count(static_cast<double>(by_size.size())) + " parts. Three equal parts, of " +
              count(static_cast<double>(parts[0].size(-1))) +
              " columns, are `chunk(3)`; Weft has both, as PyTorch means them",
          "[S1.09]");
}

void permute_or_transpose() {
    const Tensor x = zeros({2, 5, 3, 12, 64});
    print("*28 Multi-Head Attention*, 28.3, 28.5 and 28.6",
          "`qkv.transpose(2, 0, 3, 1, 4)` and `K.transpose(-2, -1)` in one listing, `permute` in the next; "
          "`axis=-1` and "
          "`dim=-1`",
          "the first takes all axes, as NumPy's, the second two of them, as PyTorch's; no one library has "
          "both. In Weft "
          "`permute` takes all: " +
              x.shape().str() + " becomes " + x.permute({2, 0, 3, 1, 4}).shape().str() +
              ", and `transpose` two: `transpose(-2, -1)` gives " + x.transpose(-2, -1).shape().str() +
              "; an axis is always called axis",
          "[S1.10]");
}

void pictures_of_heads() {
    const std::vector<std::string> heads[2] = {{"#..", "##.", ".##"}, {".#.", "#..", ".#."}};
    int filled = 0, ahead = 0;
    for (const auto& head : heads)
        for (std::size_t i = 0; i < 3; ++i)
            for (std::size_t j = 0; j < 3; ++j)
                if (head[i][j] == '#') ++filled, ahead += j > i;
    print("*28 Multi-Head Attention*, 28.7", "two pictures of heads, after the section on causal attention",
          "of their " + count(filled) + " filled cells, " + count(ahead) +
              " looks at the future (head 2: “The” at “cat”), so the second picture is not of a causal head",
          "[S1.12]");
}

void added_constant() {
    const Tensor scores = tensor({2.0, 1.5, 0.8, 0.3}, float64);
    const Mask all = Mask::blocked(full({1, 4}, 1, boolean));
    const auto in_double = check::mask_oracle(scores, all, float64),
               in_float = check::mask_oracle(scores, all, float32);
    print("*28 Multi-Head Attention*, 28.3 and 28.6", "the mask times −1e9, added to the scores",
          "it blocks where a query may attend to something. In a fully masked row it takes the same from every "
          "score: in "
          "float64 the weights are " +
              numbers(in_double[check::MaskRule::add].weights[0], 3) +
              ", as if nothing were masked, in float32 " +
              numbers(in_float[check::MaskRule::add].weights[0], 2),
          "[masking table]");
}

// ---- S3
void width_of_a_head() {
    Rng rng(1);
    const int width = 512 / 3;
    print("*Multi-Head Attention* (Gethers), “Static components”", "`self.d_k = int(d_model/n_heads)`",
          "for 512 and 3 heads that is " + count(width) + ", and " + count(3 * width) +
              " of 512 columns fit no view; Weft says so at construction: “" +
              message([&] { nn::MultiHeadAttention(512, 3, rng); }) + "”",
          "[S3.12]");
}

void size_of_a_projection() {
    print("*Multi-Head Attention* (Gethers), “Learnable components”",
          "“h distinct W^Q, W^K, and W^V matrices, each T × d_k”",
          "the projections are d_model × d_k, as the same page says before: " + Shape{512, 64}.str() +
              " for 512 in 8 heads, " + count(512 * 64) +
              " numbers whatever T is. T × d_k is the size of Q, K and V: " + count(13 * 64) +
              " numbers for the sentence of 13 tokens",
          "[S3.01]");
}

void any_dimensions() {
    print("*Multi-Head Attention* (Gethers), the listing under “Implementation”",
          "“X can have any dimensions”, with `B = X.shape[0]` and `view(B, T, …)`",
          "a single sequence (T, d_model) has no B, and the view is refused: “" + message([] {
              return zeros({5, 12}).view({5, 5, 3, 4});
          }) + "”. Weft's modules take both",
          "[S3.07]");
}

void missing_import() {
    print("*Multi-Head Attention* (Gethers), the listing under “Implementation”",
          "`import torch.nn as nn`, and in `forward` `isinstance(mask, torch.Tensor)`",
          "that line binds `nn` and not `torch`, so the first call ends with “NameError: name 'torch' is not "
          "defined”, with a mask or without. `import torch` before it",
          "");
}

void reshape_and_view() {
    const Tensor heads = zeros({8, 13, 64}), moved = heads.permute({1, 0, 2});  // (13, 8, 64)
    const auto copies = [&](const Tensor& y) { return y.shares_storage(heads) ? "copies nothing" : "copies"; };
    print("*Multi-Head Attention* (Gethers), “Concatenation”",
          "`reshape` is “simply shorthand” for `.contiguous()` and then `view`",
          "the values are the same, but `reshape` copies only where the strides cannot express the new shape: "
          "to " +
              Shape{13, 512}.str() + " `sdpa.permute(1, 0, 2).reshape` " + copies(moved.reshape({13, 512})) +
              ", as it must; to " + Shape{13, 8, 2, 32}.str() + " it " + copies(moved.reshape({13, 8, 2, 32})) +
              ", where `.contiguous().view` " + copies(moved.contiguous().view({13, 8, 2, 32})) +
              ". Where nothing was copied the result is a view, and an in-place change is seen through both",
          "[S3.10]");
}

void rows_of_padding() {
    Rng rng(1);
    const nn::Attention attention(8, 2, rng, {.fused = false});
    Tensor blind = zeros({7, 7}, boolean);
    blind.slice(0, 5, 7).fill_(1);
    const Mask mask = Mask::causal() | Mask::padding({5}) | Mask::blocked(blind);
    const Tensor x = randn({1, 7, 8}, rng);
    const auto [q, k, v] = attention.project(x, x, x);
    const Tensor scores =
        masked_fill(matmul(q, k.transpose(-2, -1)) / 2, mask.materialize(1, 2, 7, 7), -INFINITY);
    const Tensor e =
        exp(scores - max(scores, -1, keepdim).values.detach());  // softmax as it is usually written
    const Tensor y = attention.W_out(nn::merge_heads(matmul(e / sum(e, -1, keepdim), v)));
    sum(y.slice(1, 0, 5)).backward();  // a loss of the real tokens alone
    std::string lost;
    for (const auto& [name, parameter] : attention.named_parameters())
        if (any(parameter.grad() != parameter.grad())) lost += (lost.empty() ? "`" : " and `") + name + "`";
    int rows = 0;
    for (std::int64_t t = 0; t < 7; ++t) rows += any(y[0][t] != y[0][t]);
    print("*Multi-Head Attention* (Gethers), “Masking”",
          "masks 7 × 7 whose last two rows are all −∞, before a plain softmax",
          "softmax of such a row is 0/0: " + count(rows) +
              " rows of the output are NaN, and even where the loss leaves "
              "them out the gradients of " +
              lost +
              " are NaN for the whole batch. Weft gives such a row weights, outputs "
              "and gradients of 0: the largest of its outputs here is " +
              count(max(abs(attention(x, mask)[0].slice(0, 5, 7))).item()),
          "[S3.15]");
}

void broadcasting() {
    const auto fits = [](const Shape& mask, const Shape& scores) {
        return message([&] { broadcast_shapes(mask, scores, "mask"); }) == "nothing is refused" ? "passes"
                                                                                                : "fails";
    };
    const Tensor tall = masked_fill(zeros({1, 4, 4, 4}), future(4).unsqueeze(1), -INFINITY);
    print("*Multi-Head Attention* (Gethers), “A note on broadcasting”",
          "without `unsqueeze`, a mask B × T × T fails against B × h × T × T",
          std::string("it ") + fits({4, 7, 7}, {4, 8, 7, 7}) + " for B 4 and h 8, but " +
              fits({8, 7, 7}, {8, 8, 7, 7}) + " for B = h (sample b's mask goes to head b) and " +
              fits({1, 7, 7}, {1, 8, 7, 7}) + " for B = 1; and `unsqueeze(1)` on a T × T mask " +
              fits({4, 1, 4}, {1, 4, 4, 4}) + " where T = h: the first token of the last head then sees " +
              count(sum((tall[0][3][0] == 0).to(float32)).item()) +
              " keys instead of 1. In Weft a mask's rank says its meaning, and these are right or refused",
          "[S3.18]");
}

// ---- S2 and S4
void prose_and_code() {
    const auto table =
        check::mask_oracle(tensor({2.0, 1.5, 0.8, 0.3}, float64), Mask::blocked(full({1, 4}, 1, boolean)));
    print(
        "*Multi-Head Causal Self-Attention*, “The Causal Mask” and “Code”; *07. Multi-head causal attention*, "
        "3",
        "−∞ in the prose, `where(mask, -1e9, scores)` in the code",
        "they agree where a query may attend to something. In a fully masked row −1e9 gives " +
            numbers(table[check::MaskRule::replace].weights[0], 2) +
            ", the average of all that is masked; −∞ gives " +
            numbers(table[check::MaskRule::plain].weights[0], 2) + ", and Weft's softmax " +
            numbers(table[check::MaskRule::safe].weights[0], 2),
        "[S4.05]");
}

void balanced_experts() {
    const auto loss = [](const Tensor& ids) {  // of a block whose router is sure; token i goes to expert ids[i]
        const Tensor shares = one_hot(ids, 4).to(float64).mean(0);  // f and P alike (E,)
        return fixed(4 * sum(shares * shares).item(), 1);
    };
    print(
        "*Multi-Head Causal Self-Attention*, its project's “Training Results”",
        "an auxiliary loss near 4.0: “For 4 experts, the theoretical perfectly-balanced value is exactly 4.0”",
        "its formula, 4 · Σ fᵢPᵢ, gives " + loss(tensor({0, 1, 2, 3})) +
            " for a block that uses its experts equally, and " + loss(tensor({0, 0, 0, 0})) +
            " for one that uses a single one. The model adds up its four blocks: balanced is 1.0 for each",
        "[moe]");
}

void masking_table() {
    const Tensor scores = tensor({2.0, 1.5, 0.8, 0.3}, float64);
    const Mask all = Mask::blocked(full({1, 4}, 1, boolean));
    std::cout << "| rule | type | weights | gradient of the scores | gradient of the values "
                 "|\n|---|---|---|---|---|\n";
    for (const auto& [rule, dtype] : {std::pair{check::MaskRule::add, float64},
                                      {check::MaskRule::add, float32},
                                      {check::MaskRule::replace, float32},
                                      {check::MaskRule::plain, float32},
                                      {check::MaskRule::safe, float32}}) {
        const auto outcome = check::mask_oracle(scores, all, dtype)[rule];
        std::cout << "| " << check::name(rule) << " | " << name(dtype) << " | "
                  << numbers(outcome.weights[0], 3) << " | " << numbers(outcome.scores_gradient[0], 3) << " | "
                  << numbers(outcome.values_gradient, 3) << " |\n";
    }
}

}  // namespace

int main() {
    std::cout << "| source, section | it prints | what is true | shown by |\n|---|---|---|---|\n";
    weights_of_the_cat();
    mask_as_an_attribute();
    one_projection_or_three();
    split_or_chunk();
    permute_or_transpose();
    pictures_of_heads();
    added_constant();
    width_of_a_head();
    size_of_a_projection();
    any_dimensions();
    missing_import();
    reshape_and_view();
    rows_of_padding();
    broadcasting();
    prose_and_code();
    balanced_experts();
    std::cout << "\n";
    masking_table();
    std::cout << "\n";
    times_of_projections();
}
