// Tests of step 7.
#include "07_gradcheck.h"
#include "check.h"

namespace {

Random numbers(11);

Array random(const Shape& shape) { return normal(shape, 1, numbers); }

Array positive(const Shape& shape) {  // between 0.5 and about 3
    const Array x = random(shape);
    return x * x / (x * x + Array::full({}, 1)) * Array::full({}, 2.5) + Array::full({}, 0.5);
}

using X = const std::vector<Tensor>&;

struct Case {
    const char* name;
    Function f;
    std::vector<Array> inputs;
};

std::vector<Case> cases() {
    return {
        {"a + b, broadcast", [](X x) { return x[0] + x[1]; }, {random({2, 3}), random({3})}},
        {"a - b, broadcast", [](X x) { return x[0] - x[1]; }, {random({2, 1}), random({3})}},
        {"a * b, broadcast", [](X x) { return x[0] * x[1]; }, {random({2, 3}), random({2, 1})}},
        {"a / b, broadcast", [](X x) { return x[0] / x[1]; }, {random({3}), positive({2, 3})}},
        {"exp", [](X x) { return exp(x[0]); }, {random({4})}},
        {"log", [](X x) { return log(x[0]); }, {positive({4})}},
        {"sqrt", [](X x) { return sqrt(x[0]); }, {positive({4})}},
        {"tanh", [](X x) { return tanh(x[0]); }, {random({4})}},
        {"reshape of a transpose",
         [](X x) {
             return reshape(transpose(x[0], 0, 1), {3, 2});
         },
         {random({2, 3})}},
        {"slice", [](X x) { return slice(x[0], 1, 1, 3); }, {random({2, 4})}},
        {"mean_last", [](X x) { return mean_last(x[0]); }, {random({2, 3})}},
        {"matmul", [](X x) { return matmul(x[0], x[1]); }, {random({2, 3}), random({3, 4})}},
        {"matmul, one matrix for a batch",
         [](X x) { return matmul(x[0], x[1]); },
         {random({2, 2, 3}), random({3, 2})}},
        {"softmax", [](X x) { return softmax(x[0]); }, {random({2, 3})}},
        {"log_softmax", [](X x) { return log_softmax(x[0]); }, {random({2, 3})}},
        {"index_select",
         [](X x) {
             return index_select(x[0], {2, 0, 2});
         },
         {random({3, 2})}},
        {"cross_entropy",
         [](X x) {
             return cross_entropy(x[0], {1, 2});
         },
         {random({2, 3})}},
    };
}

// Squares whose rule is wrong by a factor of 2.
Tensor wrong_square(const Tensor& x) {
    return record(x.data() * x.data(), {x}, [x = x.data()](const Array& dy) { return Grads{dy * x}; });
}

// A softmax whose rule says that nothing changes: right for the sum of its elements, which is always 1.
Tensor wrong_softmax(const Tensor& x) {
    return record(softmax(x.data()).data(), {x},
                  [shape = x.shape()](const Array&) { return Grads{Array::full(shape, 0)}; });
}

}  // namespace

int main() {
    Step step(7, "gradient checks");

    step.claim("normal draws with the deviation that it is given", "deviation * random.normal().", [] {
        const Array x = normal({10000}, 0.5, numbers);
        double squares = 0;
        for (const double value : x.values()) squares += value * value;
        expect_equal("the mean square of normal({10000}, 0.5)", squares / 10000, 0.25, 0.02);
    });
    step.claim("the gradient of x * x passes", "Below 1e-7 in double precision.", [] {
        const double error = gradcheck([](X x) { return x[0] * x[0]; }, {random({3})});
        expect(error < 1e-7, "gradcheck of x * x is " + text(error) + ".");
    });
    step.claim(
        "a rule that is wrong by a factor of 2 is found",
        "Divide the error by the difference where that is above 1.", [] {
            const double error = gradcheck([](X x) { return wrong_square(x[0]); }, {Array({2}, {3, -1})});
            expect_equal("gradcheck of a square whose rule is dy · x", error, 0.5, 0.2);
        });
    step.claim("a rule that is right only for the plain sum is found", "Give each element a random weight.",
               [] {
                   const double error = gradcheck([](X x) { return wrong_softmax(x[0]); }, {random({2, 3})});
                   expect(error > 0.01, "gradcheck of a softmax whose gradient is 0 is " + text(error) + ".");
               });
    step.claim("an input that gets no gradient at all is found", "An undefined gradient counts as zeros.", [] {
        const double error =
            gradcheck([](X x) { return Tensor(x[0].data()) + x[1]; }, {random({2}), random({2})});
        expect(error > 0.01, "gradcheck of a function that loses its first input is " + text(error) + ".");
    });
    step.claim("the inputs that it is given are not changed", "Copy them: they share storage otherwise.", [] {
        const Array x = random({3});
        const std::vector<double> before = x.values();
        gradcheck([](X x) { return exp(x[0]); }, {x});
        expect(x.values() == before, "x is not what it was.");
    });

    for (const Case& c : cases())
        step.claim(c.name, "Compare its rule with step 5 or 6.", [&] {
            const double error = gradcheck(c.f, c.inputs);
            expect(error < 1e-7, "gradcheck gives " + text(error) + ".");
        });
    return step.finish();
}
