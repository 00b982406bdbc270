// Chapter 13: a GPT is trained on a text, and writes.
// B sequences in a batch, T characters in each, V characters in the vocabulary.
#include "chapter.h"

#include <stdlib.h>  // mkdtemp
#include <unistd.h>  // where macOS has it

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <set>

#include "13_text.h"
#include "weft/weft.h"

using namespace weft;

namespace {

constexpr std::int64_t B = 12, T = 48, steps = 600;
constexpr int samples = 40;

// A new folder, removed with this.
struct Folder {
    std::filesystem::path path;
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "weft_XXXXXX").string();
        path = ::mkdtemp(name.data());
    }
    ~Folder() { std::filesystem::remove_all(path); }
};

struct Batch {
    Tensor inputs, targets;  // (B, T) both: the targets are the inputs' next characters
};

// Pieces of T characters that begin at `starts`, and the pieces that begin `shift` characters later.
Batch batch_at(const Tensor& ids, const std::vector<std::int64_t>& starts, std::int64_t shift = 1) {
    std::vector<Tensor> inputs, targets;
    for (const std::int64_t start : starts) {
        inputs.push_back(ids.slice(0, start, start + T));                   // (T,)
        targets.push_back(ids.slice(0, start + shift, start + shift + T));  // (T,)
    }
    return {stack(inputs), stack(targets)};
}

struct Corpus {
    text::Characters characters;
    Tensor training, validation;  // (N,): nine tenths of the text, and the last tenth

    explicit Corpus(const std::string& said) : characters(said) {
        const text::Ids ids = characters.encode(said);
        const auto count = static_cast<std::int64_t>(ids.size());
        const Tensor all = from_vector(ids, {count});
        training = all.slice(0, 0, count * 9 / 10);
        validation = all.slice(0, count * 9 / 10, count);
    }
    Batch random_batch(Rng& rng, std::int64_t shift = 1) const {
        std::vector<std::int64_t> starts;
        for (std::int64_t b = 0; b < B; ++b) starts.push_back(rng.randint(0, training.numel() - T));
        return batch_at(training, starts, shift);
    }
    Batch validation_batch(std::int64_t shift = 1) const {  // all of it, piece after piece
        std::vector<std::int64_t> starts;
        for (std::int64_t start = 0; start + T < validation.numel(); start += T) starts.push_back(start);
        return batch_at(validation, starts, shift);
    }
};

// A line break would break our lines.
std::string one_line(std::string said) {
    for (char& c : said)
        if (c == '\n') c = '/';
    return said;
}

void text_to_batches(const Corpus& corpus) {
    std::printf("%zu characters, V = %lld: %s\n", tale.size(),
                static_cast<long long>(corpus.characters.vocab_size()),
                one_line(corpus.characters.vocabulary()).c_str());
    std::printf("%lld for training, %lld for validation\n", static_cast<long long>(corpus.training.numel()),
                static_cast<long long>(corpus.validation.numel()));
    const Batch first = batch_at(corpus.training, {0});
    std::printf("inputs   \"%s\"\n", corpus.characters.decode(first.inputs.to_vector<std::int64_t>()).c_str());
    std::printf("targets  \"%s\"\n", corpus.characters.decode(first.targets.to_vector<std::int64_t>()).c_str());
}

lm::GPT new_model(const Corpus& corpus) {
    Rng rng(1);
    lm::GPT model({.vocab_size = corpus.characters.vocab_size(),
                   .block_size = T,
                   .num_layers = 2,
                   .num_heads = 2,
                   .d_model = 64},
                  rng);
    model.to(float64);  // slower, and the same digits on every processor
    return model;
}

nn::NamedTensors copy_of(const nn::Module& model) {
    nn::NamedTensors state = model.state_dict();
    for (auto& [name, value] : state) value = value.detach().clone();
    return state;
}

struct Trained {
    std::vector<double> step, training, validation_step, validation;  // the losses
    std::int64_t best_step = 0;
    nn::NamedTensors best, last;  // weights: with the lowest validation loss, and of the last step
};

Trained train(lm::GPT& model, const Corpus& corpus) {
    Rng rng(2);
    optim::AdamW optimizer(optim::decay_groups(model, 0.1), {.beta2 = 0.99});
    const Batch validation = corpus.validation_batch();
    Trained result;
    double lowest = INFINITY;
    for (std::int64_t step = 0; step <= steps; ++step) {
        const double lr =
            optim::cosine_lr(step, {.lr = 3e-3, .min_lr = 3e-4, .warmup_steps = 50, .steps = steps});
        optimizer.set_lr(lr);
        optimizer.zero_grad();
        const Batch batch = corpus.random_batch(rng);
        const Tensor loss = cross_entropy(model(batch.inputs), batch.targets);  // (B, T, V), (B, T) → ()
        loss.backward();
        const double norm = optim::clip_grad_norm(model, 1.0);
        result.step.push_back(static_cast<double>(step));
        result.training.push_back(loss.item());
        if (step % 50 == 0) {
            const NoGrad off;
            const double validation_loss = cross_entropy(model(validation.inputs), validation.targets).item();
            result.validation_step.push_back(static_cast<double>(step));
            result.validation.push_back(validation_loss);
            if (validation_loss < lowest) {
                lowest = validation_loss;
                result.best_step = step;
                result.best = copy_of(model);
            }
            if (step % 100 == 0)
                std::printf("step %4d  lr %.4f  loss %.2f  validation %.2f  gradient %.1f\n",
                            static_cast<int>(step), lr, loss.item(), validation_loss, norm);
        }
        optimizer.step();
    }
    std::printf("lowest validation loss: %.2f at step %d, perplexity %.1f\n", lowest,
                static_cast<int>(result.best_step), std::exp(lowest));
    result.last = copy_of(model);
    model.load_state_dict(result.best);
    return result;
}

// Trains until step `until`, from the checkpoint in `folder` if there is one. Returns the validation loss.
double train_in(const std::filesystem::path& folder, std::int64_t until) {
    const text::Characters characters(tale);
    training::Corpus corpus(characters.encode(tale), {.block_size = T, .batch_size = B, .seed = 2});
    Rng rng(1);
    lm::GPT model({.vocab_size = characters.vocab_size(),
                   .block_size = T,
                   .num_layers = 1,
                   .num_heads = 2,
                   .d_model = 32},
                  rng);
    optim::AdamW optimizer(model, {.lr = 3e-3});
    const auto loss_of = [&](const training::Batch& batch) {
        return cross_entropy(model(batch.inputs), batch.targets);  // (B, T, V), (B, T) → ()
    };

    const std::filesystem::path path = folder / "model.safetensors";
    std::int64_t step = 0;
    if (std::filesystem::exists(path)) step = training::Checkpoint::load(path).restore(model, optimizer);
    const training::Interrupt interrupt;
    for (; step < until && !interrupt.requested(); ++step) {
        optimizer.zero_grad();
        loss_of(corpus.training_batch(step)).backward();
        optimizer.step();
    }
    training::Checkpoint(model, optimizer, step).save(path);
    return training::evaluate(corpus.validation_batches(), loss_of);
}

void stopped_and_resumed() {
    const Folder whole, parts;
    const double never_stopped = train_in(whole.path, 60);
    std::printf("stopped at step 40   validation loss %.2f\n", train_in(parts.path, 40));
    const double resumed = train_in(parts.path, 60);
    std::printf("resumed to step 60   validation loss %.2f\n", resumed);
    const bool same = resumed == never_stopped && io::load_text(whole.path / "model.safetensors") ==
                                                      io::load_text(parts.path / "model.safetensors");
    std::printf("never stopped        validation loss %.2f, %s\n", never_stopped,
                same ? "the same bits" : "other bits");
}

// The logits (V,) of the character after `prompt`.
Tensor next_logits(const lm::GPT& model, const Corpus& corpus, const std::string& prompt) {
    const NoGrad off;
    const text::Ids ids = corpus.characters.encode(prompt);
    const Tensor read = from_vector(ids, {static_cast<std::int64_t>(ids.size())});  // (T,)
    return model(read)[read.size(0) - 1];  // (V,), of the last position
}

// The probability of each next character, at three temperatures.
void next_character(const lm::GPT& model, const Corpus& corpus) {
    const std::string prompt = "and the ";
    const Tensor logits = next_logits(model, corpus, prompt);  // (V,)
    std::printf("after \"%s\"\n", prompt.c_str());
    std::vector<std::int64_t> order;  // the five most likely, in order
    const Tensor p = softmax(logits, -1);
    for (Tensor left = p.clone(); order.size() < 5;) {
        order.push_back(static_cast<std::int64_t>(argmax(left, 0).item()));
        left[order.back()].fill_(0);
    }
    std::printf("%-16s", "");
    for (const std::int64_t id : order) std::printf("   '%s'", corpus.characters.piece(id).c_str());
    std::printf("  all others\n");
    for (const double temperature : {0.5, 1.0, 2.0}) {
        const Tensor q = softmax(logits / temperature, -1);  // (V,)
        double rest = 1;
        std::printf("temperature %.1f ", temperature);
        for (const std::int64_t id : order) std::printf(" %5.2f", q.at({id})), rest -= q.at({id});
        std::printf(" %10.2f\n", rest);
    }
}

// The `length` characters that the model writes after "and the ".
std::string written(const lm::LanguageModel& model, const Corpus& corpus, lm::SampleOptions how,
                    std::int64_t length, std::uint64_t seed = 7) {
    Rng rng(seed);
    how.rng = &rng;
    const lm::GenerateTextOptions options{.generate = {.max_new_tokens = length, .sampling = how}};
    return lm::generate_text(model, corpus.characters, "and the ", options).text;
}

using Ways = std::vector<std::pair<const char*, lm::SampleOptions>>;
const Ways ways = {{"greedy", {.temperature = 0}},
                   {"temperature 0.5", {.temperature = 0.5}},
                   {"temperature 1", {.temperature = 1}},
                   {"temperature 2", {.temperature = 2}},
                   {"the same, top 3", {.temperature = 2, .top_k = 3}},
                   {"the same, top-p", {.temperature = 2, .top_p = 0.7}}};

void sampling(lm::GPT& model, const Corpus& corpus, const nn::NamedTensors& best,
              const nn::NamedTensors& last) {
    for (const auto& [name, weights] : {std::pair{"best", best}, std::pair{"last", last}}) {
        model.load_state_dict(weights);
        std::printf("%s weights\n", name);
        for (const auto& [way, how] : ways)
            std::printf("%-16s and the %s\n", way, one_line(written(model, corpus, how, 64)).c_str());
        std::printf("\n");
    }
}

// The share of the whole words of `said` that occur in the tale.
double known_words(const std::string& said) {
    const auto words_of = [](const std::string& text) {  // without the last, which may be cut
        std::vector<std::string> words(1);
        for (const char c : text)
            if (std::isalpha(c))
                words.back().push_back(c);
            else
                words.emplace_back();
        words.pop_back();
        std::erase(words, "");
        return words;
    };
    const std::vector<std::string> all = words_of(tale), words = words_of(said);
    const std::set<std::string> known(all.begin(), all.end());
    const auto count =
        std::ranges::count_if(words, [&](const std::string& word) { return known.contains(word); });
    return words.empty() ? 1 : static_cast<double>(count) / static_cast<double>(words.size());
}

// The length of the longest stretch of `said` that occurs in the training text.
double longest_copy(const std::string& said, const std::string& text) {
    std::size_t longest = 0;
    for (std::size_t from = 0; from < said.size(); ++from)
        while (from + longest < said.size() && text.find(said.substr(from, longest + 1)) != std::string::npos)
            ++longest;
    return static_cast<double>(longest);
}

// A mean, and its standard error.
struct Mean {
    double sum = 0, squares = 0;
    void add(double value) { sum += value, squares += value * value; }
    double value() const { return sum / samples; }
    double error() const { return std::sqrt((squares / samples - value() * value()) / (samples - 1)); }
};

// Means of forty samples of forty characters each.
void sampling_measured(lm::GPT& model, const Corpus& corpus, const nn::NamedTensors& best,
                       const nn::NamedTensors& last) {
    const std::string text = tale.substr(0, static_cast<std::size_t>(corpus.training.numel()));
    double words_error = 0, copied_error = 0;
    std::printf("                 words of the tale   longest copied\n");
    std::printf("                 best      last      best      last\n");
    for (std::size_t way = 1; way < ways.size(); ++way) {  // greedy writes the same every time
        Mean words[2], copied[2];
        for (const int w : {0, 1}) {
            model.load_state_dict(w == 0 ? best : last);
            for (std::uint64_t seed = 1; seed <= samples; ++seed) {
                const std::string said = written(model, corpus, ways[way].second, 40, seed);
                words[w].add(known_words(said)), copied[w].add(longest_copy(said, text));
            }
            words_error = std::max(words_error, words[w].error());
            copied_error = std::max(copied_error, copied[w].error());
        }
        std::printf("%-16s %.2f %9.2f %9.0f %9.0f\n", ways[way].first, words[0].value(), words[1].value(),
                    copied[0].value(), copied[1].value());
    }
    std::printf("largest standard error %.2f %19.1f\n", words_error, copied_error);
}

struct Sizes {
    std::int64_t vocab_size, block_size;
};

// How often each character follows another in the training text, as a model. Nothing in it is trained.
struct Pairs {
    Sizes config;
    Tensor logits;  // (V, V): row i has those of the character after i

    explicit Pairs(const Corpus& corpus)
        : config{.vocab_size = corpus.characters.vocab_size(), .block_size = 1} {     // it sees one character
        const Tensor seen = one_hot(corpus.training, config.vocab_size).to(float64);  // (N, V)
        const std::int64_t N = seen.size(0);
        const Tensor pairs = matmul(seen.slice(0, 0, N - 1).transpose(0, 1), seen.slice(0, 1, N));  // (V, V)
        logits = log(pairs + 0.1);  // no pair is impossible
    }
    Tensor operator()(const Tensor& ids) const { return embedding(logits, ids); }  // (B, T) → (B, T, V)
};

void pairs_write(const Corpus& corpus) {
    const Pairs pairs(corpus);
    const Batch validation = corpus.validation_batch();
    const Tensor loss = cross_entropy(pairs(validation.inputs), validation.targets);  // ()
    std::printf("validation %.2f\n", loss.item());
    std::printf("and the %s\n", written(pairs, corpus, {}, 47).c_str());
}

struct Work {
    text::Ids ids;
    std::int64_t tokens = 0, scores = 0;  // through each layer; q · k products in each of its heads
};

// Generates 32 ids, and counts the work.
Work generate_and_count(const lm::GPT& model, const text::Ids& prompt, bool cache) {
    Work work;
    const Trace trace;
    work.ids =
        lm::generate(model, prompt, {.max_new_tokens = 32, .sampling = {.temperature = 0}, .use_cache = cache});
    std::int64_t past = 0;  // tokens in the cache
    for (const auto& [name, tensor] : trace.entries()) {
        if (name != "embedded") continue;
        const std::int64_t now = tensor.size(-2);  // tokens in this pass
        work.tokens += now;
        work.scores +=
            now * past + now * (now + 1) / 2;  // each attends to the past, itself and those before it
        if (cache) past += now;
    }
    return work;
}

// The largest difference between logits computed token by token, with caches, and all at once.
double token_by_token(const lm::GPT& model, const text::Ids& prompt) {
    const NoGrad off;
    const auto count = static_cast<std::int64_t>(prompt.size());
    const Tensor ids = from_vector(prompt, {count});  // (T,)
    const Tensor whole = model(ids);                  // (T, V): all at once
    std::vector<nn::KeyValueCache> caches = model.make_caches();
    double largest = 0;
    for (std::int64_t t = 0; t < count; ++t) {
        const Tensor one = model(ids.slice(0, t, t + 1), caches);  // (1, V): the token t after those cached
        largest = std::max(largest, max(abs(one[0] - whole[t])).item());
    }
    return largest;
}

void cache_counted(const lm::GPT& model, const Corpus& corpus) {
    const text::Ids prompt = corpus.characters.encode("the weaver said ");  // 16 characters
    const Work without = generate_and_count(model, prompt, false),
               with = generate_and_count(model, prompt, true);
    std::printf("               tokens through each layer   scores in each head\n");
    std::printf("without cache %27lld %21lld\n", static_cast<long long>(without.tokens),
                static_cast<long long>(without.scores));
    std::printf("with cache    %27lld %21lld\n", static_cast<long long>(with.tokens),
                static_cast<long long>(with.scores));
    std::printf("the same 32 characters: %s\n", without.ids == with.ids ? "yes" : "no");
    std::printf("logits token by token and all at once: %s\n",
                token_by_token(model, prompt) < 1e-12 ? "the same" : "different");
}

void break_it(const Corpus& corpus) {
    lm::GPT model = new_model(corpus);
    Rng rng(2);
    optim::AdamW optimizer(model, {.lr = 4e-3});
    const Batch validation = corpus.validation_batch(0);
    for (int step = 0; step <= 60; ++step) {
        optimizer.zero_grad();
        const Batch batch = corpus.random_batch(rng, 0);  // targets = inputs
        const Tensor loss = cross_entropy(model(batch.inputs), batch.targets);
        loss.backward();
        optimizer.step();
        const NoGrad off;
        if (step % 20 == 0)
            std::printf("step %2d  loss %.2f  validation %.2f\n", step, loss.item(),
                        cross_entropy(model(validation.inputs), validation.targets).item());
    }
    std::printf("it writes \"and the %s\"\n", written(model, corpus, {}, 32).c_str());
}

// ---- figures

// Eight characters, and the target of each.
std::string batches_figure() {
    viz::Drawing d(640, 215, "Inputs are a piece of the text; targets are the piece one character later");
    const std::string shown = "the weft", next = "he weft ";
    d.text(95, 80, "inputs", {14, "end", "#222", true}).text(95, 165, "targets", {14, "end", "#222", true});
    for (std::size_t t = 0; t < 8; ++t) {
        const double x = 115 + 62 * static_cast<double>(t);
        d.text(x + 24, 38, std::to_string(t), {.size = 12, .colour = "#555"});
        d.box(x, 60, 48, 40, shown[t] == ' ' ? "␣" : std::string(1, shown[t]), {.label = {.size = 18}});
        d.arrow(x + 24, 102, x + 24, 142);
        d.box(x, 145, 48, 40, next[t] == ' ' ? "␣" : std::string(1, next[t]),
              {.fill = "#fdf1e3", .stroke = {viz::palette(5), 1.5, false}, .label = {.size = 18}});
    }
    d.text(95, 38, "position", {.size = 12, .anchor = "end", .colour = "#555"});
    d.text(361, 205, "position 3 has read \"the␣\"; its target is \"w\"", {.size = 13});
    return d.svg();
}

std::string loss_figure(const Trained& curves) {
    std::vector<double> smooth;  // the mean of the last 20 steps
    for (std::size_t i = 0; i < curves.training.size(); ++i) {
        const std::size_t from = i < 20 ? 0 : i - 19;
        double total = 0;
        for (std::size_t j = from; j <= i; ++j) total += curves.training[j];
        smooth.push_back(total / static_cast<double>(i - from + 1));
    }
    viz::Plot plot({.title = "Training loss and validation loss",
                    .x = "step",
                    .y = "loss",
                    .x_range = {0, static_cast<double>(steps)},
                    .y_range = {0, 3.5},
                    .legend = "top-right"});
    plot.line(curves.step, smooth, "training, mean of 20 steps");
    plot.line(curves.validation_step, curves.validation, "validation", {.markers = true});
    plot.vertical(static_cast<double>(curves.best_step), "lowest validation loss", {.dashed = true});
    return plot.svg();
}

std::string cache_figure() {
    viz::Drawing d(640, 285, "Tokens computed at each step, without and with a cache");
    const auto part = [&](double left, const std::string& title, bool cache) {
        d.text(left + 120, 20, title, {15, "middle", "#222", true});
        for (int step = 0; step < 6; ++step) {
            const double y = 48 + 34 * step;
            d.text(left - 8, y + 13, "step " + std::to_string(step + 1), {12, "end", "#555"});
            for (int t = 0; t < 3 + step; ++t) {
                const bool computed = !cache || step == 0 || t == 2 + step;
                d.box(left + 30 * t, y, 25, 26, "",
                      {.fill = computed ? "#fbd9a8" : "#eee",
                       .stroke = {computed ? viz::palette(1) : "#bbb", 1.5, false}});
            }
        }
    };
    part(60, "without: 3 + 4 + … + 8 = 33 tokens", false);
    part(380, "with: 3 + 5 · 1 = 8 tokens", true);
    d.box(170, 256, 24, 20, "", {.fill = "#fbd9a8", .stroke = {viz::palette(1), 1.5, false}});
    d.text(202, 266, "computed", {.anchor = "start"});
    d.box(310, 256, 24, 20, "", {.fill = "#eee", .stroke = {"#bbb", 1.5, false}});
    d.text(342, 266, "keys and values from the cache", {.anchor = "start"});
    return d.svg();
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    set_num_threads(1);  // the operations are too small to share among threads
    const Corpus corpus(tale);
    chapter.section("A text as batches");
    text_to_batches(corpus);
    chapter.section("Training");
    lm::GPT model = new_model(corpus);
    const Trained result = train(model, corpus);
    chapter.section("Stopped and resumed");
    stopped_and_resumed();
    chapter.section("The next character");
    next_character(model, corpus);
    chapter.section("Sampling");
    sampling(model, corpus, result.best, result.last);
    sampling_measured(model, corpus, result.best, result.last);
    model.load_state_dict(result.best);
    chapter.section("A model of your own");
    pairs_write(corpus);
    chapter.section("The cache");
    cache_counted(model, corpus);
    chapter.section("Break it: targets that are not shifted");
    break_it(corpus);

    chapter.figure("13_batches", batches_figure());
    chapter.figure("13_loss", loss_figure(result));
    chapter.figure("13_cache", cache_figure());
}
