// 10. Many heads: split, attend, merge, W_O; what they cost, and every tensor on the way.
//
// B batch, T tokens, C = d_model, H heads, d_k = C / H.
#include "chapter.h"

#include <algorithm>

#include <cmath>
#include <cstdio>
#include <vector>

#include "weft/weft.h"

using namespace weft;

namespace {

// ---- the module

// x (B, T, C) → (B, H, T, d_k): head h, counted from 0, gets columns h·d_k … (h + 1)·d_k − 1.
Tensor split_heads(const Tensor& x, std::int64_t num_heads) {
    const std::int64_t B = x.size(0), T = x.size(1), C = x.size(2);
    return x.reshape({B, T, num_heads, C / num_heads})
        .permute({0, 2, 1, 3});  // (B, T, H, d_k) → (B, H, T, d_k)
}

// x (B, H, T, d_k) → (B, T, C): the heads side by side again.
Tensor merge_heads(const Tensor& x) {
    const std::int64_t B = x.size(0), H = x.size(1), T = x.size(2), d_k = x.size(3);
    return x.permute({0, 2, 1, 3}).reshape({B, T, H * d_k});  // (B, T, H, d_k) → (B, T, C)
}

struct MultiHead : nn::Module {
    std::int64_t d_model, num_heads;
    double scale = 1 / std::sqrt(static_cast<double>(d_model / num_heads));  // 1/√d_k
    Tensor (*merge)(const Tensor&) = merge_heads;                            // "Break it" exchanges it
    nn::Linear W_qkv = register_module("W_qkv", nn::Linear(d_model, 3 * d_model, false));  // C → 3C
    nn::Linear W_out = register_module("W_out", nn::Linear(d_model, d_model, false));      // C → C

    MultiHead(std::int64_t d_model, std::int64_t num_heads) : d_model(d_model), num_heads(num_heads) {}

    Tensor operator()(const Tensor& x) const {                                           // (B, T, C)
        const std::vector<Tensor> qkv = chunk(traced("qkv", W_qkv(x)), 3, -1);           // three (B, T, C)
        const Tensor q = traced("q", split_heads(qkv[0], num_heads));                    // (B, H, T, d_k)
        const Tensor k = traced("k", split_heads(qkv[1], num_heads));                    // (B, H, T, d_k)
        const Tensor v = traced("v", split_heads(qkv[2], num_heads));                    // (B, H, T, d_k)
        const Tensor scores = traced("scores", matmul(q, k.transpose(-2, -1)) * scale);  // (B, H, T, T)
        const Tensor weights = traced("weights", softmax(scores, -1));                   // (B, H, T, T)
        const Tensor y = traced("heads", matmul(weights, v));                            // (B, H, T, d_k)
        return W_out(traced("merged", merge(y)));                                        // (B, T, C)
    }
};

// ---- by hand

std::string numbers(const Tensor& row, const char* format) {
    std::string text;
    for (const double x : row.detach().to(float64).to_vector<double>()) {
        char number[32];
        std::snprintf(number, sizeof number, format, x);
        text += number;
    }
    return text;
}

void two_questions(Chapter& chapter) {
    chapter.section("two heads for two questions");
    const Tensor q = tensor({{{0, 1, 0, 0}, {2, 0, 1, 0}, {0, 2, 0, 0}}}, float64);  // (1, T, C): the, cat, sat
    const Tensor k = tensor({{{1, 0, 0, 0}, {0, 2, 0, 1}, {0, 0, 2, 1}}}, float64);  // (1, T, C)
    for (const std::int64_t num_heads : {1, 2}) {
        const Tensor qh = split_heads(q, num_heads), kh = split_heads(k, num_heads);  // (1, H, T, d_k)
        const double d_k = static_cast<double>(qh.size(-1));
        const Tensor weights = softmax(matmul(qh, kh.transpose(-2, -1)) / std::sqrt(d_k), -1);  // (1, H, T, T)
        for (std::int64_t h = 0; h < num_heads; ++h)
            std::printf("cat, head %d of %d: the %.2f  cat %.2f  sat %.2f\n", static_cast<int>(h + 1),
                        static_cast<int>(num_heads), weights.at({0, h, 1, 0}), weights.at({0, h, 1, 1}),
                        weights.at({0, h, 1, 2}));
    }
}

void merged_by_hand(Chapter& chapter) {
    chapter.section("one token, two heads, merged");
    const Tensor weights = tensor({{{{.80, .20, .00}}, {{.05, .90, .05}}}}, float64);  // (1, H, 1, 3)
    const Tensor values =
        tensor({{{{10, 1}, {4, 2}, {7, 3}}, {{1, 9}, {3, 6}, {5, 2}}}}, float64);  // (1, H, 3, d_k)
    const Tensor y = matmul(weights, values);                                      // (1, H, 1, d_k)
    std::printf("head 1:%s\nhead 2:%s\nmerged:%s\n", numbers(y[0][0], " %.2f").c_str(),
                numbers(y[0][1], " %.2f").c_str(), numbers(merge_heads(y), " %.2f").c_str());
}

void columns(Chapter& chapter) {
    chapter.section("columns, heads, columns");
    const Tensor x = arange(12).reshape({1, 2, 6});  // (B, T, C)
    const Tensor heads = split_heads(x, 2);          // (B, H, T, d_k)
    std::printf("x       %s |%s\n", numbers(x[0][0], " %2.0f").c_str(), numbers(x[0][1], " %2.0f").c_str());
    for (std::int64_t h = 0; h < 2; ++h)
        std::printf("head %d  %s |%s\n", static_cast<int>(h + 1), numbers(heads[0][h][0], " %2.0f").c_str(),
                    numbers(heads[0][h][1], " %2.0f").c_str());
    const Tensor merged = merge_heads(heads);  // (B, T, C)
    std::printf("merged  %s |%s\n", numbers(merged[0][0], " %2.0f").c_str(),
                numbers(merged[0][1], " %2.0f").c_str());
    std::printf("the heads lie in the memory of x: %s\n", heads.shares_storage(x) ? "yes" : "no");
}

// ---- what is the same as what

const char* same(const Tensor& a, const Tensor& b) {
    return max(abs(a - b)).item() < 1e-13 ? "same" : "DIFFERENT";
}

constexpr std::int64_t B = 2, T = 5, C = 12, H = 3, d_k = C / H;

void equivalences(Chapter& chapter) {
    chapter.section("the same in other words");
    const NoGrad off;
    manual_seed(1);
    Rng& rng = default_rng();
    MultiHead mine(C, H);
    mine.to(float64);
    const Tensor x = randn({B, T, C}, rng, float64), y = mine(x);  // (B, T, C)

    nn::MultiHeadAttention library(C, H, rng);
    library.to(float64);
    library.load_state_dict(mine.state_dict());
    std::printf("nn::MultiHeadAttention with the same weights: %s\n", same(y, library(x)));

    nn::Attention separate(C, H, rng, {.fused = false});  // with W_q, W_k and W_v
    separate.to(float64);
    separate.load_state_dict(nn::separate_state(mine.state_dict()));
    std::printf("W_q, W_k and W_v instead of W_qkv: %s\n", same(y, separate(x)));

    // Linear keeps W transposed, (out, in): the columns of W_Q are rows of W_qkv.weight.
    const std::vector<Tensor> W = chunk(mine.W_qkv.weight, 3, 0);  // three (C, C)
    const auto own = [&](const Tensor& w, std::int64_t h) {        // (C, d_k): what belongs to head h
        return w.slice(0, h * d_k, (h + 1) * d_k).T();
    };
    std::vector<Tensor> parts;  // what each head adds to y, (B, T, C)
    for (std::int64_t h = 0; h < H; ++h) {
        const Tensor q = matmul(x, own(W[0], h)), k = matmul(x, own(W[1], h)), v = matmul(x, own(W[2], h));
        const Tensor weights = softmax(matmul(q, k.transpose(-2, -1)) / 2, -1);      // (B, T, T), √d_k = 2
        const Tensor rows = mine.W_out.weight.slice(1, h * d_k, (h + 1) * d_k).T();  // (d_k, C), of W_O
        parts.push_back(matmul(matmul(weights, v), rows));                           // (B, T, C)
    }
    std::printf("the sum of 3 small attentions: %s\n", same(y, parts[0] + parts[1] + parts[2]));

    Tensor rows_of_head_2 = mine.W_out.weight.slice(1, d_k, 2 * d_k);  // a view of the weights
    rows_of_head_2.fill_(0);
    std::printf("with the rows of head 2 set to 0, exactly its part is missing: %s\n",
                same(mine(x), y - parts[1]));
}

// ---- sizes

// Parameters without and with biases, and the multiply-adds of one sequence of 1024 tokens.
void count(std::int64_t d_model, std::int64_t num_heads, std::int64_t width) {
    Rng rng = Rng::skip_init();  // all parameters 0: only their number matters
    const nn::Attention plain(d_model, num_heads, rng, {.d_k = width, .d_v = width});
    const nn::Attention biased(d_model, num_heads, rng, {.bias = true, .d_k = width, .d_v = width});

    const CountMultiplyAdds counter;
    const Tensor y = plain(zeros({1, 1024, d_model}));  // (1, T, C)
    std::printf("%7d  %5d  %5d  %12lld  %12lld   %7.1f million\n", static_cast<int>(d_model),
                static_cast<int>(num_heads), static_cast<int>(width),
                static_cast<long long>(plain.num_parameters()), static_cast<long long>(biased.num_parameters()),
                static_cast<double>(counter.count()) / 1e6);
}

void counts(Chapter& chapter) {
    chapter.section("parameters and multiply-adds");
    std::printf("d_model  heads  width    parameters   with biases   multiply-adds, T = 1024\n");
    count(512, 8, 64);
    count(512, 1, 512);
    count(512, 8, 512);
    count(768, 12, 64);  // GPT-2, the small one
    count(128, 4, 32);
}

void story(Chapter& chapter) {
    chapter.section("the tensor story");
    manual_seed(1);
    const MultiHead attention(12, 3);
    const Tensor x = randn({2, 5, 12});  // (B, T, C)
    viz::tensor_story(attention, x, {.values_up_to = 0}).print();
}

void other_widths(Chapter& chapter) {
    chapter.section("values of another width, and heads that do not divide");
    Rng rng(1);
    const nn::Attention attention(12, 3, rng, {.fused = false, .d_k = 2, .d_v = 5});
    for (const auto& [name, parameter] : attention.named_parameters())
        std::printf("%-12s %s\n", name.c_str(), parameter.shape().str().c_str());
    try {
        nn::MultiHeadAttention(512, 3, rng);
    } catch (const Error& error) {
        std::printf("%s\n", error.what());
    }
}

// ---- two heads learn

constexpr std::int64_t V = 6, length = 8, width = V + length;  // tokens, positions, C

// ids (B, T) → (B, T, C): each token one-hot, and beside it its position, one-hot too.
Tensor with_positions(const Tensor& ids) {
    const Tensor positions = eye(length, float64).expand({ids.size(0), length, length});  // (B, T, T)
    return cat({embedding(eye(V, float64), ids), positions}, -1);
}

struct TwoQuestions : nn::Module {
    std::int64_t num_heads;
    MultiHead attention = register_module("attention", MultiHead(width, num_heads));
    // C → 2V: logits of the previous token, and of the first token
    nn::Linear answers = register_module("answers", nn::Linear(width, 2 * V));

    explicit TwoQuestions(std::int64_t num_heads) : num_heads(num_heads) { to(float64); }

    Tensor operator()(const Tensor& ids) const {                                 // (B, T)
        const Tensor logits = answers(attention(with_positions(ids)));           // (B, T, 2V)
        return logits.reshape({ids.size(0), length, 2, V}).slice(1, 1, length);  // without the first token
    }
};

// ids (B, T) → (B, T − 1, 2): for every token but the first, the previous token and the first.
Tensor right_answers(const Tensor& ids) {
    const Tensor previous = ids.slice(1, 0, length - 1);                        // (B, T − 1)
    const Tensor first = ids.slice(1, 0, 1).expand({ids.size(0), length - 1});  // (B, T − 1)
    return stack({previous, first}, -1);
}

TwoQuestions trained(std::int64_t num_heads, std::uint64_t seed) {
    manual_seed(seed);
    TwoQuestions model(num_heads);
    optim::Adam optimizer(model, {.lr = 0.01});
    for (int step = 0; step < 600; ++step) {
        const Tensor ids = randint(0, V, {32, length});  // (B, T)
        optimizer.zero_grad();
        const Tensor loss = cross_entropy(model(ids), right_answers(ids));
        loss.backward();
        optimizer.step();
    }
    return model;
}

// The shares of its weight that each head gives to the previous and to the first token. (H, 2)
Tensor shares(const TwoQuestions& model, const Tensor& ids) {
    const Tensor weights = mean(viz::attention_weights(model, ids)[0], 0);  // (H, T, T)
    std::vector<Tensor> found;
    for (std::int64_t t = 2; t < length; ++t)  // at t = 1 the previous token is the first
        found.push_back(index_select(weights.select(1, t), 1, tensor({t - 1, 0}, int64)));  // (H, 2)
    return mean(stack(found), 0);
}

Tensor roles(Chapter& chapter) {
    chapter.section("two heads, two questions, learned");
    Rng rng(1000);
    const Tensor ids = randint(0, V, {200, length}, rng);  // (B, T), the same for every model
    Tensor shown;
    int separated = 0;
    std::printf("       two heads                                           one head\n");
    std::printf("       head 1            head 2\n");
    std::printf("seed   previous  first   previous  first             loss  previous  first   loss\n");
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const TwoQuestions two = trained(2, seed), one = trained(1, seed);
        const NoGrad off;
        const Tensor s = shares(two, ids), alone = shares(one, ids);  // (2, 2), (1, 2)
        const bool apart =
            (s.at({0, 0}) > 0.5 && s.at({1, 1}) > 0.5) || (s.at({0, 1}) > 0.5 && s.at({1, 0}) > 0.5);
        separated += apart;
        std::printf("%4d       %.2f   %.2f       %.2f   %.2f   %-8s  %.2f      %.2f   %.2f   %.2f\n",
                    static_cast<int>(seed), s.at({0, 0}), s.at({0, 1}), s.at({1, 0}), s.at({1, 1}),
                    apart ? "one each" : "shared", cross_entropy(two(ids), right_answers(ids)).item(),
                    alone.at({0, 0}), alone.at({0, 1}), cross_entropy(one(ids), right_answers(ids)).item());
        if (seed == 1) shown = mean(viz::attention_weights(two, ids)[0], 0);
    }
    std::printf("one question for each head: %d of 10 seeds\n", separated);
    return shown;
}

// ---- the checklist

check::AttentionReport report_on(const MultiHead& attention) {
    Rng rng(2);
    check::AttentionSubject subject;
    subject.run = [&](const Tensor& x, const Mask&) { return attention(x); };
    subject.takes_mask = false;
    subject.num_heads = attention.num_heads;
    subject.parameters = attention.named_parameters();
    return check::attention(subject, randn({B, T, C}, rng, float64));
}

void checklist(Chapter& chapter) {
    chapter.section("the checklist");
    manual_seed(1);
    MultiHead attention(C, H);
    attention.to(float64);
    int passed = 0;
    for (const check::AttentionCheck& check : report_on(attention).checks) {
        passed += check.passed();
        if (check.failed()) std::printf("FAILED %s: %s\n", check.name.c_str(), check.evidence.c_str());
        if (!check.passed() && !check.failed())
            std::printf("n/a    %s: %s\n", check.name.c_str(), check.evidence.c_str());
    }
    std::printf("passed %d others\n", passed);
}

// ---- break it

Tensor merge_without_permute(const Tensor& x) {  // (B, H, T, d_k)
    return x.reshape({x.size(0), x.size(2), x.size(1) * x.size(3)});
}

void failures(const char* what, const MultiHead& attention) {
    std::printf("\n%s\n", what);
    for (const check::AttentionCheck& check : report_on(attention).checks)
        if (check.failed()) std::printf("FAILED  %s: %s\n", check.name.c_str(), check.evidence.c_str());
}

void broken(Chapter& chapter) {
    chapter.section("break it: merge without the permute");
    const Tensor heads = tensor({{{{0.0, 1, 2}, {6, 7, 8}}, {{3, 4, 5}, {9, 10, 11}}}});  // (1, H, T, d_k)
    const Tensor right = merge_heads(heads), wrong = merge_without_permute(heads);        // (1, T, C)
    std::printf("right  %s |%s\n", numbers(right[0][0], " %2.0f").c_str(),
                numbers(right[0][1], " %2.0f").c_str());
    std::printf("wrong  %s |%s\n", numbers(wrong[0][0], " %2.0f").c_str(),
                numbers(wrong[0][1], " %2.0f").c_str());
    try {
        (void)heads.permute({0, 2, 1, 3}).view({1, 2, 6});
    } catch (const Error& error) {
        std::printf("%s\n", error.what());
    }

    manual_seed(1);
    MultiHead attention(C, H);
    attention.to(float64);
    attention.merge = merge_without_permute;
    failures("merge without the permute:", attention);
    attention.merge = merge_heads;
    attention.scale = 1 / std::sqrt(static_cast<double>(C));
    failures("scaled by the root of d_model:", attention);
}

// ---- figures

std::string flow_picture() {
    viz::Drawing d(640, 612, "Multi-head attention from X to Y, with shapes");
    const viz::Stroke line{"#666", 1.5};
    const viz::Label shape{.size = 13, .anchor = "start", .colour = "#555"}, step{.size = 14, .bold = true};
    const std::string plain = "#f4f4f4";
    const std::vector<std::string> colours = {"#d6e9f5", "#fbe3d3", "#d9f0e6"};
    const std::vector<std::string> strong = {"#4a9ccb", "#d98245", "#4bab83"};  // of a head's arrows
    const auto box = [&](double x, double y, double w, const std::string& text, const std::string& fill) {
        d.box(x, y, w, 34, text, {.fill = fill, .stroke = {"#444", 1.2}});
    };
    const auto left = [](std::size_t i) { return 20 + 170 * static_cast<double>(i); };  // of column i
    const auto strips = [&](double x, double y, double w, const std::vector<std::string>& texts) {
        for (std::size_t h = 0; h < 3; ++h)
            d.box(x + w * static_cast<double>(h), y, w, 34, texts[h],
                  {.fill = colours[h], .stroke = {"#444", 1.2}, .radius = 0});
    };
    box(190, 16, 160, "X", plain);
    d.text(540, 33, "(B, T, C)", shape);
    const std::vector<std::string> names = {"Q", "K", "V"};
    for (std::size_t i = 0; i < 3; ++i) {
        const double middle = left(i) + 80;
        d.arrow(270, 50, middle, 82, line);
        d.text(left(i) + 80, 95, names[i] + " = X W_" + names[i], step);
        strips(left(i) + 11, 106, 46, {"1", "2", "3"});
        for (std::size_t h = 0; h < 3; ++h) {  // a head gets its block of columns of all three
            const double from = left(i) + 34 + 46 * static_cast<double>(h);
            d.arrow(from, 140, left(h) + 50 + 30 * static_cast<double>(i), 200, {strong[h], 1.6});
        }
    }
    for (std::size_t h = 0; h < 3; ++h) {
        const double x = left(h), middle = x + 80;
        box(x, 200, 160, "q, k, v of head " + std::to_string(h + 1), colours[h]);
        d.arrow(middle, 234, middle, 256, line);
        box(x, 256, 160, "q kᵀ / √d_k", colours[h]);
        d.arrow(middle, 290, middle, 312, line);
        box(x, 312, 160, "softmax", colours[h]);
        d.arrow(middle, 346, middle, 368, line);
        box(x, 368, 160, "weights · v", colours[h]);
        d.arrow(middle, 402, 270 + 70 * (static_cast<double>(h) - 1), 448, {strong[h], 1.6});
    }
    strips(165, 448, 70, {"head 1", "head 2", "head 3"});
    d.text(540, 123, "(B, T, C) each", shape).text(540, 217, "(B, H, T, d_k)", shape);
    d.text(540, 273, "(B, H, T, T)", shape).text(540, 329, "(B, H, T, T)", shape);
    d.text(540, 385, "(B, H, T, d_k)", shape).text(540, 465, "(B, T, C)", shape);
    d.arrow(270, 482, 270, 504, line);
    box(190, 504, 160, "· W_O", plain);
    d.arrow(270, 538, 270, 560, line);
    box(190, 560, 160, "Y", plain);
    d.text(540, 577, "(B, T, C)", shape);
    d.text(540, 170, "split", {.size = 14, .anchor = "start", .bold = true});
    d.text(540, 424, "merge", {.size = 14, .anchor = "start", .bold = true});
    return d.svg();
}

std::string split_picture() {
    viz::Drawing d(640, 330, "Columns as heads, and back: with the permute and without");
    const std::string blue = "#bcdcf0", red = "#f7cfb5";
    const Tensor x = arange(12).reshape({1, 2, 6}), heads = split_heads(x, 2);
    const double w = 34, h = 30;
    const viz::Label title{.size = 14, .bold = true}, note{.size = 13, .colour = "#555"};
    const auto fills = [&](const std::string& pattern) {
        std::vector<std::string> all;
        for (const char c : pattern) all.push_back(c == 'a' ? blue : red);
        return all;
    };
    d.text(130, 26, "x (T, C)", title).cells(28, 46, w, h, x[0], {.fills = fills("aaabbbaaabbb")});
    d.text(79, 122, "columns 0–2", note).text(181, 122, "columns 3–5", note);
    d.arrow(244, 76, 300, 76).text(272, 58, "split", title);
    d.text(372, 26, "head 1 (T, d_k)", title).cells(321, 46, w, h, heads[0][0], {.fills = fills("aaaaaa")});
    d.text(540, 26, "head 2 (T, d_k)", title).cells(489, 46, w, h, heads[0][1], {.fills = fills("bbbbbb")});
    d.text(456, 122, "in memory after attention: head 1, then head 2", note);
    d.bend(440, 138, 130, 206).bend(472, 138, 474, 206);
    d.text(130, 222, "merged with the permute", title);
    d.cells(28, 240, w, h, merge_heads(heads)[0], {.fills = fills("aaabbbaaabbb")});
    d.text(474, 222, "reshape alone", title);
    d.cells(372, 240, w, h, merge_without_permute(heads.contiguous())[0], {.fills = fills("aaaaaabbbbbb")});
    d.text(130, 316, "row 0: token 0 of both heads", note)
        .text(474, 316, "row 0: tokens 0 and 1 of head 1", note);
    return d.svg();
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    set_num_threads(1);  // most of the operations are too small to share among threads
    two_questions(chapter);
    merged_by_hand(chapter);
    columns(chapter);
    equivalences(chapter);
    story(chapter);
    counts(chapter);
    other_widths(chapter);
    const Tensor weights = roles(chapter);
    checklist(chapter);
    broken(chapter);
    chapter.figure("10_flow", flow_picture());
    chapter.figure("10_roles", viz::attention_grid_svg({weights}, {.top = 1}));
    chapter.figure("10_split", split_picture());
}
