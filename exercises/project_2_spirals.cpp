// Project 2, after chapters 4 to 8: a classifier that others can use.
//
//     make exercise PROJECT=2          runs the acceptance tests; make hint PROJECT=2 helps
//
// Points of the plane lie on three arms of a spiral, 100 of each class, with some noise. No line separates
// them: a model needs at least one hidden layer and an activation. You decide on everything else: the layers
// and their widths, the initial values, the optimiser, the learning rate and the number of steps.
//
// The model must
//
//   - be right for at least 95 of 100 points that it was not trained on, for several seeds of its initial
//     values;
//   - begin near the loss of a model that knows nothing, ln 3: a first loss of 20 means that the initial values
//     are too large, and that the first steps are lost on making them smaller;
//   - work for inputs of any scale and origin, for example in millimetres instead of metres. This takes some
//     numbers: do they come from the points that it is trained on, or from those that it is asked about? A
//     single point must get the same answer alone and among others;
//   - be the same, to the last bit, when it is trained with the same seed again;
//   - train in less than a minute.
//
// The comments of the two declarations are the contract. When the tests pass, draw the regions of the three
// classes as in chapter 7, and see how they change with relu, with another layer, and with ten times the noise.
#include "exercise.h"

struct Classifier {
    std::function<Tensor(const Tensor&)> logits;  // x (N, 2) float64 → (N, K); not in the graph
    std::vector<double> losses;                   // of the training, each from before its step
};

// Trains on x (N, 2) float64 with targets int64 (N), each 0 … K − 1; `seed` decides on the initial values. The
// result still works when the arguments of this call no longer exist.
Classifier train_classifier(const Tensor& x, const Tensor& targets, std::int64_t K, std::uint64_t seed) {
    return blank();
}
