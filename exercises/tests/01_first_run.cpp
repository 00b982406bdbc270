#include "exercise.h"
#include EXERCISE

namespace {

// The gradients of line_loss at w = 0 and b = 0, and the loss after a step of 0.1 against them.
struct Step {
    double loss, dw, db, loss_after;
    Step() {
        const Tensor w = zeros({}, float64).requires_grad_(), b = zeros({}, float64).requires_grad_();
        const Tensor first = line_loss(w, b);
        first.backward();
        loss = first.item(), dw = w.grad().item(), db = b.grad().item();
        loss_after = line_loss(w.detach() - 0.1 * dw, b.detach() - 0.1 * db).item();
    }
};

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "1. Set-up and a first run");
    const Step step;
    exercise.predict("prediction_of_first_loss", prediction_of_first_loss, [&] { return step.loss; },
                     "The errors are -3 and -5, and the mean of their squares 9 and 25 is 17.",
                     {"What does the line say at both points if w and b are 0?",
                      "Square the two errors, and take the mean."});
    exercise.predict("prediction_of_sign", prediction_of_sign, [&] { return step.dw < 0 ? -1 : 1; },
                     "The line is too low at both points, so a larger w makes the loss smaller: the slope is "
                     "negative, and descent makes w larger.",
                     {"Does a slightly larger w make the loss larger or smaller?"});
    exercise.mend(
        "mean_squared_error", "w has no gradient",
        {"Compute the loss, call backward, and print the gradient of each parameter.",
         "Something cuts the history of one term; the values stay the same.",
         "Find the call that chapter 1 uses to take a tensor out of the graph."},
        [] {
            const Tensor x = tensor({1.0, 2.0, 4.0}, float64), y = tensor({3.0, 5.0, 9.0}, float64);
            const Tensor w = tensor(1.0, float64).requires_grad_(), b = tensor(2.0, float64).requires_grad_();
            const Tensor loss = mean_squared_error(w, b, x, y);
            expect_equal("the loss at w = 1, b = 2", loss, tensor(10.0 / 3, float64));
            expect(loss.requires_grad(), "the loss has lost its whole history");
            loss.backward();
            expect(b.grad().defined(), "b has no gradient after backward, and should have one");
            expect(w.grad().defined(), "w has no gradient after backward, and should have one");
            expect_gradient(
                "mean_squared_error",
                [&](const std::vector<Tensor>& in) { return mean_squared_error(in[0], in[1], x, y); }, {w, b});
        });
    exercise.write("f",
                   {"x * x multiplies element by element; a plain number may be a factor, too.",
                    "Two terms, joined by +."},
                   [] {
                       expect_equal("f(2)", f(tensor(2.0, float64)), tensor(16.0, float64));
                       expect_equal("f([[0, 1], [-1, 0.5]])", f(tensor({{0.0, 1.0}, {-1.0, 0.5}}, float64)),
                                    tensor({{0.0, 5.0}, {1.0, 1.75}}, float64));
                       const Tensor x = tensor({0.3, -2.0}, float64).requires_grad_();
                       expect(f(x).requires_grad(), "f(x) has no history, and should be in the graph");
                       expect_gradient("f", [](const std::vector<Tensor>& in) { return f(in[0]); }, {x});
                   });
    exercise.write(
        "descend",
        {"How does chapter 1 get a slope from the library? Four things happen in each step.",
         "In each step: a leaf with the value of x, f of it, backward, and x moves against the gradient.",
         "tensor(x, float64).requires_grad_() is a leaf, and leaf.grad().item() its gradient as a double."},
        [] {
            expect_equal("descend(3, 0.1, 0), no step at all,", descend(3, 0.1, 0), 3);
            expect_equal("descend(3, 0.1, 1)", descend(3, 0.1, 1), 1);  // 3 − 0.1 · 20
            expect_equal("descend(3, 0.1, 2)", descend(3, 0.1, 2), 0.2);
            expect_equal("descend(-2, 0.05, 1)", descend(-2, 0.05, 1), -1.5);
            expect_equal("descend(3, 0.1, 60), at the lowest point,", descend(3, 0.1, 60), -1.0 / 3);
        });
    exercise.write(
        "fit_line",
        {"The loop of the chapter, with two parameters. What has to be cleared before each backward?",
         "In each step: clear both gradients, compute the loss, call backward; then, under NoGrad, move both "
         "parameters.",
         "Two leaves before the loop; in it w.zero_grad(), b.zero_grad(), mean_squared_error(w, b, x, "
         "y).backward(), and under NoGrad w.add_(w.grad(), -rate), likewise b."},
        [&] {
            const Tensor x = tensor({1.0, 2.0}, float64), y = tensor({3.0, 5.0}, float64);
            const Line none = fit_line(x, y, 0.1, 0);
            expect_equal("w of fit_line with no step", none.w, 0);
            expect_equal("b of fit_line with no step", none.b, 0);
            const Line one = fit_line(x, y, 0.1, 1);
            expect_equal("w after one step on (1, 3) and (2, 5)", one.w, -0.1 * step.dw);
            expect_equal("b after it", one.b, -0.1 * step.db);
            const Line many =
                fit_line(tensor({-1.0, 0.0, 2.0}, float64), tensor({-4.0, -1.0, 5.0}, float64), 0.2, 300);
            expect_equal("w after 300 steps of rate 0.2 on points of y = 3x - 1", many.w, 3, 1e-6);
            expect_equal("b after them", many.b, -1, 1e-6);
        });
    exercise.paper(
        "one_step_on_paper", one_step_on_paper,
        {{"w", -0.1 * step.dw}, {"b", -0.1 * step.db}, {"the loss", step.loss_after}},
        {"The loss is a mean of (w x + b - y)²; take its derivatives by w and by b at each point.",
         "dL/dw is the mean of 2 · error · x, dL/db the mean of 2 · error; the errors are -3 and -5.",
         "dL/dw = -13 and dL/db = -8. A step goes against them."});
    return exercise.finish();
}
