// 13. Cross-attention: an encoder reads toy English, and a decoder that attends to it writes toy French.
//
// B batch, S words read, T words written, V French words, C = d_model, H heads.
#include "chapter.h"

#include <algorithm>
#include <cstdio>

#include "../toy_french.h"
#include "weft/weft.h"

using namespace weft;

namespace {

constexpr std::int64_t B = 32, C = 32, H = 2;
constexpr double dropped = 0.1;

// ---- cross-attention

void shapes() {
    Rng rng(1);
    const nn::MultiHeadAttention cross(C, H, rng);
    const Tensor writes = randn({1, 4, C}, rng), reads = randn({1, 6, C}, rng);  // (B, T, C), (B, S, C)
    const AttentionResult result = cross.with_weights(writes, reads, reads);
    std::printf("weights %s, output %s\n", result.weights.shape().str().c_str(),
                result.output.shape().str().c_str());
}

// ---- the languages

void show_languages(const toy::Languages& languages) {
    for (const std::int64_t n : {0, 21037, 40326, 57599}) {
        const toy::Pair pair = toy::sentence(n);
        std::printf("%-38s %s\n", toy::joined(pair.english).c_str(), toy::joined(pair.french).c_str());
    }
    std::printf("%zu English words, %zu French ones with <begin> and <end>\n", languages.english.words.size(),
                languages.french.words.size());
}

void show_batch(toy::Languages& languages) {
    const toy::Batch batch = languages.batch({40326});
    std::printf("reads:  %s\n", toy::joined(toy::sentence(40326).english).c_str());
    std::printf("given      predicts\n");
    for (std::int64_t t = 0; t < toy::longest; ++t) {
        const double next = batch.next.at({0, t});
        const auto word = [&](double id) { return languages.french.words[static_cast<std::size_t>(id)]; };
        std::printf("%-10s %s\n", word(batch.french.at({0, t})).c_str(), next < 0 ? "-" : word(next).c_str());
    }
}

// ---- the model

// Self-attention to the words so far, cross-attention to the memory, and an MLP for each word.
struct Decoder : nn::Module {
    nn::LayerNorm norm1 = register_module("norm1", nn::LayerNorm(C));
    nn::LayerNorm norm2 = register_module("norm2", nn::LayerNorm(C));
    nn::LayerNorm norm3 = register_module("norm3", nn::LayerNorm(C));
    nn::MultiHeadAttention self = register_module("self", nn::MultiHeadAttention(C, H, {.dropout = dropped}));
    nn::MultiHeadAttention cross = register_module("cross", nn::MultiHeadAttention(C, H, {.dropout = dropped}));
    nn::MLP mlp = register_module("mlp", nn::MLP(C));
    nn::Dropout drop = register_module("drop", nn::Dropout(dropped));

    // x (B, T, C), memory (B, S, C) → (B, T, C). `written` masks T by T, `padding` T by S.
    Tensor operator()(const Tensor& x, const Tensor& memory, const Mask& written, const Mask& padding) const {
        const Tensor h = x + drop(self(norm1(x), written));                   // (B, T, C)
        const Tensor c = h + drop(cross(norm2(h), memory, memory, padding));  // (B, T, C)
        return c + drop(mlp(norm3(c)));                                       // (B, T, C)
    }
};

struct Translator : nn::Module {
    std::int64_t english_words, french_words;
    nn::Embedding english = register_module("english", nn::Embedding(english_words, C));
    nn::Embedding french = register_module("french", nn::Embedding(french_words, C));
    nn::Embedding position = register_module("position", nn::Embedding(toy::longest, C));
    nn::EncoderBlock encoder = register_module("encoder", nn::EncoderBlock(C, H, {.dropout = dropped}));
    nn::LayerNorm encoded = register_module("encoded", nn::LayerNorm(C));
    Decoder decoder = register_module("decoder", Decoder());
    nn::LayerNorm decoded = register_module("decoded", nn::LayerNorm(C));
    nn::Linear head = register_module("head", nn::Linear(C, french_words));
    Mask written = Mask::causal();  // "Break it" replaces it
    bool hides_padding = true;      // "Break it" changes it

    explicit Translator(const toy::Languages& languages)
        : english_words(std::ssize(languages.english.words)), french_words(std::ssize(languages.french.words)) {
        to(float64);
    }

    Mask padding_of(const toy::Batch& batch) const {
        return hides_padding ? Mask::padding(batch.lengths) : Mask();
    }
    Tensor encode(const Tensor& ids, const Mask& padding) const {       // (B, S)
        const Tensor x = english(ids) + position(arange(ids.size(1)));  // (B, S, C) + (S, C)
        return encoded(encoder(x, padding));                            // (B, S, C)
    }
    Tensor decode(const Tensor& ids, const Tensor& memory, const Mask& padding) const {  // (B, T), (B, S, C)
        const Tensor x = french(ids) + position(arange(ids.size(1)));                    // (B, T, C) + (T, C)
        return head(decoded(decoder(x, memory, written, padding)));                      // (B, T, V)
    }
};

// ---- training

Tensor loss_of(const Translator& model, const toy::Batch& batch) {
    const Mask padding = model.padding_of(batch);
    const Tensor memory = model.encode(batch.english, padding);                     // (B, S, C)
    return cross_entropy(model.decode(batch.french, memory, padding), batch.next);  // (B, T, V), (B, T) → ()
}

using Numbers = std::vector<std::int64_t>;  // of sentences

Numbers drawn(std::int64_t count, const Numbers& numbers, Rng& rng) {
    Numbers some;
    while (std::ssize(some) < count) some.push_back(numbers[rng.randint(0, std::ssize(numbers))]);
    return some;
}

// Trains with batches drawn by `seed`, and returns the loss of each step.
std::vector<double> train(Translator& model, toy::Languages& languages, const Numbers& numbers,
                          std::uint64_t seed) {
    constexpr std::int64_t steps = 300;
    Rng rng(100 + seed);
    std::vector<double> losses;
    optim::AdamW optimizer(model, {.weight_decay = 0});
    for (std::int64_t step = 0; step < steps; ++step) {
        optimizer.set_lr(optim::cosine_lr(step, {.lr = 5e-3, .warmup_steps = 20, .steps = steps}));
        optimizer.zero_grad();
        const Tensor loss = loss_of(model, languages.batch(drawn(B, numbers, rng)));
        loss.backward();
        optimizer.step();
        losses.push_back(loss.item());
    }
    model.eval();
    return losses;
}

// ---- dropout

void dropout_on_weights() {
    Rng rng(2);
    const Tensor q = zeros({1, 4}), k = zeros({4, 4});  // all scores 0, so all weights 1/4
    const Tensor v = eye(4);                            // the output is the row of weights itself
    const Tensor training = scaled_dot_product_attention(q, k, v, {.dropout = 0.5, .rng = &rng});  // (1, 4)
    const Tensor evaluation = scaled_dot_product_attention(q, k, v);                               // (1, 4)
    const auto print = [](const char* mode, const Tensor& row) {
        std::printf("%-11s %.2f %.2f %.2f %.2f, sum %.2f\n", mode, row.at({0, 0}), row.at({0, 1}),
                    row.at({0, 2}), row.at({0, 3}), sum(row).item());
    };
    print("training", training);
    print("evaluation", evaluation);
}

// ---- greedy decoding

// The most probable next word, again and again. (B, S) → (B, longest)
Tensor translate(const Translator& model, const toy::Batch& batch) {
    const NoGrad off;
    const Mask padding = model.padding_of(batch);
    const Tensor memory = model.encode(batch.english, padding);              // (B, S, C)
    Tensor words = full({memory.size(0), 1}, toy::Languages::begin, int64);  // (B, 1)
    for (std::int64_t t = 0; t < toy::longest; ++t) {
        const Tensor next = model.decode(words, memory, padding).select(1, t);  // (B, V)
        words = cat({words, argmax(next, -1, keepdim)}, 1);                     // (B, t + 2)
    }
    return words.slice(1, 1, toy::longest + 1);
}

// ---- what it has learned

// Test sentences, their batch, and what each seed's model makes of them.
struct Exam {
    Numbers numbers;
    toy::Languages& languages;
    toy::Batch batch = languages.batch(numbers);

    // The share of sentences translated without a mistake, in per cent.
    double score(const Tensor& written) const {  // (B, longest)
        double right = 0;
        for (std::size_t i = 0; i < numbers.size(); ++i)
            right += languages.words(written[static_cast<std::int64_t>(i)]) == toy::sentence(numbers[i]).french;
        return 100 * right / static_cast<double>(numbers.size());
    }
};

void print(const Exam& exam, const Tensor& written, std::size_t count) {  // the first translations
    for (std::size_t i = 0; i < count; ++i)
        std::printf("%-38s %s\n", toy::joined(toy::sentence(exam.numbers[i]).english).c_str(),
                    toy::joined(exam.languages.words(written[static_cast<std::int64_t>(i)])).c_str());
}

struct Run {
    std::vector<Translator> models;           // one for each seed
    std::vector<std::vector<double>> losses;  // of each step
    std::vector<Tensor> written;              // translations of the exam
};

constexpr std::uint64_t seeds = 5;

// The same five initialisations and batches, whatever the masks.
Run train_all(const Exam& exam, const Numbers& training, const Mask& written, bool hides_padding) {
    Run run;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        manual_seed(seed);
        run.models.emplace_back(exam.languages);
        Translator& model = run.models.back();
        model.written = written;
        model.hides_padding = hides_padding;
        run.losses.push_back(train(model, exam.languages, training, seed));
        run.written.push_back(translate(model, exam.batch));
    }
    return run;
}

std::string losses_at(const Run& run, std::size_t step) {  // mean of ten steps from there
    std::vector<double> means;
    for (const auto& losses : run.losses) {
        double total = 0;
        for (std::size_t i = step; i < step + 10; ++i) total += losses[i] / 10;
        means.push_back(total);
    }
    return spread(means, "%.3f (%.3f to %.3f)");
}

std::string scores(const Run& run, const Exam& exam) {
    std::vector<double> all;
    for (const Tensor& written : run.written) all.push_back(exam.score(written));
    return spread(all, "%.0f %% (%.0f to %.0f)");
}

// Whether one pass over what each model wrote predicts the same words.
bool one_pass_predicts_the_same(const Run& run, const Exam& exam) {
    const NoGrad off;
    bool same = true;
    for (std::size_t i = 0; i < run.models.size(); ++i) {
        const Tensor& written = run.written[i];
        const Mask padding = Mask::padding(exam.batch.lengths);
        const Tensor begin = full({written.size(0), 1}, toy::Languages::begin, int64);
        const Tensor given = cat({begin, written.slice(1, 0, toy::longest - 1)}, 1);
        const Tensor memory = run.models[i].encode(exam.batch.english, padding);
        same = same && all(argmax(run.models[i].decode(given, memory, padding), -1) == written);
    }
    return same;
}

// Where each French word attends while it is written, the mean of the heads: (T, S).
Tensor attended(const Translator& model, toy::Languages& languages, std::int64_t number) {
    const NoGrad off;
    const toy::Batch one = languages.batch({number});
    const std::int64_t words = one.lengths[0];
    const auto run = [&](const Tensor& english) {
        return model.decode(one.french.slice(1, 0, words), model.encode(english, {}), {});
    };
    return mean(viz::attention_weights(run, one.english.slice(1, 0, words)).back()[0], 0);  // cross comes last
}

// The mean weight on the word that is translated, over the first 50 sentences of the exam.
double aligned(const Translator& model, const Exam& exam) {
    double total = 0, count = 0;
    for (std::size_t i = 0; i < 50; ++i) {
        const Tensor weights = attended(model, exam.languages, exam.numbers[i]);
        const toy::Pair pair = toy::sentence(exam.numbers[i]);
        for (std::size_t t = 0; t < pair.from.size(); ++t, ++count)
            total += weights.at({static_cast<std::int64_t>(t), pair.from[t]});
    }
    return total / count;
}

std::string alignment(const Run& run, const Exam& exam) {
    const std::int64_t number = 50417;
    const toy::Pair pair = toy::sentence(number);
    std::vector<Tensor> of_each;
    for (const Translator& model : run.models) of_each.push_back(attended(model, exam.languages, number));
    const Tensor weights = mean(stack(of_each), 0);  // (T, S)
    const viz::MapOptions map{.queries = pair.french, .keys = pair.english, .wide = true};
    std::printf("%s", viz::attention_text(weights, map).c_str());
    std::vector<double> all;
    for (const Translator& model : run.models) all.push_back(aligned(model, exam));
    std::printf("mean weight on the word that is translated: %s\n", spread(all, "%.2f (%.2f to %.2f)").c_str());
    return viz::attention_svg(
        weights, {.queries = pair.french, .keys = pair.english, .top = 1, .title = "cross-attention"});
}

// "a black cat sees a little frog", with the memory's vector of the second "a" taken from the same sentence
// with another noun at its end.
std::string fifth_word(const Translator& model, toy::Languages& languages, const std::string& other_noun) {
    const NoGrad off;
    const toy::Batch one = languages.batch({50417});
    const Tensor frog = one.english.slice(1, 0, 7);  // (1, S)
    Tensor other = frog.clone();
    other[0][6].fill_(static_cast<double>(languages.english.id(other_noun)));

    Tensor memory = model.encode(frog, {}).clone();     // (1, S, C)
    memory[0][4].copy_(model.encode(other, {})[0][4]);  // of "a" alone

    const Tensor logits = model.decode(one.french.slice(1, 0, 5), memory, {});  // (1, 5, V)
    return languages.words(argmax(logits[0][4], -1, keepdim))[0];
}

void exchange(const Run& run, toy::Languages& languages) {
    for (const char* noun : {"frog", "cow", "mouse", "cat", "dog", "wolf"}) {
        std::printf("\"a\" from \"a little %s\":%*s", noun, 7 - static_cast<int>(std::string(noun).size()), "");
        for (const Translator& model : run.models)
            std::printf(" %-4s", fifth_word(model, languages, noun).c_str());
        std::printf("\n");
    }
}

// ---- break it

void padding_attended(Run& run, const Run& never_hidden, const Exam& exam) {
    std::vector<double> seen;
    for (Translator& model : run.models) {
        model.hides_padding = false;
        seen.push_back(exam.score(translate(model, exam.batch)));
        model.hides_padding = true;
    }
    std::printf("trained with   used with      right\n");
    std::printf("padding mask   padding mask   %s\n", scores(run, exam).c_str());
    std::printf("padding mask   none           %s\n", spread(seen, "%.0f %% (%.0f to %.0f)").c_str());
    std::printf("none           none           %s\n", scores(never_hidden, exam).c_str());
}

void future_attended(const Run& causal, const Run& open, const Exam& exam) {
    std::printf("loss          causal mask              no mask\n");
    for (const std::size_t step : {0, 50, 290})
        std::printf("steps %3zu–%-3zu %s   %s\n", step, step + 9, losses_at(causal, step).c_str(),
                    losses_at(open, step).c_str());
    std::printf("right         %-24s %s\n", scores(causal, exam).c_str(), scores(open, exam).c_str());
    print(exam, open.written[0], 2);
}

// ---- figures

std::string model_picture() {
    viz::Drawing d(640, 450, "An encoder reads; a decoder writes and attends to what the encoder read");
    const viz::Stroke line{"#555", 1.5};
    const viz::Label title{.size = 15, .bold = true}, note{.size = 13, .colour = "#555"};
    const auto box = [&](double x, double y, const std::string& text, const std::string& fill, double h = 40) {
        d.box(x, y, 200, h, text, {.fill = fill, .stroke = {"#444", 1.2}});
    };
    const std::string blue = "#d6e9f5", red = "#fbe3d3", plain = "#f4f4f4";
    d.text(150, 20, "encoder", title).text(460, 20, "decoder", title);
    d.text(150, 432, "a black cat …", {.size = 14}).text(460, 432, "<begin> un chat …", {.size = 14});
    d.arrow(150, 420, 150, 392, line).arrow(460, 420, 460, 392, line);
    box(50, 352, "words + positions", plain), box(360, 352, "words + positions", plain);
    d.arrow(150, 352, 150, 314, line).arrow(460, 352, 460, 314, line);
    box(50, 258, "self-attention\nmask: padding", blue, 56),
        box(360, 258, "self-attention\nmask: causal", red, 56);
    d.arrow(150, 258, 150, 136, line).arrow(460, 258, 460, 226, line);
    box(50, 96, "MLP, norm", blue);
    box(360, 170, "cross-attention\nmask: padding", "#e9e4f5", 56);
    d.arrow(460, 170, 460, 136, line);
    box(360, 96, "MLP, norm, logits", red);
    d.arrow(460, 96, 460, 70, line);
    d.text(460, 54, "un chat noir … <end>", {.size = 14});
    d.path({{250, 116}, {305, 116}, {305, 198}}, line).arrow(305, 198, 360, 198, line);
    d.text(305, 102, "memory", note).text(302, 216, "keys, values", note);
    d.text(470, 242, "queries", {.size = 13, .anchor = "start", .colour = "#555"});
    return d.svg();
}

std::string loss_picture(const Run& causal, const Run& open) {
    const auto smooth = [](const Run& run) {  // medians of the seeds' means of ten steps
        std::vector<double> medians;
        for (std::size_t i = 0; i + 10 <= run.losses[0].size(); i += 10) {
            std::vector<double> means;
            for (const auto& losses : run.losses) {
                means.push_back(0);
                for (std::size_t j = i; j < i + 10; ++j) means.back() += losses[j] / 10;
            }
            std::sort(means.begin(), means.end());
            medians.push_back(means[means.size() / 2]);
        }
        return medians;
    };
    std::vector<double> steps;
    for (std::size_t i = 0; i + 10 <= causal.losses[0].size(); i += 10)
        steps.push_back(static_cast<double>(i) + 5);
    viz::Plot plot({.title = "Training loss, median of five seeds",
                    .x = "step",
                    .y = "cross-entropy",
                    .log_y = true,
                    .legend = "top-right"});
    plot.line(steps, smooth(causal), "causal mask: translates")
        .line(steps, smooth(open), "no mask: does not translate");
    return plot.svg();
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    set_num_threads(1);  // the tensors are too small to share out
    toy::Languages languages;
    chapter.section("queries from one sequence, keys and values from another");
    shapes();
    chapter.section("toy English and toy French");
    show_languages(languages);
    chapter.section("teacher forcing");
    show_batch(languages);
    chapter.section("dropout on the weights");
    dropout_on_weights();

    Rng rng(1);
    Numbers training, test_set;
    for (std::int64_t n = 0; n < toy::sentences; ++n) (rng.uniform() < 0.1 ? test_set : training).push_back(n);
    const Exam exam{drawn(200, test_set, rng), languages};
    Run causal = train_all(exam, training, Mask::causal(), true);
    chapter.section("sentences never trained on");
    print(exam, causal.written[0], 3);
    std::printf("right: %s of %zu\n", scores(causal, exam).c_str(), exam.numbers.size());
    std::printf("one pass over what was written predicts the same words: %s\n",
                one_pass_predicts_the_same(causal, exam) ? "yes" : "no");
    chapter.section("where it attends");
    const std::string map = alignment(causal, exam);
    chapter.section("one vector of the memory exchanged");
    exchange(causal, languages);
    chapter.section("break it: attend to padding");
    const Run never_hidden = train_all(exam, training, Mask::causal(), false);
    padding_attended(causal, never_hidden, exam);
    chapter.section("break it: attend to the future");
    const Run open = train_all(exam, training, Mask(), true);
    future_attended(causal, open, exam);
    chapter.figure("13_model", model_picture());
    chapter.figure("13_loss", loss_picture(causal, open));
    chapter.figure("13_alignment", map);
}
