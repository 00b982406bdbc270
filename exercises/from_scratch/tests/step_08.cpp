// Tests of step 8.
#include "08_nn.h"
#include "check.h"

namespace {

using Doubles = std::vector<double>;

struct Two : Module {
    Linear first, second;
    explicit Two(Random& random)
        : first(register_module("first", Linear(3, 2, random))),
          second(register_module("second", Linear(2, 1, random))) {}
};

}  // namespace

int main() {
    Step step(8, "modules, Adam, a training loop");

    step.claim("a linear layer is x Wᵀ + b", "The weight is (out, in), as in PyTorch.", [] {
        Random random(1);
        const Linear layer(3, 2, random);
        *layer.weight.data().storage = {1, 2, 3, 4, 5, 6};
        *layer.bias.data().storage = {10, 20};
        expect_equal("the shape of the weight", layer.weight.shape(), Shape{2, 3});
        expect_equal("the layer of (1, 0, 1)", layer(Array({1, 3}, {1, 0, 1})).data().values(),
                     Doubles{14, 30});
        expect_equal("the shape for (4, 5, 3)", layer(Array::full({4, 5, 3}, 1)).shape(), Shape{4, 5, 2});
    });
    step.claim("its results have about the variance of its inputs", "Deviation 1 / sqrt(in).", [] {
        Random random(2);
        const Linear layer(100, 100, random);
        double squares = 0;
        for (const double y : layer(normal({50, 100}, 1, random)).data().values()) squares += y * y / 5000;
        expect_equal("the variance of the results", squares, 1, 0.1);
    });
    step.claim("a module lists its own parameters and its children's, by name",
               "name + \".\" + the child's name.", [] {
                   Random random(3);
                   const Two two(random);
                   std::string names;
                   for (const auto& [name, parameter] : two.parameters) {
                       names += name + " ";
                       expect(parameter.node->requires_grad, name + " does not require a gradient.");
                   }
                   expect(names == "first.weight first.bias second.weight second.bias ",
                          "The names are " + names +
                              "and should be first.weight first.bias second.weight second.bias.");
                   expect(two.parameters[0].second.node == two.first.weight.node,
                          "The list holds copies of the parameters.");
               });
    step.claim("the first step of Adam has the length lr, whatever the gradient",
               "mean / sqrt(square) is then ±1.", [] {
                   const Tensor p(Array({2}, {1, 1}), true);
                   Adam adam({{"p", p}}, 0.1);
                   p.node->grad = Array({2}, {1000, -0.001});
                   adam.step();
                   expect_equal("p after a step with the gradients 1000 and -0.001", p.data().values(),
                                Doubles{0.9, 1.1}, 1e-4);
               });
    step.claim("three steps follow the formula",
               "Divide m by 1 - beta1^t and v by 1 - beta2^t, where t is 1 in the first step.", [] {
                   const Tensor p(Array({1}, {1}), true);
                   Adam adam({{"p", p}}, 0.01);
                   double x = 1, m = 0, v = 0;
                   for (int t = 1; t <= 3; ++t) {
                       const double g = 2 * x + t;
                       p.node->grad = Array({1}, {g});
                       adam.step();
                       m = 0.9 * m + 0.1 * g;
                       v = 0.999 * v + 0.001 * g * g;
                       x -= 0.01 * (m / (1 - std::pow(0.9, t))) /
                            (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-8);
                       expect_equal("p after step " + std::to_string(t), p.data().values()[0], x, 1e-12);
                   }
               });
    step.claim("zero_grad clears the gradients", "grad = {} makes it undefined.", [] {
        const Tensor p(Array({1}, {3}), true);
        Adam adam({{"p", p}}, 0.1);
        backward(p * p);
        adam.zero_grad();
        backward(p * p);
        expect_equal("the gradient of p * p at 3, after zero_grad", gradient_of(p)[0], 6);
    });
    step.claim("a gradient that is a view is read in the order of the parameter", "Use grad().values().", [] {
        const Tensor p(Array({2, 2}, {0, 0, 0, 0}), true);
        Adam adam({{"p", p}}, 1);
        p.node->grad = Array({2, 2}, {1, 1, -1, -1}).transpose(0, 1);
        adam.step();
        expect_equal("p", p.data().values(), Doubles{-1, 1, -1, 1}, 1e-6);
    });
    step.claim("a parameter without a gradient is left alone", "Skip it unless its grad is defined.", [] {
        const Tensor p(Array({1}, {3}), true);
        Adam adam({{"p", p}}, 0.1);
        adam.step();
        expect_equal("p after a step without a gradient", p.item(), 3);
    });
    step.claim("a line is learned",
               "If the claims before this one hold, so does this: mend the first that does not.", [] {
                   Random random(4);
                   const Linear layer(1, 1, random);
                   Adam adam(layer.parameters, 0.1);
                   const Tensor x = Array({3, 1}, {-1, 0, 1}), y = Array({3, 1}, {-1, 1, 3});
                   for (int step = 0; step < 300; ++step) {
                       const Tensor error = layer(x) - y;
                       adam.zero_grad();
                       backward(mean(error * error));
                       adam.step();
                   }
                   expect_equal("the slope", layer.weight.item(), 2, 1e-3);
                   expect_equal("the intercept", layer.bias.item(), 1, 1e-3);
               });

    step.example([] {
        Random random(5);
        std::printf("The parameters of a module with two layers:\n");
        for (const auto& [name, parameter] : Two(random).parameters)
            std::printf("    %-14s %s\n", name.c_str(), to_string(parameter.shape()).c_str());
    });
    return step.finish();
}
