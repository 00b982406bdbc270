// Toy English and French sentences, for encoder_decoder. A dictionary is not enough: French determiners and
// adjectives agree with the gender of a noun that comes later, and all adjectives except petit follow it.
#pragma once

#include <weft/weft.h>

#include <algorithm>
#include <array>

namespace toy {

using Words = std::vector<std::string>;

struct Entry {
    std::string english, masculine, feminine;  // a noun has only one of the two
};
inline const std::array<Entry, 4> determiners = {
    {{"the", "le", "la"}, {"a", "un", "une"}, {"my", "mon", "ma"}, {"this", "ce", "cette"}}};
inline const std::array<Entry, 5> adjectives = {{{"", "", ""},  // none
                                                 {"little", "petit", "petite"},
                                                 {"white", "blanc", "blanche"},
                                                 {"green", "vert", "verte"},
                                                 {"black", "noir", "noire"}}};
inline const std::array<Entry, 6> nouns = {{{"cat", "chat", ""},
                                            {"dog", "chien", ""},
                                            {"wolf", "loup", ""},
                                            {"cow", "", "vache"},
                                            {"mouse", "", "souris"},
                                            {"frog", "", "grenouille"}}};
inline const std::array<Entry, 4> verbs = {
    {{"sees", "voit", ""}, {"hears", "entend", ""}, {"follows", "suit", ""}, {"knows", "connaît", ""}}};

struct Pair {
    Words english, french;
    std::vector<std::int64_t> from;  // for each French word the position of the English word it translates
};
inline constexpr std::int64_t sentences = 120 * 4 * 120;  // phrase verb phrase
inline constexpr std::int64_t longest = 8;                // seven words and, in French, an end token

// Chooses an entry by the lowest digit of n, and removes that digit.
template <std::size_t N>
const Entry& take(const std::array<Entry, N>& entries, std::int64_t& n) {
    const Entry& entry = entries[static_cast<std::size_t>(n) % N];
    n /= N;
    return entry;
}

// Adds a determiner, maybe an adjective, and a noun.
inline void add_phrase(Pair& pair, std::int64_t& n) {
    const Entry &determiner = take(determiners, n), &adjective = take(adjectives, n), &noun = take(nouns, n);
    const auto french = [&](const Entry& e) { return noun.masculine.empty() ? e.feminine : e.masculine; };
    const std::int64_t start = std::ssize(pair.english);
    pair.english.push_back(determiner.english), pair.french.push_back(french(determiner));
    pair.from.push_back(start);
    if (adjective.english.empty()) {
        pair.english.push_back(noun.english), pair.french.push_back(french(noun));
        pair.from.push_back(start + 1);
        return;
    }
    const bool before = adjective.english == "little";
    pair.english.insert(pair.english.end(), {adjective.english, noun.english});
    pair.french.insert(pair.french.end(),
                       {french(before ? adjective : noun), french(before ? noun : adjective)});
    pair.from.insert(pair.from.end(), {start + (before ? 1 : 2), start + (before ? 2 : 1)});
}

// Sentence n.
inline Pair sentence(std::int64_t n) {
    Pair pair;
    add_phrase(pair, n);
    const Entry& verb = take(verbs, n);
    pair.from.push_back(std::ssize(pair.english));
    pair.english.push_back(verb.english), pair.french.push_back(verb.masculine);
    add_phrase(pair, n);
    return pair;
}

// Words have ids in the order in which they first occur.
struct Vocabulary {
    Words words = {};
    std::int64_t id(const std::string& word) {
        const auto at = std::find(words.begin(), words.end(), word);
        const std::int64_t found = at - words.begin();
        if (at == words.end()) words.push_back(word);
        return found;
    }
};

struct Batch {
    weft::Tensor english;               // (B, longest), padded with word 0
    std::vector<std::int64_t> lengths;  // (B,), of the English sentences
    weft::Tensor french, next;          // (B, longest): begin and the words; the words and end, then −100
};

struct Languages {
    static constexpr std::int64_t begin = 0, end = 1;
    Vocabulary english, french{{"<begin>", "<end>"}};

    Languages() {
        for (std::int64_t n = 0; n < sentences; n += 7) batch({n});  // so that every word has an id
    }

    Batch batch(const std::vector<std::int64_t>& numbers) {
        std::vector<std::int64_t> read, lengths, written, next;
        for (const std::int64_t number : numbers) {
            const Pair pair = sentence(number);
            written.push_back(begin);
            for (const std::string& word : pair.english) read.push_back(english.id(word));
            for (const std::string& word : pair.french) written.push_back(french.id(word));
            for (const std::string& word : pair.french) next.push_back(french.id(word));
            next.push_back(end);
            lengths.push_back(std::ssize(pair.english));
            const std::size_t full = lengths.size() * longest;
            read.resize(full, 0), written.resize(full, end), next.resize(full, -100);
        }
        const weft::Shape shape{std::ssize(numbers), longest};
        return {from_vector(read, shape), lengths, from_vector(written, shape), from_vector(next, shape)};
    }

    // ids (T,) of French words, up to the end.
    Words words(const weft::Tensor& ids) const {
        Words found;
        for (const std::int64_t id : ids.to_vector<std::int64_t>()) {
            if (id == end) break;
            found.push_back(french.words.at(static_cast<std::size_t>(id)));
        }
        return found;
    }
};

inline std::string joined(const Words& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

}  // namespace toy
