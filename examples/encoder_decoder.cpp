// From toy English to toy French: an encoder reads a sentence, and a decoder writes the translation word by
// word, attending to the sentence through cross-attention. A tenth of the 57,600 sentences is never trained on,
// and the model has to translate a thousand of those. For one of them its attention is printed, and drawn on
// request: most of it is on the word being translated, even where the word order differs. (Dropout causes that.
// Without it, the encoder may reorder the words itself, and the decoder just reads them from left to right.)
//
//     encoder_decoder [--steps N] [--svg FILE]
//
// B batch, S words read, T words written, V French words, C = d_model, H heads.
#include <algorithm>
#include <cstdio>

#include "settings.h"
#include "toy_french.h"

using namespace weft;

namespace {

constexpr std::int64_t B = 64, C = 32, num_heads = 2;

struct Translator : nn::Module {
    std::int64_t english_words, french_words;
    nn::Embedding english = register_module("english", nn::Embedding(english_words, C));
    nn::Embedding french = register_module("french", nn::Embedding(french_words, C));
    nn::Embedding place = register_module("place", nn::Embedding(toy::longest, C));
    nn::EncoderBlock encoder = register_module("encoder", nn::EncoderBlock(C, num_heads, {.dropout = 0.1}));
    nn::LayerNorm encoded = register_module("encoded", nn::LayerNorm(C));
    nn::DecoderBlock decoder = register_module("decoder", nn::DecoderBlock(C, num_heads, {.dropout = 0.1}));
    nn::LayerNorm decoded = register_module("decoded", nn::LayerNorm(C));
    nn::Linear head = register_module("head", nn::Linear(C, french_words));

    explicit Translator(const toy::Languages& languages)
        : english_words(std::ssize(languages.english.words)),
          french_words(std::ssize(languages.french.words)) {}

    Tensor encode(const Tensor& ids, const Mask& padding) const {    // (B, S)
        const Tensor x = english(ids) + place(arange(ids.size(1)));  // (B, S, C) + (S, C)
        return encoded(encoder(x, padding));                         // (B, S, C)
    }
    Tensor decode(const Tensor& ids, const Tensor& memory, const Mask& padding) const {  // (B, T), (B, S, C)
        const Tensor x = french(ids) + place(arange(ids.size(1)));                       // (B, T, C) + (T, C)
        return head(decoded(decoder(x, memory, padding)));                               // (B, T, V)
    }

    // Greedy: always the most likely next word. (B, S) → (B, longest)
    Tensor translate(const toy::Batch& batch) const {
        const Mask padding = Mask::padding(batch.lengths);
        const Tensor memory = encode(batch.english, padding);  // (B, S, C)
        Tensor ids = full({batch.english.size(0), 1}, toy::Languages::begin, int64);
        for (std::int64_t t = 0; t < toy::longest; ++t) {
            const Tensor next = decode(ids, memory, padding).select(1, t);  // (B, V)
            ids = cat({ids, argmax(next, -1, keepdim)}, 1);                 // (B, t + 2)
        }
        return ids.slice(1, 1, toy::longest + 1);
    }
};

Tensor loss_of(const Translator& model, const toy::Batch& batch) {
    const Mask padding = Mask::padding(batch.lengths);
    const Tensor memory = model.encode(batch.english, padding);  // (B, S, C)
    // Teacher forcing: the decoder is given the true preceding words, whatever the model would have written.
    return cross_entropy(model.decode(batch.french, memory, padding), batch.next);  // (B, T, V), (B, T) → ()
}

// Draws `count` of the numbers.
std::vector<std::int64_t> drawn(std::int64_t count, const std::vector<std::int64_t>& numbers, Rng& rng) {
    std::vector<std::int64_t> some;
    while (std::ssize(some) < count) some.push_back(numbers[rng.randint(0, std::ssize(numbers))]);
    return some;
}

}  // namespace

int main(int argc, char** argv) try {
    const auto settings = read_settings(argc, argv, "encoder_decoder", {.steps = 300}, true);
    if (!settings) return 2;
    set_num_threads(1);  // the operations are too small to share among threads
    manual_seed(1);
    Rng& rng = default_rng();
    std::vector<std::int64_t> seen, test_set;
    for (std::int64_t n = 0; n < toy::sentences; ++n) (rng.uniform() < 0.1 ? test_set : seen).push_back(n);

    toy::Languages languages;
    Translator model(languages);
    optim::AdamW optimizer(model, {.weight_decay = 0});
    const optim::CosineOptions schedule{.lr = 5e-3, .warmup_steps = 20, .steps = settings->steps};
    const auto loss_of_a_batch = [&] { return loss_of(model, languages.batch(drawn(B, seen, rng))); };
    training::minimise(optimizer, settings->steps, loss_of_a_batch, {.schedule = schedule});

    const NoGrad off;
    model.eval();
    const std::vector<std::int64_t> asked = drawn(1000, test_set, rng);
    const Tensor written = model.translate(languages.batch(asked));  // (1000, longest)
    int right = 0;
    std::int64_t shown = asked[0];  // ends up as the last sentence of seven words
    std::printf("\n");
    for (std::size_t i = 0; i < asked.size(); ++i) {
        const toy::Pair pair = toy::sentence(asked[i]);
        const toy::Words french = languages.words(written[i]);
        if (french == pair.french) ++right;
        if (pair.english.size() == 7) shown = asked[i];
        if (i < 5) std::printf("%-38s %s\n", toy::joined(pair.english).c_str(), toy::joined(french).c_str());
    }
    const double accuracy = static_cast<double>(right) / static_cast<double>(asked.size());
    std::printf("%.1f %% of %zu sentences never trained on are translated without a mistake\n", 100 * accuracy,
                asked.size());

    // The attention of each French word while it was written; cross-attention is the last of the run.
    const toy::Pair pair = toy::sentence(shown);
    const toy::Batch one = languages.batch({shown});
    const auto run = [&](const Tensor& english) {
        return model.decode(one.french.slice(1, 0, 7), model.encode(english, {}), {});
    };
    const Tensor weights = viz::attention_weights(run, one.english.slice(1, 0, 7)).back();  // (1, H, T, S)
    const viz::MapOptions map{
        .queries = pair.french, .keys = pair.english, .title = toy::joined(pair.english), .wide = true};
    std::printf("\n%s\n", viz::attention_text(weights, map).c_str());
    if (!settings->svg.empty()) io::save_text(settings->svg, viz::attention_grid_svg({weights}, map));
    const Tensor from = from_vector(pair.from, {1, 1, 7, 1}).expand({1, num_heads, 7, 1});
    std::printf("mean weight on the word that is translated: %.2f\n", mean(gather(weights, -1, from)).item());

    if (accuracy < 0.99) std::printf("not learned: fewer than 99 %% of the sentences\n");
    return accuracy < 0.99 ? 1 : 0;
} catch (const Error& error) {
    std::fprintf(stderr, "encoder_decoder: %s\n", error.what());
    return 1;
}
