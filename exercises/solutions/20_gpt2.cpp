// Our solutions: the functions of exercises/20_gpt2.cpp that change.

double prediction_of_tokens() { return 3; }

std::string prediction_of_merge() { return "ab"; }

Projections attention_weights(const Tensor& c_attn, const Tensor& c_proj) {
    const std::int64_t C = c_attn.size(0);
    const Tensor W = c_attn.T();  // (3C, C)
    return {W.slice(0, 0, C), W.slice(0, C, 2 * C), W.slice(0, 2 * C, 3 * C), c_proj.T()};
}

std::vector<std::int64_t> merge_step(const std::vector<std::int64_t>& ids, std::int64_t new_id) {
    std::map<std::pair<std::int64_t, std::int64_t>, int> counts;  // in the order of left, then right
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) ++counts[{ids[i], ids[i + 1]}];
    std::pair<std::int64_t, std::int64_t> best;
    int most = 0;
    for (const auto& [pair, count] : counts)
        if (count > most) most = count, best = pair;
    std::vector<std::int64_t> merged;
    for (std::size_t i = 0; i < ids.size(); ++i)
        if (i + 1 < ids.size() && ids[i] == best.first && ids[i + 1] == best.second)
            merged.push_back(new_id), ++i;
        else
            merged.push_back(ids[i]);
    return merged;
}

std::vector<std::int64_t> encode(std::vector<std::int64_t> ids, const std::vector<Merge>& merges) {
    while (true) {
        const Merge* next = nullptr;
        for (const Merge& merge : merges) {
            for (std::size_t i = 0; i + 1 < ids.size() && next == nullptr; ++i)
                if (ids[i] == merge.left && ids[i + 1] == merge.right) next = &merge;
            if (next != nullptr) break;
        }
        if (next == nullptr) return ids;
        std::vector<std::int64_t> merged;
        for (std::size_t i = 0; i < ids.size(); ++i)
            if (i + 1 < ids.size() && ids[i] == next->left && ids[i + 1] == next->right)
                merged.push_back(next->result), ++i;
            else
                merged.push_back(ids[i]);
        ids = merged;
    }
}

double most_tokens_per_second(const Sizes& model, std::int64_t T, double bytes_per_number,
                              double bytes_per_second) {
    const std::int64_t numbers = model.parameters + 2 * model.layers * T * model.d_model;
    return bytes_per_second / (bytes_per_number * static_cast<double>(numbers));
}

std::vector<double> memory_on_paper() { return {474.7, 72}; }
