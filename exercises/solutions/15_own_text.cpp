// Exercises of chapter 15: batches of a text, perplexity, the best weights of a run, and its learning rate.
//
//     make exercise N=15          tries what you wrote; make hint N=15 helps
//
// Our solutions. The tasks are numbered as on the page. B pieces, T tokens in each, V vocabulary.
#include <cmath>

#include "exercise.h"

// 1. Predict. A text of 1000 characters is cut at random into pieces of T = 64 and their targets. At how many
// different positions can a piece start?
inline double possible_starts() {
    const std::int64_t N = 1000, T = 64;
    std::int64_t starts = 0;
    for (std::int64_t start = 0; start < N; ++start)
        if (start + T < N) ++starts;  // start + T is the last target
    return static_cast<double>(starts);
}
double prediction_of_starts() { return 936; }

// 2. Predict. A model gives the right character a probability of 1/2 in half of the cases, and of 1/8 in the
// other half. Its perplexity?
inline double perplexity_of_halves() { return std::exp(mean(-log(tensor({0.5, 0.125}, float64))).item()); }
double prediction_of_perplexity() { return 4; }

struct Batch {
    Tensor inputs, targets;  // int64 (B, T)
};

// 3. Mend. The pieces of T ids that begin at the starts, and for each id of a piece the one to be predicted
// there. ValueError, naming the start, where the text ends too early. A model that is trained with it soon has
// a loss of 0.04, and writes the same character for ever.
Batch make_batch(const Tensor& ids, const std::vector<std::int64_t>& starts, std::int64_t T) {
    std::vector<Tensor> inputs, targets;
    for (const std::int64_t start : starts) {
        if (start + T + 1 > ids.numel())
            throw ValueError("make_batch: the targets of start " + std::to_string(start) +
                             " end beyond the text");
        inputs.push_back(ids.slice(0, start, start + T));           // (T,)
        targets.push_back(ids.slice(0, start + 1, start + T + 1));  // (T,)
    }
    return {stack(inputs), stack(targets)};
}

struct Predictions {
    Tensor logits, targets;  // (B, T, V), (B, T)
};

// 4. Write. The perplexity of a model on a long text, whose predictions come in batches of different sizes:
// that of the text as a whole, not a mean of the batches' perplexities.
double perplexity(const std::vector<Predictions>& batches) {
    double total = 0;
    std::int64_t tokens = 0;
    for (const auto& [logits, targets] : batches) {
        total += cross_entropy(logits, targets).item() * static_cast<double>(targets.numel());
        tokens += targets.numel();
    }
    return std::exp(total / static_cast<double>(tokens));
}

struct Best {
    double loss = INFINITY;
    nn::NamedTensors weights;
};

// 5. Write. After each evaluation of a run: if the validation loss is lower than the one in `best`, puts it
// there, and the weights that the model has now. The run goes on, and changes the model's weights.
void keep_best(Best& best, double loss, const nn::Module& model) {
    if (!(loss < best.loss)) return;
    best.loss = loss;
    best.weights = model.state_dict();
    for (auto& [name, value] : best.weights) value = value.detach().clone();
}

// 6. Paper. A run of the steps 0 to S = 1099 warms up over w = 99 steps to a learning rate of 0.002, and falls
// to 0.0002. Enter the learning rates of the steps 49, 99, 599 and 1099. Each step reads B = 16 pieces of T =
// 64 characters, of a training text of 102400: enter last how often the run reads a character, on average.
std::vector<double> run_on_paper() { return {0.001, 0.002, 0.0011, 0.0002, 11}; }
