#include "exercise.h"

#include EXERCISE

namespace {

std::string listed(const std::vector<std::int64_t>& ids) {
    std::string text;
    for (const std::int64_t id : ids) text += (text.empty() ? "" : " ") + std::to_string(id);
    return "(" + text + ")";
}

void expect_ids(const std::string& what, const std::vector<std::int64_t>& got,
                const std::vector<std::int64_t>& want) {
    expect(got == want, what + " is " + listed(got) + ", and should be " + listed(want));
}

// Logits (1, T, 6) of a model that counts up from its last id, 0 1 2 3 …: position t says ids[t] + 1.
Tensor counting(const Tensor& ids) {
    expect(ids.rank() == 2 && ids.size(0) == 1,
           "logits_of was given ids of shape " + ids.shape().str() + ", and takes (1, T)");
    return embedding(eye(6), (ids + 1).reshape({ids.size(1)})).unsqueeze(0);
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "13. Cross-attention");
    exercise.predict("prediction_of_weights", prediction_of_weights, shape_of_cross_weights,
                     "Each of the 3 queries of each head has a weight for each of the 5 keys.",
                     {"Who asks, and who is asked?", "The axes are samples, heads, queries, keys."});
    exercise.predict("prediction_of_loss", prediction_of_loss, loss_with_padding,
                     "Targets of -100 are left out of the mean, so it is that of one target: ln 8.",
                     {"What is the loss of the one real target?", "By how many targets is the sum divided?"},
                     0.01);
    exercise.mend("look_back", "after the padding of sample 1 was edited",
                  {"Edit the padding of a short sentence: the result must not change.",
                   "Nothing tells attention which tokens of the memory are real.",
                   "Mask::padding(lengths) counts keys, and it is the fourth argument of cross."},
                  [] {
                      Rng rng(1);
                      nn::MultiHeadAttention cross(8, 2, rng);
                      cross.to(float64);
                      const NoGrad off;
                      const Tensor x = randn({2, 3, 8}, rng, float64), memory = randn({2, 5, 8}, rng, float64);
                      const Tensor y = look_back(cross, x, memory, {5, 2});
                      expect(y.shape() == x.shape(), "look_back gives the shape " + y.shape().str() +
                                                         ", and should give that of x, " + x.shape().str());
                      const Tensor other = memory.clone();
                      other[1].slice(0, 2, 5).fill_(7);
                      expect_equal("look_back after the padding of sample 1 was edited",
                                   look_back(cross, x, other, {5, 2}), y);
                      expect_equal("look_back", y, cross(x, memory, memory, Mask::padding({5, 2})));
                  });
    exercise.write(
        "pad_sentences",
        {"Two passes over the sentences: the longest first, then the rows.",
         "std::vector's resize(S, filler) fills a row; from_vector(all ids, {B, S}) makes the tensor."},
        [] {
            const Padded two = pad_sentences({{7, 5, 9}, {8}}, 0);
            expect_equal("the ids of {{7, 5, 9}, {8}} with filler 0", two.ids,
                         tensor({{7, 5, 9}, {8, 0, 0}}, int64));
            expect_ids("lengths", two.lengths, {3, 1});
            const Padded three = pad_sentences({{1}, {2, 3}, {}}, 9);
            expect_equal("the ids of {{1}, {2, 3}, {}} with filler 9", three.ids,
                         tensor({{1, 9}, {2, 3}, {9, 9}}, int64));
            expect_ids("their lengths", three.lengths, {1, 2, 0});
            expect_error(
                "pad_sentences of no sentence", [] { (void)pad_sentences({}, 0); }, "");
        });
    exercise.write("teacher",
                   {"Write the two rows for a sentence of three words, as in the chapter.",
                    "At each position the word given is the one before the word to be said.",
                    "given is begin and the words, says is the words and end."},
                   [] {
                       const Teacher t = teacher({7, 5, 9}, 0, 1);
                       expect_ids("given, of the words (7 5 9) with begin 0 and end 1,", t.given, {0, 7, 5, 9});
                       expect_ids("says, of the words (7 5 9) with begin 0 and end 1,", t.says, {7, 5, 9, 1});
                       const Teacher none = teacher({}, 3, 4);
                       expect_ids("given, of an empty sentence with begin 3 and end 4,", none.given, {3});
                       expect_ids("says, of an empty sentence with begin 3 and end 4,", none.says, {4});
                   });
    exercise.write(
        "greedy",
        {"A loop: ask for the logits of everything so far, and append the likeliest next token.",
         "Only the logits at the last position matter. When does the loop end?",
         "logits.select(1, -1) is the last position, and argmax(…, -1).item() a double. Neither begin nor end "
         "is among the words returned."},
        [] {
            expect_ids("greedy of a model that counts, with begin 0, end 5 and room for 10,",
                       greedy(counting, 0, 5, 10), {1, 2, 3, 4});
            expect_ids("greedy of the same model with room for 2 words", greedy(counting, 0, 5, 2), {1, 2});
            expect_ids("greedy of a model that ends at once", greedy(counting, 0, 1, 10), {});
            expect_ids("greedy with room for nothing", greedy(counting, 0, 5, 0), {});
        });
    exercise.paper(
        "probabilities_on_paper", probabilities_on_paper,
        {{"the probability of the greedy sentence", 0.6 * 0.5}, {"that of the likeliest sentence", 0.4 * 0.9}},
        {"The probability of a sentence is a product. There are four sentences.",
         "Greedy decoding takes A, and cannot go back."});
    return exercise.finish();
}
