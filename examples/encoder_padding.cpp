// Does the first letter of a word occur again? Words of different lengths share a batch, and shorter ones are
// padded with random letters. Mask::padding(lengths) hides the padding from attention, and the mean over a word
// leaves it out, so neither the content nor the amount of padding changes an answer.
//
//     encoder_padding [--steps N]
//
// B batch, T letters including padding, V letters in the alphabet, C = d_model.
#include <weft/weft.h>

#include <algorithm>
#include <cstdio>

#include "settings.h"

using namespace weft;

namespace {

constexpr std::int64_t B = 64, V = 10, C = 32, num_heads = 2, shortest = 3, longest = 12, room = 20;

struct Words {
    Tensor letters;                     // (B, T)
    std::vector<std::int64_t> lengths;  // (B,)
    Tensor again;                       // (B,): 1 if the first letter occurs again, else 0
};

// In half of the words the first letter occurs again, at a random position.
Words words(std::int64_t count, Rng& rng) {
    std::vector<std::int64_t> letters, lengths, again;
    for (std::int64_t b = 0; b < count; ++b) {
        std::vector<std::int64_t> word{rng.randint(0, V)};
        const std::int64_t length = rng.randint(shortest, longest + 1);
        while (std::ssize(word) < length)
            word.push_back((word[0] + rng.randint(1, V)) % V);  // any but the first
        again.push_back(rng.randint(0, 2));
        if (again[b]) word[rng.randint(1, length)] = word[0];
        while (std::ssize(word) < longest) word.push_back(rng.randint(0, V));  // padding
        letters.insert(letters.end(), word.begin(), word.end());
        lengths.push_back(length);
    }
    return {from_vector(letters, {count, longest}), lengths, from_vector(again, {count})};
}

struct Encoder : nn::Module {
    nn::Embedding letter_embedding = register_module("letter_embedding", nn::Embedding(V, C));
    nn::Embedding place_embedding = register_module("place_embedding", nn::Embedding(room, C));
    nn::EncoderBlock block = register_module("block", nn::EncoderBlock(C, num_heads));
    nn::LayerNorm norm = register_module("norm", nn::LayerNorm(C));
    nn::Linear answer = register_module("answer", nn::Linear(C, 2));

    Tensor operator()(const Tensor& letters, const std::vector<std::int64_t>& lengths, const Mask& mask) const {
        const std::int64_t n = letters.size(0), T = letters.size(1);
        Tensor x = letter_embedding(letters) + place_embedding(arange(T));  // (B, T, C) + (T, C)
        x = norm(block(x, mask));                                           // (B, T, C)
        const Tensor length = from_vector(lengths, {n, 1});                 // (B, 1)
        const Tensor real = (arange(T) < length).to(float32);  // (B, T): 1 in the word, 0 in the padding
        const Tensor mean = sum(x * real.unsqueeze(-1), 1) / length.to(float32);  // (B, C)
        return answer(mean);                                                      // (B, 2)
    }
};

}  // namespace

int main(int argc, char** argv) try {
    const auto settings = read_settings(argc, argv, "encoder_padding", {.steps = 600});
    if (!settings) return 2;
    set_num_threads(1);  // the operations are too small to share among threads
    manual_seed(1);
    Rng& rng = default_rng();
    Encoder model;
    optim::AdamW optimizer(model, {.weight_decay = 0});
    const auto loss_of_a_batch = [&] {
        const Words batch = words(B, rng);
        return cross_entropy(model(batch.letters, batch.lengths, Mask::padding(batch.lengths)), batch.again);
    };
    const optim::CosineOptions schedule{.lr = 5e-3, .warmup_steps = 20, .steps = settings->steps};
    training::minimise(optimizer, settings->steps, loss_of_a_batch, {.schedule = schedule, .print_every = 100});

    const NoGrad off;
    const std::int64_t count = 2000;
    const Words asked = words(count, rng);
    const Tensor& letters = asked.letters;  // (count, longest)
    const std::vector<std::int64_t>& lengths = asked.lengths;
    const Tensor logits = model(letters, lengths, Mask::padding(lengths));  // (count, 2)
    const Tensor answers = argmax(logits, -1);                              // (count,)
    const double accuracy = sum((answers == asked.again).to(float32)).item() / count;
    std::printf("\n");
    for (std::int64_t b = 0; b < 6; ++b) {
        std::string word;
        for (std::int64_t t = 0; t < lengths[b]; ++t)
            word += static_cast<char>('a' + static_cast<int>(letters.at({b, t})));
        std::printf("%-12s  %s\n", word.c_str(),
                    answers.at({b}) == 1 ? "its first letter comes again" : "does not come again");
    }
    std::printf("accuracy on %lld new words of %lld to %lld letters: %.1f %%\n", 1LL * count, 1LL * shortest,
                1LL * longest, 100 * accuracy);

    // The same words with eight more letters of padding.
    const Tensor longer = cat({letters, randint(0, V, {count, room - longest}, rng)}, 1);  // (count, room)
    const auto moved = [&](const Mask& mask) {  // the largest change of a logit
        return max(abs(model(longer, lengths, mask) - model(letters, lengths, mask))).item();
    };
    const double masked = moved(Mask::padding(lengths)), open = moved(Mask{});
    std::printf("more padding moves the logits by at most %.1e; without the mask, by up to %.2f\n", masked,
                open);

    if (accuracy < 0.99) std::printf("not learned: the accuracy is below 99 %%\n");
    if (masked > 1e-4) std::printf("padding is seen: it moves the logits\n");
    return accuracy >= 0.99 && masked <= 1e-4 ? 0 : 1;
} catch (const Error& error) {
    std::fprintf(stderr, "encoder_padding: %s\n", error.what());
    return 1;
}
