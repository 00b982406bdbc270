// The routes by which a program's gradients are made, and what must be equal between them.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "program.h"

namespace random_programs {
namespace {

using Tensors = std::vector<Tensor>;
using Doubles = std::vector<double>;

struct Outcome {
    bool refused = false;          // as a route may: see refusing
    Tensors outputs, gradients;    // undefined where no output depends on the target
    Tensors present = {};          // the targets' grad() before backward, which adds to it
    std::vector<bool> inner = {};  // the targets that are no leaves
};

Tensors drawn(const Program& program, const Tensors& like, std::uint64_t stream) {
    Rng rng(program.seed * 8 + stream);
    Tensors result;
    for (const Tensor& x : like) result.push_back(randn(x.shape(), rng, float64).to(x.dtype()));
    return result;
}

Tensors picked(const std::vector<int>& which, const Tensors& from) {
    Tensors result;
    for (const int i : which) result.push_back(from[static_cast<std::size_t>(i)]);
    return result;
}

double inner_product(const Tensor& a, const Tensor& b) {
    const NoGrad off;
    return sum(a.detach().to(float64) * b.to(float64)).item();
}

double inner_product(const Tensors& a, const Tensors& b) {
    double total = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (a[i].defined()) total += inner_product(a[i], b[i]);
    return total;
}

Doubles flat(const Tensor& x) { return x.detach().to(float64).to_vector<double>(); }

// The largest difference of any element, and where; infinite where one is absent and the other not.
double distance(const Tensors& a, const Tensors& b, std::string* where = nullptr) {
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        double d = 0;
        if (a[i].defined() != b[i].defined()) d = INFINITY;
        if (a[i].defined() && b[i].defined()) {
            const Doubles x = flat(a[i]), y = flat(b[i]);
            for (std::size_t j = 0; j < x.size(); ++j) {
                const double e = std::abs(x[j] - y[j]);
                d = std::max(d, std::isnan(e) && !(std::isnan(x[j]) && std::isnan(y[j])) ? INFINITY : e);
                if (where != nullptr && d > largest && e == d)
                    *where = "target " + std::to_string(i) + ", element " + std::to_string(j) + ": " +
                             std::to_string(x[j]) + " and " + std::to_string(y[j]);
            }
        }
        if (where != nullptr && std::isinf(d))
            *where = "target " + std::to_string(i) + ": absent or NaN in one";
        largest = std::max(largest, d);
    }
    return largest;
}

double size_of(const Tensors& tensors) {
    double largest = 1;
    for (const Tensor& x : tensors)
        if (x.defined())
            for (const double v : flat(x)) largest = std::max(largest, std::abs(v));
    return largest;
}

bool same_bits(const Tensors& a, const Tensors& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i].defined() != b[i].defined()) return false;
        if (!a[i].defined()) continue;
        const Doubles x = flat(a[i]), y = flat(b[i]);
        if (x.size() != y.size() || (!x.empty() && std::memcmp(x.data(), y.data(), x.size() * 8) != 0))
            return false;
    }
    return true;
}

unsigned flags_of(const Program& program) {
    unsigned all = 0;
    for (const Statement& s : program.statements) all |= row_of(s).flags;
    return all;
}

bool any_statement(const Program& program, bool (*is)(const Statement&)) {
    return std::any_of(program.statements.begin(), program.statements.end(), is);
}

// Whether the targets can be moved: what is changed in place must not be held constant or shifted elsewhere.
bool movable(const Program& program) {
    const unsigned flags = flags_of(program);
    if (flags & state) return false;
    if (!(flags & in_place)) return true;
    return !any_statement(program, [](const Statement& s) {
        return s.no_grad || s.hook != 0 || row_of(s).cpp.ends_with(".detach()");
    }) && std::all_of(program.targets.begin(), program.targets.end(), [&](int i) {
        const std::string& cpp = row_of(program.statements[static_cast<std::size_t>(i)]).cpp;
        return cpp.starts_with("leaf") || cpp.starts_with("blob") || cpp.starts_with("random") ||
               cpp.starts_with("$0.parameter");
    });
}

// Whether finite differences apply.
bool differentiable(const Program& program) {
    return program.dtype == float64 && !(flags_of(program) & rounds) && movable(program);
}

// Routes save different tensors, and lay out results differently: what was changed in place may be refused by
// one and not needed by another, and so may a view. In a run on copies a tensor is another than the one that
// was saved, or that an operation as contiguous gives back itself, so that less depends on it.
bool may_refuse(const Error& error, bool copies = true) {
    const std::string what = error.what();
    const auto says = [&](const char* words) { return what.find(words) != std::string::npos; };
    return says("changed in place") || what.starts_with("view: ") ||
           (what.starts_with("looped_square: ") && says("differentiated in turn")) ||
           (copies && (says("no output depends") || says("does not require a gradient")));
}

template <class F>
Outcome refusing(const RunOptions& run_options, const F& f) {
    try {
        return f();
    } catch (const Error& error) {
        if (!may_refuse(error, run_options.copies || run_options.composed)) throw;
        return {true, {}, {}};
    }
}

Outcome by_grad(const Program& program, const RunOptions& run_options, bool create_graph = false) {
    return refusing(run_options, [&] {
        const Run r = run(program, run_options);
        const Tensors outputs = picked(program.outputs, r.tensors), targets = picked(program.targets, r.points);
        Outcome outcome{false, outputs,
                        grad(outputs, targets, drawn(program, outputs, 1),
                             {.create_graph = create_graph, .retain_graph = true, .allow_unused = true})};
        for (const Tensor& x : targets) outcome.inner.push_back(!x.is_leaf());
        return outcome;
    });
}

// `times` backwards, one after another, whose gradients add.
Outcome by_backward(const Program& program, const RunOptions& run_options, int times) {
    return refusing(run_options, [&] {
        const Run r = run(program, run_options);
        const Tensors outputs = picked(program.outputs, r.tensors), seeds = drawn(program, outputs, 1);
        Outcome outcome{false, outputs, {}};
        for (const int i : program.targets) {
            Tensor x = r.points[static_cast<std::size_t>(i)];
            if (!x.is_leaf()) x.retain_grad();
            outcome.present.push_back(x.grad());
        }
        for (int n = 1; n <= times; ++n)
            for (std::size_t k = 0; k < outputs.size(); ++k)
                outputs[k].backward(seeds[k], n < times || k + 1 < outputs.size());
        for (const Tensor& x : picked(program.targets, r.points)) outcome.gradients.push_back(x.grad());
        return outcome;
    });
}

// Second order: the gradient of Σ u · gradient.
Outcome second_order(const Program& program, const Run& r) {
    const Tensors outputs = picked(program.outputs, r.tensors), targets = picked(program.targets, r.points);
    const Tensors first =
        grad(outputs, targets, drawn(program, outputs, 1), {.create_graph = true, .allow_unused = true});
    const Tensors weights = drawn(program, targets, 2);
    Tensors in_graph, seeds;
    for (std::size_t i = 0; i < first.size(); ++i)
        if (first[i].defined() && first[i].requires_grad())
            in_graph.push_back(first[i]), seeds.push_back(weights[i]);
    Outcome outcome{false, first, Tensors(targets.size())};
    if (!in_graph.empty())
        outcome.gradients = grad(in_graph, targets, seeds, {.retain_graph = true, .allow_unused = true});
    for (std::size_t i = 0; i < targets.size(); ++i)  // for another it depends on what is saved
        if (!targets[i].is_leaf()) outcome.gradients[i] = Tensor();
    return outcome;
}

Outcome second_order(const Program& program, const RunOptions& run_options) {
    return refusing(run_options, [&] { return second_order(program, run(program, run_options)); });
}

// A number that depends on the targets, as they are moved by t along a direction.
class Along {
public:
    // Second derivatives, and gradients of gradients, are taken along leaves alone: a saved output is the
    // target itself, and moves with it.
    Along(const Program& program, bool second) : program_(program), second_(second) {
        base_ = run(program, {.dtype = program.dtype, .notes = true});
        const Tensors targets = picked(program.targets, base_.points);
        direction_ = drawn(program, targets, 3);
        const bool along_leaves = second || (flags_of(program) & nested) != 0;
        for (std::size_t i = 0; i < targets.size(); ++i) {
            moves_.push_back(!along_leaves || targets[i].is_leaf());
            if (!moves_[i]) direction_[i].zero_();
        }
    }
    const Tensors& direction() const { return direction_; }

    double operator()(double t) const {
        Perturbation perturbation{
            &base_.values, &base_.changes, {}, second_ || (flags_of(program_) & nested) != 0};
        for (std::size_t i = 0; i < program_.targets.size(); ++i)
            if (moves_[i]) perturbation.shift[program_.targets[i]] = direction_[i] * t;
        const Run r = run(program_, {.dtype = program_.dtype}, &perturbation);
        const Tensors outputs = picked(program_.outputs, r.tensors), seeds = drawn(program_, outputs, 1);
        if (!second_) return inner_product(outputs, seeds);
        const Tensors targets = picked(program_.targets, r.points);
        const Tensors gradients = grad(outputs, targets, seeds, {.allow_unused = true});
        return inner_product(gradients, drawn(program_, targets, 2));
    }

    // Its derivative at 0 by forward mode.
    double by_jvp() const {
        const TensorFunction f = [this](const Tensors& moves) {
            Perturbation perturbation{&base_.values, &base_.changes, {}, true};
            for (std::size_t i = 0; i < moves.size(); ++i)
                if (moves_[i]) perturbation.shift[program_.targets[i]] = moves[i];
            return picked(program_.outputs, run(program_, {.dtype = program_.dtype}, &perturbation).tensors);
        };
        Tensors at;
        for (const Tensor& v : direction_) at.push_back(zeros_like(v));
        const auto [outputs, slopes] = jvp(f, at, direction_);
        return inner_product(slopes, drawn(program_, outputs, 1));
    }

private:
    const Program& program_;
    bool second_;
    Run base_;
    Tensors direction_;
    std::vector<bool> moves_;  // the targets that the direction moves
};

struct Difference {
    double slope;
    bool smooth;  // steps of two sizes, and to either side, agree
};

Difference difference(const Along& f, double tolerance) {
    const double h = 2e-4;
    const auto central = [&](double h) { return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h); };
    const auto sided = [&](double h) { return (-3 * f(0) + 4 * f(h) - f(2 * h)) / (2 * h); };
    const double wide = central(h), narrow = central(h / 3), right = sided(h / 8), left = sided(-h / 8);
    const bool smooth = std::abs(wide - narrow) < tolerance && std::abs(right - left) < 50 * tolerance;
    return {wide, smooth};
}

// How far the gradient, or the second, moves when every value is changed in its last bits: at a jump of the
// gradient, or where it is ill-conditioned, routes may differ by as much.
double sensitivity(const Program& program, const Tensors& gradients, bool second = false) {
    const Run base = run(program, {.dtype = program.dtype, .notes = true});
    double largest = 0;
    for (std::uint64_t draw = 0; draw < 4; ++draw) {
        Perturbation perturbation{&base.values, &base.changes, {}, true, false};
        Rng rng(draw / 2 + 1);  // to either side
        const double epsilon = (program.dtype == float32 ? 4e-7 : 1e-15) * (draw % 2 == 0 ? 1 : -1);
        // Parts that cancel come apart; not of what a statement changes or differentiates by.
        if (!(flags_of(program) & (in_place | nested))) perturbation.uses = epsilon;
        for (int i = 0; i < static_cast<int>(program.statements.size()); ++i) {
            const Tensor& x = base.values[static_cast<std::size_t>(i)];
            const Row& row = row_of(program.statements[static_cast<std::size_t>(i)]);
            if (!is_floating_point(x.dtype()) || row.cpp == "made" || (row.flags & state)) continue;
            const Tensor noise = randn(x.shape(), rng, float64).to(x.dtype());
            perturbation.shift[i] = (abs(x.detach()) + 1e-3) * noise * epsilon;  // equal zeros come apart, too
        }
        try {
            const Run r = run(program, {.dtype = program.dtype}, &perturbation);
            const Tensors outputs = picked(program.outputs, r.tensors);
            const Tensors moved = second ? second_order(program, r).gradients
                                         : grad(outputs, picked(program.targets, r.points),
                                                drawn(program, outputs, 1), {.allow_unused = true});
            largest = std::max(largest, distance(gradients, moved));
        } catch (const Error&) {
            return largest;
        }
    }
    return largest;
}

// What backward leaves where it adds the gradients to those that are present.
Tensors added(const Tensors& present, Tensors gradients) {
    for (std::size_t i = 0; i < gradients.size() && i < present.size(); ++i)
        if (present[i].defined())
            gradients[i] = gradients[i].defined() ? present[i] + gradients[i].detach() : present[i];
    return gradients;
}

// The gradient of each of so many backwards, without what was present before.
Outcome each_of(Outcome outcome, int times, const Outcome& reference) {
    for (std::size_t i = 0; i < outcome.gradients.size(); ++i) {
        Tensor& g = outcome.gradients[i];
        const Tensor& before = outcome.present[i];
        if (g.defined() && before.defined()) g = g - before;
        if (g.defined() && times > 1) g = g * (1.0 / times);
        if (before.defined() && !reference.gradients[i].defined() && all(g == 0)) g = Tensor();
    }
    return outcome;
}

class Comparison {
public:
    Comparison(const Program& program, Counts& counts) : program_(program), counts_(counts) {}

    Verdict run_all() {
        const RunOptions run_options{.dtype = program_.dtype};
        const unsigned flags = flags_of(program_);
        const bool is_fused = flags & fused, changes = flags & in_place, nests = flags & nested;
        const Outcome reference = by_grad(program_, run_options);
        const bool one = program_.outputs.size() == 1;
        // A saved tensor that was changed in place is refused by those routes that need it.
        if (!reference.refused) {
            for (const auto* list : {&reference.outputs, &reference.gradients})
                for (const Tensor& x : *list)
                    if (x.defined() && !all(isfinite(x)))
                        return {"finite", list == &reference.outputs ? "an output is not finite"
                                                                     : "a gradient is not finite"};
            exact("repeated", reference, by_grad(program_, run_options));
            const Outcome backward = by_backward(program_, run_options, 1);
            if (one)
                exact("backward", {false, reference.outputs, added(backward.present, reference.gradients)},
                      backward);
            else
                close("backward", reference, each_of(backward, 1, reference));
            close("two backwards", reference, each_of(by_backward(program_, run_options, 2), 2, reference));
            set_num_threads(3);
            exact("threads", reference, by_grad(program_, run_options));
            set_num_threads(1);
            {
                const Plain plain(Plain::primitives);
                close("reference kernels", reference, by_grad(program_, run_options));
            }
            if (!changes)
                close("copies", without_saved(reference),
                      without_saved(by_grad(program_, {.dtype = program_.dtype, .copies = true})));
        }
        const Outcome created = by_grad(program_, run_options, true);
        const Outcome composed = by_grad(program_, {.dtype = program_.dtype, .composed = true});
        if (!reference.refused) {
            is_fused || nests ? close("create_graph", reference, created)
                              : exact("create_graph", reference, created);
            is_fused ? close("composed", without_saved(reference), without_saved(composed))
                     : exact("composed", reference, composed);
        }
        if (program_.dtype == float32 && !(flags & rounds) && !reference.refused && verdict_) {
            Program wide = program_;
            wide.dtype = float64;
            close("float64", reference, by_grad(wide, {.dtype = float64}), 3e-3);
        }
        if (!reference.refused && verdict_ && movable(program_)) forward_mode(reference.gradients);
        if (!verdict_ || !differentiable(program_)) return verdict_;
        const Outcome& known = !reference.refused ? reference : !created.refused ? created : composed;
        if (known.refused) return ++counts_["refused"], verdict_;
        differences("differences", known.gradients, false);
        if (!verdict_ || changes) return verdict_;
        const Outcome second = second_order(program_, run_options);
        if (second.refused) return verdict_;
        // A hook on a tensor that a rule saved runs on what comes by that way, too: it depends on what is
        // saved.
        if (any_statement(program_, [](const Statement& s) { return s.hook != 0; })) return verdict_;
        close("second order, composed", second,
              second_order(program_, {.dtype = program_.dtype, .composed = true}), 1e-8, false);
        if (verdict_) differences("second order", second.gradients, true);
        return verdict_;
    }

private:
    const Program& program_;
    Counts& counts_;
    Verdict verdict_;

    // What a grad within the program has saved may be a target itself or, by another route, a copy of it or a
    // part, and so the target's gradient is another. A leaf's is not.
    Outcome without_saved(Outcome outcome) const {
        for (std::size_t i = 0; (flags_of(program_) & nested) && i < outcome.inner.size(); ++i)
            if (outcome.inner[i]) outcome.gradients[i] = Tensor();
        return outcome;
    }

    void exact(const std::string& route, const Outcome& reference, const Outcome& other) {
        if (!verdict_ || other.refused) return;
        ++counts_[route];
        if (same_bits(reference.gradients, other.gradients) && same_bits(reference.outputs, other.outputs))
            return;
        std::string where = "outputs";
        (void)distance(reference.gradients, other.gradients, &where);
        verdict_ = {route, "not the same bits: " + where};
    }

    void close(const std::string& route, const Outcome& reference, const Outcome& other, double tolerance = 0,
               bool by_rounding = true) {
        if (!verdict_ || other.refused) return;
        ++counts_[route];
        const bool coarse = program_.dtype == float32 || (flags_of(program_) & rounds);
        if (tolerance == 0) tolerance = coarse ? 3e-4 : 1e-9;
        std::string where;
        const double apart = distance(reference.gradients, other.gradients, &where);
        if (apart <= tolerance * size_of(reference.gradients)) return;
        if (by_rounding && apart <= 1000 * sensitivity(program_, reference.gradients)) {
            ++counts_["ill-conditioned"];
            return;
        }
        if (!by_rounding) {  // a second derivative where there is a kink in the first
            const Along f(program_, true);
            if (!difference(f, 1e-6 * size_of(reference.gradients)).smooth) return void(++counts_["on a kink"]);
        }
        verdict_ = {route, where};
    }

    // A parameter moves in place, where no tangent follows.
    void forward_mode(const Tensors& gradients) {
        for (const int i : program_.targets)
            if (row_of(program_.statements[static_cast<std::size_t>(i)]).cpp.starts_with("$0.parameter"))
                return;
        const Along f(program_, false);
        ++counts_["jvp"];
        const double expected = inner_product(gradients, f.direction()), found = f.by_jvp();
        const bool coarse = program_.dtype == float32 || (flags_of(program_) & rounds);
        const double apart = std::abs(found - expected), scale = scale_of(gradients, f.direction());
        if (!(apart <= (coarse ? 3e-4 : 1e-9) * scale || apart <= 1000 * sensitivity(program_, gradients)))
            verdict_ = {"jvp", std::to_string(found) + " by jvp, " + std::to_string(expected) + " by backward"};
    }

    static double scale_of(const Tensors& gradients, const Tensors& direction) {
        double scale = 1;
        for (std::size_t i = 0; i < gradients.size(); ++i)
            if (gradients[i].defined()) scale += inner_product(abs(gradients[i].detach()), abs(direction[i]));
        return scale;
    }

    void differences(const std::string& route, const Tensors& gradients, bool second) {
        const Along f(program_, second);
        const double expected = inner_product(gradients, f.direction());
        const double scale = scale_of(gradients, f.direction());
        const double tolerance = 1e-6 * scale;
        const Difference d = difference(f, tolerance);
        if (!d.smooth) {
            ++counts_[route + ": not smooth"];
            return;
        }
        double apart = std::abs(d.slope - expected);
        if (apart > 5 * tolerance) {
            // Some of many elements have a kink within the steps, few so near; or the point itself is one.
            const double near = 1e-6, middle = f(0);
            const auto [low, high] = std::minmax({(f(near) - middle) / near, (middle - f(-near)) / near});
            apart = std::min(apart, std::abs(std::clamp(expected, low, high) - expected));
        }
        // The gradient at max(a, a') with equal a and a' is a choice, which no difference shows.
        if (apart > 5 * tolerance && apart <= 1000 * sensitivity(program_, gradients, second)) {
            ++counts_[route + ": at equal values"];
            return;
        }
        ++counts_[route];
        if (apart > 5 * tolerance)
            verdict_ = {route, "slope " + std::to_string(d.slope) + " by differences, " +
                                   std::to_string(expected) + " by the gradient"};
    }
};

}  // namespace

Verdict compare(const Program& program, Counts& counts) {
    if (program.outputs.empty() || program.targets.empty()) {
        ++counts["nothing to differentiate"];
        return {};
    }
    const int threads = get_num_threads();
    set_num_threads(1);
    Verdict verdict;
    try {
        verdict = Comparison(program, counts).run_all();
    } catch (const Error& error) {  // by a run for differences, whose tensors are copies, too
        if (may_refuse(error))
            ++counts["refused"];
        else
            verdict = {"exception", error.what()};
    } catch (const std::exception& error) {
        verdict = {"exception", error.what()};
    }
    set_num_threads(threads);
    return verdict;
}

std::string json(const Program& program) {
    if (program.outputs.empty() || program.targets.empty() || program.dtype != float64) return "";
    const RunOptions run_options{.dtype = float64, .notes = true};
    const Run base = run(program, run_options);
    const Outcome first = by_grad(program, run_options);
    if (first.refused) return "";
    const bool changes = flags_of(program) & in_place;
    const Outcome second = changes ? Outcome{true, {}, {}} : second_order(program, run_options);
    nlohmann::json out;
    const auto array = [](const Tensor& x) -> nlohmann::json {
        if (!x.defined()) return nullptr;
        return {{"shape", std::vector<std::int64_t>(x.shape().begin(), x.shape().end())},
                {"dtype", name(x.dtype())},
                {"values", x.dtype() == float64 ? nlohmann::json(flat(x))
                           : x.dtype() == int64 ? nlohmann::json(x.to_vector<std::int64_t>())
                                                : nlohmann::json(x.to_vector<bool>())}};
    };
    const auto arrays = [&](const Tensors& list) {
        auto all = nlohmann::json::array();
        for (const Tensor& x : list) all.push_back(array(x));
        return all;
    };
    for (std::size_t i = 0; i < program.statements.size(); ++i) {
        const Statement& s = program.statements[i];
        const Row& row = row_of(s);
        const Tensor value = row.drawn            ? row.drawn(s, base.values)
                             : row.flags & stored ? base.values[i]
                                                  : Tensor();
        if (value.defined()) out["stored"][std::to_string(i)] = array(value);
    }
    const Tensors outputs = picked(program.outputs, base.tensors),
                  targets = picked(program.targets, base.points);
    out["seed"] = program.seed;
    out["lines"] = as_python(program);
    out["outputs"] = program.outputs;
    out["targets"] = program.targets;
    out["changes"] = changes;
    out["seeds"] = arrays(drawn(program, outputs, 1));
    out["weights"] = arrays(drawn(program, targets, 2));
    out["values"] = arrays(outputs);
    out["gradients"] = arrays(first.gradients);
    if (!second.refused) out["second"] = arrays(second.gradients);
    return out.dump();
}

}  // namespace random_programs
