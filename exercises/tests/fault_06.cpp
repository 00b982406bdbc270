#include "judge.h"
#include FAULT

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "Fault 6. Reads ahead");
    exercise.fault({
        .program = program,
        .planted = "\"softmax over the last axis\"",
        .look = "A loss of half of what other runs reach is no luck: the model knows something that it should "
                "not. In the map, add up a row; then a column.",
        .hints = {"What is the sum of the weights in the row of \"y\"? And in the row after it?",
                  "If columns sum to 1, then the weight of an early query depends on the scores of later "
                  "queries. So what leaks?",
                  "The weights are (B, H, t, t): queries, then keys. A query shares its attention among keys, "
                  "the last axis."},
        .check = [] { return verdict(checklist<Attention>(C, H)); },
        .test = [] { expect_passed(checklist<Attention>(C, H)); },
        .why = "Each query now shares 1 among the keys that it sees. Normalised over the queries, a row could "
               "sum to anything, and told each token how much later tokens wanted the same key: the future, "
               "through the denominator.",
    });
    return exercise.finish();
}
