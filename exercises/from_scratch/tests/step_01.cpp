// Tests of step 1.
#include "01_value.h"
#include "check.h"

namespace {

void show(const char* name, const Value& value) {
    std::printf("    %s = %g", name, value.data());
    for (std::size_t i = 0; i < value.node->inputs.size(); ++i)
        std::printf("%s%g (slope %g)", i == 0 ? "  from " : " and ", value.node->inputs[i]->data,
                    value.node->slopes[i]);
    std::printf("\n");
}

}  // namespace

int main() {
    Step step(1, "a number that remembers");

    step.claim("a Value is its number", "Store the number in node->data.", [] {
        const Value x = 3;
        expect_equal("Value(3).data()", x.data(), 3);
        expect_equal("Value(3).grad()", x.grad(), 0);
        expect(x.node->inputs.empty(), "Value(3) has inputs, but nothing was computed.");
    });
    step.claim("a copy is the same node", "Copy the shared_ptr, not the Node.", [] {
        const Value x = 3, copy = x;
        expect(copy.node == x.node, "A copy of x has a node of its own.");
    });
    step.claim(
        "a sum is right, and remembers its inputs with slopes 1 and 1", "d(a + b)/da = 1, and d(a + b)/db = 1.",
        [] {
            const Value a = 2, b = 5, sum = a + b;
            expect_equal("(a + b).data()", sum.data(), 7);
            expect(sum.node->inputs == std::vector{a.node, b.node}, "The inputs of a + b are not a and b.");
            expect_equal("the slopes of a + b", sum.node->slopes, {1, 1});
        });
    step.claim(
        "a product is right, and its slopes are the other factors", "d(a b)/da = b, and d(a b)/db = a.", [] {
            const Value a = 2, b = 5, product = a * b;
            expect_equal("(a * b).data()", product.data(), 10);
            expect(product.node->inputs == std::vector{a.node, b.node}, "The inputs of a * b are not a and b.");
            expect_equal("the slopes of a * b with a = 2, b = 5", product.node->slopes, {5, 2});
        });
    step.claim("plain numbers mix with Values", "The constructor must not be explicit.", [] {
        const Value x = 3;
        expect_equal("(2 * x + 1).data()", (2 * x + 1).data(), 7);
    });
    step.claim("x * x has x twice", "Nothing special: the two inputs may be one node.", [] {
        const Value x = 3, square = x * x;
        expect(square.node->inputs == std::vector{x.node, x.node}, "The inputs of x * x are not x and x.");
        expect_equal("the slopes of x * x at 3", square.node->slopes, {3, 3});
    });
    step.claim("nodes are numbered in the order in which they are made",
               "Count in the constructor, in a static.", [] {
                   const Value a = 2, b = 5, sum = a + b;
                   expect(a.node->number < b.node->number && b.node->number < sum.node->number,
                          "The numbers of a, b and a + b do not rise.");
               });
    step.claim("inputs live as long as what was computed from them", "A node owns its inputs by shared_ptr.",
               [] {
                   std::weak_ptr<Value::Node> input;
                   {
                       Value result = 0;
                       {
                           const Value x = 3;
                           input = x.node;
                           result = x + 1;
                       }
                       expect(!input.expired(), "x is gone, although x + 1 is still in use.");
                   }
                   expect(input.expired(), "x + 1 is gone, but x is still in memory.");
               });
    step.claim("a chain of 300000 sums is destroyed without a stack overflow",
               "~Node must take its inputs apart in a loop: see release.", [] {
                   Value sum = 0;
                   for (int i = 0; i < 300000; ++i) sum = sum + 1;
                   expect_equal("the sum of 300000 ones", sum.data(), 300000);
               });

    step.example([] {
        const Value a = 2, b = 5, w = 3;
        const Value x = a * b, h = w * x, y = x + h;
        std::printf("What y = x + w x with x = a b remembers:\n");
        show("a", a);
        show("x", x);
        show("h", h);
        show("y", y);
    });
    return step.finish();
}
