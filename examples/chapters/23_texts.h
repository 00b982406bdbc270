// The texts of chapter 23, in which a thing goes from hand to hand. B texts of T + 1 words.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "weft/weft.h"

using namespace weft;

constexpr std::int64_t T = 32;

inline const std::vector<std::string> words = {".",    "the",  "to",   "then", "gave", "lent",
                                               "sold", "red",  "blue", "old",  "ball", "book",
                                               "kite", "drum", "ann",  "ben",  "cleo", "dan"};
enum Word : std::int64_t {
    stop,
    the,
    to,
    then,
    verbs,
    colours = 7,
    things = 10,
    names = 14,
    end_of_words = 18
};

struct Texts {
    Tensor ids;                      // (B, T + 1)
    double best = 0, forgetful = 0;  // losses of two readers who know the rules, in nats a word
};

// Texts in which a thing goes from hand to hand: who got it gives it away next.
inline Texts texts(std::int64_t count, Rng& rng) {
    std::vector<std::int64_t> all;
    double best = 0, forgetful = 0;
    for (std::int64_t b = 0; b < count; ++b) {
        std::vector<std::int64_t> text;
        bool known = false;  // whether the text has told who gives and what
        // One of `choices` equally likely words, of `untold` times as many if the sentences before are
        // forgotten.
        const auto say = [&](std::int64_t word, int choices, int untold = 1) {
            if (!text.empty() && std::ssize(text) <= T) {
                best += std::log(choices * (known ? 1 : untold));
                forgetful += std::log(choices * untold);
            }
            text.push_back(word);
        };
        const std::int64_t colour = rng.randint(colours, things), thing = rng.randint(things, names);
        std::int64_t giver = rng.randint(names, end_of_words);
        while (std::ssize(text) <= T) {
            const bool later = rng.randint(0, 2) == 1, coloured = rng.randint(0, 2) == 1;
            std::int64_t receiver = rng.randint(names, end_of_words - 1);
            receiver += receiver >= giver;  // another one
            if (later) say(then, 2);
            say(giver, later ? 1 : 2, 4);
            say(rng.randint(verbs, colours), 3);
            say(the, 1);
            if (coloured) say(colour, 2, 3);
            say(thing, coloured ? 1 : 2, 4);
            say(to, 1);
            say(receiver, 3);
            say(stop, 1);
            giver = receiver, known = true;
        }
        all.insert(all.end(), text.begin(), text.begin() + T + 1);
    }
    const auto terms = static_cast<double>(count * T);
    return {from_vector(all, {count, T + 1}), best / terms, forgetful / terms};
}

inline std::string in_words(const text::Ids& ids) {
    std::string line;
    for (const std::int64_t id : ids) line += (line.empty() ? "" : " ") + words[static_cast<std::size_t>(id)];
    return line;
}
