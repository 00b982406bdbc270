// "Transformer Series (6/9) — Multi-Head Attention & Causal Masking", question by question.
//
// n samples, N tokens, C = d_model, H heads, d_k = C / H, V words.
#include <cmath>
#include <iostream>

#include "../three_roles.h"
#include "companion.h"

using namespace weft;

namespace {

using Words = std::vector<std::string>;
const Words sentence = {"The", "cat", "sat", "on"};

void print(const char* name, const Tensor& x) { std::printf("%-10s %s\n", name, x.shape().str().c_str()); }

// "cat   [  1.2,   1.8,    -∞,    -∞]"
void print_row(const std::string& label, const Tensor& row, int decimals) {
    std::printf("%-7s [", label.c_str());
    for (std::int64_t j = 0; j < row.size(0); ++j)
        if (const double x = row[j].item(); std::isinf(x))
            std::printf("%s    -∞", j > 0 ? ", " : "");
        else
            std::printf("%s%6.*f", j > 0 ? ", " : "", decimals, x);
    std::printf("]\n");
}

void print_table(const char* title, const Tensor& x, int decimals) {  // (4, 4)
    std::printf("%s\n", title);
    for (std::int64_t i = 0; i < 4; ++i) print_row(sentence[static_cast<std::size_t>(i)], x[i], decimals);
}

// One layer of attention over tokens and positions, as one-hot vectors, and one linear layer that answers k
// questions at each token: ids (n, N) → logits (n, N, k, answers).
struct Reader : nn::Module {
    Mask mask;
    std::int64_t words, longest, k, answers;
    nn::MultiHeadAttention attention;
    nn::Linear readout;

    struct Options {
        std::int64_t words, longest, answers, k = 1, num_heads = 1;
        Mask mask = {};
    };
    explicit Reader(const Options& o)
        : mask(o.mask),
          words(o.words),
          longest(o.longest),
          k(o.k),
          answers(o.answers),
          attention(register_module("attention", nn::MultiHeadAttention(words + longest, o.num_heads))),
          readout(register_module("readout", nn::Linear(words + longest, k * answers))) {
        to(float64);
    }

    Tensor operator()(const Tensor& ids) const {
        const std::int64_t n = ids.size(0), N = ids.size(1);
        const Tensor positions = eye(longest, float64).slice(0, 0, N).expand({n, N, longest});
        const Tensor x = cat({one_hot(ids, words).to(float64), positions}, -1);  // (n, N, C)
        return readout(attention(x, mask)).reshape(n, N, k, answers);
    }
};

struct Task {
    Tensor ids, targets;  // (n, N) and (n, N, k), −100 where nothing is asked
};

void train(Reader& model, int steps, const std::function<Task()>& next_batch) {
    optim::AdamW optimizer(model, {.lr = 1e-2, .weight_decay = 0});
    const auto loss_of_a_batch = [&] {
        const Task task = next_batch();
        return cross_entropy(model(task.ids), task.targets);
    };
    training::minimise(optimizer, steps, loss_of_a_batch, {.print_every = 0});
}

// The share of right answers, (k,).
Tensor accuracy(const Reader& model, const Task& task) {
    const NoGrad off;
    const Tensor right = (model(task.ids).argmax(-1) == task.targets).to(float32);
    return right.sum({0, 1}) / (task.targets != -100).to(float32).sum({0, 1});
}

// ---- Multi-Head Attention

// "The ___ that was sitting on the ___ ate the ___" with three of 20 nouns. Asked at "ate": who ate, and what
// was eaten?
constexpr std::int64_t cat_ = 0, fish = 1, mat = 2, nouns = 20, The = 20, that = 21, was = 22, sitting = 23,
                       on = 24, the = 25, ate = 26;
constexpr std::int64_t subject = 1, verb = 8, object = 10;  // their positions

Task meals(std::int64_t n) {
    const Tensor frame = tensor({The, 0, that, was, sitting, on, the, 0, ate, the, 0});
    const Tensor ids = where(frame == 0, randint(0, nouns, {n, 11}), frame);
    const Tensor both = stack({ids.select(1, subject), ids.select(1, object)}, -1).unsqueeze(1);  // (n, 1, 2)
    return {ids, where(arange(11).reshape(11, 1) == verb, both, tensor(-100))};
}

void problem(Chapter& chapter) {
    chapter.section("What problem does multi-head attention solve?");
    const Tensor ids = tensor({{The, cat_, that, was, sitting, on, the, mat, ate, the, fish}});
    std::vector<Tensor> rows;
    std::printf("heads  parameters  who ate?  what was eaten?\n");
    for (const std::int64_t num_heads : {1, 2}) {
        manual_seed(1);
        Reader model({.words = 27, .longest = 11, .answers = nouns, .k = 2, .num_heads = num_heads});
        train(model, 400, [] { return meals(32); });
        const Tensor right = accuracy(model, meals(1000));
        std::printf("%5d  %10d  %6.1f %%  %13.1f %%\n", static_cast<int>(num_heads),
                    static_cast<int>(model.num_parameters()), 100 * right[0].item(), 100 * right[1].item());
        for (const Tensor& head : viz::attention_weights(model, ids)[0][0]) rows.push_back(head[verb]);
    }
    std::printf("\nweights of \"ate\"     on cat    on fish   elsewhere\n");
    const char* names[] = {"the only head", "head 1 of 2", "head 2 of 2"};
    double largest[3];
    for (std::size_t i = 0; i < 3; ++i) {
        const double on_cat = rows[i][subject].item(), on_fish = rows[i][object].item();
        std::printf("%-18s %8.2f %10.2f %11.2f\n", names[i], on_cat, on_fish, 1 - on_cat - on_fish);
        largest[i] = std::max(on_cat, on_fish);
    }
    claim("the only head compromises, two heads do not",
          largest[0] < 0.7 && largest[1] > 0.9 && largest[2] > 0.9);
}

void efficiency(Chapter& chapter) {
    chapter.section("Why split d_model across heads instead of running full-sized attention multiple times?");
    const std::int64_t N = 16;
    std::int64_t parameters[3], multiply_adds[3];
    std::printf("N = 16, d_model 512  Q of a head  parameters  multiply-adds  patterns\n");
    int i = 0;
    for (const auto& [heads, d_k] : {std::pair<int, int>{1, 512}, {8, 64}, {8, 512}}) {
        const nn::MultiHeadAttention attention(512, heads, {.d_k = d_k, .d_v = d_k});
        const Tensor X = randn({N, 512});
        const CountMultiplyAdds counter;
        const auto [output, weights] = attention.with_weights(X);
        parameters[i] = attention.num_parameters();
        multiply_adds[i] = counter.count();
        std::printf("%d %-18s (%d, %3d)     %9d  %13d  %s\n", heads, heads == 1 ? "head" : "heads", 16, d_k,
                    static_cast<int>(parameters[i]), static_cast<int>(multiply_adds[i]),
                    weights.shape().str().c_str());
        ++i;
    }
    claim("8 heads of 64 cost exactly what one head of 512 costs",
          parameters[1] == parameters[0] && multiply_adds[1] == multiply_adds[0]);
    claim("8 heads of 512 cost exactly 8 times that",
          parameters[2] == 8 * parameters[0] && multiply_adds[2] == 8 * multiply_adds[0]);
}

// The five steps for one sequence, X (N, d_model).
Tensor five_steps(const Tensor& X, const Tensor& W_Q, const Tensor& W_K, const Tensor& W_V, const Tensor& W_O,
                  std::int64_t num_heads) {
    // Step 1: project
    const Tensor Q = X.matmul(W_Q), K = X.matmul(W_K), V = X.matmul(W_V);  // (N, d_model)
    // Step 2: split by columns
    const auto Q_i = Q.chunk(num_heads, -1), K_i = K.chunk(num_heads, -1), V_i = V.chunk(num_heads, -1);
    // Step 3: each head for itself
    const double d_k = static_cast<double>(Q_i[0].size(-1));
    std::vector<Tensor> heads;
    for (std::size_t i = 0; i < Q_i.size(); ++i)
        heads.push_back((Q_i[i].matmul(K_i[i].T()) / std::sqrt(d_k)).softmax(-1).matmul(V_i[i]));  // (N, d_k)
    // Step 4: concatenate
    const Tensor concat = cat(heads, -1);  // (N, d_model)
    // Step 5: project
    const Tensor output = concat.matmul(W_O);  // (N, d_model)

    print("Q, K, V", Q);
    print("Q_1", Q_i[0]);
    print("head_1", heads[0]);
    print("concat", concat);
    print("output", output);
    return output;
}

void step_by_step(Chapter& chapter) {
    chapter.section("How does multi-head attention work step by step?");
    for (const auto& [d_model, num_heads] : {std::pair<int, int>{8, 2}, {512, 8}}) {
        manual_seed(1);
        const nn::MultiHeadAttention module(d_model, num_heads, {.fused = false});
        const Tensor X = randn({4, d_model});
        std::printf("d_model %d, %d heads\n", d_model, num_heads);
        // A Linear holds W transposed, (out, in).
        const Tensor output = five_steps(X, module.W_q->weight.T(), module.W_k->weight.T(),
                                         module.W_v->weight.T(), module.W_out.weight.T(), num_heads);
        const double largest = difference(output, module(X));
        std::printf("largest difference to nn::MultiHeadAttention: %.5f\n", largest);
        claim("the same", largest < 1e-5);
        if (d_model == 8) std::printf("\n");
    }
}

void output_projection(Chapter& chapter) {
    chapter.section("What is W_O?");
    manual_seed(1);
    const NoGrad off;
    const nn::MultiHeadAttention attention(8, 2, {.fused = false});
    const Tensor X = randn({4, 8}), output = attention(X);
    const auto [Q, K, V] = attention.project(X, X, X);          // (2, 4, 4) each
    const Tensor head = scaled_dot_product_attention(Q, K, V);  // (2, 4, 4)
    const Tensor W_O = attention.W_out.weight.T();              // (8, 8), a view of the module's
    print("W_O", W_O);
    for (std::int64_t i = 0; i < 2; ++i) {
        Tensor rows = W_O.slice(0, 4 * i, 4 * i + 4);  // (4, 8)
        const Tensor kept = rows.clone();
        const Tensor contribution = head[i].matmul(rows);  // (4, 4) @ (4, 8)
        rows.zero_();
        std::printf("rows %d to %d zeroed: the output loses head %d @ those rows, to %.5f\n",
                    static_cast<int>(4 * i), static_cast<int>(4 * i + 3), static_cast<int>(i + 1),
                    difference(output - attention(X), contribution));
        claim("exactly that head's contribution", allclose(output - attention(X), contribution, 1e-5, 1e-6));
        rows.copy_(kept);
    }
    // Which columns change when head 1 is doubled?
    const Tensor concat = cat({head[0], head[1]}, -1), doubled = cat({2 * head[0], head[1]}, -1);  // (4, 8)
    const Tensor before = ((doubled - concat) != 0).to(int64).max(0).values;
    const Tensor after = ((doubled - concat).matmul(W_O) != 0).to(int64).max(0).values;
    std::cout << "columns that head 1 reaches in concat: " << before << "\n";
    std::cout << "columns that head 1 reaches in output: " << after << "\n";
    claim("W_O spreads head 1 over every column", before.sum().item() == 4 && after.sum().item() == 8);
}

void what_heads_learn(Chapter& chapter) {
    chapter.section("What does each head learn in practice?");
    using namespace three_roles;
    Rng rng(1001);
    const Sequences batch = sequences(256, rng);
    ThreeQuestions model = trained(3, 1);
    const Findings found = examine(model, batch);
    std::printf("share of its weight   previous  first  match\n");
    for (int h = 0; h < 3; ++h)
        std::printf("head %d                %8.2f %6.2f %6.2f\n", h + 1, found.shares.at(h, 0),
                    found.shares.at(h, 1), found.shares.at(h, 2));
    claim("each head took one question", one_each(found));
    std::printf("\naccuracy              previous  first  match\n");
    const auto show = [](const char* name, const Tensor& accuracy) {
        std::printf("%-21s %8.2f %6.2f %6.2f\n", name, accuracy[0].item(), accuracy[1].item(),
                    accuracy[2].item());
    };
    show("all heads", found.accuracy);
    bool exactly = true;
    for (std::int64_t h = 0; h < 3; ++h) {
        const NoGrad off;
        Tensor W_O = model.attention.W_out.weight.T();  // (C, C)
        const Tensor kept = W_O.clone();
        W_O.slice(0, h * C / 3, (h + 1) * C / 3).zero_();
        const Tensor without = examine(model, batch).accuracy;
        W_O.copy_(kept);
        show(("without head " + std::to_string(h + 1)).c_str(), without);
        const std::int64_t own = static_cast<std::int64_t>(found.shares[h].argmax().item());
        for (std::int64_t q = 0; q < 3; ++q) exactly = exactly && (without[q].item() < 0.6) == (q == own);
    }
    claim("without a head only its own question is lost", exactly);
    std::printf(
        "\n%s",
        viz::attention_text(found.weights[0], {.queries = labels(batch, 0), .mask = Mask::causal()}).c_str());
}

void tradeoff(Chapter& chapter) {
    chapter.section("What's the tradeoff of multi-head attention?");
    Rng rng(1001);
    const three_roles::Sequences batch = three_roles::sequences(256, rng);
    std::printf("heads  width of a head  parameters   previous  first  match\n");
    for (const std::int64_t heads : {1, 3, 21}) {
        const three_roles::ThreeQuestions model = three_roles::trained(heads, 1);
        const Tensor right = three_roles::examine(model, batch).accuracy;
        std::printf("%5d  %15d  %10d   %8.2f %6.2f %6.2f\n", static_cast<int>(heads),
                    static_cast<int>(model.attention.d_k), static_cast<int>(model.num_parameters()),
                    right[0].item(), right[1].item(), right[2].item());
    }
}

void widths(Chapter& chapter) {
    chapter.section("What is the relationship between d_k and d_model in multi-head attention?");
    for (const auto& [d_model, heads] : {std::pair<int, int>{512, 8}, {512, 1}, {768, 12}})
        std::printf("d_model %d, %2d heads: d_k = %d\n", d_model, heads,
                    static_cast<int>(nn::MultiHeadAttention(d_model, heads).d_k));
    std::printf("d_model 512,  3 heads: %s\n", refusal([] { return nn::MultiHeadAttention(512, 3); }).c_str());
    manual_seed(1);
    const Tensor q = randn({8, 4, 64}), k = randn({8, 4, 64}), v = randn({8, 4, 64});  // (H, N, d_k)
    const Tensor output = scaled_dot_product_attention(q, k, v);
    const double by_d_k =
        difference(output, scaled_dot_product_attention(q, k, v, {.scale = 1 / std::sqrt(64.0)}));
    const double by_d_model =
        difference(output, scaled_dot_product_attention(q, k, v, {.scale = 1 / std::sqrt(512.0)}));
    std::printf("difference to scores / sqrt(64): %.5f, to scores / sqrt(512): %.1f\n", by_d_k, by_d_model);
    claim("the library divides by sqrt(d_k)", by_d_k < 1e-6 && by_d_model > 0.1);
}

// ---- Causal Masking

// Random letters, and at each the next one, which nothing before it tells. The last has no target.
Task next_letters(std::int64_t n, std::int64_t N, std::int64_t V) {
    const Tensor ids = randint(0, V, {n, N});
    return {ids, cat({ids.slice(1, 1, N), full({n, 1}, -100, int64)}, 1).unsqueeze(2)};
}

void cheating(Chapter& chapter) {
    chapter.section("What problem does causal masking solve?");
    for (std::size_t n = 1; n < sentence.size(); ++n) {
        std::string prefix = "\"" + sentence[0];
        for (std::size_t i = 1; i < n; ++i) prefix += " " + sentence[i];
        std::printf("%-13s -> predict \"%s\"\n", (prefix + "\"").c_str(), sentence[n].c_str());
    }
    const std::int64_t N = 8, V = 5;
    std::printf("\nrandom letters of 5: an honest loss is at least ln 5 = %.2f\n", std::log(5.0));
    std::printf("mask     loss in training   loss on prefixes alone\n");
    double in_training[2], on_prefixes[2];
    for (const bool causal : {false, true}) {
        manual_seed(1);
        Reader model({.words = V, .longest = N, .answers = V, .mask = causal ? Mask::causal() : Mask()});
        train(model, 400, [&] { return next_letters(32, N, V); });
        const NoGrad off;
        const Task task = next_letters(1000, N, V);
        in_training[causal] = cross_entropy(model(task.ids), task.targets).item();
        double total = 0;
        for (std::int64_t length = 1; length < N; ++length) {  // the model sees what is there when it generates
            const Tensor logits = model(task.ids.slice(1, 0, length)).select(1, length - 1);  // (1000, 1, V)
            total += cross_entropy(logits, task.targets.select(1, length - 1)).item();
        }
        on_prefixes[causal] = total / (N - 1);
        std::printf("%-8s %16.2f %24.2f\n", causal ? "causal" : "none", in_training[causal],
                    on_prefixes[causal]);
    }
    claim("without a mask the model cheats, and cannot when it generates",
          in_training[0] < 0.2 && on_prefixes[0] > 2);
    claim("with the causal mask both losses are the same",
          std::abs(in_training[1] - on_prefixes[1]) < 1e-4 && in_training[1] > std::log(5.0));
}

void masked_scores(Chapter& chapter) {
    chapter.section("How does causal masking work?");
    const Tensor scores =
        tensor({{2.0, 1.5, 0.8, 0.3}, {1.2, 1.8, 0.9, 0.4}, {0.5, 1.1, 2.1, 0.7}, {0.3, 0.6, 1.3, 1.9}});
    // Queries and keys of four words with d_k = 4 for which Q @ K^T / sqrt(4) are these scores.
    const Tensor Q = 2 * scores, K = eye(4), V = eye(4);
    const auto recorded = [&](const Mask& mask) {
        const Composed composed;  // the fused kernel keeps no scores
        const Trace trace;
        const Tensor output = scaled_dot_product_attention(Q, K, V, {.mask = mask});
        return trace.entries();
    };
    const auto find = [](const std::vector<TraceEntry>& entries, const char* name) {
        return step(entries, name).squeeze();  // (1, 1, 4, 4) → (4, 4)
    };
    const auto causal = recorded(Mask::causal());
    const Tensor weights = find(causal, "weights");
    print_table("scores, without a mask", find(recorded(Mask()), "scores"), 1);
    print_table("\nmasked scores", find(causal, "masked scores"), 1);
    print_table("\nweights", weights, 2);

    const Tensor printed = tensor({{1.0, 0, 0, 0}, {.35, .65, 0, 0}, {.14, .26, .60, 0}, {.08, .11, .22, .59}});
    const Tensor off = (weights - printed).abs().max(1).values;  // (4,)
    std::printf("\nlargest difference to the source's weights\n");
    for (std::int64_t i = 0; i < 4; ++i)
        std::printf("%-4s %.3f%s\n", sentence[static_cast<std::size_t>(i)].c_str(), off[i].item(),
                    off[i].item() < 0.005 ? "" : "   not what softmax gives");
    print_table("\nweights, to four digits", weights, 4);
    claim("the fused kernel gives the same",
          allclose(scaled_dot_product_attention(Q, K, V, {.mask = Mask::causal()}), weights, 1e-6, 1e-7));
    claim("rows 1 and 2 agree with the source, 3 and 4 do not", all((off < 0.005) == (arange(4) < 2)));
}

// At inference the tokens come one at a time.
void generate(lm::GPT& model, const Tensor& ids) {
    optim::AdamW optimizer(model, {.lr = 1e-2, .weight_decay = 0});
    const auto loss_of_all = [&] { return cross_entropy(model(ids.slice(0, 0, 3)), ids.slice(0, 1, 4)); };
    training::minimise(optimizer, 60, loss_of_all, {.print_every = 0});

    const NoGrad off;
    std::vector<nn::KeyValueCache> caches = model.make_caches();
    std::vector<Tensor> said = {ids.slice(0, 0, 1)}, rows;  // "The"
    std::int64_t with_cache = 0, without = 0;
    std::printf("\ntrained, and started with \"The\":");
    while (said.size() < 4) {
        const CountMultiplyAdds step;
        rows.push_back(model(said.back(), caches));  // (1, 4): of the new token alone
        with_cache += step.count();
        const CountMultiplyAdds again;
        const Tensor prefix = model(cat(said));  // (n, 4): all n tokens again
        without += again.count();
        said.push_back(rows.back().argmax(-1));
        std::printf(" %s", sentence[static_cast<std::size_t>(said.back().item())].c_str());
    }
    const Tensor full = model(ids.slice(0, 0, 3));  // (3, 4)
    std::printf("\nlargest difference of the three steps' logits to one full pass: %.12f\n",
                difference(cat(rows), full));
    std::printf("multiply-adds: %d with the cache, %d with a pass over each prefix\n",
                static_cast<int>(with_cache), static_cast<int>(without));
    claim("one token at a time gives what the full pass gives",
          all(cat(said) == ids) && difference(cat(rows), full) < 1e-12);
}

void all_prefixes(Chapter& chapter) {
    chapter.section("How does masking enable training on N examples simultaneously?");
    manual_seed(1);
    lm::GPT model({.vocab_size = 4, .block_size = 4, .num_layers = 2, .num_heads = 2, .d_model = 16});
    model.to(float64);
    const Tensor ids = arange(4);  // The cat sat on
    const auto gradients = [&] {
        std::vector<Tensor> all;
        for (const Tensor& p : model.parameters()) all.push_back(p.grad().reshape({-1}));
        model.zero_grad();
        return cat(all);
    };

    const CountMultiplyAdds one_pass;
    const Tensor logits = model(ids.slice(0, 0, 3));  // (3, 4)
    cross_entropy(logits, ids.slice(0, 1, 4)).backward();
    const std::int64_t of_one_pass = one_pass.count();
    const Tensor together = gradients();

    const CountMultiplyAdds passes;
    std::printf("predict  loss in one pass  loss of its own pass\n");
    double largest = 0;
    for (std::int64_t n = 1; n < 4; ++n) {
        const Tensor target = ids.slice(0, n, n + 1),
                     last = model(ids.slice(0, 0, n)).slice(0, n - 1, n);  // (1, 4)
        const Tensor loss = cross_entropy(last, target);
        const double in_one = cross_entropy(logits.slice(0, n - 1, n).detach(), target).item();
        std::printf("%-8s %16.4f %21.4f\n", sentence[static_cast<std::size_t>(n)].c_str(), in_one, loss.item());
        largest = std::max(largest, std::abs(in_one - loss.item()));
        (loss / 3).backward();  // the mean of three
    }
    const std::int64_t of_passes = passes.count();
    const Tensor one_by_one = gradients();
    std::printf("gradients of %d parameters, largest difference: %.12f\n", static_cast<int>(together.numel()),
                difference(together, one_by_one));
    std::printf("multiply-adds, forward and backward: %d in one pass, %d in three\n",
                static_cast<int>(of_one_pass), static_cast<int>(of_passes));
    claim("equal losses and gradients", largest < 1e-12 && difference(together, one_by_one) < 1e-12);

    generate(model, ids);
}

// Four pairs of equal letters, aabbccdd, with one blank. Left of the blank stands its answer if it is the
// second of its pair, right of it if it is the first.
Task blanks(std::int64_t n, bool answer_on_the_right) {
    const std::int64_t blank = 6;
    const Tensor letters = randint(0, 6, {n, 4, 1}).expand(n, 4, 2).reshape(n, 8);
    const Tensor at = 2 * randint(0, 4, {n, 1}) + (answer_on_the_right ? 0 : 1);
    const Tensor is_blank = arange(8) == at;  // (n, 8)
    return {where(is_blank, tensor(blank), letters), where(is_blank, letters, tensor(-100)).unsqueeze(2)};
}

void encoders(Chapter& chapter) {
    chapter.section("Do all models use causal masking?");
    std::printf("accuracy       answer on the left  answer on the right\n");
    for (const bool causal : {false, true}) {
        manual_seed(1);
        Reader model({.words = 7, .longest = 8, .answers = 6, .mask = causal ? Mask::causal() : Mask()});
        train(model, 600, [] {
            const Task left = blanks(16, false), right = blanks(16, true);
            return Task{cat({left.ids, right.ids}), cat({left.targets, right.targets})};
        });
        const double left = accuracy(model, blanks(1000, false)).item(),
                     right = accuracy(model, blanks(1000, true)).item();
        std::printf("%-14s %16.1f %% %18.1f %%\n", causal ? "causal" : "bidirectional", 100 * left,
                    100 * right);
        if (causal)
            claim("the causal one guesses one of 6 letters on the right", left > 0.99 && right < 0.25);
        else
            claim("the bidirectional one finds both", left > 0.99 && right > 0.99);
    }
}

void cross_attention(Chapter& chapter) {
    chapter.section("What is the difference between self-attention and cross-attention?");
    manual_seed(1);
    const nn::MultiHeadAttention attention(8, 2, {.fused = false});
    const Tensor X_dec = randn({3, 8}), enc_output = randn({5, 8});
    const Tensor W_Q = attention.W_q->weight.T(), W_K = attention.W_k->weight.T(),
                 W_V = attention.W_v->weight.T();
    const auto attend = [&](const Tensor& from, const Tensor& to) {
        const Tensor Q = nn::split_heads(from.matmul(W_Q), 2);  // (2, 3, 4)
        const Tensor K = nn::split_heads(to.matmul(W_K), 2), V = nn::split_heads(to.matmul(W_V), 2);
        const Tensor weights = (Q.matmul(K.transpose(-2, -1)) / 2).softmax(-1);
        print("Q", Q);
        print("K, V", K);
        print("weights", weights);
        const Tensor output = nn::merge_heads(weights.matmul(V)).matmul(attention.W_out.weight.T());
        print("output", output);
        return output;
    };
    std::printf("self-attention of 3 tokens\n");
    claim("as attention(X_dec)", allclose(attend(X_dec, X_dec), attention(X_dec), 1e-5, 1e-6));
    std::printf("\ncross-attention of 3 tokens to 5\n");
    const Tensor crossed = attend(X_dec, enc_output);
    claim("as attention(X_dec, enc_output, enc_output)",
          allclose(crossed, attention(X_dec, enc_output, enc_output), 1e-5, 1e-6));
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    set_num_threads(1);  // the operations are too small to share among threads
    problem(chapter);
    efficiency(chapter);
    step_by_step(chapter);
    output_projection(chapter);
    what_heads_learn(chapter);
    tradeoff(chapter);
    widths(chapter);
    cheating(chapter);
    masked_scores(chapter);
    all_prefixes(chapter);
    encoders(chapter);
    cross_attention(chapter);
    return held ? 0 : 1;
}
