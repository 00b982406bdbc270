#include "exercise.h"
#include EXERCISE

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "1. Set-up and a first run");
    exercise.part("f", "x * x multiplies element by element; a plain number may stand beside a tensor.", [] {
        expect_equal("f(2)", f(tensor(2.0, float64)), tensor(16.0, float64));
        expect_equal("f([[0, 1], [-1, 0.5]])", f(tensor({{0.0, 1.0}, {-1.0, 0.5}}, float64)),
                     tensor({{0.0, 5.0}, {1.0, 1.75}}, float64));
        expect_gradient("f", [](const std::vector<Tensor>& in) { return f(in[0]); },
                        {tensor({0.3, -2.0}, float64).requires_grad_()});
    });
    exercise.part(
        "slope",
        "tensor(at, float64).requires_grad_() makes the leaf; after f(x).backward(), x.grad().item() is "
        "the slope.",
        [] {
            expect_equal("slope(3)", slope(3), 20);
            expect_equal("slope(0)", slope(0), 2);
            expect_equal("slope(-1/3), at the lowest point", slope(-1.0 / 3), 0);
        });
    exercise.part(
        "descend",
        "In a loop: x -= rate * slope(x). The slope is asked for anew at each step, where x is by then.", [] {
            expect_equal("descend(3, 0.1, 0), no step at all", descend(3, 0.1, 0), 3);
            expect_equal("descend(3, 0.1, 1)", descend(3, 0.1, 1), 1);  // 3 − 0.1 · 20
            expect_equal("descend(3, 0.1, 2)", descend(3, 0.1, 2), 0.2);
            expect_equal("descend(3, 0.1, 60), at the bottom", descend(3, 0.1, 60), -1.0 / 3);
        });
    return exercise.finish();
}
