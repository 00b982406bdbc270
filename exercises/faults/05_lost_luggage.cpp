// Fault 5. Lost luggage: we load a model that was good when it was saved. It can still be fine-tuned.
//
//     make fault N=5             runs this file and judges it; HINT=1 helps, CHECK=1 asks check::
//
// B batch, T tokens, C = d_model.
#include "fault.h"

constexpr std::int64_t T = 24;

lm::GPT make_model(Rng& rng) {
    lm::GPT model({.vocab_size = alphabet().vocab_size(), .block_size = T, .num_layers = 2, .d_model = 32},
                  rng);
    model.to(float64);
    return model;
}

// What GPT-2's files hold: the weights of linear layers are (in, out), ours (out, in). Nothing else differs.
nn::NamedTensors saved(const lm::GPT& model) {
    nn::NamedTensors file;
    for (const auto& [name, value] : model.state_dict())
        file.emplace_back(name, name.find("blocks") != std::string::npos && value.rank() == 2
                                    ? value.detach().transpose(0, 1).clone()
                                    : value.detach().clone());
    return file;
}

// Loads such a file into the model.
void load(lm::GPT& model, const nn::NamedTensors& file) {
    nn::NamedTensors state = model.state_dict();
    for (std::size_t i = 0; i < state.size(); ++i) {
        const Tensor& value = file[i].second;
        const bool turned = value.shape() != state[i].second.shape();
        state[i].second = turned ? value.transpose(0, 1) : value;
    }
    model.load_state_dict(state);
}

void program(std::uint64_t seed) {
    Rng rng(seed);
    lm::GPT theirs = make_model(rng), ours = make_model(rng);
    training::Corpus corpus(alphabet().encode(story(seed, 400)),
                            {.block_size = T, .batch_size = 8, .seed = seed});
    const auto steps = [&](const lm::GPT& model, int count, int from) {
        return train(model.parameters(), count, 3e-3, [&](int step) {
            const training::Batch batch = corpus.training_batch(from + step);  // each (B, T)
            return cross_entropy(model(batch.inputs), batch.targets);
        });
    };
    draw({{'.', "their training", steps(theirs, 150, 0)}});
    load(ours, saved(theirs));
    show_sample(ours, "my quick fox ", seed);
    draw({{'o', "our fine-tuning", steps(ours, 350, 150)}});
    show_sample(ours, "my quick fox ", seed);
}
