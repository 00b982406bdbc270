// The files that a training goes on from: see readers.h.
#pragma once

#include "readers.h"

namespace fuzz {

inline std::string checkpoint(const std::string& bytes) {
    const File file(bytes);
    return refusal_of([&] {
        const auto saved = training::Checkpoint::load(file.path());
        const auto size = [&](const char* name) { return saved.number<std::int64_t>(name, 1'000'000); };
        const lm::GPTConfig config{.vocab_size = text::Characters(saved.meta("vocabulary")).vocab_size(),
                                   .block_size = size("block_size"),
                                   .num_layers = size("num_layers"),
                                   .num_heads = size("num_heads"),
                                   .d_model = size("d_model"),
                                   .dropout = saved.number<double>("dropout", 0.99),
                                   .bias = saved.meta("bias") == "true"};
        lm::check_state_dict(config, saved.model);
        Rng rng(1);
        lm::GPT model(config, rng);
        optim::AdamW optimizer(model);
        const std::int64_t step = saved.restore(model, optimizer);
        training::Checkpoint(model, optimizer, step, saved.metadata).save(folder() / "again");
        const auto again = training::Checkpoint::load(folder() / "again");
        promise_same(again.model, model.state_dict());
        const io::SafeTensors file_again = io::load_safetensors(folder() / "again");
        for (const auto& [name, x] : optimizer.state_dict())
            require(same(file_again.at("optimizer." + name), x), "the same state of the optimiser");
        io::Metadata expected = saved.metadata;
        expected["arithmetic_version"] = std::to_string(training::arithmetic_version);
        expected.emplace("default_rng", again.meta("default_rng"));  // files of earlier versions do not say it
        require(again.metadata == expected, "the same step and generators after writing");
    });
}

inline std::string history(const std::string& bytes) {
    return refusal_of([&] {
        const auto read = training::History::load(File(bytes).path(), 1000);
        read.save(folder() / "loss.csv");
        const auto again = training::History::load(folder() / "loss.csv", 1000);
        require(again.rows.size() == read.rows.size(), "as many rows after writing");
        (void)read.mean_since_evaluation();
    });
}

}  // namespace fuzz
