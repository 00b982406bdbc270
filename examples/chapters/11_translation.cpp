// 11. Cross-attention: an encoder reads toy English, a decoder writes toy French and looks back.
//
// B batch, S words read, T words written, V French words, C = d_model, H heads.
#include "../toy_french.h"
#include "chapter.h"

using namespace weft;

namespace {

constexpr std::int64_t B = 64, C = 32, H = 2;
constexpr double dropped = 0.1;

// ---- the model

// Reads what is written so far (self), looks back at what was read (cross), and thinks (mlp).
struct Decoder : nn::Module {
    nn::LayerNorm norm1, norm2, norm3;
    nn::MultiHeadAttention self, cross;
    nn::MLP mlp;
    nn::Dropout drop;

    explicit Decoder(Rng& rng)
        : norm1(register_module("norm1", nn::LayerNorm(C))),
          norm2(register_module("norm2", nn::LayerNorm(C))),
          norm3(register_module("norm3", nn::LayerNorm(C))),
          self(register_module("self", nn::MultiHeadAttention(C, H, rng, {.dropout = dropped}))),
          cross(register_module("cross", nn::MultiHeadAttention(C, H, rng, {.dropout = dropped}))),
          mlp(register_module("mlp", nn::MLP(C, rng))),
          drop(register_module("drop", nn::Dropout(dropped, rng))) {}

    // x (B, T, C), memory (B, S, C) → (B, T, C). `written` is T by T, `padding` T by S.
    Tensor operator()(const Tensor& x, const Tensor& memory, const Mask& written, const Mask& padding) const {
        const Tensor h = x + drop(self(norm1(x), written));                   // (B, T, C)
        const Tensor c = h + drop(cross(norm2(h), memory, memory, padding));  // (B, T, C)
        return c + drop(mlp(norm3(c)));                                       // (B, T, C)
    }
};

struct Translator : nn::Module {
    nn::Embedding english, french, place;
    nn::EncoderBlock encoder;
    nn::LayerNorm encoded;
    Decoder decoder;
    nn::LayerNorm decoded;
    nn::Linear head;
    Mask written = Mask::causal();  // to be exchanged in "Break it"

    Translator(const toy::Languages& languages, Rng& rng)
        : english(register_module("english", nn::Embedding(std::ssize(languages.english.words), C, rng))),
          french(register_module("french", nn::Embedding(std::ssize(languages.french.words), C, rng))),
          place(register_module("place", nn::Embedding(toy::longest, C, rng))),
          encoder(register_module("encoder", nn::EncoderBlock(C, H, rng, {.dropout = dropped}))),
          encoded(register_module("encoded", nn::LayerNorm(C))),
          decoder(register_module("decoder", Decoder(rng))),
          decoded(register_module("decoded", nn::LayerNorm(C))),
          head(register_module("head", nn::Linear(C, std::ssize(languages.french.words), rng))) {}

    Tensor encode(const Tensor& ids, const Mask& padding) const {    // (B, S)
        const Tensor x = english(ids) + place(arange(ids.size(1)));  // (B, S, C) + (S, C)
        return encoded(encoder(x, padding));                         // (B, S, C)
    }
    Tensor decode(const Tensor& ids, const Tensor& memory, const Mask& padding) const {  // (B, T), (B, S, C)
        const Tensor x = french(ids) + place(arange(ids.size(1)));                       // (B, T, C) + (T, C)
        return head(decoded(decoder(x, memory, written, padding)));                      // (B, T, V)
    }

    // Greedy: the likeliest next word, again and again. (B, S) → (B, longest)
    Tensor translate(const Tensor& ids, const Mask& padding) const {
        const Tensor memory = encode(ids, padding);  // (B, S, C)
        Tensor words = full({ids.size(0), 1}, toy::Languages::begin, int64);
        for (std::int64_t t = 0; t < toy::longest; ++t) {
            const Tensor next = decode(words, memory, padding).select(1, t);  // (B, V)
            words = cat({words, argmax(next, -1, keepdim)}, 1);               // (B, t + 2)
        }
        return words.slice(1, 1, toy::longest + 1);
    }
};

// ---- cross-attention

void shapes(Chapter& chapter) {
    chapter.section("queries from one sequence, keys and values from another");
    Rng rng(1);
    const nn::MultiHeadAttention cross(C, H, rng);
    const Tensor writes = randn({1, 4, C}, rng), reads = randn({1, 6, C}, rng);  // (B, T, C), (B, S, C)
    const AttentionResult result = cross.with_weights(writes, reads, reads);
    std::printf("weights %s, output %s\n", result.weights.shape().str().c_str(),
                result.output.shape().str().c_str());
    std::printf("self-attention: weights %s\n", cross.with_weights(writes).weights.shape().str().c_str());
}

// ---- the languages

void show_languages(Chapter& chapter, const toy::Languages& languages) {
    chapter.section("toy English and toy French");
    for (const std::int64_t n : {0, 21037, 40326, 57599}) {
        const toy::Pair pair = toy::sentence(n);
        std::printf("%-38s %s\n", toy::joined(pair.english).c_str(), toy::joined(pair.french).c_str());
    }
    std::printf("%zu English words, %zu French ones with <begin> and <end>\n", languages.english.words.size(),
                languages.french.words.size());
}

void show_batch(Chapter& chapter, toy::Languages& languages) {
    chapter.section("teacher forcing");
    const toy::Batch batch = languages.batch({40326});
    std::printf("reads:  %s\n", toy::joined(toy::sentence(40326).english).c_str());
    std::printf("given      says\n");
    for (std::int64_t t = 0; t < toy::longest; ++t) {
        const double next = batch.next.at({0, t});
        const auto word = [&](double id) { return languages.french.words[static_cast<std::size_t>(id)]; };
        std::printf("%-10s %s\n", word(batch.french.at({0, t})).c_str(), next < 0 ? "-" : word(next).c_str());
    }
}

// ---- dropout

void dropout_on_weights(Chapter& chapter) {
    chapter.section("dropout on the weights");
    Rng rng(2);
    const Tensor q = zeros({1, 4}), k = zeros({4, 4}),
                 v = eye(4);  // all scores 0: weights of 1/4, read off by v
    const Tensor training = scaled_dot_product_attention(q, k, v, {.dropout = 0.5, .rng = &rng});  // (1, 4)
    const Tensor evaluation = scaled_dot_product_attention(q, k, v);                               // (1, 4)
    const auto tell = [](const char* mode, const Tensor& row) {
        std::printf("%-11s %.2f %.2f %.2f %.2f, sum %.2f\n", mode, row.at({0, 0}), row.at({0, 1}),
                    row.at({0, 2}), row.at({0, 3}), sum(row).item());
    };
    tell("training", training);
    tell("evaluation", evaluation);
}

// ---- training

Tensor loss_of(const Translator& model, const toy::Batch& batch) {
    const Mask padding = Mask::padding(batch.lengths);
    const Tensor memory = model.encode(batch.english, padding);                     // (B, S, C)
    return cross_entropy(model.decode(batch.french, memory, padding), batch.next);  // (B, T, V), (B, T) → ()
}

using Numbers = std::vector<std::int64_t>;  // of sentences

Numbers drawn(std::int64_t count, const Numbers& numbers, Rng& rng) {
    Numbers some;
    while (std::ssize(some) < count) some.push_back(numbers[rng.randint(0, std::ssize(numbers))]);
    return some;
}

std::vector<double> train(Translator& model, toy::Languages& languages, const Numbers& numbers,
                          std::int64_t steps) {
    Rng rng(2);
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

Translator new_translator(const toy::Languages& languages) {
    Rng rng(1);
    Translator model(languages, rng);
    model.to(float64);
    return model;
}

// ---- what it has learned

struct Exam {
    toy::Batch batch;
    Numbers numbers;
    toy::Languages languages;

    // How many of 100 sentences are translated without a mistake.
    double score(const Tensor& written) const {  // (B, longest)
        double right = 0;
        for (std::size_t i = 0; i < numbers.size(); ++i)
            right += languages.words(written[static_cast<std::int64_t>(i)]) == toy::sentence(numbers[i]).french;
        return 100 * right / static_cast<double>(numbers.size());
    }
};

void exam_of(Chapter& chapter, const Translator& model, const Exam& exam) {
    chapter.section("sentences never trained on");
    const NoGrad off;
    const Mask padding = Mask::padding(exam.batch.lengths);
    const Tensor written = model.translate(exam.batch.english, padding);  // (B, longest)
    for (std::size_t i = 0; i < 5; ++i)
        std::printf("%-38s %s\n", toy::joined(toy::sentence(exam.numbers[i]).english).c_str(),
                    toy::joined(exam.languages.words(written[static_cast<std::int64_t>(i)])).c_str());
    std::printf("right: %.1f %% of %zu\n", exam.score(written), exam.numbers.size());

    // All words at once, given those that were written: the same words.
    const Tensor begin = full({written.size(0), 1}, toy::Languages::begin, int64);
    const Tensor given = cat({begin, written.slice(1, 0, toy::longest - 1)}, 1);
    const Tensor memory = model.encode(exam.batch.english, padding);
    const bool same = all(argmax(model.decode(given, memory, padding), -1) == written);
    std::printf("one pass over what was written says the same words: %s\n", same ? "yes" : "no");
}

// Where each French word looked while it was written: (1, H, T, S).
Tensor looked(const Translator& model, const toy::Batch& one, std::int64_t words) {
    const auto run = [&](const Tensor& english) {
        return model.decode(one.french.slice(1, 0, words), model.encode(english, {}), {});
    };
    return viz::attention_weights(run, one.english.slice(1, 0, words)).back();  // cross-attention comes last
}

std::string alignment(Chapter& chapter, const Translator& model, toy::Languages& languages) {
    chapter.section("where it looks");
    const NoGrad off;
    const std::int64_t number = 50417;
    const toy::Pair pair = toy::sentence(number);
    const Tensor weights =
        mean(looked(model, languages.batch({number}), std::ssize(pair.english))[0], 0);  // (T, S)
    const viz::MapOptions map{.queries = pair.french, .keys = pair.english, .top = 1, .wide = true};
    std::printf("%s", viz::attention_text(weights, map).c_str());
    double total = 0;
    for (std::size_t t = 0; t < pair.from.size(); ++t)
        total += weights.at({static_cast<std::int64_t>(t), pair.from[t]});
    std::printf("mean weight on the word that is translated: %.2f\n",
                total / static_cast<double>(pair.from.size()));
    return viz::attention_svg(
        weights, {.queries = pair.french, .keys = pair.english, .top = 1, .title = "cross-attention"});
}

// "a black cat sees a little frog", then with the memory's vector of the second "a" taken from "… a little
// cat".
void exchange(Chapter& chapter, const Translator& model, toy::Languages& languages) {
    chapter.section("one vector of the memory exchanged");
    const NoGrad off;
    const toy::Batch one = languages.batch({50417});
    const Tensor frog = one.english.slice(1, 0, 7);  // (1, S)
    Tensor cat = frog.clone();
    cat[0][6].fill_(static_cast<double>(languages.english.id("cat")));

    Tensor memory = model.encode(frog, {}).clone();                                 // (1, S, C)
    const auto fifth_word = [&] {                                                   // at the place of une
        const Tensor logits = model.decode(one.french.slice(1, 0, 5), memory, {});  // (1, 5, V)
        return languages.words(argmax(logits[0][4], -1, keepdim))[0];
    };
    std::printf("the memory as it is: %s\n", fifth_word().c_str());
    memory[0][4].copy_(model.encode(cat, {})[0][4]);  // of "a" alone
    std::printf("with the vector of \"a\" from \"a little cat\": %s\n", fifth_word().c_str());
}

// ---- break it

void without_padding(Chapter& chapter, const Translator& model, const Exam& exam) {
    chapter.section("break it: padding is seen");
    const NoGrad off;
    std::printf("with Mask::padding:    %.1f %% right\n",
                exam.score(model.translate(exam.batch.english, Mask::padding(exam.batch.lengths))));
    std::printf("without:               %.1f %% right\n", exam.score(model.translate(exam.batch.english, {})));
}

std::vector<double> without_causal(Chapter& chapter, const std::vector<double>& masked, const Numbers& seen,
                                   Exam& exam) {
    chapter.section("break it: the answer lies open");
    Translator model = new_translator(exam.languages);
    model.written = Mask();  // blocks nothing
    const std::vector<double> open = train(model, exam.languages, seen, std::ssize(masked));
    const NoGrad off;
    const Tensor written = model.translate(exam.batch.english, Mask::padding(exam.batch.lengths));
    std::printf("loss       causal   nothing blocked\n");
    for (const std::size_t step : {0, 50, 100, 299})
        std::printf("step %3zu    %.3f   %.3f\n", step, masked[step], open[step]);
    std::printf("right: %.0f %%\n", exam.score(written));
    for (std::size_t i = 0; i < 3; ++i)
        std::printf("%-38s %s\n", toy::joined(toy::sentence(exam.numbers[i]).english).c_str(),
                    toy::joined(exam.languages.words(written[static_cast<std::int64_t>(i)])).c_str());
    return open;
}

// ---- figures

std::string model_picture() {
    viz::Drawing d(640, 450, "An encoder reads, a decoder writes and looks back");
    const viz::Stroke line{"#555", 1.5};
    const viz::Label title{.size = 15, .bold = true}, note{.size = 13, .colour = "#555"};
    const auto box = [&](double x, double y, const std::string& text, const std::string& fill, double h = 40) {
        d.box(x, y, 200, h, text, {.fill = fill, .stroke = {"#444", 1.2}});
    };
    const std::string blue = "#d6e9f5", red = "#fbe3d3", plain = "#f4f4f4";
    d.text(150, 20, "encoder", title).text(460, 20, "decoder", title);
    d.text(150, 432, "a black cat …", {.size = 14}).text(460, 432, "<begin> un chat …", {.size = 14});
    d.arrow(150, 420, 150, 392, line).arrow(460, 420, 460, 392, line);
    box(50, 352, "words + places", plain), box(360, 352, "words + places", plain);
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

std::string loss_picture(const std::vector<double>& causal, const std::vector<double>& open) {
    const auto smooth = [](const std::vector<double>& losses) {  // means of ten steps
        std::vector<double> means;
        for (std::size_t i = 0; i + 10 <= losses.size(); i += 10) {
            double sum = 0;
            for (std::size_t j = i; j < i + 10; ++j) sum += losses[j];
            means.push_back(sum / 10);
        }
        return means;
    };
    std::vector<double> steps;
    for (std::size_t i = 0; i + 10 <= causal.size(); i += 10) steps.push_back(static_cast<double>(i) + 5);
    viz::Plot plot({.title = "Loss with teacher forcing",
                    .x = "step",
                    .y = "cross-entropy",
                    .log_y = true,
                    .legend = "top-right"});
    plot.line(steps, smooth(causal), "causal mask: translates")
        .line(steps, smooth(open), "nothing blocked: does not");
    return plot.svg();
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    set_num_threads(1);  // there is too little to do at a time to share it out
    shapes(chapter);
    toy::Languages languages;
    show_languages(chapter, languages);
    show_batch(chapter, languages);
    dropout_on_weights(chapter);

    Rng rng(1);
    Numbers seen, test_set;
    for (std::int64_t n = 0; n < toy::sentences; ++n) (rng.uniform() < 0.1 ? test_set : seen).push_back(n);
    chapter.section("training");
    Translator model = new_translator(languages);
    const std::vector<double> losses = train(model, languages, seen, 300);
    for (const std::size_t step : {0, 50, 100, 200, 299})
        std::printf("step %3zu  loss %.3f\n", step, losses[step]);

    const Numbers asked = drawn(500, test_set, rng);
    Exam exam{languages.batch(asked), asked, languages};
    exam_of(chapter, model, exam);
    const std::string map = alignment(chapter, model, languages);
    exchange(chapter, model, languages);
    without_padding(chapter, model, exam);
    const std::vector<double> open = without_causal(chapter, losses, seen, exam);
    chapter.figure("11_model", model_picture());
    chapter.figure("11_loss", loss_picture(losses, open));
    chapter.figure("11_alignment", map);
}
