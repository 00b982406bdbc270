#include "weft/training/data.h"

#include <algorithm>
#include <limits>

#include "weft/core/creation.h"
#include "weft/core/error.h"

namespace weft::training {

std::int64_t shared_size(std::span<const Tensor> tensors) {
    for (const Tensor& x : tensors)
        if (x.rank() == 0 || x.size(0) != tensors[0].size(0))
            throw ShapeError("TensorDataset: tensors of shape ", tensors[0].shape(), " and ", x.shape(),
                             "; their first axis counts the samples and must have the same size");
    return tensors[0].size(0);
}

PaddedSequences pad_sequence(const std::vector<Tensor>& sequences, double padding_value) {
    if (sequences.empty()) throw ValueError("pad_sequence: the list is empty; give at least one sequence");
    const Tensor& first = sequences[0];
    PaddedSequences result;
    for (const Tensor& x : sequences) {
        const auto rest = [](const Tensor& t) { return t.slice(0, 0, 0).shape(); };
        if (x.rank() == 0 || first.rank() == 0 || rest(x) != rest(first))
            throw ShapeError("pad_sequence: sequences of shape ", first.shape(), " and ", x.shape(),
                             "; they must be (T, …), with all sizes but the first equal");
        if (x.dtype() != first.dtype())
            throw DTypeError("pad_sequence: sequences of ", name(first.dtype()), " and ", name(x.dtype()),
                             "; convert one with to()");
        result.lengths.push_back(x.size(0));
    }
    const std::int64_t longest = std::ranges::max(result.lengths);
    std::vector<Tensor> padded;
    for (const Tensor& x : sequences) {
        std::vector<std::int64_t> padding(2 * static_cast<std::size_t>(x.rank()), 0);
        padding.back() = longest - x.size(0);  // after the last of the first axis
        padded.push_back(pad(x, padding, padding_value));
    }
    result.values = stack(padded, 0);
    return result;
}

BatchSampler::BatchSampler(std::int64_t samples, const DataLoaderOptions& options, Rng& rng)
    : samples_(samples), options_(options) {
    if (samples < 1) throw ValueError("DataLoader: the dataset is empty; give at least one sample");
    if (options.batch_size < 1)
        throw ValueError("DataLoader: batch_size is ", options.batch_size, "; use at least 1");
    if (size() == 0)
        throw ValueError("DataLoader: batch_size is ", options.batch_size, " for ", samples,
                         " samples, so drop_last leaves no batch; use a smaller batch_size");
    if (options.shuffle)
        seed_ = static_cast<std::uint64_t>(rng.randint(0, std::numeric_limits<std::int64_t>::max()));
}

std::int64_t BatchSampler::size() const {
    return samples_ / options_.batch_size + (!options_.drop_last && samples_ % options_.batch_size != 0);
}

std::vector<std::vector<std::size_t>> BatchSampler::batches(std::int64_t epoch) const {
    const auto bits = philox(seed_, static_cast<std::uint64_t>(epoch));
    Rng rng(bits[0] | std::uint64_t{bits[1]} << 32);
    const std::vector<std::int64_t> order =
        (options_.shuffle ? randperm(samples_, rng) : arange(samples_)).to_vector<std::int64_t>();
    std::vector<std::vector<std::size_t>> result;
    for (std::int64_t b = 0; b < size(); ++b) {
        const std::int64_t begin = b * options_.batch_size;
        const std::int64_t count = std::min(options_.batch_size, samples_ - begin);
        result.emplace_back(order.begin() + begin, order.begin() + begin + count);
    }
    return result;
}

}  // namespace weft::training
