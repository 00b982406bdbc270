// "28 Multi-Head Attention" of the TensorWeaver book, section by section.
//
// B samples (batch), T tokens (seq), C = d_model, H heads, d_k = C / H.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>

#include "../three_roles.h"
#include "companion.h"

using namespace weft;

namespace {

void print(const char* name, const Tensor& x) { std::printf("%-18s %s\n", name, x.shape().str().c_str()); }

// ---- 28.3 Implementation

struct MultiHeadAttention : nn::Module {
    std::int64_t d_model, num_heads, d_k;  // d_k: dimension per head
    nn::Linear W_qkv, W_out;

    MultiHeadAttention(std::int64_t d_model, std::int64_t num_heads)
        : Module("MultiHeadAttention"),
          d_model(d_model),
          num_heads(num_heads),
          d_k(nn::head_dim(d_model, num_heads, "MultiHeadAttention")),  // refuses a remainder
          W_qkv(register_module("W_qkv", nn::Linear(d_model, 3 * d_model, false))),
          W_out(register_module("W_out", nn::Linear(d_model, d_model, false))) {}

    Tensor operator()(const Tensor& x, const Tensor& mask = {}) const {
        const std::int64_t batch_size = x.size(0), seq_len = x.size(1);

        // Project to Q, K, V
        Tensor qkv = W_qkv(x);  // (B, T, 3C)

        // Split into Q, K, V
        qkv = qkv.reshape(batch_size, seq_len, 3, num_heads, d_k);
        qkv = qkv.permute(2, 0, 3, 1, 4);  // (3, B, H, T, d_k)
        const Tensor Q = qkv[0], K = qkv[1], V = qkv[2];

        // Attention per head
        Tensor scores = Q.matmul(K.transpose(-2, -1)) / std::sqrt(static_cast<double>(d_k));  // (B, H, T, T)
        if (mask.defined()) scores = scores + mask * -1e9;
        const Tensor weights = softmax(scores, -1);
        Tensor attn_out = weights.matmul(V);  // (B, H, T, d_k)

        // Concatenate heads
        attn_out = attn_out.permute(0, 2, 1, 3);  // (B, T, H, d_k)
        attn_out = attn_out.reshape(batch_size, seq_len, d_model);

        // Output projection
        return W_out(attn_out);
    }
};

// ---- 28.6 Causal Multi-Head Attention

struct CausalMultiHeadAttention : nn::Module {
    std::int64_t d_model, num_heads, d_k;
    nn::Linear W_qkv, W_out;
    Tensor mask;  // (max_seq_len, max_seq_len)

    CausalMultiHeadAttention(std::int64_t d_model, std::int64_t num_heads, std::int64_t max_seq_len = 1024)
        : Module("CausalMultiHeadAttention"),
          d_model(d_model),
          num_heads(num_heads),
          d_k(nn::head_dim(d_model, num_heads, "CausalMultiHeadAttention")),
          W_qkv(register_module("W_qkv", nn::Linear(d_model, 3 * d_model, false))),
          W_out(register_module("W_out", nn::Linear(d_model, d_model, false))),
          mask(register_buffer("mask", triu(ones({max_seq_len, max_seq_len}), 1), /*persistent=*/false)) {}

    Tensor operator()(const Tensor& x) const {
        const std::int64_t batch_size = x.size(0), seq_len = x.size(1);
        Tensor qkv = W_qkv(x);
        qkv = qkv.reshape(batch_size, seq_len, 3, num_heads, d_k);
        qkv = qkv.permute(2, 0, 3, 1, 4);
        const Tensor Q = qkv[0], K = qkv[1], V = qkv[2];
        Tensor scores = Q.matmul(K.transpose(-2, -1)) / std::sqrt(static_cast<double>(d_k));

        // Apply causal mask: mask[:seq_len, :seq_len]
        scores = scores + mask.slice(0, 0, seq_len).slice(1, 0, seq_len) * -1e9;

        const Tensor weights = softmax(scores, -1);
        Tensor attn_out = weights.matmul(V);
        attn_out = attn_out.permute(0, 2, 1, 3);
        attn_out = attn_out.reshape(batch_size, seq_len, d_model);
        return W_out(attn_out);
    }
};

// The largest difference of the gradients that two modules get from the same loss.
template <class A, class B>
double gradient_distance(A& a, B& b, const Tensor& x) {
    (a(x) * a(x)).mean().backward();
    (b(x) * b(x)).mean().backward();
    const auto of_a = a.parameters(), of_b = b.parameters();
    double largest = 0;
    for (std::size_t i = 0; i < of_a.size(); ++i)
        largest = std::max(largest, difference(of_a[i].grad(), of_b[i].grad()));
    return largest;
}

// ---- the sections

// Three trained heads, for 28.7 and 28.9.
struct Trained {
    three_roles::Sequences batch;
    three_roles::Findings found;
};

Trained why(Chapter& chapter) {
    chapter.section("28.1 Why Multiple Heads?");
    Rng rng(1002);
    Trained trained{three_roles::sequences(256, rng), {}};
    std::printf("heads  previous token  first token  token with the same role\n");
    double one = 0, three = 0;
    for (const std::int64_t heads : {1, 3}) {
        trained.found = three_roles::examine(three_roles::trained(heads, 2), trained.batch);
        const Tensor right = trained.found.accuracy;  // (3,)
        std::printf("%5d  %14.2f %12.2f %25.2f\n", static_cast<int>(heads), right[0].item(), right[1].item(),
                    right[2].item());
        (heads == 1 ? one : three) = right.min().item();
    }
    claim("three heads answer all three questions, one head does not", three > 0.95 && one < 0.8);
    return trained;
}

void architecture(Chapter& chapter) {
    chapter.section("28.2 The Architecture");
    manual_seed(1);
    const nn::MultiHeadAttention module(16, 4);
    const Tensor X = randn({5, 16});
    print("Input", X);
    const auto [q, k, v] = module.project(X, X, X);
    print("Split into heads", q);
    std::vector<Tensor> heads;
    for (std::int64_t h = 0; h < 4; ++h) {
        heads.push_back(scaled_dot_product_attention(q[h], k[h], v[h]));
        print(("Head " + std::to_string(h + 1)).c_str(), heads.back());
    }
    const Tensor concat = cat(heads, -1);
    print("Concatenate", concat);
    const Tensor output = module.W_out(concat);
    print("Output Projection", output);
    claim("Output is that of nn::MultiHeadAttention", allclose(output, module(X), 1e-5, 1e-6));
}

void implementation(Chapter& chapter) {
    chapter.section("28.3 Implementation");
    manual_seed(1);
    MultiHeadAttention mine(12, 3);
    nn::MultiHeadAttention library(12, 3);
    library.load_state_dict(mine.state_dict());
    for (const auto& [name, value] : mine.state_dict()) print(name.c_str(), value);
    const Tensor x = randn({2, 5, 12});
    const Tensor mask = triu(ones({5, 5}), 1);  // 1: blocked
    std::printf("largest difference to nn::MultiHeadAttention\n");
    const double plain = difference(mine(x), library(x));
    const double masked = difference(mine(x, mask), library(x, Mask::blocked(mask == 1)));
    const double gradients = gradient_distance(mine, library, x);
    std::printf("  without a mask   %.5f\n  with a mask      %.5f\n  gradients        %.5f\n", plain, masked,
                gradients);
    claim("the same", plain < 1e-5 && masked < 1e-5 && gradients < 1e-5);
    std::printf("%s\n", refusal([] { return MultiHeadAttention(12, 5); }).c_str());

    // The last token may attend to nothing: its row of the mask is all 1.
    Tensor blind = mask.clone();
    blind[4].fill_(1);
    const Tensor last = mine(x, blind).select(1, 4), unmasked = mine(x).select(1, 4);
    const Tensor safe = library(x, Mask::blocked(blind == 1)).select(1, 4);
    mine.to(float64);
    const Tensor x64 = x.to(float64), in_double = mine(x64, blind.to(float64)).select(1, 4);
    std::printf("\nlargest output of a token that may attend to nothing\n");
    std::printf("  mask * -1e9, float32  %.3f\n", last.abs().max().item());
    std::printf("  mask * -1e9, float64  %.3f, the unmasked %.3f\n", in_double.abs().max().item(),
                unmasked.abs().max().item());
    std::printf("  nn::MultiHeadAttention %.3f\n", safe.abs().max().item());
    claim("in float64 the mask has no effect, in the library the output is 0",
          difference(in_double, mine(x64).select(1, 4)) < 1e-5 && safe.abs().max().item() == 0);
}

void dimensions(Chapter& chapter) {
    chapter.section("28.4 Dimension Math");
    manual_seed(1);
    const nn::CausalMultiHeadAttention attention(768, 12);
    std::printf("d_k = %d / %d = %d\n", 768, 12, static_cast<int>(attention.d_k));
    const Tensor x = randn({2, 5, 768});
    viz::tensor_story(attention, x, {.values_up_to = 0}).print();

    const auto [Q, K, V] = nn::split_qkv(attention.W_qkv(x), 12);  // (2, 12, 5, 64) each
    const auto head = [](const Tensor& t, std::int64_t h) { return t.select(1, h); };
    const Tensor among_twelve = head(scaled_dot_product_attention(Q, K, V), 5);
    const Tensor alone = scaled_dot_product_attention(head(Q, 5).unsqueeze(1), head(K, 5).unsqueeze(1),
                                                      head(V, 5).unsqueeze(1));  // (2, 1, 5, 64)
    claim("head 6 alone is head 6 among twelve", allclose(alone.squeeze(1), among_twelve, 1e-5, 1e-6));
}

// The median time of each of three runs, which take turns, in microseconds.
std::array<double, 3> medians(const std::array<std::function<void()>, 3>& runs) {
    std::array<std::vector<double>, 3> times;
    for (int round = 0; round < 31; ++round)
        for (std::size_t i = 0; i < 3; ++i) {
            const auto start = std::chrono::steady_clock::now();
            runs[i]();
            const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
            times[i].push_back(took.count());
        }
    for (auto& list : times) std::sort(list.begin(), list.end());
    return {times[0][15], times[1][15], times[2][15]};
}

void efficient(Chapter& chapter) {
    chapter.section("28.5 Efficient Implementation");
    std::printf("microseconds, median of 31   three projections   one and chunk   one\n");
    for (const auto& [B, T, C] :
         {std::array<std::int64_t, 3>{1, 1, 64}, {1, 16, 64}, {1, 1, 768}, {4, 64, 768}}) {
        manual_seed(1);
        const NoGrad off;
        const nn::Linear W_qkv(C, 3 * C, false);
        const std::vector<Tensor> W = W_qkv.weight.chunk(3, 0);  // of Q, K, V: (C, C) each, in the same memory
        const Tensor x = randn({B, T, C});
        const auto three = [&] { const Tensor Q = linear(x, W[0]), K = linear(x, W[1]), V = linear(x, W[2]); };
        const auto one_and_chunk = [&] { const std::vector<Tensor> parts = W_qkv(x).chunk(3, -1); };
        const auto one = [&] { const Tensor qkv = W_qkv(x); };
        const auto times = medians({three, one_and_chunk, one});
        std::printf("x %-24s %19.1f %15.1f %7.1f\n", x.shape().str().c_str(), times[0], times[1], times[2]);
    }

    manual_seed(1);
    const nn::Linear W_q(12, 12, false), W_k(12, 12, false), W_v(12, 12, false);
    nn::Linear W_qkv(12, 36, false);
    W_qkv.load_state_dict({{"weight", cat({W_q.weight.detach(), W_k.weight.detach(), W_v.weight.detach()})}});
    const Tensor x = randn({2, 5, 12}), qkv = W_qkv(x);
    const std::vector<Tensor> three = qkv.chunk(3, -1), of_size_3 = qkv.split(3, -1);
    std::printf("\nqkv %s\n", qkv.shape().str().c_str());
    std::printf("qkv.chunk(3, -1): %2d parts of shape %s\n", static_cast<int>(three.size()),
                three[0].shape().str().c_str());
    std::printf("qkv.split(3, -1): %2d parts of shape %s\n", static_cast<int>(of_size_3.size()),
                of_size_3[0].shape().str().c_str());
    std::printf("qkv.split(12, -1): %d parts\n", static_cast<int>(qkv.split(12, -1).size()));
    const CountMultiplyAdds counter;
    const Tensor Q = W_q(x), K = W_k(x), V = W_v(x);
    const std::int64_t of_three = counter.count();
    const Tensor again = W_qkv(x);
    std::printf("multiply-adds: %d in three projections, %d in one\n", static_cast<int>(of_three),
                static_cast<int>(counter.count() - of_three));
    claim("one projection gives what three give, with as many multiply-adds",
          allclose(three[0], Q, 1e-5, 1e-6) && allclose(three[1], K, 1e-5, 1e-6) &&
              allclose(three[2], V, 1e-5, 1e-6) && counter.count() == 2 * of_three);
}

void buffers(nn::CausalMultiHeadAttention& library, const CausalMultiHeadAttention& mine, const Tensor& x) {
    const auto list = [](const char* title, const nn::NamedTensors& tensors) {
        std::printf("%-20s", title);
        for (const auto& [name, value] : tensors)
            std::printf(" %s %s", name.c_str(), value.shape().str().c_str());
        std::printf("%s\n", tensors.empty() ? " none" : "");
    };
    list("parameters", mine.named_parameters());
    list("buffers", mine.named_buffers());
    list("state_dict", mine.state_dict());
    list("the library's, before set_mask", library.named_buffers());
    library.set_mask(library.mask());
    Tensor library_mask = library.mask();  // the buffer: bool, true: blocked
    list("the library's, after", library.named_buffers());

    // Edit the masks alike: the last token no longer attends to the first.
    const Tensor before = library(x);
    Tensor mask = mine.mask;
    mask[4].slice(0, 0, 1).fill_(1);
    library_mask[4].slice(0, 0, 1).fill_(1);
    const Tensor change = (library(x) - before).abs().max(-1).values[0];  // (T,)
    std::printf("after an edit of row 5, the outputs of sample 1 change by");
    for (std::int64_t t = 0; t < 5; ++t) std::printf(" %.3f", change[t].item());
    std::printf("\n");
    const double fused = difference(library(x), mine(x)),
                 with_weights = difference(library.with_weights(x).output, mine(x));
    nn::KeyValueCache cache;
    const NoGrad off;
    std::vector<Tensor> rows;
    for (std::int64_t t = 0; t < 5; ++t) rows.push_back(library(x.slice(1, t, t + 1), cache));
    const double cached = difference(cat(rows, 1), mine(x));
    claim("the library's module changes likewise: fused, with weights, with a cache",
          change[4].item() > 0.01 && fused < 1e-5 && with_weights < 1e-5 && cached < 1e-5);
}

void lengths() {
    const CausalMultiHeadAttention mine(8, 2, 4);
    const nn::CausalMultiHeadAttention library(8, 2, {.max_seq_len = 4});
    const Tensor x = randn({1, 5, 8});
    for (const std::function<Tensor(const Tensor&)>& run :
         {std::function<Tensor(const Tensor&)>(mine), {library}})
        std::printf("%s\n", refusal([&] { return run(x); }).c_str());
    // A mask of one token broadcasts over any number of them.
    const CausalMultiHeadAttention of_one(8, 2, 1);
    const Tensor y = of_one(x);
    Tensor changed = x.clone();
    changed.select(1, 4).fill_(1);
    std::printf("max_seq_len 1: a new last token changes the output of the first by %.3f\n",
                difference(of_one(changed).select(1, 0), y.select(1, 0)));
    claim("the chapter's module then looks at the future",
          difference(of_one(changed).select(1, 0), y.select(1, 0)) > 0.001);
}

void axes() {
    const Tensor qkv = randn({2, 5, 3, 3, 4});  // (B, T, 3, H, d_k)
    print("permute all axes", qkv.permute(2, 0, 3, 1, 4));
    print("transpose two", qkv.transpose(-2, -1));
    const Tensor swapped = qkv.transpose(0, 2).transpose(1, 2).transpose(2, 3);
    claim("the permutation is three transpositions", allclose(swapped, qkv.permute(2, 0, 3, 1, 4)));
}

// The chapter's steps, with the graph cut after one of them: y.detach() is what PyTorch calls y.data.
Tensor chain(const Tensor& W, const Tensor& x, const std::string& cut) {
    const auto step = [&](const char* name, const Tensor& y) { return cut == name ? y.detach() : y; };
    Tensor qkv = step("reshape", linear(x, W).reshape(2, 5, 3, 3, 4));
    qkv = step("permute", qkv.permute(2, 0, 3, 1, 4));
    const Tensor Q = step("index", qkv[0]), K = step("transpose", qkv[1].transpose(-2, -1)), V = qkv[2];
    const Tensor attn_out = (Q.matmul(K) / 2).softmax(-1).matmul(V);
    return step("merge", attn_out.permute(0, 2, 1, 3).reshape(2, 5, 12));
}

void gradient_flow() {
    const Tensor x = randn({2, 5, 12}, float64), seed = randn({2, 5, 12}, float64);
    const Tensor W = randn({36, 12}, float64).requires_grad_();
    const auto report =
        check::gradcheck("reshape, permute, transpose, indexing",
                         [&](const std::vector<Tensor>& in) { return chain(in[0], x, ""); }, {W});
    if (!report) std::printf("%s\n", report.message.c_str());
    std::printf("norm of W_qkv's gradient   rows of Q   of K   of V\n");
    std::vector<Tensor> norms;
    for (const std::string cut : {"", "index", "transpose", "reshape", "permute", "merge"}) {
        Tensor weight = W.detach().clone().requires_grad_();
        const Tensor y = chain(weight, x, cut);
        if (y.requires_grad()) y.backward(seed);
        const Tensor gradient = weight.grad().defined() ? weight.grad() : zeros_like(weight);
        norms.push_back(gradient.reshape(3, -1).norm(2, 1));  // (3,)
        std::printf("%-27s %8.1f %6.1f %6.1f\n", cut.empty() ? "whole" : ("cut after " + cut).c_str(),
                    norms.back()[0].item(), norms.back()[1].item(), norms.back()[2].item());
    }
    const Tensor reached = stack(norms) != 0;  // (6, 3)
    claim("whole: right to 8 digits by finite differences, and Q, K and V all learn",
          report.passed && all(reached[0]));
    claim("cut after indexing Q or transposing K: only the others learn",
          all(reached[1] == tensor({false, true, true})) && all(reached[2] == tensor({true, false, true})));
    claim("cut after reshape, permute or the merge: nothing learns", !any(reached.slice(0, 3, 6)));
}

void causal(Chapter& chapter) {
    chapter.section("28.6 Causal Multi-Head Attention");
    manual_seed(1);
    CausalMultiHeadAttention mine(12, 3, 8);
    nn::CausalMultiHeadAttention library(12, 3, {.max_seq_len = 8});
    library.load_state_dict(mine.state_dict());
    const Tensor x = randn({2, 5, 12});
    const double outputs = difference(mine(x), library(x)), gradients = gradient_distance(mine, library, x);
    std::printf("largest difference to nn::CausalMultiHeadAttention: output %.5f, gradients %.5f\n", outputs,
                gradients);
    claim("the same", outputs < 1e-5 && gradients < 1e-5);
    std::printf("\n");
    buffers(library, mine, x);
    std::printf("\n");
    lengths();
    std::printf("\n");
    axes();
    std::printf("\n");
    gradient_flow();
}

void maps(Chapter& chapter, const Trained& trained) {
    chapter.section("28.7 Attention Pattern Visualization");
    const std::vector<std::string> words = {"The", "cat", "sat"};
    manual_seed(1);
    const nn::CausalMultiHeadAttention attention(8, 2);
    const Tensor weights = attention.with_weights(3 * randn({3, 8})).weights;  // (2, 3, 3)
    std::cout << "untrained\n"
              << viz::attention_text(weights, {.queries = words, .mask = Mask::causal()}) << "\n";

    std::cout << "trained, of 28.1\n"
              << viz::attention_text(trained.found.weights[0],
                                     {.queries = three_roles::labels(trained.batch, 0), .mask = Mask::causal()})
              << "\n";

    // The source's pictures: where it prints a dark cell.
    const Tensor dark =
        tensor({{{1, 0, 0}, {1, 1, 0}, {0, 1, 1}}, {{0, 1, 0}, {1, 0, 0}, {0, 1, 0}}});  // (2, 3, 3)
    const Tensor pictures = dark.to(float32) / dark.to(float32).sum(-1, keepdim);
    std::cout << "the source's pictures\n"
              << viz::attention_text(pictures, {.queries = words, .mask = Mask::causal()});
    const Tensor ahead = triu(dark, 1).sum({1, 2});  // (2,)
    std::printf("dark cells: %d, in the future: %d in head 1, %d in head 2\n",
                static_cast<int>(dark.sum().item()), static_cast<int>(ahead[0].item()),
                static_cast<int>(ahead[1].item()));
    claim("no weight of Weft's is in the future", triu(weights, 1).max().item() == 0);
    claim("head 2 of the source looks at the future, head 1 does not",
          ahead[0].item() == 0 && ahead[1].item() == 1);
}

void parameters(Chapter& chapter) {
    chapter.section("28.8 Parameter Count");
    const CausalMultiHeadAttention attention(768, 12);
    std::cout << attention;
    const nn::CausalMultiHeadAttention biased(768, 12, {.bias = true});
    std::printf("with GPT-2's biases: %d\n", static_cast<int>(biased.num_parameters()));
    claim("1,769,472 + 589,824 = 2,359,296",
          attention.W_qkv.num_parameters() == 1'769'472 && attention.W_out.num_parameters() == 589'824 &&
              attention.num_parameters() == 2'359'296 && biased.num_parameters() == 2'362'368);
}

void summary(Chapter& chapter, const three_roles::Findings& found) {
    chapter.section("28.9 Summary");
    manual_seed(1);
    const nn::CausalMultiHeadAttention attention(768, 12, {.max_seq_len = 16});
    const Tensor x = randn({1, 6, 768});
    const auto [output, weights] = attention.with_weights(x);
    std::printf("Multi-head: %d patterns of shape (6, 6)\n", static_cast<int>(weights.size(1)));
    std::printf("Split d_model: each head gets %d of %d dimensions\n", static_cast<int>(attention.d_k), 768);
    print("Concatenate:", nn::merge_heads(nn::split_qkv(attention.W_qkv(x), 12)[2]));
    print("Output projection:", output);
    std::printf("Different heads: shares of their weight on the previous, the first and the matching token\n");
    for (const Tensor& head : found.shares)
        std::printf("  %.2f %.2f %.2f\n", head[0].item(), head[1].item(), head[2].item());
    claim("each of them has learned another relationship", three_roles::one_each(found));
    claim("the attention checklist passes", check::attention(attention, x).passed());
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    set_num_threads(1);  // the operations are too small to share among threads
    const Trained trained = why(chapter);
    architecture(chapter);
    implementation(chapter);
    dimensions(chapter);
    efficient(chapter);
    causal(chapter);
    maps(chapter, trained);
    parameters(chapter);
    summary(chapter, trained.found);
    return held ? 0 : 1;
}
