#include "judge.h"
#include FAULT

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "Fault 9. Stutter");
    exercise.fault({
        .program = program,
        .planted = "letter by letter",
        .look = "The training is fine, and so is the model. Only what is written letter by letter goes wrong, "
                "and only from its second letter on. What differs between the two ways?",
        .hints = {"\"wterfoxo\" lacks the second letter, and all that follows comes one too early. What does "
                  "the model use to know how far it is?",
                  "quickly gives the model one letter and a position. Print both for the first letter after "
                  "the prompt.",
                  "Positions count from 0: when ids has n + 2 letters, the last one is at position n + 1."},
        .check =
            [] {
                manual_seed(1);
                Rng& rng = default_rng();
                const Repeater model;
                const Tensor x = randn({2, 6, C}, rng, float64);
                model(randint(0, 28, {2, T}, rng)).sum().backward();
                return verdict(check::attention(model.attention, x)) + "\n" +
                       verdict(check::gradient_flow(model));
            },
        .test =
            [] {
                std::int64_t slow = 0, quick = 0;
                for (std::uint64_t seed = 1; seed <= 5; ++seed) {
                    manual_seed(seed);
                    const Repeater model;
                    text::Ids prompt(n + 1), want = prompt;
                    for (std::int64_t& id : prompt) id = draw_number(0, 28, default_rng());
                    want = prompt;
                    for (int i = 0; i < n; ++i) {
                        const NoGrad off;
                        want.push_back(best(model(row(want))));
                    }
                    const CountMultiplyAdds counter;
                    expect(slowly(model, prompt) == want,
                           "slowly does not give the likeliest letters any more");
                    const std::int64_t before = counter.count();
                    expect(quickly(model, prompt) == want, "letter by letter is not what is all at once");
                    slow += before, quick += counter.count() - before;
                }
                expect(quick < slow / 2,
                       "the letters are right, but every pass is over all of them: the cache has no use");
            },
        .why = "Each letter is at the position where it stands. One late, every query looked eight places back "
               "from the wrong place, and the loss never knew: training does not use the cache.",
    });
    return exercise.finish();
}
