#include "weft/training/data.h"

#include <algorithm>
#include <limits>

#include "weft/core/creation.h"
#include "weft/core/error.h"
#include "weft/io/files.h"
#include "weft/io/safetensors.h"
#include "weft/ops.h"

namespace weft::training {

namespace {

// Without a byte-order mark, and with LF for CR LF.
std::string cleaned(const std::string& raw) {
    std::string text;
    text.reserve(raw.size());
    for (std::size_t i = raw.starts_with("\xEF\xBB\xBF") ? 3 : 0; i < raw.size(); ++i)
        if (raw.compare(i, 2, "\r\n") != 0) text.push_back(raw[i]);
    return text;
}

Batch batch_at(const text::Ids& ids, const std::vector<std::int64_t>& starts, std::int64_t T) {
    text::Ids inputs, targets;
    inputs.reserve(starts.size() * static_cast<std::size_t>(T));
    targets.reserve(inputs.capacity());
    for (const std::int64_t start : starts) {
        inputs.insert(inputs.end(), ids.begin() + start, ids.begin() + start + T);
        targets.insert(targets.end(), ids.begin() + start + 1, ids.begin() + start + T + 1);
    }
    const Shape shape{std::ssize(starts), T};
    return {from_vector(inputs, shape), from_vector(targets, shape)};
}

}  // namespace

std::string read_text(const std::vector<std::filesystem::path>& paths) {
    std::string text;
    for (const auto& path : paths) {
        const std::string raw = io::unpacked(io::load_text(path), path), part = cleaned(raw);
        try {
            text::Characters{raw};  // refuses what is not UTF-8
        } catch (const ValueError& error) {
            throw IoError(path.string(), ": ", error.what());
        }
        if (part.empty()) throw IoError("cannot train on ", path.string(), ": it is empty");
        text += part;
    }
    return text;
}

Corpus::Corpus(const text::Ids& ids, const Options& options) : options_(options) {
    const auto n = std::ssize(ids), T = options.block_size;
    if (T < 1 || options.batch_size < 1)
        throw ValueError("Corpus: block_size is ", T, " and batch_size ", options.batch_size,
                         "; both are at least 1");
    if (n <= 10 * T)  // then ⌈n / 10⌉, the validation part, has at most block_size tokens
        throw ValueError("the text has ", n, " tokens; a block_size of ", T, " needs at least ", 10 * T + 1,
                         ", because a tenth is for validation; use a longer text or a smaller block_size");
    const auto cut = ids.begin() + (n / 10 * 9 + n % 10 * 9 / 10);  // ⌊0.9 n⌋
    training_.assign(ids.begin(), cut);
    validation_.assign(cut, ids.end());
}

void Corpus::draw_pass(std::int64_t pass) {
    if (pass == pass_) return;
    const auto bits = philox(options_.seed, static_cast<std::uint64_t>(pass));
    Rng rng(bits[0] | std::uint64_t{bits[1]} << 32);
    const std::int64_t T = options_.block_size, offset = rng.randint(0, T);
    starts_.resize(static_cast<std::size_t>((std::ssize(training_) - T) / T));
    for (std::size_t i = 0; i < starts_.size(); ++i) {  // each new block is swapped with one before it
        const auto j = static_cast<std::size_t>(rng.randint(0, static_cast<std::int64_t>(i) + 1));
        starts_[i] = starts_[j];
        starts_[j] = offset + static_cast<std::int64_t>(i) * T;
    }
    pass_ = pass;
}

Batch Corpus::training_batch(std::int64_t step) {
    if (step < 0 || step >= INT64_MAX / options_.batch_size)
        throw ValueError("Corpus: a batch of step ", step, "; count steps from 0");
    const std::int64_t T = options_.block_size, blocks = (std::ssize(training_) - T) / T;
    std::vector<std::int64_t> starts;
    for (std::int64_t i = step * options_.batch_size; i < (step + 1) * options_.batch_size; ++i) {
        draw_pass(i / blocks);
        starts.push_back(starts_[static_cast<std::size_t>(i % blocks)]);
    }
    return batch_at(training_, starts, T);
}

std::vector<Batch> Corpus::validation_batches(std::int64_t limit) const {
    const std::int64_t T = options_.block_size, B = options_.batch_size;
    const std::int64_t blocks = (std::ssize(validation_) - 1) / T, used = std::min(blocks, limit * B);
    std::vector<Batch> batches;
    for (std::int64_t first = 0; first < used; first += B) {
        std::vector<std::int64_t> starts;
        for (std::int64_t i = first; i < std::min(first + B, used); ++i)
            starts.push_back(i * blocks / used * T);
        batches.push_back(batch_at(validation_, starts, T));
    }
    return batches;
}

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
