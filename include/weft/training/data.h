// The token ids of a text as batches for a language model, one part for training and one for validation.
// N tokens in the text, B sequences in a batch, T = block_size tokens in each.
#pragma once

#include <array>
#include <concepts>
#include <filesystem>
#include <iterator>
#include <span>
#include <vector>

#include "weft/core/record.h"
#include "weft/ops.h"
#include "weft/text/tokenizer.h"

namespace weft::training {

// The concatenated text of one file or several, each unpacked if gzip packed it, without its byte-order mark
// and with LF for CR LF. IoError if a file is missing, empty or not UTF-8, or damaged by gzip's checksum.
//
//     const std::string text = training::read_text({folder / "one.txt", folder / "two.txt"});
std::string read_text(const std::vector<std::filesystem::path>& paths);

// B sequences, and for each of their tokens the one that follows it.
struct Batch {
    Tensor inputs, targets;  // int64 (B, T)
};

// The ids of a text: the first ⌊0.9 N⌋ for training, the rest for validation.
//
//     const text::Characters tokenizer(text);
//     training::Corpus corpus(tokenizer.encode(text), {.block_size = 64, .batch_size = 12, .seed = 1});
//     const training::Batch batch = corpus.training_batch(step);
//     // batch.inputs (12, 64), batch.targets (12, 64)
//     const Tensor loss = cross_entropy(model(batch.inputs), batch.targets);  // ()
class Corpus {
public:
    // Options of a corpus.
    struct Options {
        std::int64_t block_size = 64;  // T
        std::int64_t batch_size = 12;  // B
        std::uint64_t seed = 0;        // seed of the order of the training batches
    };
    // ValueError if block_size or batch_size is below 1, or if the validation part is shorter than block_size +
    // 1, naming the smallest N that suffices.
    Corpus(const text::Ids& ids, const Options& options);

    const text::Ids& training() const { return training_; }      // the first part
    const text::Ids& validation() const { return validation_; }  // the rest

    // The batch of one step, inputs and targets (B, T). It depends on the seed and the step alone, so a resumed
    // run gets the batches that it would have had. Each pass over the training part cuts it into blocks at a
    // new offset and shuffles them: every block is read once before any is read again. ValueError if `step` is
    // negative.
    Batch training_batch(std::int64_t step);
    // The validation part as at most `limit` batches of adjacent blocks, (B, T) each and the last maybe with
    // fewer rows; if there are more blocks, evenly spaced ones.
    std::vector<Batch> validation_batches(std::int64_t limit = 100) const;

private:
    text::Ids training_, validation_;
    Options options_;

    std::int64_t pass_ = -1;            // the pass that was drawn last
    std::vector<std::int64_t> starts_;  // positions where its blocks begin, shuffled
    void draw_pass(std::int64_t pass);
};

// Batches for a training loop: DataLoader, as in torch.utils.data. B samples in a batch.

// Returns the first size that all the tensors share; ShapeError if they do not. For TensorDataset.
//
//     const std::array<Tensor, 2> columns{ones({5, 4}), ones({5})};
//     const std::int64_t samples = training::shared_size(columns);  // 5
std::int64_t shared_size(std::span<const Tensor> tensors);

// N tensors whose first axis counts the samples: sample i is element i of each. ShapeError unless their first
// sizes are equal.
template <std::size_t N>
class TensorDataset {
public:
    // Of N tensors, which are not copied.
    template <std::same_as<Tensor>... T>
    explicit TensorDataset(T... tensors) : tensors_{tensors...}, size_(shared_size(tensors_)) {}
    std::int64_t size() const { return size_; }  // number of samples
    // Sample i, as views.
    std::array<Tensor, N> operator[](std::size_t i) const {
        std::array<Tensor, N> sample;
        for (std::size_t k = 0; k < N; ++k) sample[k] = tensors_[k].select(0, static_cast<std::int64_t>(i));
        return sample;
    }

private:
    std::array<Tensor, N> tensors_;
    std::int64_t size_;
};
// TensorDataset(x, y) is a TensorDataset<2>.
template <class... T>
TensorDataset(T...) -> TensorDataset<sizeof...(T)>;

// Sequences of different lengths in one tensor.
struct PaddedSequences {
    Tensor values;                      // (B, longest, …)
    std::vector<std::int64_t> lengths;  // length of each sequence, for Mask::padding
};
// Sequences (T_b, …) → (B, max T_b, …), each followed by `padding_value`. The batch comes first, which PyTorch
// calls batch_first=True. ValueError for an empty list; ShapeError if they differ in more than the first size;
// DTypeError if they differ in type.
//
//     const auto [x, lengths] = training::pad_sequence({ones({3}), ones({2})});  // x (2, 3), lengths is {3, 2}
//     const Mask mask = Mask::padding(lengths);
PaddedSequences pad_sequence(const std::vector<Tensor>& sequences, double padding_value = 0);

// How a DataLoader makes a batch if you pass no function: samples of a TensorDataset are stacked, sequences
// padded with 0.
//
//     const auto [values, lengths] = training::DefaultCollate()({ones({3}), ones({2})});
//     // values (2, 3), lengths is {3, 2}
struct DefaultCollate {
    // N tensors (…) of each sample → N tensors (B, …).
    template <std::size_t N>
    std::array<Tensor, N> operator()(const std::vector<std::array<Tensor, N>>& samples) const {
        std::array<Tensor, N> batch;
        for (std::size_t k = 0; k < N; ++k) {
            std::vector<Tensor> column;
            for (const auto& sample : samples) column.push_back(sample[k]);
            batch[k] = stack(column, 0);
        }
        return batch;
    }
    // pad_sequence(sequences).
    PaddedSequences operator()(const std::vector<Tensor>& sequences) const { return pad_sequence(sequences); }
};

// Options of DataLoader.
struct DataLoaderOptions {
    std::int64_t batch_size = 1;  // B, at least 1
    bool shuffle = false;         // whether each pass has an order of its own
    bool drop_last = false;       // whether to leave out a last batch of fewer than B samples
};

// Which samples make each batch. For DataLoader, which refuses what this refuses.
//
//     Rng rng(1);
//     const training::BatchSampler sampler(5, {.batch_size = 2}, rng);
//     const auto batches = sampler.batches(0);  // {{0, 1}, {2, 3}, {4}}
class BatchSampler {
public:
    // Draws a seed from `rng` if it shuffles.
    BatchSampler(std::int64_t samples, const DataLoaderOptions& options, Rng& rng);
    std::int64_t size() const;  // number of batches
    // The samples of each batch of pass `epoch`, by number.
    std::vector<std::vector<std::size_t>> batches(std::int64_t epoch) const;

private:
    std::int64_t samples_;
    DataLoaderOptions options_;
    std::uint64_t seed_ = 0;
};

// The batches of a dataset: a TensorDataset, a vector, or whatever has size() and [i].
//
//     const training::TensorDataset data(features, targets);  // features (N, 4), targets (N,)
//     training::DataLoader same(features, targets, {.batch_size = 32, .shuffle = true});
//     training::DataLoader loader(data, {.batch_size = 32, .shuffle = true});
//     for (const auto& [x, t] : loader)  // batches of 32
//         loss = loss + cross_entropy(net(x), t);
//
// Sequences of different lengths are padded, and a function of yours makes batches of anything else:
//
//     const std::vector<Tensor> sentences{arange(3), arange(5), arange(2)};
//     for (const auto& [ids, lengths] : training::DataLoader(sentences, {.batch_size = 2}))
//         y = attend(embed(ids), Mask::padding(lengths));  // ids of 2 × 5, then 1 × 2
//     training::DataLoader last(sentences, {}, [](const std::vector<Tensor>& batch) { return batch[0][-1]; });
//
// Each range-for is a pass with a new order, which depends on the seed (drawn from `rng`) and the number of the
// pass alone. ValueError unless batch_size ≥ 1 and there is a sample and a batch; GraphError if the function
// changes a sample in place that is a view of the dataset.
template <class Dataset, class Collate = DefaultCollate>
class DataLoader {
public:
    // Batches are stacked samples. Draws a seed from `rng` if it shuffles.
    explicit DataLoader(Dataset dataset, const DataLoaderOptions& options = {}, Rng& rng = default_rng())
        : DataLoader(std::move(dataset), options, Collate(), rng) {}
    // The batches of TensorDataset(x, y).
    DataLoader(Tensor x, Tensor y, const DataLoaderOptions& options = {},
               Rng& rng = default_rng()) requires std::same_as<Dataset, TensorDataset<2>>
        : DataLoader(TensorDataset(std::move(x), std::move(y)), options, rng) {}
    template <std::integral Size>
    DataLoader(Dataset, Size, bool = false) = delete;  // name the options: {.batch_size = 4, .shuffle = true}
    template <std::integral Size>
    DataLoader(Tensor, Tensor, Size, bool = false) = delete;  // the same: {.batch_size = 4, .shuffle = true}
    // `collate` makes a batch of a vector of samples.
    DataLoader(Dataset dataset, const DataLoaderOptions& options, Collate collate, Rng& rng = default_rng())
        : dataset_(std::move(dataset)),
          collate_(std::move(collate)),
          sampler_(static_cast<std::int64_t>(dataset_.size()), options, rng) {}

    std::int64_t size() const { return sampler_.size(); }  // number of batches in a pass

    // The number of the next pass. Save it with a checkpoint: set_epoch(n) in a run with the same seed makes
    // the next pass the one that would have come. ValueError if n is negative.
    std::int64_t epoch() const { return epoch_; }
    // Sets it.
    void set_epoch(std::int64_t n) {
        if (n < 0) throw ValueError("DataLoader: epoch ", n, "; count passes from 0");
        epoch_ = n;
    }

    // A position in one pass.
    class Iterator {
    public:
        Iterator(const DataLoader& loader, std::int64_t epoch)
            : loader_(&loader), batches_(loader.sampler_.batches(epoch)) {}  // at the first batch
        // The batch at this position.
        auto operator*() const {
            std::vector<std::decay_t<decltype(loader_->dataset_[0])>> samples;
            for (const std::size_t i : batches_[at_]) samples.push_back(loader_->dataset_[i]);
            const Lent lent("the function of DataLoader", tensors_of(samples));
            return loader_->collate_(samples);
        }
        Iterator& operator++() { return ++at_, *this; }                                    // the next batch
        bool operator==(std::default_sentinel_t) const { return at_ == batches_.size(); }  // after the last

    private:
        // Of samples of these kinds, which are views of the dataset.
        static std::span<const Tensor> tensors_of(const std::vector<Tensor>& samples) { return samples; }
        template <std::size_t N>
        static std::span<const Tensor> tensors_of(const std::vector<std::array<Tensor, N>>& samples) {
            return {samples[0].data(), samples.size() * N};
        }
        template <class Samples>
        static std::span<const Tensor> tensors_of(const Samples&) {
            return {};
        }
        const DataLoader* loader_;
        std::vector<std::vector<std::size_t>> batches_;
        std::size_t at_ = 0;
    };
    Iterator begin() { return {*this, epoch_++}; }      // begins a pass
    std::default_sentinel_t end() const { return {}; }  // one past the last batch

private:
    Dataset dataset_;
    Collate collate_;
    BatchSampler sampler_;
    std::int64_t epoch_ = 0;
};
// DataLoader(x, y) is a DataLoader of TensorDataset(x, y).
DataLoader(Tensor, Tensor)->DataLoader<TensorDataset<2>>;
DataLoader(Tensor, Tensor, DataLoaderOptions)->DataLoader<TensorDataset<2>>;
DataLoader(Tensor, Tensor, DataLoaderOptions, Rng&)->DataLoader<TensorDataset<2>>;
template <std::integral Size>
DataLoader(Tensor, Tensor, Size, bool = false) -> DataLoader<TensorDataset<2>>;

}  // namespace weft::training
