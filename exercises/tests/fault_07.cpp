#include "judge.h"
#include FAULT

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "Fault 7. Moody");
    exercise.fault({
        .program = program,
        .planted = "two evaluations differ",
        .look = "Nothing was trained between the three evaluations, and they differ. What in the model draws "
                "random numbers, and who switches it off?",
        .hints = {"A healthy model with dropout has a validation loss that is below its training loss. Why? Is "
                  "it here?",
                  "Dropout is active while a module trains. Does NoGrad change that?",
                  "nn::EvalMode is a guard like NoGrad: while it lives, every module is in evaluation mode, "
                  "and nothing has to be put back."},
        .check =
            [] {
                Rng rng(1);
                const lm::GPT model = make_model(rng);
                const Tensor ids = randint(0, 28, {2, T}, rng);
                return verdict(model, {ids, ids});
            },
        .test =
            [] {
                Rng rng(1);
                lm::GPT model = make_model(rng);
                const training::Corpus corpus(alphabet().encode(story(1, 60)), {.block_size = T});
                const double loss = evaluate(model, corpus), again = evaluate(model, corpus);
                expect(loss == again, "two evaluations differ");
                expect(model.training(),
                       "after an evaluation the model does not train any more: its dropout stays off");
                model.eval();
                expect_equal("the validation loss", evaluate(model, corpus), loss);
                expect(!model.training(), "a model that was in evaluation mode trains after an evaluation");
            },
        .why = "An evaluation is now of the whole model, the same each time, and better than the model with a "
               "fifth of its parts missing. NoGrad saves memory, and changes no value.",
    });
    return exercise.finish();
}
