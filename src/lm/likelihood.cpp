#include "weft/lm/likelihood.h"

#include "weft/core/grad_mode.h"
#include "weft/ops.h"

namespace weft::lm {

Likelihood log_likelihood(const LanguageModel& model, const text::Ids& ids,
                          std::optional<std::int64_t> given_window, std::optional<std::int64_t> given_stride) {
    const auto n = static_cast<std::int64_t>(ids.size());
    if (n < 2)
        throw ValueError("log_likelihood: ", n, " tokens; the first is given, so there must be two or more");
    const std::int64_t window = given_window.value_or(model.context_length());
    if (window < 2 || window > model.context_length())
        throw ValueError("log_likelihood: a window of ", window, " tokens; use 2 to ", model.context_length(),
                         ", the model's context");
    const std::int64_t stride = given_stride.value_or(window / 2);
    if (stride < 1 || stride >= window)
        throw ValueError("log_likelihood: a stride of ", stride, " tokens; use 1 to ", window - 1,
                         ", so that windows overlap");
    const NoGrad off;
    const nn::EvalMode eval;
    const Tensor all = from_vector(ids, {1, n});
    Likelihood found;
    for (std::int64_t begin = 0, counted = 1; counted < n; begin += stride) {
        const std::int64_t end = std::min(begin + window, n);
        const Tensor logits =
            model(all.slice(1, begin, end - 1)).slice(1, counted - 1 - begin, end - 1 - begin);
        const Tensor targets = all.slice(1, counted, end);  // (1, end − counted)
        const Tensor of_tokens = log_softmax(logits.to(float64), -1).gather(2, targets.unsqueeze(2));
        found.nats -= sum(of_tokens).item();
        found.tokens += end - counted;
        counted = end;
    }
    return found;
}

}  // namespace weft::lm
