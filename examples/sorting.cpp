// A GPT that sorts: it reads six digits and writes them in order. Nobody tells it how; the loss counts only
// what it writes (targets of −100 do not count). B sequences, T = 11 tokens: the six digits, and five of the
// answer.
#include <weft/weft.h>

#include <cstdio>

using namespace weft;

int main() {
    constexpr std::int64_t length = 6, digits = 3;
    Rng rng(1);
    lm::GPT model(
        {.vocab_size = digits, .block_size = 2 * length - 1, .num_layers = 2, .num_heads = 2, .d_model = 48},
        rng);
    optim::AdamW optimizer(model, {.lr = 1e-3});
    for (int step = 0; step <= 300; ++step) {
        const Tensor question = randint(0, digits, {64, length}, rng),
                     answer = question.sort().values;                                  // (B, 6)
        const Tensor ids = cat({question, answer.slice(1, 0, length - 1)}, 1);         // (B, T)
        const Tensor targets = cat({full({64, length - 1}, -100, int64), answer}, 1);  // (B, T)
        const Tensor loss = cross_entropy(model(ids), targets);
        optimizer.zero_grad();
        loss.backward();
        optimizer.step();
        if (step % 100 == 0) std::printf("step %3d  loss %.4f\n", step, loss.item());
    }
    const Tensor question = randint(0, digits, {500, length}, rng), answer = question.sort().values;
    const Tensor written = model.generate(question, length, {.temperature = 0}).slice(1, length, 2 * length);
    const double right = mean(all(written == answer, 1)).item();
    std::printf("sorted rightly: %.1f %% of 500\n", 100 * right);
    return right > 0.95 ? 0 : 1;
}
