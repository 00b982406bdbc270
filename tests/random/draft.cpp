// Making a program from a seed: statement after statement is run as it is chosen, and one that does not suit
// (refused, not finite, too large) is left out.
#include <algorithm>
#include <cmath>
#include <new>

#include "rows.h"

namespace random_programs {
namespace {

constexpr double largest_value = 50;

struct TooLarge {};  // a leaf that a choice asked for

constexpr std::int64_t most(bool large) { return large ? 100'000 : 1'000; }  // elements

// Of finite values a fused operation makes finite ones: it is kept where it does not, for the routes to find.
bool suits(const Tensor& x, bool large, bool is_fused) {
    if (x.numel() > most(large) || x.rank() > 6) return false;
    if (!is_floating_point(x.dtype()) || x.numel() == 0) return true;
    const NoGrad off;
    return all(isfinite(x)) ? max(abs(x)).item() <= largest_value : is_fused;
}

}  // namespace

ProgramBuilder::ProgramBuilder(std::uint64_t seed) : rng(seed) {
    program_.seed = seed;
    program_.dtype = rng.uniform() < 0.25 ? float32 : float64;
    for (int i = 0; i < 3; ++i) sizes_.push_back(rng.randint(1, 5));
    large_ = rng.uniform() < 0.005;
    if (large_) sizes_[1] = rng.randint(60, 140), sizes_[2] = rng.randint(250, 310);
}

int ProgramBuilder::any(const std::function<bool(const Tensor&)>& passes) {
    std::vector<int> found;
    for (int i = 0; i < static_cast<int>(run_.tensors.size()); ++i)
        if (row_of(program_.statements[static_cast<std::size_t>(i)]).cpp != "made" && passes(at(i)))
            found.push_back(i);
    if (found.empty()) return -1;
    const auto n = static_cast<double>(found.size());
    const double from_the_end = n * std::pow(rng.uniform(), coin(0.5) ? 3 : 1);
    return found[static_cast<std::size_t>(std::clamp(n - 1 - std::floor(from_the_end), 0.0, n - 1))];
}

int ProgramBuilder::floating() {
    return any([&](const Tensor& x) { return x.dtype() == program_.dtype && x.numel() > 0; });
}

int ProgramBuilder::ranked(int least, int most) {
    const int found = any([&](const Tensor& x) {
        return x.dtype() == program_.dtype && x.rank() >= least && x.rank() <= most && x.numel() > 0;
    });
    if (found >= 0) return found;
    Shape shape;
    for (int i = number(least, std::min(most, least + 2)); i > 0; --i) shape.push_back(size());
    return shaped(shape);
}

int ProgramBuilder::add_row(const std::string& cpp, const std::vector<int>& in, const Numbers& numbers) {
    if (!add({row_called(cpp), in, numbers})) throw TooLarge();
    return static_cast<int>(run_.tensors.size()) - 1;
}

int ProgramBuilder::add_leaf(const std::string& cpp, Numbers numbers, const Shape& shape) {
    if (shape.numel() > most(large_)) throw TooLarge();  // before its elements are drawn
    append(numbers, shape);
    return add_row(cpp, {}, numbers);
}

int ProgramBuilder::shaped(const Shape& shape) {
    const int found = any([&](const Tensor& x) { return x.dtype() == program_.dtype && x.shape() == shape; });
    if (found >= 0 && coin(0.7)) return found;
    const Numbers numbers{double(coin(0.8)), double(number(1, 100000))};
    return add_leaf("leaf", numbers, shape);
}

int ProgramBuilder::fits(const Shape& shape) {
    const int found = any([&](const Tensor& x) {
        if (x.dtype() != program_.dtype) return false;
        for (int i = 1; i <= std::min(x.rank(), shape.rank()); ++i) {
            const std::int64_t a = x.shape()[x.rank() - i], b = shape[shape.rank() - i];
            if (a != b && a != 1 && b != 1) return false;
        }
        return true;
    });
    return found >= 0 ? found : shaped(shape);
}

int ProgramBuilder::ids(const Shape& shape, std::int64_t high, std::int64_t low) {
    const int found = any([&](const Tensor& x) {
        return x.dtype() == int64 && x.shape() == shape && x.numel() > 0 && min(x).item() >= double(low) &&
               max(x).item() < double(high);
    });
    if (found >= 0 && coin(0.7)) return found;
    return add_leaf("ids", {double(number(1, 100000)), double(low), double(high)}, shape);
}

int ProgramBuilder::bools(const Shape& shape) {
    const int found = any([&](const Tensor& x) { return x.dtype() == boolean && x.shape() == shape; });
    if (found >= 0 && coin(0.7)) return found;
    return add_leaf("bools", {double(number(1, 100000))}, shape);
}

int ProgramBuilder::module(const std::string& what, const Numbers& numbers) {
    for (int i = 0; i < static_cast<int>(program_.statements.size()); ++i) {
        const Statement& s = program_.statements[static_cast<std::size_t>(i)];
        if (run_.modules.count(i) && s.numbers[0] == numbers[0] && s.numbers[1] == numbers[1] && coin(0.6))
            return i;
    }
    const int made = add_row(what, {}, numbers);
    const std::size_t parameters = run_.modules.at(made)->parameters.size();
    for (std::size_t i = 0; i < parameters; ++i) add_row("$0.parameter", {made}, {double(i)});
    return made;
}

std::vector<int> ProgramBuilder::parameters_of(int module) const {
    std::vector<int> list;
    for (std::size_t i = 0; i < run_.modules.at(module)->parameters.size(); ++i)
        list.push_back(module + 1 + static_cast<int>(i));
    return list;
}

int ProgramBuilder::leaf(bool in_graph) {
    std::vector<int> found;
    for (int i = 0; i < static_cast<int>(run_.tensors.size()); ++i) {
        const Statement& s = program_.statements[static_cast<std::size_t>(i)];
        const Row& row = row_of(s);
        const Tensor& x = at(i);
        const bool made = s.in.empty() || row.cpp.starts_with("$0.parameter");
        if (made && (row.flags & stored) && !(row.flags & constant) && x.is_leaf() &&
            x.dtype() == program_.dtype && x.numel() > 0 && (x.requires_grad() || !in_graph))
            found.push_back(i);
    }
    return found.empty() ? -1 : found[static_cast<std::size_t>(number(0, static_cast<int>(found.size()) - 1))];
}

bool ProgramBuilder::add(Statement statement) {
    const std::size_t i = program_.statements.size();
    program_.statements.push_back(std::move(statement));
    try {
        step(program_, i, {.dtype = program_.dtype}, nullptr, run_);
        const unsigned flags = row_of(program_.statements.back()).flags;
        const bool changed = flags & in_place;  // cannot be taken back
        if (changed || suits(run_.tensors.back(), large_, flags & fused)) return true;
    } catch (const Error&) {
    } catch (const std::bad_alloc&) {  // far too large
    }
    program_.statements.pop_back();
    for (auto* list : {&run_.tensors, &run_.points}) list->resize(i);
    run_.modules.erase(static_cast<int>(i));
    return false;
}

Program ProgramBuilder::make() {
    const bool islands = coin(0.3), hooks = coin(0.3), changes = coin(0.15), nests = !hooks && coin(0.2),
               states = coin(0.12);
    const std::size_t first_state = row_called("renewed");  // the rows of states follow one another
    const int length = large_ ? number(5, 12) : number(5, 60);
    for (int i = 0; i < 2; ++i) (void)shaped({size(), size()});
    for (int tries = 0; tries < 40 * length && static_cast<int>(program_.statements.size()) < length; ++tries) {
        Statement s;
        s.row = static_cast<std::size_t>(rng.randint(0, static_cast<std::int64_t>(rows().size())));
        if (changes && coin(0.08)) s.row = row_called("changed") + static_cast<std::size_t>(number(0, 2));
        if (nests && coin(0.15)) s.row = row_called("grad") + static_cast<std::size_t>(number(0, 1));
        if (states && coin(0.15)) s.row = first_state + static_cast<std::size_t>(number(0, 6));
        const Row& row = row_of(s);
        if (!row.choose || ((row.flags & rare) && coin(0.6)) ||
            ((row.flags & in_place) && !(row.flags & state ? states : changes)) ||
            ((row.flags & nested) && (!nests || hooks)))
            continue;
        try {
            if (!row.choose(*this, s)) continue;
        } catch (const TooLarge&) {
            continue;
        }
        s.no_grad = islands && !(row.flags & (nested | state)) && coin(0.1);
        s.island = islands && !s.no_grad && !(row.flags & state) && coin(0.1);
        if (!add(s)) continue;
        const Tensor& y = run_.tensors.back();
        const auto is_y = [&](const Tensor& x) { return x.handle() == y.handle(); };
        const bool is_new = std::none_of(run_.tensors.begin(), run_.tensors.end() - 1, is_y);
        if (hooks && is_new && is_floating_point(y.dtype()) && y.requires_grad() && coin(0.15)) {
            program_.statements.back().hook = one_of({0.5, 2.0, -1.0});
            const double factor = program_.statements.back().hook;
            Tensor(y).register_hook([factor](const Tensor& g) { return g * factor; });
        }
    }
    choose_ends();
    return program_;
}

void ProgramBuilder::choose_ends() {
    std::vector<int> in_graph, targets;
    for (int i = 0; i < static_cast<int>(run_.tensors.size()); ++i) {
        const Tensor& x = at(i);
        if (!is_floating_point(x.dtype()) || !x.requires_grad() || x.numel() == 0) continue;
        const auto same = [&](int j) { return at(j).handle() == x.handle(); };
        if (x.is_leaf()) {
            if (std::none_of(targets.begin(), targets.end(), same)) targets.push_back(i);
        } else if (std::none_of(in_graph.begin(), in_graph.end(), same)) {
            in_graph.push_back(i);
        }
    }
    if (in_graph.empty()) return;
    program_.outputs = {in_graph.back()};
    for (int n = coin(0.4) ? number(1, 3) : 0; n > 0; --n) {
        const int more = in_graph[static_cast<std::size_t>(number(0, static_cast<int>(in_graph.size()) - 1))];
        if (std::find(program_.outputs.begin(), program_.outputs.end(), more) == program_.outputs.end())
            program_.outputs.push_back(more);
    }
    for (const int i : targets)
        if (coin(0.9)) program_.targets.push_back(i);
    if (coin(0.3)) {
        const int inner = in_graph[static_cast<std::size_t>(number(0, static_cast<int>(in_graph.size()) - 1))];
        program_.targets.push_back(inner);
    }
}

}  // namespace random_programs
