// A refusal as a test states it: the type of the exception, words of its message, what must be afterwards as it
// was, and the call.
#pragma once

#include <algorithm>
#include <functional>

#include "catch.h"

// What can be seen of some objects, as text; watch() in unchanged.h makes it.
using State = std::function<std::string()>;

// Whether the words occur in the text, in their order, whatever stands for each ….
inline bool occurs(const std::string& pattern, const std::string& text) {
    static const std::string gap = "…";
    std::size_t at = 0;
    for (std::size_t begin = 0; begin <= pattern.size();) {
        const std::size_t end = std::min(pattern.find(gap, begin), pattern.size());
        std::string words = pattern.substr(begin, end - begin);
        words.erase(0, words.find_first_not_of(' '));
        words.erase(words.find_last_not_of(' ') + 1);
        at = text.find(words, at);
        if (at == std::string::npos) return false;
        at += words.size();
        begin = end + gap.size();
    }
    return true;
}

// The action throws exactly an E whose message has the words.
template <class E>
void refuses(const std::string& words, const std::function<void()>& action) {
    INFO(words);
    const std::string message = message_of<E>(action);
    INFO(message);
    CHECK(occurs(words, message));
}

// And the state is afterwards what it was.
template <class E>
void refuses(const std::string& words, const State& state, const std::function<void()>& action) {
    const std::string before = state();
    refuses<E>(words, action);
    INFO(words);
    const bool is_unchanged = state() == before;  // the text is long, and need not be UTF-8
    CHECK(is_unchanged);
}
