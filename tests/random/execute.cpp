#include <algorithm>

#include "program.h"

namespace random_programs {
namespace {

Tensor copy_of(const Tensor& x) { return x.detach().clone(); }

// Around another run: the tensor with a shift, and with a hook as the factor that it is.
void shifted(Tensor& y, Tensor& point, const Statement& s, const Perturbation& perturbation, int i) {
    const auto shift = perturbation.shift.find(i);
    if (shift != perturbation.shift.end()) {
        const Row& row = row_of(s);
        if (row.cpp.starts_with("$0.parameter")) {
            const NoGrad off;
            y.add_(shift->second);  // the module holds it, too
        } else if (y.is_leaf()) {
            const bool wanted = y.requires_grad();
            y = (y.detach() + shift->second).requires_grad_(wanted);
        } else {
            y = y + shift->second;
        }
    }
    point = y;
    if (s.hook != 0) {
        const Tensor& base = (*perturbation.values)[static_cast<std::size_t>(i)];
        y = base + s.hook * (y - base);
    }
}

}  // namespace

void step(const Program& program, std::size_t i, const RunOptions& run_options,
          const Perturbation* perturbation, Run& run) {
    const Statement& s = program.statements[i];
    const Row& row = row_of(s);
    std::vector<Tensor> x;
    for (const int in : s.in) x.push_back(run.tensors[static_cast<std::size_t>(in)]);
    const bool changes = row.flags & in_place, is_module = row.cpp == "made";
    if (perturbation != nullptr && perturbation->uses != 0) {
        Rng rng(i);
        for (Tensor& operand : x)
            if (operand.defined() && is_floating_point(operand.dtype()))
                operand = operand * (1 + randn(operand.shape(), rng, operand.dtype()) * perturbation->uses);
    }
    const auto compute = [&] {
        const bool enabled = is_grad_enabled() && !s.no_grad;
        std::optional<NoGrad> around;
        if (s.island) around.emplace();
        const GradMode mode(enabled);
        const Plain composed(Plain::operations, run_options.composed);
        return row.run({x, s.numbers, s, run_options.dtype, run, static_cast<int>(i)});
    };
    Tensor y, point, change;
    // What is held constant; a leaf is made anew, so that it requires a gradient where it did.
    if (perturbation != nullptr && perturbation->held && !s.in.empty() && row.choose &&
        ((row.flags & constant) || s.no_grad) && !changes) {
        y = (*perturbation->values)[i].clone();
    } else if (perturbation != nullptr && changes && !(row.flags & state) && is_floating_point(x[0].dtype())) {
        const NoGrad off;
        y = x[0];
        y.add_((*perturbation->changes)[i]);
    } else {
        const Tensor before = changes && !(row.flags & state) && run_options.notes ? copy_of(x[0]) : Tensor();
        y = compute();
        if (before.defined() && is_floating_point(y.dtype())) change = copy_of(y) - before;
    }
    if (run_options.copies && !changes && !is_module && !(y.is_leaf() && y.requires_grad())) y = y.clone();
    point = y;
    if (perturbation != nullptr)
        shifted(y, point, s, *perturbation, static_cast<int>(i));
    else if (s.hook != 0 && y.requires_grad())
        y.register_hook([factor = s.hook](const Tensor& g) { return g * factor; });
    run.tensors.push_back(y);
    run.points.push_back(point);
    if (run_options.notes) run.values.push_back(copy_of(y)), run.changes.push_back(change);
}

Run run(const Program& program, const RunOptions& run_options, const Perturbation* perturbation) {
    Run result;
    const GradMode mode(perturbation == nullptr || perturbation->graph);
    for (std::size_t i = 0; i < program.statements.size(); ++i)
        step(program, i, run_options, perturbation, result);
    return result;
}

}  // namespace random_programs
