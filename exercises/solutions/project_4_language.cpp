// Project 4, after chapters 14 to 17: a small language, learned from its text alone.
//
//     make exercise PROJECT=4          runs the acceptance tests; make hint PROJECT=4 helps
//
// The tests make up a text of sentences such as
//
//     the old cat sees two mice. a dog hears the small birds. three dogs chase the cat.
//
// in a language of a few dozen words, in which the verb agrees with its subject. Nothing tells the model about
// words or about grammar: it reads characters. Train a GPT on the text, with a tokeniser of its characters, and
// return three things: how likely the model finds a text, what it writes after a prompt, and the losses of its
// training.
//
// The model must
//
//   - have a loss on new text of the language that is less than half the loss of a model that knows how often
//     each pair of characters occurs (the tests count them);
//   - give all characters that may come next probabilities that sum to 1, so that its loss means something;
//   - count each character after the first once, even in texts that are longer than its block;
//   - write words of the language: at least 95 of 100 of those that it writes at a temperature of 0.5;
//   - make the verb agree with its subject in at least 90 of 100 sentences that it writes;
//   - train in less than a minute. A width of 64 and two blocks are enough.
//
// When the tests pass, train it on a text of your own with `make train TEXT=…`, and look at its heads as in
// chapter 17: is there one that attends from the verb back to the subject?
#include "exercise.h"

struct LanguageModel {
    // The mean of −ln p over all characters of a text but the first. Each is predicted from those before it, of
    // which the model sees as many as its block allows. The text has at least two characters.
    std::function<double(const std::string& text)> loss;
    // `length` characters that follow the prompt, drawn at this temperature with this seed.
    std::function<std::string(const std::string& prompt, int length, double temperature, std::uint64_t seed)>
        write;
    std::vector<double> losses;  // of the training, each from before its step
};

// Trains on this text; `seed` decides on the initial values and the batches.
LanguageModel train_language_model(const std::string& text, std::uint64_t seed) {
    constexpr std::int64_t T = 48, B = 16;
    const auto tokenizer = std::make_shared<text::Characters>(text);
    const Tensor ids = from_vector(tokenizer->encode(text));  // (N,)
    Rng rng(seed);
    const lm::GPTConfig config = {
        .vocab_size = tokenizer->vocab_size(), .block_size = T, .num_layers = 2, .num_heads = 4, .d_model = 64};
    const auto model = std::make_shared<lm::GPT>(config, rng);
    optim::AdamW optimizer(*model, {.lr = 3e-3});
    LanguageModel result;
    constexpr int steps = 700;
    for (int step = 0; step < steps; ++step) {
        std::vector<Tensor> inputs, targets;  // (T,) each
        for (const std::int64_t start : randint(0, ids.size(0) - T, {B}, rng).to_vector<std::int64_t>()) {
            inputs.push_back(ids.slice(0, start, start + T));
            targets.push_back(ids.slice(0, start + 1, start + T + 1));
        }
        optimizer.set_lr(optim::cosine_lr(step, {.lr = 3e-3, .warmup_steps = 20, .steps = steps}));
        optimizer.zero_grad();
        const Tensor loss = cross_entropy((*model)(stack(inputs)), stack(targets));
        loss.backward();
        optim::clip_grad_norm(*model, 1.0);
        optimizer.step();
        result.losses.push_back(loss.item());
    }
    result.loss = [=](const std::string& of) {
        const NoGrad off;
        const Tensor all = from_vector(tokenizer->encode(of));  // (N,)
        const std::int64_t last = all.size(0) - 1;
        double total = 0;
        for (std::int64_t from = 0; from < last; from += T / 2) {  // half of a block is context
            const std::int64_t to = std::min(from + T / 2, last), start = std::max<std::int64_t>(0, to - T);
            const Tensor logits = (*model)(all.slice(0, start, to));  // (to − start, V)
            total += cross_entropy(logits.slice(0, from - start, to - start), all.slice(0, from + 1, to + 1))
                         .item() *
                     static_cast<double>(to - from);
        }
        return total / static_cast<double>(last);
    };
    result.write = [=](const std::string& prompt, int length, double temperature, std::uint64_t drawn) {
        Rng chance(drawn);
        return tokenizer->decode(
            lm::generate(*model, tokenizer->encode(prompt),
                         {.max_new_tokens = length, .sampling = {.temperature = temperature, .rng = &chance}}));
    };
    return result;
}
