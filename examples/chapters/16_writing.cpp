// Chapter 16: a trained GPT writes.
// T characters so far, V characters in the vocabulary, B pieces of text.
#include "chapter.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <set>

#include "15_text.h"
#include "15_training.h"

namespace {

constexpr int samples = 40;

// The logits (V,) of the character after `prompt`.
Tensor next_logits(const lm::GPT& model, const Corpus& corpus, const std::string& prompt) {
    const NoGrad off;
    const text::Ids ids = corpus.characters.encode(prompt);
    const Tensor read = from_vector(ids, {static_cast<std::int64_t>(ids.size())});  // (T,)
    return model(read)[read.size(0) - 1];  // (V,), of the last position
}

// The ids of the five most likely characters, in order.
std::vector<std::int64_t> likeliest(const Tensor& logits) {
    return topk(logits, 5).indices.to_vector<std::int64_t>();
}

// The probability of each next character, at three temperatures.
void next_character(const lm::GPT& model, const Corpus& corpus) {
    const std::string prompt = "and the ";
    const Tensor logits = next_logits(model, corpus, prompt);  // (V,)
    std::printf("after \"%s\"\n", prompt.c_str());
    const std::vector<std::int64_t> order = likeliest(logits);
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

// ---- half the bits

// The sign, the exponent and the fraction of a number of 1 + exponent + fraction bits.
std::string drawn(std::uint32_t bits, int exponent, int fraction) {
    std::string said;
    for (int i = exponent + fraction; i >= 0; --i) {
        said += (bits >> i & 1) != 0 ? '1' : '0';
        if (i == exponent + fraction || i == fraction) said += ' ';
    }
    return said;
}
std::string drawn(float x) { return drawn(std::bit_cast<std::uint32_t>(x), 8, 23); }
std::string drawn(BFloat16 x) { return drawn(x.bits, 8, 7); }
std::string drawn(Float16 x) { return drawn(x.bits, 5, 10); }

// Numbers in three formats, bit by bit.
void formats_drawn() {
    std::printf("                sign, exponent, fraction            the number\n");
    for (const float x : {0.1F, 65504.0F, 1e-7F}) {
        const auto line = [&](const char* format, const auto& number) {
            std::printf("%-6g %-8s %-35s %.9g\n", x, format, drawn(number).c_str(), static_cast<float>(number));
        };
        line("float32", x), line("bfloat16", BFloat16(x)), line("float16", Float16(x));
    }
}

// What bfloat16 keeps of a float32, and what it cuts off.
void rounding_drawn() {
    std::printf("               kept                cut off            bfloat16\n");
    const std::vector<std::pair<const char*, float>> numbers = {{"1 + 1/256", 1 + 0x1p-8F},
                                                                {"1 + 1/256 + ...", 1 + 0x1p-8F + 0x1p-23F},
                                                                {"1 + 3/256", 1 + 3 * 0x1p-8F}};
    for (const auto& [name, x] : numbers) {
        const std::string bits = drawn(x);
        std::printf("%-15s %s  %s   %s\n", name, bits.substr(0, 18).c_str(), bits.substr(18).c_str(),
                    drawn(BFloat16(x)).c_str());
    }
}

// 1 + 1 + … with n ones, where each sum is rounded to the type.
double ones_added(std::int64_t n, DType type) {
    Tensor sum = zeros({}, type);
    for (std::int64_t i = 0; i < n; ++i) sum = (sum + 1).to(type);  // added in float32, then rounded
    return sum.item();
}

void where_halves_fail() {
    for (const double x : {65519.0, -1e9}) try {
            std::printf("%g becomes %.0f\n", x, tensor(x).to(float16).item());
        } catch (const ValueError& error) {
            std::printf("%s\n", error.what());
        }
    std::printf("5000 ones added in float32 %.0f, in float16 %.0f, in bfloat16 %.0f\n",
                ones_added(5000, float32), ones_added(5000, float16), ones_added(5000, bfloat16));
}

// The scale of the first block of a matrix, and its 32 whole numbers.
struct Block {
    Float16 d;
    std::vector<int> q;
};
Block first_block(const Tensor& w) {
    const std::span<const std::byte> bytes = weft::bytes_of(w);
    const auto byte = [&](std::size_t i) { return std::to_integer<int>(bytes[i]); };
    Block block;
    block.d.bits = static_cast<std::uint16_t>(byte(0) | byte(1) << 8);
    for (std::size_t i = 0; i < 32; ++i)
        block.q.push_back(w.dtype() == DType::Q8_0
                              ? static_cast<std::int8_t>(byte(2 + i))
                              : (byte(2 + i % 16) >> (i < 16 ? 0 : 4) & 15) - 8);  // Q4_0: two in a byte
    return block;
}

// The first half of the vector of the character a, (1, 32): one block.
Tensor some_weights(const lm::GPT& model, const Corpus& corpus) {
    const std::int64_t a = corpus.characters.encode("a")[0];
    return model.token_embedding.weight.detach().slice(0, a, a + 1).slice(1, 0, 32).to(float32);
}

void blocks_drawn(const Tensor& weights) {  // (1, 32)
    const auto row = [](const char* name, const Tensor& values, const char* number) {
        std::printf("%-16s", name);
        for (std::int64_t i = 0; i < 8; ++i) std::printf(number, values.at({0, i}));
        std::printf("\n");
    };
    row("8 of 32 weights", weights, " %7.4f");
    for (const DType format : {DType::Q8_0, DType::Q4_0}) {
        const Tensor packed = pack(weights, format);
        const Block block = first_block(packed);
        std::printf("%s, %d bytes: d = %s = %.7f\n", name(format), static_cast<int>(blocks_of(format).bytes),
                    drawn(block.d).c_str(), static_cast<float>(block.d));
        std::vector<double> q(block.q.begin(), block.q.end());
        row("q", from_vector(q, {1, 32}), " %7.0f");
        row("d times q", dequantize(packed), " %7.4f");
    }
}

// The largest error of the first 31 weights of a block.
double block_error(const Tensor& weights, DType format) {
    const Tensor error = abs(dequantize(pack(weights, format)) - weights);  // (1, 32)
    return max(error.slice(1, 0, 31)).item();
}

void block_errors(const Tensor& weights) {  // (1, 32)
    const Tensor far = weights.clone();
    far.slice(1, 31, 32).fill_(4);
    std::printf("largest error of 31 weights    Q8_0    Q4_0    Q4_1\n");
    const std::vector<std::pair<const char*, Tensor>> blocks = {
        {"as trained", weights}, {"with 1 added to each", weights + 1}, {"beside a weight of 4", far}};
    for (const auto& [what, block] : blocks)
        std::printf("%-26s %8.4f %7.4f %7.4f\n", what, block_error(block, DType::Q8_0),
                    block_error(block, DType::Q4_0), block_error(block, DType::Q4_1));
}

// A model in six forms.
const std::vector<std::pair<const char*, void (*)(lm::GPT&)>> forms = {
    {"float32", [](lm::GPT& model) { model.to(float32); }},
    {"bfloat16", [](lm::GPT& model) { model.to(bfloat16); }},
    {"float16", [](lm::GPT& model) { model.to(float16); }},
    {"Q8_0", [](lm::GPT& model) { model.to(float32), model.pack(DType::Q8_0); }},
    {"Q4_1", [](lm::GPT& model) { model.to(float32), model.pack(DType::Q4_1); }},
    {"Q4_0", [](lm::GPT& model) { model.to(float32), model.pack(DType::Q4_0); }}};

std::int64_t bytes_of(const lm::GPT& model) {
    std::int64_t bytes = 0;
    for (const Tensor& p : model.parameters()) bytes += weft::bytes_of(p.dtype(), p.numel());
    return bytes;
}

void every_format(const lm::GPT& trained, const Corpus& corpus) {
    const NoGrad off;
    const Batch validation = corpus.validation_batch();
    Tensor whole;  // the probabilities (B, T, V) of the first form
    std::printf("           bytes   perplexity   probability moved\n");
    for (const auto& [name, change] : forms) {
        lm::GPT model = nn::clone(trained);
        change(model);
        const Tensor logits = model(validation.inputs), p = softmax(logits, -1);  // (B, T, V)
        if (!whole.defined()) whole = p;
        const Tensor moved = sum(abs(p - whole), -1) / 2;  // (B, T)
        std::printf("%-8s %7lld %12.3f %19.4f\n", name, static_cast<long long>(bytes_of(model)),
                    std::exp(cross_entropy(logits, validation.targets).item()), mean(moved).item());
    }
}

// Packed weights, token by token and all at once, give the logits of the numbers that they stand for.
void packed_is_widened(const lm::GPT& trained, const Corpus& corpus) {
    const NoGrad off;
    const text::Ids prompt = corpus.characters.encode("the weaver said ");
    const Tensor ids = from_vector(prompt, {16});  // (T,)
    lm::GPT packed = nn::clone(trained);
    packed.to(float32);
    packed.pack(DType::Q8_0);
    lm::GPT widened = nn::clone(packed);
    widened.to(float32);
    const double difference = max(abs(packed(ids) - widened(ids))).item();
    std::printf("logits of Q8_0 token by token, all at once and widened first: %s to 1e-5\n",
                std::max(difference, token_by_token(packed, prompt)) < 1e-5 ? "the same" : "different");
}

struct Continued {
    std::string text;
    double difference = 0;  // the largest, between the logits used and those of one pass over the text
};

// Forty characters after "and the ", with a cache that first reads the prompt.
Continued continued(const lm::GPT& model, const Corpus& corpus, lm::SampleOptions how, std::uint64_t seed,
                    bool twice) {
    const NoGrad off;
    Rng rng(seed);
    how.rng = &rng;
    text::Ids ids = corpus.characters.encode("and the ");
    const auto count = static_cast<std::int64_t>(ids.size());
    const Tensor prompt = from_vector(ids, {count});  // (T,)
    std::vector<nn::KeyValueCache> caches = model.make_caches();
    (void)model(prompt.slice(0, 0, twice ? count : count - 1), caches);
    std::vector<Tensor> used;
    while (used.size() < 40) {
        const Tensor last = tensor({ids.back()}, int64);  // (1,)
        used.push_back(model(last, caches)[0]);           // (V,)
        ids.push_back(lm::sample(used.back(), how));
    }
    const Tensor read = from_vector(ids, {count + 40}).slice(0, 0, count + 39);  // all but the last
    const Tensor whole = model(read).slice(0, count - 1, count + 39);            // (40, V)
    return {corpus.characters.decode(ids), max(abs(whole - stack(used))).item()};
}

void break_it(const lm::GPT& model, const Corpus& corpus) {
    const lm::SampleOptions how{.temperature = 0.5};
    for (const bool twice : {false, true})
        std::printf("%-5s  %s\n", twice ? "twice" : "once",
                    continued(model, corpus, how, 7, twice).text.c_str());
    std::printf("\n       words of the tale   largest difference of logits\n");
    for (const bool twice : {false, true}) {
        Mean words;
        double difference = 0;
        for (std::uint64_t seed = 1; seed <= samples; ++seed) {
            const Continued one = continued(model, corpus, how, seed, twice);
            words.add(known_words(one.text.substr(8)));  // without the prompt
            difference = std::max(difference, one.difference);
        }
        std::printf("%-5s  %.2f (error %.2f) %19.1f\n", twice ? "twice" : "once", words.value(), words.error(),
                    difference);
    }
}

// ---- figures

// The text so far, the model, the probabilities of the next character, and the one that is drawn.
std::string writing_figure(const lm::GPT& model, const Corpus& corpus) {
    viz::Drawing d(700, 300, "The model reads the text, a character is drawn, and the text grows by it");
    const Tensor p = softmax(next_logits(model, corpus, "and the "), -1);  // (V,)
    std::vector<std::int64_t> order = likeliest(p);
    d.box(20, 110, 130, 44, "and␣the␣", {.label = {.size = 18}}).text(85, 92, "text so far");
    d.arrow(152, 132, 198, 132);
    d.box(200, 102, 80, 60, "GPT",
          {.fill = "#e8f5ee", .stroke = {viz::palette(2), 1.5, false}, .label = {.size = 18}});
    d.arrow(282, 132, 318, 132);
    d.text(430, 22, "probability of the next character");
    double rest = 1;
    const auto bar = [&](std::size_t row, const std::string& name, double value, bool drawn) {
        const double y = 40 + 32 * static_cast<double>(row);
        char number[8];
        std::snprintf(number, sizeof number, "%.2f", value);
        d.text(372, y + 12, name, {.size = 14, .anchor = "end"});
        d.box(382, y, 320 * value, 24, "",
              {.fill = drawn ? "#fbd9a8" : "#eef3fa",
               .stroke = {viz::palette(drawn ? 1 : 0), 1.5, false},
               .radius = 2});
        d.text(390 + 320 * value, y + 12, number, {.size = 12, .anchor = "start"});
    };
    for (std::size_t i = 0; i < order.size(); ++i) {
        bar(i, corpus.characters.piece(order[i]), p.at({order[i]}), i == 1);
        rest -= p.at({order[i]});
    }
    bar(5, std::to_string(p.numel() - 5) + " others", rest, false);
    const double y = 40 + 32 + 12;
    d.arrow(480, y, 598, y, {.colour = viz::palette(1)}).text(545, y - 12, "draw one");
    d.box(600, y - 22, 44, 44, corpus.characters.piece(order[1]),
          {.fill = "#fbd9a8", .stroke = {viz::palette(1), 1.5, false}, .label = {.size = 18}});
    d.line(622, y + 24, 622, 270).line(622, 270, 85, 270).arrow(85, 270, 85, 158);
    d.text(300, 284, "append it, and read again");
    return d.svg();
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

// The bits of three formats, and the bytes of two blocks.
std::string bits_figure() {
    viz::Drawing d(660, 232, "Where the bits of a weight go");
    const std::string sign = "#fbd9a8", exponent = "#e8f5ee", fraction = "#eef3fa";
    double y = 20;
    const auto row = [&](const char* name, const std::vector<std::pair<int, std::string>>& parts) {
        d.text(100, y + 12, name, {.size = 14, .anchor = "end"});
        double x = 110;
        for (const auto& [bits, fill] : parts)
            for (int i = 0; i < bits; ++i, x += 15)
                d.box(x, y, 15, 24, "", {.fill = fill, .stroke = {"#777", 1, false}, .radius = 0});
        y += 36;
    };
    row("float32", {{1, sign}, {8, exponent}, {23, fraction}});
    row("bfloat16", {{1, sign}, {8, exponent}, {7, fraction}});
    row("float16", {{1, sign}, {5, exponent}, {10, fraction}});
    double x = 400;
    for (const auto& [fill, what] : {std::pair{sign, "sign"}, {exponent, "exponent"}, {fraction, "fraction"}}) {
        d.box(x, 82, 15, 24, "", {.fill = fill, .stroke = {"#777", 1, false}, .radius = 0});
        d.text(x + 22, 94, what, {.anchor = "start"});
        x += what == std::string("sign") ? 70 : 95;
    }
    const auto block = [&](const char* name, double width, const char* size) {
        d.text(100, y + 12, name, {.size = 14, .anchor = "end"});
        d.box(110, y, 24, 24, "d", {.fill = exponent, .stroke = {"#777", 1, false}, .radius = 0});
        for (int i = 0; i < 32; ++i)
            d.box(134 + width * i, y, width, 24, "",
                  {.fill = fraction, .stroke = {"#777", 1, false}, .radius = 0});
        d.text(134 + 32 * width + 10, y + 12, size, {.anchor = "start"});
        y += 36;
    };
    y += 30;
    d.text(110, y - 14, "a block of 32 weights: a scale d in float16, and 32 whole numbers q",
           {.anchor = "start"});
    block("Q8_0", 12, "34 bytes");
    block("Q4_0", 6, "18 bytes");
    return d.svg();
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    set_num_threads(1);  // the operations are too small to share among threads
    chapter.section("The trained model");
    const Corpus corpus(tale);
    lm::GPT model = new_model(corpus);
    const Trained result = train(model, corpus);
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
    chapter.section("Half the bits");
    formats_drawn();
    std::printf("\n");
    rounding_drawn();
    std::printf("\n");
    where_halves_fail();
    chapter.section("Blocks");
    const Tensor weights = some_weights(model, corpus);  // (1, 32)
    blocks_drawn(weights);
    std::printf("\n");
    block_errors(weights);
    chapter.section("The model in every format");
    every_format(model, corpus);
    packed_is_widened(model, corpus);
    chapter.section("Break it: a character that is read twice");
    break_it(model, corpus);

    chapter.figure("16_writing", writing_figure(model, corpus));
    chapter.figure("16_cache", cache_figure());
    chapter.figure("16_bits", bits_figure());
}
