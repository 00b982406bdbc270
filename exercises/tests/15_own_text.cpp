#include "exercise.h"
#include EXERCISE

namespace {

void expect_ids(const std::string& what, const Tensor& got, const Tensor& want) {
    expect(got.defined() && got.dtype() == int64, what + " should hold int64");
    expect_equal(what, got, want);
}

// A step of a run: every weight becomes `value`, in place.
void train_to(nn::Linear& layer, double value) {
    const NoGrad off;
    layer.weight.fill_(value);
    layer.bias.fill_(value);
}

// The weight (1, 2) that was kept, and the bias (1,).
void expect_kept(const std::string& when, const Best& best, double loss, double value) {
    expect_equal("the loss in `best` " + when, best.loss, loss);
    expect(best.weights.size() == 2, "`best` holds " + std::to_string(best.weights.size()) + " tensors " +
                                         when + ", and should hold the weight and the bias");
    for (const auto& [name, kept] : best.weights)
        expect_equal("the " + name + " in `best` " + when, kept, full(kept.shape(), value, float32));
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "15. Training a GPT on your own text");
    exercise.predict("prediction_of_starts", prediction_of_starts, possible_starts,
                     "A piece and its targets need 65 characters together, so the last piece starts at 935.",
                     {"How many characters do a piece and its targets cover together?",
                      "The piece at 0 covers 0 … 64. Where does the last one start?"});
    exercise.predict("prediction_of_perplexity", prediction_of_perplexity, perplexity_of_halves,
                     "Perplexity is e to the mean of -ln p, so the perplexities 2 and 8 are multiplied and not "
                     "added: √(2 · 8).",
                     {"What are -ln 1/2 and -ln 1/8 in terms of ln 2, and what is their mean?"}, 0.005);
    exercise.mend("make_batch", "targets, element (0, 0)",
                  {"Which character should the model predict where it reads the first of a piece?",
                   "The targets are the piece one token later."},
                  [] {
                      const Tensor ids = tensor({5, 6, 7, 8, 9}, int64);
                      const Batch two = make_batch(ids, {0, 2}, 2);
                      expect_ids("inputs", two.inputs, tensor({{5, 6}, {7, 8}}, int64));
                      expect_ids("targets", two.targets, tensor({{6, 7}, {8, 9}}, int64));
                      const Batch last = make_batch(ids, {0}, 4);  // to the last id
                      expect_ids("the targets of start 0, T = 4,", last.targets, tensor({{6, 7, 8, 9}}, int64));
                      expect_error(
                          "make_batch(5 ids, start 3, T = 2)",
                          [&] {
                              (void)make_batch(ids, {0, 3}, 2);
                          },
                          "3");
                  });
    exercise.write(
        "perplexity",
        {"Perplexity is e to the mean loss of a token. What does cross_entropy return for a batch?",
         "A batch's loss is a mean over its tokens: multiply by their number before you add batches up.",
         "Add cross_entropy(logits, targets).item() * targets.numel() over the batches, divide by the number "
         "of all tokens, and take std::exp."},
        [] {
            Rng rng(13);
            const Tensor targets = randint(0, 7, {2, 5}, rng);
            expect_equal("the perplexity of zeros (2, 5, 7)",
                         perplexity({{zeros({2, 5, 7}, float64), targets}}), 7);
            // half of the probability on the right token of two: 2; a quarter: 4; together the root of 2 · 4
            const Tensor logits = log(tensor({{{0.5, 0.5}, {0.75, 0.25}}}, float64));
            expect_equal("the perplexity of probabilities 1/2 and 1/4",
                         perplexity({{logits, tensor({{0, 1}}, int64)}}), std::sqrt(8.0));
            // one token of 1/4 in one batch, three of 1/2 in another: (4 · 2 · 2 · 2)^(1/4)
            const Tensor one = log(tensor({{{0.75, 0.25}}}, float64)), three = zeros({1, 3, 2}, float64);
            expect_equal("the perplexity of a batch of one token, 1/4, and one of three, 1/2 each,",
                         perplexity({{one, tensor({{1}}, int64)}, {three, tensor({{0, 1, 0}}, int64)}}),
                         std::pow(32, 0.25));
        });
    exercise.write(
        "keep_best",
        {"Is a loss of NaN lower than another?",
         "What does a state_dict hold: numbers, or the tensors that the next step changes?",
         "best.weights = model.state_dict(), and then value = value.detach().clone() for each (name, value)."},
        [] {
            nn::Linear layer(2, 1);
            Best best;
            train_to(layer, 1);
            keep_best(best, 2.0, layer);
            expect_kept("after a loss of 2", best, 2.0, 1);
            train_to(layer, 2);
            expect_kept("after the next step", best, 2.0, 1);
            keep_best(best, 3.0, layer);
            expect_kept("after losses of 2 and 3", best, 2.0, 1);
            keep_best(best, 1.0, layer);
            train_to(layer, 3);
            expect_kept("after losses of 2, 3 and 1", best, 1.0, 2);
            keep_best(best, NAN, layer);
            expect_kept("after a loss that is not a number", best, 1.0, 2);
            nn::Linear other(2, 1);
            other.load_state_dict(best.weights);
            expect_equal("a layer with the best weights", other(ones({1, 2})), full({1, 1}, 6, float32));
        });
    const optim::CosineOptions schedule{.lr = 2e-3, .min_lr = 2e-4, .warmup_steps = 99, .steps = 1099};
    exercise.paper("run_on_paper", run_on_paper,
                   {{"step 49", optim::cosine_lr(49, schedule)},
                    {"step 99", optim::cosine_lr(99, schedule)},
                    {"step 599", optim::cosine_lr(599, schedule)},
                    {"step 1099", optim::cosine_lr(1099, schedule)},
                    {"how often a character is read", 1100.0 * 16 * 64 / 102400}},
                   {"Step 49 is the fiftieth of those that warm up. Which fraction does the formula take?",
                    "From step 99 to step 1099 half a cosine: where is step 599?",
                    "cos 0 = 1, cos π/2 = 0 and cos π = -1. The steps 0 to 1099 are 1100."},
                   1e-8);
    return exercise.finish();
}
