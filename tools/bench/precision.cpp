// What products in bfloat16 cost a training: a table of the validation losses of models that train on the
// default text from several seeds, each way, and one of how far GPT-2's gradients are from those in float64.
// Run it in the project's folder, where the default text is:
//
//     precision [--seeds N] [--text FILE] [MODEL…]
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>

#include "../../examples/default_text.h"
#include "weft/weft.h"

using namespace weft;

namespace {

const std::vector<std::string> precisions{"highest", "medium"};

Tensor loss_of(const lm::GPT& model, const training::Batch& batch) {
    return cross_entropy(model(batch.inputs), batch.targets);
}

// The validation loss after so many steps from this seed.
double trained(const lm::GPTConfig& config, const text::Ids& ids, std::int64_t steps, std::uint64_t seed) {
    training::Corpus corpus(ids, {.block_size = config.block_size, .batch_size = 12, .seed = seed});
    Rng rng(seed);
    const lm::GPT model(config, rng);
    optim::AdamW optimizer(optim::decay_groups(model, optim::AdamWOptions{.beta2 = 0.99, .weight_decay = 0.1}));
    const optim::CosineOptions rate{.lr = 1e-3, .min_lr = 1e-4, .warmup_steps = steps / 20, .steps = steps};
    for (std::int64_t step = 0; step < steps; ++step) {
        optimizer.set_lr(optim::cosine_lr(step, rate));
        loss_of(model, corpus.training_batch(step)).backward();
        optim::clip_grad_norm(model, 1.0);
        optimizer.step();
        optimizer.zero_grad();
    }
    return training::evaluate(corpus.validation_batches(),
                              [&](const training::Batch& batch) { return loss_of(model, batch); });
}

// The gradients of all parameters, as one vector of float64, of the same model and batch in another type.
Tensor gradients(const lm::GPTConfig& config, DType dtype, const training::Batch& batch) {
    Rng rng(1);
    lm::GPT model(config, rng);
    model.to(dtype);
    loss_of(model, batch).backward();
    std::vector<Tensor> parts;
    for (const Tensor& p : model.parameters()) parts.push_back(p.grad().to(float64).reshape(-1));
    return cat(parts, 0);
}

}  // namespace

int main(int argc, char** argv) try {
    CLI::App app("Print what products in bfloat16 cost a training");
    std::vector<std::string> names{"char", "10M", "gpt2"};
    std::string text;
    int seeds = 5;
    app.add_option("models", names, "char and 10M are trained, and gpt2's gradients compared; default: all")
        ->check(CLI::IsMember(names));
    app.add_option("--seeds", seeds, "trainings each way")->check(CLI::Range(2, 1000));
    app.add_option("--text", text, "to train on; default: train_gpt's")->check(CLI::ExistingFile);
    CLI11_PARSE(app, argc, argv);

    const std::string corpus =
        text.empty() ? default_text::load(".", default_text::places(".")).text : training::read_text({text});
    const text::Characters characters(corpus);
    const text::Ids ids = characters.encode(corpus);
    std::printf(
        "| model | steps | products | mean validation loss | standard deviation |\n"
        "| --- | --- | --- | --- | --- |\n");
    for (const std::string& name : names) {
        if (name == "gpt2") continue;
        const bool small = name == "char";
        const std::int64_t steps = small ? 1000 : 100;
        const lm::GPTConfig config{.vocab_size = characters.vocab_size(),
                                   .block_size = small ? 64 : 128,
                                   .num_layers = small ? 4 : 6,
                                   .num_heads = small ? 4 : 6,
                                   .d_model = small ? 128 : 384};
        std::vector<std::vector<double>> losses(2);
        for (int seed = 1; seed <= seeds; ++seed)
            for (std::size_t i = 0; i < 2; ++i) {
                const Float32MatmulPrecision precision(precisions[i]);
                losses[i].push_back(trained(config, ids, steps, static_cast<std::uint64_t>(seed)));
            }
        for (std::size_t i = 0; i < 2; ++i) {
            const Tensor all = from_vector(losses[i], {seeds});
            std::printf("| %s | %lld | %s | %.4f | %.4f |\n", name.c_str(), static_cast<long long>(steps),
                        precisions[i].c_str(), mean(all).item(), weft::std(all).item());
            std::fflush(stdout);
        }
    }
    if (std::find(names.begin(), names.end(), "gpt2") == names.end()) return 0;
    const lm::GPTConfig gpt2{.vocab_size = 50257,
                             .block_size = 1024,
                             .num_layers = 12,
                             .num_heads = 12,
                             .d_model = 768,
                             .bias = true};
    Rng rng(2);
    const training::Batch batch{randint(0, 50257, {1, 64}, rng), randint(0, 50257, {1, 64}, rng)};
    const Tensor exact = gradients(gpt2, float64, batch);
    std::printf(
        "\n| products | distance of GPT-2's gradient from float64's, in its norm | cosine |\n| --- | --- | --- "
        "|\n");
    for (const std::string& precision : precisions) {
        const Float32MatmulPrecision set(precision);
        const Tensor found = gradients(gpt2, float32, batch);
        std::printf("| %s | %.2e | %.8f |\n", precision.c_str(), (norm(found - exact) / norm(exact)).item(),
                    (dot(found, exact) / (norm(found) * norm(exact))).item());
        std::fflush(stdout);
    }
} catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
