#include "exercise.h"

#include EXERCISE

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "20. Deep networks");
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
