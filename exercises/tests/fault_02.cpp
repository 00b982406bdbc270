#include "judge.h"
#include FAULT

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "Fault 2. Too good to be true");
    exercise.fault({
        .program = program,
        .planted = "the targets are the inputs",
        .look = "No one can foresee every letter of a drawn story, so no honest loss goes to 0. Read one row "
                "of inputs and one of targets side by side.",
        .hints = {"What would a model have to do to get this loss? Look at the sample: what does it answer to "
                  "\"x\"?",
                  "The attention is causal, so token t sees itself. Which token is its target?",
                  "The target of token t is token t + 1: the slice of the targets begins one later than that "
                  "of the inputs."},
        .check =
            [] {
                Rng rng(1);
                const lm::GPT model({.vocab_size = 28, .block_size = T, .num_layers = 1, .d_model = 32}, rng);
                return verdict(model, draw_batch(randint(0, 28, {200}, rng), 4, rng));
            },
        .test =
            [] {
                Rng rng(1);
                for (int i = 0; i < 20; ++i) {  // the last pieces, too
                    const training::Batch batch = draw_batch(arange(T + 3), 4, rng);
                    expect(batch.inputs.shape() == Shape{4, T} && batch.targets.shape() == Shape{4, T},
                           "inputs and targets are " + batch.inputs.shape().str() + " and " +
                               batch.targets.shape().str());
                    const Tensor ahead = batch.targets - batch.inputs;  // of positions in the text
                    expect(!allclose(ahead.to(float64), zeros({4, T}, float64)), "the targets are the inputs");
                    expect_equal("how far a target is after its input,", ahead.to(float64),
                                 ones({4, T}, float64));
                }
            },
        .why = "The model now says what comes next. Before, it was asked what it had just read, and a copy is "
               "quickly learned.",
    });
    return exercise.finish();
}
