#include "judge.h"
#include FAULT

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "Fault 11. Nothing left");
    exercise.fault({
        .program = program,
        .planted = "an empty list gives what is not a number",
        .look = "Asked without a single fact, it answers nothing: the probability is no number. The loop skips "
                "a step whose loss is not a number. How many did it skip, and which?",
        .hints = {"The losses that were skipped are those of batches with an empty list. What are the scores "
                  "of an empty list?",
                  "The largest of −∞, −∞, −∞, −∞ is −∞. What is −∞ − (−∞)?",
                  "A query that may attend to nothing should get zeros. softmax(x, -1) of Weft gives them, "
                  "with gradient 0; look at what your function divides."},
        .check =
            [] {
                manual_seed(1);
                Rng& rng = default_rng();
                const Reader model;
                const Questions empty(rng, 1);
                sum(model(empty.told.slice(1, 0, 1), empty.told, empty.answers, empty.blocked)).backward();
                return verdict(check::gradient_flow(model));
            },
        .test =
            [] {
                Rng rng(1);
                const Tensor q = randn({2, 1, C}, rng, float64).requires_grad_(),
                             k = randn({2, S, C}, rng, float64).requires_grad_(),
                             v = randn({2, S, C}, rng, float64).requires_grad_();
                const Tensor blocked =
                    tensor({{{0, 0, 1, 1}}, {{1, 1, 1, 1}}}, boolean);  // two facts, and none
                const Tensor found = attend(q, k, v, blocked);
                const Tensor want = scaled_dot_product_attention(q.unsqueeze(1), k.unsqueeze(1), v.unsqueeze(1),
                                                                 {.mask = Mask::blocked(blocked)})
                                        .squeeze(1);
                expect_equal("attention to a list of two facts,", found[0], want[0]);
                expect(all(isfinite(found)), "an empty list gives what is not a number");
                expect_equal("attention to an empty list, whose padding must not be read,", found[1], want[1]);
                sum(found * found).backward();
                expect(all(isfinite(q.grad())) && all(isfinite(k.grad())) && all(isfinite(v.grad())),
                       "the value is right, but the gradient of an empty list is not a number: 0 · NaN is NaN");
            },
        .why =
            "An empty list gives zeros, and the answer comes from the bias of the head, which is no surer "
            "because it serves "
            "every other question too. Before, every batch "
            "with an empty list was thrown away, and the rest, which had none, learned well: a loss of 0.002.",
    });
    return exercise.finish();
}
