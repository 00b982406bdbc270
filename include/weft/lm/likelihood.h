// How well a model predicts a text. V vocabulary.
#pragma once

#include <optional>

#include "weft/lm/language_model.h"
#include "weft/text/tokenizer.h"

namespace weft::lm {

// What log_likelihood found.
struct Likelihood {
    double nats = 0;          // −Σ ln p(token | those before it)
    std::int64_t tokens = 0;  // the terms of the sum: the first id has none
    // The mean, and the perplexity e^mean (Jelinek et al., 1977).
    double mean() const { return nats / static_cast<double>(tokens); }
};

// The negative log-likelihood of a text's tokens after the first, each given those before it. A text longer
// than `window` tokens [the model's context] is read in windows that begin `stride` tokens apart [half of the
// window]: each token is counted once, with the most tokens before it that a window has. Runs in evaluation
// mode and under NoGrad.
//
//     const lm::Likelihood found = lm::log_likelihood(model, {1, 2, 0, 1});  // found.tokens is 3
//     const double perplexity = std::exp(found.mean());
//
// ValueError for fewer than two ids, a window that is below 2 or above the context, or a stride outside 1 …
// window − 1; IndexError for an id out of range.
Likelihood log_likelihood(const LanguageModel& model, const text::Ids& ids,
                          std::optional<std::int64_t> window = {}, std::optional<std::int64_t> stride = {});

}  // namespace weft::lm
