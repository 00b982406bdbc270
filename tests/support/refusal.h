// A table of refusals: words of the message, and what is refused.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "catch.h"

struct Refusal {
    std::string words;
    std::function<void()> action;
};

template <class E>
void check_refusals(const std::vector<Refusal>& refusals) {
    for (const Refusal& refusal : refusals) {
        INFO(refusal.words);
        const std::string message = message_of<E>(refusal.action);
        INFO(message);
        CHECK(contains(message, refusal.words));
    }
}
