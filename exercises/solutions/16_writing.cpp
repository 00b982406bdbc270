// Our solutions: the functions of exercises/16_writing.cpp that change.

double prediction_when_hot() { return 0.25; }

double prediction_when_cold() { return 0.94; }

double prediction_of_halves() { return 128; }

text::Ids continued(const lm::GPT& model, const text::Ids& prompt, std::int64_t n) {
    const NoGrad off;
    text::Ids written, unread = prompt;  // what the model has not read yet
    std::vector<nn::KeyValueCache> caches = model.make_caches();
    while (static_cast<std::int64_t>(written.size()) < n) {
        const auto count = static_cast<std::int64_t>(unread.size());
        const Tensor logits = model(from_vector(unread, {count}), caches);  // (T, V)
        written.push_back(static_cast<std::int64_t>(argmax(logits[count - 1], 0).item()));
        unread = {written.back()};
    }
    return written;
}

Tensor rounded_in_blocks(const Tensor& w) {
    const Tensor blocks = w.reshape({-1, 32});  // (n / 32, 32)
    const Tensor d = max(abs(blocks), 1, keepdim).values / 7;
    return (round(blocks / masked_fill(d, d == 0, 1)) * d).reshape(w.shape());
}

Tensor sampling_probabilities(const Tensor& logits, double temperature, std::int64_t top_k) {
    const std::int64_t V = logits.numel();
    const std::int64_t k = temperature == 0 ? 1 : top_k == 0 ? V : std::min(top_k, V);
    const double smallest = topk(logits, k).values.at({k - 1});
    const Tensor kept = masked_fill(logits, logits < smallest, -INFINITY);  // (V,)
    return softmax(temperature == 0 ? kept : kept / temperature, 0);
}

Tensor nucleus(const Tensor& probabilities, double top_p) {
    const Tensor sorted = sort(probabilities, 0, true).values;  // (V,), the likeliest first
    double total = 0;
    std::int64_t last = 0;
    for (; last < sorted.numel(); ++last)
        if ((total += sorted.at({last})) >= top_p) break;
    const double smallest = sorted.at({std::min(last, sorted.numel() - 1)});
    const Tensor kept = masked_fill(probabilities, probabilities < smallest, 0);  // (V,)
    return kept / sum(kept);
}

std::uint16_t bfloat16_bits(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

Tensor outlier_apart(const Tensor& w) {
    const Tensor far = abs(w) == max(abs(w));  // (1, 32)
    return where(far, w, dequantize(pack(masked_fill(w, far, 0), DType::Q4_0)));
}

std::vector<double> tokens_on_paper() { return {7750, 127}; }

std::vector<double> speed_on_paper() { return {76.5, 153, 288, 544}; }
