// Rows of the table of what changes something: optimisers, checkpoints, loops and several processes.
#include <cmath>

#include "unchanged.h"

namespace unchanged {

namespace {

struct Stop : std::runtime_error {
    Stop() : std::runtime_error("a function of the caller's own throws") {}
};

template <class Optimizer>
void optimizer(Check& c, const Tensor& bad) {
    Tensor a = ones({2}).requires_grad_(), b = ones({3}).requires_grad_();
    Optimizer optimizer(std::vector<Tensor>{a, b}, {.lr = 0.1});
    const State all = watch(a, b, optimizer);
    a.set_grad(ones({2}));
    b.set_grad(bad);
    c.refuses(all, [&] { optimizer.step(); });
    b.set_grad(ones({3}));
    c.changes(all, [&] { optimizer.step(); });
    b.set_grad(bad);
    c.refuses(all, [&] { optimizer.step(); });
    b.set_data(ones({3}, float64));
    b.set_grad(ones({3}, float64));
    if (!optimizer.state_dict().empty() && optimizer.state_dict().size() > 3)
        c.refuses(all, [&] { optimizer.step(); });
    for (const double lr : {-1.0, double(NAN), double(INFINITY)}) c.refuses(all, [&] { optimizer.set_lr(lr); });
}

}  // namespace

std::vector<Row> training_rows() {
    return {
        {"Optimizer::step Optimizer::set_lr Optimizer::set_options ParameterSlots::set_moments "
         "ParameterSlots::step",
         [](Check& c) {
             const Tensor bad = tensor({1.0, 2, NAN}), infinite = tensor({1.0, 2, INFINITY});
             for (const Tensor& gradient : {bad, infinite}) {
                 optimizer<optim::SGD>(c, gradient);
                 optimizer<optim::Adam>(c, gradient);
                 optimizer<optim::AdamW>(c, gradient);
             }
             Tensor p = ones({2}).requires_grad_(), q = ones({3}).requires_grad_();
             optim::SGD grouped({{{p}, {.lr = 0}}, {{q}, {.lr = 0.1}}});
             c.refuses(watch(p, q, grouped), [&] { grouped.set_lr(1); });
             c.refuses(watch(p, q, grouped), [&] { grouped.set_lr(2, 1); });
             c.refuses(watch(p, q, grouped), [&] { grouped.set_options(1, {.momentum = -1}); });
             c.changes(watch(p, q, grouped), [&] { grouped.set_options(0, {.lr = 1}); });
             optim::SGD given({ones({2}).requires_grad_()}, {});
             optim::SGD taken = std::move(given);
             c.refuses(watch(taken), [&] { given.step(); });
             c.refuses(watch(taken), [&] { given.set_lr(1); });
             c.refuses(watch(taken), [&] { given.zero_grad(); });
         }},
        {"Optimizer::Optimizer ParameterSlots::ParameterSlots Optimizer::zero_grad ParameterSlots::zero_grad",
         [](Check& c) {
             Tensor a = ones({2}).requires_grad_(), b = ones({3}).requires_grad_();
             Tensor wide = zeros({1}).expand({3}), ids = zeros({2}, int64), result = a * 2;
             wide.requires_grad_();
             a.set_grad(ones({2}));
             wide.set_grad(ones({3}));
             const State all = watch(a, b, wide, ids, result);
             const auto make = [](std::vector<optim::AdamW::Group> groups) {
                 optim::AdamW o(std::move(groups));
             };
             c.refuses(all, [&] { optim::SGD o(std::vector<Tensor>{a, wide}, {}); });
             c.refuses(all, [&] { optim::SGD o(std::vector<Tensor>{a, result}, {}); });
             c.refuses(all, [&] { optim::SGD o(std::vector<Tensor>{a, ids}, {}); });
             c.refuses(all, [&] { optim::SGD o(std::vector<Tensor>{}, {}); });
             c.refuses(all, [&] { optim::SGD o({a}, {.lr = -1}); });
             using Named = nn::NamedTensors;
             c.refuses(all, [&] { make({{Named{{"a", a}, {"a", b}}, {}}}); });
             c.refuses(all, [&] { make({{Named{{"a", a}}, {}}, {Named{{"b", a}}, {}}}); });
             c.refuses(all, [&] { make({{Named{{"a", a}}, {}}, {Named{{"b", b}}, {.weight_decay = -1}}}); });
             c.refuses(all, [&] { optim::Muon o({a, b}); });
             optim::SGD o({a}, {});
             c.changes(all, [&] { o.zero_grad(); });
         }},
        {"Optimizer::load_state_dict ParameterSlots::load_state_dict",
         [](Check& c) {
             Tensor a = ones({2}).requires_grad_(), b = ones({3}).requires_grad_();
             optim::AdamW optimizer({{"a", a}, {"b", b}}, {});
             a.set_grad(ones({2})), b.set_grad(ones({3}));
             optimizer.step();
             const nn::NamedTensors right = optimizer.state_dict();
             const State all = watch(a, b, optimizer);
             for (std::size_t i = 0; i < right.size(); ++i) {
                 nn::NamedTensors without = right, shaped = right, typed = right, twice = right,
                                  unknown = right;
                 without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
                 shaped[i].second = ones({7}, shaped[i].second.dtype());
                 typed[i].second = zeros(typed[i].second.shape(), boolean);
                 twice.push_back(right[i]);
                 unknown[i].first += "?";
                 // Without its count, what else is said of a parameter is unexpected.
                 for (const nn::NamedTensors& wrong : {without, shaped, typed, twice, unknown})
                     c.refuses(all, [&] { optimizer.load_state_dict(wrong); });
             }
             nn::NamedTensors negative = right;
             negative[0].second = tensor(-1);
             c.refuses(all, [&] { optimizer.load_state_dict(negative); });
             optimizer.step();
             c.changes(all, [&] { optimizer.load_state_dict(right); });
         }},
        {"clip_grad_norm update",
         [](Check& c) {
             Tensor a = ones({2}).requires_grad_(), b = ones({3}).requires_grad_();
             a.set_grad(full({2}, 4));
             sum(b).backward();  // a gradient that is expanded, unless backward makes it dense
             const Tensor undefined;
             c.refuses(watch(a, b), [&] { optim::clip_grad_norm({a, b}, -1); });
             c.refuses(watch(a, b), [&] { optim::clip_grad_norm({a, b}, NAN); });
             c.refuses(watch(a, b), [&] { optim::clip_grad_norm({a, b, undefined}, 1); });
             c.changes(watch(a, b), [&] { optim::clip_grad_norm({a, b}, 1); });
         }},
        {"Checkpoint::restore",
         [](Check& c) {
             const Scratch scratch;
             const auto model_of = [](std::int64_t vocabulary, double drop) {
                 Rng rng(1);
                 return lm::GPT({.vocab_size = vocabulary,
                                 .block_size = 4,
                                 .num_layers = 1,
                                 .num_heads = 2,
                                 .d_model = 4,
                                 .dropout = drop},
                                rng);
             };
             lm::GPT model = model_of(5, 0.5);
             optim::AdamW optimizer(model, {});
             const auto step = [&] {
                 cross_entropy(model(tensor({1, 2})), tensor({2, 3})).backward();
                 optimizer.step();
             };
             step();
             (void)default_rng().uniform();
             const training::Checkpoint saved(model, optimizer, 1);
             saved.save(scratch / "right");
             const auto file = io::load_safetensors(scratch / "right");
             step();
             (void)default_rng().uniform();
             const State all = watch(model, optimizer, default_rng());
             // A checkpoint without one of its entries, or with another value.
             for (const auto& [key, value] : file.metadata) {
                 if (key == "arithmetic_version" || key == "default_rng") continue;
                 io::Metadata without = file.metadata, wrong = file.metadata;
                 without.erase(key);
                 wrong[key] = "?";
                 for (const io::Metadata& metadata : {without, wrong}) {
                     io::save_safetensors(scratch / "wrong", file.tensors, metadata);
                     const auto checkpoint = training::Checkpoint::load(scratch / "wrong");
                     c.refuses(all, [&] { checkpoint.restore(model, optimizer); });
                     c.refuses(all, [&] { checkpoint.restore(model); });
                 }
             }
             io::Metadata wrong = file.metadata;
             wrong["default_rng"] = "?";
             io::save_safetensors(scratch / "wrong", file.tensors, wrong);
             c.refuses(all, [&] { training::Checkpoint::load(scratch / "wrong").restore(model, optimizer); });
             for (std::size_t i = 0; i < file.tensors.size(); ++i) {
                 nn::NamedTensors tensors = file.tensors;
                 tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(i));
                 io::save_safetensors(scratch / "wrong", tensors, file.metadata);
                 const auto checkpoint = training::Checkpoint::load(scratch / "wrong");
                 INFO(file.tensors[i].first);
                 c.refuses(all, [&] { checkpoint.restore(model, optimizer); });
             }
             const training::Checkpoint alone(model, 1);  // has no optimiser
             c.refuses(all, [&] { alone.restore(model, optimizer); });
             lm::GPT other = model_of(6, 0.5), without = model_of(5, 0);
             const auto right = training::Checkpoint::load(scratch / "right");
             c.refuses(watch(other, optimizer, default_rng()), [&] { right.restore(other, optimizer); });
             const training::Checkpoint no_generators(without, optimizer, 1);
             c.refuses(all, [&] { no_generators.restore(model, optimizer); });
             c.changes(all, [&] { right.restore(model, optimizer); });
         }},
        {"DataParallel::DataParallel DataParallel::backward",
         [](Check& c) {
             Rng rng(1);
             dist::Group group;
             nn::Sequential net{nn::Linear(3, 2, rng), nn::Dropout(0.5, rng)};
             const Tensor x = ones({4, 3});
             for (const std::int64_t grains : {1, 4}) {
                 dist::DataParallel parallel(net, group, {.grains = grains});
                 const auto part = [&](std::int64_t grain) {
                     return sum(net(x.slice(0, grain * 4 / grains, (grain + 1) * 4 / grains)));
                 };
                 const State state = [&] {
                     std::string text = unchanged::state(net) + std::to_string(parallel.bytes_sent());
                     for (const dist::Span& span : parallel.timeline())
                         text += std::to_string(span.index) + std::to_string(span.end);
                     return text;
                 };
                 c.changes(state, [&] { (void)parallel.backward(part); });
                 const std::vector<std::function<Tensor(const Tensor&)>> wrong = {
                     [](const Tensor&) -> Tensor { throw Stop(); },        // an exception of the caller's own
                     [](const Tensor& loss) { return loss + ones({2}); },  // no scalar
                     [](const Tensor& loss) { return loss.detach(); },     // outside the graph
                     [&](const Tensor&) {
                         return sum(net.parameters()[0]) *
                                dropout(ones({}), 0.5, *net.named_generators()[0].second);
                     },
                     [](const Tensor&) { return Tensor(); }};
                 for (const auto& f : wrong)
                     c.refuses(state, [&] {
                         (void)parallel.backward([&](std::int64_t grain) {
                             return grain == grains - 1 ? f(part(grain)) : part(grain);
                         });
                     });
             }
             const State all = watch(net);
             c.refuses(all, [&] { dist::DataParallel(net, group, {.grains = 0}); });
             c.refuses(all, [&] { dist::DataParallel(net, group, {.bucket_elements = 0}); });
             nn::BatchNorm norm(3);
             c.refuses(watch(norm), [&] { dist::DataParallel(norm, group, {}); });
         }},
        {"Group::all_reduce Group::broadcast",
         [](Check& c) {
             dist::Group group;
             Tensor x = ones({2}), truths = zeros({2}, boolean);
             c.refuses(watch(x), [&] { group.broadcast(x, 1); });
             c.refuses(watch(x), [&] { group.broadcast(x, -1); });
             c.refuses(watch(truths), [&] { (void)group.all_reduce(truths); });
             ++c.accepted;  // one process changes nothing
         }},
        {"DataLoader::set_epoch DataLoader::begin",
         [](Check& c) {
             Rng rng(1);
             training::DataLoader loader(std::vector<Tensor>{ones({2})}, {.shuffle = true}, rng);
             const State state = [&] { return std::to_string(loader.epoch()); };
             c.refuses(state, [&] { loader.set_epoch(-1); });
             c.changes(state, [&] { (void)loader.begin(); });
         }},
        {"Corpus::training_batch",
         [](Check& c) {
             training::Corpus corpus(text::Ids(100, 1), {.block_size = 2, .batch_size = 3, .seed = 1});
             const State state = [&] { return unchanged::state(corpus.training_batch(5).inputs); };
             c.refuses(state, [&] { (void)corpus.training_batch(-1); });
             c.refuses(state, [&] { (void)corpus.training_batch(INT64_MAX); });
             ++c.accepted;  // a batch depends on its step alone
         }},
        {"Run::Run Run::train",
         [](Check& c) {
             const Scratch scratch;
             const text::Characters tokenizer("abc");
             Rng rng(1);
             const lm::GPT model(
                 {.vocab_size = 3, .block_size = 2, .num_layers = 1, .num_heads = 1, .d_model = 2}, rng);
             optim::AdamW optimizer(model, {});
             training::RunState at;
             const auto train = [&](double loss, const training::RunOptions& options) {
                 training::RunReport report(scratch / "report.html", {.prompt = "a"}, model, tokenizer, {});
                 training::Run run(model, optimizer, report, at, options);
                 const auto backward = [&](std::int64_t) {
                     const Tensor y = sum(model(tensor({{0, 1}}, int64)) * tensor({1.0, 2, 4})) * loss;
                     y.backward();
                     return y.item();
                 };
                 run.train(backward, [] { return 1.0; });
             };
             // A step that is refused has called backward; weights, moments, state and files are as before.
             const State all = [&] {
                 std::string text;
                 for (const auto& [name, value] : model.state_dict()) text += values(value);
                 return text + unchanged::state(optimizer.state_dict()) + std::to_string(at.step) +
                        (at.best ? "best" : "") + unchanged::state(scratch);
             };
             training::RunOptions options{
                 .folder = scratch.folder(), .rate = {.warmup_steps = 0, .steps = 1}, .quiet = true};
             c.refuses(all, [&] { train(NAN, options); });
             c.changes(all, [&] { train(1, options); });
             options.rate.steps = 2;
             options.folder.clear();
             c.refuses(all, [&] { train(NAN, options); });
             options.save_interval = 0;
             c.refuses(all, [&] { train(1, options); });
             options = {.folder = scratch.folder(), .rate = {.steps = 2}, .quiet = true};
             io::save_text(scratch / "loss.csv", "no columns");
             c.refuses(all, [&] { train(1, options); });
         }},
        {"minimise",
         [](Check& c) {
             Tensor w = ones({2}).requires_grad_();
             optim::SGD optimizer({w}, {});
             const auto nan = [&] { return sum(w) * NAN; };
             // A step that is refused has called zero_grad and backward; weights and optimiser are as before.
             const State state = [&] { return values(w) + unchanged::state(optimizer); };
             c.refuses(state, [&] { training::minimise(optimizer, 3, nan, {.print_every = 0}); });
             c.refuses(state, [&] {
                 training::minimise(optimizer, 3, [&]() -> Tensor { throw Stop(); }, {.print_every = 0});
             });
             c.refuses(state, [&] {
                 training::minimise(optimizer, 3, [&] { return sum(w); },
                                    {.schedule = optim::CosineOptions{.lr = -1}, .print_every = 0});
             });
             c.changes(state,
                       [&] { training::minimise(optimizer, 1, [&] { return sum(w); }, {.print_every = 0}); });
         }},
    };
}

}  // namespace unchanged
