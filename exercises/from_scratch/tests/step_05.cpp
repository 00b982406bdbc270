// Tests of step 5.
#include "05_tensor.h"
#include "check.h"

namespace {

using Doubles = std::vector<double>;

Tensor leaf(const Shape& shape, const Doubles& values) { return {Array(shape, values), true}; }

}  // namespace

int main() {
    Step step(5, "broadcasting, and its way back");

    step.claim("shapes are aligned from the right, and a size of 1 repeats", "Start from the longer shape.",
               [] {
                   expect_equal("broadcast({2, 3}, {3})", broadcast({2, 3}, {3}), Shape{2, 3});
                   expect_equal("broadcast({4, 1}, {2, 1, 3})", broadcast({4, 1}, {2, 1, 3}), Shape{2, 4, 3});
                   expect_equal("broadcast({}, {2})", broadcast({}, {2}), Shape{2});
                   expect_error("broadcast({2, 3}, {2})", [] { broadcast({2, 3}, {2}); });
               });
    step.claim("arrays add and multiply with broadcasting", "zip expands both to one shape.", [] {
        const Array x({2, 3}, {1, 2, 3, 4, 5, 6}), row({3}, {10, 20, 30}), column({2, 1}, {2, 3});
        expect_equal("x + row", (x + row).values(), Doubles{11, 22, 33, 14, 25, 36});
        expect_equal("x * column", (x * column).values(), Doubles{2, 4, 6, 12, 15, 18});
        expect_equal("column - row", (column - row).values(), Doubles{-8, -18, -28, -7, -17, -27});
        expect_equal("x transposed / column transposed", (x.transpose(0, 1) / column.transpose(0, 1)).values(),
                     Doubles{0.5, 4. / 3, 1, 5. / 3, 1.5, 2});
        expect_equal("-column", (-column).values(), Doubles{-2, -3});
    });
    step.claim("sum_to adds what expand repeats", "Add through the expanded view of the result.", [] {
        const Array x({2, 3}, {1, 2, 3, 4, 5, 6});
        expect_equal("sum_to(x, {3})", sum_to(x, {3}).values(), Doubles{5, 7, 9});
        expect_equal("sum_to(x, {2, 1})", sum_to(x, {2, 1}).values(), Doubles{6, 15});
        expect_equal("sum_to(x, {})", sum_to(x, {}).values(), Doubles{21});
        expect_equal("the shape of sum_to(x, {1, 3})", sum_to(x, {1, 3}).shape, Shape{1, 3});
    });
    step.claim(
        "a tensor remembers its inputs if one of them requires a gradient", "See record and backward.", [] {
            const Tensor x = leaf({2}, {1, 2}), c = Array({2}, {3, 4});
            const Tensor y = x + c, z = c + c;
            expect(y.node->inputs == std::vector{x.node, c.node}, "The inputs of x + c are not x and c.");
            expect(y.node->requires_grad, "x + c does not require a gradient, although x does.");
            expect(z.node->inputs.empty() && !z.node->rule, "c + c is recorded, although c is a constant.");
            backward(y);
            expect(!c.grad().defined(), "backward gives c a gradient, although c is a constant.");
        });
    step.claim("sums, differences, products and quotients send the right gradients",
               "dz for +; dz and -dz for -; dz * y and dz * x for *; dz / y and -dz * z / y for z = x / y.",
               [] {
                   const Tensor x = leaf({2}, {1, 2}), y = leaf({2}, {4, 5});
                   const auto gradients = [&](const Tensor& z, const Doubles& dx, const Doubles& dy,
                                              const char* name) {
                       x.node->grad = y.node->grad = {};
                       backward(z);
                       expect_equal(std::string("the gradient of x in ") + name, gradient_of(x), dx);
                       expect_equal(std::string("the gradient of y in ") + name, gradient_of(y), dy);
                   };
                   gradients(x + y, {1, 1}, {1, 1}, "x + y");
                   gradients(x - y, {1, 1}, {-1, -1}, "x - y");
                   gradients(x * y, {4, 5}, {1, 2}, "x * y");
                   gradients(x / y, {1. / 4, 1. / 5}, {-1. / 16, -2. / 25}, "x / y");
               });
    step.claim("a row that was added to every row gets the sum of their gradients",
               "In backward: sum_to(gradient, shape of the input).", [] {
                   const Tensor x = leaf({2, 3}, {1, 2, 3, 4, 5, 6}), b = leaf({3}, {10, 20, 30});
                   const Tensor weights = Array({2, 3}, {1, 2, 3, 4, 5, 6});
                   backward((x + b) * weights);
                   expect_equal("the gradient of x", gradient_of(x), Doubles{1, 2, 3, 4, 5, 6});
                   expect_equal("the shape of b's gradient", b.grad().shape, Shape{3});
                   expect_equal("the gradient of b", gradient_of(b), Doubles{5, 7, 9});
               });
    step.claim("both factors of an outer product get gradients of their own shapes", "sum_to again.", [] {
        const Tensor column = leaf({2, 1}, {1, 2}), row = leaf({3}, {3, 4, 5});
        backward(column * row);
        expect_equal("the shape of the column's gradient", column.grad().shape, Shape{2, 1});
        expect_equal("the gradient of the column", gradient_of(column), Doubles{12, 12});
        expect_equal("the gradient of the row", gradient_of(row), Doubles{3, 3, 3});
    });
    step.claim("numbers mix with tensors", "A constructor from double, of shape ().", [] {
        const Tensor x = leaf({2}, {1, 2});
        backward(3 * x / 2 + 1);
        expect_equal("the gradient of x in 3x / 2 + 1", gradient_of(x), Doubles{1.5, 1.5});
    });
    step.claim("no gradient is added to in place, because two inputs may share it",
               "input.grad = input.grad + d makes a new array.", [] {
                   const Tensor a = leaf({}, {2}), b = leaf({}, {3});
                   backward((a + b) + a);
                   expect_equal("the gradient of a in (a + b) + a", gradient_of(a), Doubles{2});
                   expect_equal("the gradient of b", gradient_of(b), Doubles{1});
               });
    step.claim("leaves accumulate over several backwards", "Only nodes with a rule give up their gradient.",
               [] {
                   const Tensor x = leaf({2}, {1, 2}), y = x * x;
                   backward(y);
                   backward(y);
                   expect_equal("the gradient of x", gradient_of(x), Doubles{4, 8});
               });
    step.claim("backward of a constant is refused", "Throw unless the root requires a gradient.", [] {
        const Tensor c = Array({2}, {1, 2});
        expect_error("backward(c + c)", [&] { backward(c + c); });
    });
    step.claim("a long chain overflows no stack", "backward and ~Node are loops.", [] {
        const Tensor x = leaf({}, {1});
        Tensor y = 0;
        for (int i = 0; i < 200000; ++i) y = y + x;
        backward(y);
        expect_equal("the gradient of x", gradient_of(x), Doubles{200000});
    });

    step.example([] {
        const Tensor x = leaf({2, 3}, {1, 2, 3, 4, 5, 6}), column = leaf({2, 1}, {10, 20});
        backward(x * column);
        std::printf("x (2, 3) times a column (2, 1):\n");
        std::printf("    the gradient of x       %s\n", text(gradient_of(x)).c_str());
        std::printf("    the gradient of column  %s\n", text(gradient_of(column)).c_str());
    });
    return step.finish();
}
