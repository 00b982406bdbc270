#include "exercise.h"

#include EXERCISE

namespace {

std::string told(const std::vector<std::int64_t>& ids) {
    std::string text;
    for (const std::int64_t id : ids) text += (text.empty() ? "" : " ") + std::to_string(id);
    return "(" + text + ")";
}

void expect_ids(const std::string& what, const std::vector<std::int64_t>& got,
                const std::vector<std::int64_t>& want) {
    expect(got == want, what + " is " + told(got) + ", and should be " + told(want));
}

// Logits (1, T, 6) of a model that counts up from its last id, 0 1 2 3 …: place t says ids[t] + 1.
Tensor counting(const Tensor& ids) {
    expect(ids.rank() == 2 && ids.size(0) == 1,
           "logits_of was given ids of shape " + ids.shape().str() + ", and takes (1, T)");
    return embedding(eye(6), (ids + 1).reshape({ids.size(1)})).unsqueeze(0);
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "11. Cross-attention");
    exercise.part(
        "look_back",
        "The writer asks: x is the query. Key and value are both the memory. Mask::padding(lengths) counts "
        "keys, and the keys are the memory's.",
        [] {
            Rng rng(1);
            nn::MultiHeadAttention cross(8, 2, rng);
            cross.to(float64);
            const NoGrad off;
            const Tensor x = randn({2, 3, 8}, rng, float64), memory = randn({2, 5, 8}, rng, float64);
            const Tensor y = look_back(cross, x, memory, {5, 2});
            expect(y.shape() == x.shape(), "look_back gives the shape " + y.shape().str() +
                                               ", and should give that of x, " + x.shape().str());
            Tensor other = memory.clone();
            other[1].slice(0, 2, 5).fill_(7);
            expect_equal("look_back after the padding of sample 1 was edited",
                         look_back(cross, x, other, {5, 2}), y);
            expect_equal("look_back", y, cross(x, memory, memory, Mask::padding({5, 2})));
        });
    exercise.part("teacher", "At each place the word given is the one before the word to be said.", [] {
        const Teacher t = teacher({7, 5, 9}, 0, 1);
        expect_ids("given, of the words (7 5 9) with begin 0 and end 1,", t.given, {0, 7, 5, 9});
        expect_ids("says, of the words (7 5 9) with begin 0 and end 1,", t.says, {7, 5, 9, 1});
        const Teacher none = teacher({}, 3, 4);
        expect_ids("given, of an empty sentence with begin 3 and end 4,", none.given, {3});
        expect_ids("says, of an empty sentence with begin 3 and end 4,", none.says, {4});
    });
    exercise.part(
        "greedy",
        "Begin with {begin}. logits.select(1, -1) is the last place, and argmax(…, -1).item() a double. "
        "Neither begin nor end belongs to the words that are returned.",
        [] {
            expect_ids("greedy of a model that counts, with begin 0, end 5 and room for 10,",
                       greedy(counting, 0, 5, 10), {1, 2, 3, 4});
            expect_ids("greedy of the same model with room for 2 words", greedy(counting, 0, 5, 2), {1, 2});
            expect_ids("greedy of a model that ends at once", greedy(counting, 0, 1, 10), {});
        });
    return exercise.finish();
}
