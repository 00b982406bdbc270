// Refusals of optimisers, checkpoints, loops and several processes, after which nothing has changed.
#include <cmath>

#include "unchanged.h"

using namespace unchanged;

namespace {

struct Stop : std::runtime_error {
    Stop() : std::runtime_error("a function of the caller's own throws") {}
};

template <class Optimizer>
void optimizer(Unchanged& c, double not_finite) {
    Tensor a = ones({2}).requires_grad_(), b = ones({3}).requires_grad_();
    Optimizer optimizer(nn::NamedTensors{{"a", a}, {"b", b}}, {.lr = 0.1});
    const State all = watch(a, b, optimizer);
    const Tensor bad = tensor({1.0, 2, not_finite});
    const std::string words = "optimiser: the gradient of 'b' (3,) is not finite";
    a.set_grad(ones({2}));
    b.set_grad(bad);
    c.refuses<ValueError>(words, all, [&] { optimizer.step(); });
    b.set_grad(ones({3}));
    c.changes(all, [&] { optimizer.step(); });
    b.set_grad(bad);
    c.refuses<ValueError>(words, all, [&] { optimizer.step(); });
    b.set_data(ones({3}, float64));
    b.set_grad(ones({3}, float64));
    if (!optimizer.state_dict().empty() && optimizer.state_dict().size() > 3)
        c.refuses<DTypeError>("make a new optimiser after Module::to", all, [&] { optimizer.step(); });
    for (const double lr : {-1.0, double(NAN), double(INFINITY)}) {
        const std::string rate = "lr must be finite and at least 0, not " + to_chars(lr);
        c.refuses<ValueError>(rate, all, [&] { optimizer.set_lr(lr); });
        c.refuses<ValueError>(rate, all, [&] { Optimizer({a}, {.lr = lr}); });
    }
}

}  // namespace

TEST_CASE_METHOD(Unchanged,
                 "refused without a change: Optimizer::step Optimizer::set_lr "
                 "Optimizer::set_options ParameterSlots::set_moments ParameterSlots::step",
                 "[fault][unchanged]") {
    for (const double bad : {double(NAN), double(INFINITY), -double(INFINITY)}) {
        optimizer<optim::SGD>(*this, bad);
        optimizer<optim::Adam>(*this, bad);
        optimizer<optim::AdamW>(*this, bad);
    }
    Tensor p = ones({2}).requires_grad_(), q = ones({3}).requires_grad_();
    optim::SGD grouped({{{p}, {.lr = 0}}, {{q}, {.lr = 0.1}}});
    const State all = watch(p, q, grouped);
    refuses<ValueError>("the learning rate of group 0 is 0, so group 1 has no ratio to it; set each", all,
                        [&] { grouped.set_lr(1); });
    for (const std::int64_t bad : {-1, 2}) {
        const std::string words = "there is no group " + std::to_string(bad) + "; the last is 1";
        refuses<IndexError>(words, all, [&] { grouped.set_lr(bad, 1); });
        refuses<IndexError>(words, all, [&] { grouped.set_options(bad, {}); });
        refuses<IndexError>(words, all, [&] { (void)grouped.lr(bad); });
    }
    refuses<ValueError>("lr", all, [&] { grouped.set_lr(1, -1); });
    refuses<ValueError>("momentum", all, [&] { grouped.set_options(1, {.momentum = -1}); });
    changes(all, [&] { grouped.set_options(0, {.lr = 1}); });
    p.set_grad(ones({2}));
    optim::Adam given({p}, {});
    optim::Adam taken = std::move(given);
    const std::function<void()> uses[] = {[&] { given.step(); },
                                          [&] { given.zero_grad(); },
                                          [&] { given.set_lr(1); },
                                          [&] { (void)given.lr(); },
                                          [&] { (void)given.steps(); },
                                          [&] { (void)given.state_dict(); },
                                          [&] { given.load_state_dict(taken.state_dict()); }};
    for (const auto& use : uses)
        refuses<ValueError>("it was moved from and has no parameters", watch(taken), use);
    taken.step();
    CHECK(taken.steps() == 1);
}

TEST_CASE_METHOD(Unchanged,
                 "refused without a change: Optimizer::Optimizer ParameterSlots::ParameterSlots "
                 "Optimizer::zero_grad ParameterSlots::zero_grad",
                 "[fault][unchanged]") {
    Tensor a = ones({2}).requires_grad_(), b = ones({3}).requires_grad_();
    Tensor wide = zeros({1}).expand({3}), ids = zeros({2}, int64), result = a * 2;
    wide.requires_grad_();
    a.set_grad(ones({2}));
    wide.set_grad(ones({3}));
    const State all = watch(a, b, wide, ids, result);
    using Named = nn::NamedTensors;
    const auto refused = [&](const std::string& words, const std::function<void()>& make) {
        refuses<ValueError>(words, all, make);
    };
    refused("the elements of '1' (3,) share memory", [&] { optim::SGD(std::vector<Tensor>{a, wide}, {}); });
    refuses<GraphError>("'1' was made by an operation", all, [&] {
        optim::SGD(std::vector<Tensor>{a, result}, {});
    });
    refuses<DTypeError>("'1' is int64", all, [&] { optim::SGD(std::vector<Tensor>{a, ids}, {}); });
    refused("there are no parameters", [] { optim::SGD(std::vector<Tensor>{}, {}); });
    refused("momentum", [&] { optim::SGD({a}, {.momentum = -1}); });
    refused("SGD: Nesterov's momentum needs a momentum above 0", [&] { optim::SGD({a}, {.nesterov = true}); });
    refused("beta1 must be at least 0 and below 1", [&] { optim::Adam({a}, {.beta1 = 1}); });
    refused("beta2", [&] { optim::AdamW({a}, {.beta2 = -0.1}); });
    refused("eps", [&] { optim::AdamW({a}, {.eps = -1}); });
    refused("weight_decay", [&] { optim::AdamW({a}, {.weight_decay = NAN}); });
    refused("two parameters are named 'a'", [&] { optim::AdamW(Named{{"a", a}, {"a", b}}); });
    refused("two parameters are named '1.a'", [&] {
        optim::SGD({{Named{{"1.a", a}, {"a", b}}, {}}, {Named{{"a", ones({1})}}, {}}});
    });
    refused("parameter 'b' is in two groups", [&] {
        optim::AdamW({{Named{{"a", a}}, {}}, {Named{{"b", a}}, {}}});
    });
    refused("lr must be finite and at least 0, not -2", [&] {
        optim::SGD({{Named{{"a", a}}, {}}, {Named{{"b", b}}, {.lr = -2}}});
    });
    refuses<ShapeError>("Muon: not a matrix: '0' (2,)", all, [&] { optim::Muon({a, b}); });
    optim::SGD optimizer({a}, {});
    changes(all, [&] { optimizer.zero_grad(); });
}

TEST_CASE_METHOD(Unchanged,
                 "refused without a change: Optimizer::load_state_dict ParameterSlots::load_state_dict",
                 "[fault][unchanged]") {
    Tensor a = ones({2}).requires_grad_(), b = ones({3}).requires_grad_();
    optim::AdamW optimizer({{"a", a}, {"b", b}}, {});
    a.set_grad(ones({2})), b.set_grad(ones({3}));
    optimizer.step();
    const nn::NamedTensors right = optimizer.state_dict();
    const State all = watch(a, b, optimizer);
    const auto with = [&](const std::function<void(nn::NamedTensors&)>& change) {
        nn::NamedTensors wrong = right;
        change(wrong);
        return [&optimizer, wrong] { optimizer.load_state_dict(wrong); };
    };
    for (std::size_t i = 0; i < right.size(); ++i) {
        const std::string name = right[i].first, in_state = "'" + name + "' in the state is ";
        refuses<ShapeError>(in_state + "(7,), but must be " + right[i].second.shape().str(), all,
                            with([&](auto& s) { s[i].second = ones({7}, s[i].second.dtype()); }));
        refuses<DTypeError>(in_state + "bool, but must be " + weft::name(right[i].second.dtype()), all,
                            with([&](auto& s) { s[i].second = zeros(s[i].second.shape(), boolean); }));
        refuses<ValueError>("'" + name + "' twice", all, with([&](auto& s) { s.push_back(s[i]); }));
        // Without its count, what else is said of a parameter is unexpected.
        refuses<ValueError>("", all,
                            with([&](auto& s) { s.erase(s.begin() + static_cast<std::ptrdiff_t>(i)); }));
        refuses<ValueError>("", all, with([&](auto& s) { s[i].first += "?"; }));
    }
    refuses<ValueError>("the state has no 'step'", all, with([](auto& s) { s.erase(s.begin()); }));
    refuses<ValueError>("the state has no 'b.exp_avg_sq'", all, with([](auto& s) { s.pop_back(); }));
    refuses<ValueError>("the state holds 'q.exp_avg', which this optimiser does not use", all,
                        with([](auto& s) { s.emplace_back("q.exp_avg", zeros({1})); }));
    refuses<ValueError>("'step' in the state is -1", all, with([](auto& s) { s[0].second = tensor(-1); }));
    optimizer.step();
    changes(all, [&] { optimizer.load_state_dict(right); });
}

TEST_CASE_METHOD(Unchanged, "refused without a change: clip_grad_norm update", "[fault][unchanged]") {
    Tensor a = ones({2}).requires_grad_(), b = ones({3}).requires_grad_();
    a.set_grad(full({2}, 4));
    sum(b).backward();  // a gradient that is expanded, unless backward makes it dense
    const Tensor undefined;
    const std::string words = "clip_grad_norm: max_norm must be at least 0, not ";
    refuses<ValueError>(words + "-1", watch(a, b), [&] { optim::clip_grad_norm({a, b}, -1); });
    refuses<ValueError>(words + "nan", watch(a, b), [&] { optim::clip_grad_norm({a, b}, NAN); });
    refuses<GraphError>("undefined", watch(a, b), [&] { optim::clip_grad_norm({a, b, undefined}, 1); });
    changes(watch(a, b), [&] { optim::clip_grad_norm({a, b}, 1); });
}

TEST_CASE_METHOD(Unchanged, "refused without a change: Checkpoint::restore", "[fault][unchanged]") {
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
            refuses(all, [&] { checkpoint.restore(model, optimizer); });
            refuses(all, [&] { checkpoint.restore(model); });
        }
    }
    io::Metadata wrong = file.metadata;
    wrong["default_rng"] = "?";
    io::save_safetensors(scratch / "wrong", file.tensors, wrong);
    refuses(all, [&] { training::Checkpoint::load(scratch / "wrong").restore(model, optimizer); });
    for (std::size_t i = 0; i < file.tensors.size(); ++i) {
        nn::NamedTensors tensors = file.tensors;
        tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(i));
        io::save_safetensors(scratch / "wrong", tensors, file.metadata);
        const auto checkpoint = training::Checkpoint::load(scratch / "wrong");
        INFO(file.tensors[i].first);
        refuses(all, [&] { checkpoint.restore(model, optimizer); });
    }
    const training::Checkpoint alone(model, 1);  // has no optimiser
    refuses(all, [&] { alone.restore(model, optimizer); });
    lm::GPT other = model_of(6, 0.5), without = model_of(5, 0);
    const auto right = training::Checkpoint::load(scratch / "right");
    refuses(watch(other, optimizer, default_rng()), [&] { right.restore(other, optimizer); });
    const training::Checkpoint no_generators(without, optimizer, 1);
    refuses(all, [&] { no_generators.restore(model, optimizer); });
    changes(all, [&] { right.restore(model, optimizer); });
}

TEST_CASE_METHOD(Unchanged, "refused without a change: DataParallel::DataParallel DataParallel::backward",
                 "[fault][unchanged][dist]") {
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
        changes(state, [&] { (void)parallel.backward(part); });
        const std::vector<std::function<Tensor(const Tensor&)>> wrong = {
            [](const Tensor&) -> Tensor { throw Stop(); },        // an exception of the caller's own
            [](const Tensor& loss) { return loss + ones({2}); },  // no scalar
            [](const Tensor& loss) { return loss.detach(); },     // outside the graph
            [&](const Tensor&) {
                return sum(net.parameters()[0]) * dropout(ones({}), 0.5, *net.named_generators()[0].second);
            },
            [](const Tensor&) { return Tensor(); }};
        for (const auto& f : wrong)
            refuses(state, [&] {
                (void)parallel.backward(
                    [&](std::int64_t grain) { return grain == grains - 1 ? f(part(grain)) : part(grain); });
            });
    }
    nn::BatchNorm norm(3);
    const State all = watch(net, norm);
    refuses<ValueError>("0 grains", all, [&] { dist::DataParallel(net, group, {.grains = 0}); });
    refuses<ValueError>("buckets of 0 elements", all,
                        [&] { dist::DataParallel(net, group, {.bucket_elements = 0}); });
    refuses<ValueError>("1 to 4194304 elements", all,
                        [&] { dist::DataParallel(net, group, {.bucket_elements = 1 << 23}); });
    refuses<ValueError>("the buffer running_mean", all, [&] { dist::DataParallel(norm, group, {}); });
}

TEST_CASE_METHOD(Unchanged, "refused without a change: Group::all_reduce Group::broadcast",
                 "[fault][unchanged][dist]") {
    dist::Group group;
    Tensor x = ones({2}), truths = zeros({2}, boolean);
    refuses<IndexError>("there is no process 1; use 0 to 0", watch(x), [&] { group.broadcast(x, 1); });
    refuses<IndexError>("there is no process -1; use 0 to 0", watch(x), [&] { group.broadcast(x, -1); });
    refuses<DTypeError>("bool does not add", watch(truths), [&] { (void)group.all_reduce(truths); });
    ++accepted;  // one process changes nothing
}

TEST_CASE_METHOD(Unchanged, "refused without a change: DataLoader::set_epoch DataLoader::begin",
                 "[fault][unchanged]") {
    Rng rng(1);
    training::DataLoader loader(std::vector<Tensor>{ones({2})}, {.shuffle = true}, rng);
    const State state = [&] { return std::to_string(loader.epoch()); };
    refuses<ValueError>("DataLoader: epoch -1", state, [&] { loader.set_epoch(-1); });
    changes(state, [&] { (void)loader.begin(); });
}

TEST_CASE_METHOD(Unchanged, "refused without a change: Corpus::training_batch", "[fault][unchanged]") {
    training::Corpus corpus(text::Ids(100, 1), {.block_size = 2, .batch_size = 3, .seed = 1});
    const State state = [&] { return unchanged::state(corpus.training_batch(5).inputs); };
    refuses(state, [&] { (void)corpus.training_batch(-1); });
    refuses(state, [&] { (void)corpus.training_batch(INT64_MAX); });
    ++accepted;  // a batch depends on its step alone
}

TEST_CASE_METHOD(Unchanged, "refused without a change: Run::Run Run::train", "[fault][unchanged]") {
    const Scratch scratch;
    const text::Characters tokenizer("abc");
    Rng rng(1);
    const lm::GPT model({.vocab_size = 3, .block_size = 2, .num_layers = 1, .num_heads = 1, .d_model = 2}, rng);
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
    refuses(all, [&] { train(NAN, options); });
    changes(all, [&] { train(1, options); });
    options.rate.steps = 2;
    options.folder.clear();
    refuses(all, [&] { train(NAN, options); });
    for (std::int64_t* interval : {&options.eval_interval, &options.save_interval}) {
        *interval = 0;
        refuses<ValueError>("eval_interval is ", all, [&] { train(1, options); });
    }
    options = {.folder = scratch.folder(), .rate = {.steps = 2}, .quiet = true};
    io::save_text(scratch / "loss.csv", "no columns");
    refuses(all, [&] { train(1, options); });
}

TEST_CASE_METHOD(Unchanged, "refused without a change: minimise", "[fault][unchanged]") {
    Tensor w = ones({2}).requires_grad_();
    optim::SGD optimizer({w}, {});
    const auto nan = [&] { return sum(w) * NAN; };
    // A step that is refused has called zero_grad and backward; weights and optimiser are as before.
    const State state = [&] { return values(w) + unchanged::state(optimizer); };
    refuses(state, [&] { training::minimise(optimizer, 3, nan, {.print_every = 0}); });
    refuses(state,
            [&] { training::minimise(optimizer, 3, [&]() -> Tensor { throw Stop(); }, {.print_every = 0}); });
    refuses(state, [&] {
        training::minimise(optimizer, 3, [&] { return sum(w); },
                           {.schedule = optim::CosineOptions{.lr = -1}, .print_every = 0});
    });
    changes(state, [&] { training::minimise(optimizer, 1, [&] { return sum(w); }, {.print_every = 0}); });
}
