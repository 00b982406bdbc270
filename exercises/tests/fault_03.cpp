#include "judge.h"
#include FAULT

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "Fault 3. Short-sighted");
    exercise.fault({
        .program = program,
        .planted = "\"scaled by sqrt(d_k)\"",
        .look = "The loss is that of any healthy run. Look at the map: few queries settle for one key. "
                "What makes a softmax flat? CHECK=1 goes through attention step by step.",
        .hints = {"A softmax is flat if its scores are close together. How large are they before training?",
                  "Scores are sums of d_k products, whose spread grows with √d_k; so what are they divided by, "
                  "and what is d_k here?",
                  "There are H heads of width d_k = C / H = 4. √C is right for a single head."},
        .check = [] { return verdict(checklist<Attention>(C, H)); },
        .test = [] { expect_passed(checklist<Attention>(C, H)); },
        .why = "A score is the sum of d_k products, and is divided by √d_k. Divided by √C it was √H times too "
               "small, here 3.5 times, and every head began nearly blind. Training can grow larger weights to "
               "make up for it, so no loss tells.",
    });
    return exercise.finish();
}
