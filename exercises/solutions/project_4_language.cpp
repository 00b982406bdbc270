// Our solution: the functions of exercises/project_4_language.cpp that change.

LanguageModel train_language_model(const std::string& text, std::uint64_t seed) {
    constexpr std::int64_t T = 48, B = 16;
    const auto tokenizer = std::make_shared<text::Characters>(text);
    const Tensor ids = from_vector(tokenizer->encode(text));  // (N,)
    Rng rng(seed);
    const lm::GPTConfig config = {
        .vocab_size = tokenizer->vocab_size(), .block_size = T, .num_layers = 2, .num_heads = 4, .d_model = 64};
    const auto model = std::make_shared<lm::GPT>(config, rng);
    optim::AdamW optimizer(*model, {.lr = 3e-3});
    LanguageModel result;
    constexpr int steps = 700;
    for (int step = 0; step < steps; ++step) {
        std::vector<Tensor> inputs, targets;  // (T,) each
        for (const std::int64_t start : randint(0, ids.size(0) - T, {B}, rng).to_vector<std::int64_t>()) {
            inputs.push_back(ids.slice(0, start, start + T));
            targets.push_back(ids.slice(0, start + 1, start + T + 1));
        }
        optimizer.set_lr(optim::cosine_lr(step, {.lr = 3e-3, .warmup_steps = 20, .steps = steps}));
        optimizer.zero_grad();
        const Tensor loss = cross_entropy((*model)(stack(inputs)), stack(targets));
        loss.backward();
        optim::clip_grad_norm(*model, 1.0);
        optimizer.step();
        result.losses.push_back(loss.item());
    }
    result.loss = [=](const std::string& of) {
        const NoGrad off;
        const Tensor all = from_vector(tokenizer->encode(of));  // (N,)
        const std::int64_t last = all.size(0) - 1;
        double total = 0;
        for (std::int64_t from = 0; from < last; from += T / 2) {  // half of a block is context
            const std::int64_t to = std::min(from + T / 2, last), start = std::max<std::int64_t>(0, to - T);
            const Tensor logits = (*model)(all.slice(0, start, to));  // (to − start, V)
            total += cross_entropy(logits.slice(0, from - start, to - start), all.slice(0, from + 1, to + 1))
                         .item() *
                     static_cast<double>(to - from);
        }
        return total / static_cast<double>(last);
    };
    result.write = [=](const std::string& prompt, int length, double temperature, std::uint64_t drawn) {
        Rng chance(drawn);
        return tokenizer->decode(
            lm::generate(*model, tokenizer->encode(prompt),
                         {.max_new_tokens = length, .sampling = {.temperature = temperature, .rng = &chance}}));
    };
    return result;
}
