#include "growth.h"

namespace {

using namespace growth;

// A model that takes no time, and one id after another.
lm::GPT small_gpt(std::int64_t vocab_size) {
    Rng rng(1);
    return lm::GPT({.vocab_size = vocab_size, .block_size = 4, .num_layers = 1, .num_heads = 1, .d_model = 4},
                   rng);
}

std::function<void()> generated(std::int64_t n, const std::string& stop) {
    return [n, stop, model = small_gpt(256)] {
        Rng rng(1);
        std::string seen;
        lm::GenerateTextOptions options{.generate = {.max_new_tokens = n, .sampling = {.rng = &rng}},
                                        .stop = stop};
        options.write = [&](const std::string& part) { return seen += part, true; };
        (void)lm::generate_text(model, text::Bytes(), "a", options);
    };
}

const text::BytePairs& pairs() {
    static const text::BytePairs tokenizer = text::BytePairs::train(words(3000), 600);
    return tokenizer;
}

text::PreTrainedTokenizer pre_trained() {
    io::save_text(scratch("tokenizer.json"),
                  R"({"model": {"vocab": {"a": 0, "aa": 1, "aaaa": 2, "Ì": 3, "e": 4},
        "merges": ["a a", "aa aa"]}, "normalizer": {"type": "NFC"}, "pre_tokenizer": {"type": "ByteLevel"},
        "decoder": {"type": "ByteLevel"}, "added_tokens": [{"id": 5, "content": "<end>"}]})");
    return text::PreTrainedTokenizer::load(scratch("tokenizer.json"));
}

}  // namespace

std::vector<growth::Case> growth::texts() {
    return {
        {"Characters: encode and decode", 1000,
         [](auto n) {
             return [text = words(n)] {
                 const text::Characters tokenizer(text);
                 (void)tokenizer.decode(tokenizer.encode(text));
             };
         }},
        {"Characters: vocabulary", 2000,
         [](auto n) {
             std::string text;
             for (std::int64_t i = 0; i < n; ++i) append_utf8(text, static_cast<char32_t>(0x4E00 + i));
             return [text] {
                 const text::Characters tokenizer(text);
                 (void)tokenizer.decode(tokenizer.encode(tokenizer.vocabulary()));
             };
         }},
        {"Bytes: encode and decode", 4000,
         [](auto n) { return [text = words(n)] { (void)text::Bytes().decode(text::Bytes().encode(text)); }; }},
        {"PreTrainedTokenizer: encode and decode", 2000,
         [](auto n) {
             const auto tokenizer = pre_trained();
             return [tokenizer, text = words(n)] { (void)tokenizer.decode(tokenizer.encode(text)); };
         }},
        {"PreTrainedTokenizer: encode a long word", 2000,
         [](auto n) {
             const auto tokenizer = pre_trained();
             return [tokenizer, text = std::string(static_cast<std::size_t>(n), 'a')] {
                 (void)tokenizer.encode(text);
             };
         }},
        {"PreTrainedTokenizer: encode marks out of order", 2000,
         [](auto n) {
             const auto tokenizer = pre_trained();
             std::string text;
             for (std::int64_t i = 0; i < n; ++i) text += i % 2 == 0 ? "\u0301" : "\u0316";
             return [tokenizer, text] { (void)tokenizer.encode(text); };
         }},
        {"BytePairs: train, words", 500,
         [](auto n) { return [text = words(n)] { (void)text::BytePairs::train(text, 400); }; }},
        {"BytePairs: train, a long word", 500,
         [](auto n) {
             std::string text = words(n);
             std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
             return [text] { (void)text::BytePairs::train(text, 400); };
         }},
        {"BytePairs: train, merges", 200,
         [](auto n) { return [n, text = words(4000)] { (void)text::BytePairs::train(text, 257 + n, 1); }; }},
        {"BytePairs: encode and decode", 2000,
         [](auto n) { return [text = words(n)] { (void)pairs().decode(pairs().encode(text)); }; }},
        {"BytePairs: encode, a long word", 2000,
         [](auto n) {
             std::string text = words(n);
             std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
             return [text] { (void)pairs().encode(text); };
         }},
        {"BytePairs: encode, one letter", 8000,
         [](auto n) {
             return [text = std::string(static_cast<std::size_t>(n), 'a')] { (void)pairs().encode(text); };
         }},
        {"BytePairs: encode, special tokens", 500,
         [](auto n) {
             std::string text;
             for (std::int64_t i = 0; i < n; ++i) text += "a<|endoftext|>";
             return [text] { (void)pairs().encode(text); };
         }},
        {"Utf8Stream: pieces", 5000,
         [](auto n) {
             return [n] {
                 text::Utf8Stream stream;
                 for (std::int64_t i = 0; i < n; ++i) (void)stream.push(i % 2 == 0 ? "\xC3" : "\xA9");
                 (void)stream.finish();
             };
         }},
        {"Utf8Stream: a piece", 5000,
         [](auto n) {
             return [text = std::string(static_cast<std::size_t>(n), '\xC3')] {
                 (void)text::Utf8Stream().push(text);
             };
         }},
        {"is_utf8, excerpt", 5000,
         [](auto n) {
             return [text = words(n)] {
                 (void)is_utf8(text);
                 (void)excerpt(text, text.size());
             };
         }},
        {"generate: tokens", 50,
         [](auto n) {
             return [n, model = small_gpt(16)] {
                 Rng rng(1);
                 (void)lm::generate(model, {1}, {.max_new_tokens = n, .sampling = {.rng = &rng}});
             };
         }},
        {"generate: prompt", 20000,
         [](auto n) {
             return [model = small_gpt(16), ids = text::Ids(static_cast<std::size_t>(n), 1)] {
                 (void)lm::generate(model, ids, {.max_new_tokens = 1, .sampling = {.temperature = 0}});
             };
         }},
        {"generate_text: tokens", 50, [](auto n) { return generated(n, ""); }},
        {"generate_text: tokens and stop text", 50,
         [](auto n) { return generated(n, std::string(static_cast<std::size_t>(100 * n), 'x')); }},
        {"sample: vocabulary", 5000,
         [](auto n) {
             return [x = rand({n})] {
                 Rng rng(1);
                 (void)lm::sample(x, {.top_k = 100, .rng = &rng, .top_p = 0.9});
             };
         }},
        {"Corpus: ids", 20000,
         [](auto n) {
             return [ids = text::Ids(static_cast<std::size_t>(n), 1)] {
                 training::Corpus corpus(ids, {.block_size = 8, .batch_size = 4});
                 (void)corpus.training_batch(0);
                 (void)corpus.validation_batches();
             };
         }},
        {"Corpus: batches of a pass", 2000,
         [](auto n) {
             return [n, ids = text::Ids(static_cast<std::size_t>(n), 1)] {
                 training::Corpus corpus(ids, {.block_size = 4, .batch_size = 4});
                 for (std::int64_t step = 0; step < n / 20; ++step) (void)corpus.training_batch(step);
             };
         }},
        {"DataLoader: samples", 500,
         [](auto n) {
             return [n] {
                 const training::TensorDataset data(ones({n, 2}), ones({n}));
                 for (const auto& [x, y] : training::DataLoader(data, {.batch_size = 4, .shuffle = true}))
                     (void)x;
             };
         }},
        {"pad_sequence: sequences", 500,
         [](auto n) {
             return [all = std::vector(static_cast<std::size_t>(n), ones({3}))] {
                 (void)training::pad_sequence(all);
             };
         }},
    };
}
