#include "exercise.h"

#include EXERCISE

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "8. Deep networks");
    exercise.predict(
        "prediction_of_change", prediction_of_change, change_of_norm,
        "Subtracting the mean removes the 7, and dividing by the standard deviation removes the 5.",
        {"What happens to the mean and to the standard deviation of a row?"}, 0.001);
    exercise.predict(
        "prediction_of_units", prediction_of_units, units_after_training,
        "Equal units receive equal gradients, and stay equal. Random initial values make them differ.",
        {"In what do two units differ at first?",
         "If two units have equal weights on both sides, in what do their gradients differ?"});
    exercise.mend("kaiming", "the standard deviation",
                  {"What is the standard deviation of what it draws, with 800 inputs, and what should it be?",
                   "The third argument of nn::normal is a deviation, not a variance."},
                  [] {
                      Rng rng(20);
                      for (const auto& [out, in] : {std::pair(200, 800), std::pair(800, 200)}) {
                          const std::string layer =
                              " of a weight (" + std::to_string(out) + ", " + std::to_string(in) + ")";
                          const Tensor W = kaiming(out, in, rng).to(float64);
                          expect(W.shape() == Shape({out, in}),
                                 "the shape" + layer + " is " + W.shape().str() + ", not (out, in)");
                          expect_equal("the standard deviation" + layer, std::sqrt(mean(W * W).item()),
                                       std::sqrt(2.0 / in), 0.001);
                          expect_equal("the mean" + layer, mean(W).item(), 0, 0.002);
                      }
                  });
    exercise.write(
        "normalise",
        {"Each row has its own mean and its own variance; which shape do they need to broadcast against x?",
         "mean(x, -1, keepdim) is (…, 1). The variance is the mean of the squares of what is left.",
         "centred / sqrt(mean(centred * centred, -1, keepdim) + eps) * weight + bias."},
        [] {
            const Tensor weight = tensor({1, 2}, float64), bias = tensor({0, 10}, float64);
            expect_equal("layer norm of the rows (1, 3) and (5, 5), with weight (1, 2) and bias (0, 10)",
                         normalise(tensor({{1, 3}, {5, 5}}, float64), weight, bias, 1e-12),
                         tensor({{-1, 12}, {0, 10}}, float64), 1e-6);
            Rng rng(8);
            const auto leaf = [&](const Shape& shape) { return randn(shape, rng, float64).requires_grad_(); };
            const Tensor x = leaf({2, 3, 4}), w = leaf({4}), b = leaf({4});
            expect_equal("layer norm of (2, 3, 4) with eps = 0.1", normalise(x, w, b, 0.1),
                         layer_norm(x, w, b, 0.1));
            expect_gradient("normalise",
                            [](const std::vector<Tensor>& in) { return normalise(in[0], in[1], in[2], 1e-5); },
                            {x, w, b});
        });
    exercise.write(
        "rescale",
        {"What happens to the mean square of h if you divide a weight by 3?",
         "It is divided by 9. So by what must a weight be divided if the mean square after it is m?",
         "Divide W and h by sqrt(mean(h * h)), before you come to the next weight."},
        [] {
            Rng rng(20);
            const Tensor x = randn({16, 8}, rng, float64);
            const std::vector<Tensor> given = {0.01 * randn({20, 8}, rng, float64),
                                               30 * randn({20, 20}, rng, float64),
                                               randn({5, 20}, rng, float64)};
            std::vector<Tensor> copies;
            for (const Tensor& W : given) copies.push_back(W.clone());
            const std::vector<Tensor> got = rescale(x, copies);
            expect(got.size() == 3,
                   "three weights were given, and " + std::to_string(got.size()) + " returned");
            Tensor h = x;
            for (std::size_t i = 0; i < 3; ++i) {
                const std::string number = std::to_string(i + 1);
                expect_equal("weight " + number + " of those given, afterwards", copies[i], given[i]);
                expect(got[i].shape() == given[i].shape(), "weight " + number + " has another shape");
                const double factor = got[i].at({0, 0}) / given[i].at({0, 0});
                expect(factor > 0, "weight " + number + " was multiplied by a number that is not positive");
                expect_equal("weight " + number + " / its first element, which was to be that of the one given",
                             got[i] / got[i].at({0, 0}), given[i] / given[i].at({0, 0}));
                h = relu(linear(h, got[i]));
                expect_equal("the mean square after layer " + number, mean(h * h).item(), 1);
            }
        });
    exercise.paper("variance_on_paper", variance_on_paper,
                   {{"the variance after one layer", 100 * 0.05 * 0.05},
                    {"the variance after five layers", std::pow(100 * 0.05 * 0.05, 5)},
                    {"the s that keeps the variance", 1 / std::sqrt(100.0)}},
                   {"An element of y is a sum of 100 products. Variances of independent terms add up.",
                    "A product of independent numbers of mean 0 has the product of their variances: s² · 1.",
                    "Each layer multiplies the variance by 100 s²."},
                   1e-5);
    return exercise.finish();
}
