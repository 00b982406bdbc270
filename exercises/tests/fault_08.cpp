#include "judge.h"
#include FAULT

namespace {

std::pair<std::vector<Tensor>, double> gradients(const lm::GPT& model, const training::Batch& batch,
                                                 std::int64_t parts) {
    lm::GPT(model).zero_grad();
    const double loss = accumulate(model, batch, parts);
    std::vector<Tensor> found;
    for (const Tensor& parameter : model.parameters()) found.push_back(parameter.grad().clone());
    return {found, loss};
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "Fault 8. The small print");
    exercise.fault({
        .program = program,
        .planted = "in four parts",
        .look = "The same model and the same batch, and the first loss already differs in the third digit. "
                "Leave the curves. How many targets has each part?",
        .hints =
            {"Take a batch in which three parts have one target each and the last has sixty. What should each "
             "target weigh?",
             "cross_entropy is a mean over the targets of its part. When is the mean of means the mean?",
             "A part's share is its number of targets in that of the whole batch; count_targets counts them."},
        .check =
            [] {
                Rng rng(1);
                const lm::GPT model = make_model(rng);
                return verdict(model, draw_batch(story(1, 60), 4, rng));
            },
        .test =
            [] {
                Rng rng(1);
                const lm::GPT model = make_model(rng);
                const training::Batch batch = draw_batch(story(1, 60), 8, rng);
                const auto [whole, loss] = gradients(model, batch, 1);
                expect_equal("the loss in one part", loss,
                             cross_entropy(model(batch.inputs), batch.targets).item());
                const auto [parts, sum] = gradients(model, batch, 4);
                expect_equal("the loss in four parts", sum, loss);
                for (std::size_t i = 0; i < whole.size(); ++i)
                    expect_equal("the gradient in four parts,", parts[i], whole[i]);
            },
        .why = "Each target weighs the same, in whatever part it is, and the gradient is that of the whole "
               "batch. In the mean of means a target of a short sentence weighed eight times as much as "
               "one of a long sentence.",
    });
    return exercise.finish();
}
