#include "judge.h"
#include FAULT

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "Fault 10. Twins");
    exercise.fault({
        .program = program,
        .planted = "the head is no longer the table",
        .look = "A model that was saved and loaded has one weight more to train than before, and the loss is "
                "none the worse for it. Which is it?",
        .hints = {"It has 896 parameters more, and 896 = 28 · 32. Which weights have that size?",
                  "The file holds values under every name. What did `weights[\"head\"] = weights[\"table\"]` "
                  "say that no value says?",
                  "Copy the values into the tensors that the model has, as load_state_dict does; or tie the "
                  "head again after the loop."},
        .check =
            [] {
                struct Weights : nn::Module {
                    explicit Weights(const Tied& model) {
                        for (const Tensor& weight : model.parameters())
                            static_cast<void>(
                                register_parameter("weight" + std::to_string(num_parameters()), weight));
                    }
                };
                Rng rng(1);
                Tied model(rng);
                load(model, save(model));
                const Weights weights(model);
                sum(model(randint(0, 28, {2, T}, rng)) * randn({2, T, 28}, rng, float64)).backward();
                return verdict(check::gradient_flow(weights));
            },
        .test =
            [] {
                Rng rng(1);
                const Tied theirs(rng);
                Tied ours(rng);
                const std::map<std::string, Tensor> file = save(theirs);
                load(ours, file);
                for (const auto& [name, weight] : theirs.weights) {
                    expect_equal(name + ", loaded,", ours.weights.at(name), weight);
                    expect(ours.weights.at(name).requires_grad(),
                           name + " is not trained any more after loading");
                    expect(!ours.weights.at(name).shares_storage(file.at(name)),
                           "training would change the file: " + name + " is its tensor, not a copy");
                }
                expect(ours.weights.at("head").shares_storage(ours.weights.at("table")),
                       "the head is no longer the table");
                expect_equal("the number of parameters", static_cast<double>(ours.size()),
                             static_cast<double>(theirs.size()));
            },
        .why = "One tensor, two names, after loading as before. Untied, the two began equal and were trained "
               "apart: more parameters, and a smaller training loss, which is why no curve complains.",
    });
    return exercise.finish();
}
