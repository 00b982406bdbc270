#include <cmath>
#include <set>
#include <sstream>

#include "exercise.h"
#include EXERCISE

namespace {

using Words = std::vector<std::string>;

const Words one = {"the", "a", "this", "every"}, many = {"the", "two", "three", "these"},
            adjectives = {"old", "small", "black", "quick"},
            nouns = {"cat", "dog", "bird", "fox", "horse", "mouse"},
            plurals = {"cats", "dogs", "birds", "foxes", "horses", "mice"},
            verbs = {"sees", "hears", "chases", "likes"}, plural_verbs = {"see", "hear", "chase", "like"};

const std::string& any_of(const Words& words, Rng& rng) {
    const auto i =
        static_cast<std::size_t>(randint(0, static_cast<std::int64_t>(words.size()), {1}, rng).item());
    return words[i];
}

bool chance(Rng& rng) { return randint(0, 2, {1}, rng).item() == 1; }

std::string phrase(bool plural, Rng& rng) {
    std::string text = any_of(plural ? many : one, rng) + " ";
    if (chance(rng)) text += any_of(adjectives, rng) + " ";
    return text + any_of(plural ? plurals : nouns, rng);
}

// Sentences, each with a full stop and a space after it.
std::string language(int sentences, Rng& rng) {
    std::string text;
    for (int i = 0; i < sentences; ++i) {
        const bool plural = chance(rng);
        const std::string verb = any_of(plural ? plural_verbs : verbs, rng);  // not in one expression with the
        text += phrase(plural, rng) + " " + verb + " ";  // other draws: the order would be the compiler's
        text += phrase(chance(rng), rng) + ". ";
    }
    return text;
}

// The loss on `fresh` of a model that knows how often each character follows each other one in `text`.
double loss_of_pairs(const std::string& text, const std::string& fresh) {
    std::map<char, std::map<char, double>> counts;
    std::set<char> characters(text.begin(), text.end());
    for (std::size_t i = 0; i + 1 < text.size(); ++i) ++counts[text[i]][text[i + 1]];
    double total = 0;
    for (std::size_t i = 0; i + 1 < fresh.size(); ++i) {
        double all = static_cast<double>(characters.size());
        for (const auto& [next, count] : counts[fresh[i]]) all += count;
        total -= std::log((counts[fresh[i]][fresh[i + 1]] + 1) / all);
    }
    return total / static_cast<double>(fresh.size() - 1);
}

struct Trained {
    std::string text, fresh;
    LanguageModel model;
    Trained() {
        Rng rng(4);
        text = language(1500, rng);
        fresh = language(100, rng);
        expect_within(60, "the training", [&] { model = train_language_model(text, 1); });
        expect(model.loss && model.write, "loss and write should be functions");
    }
};

// Trained once; throws what train_language_model throws.
const Trained& trained() {
    static const Trained it;
    return it;
}

// What the model writes at a temperature of 0.5, cut into whole sentences of words.
std::vector<Words> written_sentences() {
    std::vector<Words> sentences;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        const std::string text = trained().model.write("the cat sees a dog. ", 400, 0.5, seed);
        expect(text.size() == 400, "write should return as many characters as it is asked for, 400, not " +
                                       std::to_string(text.size()));
        std::istringstream words(text.substr(0, text.rfind('.') + 1));
        Words sentence;
        for (std::string word; words >> word;) {
            const bool ends = word.back() == '.';
            if (ends) word.pop_back();
            sentence.push_back(word);
            if (ends) sentences.push_back(std::exchange(sentence, {}));
        }
    }
    expect(!sentences.empty(), "the model never writes a full stop");
    return sentences;
}

bool has(const Words& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

std::string joined(const Words& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

std::string percent(double part, double all) {
    return std::to_string(static_cast<int>(100 * part / all)) + " %";
}

std::string shown(double value) {
    char text[16];
    std::snprintf(text, sizeof text, "%.3f", value);
    return text;
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "Project 4. A small language");
    exercise.accept("half the loss of pairs",
                    {"Chapter 15 has the whole loop. Does the training loss fall below 1?",
                     "Blocks of 64 characters, batches of 16, AdamW with a learning rate of 0.003 and some "
                     "hundred steps are enough.",
                     "A schedule helps: optimizer.set_lr(optim::cosine_lr(step, {.lr = 3e-3, .warmup_steps = "
                     "20, .steps = steps}))."},
                    [] {
                        const double loss = trained().model.loss(trained().fresh),
                                     pairs = loss_of_pairs(trained().text, trained().fresh);
                        expect(loss < pairs / 2, "the loss on new text is " + shown(loss) +
                                                     ", and should be less than half of " + shown(pairs));
                    });
    exercise.accept("a loss that does not cheat",
                    {"The loss of a text of n characters is a mean over n - 1 of them. Is a character ever "
                     "given to the model that it must predict?",
                     "logits at position t are compared with the character at t + 1."},
                    [] {
                        const std::string prompt = "the old cat se";
                        double total = 0;
                        const std::set<char> characters(trained().text.begin(), trained().text.end());
                        const auto n = static_cast<double>(prompt.size());
                        const double before = trained().model.loss(prompt) * (n - 1);
                        for (const char next : characters)
                            total += std::exp(before - trained().model.loss(prompt + next) * n);
                        expect_equal("the sum of the probabilities of all characters after \"" + prompt + "\"",
                                     total, 1, 1e-3);
                    });
    exercise.accept("long texts",
                    {"A text that is longer than the block is cut into windows. How many targets has each?",
                     "Windows may overlap, so that characters have context; but each target counts once."},
                    [] {
                        // Windows change what a character is predicted from, and little else.
                        const std::string text = trained().fresh.substr(0, 1200);
                        const double whole = trained().model.loss(text);
                        double total = 0;
                        for (std::size_t i = 0; i < 1200; i += 40)
                            total += trained().model.loss(text.substr(i, 41)) *
                                     (std::min<std::size_t>(i + 41, 1200) - i - 1);
                        expect_equal("the loss of 1200 characters, by comparison with pieces of 41,", whole,
                                     total / 1199, 0.35);
                        expect(whole > 0, "a loss should be above 0");
                    });
    exercise.accept(
        "words of the language",
        {"Print what it writes. Is the training long enough, and the temperature used?",
         "lm::generate divides the logits by the temperature that it is given in `sampling`."},
        [] {
            double words = 0, known = 0;
            std::string strange;
            for (const Words& sentence : written_sentences())
                for (const std::string& word : sentence) {
                    bool found = false;
                    for (const Words* list :
                         {&one, &many, &adjectives, &nouns, &plurals, &verbs, &plural_verbs})
                        found = found || has(*list, word);
                    ++words;
                    known += found;
                    if (!found) strange = word;
                }
            expect(known >= 0.95 * words,
                   percent(known, words) +
                       " of the words that it writes are words of the language, and 95 % should be; \"" +
                       strange + "\" is not");
        });
    exercise.accept(
        "the verb agrees",
        {"The verb depends on a noun some characters before. Are two blocks there, and is the loss still "
         "falling when you stop?"},
        [] {
            double right = 0, all = 0;
            std::string wrong;
            for (const Words& sentence : written_sentences()) {
                bool agrees = false;
                for (std::size_t i = 0; i + 1 < sentence.size(); ++i)
                    agrees = agrees || (has(nouns, sentence[i]) && has(verbs, sentence[i + 1])) ||
                             (has(plurals, sentence[i]) && has(plural_verbs, sentence[i + 1]));
                ++all;
                right += agrees;
                if (!agrees) wrong = joined(sentence);
            }
            expect(right >= 0.9 * all,
                   "in " + percent(right, all) +
                       " of its sentences the verb agrees with the subject, and in 90 % it should; not in \"" +
                       wrong + "\"");
        });
    return exercise.finish();
}
