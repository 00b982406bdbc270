#include "judge.h"
#include FAULT

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "Fault 12. Top marks");
    exercise.fault({
        .program = program,
        .planted = "the validation part is learned, too",
        .look =
            "The two losses fall together, which a model this large on so short a text cannot do; and the "
            "loss on a new story is nearly twice the validation loss. What does the model see while it trains?",
        .hints = {"A validation loss that follows the training loss to the end is a gift. Who gives it?",
                  "Make a text whose last fifth is all \"z\". Does the model ever say \"z\"?",
                  "Follow `ids` and `parts` through learn: what is drawn from which?"},
        .check =
            [] {
                Rng rng(1);
                const lm::GPT model({.vocab_size = 28, .block_size = T, .num_layers = 1, .d_model = 32}, rng);
                return verdict(model, draw_batch(randint(0, 28, {200}, rng), 4, rng));
            },
        .test =
            [] {
                const Parts parts = cut(arange(100));
                expect(parts.training.size(0) == 80 && parts.validation.size(0) == 20 &&
                           parts.training.at(79) == 79 && parts.validation.at(0) == 80,
                       "the text is not cut after four fifths any more");
                Rng rng(1);
                lm::GPT model({.vocab_size = 28, .block_size = T, .num_layers = 1, .d_model = 32}, rng);
                model.to(float64);
                text::Ids letters(1000, 27);  // b, c, b, c, …, and z to the end
                for (std::size_t i = 0; i < 800; ++i) letters[i] = 3 + static_cast<std::int64_t>(i % 2);
                const Tensor ids = from_vector(letters);
                const double before = loss_on(model, cut(ids).validation);
                const auto [losses, validation] = learn(model, ids, 60, rng);
                expect(loss_on(model, cut(ids).training) < 0.5, "the training part is not learned any more");
                expect(loss_on(model, cut(ids).validation) > 2, "the validation part is learned, too");
                expect(!validation.empty(), "no validation loss is measured any more");
                expect_equal("the first validation loss", validation[0], before);
            },
        .why = "What is measured on the validation part now says what the model will do on a text that it has "
               "not seen; and it says that the model should have stopped long ago.",
    });
    return exercise.finish();
}
