// Evaluation that changes no module: several threads use one model.
#include <atomic>
#include <thread>

#include "catch.h"
#include "weft/check/attention.h"
#include "weft/lm/generate.h"

using namespace weft;

namespace {

lm::GPT model_with_dropout() {
    Rng rng(1);
    return {
        {.vocab_size = 16, .block_size = 16, .num_layers = 2, .num_heads = 2, .d_model = 16, .dropout = 0.5},
        rng};
}

text::Ids generated(const lm::GPT& model) {
    Rng rng(3);
    return lm::generate(model, {1, 2, 3}, {.max_new_tokens = 20, .sampling = {.temperature = 1, .rng = &rng}});
}

}  // namespace

TEST_CASE("EvalMode is a mode of its thread, and leaves the modules as they are", "[nn][evaluating]") {
    lm::GPT model = model_with_dropout();
    model.drop.eval();
    {
        const nn::EvalMode outer;
        CHECK_FALSE(model.training());
        {
            const nn::EvalMode inner;
            CHECK_FALSE(model.training());
        }
        CHECK_FALSE(model.training());
        bool elsewhere = false;
        std::thread([&] { elsewhere = model.training(); }).join();
        CHECK(elsewhere);
        model.train();  // is seen once no EvalMode lives
        CHECK_FALSE(model.drop.training());
    }
    CHECK(model.training());
    CHECK(model.drop.training());
}

TEST_CASE("two threads generate from one model that a third trains", "[nn][evaluating]") {
    lm::GPT model = model_with_dropout();
    const text::Ids expected = generated(model);
    std::atomic<int> wrong{0}, running{2};
    const auto generate_often = [&] {
        for (int i = 0; i < 20; ++i) wrong += generated(model) != expected;
        --running;
    };
    std::thread first(generate_often), second(generate_often);
    const Tensor ids = arange(8);
    int passes = 0, evaluated = 0;
    for (; running > 0 || passes == 0; ++passes)
        evaluated += !model.training() || all(model(ids) == model(ids));
    first.join();
    second.join();
    CHECK(wrong == 0);
    CHECK(evaluated == 0);  // dropout acted in every pass of this thread
}

TEST_CASE("the callback for each token runs in the caller's mode", "[nn][evaluating]") {
    const lm::GPT model = model_with_dropout();
    int training = 0;
    lm::generate(model, {1}, {.max_new_tokens = 3, .sampling = {.temperature = 0}}, [&](std::int64_t) {
        training += model.training();
        return true;
    });
    CHECK(training == 3);
}

TEST_CASE("the checklist leaves the modes of a module's parts as they are", "[nn][evaluating]") {
    Rng rng(1);
    nn::MultiHeadAttention attention(4, 2, rng, {.dropout = 0.5});
    attention.named_children()[1].second.eval();
    (void)check::attention(attention, randn({2, 3, 4}, rng));
    CHECK(attention.training());
    CHECK(attention.named_children()[0].second.training());
    CHECK_FALSE(attention.named_children()[1].second.training());
}
