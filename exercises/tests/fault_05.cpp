#include "judge.h"
#include FAULT

namespace {

nn::NamedTensors as_theirs(const lm::GPT& model) {
    nn::NamedTensors file;
    for (const auto& [name, value] : model.state_dict())
        file.emplace_back(name, name.starts_with("blocks") && value.rank() == 2
                                    ? value.detach().transpose(0, 1).clone()
                                    : value.detach().clone());
    return file;
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "Fault 5. Lost luggage");
    exercise.fault({
        .program = program,
        .planted = "W_out.weight is transposed",
        .look = "Right after loading, our model should write as well as theirs, and its loss should begin "
                "where theirs ended. Compare the two models weight by weight.",
        .hints = {"The fine-tuning repairs what the loading broke. Which weights differ between theirs and "
                  "ours, right after load?",
                  "load turns a weight if its shape does not fit. Which weights in a block fit both ways?",
                  "Attention ends with a C × C weight. Decide by the name and the rank, which the comment "
                  "above `saved` tells, not by the shape."},
        .check =
            [] {
                Rng rng(1);
                const lm::GPT theirs = make_model(rng);
                lm::GPT ours = make_model(rng);
                load(ours, saved(theirs));
                const Tensor ids = randint(0, 28, {2, T}, rng);
                return verdict(ours, {ids, ids});
            },
        .test =
            [] {
                Rng rng(1);
                const lm::GPT theirs = make_model(rng);
                lm::GPT ours = make_model(rng);
                load(ours, as_theirs(theirs));
                const nn::NamedTensors want = theirs.state_dict(), got = ours.state_dict();
                for (std::size_t i = 0; i < want.size(); ++i) {
                    const auto& [name, weight] = want[i];
                    const bool square = weight.rank() == 2 && weight.size(0) == weight.size(1);
                    expect(!square || !allclose(got[i].second.transpose(0, 1), weight),
                           name + " is transposed");
                    expect_equal(name + ", loaded,", got[i].second, weight);
                }
            },
        .why =
            "Every weight arrives, turned as it should be. A square one fits both ways, so no shape "
            "complained; what attention found went through W_out transposed, and the fine-tuning paid for it.",
    });
    return exercise.finish();
}
