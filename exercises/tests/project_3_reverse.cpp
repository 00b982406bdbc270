#include "exercise.h"
#include EXERCISE

namespace {

// The reader's model, trained once, and how long that took; throws what train_reverser throws.
const Reverser& trained() {
    static const Reverser model = [] {
        Reverser result;
        expect_within(60, "the training", [&] { result = train_reverser(1); });
        expect(static_cast<bool>(result), "train_reverser should return a function");
        return result;
    }();
    return model;
}

// The share of the digits of n new sentences of this length that the model writes rightly.
double share_right(const Reverser& model, std::int64_t n, std::int64_t length, Rng& rng) {
    const Tensor ids = randint(0, 10, {n, 8}, rng);
    const Tensor logits = model(ids, std::vector<std::int64_t>(static_cast<std::size_t>(n), length));
    expect(logits.shape() == Shape({n, 8, 10}), "the logits of ids (" + std::to_string(n) + ", 8) are " +
                                                    logits.shape().str() + ", and should be (" +
                                                    std::to_string(n) + ", 8, 10)");
    const Tensor written = argmax(logits, -1).slice(1, 0, length), wanted = flip(ids.slice(1, 0, length), 1);
    return mean((written == wanted).to(float64)).item();
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "Project 3. Digits in reverse");
    exercise.accept("right for new sentences",
                    {"Draw digits and lengths, train with cross_entropy, and leave out what is after the "
                     "length by targets of -100. Does the loss come near 0?",
                     "Query t has to find the key whose position counted from the end is t. Can both positions "
                     "be in the embedding?",
                     "Add three embeddings: of the digit, of t, and of length - 1 - t (0 for padding); then "
                     "one attention with Mask::padding(lengths), and a linear layer to 10 logits. Adam with "
                     "0.003 and 1000 batches of 64 will do."},
                    [] {
                        Rng rng(77);
                        for (std::int64_t length = 2; length <= 8; ++length) {
                            const double share = share_right(trained(), 200, length, rng);
                            expect(share >= 0.99, "of the digits of sentences of length " +
                                                      std::to_string(length) + ", " +
                                                      std::to_string(static_cast<int>(100 * share)) +
                                                      " % are right, and 99 % should be");
                        }
                    });
    exercise.accept("the digits in the padding",
                    {"Which mask hides keys after the length?", "Mask::padding(lengths)."}, [] {
                        Rng rng(78);
                        const Tensor ids = randint(0, 10, {20, 8}, rng), other = ids.clone();
                        other.slice(1, 5, 8).fill_(3);
                        const std::vector<std::int64_t> five(20, 5);
                        expect_equal("the logits after the padding was edited",
                                     trained()(other, five).slice(1, 0, 5), trained()(ids, five).slice(1, 0, 5),
                                     1e-4);
                    });
    exercise.accept("each sentence as if it were alone",
                    {"Does anything in your model compute a mean or a maximum over the batch?"}, [] {
                        Rng rng(79);
                        const Tensor ids = randint(0, 10, {3, 8}, rng);
                        const std::vector<std::int64_t> lengths = {3, 8, 5};
                        const Tensor together = trained()(ids, lengths);
                        for (std::int64_t b = 0; b < 3; ++b) {
                            const std::int64_t length = lengths[static_cast<std::size_t>(b)];
                            expect_equal("the logits of sentence " + std::to_string(b) + " alone",
                                         trained()(ids.slice(0, b, b + 1), {length}).slice(1, 0, length),
                                         together.slice(0, b, b + 1).slice(1, 0, length), 1e-4);
                        }
                        expect(!together.requires_grad(),
                               "logits should not be in the graph: compute them under NoGrad");
                    });
    return exercise.finish();
}
