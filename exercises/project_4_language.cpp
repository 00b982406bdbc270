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
LanguageModel train_language_model(const std::string& text, std::uint64_t seed) { return blank(); }
